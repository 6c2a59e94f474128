"""Which sources of a change had their own tests edited, and the texts that tell tests and sources apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from harness.guard.change import Change, Delta
from harness.in_source import javascript, python, rust
from harness.in_source.layout import Layout
from harness.testing.paths import is_test_side

RUST, PYTHON = ".rs", ".py"


@dataclass(frozen=True, slots=True)
class InSource:
    """A source file whose own tests differ.

    `base_with_new` is the base's source with the change's tests, None where the base has no such file;
    `fixed_with_old` the change's source with the base's tests. `is_new` says that the base had none of these.
    """

    path: str
    base_with_new: bytes | None
    fixed_with_old: bytes
    is_new: bool


def in_source_edits(change: Change, *, with_examples: bool) -> tuple[InSource, ...]:
    """Return the changed sources whose own tests differ; examples of Python only if the suite runs such."""
    return tuple(_edits(change, with_examples))


def layout_of(path: str, source: bytes) -> Layout | None:
    """Return where a source's own tests are; None where its language has none, or it cannot be read."""
    suffix = PurePosixPath(path).suffix
    if suffix == RUST:
        return rust.layout_of(source)
    if suffix == PYTHON:
        return python.layout_of(source)
    return javascript.layout_of(source, suffix) if suffix in javascript.SUFFIXES else None


def _edits(change: Change, with_examples: bool) -> Iterator[InSource]:
    for path in change.paths:
        delta = change.deltas[path]
        if is_test_side(path) or delta.new is None or not delta.is_regular or delta.is_binary:
            continue
        if PurePosixPath(path).suffix == PYTHON and not with_examples:
            continue
        edit = _edit(delta, delta.new)
        if edit is not None:
            yield edit


def _edit(delta: Delta, source: bytes) -> InSource | None:
    new = layout_of(delta.path, source)
    old = layout_of(delta.path, delta.old or b"")
    if new is None or old is None or new.tests == old.tests:
        return None
    return InSource(
        path=delta.path,
        base_with_new=None if delta.old is None else old.with_tests_of(new),
        fixed_with_old=new.with_tests_of(old),
        is_new=not old.tests,
    )
