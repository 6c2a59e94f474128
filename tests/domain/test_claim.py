"""The model's words: checked when they come in, and never more than claims."""

from __future__ import annotations

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from domain.claim import Claim, Restatement

GOOD_RESTATEMENT = {"expected": "3", "actual": "4", "confidence": 0.8}
GOOD_CLAIM = {"root_cause": "off by one", "changes": "count from zero"}


def test_a_short_restatement_is_enough() -> None:
    restatement = Restatement.model_validate(GOOD_RESTATEMENT)
    assert restatement.questions == []
    assert not restatement.is_ambiguous


def test_a_question_makes_the_issue_ambiguous() -> None:
    assert Restatement.model_validate({**GOOD_RESTATEMENT, "questions": ["Which version?"]}).is_ambiguous


@pytest.mark.parametrize("questions", [[""], ["  "], ["\n", "", "\t"]])
def test_a_blank_question_is_none(questions: list[str]) -> None:
    """Models fill lists that they were told to leave empty; no work must wait for an answer to nothing."""
    restatement = Restatement.model_validate({**GOOD_RESTATEMENT, "questions": questions})
    assert restatement.questions == []
    assert not restatement.is_ambiguous


def test_real_questions_stay_when_blank_ones_go() -> None:
    restatement = Restatement.model_validate({**GOOD_RESTATEMENT, "questions": ["", " Which one? "]})
    assert restatement.questions == ["Which one?"]


def test_what_a_model_adds_to_a_restatement_is_ignored() -> None:
    restatement = Restatement.model_validate({**GOOD_RESTATEMENT, "thoughts": "hm"})
    assert not hasattr(restatement, "thoughts")


@pytest.mark.parametrize(
    "change",
    [
        {"confidence": 1.01},
        {"confidence": -0.01},
        {"confidence": float("nan")},
        {"confidence": float("inf")},
        {"confidence": "sure"},
        {"confidence": None},
        {"expected": None},
        {"actual": 3},
        {"questions": "Which one?"},
        {"questions": ["a", "b", "c", "d"]},
        {"expected": "x" * 4001},
        {"questions": ["x" * 4001]},
        {"actual": "lone \ud800 surrogate"},
    ],
)
def test_a_malformed_restatement_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Restatement.model_validate({**GOOD_RESTATEMENT, **change})


@pytest.mark.parametrize("missing", sorted(GOOD_RESTATEMENT))
def test_a_restatement_needs_its_parts(missing: str) -> None:
    with pytest.raises(ValidationError, match=missing):
        Restatement.model_validate({key: value for key, value in GOOD_RESTATEMENT.items() if key != missing})


def test_a_short_claim_is_enough() -> None:
    claim = Claim.model_validate(GOOD_CLAIM)
    assert (claim.test_commands, claim.not_verified) == ([], "")


@pytest.mark.parametrize(
    "change",
    [
        {"root_cause": ""},
        {"root_cause": "  \n"},
        {"changes": ""},
        {"changes": "\t"},
        {"root_cause": "x" * 8001},
        {"verified": True},
        {"test_commands": "pytest"},
        {"test_commands": ["pytest"] * 11},
        {"test_commands": [1]},
        {"not_verified": None},
        {"changes": "\udfff"},
    ],
)
def test_a_malformed_claim_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Claim.model_validate({**GOOD_CLAIM, **change})


def test_blank_test_commands_are_none() -> None:
    claim = Claim.model_validate({**GOOD_CLAIM, "test_commands": ["", "pytest -q", " "]})
    assert claim.test_commands == ["pytest -q"]


def test_claims_survive_storage() -> None:
    claim = Claim.model_validate({**GOOD_CLAIM, "test_commands": ["pytest"], "not_verified": "Windows"})
    assert Claim.model_validate_json(claim.model_dump_json()) == claim


def test_schemas_can_be_shown_to_the_model() -> None:
    for model in (Claim, Restatement):
        schema = json.loads(json.dumps(model.model_json_schema()))
        assert all(entry["description"] for entry in schema["properties"].values())
    assert set(Claim.model_json_schema()["required"]) == {"root_cause", "changes"}
    assert set(Restatement.model_json_schema()["required"]) == set(GOOD_RESTATEMENT)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from([*Claim.model_fields, *Restatement.model_fields, "other"])


@pytest.mark.long
@given(st.dictionaries(keys, json_values | st.text(min_size=1, max_size=20) | st.floats(0, 1), max_size=8))
def test_whatever_a_model_hands_in_is_well_formed_or_refused(answer: dict[str, object]) -> None:
    for model in (Claim, Restatement):
        try:
            report = model.model_validate(answer)
        except ValidationError:
            continue
        assert model.model_validate(report.model_dump()) == report
        texts = [value for value in report.model_dump().values() if isinstance(value, str)]
        assert all(value.strip(string.whitespace) == value for value in texts)
