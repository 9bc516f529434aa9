"""Outcomes of calls that no message has the result of: kept as `toolUseResult` next to the message of a line, or in another file of the session."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inspector.conversation.model import Chunk, Kind, Span, kept_raw
from inspector.conversation.tree import about_of
from inspector.programs.claude_code.around import OUTCOMES, FileOutcome, outcomes_in
from inspector.rules.base import Case, answered, cached_per_case
from inspector.rules.synthetic_texts import is_placeholder, results_by_author
from inspector.text import jsontext
from inspector.wires.shapes.base import joined

_ERROR = "Error: "
_MEMBER = b'"toolUseResult"'


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of `call`, by `line`, a line of the session, or by `file`, another file. `placeholder`: the synthetic result that is in its place."""

    call: Chunk
    text: str
    is_error: bool
    batch_end: str
    placeholder: Chunk | None = None
    line: Chunk | None = None
    file: FileOutcome | None = None

    @property
    def is_certain(self) -> bool:
        """Not of an agent whose file does not say that it had ended."""
        return self.file is None or self.file.is_ended


@cached_per_case
def stored_outcomes(case: Case) -> tuple[Outcome, ...]:
    """Of calls without a real result, in their order: those of which exactly one outcome is in the file."""
    real = {result.call_id for result, author in results_by_author(case) if not author}
    open_calls = [answer for answer in answered(case) if answer.call.call_id not in real and len(answer.results) < 2]
    if not open_calls:
        return ()
    by_id: dict[str, list[tuple[Chunk, Any, Chunk | None]]] = {}
    by_line: dict[str, list[str]] = {}
    for answer in open_calls:
        by_line.setdefault(str(about_of(answer.call).get("id")), []).append(answer.call.call_id)
        by_id[answer.call.call_id] = []
    seen: set[int | None] = set()
    callers: dict[str, Chunk] = {}
    for chunk in (case.tree or case.conversation).chunks:
        if chunk.kind is Kind.TOOL_CALL:
            callers[chunk.call_id] = chunk
        if chunk.role not in ("user", "tool") or chunk.msg_idx in seen:
            continue
        seen.add(chunk.msg_idx)
        id_ = _call_of(chunk, by_id, by_line)
        if id_ and ("toolUseResult" in about_of(chunk) or _has_member(chunk)) and (value := _value(chunk)) is not None:
            by_id[id_].append((chunk, value, callers.get(id_)))
    in_files: dict[str, list[FileOutcome]] = {}
    for one in outcomes_in((case.tree or case.conversation).fact(OUTCOMES)):
        in_files.setdefault(one.call_id, []).append(one)
    named = Counter(answer.call.call_id for answer in open_calls)
    outcomes = []
    for answer in open_calls:
        placeholder = answer.results[0] if answer.results else None
        files = in_files.get(answer.call.call_id, [])
        texts = [(chunk, _text(value)) for chunk, value, caller in by_id[answer.call.call_id] if _is_of(answer.call, caller)]
        # An error is kept with a word before it that its message does not have.
        errors = {chunk.key for chunk, text in texts if text.startswith(_ERROR)}
        plain = {text.removeprefix(_ERROR): chunk for chunk, text in texts}
        values = {text: chunk for text, chunk in plain.items() if text.strip() and not is_placeholder(text)}
        if len(values) == 1:
            ((text, line),) = values.items()
            outcomes.append(Outcome(answer.call, text, line.key in errors, answer.batch_end, placeholder, line=line))
        elif not values and named[answer.call.call_id] == len(files) == 1:
            outcomes.append(Outcome(answer.call, files[0].text, False, answer.batch_end, placeholder, file=files[0]))
    return tuple(outcomes)


def _is_of(call: Chunk, caller: Chunk | None) -> bool:
    """Whether an outcome is of the call, by the last call of its id before it: an earlier one, from before a compaction, has its own. A line may come
    before its call in the file, and a line that is there twice is the same call."""
    return caller is None or (caller.tool_name, caller.payload.get("input"), caller.at) == (
        call.tool_name,
        call.payload.get("input"),
        call.at,
    )


def _has_member(chunk: Chunk) -> bool:
    raw = kept_raw(chunk)
    return raw.data.find(_MEMBER, raw.start, raw.stop) >= 0 if isinstance(raw, Span) else _MEMBER in raw


def _call_of(chunk: Chunk, by_id: Mapping[str, object], by_line: Mapping[str, list[str]]) -> str:
    """By the result that the line has, else by the ids that it names; a line of several calls names none of them."""
    entry = about_of(chunk)
    if chunk.kind is Kind.TOOL_RESULT:
        return chunk.call_id if chunk.call_id in by_id else ""
    own = entry.get("sourceToolUseID")
    if isinstance(own, str) and own in by_id:
        return own
    ids = by_line.get(str(entry.get("sourceToolAssistantUUID")), [])
    return ids[0] if len(ids) == 1 else ""


def _value(chunk: Chunk) -> Any:
    """Of a line as it is stored: what a reader keeps of it leaves the member out, which may be large."""
    if "toolUseResult" in about_of(chunk):
        return about_of(chunk)["toolUseResult"]
    try:
        value = jsontext.parse(jsontext.decode(bytes(chunk.raw)))
    except jsontext.Unreadable:
        return None
    return value.get("toolUseResult") if isinstance(value, dict) else None


def _text(value: Any) -> str:
    """What a tool said, in the shapes that its results have; "" where the shape is another one."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return joined(value)
    if not isinstance(value, dict):
        return ""
    if isinstance(file := value.get("file"), dict) and isinstance(file.get("content"), str):
        return str(file["content"])
    if "stdout" in value or "stderr" in value:
        return "\n".join(part for name in ("stdout", "stderr") if isinstance(part := value.get(name), str) and part)
    content = value.get("content")
    return content if isinstance(content, str) else joined(content) if isinstance(content, list) else ""
