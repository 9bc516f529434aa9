"""Rollout files of Codex in the shape of real ones: a record a line, compact, as Codex writes them."""

import json
from typing import Any

ID = "01a2044a-2d3f-7773-9880-5fe1d4b5757a"
OTHER = "01a2044a-2d3f-7773-9880-5fe1d4b57599"
NAME = f"rollout-2026-11-22T17-24-59-{ID}.jsonl"
Item = dict[str, Any]
RecordParts = tuple[str, Item]


def meta(**more: Any) -> RecordParts:
    known = {"id": ID, "timestamp": "2026-11-22T17:24:59.858Z", "cwd": "/repo", "originator": "codex_exec", "cli_version": "0.146.0"}
    return "session_meta", {**known, "source": "exec", "model_provider": "local", **more}


def item(payload: Item) -> RecordParts:
    return "response_item", payload


def event(kind: str, **more: Any) -> RecordParts:
    return "event_msg", {"type": kind, **more}


def said(role: str, *texts: str, **more: Any) -> Item:
    part = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": part, "text": text} for text in texts], **more}


def user(text: str, **more: Any) -> RecordParts:
    return item(said("user", text, **more))


def assistant(text: str, **more: Any) -> RecordParts:
    return item(said("assistant", text, **more))


def call(id_: str, name: str = "shell", arguments: str = "{}", **more: Any) -> RecordParts:
    return item({"type": "function_call", "name": name, "arguments": arguments, "call_id": id_, **more})


def output(id_: str, text: Any = "done", **more: Any) -> RecordParts:
    return item({"type": "function_call_output", "call_id": id_, "output": text, **more})


def custom(id_: str, text: str = "*** Begin Patch", **more: Any) -> RecordParts:
    return item({"type": "custom_tool_call", "name": "apply_patch", "input": text, "call_id": id_, **more})


def custom_output(id_: str, text: str = "Success.", **more: Any) -> RecordParts:
    return item({"type": "custom_tool_call_output", "call_id": id_, "output": text, **more})


def reasoning(id_: str = "rs_1", **more: Any) -> RecordParts:
    return item({"type": "reasoning", "id": id_, "summary": [], "encrypted_content": "e", **more})


def compacted(message: str = "what happened", *history: Item, **more: Any) -> RecordParts:
    return "compacted", {"message": message, **({"replacement_history": list(history)} if history else {}), **more}


def rolled_back(turns: int) -> RecordParts:
    return event("thread_rolled_back", num_turns=turns)


def started(turn: str) -> RecordParts:
    return event("task_started", turn_id=turn, model_context_window=1000)


def turn_context(turn: str) -> RecordParts:
    known = {"cwd": "/repo", "approval_policy": "never", "sandbox_policy": {"type": "read-only"}, "model": "m", "summary": "auto"}
    return "turn_context", {**known, "turn_id": turn}


def talk(turn: str, *before: RecordParts) -> tuple[RecordParts, ...]:
    """A turn as Codex writes it, with a prompt and an answer after what comes before them."""
    number = turn[1:]
    ended = event("task_complete", turn_id=turn, last_agent_message=f"a{number}")
    return started(turn), *before, user(f"q{number}"), event("user_message", message=f"q{number}"), assistant(f"a{number}"), ended


def line(number: int, record: RecordParts, ordinal: int | None = None) -> bytes:
    count = {} if ordinal is None else {"ordinal": ordinal}
    value = {"timestamp": f"2026-11-22T17:24:59.{number:03}Z", **count, "type": record[0], "payload": record[1]}
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def thread(*records: RecordParts, **of_meta: Any) -> bytes:
    return b"".join(line(number, record) for number, record in enumerate([meta(**of_meta), *records]))


def paginated(*records: RecordParts, **of_meta: Any) -> bytes:
    every = [meta(history_mode="paginated", **of_meta), *records]
    return b"".join(line(number, record, number) for number, record in enumerate(every))


CONTEXT = "<environment_context>\n  <cwd>/elsewhere</cwd>\n</environment_context>"
TURNS = (
    *(user("q1"), event("user_message", message="q1"), call("c1"), output("c1"), assistant("a1"), event("agent_message", message="a1")),
    *(user("q2"), event("user_message", message="q2"), assistant("a2")),
)
WHOLE = thread(*TURNS)
LINES = WHOLE.splitlines(keepends=True)
PAGINATED = paginated(*TURNS)


def with_line(number: int, change: Any) -> bytes:
    """The whole thread with one line, without its end, changed."""
    return b"".join(change(text[:-1]) + b"\n" if at == number else text for at, text in enumerate(LINES))


def with_record(number: int, **members: Any) -> bytes:
    """The paginated thread with members of one record set; None takes one away."""
    texts = PAGINATED.splitlines()
    value = {name: of for name, of in {**json.loads(texts[number]), **members}.items() if of is not None}
    texts[number] = json.dumps(value, separators=(",", ":")).encode()
    return b"\n".join(texts) + b"\n"


SUMMARY = compacted("s", said("user", "q1"), said("user", "s1"))
COMPACTED: dict[str, tuple[RecordParts, ...]] = {
    "in a turn of its own": (*talk("t1"), started("t2"), SUMMARY, *talk("t3"), rolled_back(1), *talk("t4")),
    "in a turn of its own, no other start": (*talk("t1"), SUMMARY, user("q3"), assistant("a3"), rolled_back(1), *talk("t4")),
    "in the turn before": (*talk("t1"), started("t2"), user("q2"), SUMMARY, assistant("a2"), *talk("t3"), rolled_back(1), *talk("t4")),
    "in the same turn": (*talk("t1"), *talk("t3", SUMMARY), rolled_back(1), *talk("t4")),
    "in the same turn, of two prompts": (*talk("t1"), *talk("t3", SUMMARY), user("q5"), rolled_back(1), *talk("t4")),
    "and twice": (*talk("t1"), started("t2"), SUMMARY, *talk("t3"), rolled_back(1), *talk("t4"), rolled_back(1), *talk("t5")),
    "with the turn before": (*talk("t1"), started("t2"), SUMMARY, *talk("t3"), rolled_back(2), *talk("t4")),
    "without words of the user's": (*talk("t1"), *talk("t2"), started("t3"), SUMMARY, rolled_back(1), *talk("t4")),
    "with the second of two": (
        *(*talk("t1"), started("t2"), SUMMARY, *talk("t3"), *talk("t5", compacted("s", said("user", "s2"))), rolled_back(1), *talk("t4")),
    ),
    "no starts, the second of two": (
        *(user("q1"), SUMMARY, user("q2"), compacted("s", said("user", "s2")), user("q3"), rolled_back(1), user("q4")),
    ),
    "no starts, a summary alone": (user("q1"), assistant("a1"), compacted("s1"), user("q2"), rolled_back(1), user("q3")),
    "a start without id": (*talk("t1"), SUMMARY, event("task_started"), user("q2"), rolled_back(1), user("q3")),
    "the context of another turn": (
        *(*talk("t1"), started("t2"), SUMMARY, started("t3"), user("q3"), turn_context("t9"), assistant("a3"), rolled_back(1), *talk("t4")),
    ),
}
"""Compactions before a rollback: what is taken back goes by the turns, as the records that start them mark them."""

_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PARTS: dict[str, Item] = {
    "image": {"type": "input_image", "image_url": f"data:image/png;base64,{_PIXEL}"},
    "image in detail": {"type": "input_image", "image_url": f"data:image/png;base64,{_PIXEL}", "detail": "high"},
    "image in little detail": {"type": "input_image", "image_url": f"data:image/png;base64,{_PIXEL}", "detail": "low"},
    "image in another detail": {"type": "input_image", "image_url": f"data:image/png;base64,{_PIXEL}", "detail": "fine"},
    "image of the web": {"type": "input_image", "image_url": "https://example.com/a.png"},
    "image of a path": {"type": "input_image", "image_url": "/srv/a.png"},
    "image of other bytes": {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
    "image that is not base64": {"type": "input_image", "image_url": "data:image/png;base64,@@"},
    "image by its id": {"type": "input_image", "file_id": "file_1"},
    "file": {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="},
    "audio": {"type": "input_audio", "input_audio": {"data": "x", "format": "wav"}},
    "encrypted": {"type": "encrypted_content", "encrypted_content": "e"},
    "encrypted number": {"type": "encrypted_content", "encrypted_content": 5},
}
"""Parts of a message and of an output."""

ITEMS: dict[str, Item] = {
    "content missing": {"type": "message", "role": "user"},
    "content a string": {"type": "message", "role": "user", "content": "text"},
    "content empty": {"type": "message", "role": "user", "content": []},
    "role missing": {"type": "message", "content": [{"type": "input_text", "text": "x"}]},
    "part without text": {"type": "message", "role": "user", "content": [{"type": "input_text"}]},
    "part of another wire": {"type": "message", "role": "user", "content": [{"type": "text", "text": "x"}]},
    "image without address": {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": None}]},
    "id a number": {"type": "message", "id": 5, "role": "user", "content": []},
    "arguments missing": {"type": "function_call", "name": "n", "call_id": "c2"},
    "arguments an object": {"type": "function_call", "name": "n", "call_id": "c2", "arguments": {}},
    "arguments cut off": {"type": "function_call", "name": "n", "call_id": "c2", "arguments": '{"a":'},
    "call id missing": {"type": "function_call", "name": "n", "arguments": "{}"},
    "output an object": {"type": "function_call_output", "call_id": "c0", "output": {"content": "hi", "success": True}},
    "output of no call": {"type": "function_call_output", "output": "x"},
    "output of a call of null": {"type": "function_call_output", "call_id": None, "output": "x"},
    "output of a call of a number": {"type": "function_call_output", "call_id": 5, "output": "x"},
    "output of a call without name": {"type": "function_call_output", "call_id": "", "output": "x"},
    "search for tools with a number": {"type": "tool_search_call", "call_id": 5, "execution": "client", "arguments": {"query": "x"}},
    "shell with a number": {"type": "local_shell_call", "call_id": 5, "status": "completed", "action": {"type": "exec", "command": ["ls"]}},
    "custom output of no call": {"type": "custom_tool_call_output", "output": "x"},
    "output missing": {"type": "function_call_output", "call_id": "c0"},
    "output a list": {"type": "function_call_output", "call_id": "c0", "output": [{"type": "input_text", "text": "x"}]},
    "input missing": {"type": "custom_tool_call", "name": "n", "call_id": "c2"},
    "shell without id": {"type": "local_shell_call", "status": "completed", "action": {"type": "exec", "command": ["ls"]}},
    "shell without output": {
        **{"type": "local_shell_call", "call_id": "c2", "status": "completed"},
        "action": {"type": "exec", "command": ["ls"]},
    },
    "summary missing": {"type": "reasoning", "id": "rs_1", "encrypted_content": "e"},
    "reasoning with content": {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "x"}]},
    "web search": {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "x"}},
    "search for tools": {
        **{"type": "tool_search_call", "call_id": "c2", "status": "completed"},
        **{"execution": "client", "arguments": {"query": "x"}},
    },
    "words of an agent": {
        "type": "agent_message",
        "author": "/root",
        "recipient": "/root/x",
        "content": [{"type": "input_text", "text": "x"}],
    },
    **{f"part: {name}": {"type": "message", "role": "user", "content": [part]} for name, part in PARTS.items()},
    **{f"output of a part: {name}": {"type": "function_call_output", "call_id": "c0", "output": [part]} for name, part in PARTS.items()},
    "reasoning with text": {"type": "reasoning", "summary": [], "content": [{"type": "text", "text": "x"}], "encrypted_content": "e"},
    "reasoning with both": {
        **{"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}]},
        "content": [{"type": "text", "text": "x"}, {"type": "reasoning_text", "text": "y"}],
    },
    "reasoning of another shape": {"type": "reasoning", "summary": [], "content": [{"type": "thought", "text": "x"}]},
    "reasoning with content of null": {"type": "reasoning", "summary": [], "content": None, "encrypted_content": "e"},
    "content of reasoning a string": {"type": "reasoning", "summary": [], "content": "x", "encrypted_content": "e"},
    "summary of another shape": {"type": "reasoning", "summary": [{"type": "text", "text": "x"}], "encrypted_content": "e"},
    "encrypted content a number": {"type": "reasoning", "summary": [], "encrypted_content": 5},
    "web search that opens a page": {"type": "web_search_call", "action": {"type": "open_page", "url": "u"}},
    "web search of several": {"type": "web_search_call", "status": None, "action": {"type": "search", "queries": ["x", "y"]}},
    "web search without action": {"type": "web_search_call"},
    "web search of tomorrow": {"type": "web_search_call", "action": {"type": "listen", "to": 5}},
    "web search for a number": {"type": "web_search_call", "action": {"type": "search", "query": 5}},
    "web search for numbers": {"type": "web_search_call", "action": {"type": "search", "queries": [5]}},
    "web search without type": {"type": "web_search_call", "action": {"query": "x"}},
    "status of a search a number": {"type": "web_search_call", "status": 5},
    "no type": {"role": "user", "content": [{"type": "input_text", "text": "x"}]},
    "a type of tomorrow": {"type": "telepathy", "x": 1},
    "snapshot": {"type": "ghost_snapshot", "ghost_commit": {"id": "x"}},
    "system": said("system", "x"),
    "developer": said("developer", "x"),
}
"""Items of which some are not parsed, and so not sent; each is tried between a call and an answer."""

THREADS: dict[str, bytes] = {
    "whole": WHOLE,
    "last line torn": WHOLE[:-30],
    "last line without end": WHOLE[:-1],
    "line torn": with_line(4, lambda text: text[:40]),
    "lines spliced": b"".join([*LINES[:3], LINES[3][:-1], *LINES[4:]]),
    "torn line spliced": b"".join([*LINES[:3], LINES[3][:50], *LINES[4:]]),
    "not UTF-8": with_line(5, lambda text: text.replace(b"a1", b"a\xff1")),
    "NUL bytes": b"".join([*LINES[:5], b"\0" * 50, b"\n", *LINES[5:]]),
    "half a character": with_line(5, lambda text: text.replace(b"a1", b"a\\ud83d1")),
    "no session_meta": b"".join(LINES[1:]),
    "session_meta second": b"".join([LINES[1], LINES[0], *LINES[2:]]),
    "session_meta torn": with_line(0, lambda text: text[:60]),
    "session_meta without cwd": thread(*TURNS, cwd=None),
    "id no UUID": thread(*TURNS, id="thread-1"),
    "mode unknown": thread(*TURNS, history_mode="strange"),
    "byte order mark": b"\xef\xbb\xbf" + WHOLE,
    "CR LF": WHOLE.replace(b"\n", b"\r\n"),
    "blank lines first": b"\n\n" + WHOLE,
    "no timestamp": with_line(5, lambda text: b"{" + text.partition(b",")[2]),
    "another type of record": with_line(5, lambda text: text.replace(b"response_item", b"surprise")),
    "output of a shell": thread(user("q1"), item({**ITEMS["shell without output"], "call_id": "c1"}), output("c1"), assistant("a1")),
    "call without output": thread(user("q1"), call("c1"), assistant("a1")),
    "custom call without output": thread(user("q1"), custom("c1"), assistant("a1")),
    "outputs without call": thread(user("q1"), output("cX"), custom_output("cY"), assistant("a1")),
    "two outputs": thread(user("q1"), call("c1"), output("c1", "first"), output("c1", "second"), assistant("a1")),
    "one id twice": thread(user("q1"), call("c1"), output("c1", "first"), call("c1"), output("c1", "second"), assistant("a1")),
    "output late": thread(user("q1"), call("c1"), assistant("a1"), output("c1"), user("q2")),
    "output first": thread(user("q1"), output("c1"), call("c1"), assistant("a1")),
    "replaced history": thread(
        user("q1"), assistant("a1"), compacted("s", said("user", "kept"), said("user", "s")), user("q2"), assistant("a2")
    ),
    "output after a compaction": thread(user("q1"), call("c1"), compacted("s", said("user", "kept")), output("c1"), assistant("a2")),
    "empty replacement": thread(user("q1"), assistant("a1"), compacted("s", replacement_history=[]), user("q2")),
    "summary alone": thread(user("q1"), assistant("a1"), compacted("s"), user("q2"), assistant("a2")),
    "two summaries": thread(
        *(item(said("developer", "dev")), user(CONTEXT), user("q0"), call("c1"), output("c1"), assistant("a0"), user("q1")),
        *(compacted("s"), user("q2"), compacted("s2"), user("q3")),
    ),
    "compaction without message": thread(user("q1"), ("compacted", {"summary": "s"}), user("q2")),
    "replacement with a damaged item": thread(
        user("q1"), compacted("s", said("user", "kept"), {"type": "message", "role": "user"}), user("q2")
    ),
    "replacement no list": thread(user("q1"), compacted("s", replacement_history="kept"), user("q2")),
    "rolled back": thread(user("q1"), assistant("a1"), user("q2"), assistant("a2"), rolled_back(1), user("q3"), assistant("a3")),
    "rolled back twice": thread(*(user("q0"), user("q1"), rolled_back(1), user("q2"), rolled_back(1), user("q3"))),
    "rolled back too far": thread(item(said("developer", "dev")), user(CONTEXT), user("q1"), user("q2"), rolled_back(5), user("q3")),
    "rolled back with its context": thread(user("q1"), assistant("a1"), user(CONTEXT), user("q2"), rolled_back(1), user("q3")),
    "developer's words stay": thread(user("q1"), item(said("developer", "plain")), user("q2"), rolled_back(1), user("q3")),
    "compaction rolled back": thread(
        *(user("q1"), assistant("a1"), user("q2"), compacted("s", said("user", "kept")), assistant("a2"), rolled_back(1), user("q3")),
    ),
    "rolled back over a compaction": thread(
        *(user("q0"), assistant("a0"), compacted("s", said("user", "k1"), said("user", "k2")), user("q1"), rolled_back(2), user("q3")),
    ),
    **{f"rolled back, compacted {name}": thread(*records) for name, records in COMPACTED.items()},
    "fork": b"".join(line(0, meta(**more)) for more in ({"forked_from_id": OTHER}, {"id": OTHER})) + b"".join(LINES[1:]),
    "paginated": PAGINATED,
    "ordinal missing at the end": with_record(9, ordinal=None),
    "ordinal missing": with_record(4, ordinal=None),
    "ordinal reused": with_record(5, ordinal=4),
    "ordinals with a gap": with_record(9, ordinal=15),
    "paginated, last line torn": PAGINATED[:-30],
    "paginated, replaced history": paginated(user("q1"), compacted("s", said("user", "kept"), window_number=1), user("q2")),
    "paginated, rolled back": paginated(user("q1"), user("q2"), rolled_back(1), user("q3")),
    "paginated, session_meta again at the end": paginated(user("q1"), assistant("a1"), meta(history_mode="paginated")),
    "paginated, session_meta again": paginated(user("q1"), call("c1"), meta(history_mode="paginated"), output("c1"), user("q2")),
    "paginated, another session_meta": paginated(user("q1"), assistant("a1"), meta(id=OTHER), user("q2")),
    "paginated, another session_meta first": paginated(meta(id=OTHER), user("q1"), assistant("a1"), user("q2")),
    "paginated, session_meta without cwd again": paginated(user("q1"), assistant("a1"), meta(cwd=None), user("q2")),
    "session_meta again": thread(user("q1"), assistant("a1"), meta(history_mode="paginated"), user("q2")),
    **{f"item: {name}": thread(user("q1"), call("c0"), item(value), assistant("a1")) for name, value in ITEMS.items()},
}
