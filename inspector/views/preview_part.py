"""The preview of a plan as pages show it: before it is proposed, and on the page of a repair.

A `PreviewPart` holds what is shown and nothing of the whole conversation, so that it can be kept for the next view (`kept_previews`) and a page is as
large for a hundred thousand chunks as for a hundred.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from inspector.conversation.edits import Plan
from inspector.planning.preview import Cost, DiffRow, FindingKind, Preview, PreviewSide
from inspector.presentation.conversation.message_counts import message_counts
from inspector.presentation.conversation.placed import role_of
from inspector.presentation.prompt.wire_pieces import WirePiece, pieces
from inspector.presentation.repair.alternatives import safety_words
from inspector.presentation.repair.observed_rejection import Observed, observed
from inspector.presentation.repair.plan import chunks_summary, summary
from inspector.presentation.visible import size
from inspector.profiles.base import Judgement
from inspector.programs.formats import Cell, Change
from inspector.programs.registry import program_or_default
from inspector.projections.base import Prompt, WireMessage

EDGE = 3
"""Rows whose content is equal that are shown next to a change; the others between two changes are folded."""
FOLDED, RUN, ROWS = 60, 300, 600
"""Rows at most that are shown of a folded run, of any other run, and of all together."""
MESSAGES, BEFORE = 40, 5
"""Messages of a prompt that are shown, and how many of them are before the first that differs."""
PIECES = 60
"""Pieces of a message that are shown: a reader may take a whole conversation for one message."""
CHANGES, BYTES = 200, 5_000
"""Changed records that are shown, and bytes of a value."""


@dataclass(frozen=True, slots=True)
class DiffRun:
    """Neighboring rows of one kind: the first ones, those that are folded away, and the last ones. `left_out` are not shown at all."""

    op: str
    shown: tuple[DiffRow, ...]
    folded: tuple[DiffRow, ...]
    last: tuple[DiffRow, ...]
    left_out: int

    @property
    def count(self) -> int:
        """Rows that are shown, folded or not."""
        return len(self.shown) + len(self.folded) + len(self.last)


@dataclass(frozen=True, slots=True)
class RuleCount:
    code: str
    name: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """The first pieces of a message of a prompt; `total` are there."""

    role: str
    pieces: tuple[WirePiece, ...]
    total: int


@dataclass(frozen=True, slots=True)
class PromptWindow:
    """The messages of a prompt from place `start`, counted from 0; `total` are there."""

    root: str
    messages: tuple[ShownMessage, ...]
    start: int
    total: int


@dataclass(frozen=True, slots=True)
class PartSide:
    """One side of a preview. Of the violations, the judgement has the first; `synthetic` are messages that the reader inserts."""

    reader: str
    judgement: Judgement
    synthetic: int
    prompt: PromptWindow


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewPart:
    """What both the preview before proposing and the page of a repair show of a plan."""

    plan: Plan
    """Without its edits."""
    before: PartSide
    after: PartSide
    costs: tuple[Cost, ...]
    warnings: tuple[str, ...]
    remains: tuple[str, ...]
    """What is left to the operator once it is written, as the program of the conversation says it."""
    runs: tuple[DiffRun, ...]
    rows_left: int
    """Rows of the runs that are not shown any more."""
    counts: tuple[RuleCount, ...]
    summary: str
    """What the plan does, in one line."""
    chunks: str
    changes: tuple[Change, ...]
    """The first of them, each with the first bytes of its values."""
    change_total: int
    size: str
    safety: str
    observed: Observed | None
    messages: tuple[tuple[str, int, int], ...]
    """How many there are before and after, by what they are."""


def diff_runs(rows: Sequence[DiffRow]) -> tuple[DiffRun, ...]:
    runs = []
    for op, group in groupby(rows, key=lambda row: row.op):
        run = tuple(group)
        if op in ("same", "reindexed") and len(run) > 2 * EDGE + 1:
            between = run[EDGE:-EDGE]
            runs.append(DiffRun(op, run[:EDGE], between[:FOLDED], run[-EDGE:], len(between[FOLDED:])))
        else:
            runs.append(DiffRun(op, run[:RUN], (), (), len(run[RUN:])))
    return tuple(runs)


def _first_runs(runs: Sequence[DiffRun]) -> tuple[DiffRun, ...]:
    """As many runs as have ROWS rows, and at least one."""
    count = 0
    for number, run in enumerate(runs):
        count += run.count
        if count > ROWS:
            return tuple(runs[: max(1, number)])
    return tuple(runs)


def _counts(before: Mapping[FindingKind, int], after: Mapping[FindingKind, int]) -> tuple[RuleCount, ...]:
    named = {kind.code: kind.rule for kind in (*before, *after)}
    sides = [Counter[str](), Counter[str]()]
    for of_side, counts in zip(sides, (before, after), strict=True):
        for kind, count in counts.items():
            of_side[kind.code] += count
    return tuple(RuleCount(code, name, sides[0][code], sides[1][code]) for code, name in sorted(named.items()))


_MESSAGES = (
    ("messages_stored", "messages stored"),
    ("messages", "messages read, before the reader's own repair"),
    ("messages_read", "messages read"),
    ("messages_sent", "messages sent"),
)


def _messages(preview: Preview) -> tuple[tuple[str, int, int], ...]:
    before, after = (message_counts(side.case, side.prompt) for side in (preview.before, preview.after))
    return tuple((words, before[name], after[name]) for name, words in _MESSAGES)


def _side(side: PreviewSide, start: int) -> PartSide:
    judgement = replace(side.judgement, violations=side.judgement.violations[:1])
    synthetic = sum(message.synthetic for message in side.case.reading.messages)
    prompt = side.prompt
    shown_messages = tuple(_shown_message(message) for message in prompt.messages[start : start + MESSAGES])
    window = PromptWindow(prompt.root, shown_messages, start, len(prompt.messages))
    return PartSide(side.case.reading.reader, judgement, synthetic, window)


def _shown_message(message: WireMessage) -> ShownMessage:
    all_pieces = pieces(message)
    return ShownMessage(role_of(message), all_pieces[:PIECES], len(all_pieces))


def _start(before: Prompt, after: Prompt) -> int:
    """Where both prompts are shown from: a few messages before the first that differs, the beginning where none does."""
    pairs = zip(before.messages, after.messages, strict=False)
    shorter = min(len(before.messages), len(after.messages))
    first = next((place for place, (old, new) in enumerate(pairs) if old.value != new.value), shorter)
    if first == len(before.messages) == len(after.messages):
        return 0
    return max(0, first - BEFORE)


def _shown_change(change: Change) -> Change:
    return replace(change, before=_shown_cell(change.before), after=_shown_cell(change.after))


def _shown_cell(cell: Cell | None) -> Cell | None:
    return cell if cell is None or len(cell.data) <= BYTES else replace(cell, data=cell.data[:BYTES])


def preview_part(preview: Preview) -> PreviewPart:
    runs = diff_runs(preview.rows)
    shown_runs = _first_runs(runs)
    start = _start(preview.before.prompt, preview.after.prompt)
    later = preview.after.case.conversation
    return PreviewPart(
        plan=replace(preview.plan, edits=()),
        before=_side(preview.before, start),
        after=_side(preview.after, start),
        costs=preview.costs,
        warnings=preview.warnings,
        remains=program_or_default(later.format).repairs.follow_up(later),
        runs=shown_runs,
        rows_left=sum(run.count + run.left_out for run in runs[len(shown_runs) :]),
        counts=_counts(preview.before.counts, preview.after.counts),
        summary=summary(preview),
        chunks=chunks_summary(preview.rows),
        changes=tuple(_shown_change(change) for change in preview.changes[:CHANGES]),
        change_total=len(preview.changes),
        size=size(preview.bytes_written),
        safety=safety_words(preview.plan.safety),
        observed=observed(preview),
        messages=_messages(preview),
    )
