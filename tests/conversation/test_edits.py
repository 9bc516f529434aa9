"""Edits of a conversation: what is between two of them stays the very object that it was, in its order."""

import pytest

from inspector.conversation.edits import Edit, EditMismatch, Insert, Remove, Replace, apply, between
from inspector.conversation.model import Chunk, Conversation, Kind
from tests.folding import in_one_test


def chunk(key: str, words: str = "") -> Chunk:
    return Chunk(key, 1, "user", Kind.TEXT, {"text": words or key})


A, B, C = chunk("a"), chunk("b"), chunk("c")
NEW, MORE = chunk("n"), chunk("m")


def of(*chunks: Chunk) -> Conversation:
    return Conversation("one", "pi", chunks)


@in_one_test(
    ("edits", "expected"),
    [
        ([], [A, B, C]),
        ([Insert(None, NEW)], [NEW, A, B, C]),
        ([Insert("a", NEW), Insert("c", MORE)], [A, NEW, B, C, MORE]),
        ([Insert("a", NEW), Insert("n", MORE)], [A, NEW, MORE, B, C]),
        ([Insert("a", NEW), Insert("a", MORE)], [A, NEW, MORE, B, C]),
        ([Remove(B)], [A, C]),
        ([Insert("b", NEW), Remove(B)], [A, NEW, C]),
        ([Replace(B, chunk("b", "other")), Insert("b", NEW)], [A, chunk("b", "other"), NEW, C]),
    ],
)
def test_edits_change_what_they_name(edits: list[Edit], expected: list[Chunk]) -> None:
    final = apply(of(A, B, C), edits)
    assert list(final.chunks) == expected
    assert all(any(later is earlier for earlier in (A, B, C, NEW, MORE)) or later.text == "other" for later in final.chunks)
    assert apply(of(A, B, C), between(of(A, B, C), final)) == final


@pytest.mark.parametrize("edit", [Insert("z", NEW), Remove(chunk("z")), Remove(chunk("b", "other")), Replace(chunk("b", "other"), NEW)])
def test_an_edit_of_what_is_not_there_is_refused(edit: Edit) -> None:
    with pytest.raises(EditMismatch):
        apply(of(A, B, C), [edit])


def test_of_a_key_that_is_there_twice_the_later_chunk_counts() -> None:
    later = chunk("a", "later")
    assert apply(of(A, B, later), [Insert("a", NEW)]).chunks == (later, NEW, B, later)
    assert apply(of(A, B, later), []).chunks == (later, B, later)
