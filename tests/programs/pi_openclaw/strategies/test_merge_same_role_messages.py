"""What `merge-same-role-messages` does to sessions that are trees: the path after it, and what the written file contains."""

from collections.abc import Sequence
from typing import Any

import pytest

from inspector.rules.base import case_of, stored_messages
from inspector.strategies.catalogue import strategy
from tests.programs.pi_openclaw.session_files import a, entry, header, lines, text, u
from tests.programs.pi_openclaw.strategies.repaired_trees import of, repaired, texts, written

MIRRORED = {"provider": "openclaw", "model": "delivery-mirror", "stopReason": "stop"}


def joined(*rows: Any, format_name: str = "openclaw", reader: str = "openclaw-2026.9") -> list[list[str]]:
    """The words of each stored message after merge-same-role-messages."""
    case = repaired(of(*rows, format_name=format_name, reader=reader), "merge-same-role-messages")
    return [[chunk.text for chunk in message.chunks] for message in stored_messages(case.conversation)]


@pytest.mark.parametrize("reader", ["openclaw-2026.9", "openclaw-2026.7", "verbatim", "pi-1.5"])
def test_a_copy_of_what_a_channel_showed_is_joined_to_no_answer(reader: str) -> None:
    """It was moved into the model's own answer, and from there it was sent, by a strategy that is called safe."""
    rows = (
        u("u1", None, "hello"),
        a("a1", "u1", text("Done."), stopReason="stop"),
        a("d1", "a1", text("MIRROR"), **MIRRORED),
        u("u2", "d1", "thanks"),
    )
    assert joined(*rows, reader=reader) == [["hello"], ["Done."], ["MIRROR"], ["thanks"]]
    assert not list(strategy("merge-same-role-messages").propose(of(*rows, format_name="openclaw", reader=reader)))


def test_two_answers_are_joined_and_the_copy_between_them_follows_as_it_is() -> None:
    rows = (
        u("u1", None, "hello"),
        a("a1", "u1", text("one"), stopReason="stop"),
        a("d1", "a1", text("MIRROR"), **MIRRORED),
        a("a2", "d1", text("two"), stopReason="stop"),
    )
    assert joined(*rows) == [["hello"], ["one", "two"], ["MIRROR"]]
    tree = written(lines(header(), *rows), ["merge-same-role-messages"], "replay-suffix", "openclaw")
    assert texts(case_of(tree.tree or tree.conversation, "openclaw-2026.9")) == ["hello", "one", "two"]


@pytest.mark.parametrize(
    "rows",
    [
        # Every program leaves the failed answer out, and with it what was joined to it.
        (a("a1", "u1", text("one"), stopReason="error"), a("a2", "a1", text("two"), stopReason="stop")),
        (a("a1", "u1", text("one"), stopReason="stop"), a("a2", "a1", text("two"), stopReason="aborted")),
        (a("a1", "u1", text("one"), model="m1"), a("a2", "a1", text("two"), model="m2")),
    ],
    ids=["failed first", "failed after", "two models"],
)
def test_answers_that_programs_treat_otherwise_are_not_joined(rows: Sequence[Any]) -> None:
    for format_name, reader in (("openclaw", "openclaw-2026.9"), ("pi", "pi-1.5")):
        assert joined(u("u1", None, "hello"), *rows, format_name=format_name, reader=reader) == [["hello"], ["one"], ["two"]]


def test_what_a_compaction_cut_off_is_not_joined_to_what_it_keeps() -> None:
    rows = (
        u("u1", None, "hello"),
        a("a1", "u1", text("cut off"), stopReason="stop"),
        a("a2", "a1", text("kept"), stopReason="stop"),
        entry("compaction", "k1", "a2", summary="so far", firstKeptEntryId="a2", tokensBefore=9),
        u("u2", "k1", "on"),
    )
    assert joined(*rows, format_name="pi", reader="pi-1.5") == [["hello"], ["cut off"], ["kept"], ["on"]]
