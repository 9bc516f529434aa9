"""Both sides of a stream as rows: what is folded, what stands alone, what is bounded, and what is said where a side or its order is missing."""

from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType

import pytest

from inspector.presentation.stream import lanes as stream_lanes
from inspector.presentation.stream import view as stream_view
from inspector.presentation.stream.event import event_bytes, event_view
from inspector.presentation.stream.report import analysed
from inspector.presentation.stream.view import LaneRow, StreamView
from inspector.streams.model import End, Exchange, How, Read, Side
from tests.folding import in_one_test
from tests.streams.golden.cases import CASES, FLOWS
from tests.streams.golden.script import END, EOF, Golden, b, c, raw
from tests.streams.spoken import DONE, ROLE, chunk, finish, ndjson, sse, text

B, C = Side.BACKEND, Side.CLIENT
BUG = next(flow for flow in FLOWS if flow.name == "the bug L-O")
EARLY = (
    "The stream was ended too early: the client got {} at input {}. {} more came from the backend, and none of them could reach the client."
)


def looked(what: Golden | Exchange) -> StreamView:
    return stream_view.viewed(analysed(what if isinstance(what, Exchange) else what.exchange()))


def rows(found: StreamView) -> list[str]:
    """Each row as `backend | client`, with the names of what is wrong."""
    return [line(row) for row in stream_view.window(found).rows]


def line(row: LaneRow) -> str:
    cells = [cell.summary if cell else "closed" if side.value in row.over else "" for side, cell in ((B, row.backend), (C, row.client))]
    return " | ".join([*cells, *(mark.name for mark in row.band.marks)])


def whole(backend: bytes, client: bytes) -> Exchange:
    return Golden("x", raw(B, backend) + EOF + raw(C, client) + END).exchange()


def test_the_premature_terminal_stands_first_in_words_and_alone_in_its_row() -> None:
    found = looked(BUG)
    assert stream_view.headline(found) == EARLY.format("[DONE]", "3 of 5", 2)
    assert rows(found) == [
        "3 text deltas, 82 characters | ",
        " | create_file",
        " | tool_calls",
        " | [DONE] | premature-terminal",
        "1 text delta, 15 characters | closed | content-lost",
        "done:true, finish stop, usage | closed",
        "The connection closes | closed",
        "closed | The connection closes",
    ]
    shown = stream_view.window(found).rows
    assert [row.input for row in shown[:5]] == ["input 1–3", "after input 3", "after input 3", "after input 3", "input 4"]
    assert [sorted(row.first_over) for row in shown] == [[], [], [], [], ["client"], [], [], ["backend"]]


def test_a_call_written_as_text_is_one_row_from_its_opening_on() -> None:
    pieces = ("I look.\n", "<function=ls>\n", "<parameter=path>\n/tmp\n</parameter>\n", "</function>")
    said = sse(ROLE, *(text(piece) for piece in pieces), finish(), DONE)
    found = looked(whole(said, said))
    assert [
        (row.client.first, row.client.last, row.client.text[:9], row.band.worst)
        for row in stream_view.window(found).rows
        if row.client and row.client.kind == "text"
    ] == [
        (1, 1, "I look.\n", ""),
        (2, 4, "<function", "error"),
    ]


def test_what_the_sides_said_and_where_they_part() -> None:
    backend, client = looked(BUG).messages
    assert [(part.how, part.event) for part in backend.parts] == [("as-text", 0), ("lost", 3)]
    assert [(part.how, part.event) for part in client.parts] == [("", 0)]


@in_one_test("case", CASES, ids=lambda case: case.name)
def test_every_event_is_in_one_row_and_every_finding_at_its_event(case: Golden) -> None:
    found = looked(case)
    held = [
        (side, event)
        for band in found.lanes.bands
        for side, cell in band.cells.items()
        if not cell.ended
        for event in range(cell.first, cell.last + 1)
    ]
    assert sorted(held) == [(side, event) for side in sorted(found.lanes.events) for event in range(found.lanes.events[side])]
    marked = {mark.name for band in found.lanes.bands for mark in band.marks}
    assert marked == {each.rule for each in found.analysis.findings}
    for band in found.lanes.bands:
        assert all(band.cells[mark.side].holds(mark.side, mark.event) for mark in band.marks)


def test_equal_deltas_fold_while_both_sides_go_on() -> None:
    steps = b(ROLE) + c(ROLE)
    for _ in range(17):
        steps += b(text("word ")) + c(text("word "))
    found = looked(Golden("x", steps + b(finish()) + c(finish()) + b(DONE) + EOF + c(DONE) + END))
    said = "17 text deltas, 85 characters"
    assert rows(found)[:2] == ["1 opening record | 1 opening record", f"{said} | {said}"] and len(found.lanes.bands) == 8
    assert stream_view.headline(found).endswith("nothing is wrong by what both sides show.")


def test_an_event_that_is_wrong_is_taken_out_of_its_fold() -> None:
    steps = (
        b(ROLE, *[text("same words. ")] * 9, finish(), DONE) + EOF + c(ROLE, *[text("same words. ")] * 4, chunk({"content": "x "}, id="c2"))
    )
    found = looked(Golden("x", [*steps, *c(*[text("same words. ")] * 5, finish(), DONE), *END]))
    wrong = [row for row in rows(found) if "id-or-model-changed" in row]
    assert wrong and all("1 text delta" in row for row in wrong)


def test_a_side_whose_order_was_not_kept_stands_beside_the_other() -> None:
    found = looked(replace(whole(sse(ROLE, text("Hi"), finish(), DONE), sse(ROLE, text("Hi"), finish(), DONE)), ordered=False))
    assert rows(found)[:2] == ["1 opening record | 1 opening record", "1 text delta, 2 characters | 1 text delta, 2 characters"]
    assert any("order of both sides was not kept" in sentence for sentence in stream_view.lacking(found))
    assert {row.input for row in stream_view.window(found).rows if row.backend is None} <= {""}


def test_one_side_says_what_it_cannot_show() -> None:
    exchange = BUG.exchange()

    def client() -> Iterator[Read | End]:
        return (each for each in exchange.happenings() if each.side is C)

    found = looked(replace(exchange, happenings=client, sides=(C,)))
    assert "premature-terminal" in {row.name for row in stream_view.not_shown(found)}
    assert "premature-terminal" not in {mark.name for mark in found.marks} and not stream_view.headline(found).startswith(
        "The stream was ended"
    )
    assert stream_view.not_shown(looked(BUG)) == ()


def test_rows_are_bounded_and_the_last_one_counts_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_lanes, "MOST_ROWS", 6)
    found = looked(whole(sse(*[each for _ in range(50) for each in (text("a"), chunk({"reasoning_content": "b"}))]), b""))
    assert len(found.lanes.bands) == 6 and not found.lanes.is_whole
    last = found.lanes.bands[-1].cells[B]
    assert last.kind == "several" and last.last == 99 and sum(last.kinds.values()) == last.count == 95
    assert found.lanes.place(B, 77) == 5


def test_a_window_begins_where_it_is_asked_to_and_holds_the_event_that_is_asked_for() -> None:
    found = looked(whole(sse(ROLE, *[each for _ in range(200) for each in (text("a"), chunk({"reasoning_content": "b"}))]), b""))
    first = stream_view.window(found)
    assert len(first.rows) == stream_view.WINDOW and (first.earlier, first.later) == (None, stream_view.WINDOW)
    second = stream_view.window(found, first.later)
    assert second.rows[0].number == first.rows[-1].number + 1 and second.earlier == 0
    around = stream_view.window(found, selected=(B, 333))
    (selected,) = [row for row in around.rows if row.is_selected]
    assert selected.backend is not None and selected.backend.holds(B, 333) and around.first > 0
    assert stream_view.window(found, selected=(B, 9999)).first == 0
    only = stream_view.window(found, kind="thinking")
    assert only.matching == 200 and {row.backend.kind for row in only.rows if row.backend} == {"thinking"}
    assert stream_view.window(found, lane="client").matching == 1


def test_the_bytes_of_an_event_are_those_that_came_parted_where_a_read_began() -> None:
    record = ndjson({"model": "m", "message": {"content": "Grüße \x00<b>"}, "done": False})
    exchange = Golden(
        "x", raw(B, ndjson({"model": "m", "message": {"content": ""}}) + record[:30], record[30:40], record[40:]) + EOF
    ).exchange()
    found = event_view(replace(exchange, sides=(B,)), B, 1)
    assert found is not None and found.data == record and (found.cuts, found.reads) == ((30, 40), (1, 3))
    assert len(found.pieces) == 3 and b"".join(event_bytes(exchange, B, 1) or ()) == record
    assert (
        event_view(exchange, B, 2) is None
        and event_bytes(exchange, B, 2) is None
        and event_view(replace(exchange, sides=(B,)), C, 0) is None
    )


@pytest.mark.parametrize(
    "request_body",
    [None, {}, {"tools": "all", "messages": {}, "model": 7}, {"tools": [None, {"function": []}, {"name": ["x"]}], "input": "hello"}],
)
def test_a_request_of_any_shape_is_summed_up(request_body: dict[str, object] | None) -> None:
    assert stream_view.request_view(request_body).tool_count == 0


def test_the_request_names_its_tools() -> None:
    many = {"model": "m", "tools": [{"type": "function", "function": {"name": f"t{number}"}} for number in range(99)], "messages": [1, 2]}
    asked = stream_view.request_view(many)
    assert (asked.tool_count, asked.tools[:2], asked.messages, asked.model) == (99, ("t0", "t1"), 2, "m")


def test_an_exchange_without_bytes_is_shown_and_says_so() -> None:
    nothing = Exchange("x", lambda: iter((End(B, How.EOF),)), (B,), protocols=MappingProxyType({}))
    found = looked(nothing)
    assert rows(found) == ["The connection closes | "] and stream_view.overview(found).wrong == ()
    assert stream_view.headline(found) == "Nothing of this answer was captured: there is not one event in it."


@pytest.mark.slow
def test_the_overview_is_bounded_and_shows_what_the_client_did_not_get() -> None:
    found = looked(BUG)
    drawn = stream_view.overview(found)
    assert {tick.kind for tick in drawn.wrong} == {"terminal", "text"} and drawn.after_close["client"][1] > 100
    long = looked(whole(sse(ROLE, *[each for _ in range(3000) for each in (text("a"), chunk({"reasoning_content": "b"}))]), b""))
    assert len(stream_view.overview(long).ticks) <= 4 * stream_view.MOST_TICKS


def test_findings_are_walked_in_the_order_of_the_lanes() -> None:
    found = looked(BUG)
    first = stream_view.steps(found, None)
    assert first.after is not None and (first.after.name, first.total) == ("premature-terminal", 2)
    second = stream_view.steps(found, (C, 2))
    assert second.after is not None and (second.number, second.after.name, second.before) == (1, "content-lost", None)
