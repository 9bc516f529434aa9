"""The plain text form of a conversation, one line a chunk: for cases, issues and diffs. `load(dump(c))` returns the same.

# comment
@counter 14                                          a fact of the store
@execution 1.0 a ls complete output={"n":3}          a run of the ledger: message and place of its call, id, tool, status; values are JSON
1 user 0.0 text hello
2 assistant 0.0 thinking "The user simply\\nsaid"      quoted as JSON where it needs to be
10 assistant 0.2 tool-call a run_shell {"command":"find ..."} step=t1#0
13 tool 2.0 tool-result a "" error=true              #! TOOL202 a finding expected here
14 assistant 3.0 thinking "Go on." signature=EqQ    what a provider signed
"""

import json
import re
from dataclasses import replace
from typing import Any

from inspector.conversation.model import Chunk, Conversation, Execution, Fact, Kind
from inspector.text import js_json
from inspector.text.jsontext import compact, parse

# What cannot be seen is quoted, so that its escape is: controls, direction marks, zero widths, lone surrogates.
_UNSEEN = r"\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff"
_PLAIN = re.compile(rf'[^\s"#=@{{\[{_UNSEEN}](?:[^"#={_UNSEEN}]*[^\s"#={_UNSEEN}])?')
_WORD = re.compile(rf'[^\s"#=@{_UNSEEN}]+')
_FIELD = re.compile(r"\s+([a-z_]+)=")
_DECODER = json.JSONDecoder()
_EXPECTED = re.compile(r"\s+#!\s*(.*)$")
# A string is passed over whole: what looks like a number in it is a word.
_SMALL = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|(?P<number>-?\d+(?:\.\d+)?e-\d+)')
# A body may write a lone text as a plain string, or as a list of one: `string=anthropic`, `list=openai-chat`.
_ENCODINGS = ("string", "list")
# The content of a result is a value of that wire, of which the words are the JSON: `json=ai-sdk`.
_VALUED = "json"
_OBJECTS = ("payload", "about")
_EXECUTION = "execution"
_DAMAGE = ("damage", "reason")
_OF_RUN = ("input", "output", "error", "started_at", "ended_at", *_DAMAGE, "uuid")
_TEXT_FIELD = {Kind.TEXT: "text", Kind.THINKING: "text", Kind.SYSTEM: "text", Kind.ERROR: "message", Kind.IMAGE: "url"}


class NotationError(ValueError):
    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"Line {line}: {reason}")


def dump_chunk(chunk: Chunk) -> str:
    index = f"{_show(chunk.msg_idx)}.{_show(chunk.chunk_idx)}" if chunk.msg_idx is not None or chunk.chunk_idx is not None else "-"
    plain_role = chunk.role != "-" and _WORD.fullmatch(chunk.role) is not None
    head = [str(chunk.seq), chunk.role if plain_role else "-", index, chunk.kind.value]
    # What an entry of a tree has next to its message comes after it: the words are what is looked for.
    about = chunk.payload.get("entry") if chunk.kind is not Kind.UNREADABLE else None
    simple = _simple(replace(chunk, payload={name: value for name, value in chunk.payload.items() if name != "entry"}) if about else chunk)
    if simple is None:
        tail = ["payload=" + _data(chunk.payload, chunk.raw)]
        if chunk.kind is Kind.UNREADABLE:
            raw = chunk.raw.decode("utf-8", "surrogateescape")
            tail = [
                _json(raw),
                f"damage={_word(chunk.damage)}",
                f"reason={_json(chunk.reason)}",
                *(tail if chunk.payload else []),
            ]
    else:
        tail = simple
    if simple is not None and about:
        tail.append(f"about={_data(about, chunk.raw)}")
    if chunk.role and not plain_role:
        tail.append(f"role={_json(chunk.role)}")
    if chunk.parent is not None:
        tail.append(f"parent={_word(chunk.parent)}")
    return " ".join(head + tail)


def dump(conversation: Conversation) -> str:
    lines = [
        # Quoted, a fact of that name is distinguished from a run.
        f"@{name} {_json(fact.value) if name == _EXECUTION else _value(fact.value)}"
        for name, fact in conversation.facts.items()
        if fact.value is not None and _WORD.fullmatch(name)
    ]
    lines += [dump_execution(run) for run in conversation.ledger]
    return "\n".join(lines + [dump_chunk(chunk) for chunk in conversation.chunks]) + "\n"


def dump_execution(run: Execution) -> str:
    """`-` stands for the place of a run that has none; values that are null are left out."""
    words = [f"@{_EXECUTION}", f"{run.message_idx}.{_show(run.ordinal)}", _word(run.call_id), _word(run.tool_name), _word(run.status)]
    values = ((name, getattr(run, name)) for name in _OF_RUN)
    return " ".join(
        words
        + [f"{name}={_json(value)}" for name, value in values if value is not None and (value != "" or name not in (*_DAMAGE, "uuid"))]
    )


def _show(index: int | None) -> str:
    return "-" if index is None else str(index)


def _value(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else _json(text)


def _word(text: str) -> str:
    return text if _WORD.fullmatch(text) else _json(text)


def _json(value: Any) -> str:
    """ASCII only; a ` #!` inside a string must not be taken for the marker of an expected finding."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).replace(" #!", " \\u0023!")


def _data(value: Any, raw: bytes) -> str:
    """Small numbers as JavaScript writes them, whose programs write most stores (0.00003, not 3e-05), unless `raw` has them in Python's way."""
    text = _json(value)
    if "e-" not in text:
        return text
    raw_numbers = {number_match["number"] for number_match in _SMALL.finditer(raw.decode("utf-8", "replace"))} if b"e-0" in raw else set()

    def as_javascript(match: re.Match[str]) -> str:
        number = match["number"]
        return match[0] if number is None or number in raw_numbers else js_json.number(float(number))

    return _SMALL.sub(as_javascript, text)


def _simple(chunk: Chunk) -> list[str] | None:
    """The tail of a chunk whose payload has nothing but the usual fields, in the usual order; None for any other."""
    tail: list[str]
    if chunk.kind in _TEXT_FIELD:
        tail = [_value(chunk.text)]
        for field, name in (("code", "code"), ("mimeType", "mime"), ("signature", "signature")):
            if isinstance(chunk.payload.get(field), str):
                tail.append(f"{name}={_word(chunk.payload[field])}")
    elif chunk.kind is Kind.TOOL_CALL and "input" in chunk.payload:
        try:
            tail = [
                _word(chunk.call_id),
                _word(chunk.tool_name),
                _data(chunk.payload["input"], chunk.raw),
            ]
        except ValueError:
            return None
    elif chunk.kind is Kind.TOOL_RESULT:
        tail = [_word(chunk.call_id), _value(chunk.text), f"name={_word(chunk.tool_name)}", *(["error=true"] if chunk.is_error else [])]
    else:
        return None
    if chunk.step_id is not None:
        tail.append(f"step={_word(chunk.step_id)}")
    tail += [f"{encoding}={_word(wire)}" for encoding in _ENCODINGS if (wire := _encoded_as(chunk, encoding))]
    if wire := _valued(chunk):
        tail.append(f"{_VALUED}={_word(wire)}")
    try:
        same = compact(_load_tail(chunk.kind, " ".join(tail), 0)[0]) == compact(dict(chunk.payload))
    except ValueError:
        return None
    return tail if same else None


def _encoded_as(chunk: Chunk, encoding: str) -> str:
    """The wire shape in whose body the content is encoded so, where the payload has nothing else next to it."""
    wire = chunk.payload.get("wire")
    return wire if isinstance(wire, str) and chunk.payload.get("extra") == {encoding: True} else ""


def _valued(chunk: Chunk) -> str:
    wire = chunk.payload.get("wire")
    return wire if isinstance(wire, str) and chunk.kind is Kind.TOOL_RESULT and "blocks" in chunk.payload else ""


def _value_of(content: str, is_error: bool) -> list[dict[str, Any]]:
    return [{"type": "error-json" if is_error else "json", "value": parse(content)}]


def _load_tail(kind: Kind, text: str, line: int) -> tuple[dict[str, Any], dict[str, str], str | None]:
    """Payload, leftover fields (damage, reason, parent) and, for an unreadable row, its raw text."""
    at = 0
    words: list[Any] = []
    word_count = {Kind.TOOL_CALL: 3, Kind.TOOL_RESULT: 2}.get(kind, 1)
    while len(words) < word_count and at < len(text) and not text.startswith("payload=", at):
        last_plain = kind is not Kind.TOOL_CALL and len(words) == word_count - 1
        value, at = _token(text, at, line, last_plain, as_json=kind is Kind.TOOL_CALL and len(words) == 2)
        words.append(value)
        while at < len(text) and text[at] == " ":
            at += 1
    fields: dict[str, Any] = {}
    rest = " " + text[at:]
    position = 0
    while match := _FIELD.match(rest, position):
        if rest[match.end() : match.end() + 1] in ('"', "{", "["):
            fields[match.group(1)], position = _token(rest, match.end(), line, plain=False, as_json=True)
        else:
            word = _WORD.match(rest, match.end())
            fields[match.group(1)] = rest[match.end() : word.end()] if word else ""
            position = word.end() if word else match.end()
    if rest[position:].strip():
        raise NotationError(line, f"cannot read {rest[position:].strip()[:40]!r}; quote the text as JSON")
    for name, value in fields.items():
        if not isinstance(value, dict if name in _OBJECTS else str):
            raise NotationError(line, f"{name}= takes {'an object' if name in _OBJECTS else 'a text'}")
    if kind is Kind.UNREADABLE:
        return fields.pop("payload", {}), fields, words[0] if words else ""
    if "payload" in fields:
        return fields.pop("payload"), fields, None
    if len(words) < word_count:
        raise NotationError(line, f"a {kind} chunk needs {word_count} values")
    payload: dict[str, Any] = {"type": kind.value}
    if kind in _TEXT_FIELD:
        payload[_TEXT_FIELD[kind]] = words[0]
    elif kind is Kind.TOOL_CALL:
        payload |= {"toolCallId": words[0], "toolName": words[1], "input": words[2]}
    elif kind is Kind.TOOL_RESULT:
        payload |= {
            "toolCallId": words[0],
            "toolName": fields.pop("name", ""),
            "content": words[1],
            "isError": fields.pop("error", "false") == "true",
        }
    for name, field in (("step", "stepId"), ("code", "code"), ("mime", "mimeType"), ("signature", "signature")):
        if name in fields:
            payload[field] = fields.pop(name)
    for encoding in _ENCODINGS:
        if encoding in fields:
            payload |= {"extra": {encoding: True}, "wire": fields.pop(encoding)}
    if _VALUED in fields and kind is Kind.TOOL_RESULT:
        try:
            payload |= {"blocks": _value_of(payload["content"], payload["isError"]), "wire": fields.pop(_VALUED)}
        except ValueError:
            raise NotationError(line, f"{_VALUED}= takes a result whose words are JSON") from None
    if "about" in fields:
        payload["entry"] = fields.pop("about")
    return payload, fields, None


def _token(text: str, at: int, line: int, plain: bool, as_json: bool) -> tuple[Any, int]:
    if as_json or text[at] == '"':
        try:
            return _DECODER.raw_decode(text, at)
        except ValueError as error:
            raise NotationError(line, f"not JSON where a value should be: {error}") from None
    if plain:
        field = _FIELD.search(text, at)
        end = field.start() if field else len(text)
        return text[at:end].rstrip(), end
    match = _WORD.match(text, at)
    if not match:
        raise NotationError(line, f"no word at {text[at : at + 20]!r}")
    return match.group(), match.end()


def load(text: str, native_id: str = "case", format_name: str = "dispatch") -> tuple[Conversation, list[tuple[int, str]]]:
    """The conversation, and the expected findings as (seq, code). Raises NotationError with the line."""
    chunks: list[Chunk] = []
    facts: dict[str, Fact] = {}
    ledger: list[Execution] = []
    expected: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        marker = _EXPECTED.search(line)
        body = (line[: marker.start()] if marker else line).strip()
        if body.startswith("@"):
            name, _, value = body[1:].partition(" ")
            if name == _EXECUTION and not value.startswith('"'):
                ledger.append(_load_execution(value.strip(), len(ledger) + 1, number))
                continue
            facts[name] = Fact(name, _token(value, 0, number, plain=False, as_json=True)[0] if value.startswith('"') else value)
        elif body and not body.startswith("#"):
            chunks.append(_load_chunk(body, number))
            for code in marker.group(1).split() if marker else []:
                if code.isupper() or code[-1:].isdigit():
                    expected.append((chunks[-1].seq, code))
    title = facts["title"].value or "" if "title" in facts else ""
    return Conversation(native_id, format_name, tuple(chunks), facts, title, ledger=tuple(ledger)), expected


def _load_execution(text: str, number: int, line: int) -> Execution:
    words: list[str] = []
    at = 0
    while len(words) < 4:
        if at >= len(text):
            raise NotationError(line, "a run needs: message.place call tool status")
        word, at = _token(text, at, line, plain=False, as_json=False)
        words.append(word)
        at += len(text[at:]) - len(text[at:].lstrip())
    index, _, place = words[0].partition(".")
    rest, position = " " + text[at:], 0
    fields: dict[str, Any] = {}
    while match := _FIELD.match(rest, position):
        if match.group(1) not in _OF_RUN:
            raise NotationError(line, f"a run has no {match.group(1)}: {', '.join(_OF_RUN)}")
        fields[match.group(1)], position = _token(rest, match.end(), line, plain=False, as_json=True)
    if rest[position:].strip():
        raise NotationError(line, f"cannot read {rest[position:].strip()[:40]!r}; write values of a run as JSON")
    try:
        ordinal = None if place in ("-", "") else int(place)
        return Execution(f"{_EXECUTION}:{number:06}", int(index), words[1], words[2], words[3], ordinal, **fields)
    except ValueError as error:
        raise NotationError(line, str(error)) from None


def _load_chunk(body: str, line: int) -> Chunk:
    parts = body.split(" ", 4)
    if len(parts) < 4:
        raise NotationError(line, "a chunk needs: seq role msgIdx.chunkIdx kind")
    seq, role, index, kind_name = parts[:4]
    try:
        kind = Kind(kind_name)
        seq_number = int(seq)
        first, _, second = ("-", "", "-") if index == "-" else index.partition(".")
        msg_idx, chunk_idx = (None if value == "-" else int(value) for value in (first, second))
    except ValueError as error:
        raise NotationError(line, str(error)) from None
    payload, fields, raw = _load_tail(kind, parts[4].strip() if len(parts) > 4 else "", line)
    return Chunk(
        f"{seq_number}",
        seq_number,
        fields.get("role", "" if role == "-" else role),
        kind,
        payload,
        msg_idx,
        chunk_idx,
        raw=(raw or "").encode("utf-8", "surrogateescape") if raw is not None else b"",
        damage=fields.get("damage", ""),
        reason=fields.get("reason", ""),
        parent=fields.get("parent"),
    )
