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
from inspector.profiles.catalogue import PROFILES
from inspector.projections.catalogue import all_projections
from inspector.projections.observed import NO_PROMPT
from inspector.readers.catalogue import names
from inspector.readers.catalogue import reader as reader_named
from inspector.reports import markdown, scan, show
from inspector.reports.columns import merged_seqs, reads_otherwise
from inspector.reports.panels import JobLine, Lane
from inspector.reports.recorded_errors import Recorded, recorded_errors
from inspector.reports.session_beside import beside_session
from inspector.reports.standings import Refusal, Standing, accepting, refusals, unplaced
from inspector.reports.strip import Strip
from inspector.reports.timeline import Timeline, timeline
from inspector.reports.tree_text import tree_lines, tree_report
from inspector.reports.tree_view import TreeView, of_tree, tree_view
from inspector.reports.visible import size, visible
from inspector.rules.base import Finding, Severity
from inspector.rules.catalogue import rule
from inspector.strategies.catalogue import strategy
from inspector.traces import observe
from inspector.views.advice import Advice, advice
from inspector.views.analysis import Analysis
from inspector.views.choice import LEDGER, STAGES, Choice, analysed, looked_up
from inspector.views.conversation_list import conversation_list, conversation_list_json
from inspector.views.crashes import Beside, beside
from inspector.views.pages import Link, absolute, as_json, as_markdown, page

__all__ = [
    "conversation",
    "conversation_json",
    "conversation_list",
    "conversation_list_json",
    "conversation_md",
]

WINDOW = 200


@dataclass(frozen=True, slots=True)
class SelectedFinding:
    """The side panel: one finding with what it rests on and what would repair it."""

    oid: str
    finding: Finding
    number: int
    total: int
    before: str
    before_seq: int | None
    after: str
    after_seq: int | None
    why: str
    fixed_in_code: str
    no_repair_reason: str
    repairs: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class ConversationPage:
    row: Conversation
    choice: Choice
    analysis: Analysis
    strip: Strip
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
    """What the reader leaves out, and nobody meant it to."""
    meant_out: int
    """Messages that a compaction or a context edit takes out."""
    reads_otherwise: bool
    """Whether messages are read that are not those that were appended, but for those that are meant to be left out."""
    silent_from: int | None
    refused_from: int | None
    size: str
    then_and_now: str
    recommended: tuple[str, ...]
    advice: Advice | None
    worst: tuple[str, Finding, str] | None
    """The most dangerous finding with its id, and what to do where no strategy repairs it; None where there are only notes."""
    repairs: list[Repair]
    prompt_body: str
    request_body: str
    is_prompt_known: bool
    is_step_recorded: bool
    recorded: tuple[Recorded, ...]
    standings: tuple[Standing, ...]
    refusing: int
    refusals: tuple[Refusal, ...]
    unplaced: tuple[str, ...]
    accepting: tuple[str, ...]
    beside: Beside | None
    tree: TreeView | None
    ledger: Lane | None
    job: tuple[JobLine, ...]
    stages: tuple[str, ...]
    about_session: tuple[tuple[str, str], ...]


def _matching(choice: Choice, chunks: tuple[Chunk, ...], hits: set[int]) -> list[int]:
    """Positions of the chunks that the filters let through."""
    find = choice.find.lower()
    return [
        position
        for position, chunk in enumerate(chunks)
        if (not choice.kind or chunk.kind == choice.kind)
        and (not choice.role or chunk.role == choice.role)
        and (not choice.only_findings or chunk.seq in hits)
        and (not find or find in chunk.text.lower() or find in chunk.raw.decode("utf-8", "replace").lower())
    ]


def _selected(row: Conversation, choice: Choice, found: Analysis) -> SelectedFinding | None:
    """By id, or by the code of its rule; the most dangerous one unless chosen."""
    for number, (oid, finding) in enumerate(found.findings):
        if choice.finding in (oid, finding.code, ""):
            finding = found.suggested(row, choice.revision, oid, finding)
            before, before_seq = _anchor(found, number - 1)
            after, after_seq = _anchor(found, number + 1)
            about = rule(finding.code)
            repairs = tuple(
                (name, strategy(name).summary, ", ".join(sorted(strategy(name).safety)) or "safe") for name in finding.repaired_by
            )
            total = len(found.findings)
            return SelectedFinding(
                oid, finding, number + 1, total, before, before_seq, after, after_seq, about.why, about.fixed_in_code, finding.no_repair_reason, repairs
            )  # fmt: skip
    return None


def _anchor(found: Analysis, number: int) -> tuple[str, int | None]:
    """Id and first seq of a finding by its number; "" where there is none, None where it is about the whole conversation."""
    if not 0 <= number < len(found.findings):
        return "", None
    oid, finding = found.findings[number]
    return oid, finding.seqs[0] if finding.seqs else None


def _page(row: Conversation, choice: Choice, found: Analysis) -> ConversationPage:
    chunks = found.case.conversation.chunks
    prompt_body, request_body = _bodies(choice, found)
    runs = found.case.program.ledger_lane(found.case)
    steps = _steps(found)
    selected = _selected(row, choice, found)
    every = {seq for _, finding in found.findings for seq in finding.seqs}
    positions = _matching(choice, chunks, every)
    start = 0
    if choice.at is not None:
        start = next((at for at, position in enumerate(positions) if chunks[position].seq >= choice.at), max(0, len(positions) - 1))
        start = max(0, start - 3) if start > 3 else 0
    elif choice.start is not None:
        start = min(choice.start, len(positions))
    window = positions[start : start + WINDOW]
    is_end = start + WINDOW >= len(positions) and not found.observed
    hits = frozenset(selected.finding.seqs) if selected and choice.finding else frozenset()
    silent = [
        finding.seqs[1 if finding.code.startswith("MSG10") and len(finding.seqs) > 1 else 0]
        for _, finding in found.findings
        if finding.silent and finding.severity == "error" and finding.seqs
    ]
    meant = {found.columns.stored[key] for key, owner in found.columns.read.items() if owner.meant and key in found.columns.stored}
    return ConversationPage(
        row=row,
        choice=choice,
        analysis=found,
        strip=found.strip,
        timeline=found.case.program.with_ledger(
            of_tree(timeline(found.columns, window, hits, is_end), found.case.tree, found.branches), runs
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
        left_out=sum(not gone.intentional for gone in found.case.reading.dropped),
        meant_out=len(meant),
        reads_otherwise=reads_otherwise(found.columns, found.case.reading.grouped),
        silent_from=min(silent) if silent else None,
        refused_from=found.judgement.first_bad,
        size=size(sum(len(chunk.raw) for chunk in chunks)),
        then_and_now=_then_and_now(row, choice, found),
        recommended=found.recommended,
        worst=next(
            (
                (oid, suggestion, suggestion.no_repair_reason if chunks else "")
                for oid, finding in found.findings[:1]
                if finding.severity is not Severity.NOTE
                for suggestion in [found.suggested(row, choice.revision, oid, finding)]
            ),
            None,
        ),
        advice=advice(row.oid, found.recommended, choice.reader, choice.leaf),
        repairs=_repairs(row, found),
        prompt_body=prompt_body,
        request_body=request_body,
        is_prompt_known=found.observed is None or NO_PROMPT not in found.observed.notes,
        is_step_recorded=choice.step in {link.href for link in steps},
        recorded=recorded_errors(found.case, [finding for _, finding in found.findings]),
        standings=found.standings,
        refusing=sum(not each.judgement.sendable for each in found.standings),
        refusals=refusals(found.case.conversation, found.standings),
        unplaced=unplaced(found.standings),
        accepting=accepting(found.standings),
        beside=beside(row, found.case.conversation, found.case.taken_at),
        tree=tree_view(found.branches, found.own_leaves, choice.tree_start, choice.unfolded, choice.leaf) if found.branches else None,
        ledger=runs,
        job=found.case.program.job_lines(found.case.conversation, found.case.taken_at),
        stages=tuple(stage for stage in STAGES if stage != LEDGER or runs),
        about_session=beside_session(found.case.tree) if found.case.tree else (),
    )


def _bodies(choice: Choice, found: Analysis) -> tuple[str, str]:
    """Names of the bodies of the shown step: what the kernel believed, what was sent; "" where there is none."""
    step = found.case.trace.step(choice.step) if found.case.trace and found.observed else None
    prompt = step.prompt.body if step and step.prompt else None
    request = step.request.body if step and step.request else None
    return prompt or "", request or ""


def _repairs(row: Conversation, found: Analysis) -> list[Repair]:
    """Repairs that stand in the store: of this conversation, and the one that made it."""
    standing = Repair.objects.filter(state__in=UNDOABLE, conversation__source=row.source).select_related("conversation").order_by("pk")
    native_id = found.case.conversation.native_id
    return [repair for repair in standing if repair.conversation_id == row.pk or repair.options.get("fork_id") == native_id]


def _then_and_now(row: Conversation, choice: Choice, found: Analysis) -> str:
    """What the shown (or else the last) observed request merged, beside what the next one would: the two differ, and both matter."""
    steps = [link for link in _steps(found) if not choice.step or link.href == choice.step]
    if not steps or choice.revision != row.revision:
        return ""
    then = analysed(row, choice, steps[0].href)
    now = analysed(row, choice)
    before, after = merged_seqs(then.columns) if then.observed else [], merged_seqs(now.columns)
    if not then.observed or NO_PROMPT in then.observed.notes:
        return ""
    if not before and not after:
        return ""
    said = f"merged seq {span_text(before)}" if before else "merged nothing"
    return f"The request of {steps[0].label}, as observed, {said}; the next one, as {choice.reader} reads now, {f'would merge seq {span_text(after)}' if after else 'would merge nothing'}."


def _steps(found: Analysis) -> list[Link]:
    """Past steps that can be compared with the store, newest first."""
    if found.case.trace is None:
        return []
    turns = {turn.turn_id: number for number, turn in enumerate(found.case.trace.turns, start=1)}
    return [Link(f"turn {turns[step.turn_id]} step {step.index}", visible(step.step_id)) for step in reversed(found.case.trace.steps())]


def conversation(request: OperatorRequest, oid: str) -> HttpResponse:
    row, choice, found = looked_up(request, oid)
    return page(request, "conversation.html", _page(row, choice, found), part="rows", twins=("json", "md"))


def conversation_json(request: OperatorRequest, oid: str) -> HttpResponse:
    row, choice, found = looked_up(request, oid)
    report = _report(row, choice, found)
    report["revision"] = choice.revision
    if found.branches:
        report["tree"] = tree_report(found.branches, found.own_leaves)
    report["read"] = show.messages_report(found.case.reading)
    if job := found.case.program.job_lines(found.case.conversation, found.case.taken_at):
        report["job"] = {line.name: line.text for line in job}
        report["ledger_lines"] = [notation.dump_execution(run) for run in found.case.conversation.ledger]
    report["chunk_lines"] = [notation.dump_chunk(chunk) for chunk in found.case.conversation.chunks]
    return as_json(report)


def conversation_md(request: OperatorRequest, oid: str) -> HttpResponse:
    row, choice, found = looked_up(request, oid)
    if found.branches:
        # Of a tree the lines of `show --as tree` say more in less; its end is where the next turn goes on.
        first, *rest = tree_lines(found.branches, found.own_leaves)
        lines = [first, *rest] if len(rest) <= WINDOW else [first, f"… {len(rest) - WINDOW:,} lines before these", *rest[-WINDOW:]]
    else:
        runs = [notation.dump_execution(run) for run in found.case.conversation.ledger[:WINDOW]]
        lines = runs + [notation.dump_chunk(chunk) for chunk in found.case.conversation.chunks[:WINDOW]]
    query = {"rev": choice.revision, "reader": choice.reader} | {
        name: value for name, value in (("step", choice.step), ("leaf", choice.leaf), ("profile", request.GET.get("profile"))) if value
    }
    links = {"conversation": absolute(request, f"/conversations/{oid}/?{urlencode(query)}")}
    return as_markdown(markdown.conversation_md(_report(row, choice, found), lines, links, _told(row, choice, found)))


def _told(row: Conversation, choice: Choice, found: Analysis) -> list[str]:
    """What the trace adds to the store: the last request, and what it merged."""
    steps = found.case.trace.steps() if found.case.trace else []
    if not steps and found.branches:
        return []
    if not steps:
        return ["No trace was imported: what was really sent is not known."]
    finish, count = observe.finish_reason(steps[-1]), observe.tool_count(found.case.trace, steps[-1]) if found.case.trace else None
    tools = "an unknown number of" if count is None else count
    return [
        f"Last observed request: {steps[-1].step_id}, finish reason {finish or 'unknown'}, {tools} tools. {_then_and_now(row, choice, found)}"
    ]


def _report(row: Conversation, choice: Choice, found: Analysis) -> dict[str, object]:
    verdict = found.verdict
    if found.observed:
        # The judgement below it is that of the past request, so the headline is too.
        verdict = f"The request of {visible(choice.step)}, as observed: {found.judgement.verdict}. The next one: {verdict}"
    every = suggested(found.case, [finding for _, finding in found.findings], loading.stored(row, choice.revision))
    return scan.conversation_report(row.oid, found.case, every, {choice.profile: found.judgement}, verdict, found.prompt)
