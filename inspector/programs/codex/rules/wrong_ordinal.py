"""STORE815: records of a paginated thread that are not counted one after the other."""

from collections.abc import Iterator, Sequence

from inspector.conversation.model import Chunk, Kind
from inspector.programs.codex.entries import entry_of, is_first
from inspector.programs.codex.items import PAGINATED
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded


def check(case: Case) -> Iterator[Match]:
    if case.conversation.fact("historyMode") == PAGINATED:
        yield from bounded(Match((chunk,), text) for chunk, text in wrong(case.conversation.chunks))


def wrong(chunks: Sequence[Chunk]) -> Iterator[tuple[Chunk, str]]:
    """The first chunk of each such record, with a sentence. What cannot be read may have had the ordinals that are missing."""
    before: int | None = None
    unread = 0
    for chunk in chunks:
        entry = entry_of(chunk)
        if (chunk.kind is Kind.UNREADABLE and not entry) or "unread" in entry:
            unread += 1
            continue
        if not is_first(chunk) or not entry:
            continue
        ordinal, where = entry.get("ordinal"), f"The record at seq {chunk.seq}"
        if not isinstance(ordinal, int) or isinstance(ordinal, bool):
            yield (
                chunk,
                f"{where} has no ordinal, though this thread counts its records: what Codex shows of the thread lacks it, or ends there.",
            )
            before = None if before is None else before + 1
        else:
            if before is not None and ordinal <= before:
                text = (
                    f"{where} has the ordinal {ordinal:,} again, after {before:,}: what Codex shows of the thread lacks it, or ends there."
                )
                yield chunk, text
            elif before is not None and ordinal > before + 1 + unread:
                yield chunk, f"{where} has the ordinal {ordinal:,}, and the one before it {before:,}: records between them are gone."
            before = ordinal if before is None else max(before, ordinal)
        unread = 0


RULE = Rule(
    code="STORE815",
    state="CX5",
    name="wrong-ordinal",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="a record of a paginated thread has no ordinal, one that was used, or one too high",
    why=(
        "Codex fills the history that it shows from the file, record by record, by their ordinals. Versions of summer 2026 stopped there permanently (`thread history "
        "projection expected ordinal N, got M`), so that a thread seemed to have lost its later turns; 0.169 leaves the record out. Requests are not affected."
    ),
    example=(
        '@format codex\nline {"timestamp":"2026-08-01T10:00:00.000Z","ordinal":0,"type":"session_meta","payload":{"id":"0199aaaa-0000-7000-8000-000000000001",'
        '"timestamp":"2026-08-01T10:00:00.000Z","cwd":"/r","originator":"o","cli_version":"0.147.0","history_mode":"paginated"}}\n'
        'line {"timestamp":"2026-08-01T10:00:01.000Z","ordinal":0,"type":"event_msg","payload":{"type":"task_started"}}'
    ),
    check=check,
    references=("openai/codex #35746", "openai/codex #38341", "openai/codex #41566", "openai/codex #41657"),
    repaired_by=("give-ordinals",),
    fixed_in_code="Take the next ordinal from the last record that can be read, under the lock of the writer.",
)
