"""A repair from preview to undo. Every act is one POST with one public function behind it."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_POST

from inspector.actions.apply_repair import apply_repair
from inspector.actions.decide_repair import approve_repair, reject_repair
from inspector.actions.planning import Request, mode_named, preview_of, preview_repair, request_for, web_may_write
from inspector.actions.problems import Refused
from inspector.actions.propose_repair import propose_repair
from inspector.actions.undo_repair import UNDOABLE, is_written, undo_repair, verify_repair
from inspector.detectors.base import Finding, findings
from inspector.detectors.catalogue import RULES
from inspector.formats.base import Change, WriteMode
from inspector.middleware import OperatorRequest
from inspector.models import Conversation, Repair, loading
from inspector.profiles.judging import judged
from inspector.readers.catalogue import names
from inspector.repairs.base import Strategy
from inspector.repairs.catalogue import STRATEGIES
from inspector.repairs.preview import DiffRow, Preview
from inspector.repairs.recommend import at_once
from inspector.reports import markdown, plan
from inspector.reports.visible import size, visible
from inspector.views.pages import absolute, as_json, as_markdown, page

STATES = ("proposed", "approved", "applied", "verified")


@dataclass(frozen=True, slots=True)
class DiffRun:
    """Neighbouring rows of one kind; long runs of rows whose content is equal are folded."""

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
    changes: tuple[Change, ...]
    change_total: int
    size: str
    safety: str


@dataclass(frozen=True, slots=True)
class NewRepairPage:
    row: Conversation
    chosen: tuple[str, ...]
    strategies: tuple[Strategy, ...]
    named: frozenset[str]
    """Those that a finding names."""
    near: frozenset[str]
    """These and the chosen ones; the others are folded away."""
    recommended: tuple[str, ...]
    mode: str
    modes: tuple[WriteMode, ...]
    reader: str
    readers: list[str]
    may_write: bool
    part: PreviewPart | None
    problem: str


@dataclass(frozen=True, slots=True)
class RepairPage:
    repair: Repair
    part: PreviewPart | None
    problem: str
    steps: tuple[tuple[str, str], ...]
    may_write: bool
    second_approver: bool
    can_undo: bool
    standing: str
    stands: bool
    target: str
    reach: str


def _runs(rows: tuple[DiffRow, ...], shown: int = 3, least: int = 6) -> tuple[DiffRun, ...]:
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


def preview_part(preview: Preview) -> PreviewPart:
    words = {
        "reindexed": "re-indexed (content digests equal)",
        "changed": "changed",
        "removed": "removed",
        "inserted": "inserted",
        "same": "untouched",
    }
    numbers = [(len([row for row in preview.rows if row.op == op]), text) for op, text in words.items()]
    summary = " · ".join(f"{count} {text}" for count, text in numbers if count)
    safety = " and ".join(sorted(preview.plan.safety)) or "safe"
    return PreviewPart(
        preview, _runs(preview.rows), _counts(preview.before.findings, preview.after.findings), summary,
        preview.changes[:200], len(preview.changes), size(preview.bytes_written), safety,
    )  # fmt: skip


def _asked(request: OperatorRequest, row: Conversation) -> tuple[tuple[str, ...], str, str]:
    """Strategies, mode and reader that the query or form asks for."""
    data = request.POST if request.method == "POST" else request.GET
    wanted = tuple(dict.fromkeys(data.getlist("strategy")))
    reader = data.get("reader") if data.get("reader") in names(row.source.format) else row.source.reader
    return tuple(found.name for found in STRATEGIES if found.name in wanted), data.get("mode", ""), str(reader)


def _new_page(request: OperatorRequest, row: Conversation) -> NewRepairPage:
    chosen, mode, reader = _asked(request, row)
    format_ = loading.format_of(row.source)
    part, problem = None, ""
    case = loading.case(row, row.source.reader)
    troubles = findings(case, RULES)
    judgement = judged(case.reading, case.conversation, row.source.profile, row.source.projection)[1]
    found = at_once(case, troubles, judgement, row.source.projection).way.strategies
    named = frozenset(name for finding in troubles for name in finding.repaired_by)
    try:
        mode = mode_named(format_, mode)
        if chosen:
            part = preview_part(
                preview_of(loading.case(row, reader), loading.stored(row), format_, row.source.path, _request(row, chosen, mode, reader))
            )
    except Refused as refusal:
        problem = str(refusal)
    return NewRepairPage(
        row,
        chosen,
        STRATEGIES,
        named,
        named | frozenset(chosen),
        tuple(each.name for each in found),
        mode,
        format_.modes,
        reader,
        names(row.source.format),
        web_may_write(row.source),
        part,
        problem,
    )


def _request(row: Conversation, chosen: tuple[str, ...], mode: str, reader: str) -> Request:
    return request_for(row.source, loading.stored(row), chosen, mode, reader)


def new(request: OperatorRequest, oid: str) -> HttpResponse:
    """GET previews and writes nothing; POST proposes."""
    row = get_object_or_404(Conversation.objects.select_related("source"), oid=oid)
    if request.method != "POST":
        return page(request, "repair_new.html", _new_page(request, row), part="preview", twins=("json",))
    chosen, mode, reader = _asked(request, row)
    try:
        repair = propose_repair(row, _request(row, chosen, mode, reader), request.operator)
    except Refused as refusal:
        messages.error(request, visible(str(refusal)))
        asked = urlencode({"strategy": chosen, "mode": mode, "reader": reader}, doseq=True)
        return HttpResponseRedirect(f"{request.path}?{asked}" if len(asked) < 500 else request.path)
    return HttpResponseRedirect(f"/repairs/{repair.oid}/")


def new_json(request: OperatorRequest, oid: str) -> HttpResponse:
    row = get_object_or_404(Conversation.objects.select_related("source"), oid=oid)
    content = _new_page(request, row)
    if content.part is None:
        return as_json(
            {"error": content.problem or "Name at least one strategy.", "strategies": [found.name for found in STRATEGIES]}, status=400
        )
    return as_json(plan.plan_report(row.oid, content.part.preview))


def _repair_page(repair: Repair) -> RepairPage:
    source = repair.conversation.source
    part, problem, stands, standing, reach = None, "", False, "", ""
    try:
        part = preview_part(preview_repair(repair))
    except Refused as refusal:
        problem = str(refusal)
    try:
        if repair.state in UNDOABLE or is_written(repair):
            stands, standing = verify_repair(repair)
    except Refused as refusal:
        standing = str(refusal)
    target = ""
    if part is not None:
        native = loading.format_of(source).target(part.preview.plan)
        found = Conversation.objects.filter(source=source, native_id=visible(native), is_gone=False).first()
        target = found.oid if found else ""
        if native != part.preview.plan.conversation:
            reach = _reach(repair, native)
    return RepairPage(
        repair, part, problem, _steps(repair), web_may_write(source), settings.INSPECTOR_REQUIRE_SECOND_APPROVER,
        repair.state in UNDOABLE and stands, standing, stands, target, visible(reach),
    )  # fmt: skip


def _reach(repair: Repair, native: str) -> str:
    """How users get to a fork: what will be, what is, and nothing where it is no more."""
    title = repair.options.get("title", "")
    what = f"“{title}” (id {native})" if title else f"id {native}"
    if repair.state in (Repair.State.PROPOSED, Repair.State.APPROVED):
        return f"The repaired history will be a conversation of its own, {what}, beside the original, which stays as it is. It is not there yet."
    if repair.state in UNDOABLE:
        return f"The repaired history is a conversation of its own, {what}: it stands in the program's list. Tell its users to go on there; the original stays as it is."
    return ""


def _steps(repair: Repair) -> tuple[tuple[str, str], ...]:
    """(name, state) of each step of the way: done, now, or nothing yet; what ended it stands last."""
    order = list(STATES)
    state = str(repair.state)
    if state in order:
        at = order.index(state)
        return tuple((name, "done" if place <= at else "now" if place == at + 1 else "") for place, name in enumerate(order))
    reached = {"rejected": 1, "stale": 1 + bool(repair.approved_digest), "failed": 2, "undone": 4}.get(state, 1)
    return (*((name, "done") for name in order[:reached]), (state, "end"))


def repair(request: OperatorRequest, oid: str) -> HttpResponse:
    found = get_object_or_404(Repair.objects.select_related("conversation__source"), oid=oid)
    return page(request, "repair.html", _repair_page(found), twins=("json", "md"))


def _facts(found: Repair) -> dict[str, Any]:
    times = {
        name: value.isoformat() if (value := getattr(found, name)) else None
        for name in ("proposed_at", "approved_at", "applied_at", "undone_at")
    }
    people = {name: getattr(found, name) for name in ("proposed_by", "approved_by", "applied_by", "undone_by")}
    return {
        "repair": found.oid, "state": found.state, "outcome": found.outcome, "strategies": found.strategies, "rehearsal": found.rehearsal, **people, **times,
    }  # fmt: skip


def repair_json(request: OperatorRequest, oid: str) -> HttpResponse:
    found = get_object_or_404(Repair.objects.select_related("conversation__source"), oid=oid)
    try:
        return as_json({**plan.plan_report(found.conversation.oid, preview_repair(found)), **_facts(found)})
    except Refused as refusal:
        return as_json({"error": str(refusal), **_facts(found)}, status=409)


def repair_md(request: OperatorRequest, oid: str) -> HttpResponse:
    found = get_object_or_404(Repair.objects.select_related("conversation__source"), oid=oid)
    try:
        report = plan.plan_report(found.conversation.oid, preview_repair(found))
    except Refused as refusal:
        return as_markdown(f"{markdown.prose(str(refusal))}\n", status=409)
    said = {**_facts(found), "strategies": ", then ".join(found.strategies), "rehearsal": found.rehearsal.get("sentence", "")}
    return as_markdown(markdown.repair_md(report, said, {"repair": absolute(request, f"/repairs/{oid}/")}))


@dataclass(frozen=True, slots=True)
class RepairList:
    repairs: Page[Repair]
    total: int


def repair_list(request: OperatorRequest) -> HttpResponse:
    found = Paginator(Repair.objects.select_related("conversation__source"), 50)
    return page(request, "repairs.html", RepairList(found.get_page(request.GET.get("page")), found.count), twins=("json",))


def repair_list_json(request: OperatorRequest) -> HttpResponse:
    found = Repair.objects.select_related("conversation__source")[:500]
    return as_json(
        {
            "repairs": [
                {**_facts(each), "conversation": each.conversation.oid, "mode": each.mode, "plan_digest": each.plan_digest}
                for each in found
            ]
        }
    )


def _act(request: OperatorRequest, oid: str, act: Callable[[Repair], None], done: str) -> HttpResponse:
    """One act on one repair; a refusal becomes a sentence on its page."""
    found = get_object_or_404(Repair.objects.select_related("conversation__source"), oid=oid)
    try:
        act(found)
    except Refused as refusal:
        messages.error(request, visible(str(refusal)))
    else:
        messages.success(request, done)
    return HttpResponseRedirect(f"/repairs/{oid}/")


@require_POST
def approve(request: OperatorRequest, oid: str) -> HttpResponse:
    signed, knows = request.POST.get("digest", ""), request.POST.get("knows") == "on"
    return _act(
        request,
        oid,
        lambda found: approve_repair(found, request.operator, signed, knows),
        "Approved. Nothing is written yet: apply does that.",
    )


@require_POST
def reject(request: OperatorRequest, oid: str) -> HttpResponse:
    return _act(request, oid, lambda found: reject_repair(found, request.operator), "Rejected. Nothing was written.")


@require_POST
def apply(request: OperatorRequest, oid: str) -> HttpResponse:
    return _act(
        request,
        oid,
        lambda found: apply_repair(found, request.operator),
        "Applied and verified: read back from the store, every byte and finding as previewed.",
    )


@require_POST
def undo(request: OperatorRequest, oid: str) -> HttpResponse:
    return _act(
        request, oid, lambda found: undo_repair(found, request.operator), "Undone: every record holds its bytes from before the repair."
    )
