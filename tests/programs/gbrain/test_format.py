"""What gbrain's rows are read as: blocks of both paths, spellings of the column, the ledger beside it, and values that no program of gbrain writes."""

import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.conversation.edits import Plan
from inspector.conversation.model import Chunk, Conversation, Kind
from inspector.programs.formats import Record, Stored, WriteRefused
from inspector.programs.gbrain.facts import GATEWAY, GATEWAY_BALANCED, GATEWAY_GAPPED, LEGACY, MIXED
from inspector.programs.gbrain.format import GBRAIN
from inspector.programs.gbrain.rules import run_without_call
from inspector.programs.gbrain.tables import EXECUTIONS, JOBS, LEASES, MESSAGES, RELATIONS
from inspector.programs.relation_rows import record_of, relation_of
from inspector.rules.base import case_of
from inspector.text import jsonb, jsontext
from tests.folding import in_one_test
from tests.programs.gbrain import conformance_rows as gbrain_rows
from tests.programs.gbrain.conformance_rows import BY_NUMBER, ROWS, call, result, text

USE = {"type": "tool_use", "id": "t1", "name": "head", "input": {"n": 3}}
USED = {"type": "tool_result", "tool_use_id": "t1", "content": '{"h":3}', "is_error": True}


def record(table: str, **columns: str | None) -> Record:
    relation = relation_of(RELATIONS, table)
    assert relation is not None
    return record_of(relation, columns)


def message(index: int, content: Any, role: str = "user", job: int = 1, **more: str | None) -> Record:
    """`content` as the text of the column, where it is one, else as jsonb prints it."""
    held = content if isinstance(content, Raw) else jsonb.printed(content)
    return record(MESSAGES, job_id=str(job), message_idx=str(index), role=role, content_blocks=held, **more)


class Raw(str):
    """The text of a column, whatever it holds."""


def job(**columns: str | None) -> Record:
    return record(JOBS, **{"id": "1", "name": "subagent", "status": "failed", "data": "{}", **columns})


def read(*records: Record) -> Conversation:
    (found,) = GBRAIN.read(records)
    return found.conversation


def chunks(*blocks: Any, role: str = "assistant") -> list[Chunk]:
    return list(read(message(0, list(blocks), role)).chunks)


def one(block: Any, role: str = "assistant") -> Chunk:
    (found,) = chunks(block, role=role)
    return found


def test_blocks_of_the_direct_path() -> None:
    found = chunks(
        text("I look"),
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "xx"},
        {**USE, "cache_control": {"type": "ephemeral"}},
    )
    assert [chunk.kind for chunk in found] == [Kind.TEXT, Kind.THINKING, Kind.REDACTED_THINKING, Kind.TOOL_CALL]
    assert found[1].payload == {"type": "thinking", "text": "hm", "signature": "sig"}
    assert found[3].payload["input"] == {"n": 3}
    assert found[3].payload["stored"] == {"cache_control": {"type": "ephemeral"}}


def test_results_of_the_direct_path_are_words_and_stand_before_a_note_about_the_output_cap() -> None:
    note = "[system] Your previous response hit the 4096-token output cap and was truncated;"
    found = chunks(USED, text(note), role="user")
    assert [(chunk.role, chunk.kind) for chunk in found] == [("tool", Kind.TOOL_RESULT), ("user", Kind.TEXT)]
    assert (found[0].call_id, found[0].tool_name, found[0].payload["content"], found[0].payload["isError"]) == ("t1", "", '{"h":3}', True)


@pytest.mark.parametrize("output", [{"h": 3}, ["a"], None, 4.5, False, "words", ""])
def test_an_output_of_the_gateway_loop_is_any_value(output: Any) -> None:
    found = one(result("a", "head", output), role="user")
    if isinstance(output, str):
        assert found.payload["content"] == output
        assert "blocks" not in found.payload
    else:
        assert json.loads(found.payload["content"]) == output
        assert found.payload["blocks"][0]["value"] == output


def test_geminis_signature_stays_with_its_call() -> None:
    found = one({**call("a", "head"), "providerMetadata": {"google": {"thoughtSignature": "sig"}}})
    assert found.payload["signature"] == "sig"
    assert one({**call("a", "head"), "providerMetadata": {"google": "odd"}}).payload.get("signature") is None


def test_the_spelling_of_the_column_is_told_on_every_chunk() -> None:
    blocks = [text("a"), call("c", "head")]
    plain, bare, double = (read(message(0, content)) for content in (blocks, "just words", jsontext.compact(blocks)))
    assert [chunk.payload.get("stored") for chunk in plain.chunks] == [None, None]
    assert [(chunk.text, chunk.payload["stored"]) for chunk in bare.chunks] == [("just words", {"encoding": "bare"})]
    assert [chunk.payload["stored"] for chunk in double.chunks] == [{"encoding": "double"}] * 2
    assert [chunk.kind for chunk in double.chunks] == [chunk.kind for chunk in plain.chunks]
    assert (double.fact("doubleEncoded"), plain.fact("doubleEncoded"), bare.fact("doubleEncoded")) == ("0", None, None)


@pytest.mark.parametrize("words", ["[1, 2", "[sic] he said", "{not json}", "", " ", '{"type": "text"}', "null", "12"])
def test_words_that_only_begin_like_json_are_words(words: str) -> None:
    (found,) = read(message(0, words)).chunks
    assert (found.kind, found.text) == (Kind.TEXT, words)


@in_one_test(
    ("messages", "path"),
    [
        ({0: [text("go")], 1: [USE], 2: [USED]}, LEGACY),
        ({0: [text("go")], 1: [call("a", "head")], 2: [result("a", "head", 1)]}, GATEWAY_BALANCED),
        ({0: [text("go")], 1: [call("a", "head")], 3: [call("b", "head")]}, GATEWAY_GAPPED),
        ({0: [text("go")], 1: [call("a", "head")]}, GATEWAY),
        ({0: [text("go")], 1: [USE], 2: [USED], 3: [call("b", "head")]}, MIXED),
        ({0: [text("go")], 1: [USE, call("b", "head")]}, MIXED),
        ({0: [text("go")], 1: [text("done")]}, None),
    ],
)
@in_one_test("version", ["1", "2", None])
def test_blocks_and_gaps_tell_the_path_and_never_the_version_in_the_row(
    messages: dict[int, Any], path: str | None, version: str | None
) -> None:
    rows = [message(index, blocks, "assistant" if index % 2 else "user", schema_version=version) for index, blocks in messages.items()]
    assert read(*rows).fact("path") == path


def test_gaps_are_named_where_something_follows_them() -> None:
    rows = [message(0, [text("go")]), *(message(index, [call(f"c{index}", "head")], "assistant") for index in (1, 3, 5))]
    assert read(*rows).fact("gaps") == "2,4"
    assert read(*rows[:2]).fact("gaps") is None


def test_pages_that_were_written_in_one_shot_have_runs_and_no_call() -> None:
    runs = [
        record(
            EXECUTIONS,
            id=str(n),
            job_id="1",
            message_idx="1",
            tool_use_id=f"oneshot-1a2b3c4d-p{n}",
            tool_name="put_page",
            status="complete",
        )
        for n in range(3)
    ]
    rows = [job(), message(0, [text("go")]), message(1, [text("three pages")], "assistant")]
    assert [run.call_id for run in read(*rows, *runs).ledger] == [f"oneshot-1a2b3c4d-p{n}" for n in range(3)]
    assert list(run_without_call.check(case_of(read(*rows, *runs), "gbrain-head"))) == []
    stray = record(EXECUTIONS, id="9", job_id="1", message_idx="1", tool_use_id="toolu_9", tool_name="put_page", status="complete")
    assert len(list(run_without_call.check(case_of(read(*rows, stray), "gbrain-head")))) == 1


def test_facts_of_a_job() -> None:
    found = read(
        job(
            data='{"model": "glm:glm-4.6", "prompt": "find it"}',
            result='{"stop_reason": "error"}',
            error_text="boom",
            attempts_made="2",
            max_attempts="3",
            lock_until="2026-06-07 10:00:00.5+00",
            created_at="2026-06-07 09:00:00+00",
        ),
        message(0, [text("go")], ended_at="2026-06-07 09:30:00+00"),
        record(LEASES, id="1", key="k", owner_job_id="1", expires_at="2026-06-07 10:05:00+00"),
        record(LEASES, id="2", key="k", owner_job_id="1", expires_at="2026-06-07 10:02:00+00"),
    )
    assert found.title == "find it"
    assert {name: found.fact(name) for name in ("status", "model", "errorText", "stopReason", "attempts")} == {
        "status": "failed",
        "model": "glm:glm-4.6",
        "errorText": "boom",
        "stopReason": "error",
        "attempts": "2 of 3",
    }
    assert found.fact("lockUntil") == "1780826400500"
    assert found.fact("leaseUntil") == "1780826700000"
    assert found.fact("lastActivityAt") == "1780824600000"


@pytest.mark.parametrize(
    "data", ["[]", "3", '"words"', "null", '{"prompt": 3, "model": ["x"]}', "{torn", '"{\\"prompt\\": 1}"', "[" * 1000]
)
def test_odd_data_of_a_job_gives_no_facts(data: str) -> None:
    found = read(job(data=data, result=data, lock_until="infinity", attempts_made="many"), message(0, [text("go")]))
    assert (found.fact("model"), found.fact("stopReason"), found.fact("lockUntil"), found.title) == (None, None, None, "go")


@pytest.mark.parametrize("content", [3, None, True, {"type": "text", "text": "hi"}, {}])
def test_content_that_is_no_array_is_named(content: Any) -> None:
    (found,) = read(message(0, content)).chunks
    assert (found.kind, found.damage) == (Kind.UNREADABLE, "wrong-type")
    assert "gbrain reads the message as empty" in found.reason


@pytest.mark.parametrize(
    "content", ["{torn", "", "[" * 500 + "]" * 500, "[" + "9" * 5000 + "]", "NaN", '[{"type":"text","text":"x"}] more']
)
def test_content_that_cannot_be_parsed_is_named_and_keeps_its_bytes(content: str) -> None:
    row = message(0, Raw(content))
    (found,) = read(row).chunks
    assert found.kind is Kind.UNREADABLE
    assert found.reason
    assert found.raw == row.value.data


@pytest.mark.parametrize(
    "block",
    [
        None,
        3,
        "words",
        [],
        [text("nested")],
        {},
        {"type": None},
        {"type": ["text"]},
        {"type": "text"},
        {"type": "text", "text": None},
        {"type": "text", "text": ["a"]},
        {"type": "tool_use", "id": 3, "name": "head"},
        {"type": "tool-call", "toolCallId": "a"},
        {"type": "tool-call", "toolCallId": "a", "toolName": None},
        {"type": "tool-result", "toolCallId": None, "output": 1},
        {"type": "tool_result", "content": "x"},
    ],
)
def test_a_block_that_gbrain_leaves_out_is_unreadable_and_kept(block: Any) -> None:
    found = one(block)
    assert (found.kind, found.damage) == (Kind.UNREADABLE, "wrong-type")
    assert found.payload["stored"]["block"] == block
    assert "gbrain leaves it out" in found.reason


def test_blocks_of_other_kinds_are_kept_as_they_are() -> None:
    for block in ({"type": "image", "source": {}}, {"type": "thinking"}, {"type": "tool-error"}, {"type": ""}):
        found = one(block)
        assert (found.kind, found.payload["block"]) == (Kind.CONTROL, block)


def test_missing_inputs_and_outputs_are_what_gbrain_takes_them_for() -> None:
    assert one({"type": "tool-call", "toolCallId": "a", "toolName": "head"}).payload["input"] == {}
    assert one({"type": "tool-result", "toolCallId": "a"}, role="user").payload["content"] == "null"
    assert one({"type": "tool-result", "toolCallId": "a", "isError": "yes"}, role="user").payload["isError"] is False


def test_an_empty_row_is_still_a_row() -> None:
    (found,) = read(message(4, [])).chunks
    assert (found.kind, found.msg_idx, found.payload["empty"]) == (Kind.CONTROL, 4, "[]")


@pytest.mark.parametrize("role", ["tool", "system", "", "ASSISTANT", "user\x00"])
def test_a_role_that_gbrain_never_writes_stays_what_it_is(role: str) -> None:
    (found,) = read(message(0, [text("a")], role)).chunks
    assert found.role == role


def test_negative_and_far_indexes_stand_in_their_order() -> None:
    found = read(*(message(index, [text(str(index))]) for index in (2147483647, 0, -1, -2147483648, -2, 10)))
    assert [chunk.msg_idx for chunk in found.chunks] == [-2147483648, -2, -1, 0, 10, 2147483647]
    assert [chunk.seq for chunk in found.chunks] == [1, 2, 3, 4, 5, 6]


def test_what_is_no_number_where_one_belongs_ends_nothing() -> None:
    rows = [
        record(MESSAGES, job_id="1", message_idx="one", role="user", content_blocks="[]"),
        record(MESSAGES, job_id="1", message_idx=None, role=None, content_blocks=None),
        record(
            EXECUTIONS,
            id="x",
            job_id="1",
            message_idx="?",
            tool_use_id=None,
            tool_name=None,
            status=None,
            ordinal="1.5",
            input="{",
            output="[",
        ),
        record(LEASES, id="1", owner_job_id="1", key="k", expires_at="soon"),
    ]
    found = read(*rows)
    assert len(found.chunks) == 2
    (run,) = found.ledger
    assert (run.message_idx, run.ordinal, run.status, run.damage) == (0, None, "", "not-json")
    assert run.reason.startswith("output: ")


def test_runs_come_by_message_and_place_and_keep_their_words() -> None:
    rows = [
        record(
            EXECUTIONS,
            id=str(n),
            job_id="1",
            message_idx=index,
            tool_use_id="a",
            tool_name="head",
            status="failed",
            ordinal=ordinal,
            error="",
        )
        for n, (index, ordinal) in enumerate([("3", "0"), ("1", "1"), ("1", "0"), ("1", None)], start=1)
    ]
    found = read(message(0, [text("go")]), *rows)
    assert [(run.message_idx, run.ordinal) for run in found.ledger] == [(1, 0), (1, None), (1, 1), (3, 0)]
    assert {run.error for run in found.ledger} == {""}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.number)
def test_the_order_of_the_records_says_nothing(row: gbrain_rows.Case) -> None:
    records = [*gbrain_rows.records(row, 1), *gbrain_rows.records(row, 2)]
    mixed = list(records)
    random.Random(row.number).shuffle(mixed)
    assert list(GBRAIN.read(mixed)) == list(GBRAIN.read(records))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.number)
def test_an_empty_plan_writes_nothing(row: gbrain_rows.Case) -> None:
    plan = Plan("postgresql:///x", "1", "fill-rows", (), frozenset(), "", ())
    with pytest.raises(WriteRefused, match="Nothing of this plan"):
        GBRAIN.write(plan, gbrain_rows.stored(row))


def test_guard_holds_every_row_of_the_job() -> None:
    stored = gbrain_rows.stored(BY_NUMBER["1"])
    rows, watched = GBRAIN.guard(stored)
    assert rows == {"1": {record.key: record.value for record in stored.records}}
    assert watched == {}


words = st.text(st.characters(codec="utf-8"), max_size=12)
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3), max_leaves=8)
kinds = st.sampled_from(["text", "tool_use", "tool_result", "tool-call", "tool-result", "thinking", "redacted_thinking", "image"])
names = st.sampled_from(
    ["type", "text", "id", "name", "input", "toolCallId", "toolName", "output", "isError", "tool_use_id", "content", "data"]
)
blocks = values | st.builds(lambda kind, rest: {**rest, "type": kind}, kinds, st.dictionaries(names, values, max_size=5))


@given(st.lists(blocks, max_size=4) | values)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_json_reads_as_chunks_that_are_in_their_places(content: Any) -> None:
    try:
        row = message(7, content)
    except jsonb.NotStorable:
        return
    (stored,) = GBRAIN.read([row])
    assert isinstance(stored, Stored)
    found = stored.conversation.chunks
    assert [chunk.chunk_idx for chunk in found] == list(range(len(found)))
    assert all(chunk.msg_idx == 7 and chunk.raw == row.value.data for chunk in found)
    if isinstance(content, list):
        assert len(found) == max(len(content), 1)
