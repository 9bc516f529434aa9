"""The rows R-1 to R-15 of upstream's tests of reconcile(), on appended messages."""

from typing import Any, NamedTuple

import pytest

from inspector.conversation.model import Message
from inspector.programs.dispatch.readers import REPAIRS, reconcile
from tests.programs.dispatch.appended_stores import A, Said, Store, T, U, appended, er, tc, th, tr, tx
from tests.programs.dispatch.previews import read, rows, wire


class Row(NamedTuple):
    history: list[Said]
    expected: list[Said]
    stripped: int = 0
    emptied: int = 0
    repaired: tuple[str, ...] = ()


def syn(id: str, step: str | None = None) -> Said:
    return T(tr(id, "interrupted: tool execution did not complete", error=True, step=step))


STEP = "turn-1782600000000-abc#0"
ROWS = {
    "R-1": Row([], []),
    "R-2": Row([U("a"), A("b")], [U("a"), A("b")]),
    "R-3": Row([U("a"), A(tc("1")), T(tr("1")), A("b")], [U("a"), A(tc("1")), T(tr("1")), A("b")]),
    "R-4": Row([U("a"), A(tc("o"))], [U("a"), A(tc("o")), syn("o")], repaired=("o",)),
    "R-5": Row([A(tc("a"), tc("b"))], [A(tc("a"), tc("b")), syn("a"), syn("b")], repaired=("a", "b")),
    "R-6": Row([A(tc("r"), tc("o")), T(tr("r"))], [A(tc("r"), tc("o")), T(tr("r")), syn("o")], repaired=("o",)),
    "R-7": Row(
        [U("a"), A(tc("1")), T(tr("1")), U("b"), A(tc("2"))],
        [U("a"), A(tc("1")), T(tr("1")), U("b"), A(tc("2")), syn("2")],
        repaired=("2",),
    ),
    "R-8": Row([A(th(), tx(), tc("a"))], [A(th(), tx(), tc("a")), syn("a")], repaired=("a",)),
    "R-9": Row([A(tc("a", step=STEP))], [A(tc("a", step=STEP)), syn("a", STEP)], repaired=("a",)),
    "R-10": Row([A(tc("a"))], [A(tc("a")), syn("a")], repaired=("a",)),
    "R-11": Row([U("a"), A(er())], [U("a")], stripped=1, emptied=1),
    "R-12": Row([A("a", er())], [A("a")], stripped=1),
    "R-13": Row([A(er())], [], stripped=1, emptied=1),
    "R-14": Row([A(tc("1"), er()), T(tr("1"))], [A(tc("1")), T(tr("1"))], stripped=1),
    "R-15": Row([U("a"), A(tc("o"), er())], [U("a"), A(tc("o")), syn("o")], stripped=1, repaired=("o",)),
}


def said(messages: tuple[Message, ...]) -> list[Said]:
    return [Said(message.role, tuple(dict(chunk.payload) for chunk in message.chunks)) for message in messages]


def grouped(history: list[Said]) -> tuple[Message, ...]:
    return read(appended(history).conversation(), "exact").grouped


@pytest.mark.parametrize("name", ROWS)
def test_reconcile_gives_what_upstream_gives(name: str) -> None:
    row = ROWS[name]
    kept, _, report = reconcile(grouped(row.history), REPAIRS["r3"])
    assert said(kept) == row.expected
    assert report == {
        "repairedCount": len(row.repaired),
        "firstRepairedToolCallId": row.repaired[0] if row.repaired else None,
        "strippedErrorChunks": row.stripped,
        "droppedEmptyMessages": row.emptied,
    }


@pytest.mark.parametrize("name", ROWS)
def test_the_shipped_reader_gives_the_same_on_one_append(name: str) -> None:
    row = ROWS[name]
    if not row.history:
        assert Store().records() == []
        return
    reading = read(appended(row.history).conversation())
    assert said(reading.messages) == row.expected


@pytest.mark.parametrize("name", ROWS)
def test_what_reconcile_takes_out_is_named_and_what_it_makes_up_has_no_seq(name: str) -> None:
    row = ROWS[name]
    groups = grouped(row.history)
    kept, dropped, _ = reconcile(groups, REPAIRS["r3"])
    stored = [seq for message in groups for seq in message.seqs]
    assert sorted([seq for message in kept for seq in message.seqs] + [seq for out in dropped for seq in out.seqs]) == stored
    assert [message.chunks[0].call_id for message in kept if message.synthetic] == list(row.repaired)


def test_every_row_is_covered() -> None:
    assert set(ROWS) == rows("R", 15)


def test_a_placeholder_result_has_upstreams_fields_in_upstreams_order() -> None:
    kept, _, _ = reconcile(grouped([A(tc("a", step=STEP))]), REPAIRS["r3"])
    assert list(kept[-1].chunks[0].payload) == ["type", "toolCallId", "toolName", "content", "isError", "stepId"]


@pytest.mark.parametrize(
    ("repair", "report"),
    [("r1", {}), ("r2", {"repairedCount": 1, "firstRepairedToolCallId": "o"})],
)
def test_older_versions_keep_errors_and_log_less(repair: str, report: dict[str, Any]) -> None:
    kept, dropped, logged = reconcile(grouped([U("a"), A(tc("o"), er()), A(th())]), REPAIRS[repair])
    assert said(kept) == [U("a"), A(tc("o"), er()), A(th()), syn("o")]
    assert (dropped, logged) == ((), report)


def test_a_result_anywhere_in_any_role_counts_as_an_answer() -> None:
    kept, _, report = reconcile(grouped([U(tr("a")), A(tc("a"))]), REPAIRS["r3"])
    assert [message.role for message in kept] == ["user", "assistant"]
    assert report["repairedCount"] == 0


def test_a_call_in_a_user_message_is_not_answered() -> None:
    kept, _, report = reconcile(grouped([U(tc("a"))]), REPAIRS["r3"])
    assert len(kept) == 1
    assert report["repairedCount"] == 0


def test_the_wire_has_the_placeholder_result_last() -> None:
    reading = read(appended([U("a"), A(tc("o"))], [U("b")], [A("c")]).conversation(), "exact")
    assert [message["role"] for message in wire(reading.messages)] == ["user", "assistant", "user", "assistant", "tool"]
