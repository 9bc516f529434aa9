"""The preview of a plan as pages show it: before it is proposed, and on the page of a repair."""

from dataclasses import dataclass
from itertools import groupby

from inspector.planning.preview import DiffRow, Preview
from inspector.programs.formats import Change
from inspector.reports.message_counts import message_counts
from inspector.reports.observed_rejection import Observed, observed
from inspector.reports.plan import chunks_summary, summary
from inspector.reports.visible import size
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


@dataclass(frozen=True, slots=True)
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
        held = tuple(group)
        fold = op in ("same", "reindexed") and len(held) >= least
        runs.append(DiffRun(op, held[:shown] if fold else held[:500], held[shown:500] if fold else ()))
    return tuple(runs)


def _counts(before: tuple[Finding, ...], after: tuple[Finding, ...]) -> tuple[RuleCount, ...]:
    named = {finding.code: finding.rule for finding in (*before, *after)}
    return tuple(
        RuleCount(code, name, len([found for found in before if found.code == code]), len([found for found in after if found.code == code]))
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
    safety = " and ".join(sorted(preview.plan.safety)) or "safe"
    return PreviewPart(
        preview, diff_runs(preview.rows), _counts(preview.before.findings, preview.after.findings), summary(preview), chunks_summary(preview.rows),
        preview.changes[:200], len(preview.changes), size(preview.bytes_written), safety, observed(preview), _messages(preview),
    )  # fmt: skip
