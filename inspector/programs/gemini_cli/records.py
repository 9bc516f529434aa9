"""A chat of Gemini CLI as its loader replays it: which records of the file are live, which are not any more, and which lines it never reads.

Read off `loadConversationRecord` of 0.61.0, and run: a record replaces an earlier one of its id in its place, `$set` with `messages` replaces the whole list,
`$rewindTo` drops the record of that id and all after it, and everything where no live record has that id. A line that does not parse is skipped without a word;
a CR alone ends a line too, and a byte order mark is part of the first. A chat with nothing that a resume keeps is not listed.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from inspector.text import json_lines, jsontext
from inspector.text.json_lines import BLANK, BOM, NOT_JSON, NOT_UTF8, RecordPart, RecordStart, SessionLine
from inspector.text.jsontext import Unreadable

MARK = "repairedBy"
"""A member of the `$set` that a repair appends, which no version reads: what it leaves out was left out by its approval."""
IGNORED = ("/", "?", "<session_context>", "<hook_context>")
"""How a text of the user begins that no resume sends: a command, and what the program said itself."""
REWOUND, REPLACED, LOST, EMPTIED = "rewound", "replaced", "lost", "emptied"
"""Why a record is not live: rewound by its user, left out of a `$set`, cleared by a `$rewindTo` that names no live record, or by a `$set` that left nothing to resume."""
HEADLESS = "no line that can be read names sessionId and projectHash: Gemini CLI does not list the chat and cannot resume it"
MARKED = (
    "a byte order mark hides its first line, which names sessionId and projectHash: Gemini CLI does not list the chat and cannot resume it"
)
EMPTY = "it has no message that a resume keeps: Gemini CLI does not list the chat and cannot resume it"
_NOT_TEXT = (
    "videoMetadata",
    "thought",
    "codeExecutionResult",
    "executableCode",
    "fileData",
    "functionCall",
    "functionResponse",
    "inlineData",
)
_LONE_CR = re.compile(rb"\r(?!\n)")

_START = RecordStart(
    re.compile(r'\{"(?:id|sessionId|\$set|\$rewindTo)"'), lambda value: bool({"id", "sessionId", "$set", "$rewindTo"} & value.keys())
)


@dataclass(slots=True)
class ChatRecord:
    """One message record in its last version. `line` is where its id came up first, counted from 0; -1 where a repair added it. `why` is "" of a live one."""

    value: dict[str, Any]
    line: int
    why: str = ""
    ended: int = -1
    """The line after which it was not live any more."""
    lost_calls: tuple[str, ...] = ()
    """Names of calls that an earlier version of it has and the last one lacks."""
    is_hole: bool = False
    """A `$set` left it out although it has records from before and after it: no rewind and no compression leaves such a hole."""


@dataclass(slots=True)
class Chat:
    """`live` in the order of the loader, `ended` are the records that are not live any more, by their last line; `unread` the lines that are skipped."""

    metadata: dict[str, Any] = field(default_factory=dict)
    live: dict[str, ChatRecord] = field(default_factory=dict)
    ended: dict[str, ChatRecord] = field(default_factory=dict)
    unread: list[SessionLine] = field(default_factory=list)
    bad_rewinds: list[int] = field(default_factory=list)
    """Lines with a `$rewindTo` that named no live record, and cleared something."""
    legacy: bool = False
    """One JSON object with all messages, as versions before 0.40 wrote it."""
    problem: str = ""
    """Why the program does not load the file."""

    def ordered(self) -> Iterator[ChatRecord | SessionLine]:
        """All that is shown: live records in their order, each after what is not read any more and came before it in the file."""
        waiting: list[tuple[int, ChatRecord | SessionLine]] = [(record.line, record) for record in self.ended.values()]
        waiting += [(line.index, line) for line in self.unread]
        waiting.sort(key=lambda item: item[0], reverse=True)
        for record in self.live.values():
            while waiting and waiting[-1][0] < record.line:
                yield waiting.pop()[1]
            yield record
        while waiting:
            yield waiting.pop()[1]


def replay(data: bytes) -> Chat:
    """The chat of a file. Nothing raises."""
    chat = _legacy(data) or _of_lines(data)
    if not chat.metadata.get("sessionId") or not (chat.legacy or chat.metadata.get("projectHash")):
        chat.problem = MARKED if data.startswith(BOM) else HEADLESS
    elif not any(is_resumed(record.value) for record in chat.live.values()):
        chat.problem = EMPTY
        _mark_emptied(chat)
    return chat


def _of_lines(data: bytes) -> Chat:
    chat = Chat()
    first_lines: dict[str, int] = {}
    for line in json_lines.lines(_LONE_CR.sub(b"\n", data), _START):
        if line.states == (BLANK,):
            continue
        if line.raw.startswith(BOM) and not line.states:
            # Of a first line that names the chat, the problem of the chat is told.
            if "id" in (line.parts[0].value or {}):
                reason = "a byte order mark comes before it, which is no JSON to Gemini CLI"
                chat.unread.append(replace(line, parts=(RecordPart(None, 0, NOT_JSON, reason),), states=(NOT_JSON,)))
        elif not line.states or line.states == (NOT_UTF8,):
            _take(chat, line.parts[0].value or {}, line.index, first_lines)
        else:
            chat.unread.append(line)
    _mark_holes(chat)
    return chat


def _legacy(data: bytes) -> Chat | None:
    """The chat of a file that is one object; None where it is none, or has lines of records."""
    head = data.lstrip()[:1]
    if head != b"{" or b'"messages"' not in data:
        return None
    try:
        value = jsontext.parse(jsontext.decode(data.strip()))
    except Unreadable:
        return None
    if not isinstance(value, dict) or "sessionId" not in value or not isinstance(value.get("messages"), list):
        return None
    chat = Chat({name: item for name, item in value.items() if name != "messages"}, legacy=True)
    _replace_list(chat, value["messages"], 0, {}, marked=False)
    return chat


def _take(chat: Chat, value: dict[str, Any], line: int, first_lines: dict[str, int]) -> None:
    target = value.get("$rewindTo")
    if isinstance(target, str):
        _rewind(chat, target, line)
    elif isinstance(value.get("id"), str):
        _put(chat, value, line, first_lines)
    elif isinstance(value.get("$set"), dict):
        changes = value["$set"]
        if isinstance(changes.get("messages"), list):
            _replace_list(chat, changes["messages"], line, first_lines, marked=MARK in changes)
        chat.metadata |= {name: item for name, item in changes.items() if name not in ("messages", MARK)}
    elif isinstance(value.get("sessionId"), str) and isinstance(value.get("projectHash"), str):
        if isinstance(value.get("messages"), list):
            _replace_list(chat, value["messages"], line, first_lines, marked=False, keeps=True)
        chat.metadata |= {name: item for name, item in value.items() if name != "messages"}


def _rewind(chat: Chat, target: str, line: int) -> None:
    ids = list(chat.live)
    known = target in chat.live
    dropped = ids[ids.index(target) :] if known else ids
    if dropped and not known:
        chat.bad_rewinds.append(line)
    for id_ in dropped:
        _end(chat, id_, REWOUND if known else LOST, line)


def _put(chat: Chat, value: dict[str, Any], line: int, first_lines: dict[str, int]) -> None:
    id_ = value["id"]
    first_lines.setdefault(id_, line)
    before = chat.live.get(id_)
    if before is not None:
        missing = call_names(before.value)
        for call in call_names(value):
            missing.pop(call, None)
        before.lost_calls = tuple(missing.values())
        before.value = value
        return
    chat.ended.pop(id_, None)
    chat.live[id_] = ChatRecord(value, first_lines[id_])


def _replace_list(chat: Chat, messages: list[Any], line: int, first_lines: dict[str, int], marked: bool, keeps: bool = False) -> None:
    before = {} if keeps else chat.live
    if not keeps:
        chat.live = {}
    for message in messages:
        if isinstance(message, dict) and isinstance(message.get("id"), str):
            id_ = message["id"]
            first_lines.setdefault(id_, -1 if marked else line)
            chat.ended.pop(id_, None)
            chat.live[id_] = ChatRecord(message, first_lines[id_])
    for id_, record in before.items():
        if id_ not in chat.live and not marked:
            record.why, record.ended = REPLACED, line
            chat.ended[id_] = record


def _end(chat: Chat, id_: str, why: str, line: int) -> None:
    record = chat.live.pop(id_)
    record.why, record.ended = why, line
    chat.ended[id_] = record


def _mark_holes(chat: Chat) -> None:
    lines = sorted(record.line for record in chat.live.values() if record.line >= 0 and is_resumed(record.value))
    for record in chat.ended.values():
        if record.why == REPLACED and is_resumed(record.value):
            before, after = bisect_left(lines, record.line), bisect_right(lines, record.line)
            record.is_hole = before > 0 and after < len(lines) and lines[after] < record.ended


def _mark_emptied(chat: Chat) -> None:
    """What the last `$set` took out, where nothing that is resumed came after it."""
    replaced = [record for record in chat.ended.values() if record.why == REPLACED and is_resumed(record.value)]
    last = max((record.ended for record in replaced), default=-1)
    for record in chat.ended.values():
        if record.why == REPLACED and record.ended == last:
            record.why, record.is_hole = EMPTIED, False


def is_resumed(value: Mapping[str, Any]) -> bool:
    """Whether a chat is listed for the record: not what is for people, what is taken for a command, and an answer without anything."""
    text = shown_text(value.get("content")).strip()
    if value.get("type") == "gemini":
        return bool(text or value.get("toolCalls") or value.get("thoughts"))
    return value.get("type") == "user" and bool(text) and not text.startswith(IGNORED)


def shown_text(content: Any) -> str:
    """The text by which the program decides: what is no text has a name between brackets there."""
    if isinstance(content, list):
        return "".join(map(shown_text, content))
    if isinstance(content, dict):
        text = "[part]" if any(name in content for name in _NOT_TEXT) else content.get("text")
        return text if isinstance(text, str) else ""
    return content if isinstance(content, str) else ""


def call_names(value: Mapping[str, Any]) -> dict[str, str]:
    """Id -> name of the calls of a record, in `toolCalls` and in its content."""
    listed = value.get("toolCalls")
    calls = [call for call in listed if isinstance(call, dict)] if isinstance(listed, list) else []
    content = value.get("content")
    parts = content if isinstance(content, list) else []
    calls += [part["functionCall"] for part in parts if isinstance(part, dict) and isinstance(part.get("functionCall"), dict)]
    return {call["id"]: str(call.get("name")) for call in calls if isinstance(call.get("id"), str)}
