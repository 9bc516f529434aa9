"""One conversation: three columns by chunk, and its chunks one by one."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpResponse

from inspector.actions.undo_repair import UNDOABLE
from inspector.conversation import notation
from inspector.conversation.model import Chunk
from inspector.conversation.queries import span_text
from inspector.middleware import OperatorRequest
from inspector.models import Conversation, Repair, loading
from inspector.planning.suggested import suggested
from inspector.presentation import markdown
from inspector.presentation.conversation import scan, show
from inspector.presentation.conversation.columns import merged_seqs, reads_otherwise
from inspector.presentation.conversation.panels import JobLine, LedgerLane
from inspector.presentation.conversation.profile_verdicts import Refusal, accepting, refusals, unplaced
from inspector.presentation.conversation.recorded_errors import Recorded, recorded_errors
from inspector.presentation.conversation.timeline import Timeline, timeline
from inspector.presentation.tree.session_facts import session_facts
from inspector.presentation.tree.text import tree_lines, tree_report
from inspector.presentation.tree.view import TreeView, of_tree, tree_view
from inspector.presentation.visible import size, visible
from inspector.profiles.catalogue import PROFILES
from inspector.projections.catalogue import all_projections
from inspector.projections.observed import NO_PROMPT
from inspector.readers.catalogue import names
from inspector.readers.catalogue import reader as reader_named
from inspector.rules.base import Finding, Rule, Severity
from inspector.rules.catalogue import rule
from inspector.strategies.catalogue import strategy
from inspector.traces import observe
from inspector.views import facts
from inspector.views.advice import RepairAdvice, advice
from inspector.views.analysis import Analysis
from inspector.views.choice import LEDGER, STAGES, Choice, analysed, looked_up
from inspector.views.crashes import CrashLinks, crash_links
from inspector.views.pages import Link, absolute, as_json, as_markdown, page, unless_unchanged

WINDOW = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedFinding:
    """The side panel: one finding with its evidence and suggested repairs."""

    oid: str
    finding: Finding
    number: int
    total: int
    before: str
    before_seq: int | None
    after: str
    after_seq: int | None
    about: Rule
    repairs: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationPage:
    row: Conversation
    choice: Choice
    analysis: Analysis
    timeline: Timeline
    selected: SelectedFinding | None
    readers: list[str]
    reader_note: str
    projections: list[str]
    profiles: list[str]
    steps: list[Link]
    shown: int
    matching: int
    earlier: int | None
    later: int | None
    last: int
    filtered: bool
    left_out: int
    """How many messages the reader leaves out unintentionally."""
    left_out_on_purpose: int
    """Messages that a compaction or a context edit takes out."""
    reads_otherwise: bool
    """Whether messages are read that are not those that were appended, other than those that are left out on purpose."""
    silent_from: int | None
    size: str
    then_and_now: str
    advice: RepairAdvice | None
    worst: tuple[str, Finding, str] | None
    """The most dangerous finding with its id, and what to do where no strategy repairs it; None where there are only notes."""
    repairs: list[Repair]
    prompt_body: str
    request_body: str
    is_prompt_known: bool
    is_step_recorded: bool
    recorded: tuple[Recorded, ...]
    refusing: int
    refusals: tuple[Refusal, ...]
    unplaced: tuple[str, ...]
    accepting: tuple[str, ...]
    crash_links: CrashLinks | None
    tree: TreeView | None
    ledger: LedgerLane | None
    job: tuple[JobLine, ...]
    stages: tuple[str, ...]
    about_session: tuple[tuple[str, str], ...]


def _matching(choice: Choice, chunks: tuple[Chunk, ...], marked_seqs: set[int]) -> list[int]:
    """Positions of the chunks that the filters let through."""
    find = choice.find.lower()
    return [
        position
        for position, chunk in enumerate(chunks)
        if (not choice.kind or chunk.kind == choice.kind)
        and (not choice.role or chunk.role == choice.role)
        and (not choice.only_findings or chunk.seq in marked_seqs)
        and (not find or find in chunk.text.lower() or find in chunk.raw.decode("utf-8", "replace").lower())
    ]


def _selected(row: Conversation, choice: Choice, analysis: Analysis) -> SelectedFinding | None:
    """By id, or by the code of its rule; the most dangerous one unless chosen."""
    for number, (oid, finding) in enumerate(analysis.findings):
        if choice.finding in (oid, finding.code, ""):
            finding = analysis.suggested(row, choice.revision, oid, finding)
            before, before_seq = _anchor(analysis, number - 1)
            after, after_seq = _anchor(analysis, number + 1)
            repairs = tuple(
                (name, strategy(name).summary, ", ".join(sorted(strategy(name).safety)) or "safe") for name in finding.repaired_by
            )
            total = len(analysis.findings)
            return SelectedFinding(
                oid=oid,
                finding=finding,
                number=number + 1,
                total=total,
                before=before,
                before_seq=before_seq,
                after=after,
                after_seq=after_seq,
                about=rule(finding.code),
                repairs=repairs,
            )
    return None


def _anchor(analysis: Analysis, number: int) -> tuple[str, int | None]:
    """Id and first seq of a finding by its number; "" where there is none, None where it is about the whole conversation."""
    if not 0 <= number < len(analysis.findings):
        return "", None
    oid, finding = analysis.findings[number]
    return oid, finding.seqs[0] if finding.seqs else None


def _page(row: Conversation, choice: Choice, analysis: Analysis) -> ConversationPage:
    chunks = analysis.case.conversation.chunks
    prompt_body, request_body = _bodies(choice, analysis)
    runs = analysis.case.program.panels.ledger_lane(analysis.case)
    steps = _steps(analysis)
    selected = _selected(row, choice, analysis)
    finding_seqs = {seq for _, finding in analysis.findings for seq in finding.seqs}
    positions = _matching(choice, chunks, finding_seqs)
    start = 0
    if choice.at is not None:
        start = next((at for at, position in enumerate(positions) if chunks[position].seq >= choice.at), max(0, len(positions) - 1))
        start = max(0, start - 3) if start > 3 else 0
    elif choice.start is not None:
        start = min(choice.start, len(positions))
    window = positions[start : start + WINDOW]
    is_end = start + WINDOW >= len(positions) and not analysis.observed
    highlighted = frozenset(selected.finding.seqs) if selected and choice.finding else frozenset()
    silent = [
        finding.seqs[1 if finding.code.startswith("MSG10") and len(finding.seqs) > 1 else 0]
        for _, finding in analysis.findings
        if finding.silent and finding.severity == "error" and finding.seqs
    ]
    intentional = {
        analysis.columns.stored[key] for key, owner in analysis.columns.read.items() if owner.intentional and key in analysis.columns.stored
    }
    return ConversationPage(
        row=row,
        choice=choice,
        analysis=analysis,
        timeline=analysis.case.program.panels.with_ledger(
            of_tree(timeline(analysis.columns, window, highlighted, is_end), analysis.case.tree, analysis.branches), runs
        ),
        selected=selected,
        readers=names(row.source.format),
        reader_note=reader_named(choice.reader).note,
        projections=[shape.name for shape in all_projections()],
        profiles=[judge.name for judge in PROFILES],
        steps=steps,
        shown=len(window),
        matching=len(positions),
        earlier=max(0, start - WINDOW) if start else None,
        later=start + WINDOW if start + WINDOW < len(positions) else None,
        last=start + len(window),
        filtered=bool(choice.kind or choice.role or choice.find or choice.only_findings),
        left_out=sum(not group.intentional for group in analysis.case.reading.dropped),
        left_out_on_purpose=len(intentional),
        reads_otherwise=reads_otherwise(analysis.columns, analysis.case.reading.grouped),
        silent_from=min(silent) if silent else None,
        size=size(sum(len(chunk.raw) for chunk in chunks)),
        then_and_now=_then_and_now(row, choice, analysis),
        worst=next(
            (
                (oid, suggestion, suggestion.no_repair_reason if chunks else "")
                for oid, finding in analysis.findings[:1]
                if finding.severity is not Severity.NOTE
                for suggestion in [analysis.suggested(row, choice.revision, oid, finding)]
            ),
            None,
        ),
        advice=advice(row.oid, analysis.recommended, choice.reader, choice.leaf),
        repairs=_repairs(row, analysis),
        prompt_body=prompt_body,
        request_body=request_body,
        is_prompt_known=analysis.observed is None or NO_PROMPT not in analysis.observed.notes,
        is_step_recorded=choice.step in {link.href for link in steps},
        recorded=recorded_errors(analysis.case, [finding for _, finding in analysis.findings]),
        refusing=sum(not verdict.judgement.sendable for verdict in analysis.profile_verdicts),
        refusals=refusals(analysis.case.conversation, analysis.profile_verdicts),
        unplaced=unplaced(analysis.profile_verdicts),
        accepting=accepting(analysis.profile_verdicts),
        crash_links=crash_links(row, analysis.case.conversation, analysis.case.taken_at),
        tree=tree_view(analysis.branches, analysis.own_leaves, choice.tree_start, choice.unfolded, choice.leaf)
        if analysis.branches
        else None,
        ledger=runs,
        job=analysis.case.program.panels.job_lines(analysis.case.conversation, analysis.case.taken_at),
        stages=tuple(stage for stage in STAGES if stage != LEDGER or runs),
        about_session=session_facts(analysis.case.tree) if analysis.case.tree else (),
    )


def _bodies(choice: Choice, analysis: Analysis) -> tuple[str, str]:
    """Names of the bodies of the shown step: the client's prompt and the request; "" where there is none."""
    step = analysis.case.trace.step(choice.step) if analysis.case.trace and analysis.observed else None
    prompt = step.prompt.body if step and step.prompt else None
    request = step.request.body if step and step.request else None
    return prompt or "", request or ""


def _repairs(row: Conversation, analysis: Analysis) -> list[Repair]:
    """Repairs that are in the store: of this conversation, and the one that created it."""
    standing = Repair.objects.filter(state__in=UNDOABLE, conversation__source=row.source).select_related("conversation").order_by("pk")
    native_id = analysis.case.conversation.native_id
    return [repair for repair in standing if repair.conversation_id == row.pk or repair.options.get("fork_id") == native_id]


def _then_and_now(row: Conversation, choice: Choice, analysis: Analysis) -> str:
    """What the shown (or else the last) observed request merged, and what the next one would merge: the two differ, and both matter."""
    steps = [link for link in _steps(analysis) if not choice.step or link.href == choice.step]
    if not steps or choice.revision != row.revision:
        return ""
    then = analysed(row, choice, steps[0].href)
    now = analysed(row, choice)
    before, after = merged_seqs(then.columns) if then.observed else [], merged_seqs(now.columns)
    if not then.observed or NO_PROMPT in then.observed.notes:
        return ""
    if not before and not after:
        return ""
    merged = f"merged seq {span_text(before)}" if before else "merged nothing"
    return f"The request of {steps[0].label}, as observed, {merged}; the next one, as {choice.reader} reads now, {f'would merge seq {span_text(after)}' if after else 'would merge nothing'}."


def _steps(analysis: Analysis) -> list[Link]:
    """Past steps that can be compared with the store, newest first."""
    if analysis.case.trace is None:
        return []
    turns = {turn.turn_id: number for number, turn in enumerate(analysis.case.trace.turns, start=1)}
    return [Link(f"turn {turns[step.turn_id]} step {step.index}", visible(step.step_id)) for step in reversed(analysis.case.trace.steps())]


def conversation(request: OperatorRequest, oid: str) -> HttpResponse:
    row, choice, analysis = looked_up(request, oid)
    return page(request, "conversation.html", _page(row, choice, analysis), part="rows", twins=("json", "md"))


@unless_unchanged(facts.of_analysis)
def conversation_json(request: OperatorRequest, oid: str) -> HttpResponse:
    row, choice, analysis = looked_up(request, oid)
    report = _report(row, choice, analysis)
    report["revision"] = choice.revision
    if analysis.branches:
        report["tree"] = tree_report(analysis.branches, analysis.own_leaves)
    report["read"] = show.messages_report(analysis.case.reading)
    if job := analysis.case.program.panels.job_lines(analysis.case.conversation, analysis.case.taken_at):
        report["job"] = {line.name: line.text for line in job}
        report["ledger_lines"] = [notation.dump_execution(run) for run in analysis.case.conversation.ledger]
    report["chunk_lines"] = [notation.dump_chunk(chunk) for chunk in analysis.case.conversation.chunks]
    return as_json(report)


@unless_unchanged(facts.of_analysis)
def conversation_md(request: OperatorRequest, oid: str) -> HttpResponse:
    row, choice, analysis = looked_up(request, oid)
    if analysis.branches:
        # Of a tree the lines of `show --as tree` say more in less; its end is where the next turn goes on.
        first, *tail = tree_lines(analysis.branches, analysis.own_leaves)
        lines = [first, *tail] if len(tail) <= WINDOW else [first, f"… {len(tail) - WINDOW:,} lines before these", *tail[-WINDOW:]]
    else:
        runs = [notation.dump_execution(run) for run in analysis.case.conversation.ledger[:WINDOW]]
        lines = runs + [notation.dump_chunk(chunk) for chunk in analysis.case.conversation.chunks[:WINDOW]]
    query = {"rev": choice.revision, "reader": choice.reader} | {
        name: value for name, value in (("step", choice.step), ("leaf", choice.leaf), ("profile", request.GET.get("profile"))) if value
    }
    links = {"conversation": absolute(request, f"/conversations/{oid}/?{urlencode(query)}")}
    return as_markdown(markdown.conversation_md(_report(row, choice, analysis), lines, links, _trace_notes(row, choice, analysis)))


def _trace_notes(row: Conversation, choice: Choice, analysis: Analysis) -> list[str]:
    """What the trace adds to the store: the last request, and what it merged."""
    steps = analysis.case.trace.steps() if analysis.case.trace else []
    if not steps and analysis.branches:
        return []
    if not steps:
        return ["No trace was imported: what was really sent is not known."]
    finish, tools_sent = (
        observe.finish_reason(steps[-1]),
        observe.tool_count(analysis.case.trace, steps[-1]) if analysis.case.trace else None,
    )
    tools = "an unknown number of" if tools_sent is None else tools_sent
    return [
        f"Last observed request: {steps[-1].step_id}, finish reason {finish or 'unknown'}, {tools} tools. {_then_and_now(row, choice, analysis)}"
    ]


def _report(row: Conversation, choice: Choice, analysis: Analysis) -> dict[str, object]:
    verdict = analysis.verdict
    if analysis.observed:
        # The judgement below it is that of the past request, so the headline is too.
        verdict = f"The request of {visible(choice.step)}, as observed: {analysis.judgement.verdict}. The next one: {verdict}"
    all_findings = suggested(analysis.case, [finding for _, finding in analysis.findings], loading.stored(row, choice.revision))
    return scan.conversation_report(row.oid, analysis.case, all_findings, {choice.profile: analysis.judgement}, verdict, analysis.prompt)
