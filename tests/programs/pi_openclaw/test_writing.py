"""Repairs written into session files: what every program then reads, and that no byte changes which the plan does not name."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inspector.conversation import tree
from inspector.conversation.edits import Edit, Insert, Plan, Remove, Replace, Set, between
from inspector.conversation.model import Chunk, Conversation, Kind
from inspector.programs.formats import Change, Stored, WriteRefused
from inspector.programs.pi_openclaw import file as session_file
from inspector.programs.pi_openclaw import path as session_path
from inspector.programs.pi_openclaw import writing as session_writing
from inspector.programs.pi_openclaw.encoding import iso
from inspector.programs.pi_openclaw.ledger import latest
from inspector.programs.pi_openclaw.openclaw import OPENCLAW
from inspector.programs.pi_openclaw.pi import PI
from inspector.programs.pi_openclaw.verifying import verified
from inspector.rules.base import case_of
from inspector.sources import folders, reading, stores
from inspector.sources.lock_files import SessionLocked
from inspector.sources.problems import Moved
from inspector.strategies.catalogue import strategy
from inspector.strategies.numbering import renumbered
from inspector.text import js_json
from tests.programs.pi_openclaw.session_files import a, call, entry, header, line, lines, r, records, text, u

REPLAY, INSERT, NEW = "replay-suffix", "insert-and-reparent", "new-session"
KEY = "sessions/2026-11-20T17-33-07-691Z_old.jsonl"
BROKEN = lines(header(), u("u1", None, "do it"), a("a1", "u1", text("well"), call("c1", x="?")), u("u2", "a1", "and?"))


def stored(data: bytes, key: str = KEY, leaf: str | None = None) -> Stored:
    """The session as a plan gets it: the whole file, and the path that pi takes."""
    (found,) = PI.read(records({key: data}))
    entries = [each for each in tree.entries(found.conversation) if "fused" not in each.about]
    by_id = tree.last_by_id(entries)
    path, _ = tree.walk(by_id, by_id[leaf] if leaf else entries[-1] if entries else None)
    return Stored(tree.as_path(found.conversation, path), found.records)


def plan(base: Stored, edits: Iterable[Edit], mode: str = REPLAY) -> Plan:
    options = PI.options(mode, base, "11111111-2222-5333-8444-555555555555")
    return Plan("/data/sessions", base.conversation.native_id, mode, ("x",), frozenset(), "", tuple(edits), options)


def changes(data: bytes, edits: Iterable[Edit], mode: str = REPLAY, leaf: str | None = None) -> list[Change]:
    base = stored(data, leaf=leaf)
    return list(PI.write(plan(base, edits, mode), base))


def written(data: bytes, edits: Iterable[Edit], mode: str = REPLAY, leaf: str | None = None) -> bytes:
    (change,) = changes(data, edits, mode, leaf)
    assert change.after is not None
    return change.after.data


def chunk(data: bytes, key: str, leaf: str | None = None) -> Chunk:
    return next(each for each in stored(data, leaf=leaf).conversation.chunks if each.key == key)


def made_result(call_id: str = "c1", words: str = "made up") -> Chunk:
    payload = {"type": "tool-result", "toolCallId": call_id, "toolName": "bash", "content": words, "isError": True}
    return Chunk(f"new:{call_id}", 0, "tool", Kind.TOOL_RESULT, payload, 0, 0)


def inserted_result() -> list[Edit]:
    return [Insert("a1.1", made_result())]


def objects(data: bytes) -> list[dict[str, Any]]:
    found = []
    for each in data.split(b"\n"):
        try:
            found.append(json.loads(each))
        except ValueError:
            continue
    return found


def words(data: bytes, leaf: str | None = None) -> list[str]:
    return [each.text or each.call_id for each in stored(data, leaf=leaf).conversation.chunks]


# Table d.8: ways to write a repair into a tree file.


def test_a_replayed_suffix_is_appended_and_the_old_branch_stays() -> None:
    data = written(BROKEN, inserted_result())
    assert data.startswith(BROKEN) and data.endswith(b"\n")
    assert words(data) == ["do it", "well", "c1", "made up", "and?"]
    result, again = objects(data)[-2:]
    assert (result["parentId"], again["parentId"]) == ("a1", result["id"])
    assert words(data, leaf="u2") == ["do it", "well", "c1", "and?"]


def test_an_inserted_row_has_its_successor_reparented() -> None:
    data = written(BROKEN, inserted_result(), INSERT)
    old, new = BROKEN.split(b"\n"), data.split(b"\n")
    assert new[:3] == old[:3] and len(new) == len(old) + 1
    assert new[4] == old[3].replace(b'"parentId":"a1"', f'"parentId":"{objects(data)[3]["id"]}"'.encode())
    assert words(data) == ["do it", "well", "c1", "made up", "and?"]


def test_a_new_session_names_its_parent_and_keeps_the_ids_of_what_is_unchanged() -> None:
    (change,) = changes(BROKEN, inserted_result(), NEW)
    assert change.before is None and change.after is not None
    new_id = "11111111-2222-5333-8444-555555555555"
    head, *rest = objects(change.after.data)
    assert list(head) == ["type", "version", "id", "timestamp", "cwd", "parentSession"]
    assert head["id"] == new_id == PI.target(plan(stored(BROKEN), inserted_result(), NEW))
    assert head["parentSession"] == "/data/" + KEY
    assert change.key == f"sessions/{head['timestamp'].replace(':', '-').replace('.', '-')}_{new_id}.jsonl"
    assert [each["id"] for each in rest if each["id"] != rest[2]["id"]] == ["u1", "a1", "u2"]
    assert change.after.data.split(b"\n")[1:3] == BROKEN.split(b"\n")[1:3]
    assert words(change.after.data) == ["do it", "well", "c1", "made up", "and?"]


def test_openclaw_names_a_new_file_by_its_id_alone() -> None:
    (found,) = OPENCLAW.read(records({"sessions/abc.jsonl": BROKEN}))
    base = Stored(tree.as_path(found.conversation, tree.entries(found.conversation)), found.records)
    (change,) = OPENCLAW.write(plan(base, inserted_result(), NEW), base)
    assert change.key == "sessions/11111111-2222-5333-8444-555555555555.jsonl"


def test_a_single_file_has_no_room_beside_it_for_a_new_session() -> None:
    base = stored(BROKEN, "s.jsonl")
    with pytest.raises(WriteRefused, match="import the sessions folder"):
        PI.write(plan(base, inserted_result(), NEW), base)


def promised() -> tuple[session_file.File, tuple[Chunk, ...]]:
    """The file before, and the chunks that a result under its call would give."""
    base = stored(BROKEN)
    path = session_path.planned(base.conversation, inserted_result(), session_file.opened(BROKEN))
    return session_file.opened(BROKEN), path.final.chunks


def test_a_row_without_its_successor_is_refused_since_it_would_have_no_effect() -> None:
    file, final = promised()
    first, second, third, last = BROKEN.splitlines(keepends=True)
    data = first + second + third + lines(r("n1", "a1", "c1", "made up")) + last
    with pytest.raises(WriteRefused, match="no effect"):
        verified(file, data, ["u1", "a1", "n1", "u2"], final)


def test_a_row_at_the_end_is_refused_since_it_hides_the_latest_turn() -> None:
    file, final = promised()
    with pytest.raises(WriteRefused, match="latest turn would be hidden"):
        verified(file, BROKEN + lines(r("n1", "a1", "c1", "made up")), ["u1", "a1", "n1", "u2"], final)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (lines(*objects(BROKEN)[1:]), "no session header"),
        (BROKEN[:-1], "not end with a line end"),
        (BROKEN.replace(b'"well"', b'"wall"'), "gone or changed"),
        (BROKEN + lines({"foo": 1}), "would be hidden"),
        (BROKEN + lines(u("u2", "a1", "twice")), "twice"),
        (BROKEN + lines(u("u3", "u2", "more")), "would be hidden"),
    ],
)
def test_anything_but_what_was_promised_is_refused(data: bytes, said: str) -> None:
    base = stored(BROKEN)
    with pytest.raises(WriteRefused, match=said):
        verified(session_file.opened(BROKEN), data, ["u1", "a1", "u2"], base.conversation.chunks)
    verified(session_file.opened(BROKEN), BROKEN, ["u1", "a1", "u2"], base.conversation.chunks)


def test_a_parent_behind_its_child_is_refused() -> None:
    data = lines(header(), u("u2", "a1", "and?"), u("u1", None, "do it"), a("a1", "u1", text("well")), u("u3", "u2"))
    with pytest.raises(WriteRefused, match="before its parent"):
        verified(None, data, ["u1", "a1", "u2", "u3"], stored(data).conversation.chunks)


# d.7: the real result stands on another branch.

FORKED = lines(
    header(),
    u("u1", None),
    a("a1", "u1", call("c1")),
    r("r1", "a1", "c1", "the real one"),
    u("u2", "a1", "next"),
    a("a2", "u2", text("ok")),
)


def on_the_other_branch() -> Chunk:
    return next(each for each in stored(FORKED, leaf="r1").conversation.chunks if each.key == "r1.0")


@pytest.mark.parametrize(
    "edits",
    [
        pytest.param(lambda: [Insert("a1.0", on_the_other_branch())], id="the row itself put on the path"),
        pytest.param(lambda: [Set("u2", "parentId", "a1", "r1")], id="another parent"),
    ],
)
def test_the_branch_with_the_real_result_is_joined_without_a_copy_of_it(edits: Any) -> None:
    assert words(FORKED) == ["go", "c1", "next", "ok"]
    replayed = written(FORKED, edits())
    assert words(replayed) == ["go", "c1", "the real one", "next", "ok"] and replayed.count(b"the real one") == 1
    moved = written(FORKED, edits(), INSERT)
    assert moved == FORKED.replace(b'"id":"u2","parentId":"a1"', b'"id":"u2","parentId":"r1"')


def test_a_moved_result_is_copied_whole_with_what_nobody_here_knows_of_it() -> None:
    data = lines(
        header(), u("u1", None), a("a1", "u1", call("c1")), u("u2", "a1"), r("r1", "u2", "c1", "late", details={"z": 0.00003, "k": [1.0]})
    )
    late = chunk(data, "r1.0")
    edits = [Remove(late), Insert("a1.0", replace(late, key="moved:r1.0"))]
    for mode in (REPLAY, INSERT):
        after = written(data, edits, mode)
        assert words(after) == ["go", "c1", "late", "go"]
        copy = next(each for each in after.split(b"\n") if b'"late"' in each and b'"r1"' not in each)
        assert b'"details":{"z":3e-05,"k":[1.0]}' in copy


def test_an_orphan_gets_a_parent_again() -> None:
    data = lines(
        header(),
        u("u1", None, "first"),
        a("a1", "u1", text("one")),
        b'{"type":"mess',
        u("u2", "gone", "second"),
        a("a2", "u2", text("two")),
    )
    assert words(data) == ["second", "two"]
    edits = [Set("u2", "parentId", "gone", "a1")]
    assert words(written(data, edits)) == ["first", "one", "second", "two"]
    assert written(data, edits, INSERT) == data.replace(b'"parentId":"gone"', b'"parentId":"a1"')
    with pytest.raises(WriteRefused, match="no entry nowhere"):
        changes(data, [Set("u2", "parentId", "gone", "nowhere")])


def test_a_compaction_keeps_from_another_entry() -> None:
    data = lines(
        header(),
        u("u1", None),
        a("a1", "u1", text("x")),
        entry("compaction", "k1", "a1", summary="s", firstKeptEntryId="lost", tokensBefore=9),
        u("u2", "k1"),
    )
    edits = [Set("k1", "firstKeptEntryId", "lost", "a1")]
    assert written(data, edits, INSERT) == data.replace(b'"lost"', b'"a1"')
    assert objects(written(data, edits))[-2]["firstKeptEntryId"] == "a1"


def test_a_compaction_takes_the_pointer_that_its_changed_entry_has() -> None:
    rows = (entry("compaction", "k1", "a1", summary="s", firstKeptEntryId="lost", tokensBefore=9), u("u2", "k1"))
    data = lines(header(), u("u1", None), a("a1", "u1", text("x")), *rows)
    old = chunk(data, "k1.0")
    new = replace(old, payload={**old.payload, "entry": {**old.payload["entry"], "firstKeptEntryId": "a1"}})
    assert written(data, [Replace(old, new)], INSERT) == data.replace(b'"lost"', b'"a1"')


def test_a_compaction_follows_what_it_names() -> None:
    data = lines(
        *(header(), u("u1", None), a("a1", "u1", text("x")), u("u2", "a1")),
        *(entry("compaction", "k1", "u2", summary="s", firstKeptEntryId="a1", tokensBefore=9), u("u3", "k1")),
    )
    gone = [Remove(chunk(data, "a1.0"))]
    inserted = objects(written(data, gone, INSERT))
    assert next(each for each in inserted if each.get("id") == "k1")["firstKeptEntryId"] == "u2"
    replayed = objects(written(data, gone))
    assert replayed[-2]["firstKeptEntryId"] == replayed[-3]["id"] and replayed[-3]["parentId"] == "u1"


def test_a_chosen_leaf_is_made_to_last() -> None:
    edits = [Set("conversation", tree.LEAF, None, "r1")]
    for mode in (REPLAY, INSERT):
        after = written(FORKED, edits, mode)
        assert words(after) == ["go", "c1", "the real one"] and after.startswith(FORKED)
    assert changes(FORKED, [Set("conversation", tree.LEAF, None, "a2")]) == []


# What only OpenClaw reads.


def openclaw(data: bytes, edits: Any, mode: str = REPLAY) -> bytes:
    """What OpenClaw's format writes for a plan on the path that its newest reader takes; `edits` gets the chunks of it by key."""
    (found,) = OPENCLAW.read(records({KEY: data}))
    base = Stored(case_of(found.conversation, "openclaw-2026.9").conversation, found.records)
    (change,) = OPENCLAW.write(plan(base, edits({each.key: each for each in base.conversation.chunks}), mode), base)
    assert change.after is not None
    return change.after.data


def openclaw_words(data: bytes) -> list[str]:
    (found,) = OPENCLAW.read(records({KEY: data}))
    return [each.text or each.call_id for each in case_of(found.conversation, "openclaw-2026.9").conversation.chunks if each.role]


@pytest.mark.parametrize("mode", [REPLAY, INSERT, NEW])
def test_a_row_that_leads_nowhere_is_a_root_for_openclaw_only_where_nothing_stands_before_it(mode: str) -> None:
    data = lines(header(), u("u1", None, "first"), u("u2", "gone", "second"), a("a2", "u2", text("two")))
    assert openclaw_words(data) == ["first", "second", "two"]
    after = openclaw(data, lambda held: [Remove(held["u1.0"])], mode)
    assert openclaw_words(after) == words(after) == ["second", "two"]


def test_a_message_that_is_put_inside_of_the_path_before_a_gap_takes_the_lost_parent_over() -> None:
    data = lines(header(), u("u1", None, "first"), u("u2", "gone", "second"), a("a2", "u2", text("two")))
    answer = Chunk("n:1", 0, "assistant", Kind.TEXT, {"type": "text", "text": "well"}, 0)
    after = openclaw(data, lambda chunks: [Insert("u1.0", answer)], INSERT)
    assert openclaw_words(after) == ["first", "well", "second", "two"] and words(after) == ["well", "second", "two"]
    put, following = objects(after)[2:4]
    assert put["parentId"] == "gone" and following["parentId"] == put["id"]


def test_a_compaction_that_openclaw_would_put_before_the_path_is_seen() -> None:
    data = lines(
        *(header(), u("u1", None, "first"), entry("compaction", "k1", "u1", summary="s", firstKeptEntryId="u1", tokensBefore=9)),
        *(u("u2", "k1", "second"), a("a2", "u2", text("two"))),
    )
    with pytest.raises(WriteRefused, match="put the compaction of line 3 before the repaired path"):
        openclaw(data, lambda held: [Remove(held["u1.0"]), Remove(held["k1.0"])])
    assert openclaw_words(openclaw(data, lambda held: [Remove(held["u1.0"]), Remove(held["k1.0"])], NEW)) == ["second", "two"]


@pytest.mark.parametrize("mode", [REPLAY, INSERT])
def test_side_rows_and_leaf_rows_do_not_take_the_path_away(mode: str) -> None:
    side = {**u("s1", "u2", "mirror"), "appendMode": "side"}
    data = BROKEN + lines(side, entry("leaf", "f1", "s1", targetId="u2", appendParentId="s1", appendMode="side"))
    after = openclaw(data, lambda held: inserted_result(), mode)
    assert openclaw_words(after) == words(after) == ["do it", "well", "c1", "made up", "and?"]
    assert line(side) in after.splitlines()


def test_a_path_over_leaf_rows_is_refused_since_only_pi_takes_it() -> None:
    data = BROKEN + lines(entry("leaf", "f1", "u2", targetId="u1"), u("u3", "f1", "on"))
    with pytest.raises(WriteRefused, match="leaf rows"):
        changes(data, inserted_result())


def test_nothing_leads_before_a_reset_but_by_changing_the_rows_themselves() -> None:
    data = BROKEN + lines(entry("reset", "x1", "u2", firstKeptEntryId="u1"), u("u3", "x1", "on"))
    with pytest.raises(WriteRefused, match="After a reset"):
        openclaw(data, lambda held: inserted_result())


# What a chunk's change means.


def test_a_changed_value_is_spliced_and_everything_around_it_stays() -> None:
    odd = (
        b'{"type": "message","id":"a1" ,"parentId":"u1","x":1e16,"message":{ "role":"assistant","content":[{"type":"text","text":"caf\\u00e9","cost":0.00003},'
        b' {"arguments":{"p":1.0,"q":"old","1":2},"type":"toolCall","id":"c1","name":"bash"}],"usage":{"cost":1E-7}}}'
    )
    data = lines(header(), u("u1", None), odd, u("u2", "a1"))
    old = chunk(data, "a1.1")
    new = replace(old, payload={**old.payload, "input": {**old.payload["input"], "q": "new"}})
    assert written(data, [Replace(old, new)], INSERT) == data.replace(b'"q":"old"', b'"q":"new"')
    copy = written(data, [Replace(old, new)]).split(b"\n")[-3]
    assert odd.partition(b'"message":')[2][:-1].replace(b'"old"', b'"new"') in copy


def test_a_removed_block_leaves_its_message_and_a_message_without_blocks_leaves_the_path() -> None:
    data = lines(header(), u("u1", None), a("a1", "u1", text("one"), text("two"), call("c1")), a("a2", "a1", text("gone")), u("u2", "a2"))
    after = written(data, [Remove(chunk(data, "a1.1")), Remove(chunk(data, "a2.0"))], INSERT)
    assert words(after) == ["go", "one", "c1", "go"]
    assert after == data.replace(line(text("two")) + b",", b"").replace(b'"id":"u2","parentId":"a2"', b'"id":"u2","parentId":"a1"')
    replayed = written(data, [Remove(chunk(data, "a2.0"))])
    assert replayed.startswith(data) and words(replayed) == ["go", "one", "two", "c1", "go"]
    with pytest.raises(WriteRefused, match="Nothing would be left"):
        changes(data, [Remove(each) for each in stored(data).conversation.chunks])


@pytest.mark.parametrize("mode", [REPLAY, INSERT])
def test_a_cut_end_is_an_end_for_the_programs_too(mode: str) -> None:
    """The last row of the file is where they all begin; a row that only left the path would still be it."""
    after = written(BROKEN, [Remove(chunk(BROKEN, "u2.0")), Remove(chunk(BROKEN, "a1.1"))], mode)
    assert words(after) == ["do it", "well"] and BROKEN.splitlines()[3] in after.splitlines()


def test_results_between_two_blocks_of_an_answer_part_it() -> None:
    data = lines(header(), u("u1", None), a("a1", "u1", call("c1"), text("after")), u("u2", "a1"))
    base = stored(data)
    final = renumbered(replace(base.conversation, chunks=(*base.conversation.chunks[:2], made_result(), *base.conversation.chunks[2:])))
    for mode in (REPLAY, INSERT, NEW):
        assert words(written(data, between(base.conversation, final), mode)) == ["go", "c1", "made up", "after", "go"]


def test_new_rows_have_the_programs_own_order_of_keys() -> None:
    user = Chunk("n:1", 0, "user", Kind.TEXT, {"type": "text", "text": "hello"}, 0)
    answer = Chunk("n:2", 0, "assistant", Kind.TEXT, {"type": "text", "text": "yes"}, 1)
    note = {"type": "custom", "customType": "x.y", "data": {"k": 1}}
    custom = Chunk("n:3", 0, "", Kind.CONTROL, {"type": "control", "entry": note})
    made = made_result()
    flagged = replace(made, payload={**made.payload, "extra": {"details": {"made": True}}, "wire": "pi"})
    after = written(BROKEN, [Insert("a1.1", flagged), Insert("u2.0", answer), Insert("n:2", user), Insert("n:1", custom)])
    result, _, spoken, asked, last = objects(after)[-5:]
    assert list(result) == ["type", "id", "parentId", "timestamp", "message"]
    assert list(result["message"]) == ["role", "toolCallId", "toolName", "content", "details", "isError", "timestamp"]
    assert list(spoken["message"]) == ["role", "content", "api", "provider", "model", "usage", "stopReason", "timestamp"]
    assert spoken["message"]["model"] == "m"
    assert list(asked["message"]) == ["role", "content", "timestamp"]
    assert list(last) == ["type", "customType", "data", "id", "parentId", "timestamp"]
    ids = [each["id"] for each in objects(after)]
    assert len(set(ids)) == len(ids) and all(len(id_) == 8 for id_ in ids[-5:])


def test_times_never_run_backwards() -> None:
    times = [f"2026-11-20T17:33:0{second}.000Z" for second in range(1, 4)]
    rows = [u("u1", None), a("a1", "u1", text("x"), call("c1")), u("u2", "a1")]
    data = lines(header(), *({**row, "timestamp": time} for row, time in zip(rows, times, strict=True)))
    for mode in (REPLAY, INSERT, NEW):
        found = [each["timestamp"] for each in objects(written(data, inserted_result(), mode))[1:]]
        assert found == sorted(found)
    assert objects(written(data, inserted_result(), REPLAY))[-1]["timestamp"] == "2026-11-20T17:33:03.001Z"


def test_labels_come_along_into_a_new_session_and_are_not_its_end() -> None:
    label = entry("label", "l1", "u2", targetId="a1", label="mark")
    data = BROKEN + lines(label, entry("label", "l2", "l1", targetId="gone", label="x"), u("u3", "u2", "on"))
    after = written(data, inserted_result(), NEW)
    made = [each for each in objects(after) if each["type"] == "label"]
    assert [(each["targetId"], each["label"]) for each in made] == [("a1", "mark")]
    assert list(made[0]) == ["type", "id", "parentId", "timestamp", "targetId", "label"]
    assert objects(after)[-1]["id"] == "u3" and words(after)[-1] == "on"


# a.3: numbers and strings as JavaScript spells them.


@pytest.mark.parametrize(
    ("value", "spelled"),
    [
        (0.00003, "0.00003"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1e16, "10000000000000000"),
        (1.0, "1"),
        (-0.0, "0"),
        (2**53 + 1, "9007199254740992"),
        ({"b": 1, "10": 2, "2": 3}, '{"2":3,"10":2,"b":1}'),
        ("\ud83d", '"\\ud83d"'),
        ("\u2028\x7f/<é", '"\u2028\x7f/<é"'),
        ("\b\t\n\f\r\x01", '"\\b\\t\\n\\f\\r\\u0001"'),
        ("\ud83d\ude00", '"😀"'),
    ],
)
def test_values_are_spelled_as_javascript_does(value: Any, spelled: str) -> None:
    assert js_json.stringify(value) == spelled
    new = replace(chunk(BROKEN, "a1.1"), payload={**chunk(BROKEN, "a1.1").payload, "input": {"x": value}})
    data = written(BROKEN, [Replace(chunk(BROKEN, "a1.1"), new)], INSERT)
    assert f'"arguments":{{"x":{spelled}}}'.encode() in data


# Bytes that are no plain file.


def test_a_torn_last_line_stays_and_the_next_row_begins_a_line() -> None:
    torn = BROKEN + b'{"type":"message","id":"x'
    data = written(torn, inserted_result())
    assert data.startswith(torn + b'\n{"type":"message"') and words(data)[-1] == "and?"


@pytest.mark.parametrize("mode", [REPLAY, INSERT])
def test_a_missing_last_line_end_is_added(mode: str) -> None:
    assert written(BROKEN[:-1], inserted_result(), mode) == written(BROKEN, inserted_result(), mode)


@pytest.mark.parametrize("mode", [REPLAY, INSERT])
def test_windows_line_ends_stay(mode: str) -> None:
    data = written(BROKEN.replace(b"\n", b"\r\n"), inserted_result(), mode)
    assert data == written(BROKEN, inserted_result(), mode).replace(b"\n", b"\r\n")


def test_an_id_that_is_there_twice_is_left_by_the_path() -> None:
    data = lines(header(), u("u1", None, "one"), a("a1", "u1", text("x"), call("c1")), u("u2", "a1"), u("u2", "a1", "again"))
    after = written(data, inserted_result())
    assert after.startswith(data) and words(after) == ["one", "x", "c1", "made up", "again"]
    with pytest.raises(WriteRefused, match="more than once"):
        changes(data, inserted_result(), INSERT)


def test_a_cycle_is_cut_by_the_replay() -> None:
    data = lines(header(), u("u1", "a1", "one"), a("a1", "u1", text("x"), call("c1")), u("u2", "a1"))
    after = written(data, inserted_result())
    assert words(after) == ["one", "x", "c1", "made up", "go"]


def test_a_last_row_without_an_id_does_not_stay_the_end() -> None:
    data = BROKEN + lines({"foo": 1})
    for mode in (REPLAY, INSERT):
        base = stored(data, leaf="u2")
        (change,) = PI.write(plan(base, inserted_result(), mode), base)
        assert change.after and words(change.after.data) == ["do it", "well", "c1", "made up", "and?"]


def test_both_records_of_a_fused_line_can_be_put_on_the_path() -> None:
    whole = [line(a("a1", "u1", text("x"))), line(u("u2", "a1", "mid"))]
    data = lines(header(), u("u1", None, "one"), b"".join(whole), a("a2", "u2", text("end")))
    assert words(data) == ["end"]
    held = [each for each in PI_tree(data).chunks if each.key.startswith("line:2/")]
    edits: list[Edit] = [Insert(None, chunk(data, "u1.0", leaf="u1")), Insert("u1.0", held[0]), Insert(held[0].key, held[1])]
    for mode in (REPLAY, INSERT, NEW):
        assert words(written(data, edits, mode)) == ["one", "x", "mid", "end"]
    assert [each in written(data, edits, INSERT).split(b"\n") for each in whole] == [True, True]


def PI_tree(data: bytes) -> Conversation:
    (found,) = PI.read(records({KEY: data}))
    return found.conversation


def test_version_1_is_written_as_a_new_session_only() -> None:
    rows = [{name: value for name, value in row.items() if name not in ("id", "parentId")} for row in objects(BROKEN)[1:]]
    data = lines(header(version=...), *rows)
    base = stored(data)
    edits = [Insert("line:2.1", made_result())]
    for mode in (REPLAY, INSERT):
        with pytest.raises(WriteRefused, match="version 1"):
            PI.write(plan(base, edits, mode), base)
    (change,) = PI.write(plan(base, edits, NEW), base)
    assert change.after and words(change.after.data) == ["do it", "well", "c1", "made up", "and?"]
    assert objects(change.after.data)[0]["version"] == 2


def test_a_file_without_a_header_is_not_written_in_place() -> None:
    with pytest.raises(WriteRefused, match="does not begin with a session header"):
        changes(lines(*objects(BROKEN)[1:]), inserted_result())


@pytest.mark.parametrize("mode", [REPLAY, INSERT])
def test_a_path_whose_entries_stand_in_another_order_is_written_as_a_new_session_only(mode: str) -> None:
    data = lines(
        header(), u("u2", "a1", "and?"), u("u1", None, "do it"), a("a1", "u1", text("well")), a("a2", "u2", call("c1")), u("u3", "a2")
    )
    edits: list[Edit] = [Insert("a2.0", made_result())]
    with pytest.raises(WriteRefused, match=r"The entry 'u2' would be in the file before its parent 'a1'.*--mode new-session") as refused:
        changes(data, edits, mode)
    assert "report this" not in str(refused.value)
    (change,) = changes(data, edits, NEW)
    assert change.after and words(change.after.data) == ["do it", "well", "and?", "c1", "made up", "go"]


@pytest.mark.parametrize("mode", [REPLAY, INSERT, NEW])
def test_empty_thinking_takes_the_place_of_no_content(mode: str) -> None:
    data = lines(header(), u("u1", None, "do it"), a("a1", "u1"), u("u2", "a1", "and?"), a("a2", "u2", text("yes")))
    edits = list(strategy("add-empty-thinking").propose(case_of(PI_tree(data), "pi-1.5")))
    after = written(data, edits, mode)
    answers = [each["message"]["content"] for each in objects(after) if each.get("message", {}).get("role") == "assistant"]
    assert answers[-2:] == [[{"type": "thinking", "thinking": ""}], [{"type": "thinking", "thinking": ""}, text("yes")]]


# Doing nothing, and taking it back.


def test_a_plan_without_effect_writes_nothing_into_any_file() -> None:
    rows: list[Any] = [
        u("u1", None),
        a("a1", "u1", text("x"), call("c1")),
        r("r1", "a1", "c1"),
        entry("label", "l1", "r1", targetId="u1", label="m"),
    ]
    junk: list[Any] = [
        b"\0\0\0",
        b'{"type":"mess',
        b"[1]",
        {"foo": 1},
        b"",
        line(u("u9", "r1")) + line(u("u8", "u9")),
        u("u1", "r1"),
        b"\xff",
    ]
    for seed in range(200):
        chance = random.Random(seed)
        held = [header(version=chance.choice((1, 2, 3))), *rows, *chance.choices(junk, k=chance.randrange(5))]
        if chance.random() < 0.5:
            chance.shuffle(held)
        data = lines(*held)[: -1 if chance.random() < 0.3 else None].replace(b"\n", chance.choice((b"\n", b"\r\n")))
        base = stored(data)
        (again,) = PI.read(base.records)
        assert [record.value.data for record in again.records] == [data]
        numbers = [Replace(each, replace(each, seq=each.seq + 1)) for each in base.conversation.chunks]
        for mode in (REPLAY, INSERT, NEW):
            assert list(PI.write(plan(base, [], mode), base)) == [] == list(PI.write(plan(base, numbers, mode), base)), (seed, mode)


@pytest.mark.parametrize("mode", [REPLAY, INSERT])
def test_the_same_question_has_the_same_answer_and_a_second_repair_finds_nothing(mode: str) -> None:
    def repair(data: bytes) -> list[Edit]:
        found = stored(data).conversation.chunks
        answered = {each.call_id for each in found if each.kind is Kind.TOOL_RESULT}
        calls = [each for each in found if each.kind is Kind.TOOL_CALL and each.call_id not in answered]
        return [Insert(each.key, made_result(each.call_id)) for each in calls]

    once = written(BROKEN, repair(BROKEN), mode)
    assert once == written(BROKEN, repair(BROKEN), mode)
    assert changes(once, repair(once), mode) == []


def test_undo_gives_back_every_byte(tmp_path: Path) -> None:
    place = tmp_path / "sessions" / "s.jsonl"
    place.parent.mkdir()
    for mode in (REPLAY, INSERT, NEW):
        place.write_bytes(BROKEN)
        os.utime(place, ns=(5_000_000_000, 7_000_000_001))
        (found,) = reading.read_store(place.parent, "pi").conversations
        base = Stored(stored(BROKEN).conversation, found.records)
        made = session_writing.write(plan(base, inserted_result(), mode), base)
        stores.commit(place.parent, PI, {}, PI.guard(base)[1], made)
        assert {each.name for each in place.parent.iterdir()} == {"s.jsonl", *(change.key.rpartition("/")[2] for change in made)}
        # pi resumes the session with the newest time.
        assert place.stat().st_mtime_ns == 7_000_000_001
        stores.commit(place.parent, PI, {}, {}, [change.reversed() for change in made])
        assert place.read_bytes() == BROKEN and [each.name for each in place.parent.iterdir()] == ["s.jsonl"]
        assert place.stat().st_mtime_ns == 7_000_000_001


# OpenClaw's lock, and a program that wrote meanwhile.


def session(tmp_path: Path) -> tuple[Path, Stored, list[Change]]:
    place = tmp_path / "sessions" / "s.jsonl"
    place.parent.mkdir()
    place.write_bytes(BROKEN)
    base = stored(BROKEN, "sessions/s.jsonl")
    return place, base, list(OPENCLAW.write(plan(base, inserted_result()), base))


def locked(place: Path, **said: Any) -> Path:
    lock = place.with_name("s.jsonl.lock")
    lock.write_text(json.dumps(said, indent=2))
    return lock


def test_a_file_that_a_live_process_holds_is_not_written(tmp_path: Path) -> None:
    place, base, made = session(tmp_path)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as holder:
        lock = locked(place, pid=holder.pid, createdAt="2026-01-01T00:00:00.000Z")
        with pytest.raises(SessionLocked, match=f"process {holder.pid} for [0-9,]+ seconds") as problem:
            stores.commit(place.parent, OPENCLAW, {}, OPENCLAW.guard(base)[1], made)
        assert problem.value.pid == holder.pid and problem.value.seconds > 60
        assert place.read_bytes() == BROKEN and lock.exists()
        # pi takes no lock, but a file of OpenClaw's that is named alone may be detected as one of pi's.
        with pytest.raises(SessionLocked):
            stores.commit(place.parent, PI, {}, PI.guard(base)[1], made)
        assert place.read_bytes() == BROKEN
        holder.communicate(b"\n")


@pytest.mark.parametrize("said", [{"pid": 2**22 + 1}, {"pid": os.getpid(), "starttime": 1}], ids=["dead", "another process by now"])
def test_a_lock_of_a_dead_process_is_left_as_it_is(tmp_path: Path, said: dict[str, Any]) -> None:
    place, base, made = session(tmp_path)
    lock = locked(place, **said)
    before = lock.read_bytes()
    stores.commit(place.parent, OPENCLAW, {}, OPENCLAW.guard(base)[1], made)
    assert place.read_bytes() != BROKEN and lock.read_bytes() == before


def test_a_lock_that_is_just_being_written_counts(tmp_path: Path) -> None:
    place, base, made = session(tmp_path)
    lock = place.with_name("s.jsonl.lock")
    lock.touch()
    with pytest.raises(SessionLocked, match="does not name yet"):
        stores.commit(place.parent, OPENCLAW, {}, OPENCLAW.guard(base)[1], made)
    os.utime(lock, (1, 1))
    stores.commit(place.parent, OPENCLAW, {}, OPENCLAW.guard(base)[1], made)


def test_our_own_lock_stands_while_we_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, base, made = session(tmp_path)
    seen: list[dict[str, Any]] = []
    append = folders.append

    def watched(*given: Any) -> None:
        seen.append(json.loads(place.with_name("s.jsonl.lock").read_bytes()))
        append(*given)

    monkeypatch.setattr(folders, "append", watched)
    stores.commit(place.parent, OPENCLAW, {}, OPENCLAW.guard(base)[1], made)
    assert [each["pid"] for each in seen] == [os.getpid()]
    assert [each.name for each in place.parent.iterdir()] == ["s.jsonl"]


def test_a_file_that_grew_is_not_written(tmp_path: Path) -> None:
    place, base, made = session(tmp_path)
    more = lines(u("u3", "u2", "still here"))
    place.write_bytes(BROKEN + more)
    with pytest.raises(Moved, match=f"grew by {len(more)} bytes"):
        stores.commit(place.parent, OPENCLAW, {}, OPENCLAW.guard(base)[1], made)
    assert place.read_bytes() == BROKEN + more
    assert [each.name for each in place.parent.iterdir()] == ["s.jsonl"]


def test_the_time_of_new_rows_comes_after_every_time_of_the_file() -> None:
    """Most texts of times have their order; another zone, and what only looks like a time, are looked at one by one."""
    usual = [{"timestamp": f"2026-09-21T00:00:{second:02}.000Z"} for second in (5, 59, 7)]
    none = [{}, "no entry", {"timestamp": 7}, {"timestamp": "2099-99-99T00:00:00.000Z"}]
    assert iso(latest([*usual, *none])) == "2026-09-21T00:00:59.000Z"
    assert iso(latest([*usual, {"timestamp": "2026-09-21T02:01:00+02:00"}])) == "2026-09-21T00:01:00.000Z"
    assert latest(none) == latest([]) == 0
