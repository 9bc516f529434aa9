"""The preview of a plan as pages show it: before it is proposed, and on the page of a repair."""

from dataclasses import dataclass
from itertools import groupby

from inspector.planning.preview import DiffRow, Preview
from inspector.presentation.conversation.message_counts import message_counts
from inspector.presentation.repair.alternatives import safety_words
from inspector.presentation.repair.observed_rejection import Observed, observed
from inspector.presentation.repair.plan import chunks_summary, summary
from inspector.presentation.visible import size
from inspector.programs.formats import Change
from inspector.rules.base import Finding


@dataclass(frozen=True, slots=True)
class DiffRun:
    """Neighboring rows of one kind; long runs of rows whose content is equal are folded."""

    op: str
    shown: tuple[DiffRow, ...]
    folded: tuple[DiffRow, ...]


@dataclass(frozen=True, slots=True)
class RuleCount:
    code: str
    name: str
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewPart:
    """What both the preview before proposing and the page of a repair show of a plan."""

    preview: Preview
    runs: tuple[DiffRun, ...]
    counts: tuple[RuleCount, ...]
    summary: str
    """What the plan does, in one line."""
    chunks: str
    changes: tuple[Change, ...]
    change_total: int
    size: str
    safety: str
    observed: Observed | None
    messages: tuple[tuple[str, int, int], ...]
    """How many there are before and after, by what they are."""


def diff_runs(rows: tuple[DiffRow, ...], shown: int = 3, least: int = 6) -> tuple[DiffRun, ...]:
    runs = []
    for op, group in groupby(rows, key=lambda row: row.op):
        run = tuple(group)
        fold = op in ("same", "reindexed") and len(run) >= least
        runs.append(DiffRun(op, run[:shown] if fold else run[:500], run[shown:500] if fold else ()))
    return tuple(runs)


def _counts(before: tuple[Finding, ...], after: tuple[Finding, ...]) -> tuple[RuleCount, ...]:
    named = {finding.code: finding.rule for finding in (*before, *after)}
    return tuple(
        RuleCount(code, name, sum(finding.code == code for finding in before), sum(finding.code == code for finding in after))
        for code, name in sorted(named.items())
    )


_MESSAGES = (
    ("messages_stored", "messages stored"),
    ("messages", "messages read, before the reader's own repair"),
    ("messages_read", "messages read"),
    ("messages_sent", "messages sent"),
)


def _messages(preview: Preview) -> tuple[tuple[str, int, int], ...]:
    before, after = (message_counts(side.case, side.prompt) for side in (preview.before, preview.after))
    return tuple((words, before[name], after[name]) for name, words in _MESSAGES)


def preview_part(preview: Preview) -> PreviewPart:
    return PreviewPart(
        preview=preview,
        runs=diff_runs(preview.rows),
        counts=_counts(preview.before.findings, preview.after.findings),
        summary=summary(preview),
        chunks=chunks_summary(preview.rows),
        changes=preview.changes[:200],
        change_total=len(preview.changes),
        size=size(preview.bytes_written),
        safety=safety_words(preview.plan.safety),
        observed=observed(preview),
        messages=_messages(preview),
    )
