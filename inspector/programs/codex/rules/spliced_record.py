"""STORE813: several records of a thread on one line."""

from collections.abc import Iterator
from itertools import groupby

from inspector.conversation.model import Chunk
from inspector.programs.codex.entries import entry_of, line_of
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded

_NAMED = 6


def check(case: Case) -> Iterator[Match]:
    lines = groupby((chunk for chunk in case.conversation.chunks if "/" in chunk.key), key=lambda chunk: line_of(chunk.key))
    yield from bounded(_match(list(chunks)) for _, chunks in lines)


def _match(chunks: list[Chunk]) -> Match:
    parts = [chunk for chunk in chunks if chunk.key.endswith(".0")]
    whole = [chunk for chunk in parts if entry_of(chunk)]
    fragments = len(parts) - len(whole)
    names = ", ".join(str(entry_of(chunk).get("name") or entry_of(chunk).get("type")) for chunk in whole[:_NAMED])
    count = f"{len(whole)} record{'' if len(whole) == 1 else 's'}"
    cut = f" and {fragments} fragment{'' if fragments == 1 else 's'} of others" if fragments else ""
    seqs = f"seq {chunks[0].seq}" if len(chunks) == 1 else f"seq {chunks[0].seq}-{chunks[-1].seq}"
    return Match(chunks, f"One line holds {count}{cut} ({seqs}: {names}): Codex takes it for no JSON and leaves all of it out.")


RULE = Rule(
    code="STORE813",
    state="CX3",
    name="spliced-record",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="several records of a thread are on one line, and Codex reads none of them",
    unnoticed="content lost",
    why=(
        "A write that was cut off left a line without its end, and the next record went onto it; or two processes wrote at once. Codex skips such a line without an "
        "error: calls lose their outputs, and what was said is missing from every request."
    ),
    example=(
        '@format codex\nline {"timestamp":"2026-08-01T10:00:00.000Z","type":"event_msg","payload":{"type":"task_started"}}'
        '{"timestamp":"2026-08-01T10:00:01.000Z","type":"event_msg","payload":{"type":"task_complete"}}'
    ),
    check=check,
    references=("openai/codex #24425",),
    repaired_by=("split-spliced-records",),
    fixed_in_code="Put a line end first where the file ends without one, as Codex 0.169 does.",
)
