"""STORE901: a message or an attachment in a shape that makes a resume fail."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.conversation.model import Chunk, Kind
from inspector.conversation.tree import Entry
from inspector.programs.claude_code.chain import Chain, chain_of, name
from inspector.programs.claude_code.lines import ASSISTANT, USER
from inspector.programs.claude_code.sending import SKIPS_UNREAD, Version
from inspector.programs.claude_code.versions import ATTACHMENTS, BLOCKS, known_defects, number_of
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded, cached_per_case
from inspector.text import jsontext

ATTACHMENT = "attachment"
_DELTA = "_delta"
_LISTS = {
    "deferred_tools_delta": ("addedLines", "removedNames"),
    "mcp_instructions_delta": ("removedNames",),
    "agent_listing_delta": ("addedLines",),
}
"""Members that versions before 2.1.223 read as lists without looking."""
_READ_SINCE = {ATTACHMENT: (2, 1, 223)}
"""The oldest measured version that leaves such an attachment out and resumes: 2.1.222 fails on diagnostics without files."""
_UNTYPED = "its attachment has no type"
_EMPTY = {USER: ("missing", "null"), ASSISTANT: ("missing", "null", "")}
"""Contents without anything that are no list, by the type of the line; an empty text of the user's is sent as it is."""
_TEXT = "its content is text, and no list of blocks"


@dataclass(frozen=True, slots=True)
class Malformed:
    """A line of a wrong shape. `lost` are its chunks of which nothing can be read; `is_everywhere`: a resume fails on it wherever the line hangs."""

    entry: Entry
    why: str
    lost: tuple[Chunk, ...] = ()
    is_everywhere: bool = False

    @property
    def is_text(self) -> bool:
        return self.why == _TEXT

    @property
    def read_since(self) -> Version:
        """The oldest measured version that resumes the session all the same."""
        return _READ_SINCE.get(str(self.entry.type), SKIPS_UNREAD)


@cached_per_case
def malformed(case: Case) -> tuple[Malformed, ...]:
    """In the order of the file."""
    return tuple(record for entry in chain_of(case).lines if (record := _problem(entry)) is not None)


def _problem(entry: Entry) -> Malformed | None:
    first = entry.chunks[0]
    if entry.type == ATTACHMENT:
        why = _attachment_problem(first)
        return Malformed(entry, why, entry.chunks) if why else None
    unread = [chunk for chunk in entry.chunks if chunk.kind is Kind.UNREADABLE]
    if unread:
        lost = tuple(chunk for chunk in unread if not isinstance(chunk.payload.get("block"), str))
        return Malformed(entry, unread[0].reason, lost, any(_fails_everywhere(entry, chunk) for chunk in unread))
    if first.kind is Kind.CONTROL and first.payload.get("empty") in _EMPTY.get(str(entry.type), ()):
        return Malformed(entry, f"its content is {first.payload['empty'] or 'an empty text'}, and no list of blocks", entry.chunks)
    extra = first.payload.get("extra")
    # Errors that the program shows as answers are not sent, and may be text.
    if (
        first.role == ASSISTANT
        and entry.about.get("isApiErrorMessage") is not True
        and isinstance(extra, Mapping)
        and extra.get("string") is True
    ):
        return Malformed(entry, _TEXT)
    return None


def _fails_everywhere(entry: Entry, chunk: Chunk) -> bool:
    """A line without a message, and a block that is null in a line of the user's: before 2.1.252 these are looked into before the path is chosen."""
    if "block" not in chunk.payload:
        return _value(chunk).get("message") is None
    return entry.type == USER and chunk.payload["block"] is None


def _value(chunk: Chunk) -> Mapping[str, Any]:
    """The line of the chunk; without members where its bytes are not known."""
    try:
        value: Any = jsontext.parse(jsontext.decode(chunk.raw)) if chunk.raw else None
    except jsontext.Unreadable:
        value = None
    return value if isinstance(value, Mapping) else {}


def _attachment_problem(chunk: Chunk) -> str:
    """What is wrong with an attachment; "" where it has a shape that versions read. Only members are looked at of which a version reads the items."""
    value = _value(chunk)
    if not value:
        return ""
    attachment = value.get(ATTACHMENT)
    if not isinstance(attachment, Mapping):
        return "it has no attachment that is an object"
    kind = attachment.get("type")
    if not isinstance(kind, str):
        return _UNTYPED
    if kind.endswith(_DELTA):
        lists = [item for member, item in attachment.items() if member.startswith(("added", "removed"))]
        lists += [attachment.get(member) for member in _LISTS.get(kind, ())]
        if not lists or not all(isinstance(item, list) for item in lists):
            return f"its attachment of type {kind[:40]!r} does not list what was added and removed"
    if kind == "diagnostics" and not isinstance(attachment.get("files"), list):
        return "its diagnostics do not list files"
    return ""


def check(case: Case) -> Iterator[Match]:
    last = number_of(case.conversation.fact("version"))
    yield from bounded(_match(chain_of(case), record, last) for record in malformed(case))


def fails_off_path(chain: Chain, record: Malformed) -> bool:
    """Whether a resume fails on a line that is not on its path. What is before a compaction is not looked into."""
    index = record.entry.index
    return record.is_everywhere and index not in chain.on_path and chain.segments[index] == max(chain.segments.values())


def _match(chain: Chain, record: Malformed, last: tuple[int, ...]) -> Match:
    """`last` is the version that wrote last, () where that is not known: who went on with a session has that version or a later one."""
    entry = record.entry
    is_attachment = entry.type == ATTACHMENT
    start = f"The {'attachment' if is_attachment else 'message'} {name(entry)} is malformed: {record.why}"
    evidence = known_defects(entry.about.get("version"), ATTACHMENTS if is_attachment else BLOCKS)
    since = ".".join(map(str, record.read_since))
    wrote = f"; {'.'.join(map(str, last))} wrote it last" if last else ""
    is_on_path = entry.index in chain.on_path
    if not is_on_path and not fails_off_path(chain, record):
        text = f"{start}; it is not on the path of a resume."
        return Match(entry.chunks, text, severity=Severity.NOTE, repaired_by=(), no_repair_reason="No request depends on it.")
    repaired_by = _repairs(record, is_on_path)
    later = "send it as a list of one text" if record.is_text else "leave it out of every request"
    if last >= record.read_since or record.why == _UNTYPED:
        text = f"{start}. Versions of Claude Code from {since} on {later}{wrote}."
        return Match(entry.chunks, text, severity=Severity.NOTE, evidence=evidence, repaired_by=repaired_by)
    then = (_SENT if _is_sent(entry, record.lost) else _FAILS).format(since=since)
    place = "" if is_on_path else "It is not on the path of a resume; all the same "
    text = f"{start}. {place}{then}{wrote}. An update helps too: later versions {later}."
    reason = (
        ""
        if repaired_by
        else f"The block holds words: put them into a text block by hand, on a copy. Claude Code {since} and later leave them out."
    )
    return Match(entry.chunks, text, evidence=evidence, repaired_by=repaired_by, no_repair_reason=reason)


def _repairs(record: Malformed, is_on_path: bool) -> tuple[str, ...]:
    if not is_on_path:
        return (_QUARANTINE,)
    return (_LIST,) if record.is_text else (_DROP,) if record.lost else ()


def _is_sent(entry: Entry, lost: Sequence[Chunk]) -> bool:
    """Blocks of the user's that are no objects, and not null: they are copied into the request."""
    unread = [chunk for chunk in entry.chunks if chunk.kind is Kind.UNREADABLE]
    is_block = all(chunk.reason.startswith("the block is") for chunk in unread)
    return entry.type == USER and bool(unread) and is_block and all(chunk.payload.get("block") is not None for chunk in lost)


_DROP, _LIST, _QUARANTINE = "drop-malformed-record", "list-answer-text", "quarantine-unreadable-lines"
_FAILS = "Claude Code before {since} fails on it with a TypeError, at the resume or on every turn"
_SENT = "Claude Code before {since} puts it into every request as it is, and Anthropic rejects a block that is no object"

RULE = Rule(
    code="STORE901",
    state="CC16",
    name="malformed-record",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="a message or an attachment has a shape that makes a resume fail",
    why=(
        "Claude Code before 2.1.277 reads the members of messages without looking at their types, and before 2.1.223 those of attachments, deltas and diagnostics too: one such line, "
        "and the session cannot be resumed, or fails on every turn. Later versions leave such a line or block out of what they send (both as measured with `claude -p --resume`, one line each); "
        "where one of them wrote last, this is a note."
    ),
    example='@format claude-code\n1 user 1.0 text go\n2 assistant 2.0 unreadable 42 damage=wrong-type reason="the content is no list" entry=a1\n3 user 3.0 text more',
    check=check,
    blocks_resume=True,
    references=(
        "Claude Code 2.1.200, 2.1.222, 2.1.223, 2.1.275, 2.1.277 and 2.1.332, run",
        "changelog 2.1.105, 2.1.217, 2.1.218, 2.1.223, 2.1.234",
        "formats/claude_code_codex.md, F13",
    ),
    repaired_by=(_DROP, _LIST, _QUARANTINE),
    fixed_in_code="Update Claude Code to 2.1.277 or later. In a program that reads such files: check what is stored before its members are read, and skip what has another shape.",
)
