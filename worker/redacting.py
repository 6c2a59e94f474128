"""Takes live secrets out of the values that are stored."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from domain.claim import Claim, Restatement
from domain.model import Finding, TestRun, Verdict
from domain.text import Redactor

Words = TypeVar("Words", Claim, Restatement)


def redacted(words: Words, redact: Redactor) -> Words:
    """Return the model's words without live secrets, each text still within the model's longest."""
    longest = words.model_config["str_max_length"]

    def clean(value: object) -> object:
        if isinstance(value, str):
            return redact(value)[:longest]
        return [clean(each) for each in value] if isinstance(value, list) else value

    return type(words).model_validate({name: clean(value) for name, value in words.model_dump().items()})


def redacted_verdict(verdict: Verdict, redact: Redactor) -> Verdict:
    """Return a verdict whose texts carry no live secret; what identifies trees and tests stays as it is."""
    shown = verdict.protected
    return replace(
        verdict,
        summary=redact(verdict.summary),
        runs=tuple(_run(run, redact) for run in verdict.runs),
        findings=tuple(_finding(finding, redact) for finding in verdict.findings),
        protected=replace(shown, patch=redact(shown.patch)) if shown else None,
    )


def _run(run: TestRun, redact: Redactor) -> TestRun:
    return replace(run, command=redact(run.command), tail=redact(run.tail), note=redact(run.note))


def _finding(finding: Finding, redact: Redactor) -> Finding:
    return replace(finding, what=redact(finding.what), why=redact(finding.why))
