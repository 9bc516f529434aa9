"""STORE901: a message or an attachment in a shape that makes a resume fail."""

from collections.abc import Iterator, Mapping
from typing import Any

from inspector.conversation.model import Chunk, Kind
from inspector.conversation.tree import Entry
from inspector.programs.claude_code.chain import chain_of, name
from inspector.programs.claude_code.versions import ATTACHMENTS, BLOCKS, known_defects, number_of
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded, cached_per_case
from inspector.text import jsontext

ATTACHMENT = "attachment"
_DELTA = "_delta"
_TOLERANT = (2, 1, 223)
"""Versions from this one on skip malformed attachments."""


@cached_per_case
def malformed(case: Case) -> tuple[tuple[Entry, str, bool], ...]:
    """Lines with what is wrong with each, and whether nothing of it is a message that could be read."""
    chain = chain_of(case)
    lines: list[tuple[Entry, str, bool]] = []
    for entry in chain.lines:
        wrong = [chunk for chunk in entry.chunks if chunk.kind is Kind.UNREADABLE]
        if wrong:
            lines.append((entry, wrong[0].reason, len(wrong) == len(entry.chunks)))
        elif entry.type == ATTACHMENT and (why := _attachment_problem(entry.chunks[0])):
            lines.append((entry, why, True))
    return tuple(lines)


def _attachment_problem(chunk: Chunk) -> str:
    """What is wrong with an attachment; "" where it has a shape that versions read. Only members are looked at of which a version reads the items."""
    try:
        value: Any = jsontext.parse(jsontext.decode(chunk.raw)) if chunk.raw else None
    except jsontext.Unreadable:
        return ""
    if not isinstance(value, Mapping):
        return ""
    attachment = value.get(ATTACHMENT)
    if not isinstance(attachment, Mapping):
        return "it has no attachment that is an object"
    kind = attachment.get("type")
    if not isinstance(kind, str):
        return "its attachment has no type"
    if kind.endswith(_DELTA):
        lists = [item for member, item in attachment.items() if member.startswith(("added", "removed"))]
        if not lists or not all(isinstance(item, list) for item in lists):
            return f"its attachment of type {kind[:40]!r} does not list what was added and removed"
    if kind == "diagnostics" and not isinstance(attachment.get("files"), list):
        return "its diagnostics do not list files"
    return ""


def check(case: Case) -> Iterator[Match]:
    chain = chain_of(case)
    lines = malformed(case)
    last = max((number_of(entry.about.get("version")) for entry in chain.lines), default=()) if lines else ()
    yield from bounded(_match(entry, why, is_whole, entry.index in chain.on_path, last) for entry, why, is_whole in lines)


def _match(entry: Entry, why: str, is_whole: bool, is_on_path: bool, last: tuple[int, ...]) -> Match:
    is_attachment = entry.type == ATTACHMENT
    start = f"The {'attachment' if is_attachment else 'message'} {name(entry)} is malformed: {why}"
    evidence = known_defects(entry.about.get("version"), ATTACHMENTS if is_attachment else BLOCKS)
    if not is_on_path:
        text = f"{start}; it is not on the path of a resume."
        return Match(entry.chunks, text, severity=Severity.NOTE, repaired_by=(), no_repair_reason="No request depends on it.")
    reason = "" if is_whole else "The rest of the message can be read: correct the block by hand, on a copy."
    repaired_by = None if is_whole else ()
    if not is_attachment:
        text = f"{start}: what it was to say is in no request."
        return Match(entry.chunks, text, None, Severity.WARNING, evidence, repaired_by=repaired_by, no_repair_reason=reason)
    if last >= _TOLERANT:
        text = f"{start}; version {'.'.join(map(str, last))}, which wrote the session last, skips it."
        return Match(entry.chunks, text, severity=Severity.NOTE, evidence=evidence)
    text = f"{start}: versions before 2.1.223 fail to resume the session with a TypeError, or fail on every turn."
    return Match(entry.chunks, text, evidence=evidence)


RULE = Rule(
    code="STORE901",
    state="CC16",
    name="malformed-record",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="a message or an attachment has a shape that makes a resume fail",
    why=(
        "Versions up to 2.1.222 read the members of attachments, deltas and diagnostics without looking at their types, and those before 2.1.234 the blocks of messages: "
        "one such line on the path, and the session cannot be resumed, or fails on every turn."
    ),
    example='@format claude-code\n1 user 1.0 text go\n2 assistant 2.0 unreadable 42 damage=wrong-type reason="the content is no list" entry=a1\n3 user 3.0 text more',
    check=check,
    references=("changelog 2.1.105, 2.1.217, 2.1.218, 2.1.223, 2.1.234", "formats/claude_code_codex.md, F13"),
    repaired_by=("drop-malformed-record",),
    fixed_in_code="Check what is stored before its members are read, and skip what has another shape.",
)
