"""What opencode 1.18.33 sends of sessions of ours that it imported: what our reader says of them, over three turns after a repair."""

from pathlib import Path

import pytest

from inspector.programs.opencode.reader import INTERRUPTED, read
from inspector.projections.catalogue import projection
from inspector.sources.places import place
from inspector.sources.reading import read_store
from tests.published_programs import opencode

SENT = opencode.kept()
FILES = opencode.files()


@pytest.mark.parametrize("name", FILES)
def test_our_reader_gives_the_request_of_the_next_turn(name: str, tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    path.write_bytes(FILES[name][1])
    (stored,) = read_store(place(str(path))).conversations
    assert projection("openai-chat").project(read(stored.conversation).messages).values == SENT[name][0]


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(", repaired")])
def test_a_repaired_session_goes_on_over_three_turns(name: str) -> None:
    first, *later = SENT[name]
    assert len(later) == opencode.TURNS - 1 and all(messages[: len(first)] == first for messages in later)
    answered = {message["tool_call_id"]: message["content"] for message in first if message["role"] == "tool"}
    assert answered.get("call_d", INTERRUPTED) == INTERRUPTED and "call_a" in answered


@pytest.mark.programs
def test_opencode_sends_again_what_is_kept() -> None:
    if reason := opencode.missing():
        pytest.skip(reason)
    assert opencode.ask() == SENT
