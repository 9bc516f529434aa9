"""Rollout files as conversations: one file, a folder by day, a flat one, archives packed with zstd."""

from hashlib import sha256
from pathlib import Path

import pytest
import zstandard

from inspector.conversation.model import Conversation, Kind
from inspector.programs.codex import archives
from inspector.programs.codex.format import CODEX
from inspector.programs.codex.readers import READER
from inspector.programs.formats import Cell, Record, Shape
from inspector.sources import reading
from inspector.sources.reading import Store
from tests.programs.codex.threads import (
    CONTEXT,
    ID,
    LINES,
    NAME,
    OTHER,
    PAGINATED,
    THREADS,
    TURNS,
    WHOLE,
    assistant,
    call,
    event,
    item,
    line,
    meta,
    said,
    thread,
    user,
)


def conversation(data: bytes, name: str = NAME) -> Conversation:
    return next(iter(CODEX.read([Record(name, Cell(data, "file"))]))).conversation


def stored(path: Path) -> Store:
    content = reading.read(path)
    assert isinstance(content, Store)
    return content


def test_every_line_is_a_chunk_and_items_are_the_messages() -> None:
    read = conversation(WHOLE)
    assert [(chunk.key, chunk.seq, chunk.msg_idx, chunk.role, chunk.kind) for chunk in read.chunks[:5]] == [
        ("line:0.0", 1, None, "", Kind.CONTROL),
        ("line:1.0", 2, 1, "user", Kind.TEXT),
        ("line:2.0", 3, None, "", Kind.CONTROL),
        ("line:3.0", 4, 3, "assistant", Kind.TOOL_CALL),
        ("line:4.0", 5, 4, "tool", Kind.TOOL_RESULT),
    ]
    assert [chunk.raw + b"\n" for chunk in read.chunks] == LINES
    assert read.chunks[4].tool_name == "shell"


def test_a_message_with_parts_and_a_replacement_history_are_several_chunks_of_one_line() -> None:
    data = thread(item(said("user", "one", "two")), ("compacted", {"message": "s", "replacement_history": [said("user", "three")]}))
    assert [(chunk.key, chunk.text) for chunk in conversation(data).chunks[1:]] == [
        *(("line:1.0", "one"), ("line:1.1", "two"), ("line:2.0", "s"), ("line:2.r0.0", "three")),
    ]


def test_the_facts_of_a_thread() -> None:
    context = ("turn_context", {"turn_id": "t", "cwd": "/repo/below", "model": "gpt-5.1-codex"})
    data = thread(context, *TURNS, forked_from_id=OTHER, git={"branch": "main", "commit_hash": "abc"}, history_mode="legacy")
    facts = {name: fact.value for name, fact in conversation(data).facts.items()}
    assert facts == {
        **{"id": ID, "version": "0.146.0", "cwd": "/repo/below", "model": "gpt-5.1-codex", "provider": "local"},
        **{"originator": "codex_exec", "historyMode": "legacy", "parentSession": OTHER, "gitBranch": "main", "gitCommit": "abc"},
        **{"createdAt": "1795368299858", "lastActivityAt": "1795368299010", "lines": "11"},
    }


@pytest.mark.parametrize(
    ("last", "status"),
    [("task_started", "active"), ("task_complete", "complete"), ("turn_aborted", "interrupted")],
)
def test_a_turn_that_began_and_did_not_end_runs(last: str, status: str) -> None:
    assert conversation(thread(event("task_started"), user("q"), event(last))).fact("status") == status


def test_an_error_that_nothing_followed_is_the_error_of_the_thread() -> None:
    failed = (event("task_started"), user("q"), event("error", message="No tool output found for function call call_1."))
    assert conversation(thread(*failed)).fact("error") == "No tool output found for function call call_1."
    assert conversation(thread(*failed, event("task_started"))).fact("error") is None


@pytest.mark.parametrize(
    ("records", "title"),
    [
        ((user(CONTEXT), user("typed")), "typed"),
        ((user("# AGENTS.md instructions for /repo\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>"), user("typed")), "typed"),
        ((user("what a hook put in"), event("user_message", message="typed")), "typed"),
        (
            (user("x"), event("item_completed", item={"type": "UserMessage", "content": [{"type": "text", "text": "typed"}]})),
            "typed",
        ),
        ((assistant("a"),), ID),
        ((user("w " * 100),), f"{'w ' * 40}…"),
    ],
)
def test_the_title_is_what_a_person_typed_first(records: tuple[tuple[str, dict[str, object]], ...], title: str) -> None:
    assert conversation(thread(*records)).title == title


@pytest.mark.parametrize(
    ("data", "name", "id_"),
    [
        (WHOLE, "copy.jsonl", ID),
        (thread(*TURNS, id=None), NAME, ID),
        (b"".join(LINES[1:]), NAME, ID),
        (b"".join(LINES[1:]), "copy.jsonl", "copy"),
        (THREADS["fork"], "x.jsonl", ID),
        (b"\n" * 70_000 + WHOLE, "x.jsonl", ID),
    ],
)
def test_the_id_is_that_of_the_first_session_meta_else_of_the_name(data: bytes, name: str, id_: str) -> None:
    assert conversation(data, name).native_id == id_


def test_a_folder_by_day_a_flat_file_and_an_archive_are_one_store(tmp_path: Path) -> None:
    home = tmp_path / ".codex"
    for number, place in enumerate(
        ("sessions/2026/11/22/rollout-2026-11-22T17-24-59-{}.jsonl", "sessions/rollout-2025-05-07T17-24-21-{}.jsonl")
    ):
        id_ = f"01a2044a-2d3f-7773-9880-00000000000{number}"
        path = home / place.format(id_)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(thread(*TURNS, id=id_))
    (home / "archived_sessions").mkdir()
    (home / "archived_sessions" / f"{NAME}.zst").write_bytes(zstandard.compress(WHOLE))
    (home / "history.jsonl").write_text('{"session_id":"x","ts":1,"text":"q"}\n')
    (home / "auth.json").write_text('{"token":"secret"}')
    store = stored(home)
    assert store.format.name == "codex"
    assert [each.conversation.native_id[-1] for each in store.conversations] == ["a", "0", "1"]
    assert all(len(each.conversation.chunks) == 10 for each in store.conversations)


def test_a_name_that_codex_does_not_look_for_is_said_to_be_unread(tmp_path: Path) -> None:
    for name in (NAME, f"copy-{NAME}"):
        (tmp_path / name).write_bytes(WHOLE)
    (problem,) = stored(tmp_path).problems
    assert problem.reason.startswith(f"1 file is not read, since its name is no rollout file's: copy-{NAME}.")


def test_two_files_of_one_thread_have_two_ids(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(WHOLE)
    (tmp_path / f"{NAME}.zst").write_bytes(zstandard.compress(WHOLE))
    assert [each.conversation.native_id for each in stored(tmp_path).conversations] == [f"{ID} {NAME}", f"{ID} {NAME}.zst"]


@pytest.mark.parametrize(
    ("head", "name", "sure"),
    [
        (WHOLE, "x.jsonl", 0.9),
        (PAGINATED, "x.jsonl", 0.9),
        (LINES[0][:40] + b"\n" + LINES[1], "x", 0.9),
        (b"\xef\xbb\xbf" + WHOLE, "x", 0.9),
        (zstandard.compress(WHOLE), f"{NAME}.zst", 0.9),
        (zstandard.compress(b"SELECT 1"), "dump.sql.zst", 0.0),
        (b'{"type":"session","id":"x"}\n', "x.jsonl", 0.0),
        (b'{"messages":[{"role":"user","content":"{\\"timestamp\\":\\"\\",\\"type\\":\\"event_msg\\"}"}]}', "x.json", 0.0),
        (b"", NAME, 0.0),
    ],
)
def test_a_file_is_recognized_by_its_beginning(head: bytes, name: str, sure: float) -> None:
    assert CODEX.sniff(Shape(head[:4096], {}, name)) == sure


def test_lines_that_hold_several_records_or_none_keep_their_place() -> None:
    read = conversation(THREADS["torn line spliced"])
    assert [(chunk.key, chunk.kind.value, chunk.payload.get("entry", {}).get("part")) for chunk in read.chunks[3:6]] == [
        *(("line:3/1.0", "unreadable", None), ("line:3/2.0", "tool-result", 2), ("line:4.0", "text", None)),
    ]
    assert read.fact("lines-fused") == "1 (line 4)"


def test_what_codex_does_not_load_says_why() -> None:
    said_of = {name: conversation(THREADS[name]).fact("stops") for name in ("whole", "not UTF-8", "ordinal missing at the end")}
    assert said_of == {
        "whole": None,
        "not UTF-8": "line 6 is not UTF-8, and Codex reads no line of such a file (stream did not contain valid UTF-8)",
        "ordinal missing at the end": "its last record has no ordinal (final paginated rollout record is missing an ordinal)",
    }


def test_an_archive_is_unpacked_within_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"\n" * 5_000_000
    packed = zstandard.compress(data)
    assert archives.unpacked(packed) == data and archives.unpacked(packed + packed) == data * 2
    with pytest.raises(archives.Packed, match="over what is unpacked here"):
        archives.unpacked(packed, 1_000_000)
    with pytest.raises(archives.Packed, match="before its end mark"):
        archives.unpacked(packed[:-3])


def test_a_damaged_archive_is_read_as_far_as_it_goes() -> None:
    lines = b"".join(line(number, user(f"question {number} {sha256(str(number).encode()).hexdigest()}")) for number in range(9_000))
    packed = zstandard.compress(line(0, meta()) + lines)
    read = conversation(packed[: len(packed) // 2], f"{NAME}.zst")
    assert read.native_id == ID and len(read.chunks) > 100
    assert read.chunks[-1].damage == "bad-zstd" and "the archive is damaged" in (read.fact("stops") or "")


def test_the_same_thread_is_read_from_an_archive() -> None:
    plain, packed = conversation(WHOLE), conversation(zstandard.compress(WHOLE), f"{NAME}.zst")
    assert plain.chunks == packed.chunks and packed.fact("packed")


@pytest.mark.parametrize(
    "text",
    [
        *("null", "[]", "1", '"x"', "{}", '{"type":5}', '{"type":"event_msg"}', '{"timestamp":"x","type":"response_item","payload":null}'),
        '{"timestamp":"9999999-01-01","type":"response_item","payload":{"type":[]}}',
        '{"timestamp":"x","type":"response_item","payload":{"type":"message","role":{},"content":[null,{"type":{}},{"type":"input_text","text":5}]}}',
        '{"timestamp":"x","type":"compacted","payload":{"message":5,"replacement_history":[null,5,{"type":null}]}}',
        '{"timestamp":"x","type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":-1}}',
        '{"timestamp":"x","type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1e99}}',
        '{"timestamp":"x","type":"event_msg","payload":{"type":"item_completed","item":{"type":"UserMessage","content":[5,null]}}}',
        '{"timestamp":"x","ordinal":-1e9,"type":"session_meta","payload":{"id":{},"git":5,"history_mode":[]}}',
        '{"timestamp":"x","type":"turn_context","payload":{"model":{},"cwd":5}}',
        '{"timestamp":"x","type":"response_item","payload":{"type":"function_call","name":"n","call_id":"c","arguments":"'
        + "[" * 3000
        + '"}}',
        "[" * 3000,
        "\udcff\udc00",
    ],
)
def test_hostile_lines_are_read_without_an_error(text: str) -> None:
    data = WHOLE + text.encode("utf-8", "surrogatepass") + b"\n" + line(3, call("c9"))
    assert READER.read(conversation(data)).reader == "codex"
    assert len(conversation(data).chunks) >= 12
