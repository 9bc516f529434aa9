"""Only what may not be whole is left to `recover-agent-words`, which nobody but a person picks."""

from inspector.strategies.catalogue import strategy
from tests.programs.claude_code.strategies.outcomes_in_files import repaired, with_outcomes

NAME = "recover-agent-words"


def test_last_words_become_the_result() -> None:
    assert repaired(with_outcomes(("t1", "one", False)), NAME) == ["user:go", "assistant:t1", "tool:one", "user:and?", "assistant:Well."]


def test_a_whole_answer_is_left_to_the_other_strategy() -> None:
    assert repaired(with_outcomes(("t1", "one", True)), NAME) == []


def test_a_person_picks_it() -> None:
    assert strategy(NAME).manual_only
