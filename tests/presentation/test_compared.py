"""Two conversations next to each other: what is aligned, and how much of it a page shows."""

import pytest

from inspector.conversation.model import Chunk, Conversation, Kind, Message
from inspector.presentation.conversation import compared as module
from inspector.presentation.conversation.compared import ComparedLine, compared, compared_readings, window


def conversation(*texts: str) -> Conversation:
    chunks = tuple(Chunk(f"k{at}", at + 1, "user", Kind.TEXT, {"text": text}, at, 0) for at, text in enumerate(texts))
    return Conversation(format="claude-code", native_id="c", chunks=chunks)


def spoken(*parts: tuple[str, str]) -> Conversation:
    chunks = tuple(Chunk(f"k{at}", at + 1, role, Kind.TEXT, {"text": text}, at, 0) for at, (role, text) in enumerate(parts))
    return Conversation(format="claude-code", native_id="c", chunks=chunks)


def ops(old: str, new: str) -> str:
    letters = {"same": "=", "changed": "~", "inserted": "+", "removed": "-"}
    return "".join(letters[row.op] for row in compared(conversation(*old), conversation(*new)))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ""),
        ("abc", "abc", "==="),
        ("abc", "aXc", "=~="),
        ("abc", "abXc", "==+="),
        ("abc", "ac", "=-="),
        ("aaaa", "aaa", "===-"),
        ("abcdef", "Xbdefg", "~=-===+"),
        ("", "ab", "++"),
    ],
)
def test_rows_are_aligned_by_what_they_say(old: str, new: str, expected: str) -> None:
    assert ops(old, new) == expected


@pytest.mark.parametrize("limit", [0, 2, 3_000])
def test_every_chunk_of_both_sides_is_in_one_row_in_order(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(module, "_MOST", limit)
    for old, new in (("abcabcxabc", "abxcabcabc"), ("hgfedcba", "abcdefgh"), ("aabbccdd", "ddccbbaa"), ("xay", "bab")):
        rows = compared(conversation(*old), conversation(*new))
        assert "".join(row.before.text for row in rows if row.before) == old
        assert "".join(row.after.text for row in rows if row.after) == new


def test_equal_rows_far_from_a_difference_are_one_line() -> None:
    texts = [f"text {number}" for number in range(1_000)]
    changed = [*texts[:500], "another", *texts[501:]]
    shown = window(compared(conversation(*texts), conversation(*changed)), 0)
    assert [line.folded for line in shown.lines] == [497, 0, 0, 0, 0, 0, 0, 0, 496]
    assert shown.counts == {"same": 999, "changed": 1}


def test_a_marked_row_far_from_a_difference_is_shown() -> None:
    texts = [f"text {number}" for number in range(1_000)]
    rows = compared(conversation(*texts), conversation(*texts[:-1], "another"))
    shown = window(rows, 0, marked=(301,))
    assert [line.row.before.seq for line in shown.lines if line.row.before and not line.folded][:4] == [298, 299, 300, 301]
    assert [line.folded for line in shown.lines if line.folded] == [297, 692]


def test_what_was_written_again_is_next_to_what_it_replaces() -> None:
    old = spoken(("user", "same"), ("assistant", "a"), ("user", "b"), ("assistant", "c"), ("user", "end"))
    new = spoken(("user", "same"), ("user", "x"), ("assistant", "y"), ("user", "end"))
    lines = [
        (line.row.op, line.row.before.text if line.row.before else "", line.row.after.text if line.row.after else "")
        for line in window(compared(old, new), 0).lines
    ]
    assert lines == [("same", "same", "same"), ("replaced", "a", "x"), ("replaced", "b", "y"), ("removed", "c", ""), ("same", "end", "end")]


def test_a_page_shows_a_window() -> None:
    rows = compared(conversation(*(f"a{number}" for number in range(500))), conversation(*(f"b{number}" for number in range(500))))
    first, last = window(rows, 0), window(rows, 99_999)
    assert (len(first.lines), first.total, last.start) == (200, 500, 499)
    assert first.lines[0] == ComparedLine(rows[0]) and window(rows, 200).lines[0].row == rows[200]


def read(*messages: tuple[str, str]) -> list[Message]:
    """Each of (role, the letters that name its chunks)."""
    return [Message(role, tuple(Chunk(key, 1, "assistant", Kind.TEXT, {"text": key}) for key in keys)) for role, keys in messages]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([("user", "a"), ("assistant", "bc")], [("user", "a"), ("assistant", "bc")], "a= b= c="),
        ([("user", "abc"), ("tool", "d")], [("user", "a"), ("assistant", "b"), ("user", "c"), ("tool", "d")], "a= b≠ c~ d="),
        ([("user", "ac")], [("user", "abc")], "a= b+ c~"),
        ([("user", "a"), ("user", "b")], [("user", "b")], "a- b="),
        ([], [("user", "a")], "a+"),
        ([("user", "a"), ("user", "bc")], [("user", "bc"), ("user", "a")], "a- b= c= a+"),
        ([("user", "aa")], [("user", "a")], "a= a-"),
    ],
    ids=["alike", "merged", "left out of one", "of a later message nothing changes", "cannot be opened", "moved", "twice"],
)
def test_two_readings_are_aligned_by_their_chunks(one: list[tuple[str, str]], other: list[tuple[str, str]], expected: str) -> None:
    marks = {"same": "=", "changed": "≠", "reindexed": "~", "inserted": "+", "removed": "-"}
    rows = compared_readings(read(*one), read(*other))
    assert " ".join(f"{(row.before or row.after).key}{marks[row.op]}" for row in rows if row.before or row.after) == expected


def test_a_chunk_of_a_reading_has_the_role_and_the_place_that_the_reader_gives_it() -> None:
    (*_, last) = compared_readings(read(("user", "ab")), read(("user", "a"), ("assistant", "b")))
    assert last.before and last.after
    assert [(side.role, side.msg_idx, side.chunk_idx) for side in (last.before, last.after)] == [("user", 0, 1), ("assistant", 1, 0)]
