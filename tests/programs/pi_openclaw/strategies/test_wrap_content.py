"""What `wrap-content` does to content at which pi throws: the messages after it, and what the written file contains."""

from typing import Any

import pytest

from inspector.rules.base import Case, case_of
from tests.programs.pi_openclaw.session_files import a, call, entry, header, lines, r, text, u
from tests.programs.pi_openclaw.strategies.repaired_trees import MODES, recommended, stored, written

ASKED = (u("u1", None, "list it"), a("a1", "u1", call("c1")))
WORDS = {"type": "text", "text": "a.py"}


def session(answer: Any, result: Any = (WORDS,)) -> bytes:
    result_ = r("r1", "a1", "c1")
    answer_ = a("a2", "r1", stopReason="stop")
    given = list(result) if isinstance(result, tuple) else result
    rows = (
        {**result_, "message": result_["message"] | {"content": given}},
        {**answer_, "message": answer_["message"] | {"content": answer}},
    )
    return lines(header(), *ASKED, *rows, u("u2", "a2", "and?"))


def read(data: bytes, reader: str = "pi-1.5") -> Case:
    return case_of(stored(data).conversation, reader)


def words(case: Case) -> list[str]:
    return [" | ".join(chunk.text for chunk in message.chunks) for message in case.reading.messages]


@pytest.mark.parametrize(
    ("answer", "result", "wanted"),
    [
        ("one file", (WORDS,), ["list it", "", "a.py", "one file", "and?"]),
        (5, (WORDS,), ["list it", "", "a.py", "5", "and?"]),
        (text("one file"), (WORDS,), ["list it", "", "a.py", "one file", "and?"]),
        ([None, text("one file")], (WORDS,), ["list it", "", "a.py", "one file", "and?"]),
        ([text("one file"), {"type": "text", "text": None}], (WORDS,), ["list it", "", "a.py", "one file", "and?"]),
        ([{"type": "text", "text": 5}], (WORDS,), ["list it", "", "a.py", "5", "and?"]),
        ("", (WORDS,), ["list it", "", "a.py", "and?"]),
        ([None], (WORDS,), ["list it", "", "a.py", "and?"]),
        ([text("one file")], "a.py", ["list it", "", "a.py", "one file", "and?"]),
        ([text("one file")], 5, ["list it", "", "5", "one file", "and?"]),
        ([text("one file")], text("a.py"), ["list it", "", "a.py", "one file", "and?"]),
        ([text("one file")], (None, WORDS), ["list it", "", "a.py", "one file", "and?"]),
        ("one file", "a.py", ["list it", "", "a.py", "one file", "and?"]),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_the_same_words_go_out_in_a_list_of_blocks(answer: Any, result: Any, wanted: list[str], mode: str) -> None:
    data = session(answer, result)
    before = read(data)
    assert before.reading.failure.startswith("TypeError: ") and before.reading.messages == ()
    names, _ = recommended(before)
    assert names == ["wrap-content"]
    after = written(data, names, mode, reader="pi-1.5")
    assert (after.reading.failure, words(after)) == ("", wanted)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("changed", [{"message": None}, {}])
def test_an_entry_without_a_message_leaves_the_path(changed: dict[str, Any], mode: str) -> None:
    nothing = entry("message", "x", "a0", **changed)
    data = lines(header(), u("u1", None, "hello"), a("a0", "u1", text("hi"), stopReason="stop"), nothing, u("u2", "x", "and?"))
    assert "has no message" in read(data).reading.failure
    names, _ = recommended(read(data))
    after = written(data, names, mode, reader="pi-1.5")
    assert names == ["wrap-content"] and words(after) == ["hello", "hi", "and?"]


def test_what_pi_reads_and_what_another_program_resumes_is_left() -> None:
    for data in (session([text("one file")]), session(None), session([5, text("one file")]), session([{"type": "hologram"}])):
        assert "wrap-content" not in recommended(read(data))[0] and not read(data).reading.failure
    assert "wrap-content" not in recommended(read(session("one file"), "verbatim"))[0]


def test_an_answer_that_is_null_leaves_the_path_where_the_version_does_not_read_it() -> None:
    data = session(None)
    before = read(data, "pi-0.69")
    assert "null, which pi reads as none only since 0.80.6" in before.reading.failure
    assert "wrap-content" in recommended(before)[0]
