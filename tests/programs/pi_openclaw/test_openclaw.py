"""OpenClaw's session folders as they are read: control rows, sessions.json, locks, and copies that are never sessions."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.programs.catalogue import FORMATS
from inspector.programs.formats import Shape
from inspector.programs.pi_openclaw.openclaw import OPENCLAW
from inspector.sources.reading import read_store
from tests.programs.pi_openclaw.session_files import ID, a, call, entry, header, line, lines, openclaw, r, text, u

HOME = "agents/main/sessions"
DATA = lines(header(), u("u1", None), a("a1", "u1", text("hi"), stopReason="stop"))


def index(**entries: Any) -> bytes:
    return json.dumps(entries, indent=2).encode()


def test_a_folder_with_its_index_is_detected(tmp_path: Path) -> None:
    place = tmp_path / HOME
    place.mkdir(parents=True)
    (place / f"{ID}.jsonl").write_bytes(DATA)
    assert read_store(tmp_path / "agents").format is OPENCLAW
    (place / "sessions.json").write_bytes(index(k={"sessionId": ID, "updatedAt": 5}))
    for path in (tmp_path / "agents", place):
        found = read_store(path)
        assert found.format is OPENCLAW and [each.conversation.native_id for each in found.conversations] == [ID]


@pytest.mark.parametrize(
    "mark",
    [
        entry("leaf", "l", "u1", targetId="u1"),
        entry("custom", "c", None, customType="model-snapshot", data={}),
        u("u1", None, idempotencyKey="x"),
        a("a1", None, text("x"), provider="openclaw", model="delivery-mirror"),
        entry("message", "m", None, appendMode="side", message={"role": "user", "content": "x"}),
    ],
    ids=lambda mark: str(mark["type"] + mark["id"]),
)
def test_a_file_alone_is_known_by_what_only_openclaw_writes(mark: dict[str, Any]) -> None:
    scores = {each.name: each.sniff(Shape(lines(header(), mark), {}, "x.jsonl")) for each in FORMATS}
    assert max(scores, key=lambda name: scores[name]) == "openclaw"


def test_words_in_a_conversation_are_no_mark() -> None:
    said = u("u1", None, '{"type":"leaf"} "idempotencyKey": "openclaw" model-snapshot')
    assert OPENCLAW.sniff(Shape(lines(header(), said), {}, "x.jsonl")) == 0.0


def test_copies_and_traces_are_names_and_never_sessions() -> None:
    copies = [
        f"{ID}.jsonl.reset.2026-11-20T17-33-07.691Z", f"{ID}.jsonl.deleted.2026-11-20T17-33-07.691Z", f"{ID}.jsonl.bak-12-1700000000000",
        f"{ID}.corrupt-2026-11-20T17-33-07-691Z-0123abcd.jsonl", f"{ID}.trajectory.jsonl",
    ]  # fmt: skip
    files = {f"{HOME}/{name}": DATA for name in (f"{ID}.jsonl", *copies, "gone.jsonl.deleted.2026")}
    assert all(OPENCLAW.wants(key) for key in files)
    found = openclaw(files)
    assert list(found) == [ID] and [record.key for record in found[ID].records] == [f"{HOME}/{ID}.jsonl"]
    facts = found[ID].conversation
    assert sorted((facts.fact("recovery") or "").split(", ")) == sorted(copies)
    assert facts.fact("recoveryOfOthers") == "gone.jsonl.deleted.2026"


@pytest.mark.parametrize("key", [f"{HOME}/notes.txt", f"{HOME}/x.json", "agents/main/agent/openclaw-agent.sqlite", f"{HOME}/x.jsonl.tmp"])
def test_other_files_are_not_read(key: str) -> None:
    assert not OPENCLAW.wants(key)


def test_a_copy_that_is_named_itself_is_read(tmp_path: Path) -> None:
    place = tmp_path / f"{ID}.jsonl.deleted.2026"
    place.write_bytes(DATA)
    found = read_store(place, "openclaw")
    assert [each.conversation.native_id for each in found.conversations] == [ID]


@pytest.mark.parametrize(
    ("lock", "said", "pid"),
    [
        (b'{\n  "pid": 77,\n  "createdAt": "2026-11-20T17:33:07.691Z"\n}', "held by process 77 since 2026-11-20T17:33:07.691Z", "77"),
        (b'{"pid":77,"maxHoldMs":5}', "held by process 77 since an unknown time", "77"),
        (b'{"createdAt":"x"}', "there is a lock file that names no process; OpenClaw takes it for stale", None),
        (
            b"",
            "there is a lock file that cannot be read (not JSON: Expecting value at character 0 of 0); OpenClaw takes it for stale",
            None,
        ),
    ],
)
def test_the_lock_is_shown_and_kept_out_of_the_session(lock: bytes, said: str, pid: str | None) -> None:
    found = openclaw({f"{HOME}/{ID}.jsonl": DATA, f"{HOME}/{ID}.jsonl.lock": lock})[ID]
    assert (found.conversation.fact("lock"), found.conversation.fact("lockPid")) == (said, pid)
    assert found.conversation.facts["lock"].key == f"{HOME}/{ID}.jsonl.lock"


def indexed(data: bytes, name: str = f"{ID}.jsonl") -> dict[str, Any]:
    found = openclaw({f"{HOME}/{name}": DATA, f"{HOME}/sessions.json": data})
    return {
        native: {fact: each.conversation.fact(fact) for fact in ("sessionKey", "indexUpdatedAt", "index")} for native, each in found.items()
    }


def test_the_entry_of_the_index_is_shown() -> None:
    found = indexed(index(**{"agent:main:main": {"sessionId": ID, "updatedAt": 1763660000000, "sessionFile": f"/x/{ID}.jsonl"}}))
    assert found == {ID: {"sessionKey": "agent:main:main", "indexUpdatedAt": "1763660000000", "index": None}}


def test_what_the_index_and_the_files_disagree_on_is_said() -> None:
    assert indexed(b"{broken")[ID]["index"].startswith("sessions.json cannot be read (not JSON")
    assert indexed(index())[ID]["index"] == "sessions.json has no entry for this session: OpenClaw's own list does not show it."
    assert (
        f"says sessionId other, the header of the file {ID}"
        in indexed(index(k={"sessionId": "other", "sessionFile": f"{ID}.jsonl"}))[ID]["index"]
    )
    assert "names the file moved.jsonl" in indexed(index(k={"sessionId": ID, "sessionFile": "C:\\x\\moved.jsonl"}))[ID]["index"]


def test_a_session_that_only_the_index_names_is_listed_without_lines() -> None:
    found = indexed(index(k={"sessionId": ID}, lost={"sessionId": "gone-1", "updatedAt": 5}, odd=7, unsafe={"sessionId": "../x"}))
    assert list(found) == [ID, "gone-1", "../x"] and "gone-1.jsonl is not among the files" in found["gone-1"]["index"]
    assert openclaw({f"{HOME}/sessions.json": index(k={"sessionId": "gone"})})["gone"].records == ()


@pytest.mark.parametrize(
    "value", [None, 5, [], "x", {"sessionId": None}, {"sessionId": ["a"], "sessionFile": 5}, {"sessionId": {}, "updatedAt": "x"}]
)
def test_hostile_entries_of_the_index_are_read(value: Any) -> None:
    assert ID in indexed(index(k=value, own={"sessionId": ID, "updatedAt": value}))


@pytest.mark.parametrize(
    ("rows", "leaf", "reachable"),
    [
        ((entry("leaf", "l", "d", targetId="a"),), "a", "1/5"),
        ((entry("leaf", "l", "d", targetId="a"), u("e", "a")), "e", "2/6"),
        ((entry("leaf", "l", "d", targetId="nowhere"),), "d", "4/5"),
        ((entry("leaf", "l", "d", targetId=None),), None, "0/5"),
        ((u("side", "a") | {"appendMode": "side"},), "d", "4/5"),
        (({"foo": 1},), "d", "4/5"),
    ],
)
def test_control_rows_choose_the_leaf(rows: tuple[Any, ...], leaf: str | None, reachable: str) -> None:
    chain = (u("a", None), a("b", "a", call("c1")), r("c", "b", "c1"), u("d", "c"))
    found = openclaw({"s.jsonl": lines(header(), *chain, *rows)})[ID].conversation
    assert (found.fact("lastLeaf"), found.fact("reachable")) == (leaf, reachable)


def test_rows_of_openclaw_keep_their_fields() -> None:
    mirror = a("m", "u1", text("shown"), provider="openclaw", model="delivery-mirror", __openclaw={"k": 1}) | {"appendMode": "side"}
    rows = (u("u1", None, provenance={"kind": "inter_session"}), mirror, entry("reset", "x", "m", firstKeptEntryId="u1", reason="new"))
    found = openclaw({"s.jsonl": lines(header(), *rows)})[ID].conversation
    about = [chunk.payload["entry"] for chunk in found.chunks]
    assert about[0]["provenance"] == {"kind": "inter_session"} and about[1]["appendMode"] == "side" and about[1]["__openclaw"] == {"k": 1}
    assert about[2]["firstKeptEntryId"] == "u1" and found.fact("model") is None


def test_a_missing_parent_is_not_the_same_as_none() -> None:
    rows = [line({name: value for name, value in u("u1", None).items() if name != "parentId"}), u("u2", None)]
    first, second = openclaw({"s.jsonl": lines(header(), *rows)})[ID].conversation.chunks
    assert (
        "parentId" not in first.payload["entry"] and second.payload["entry"]["parentId"] is None and first.parent is second.parent is None
    )
