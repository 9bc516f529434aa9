"""What the next request holds, against what codex-cli 0.169.0 sent when it resumed the same threads (codex.json keeps it)."""

import sys
from types import FrameType
from typing import Any

import pytest

from inspector.conversation.model import Reading
from inspector.programs.codex.format import CODEX
from inspector.programs.codex.readers import (
    COMPACTED_AWAY,
    CUT,
    EVENTS,
    ORPHANED,
    RESTARTED,
    ROLLED_BACK,
    SUPERSEDED,
    UNREAD,
    read,
    starts_turn,
)
from inspector.programs.formats import Cell, Record
from inspector.projections.catalogue import projection
from tests.folding import in_one_test
from tests.programs.codex.threads import NAME, THREADS, assistant, call, compacted, item, output, rolled_back, said, started, thread, user
from tests.published_programs.codex import files, kept, plain

SENT = kept()


def reading(data: bytes) -> Reading:
    return read(next(iter(CODEX.read([Record(NAME, Cell(data, "file"))]))).conversation)


def as_sent(read_thread: Reading) -> list[Any]:
    return [plain(each) for each in projection("openai-responses+as-sent").project(read_thread.messages).values]


FILES = files()


@in_one_test("name", FILES)
def test_the_next_request_is_what_codex_sends(name: str) -> None:
    read_thread = reading(FILES[name])
    if SENT[name] is None:
        assert read_thread.failure and not read_thread.messages
    else:
        assert not read_thread.failure
        assert as_sent(read_thread) == SENT[name]


def test_every_thread_was_tried() -> None:
    assert SENT.keys() == FILES.keys()


def left_out(read_thread: Reading) -> dict[str, tuple[bool, list[str]]]:
    return {each.why: (each.intentional, [chunk.text for chunk in each.chunks if chunk.role]) for each in read_thread.dropped}


def test_what_a_compaction_and_a_rollback_took_away_was_meant() -> None:
    data = thread(
        *(user("q1"), assistant("a1"), compacted("s", said("user", "kept"))),
        *(started("t2"), user("q2"), assistant("a2"), rolled_back(1), user("q3"), output("cX")),
    )
    found = left_out(reading(data))
    assert found[COMPACTED_AWAY] == (True, ["q1", "a1"])
    assert found[ROLLED_BACK] == (True, ["q2", "a2"])
    assert found[EVENTS] == (True, [])
    assert found[ORPHANED] == (False, ["done"])


def test_a_compaction_of_the_turn_that_is_rolled_back_goes_with_it() -> None:
    data = thread(user("q1"), assistant("a1"), compacted("s", said("user", "kept")), user("q2"), rolled_back(1), user("q3"))
    read_thread = reading(data)
    assert [message.chunks[0].text for message in read_thread.messages] == ["q1", "a1", "q3"]
    assert left_out(read_thread)[SUPERSEDED] == (True, ["kept"]) and left_out(read_thread)[ROLLED_BACK] == (True, ["q2"])


def test_what_another_session_meta_takes_away_was_not_meant() -> None:
    read_thread = reading(THREADS["paginated, another session_meta"])
    assert left_out(read_thread)[RESTARTED] == (False, ["q1", "a1"])
    assert RESTARTED not in left_out(reading(THREADS["paginated, another session_meta first"]))
    assert RESTARTED not in left_out(reading(THREADS["session_meta again"]))


def test_a_result_of_a_call_that_was_compacted_away_was_meant_to_go() -> None:
    read_thread = reading(thread(user("q1"), call("c1"), compacted("s", said("user", "kept")), output("c1")))
    assert left_out(read_thread)[CUT] == (True, ["done"]) and ORPHANED not in left_out(read_thread)


def test_what_codex_cannot_parse_was_not_meant() -> None:
    data = THREADS["item: arguments an object"]
    (dropped,) = [each for each in reading(data).dropped if each.why == UNREAD]
    assert not dropped.intentional and [chunk.key for chunk in dropped.chunks] == ["line:3.0"]


def test_a_call_without_output_is_answered_right_after_it() -> None:
    messages = reading(thread(user("q1"), call("c1"), call("c2"), output("c2"))).messages
    assert [(message.role, message.synthetic) for message in messages] == [
        *(("user", False), ("assistant", False), ("tool", True), ("assistant", False), ("tool", False)),
    ]


def test_a_search_of_a_type_that_is_no_text_is_sent_as_another() -> None:
    search = {"type": "web_search_call", "action": {"type": ["listen"]}}
    assert as_sent(reading(thread(user("q1"), item(search), assistant("a1"))))[1] == {
        "action": {"type": "other"},
        "type": "web_search_call",
    }


def looks_for_turns(count: int, times: int) -> int:
    """How often a message is looked at for the beginning of a turn, in a thread of which `times` prompts in a row were taken back."""
    turns = [record for number in range(times) for record in (user(f"q{number}"), assistant(f"a{number}"))]
    retries = [record for number in range(times) for record in (user(f"r{number}"), assistant("no"), rolled_back(count))]
    data, looks = thread(*turns, *retries), 0

    def count_call(frame: FrameType, event: str, _: Any) -> None:
        nonlocal looks
        looks += event == "call" and frame.f_code is starts_turn.__code__

    sys.setprofile(count_call)
    try:
        messages = reading(data).messages
    finally:
        sys.setprofile(None)
    assert len(messages) == times * (2 if count else 4)
    return looks


@pytest.mark.parametrize("count", [0, 1])
def test_a_rollback_looks_at_what_it_takes_back_and_not_at_the_whole_thread(count: int) -> None:
    assert looks_for_turns(count, 80) < 3 * looks_for_turns(count, 40)
