"""`drop-broken-parts`: what ends every run of a session. That opencode resumes what it writes is in tests/published_programs."""

from pathlib import Path

import pytest

from inspector.planning.preview import compose
from inspector.rules.base import case_of
from inspector.strategies.catalogue import strategy
from tests.programs.opencode.stores import CLEAN, DAMAGES, damage, database
from tests.programs.opencode.test_opencode import NAME, codes, only, repaired, sent


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a text cut off", ["Read the notes.", None, "call_a=a\nb\n", "call_b=a\nb\n", "Two lines."]),
        ("a step cut off", ["Read the notes.", "I look.", "call_a=a\nb\n", "call_b=a\nb\n", "Two lines."]),
        ("a message cut off", ["Read the notes.", "Two lines."]),
        ("attachments that are no list", ["Read the notes.", "I look.", "call_a=a\nb\n", "call_b=a\nb\n", "Two lines."]),
        ("no output", ["Read the notes.", "I look.", "call_a=", "call_b=a\nb\n", "Two lines."]),
        ("no state", ["Read the notes.", "I look.", "call_b=a\nb\n", "Two lines."]),
    ],
)
def test_what_ends_every_run_is_taken_out(name: str, expected: list[str | None], tmp_path: Path) -> None:
    path = database(tmp_path, CLEAN)
    damage(path, *DAMAGES[name])
    assert codes(only(path).conversation) == ["STORE713/error"]
    _, store = repaired(path, tmp_path / "new.json", "drop-broken-parts")
    (session,) = store.conversations
    assert [words for _, words, *_ in sent(session)] == expected and codes(session.conversation) == []


def test_a_whole_session_is_left(tmp_path: Path) -> None:
    assert compose(case_of(only(database(tmp_path, CLEAN)).conversation, NAME), [strategy("drop-broken-parts")]) == ()
