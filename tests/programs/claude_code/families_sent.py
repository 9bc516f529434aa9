"""Sessions that a resume changes before it sends them, in shapes in which versions of Claude Code differ; what they make of them is in
`tests/published_programs/claude_code.json`."""

import json
from typing import Any

from tests.programs.claude_code.families import with_model
from tests.programs.claude_code.session_lines import ID, a, boundary, call, line, r, text, thinking, u

Lines = tuple[dict[str, Any], ...]
ABOVE = ""
"""The line above is the parent."""


def in_a_row(*values: dict[str, Any]) -> Lines:
    """With a second between two lines."""
    linked: list[dict[str, Any]] = []
    for number, value in enumerate(values):
        above = linked[-1]["uuid"] if linked else None
        parent = above if value["parentUuid"] == ABOVE else value["parentUuid"]
        when = value["timestamp"] if "at" in value else f"2026-08-01T10:00:{number + 1:02d}.000Z"
        linked.append({name: member for name, member in value.items() if name != "at"} | {"parentUuid": parent, "timestamp": when})
    return tuple(linked)


def blocks(id_: str, answer: str, *content: dict[str, Any]) -> dict[str, Any]:
    """An answer of several blocks in one line, as versions before 1.0 wrote them."""
    value = a(id_, ABOVE, answer, content[0])
    return {**value, "message": {**value["message"], "content": list(content)}}


def results(id_: str, *content: dict[str, Any]) -> dict[str, Any]:
    return u(id_, ABOVE, list(content))


def result(call_id: str, words: str) -> dict[str, Any]:
    return {"tool_use_id": call_id, "type": "tool_result", "content": words}


def lost(when: str) -> Lines:
    """The third line names a parent that is in no line; it was written at `when`, the second at 10:00:02."""
    gap = u("u2", "gone", "two", timestamp=when, at=True)
    return in_a_row(
        START, ONE, gap, a("b1", ABOVE, "msg_2", text("three"), timestamp=when, at=True), u("u3", ABOVE, "more", timestamp=when, at=True)
    )


def kept(what: dict[str, Any]) -> dict[str, Any]:
    """The boundary of a compaction that keeps messages by naming them."""
    return boundary("k1", logicalParentUuid="b1", compactMetadata={"trigger": "auto", "preTokens": 9, **what})


def checkpoint(leaf: str | None, **more: Any) -> dict[str, Any]:
    """Where the session was left, as versions since 2.1.200 write it when they end."""
    return {"type": "last-prompt", "lastPrompt": "go", "leafUuid": leaf, "sessionId": ID, **more}


def escaped(values: Lines) -> tuple[bytes, ...]:
    """As a writer spells them that knows ASCII only, which can spell half a character."""
    return tuple(json.dumps(value).encode() for value in values)


def hollow(id_: str, answer: str) -> dict[str, Any]:
    value = a(id_, ABOVE, answer, text(""))
    return {**value, "message": {**value["message"], "content": []}}


START, END = u("u1", ABOVE), (a("z1", ABOVE, "msg_z", text("done")), u("z2", ABOVE, "go on"))
ONE, CALL = a("a1", ABOVE, "msg_1", text("one")), a("a2", ABOVE, "msg_1", call("toolu_1"))
SECOND, OTHER = a("a3", ABOVE, "msg_1", call("toolu_2")), a("b1", ABOVE, "msg_2", text("between"))
MORE = (u("u2", ABOVE, "more"), *END)
TALK = in_a_row(START, ONE, u("u2", ABOVE, "two"), OTHER, u("u3", ABOVE, "three"), a("c1", ABOVE, "msg_3", text("four")))
OLD = (u("u1", ABOVE, "old"), ONE, u("u2", ABOVE, "keep me"), CALL, r("r1", ABOVE, "toolu_1", "kept"), OTHER)
SEGMENT = {"headUuid": "u2", "anchorUuid": "s1", "tailUuid": "b1"}
SUMMARY = u("s1", ABOVE, "This session is being continued.", isCompactSummary=True, isVisibleInTranscriptOnly=True)
NEW = (SUMMARY, u("u3", ABOVE, "new"), a("d1", ABOVE, "msg_4", text("well")))
SESSIONS: dict[str, Lines | tuple[bytes, ...]] = {
    "a pending call": in_a_row(START, ONE, CALL),
    "a pending call alone": in_a_row(START, CALL),
    "a call of an answer without words": in_a_row(START, CALL, u("u2", ABOVE, "stop"), *END),
    "thinking and a call without a result": in_a_row(START, a("a1", ABOVE, "msg_1", thinking()), CALL, u("u2", ABOVE, "stop"), *END),
    "thinking alone": in_a_row(START, a("a1", ABOVE, "msg_1", thinking()), u("u2", ABOVE, "stop"), *END),
    "thinking alone at the end": in_a_row(START, *END, a("a1", ABOVE, "msg_1", thinking())),
    "thinking and blanks": in_a_row(
        START, a("a1", ABOVE, "msg_1", thinking()), a("a2", ABOVE, "msg_1", text(" ")), u("u2", ABOVE, "stop"), *END
    ),
    "blanks before a call": in_a_row(START, a("a1", ABOVE, "msg_1", text("\n\n")), CALL, r("r1", ABOVE, "toolu_1"), *END),
    "text after a call": in_a_row(START, ONE, CALL, a("a3", ABOVE, "msg_1", text("after")), r("r1", ABOVE, "toolu_1"), *END),
    "text of the same answer after the result": in_a_row(
        START, CALL, r("r1", ABOVE, "toolu_1"), a("a3", ABOVE, "msg_1", text("later")), *END
    ),
    "a result before its call": in_a_row(START, r("r1", ABOVE, "toolu_1", "early"), CALL, u("u2", ABOVE, "so"), *END),
    "words between a call and its result": in_a_row(START, CALL, u("u2", ABOVE, "wait"), r("r1", ABOVE, "toolu_1", "late"), *END),
    "an answer between a call and its result": in_a_row(
        START, CALL, a("b1", ABOVE, "msg_2", text("between")), r("r1", ABOVE, "toolu_1", "late"), *END
    ),
    "a result of no call, and words": in_a_row(START, ONE, results("r1", result("toolu_9", "orphan"), text("and words")), *END),
    "a result of no call alone": in_a_row(START, ONE, r("r1", ABOVE, "toolu_9", "orphan"), *END),
    "an id of two answers": in_a_row(
        START, CALL, r("r1", ABOVE, "toolu_1", "one"), a("b1", ABOVE, "msg_2", call("toolu_1")), r("r2", ABOVE, "toolu_1", "two"), *END
    ),
    "an id twice in a line": in_a_row(START, blocks("a1", "msg_1", call("toolu_1"), call("toolu_1")), r("r1", ABOVE, "toolu_1"), *END),
    "two results in a line": in_a_row(START, CALL, results("r1", result("toolu_1", "a"), result("toolu_1", "b")), *END),
    "two results with words between": in_a_row(
        START, CALL, r("r1", ABOVE, "toolu_1", "a"), u("u2", ABOVE, "t"), r("r2", ABOVE, "toolu_1", "b"), *END
    ),
    "words and a call without a result in a line": in_a_row(
        START, blocks("a1", "msg_1", text("hm"), call("toolu_1")), u("u2", ABOVE, "stop"), *END
    ),
    "two calls in a line, one without a result": in_a_row(
        START, blocks("a1", "msg_1", text("hm"), call("toolu_1"), call("toolu_2")), r("r1", ABOVE, "toolu_2"), *END
    ),
    "thinking and blanks in a line": in_a_row(START, blocks("a1", "msg_1", thinking(), text(" ")), u("u2", ABOVE, "stop"), *END),
    "an empty text next to another": in_a_row(START, ONE, results("u2", text(""), text("more")), *END),
    "answers in a row": in_a_row(START, ONE, a("b1", ABOVE, "msg_2", thinking("two")), a("b2", ABOVE, "msg_2", text("again")), *END),
    "what a command printed": in_a_row(
        START, ONE, line("system", "s1", ABOVE, None, subtype="local_command", content="<command-name>/cost</command-name>"), *END
    ),
    "an error of the provider": in_a_row(
        START, with_model("<synthetic>", a("e1", ABOVE, "msg_e", text("API Error: 400"), isApiErrorMessage=True)), *END
    ),
    "for the transcript only": in_a_row(START, ONE, u("u2", ABOVE, "shown", isVisibleInTranscriptOnly=True), *END),
    "a compaction": in_a_row(START, CALL, boundary("b1", logicalParentUuid="a2"), u("u2", ABOVE, "summary", isCompactSummary=True), *END),
    "a parent that is nowhere, after 5,000 ms": lost("2026-08-01T10:00:07.000Z"),
    "a parent that is nowhere, after 5,001 ms": lost("2026-08-01T10:00:07.001Z"),
    "a parent that is nowhere, after an agent's line": in_a_row(
        START, ONE, u("s1", None, "side", isSidechain=True), u("u2", "gone", "two"), *END
    ),
    "a hook's context that uses an id again": in_a_row(
        START,
        ONE,
        line("saved_hook_context", "h1", ABOVE, None, content=["context"]),
        u("u2", ABOVE, "two"),
        a("b1", ABOVE, "msg_2", text("three")),
        line("saved_hook_context", "h1", ABOVE, None, content=["context"]),
        *END,
    ),
    "two pending calls": in_a_row(START, ONE, CALL, SECOND),
    "two pending calls, one with a result": in_a_row(START, ONE, CALL, SECOND, r("r1", ABOVE, "toolu_1")),
    "a pending call and thinking": in_a_row(START, a("a1", ABOVE, "msg_1", thinking()), CALL),
    "a pending call before words of the same answer": in_a_row(START, CALL, a("a3", ABOVE, "msg_1", text("after"))),
    "a pending call before another answer": in_a_row(START, CALL, a("b1", ABOVE, "msg_2", text("after"))),
    "a pending call before words of the user": in_a_row(START, ONE, CALL, u("u2", ABOVE, "stop")),
    "a pending call before an error": in_a_row(
        START, CALL, with_model("<synthetic>", a("e1", ABOVE, "msg_e", text("API Error: 400"), isApiErrorMessage=True))
    ),
    "a pending call before a result of no call": in_a_row(START, CALL, r("r1", ABOVE, "toolu_9", "orphan")),
    "a result before its call, which ends the session": in_a_row(START, r("r1", ABOVE, "toolu_1", "early"), CALL),
    "a result before its call, with an answer between": in_a_row(START, r("r1", ABOVE, "toolu_1", "early"), OTHER, CALL, *END),
    "a result before its call, with words between": in_a_row(START, r("r1", ABOVE, "toolu_1", "early"), u("u2", ABOVE, "so"), CALL, *END),
    "a result before its call, and one after it": in_a_row(
        START, r("r1", ABOVE, "toolu_1", "early"), CALL, r("r2", ABOVE, "toolu_1", "late"), *END
    ),
    "results before their calls": in_a_row(
        START, r("r2", ABOVE, "toolu_2", "two"), r("r1", ABOVE, "toolu_1", "one"), CALL, SECOND, u("u2", ABOVE, "so"), *END
    ),
    "a result before its call, on a line with another": in_a_row(
        START, CALL, results("r1", result("toolu_1", "one"), result("toolu_2", "early")), a("b1", ABOVE, "msg_2", call("toolu_2")), *END
    ),
    "blanks and thinking in a line": in_a_row(START, blocks("a1", "msg_1", text(" "), thinking()), u("u2", ABOVE, "stop"), *END),
    "thinking, blanks and words in a line": in_a_row(START, blocks("a1", "msg_1", thinking(), text(" "), text("so")), *MORE),
    "words and an empty text in a line": in_a_row(START, blocks("a1", "msg_1", text("one"), text("")), *MORE),
    "a blank text next to another": in_a_row(START, ONE, results("u2", text(" "), text("more")), *END),
    "an empty text alone": in_a_row(START, ONE, results("u2", text("")), *END),
    "content that is a number": in_a_row(START, ONE, u("u2", ABOVE, 5), *END),
    "content that is an object": in_a_row(START, ONE, u("u2", ABOVE, text("five")), *END),
    "an answer whose content is null": in_a_row(START, {**ONE, "message": {**ONE["message"], "content": None}}, *MORE),
    "a block that is text": in_a_row(START, ONE, u("u2", ABOVE, [text("more"), "words"]), *END),
    "a text without text": in_a_row(START, ONE, u("u2", ABOVE, [{"type": "text"}, text("more")]), *END),
    "a call without an id": in_a_row(START, blocks("a1", "msg_1", text("one"), {"type": "tool_use", "name": "Bash", "input": {}}), *MORE),
    "messages that a compaction keeps, from the first to the last": in_a_row(*OLD, kept({"preservedSegment": SEGMENT}), *NEW),
    "messages that a compaction keeps, in a list": in_a_row(
        *OLD, kept({"preservedMessages": {"anchorUuid": "s1", "uuids": ["u2", "b1"]}}), *NEW
    ),
    "messages that a compaction keeps, one of them nowhere": in_a_row(
        *OLD, kept({"preservedSegment": {**SEGMENT, "headUuid": "gone"}}), *NEW
    ),
    "a compaction after one that keeps messages": in_a_row(
        *OLD, kept({"preservedSegment": SEGMENT}), *NEW, boundary("k2", logicalParentUuid="d1"), SUMMARY | {"uuid": "s2"}, *END
    ),
    "left at a line in the middle": (*TALK, checkpoint("b1")),
    "left by hand at a line in the middle": (*TALK, checkpoint("b1", explicit=True)),
    "left by hand before the first message": (*TALK, checkpoint(None, explicit=True)),
    "left by hand, and gone on": (*TALK, checkpoint("b1", explicit=True), u("v1", "b1", "again", timestamp="2026-08-01T10:00:30.000Z")),
    "left on another branch": (*TALK, u("v1", "a1", "again", timestamp="2026-08-01T10:00:30.000Z"), checkpoint("b1")),
    "left at one of two parallel calls": (
        *in_a_row(START, CALL, {**SECOND, "parentUuid": "a2"}, {**r("r1", "a2", "toolu_1", "one")}, {**r("r2", "a3", "toolu_2", "two")}),
        checkpoint("r1"),
        u("v1", "r2", "on", timestamp="2026-08-01T10:00:30.000Z"),
    ),
    "a later line before an earlier one": in_a_row(START, ONE, u("u2", ABOVE, "two"), OTHER)[::-1],
    "the first line once more at the end": (*TALK, TALK[0]),
    "an answer without blocks": in_a_row(START, hollow("a1", "msg_1"), *MORE),
    "an answer without blocks on one of its lines": in_a_row(START, hollow("a1", "msg_1"), CALL, r("r1", ABOVE, "toolu_1"), *END),
    "an empty text that is all": in_a_row(START, ONE, u("u2", ABOVE, ""), *END),
    "a result of no call at the beginning": in_a_row(r("r1", ABOVE, "toolu_9", "orphan"), ONE, *MORE),
    "half a character": escaped(in_a_row(START, ONE, u("u2", ABOVE, "half \ud83d"), *END)),
    "an answer with the role of nobody": in_a_row(START, {**ONE, "message": {**ONE["message"], "role": "zzz"}}, *MORE),
    "words of the user with the role of an answer": in_a_row(
        START, ONE, {**MORE[0], "message": {"role": "assistant", "content": "more"}}, *END
    ),
    "a piece of an answer below another line": in_a_row(
        START, ONE, u("u2", ABOVE, "two"), {**SECOND, "uuid": "a4", "parentUuid": "u2"}, r("r2", ABOVE, "toolu_2", "two"), *END
    ),
    "a second result on another branch": in_a_row(
        START, CALL, r("r1", ABOVE, "toolu_1", "first"), r("r2", "a2", "toolu_1", "second"), *END
    ),
    "a result and words on another branch": in_a_row(
        START,
        CALL,
        {**SECOND, "parentUuid": "a2"},
        {**results("r1", result("toolu_1", "one"), text("and")), "parentUuid": "a2"},
        r("r2", "a3", "toolu_2", "two"),
        *END,
    ),
    "a parent that is nowhere, and two lines of one time": (
        *in_a_row(START, ONE)[:1],
        {**in_a_row(START, ONE)[1], "uuid": "x1", "timestamp": "2026-08-01T10:00:01.000Z"},
        u("v1", "gone", "on", timestamp="2026-08-01T10:00:02.000Z"),
    ),
    "a compaction that ends the session": in_a_row(START, *END, {**boundary("k1"), "parentUuid": ABOVE}),
    "a compaction that ends the session and names no parent": in_a_row(START, *END, boundary("k1", logicalParentUuid="b1")),
    "a parent that is nowhere, after a line of progress": in_a_row(
        START,
        ONE,
        line(
            "progress",
            "p1",
            ABOVE,
            None,
            data={"type": "bash_progress"},
            toolUseID="toolu_1",
            timestamp="2026-08-01T10:00:07.000Z",
            at=True,
        ),
        u("u2", "gone", "two", timestamp="2026-08-01T10:00:09.000Z", at=True),
    ),
    "a line without a uuid": (*TALK[:3], {**TALK[3], "uuid": None}, *TALK[4:]),
    "a last line whose uuid is a number": (*TALK[:-1], {**TALK[-1], "uuid": 7}),
    "another answer between two pieces": in_a_row(START, ONE, OTHER, CALL, r("r1", ABOVE, "toolu_1"), *MORE),
    "an answer with its call and result between two pieces": in_a_row(
        START, CALL, r("r1", ABOVE, "toolu_1"), OTHER, SECOND, r("r2", ABOVE, "toolu_2"), *MORE
    ),
    "words of the user between two pieces": in_a_row(START, ONE, u("u2", ABOVE, "go"), CALL, r("r1", ABOVE, "toolu_1"), *MORE),
    "words before the result in a line": in_a_row(START, CALL, results("r1", text("so"), result("toolu_1", "one")), *MORE),
    "words before the result in the last line": in_a_row(START, CALL, results("r1", text("so"), result("toolu_1", "one"))),
    "words before the result in a line, and a line after it": in_a_row(
        START, CALL, results("r1", text("so"), result("toolu_1", "one")), u("u2", ABOVE, "more"), *END
    ),
    "a call without a result before another at the end": in_a_row(
        START, CALL, a("b1", ABOVE, "msg_2", call("toolu_2")), r("r2", ABOVE, "toolu_2")
    ),
    "a call without a result before another and an answer": in_a_row(
        START, CALL, a("b1", ABOVE, "msg_2", call("toolu_2")), r("r2", ABOVE, "toolu_2"), a("c1", ABOVE, "msg_3", text("well"))
    ),
    "calls of two answers without a result": in_a_row(START, CALL, a("b1", ABOVE, "msg_2", call("toolu_2"))),
    "a call without a result, another, and a pending one": in_a_row(
        START, CALL, a("b1", ABOVE, "msg_2", call("toolu_2")), r("r2", ABOVE, "toolu_2"), a("c1", ABOVE, "msg_3", call("toolu_3"))
    ),
}
