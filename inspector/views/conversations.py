"""One conversation: three columns by chunk, and its chunks one by one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.http import HttpResponse

from inspector.actions.undo_repair import UNDOABLE
from inspector.conversation import notation
from inspector.conversation_file import conversation_file
from inspector.middleware import OperatorRequest
from inspector.models import Conversation, Repair, loading, searching
from inspector.planning.suggested import suggested
from inspector.presentation import markdown
from inspector.presentation.conversation import scan, show
from inspector.presentation.conversation.chips import Chip, chips
from inspector.presentation.conversation.overview import Overview, recorded_steps
from inspector.presentation.conversation.placed import BLOCK
from inspector.presentation.conversation.profile_verdicts import Profiles
from inspector.presentation.conversation.timeline import Timeline, timeline
from inspector.presentation.conversation.verdict import FROM_STREAM, INTACT, REJECTED, NextRequest
from inspector.presentation.conversation.windows import Filter, has_seq, shown
from inspector.presentation.tree.text import tree_lines, tree_report
from inspector.presentation.tree.view import SMALL, TreeView, tree_view
from inspector.presentation.visible import size, visible
from inspector.profiles.catalogue import PROFILES
from inspector.programs.registry import program_or_default
from inspector.projections.catalogue import all_projections
from inspector.readers.catalogue import names
from inspector.readers.catalogue import reader as reader_named
from inspector.rules.base import Finding, Rule, Severity, observed_trace
from inspector.rules.catalogue import rule
from inspector.strategies.catalogue import strategy
from inspector.traces import observe
from inspector.views import facts
from inspector.views.advice import RepairAdvice, advice
from inspector.views.analysis import Analysis
from inspector.views.choice import LEDGER, STAGES, Choice, analysed, looked_up, looked_up_for
from inspector.views.content import Content, Findings, content, then_and_now
from inspector.views.conversation_list import live_request
from inspector.views.crashes import CrashLinks, crash_links
from inspector.views.live import live
from inspector.views.pages import absolute, as_json, as_markdown, origin_of, page, unless_unchanged

LINES = 200
"""Chunks in the Markdown twin."""
FINDINGS_SHOWN = 30
FAR = 5
"""Rows between those that are read and the first finding from which on the page begins with the finding."""


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
    overview: Overview
    timeline: Timeline
    selected: SelectedFinding | None
    off_path: frozenset[str]
    """Ids of findings on other branches than the one that a person chose."""
    shared_finding: str
    """What links that leave the machine name the finding of the address by; "" where it names none by an id."""
    findings: Sequence[tuple[str, Finding]]
    """The first of them, with their ids."""
    readers: list[str]
    reader_note: str
    projections: list[str]
    profile_names: list[str]
    shown: int
    matching: int
    earlier: int | None
    before: int
    """How many rows there are before the first that is shown."""
    is_from_live: bool
    """Whether the address names no row, so that a conversation that was compacted is shown from where its reader begins."""
    later: int | None
    last: int
    filtered: bool
    size: str
    then_and_now: str
    recommended: tuple[str, ...]
    advice: RepairAdvice | None
    worst: tuple[str, Finding, str] | None
    """The most dangerous finding with its id, and what to do where no strategy repairs it; None where there are only notes."""
    repairs: list[Repair]
    is_step_recorded: bool
    profiles: Profiles | None
    crash_links: CrashLinks | None
    tree: TreeView | None
    stages: tuple[str, ...]
    stale_since: datetime | None
    live: NextRequest
    """Of the path that the program takes, where another one is chosen."""

    @property
    def is_long(self) -> bool:
        """Whether its numbers have more than three digits."""
        return self.overview.chunks >= 1_000

    @property
    def index_names(self) -> tuple[tuple[str, str], ...]:
        """The columns of a row's place, each with what it counts."""
        if self.tree:
            return ((self.tree.unit, f"{self.tree.unit} of the session"),)
        if program_or_default(self.overview.format).numbering.is_stored:
            return ("msgIdx", "number of the message, as stored"), ("chunkIdx", "number of the chunk in its message, as stored")
        return ("msg", "place of the message, counted from 0"), ("block", "place of the block in its message, counted from 0")

    @property
    def place_columns(self) -> int:
        """The columns up to the words of a row."""
        return len(self.index_names) + (5 if self.tree else 4)

    @property
    def sentence(self) -> str:
        """The verdict without what is said next to it: that the store has no damage of its own, how many messages are lost, that the next request is rejected, and where."""
        verdict = self.overview.verdict
        words = verdict.damage if verdict.next_request.state == REJECTED else verdict.text
        words = words.replace(f" and leaves out {verdict.left_out}", "", 1)
        for of_store in (INTACT, FROM_STREAM):
            words = words.replace(f"{of_store}, but ", "", 1)
        return words

    @property
    def damage(self) -> str:
        """What is wrong with a tree, in place of how many of its messages are read: the first sentence of its most dangerous finding, unless that is said below; and what the model gets instead."""
        if not self.tree or not self.worst or self.choice.finding or self.worst[0] in self.off_path:
            return ""
        finding = self.worst[1]
        first, _, rest = finding.message.partition(". ")
        is_replaced = any(row.cell.sent_as and row.cell.answers in finding.seqs for row in self.overview.inserted)
        return f"{first}{'.' if rest else ''}{' The model gets a synthetic one instead.' if is_replaced else ''}"

    @property
    def chips(self) -> tuple[Chip, ...]:
        return chips(self.overview)

    @property
    def waiting(self) -> Repair | None:
        """The repair that waits to be approved or written; of a chosen branch another one is looked for."""
        return None if self.choice.leaf else Repair.waiting_of(self.row).first()

    @property
    def repair_href(self) -> str:
        """The options of a repair, with what is recommended."""
        branch = [("reader", visible(self.choice.reader)), ("leaf", visible(self.choice.leaf))] if self.choice.leaf else []
        return f"/conversations/{self.row.oid}/repairs/new/?{urlencode([*(('strategy', name) for name in self.recommended), *branch])}".removesuffix(
            "?"
        )

    @property
    def is_tree_open(self) -> bool:
        """Whether the address is about the tree, or most of a small one is what the reader does not reach: then that is what happened, and the table does not have it."""
        is_chosen = bool(self.choice.tree_start or self.choice.unfolded is not None)
        is_of_leaf = self.tree is not None and bool(self.tree.chosen)
        return is_chosen or (
            not is_of_leaf and self.tree is not None and self.tree.entries <= SMALL and self.tree.reached * 2 < self.tree.entries
        )


def _filter(row: Conversation, choice: Choice) -> Filter:
    positions = _matching(row, choice.revision, choice.find) if choice.find else None
    return Filter(choice.kind, choice.role, choice.only_findings, positions)


def _matching(row: Conversation, revision: int, find: str) -> list[int]:
    """Places of the chunks that have it in their words; where none has, in their stored bytes: an entry's id, a piece of a signature."""
    return searching.matching_positions(row, revision, find) or searching.positions_in_bytes(row, revision, find)


def _selected(choice: Choice, findings: Findings, total: int) -> SelectedFinding | None:
    """By id, or by the code of its rule; the most dangerous one unless chosen."""
    number = findings.number(choice.finding)
    chosen = None if number is None else findings.at(number)
    if number is None or chosen is None:
        return None
    finding = findings.suggested(number)
    before, before_seq = _anchor(findings, number - 1)
    after, after_seq = _anchor(findings, number + 1)
    repairs = tuple((name, strategy(name).summary, ", ".join(sorted(strategy(name).safety)) or "safe") for name in finding.repaired_by)
    return SelectedFinding(
        oid=chosen[0],
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


def _off_path(content: Content, selected: SelectedFinding | None) -> frozenset[str]:
    """Of the first findings and the selected one. What is found above a cut in the path is not off it."""
    tree = content.overview.tree
    if tree is None:
        return frozenset()
    above = {entry.seq for entry in tree.above_cut}
    some = [*content.findings.first(FINDINGS_SHOWN), *([(selected.oid, selected.finding)] if selected else [])]
    return frozenset(
        oid for oid, finding in some if finding.seqs and not any(seq in above or has_seq(content.blocks, seq) for seq in finding.seqs)
    )


def _shared(row: Conversation, choice: Choice, selected: SelectedFinding | None) -> str:
    if selected is None or choice.finding != selected.oid:
        return ""
    return row.findings.filter(oid=selected.oid).values_list("identity", flat=True).first() or ""


def _anchor(findings: Findings, number: int) -> tuple[str, int | None]:
    """Id and first seq of a finding by its number; "" where there is none, None where it is about the whole conversation."""
    anchor = findings.at(number)
    return ("", None) if anchor is None else (anchor[0], anchor[1].seqs[0] if anchor[1].seqs else None)


def _worst(findings: Findings, has_chunks: bool) -> tuple[str, Finding, str] | None:
    first = findings.at(0)
    if first is None or first[1].severity is Severity.NOTE:
        return None
    finding = findings.suggested(0)
    return first[0], finding, finding.no_repair_reason if has_chunks else ""


def _page(row: Conversation, choice: Choice, content: Content) -> ConversationPage:
    overview, choice_of_rows = content.overview, _filter(row, choice)
    is_from_live = choice.at is None and choice.start is None and not choice_of_rows.is_any
    selected = _selected(choice, content.findings, overview.findings)
    at = overview.live_from if is_from_live else choice.at
    first_row = 0 if at is None and choice.finding else at
    if is_from_live and first_row is not None and selected and selected.finding.seqs and selected.finding.seqs[0] > first_row + FAR:
        # What is wrong, and what a link leads to, is to be seen without scrolling: with fewer rows before it than where an address asks for it.
        at, is_from_live = selected.finding.seqs[0] + 1, False
    rows = shown(content.blocks, overview.chunks, choice_of_rows, at, choice.start)
    highlighted = frozenset(selected.finding.seqs) if selected and choice.finding else frozenset()
    count = len(rows.window.rows)
    is_last = rows.start + BLOCK >= rows.matching
    return ConversationPage(
        row=row,
        choice=choice,
        live=live_request(row, choice.leaf, choice.reader),
        overview=overview,
        timeline=timeline(rows.window, overview.inserted, highlighted, is_last and not overview.observed),
        selected=selected,
        off_path=_off_path(content, selected),
        shared_finding=_shared(row, choice, selected),
        findings=content.findings.first(FINDINGS_SHOWN) if overview.findings > 1 else (),
        readers=names(row.source.format),
        reader_note=reader_named(choice.reader).note,
        projections=[shape.name for shape in all_projections()],
        profile_names=[judge.name for judge in PROFILES],
        shown=count,
        matching=rows.matching,
        earlier=max(0, rows.start - BLOCK) if rows.start else None,
        before=rows.start,
        is_from_live=is_from_live,
        later=None if is_last else rows.start + BLOCK,
        last=rows.start + count,
        filtered=choice_of_rows.is_any,
        size=size(overview.stored_bytes),
        then_and_now=content.then_and_now,
        recommended=content.recommended,
        advice=advice(row.oid, content.recommended, choice.reader, choice.leaf),
        worst=_worst(content.findings, bool(overview.chunks)),
        repairs=_repairs(row, overview.native_id),
        is_step_recorded=choice.step in {step.step_id for step in overview.steps},
        profiles=content.profiles,
        crash_links=crash_links(row, overview.format, overview.ending, overview.crashes),
        tree=_tree(row, choice, overview),
        stages=tuple(stage for stage in STAGES if stage != LEDGER or overview.ledger),
        stale_since=content.stale_since,
    )


def _tree(row: Conversation, choice: Choice, overview: Overview) -> TreeView | None:
    """The kept window, or another one that the address names."""
    if overview.tree is None or not (choice.tree_start or choice.unfolded is not None):
        return overview.tree
    analysis = analysed(row, choice)
    return tree_view(analysis.branches, analysis.own_leaves, choice.tree_start, choice.unfolded, choice.leaf) if analysis.branches else None


def _repairs(row: Conversation, native_id: str) -> list[Repair]:
    """Repairs that are in the store: of this conversation, and the one that created it."""
    standing = Repair.objects.filter(state__in=UNDOABLE, conversation__source=row.source).select_related("conversation").order_by("pk")
    return [repair for repair in standing if repair.conversation_id == row.pk or repair.options.get("fork_id") == native_id]


@unless_unchanged(facts.of_conversation)
def conversation(request: OperatorRequest, oid: str) -> HttpResponse:
    row, choice, chosen_content = looked_up_for(request, oid, content)
    return page(
        request,
        "conversation.html",
        _page(row, choice, chosen_content),
        part="rows",
        twins=("json", "md", "html"),
        live=live("conversation", row.oid),
    )


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
        lines = [first, *tail] if len(tail) <= LINES else [first, f"… {len(tail) - LINES:,} lines before these", *tail[-LINES:]]
    else:
        runs = [notation.dump_execution(run) for run in analysis.case.conversation.ledger[:LINES]]
        lines = runs + [notation.dump_chunk(chunk) for chunk in analysis.case.conversation.chunks[:LINES]]
    query = {"rev": choice.revision, "reader": choice.reader} | {
        name: value for name, value in (("step", choice.step), ("leaf", choice.leaf), ("profile", request.GET.get("profile"))) if value
    }
    links = {"conversation": absolute(request, f"/conversations/{row.shared_id}/?{urlencode(query)}")}
    text = markdown.conversation_md(_report(row, choice, analysis), lines, links, _trace_notes(row, choice, analysis))
    command = ("scan", row.source.path, "--conversation", row.native_id, "--reader", choice.reader)
    return as_markdown(text + origin_of(row, choice.revision, *command))


@unless_unchanged(facts.of_analysis)
def conversation_html(request: OperatorRequest, oid: str) -> HttpResponse:
    """One file to hand on, as `show --as html` writes it."""
    row, choice, analysis = looked_up(request, oid)
    results = [finding for _, finding in analysis.findings]
    text = conversation_file(analysis.case, results, analysis.verdict.text, row.source.path, choice.revision, choice.profile)
    return HttpResponse(text, headers={"Content-Disposition": f'attachment; filename="{row.shared_id}.html"'})


def _trace_notes(row: Conversation, choice: Choice, analysis: Analysis) -> list[str]:
    """What the trace adds to the store: the last request, and what it merged."""
    trace = observed_trace(analysis.case)
    steps = trace.steps() if trace else []
    if not steps and analysis.branches:
        return []
    if not steps:
        return ["No trace was imported: what was really sent is not known."]
    finish, tools_sent = (
        observe.finish_reason(steps[-1]),
        observe.tool_count(trace, steps[-1]) if trace else None,
    )
    tools = "an unknown number of" if tools_sent is None else tools_sent
    return [
        f"Last observed request: {steps[-1].step_id}, finish reason {finish or 'unknown'}, {tools} tools. {then_and_now(row, choice, recorded_steps(analysis.case))}"
    ]


def _report(row: Conversation, choice: Choice, analysis: Analysis) -> dict[str, object]:
    verdict = analysis.verdict.text
    if analysis.observed:
        # The judgement below it is that of the past request, so the headline is too.
        verdict = f"The request of {visible(choice.step)}, as observed: {analysis.judgement.verdict}. The next one: {verdict}"
    all_findings = suggested(analysis.case, [finding for _, finding in analysis.findings], loading.stored(row, choice.revision))
    return scan.conversation_report(row.oid, analysis.case, all_findings, {choice.profile: analysis.judgement}, verdict, analysis.prompt)
