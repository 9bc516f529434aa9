"""Tool calls in a text: detected by their openers, read by their syntax's parser, and judged whether they are calls or only mentioned."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from inspector.streams.call_syntax.base import Sort, Tools, skip
from inspector.streams.call_syntax.catalogue import BY_ID
from inspector.streams.leaked_scan import LINE, Region, ScannedCall, no_sentence, region_at, scanned_calls, thinking

Confidence = Literal["high", "medium", "low"]


@dataclass(frozen=True, slots=True)
class Where:
    """Where a text is in its message.

    `part`: reasoning that the provider gave apart, or content. `closed`: that reasoning was ended by its own mark. `after`: what came after the text. `finish` is the
    finish reason as sent ("" where none is known); `structured` the structured calls of the same message, name and arguments.
    """

    part: Literal["content", "thinking"] = "content"
    closed: bool = False
    after: Literal["unknown", "nothing", "answer"] = "unknown"
    finish: str = ""
    structured: tuple[tuple[str, Mapping[str, Any] | None], ...] = ()


@dataclass(frozen=True, slots=True)
class TextCall:
    """A call as written in `text[start:end]`. `arguments` is None where they could not be read exactly; `argument_text` is their text.

    `confidence` high and medium may be rebuilt, low is only shown. `reasons` are sentences. `guessed` names parameters whose type the text does not give: they are kept as text.
    """

    syntax: str
    start: int
    end: int
    name: str
    arguments: dict[str, Any] | None
    argument_text: str
    call_id: str
    closed: bool
    confidence: Confidence
    is_call: bool
    reasons: tuple[str, ...]
    guessed: tuple[str, ...] = ()


def text_calls(text: str, tools: Tools, place: Where) -> tuple[TextCall, ...]:
    """All calls and mentions of calls in `text`, in order, at most MOST_IN_TEXT. `tools`: see there; takes time linear in the text."""
    scanned = scanned_calls(text, tools)
    regions = thinking(text, [call.call for call in scanned if call.call.closed]) if scanned else []
    ends = {call.start: call.call.end for call in scanned}
    return tuple(_judged(text, call, regions, ends, tools, place) for call in scanned)


_STOPS = ("stop", "end_turn", "STOP", "completed")


def _judged(text: str, scanned: ScannedCall, regions: list[Region], ends: Mapping[int, int], tools: Tools, place: Where) -> TextCall:
    call, syntax = scanned.call, scanned.syntax
    region = region_at(regions, call.start)
    if region is None and place.part == "thinking" and not any(other.end <= call.start and other.closed for other in regions):
        region = Region(0, len(text), place.closed)
    is_call, placed = _placed(text, scanned, region, ends, place)
    reasons = [placed]
    is_known = tools is not None and call.name in tools
    if call.guessed:
        reasons.append(f"The text does not say of what type {', '.join(call.guessed)[:200]} is: kept as text, which is a guess.")
    if call.problem:
        reasons.append(call.problem)
    elif not call.closed:
        reasons.append(
            "It is cut off: its closing mark is missing." if call.arguments is not None else "It is cut off, and its arguments with it."
        )
    needs_name = call.weak or syntax.sort is Sort.LOOSE
    if not call.name:
        reasons.append("It does not contain the name of a tool.")
    elif is_known:
        reasons.append(f"The request declared a tool {call.name}.")
    elif tools is not None:
        reasons.append(f"The request declared no tool {call.name[:128]}.")
        is_call = is_call and not needs_name
    elif needs_name:
        reasons.append("Ordinary text looks like this form, and no list of declared tools is known that would decide.")
        is_call = False
    else:
        reasons.append("No list of declared tools is known: the name could not be checked.")
    is_exact = call.closed and call.arguments is not None and bool(call.name) and not scanned.fenced
    followed = place.part == "thinking" and is_call and bool(text[scanned.last :].strip()) and not _only_calls(text, scanned.last, ends)
    confidence: Confidence = "low"
    if is_call and is_exact and (is_known or tools is None) and not followed:
        confidence = "high" if syntax.sort is Sort.TOKENS and is_known and not call.weak else "medium"
    return TextCall(
        syntax.id,
        call.start,
        call.end,
        call.name,
        call.arguments,
        call.argument_text,
        call.call_id,
        call.closed,
        confidence,
        is_call,
        tuple(reasons),
        call.guessed,
    )


def _only_calls(text: str, at: int, ends: Mapping[int, int]) -> bool:
    """Whether nothing but calls follows `at`."""
    at = skip(text, at)
    while at in ends and ends[at] > at:
        at = skip(text, ends[at])
    return at >= len(text)


def _placed(text: str, scanned: ScannedCall, region: Region | None, ends: Mapping[int, int], place: Where) -> tuple[bool, str]:
    """Whether the place says that it was made, and why, in one sentence."""
    call, syntax = scanned.call, scanned.syntax
    if scanned.fenced:
        return False, "It is in a code fence: quoted, not made."
    if scanned.quoted:
        return False, "It is in quotation marks or written as code in a line: quoted, not made."
    same = [arguments for name, arguments in place.structured if name == call.name]
    if any(call.arguments is None or arguments is None or arguments == call.arguments for arguments in same):
        return False, "The message holds the same call as a structured one: this text is a draft of it."
    if call.problem and not call.closed and not (scanned.alone and no_sentence(text, call.end)):
        return False, "Only its opening is here, within other words: mentioned, not made."
    is_last = not text[scanned.last : region.end if region else len(text)].strip() or _only_calls(text, scanned.last, ends)
    if region is not None:
        return _in_reasoning(text, scanned, region, is_last, place)
    if scanned.alone:
        return True, "It is in the content, with nothing before it in its line."
    is_marked = syntax.sort is Sort.TOKENS or syntax.id == "D36"
    ends_line = not text[scanned.last : scanned.last + LINE].partition("\n")[0].strip()
    if is_marked and (call.closed or is_last):
        return True, "It is in the content after other words, in marks that no prose holds."
    if call.closed and ends_line and place.part == "content" and syntax.sort is not Sort.LOOSE:
        return True, "It is in the content after other words, whole, and ends its line."
    return False, "Other words are next to it in its line: mentioned, not made."


def _in_reasoning(text: str, scanned: ScannedCall, region: Region, is_last: bool, place: Where) -> tuple[bool, str]:
    after = text[region.end :].strip() if region.end < len(text) else ""
    is_apart = scanned.alone or (is_last and scanned.call.closed and scanned.syntax.sort is not Sort.LOOSE)
    is_empty = not after and place.after == "nothing" and place.finish in _STOPS and not place.structured
    if is_empty and is_apart:
        return True, "It is in reasoning that was followed by an empty answer and a normal finish: very likely the intended call."
    if place.structured:
        return False, "It is in reasoning, and structured calls came with it: a thought about them."
    if region.closed or place.after == "answer":
        return False, "It is in reasoning that was closed before the answer: a thought, not a call."
    if not is_apart:
        return False, "It is in reasoning, with other words next to it in its line: mentioned, not made."
    if is_last:
        return True, "It is at the end of reasoning that was never closed: servers take it for the end of the reasoning, and a call."
    return False, "It is in reasoning that goes on after it: a thought, not a call."


def calls_in(text: str, tools: Tools, place: Where) -> Iterator[TextCall]:
    """Those that were made, as far as the text shows."""
    return (call for call in text_calls(text, tools, place) if call.is_call)


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """One block of an answer, captured or stored. `kind`: `other` is content that is none of these. `is_signed`: reasoning that was ended by its signature.

    A call has `name` and `arguments`, which are None where they are no object.
    """

    kind: Literal["thinking", "content", "call", "other"]
    text: str = ""
    is_signed: bool = False
    name: str = ""
    arguments: Mapping[str, Any] | None = None

    @property
    def is_blank(self) -> bool:
        """It says nothing: Qwen's and GLM's servers send "\\n\\n" or "" after reasoning that held the whole answer."""
        return self.kind in ("thinking", "content") and not self.text.strip()


def where_of(parts: Sequence[AnswerPart], number: int, finish: str) -> Where:
    """Where the text of one part is located in its answer. `finish`: the finish reason, or `stop` where the turn was taken for finished."""
    part, later = parts[number], [later_part for later_part in parts[number + 1 :] if not later_part.is_blank]
    return Where(
        part="thinking" if part.kind == "thinking" else "content",
        closed=part.kind == "thinking" and (bool(later) or part.is_signed),
        after="answer" if any(later_part.kind == "content" for later_part in later) else "nothing",
        finish=finish,
        structured=tuple((later_part.name, later_part.arguments) for later_part in parts if later_part.kind == "call"),
    )


def leaked(parts: Sequence[AnswerPart], tools: Tools, finish: str) -> Iterator[tuple[int, TextCall]]:
    """The calls that an answer made as text and that no structured call follows, each with the number of its part.

    The one decision for captured streams (STREAM125, STREAM126) and stored turns (THINK301).
    """
    last = max((number for number, part in enumerate(parts) if part.kind == "call"), default=-1)
    for number, part in enumerate(parts):
        if number > last and part.kind in ("thinking", "content"):
            calls = [
                call for call in calls_in(part.text, tools, where_of(parts, number, finish)) if call.closed or call.syntax != _TOOL_TAGS
            ]
            starts = [*(call.start for call in calls), len(part.text)][1:]
            has_words = any(part.text[call.end : start].strip() for call, start in zip(calls, starts, strict=True))
            is_last = not has_words and all(part.is_blank for part in parts[number + 1 :])
            yield from ((number, call) for call in calls if is_last or _is_no_example(call, tools, part))


def _is_no_example(call: TextCall, tools: Tools, part: AnswerPart) -> bool:
    """Whether a call with words after it is none that an answer only shows: in content, that of a tool that is not declared may be."""
    return part.kind == "thinking" or BY_ID[call.syntax].sort is Sort.TOKENS or tools is None or not call.name or call.name in tools


_TOOL_TAGS = "D35"
"""Its opening tag alone, which the end cut off, is as well the beginning of a document in tags."""
