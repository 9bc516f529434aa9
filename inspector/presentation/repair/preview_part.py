"""The preview of a plan as pages show it: before it is proposed, and on the page of a repair.

A `PreviewPart` holds what is shown and nothing of the whole conversation, so that it can be kept for the next view (`kept_previews`) and a page is as
large for a hundred thousand chunks as for a hundred.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from inspector.conversation.edits import Plan, Safety
from inspector.conversation.model import Chunk
from inspector.conversation.queries import span_text
from inspector.planning.differing import alike, differing
from inspector.planning.preview import Cost, DiffRow, FindingKind, Preview, PreviewSide
from inspector.planning.recommend import composed
from inspector.presentation.conversation.ending import ACCEPTED, Ending
from inspector.presentation.conversation.excerpt import Excerpt, excerpts
from inspector.presentation.conversation.message_counts import message_counts
from inspector.presentation.conversation.other_readers import gained, read_by_others
from inspector.presentation.conversation.placed import role_of
from inspector.presentation.conversation.recorded_errors import Recorded, latest_rejection, recorded_errors
from inspector.presentation.prompt.wire_pieces import WirePiece, pieces
from inspector.presentation.repair.alternatives import safety_words
from inspector.presentation.repair.ends import is_same_request
from inspector.presentation.repair.group_sum import Change as RuleChange
from inspector.presentation.repair.group_sum import changes_of
from inspector.presentation.repair.observed_rejection import Observed, observed
from inspector.presentation.repair.outcomes import SAME_REQUEST, Outcome, outcome
from inspector.presentation.repair.plan import (
    chunks_summary,
    ending_after,
    ending_of_side,
    headline,
    lacking_words,
    lost_words,
    not_repaired,
    own_members,
    parts_of,
    records_changed,
    summary,
)
from inspector.presentation.visible import size
from inspector.profiles.base import Judgement
from inspector.profiles.judging import judged_case
from inspector.programs.formats import Cell, Change
from inspector.programs.registry import program_or_default
from inspector.projections.base import Prompt, WireMessage
from inspector.rules.base import Case, Finding, Severity, at_least, by_rule
from inspector.strategies.catalogue import strategy

EDGE = 3
"""Rows whose content is equal that are shown next to a change; the others between two changes are folded."""
FOLDED, RUN, ROWS = 60, 300, 600
"""Rows at most that are shown of a folded run, of any other run, and of all together."""
MESSAGES, BEFORE = 40, 5
"""Messages of a prompt that are shown, and how many of them are before the first that differs."""
PIECES = 60
"""Pieces of a message that are shown: a reader may take a whole conversation for one message."""
CHANGES, BYTES, LEAD = 200, 5_000, 200
"""Changed records that are shown, bytes of a value, and how many are shown from its beginning on where the first that changes is among them."""

NAMED = 3
"""Places of one rule that are named after the first."""


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

    @property
    def total(self) -> int:
        return self.count + self.left_out


@dataclass(frozen=True, slots=True)
class RuleCount:
    """`severity`: the worst of its findings; `severity_after`: of those that remain, "" where none does."""

    code: str
    name: str
    before: int
    after: int
    severity: str
    severity_after: str


@dataclass(frozen=True, slots=True)
class Damage:
    """What one rule found before the plan, with chunks that the first of its findings names; `times` findings in all."""

    code: str
    rule: str
    severity: str
    message: str
    times: int
    is_repaired: bool
    """A strategy of the plan is named by it, or less of it is found after the plan."""
    excerpt: Excerpt


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
    ending: Ending
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
    is_written: bool
    """Whether it is for a store, and not for a body that is only handed back."""
    headline: str
    """What the plan does and what that is good for, in one line."""
    summary: str
    """What the plan does to chunks and records."""
    damage: tuple[Damage, ...]
    """What is repaired comes first."""
    answered: Recorded | None
    """What the provider answered last, where the store or a trace recorded an error."""
    chunks: str
    own_members: str
    """What is not listed among the chunks, since it is another conversation."""
    changes: tuple[Change, ...]
    """The first of them, each with the first bytes of its values."""
    records: str
    """How many are inserted, replaced and removed, in words."""
    change_total: int
    size: str
    safety: str
    observed: Observed | None
    messages: tuple[tuple[str, int, int], ...]
    """How many there are before and after, by what they are."""
    is_of_path: bool
    """Those that are stored are counted on the path of a tree."""
    added: tuple[Chunk, ...]
    """What a plan that invents adds, as far as it is shown: chunks that are stored nowhere, or were of another kind. What a repaired parent brings back was said."""
    lost: str
    """As `lost_words`."""
    lacking: str
    """`STORE501 at seq 7`: where what the next request silently lacks afterwards is found; "" where that is said elsewhere, or it lacks nothing."""
    lost_codes: tuple[str, ...]
    """Rules that find nothing any more, since what is lost is in the store that is left."""
    is_same_request: bool
    """Whether the next request is, word for word, the same before and after."""
    explained: tuple[tuple[str, str], ...]
    """`TREE101 stays, milder` or `TOOL401 is new`, and the message of the first: why what is found afterwards asks for less, or where it comes from."""
    same_as: str
    """Those of its strategies after which alone the request is word for word the same: what the others take away was not sent."""
    for_others: str
    """What other readers read of it before and after, where the next request stays the same; "" where that changes nothing for them."""

    @property
    def short(self) -> str:
        """The headline without the counts of rules."""
        return " · ".join(parts_of(self.headline))

    @property
    def did(self) -> str:
        return parts_of(self.headline)[0]

    @property
    def content(self) -> str:
        """What becomes of the chunks, without the bytes that are written."""
        return self.did.rpartition(", ")[0]

    @property
    def outcome(self) -> Outcome:
        return outcome(self.before.ending, self.after.ending)

    @property
    def is_accepted_twice(self) -> bool:
        """The next request is accepted before and after."""
        return self.before.ending.words == self.after.ending.words == ACCEPTED

    @property
    def next_request(self) -> str:
        return f"{self.after.judgement.profile}: {self.outcome.text}{f'; {SAME_REQUEST}' if self.is_same_request else ''}"

    @property
    def stored_words(self) -> str:
        return self._messages("messages stored")

    @property
    def read_words(self) -> str:
        return self._messages("messages read")

    @property
    def invents_no_words(self) -> bool:
        """What it invents is a link or a value, and no chunk."""
        return Safety.INVENTED in self.plan.safety and not self.added and not self.rows_left

    @property
    def read(self) -> tuple[int, int]:
        """Messages that are read, before and after."""
        return self._counts("messages read")

    def _messages(self, what: str) -> str:
        """`3 → 8`, or one number where it stays."""
        before, after = self._counts(what)
        return f"{before:,}" if before == after else f"{before:,} → {after:,}"

    def _counts(self, what: str) -> tuple[int, int]:
        return next((before, after) for words, before, after in self.messages if words == what)

    @property
    def remaining(self) -> str:
        return self.headline.rpartition(" · ")[2]

    @property
    def changed(self) -> tuple[RuleChange, ...]:
        counts = (rule for rule in self.counts if rule.code not in self.lost_codes)
        return changes_of((rule.code, rule.before, rule.after, rule.severity_after) for rule in counts)

    @property
    def fewer(self) -> list[RuleChange]:
        return [change for change in self.changed if change.after < change.before]

    @property
    def new(self) -> list[RuleCount]:
        """The rules of which more is found then."""
        return [rule for rule in self.counts if rule.after > rule.before]

    @property
    def milder(self) -> list[RuleCount]:
        return _milder(self.counts)

    @property
    def left(self) -> list[RuleCount]:
        """The rules of the errors and warnings that remain, errors first."""
        remaining = [rule for rule in self.counts if rule.after and rule.severity_after != Severity.NOTE]
        return sorted(remaining, key=lambda rule: rule.severity_after != Severity.ERROR)


def diff_runs(rows: Sequence[DiffRow]) -> tuple[DiffRun, ...]:
    runs = []
    groups = [(op, tuple(group)) for op, group in groupby(rows, key=lambda row: row.op)]
    for place, (op, run) in enumerate(groups):
        if op in ("same", "reindexed") and len(run) > 2 * EDGE + 1:
            # Nothing changes before the first run and after the last one: what is shown of them is next to a change.
            is_alone = len(groups) == 1 or op == "reindexed"
            start = EDGE if place or is_alone else 0
            end = len(run) - (EDGE if place < len(groups) - 1 or is_alone else 0)
            between = run[start:end]
            runs.append(DiffRun(op, run[:start], between[:FOLDED], run[end:], len(between[FOLDED:])))
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
    worst, remaining = _worst((*before, *after)), _worst(after)
    sides = [Counter[str](), Counter[str]()]
    for of_side, counts in zip(sides, (before, after), strict=True):
        for kind, count in counts.items():
            of_side[kind.code] += count
    return tuple(
        RuleCount(
            code, kind.rule, sides[0][code], sides[1][code], str(kind.severity), str(remaining[code].severity) if code in remaining else ""
        )
        for code, kind in sorted(worst.items())
    )


def _milder(counts: Iterable[RuleCount]) -> list[RuleCount]:
    """The rules that fire as often and less severely."""
    return [
        rule
        for rule in counts
        if rule.after and not at_least(Severity(rule.severity_after), Severity(rule.severity)) and rule.before == rule.after
    ]


def _explained(preview: Preview, counts: Iterable[RuleCount]) -> tuple[tuple[str, str], ...]:
    """The findings after the plan of a large conversation are counted, and their messages are not worked out."""
    if preview.after.known is not None:
        return ()
    messages = {finding.code: finding.message for finding in reversed(preview.after.findings)}
    return (
        *((f"{rule.code} stays, milder", messages[rule.code]) for rule in _milder(counts)),
        *((f"{rule.code} is new", messages[rule.code]) for rule in counts if rule.after and not rule.before),
    )


def _worst(kinds: Iterable[FindingKind]) -> dict[str, FindingKind]:
    """Of each rule, by its code."""
    worst: dict[str, FindingKind] = {}
    for kind in sorted(kinds, key=lambda kind: tuple(Severity).index(kind.severity)):
        worst.setdefault(kind.code, kind)
    return worst


def kept(preview: Preview) -> Cost:
    """Who keeps what a plan takes out of a store; of a body that is handed back nobody does."""
    is_new = preview.before.case.conversation.native_id != preview.after.case.conversation.native_id
    return Cost("", f"{'The original keeps' if is_new else 'Undo and the audit log keep'} what leaves the history.", is_free=True)


_MESSAGES = (
    ("messages_stored", "messages stored"),
    ("messages", "messages read, before the reader's own repair"),
    ("messages_read", "messages read"),
    ("messages_sent", "messages sent"),
)


def _messages(preview: Preview) -> tuple[tuple[str, int, int], ...]:
    before, after = (message_counts(side.case, side.prompt) for side in (preview.before, preview.after))
    return tuple((words, before[name], after[name]) for name, words in _MESSAGES)


def _side(side: PreviewSide, ending: Ending, start: int) -> PartSide:
    judgement = replace(side.judgement, violations=side.judgement.violations[:1])
    synthetic = sum(message.synthetic for message in side.case.reading.messages)
    prompt = side.prompt
    shown_messages = tuple(_shown_message(message) for message in prompt.messages[start : start + MESSAGES])
    window = PromptWindow(prompt.root, shown_messages, start, len(prompt.messages))
    return PartSide(side.case.reading.reader, judgement, ending, synthetic, window)


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
    """Of a file the lines that differ."""
    if change.before is None or change.after is None:
        return replace(change, before=_shown_cell(change.before), after=_shown_cell(change.after))
    old, new = differing(change.before.data, change.after.data)
    start = _start_of_difference(change.before.data, change.after.data) if old.stop - old.start > BYTES else old.start
    return replace(
        change, before=_shown_cell(change.before, slice(start, old.stop)), after=_shown_cell(change.after, slice(start, new.stop))
    )


def _start_of_difference(one: bytes, other: bytes) -> int:
    """Where the JSON object begins that differs first: a value is never without the name before it, by which it is known as a secret."""
    first = alike(one, other)
    # In a string the quote would be escaped.
    return max(0, one.rfind(b'{"', 0, first)) if first > LEAD else 0


def _shown_cell(cell: Cell | None, shown: slice = slice(None)) -> Cell | None:
    """What is left out at either end as `…` and how much that is."""
    if cell is None:
        return None
    start, stop, _ = shown.indices(len(cell.data))
    end = min(stop, start + BYTES)
    if start and start == len(cell.data):
        return replace(cell, data=f"… {size(start)} that stay".encode())
    before, later = (f"… {size(number)} {{}}" if number else "" for number in (start, len(cell.data) - end))
    text = before.format("before it") + "\n" * bool(before)
    more = "\n" * (bool(later) and not cell.data[start:end].endswith(b"\n")) + later.format("more" if end < stop else "after it")
    return replace(cell, data=text.encode() + cell.data[start:end] + more.encode())


def message_of(group: Sequence[Finding]) -> str:
    """The message of the first of the findings of a rule, and where the next ones are."""
    others = [f"seq {span_text(sorted(finding.seqs), NAMED)}" for finding in group[1:] if finding.seqs]
    if not others:
        return group[0].message
    more = f" and {len(others) - NAMED:,} more" if len(others) > NAMED else ""
    return f"{group[0].message} Also at {', '.join(others[:NAMED])}{more}."


def _damage(preview: Preview, known: Sequence[Finding]) -> tuple[Damage, ...]:
    """Of a conversation whose findings are not worked out for a preview, `known` are the first ones."""
    case = preview.before.case
    findings = preview.before.findings if preview.before.known is None else known
    chosen = set(preview.plan.strategies)
    fewer = {rule.code for rule in _counts(preview.before.counts, preview.after.counts) if rule.after < rule.before}
    groups = by_rule(findings)
    damage = [
        Damage(
            group[0].code,
            group[0].rule,
            str(group[0].severity),
            message_of(group),
            sum(finding.times for finding in group),
            group[0].code in fewer or any(not chosen.isdisjoint(finding.repaired_by) for finding in group),
            excerpt,
        )
        for group, excerpt in zip(groups, excerpts(case, [group[0].seqs for group in groups]), strict=True)
    ]
    return tuple(sorted(damage, key=lambda entry: not entry.is_repaired))


def _answered(case: Case) -> Recorded | None:
    if (rejection := latest_rejection(case)) is not None:
        return rejection
    errors = recorded_errors(case)
    return errors[-1] if errors else None


def preview_part(preview: Preview, known: Sequence[Finding] = (), is_written: bool = True) -> PreviewPart:
    """`known`: findings before the plan, of a conversation that is too large to work them out for a page. `is_written` is as in `headline`."""
    runs = diff_runs(preview.rows)
    shown_runs = _first_runs(runs)
    start = _start(preview.before.prompt, preview.after.prompt)
    later = preview.after.case.conversation
    counts = _counts(preview.before.counts, preview.after.counts)
    lost_codes = not_repaired(preview)
    is_same = is_same_request(preview.before.prompt, preview.after.prompt)
    return PreviewPart(
        plan=replace(preview.plan, edits=()),
        before=_side(preview.before, ending_of_side(preview.before), start),
        after=_side(preview.after, ending_after(preview), start),
        costs=(*preview.costs, *((kept(preview),) if is_written and Safety.LOSSY in preview.plan.safety else ())),
        warnings=preview.warnings,
        remains=program_or_default(later.format).repairs.follow_up(later),
        runs=shown_runs,
        rows_left=sum(run.count + run.left_out for run in runs[len(shown_runs) :]),
        counts=counts,
        explained=_explained(preview, counts),
        headline=headline(preview, is_written),
        is_written=is_written,
        summary=summary(preview),
        damage=_damage(preview, known),
        answered=_answered(preview.before.case),
        chunks=chunks_summary(preview.rows),
        own_members=own_members(preview),
        changes=tuple(_shown_change(change) for change in preview.changes[:CHANGES]),
        records=records_changed(preview.changes),
        change_total=len(preview.changes),
        size=size(preview.bytes_new),
        safety=safety_words(preview.plan.safety),
        observed=observed(preview),
        messages=_messages(preview),
        is_of_path=preview.before.case.tree is not None,
        added=added_chunks(preview.before.case, _rows_of(shown_runs)) if Safety.INVENTED in preview.plan.safety else (),
        lost=lost_words(preview, lost_codes),
        lost_codes=lost_codes,
        lacking=lacking_words(preview),
        is_same_request=is_same,
        same_as=_same_as(preview),
        for_others=_for_others(preview) if is_same else "",
    )


def _same_as(preview: Preview) -> str:
    """Of a plan that takes something away, those that do not; "" where the request differs without it, and of a large conversation."""
    chosen = [strategy(name) for name in preview.plan.strategies]
    names = tuple(of.name for of in chosen if Safety.LOSSY not in of.safety)
    if preview.before.known is not None or not names or len(names) == len(chosen):
        return ""
    _, case = composed(preview.before.case, names)
    prompt, _ = judged_case(case, preview.after.judgement.profile, preview.after.own_projection)
    return f"{' and '.join(names)} alone" if is_same_request(prompt, preview.after.prompt) else ""


def _for_others(preview: Preview) -> str:
    """Of a conversation whose findings are worked out for a preview: of a larger one, no page waits for its readers either."""
    return "" if preview.before.known is not None else gained(*(read_by_others(side.case) for side in (preview.before, preview.after)))


def _rows_of(runs: Sequence[DiffRun]) -> list[DiffRow]:
    return [row for run in runs for row in (*run.shown, *run.folded, *run.last)]


def added_chunks(before: Case, rows: Sequence[DiffRow]) -> tuple[Chunk, ...]:
    """What is stored nowhere in `before`, or was of another kind. A line that is inserted may have the key that another had, so that the content decides."""
    inserted = any(row.before is None for row in rows)
    stored = {_content(chunk) for chunk in (before.tree or before.conversation).chunks} if inserted else set()
    return tuple(
        row.after
        for row in rows
        if row.after is not None and (_content(row.after) not in stored if row.before is None else row.before.kind != row.after.kind)
    )


def _content(chunk: Chunk) -> tuple[str, str, str, str, str]:
    return chunk.role, chunk.kind.value, chunk.call_id, chunk.tool_name, chunk.text
