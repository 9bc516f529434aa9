"""Writing back: a child beside its parent or the same file, untouched lines byte for byte, each era in its own spelling."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from inspector.conversation.edits import ID, Edit, Insert, Plan, Remove, Replace, Set
from inspector.conversation.model import Chunk, Kind
from inspector.programs.formats import Record, Stored, WriteRefused, after
from inspector.programs.rollouts.format import ROLLOUTS
from tests.programs.rollouts.session_files import (
    FOLDER,
    GOLDEN_LINE,
    GOLDEN_SESSION,
    a,
    call,
    lines,
    message,
    r,
    records,
    session,
    stored,
    text,
    thinking,
    u,
)  # fmt: skip
from tests.programs.rollouts.session_files import (
    ID as SESSION,
)

MESSAGES = f"{FOLDER}/messages.jsonl"
HISTORY = lines(message("system", [text("be")]), u("é"), a(thinking("hm"), text("I call"), call("1"), call("2")), r("1"), u("and?"))


def planned(found: Stored, edits: Sequence[Edit], mode: str = "in-place") -> Plan:
    options = ROLLOUTS.options(mode, found, "fresh")
    return Plan("/x", found.conversation.native_id, mode, ("a-strategy",), frozenset(), "base", tuple(edits), options)


def written(found: Stored, edits: Sequence[Edit], mode: str = "in-place") -> dict[str, bytes]:
    return {change.key: change.after.data for change in ROLLOUTS.write(planned(found, edits, mode), found) if change.after}


def result(call_id: str, words: str = "made up") -> Chunk:
    payload = {"type": "tool-result", "toolCallId": call_id, "toolName": "bash", "content": words, "isError": True}
    return Chunk(f"new:{call_id}", 0, "tool", Kind.TOOL_RESULT, payload, 90, 0)


def test_no_edit_is_no_change() -> None:
    assert ROLLOUTS.write(planned(stored(HISTORY), []), stored(HISTORY)) == []
    assert ROLLOUTS.write(planned(stored(b""), []), stored(b"")) == []


@pytest.mark.parametrize(
    "data", [HISTORY, b"\n\n" + HISTORY.replace(b"\n", b"\r\n") + b" \n", HISTORY + b"{torn", HISTORY[:-1], b"{]\n" + HISTORY, b""]
)
def test_a_child_without_edits_holds_the_same_messages(data: bytes) -> None:
    found = stored(data)
    files = written(found, [], "child")
    assert files[f".rollouts/sessions/{ROLLOUTS.target(planned(found, [], 'child'))}/messages.jsonl"] == data


def test_an_inserted_result_is_one_line_and_every_other_keeps_its_bytes() -> None:
    found = stored(HISTORY)
    data = written(found, [Insert(found.conversation.chunks[-2].key, result("2"))])[MESSAGES]
    old, new = HISTORY.split(b"\n"), data.split(b"\n")
    assert new[:4] == old[:4] and new[5:] == old[4:]
    assert new[4].decode() == (
        '{"role": "tool", "content": "made up", "provider": null, "api": null, "model": null, "tool_call_id": "2", '
        '"details": null, "timestamp": "2026-11-20T17:25:35.000000"}'
    )


def test_a_removed_block_leaves_the_rest_of_its_line_as_it_was() -> None:
    found = stored(HISTORY)
    gone = next(chunk for chunk in found.conversation.chunks if chunk.call_id == "2")
    data = written(found, [Remove(gone)])[MESSAGES]
    assert data == lines(message("system", [text("be")]), u("é"), a(thinking("hm"), text("I call"), call("1")), r("1"), u("and?"))


def test_a_message_whose_last_block_goes_is_gone() -> None:
    found = stored(HISTORY)
    (answer,) = [chunk for chunk in found.conversation.chunks if chunk.kind is Kind.TOOL_RESULT]
    assert written(found, [Remove(answer)])[MESSAGES].split(b"\n") == [
        line for line in HISTORY.split(b"\n") if b'"tool_call_id": "1"' not in line
    ]


def test_a_changed_call_changes_nothing_else_of_its_line() -> None:
    found = stored(GOLDEN_LINE.encode() + b"\n")
    old = found.conversation.chunks[2]
    data = written(found, [Replace(old, replace(old, payload={**old.payload, "input": {"b": 2}}))])[MESSAGES]
    assert data.decode() == GOLDEN_LINE.replace('{"b": 1, "a": [1.0, null]}', '{"b": 2}') + "\n"


def test_thinking_becomes_text_in_the_order_of_the_dataclass() -> None:
    found = stored(GOLDEN_LINE.encode() + b"\n")
    old = found.conversation.chunks[0]
    data = written(found, [Replace(old, replace(old, kind=Kind.TEXT, payload={"type": "text", "text": "was thought"}))])[MESSAGES]
    block = '{"type": "thinking", "thinking": "日本 \u2028 x", "thinking_signature": "SIG"}'
    assert data.decode() == GOLDEN_LINE.replace(block, '{"type": "text", "text": "was thought", "text_signature": null}') + "\n"


def test_unknown_keys_of_a_changed_line_stay() -> None:
    found = stored(lines(a(text("x") | {"cites": [1]}, call("1")) | {"stop_reason": "end"}))
    block = found.conversation.chunks[1]
    made = json.loads(written(found, [Remove(block)])[MESSAGES])
    assert made["stop_reason"] == "end" and made["content"] == [text("x") | {"cites": [1]}]


def test_a_string_stays_a_string() -> None:
    found = stored(lines(u("bad")))
    old = found.conversation.chunks[0]
    data = written(found, [Replace(old, replace(old, payload={**old.payload, "text": "good"}))])[MESSAGES]
    assert data == lines(u("good"))


def test_a_torn_tail_that_goes_takes_nothing_with_it() -> None:
    found = stored(HISTORY + b'{"role": "assis')
    assert written(found, [Remove(found.conversation.chunks[-1])])[MESSAGES] == HISTORY


def test_what_follows_a_line_without_end_stands_on_its_own_line() -> None:
    found = stored(lines(u(), a(call("1")))[:-1])
    data = written(found, [Insert(found.conversation.chunks[-1].key, result("1"))])[MESSAGES]
    assert data.startswith(lines(u(), a(call("1")))) and data.count(b"\n") == 3


def test_era_b_is_written_as_era_b() -> None:
    data = b'{"role": "user", "content": "h\\u00e9"}\n{"role": "assistant", "content": [{"type": "toolCall", "id": "1", "name": "n", "arguments": {}}]}\n'
    found = stored(data)
    made = written(found, [Insert(found.conversation.chunks[-1].key, result("1", "é"))])[MESSAGES]
    assert made == data + b'{"role": "tool", "content": "\\u00e9", "tool_call_id": "1"}\n'


def test_a_child_is_two_new_files_as_rollouts_writes_them() -> None:
    meta = session(tags={"sliced": "true"}, status="aborted", reward=1.0)
    found = stored(HISTORY, meta)
    files = written(found, [Insert(found.conversation.chunks[-2].key, result("2"))], "child")
    target = ROLLOUTS.options("child", found, "fresh")["fork_id"]
    assert target.startswith("20261120_172536_") and len(target) == len(SESSION) and target > SESSION
    assert sorted(files) == [f".rollouts/sessions/{target}/messages.jsonl", f".rollouts/sessions/{target}/session.json"]
    text_ = files[f".rollouts/sessions/{target}/session.json"].decode()
    made = json.loads(text_)
    assert text_ == json.dumps(made, indent=2) and list(made) == list(json.loads(GOLDEN_SESSION))
    assert (made["session_id"], made["parent_id"], made["branch_point"], made["status"]) == (target, SESSION, 4, "pending")
    assert made["tags"]["sliced"] == "true" and len(made["tags"]["inspector"]) == 16
    assert made["created_at"] == made["updated_at"] == "2026-11-20T17:25:36.000000"
    assert made["endpoint"] == json.loads(GOLDEN_SESSION)["endpoint"]


def test_a_child_reads_back_beside_its_parent() -> None:
    found = stored(HISTORY)
    plan = planned(found, [Insert(found.conversation.chunks[-2].key, result("2"))], "child")
    both = list(ROLLOUTS.read(after(found.records, ROLLOUTS.write(plan, found))))
    assert [each.conversation.native_id for each in both] == [SESSION, ROLLOUTS.target(plan)]
    assert both[0].records == found.records and both[1].conversation.fact("parent") == SESSION
    assert [chunk.call_id for chunk in both[1].conversation.chunks if chunk.kind is Kind.TOOL_RESULT] == ["1", "2"]


def test_the_same_question_has_the_same_child() -> None:
    assert ROLLOUTS.options("child", stored(HISTORY), "a") == ROLLOUTS.options("child", stored(HISTORY), "a")
    assert ROLLOUTS.options("child", stored(HISTORY), "a") != ROLLOUTS.options("child", stored(HISTORY), "b")
    assert ROLLOUTS.options("in-place", stored(HISTORY), "a") == {}


def rename(found: Stored) -> list[Edit]:
    return [Set("conversation", ID, found.conversation.native_id, "new")]


def title(found: Stored) -> list[Edit]:
    return [Set("conversation", "title", None, "new")]


@pytest.mark.parametrize(
    ("held", "edits", "mode", "sentence"),
    [
        (records(HISTORY), rename, "in-place", "--mode child"),
        (records(HISTORY), title, "child", "no place for title"),
        (records(HISTORY, None), lambda found: [], "child", "--mode in-place"),
        (records(HISTORY, session(endpoint=...)), lambda found: [], "child", "--mode in-place"),
        ([replace(each, key=each.key.removeprefix(".rollouts/sessions/")) for each in records(HISTORY)], lambda found: [], "child", "import the sessions folder"),
        ([Record("session.json", records(HISTORY)[1].value)], lambda found: [], "in-place", "name the folder"),
        ([Record(".rollouts/crashes/20261120_172534_5b6b77.txt", records(HISTORY)[1].value)], lambda found: [], "child", "evidence"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_says_what_to_do(
    held: list[Record], edits: Callable[[Stored], list[Edit]], mode: str, sentence: str
) -> None:
    (found,) = ROLLOUTS.read(held)
    with pytest.raises(WriteRefused, match=sentence):
        ROLLOUTS.write(planned(found, edits(found), mode), found)


def test_a_session_of_era_a_is_written_in_its_own_file() -> None:
    from tests.programs.rollouts.test_format import ERA_A, ERA_A_KEY

    key = f".rollouts/{ERA_A_KEY}"
    (found,) = ROLLOUTS.read([Record(key, replace(records(b"")[0].value, data=ERA_A))])
    last = found.conversation.chunks[-1]
    made = written(found, [Replace(last, replace(last, payload={**last.payload, "text": "hé"}))])[key]
    assert made == ERA_A.replace(b'"hello"', b'"h\\u00e9"')
    assert written(found, [Remove(last)])[key] == b"".join(line for line in ERA_A.splitlines(True) if b"hello" not in line)
    with pytest.raises(WriteRefused, match="--mode in-place"):
        ROLLOUTS.write(planned(found, [], "child"), found)
