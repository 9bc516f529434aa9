"""Where calls are written in a text, and what is around them: a look for openers, then the parser of the syntax."""

import re
from collections import deque
from dataclasses import dataclass
from functools import lru_cache

from inspector.streams.call_syntax.base import Call, CallSyntax, Sort, Tools, skip
from inspector.streams.call_syntax.catalogue import BY_ID, CALL_SYNTAXES

MOST_OPENERS = 1000
"""Openers of one text that a parser looks at: each look may go through the rest of the text."""
MOST_IN_TEXT = 200
_MOST_TOOLS = 2000
LINE = 2000
"""Characters of a line that are looked at."""


@dataclass(slots=True)
class ScannedCall:
    """`last`: where the group ends that it belongs to. `alone`: nothing but blanks (or a closing think mark) is before it in its line."""

    syntax: CallSyntax
    call: Call
    start: int
    fenced: bool
    quoted: bool
    alone: bool
    last: int


_OPENERS: dict[str, list[CallSyntax]] = {}
for _syntax in CALL_SYNTAXES:
    for _opener in _syntax.openers:
        _OPENERS.setdefault(_opener, []).append(_syntax)
# `<tool_calls` is tried before `<tool_call`, which it begins with. Openers that begin as words do would be tried at every such word:
# they are only looked for in texts that hold one of them.
_BY_LENGTH = sorted(_OPENERS, key=len, reverse=True)
_WORDS = tuple(opener for opener in _BY_LENGTH if opener[0].isalpha())
_MARKS, _NO_WORDS = (
    "|".join(re.escape(opener) for opener in openers) for openers in (_BY_LENGTH, [opener for opener in _BY_LENGTH if opener not in _WORDS])
)
_FENCE = re.compile(r"```|^[ \t]{0,8}~~~", re.MULTILINE)
_QUOTES = "`\"'“‘«„"
_CLOSED_THINKING = re.compile(r"\s*</(?:think|thinking|mm:think|ifm\|think)>|\s*\[/THINK\]|\s*◁/think▷")


@lru_cache(maxsize=32)
def _marks(names: frozenset[str], has_words: bool) -> re.Pattern[str]:
    marks = _MARKS if has_words else _NO_WORDS
    own = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True) if re.fullmatch(r"[A-Za-z_][\w.-]*", name))
    return re.compile(f"{marks}|<(?P<tool>{own})(?=[\\s/>])" if own else marks)


def scanned_calls(text: str, tools: Tools) -> list[ScannedCall]:
    """All that a syntax's parser takes for a call or its beginning, in order and apart from each other, at most MOST_IN_TEXT."""
    scanned = _as_whole(text, tools)
    if scanned:
        return scanned
    names = frozenset(tools) if tools is not None and len(tools) <= _MOST_TOOLS else frozenset[str]()
    marks, at, openers, is_fenced, fenced_up_to = _marks(names, any(word in text for word in _WORDS)), 0, 0, False, 0
    while openers < MOST_OPENERS and len(scanned) < MOST_IN_TEXT and (mark := marks.search(text, at)):
        start, at = mark.start(), mark.end()
        is_tag = mark.lastgroup == "tool"
        if is_tag and not _is_outside_document(text, start, scanned):
            continue
        openers += 1
        # Fences within a call are part of it: only those outside are counted.
        is_fenced ^= sum(1 for _ in _FENCE.finditer(text, fenced_up_to, start)) % 2 == 1
        fenced_up_to = start
        is_alone, is_quoted = _placement(text, start, scanned)
        syntaxes = [BY_ID["D35"]] if is_tag else _OPENERS[mark[0]]
        syntax, calls = next(((syntax, calls) for syntax in syntaxes if (calls := syntax.parser(text, start, tools))), (syntaxes[0], ()))
        if is_tag and calls and calls[-1].closed and _goes_on_as_document(text, calls[-1].end, names):
            continue
        if not calls and syntax.sort is not Sort.LOOSE and is_alone and not (is_fenced or is_quoted) and no_sentence(text, at):
            calls = (_damaged(text, mark),)
        scanned += [ScannedCall(syntax, call, call.start, is_fenced, is_quoted, is_alone, last=calls[-1].end) for call in calls]
        at = max(at, calls[-1].end) if calls else at
        fenced_up_to = max(fenced_up_to, calls[-1].end) if calls and calls[-1].closed else fenced_up_to
    return scanned[:MOST_IN_TEXT]


def _placement(text: str, start: int, scanned: list[ScannedCall]) -> tuple[bool, bool]:
    """Whether nothing is before `start` in its line, and whether it is quoted. What follows a call is placed as that is."""
    last = scanned[-1].call.end if scanned else start + 1
    if last <= start and skip(text, last) == start and "\n" not in text[last:start]:
        return scanned[-1].alone, scanned[-1].quoted
    before = text[max(text.rfind("\n", max(0, start - LINE), start) + 1, start - LINE) : start]
    is_quoted = before[-1:] in tuple(_QUOTES) or before.count("`") % 2 == 1 or before.lstrip().startswith(">")
    return not before.strip() or _closes_thinking(before), is_quoted


_WHOLE_STARTS = ("[", "{", "`", "")


def _as_whole(text: str, tools: Tools) -> list[ScannedCall]:
    """The forms without an opener: they are calls only where nothing else is in the text, except thinking before it."""
    if tools is None:
        return []
    begin = skip(text, 0)
    marks = deque(
        _THINK.finditer(text) if text[begin : begin + 1] not in _WHOLE_STARTS or text.startswith("[THINK]", begin) else (), maxlen=1
    )
    if marks and marks[0].lastgroup == "close":
        begin = skip(text, marks[0].end())
    for syntax in CALL_SYNTAXES:
        calls = syntax.whole(text, begin, tools) if syntax.whole else ()
        if calls:
            return [ScannedCall(syntax, call, call.start, False, False, True, calls[-1].end) for call in calls]
    return []


def _damaged(text: str, mark: re.Match[str]) -> Call:
    return Call(
        mark.start(),
        mark.end(),
        "",
        None,
        text[mark.end() : mark.end() + 200],
        closed=False,
        problem="What follows its opening is not its syntax.",
    )


_SENTENCE = re.compile(r"[^\W\d_]{2,}[ ,;:.]+[^\W\d_]{2,}")


def no_sentence(text: str, at: int) -> bool:
    """Whether the text ends soon after `at`, with no two words in a row: an opening that broke off, and no sentence about it."""
    return len(text) - at <= 200 and not _SENTENCE.search(text, at)


def _closes_thinking(before: str) -> bool:
    match = _CLOSED_THINKING.match(before)
    return match is not None and not before[match.end() :].strip()


def _is_outside_document(text: str, start: int, scanned: list[ScannedCall]) -> bool:
    """Whether a tool's tag is no part of a document of tags: none is before it, but for another call or the end of thinking."""
    before = text[max(0, start - 200) : start].rstrip()
    if not before.endswith(">"):
        return True
    return (
        bool(scanned and skip(text, scanned[-1].call.end) == start)
        or re.search(r"</[\w:|]*think(?:ing)?>\Z|◁/think▷\Z", before) is not None
    )


def _goes_on_as_document(text: str, end: int, names: frozenset[str]) -> bool:
    after = re.compile(r"\s*</?([\w.-]*)").match(text, end)
    return after is not None and after[1] not in names and not after[1].endswith(("think", "thinking"))


_THINK = re.compile(
    r"(?P<open><(?:think|thinking|mm:think|ifm\|think)>|\[THINK\]|◁think▷|<\|channel>thought|<\|channel\|>analysis<\|message\|>)"
    r"|(?P<close></(?:think|thinking|mm:think|ifm\|think)>|\[/THINK\]|◁/think▷|<channel\|>|<\|end\|>)"
)


@dataclass(slots=True)
class Region:
    start: int
    end: int
    closed: bool


def thinking(text: str, closed_calls: list[Call]) -> list[Region]:
    """Where reasoning is within the text, by its marks outside of calls. A closing mark without an opening one closes what is before it."""
    regions, opened, last = list[Region](), -1, 0
    spans = iter([(call.start, call.end) for call in closed_calls])
    span = next(spans, None)
    for mark in _THINK.finditer(text):
        while span and span[1] <= mark.start():
            span = next(spans, None)
        if (span and span[0] <= mark.start()) or (mark.start() and text[mark.start() - 1] in _QUOTES):
            continue
        if mark.lastgroup == "open":
            opened = mark.start() if opened < 0 else opened
        elif opened >= 0 or mark[0] not in ("<channel|>", "<|end|>"):
            regions.append(Region(opened if opened >= 0 else last, mark.end(), True))
            opened, last = -1, mark.end()
    if opened >= 0:
        regions.append(Region(opened, len(text), False))
    return regions


def region_at(regions: list[Region], at: int) -> Region | None:
    return next((region for region in regions if region.start <= at < region.end), None)


def marker_of(text: str, start: int) -> str:
    """The opener with which the call at `start` begins."""
    mark = re.compile(_MARKS).match(text, skip(text, start))
    return mark[0] if mark else text[start : start + 20]
