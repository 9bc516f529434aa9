"""pi's session files as they are read: entries as chunks, every spelling of a block, versions, trees, facts; nothing is lost and nothing hangs."""

import json
import pickle
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inspector.conversation.model import Chunk, Kind, Span, kept_raw
from inspector.conversation.tree import entries
from inspector.programs.catalogue import FORMATS
from inspector.programs.formats import Shape
from inspector.programs.pi_openclaw.entries import moment, read_session
from inspector.programs.pi_openclaw.pi import PI
from inspector.rules.base import case_of, findings
from inspector.rules.catalogue import RULES
from inspector.sources.reading import read_store
from tests.programs.pi_openclaw.session_files import HEADER, ID, a, call, entry, header, keys, line, lines, pi, r, records, text, u


def one(message: dict[str, Any]) -> list[Chunk]:
    return list(pi(lines(header(), entry("message", "x", None, message=message))).chunks)


def payload(chunk: Chunk) -> dict[str, Any]:
    return {name: value for name, value in chunk.payload.items() if name != "entry"}


def block(value: Any) -> Chunk:
    (found,) = one({"role": "assistant", "content": [value]})
    return found


def test_entries_become_chunks_of_their_line() -> None:
    written = a("a1", "u1", {"type": "thinking", "thinking": "hm", "thinkingSignature": "SIG"}, text("I call"), call("c1", command="ls"))
    found = pi(lines(header(), u("u1", None), written, r("r1", "a1", "c1"), entry("label", "l1", "r1", targetId="u1", label="mark")))
    assert [(each.key, each.seq, each.role, each.kind.value, each.msg_idx, each.chunk_idx, each.parent) for each in found.chunks] == [
        ("u1.0", 1, "user", "text", 1, 0, None),
        ("a1.0", 2, "assistant", "thinking", 2, 0, "u1"),
        ("a1.1", 3, "assistant", "text", 2, 1, "u1"),
        ("a1.2", 4, "assistant", "tool-call", 2, 2, "u1"),
        ("r1.0", 5, "tool", "tool-result", 3, 0, "a1"),
        ("l1.0", 6, "", "control", 4, None, "r1"),
    ]
    assert {each.raw for each in found.chunks[1:4]} == {line(written)}
    assert found.native_id == ID and found.title == "go" and found.chunks[0].at == 1700000000000


def test_an_entry_is_the_same_mapping_on_each_of_its_chunks_and_without_content() -> None:
    found = pi(lines(header(), a("a1", None, text("one"), text("two"), errorMessage="cut")))
    first, second = (chunk.payload["entry"] for chunk in found.chunks)
    assert first is second and "content" not in first
    assert {name: first[name] for name in ("id", "parentId", "type", "api", "provider", "model", "stopReason", "errorMessage")} == {
        "id": "a1", "parentId": None, "type": "message", "api": "anthropic-messages", "provider": "anthropic", "model": "m",
        "stopReason": "toolUse", "errorMessage": "cut",
    }  # fmt: skip
    assert (first["timestamp"], first["messageTimestamp"]) == ("2026-11-20T17:33:08.000Z", 1700000000001)


@pytest.mark.parametrize("spelling", ["toolCall", "toolUse", "functionCall", "tool_call", "tool_use", "function_call"])
@pytest.mark.parametrize("given", ["arguments", "input"])
def test_every_spelling_of_a_call(spelling: str, given: str) -> None:
    found = block({"type": spelling, "id": "c", "name": "t", given: {"k": 1}, "thoughtSignature": "G", "namespace": "n"})
    other = {} if spelling == "toolCall" else {"spelling": spelling}
    assert found.kind is Kind.TOOL_CALL and payload(found) == {
        "type": "tool-call", "toolCallId": "c", "toolName": "t", "input": {"k": 1}, "signature": "G",
        "extra": {"namespace": "n"}, "wire": "pi", **other,
    }  # fmt: skip


@pytest.mark.parametrize(("given", "said"), [({}, "missing"), ({"arguments": None}, "null"), ({"arguments": [1]}, "wrong-type")])
def test_a_half_written_call_stays_a_call_and_says_so(given: dict[str, Any], said: str) -> None:
    found = payload(block({"type": "toolCall", "id": "c", "name": "t", "partialJson": '{"a', **given}))
    assert (found["input"], found["noInput"]) == ({}, said) and found["extra"] == {"partialJson": '{"a', **given}


def test_arguments_that_are_a_text_and_a_call_without_id() -> None:
    assert payload(block({"type": "toolCall", "id": None, "name": "t", "arguments": '{"a'})) == {
        "type": "tool-call", "toolCallId": "", "toolName": "t", "input": '{"a', "extra": {"id": None}, "wire": "pi",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["toolCallId", "toolUseId", "tool_call_id", "tool_use_id", "callId", "call_id"])
def test_every_spelling_of_the_id_of_a_result(name: str) -> None:
    (found,) = one({"role": "toolResult", name: "c", "toolName": "t", "content": [text("out")], "isError": True, "details": {"d": 1}})
    other = {} if name == "toolCallId" else {"spelling": name}
    wanted = {"type": "tool-result", "toolCallId": "c", "toolName": "t", "content": "out", "isError": True}
    assert payload(found) == wanted | other and found.role == "tool" and found.payload["entry"]["details"] == {"d": 1}


@pytest.mark.parametrize(
    ("content", "words", "more"),
    [
        ("plain", "plain", {"extra": {"string": True}}),
        ([], "", {"blocks": []}),
        ([text("a"), text("b")], "a\nb", {"blocks": [text("a"), text("b")]}),
        ([text("a") | {"textSignature": "s"}], "a", {"blocks": [text("a") | {"textSignature": "s"}]}),
        (None, "", {"blocks": [], "empty": "null"}),
    ],
)
def test_content_of_a_result_that_is_not_one_text_block_is_kept(content: Any, words: str, more: dict[str, Any]) -> None:
    (found,) = one({"role": "toolResult", "toolCallId": "c", "toolName": "t", "content": content})
    assert payload(found) == {
        "type": "tool-result", "toolCallId": "c", "toolName": "t", "content": words, "isError": False, "wire": "pi", **more,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["thinkingSignature", "signature", "thought_signature"])
def test_every_spelling_of_a_signature(name: str) -> None:
    found = block({"type": "thinking", "thinking": "", name: "SIG"})
    assert found.kind is Kind.THINKING and found.payload["signature"] == "SIG" and found.payload["text"] == ""


def test_thinking_without_a_signature_and_with_a_blank_one_differ() -> None:
    assert "signature" not in block({"type": "thinking", "thinking": "x"}).payload
    assert block({"type": "thinking", "thinking": "x", "thinkingSignature": ""}).payload["signature"] == ""


def test_redacted_thinking_of_both_spellings() -> None:
    ours = block({"type": "thinking", "thinking": "[redacted]", "thinkingSignature": "DATA", "redacted": True})
    assert ours.kind is Kind.REDACTED_THINKING and ours.payload["data"] == "DATA"
    assert ours.payload["extra"] == {"thinking": "[redacted]", "redacted": True}
    wire = block({"type": "redacted_thinking", "data": "DATA"})
    assert payload(wire) == {"type": "redacted-thinking", "data": "DATA"}


def test_images_and_blocks_of_unknown_kinds() -> None:
    assert payload(block({"type": "image", "data": "QUJD", "mimeType": "image/png"})) == {
        "type": "image",
        "url": "data:image/png;base64,QUJD",
    }
    odd = {"type": "hologram", "depth": 3}
    assert payload(block(odd)) == {"type": "control", "block": odd, "wire": "pi"}
    assert block({"type": "text", "text": 5}).reason and block(7).kind is Kind.UNREADABLE


@pytest.mark.parametrize(
    ("message", "word"),
    [({"content": []}, "[]"), ({"content": None}, "null"), ({}, "missing"), ({"content": ""}, "")],
)
def test_a_message_without_a_block_is_one_chunk_that_says_so(message: dict[str, Any], word: str) -> None:
    (found,) = one({"role": "assistant", **message})
    assert payload(found) == {"type": "control", "empty": word} and (found.role, found.chunk_idx) == ("assistant", 0)


def test_roles_that_the_program_turns_into_user_messages() -> None:
    (ran,) = one(
        {"role": "bashExecution", "command": "false", "output": "no", "exitCode": 1, "cancelled": False, "excludeFromContext": True}
    )
    assert (ran.role, ran.text) == ("user", "Ran `false`\n```\nno\n```\n\nCommand exited with code 1")
    assert ran.payload["extra"]["output"] == "no" and ran.payload["entry"]["excludeFromContext"] is True
    (quiet,) = one({"role": "bashExecution", "command": "true", "output": "", "exitCode": 0, "cancelled": True})
    assert quiet.text == "Ran `true`\n(no output)\n\n(command cancelled)"
    for role in ("custom", "hookMessage"):
        (custom,) = one({"role": role, "customType": "x.y", "content": "hello", "display": True})
        assert (custom.role, custom.text, custom.payload["entry"]["customType"]) == ("user", "hello", "x.y")
    (summary,) = one({"role": "branchSummary", "summary": "bs", "fromId": "a"})
    assert summary.role == "user" and summary.text.endswith("<summary>\nbs</summary>")
    (system,) = one({"role": "system", "content": "be good", "sections": {"a": None}})
    assert (system.role, system.kind, system.text) == ("system", Kind.SYSTEM, "be good")


@pytest.mark.parametrize("role", [None, 5, ["user"], "narrator", ...])
def test_a_message_of_an_unknown_role_keeps_its_words(role: Any) -> None:
    (found,) = one({"content": "hi"} | ({} if role is ... else {"role": role}))
    assert (found.role, found.text, found.kind) == ("", "hi", Kind.TEXT)


def test_entries_without_message_are_control_chunks_with_their_fields() -> None:
    found = pi(
        lines(
            header(),
            entry("compaction", "c", None, summary="sum", firstKeptEntryId="u1", tokensBefore=9, fromHook=True),
            entry("branch_summary", "b", "c", fromId="root", summary="bs"),
            entry("custom_message", "m", "b", customType="x", content=[text("hello")], display=True),
            entry("context_edit", "e", "m", targetId="u1", replacement=None),
            entry("of_the_future", "f", "e", anything=[1]),
        )
    )
    assert [(chunk.role, chunk.kind.value, chunk.text) for chunk in found.chunks] == [
        ("", "control", "sum"), ("", "control", "bs"), ("", "control", "hello"), ("", "control", ""), ("", "control", ""),
    ]  # fmt: skip
    about = [chunk.payload["entry"] for chunk in found.chunks]
    assert (about[0]["firstKeptEntryId"], about[1]["fromId"], about[3]["replacement"], about[4]["anything"]) == ("u1", "root", None, [1])
    assert found.fact("lines-unknown-type") == "1 (line 6; the header is line 1)"


@pytest.mark.parametrize("first", [b"[]", b"5", b"null", b'"session"'])
def test_json_that_is_no_object_before_the_header_is_taken_for_the_header(first: bytes) -> None:
    found = pi(lines(first, header(), u("u1", None)))
    assert (found.fact("headerProblem") or "").startswith("The first record of the file is no session header")
    assert found.fact("id") == header()["id"] and found.chunks[-1].key == "u1.0"
    # What JSON.parse refuses is skipped, and counts for nothing.
    assert pi(lines(b"{torn", header(), u("u1", None))).fact("headerProblem") is None


def test_lines_that_cannot_be_read_are_chunks_too() -> None:
    torn = line(a("a1", "u1", text("x")))[:50]
    found = pi(lines(header(), u("u1", None), torn, b"\0\0\0", b"[]", {"foo": 1}, entry("message", "m", "u1", message=5)) + torn)
    held = found.chunks[1:]
    assert [(each.key, each.damage, each.msg_idx) for each in held] == [
        ("line:2.0", "torn", 2), ("line:3.0", "nul", 3), ("line:4.0", "not-object", 4), ("line:5.0", "no-id", 5),
        ("m.0", "wrong-type", 6), ("line:7.0", "torn", 7),
    ]  # fmt: skip
    assert all("at byte" in each.reason and (each.kind is Kind.UNREADABLE or each.damage == "no-id") for each in held)
    assert ["entry" in each.payload for each in held] == [False, False, False, True, True, False]
    assert (held[0].raw, held[0].reason.count("without a line end"), held[-1].reason.count("without a line end")) == (torn, 0, 1)
    assert found.fact("lines-torn") == "2 (line 3, 8; the header is line 1)" and found.fact("noLastLf")


def test_records_of_a_fused_line_are_entries_that_no_program_reads() -> None:
    found = pi(lines(header(), u("u1", None), line(a("a1", "u1", text("x"))) + line(u("u2", "a1")), u("u3", "u2")))
    assert keys(found) == ["u1.0", "line:2/1.0", "line:2/2.0", "u3.0"]
    assert [chunk.payload["entry"].get("fused") for chunk in found.chunks] == [None, 1, 2, None]
    assert (found.fact("reachable"), found.fact("pathEnds"), found.fact("danglingParents")) == ("1/4", "dangling", "1")


def test_an_id_that_comes_twice_has_two_keys() -> None:
    found = pi(lines(header(), u("x", None), u("x", None), u("x#2", None), u("x", None)))
    assert keys(found) == ["x.0", "x#2.0", "x#2#2.0", "x#3.0"] and found.fact("lines-duplicate-id") == "2 (line 3, 5; the header is line 1)"


def test_a_line_that_is_not_utf8_is_read_as_the_programs_read_it() -> None:
    found = pi(lines(header(), line(u("u1", None, "b?d")).replace(b"?", b"\xff")))
    assert found.chunks[0].text == "b\ufffdd" and b"\xff" in found.chunks[0].raw and found.chunks[0].payload["entry"]["notUtf8"] is True


V1_HEADER = {"type": "session", "id": "old", "timestamp": "2025-11-20T23:33:50.805Z", "cwd": "/w", "provider": "anthropic", "modelId": "m0"}


def test_version_1_is_chained_in_order_and_counts_the_header() -> None:
    def said(words: str) -> dict[str, Any]:
        return {"type": "message", "timestamp": "2025-11-20T23:34:00.000Z", "message": {"role": "user", "content": words}}

    cut = {"type": "compaction", "timestamp": "2025-11-20T23:35:00.000Z", "summary": "s", "firstKeptEntryIndex": 2, "tokensBefore": 5}
    data = lines(V1_HEADER, said("one"), b"torn{", said("two"), cut, said("three") | {"id": "own", "parentId": "x"})
    found = pi(data)
    assert [(chunk.key, chunk.parent) for chunk in found.chunks if chunk.damage == ""] == [
        ("line:1.0", None), ("line:3.0", "line:1"), ("line:4.0", "line:3"), ("line:5.0", "line:4"),
    ]  # fmt: skip
    compaction, last = found.chunks[-2].payload["entry"], found.chunks[-1].payload["entry"]
    # The torn line is none of the entries that the program counts.
    assert compaction["firstKeptEntryId"] == "line:3" and compaction["firstKeptEntryIndex"] == 2
    assert (last["id"], last["storedId"], last["storedParentId"]) == ("line:5", "own", "x")
    assert (found.fact("version"), found.fact("reachable"), found.fact("model")) == ("1", "4/4", "m0")
    assert found.fact("lines-no-id") is None


def test_the_chain_of_version_1_goes_around_a_fused_line() -> None:
    said = [line({"type": "message", "message": {"role": "user", "content": words}}) for words in ("one", "two", "three", "four")]
    found = pi(lines(V1_HEADER, said[0], said[1] + said[2], said[3]))
    assert [(chunk.key, chunk.parent) for chunk in found.chunks] == [
        ("line:1.0", None), ("line:2/1.0", "line:1"), ("line:2/2.0", "line:1"), ("line:3.0", "line:1"),
    ]  # fmt: skip
    assert (found.fact("reachable"), found.fact("pathEnds"), found.fact("lines-fused")) == ("2/4", None, "1 (line 3; the header is line 1)")


@pytest.mark.parametrize(
    ("version", "kept", "shown"),
    [
        ("0.2.0", True, "0.2.0"),
        ("3", True, "3"),
        ({}, True, "{}"),
        (2.5, True, "2.5"),
        ("1", False, "1"),
        ("", False, "0"),
        (True, False, "1"),
        (None, False, "1"),
        (0, False, "0"),
    ],
)
def test_ids_are_kept_where_pi_compares_the_version_to_no_older_one(version: Any, kept: bool, shown: str) -> None:
    """`"0.2.0" < 2` is false in JavaScript, and so pi gives such a file no new ids: its compaction points where it did."""
    cut = entry("compaction", "c1", "u2", summary="s", firstKeptEntryId="u2", tokensBefore=5)
    found = pi(lines(header(version=version), u("u1", None), a("a1", "u1", text("so")), u("u2", "a1"), cut, u("u3", "c1")))
    assert (found.chunks[0].key == "u1.0") is kept and found.fact("version") == shown
    codes = [each.code for each in findings(case_of(found, "verbatim"), RULES)]
    assert codes == ([] if kept else ["TREE105"])


def test_version_2_keeps_its_ids() -> None:
    found = pi(lines(header(version=2), u("u1", None), entry("message", "h", "u1", message={"role": "hookMessage", "content": "hook"})))
    assert keys(found) == ["u1.0", "h.0"] and found.fact("version") == "2" and found.chunks[1].role == "user"


@pytest.mark.parametrize(
    ("rows", "reachable", "why", "leaf"),
    [
        ((u("u1", None), a("a1", "u1"), u("u2", "a1"), u("u3", "a1")), "3/4", None, "u3"),
        ((u("u1", None), a("a1", "u1"), u("u2", "gone"), a("a2", "u2")), "2/4", "dangling", "a2"),
        ((u("u1", "a1"), a("a1", "u1")), "2/2", "cycle", "a1"),
        ((u("u1", "u1"),), "1/1", "cycle", "u1"),
        ((u("u1", None), a("a1", "u1"), u("u1", "a1"), a("a2", "u1")), "3/4", "cycle", "a2"),
        ((u("u1", None), a("a1", "u1"), {"foo": 1}), "1/3", None, None),
        ((u("u1", None), a("a1", "u1"), {**u("", "a1"), "id": None}), "0/3", None, None),
        ((u("u1", None), a("a1", "u1"), u("", "a1")), "3/3", None, None),
        ((u("u1", None), a("a1", "u1"), entry("label", "l", "a1", targetId="u1")), "3/3", None, "l"),
        ((u("u1", None), a("a1", "u1"), line(u("u2", "a1"))[:40]), "2/2", None, "a1"),
        ((u("u1", None), line(a("a1", "u1"))[:40], u("u2", "a1")), "1/2", "dangling", "u2"),
        ((u("u1", None), HEADER, a("a1", "u1")), "2/2", None, "a1"),
        ((), "0/0", None, None),
    ],
)
def test_shapes_that_break_readers(rows: tuple[Any, ...], reachable: str, why: str | None, leaf: str | None) -> None:
    found = pi(lines(header(), *rows))
    assert (found.fact("reachable"), found.fact("pathEnds"), found.fact("lastLeaf")) == (reachable, why, leaf)


def test_swapping_the_last_two_lines_is_another_conversation() -> None:
    start = (header(), u("u1", None), a("a1", "u1", call("c1")))
    facts = [
        pi(lines(*start, *tail)).fact("lastLeaf") for tail in ((r("r1", "a1", "c1"), u("u2", "a1")), (u("u2", "a1"), r("r1", "a1", "c1")))
    ]
    assert facts == ["u2", "r1"]


def test_roots_leaves_and_cycles_beside_the_path_are_counted() -> None:
    found = pi(lines(header(), u("x", "y"), u("y", "x"), u("z", "x"), u("u1", None), u("u2", None), u("u3", "nowhere")))
    counted = ("roots", "danglingParents", "leaves", "entriesInCycles", "reachable", "pathEnds")
    assert [found.fact(name) for name in counted] == ["2", "1", "4", "2", "1/6", "dangling"]


def test_facts_of_the_session() -> None:
    found = pi(
        lines(
            header(parentSession="/old.jsonl"),
            entry("session_info", "i1", None, name="first name"),
            u("u1", "i1"),
            entry("model_change", "m", "u1", provider="p2", modelId="m2"),
            entry("thinking_level_change", "t", "m", thinkingLevel="high"),
            a("a1", "t", text("x"), api="openai-responses", provider="p3", model="m3", stopReason="aborted"),
            entry("session_info", "i2", "u1", name="second name"),
            u("u2", "a1") | {"timestamp": "2026-11-20T18:00:00.500Z"},
        )
    )
    wanted = {
        "id": ID, "version": "3", "cwd": "/home/dev/my app", "parentSession": "/old.jsonl", "provider": "p3", "model": "m3",
        "api": "openai-responses", "thinking": "high", "status": "aborted", "createdAt": "1795195987691",
        "lastActivityAt": "1795195988000", "lines": "8", "reachable": "6/7",
    }  # fmt: skip
    assert {name: found.fact(name) for name in wanted} == wanted and found.title == "second name"
    assert pi(lines(header(version=..., branchedFrom="/b"))).fact("parentSession") == "/b"


def test_an_empty_name_clears_the_title() -> None:
    assert (
        pi(lines(header(), entry("session_info", "i", None, name="n"), u("u1", "i"), entry("session_info", "j", "u1", name=""))).title
        == "go"
    )


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("2026-11-20T17:33:07.691Z", 1795195987691),
        (1700000000000, 1700000000000),
        (0, None),
        (-5, None),
        (1e300, None),
        ("x", None),
        (True, None),
        (float("nan"), None),
        ("0000-00-00", None),
        (None, None),
        ("1900-01-01T00:00:00Z", None),
    ],
)
def test_moments(value: Any, wanted: int | None) -> None:
    assert moment(value) == wanted


def test_a_file_without_header_is_read_and_says_what_becomes_of_it() -> None:
    for data in (lines(u("u1", None), a("a1", "u1")), lines(b"{broken", u("u1", None), a("a1", "u1"))):
        found = pi(data, "lost.jsonl")
        assert found.native_id == "lost" and found.fact("reachable") == "2/2" and "overwrite it" in (found.fact("headerProblem") or "")
    assert "empty" in (pi(b"", "none.jsonl").fact("headerProblem") or "")
    assert pi(lines(header(id=5), u("u1", None)), "number.jsonl").native_id == "number"


def test_line_ends_and_marks_are_kept_and_said() -> None:
    data = b"\xef\xbb\xbf" + lines(header(), u("u1", None)).replace(b"\n", b"\r\n")
    found = pi(data)
    assert found.native_id == ID and found.fact("byteOrderMark") and found.fact("carriageReturns") == "2 of 2 lines end with CR LF"
    assert found.chunks[0].raw.endswith(b"\r") and found.fact("noLastLf") is None


FOLDER = "--home-dev-my app--"
NAME = f"2026-11-20T17-33-07-691Z_{ID}.jsonl"


def test_a_file_and_a_folder_of_them_are_detected(tmp_path: Path) -> None:
    place = tmp_path / "sessions" / FOLDER / NAME
    place.parent.mkdir(parents=True)
    place.write_bytes(lines(header(), u("u1", None)))
    for path in (place, place.parent, tmp_path / "sessions"):
        found = read_store(path)
        assert found.format is PI and [each.conversation.native_id for each in found.conversations] == [ID]


def test_equal_ids_in_two_files_are_told_apart() -> None:
    data = lines(header(), u("u1", None))
    found = [
        each.conversation
        for each in PI.read(records({"s/a.jsonl": data, "s/b.jsonl": data, "t/b.jsonl": data, "t/c.jsonl": lines(header(id="c"))}))
    ]
    assert [each.native_id for each in found] == [f"{ID} a.jsonl", f"{ID} s/b.jsonl", f"{ID} t/b.jsonl", "c"]


@pytest.mark.parametrize(
    ("start", "name"),
    [
        (header(), "pi"),
        (header(version=...), "pi"),
        (V1_HEADER, "pi"),
        (u("u1", None), "pi"),
        ({"type": "session", "id": "x", "cwd": "/w", "provider": "openai", "model": "gpt-2"}, "rollouts"),
        (
            {"type": "user", "uuid": "x", "parentUuid": None, "sessionId": "s", "cwd": "/w", "message": {"role": "user", "content": "hi"}},
            "claude-code",
        ),
        ({"type": "summary", "summary": "s", "leafUuid": "x"}, "claude-code"),
        ({"timestamp": "t", "type": "session_meta", "payload": {"id": "x", "cwd": "/w", "originator": "cli"}}, "codex"),
        ({"id": "x", "timestamp": "t", "instructions": None}, ""),
    ],
)
def test_whose_file_it_is_by_its_first_line(start: dict[str, Any], name: str) -> None:
    shape = Shape(lines(start)[:4096], {}, "x.jsonl")
    scores = {each.name: score for each in FORMATS if (score := each.sniff(shape)) > 0}
    assert max(scores, key=lambda each: scores[each], default="") == name


@pytest.mark.parametrize(
    "key", ["p/-Users-x/0e6bd2a4.jsonl", "sessions/2026/11/20/rollout-2026-11-20T17-33-07-0e6b.jsonl", "x/notes.jsonl"]
)
def test_folders_of_other_programs_are_not_taken(key: str) -> None:
    assert PI.sniff(Shape(b"", {}, "p", (key,))) == 0.0


HOSTILE: list[Any] = [None, 5, True, 1.5, "", [], {}, [None], "\ud800", 10**30, {"type": ["a"]}, {"type": "toolCall"}, [[{"type": "text"}]]]


@pytest.mark.parametrize("value", HOSTILE, ids=repr)
def test_any_value_in_any_place_is_read(value: Any) -> None:
    whole = (
        header(),
        a("a1", None, text("x"), call("c")),
        r("r1", "a1", "c"),
        entry("compaction", "k", "r1", summary="s", firstKeptEntryId="a1"),
    )
    rows = []
    for row in whole:
        rows += [{**row, name: value} for name in (*row, "message", "firstKeptEntryIndex", "version", "name")]
        if isinstance(row.get("message"), dict):
            rows += [{**row, "message": {**row["message"], name: value}} for name in (*row["message"], "command", "summary")]
            blocks = row["message"]["content"]
            rows += [{**row, "message": {**row["message"], "content": [{**blocks[-1], name: value}]}} for name in blocks[-1]]
    for first in (header(), {**header(), "version": value}, {**header(), "id": value}, row):
        data = json.dumps(first).encode() + b"\n" + b"".join(json.dumps(each).encode() + b"\n" for each in rows)
        found = pi(data)
        assert len(set(keys(found))) == len(found.chunks) and len(entries(found))
        assert [chunk.seq for chunk in found.chunks] == list(range(1, len(found.chunks) + 1))


@pytest.mark.slow
def test_a_chain_of_100_000_entries_is_read_in_linear_time() -> None:
    rows = [u("e0", None, "x"), *(u(f"e{number}", f"e{number - 1}", "x") for number in range(1, 100_000))]
    data = lines(header(), *rows)
    start = time.process_time()
    found = pi(data)
    assert found.fact("reachable") == "100000/100000" and time.process_time() - start < 30


@pytest.mark.slow
def test_a_cycle_of_50_000_entries_ends() -> None:
    rows = [u(f"e{number}", f"e{(number - 1) % 50_000}", "x") for number in range(50_000)]
    found = pi(lines(header(), *rows))
    assert (found.fact("pathEnds"), found.fact("entriesInCycles")) == ("cycle", "50000")


def test_chunks_of_a_file_share_its_bytes_and_the_names_of_its_members() -> None:
    data = b"".join(
        b'{"type":"message","id":"%08x","parentId":null,"timestamp":"2026-01-05T00:00:00.000Z","message":{"role":"assistant","usage":{"input":1},'
        b'"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}\n' % number
        for number in range(2)
    )
    chunks = read_session(data).chunks
    assert [chunk.raw for chunk in chunks] == [line for line in data.splitlines() for _ in range(2)]
    kept = [kept_raw(chunk) for chunk in chunks]
    assert all(isinstance(span, Span) and span.data is data for span in kept) and kept[0] is kept[1]
    assert pickle.loads(pickle.dumps(chunks)) == chunks and replace(chunks[0], raw=b"x").raw == b"x"
    first, second = chunks[0].payload["entry"], chunks[2].payload["entry"]
    for name in ("id", "usage"):
        assert next(key for key in first if key == name) is next(key for key in second if key == name)
    assert next(iter(first["usage"])) is next(iter(second["usage"]))
