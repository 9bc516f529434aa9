"""Entries of a tree in sentences."""

from inspector.conversation.tree import spoken


def test_sentences_count_lines_as_editors_do() -> None:
    assert [spoken("line:3"), spoken("line:3/2"), spoken("line:3", 3), spoken("line:3", 7), spoken("u1")] == [
        "line 4", "line 4/2", "line 4", "'line:3'", "'u1'",
    ]  # fmt: skip
