"""The notation of a whole case: a conversation, and lines for what is next to it (archive, legacy messages, metrics, trace).

archive 1 user 0.0 text hello                        a row of what it was compacted from, in the notation
legacy 0 {"role":"user","chunks":[...]}            a whole-message row of the older generation, as stored
bleeding C1                                          another id whose rows a listing returns with ours
metrics turn-1782600000000-a 2                       a metrics row: the turn took two steps
step turn-1782600000000-a#0 tokens=900/20            an observed step; also: unclosed, unopened, finish=stop, at=MS
prompt turn-1782600000000-a#0 1 user 0.0 text go     a row of the prompt that this step was given, in the notation

`@format NAME` says of which format the conversation is; outside of Dispatch that format's own reader reads it, and of several
versions that which `@reader NAME` names. Runs of a ledger are in the notation itself (`@execution`). Instead of chunks in
the notation a session that is a file of lines may be given as its files hold it, with `@format rollouts` or another program of that kind:

line {"role":"user","content":"go"}                  a line of the file (of rollouts: of messages.jsonl), byte for byte
session {"status":"pending"}                         members of session.json that differ from those of a clean one; null takes one away

A session that is a tree (`@format pi`, `openclaw`) is given in the notation, and its reader takes its path. A chunk line may then say
`entry=ID`, `parent=ID` and `about={...}` (what the entry keeps next to the message); `-` means none. Where it does not, the entry is `eN` by
its line and the child of the one before it. A line that is no message has an index without a block: `4 - 4.- control about={"type":"label"}`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from inspector.conversation import notation, queries
from inspector.conversation.model import Chunk, Conversation, Kind, TurnMetrics
from inspector.programs.catalogue import format_named
from inspector.programs.registry import program_or_default, programs
from inspector.readers.catalogue import names
from inspector.rules.base import Case, case_of
from inspector.text import jsontext
from inspector.traces.model import Trace, TraceRecord
from inspector.traces.tree import build
from inspector.traces.witness import turn_of, turn_time

LINE_KINDS = ("archive", "legacy", "bleeding", "metrics", "step", "prompt", "line", "session")
_OF_ENTRY = re.compile(r" (entry|parent)=(\S+)")
_ROLES = {"tool": "toolResult"}
STEP_MS = 1000
"""Steps of a turn start this far apart, the first one a millisecond after the turn."""


def split_lines(text: str) -> tuple[str, dict[str, list[str]]]:
    """The lines of the conversation, and those of each other kind without the word that names the kind."""
    lines_of: dict[str, list[str]] = {name: [] for name in LINE_KINDS}
    own: list[str] = []
    for line in text.split("\n"):
        word, _, text_of_line = line.partition(" ")
        lines_of.get(word, own).append(text_of_line if word in lines_of else line)
    return "\n".join(own), lines_of


def load_case(text: str, reader_name: str, taken_at: int | None = None) -> Case:
    """Raises NotationError, UnknownReader."""
    own, lines_of = split_lines(text)
    program = next((candidate for candidate in programs() for of in candidate.formats if f"@format {of.name}" in own.split("\n")), None)
    conversation = tree_in(own) if program and program.numbering.by_place else notation.load(own)[0]
    facts = dict(conversation.facts)
    named_format, named_reader = facts.pop("format", None), facts.pop("reader", None)
    format_name = (named_format.value if named_format else None) or conversation.format
    whole = replace(conversation, facts=facts, format=format_name, metrics=metrics_in(lines_of["metrics"]))
    program = program_or_default(format_name)
    whole = replace(whole, legacy=tuple(program.notation.legacy(lines_of["legacy"])))
    if lines_of["line"] or lines_of["session"]:
        if program.notation.session_of is None:
            raise notation.NotationError(1, f"the format {format_name} has no lines: name one that has with @format")
        session_of = program.notation.session_of
        whole = session_of(lines_of["line"], lines_of["session"], whole)
    archive = archive_in(lines_of["archive"], whole.format)
    # Of a program with several versions: the one that the case names.
    chosen_reader = (named_reader.value if named_reader else None) or reader_name
    offered = names(whole.format)
    chosen_reader = chosen_reader if chosen_reader in offered or not offered else format_named(whole.format).default_reader
    return case_of(whole, chosen_reader, trace_in(lines_of), taken_at, archive, tuple(lines_of["bleeding"]))


def tree_in(text: str) -> Conversation:
    """The whole tree of the notation; chunks of one line are one entry. Raises NotationError."""
    lines, entry_words = [], []
    for line in text.split("\n"):
        body, _, about = line.partition(" about=")
        if body and not body.startswith(("@", "#")):
            entry_words.append((dict(_OF_ENTRY.findall(body)), jsontext.parse(about) if about else {}))
            body = _OF_ENTRY.sub("", body)
            body += ' payload={"type":"control"}' if body.endswith(" control") else ""
        lines.append(body)
    conversation, _ = notation.load("\n".join(lines))
    return replace(conversation, chunks=tuple(_entries(conversation.chunks, entry_words)))


def _entries(chunks: Iterable[Chunk], entry_words: Iterable[tuple[dict[str, str], Mapping[str, Any]]]) -> Iterator[Chunk]:
    counts: dict[str, int] = {}
    entry: dict[str, Any] = {}
    key, line, before = "", None, None
    for chunk, (words, about) in zip(chunks, entry_words, strict=True):
        if chunk.kind is Kind.UNREADABLE and not words and not about:
            yield replace(chunk, key=f"line:{chunk.msg_idx}.0")
            continue
        # Records that share a line are distinguished by their ids.
        if line is None or chunk.msg_idx != line or words.get("entry", entry.get("id")) != entry.get("id"):
            line, id_ = chunk.msg_idx, words.get("entry", f"e{chunk.msg_idx}")
            parent = words.get("parent", before or "-")
            entry = {"type": "message", "timestamp": None, "parentId": None if parent == "-" else parent}
            entry |= {"role": _ROLES.get(chunk.role, chunk.role)} if chunk.role else {}
            entry |= {**({} if id_ == "-" else {"id": id_}), **about}
            key = id_ if id_ != "-" else f"line:{line}"
            counts[key] = counts.get(key, 0) + 1
            key += f"#{counts[key]}" if counts[key] > 1 else ""
            before = entry.get("id", before)
        yield replace(chunk, key=f"{key}.{chunk.chunk_idx or 0}", payload={**chunk.payload, "entry": entry}, parent=entry["parentId"])


def archive_in(lines: Iterable[str], format_name: str) -> Conversation | None:
    text = "\n".join(lines)
    return notation.load(text, native_id="archive", format_name=format_name)[0] if text else None


def metrics_in(lines: Iterable[str]) -> tuple[TurnMetrics, ...]:
    rows = [line.split() for line in lines]
    return tuple(TurnMetrics(f"metrics-{turn}", turn, tuple(f"{turn}#{at}" for at in range(int(count)))) for turn, count in rows)


def trace_in(lines_of: Mapping[str, Iterable[str]], native_id: str = "case") -> Trace | None:
    """The trace of the `step` and `prompt` lines; None where there are none. Turns last from their first step to their last."""
    steps = [line.split() for line in lines_of["step"]]
    if not steps:
        return None
    prompts: dict[str, list[str]] = {}
    for line in lines_of["prompt"]:
        step, _, row = line.partition(" ")
        prompts.setdefault(step, []).append(row)
    bodies = {step: _body(rows) for step, rows in prompts.items()}
    records: list[TraceRecord] = []
    turns: dict[str, list[int]] = {}
    for step, *words in steps:
        turn, index = turn_of(step)
        options = dict(word.partition("=")[::2] for word in words)
        start = int(options.get("at", (turn_time(turn) or 0) + 1 + (index or 0) * STEP_MS))
        turns.setdefault(turn, []).append(start)
        records += _records(step, turn, start, options, step if step in bodies else None, native_id)
    for turn, starts in turns.items():
        records += _span(turn, "turn", turn, "", starts[0] - 1, starts[-1] + STEP_MS, native_id)
    return build(native_id, records, bodies.get)


def _body(rows: Iterable[str]) -> bytes:
    messages = queries.true_messages(notation.load("\n".join(rows))[0].chunks)
    values = [{"role": message.role, "chunks": [dict(chunk.payload) for chunk in message.chunks]} for message in messages]
    return jsontext.encode(jsontext.compact({"messages": values, "tools": []}))


def _records(step: str, turn: str, start: int, options: Mapping[str, str], body: str | None, native_id: str) -> list[TraceRecord]:
    input_tokens, _, output_tokens = options.get("tokens", "0/0").partition("/")
    closing = {
        "finishReason": options.get("finish", "tool_calls"),
        "usage.inputTokens": int(input_tokens),
        "usage.outputTokens": int(output_tokens or 0),
    }
    opened, closed = _span(step, "step", turn, turn, start, start + STEP_MS - 1, native_id)
    records = [opened] * ("unopened" not in options) + [replace(closed, attributes=closing)] * ("unclosed" not in options)
    if body is not None:
        inner, done = _span(f"{step} prompt", "prompt", turn, step, start, start, native_id)
        records += [replace(inner, body=body), done]
    return records


def _span(span: str, name: str, turn: str, parent: str, start: int, end: int, native_id: str) -> list[TraceRecord]:
    opened = TraceRecord(f"{span} open", "span-open", start, 0, "session-orchestrator", name, "", "", span, parent, native_id, turn)
    return [opened, replace(opened, id=f"{span} close", kind="span-close", timestamp=end, order=1, duration_ms=end - start, status="ok")]
