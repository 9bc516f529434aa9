"""What a repair writes into a rollout file, and into a new one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import zstandard

from inspector.conversation.edits import MOVED, Edit, Plan, Remove, Replace, Set, apply, between
from inspector.conversation.model import Chunk, Conversation
from inspector.planning.preview import compose, preview
from inspector.programs.codex.format import CODEX
from inspector.programs.codex.items import is_uuid
from inspector.programs.formats import WriteRefused
from inspector.rules.base import case_of
from inspector.strategies.catalogue import strategy
from tests.programs.codex.threads import (
    ID,
    LINES,
    NAME,
    PAGINATED,
    THREADS,
    TURNS,
    WHOLE,
    assistant,
    call,
    compacted,
    custom,
    event,
    item,
    line,
    output,
    paginated,
    said,
    thread,
    user,
)
from tests.programs.codex.writing_threads import KEY, NEW, SAME, case, changes, conversation, edits_of, repaired, stored, values, written

INTERRUPTED = "insert-interrupted-result"


def reworded(data: bytes, old: str, new: str) -> Sequence[Edit]:
    """The edits that say something else in messages."""
    chunks = [chunk for chunk in conversation(data).chunks if chunk.role and chunk.text == old]
    return [Replace(chunk, replace(chunk, payload={**chunk.payload, "text": new})) for chunk in chunks]


def without(data: bytes, *texts: str) -> Sequence[Edit]:
    return [Remove(chunk) for chunk in conversation(data).chunks if chunk.role and chunk.text in texts]


def changed_lines(before: bytes, after: bytes) -> dict[int, bytes]:
    pairs = zip(before.splitlines(), after.splitlines(), strict=True)
    return {number: new for number, (old, new) in enumerate(pairs) if old != new}


def test_a_result_is_a_line_after_its_call_at_the_time_of_the_call() -> None:
    data = thread(user("q1"), call("c1"), user("q2"))
    lines = data.splitlines(keepends=True)
    new = line(2, output("c1", "aborted"))
    assert repaired(data, INTERRUPTED) == b"".join([*lines[:3], new, lines[3]])


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (custom("c1"), "custom_tool_call_output"),
        (item({"type": "local_shell_call", "call_id": "c1", "status": "x", "action": {"type": "exec"}}), "function_call_output"),
    ],
)
def test_the_output_is_of_the_type_that_the_call_asks_for(record: Any, kind: str) -> None:
    assert values(repaired(thread(user("q1"), record, user("q2")), INTERRUPTED))[3]["payload"]["type"] == kind


@pytest.mark.parametrize(
    ("shown", "members"),
    [
        (event("agent_message", message="a1", phase="x"), {"message": "better", "phase": "x"}),
        (
            event("item_completed", item={"type": "AgentMessage", "id": "m", "content": [{"type": "Text", "text": "a1"}]}),
            {"item": {"type": "AgentMessage", "id": "m", "content": [{"type": "Text", "text": "better"}]}},
        ),
    ],
)
def test_the_words_of_a_message_change_in_its_item_and_in_its_event(shown: Any, members: dict[str, Any]) -> None:
    data = thread(user("q1"), assistant("a1", phase="final_answer"), shown, user("a1"), event("token_count", info="a1"))
    after = written(data, reworded(data, "a1", "better")[:1])
    assert changed_lines(data, after).keys() == {2, 3}
    assert values(after)[2]["payload"] == {**said("assistant", "better"), "phase": "final_answer"}
    assert members.items() <= values(after)[3]["payload"].items()


def test_a_message_that_goes_takes_its_event_along() -> None:
    data = thread(*TURNS)
    after = written(data, without(data, "a1"))
    assert after == b"".join(text for number, text in enumerate(data.splitlines(keepends=True)) if number not in (5, 6))


def test_a_changed_line_keeps_what_inspector_does_not_know_and_its_spaces() -> None:
    raw = LINES[1].replace(b'"payload":{', b'"extra" : [1.50, "\\u00e9"] , "payload": {"unknown":{"a" :1},').replace(b"\n", b"\r\n")
    data = b"".join([LINES[0], raw, *LINES[2:]])
    after = written(data, reworded(data, "q1", "other"))
    assert after.splitlines(keepends=True)[1] == raw.replace(b"q1", b"other")


def test_arguments_that_do_not_change_keep_their_text() -> None:
    data = thread(user("q1"), call("c1", arguments='{ "cmd" : ["ls"] }'), output("c1"))
    chunk = conversation(data).chunks[2]
    edit = Replace(chunk, replace(chunk, payload={**chunk.payload, "toolName": "exec"}))
    assert written(data, [edit]) == data.replace(b'"shell"', b'"exec"')


def test_a_history_that_replaced_others_is_repaired_in_its_line() -> None:
    lost, kept_call = output("cX")[1], call("c9")[1]
    data = thread(user("q1"), compacted("s", said("user", "kept"), lost, kept_call, said("user", "s")), user("q2"))
    after = repaired(data, "drop-orphaned-results", INTERRUPTED)
    assert changed_lines(data, after).keys() == {2}
    history = values(after)[2]["payload"]["replacement_history"]
    assert [each.get("output", each["type"]) for each in history] == ["message", "function_call", "aborted", "message"]


def test_a_new_thread_names_its_origin_and_keeps_every_other_line() -> None:
    data = thread(user("q1"), call("c1"), user("q2"))
    (change,) = changes(data, edits_of(data, INTERRUPTED), NEW)
    assert change.before is None and change.after is not None
    meta = values(change.after.data)[0]["payload"]
    assert meta["forked_from_id"] == ID and is_uuid(meta["id"]) and meta["id"] != ID
    assert change.key == f"sessions/2026/11/22/rollout-2026-11-22T17-25-00-{meta['id']}.jsonl"
    assert change.after.data.splitlines()[1:] == repaired(data, INTERRUPTED).splitlines()[1:]


def test_the_records_of_a_new_paginated_thread_are_counted_from_0() -> None:
    data = paginated(user("q1"), call("c1"), user("q2"))
    after = values(repaired(data, INTERRUPTED, mode=NEW))
    assert [value["ordinal"] for value in after] == [0, 1, 2, 3, 4] and after[3]["payload"]["output"] == "aborted"


def test_a_paginated_thread_is_not_counted_anew_in_its_own_file() -> None:
    data = paginated(user("q1"), call("c1"), user("q2"))
    with pytest.raises(WriteRefused, match=r"counts its records.*--mode new-thread"):
        repaired(data, INTERRUPTED)
    with pytest.raises(WriteRefused, match="counts its records"):
        written(PAGINATED, without(PAGINATED, "a1"))
    assert changed_lines(PAGINATED, written(PAGINATED, reworded(PAGINATED, "a1", "better"))).keys() == {5, 6}


def test_a_record_at_the_end_of_a_paginated_thread_counts_on() -> None:
    data = paginated(user("q1"), call("c1"))
    after = repaired(data, INTERRUPTED)
    assert after.startswith(data) and values(after)[-1]["ordinal"] == 3


@pytest.mark.parametrize("mode", [SAME, NEW])
def test_a_last_line_without_its_end_gets_one_where_something_follows(mode: str) -> None:
    data = thread(user("q1"), call("c1"))[:-1]
    assert repaired(data, INTERRUPTED, mode=mode).count(b"\n") == 4


def test_an_archive_is_written_as_a_new_plain_file() -> None:
    data = thread(user("q1"), call("c1"))
    packed, edits = zstandard.compress(data), edits_of(data, INTERRUPTED)
    with pytest.raises(WriteRefused, match=r"packed with zstd.*--mode new-thread"):
        changes(packed, edits, SAME, f"{KEY}.zst")
    (change,) = changes(packed, edits, NEW, f"{KEY}.zst")
    assert change.key.endswith(".jsonl") and change.after is not None and len(values(change.after.data)) == 4


def test_a_damaged_archive_is_not_written() -> None:
    packed = zstandard.compress(WHOLE)[:-4]
    with pytest.raises(WriteRefused, match="archive is damaged"):
        changes(packed, [], NEW, f"{KEY}.zst")


def test_a_session_meta_that_is_not_first_is_first_in_a_new_thread() -> None:
    after = written(THREADS["session_meta second"], [], NEW)
    assert [value["type"] for value in values(after)[:2]] == ["session_meta", "response_item"]
    assert conversation(after).fact("stops") is None


@pytest.mark.parametrize(
    ("data", "edits", "mode", "key", "reason"),
    [
        (THREADS["no session_meta"], [], NEW, KEY, "holds no session_meta"),
        (WHOLE, [], NEW, NAME, "outside of what is open here"),
        (WHOLE, [Set("conversation", "cwd", None, "/x")], SAME, KEY, "no place for cwd"),
    ],
)
def test_what_cannot_be_written_is_refused(data: bytes, edits: Sequence[Edit], mode: str, key: str, reason: str) -> None:
    with pytest.raises(WriteRefused, match=reason):
        changes(data, edits, mode, key)


def test_a_record_that_shares_its_line_is_not_changed_before_that_line_is_split() -> None:
    data = THREADS["lines spliced"]
    with pytest.raises(WriteRefused, match="split-spliced-records"):
        written(data, [Remove(_of_part(data, 2))])


def _of_part(data: bytes, part: int) -> Chunk:
    return next(chunk for chunk in conversation(data).chunks if f"/{part}." in chunk.key)


def test_a_plan_of_another_hand_gives_no_path() -> None:
    plan = Plan("/x", ID, NEW, (), frozenset(), "", (), {"fork_id": "../../x", "now": "2026-11-22T17:24:59.000Z"})
    with pytest.raises(WriteRefused, match="make the plan again"):
        CODEX.write(plan, stored(WHOLE))


def test_of_equal_messages_each_has_its_own_event() -> None:
    turns = [record for _ in range(3) for record in (user("ok"), event("user_message", message="ok"), assistant("a"))]
    data = thread(*turns)
    second = [chunk for chunk in conversation(data).chunks if chunk.text == "ok" and chunk.role][1]
    after = written(data, [Replace(second, replace(second, payload={**second.payload, "text": "no"}))])
    assert changed_lines(data, after).keys() == {4, 5}


def test_the_line_and_what_it_says_are_repaired_together() -> None:
    data = paginated(user("q1"), call("c1"), assistant("a1")).replace(b'"ordinal":2', b'"ordinal":1')
    edits = compose(case(data), [strategy("insert-interrupted-result"), strategy("give-ordinals")])
    after = values(written(data, edits, NEW))
    assert [value["ordinal"] for value in after] == [0, 1, 2, 3, 4] and after[4]["payload"]["output"] == "aborted"


def test_a_message_on_a_line_that_is_split_is_changed_on_its_own_line() -> None:
    data = THREADS["not UTF-8"]
    clean = conversation_after(data, "replace-invalid-bytes")
    (chunk,) = [chunk for chunk in clean.chunks if chunk.role == "assistant" and chunk.text == "a\ufffd1"]
    final = replace(
        clean, chunks=tuple(replace(each, payload={**each.payload, "text": "a1"}) if each is chunk else each for each in clean.chunks)
    )
    after = written(data, between(conversation(data), final))
    assert changed_lines(WHOLE, after) == {}


def conversation_after(data: bytes, name: str) -> Conversation:
    return apply(conversation(data), edits_of(data, name))


def test_a_plan_after_which_the_session_opens_no_more_is_refused() -> None:
    """`system-first` put an instruction before the session's own row once: Codex opens no file that begins so."""
    of = stored(thread(user("q1"), item(said("developer", "Be brief."))))
    *others, last = of.conversation.chunks
    edits = tuple(between(of.conversation, replace(of.conversation, chunks=(replace(last, key=f"{MOVED}{last.key}"), *others))))
    plan = Plan("/x", of.conversation.native_id, SAME, (), frozenset(), "", edits, CODEX.options(SAME, of, "fresh"))
    with pytest.raises(
        WriteRefused, match="codex could not open what is written, and opens what is stored: the first record is no session_meta"
    ):
        preview(case_of(of.conversation, "codex"), of, CODEX, plan, [], CODEX.default_projection, CODEX.default_profile)
