"""What `insert-openclaw-result` does to sessions that are trees: the path after it, and what the written file contains."""

import pytest

from inspector.conversation.model import Conversation, Kind
from inspector.programs.pi_openclaw.readers.result_pairing import MISSING
from inspector.rules.base import case_of
from inspector.rules.synthetic_texts import OURS
from tests.programs.pi_openclaw.session_files import header, line, lines, r
from tests.programs.pi_openclaw.shapes import chain
from tests.programs.pi_openclaw.strategies.repaired_trees import (
    assert_the_words_of_a_placeholder_result_can_be_chosen,
    repaired,
    stored,
    written,
)


@pytest.mark.parametrize(
    ("name", "format_name", "words", "details"),
    [("insert-openclaw-result", "pi", MISSING, True)],
)
def test_the_words_of_a_placeholder_result_can_be_chosen(name: str, format_name: str, words: str, details: bool) -> None:
    assert_the_words_of_a_placeholder_result_can_be_chosen(name, format_name, words, details)


def test_openclaw_puts_a_late_real_result_in_the_place_of_one_with_its_own_words() -> None:
    data = lines(header(), *chain("U A(c1) U"))
    for name, kept in (("insert-openclaw-result", "real"), ("insert-plain-result", OURS)):
        final = repaired(case_of(stored(data, "openclaw").conversation, "openclaw-2026.9"), "insert-interrupted-result")
        assert final.conversation, name
        tree = written(data, [name], "replay-suffix", "openclaw").tree
        assert tree is not None
        last = tree.chunks[-1].payload["entry"]["id"]
        late = stored(b"".join([tree_bytes(tree), line(r("late", last, "c1", "real")), b"\n"]), "openclaw").conversation
        read = case_of(late, "openclaw-2026.9").reading.messages
        assert [chunk.text for message in read for chunk in message.chunks if chunk.kind is Kind.TOOL_RESULT] == [kept]


def tree_bytes(tree: Conversation) -> bytes:
    raw = dict.fromkeys(chunk.raw for chunk in tree.chunks)
    return line(header()) + b"\n" + b"".join(each + b"\n" for each in raw)
