"""The incident report's conversation (E1), from its rows to what was sent, what is found, and what a repair leaves after."""

import pytest

from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.formats import Stored, after
from inspector.rules.base import Origin, case_of, findings
from inspector.rules.catalogue import RULES
from inspector.text import jsontext
from inspector.text.jsontext import decode
from tests.programs.dispatch.previews import preview_of, read, shown, spelled, wire
from tests.programs.dispatch.reported_incident import E1, before_turn_3

NINE = "U1 A[2-3] U4 A[5-6] U7 A[8-11] T12 T13 A14"
MERGED = "helloHello! How can I help you today?Can you read some files in this projectI'd be happy to read files..."
MERGED_LATER = MERGED + "the caching, there are 3 different percentages displayedLet me explore the project structure..."


@pytest.fixture(scope="module")
def stored() -> Stored:
    return E1.stored()


@pytest.fixture(scope="module")
def repaired(stored: Stored) -> Stored:
    """E1 once its messages were renumbered in place, read again from the records."""
    changes = preview_of(stored, "same-rows", ["renumber-messages"]).changes
    return next(iter(DISPATCH.read(after(E1.records(), changes))))


def test_the_shipped_loader_makes_three_messages_and_drops_the_last(stored: Stored) -> None:
    reading = read(stored.conversation)
    assert shown(reading.messages) == [("user", tuple(range(1, 12))), ("tool", (12,)), ("tool", (13,))]
    assert [dropped.seqs for dropped in reading.dropped] == [(14,)]


def test_the_report_is_the_one_that_was_logged(stored: Stored) -> None:
    assert jsontext.compact(dict(read(stored.conversation).report)) == (
        '{"repairedCount":0,"firstRepairedToolCallId":null,"strippedErrorChunks":0,"droppedEmptyMessages":1}'
    )


@pytest.mark.parametrize(("reader", "survive"), [("exact", 8), ("exact+keep-thinking", 9), ("dispatch-role-split", 8)])
def test_exact_groups_nine_and_the_thinking_only_message_survives_only_the_proposed_fix(stored: Stored, reader: str, survive: int) -> None:
    reading = read(stored.conversation, reader)
    assert spelled(reading.grouped) == NINE
    assert len(reading.messages) == survive


def test_turn_3_started_from_one_user_message_of_six_chunks() -> None:
    reading = read(before_turn_3().conversation())
    assert shown(reading.messages) == [("user", (1, 2, 3, 4, 5, 6))]
    assert wire(reading.messages) == [{"role": "user", "content": MERGED}]


def test_the_next_request_has_one_user_message_and_two_results_without_calls(stored: Stored) -> None:
    assert wire(read(stored.conversation).messages) == [
        {"role": "user", "content": MERGED_LATER},
        {"role": "tool", "content": "(find output)", "tool_call_id": "call_filled_1"},
        {"role": "tool", "content": "", "tool_call_id": "call_filled_2"},
    ]


def test_what_is_found_and_where(stored: Stored) -> None:
    found = findings(case_of(stored.conversation, "dispatch-legacy"), RULES)
    assert [(finding.code, finding.origin, finding.seqs) for finding in found] == [
        ("MSG101", Origin.READER, tuple(range(1, 12))),
        ("THINK301", Origin.STREAM, (14,)),
        ("TOOL202", Origin.READER, (12,)),
        ("TOOL202", Origin.READER, (13,)),
        ("THINK101", Origin.READER, (14,)),
    ]


def test_a_reader_that_groups_right_leaves_only_the_leaked_call_and_the_dropped_message(stored: Stored) -> None:
    found = findings(case_of(stored.conversation, "exact"), RULES)
    assert [finding.code for finding in found] == ["THINK301", "THINK101"]
    assert [finding.code for finding in findings(case_of(stored.conversation, "exact+keep-thinking"), RULES)] == ["THINK301"]


def test_renumbering_changes_no_byte_of_any_chunk(stored: Stored, repaired: Stored) -> None:
    def chunk_bytes(rows: Stored) -> list[bytes]:
        texts = [decode(chunk.raw) for chunk in rows.conversation.chunks]
        return [text[slice(*jsontext.members(text)["chunk"])].encode() for text in texts]

    assert chunk_bytes(repaired) == chunk_bytes(stored)
    assert [chunk.msg_idx for chunk in repaired.conversation.chunks] == [1, 2, 2, 3, 4, 4, 5, 6, 6, 6, 6, 7, 8, 9]


@pytest.mark.parametrize("reader", ["dispatch-legacy", "dispatch-role-split", "dispatch-global-index", "exact"])
def test_after_renumbering_every_reader_groups_the_same_nine(repaired: Stored, reader: str) -> None:
    assert spelled(read(repaired.conversation, reader).grouped) == NINE


def test_renumbering_writes_the_rows_and_nothing_else(stored: Stored) -> None:
    changes = preview_of(stored, "same-rows", ["renumber-messages"]).changes
    assert [change.key for change in changes] == [chunk.key for chunk in stored.conversation.chunks]
    assert changes[0].after is not None
    assert changes[0].after.data == b'{"chunk":{"type":"text","text":"hello"},"role":"user","msgIdx":1,"chunkIdx":0}'


def test_the_preview_says_that_seq_14_is_still_dropped_and_that_an_unfixed_server_merges_again(stored: Stored) -> None:
    preview = preview_of(stored, "same-rows", ["renumber-messages"])
    assert any("still leaves out seq 14" in warning for warning in preview.warnings)
    assert any("merges again" in warning for warning in preview.warnings)
    assert [finding.code for finding in preview.after.findings] == ["THINK301", "THINK101"]
    assert (preview.before.judgement.verdict, preview.after.judgement.verdict) == (
        "rejected at messages.1 (OC-2)",
        "passes all known rules",
    )
    assert {row.op for row in preview.rows} == {"reindexed"}


def test_the_fork_leaves_every_record_of_the_original_alone(stored: Stored) -> None:
    preview = preview_of(stored, "new-conversation", ["renumber-messages"])
    written = {record.key: record.value for record in after(E1.records(), preview.changes)}
    assert all(written[record.key] == record.value for record in E1.records())
    assert written["conv:new-id:seq"].data == b"14"
    assert spelled(preview.after.case.reading.grouped) == NINE
