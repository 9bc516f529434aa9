"""What Gemini CLI 0.61.0 sends of chats of ours on three resumes in a row: what our reader says of the first, and each result once after a repair."""

from typing import Any

import pytest

from inspector.programs.gemini_cli.reader import PROJECTION, read
from tests.folding import in_one_test
from tests.programs.gemini_cli.chats import of_bytes
from tests.published_programs import gemini_cli

SENT = gemini_cli.kept()
FILES = gemini_cli.files()
REPAIRED = [name for name in FILES if name.endswith(", repaired")]


def numbers(contents: list[Any]) -> list[tuple[int, int]]:
    """Of each answer with calls how many it has, and how many responses the next content has."""
    counts = [[sum(name in part for part in content["parts"]) for name in ("functionCall", "functionResponse")] for content in contents]
    return [(calls, counts[place + 1][1]) for place, (calls, _) in enumerate(counts) if calls]


def test_every_chat_was_resumed_three_times_or_never() -> None:
    assert set(SENT) == set(FILES) and {len(requests) for requests in SENT.values()} == {0, gemini_cli.RESUMES}


@in_one_test("name", FILES)
def test_our_reader_gives_the_request_of_the_first_resume_or_says_that_there_is_none(name: str) -> None:
    reading = read(of_bytes(FILES[name]).conversation)
    if SENT[name]:
        assert not reading.failure and PROJECTION.project(reading.messages).values == SENT[name][0]
    else:
        assert "does not list the chat" in reading.failure and not reading.messages


@pytest.mark.parametrize("name", REPAIRED)
def test_a_repaired_chat_is_sent_with_a_response_for_each_call_at_every_resume(name: str) -> None:
    assert [numbers(contents) for contents in SENT[name]] == [[(2, 2)]] * 3


def test_others_are_sent_with_more_responses_than_calls() -> None:
    assert {name: [numbers(contents) for contents in SENT[name]] for name in FILES if name not in REPAIRED} == {
        "never resumed": [[(2, 4)], [(2, 8)], [(2, 8)]],
        "resumed": [[(2, 8)]] * 3,
        "results in the calls alone": [[(2, 2)], [(2, 6)], [(2, 6)]],
        "a rewind to an unknown record": [[], [], []],
        "lines that end with CR": [[(2, 4)], [(2, 8)], [(2, 8)]],
        "ids that are missing": [[(1, 1)]] * 3,
        "a result without an id": [[(2, 4)], [(2, 8)], [(2, 8)]],
        "a part without words": [[], [], []],
        **{name: [] for name in ("an emptied list", "a byte order mark", "nothing said", "an answer of a blank")},
        "a line that is cut off": [[(2, 4)], [(2, 8)], [(2, 8)]],
    }


@pytest.mark.programs
def test_gemini_cli_sends_again_what_is_kept() -> None:
    if reason := gemini_cli.missing():
        pytest.skip(reason)
    assert gemini_cli.ask() == SENT
