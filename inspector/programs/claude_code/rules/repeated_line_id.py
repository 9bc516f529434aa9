"""TREE203: several lines with one uuid, of which a resume reads the first."""

from collections.abc import Iterator, Sequence

from inspector.conversation.queries import span_text
from inspector.conversation.tree import Entry
from inspector.programs.claude_code.chain import chain_of, chunks_of
from inspector.programs.claude_code.path import is_message
from inspector.programs.claude_code.versions import CHAIN, known_defects
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded
from inspector.text.counted import counted
from inspector.text.jsontext import compact

_PLACES = ("parentId", "timestamp", "logicalParentUuid", "cwd", "gitBranch", "version", "sessionId", "slug", "forkedFrom")
_REPLAYED = "Nothing is lost: a compaction or a resume writes lines again as they are."


def check(case: Case) -> Iterator[Match]:
    groups: dict[str, list[Entry]] = {}
    for entry in chain_of(case).lines:
        groups.setdefault(entry.id, []).append(entry)
    repeated = [group for group in groups.values() if len(group) > 1]
    same = [group for group in repeated if len({words_of(entry) for entry in group}) == 1]
    if same:
        replayed = [entry for group in same for entry in group[1:]]
        text = f"{counted(len(replayed), 'line')} (seq {span_text([entry.chunks[0].seq for entry in replayed])}) {'has' if len(replayed) == 1 else 'have'} the uuid and the content of an earlier one: a resume reads the first."
        yield Match(chunks_of(replayed), text, severity=Severity.NOTE, no_repair_reason=_REPLAYED)
    yield from bounded(_match(group) for group in repeated if len({words_of(entry) for entry in group}) > 1)


def words_of(entry: Entry) -> str:
    """What a line says, the same for one that is written again elsewhere in the chain."""
    about = {name: value for name, value in entry.about.items() if name not in _PLACES}
    return compact([about, [[chunk.role, chunk.kind, {**chunk.payload, "entry": None}] for chunk in entry.chunks]])


def _match(group: Sequence[Entry]) -> Match:
    seqs = ", ".join(str(entry.chunks[0].seq) for entry in group[:8])
    messages = sum(is_message(entry) for entry in group[1:])
    start = f"{len(group)} lines have the uuid {group[0].id[:40]!r} and say different things (seq {seqs}): a resume reads the first"
    if not messages:
        return Match(chunks_of(group), f"{start}, and the others are no messages.", severity=Severity.NOTE)
    return Match(
        chunks_of(group),
        f"{start}, and {counted(messages, 'message')} after it {'is' if messages == 1 else 'are'} hidden.",
        evidence=known_defects(group[-1].about.get("version"), CHAIN),
    )


RULE = Rule(
    code="TREE203",
    state="CC12",
    name="repeated-line-id",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="several lines have one uuid, of which a resume reads the first",
    why="Lines are found by their uuid. What a later line of the same uuid says is hidden, and lines that name it as their parent continue from the first one.",
    example="@format claude-code\n1 user 1.0 text go entry=u1\n2 assistant 2.0 text done entry=a1\n3 user 3.0 text more entry=u1 parent=a1\n4 assistant 4.0 text ok entry=a2 parent=a1",
    check=check,
    references=("anthropics/claude-code #21751, #23375", "formats/claude_code_codex.md 1.6, F10"),
    no_repair_reason="Which of them the lines below mean is not in the file: give the later one a new uuid, and those below it that uuid as their parent, on a copy.",
    fixed_in_code="Draw a new uuid for each line, also of hooks.",
)
