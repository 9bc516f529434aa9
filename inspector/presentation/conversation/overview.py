"""What a page says of a whole conversation above and next to its rows: plain values, so that they can be kept and no page computes them again."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from inspector.conversation.model import Chunk, Conversation, Dropped, Span
from inspector.conversation.queries import stored_pieces
from inspector.planning.preview import FindingKind, kinds_of
from inspector.presentation.conversation.columns import Columns, reads_otherwise
from inspector.presentation.conversation.message_counts import message_counts
from inspector.presentation.conversation.minimap import Minimap, minimap
from inspector.presentation.conversation.panels import Ending, JobLine
from inspector.presentation.conversation.placed import Inserted, LedgerCell, inserted
from inspector.presentation.conversation.recorded_errors import Recorded, recorded_errors
from inspector.presentation.conversation.resuming import is_pending, pending_words
from inspector.presentation.conversation.verdict import NextRequest, Verdict, of_path, unless_unnoticed
from inspector.presentation.tree.model import Branches
from inspector.presentation.tree.own_leaves import OwnLeaf
from inspector.presentation.tree.session_facts import session_facts
from inspector.presentation.tree.view import TreeView, tree_view
from inspector.presentation.visible import visible
from inspector.profiles.base import NOT_MODELED, Judgement, Violation
from inspector.projections.base import Prompt
from inspector.projections.observed import NO_PROMPT, ObservedStep
from inspector.rules.base import Case, Finding, Origin, Severity, observed_trace

STORED = (Origin.STORE, Origin.STREAM)
"""Of damage that is in the rows: what a stream delivered wrongly is stored as it came."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict without its violations but the first: they are next to the rows that they are about."""

    profile: str
    sendable: bool
    verdict: str
    first_bad: int | None
    notes: tuple[str, ...]
    first: Violation | None
    pending: str = ""
    """What is pending at the end of a session that can be resumed all the same; "" where nothing is."""

    @property
    def not_modeled(self) -> str:
        """The note that the endpoint is another than that of the profile; "" where it is the same, or not known."""
        return next((note for note in self.notes if NOT_MODELED in note), "")


@dataclass(frozen=True, slots=True)
class Observed:
    """Of a past request: what its trace recorded."""

    model: str
    tool_count: int | None
    finish_reason: str | None
    notes: tuple[str, ...]
    prompt_messages: int
    messages: int
    is_prompt_known: bool


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """A past request in its trace, which can be shown next to the rows."""

    label: str
    step_id: str


@dataclass(frozen=True, slots=True)
class LedgerTotals:
    """Of a ledger of tool runs: how many there are, those without a call, and those that belong after no stored message."""

    loose: tuple[LedgerCell, ...]
    total: int
    without_call: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """`left_out` counts messages that the reader leaves out unintentionally, `left_out_on_purpose` those that a compaction or a context edit takes out.
    `left_out_from` and `lost_from` are the first seqs of what is left out unintentionally and of what is lost on the way.

    `reads_otherwise`: whether messages are read that are not those that were appended, other than those left out on purpose. `silent_from` is the
    first seq from which an error is silent. `tree` is the first window of the branches, None where the conversation is none.
    """

    native_id: str
    format: str
    chunks: int
    stored_bytes: int
    verdict: Verdict
    failure: str
    """Why the reader cannot open the conversation; "" where it can."""
    is_running: bool
    judged: Judged
    observed: Observed | None
    counts: Mapping[str, int]
    minimap: Minimap
    left_out: int
    left_out_on_purpose: int
    left_out_from: int | None
    lost_on_the_way: int
    """Chunks that are read and not sent."""
    lost_from: int | None
    reads_otherwise: bool
    damaged_from: int | None
    """The first seq at which what is stored is damaged."""
    stored_severity: str
    read_severity: str
    """The worst severity of what was found in the store, and of what its reader does with it."""
    read_otherwise_from: int | None
    """The first seq that is in another message than it was written in, or in none."""
    silent_from: int | None
    live_from: int | None
    """The first seq that is read, where messages before it are left out on purpose, as a compaction does, and nothing is found before it; else None."""
    inserted: tuple[Inserted, ...]
    recorded: tuple[Recorded, ...]
    job: tuple[JobLine, ...]
    ledger: LedgerTotals | None
    tree: TreeView | None
    about_session: tuple[tuple[str, str], ...]
    ending: Ending | None
    """How it came to its end, where its program says that."""
    crashes: tuple[str, ...]
    """Ids of the crash files that belong to it."""
    findings: int
    kinds: tuple[tuple[FindingKind, int], ...]
    """How many findings there are of each kind."""
    steps: tuple[RecordedStep, ...]
    prompt_body: str
    request_body: str
    """Names of the bodies of the shown past request: the client's prompt, and what was sent; "" where there is none."""

    @property
    def next_request(self) -> NextRequest:
        """As lists say it: what is wrong comes first, also where the request passes. Of a path that a person chose, what is found elsewhere is not of it."""
        if self.tree and self.tree.chosen:
            return self.verdict.next_request
        return unless_unnoticed(self.verdict.next_request, sorted(kind.code for kind, _ in self.kinds if kind.severity is Severity.ERROR))


def _stored_bytes(chunks: Sequence[Chunk]) -> int:
    return sum(piece.stop - piece.start if isinstance(piece, Span) else len(piece) for piece in stored_pieces(chunks))


def overview(
    case: Case,
    findings: Sequence[Finding],
    prompt: Prompt,
    judgement: Judgement,
    verdict: Verdict,
    all_columns: Columns,
    observed: ObservedStep | None = None,
    branches: Branches | None = None,
    own_leaves: tuple[OwnLeaf, ...] = (),
    leaf: str = "",
) -> Overview:
    """`findings` are all of the case; `all_columns` has those that are marked; `leaf` is the one that an address asks for."""
    chunks = case.conversation.chunks
    trace = observed_trace(case) if observed else None
    step = trace.step(observed.step_id) if trace and observed else None
    ledger = case.program.panels.ledger_lane(case)
    of_own_path = of_path(case, findings)
    return Overview(
        native_id=case.conversation.native_id,
        format=case.conversation.format,
        chunks=len(chunks),
        stored_bytes=_stored_bytes(chunks),
        verdict=verdict,
        failure=case.reading.failure,
        is_running=case.running,
        judged=Judged(
            judgement.profile,
            judgement.sendable,
            judgement.verdict,
            judgement.first_bad,
            judgement.notes,
            judgement.violations[0] if judgement.violations else None,
            pending_words(case) if is_pending(case, judgement) else "",
        ),
        observed=_observed(observed),
        counts=message_counts(case, prompt),
        minimap=minimap(all_columns),
        left_out=sum(not group.intentional for group in case.reading.dropped),
        left_out_on_purpose=_left_out_on_purpose(all_columns),
        left_out_from=_first_seq(group for group in case.reading.dropped if not group.intentional),
        lost_on_the_way=len(all_columns.calls_lost),
        lost_from=_first_seq(prompt.lost),
        reads_otherwise=reads_otherwise(all_columns, case.reading.grouped),
        damaged_from=_damaged_from(of_own_path),
        stored_severity=_worst(of_own_path, *STORED),
        read_severity=_worst(of_own_path, Origin.READER),
        read_otherwise_from=next((chunk.seq for chunk in chunks if chunk.key in all_columns.departs), None),
        silent_from=_silent_from(of_own_path),
        live_from=_live_from(chunks, all_columns, findings),
        inserted=inserted(all_columns),
        recorded=recorded_errors(case, findings),
        job=case.program.panels.job_lines(case.conversation, case.taken_at),
        ledger=LedgerTotals(ledger.loose, ledger.total, ledger.without_call) if ledger else None,
        tree=tree_view(branches, own_leaves, requested_leaf=leaf) if branches else None,
        about_session=session_facts(case.tree) if case.tree else (),
        ending=case.program.panels.ending(case.conversation, case.taken_at) if case.program.panels.ending else None,
        crashes=crashes_of(case.conversation),
        findings=len(findings),
        kinds=tuple(kinds_of(findings).items()),
        steps=recorded_steps(case),
        prompt_body=(step.prompt.body or "") if step and step.prompt else "",
        request_body=(step.request.body or "") if step and step.request else "",
    )


def _first_seq(groups: Iterable[Dropped]) -> int | None:
    return min((seq for group in groups for seq in group.seqs), default=None)


def _observed(step: ObservedStep | None) -> Observed | None:
    if step is None:
        return None
    is_prompt_known = NO_PROMPT not in step.notes
    messages, sent = len(step.prompt_messages), len(step.prompt.messages)
    return Observed(step.model, step.tool_count, step.finish_reason, tuple(step.notes), messages, sent, is_prompt_known)


def crashes_of(conversation: Conversation) -> tuple[str, ...]:
    """Ids of the crash files that belong to a session, as rows are known by them."""
    return tuple(visible(name) for name in (conversation.fact("crashes") or "").split(", ") if name)


def recorded_steps(case: Case) -> tuple[RecordedStep, ...]:
    """Newest first."""
    trace = observed_trace(case)
    if trace is None:
        return ()
    turns = {turn.turn_id: number for number, turn in enumerate(trace.turns, start=1)}
    steps = reversed(trace.steps())
    return tuple(RecordedStep(f"turn {turns[step.turn_id]} step {step.index}", visible(step.step_id)) for step in steps)


def _left_out_on_purpose(all_columns: Columns) -> int:
    read, stored = all_columns.read, all_columns.stored
    return len({stored[key] for key, owner in read.items() if owner.intentional and key in stored})


def _live_from(chunks: Sequence[Chunk], all_columns: Columns, findings: Iterable[Finding]) -> int | None:
    is_left_out = False
    for chunk in chunks:
        owner = all_columns.read.get(chunk.key)
        if owner is not None and owner.index is not None:
            first_of_findings = min((seq for finding in findings for seq in finding.seqs), default=chunk.seq)
            return chunk.seq if is_left_out and first_of_findings >= chunk.seq else None
        is_left_out |= owner is not None and owner.intentional
    return None


def _damaged_from(findings: Iterable[Finding]) -> int | None:
    damage = (finding for finding in findings if finding.origin in STORED and finding.severity is not Severity.NOTE)
    return min((finding.seqs[0] for finding in damage if finding.seqs), default=None)


def _worst(findings: Iterable[Finding], *origins: Origin) -> str:
    """A warning where there is none: a page asks only for what is wrong."""
    severities = {finding.severity for finding in findings if finding.origin in origins}
    return str(next((severity for severity in Severity if severity in severities), Severity.WARNING))


def _silent_from(findings: Iterable[Finding]) -> int | None:
    # What is merged goes wrong at the second message: the first is read as it is.
    seqs = [
        finding.seqs[1 if finding.code.startswith("MSG10") and len(finding.seqs) > 1 else 0]
        for finding in findings
        if finding.silent and finding.severity is Severity.ERROR and finding.seqs
    ]
    return min(seqs) if seqs else None
