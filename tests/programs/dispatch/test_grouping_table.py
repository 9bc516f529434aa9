"""The rows N-1 to N-11: what each grouping makes of appends, with reports, requests and verdicts."""

from typing import NamedTuple

import pytest

from inspector.conversation.model import Conversation
from inspector.profiles.catalogue import profile
from inspector.programs.dispatch.readers import INTERRUPTED
from inspector.projections.catalogue import projection
from tests.folding import in_one_test
from tests.programs.dispatch.appended_stores import A, S, Store, T, U, appended, er, sy, tc, th, tr, tx
from tests.programs.dispatch.previews import read, rows, spelled, wire
from tests.programs.dispatch.reported_incident import E1, before_turn_3

OLD, SPLIT, EXACT = READERS = ("dispatch-legacy", "dispatch-role-split", "exact")


class Seen(NamedTuple):
    """Groups before reconcile, messages after it, the report as (repaired, stripped, emptied)."""

    grouped: str
    messages: str
    report: tuple[int, int, int] = (0, 0, 0)
    content: tuple[str | None, ...] = ()
    violations: tuple[str, ...] = ()


class Row(NamedTuple):
    store: Store
    old: Seen
    split: Seen
    exact: Seen


def same(store: Store, old: Seen, split: Seen) -> Row:
    return Row(store, old, split, split)


E1_OLD = "helloHello! How can I help you today?Can you read some files in this projectI'd be happy to read files..."
E1_OLD_NEXT = E1_OLD + "the caching, there are 3 different percentages displayedLet me explore the project structure..."
E1_FIRST = (
    "hello",
    "The user simply said hello...Hello! How can I help you today?",
    "Can you read some files in this project",
    "The user is asking me to read files...I'd be happy to read files...",
)
E1_LAST = (
    "the caching, there are 3 different percentages displayed",
    "The user wants to look at files related to caching...Let me explore the project structure...",
    "(find output)",
    "",
)


def _compacted() -> Store:
    """A merged history that compaction wrote back: two rounds, kept as one user message of six chunks after the summary."""
    merged = read(before_turn_3().conversation()).messages
    words = [dict(chunk.payload) for message in merged for chunk in message.chunks]
    return appended([S(sy("summary")), U(*words)])


ROWS = {
    "N-1": same(
        E1,
        Seen("U[1-11] T12 T13 A14", "U[1-11] T12 T13", (0, 0, 1), (E1_OLD_NEXT, "(find output)", ""), ("OC-2", "OC-2")),
        Seen("U1 A[2-3] U4 A[5-6] U7 A[8-11] T12 T13 A14", "U1 A[2-3] U4 A[5-6] U7 A[8-11] T12 T13", (0, 0, 1), (*E1_FIRST, *E1_LAST)),
    ),
    "N-2": same(
        before_turn_3(),
        Seen("U[1-6]", "U[1-6]", content=(E1_OLD,)),
        Seen("U1 A[2-3] U4 A[5-6]", "U1 A[2-3] U4 A[5-6]", content=E1_FIRST),
    ),
    "N-3": Row(
        appended([U("one")], [U("two")], [A("ok")]),
        Seen("U[1-3]", "U[1-3]", content=("onetwook",)),
        Seen("U[1-2] A3", "U[1-2] A3", content=("onetwo", "ok")),
        Seen("U1 U2 A3", "U1 U2 A3", content=("one", "two", "ok")),
    ),
    "N-4": same(
        appended([U("a")], [A("b")], [U("c")], [A("d")], [U("e")]),
        Seen("U[1-5]", "U[1-5]", content=("abcde",)),
        Seen("U1 A2 U3 A4 U5", "U1 A2 U3 A4 U5", content=("a", "b", "c", "d", "e")),
    ),
    "N-5": same(
        appended(
            [U("u1")],
            [A("look", tc("a")), T(tr("a", "ra"))],
            [A("done1")],
            [U("u2")],
            [A(th("th2"), tc("b")), T(tr("b", "rb"))],
            [A("done2")],
            [U("u3")],
        ),
        Seen(
            "U[1-3] T4 A[5-8] T9 A[10-11]",
            "U[1-3] T4 A[5-8] T9 A[10-11]",
            content=("u1look", "ra", "done1u2th2", "rb", "done2u3"),
            violations=("OC-2",),
        ),
        Seen(
            "U1 A[2-3] T4 A5 U6 A[7-8] T9 A10 U11",
            "U1 A[2-3] T4 A5 U6 A[7-8] T9 A10 U11",
            content=("u1", "look", "ra", "done1", "u2", "th2", "rb", "done2", "u3"),
        ),
    ),
    "N-6": same(
        appended([U("u1"), A("x", tc("a")), T(tr("a")), A("y")], [U("u2"), A("z")]),
        Seen("U1 A[2-3] T4 A5 U6 A7", "U1 A[2-3] T4 A5 U6 A7", content=("u1", "x", "found", "y", "u2", "z")),
        Seen("U1 A[2-3] T4 A5 U6 A7", "U1 A[2-3] T4 A5 U6 A7", content=("u1", "x", "found", "y", "u2", "z")),
    ),
    "N-7": same(
        appended([U("go")], [A(er())]),
        Seen("U[1-2]", "U[1-2]", content=("go",)),
        Seen("U1 A2", "U1", (0, 1, 1), content=("go",)),
    ),
    "N-8": same(
        appended([U("go"), A(er())]),
        Seen("U1 A2", "U1", (0, 1, 1), content=("go",)),
        Seen("U1 A2", "U1", (0, 1, 1), content=("go",)),
    ),
    "N-9": same(
        appended([U("do")], [A(tc("9"))], [U("next")], [A("ok")]),
        Seen("U[1-4]", "U[1-4]", content=("donextok",)),
        Seen("U1 A2 U3 A4", "U1 A2 U3 A4 T+", (1, 0, 0), ("do", None, "next", "ok", INTERRUPTED), violations=("OC-1", "OC-2")),
    ),
    "N-10": same(
        appended([S(sy("rules"))], [U("u")], [A("a")]),
        Seen("S[1-3]", "S[1-3]", content=("rulesua",)),
        Seen("S1 U2 A3", "S1 U2 A3", content=("rules", "u", "a")),
    ),
    "N-11": same(
        _compacted(),
        Seen("S1 U[2-7]", "S1 U[2-7]", content=("summary", E1_OLD)),
        Seen("S1 U[2-7]", "S1 U[2-7]", content=("summary", E1_OLD)),
    ),
}
CASES = {
    f"{name}-{reader}": (row.store.conversation(), reader, seen)
    for name, row in ROWS.items()
    for reader, seen in zip(READERS, row[1:], strict=True)
}
every_case = in_one_test(("conversation", "reader", "seen"), CASES.values(), ids=CASES)


@every_case
def test_groups_and_messages(conversation: Conversation, reader: str, seen: Seen) -> None:
    reading = read(conversation, reader)
    assert spelled(reading.grouped) == seen.grouped
    assert spelled(reading.messages) == seen.messages


@every_case
def test_the_report_that_the_client_logs(conversation: Conversation, reader: str, seen: Seen) -> None:
    report = read(conversation, reader).report
    assert (report["repairedCount"], report["strippedErrorChunks"], report["droppedEmptyMessages"]) == seen.report


@every_case
def test_the_words_that_are_sent(conversation: Conversation, reader: str, seen: Seen) -> None:
    sent = tuple(message["content"] for message in wire(read(conversation, reader).messages))
    assert sent == seen.content


@every_case
def test_what_the_provider_would_refuse(conversation: Conversation, reader: str, seen: Seen) -> None:
    prompt = projection("dispatch-openai").project(read(conversation, reader).messages)
    judgement = profile("openai-chat").judge(prompt)
    assert tuple(violation.id for violation in judgement.violations) == seen.violations
    assert judgement.sendable == (not seen.violations)


def test_every_row_is_covered() -> None:
    assert set(ROWS) == rows("N", 11)


def test_n5_loses_a_call_to_a_merge_that_nothing_reports() -> None:
    reading = read(ROWS["N-5"].store.conversation())
    assert not any(reading.report.values())
    assert "tool_calls" not in wire(reading.messages)[0]
    assert wire(reading.messages)[2]["tool_calls"][0]["id"] == "b"


def test_n9_the_placeholder_result_comes_last_and_the_call_stays_unanswered() -> None:
    prompt = projection("dispatch-openai").project(read(ROWS["N-9"].store.conversation(), "exact").messages)
    judgement = profile("openai-chat").judge(prompt)
    assert [(violation.id, violation.path, violation.seqs) for violation in judgement.violations] == [
        ("OC-1", "messages.1", (2,)),
        ("OC-2", "messages.4", ()),
    ]
    assert not judgement.prefix_valid
    assert judgement.first_bad == 2


def test_a_call_at_the_end_is_valid_as_a_beginning() -> None:
    prompt = projection("dispatch-openai").project(read(appended([U("u"), A(tc("a"))]).conversation(), "exact").grouped)
    judgement = profile("openai-chat").judge(prompt)
    assert [violation.open_ended for violation in judgement.violations] == [True]
    assert judgement.prefix_valid
    assert judgement.verdict == "rejected at messages.1 (OC-1)"


def test_option_b_reads_stored_rows_as_before_and_new_ones_right() -> None:
    conversation = ROWS["N-5"].store.conversation()
    assert spelled(read(conversation, "dispatch-global-index").grouped) == ROWS["N-5"].old.grouped
    assert spelled(read(conversation, "dispatch-global-index+new-rows").grouped) == ROWS["N-5"].exact.grouped


def test_a_row_without_index_parts_its_neighbours_as_in_the_client() -> None:
    store = appended([U("a")], [A("b")], [U("c")])
    store.values["conv:c1:chunk:0000000002"] = '{"chunk":{"type":"text","text":"b"},"role":"assistant","chunkIdx":0}'
    reading = read(store.conversation())
    assert spelled(reading.grouped) == "U1 U3"
    assert [dropped.seqs for dropped in reading.dropped] == [(2,)]


@pytest.mark.parametrize("row", ["null", '{"role":"user","msgIdx":0,"chunkIdx":1}', '{"chunk":null,"role":"user","msgIdx":0,"chunkIdx":1}'])
@pytest.mark.parametrize("reader", ["dispatch-legacy", "dispatch-legacy+r1", "exact"])
def test_a_row_on_which_the_client_throws_fails_the_reading(row: str, reader: str) -> None:
    store = appended([U("a", "b")])
    store.values["conv:c1:chunk:0000000002"] = row
    reading = read(store.conversation(), reader)
    assert reading.failure.startswith("load throws: row seq 2")
    assert reading.messages == ()
    assert reading.dropped[0].seqs == (1, 2)


def test_a_row_without_chunk_and_index_never_reaches_the_code_that_throws() -> None:
    store = appended([U("a", "b")])
    store.values["conv:c1:chunk:0000000002"] = "{}"
    reading = read(store.conversation())
    assert reading.failure == ""
    assert spelled(reading.messages) == "U1"


def test_a_damaged_first_row_does_not_hide_where_its_message_begins() -> None:
    store = appended([U("a")], [U("b", tx("c"))])
    store.values["conv:c1:chunk:0000000002"] = "{not json"
    assert spelled(read(store.conversation(), "exact").grouped) == "U1 U3"


def test_a_gap_that_a_fork_closed_does_not_part_a_message() -> None:
    store = appended([U("u")], [A("a", er(), "b"), T(tr("x"))])
    store.values["conv:c1:chunk:0000000003"] = store.values.pop("conv:c1:chunk:0000000004")
    store.values["conv:c1:chunk:0000000004"] = store.values.pop("conv:c1:chunk:0000000005")
    assert spelled(read(store.conversation(), "exact").grouped) == "U1 A[2-3] T4"


def test_a_chunk_of_another_step_is_another_message_even_behind_a_closed_gap() -> None:
    store = appended([A(tc("a", step="turn-1-a#0"), er(), tc("b", step="turn-1-a#1"))])
    store.values["conv:c1:chunk:0000000002"] = store.values.pop("conv:c1:chunk:0000000003")
    assert spelled(read(store.conversation(), "exact").grouped) == "A1 A2"
