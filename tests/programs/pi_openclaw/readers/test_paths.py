"""Leaf, path and context as each client has them: the shapes that break readers, the tree scan, compaction, reset and edits."""

from collections.abc import Sequence
from typing import Any

import pytest

from inspector.conversation.model import Conversation, Reading
from inspector.readers.catalogue import clients, names, reader
from tests.folding import in_one_test
from tests.programs.pi_openclaw.shapes import entry, ids_of, message, say, shape_of, stored

PI = ("verbatim", "pi-0.68", "pi-0.69", "pi-0.87", "pi-1.5", "openclaw-2026.1")
CLIENTS = clients("pi")


def path_of(name: str, tree: Conversation) -> str:
    client = reader(name)
    assert client.path
    return ids_of(client.path(tree))


def reading_of(name: str, tree: Conversation) -> Reading:
    client = reader(name)
    assert client.path
    return client.read(client.path(tree))


def paths_of(tree: Conversation) -> tuple[str, str, str]:
    """As pi, OpenClaw 2026.7 and OpenClaw 2026.9 walk it; every client with pi's walk agrees."""
    walked = {path_of(name, tree) for name in PI}
    assert len(walked) == 1
    return walked.pop(), path_of("openclaw-2026.7", tree), path_of("openclaw-2026.9", tree)


U1, A1, U2, A2 = say("u1", None), say("a1", "u1", "A('one')"), say("u2", "a1"), say("a2", "u2", "A('two')")
TORN = b'{"type":"message","id":"a1","parentId":"u1","mess'
FUSED = b'{"type":"message","id":"a1","parentId":"u1","timestamp":"t"}{"type":"message","id":"x1","parentId":"a1","timestamp":"t"}'

SHAPES: list[tuple[str, list[Any], str, str, str]] = [
    ("last line torn", [U1, A1, b'{"type":"message","id":"u2","parentId":"a1"'], "u1,a1", "u1,a1", "u1,a1"),
    ("middle line torn", [U1, TORN, U2], "u2", "u2", "u1,u2"),
    ("two records on one line", [U1, FUSED, U2], "u2", "u2", "u1,u2"),
    ("a line of NUL bytes", [U1, b"\0" * 40, U2], "u2", "u2", "u1,u2"),
    ("dangling parent", [U1, A1, say("u2", "gone"), A2], "u2,a2", "u2,a2", "u1,a1,u2,a2"),
    ("cycle", [say("u1", "a1"), say("a1", "u1", "A('one')")], "u1,a1", "u1,a1", ""),
    ("an id that is used again", [U1, A1, say("u1", "a1"), say("a2", "u1", "A('two')")], "a1,u1,a2", "a1,u1,a2", ""),
    ("unknown type with an id", [U1, entry("n1", "u1", type="note"), say("a1", "n1", "A('one')")], "u1,n1,a1", "u1,a1", "u1,a1"),
    ("a label is the last line", [U1, A1, entry("l1", "u1", type="label", targetId="u1")], "u1,l1", "u1,l1", "u1,l1"),
    ("two children of one entry", [U1, A1, say("b1", "u1", "A('other')")], "u1,b1", "u1,b1", "u1,b1"),
    ("several roots", [U1, A1, say("r1", None)], "r1", "r1", "r1"),
    ("empty file after its header", [], "", "", ""),
]


@pytest.mark.parametrize(("lines", "pi", "manager", "scan"), [row[1:] for row in SHAPES], ids=[row[0] for row in SHAPES])
def test_each_program_walks_its_own_path(lines: list[Any], pi: str, manager: str, scan: str) -> None:
    assert paths_of(stored(lines)) == (pi, manager, scan)


@pytest.mark.parametrize("lines", [SHAPES[5][1], SHAPES[6][1]], ids=["cycle", "an id that is used again"])
def test_what_hangs_the_program_is_a_failure(lines: list[Any]) -> None:
    tree = stored(lines)
    for name in CLIENTS:
        reading = reading_of(name, tree)
        if name in ("verbatim", "openclaw-2026.7", "openclaw-2026.9"):
            assert not reading.failure, name
            assert any("cycle" in warning for warning in reading.warnings), name
        else:
            assert "endless loop" in reading.failure, name
            assert reading.messages == (), name
            assert reading.dropped[0].chunks == tuple(reader(name).path(tree).chunks), name  # type: ignore[misc]
    assert shape_of(reading_of("openclaw-2026.7", stored(SHAPES[5][1])).messages) == "U A('one')"


def test_a_last_line_without_id_leaves_pi_without_a_context() -> None:
    tree = stored([U1, A1, {"foo": 1}])
    reading = reading_of("pi-1.5", tree)
    assert reading.messages == ()
    assert any("no id" in warning for warning in reading.warnings)
    assert path_of("openclaw-2026.7", tree) == path_of("openclaw-2026.9", tree) == "u1,a1"


def test_a_last_line_that_is_no_object_leaves_pi_without_a_path() -> None:
    tree = stored([U1, A1, b"5"])
    assert path_of("pi-1.5", tree) == ""
    assert any("no leaf" in warning for warning in reading_of("pi-1.5", tree).warnings)
    assert path_of("openclaw-2026.7", tree) == "u1,a1"


def test_a_file_without_header_is_refused_overwritten_or_repaired() -> None:
    tree = stored([U1, A1], header=None)
    failures = {name: reading_of(name, tree).failure for name in CLIENTS}
    assert {name for name, failure in failures.items() if "overwritten" in failure} == {"pi-0.68", "pi-0.69", "openclaw-2026.1"}
    assert {name for name, failure in failures.items() if "not a valid pi session" in failure} == {"pi-0.87", "pi-1.5"}
    assert shape_of(reading_of("openclaw-2026.7", tree).messages) == "U A('one')"


def test_null_content_stops_pi_before_0_80_6_only() -> None:
    tree = stored([U1, entry("a1", "u1", message=message("A('x')") | {"content": None}), U2])
    failing = {name for name in CLIENTS if "null" in reading_of(name, tree).failure}
    assert failing == {"pi-0.68", "pi-0.69"}
    assert len(reading_of("pi-1.5", tree).messages) == 3


def test_a_message_without_role_is_in_the_context_and_not_in_the_request() -> None:
    tree = stored([U1, entry("x1", "u1", message={"role": None, "content": "hm"}), say("u2", "x1")])
    for name in CLIENTS:
        reading = reading_of(name, tree)
        assert len(reading.grouped) == 3, name
        assert shape_of(reading.messages) == "U U", name
        assert "None" in reading.dropped[0].why, name


def test_the_last_of_two_children_decides_what_the_conversation_is() -> None:
    u1, a1, r1, u2 = say("u1", None), say("a1", "u1", "A(c1)"), say("r1", "a1", "R(c1=real)"), say("u2", "a1")
    assert paths_of(stored([u1, a1, r1, u2])) == ("u1,a1,u2",) * 3
    assert paths_of(stored([u1, a1, u2, r1])) == ("u1,a1,r1",) * 3
    sent = {name: shape_of(reading_of(name, stored([u1, a1, r1, u2])).messages) for name in CLIENTS}
    assert sent.pop("verbatim") == "U A(c1) U"
    assert {name: shape for name, shape in sent.items() if name.startswith("pi")} == dict.fromkeys(CLIENTS[1:5], "U A(c1) R(c1=NRP) U")
    assert {name: shape for name, shape in sent.items() if name.startswith("open")} == dict.fromkeys(CLIENTS[5:], "U A(c1) R(c1=SYN) U")


A, B, C = say("a", None), say("b", "a", "A('b')"), say("c", "b")
D = say("d", "c", "A('d')")
BEHIND = say("d", "leaf", "A('d')")


def leaf(target: str | None, **own: Any) -> dict[str, Any]:
    return entry("leaf", "b", type="leaf", targetId=target, **own)


SCAN: list[tuple[str, list[Any], str]] = [
    ("leaf control targeting a, then d", [A, B, C, leaf("a"), BEHIND], "a,d"),
    ("leaf with unknown target, then d", [A, B, leaf("nowhere"), BEHIND], "a,b,d"),
    ("leaf with null target, then d", [A, B, leaf(None), BEHIND], "d"),
    ("d is a side entry", [A, B, C, D | {"appendMode": "side"}], "a,b,c"),
    ("c has an unknown parent", [A, B, say("c", "nowhere"), D], "a,b,c,d"),
    ("two children of a", [A, B, say("c", "a")], "a,c"),
    ("cycle", [say("a", "c"), B, C], ""),
    ("d has no parentId", [A, B, C, say("d", ..., "A('d')")], "a,b,c,d"),
    ("d has no parentId and a leaf was chosen", [A, B, C, leaf("a"), say("d", ..., "A('d')")], "a,d"),
    ("a parent from before the reset", [A, B, entry("r", "b", type="reset"), say("d", "a")], "a,b,r,d"),
]


@pytest.mark.parametrize(("lines", "active"), [row[1:] for row in SCAN], ids=[row[0] for row in SCAN])
def test_the_tree_scan_of_2026_9(lines: list[Any], active: str) -> None:
    assert path_of("openclaw-2026.9", stored(lines)) == active


@pytest.mark.parametrize(("lines", "active"), [row[1:] for row in SCAN[:4]], ids=[row[0] for row in SCAN[:4]])
def test_the_manager_of_2026_7_knows_the_same_control_rows(lines: list[Any], active: str) -> None:
    assert path_of("openclaw-2026.7", stored(lines)) == active


def test_a_rebased_entry_comes_with_a_warning() -> None:
    reading = reading_of("openclaw-2026.9", stored([A, B, say("c", "nowhere"), D]))
    assert shape_of(reading.messages) == "U A('b') U A('d')"
    assert [warning for warning in reading.warnings if "'c'" in warning and "goes on from the leaf of that moment" in warning]
    assert not reading_of("openclaw-2026.9", stored([A, B, C, D])).warnings


def test_a_reset_keeps_what_it_names() -> None:
    tree = stored([A, B, C, entry("r", "c", type="reset", reason="new", firstKeptEntryId="b")])
    assert shape_of(reading_of("openclaw-2026.9", tree).messages) == "A('b') U"
    assert [each.seqs for each in reading_of("openclaw-2026.9", tree).dropped] == [(1,)]
    assert shape_of(reading_of("openclaw-2026.7", tree).messages) == "U A('b') U"


def said(reading: Reading) -> list[str]:
    return [message.chunks[0].text for message in reading.messages]


def compaction(id_: str, parent: str, kept: str | None) -> dict[str, Any]:
    return entry(id_, parent, type="compaction", summary=f"summary {id_}", firstKeptEntryId=kept, tokensBefore=9)


def tell(id_: str, parent: str | None) -> dict[str, Any]:
    return entry(id_, parent, message={"role": "user", "content": id_, "timestamp": 1})


FILE = [tell("a", None), tell("b", "a"), tell("c", "b")]
CONTEXTS: list[tuple[str, list[Any], list[str]]] = [
    ("one compaction", [*FILE, compaction("k", "c", "b"), tell("d", "k")], ["summary k", "b", "c", "d"]),
    (
        "the last of two",
        [*FILE, compaction("k", "c", "b"), tell("d", "k"), compaction("l", "d", "d"), tell("e", "l")],
        ["summary l", "d", "e"],
    ),
    ("first kept entry not on the path", [*FILE, compaction("k", "c", "zz"), tell("d", "k")], ["summary k", "d"]),
    ("a compaction that names itself", [*FILE, compaction("k", "c", "k"), tell("d", "k")], ["summary k", "d"]),
    (
        "branch summary in place",
        [*FILE, entry("s", "b", type="branch_summary", fromId="c", summary="it failed"), tell("d", "s")],
        ["a", "b", "it failed", "d"],
    ),
    (
        "rows without message",
        [tell("a", None), entry("i", "a", type="session_info", name="n"), entry("x", "i", type="custom", customType="t")],
        ["a"],
    ),
    (
        "usage and a label as the leaf",
        [tell("a", None), entry("g", "a", type="usage", kind="k", usage={}), entry("l", "g", type="label", targetId="a")],
        ["a"],
    ),
    (
        "custom message",
        [tell("a", None), entry("m", "a", type="custom_message", customType="t", content="hello", display=True)],
        ["a", "hello"],
    ),
]


@pytest.mark.parametrize(("lines", "expected"), [row[1:] for row in CONTEXTS], ids=[row[0] for row in CONTEXTS])
def test_the_context_of_a_path(lines: Sequence[Any], expected: list[str]) -> None:
    for name in CLIENTS:
        reading = reading_of(name, stored(lines))
        found = [
            text if "<summary>" not in text else text.split("<summary>\n")[1].removesuffix("</summary>").strip() for text in said(reading)
        ]
        assert found == expected, name
        assert {message.role for message in reading.messages} == {"user"}
        assert any("'zz'" in warning for warning in reading.warnings) == ("zz" in str(lines)), name


def test_summaries_are_introduced_as_the_programs_do() -> None:
    compacted, came_back = (said(reading_of("pi-1.5", stored(CONTEXTS[at][1])))[place] for at, place in ((0, 0), (4, 2)))
    assert (
        compacted
        == "The conversation history before this point was compacted into the following summary:\n\n<summary>\nsummary k\n</summary>"
    )
    assert came_back == "The following is a summary of a branch that this conversation came back from:\n\n<summary>\nit failed</summary>"


def test_what_a_compaction_leaves_out_is_named() -> None:
    reading = reading_of("pi-1.5", stored(CONTEXTS[0][1]))
    assert [(each.seqs, "compaction k" in each.why) for each in reading.dropped] == [((1,), True)]


EDITS: list[tuple[str, Any, list[str]]] = [
    ("null removes", None, ["go on"]),
    ("a string becomes one text", {"content": "shorter"}, ["go on", "shorter"]),
    ("blocks replace", {"content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]}, ["go on", "x"]),
]


@pytest.mark.parametrize(("replacement", "expected"), [row[1:] for row in EDITS], ids=[row[0] for row in EDITS])
def test_context_edits_count_since_pi_0_87(replacement: Any, expected: list[str]) -> None:
    tree = stored([U1, A1, entry("e", "a1", type="context_edit", targetId="a1", replacement=replacement)])
    for name in CLIENTS:
        since = name in ("verbatim", "pi-0.87", "pi-1.5")
        reading = reading_of(name, tree)
        assert said(reading) == (expected if since else ["go on", "one"]), name
        assert bool(reading.dropped) == since


def test_an_edited_result_still_answers_its_call() -> None:
    lines = [say("u1", None), say("a1", "u1", "A(c1)"), say("r1", "a1", "R(c1=long)")]
    tree = stored([*lines, entry("e", "r1", type="context_edit", targetId="r1", replacement={"content": "cut"})])
    assert shape_of(reading_of("pi-1.5", tree).messages) == "U A(c1) R(c1=cut)"


def test_the_last_edit_of_a_target_wins_and_one_off_the_path_counts_nothing() -> None:
    def edit(id_: str, parent: str, text: str) -> dict[str, Any]:
        return entry(id_, parent, type="context_edit", targetId="a1", replacement={"content": text})

    assert said(reading_of("pi-1.5", stored([U1, A1, edit("e", "a1", "x"), edit("f", "e", "y")]))) == ["go on", "y"]
    assert said(reading_of("pi-1.5", stored([U1, A1, edit("e", "a1", "x"), U2]))) == ["go on", "one", "go on"]


def test_a_command_of_the_user_is_told_unless_excluded() -> None:
    ran = {"role": "bashExecution", "command": "ls", "output": "a.txt", "exitCode": 2, "cancelled": False, "truncated": False}
    told = reading_of("pi-1.5", stored([entry("b1", None, message=ran)]))
    assert said(told) == ["Ran `ls`\n```\na.txt\n```\n\nCommand exited with code 2"]
    hidden = reading_of("pi-1.5", stored([entry("b1", None, message=ran | {"excludeFromContext": True})]))
    assert hidden.messages == ()
    assert "excluded" in hidden.dropped[0].why


def test_system_messages_are_held_back_until_the_calls_are_answered() -> None:
    tree = stored([say("u1", None), say("a1", "u1", "A(c1)"), say("s1", "a1", "S"), say("r1", "s1", "R(c1=ok)"), say("u2", "r1")])
    assert shape_of(reading_of("pi-1.5", tree).messages) == "U A(c1) R(c1=ok) S U"
    assert "S" not in shape_of(reading_of("pi-0.69", tree).messages)


def thinking(*models: str, **block: Any) -> Conversation:
    """One answer for each model, each with a thinking block before its text."""
    held, parent = [], None
    for at, model in enumerate(models):
        answer = message("A('said')") | {"model": model}
        answer["content"] = [{"type": "thinking", "thinking": "hm"} | block, *answer["content"]]
        held.append(entry(f"t{at}", parent, message=answer))
        parent = f"t{at}"
    return stored(held)


@pytest.mark.parametrize(
    ("block", "name", "kinds"),
    [
        ({"thinkingSignature": "sig"}, "pi-0.87", ["text", "text", "thinking", "text"]),
        ({"thinkingSignature": "sig"}, "pi-1.5", ["text", "thinking", "text"]),
        ({"thinkingSignature": "sig", "thinking": ""}, "pi-0.69", ["text", "thinking", "text"]),
        ({"thinkingSignature": "sig", "redacted": True}, "pi-0.69", ["text", "redacted-thinking", "text"]),
        ({"thinking": " "}, "pi-1.5", ["text", "text"]),
        ({}, "pi-1.5", ["text", "thinking", "text"]),
    ],
)
def test_thinking_of_another_model(block: dict[str, Any], name: str, kinds: list[str]) -> None:
    reading = reading_of(name, thinking("m1", "m2", **block))
    assert [chunk.kind for each in reading.messages for chunk in each.chunks] == kinds


def test_a_model_change_makes_all_thinking_foreign() -> None:
    tree = thinking("m1", thinkingSignature="sig")
    changed = entry("m", "t0", type="model_change", provider="anthropic", modelId="m2")
    lines = [chunk.raw for chunk in tree.chunks[:1]]
    assert [c.kind for m in reading_of("pi-1.5", stored([*lines, changed])).messages for c in m.chunks] == ["text"]


def test_two_failed_turns_in_a_row_are_left_out() -> None:
    tree = stored([say("u1", None), say("a1", "u1", "A(c1)^aborted"), say("a2", "a1", "A(c2)^error"), say("u2", "a2")])
    assert shape_of(reading_of("pi-1.5", tree).messages) == "U U"


PI_READERS = ("pi-0.68", "pi-0.69", "pi-0.87", "pi-1.5")


@pytest.mark.parametrize("name", PI_READERS)
def test_pi_takes_no_other_name_for_the_id_of_a_result(name: str) -> None:
    lines = [say("u1", None), say("a1", "u1", "A(c1)"), say("r1", "a1", "R(c1:toolUseId=x)"), say("u2", "r1")]
    reading = reading_of(name, stored(lines))
    assert shape_of(reading.messages) == "U A(c1) R(c1=x) R(c1=NRP) U"
    assert [warning for warning in reading.warnings if "'toolUseId'" in warning and "without an id" in warning]
    assert not [warning for warning in reading_of("openclaw-2026.9", stored(lines)).warnings if "toolUseId" in warning]


@in_one_test("name", PI_READERS)
@in_one_test(
    ("provider", "model", "api", "expected"),
    [
        ("anthropic", "m2", "anthropic-messages", "call_x_fc_y"),
        ("amazon-bedrock", "m2", "bedrock-converse-stream", "call_x_fc_y"),
        ("google", "claude-x", "google-vertex", "call_x_fc_y"),
        ("google", "gemini-3", "google-generative-ai", "call_x|fc_y"),
        ("openai", "m1", "openai-responses", "call_x|fc_y"),
    ],
)
def test_the_id_of_a_call_of_responses_sent_to_another_model(name: str, provider: str, model: str, api: str, expected: str) -> None:
    first = message("A(c1)") | {"provider": "openai", "api": "openai-responses"}
    first["content"] = [{"type": "toolCall", "id": "call_x|fc_y", "name": "run", "arguments": {}, "thoughtSignature": "sig"}]
    result = message("R(c1=ok)") | {"toolCallId": "call_x|fc_y"}
    now = message("A('done')") | {"provider": provider, "model": model, "api": api}
    lines = [entry("a", None, message=first), entry("r", "a", message=result), entry("n", "r", message=now)]
    call, answer, _ = (each.chunks[0] for each in reading_of(name, stored(lines)).messages)
    assert (call.call_id, answer.call_id) == (expected, expected)
    assert ("signature" in call.payload) == (provider == "openai")


def test_an_id_is_cut_at_64_characters_for_anthropic() -> None:
    first = message(f"A({'x' * 70})") | {"provider": "openai"}
    tree = stored([entry("a", None, message=first), say("n", "a", "A('done')")])
    assert reading_of("pi-1.5", tree).messages[0].chunks[0].call_id == "x" * 64


@pytest.mark.parametrize("name", CLIENTS)
def test_another_leaf_may_be_chosen(name: str) -> None:
    lines = [U1, A1, say("b1", "u1", "A('other')")]
    assert path_of(name, stored(lines, leaf="a1")) == "u1,a1"
    assert path_of(name, stored(lines, leaf="nowhere")) == "u1,b1"
    assert path_of(name, stored(lines, leaf="")) == ""
    assert reading_of(name, stored(lines, leaf="")).messages == ()


@pytest.mark.parametrize("name", CLIENTS)
def test_a_v1_file_is_one_chain(name: str) -> None:
    lines = [{"type": "message", "timestamp": "t", "message": message(token)} for token in ("U", "A(c1)", "R(c1=ok)", "U")]
    header = {"type": "session", "id": "x", "timestamp": "t", "cwd": "/"}
    assert shape_of(reading_of(name, stored(lines, header=header)).messages) == "U A(c1) R(c1=ok) U"


@pytest.mark.parametrize("name", ["openclaw-2026.1", "openclaw-2026.7", "openclaw-2026.9"])
def test_openclaw_leaves_out_its_own_mirrors(name: str) -> None:
    mirror = message("A('shown')") | {"provider": "openclaw", "model": "delivery-mirror"}
    tree = stored([U1, A1, entry("m", "a1", message=mirror), say("u2", "m")])
    assert shape_of(reading_of(name, tree).messages) == "U A('one') U"
    assert "display" in reading_of(name, tree).dropped[0].why


@pytest.mark.parametrize(("format_name", "expected"), [("pi", 10), ("openclaw", 10), ("openclaw-sqlite", 3)])
def test_the_catalogue_offers_the_clients_that_can_open_the_store(format_name: str, expected: int) -> None:
    offered = names(format_name)
    assert len(offered) == expected
    assert all(reader(name).path for name in offered)
