"""One conversation: three columns by chunk, and its chunks one by one."""

from dataclasses import dataclass

from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404

from inspector.actions.undo_repair import UNDOABLE
from inspector.conversation import jsontext, notation
from inspector.conversation.jsontext import Unreadable
from inspector.conversation.model import Chunk
from inspector.conversation.queries import span_text
from inspector.detectors.base import Finding
from inspector.detectors.catalogue import rule
from inspector.middleware import OperatorRequest
from inspector.models import Conversation, Repair, Revision, loading
from inspector.profiles.catalogue import PROFILES, UnknownProfile
from inspector.projections.catalogue import PROJECTIONS, UnknownProjection
from inspector.projections.observed import NO_PROMPT
from inspector.readers.catalogue import UnknownReader, names
from inspector.readers.catalogue import reader as reader_named
from inspector.repairs.catalogue import strategy
from inspector.reports import markdown, scan, show
from inspector.reports.recorded_errors import Recorded, recorded_errors
from inspector.reports.standings import Refusal, Standing, accepting, refusals, unplaced
from inspector.reports.timeline import Strip, Timeline, merged_seqs, timeline
from inspector.reports.tree_text import tree_report
from inspector.reports.tree_view import TreeView, of_tree, tree_view
from inspector.reports.visible import size, visible
from inspector.traces import observe
from inspector.views.analysis import Analysis, analysis
from inspector.views.conversation_list import conversation_list, conversation_list_json
from inspector.views.crashes import Beside, beside
from inspector.views.judges import chosen_judges
from inspector.views.pages import Link, absolute, as_json, as_markdown, page

__all__ = [
    "chunk",
    "chunk_raw",
    "conversation",
    "conversation_json",
    "conversation_list",
    "conversation_list_json",
    "conversation_md",
]

WINDOW = 200
KINDS = ("text", "thinking", "tool-call", "tool-result", "error", "system", "image", "unreadable")
STAGES = ("stored", "read", "sent")
ROLES = ("user", "assistant", "tool", "system")
TEXT_SHOWN = 200_000


@dataclass(frozen=True, slots=True)
class Choice:
    """What the query string chooses; every part has a default, so that a bare address is a whole page."""

    reader: str
    projection: str
    profile: str
    revision: int
    step: str
    kind: str
    role: str
    find: str
    only_findings: bool
    finding: str
    at: int | None
    start: int | None
    """Place among the matching chunks; scrolling goes on by it, since seqs of hostile rows may repeat."""
    stage: str
    """The one column that a phone shows."""
    leaf: str = ""
    """The entry of a tree that the path leads to, as addresses name it; "" = what the reader takes."""
    tree_start: int = 0
    unfolded: int | None = None


@dataclass(frozen=True, slots=True)
class SelectedFinding:
    """The side panel: one finding with what it rests on and what would mend it."""

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
    unmended: str
    mends: tuple[tuple[str, str, str], ...]


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
    silent_from: int | None
    refused_from: int | None
    size: str
    then_and_now: str
    recommended: tuple[str, ...]
    repairs: list[Repair]
    prompt_body: str
    request_body: str
    is_prompt_known: bool
    is_step_recorded: bool
    recorded: tuple[Recorded, ...]
    standings: tuple[Standing, ...]
    refusals: tuple[Refusal, ...]
    unplaced: tuple[str, ...]
    accepting: tuple[str, ...]
    beside: Beside | None
    tree: TreeView | None


def _number(word: str) -> int | None:
    return int(word) if word.isdecimal() and len(word) < 16 else None


def _choice(request: OperatorRequest, row: Conversation) -> Choice:
    get = request.GET
    projection, profile = chosen_judges(get.get("as", ""), get.get("profile", ""), row.source)
    at, rev, start = get.get("at", ""), get.get("rev", ""), get.get("from", "")
    return Choice(
        reader=get.get("reader") or row.source.reader,
        projection=projection,
        profile=profile,
        revision=int(rev) if rev.isdecimal() and len(rev) < 9 else row.revision,
        step=get.get("step", ""),
        kind=get.get("kind", "") if get.get("kind") in KINDS else "",
        role=get.get("role", "") if get.get("role") in ROLES else "",
        find=get.get("q", "").strip(),
        only_findings=get.get("only") == "findings",
        finding=get.get("finding", ""),
        at=int(at) if at.isdecimal() and len(at) < 16 else None,
        start=int(start) if start.isdecimal() and len(start) < 16 else None,
        stage=get.get("stage", "") if get.get("stage") in STAGES else STAGES[0],
        leaf=get.get("leaf", ""),
        tree_start=_number(get.get("tree", "")) or 0,
        unfolded=_number(get.get("unfold", "")),
    )


def looked_up(request: OperatorRequest, oid: str) -> tuple[Conversation, Choice, Analysis]:
    row = get_object_or_404(Conversation.objects.select_related("source"), oid=oid)
    choice = _choice(request, row)
    try:
        return row, choice, analysed(row, choice, choice.step)
    except Revision.DoesNotExist:
        raise Http404("There is no such revision of this conversation.") from None
    except (UnknownReader, UnknownProjection, UnknownProfile) as problem:
        raise Http404(str(problem)) from None


def analysed(row: Conversation, choice: Choice, step: str = "") -> Analysis:
    return analysis(row, choice.reader, choice.projection, choice.profile, choice.revision, step, choice.leaf)


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


def _selected(found: Analysis, wanted: str) -> SelectedFinding | None:
    """By id, or by the code of its rule; the most dangerous one unless chosen."""
    for number, (oid, finding) in enumerate(found.findings):
        if wanted in (oid, finding.code, ""):
            before, before_seq = _anchor(found, number - 1)
            after, after_seq = _anchor(found, number + 1)
            about = rule(finding.code)
            mends = tuple(
                (name, strategy(name).summary, ", ".join(sorted(strategy(name).safety)) or "safe") for name in finding.repaired_by
            )
            total = len(found.findings)
            return SelectedFinding(
                oid, finding, number + 1, total, before, before_seq, after, after_seq, about.why, about.fixed_in_code, about.unmended, mends
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
    steps = _steps(found)
    selected = _selected(found, choice.finding)
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
    return ConversationPage(
        row=row,
        choice=choice,
        analysis=found,
        strip=found.strip,
        timeline=of_tree(timeline(found.columns, window, hits, is_end), found.case.tree, found.branches),
        selected=selected,
        readers=names(row.source.format),
        reader_note=reader_named(choice.reader).note,
        projections=[shape.name for shape in PROJECTIONS],
        profiles=[judge.name for judge in PROFILES],
        steps=steps,
        shown=len(window),
        matching=len(positions),
        earlier=max(0, start - WINDOW) if start else None,
        later=start + WINDOW if start + WINDOW < len(positions) else None,
        last=start + len(window),
        filtered=bool(choice.kind or choice.role or choice.find or choice.only_findings),
        silent_from=min(silent) if silent else None,
        refused_from=found.judgement.first_bad,
        size=size(sum(len(chunk.raw) for chunk in chunks)),
        then_and_now=_then_and_now(row, choice, found),
        recommended=found.recommended,
        repairs=_repairs(row, found),
        prompt_body=prompt_body,
        request_body=request_body,
        is_prompt_known=found.observed is None or NO_PROMPT not in found.observed.notes,
        is_step_recorded=choice.step in {link.href for link in steps},
        recorded=recorded_errors(found.case, [finding for _, finding in found.findings]),
        standings=found.standings,
        refusals=refusals(found.case.conversation, found.standings),
        unplaced=unplaced(found.standings),
        accepting=accepting(found.standings),
        beside=beside(row, found.case.conversation, found.case.taken_at),
        tree=tree_view(found.branches, found.own_leaves, choice.tree_start, choice.unfolded, choice.leaf) if found.branches else None,
    )


def _bodies(choice: Choice, found: Analysis) -> tuple[str, str]:
    """Names of the bodies of the shown step: what the kernel believed, what was sent; "" where there is none."""
    step = found.case.trace.step(choice.step) if found.case.trace and found.observed else None
    prompt = step.prompt.body if step and step.prompt else None
    request = step.request.body if step and step.request else None
    return prompt or "", request or ""


def _repairs(row: Conversation, found: Analysis) -> list[Repair]:
    """Repairs that stand in the store: of this conversation, and the one that made it."""
    standing = Repair.objects.filter(state__in=UNDOABLE, conversation__source=row.source).select_related("conversation")
    return list(standing.filter(Q(conversation=row) | Q(options__fork_id=found.case.conversation.native_id)).order_by("pk"))


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
    report["chunk_lines"] = [notation.dump_chunk(chunk) for chunk in found.case.conversation.chunks]
    return as_json(report)


def conversation_md(request: OperatorRequest, oid: str) -> HttpResponse:
    row, choice, found = looked_up(request, oid)
    lines = [notation.dump_chunk(chunk) for chunk in found.case.conversation.chunks[:WINDOW]]
    links = {"conversation": absolute(request, f"/conversations/{oid}/?rev={choice.revision}&reader={choice.reader}")}
    return as_markdown(markdown.conversation_md(_report(row, choice, found), lines, links, _told(row, choice, found)))


def _told(row: Conversation, choice: Choice, found: Analysis) -> list[str]:
    """What the trace adds to the store: the last request, and what it merged."""
    steps = found.case.trace.steps() if found.case.trace else []
    if not steps:
        return ["No trace was imported: what was really sent is not known."]
    finish, count = observe.finish_reason(steps[-1]), observe.tool_count(found.case.trace, steps[-1]) if found.case.trace else None
    tools = "an unknown number of" if count is None else count
    return [
        f"Last observed request: {steps[-1].step_id}, finish reason {finish or 'unknown'}, {tools} tools. {_then_and_now(row, choice, found)}"
    ]


def _report(row: Conversation, choice: Choice, found: Analysis) -> dict[str, object]:
    return scan.conversation_report(
        row.oid, found.case, [finding for _, finding in found.findings], {choice.profile: found.judgement}, found.verdict
    )


@dataclass(frozen=True, slots=True)
class ChunkPage:
    row: Conversation
    chunk: Chunk
    position: int
    text: str
    text_size: int
    is_cut: bool
    value: object | None
    raw: str


def chunk(request: OperatorRequest, oid: str, position: int) -> HttpResponse:
    """One chunk whole: its text, its row as JSON, its bytes."""
    row, found = _chunk(request, oid, position)
    raw = found.raw[:TEXT_SHOWN].decode("utf-8", "replace")
    try:
        value = jsontext.parse(jsontext.decode(found.raw)) if len(found.raw) <= TEXT_SHOWN else None
    except Unreadable:
        value = None
    content = ChunkPage(
        row, found, position, found.text[:TEXT_SHOWN], len(found.text), max(len(found.text), len(found.raw)) > TEXT_SHOWN, value, raw
    )
    return page(request, "chunk.html", content)


def chunk_raw(request: OperatorRequest, oid: str, position: int) -> HttpResponse:
    """The stored bytes as a download: content is hostile and never rendered."""
    _, found = _chunk(request, oid, position)
    return HttpResponse(
        found.raw,
        content_type="application/octet-stream",
        headers={"Content-Disposition": f'attachment; filename="{oid}-seq-{found.seq}.json"'},
    )


def _chunk(request: OperatorRequest, oid: str, position: int) -> tuple[Conversation, Chunk]:
    row = get_object_or_404(Conversation.objects.select_related("source"), oid=oid)
    try:
        chunks = loading.stored(row, _choice(request, row).revision).conversation.chunks
    except Revision.DoesNotExist:
        raise Http404("There is no such revision of this conversation.") from None
    if position >= len(chunks):
        raise Http404("The conversation has no such chunk.")
    return row, chunks[position]
