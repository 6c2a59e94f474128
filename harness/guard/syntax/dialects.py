"""Which table of words goes with which language."""

from __future__ import annotations

import functools

from harness.guard.syntax.dialect import Dialect
from harness.guard.syntax.grammar import Language


@functools.cache
def dialect_of(language: Language) -> Dialect:
    """Return a language's table; its file is loaded when the language first comes by."""
    if language is Language.GO:
        from harness.guard.syntax.go import Go

        return Go()
    if language is Language.JAVA:
        from harness.guard.syntax.java import Java

        return Java()
    if language is Language.RUBY:
        from harness.guard.syntax.ruby import Ruby

        return Ruby()
    if language is Language.RUST:
        from harness.guard.syntax.rust import Rust

        return Rust()
    from harness.guard.syntax.javascript import JavaScript

    return JavaScript()
