"""Records that share a line get lines of their own."""

import pytest

from inspector.conversation.edits import Remove
from inspector.programs.formats import WriteRefused
from tests.programs.codex.threads import LINES, THREADS, WHOLE, call, line, output, thread, user
from tests.programs.codex.writing_threads import NEW, SAME, conversation, edits_of, repaired, values, written

SPLIT = "split-spliced-records"


@pytest.mark.parametrize("mode", [SAME, NEW])
def test_whole_records_are_what_they_were(mode: str) -> None:
    after = repaired(THREADS["lines spliced"], SPLIT, mode=mode)
    assert after.splitlines()[1:] == WHOLE.splitlines()[1:]


def test_a_fragment_keeps_its_bytes_on_a_line_of_its_own() -> None:
    after = repaired(THREADS["torn line spliced"], SPLIT)
    assert after == b"".join([*LINES[:3], LINES[3][:50], b"\n", *LINES[4:]])
    assert [chunk.damage for chunk in conversation(after).chunks[3:5]] == ["torn", ""]


def test_a_message_with_parts_is_one_record() -> None:
    content = [{"type": "input_text", "text": text} for text in "ab"]
    parts = line(1, ("response_item", {"type": "message", "role": "user", "content": content}))
    data = thread() + parts[:-1] + line(2, user("q2"))
    assert repaired(data, SPLIT) == thread() + parts + line(2, user("q2"))


def test_with_the_output_back_no_other_one_is_put_in() -> None:
    data = thread(user("q1"), call("c1")) + line(3, output("c1"))[:-1] + line(4, user("q2"))
    after = repaired(data, SPLIT, "insert-interrupted-result")
    assert [value["payload"].get("output") for value in values(after)[3:]] == ["done", None]


@pytest.mark.parametrize("mode", [SAME, NEW])
def test_a_record_of_the_line_can_be_taken_out_too(mode: str) -> None:
    data = thread(user("q1")) + line(2, output("c0"))[:-1] + line(3, user("q2"))
    after = repaired(data, SPLIT, "drop-orphaned-results", mode=mode)
    assert after.splitlines()[1:] == [*thread(user("q1")).splitlines()[1:], line(3, user("q2"))[:-1]]


def test_a_fragment_stays_where_the_record_after_it_is_taken_out() -> None:
    torn = line(2, output("c1"))[:70]
    data = thread(user("q1")) + torn + line(3, output("c0")) + line(4, user("q2"))
    assert repaired(data, SPLIT, "drop-orphaned-results") == thread(user("q1")) + torn + b"\n" + line(4, user("q2"))


def test_a_record_of_the_line_can_be_changed_and_one_put_in() -> None:
    data = thread(user("q1")) + line(2, call("c1"))[:-1] + line(3, user("q2 HALF"))
    after = repaired(data.replace(b"HALF", b"\\ud83d"), SPLIT, "insert-interrupted-result", "replace-surrogates")
    payloads = [value["payload"] for value in values(after)[2:]]
    assert [payload["type"] for payload in payloads] == ["function_call", "function_call_output", "message"]
    assert payloads[2]["content"][0]["text"] == "q2 \ufffd"


def test_without_it_nothing_of_such_a_line_is_changed() -> None:
    data = thread(user("q1")) + line(2, call("c1"))[:-1] + line(3, user("q2"))
    with pytest.raises(WriteRefused, match="add the strategy split-spliced-records"):
        written(data, [Remove(conversation(data).chunks[2])])


@pytest.mark.parametrize("name", ["whole", "line torn", "NUL bytes"])
def test_other_lines_stay(name: str) -> None:
    assert not edits_of(THREADS[name], SPLIT)
