"""Errors that Codex itself answers with are explained, each by the rule that reports its cause."""

import pytest

from inspector.presentation.explain.meanings import unrecognized_meaning
from inspector.programs.codex.error_texts import MEANINGS
from inspector.rules.catalogue import rule


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Error: failed to resume session: rollout does not start with session metadata", "STORE811"),
        ("stream did not contain valid UTF-8", "STORE811"),
        ("final paginated rollout record is missing an ordinal", "STORE811"),
        ("Error: no rollout found for thread id 0199aaaa-0000-7000-8000-000000000001", "STORE817"),
    ],
)
def test_the_error_of_the_program_leads_to_a_rule_and_says_what_to_do(text: str, code: str) -> None:
    meaning = unrecognized_meaning(text)
    assert meaning is not None and meaning.rule == code and meaning.advice.endswith(".")


def test_a_text_about_rollouts_is_not_explained_so() -> None:
    assert unrecognized_meaning("the rollout of the new version starts with metadata") is None


def test_every_rule_exists_and_every_meaning_is_a_part_of_a_sentence() -> None:
    for meaning in MEANINGS:
        assert rule(meaning.rule) and not meaning.means.endswith(".")
