"""Tool calls that stand in a text: found by their openers, read by their dialect's parser, and judged whether they were made or only mentioned."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from inspector.streams.dialects.base import Sort, Tools, skip
from inspector.streams.dialects.catalogue import BY_ID
from inspector.streams.leaked_scan import LINE, Region, Spelled, no_sentence, region_at, spelled_calls, thinking

Confidence = Literal["high", "medium", "low"]


@dataclass(frozen=True, slots=True)
class Where:
    """Where a text stands in its message.

    `part`: reasoning that the provider gave apart, or content. `closed`: that reasoning was ended by its own mark. `after`: what came after the text. `finish` is the
    finish reason as sent ("" where none is known); `structured` the structured calls of the same message, name and arguments.
    """

    part: Literal["content", "thinking"] = "content"
    closed: bool = False
    after: Literal["unknown", "nothing", "answer"] = "unknown"
    finish: str = ""
    structured: tuple[tuple[str, Mapping[str, Any] | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """A call as spelled in `text[start:end]`. `arguments` is None where they could not be read exactly; `argument_text` is what stands there.

    `confidence` high and medium may be rebuilt, low is only shown. `reasons` are sentences. `guessed` names parameters whose type the text does not tell: they are kept as text.
    """

    dialect: str
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


def found_calls(text: str, tools: Tools, inside: Where) -> tuple[Found, ...]:
    """All calls and mentions of calls in `text`, in order, at most MOST_FOUND. `tools`: see there; takes time linear in the text."""
    spelled = spelled_calls(text, tools)
    regions = thinking(text, [each.call for each in spelled if each.call.closed]) if spelled else []
    ends = {each.start: each.call.end for each in spelled}
    return tuple(_judged(text, each, regions, ends, tools, inside) for each in spelled)


_STOPS = ("stop", "end_turn", "STOP", "completed")


def _judged(text: str, spelled: Spelled, regions: list[Region], ends: Mapping[int, int], tools: Tools, inside: Where) -> Found:
    call, dialect = spelled.call, spelled.dialect
    region = region_at(regions, call.start)
    if region is None and inside.part == "thinking" and not any(other.end <= call.start and other.closed for other in regions):
        region = Region(0, len(text), inside.closed)
    is_call, placed = _placed(text, spelled, region, ends, inside)
    reasons = [placed]
    is_known = tools is not None and call.name in tools
    if call.guessed:
        reasons.append(f"The text does not say of what type {', '.join(call.guessed)[:200]} is: kept as text, which is a guess.")
    if call.trouble:
        reasons.append(call.trouble)
    elif not call.closed:
        reasons.append(
            "It is cut off: its closing mark is missing." if call.arguments is not None else "It is cut off, and its arguments with it."
        )
    needs_name = call.weak or dialect.sort is Sort.LOOSE
    if not call.name:
        reasons.append("It does not spell the name of a tool.")
    elif is_known:
        reasons.append(f"The request declared a tool {call.name}.")
    elif tools is not None:
        reasons.append(f"The request declared no tool {call.name[:128]}.")
        is_call = is_call and not needs_name
    elif needs_name:
        reasons.append("Ordinary text looks like this form, and no list of declared tools is known that would tell.")
        is_call = False
    else:
        reasons.append("No list of declared tools is known: the name could not be checked.")
    is_exact = call.closed and call.arguments is not None and bool(call.name) and not spelled.fenced
    followed = inside.part == "thinking" and is_call and bool(text[spelled.last :].strip()) and not _only_calls(text, spelled.last, ends)
    confidence: Confidence = "low"
    if is_call and is_exact and (is_known or tools is None) and not followed:
        confidence = "high" if dialect.sort is Sort.TOKENS and is_known and not call.weak else "medium"
    return Found(
        dialect.id,
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


def _placed(text: str, spelled: Spelled, region: Region | None, ends: Mapping[int, int], inside: Where) -> tuple[bool, str]:
    """Whether the place says that it was made, and why, in one sentence."""
    call, dialect = spelled.call, spelled.dialect
    if spelled.fenced:
        return False, "It stands in a code fence: quoted, not made."
    if spelled.quoted:
        return False, "It stands in quotation marks or as code in a line: quoted, not made."
    same = [arguments for name, arguments in inside.structured if name == call.name]
    if any(call.arguments is None or arguments is None or arguments == call.arguments for arguments in same):
        return False, "The message holds the same call as a structured one: this text is a draft of it."
    if call.trouble and not call.closed and not (spelled.alone and no_sentence(text, call.end)):
        return False, "Only its opening stands here, within other words: mentioned, not made."
    is_last = not text[spelled.last : region.end if region else len(text)].strip() or _only_calls(text, spelled.last, ends)
    if region is not None:
        return _in_reasoning(text, spelled, region, is_last, inside)
    if spelled.alone:
        return True, "It stands in the content, with nothing before it in its line."
    is_marked = dialect.sort is Sort.TOKENS or dialect.id == "D36"
    ends_line = not text[spelled.last : spelled.last + LINE].partition("\n")[0].strip()
    if is_marked and (call.closed or is_last):
        return True, "It stands in the content after other words, in marks that no prose holds."
    if call.closed and ends_line and inside.part == "content" and dialect.sort is not Sort.LOOSE:
        return True, "It stands in the content after other words, whole, and ends its line."
    return False, "Other words stand beside it in its line: mentioned, not made."


def _in_reasoning(text: str, spelled: Spelled, region: Region, is_last: bool, inside: Where) -> tuple[bool, str]:
    after = text[region.end :].strip() if region.end < len(text) else ""
    is_apart = spelled.alone or (is_last and spelled.call.closed and spelled.dialect.sort is not Sort.LOOSE)
    is_empty = not after and inside.after == "nothing" and inside.finish in _STOPS and not inside.structured
    if is_empty and is_apart:
        return True, "It stands in reasoning that was followed by an empty answer and a normal finish: very likely the call that was meant."
    if inside.structured:
        return False, "It stands in reasoning, and structured calls came beside it: a thought about them."
    if region.closed or inside.after == "answer":
        return False, "It stands in reasoning that was closed before the answer: a thought, not a call."
    if not is_apart:
        return False, "It stands in reasoning, with other words beside it in its line: mentioned, not made."
    if is_last:
        return True, "It stands at the end of reasoning that was never closed: servers take it for the end of the reasoning, and a call."
    return False, "It stands in reasoning that goes on after it: a thought, not a call."


def calls_in(text: str, tools: Tools, inside: Where) -> Iterator[Found]:
    """Those that were made, as far as the text tells."""
    return (found for found in found_calls(text, tools, inside) if found.is_call)


@dataclass(frozen=True, slots=True)
class Part:
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


def where_of(parts: Sequence[Part], number: int, finish: str) -> Where:
    """Where the text of one part is located in its answer. `finish`: the finish reason, or `stop` where the turn was taken for finished."""
    part, later = parts[number], [each for each in parts[number + 1 :] if not each.is_blank]
    return Where(
        part="thinking" if part.kind == "thinking" else "content",
        closed=part.kind == "thinking" and (bool(later) or part.is_signed),
        after="answer" if any(each.kind == "content" for each in later) else "nothing",
        finish=finish,
        structured=tuple((each.name, each.arguments) for each in parts if each.kind == "call"),
    )


def leaked(parts: Sequence[Part], tools: Tools, finish: str) -> Iterator[tuple[int, Found]]:
    """The calls that an answer made as text and that no structured call follows, each with the number of its part.

    The one decision for captured streams (STREAM125, STREAM126) and stored turns (THINK301).
    """
    last = max((number for number, part in enumerate(parts) if part.kind == "call"), default=-1)
    for number, part in enumerate(parts):
        if number > last and part.kind in ("thinking", "content"):
            made = [
                each for each in calls_in(part.text, tools, where_of(parts, number, finish)) if each.closed or each.dialect != _TOOL_TAGS
            ]
            starts = [*(each.start for each in made), len(part.text)][1:]
            has_words = any(part.text[each.end : start].strip() for each, start in zip(made, starts, strict=True))
            is_last = not has_words and all(each.is_blank for each in parts[number + 1 :])
            yield from ((number, each) for each in made if is_last or _is_no_example(each, tools, part))


def _is_no_example(found: Found, tools: Tools, part: Part) -> bool:
    """Whether a call with words after it is none that an answer only shows: in content, that of a tool that is not declared may be."""
    return part.kind == "thinking" or BY_ID[found.dialect].sort is Sort.TOKENS or tools is None or not found.name or found.name in tools


_TOOL_TAGS = "D35"
"""Its opening tag alone, which the end cut off, is as well the beginning of a document in tags."""
