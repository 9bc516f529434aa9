"""The inbox, which ranks what is broken by how dangerous it is, and the page of one finding."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, F, Max, Min, Sum, Window
from django.db.models.functions import RowNumber
from django.http import HttpResponse

from inspector.actions.import_source import finding_ids
from inspector.actions.undo_repair import UNDOABLE
from inspector.conversation import notation
from inspector.conversation.model import Chunk
from inspector.middleware import OperatorRequest
from inspector.models import Conversation, Finding, Repair, Source, loading
from inspector.planning.suggested import suggested
from inspector.profiles.judging import judged
from inspector.reports import markdown, scan
from inspector.rules.base import Case, Origin, Rule, Severity, findings
from inspector.rules.base import Finding as Found
from inspector.rules.catalogue import RULES, UnknownRule, rule
from inspector.strategies.base import Strategy
from inspector.strategies.catalogue import strategy
from inspector.views.conversation_list import DAMAGED, SEVERITY_RANK, Row, newest_first, open_findings, row_report, rows_of
from inspector.views.crashes import Crash, newest_crashes
from inspector.views.pages import absolute, as_json, as_markdown, page
from inspector.views.streams import Worst, summary, worst

RECENT = 12
CHUNKS_SHOWN = 30
SEVERITIES = ("error", "warning", "note")
GONE = "There is no finding with this id here: its conversation was never imported, or with another Inspector. The inbox lists what is open now."


@dataclass(frozen=True, slots=True)
class Trouble:
    """One rule with what it found: `newest` is its finding in the conversation that was active last."""

    code: str
    name: str
    about: Rule | None
    severity: str
    silent: bool
    conversations: int
    findings: int
    last_activity: int | None
    newest: Finding


@dataclass(frozen=True, slots=True)
class InboxPage:
    troubles: tuple[Trouble, ...]
    recent: tuple[Row, ...]
    conversations: int
    chunks: int
    sources: int
    damaged: int
    gone: int
    read_at: datetime | None
    crashes: tuple[Crash, ...]
    crash_total: int
    streams: Worst


def known_rule(code: str) -> Rule | None:
    """None for a code that an older Inspector stored and this one has no rule for."""
    try:
        return rule(code)
    except UnknownRule:
        return None


def troubles() -> tuple[Trouble, ...]:
    """Silent errors, loud errors, then warnings, then notes: what nobody notices does the most harm."""
    found = open_findings()
    place = Window(RowNumber(), partition_by=F("code"), order_by=[F("conversation__last_activity").desc(nulls_last=True), F("pk").asc()])
    newest = {finding.code: finding for finding in found.annotate(place=place).filter(place=1).select_related("conversation__source")}
    counted = found.values("code").annotate(
        worst=Min(SEVERITY_RANK), conversations=Count("conversation", distinct=True), n=Count("pk"), last=Max("conversation__last_activity")
    )
    ranked = [
        Trouble(
            row["code"],
            newest[row["code"]].rule,
            known_rule(row["code"]),
            SEVERITIES[row["worst"]],
            newest[row["code"]].silent,
            row["conversations"],
            row["n"],
            row["last"],
            newest[row["code"]],
        )
        for row in counted.order_by("code")
    ]
    return tuple(sorted(ranked, key=lambda row: (SEVERITIES.index(row.severity), not row.silent, -row.conversations, row.code)))


def _inbox() -> InboxPage:
    held = Conversation.objects.filter(is_gone=False)
    damaged = held.filter(DAMAGED)
    counts = held.aggregate(n=Count("pk"), chunks=Sum("chunk_count"))
    crashes, crash_total = newest_crashes()
    sources = Source.objects.aggregate(n=Count("pk"), read_at=Max("read_at"))
    return InboxPage(
        troubles=troubles(),
        recent=rows_of(newest_first(damaged)[:RECENT]),
        conversations=counts["n"],
        chunks=counts["chunks"] or 0,
        sources=sources["n"],
        damaged=damaged.count(),
        gone=Conversation.objects.filter(is_gone=True).count(),
        read_at=sources["read_at"],
        crashes=crashes,
        crash_total=crash_total,
        streams=worst(),
    )


def inbox(request: OperatorRequest) -> HttpResponse:
    return page(request, "inbox.html", _inbox(), twins=("json",))


def inbox_json(request: OperatorRequest) -> HttpResponse:
    content = _inbox()
    return as_json(
        {
            "conversations": content.conversations,
            "chunks": content.chunks,
            "sources": content.sources,
            "damaged": content.damaged,
            "gone": content.gone,
            "read_at": content.read_at.isoformat() if content.read_at else None,
            "rules": [_trouble_report(trouble) for trouble in content.troubles],
            "recent": [row_report(row) for row in content.recent],
            "streams": {
                "total": content.streams.total,
                "damaged": content.streams.damaged,
                "worst": [summary(row) for row in content.streams.rows],
            },
        }
    )


def _trouble_report(trouble: Trouble) -> dict[str, Any]:
    return {
        "code": trouble.code,
        "rule": trouble.name,
        "severity": trouble.severity,
        "silent": trouble.silent,
        "summary": trouble.about.summary if trouble.about else "",
        "conversations": trouble.conversations,
        "findings": trouble.findings,
        "last_activity": trouble.last_activity,
        "newest": {"conversation": trouble.newest.conversation.oid, "finding": trouble.newest.oid},
    }


@dataclass(frozen=True, slots=True)
class FindingPage:
    """A finding in the last revision that had it, as the reader that found it has that revision."""

    oid: str
    conversation: Conversation
    row: Finding
    fate: str
    """What became of it; "" while it is open."""
    repair: Repair | None
    """The repair after which it was no longer found."""
    case: Case
    finding: Found
    about: Rule
    chunks: tuple[Chunk, ...]
    repairs: tuple[Strategy, ...]


@dataclass(frozen=True, slots=True)
class NoFinding:
    gone: str


def _finding(oid: str) -> FindingPage | None:
    """None where no conversation has such a finding now."""
    row = Finding.objects.select_related("conversation__source").filter(oid=oid).first()
    about = known_rule(row.code) if row else None
    if row is None or about is None:
        return None
    case = loading.case(row.conversation, row.reader or row.conversation.source.reader, row.revision)
    found = dict(finding_ids(row.conversation.oid, findings(case, RULES))).get(oid) or _as_kept(row)
    if row.is_open:
        (found,) = suggested(case, [found], loading.stored(row.conversation, row.revision))
    wanted = set(found.seqs[:CHUNKS_SHOWN])
    chunks = tuple(chunk for chunk in case.conversation.chunks if chunk.seq in wanted)[:CHUNKS_SHOWN]
    fate, repair = ("", None) if row.is_open else _fate(row)
    repairs = tuple(strategy(name) for name in found.repaired_by) if row.is_open else ()
    return FindingPage(oid, row.conversation, row, fate, repair, case, found, about, chunks, repairs)


def _as_kept(row: Finding) -> Found:
    """Of a finding that this version's rules would not report on the same bytes: what was reported then."""
    severity, origin = Severity(row.severity), Origin(row.origin)
    return Found(row.code, row.rule, severity, row.silent, origin, row.message, tuple(row.seqs), row.total, row.key, ())


def _fate(row: Finding) -> tuple[str, Repair | None]:
    """Why it is not found now, and the repair that did it."""
    conversation, next_one = row.conversation, row.revision + 1
    repairs = conversation.repairs.filter(revision=row.revision, state__in=UNDOABLE).order_by("applied_at")
    repair = next((each for each in repairs if not each.options.get("fork_id")), None)
    if repair is not None:
        return (
            f"Repaired: {', then '.join(repair.strategies)} was applied to revision {row.revision}, and revision {next_one} no longer has it.",
            repair,
        )
    changed = conversation.revisions.filter(number=next_one).first()
    if changed is not None:
        return (
            f"No longer found: the conversation changed, and revision {next_one}, read {changed.seen_at:%Y-%m-%d %H:%M:%S} UTC, does not have it.",
            None,
        )
    if row.reader and row.reader != conversation.source.reader:
        return f"No longer found: the source is read by {conversation.source.reader} now, and {row.reader} found this.", None
    return "No longer found: the rules of this version of Inspector do not report it.", None


def finding(request: OperatorRequest, oid: str) -> HttpResponse:
    content = _finding(oid)
    if content is None:
        return page(request, "finding.html", NoFinding(GONE), status=404)
    return page(request, "finding.html", content, twins=("json", "md"))


def finding_json(request: OperatorRequest, oid: str) -> HttpResponse:
    content = _finding(oid)
    if content is None:
        return as_json({"error": GONE}, status=404)
    found = content.finding
    more = {"evidence": [list(row) for row in found.evidence]}
    now = {"revision": content.row.revision, "is_open": content.row.is_open, "fate": content.fate}
    now |= {"repair": content.repair.oid} if content.repair else {}
    return as_json({"id": oid, "conversation": content.conversation.oid, **now, **scan.finding_report(found), **more})


def finding_md(request: OperatorRequest, oid: str) -> HttpResponse:
    content = _finding(oid)
    if content is None:
        return HttpResponse(GONE + "\n", status=404, content_type="text/plain; charset=utf-8")
    row = content.conversation
    prompt, _ = judged(content.case.reading, content.case.conversation, row.judges[1], row.judges[0])
    report = scan.conversation_report(row.oid, content.case, [content.finding], {}, row.verdict, prompt)
    links = {
        "finding": absolute(request, f"/findings/{oid}/"),
        "conversation": absolute(request, f"/conversations/{row.oid}/{_at(content.row)}&finding={oid}"),
    }
    if content.repair:
        links["repair"] = absolute(request, f"/repairs/{content.repair.oid}/")
    return as_markdown(
        markdown.finding_md(report, content.finding, [notation.dump_chunk(chunk) for chunk in content.chunks], links, content.fate)
    )


def _at(row: Finding) -> str:
    """The query that shows the revision and reader of a finding, whatever is newer."""
    return f"?rev={row.revision}&reader={row.reader or row.conversation.source.reader}"
