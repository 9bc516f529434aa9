"""Records that share a line get lines of their own."""

import pytest

from tests.programs.codex.threads import LINES, THREADS, WHOLE, call, line, output, thread, user
from tests.programs.codex.writing_threads import NEW, SAME, conversation, edits_of, repaired, values

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


@pytest.mark.parametrize("name", ["whole", "line torn", "NUL bytes"])
def test_other_lines_stay(name: str) -> None:
    assert not edits_of(THREADS[name], SPLIT)
