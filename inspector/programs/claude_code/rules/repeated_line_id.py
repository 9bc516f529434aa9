"""TREE203: several lines with one uuid, of which a resume reads one."""

from collections.abc import Iterator, Sequence

from inspector.conversation.queries import span_text
from inspector.conversation.tree import Entry
from inspector.programs.claude_code.chain import chain_of, chunks_of, name
from inspector.programs.claude_code.detours import Detour, detours
from inspector.programs.claude_code.leaf import is_message
from inspector.programs.claude_code.path import leads_on, shares_line
from inspector.programs.claude_code.versions import CHAIN, known_defects
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded
from inspector.text.counted import counted
from inspector.text.jsontext import compact

_PLACES = ("parentId", "timestamp", "logicalParentUuid", "cwd", "gitBranch", "version", "sessionId", "slug", "forkedFrom")
_REPLAYED = "Nothing is lost: a compaction or a resume writes lines again as they are."


def check(case: Case) -> Iterator[Match]:
    groups: dict[str, list[Entry]] = {}
    # What shares its line with others is written again on a line of its own: STORE802 reports it.
    for entry in (entry for entry in chain_of(case).lines if not shares_line(entry)):
        groups.setdefault(entry.id, []).append(entry)
    misled = {detour.below.id: detour for detour in detours(case) if not detour.is_unread}
    repeated = [group for group in groups.values() if len(group) > 1 and any(leads_on(entry) for entry in group)]
    same = [group for group in repeated if group[0].id not in misled and len({words_of(entry) for entry in group}) == 1]
    if same:
        replayed = [entry for group in same for entry in group[1:]]
        text = f"{counted(len(replayed), 'line')} (seq {span_text([entry.chunks[0].seq for entry in replayed])}) {'has' if len(replayed) == 1 else 'have'} the uuid and the content of an earlier one: whichever of them a resume reads says the same."
        yield Match(chunks_of(replayed), text, severity=Severity.NOTE, repaired_by=(), no_repair_reason=_REPLAYED)
    own_ids = {group[0].id for group in same}
    yield from bounded(_match(group, misled.get(group[0].id)) for group in repeated if group[0].id not in own_ids)


def words_of(entry: Entry) -> str:
    """What a line says, the same for one that is written again elsewhere in the chain."""
    about = {name: value for name, value in entry.about.items() if name not in _PLACES}
    return compact([about, [[chunk.role, chunk.kind, {**chunk.payload, "entry": None}] for chunk in entry.chunks]])


def _match(group: Sequence[Entry], detour: Detour | None) -> Match:
    seqs = ", ".join(str(entry.chunks[0].seq) for entry in group[:8])
    start = f"{len(group)} lines have the uuid {group[0].id[:40]!r} (seq {seqs})"
    evidence = known_defects(group[-1].about.get("version"), CHAIN)
    if detour is not None:
        text = f"{start} and name different parents: Claude Code 2.1.332 reads the last, so that what hangs below an earlier one, as {name(detour.entry)}, loses what is before."
        return Match(chunks_of(group), text, evidence=evidence, repaired_by=(_RELINK,))
    messages = sum(is_message(entry) for entry in group[:-1])
    start = f"{start} and say different things: Claude Code 2.1.332 reads the last"
    if not messages:
        return Match(
            chunks_of(group),
            f"{start}, and the others are no messages.",
            severity=Severity.NOTE,
            repaired_by=(),
            no_repair_reason=_NO_MESSAGES,
        )
    return Match(
        chunks_of(group),
        f"{start}, and {counted(messages, 'message')} before it {'is' if messages == 1 else 'are'} hidden.",
        evidence=evidence,
        repaired_by=(),
        no_repair_reason=_BY_HAND,
    )


_NO_MESSAGES = "No message is hidden by it."
_RELINK = "relink-past-unread-line"
_BY_HAND = "Which of them the lines below mean is not in the file: give one of them a new uuid, and those below it that uuid as their parent, on a copy."

RULE = Rule(
    code="TREE203",
    state="CC12",
    name="repeated-line-id",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="several lines have one uuid, of which a resume reads one",
    unnoticed="content hidden",
    why=(
        "Lines are found by their uuid, and Claude Code 2.1.332 reads the last of two with one uuid. What another line of that uuid says is hidden, and lines that name it as their "
        "parent continue from the one that is read, in a circle where that comes after them."
    ),
    example="@format claude-code\n1 user 1.0 text go entry=u1\n2 assistant 2.0 text done entry=a1\n3 user 3.0 text more entry=u1 parent=a1\n4 assistant 4.0 text ok entry=a2 parent=a1",
    check=check,
    references=("Claude Code 2.1.332, run", "anthropics/claude-code #21751, #23375", "formats/claude_code_codex.md 1.6, F10"),
    repaired_by=(_RELINK,),
    fixed_in_code="Draw a new uuid for each line, also of hooks.",
)
