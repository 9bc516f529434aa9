"""The inbox, a tracker of problems, the most dangerous first."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from time import time

from django.db.models import Count, Max, Min, OuterRef, Q, Subquery, Sum
from django.http import HttpResponse

from inspector.middleware import OperatorRequest
from inspector.models import (
    Conversation,
    ConversationCount,
    ConversationRule,
    Finding,
    Occurrence,
    Problem,
    Repair,
    RuleCount,
    SavedView,
    Source,
    StreamFinding,
)
from inspector.models.problem import SEVERITIES, WORST_FIRST
from inspector.presentation.conversation.ending import WRONG_SILENTLY
from inspector.presentation.conversation.verdict import REJECTED, SILENT
from inspector.presentation.json_text import Json, json_fields
from inspector.presentation.visible import clipped
from inspector.rules.base import Rule
from inspector.views import problem_list
from inspector.views.conversation_list import (
    DAMAGED,
    RULE_KEYS,
    SEVERITY_RANK,
    is_without_demo,
    missing,
    newest_first,
    row_report,
    rows_of,
    waiting_of,
    with_rule,
)
from inspector.views.live import live
from inspector.views.pages import as_json, page
from inspector.views.paging import ListWindow
from inspector.views.problem_list import NEXT_REQUESTS, TABS, Choices, ProblemFilters, ProblemRow, Shown, known_rule
from inspector.views.repair_rows import RepairRow
from inspector.views.repair_rows import rows_of as rows_of_repairs
from inspector.views.streams import summaries, worst

RECENT = 12
FIRST_ROWS, FIRST_WORDS, WORDS_OF_LINE = 12, 212, 9
WORDS_OF_HEADING = 3
FIRST_REPAIRS, FIRST_WORDS_OF_REPAIRS = 9, 213
"""Rows of the first screen at 1440 x 900, and their words: with what is around them it has below 250."""
HOLDING = Q(is_trace=False) | Q(stream_count__gt=0) | Q(gone_stream_count__gt=0)
"""Sources that may have problems: stores, and captures."""
REVIEWS = 50


@dataclass(frozen=True, slots=True)
class RuleProblem:
    """One rule with the counts of its findings: `newest` is its worst one in the conversation that the list of the rule begins with."""

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
class Totals:
    """Of everything that was imported, from stored counts; of conversations those that their stores still have."""

    conversations: int
    chunks: int
    damaged: int
    gone: int
    crashes: int
    sources: int
    read_at: datetime | None
    streams: int
    damaged_streams: int


@dataclass(frozen=True, slots=True)
class Tab:
    name: str
    words: str
    count: int
    query: str


@dataclass(frozen=True, slots=True)
class Start:
    """The first finding of a problem in the conversation that was active last, or in the first stream; `rule` and `message` are those of the finding."""

    href: str
    title: str
    rule: str
    message: str
    waiting: Repair | None = None
    """A repair of its conversation, which is named in place of the message."""
    state: str = ""
    """Of the next request of its conversation, as `NextRequest.state`."""
    outcome: str = ""
    """Why to start there: that the next request is rejected or wrong; "" where it passes, or is not known."""

    @property
    def words(self) -> str:
        """The rule, whose summary is in the first row, next to what becomes of the request; else the first sentence of the message."""
        if self.outcome:
            return self.rule
        first, end, _ = self.message.partition(". ")
        return first + end.strip()

    @property
    def shown(self) -> str:
        """About what the line says."""
        words = f"repair {self.waiting.oid[:6]} {self.waiting.waits_for}" if self.waiting else clipped(self.words, 110)[0]
        return f"Start here: {clipped(self.title, 50)[0]} {self.outcome} {words}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxPage:
    """`repairs` are those that wait for a review, in their tab; `start` is a finding of the first problem in the conversation that was active last, without crash files."""

    totals: Totals
    filters: ProblemFilters
    tabs: tuple[Tab, ...]
    rows: tuple[ProblemRow, ...]
    here: ListWindow[Problem]
    repairs: tuple[RepairRow, ...]
    without_demo: bool
    choices: Choices
    views: tuple[SavedView, ...]
    start: Start | None
    filters_on: tuple[Shown, ...]
    orders: tuple[Shown, ...]
    next_requests: tuple[Shown, ...]
    groups: dict[int, int]
    """Rank -> how many problems of the tab have it; empty where the list is sorted otherwise."""

    @property
    def title(self) -> str:
        """Of what is searched for or filtered; "" where all problems of the tab are listed."""
        f = self.filters
        outcome = NEXT_REQUESTS[f.next_request] if f.next_request else ""
        # Of what is found next to the cause its row says that it has another one.
        happens = {REJECTED: "is rejected", WRONG_SILENTLY: "goes wrong silently"}.get(outcome)
        following = f"may be why the next request {happens}" if happens else f"next request {outcome}" if outcome else ""
        words = [following, *(shown.words for shown in self.filters_on), f.q and f"“{f.q}”"]
        if f.tab == problem_list.REVIEW or not any(words):
            return ""
        return f"{self.here.total:,} {f.tab} problem{'' if self.here.total == 1 else 's'}: {', '.join(filter(None, words))}"

    @property
    def has_assigned(self) -> bool:
        return any(row.problem.assigned_to for row in self.rows)

    @property
    def first_rows(self) -> int:
        """How many rows the first screen has."""
        # A heading is in the place of the last, and of one more.
        return FIRST_ROWS - min(2, len({row.problem.rank for row in self.rows[:FIRST_ROWS]})) if self.groups else FIRST_ROWS

    @property
    def summary_words(self) -> int:
        """So many words of each summary there that it stays short: all of them, unless its rows say much else."""
        now, rows = int(time() * 1000), self.rows[: self.first_rows]
        others = sum(row.other_words(now) for row in rows) + (len(self.start.shown.split()) if self.start else WORDS_OF_LINE)
        ranks = [row.problem.rank for row in rows]
        others += WORDS_OF_HEADING * len(set(ranks)) if self.groups else sum(not rank % 2 for rank in ranks)
        return _most(lambda most: sum(len(row.shortened(most).rstrip(" …").split()) for row in rows), others, FIRST_WORDS)

    @property
    def title_words(self) -> int:
        """So many of each repair that waits for a review, for the same reason."""
        now, rows = int(time() * 1000), self.repairs[:FIRST_REPAIRS]
        others = sum(row.other_words(now) for row in rows)
        return _most(lambda most: sum(min(most, len(row.title.split())) for row in rows), others, FIRST_WORDS_OF_REPAIRS)


def _most(words_of: Callable[[int], int], others: int, limit: int) -> int:
    """The most words of each text with which all of them, and the others, are not more than the limit; from 20 to 4. `words_of` counts those of all texts."""
    return next((most for most in range(20, 4, -1) if others + words_of(most) <= limit), 4)


def rule_problems() -> tuple[RuleProblem, ...]:
    """Silent errors, other errors, then warnings, then notes: what nobody notices does the most harm. Three queries, from stored counts."""
    counted = RuleCount.objects.counted().filter(findings__gt=0).order_by().values("code")
    rows = list(counted.annotate(worst=Min(SEVERITY_RANK), conversations=Sum("conversations"), n=Sum("findings"), any_count=Min("pk")))
    # One of the counts of each code, so that the newest is looked for once.
    newest = Subquery(with_rule(OuterRef("code")).order_by(*RULE_KEYS).values("first")[:1])
    first_ids = dict(RuleCount.objects.filter(pk__in=[row["any_count"] for row in rows]).values_list("code", newest))
    findings_by_id = Finding.objects.select_related("conversation__source").in_bulk(first_ids.values())
    problems = [
        RuleProblem(
            row["code"],
            finding.rule,
            known_rule(row["code"]),
            SEVERITIES[row["worst"]],
            finding.silent,
            row["conversations"],
            row["n"],
            finding.conversation.last_activity,
            finding,
        )
        for row in rows
        for finding in (findings_by_id[first_ids[row["code"]]],)
    ]
    return tuple(sorted(problems, key=lambda row: (SEVERITIES.index(row.severity), not row.silent, -row.conversations, row.code)))


def _totals() -> Totals:
    flags = ConversationCount.objects.counted().order_by().values_list("is_gone", "is_damaged", "is_crash")
    rows = list(flags.annotate(Sum("conversations"), Sum("chunks")))
    present = [row for row in rows if not row[0]]
    of_sources = Source.objects.counted().aggregate(
        sources=Count("pk"),
        last=Max("read_at"),
        streams=Sum("stream_count", default=0),
        damaged_streams=Sum("damaged_stream_count", default=0),
    )
    return Totals(
        conversations=sum(row[3] for row in present),
        chunks=sum(row[4] for row in present),
        damaged=sum(row[3] for row in present if row[1]),
        gone=missing(sum(row[3] for row in rows if row[0]), Conversation.objects.counted()),
        crashes=sum(row[3] for row in present if row[2]),
        read_at=of_sources.pop("last"),
        **of_sources,
    )


def _inbox(request: OperatorRequest) -> InboxPage:
    filters = problem_list.filters_of(request.GET.dict())
    problems = problem_list.chosen(filters, request.operator)
    tabs = problem_list.tabs_of(problems)
    totals = {problem_list.REVIEW: problem_list.waiting().count()} | {name: tab.total for name, tab in tabs.items()}
    tab = tabs.get(filters.tab, problem_list.TabContent({}))
    here = problem_list.window_of(request, filters, problems, totals[filters.tab])
    sources = list(Source.objects.filter(HOLDING).only("oid", "path", "is_demo", "is_trace", "format"))
    own_source = next((source for source in sources if source.oid == filters.source), None)
    rows = problem_list.rows_of(
        here.rows, problem_list.last_day_for(own_source) if own_source else problem_list.last_day_of_all(filters.source)
    )
    if filters.next_request and NEXT_REQUESTS[filters.next_request] == WRONG_SILENTLY:
        rows = problem_list.counted_silently(rows)
    listed_demo = not is_without_demo(sources, "")
    stores = [source for source in sources if not source.is_trace and (listed_demo or not source.is_demo)]
    is_review = filters.tab == problem_list.REVIEW
    repairs = problem_list.to_review() if is_review else ()
    choices = problem_list.choices(sources, stores)
    # A crash file is evidence: there is nothing to do in it, where there is anything else.
    first = next((row for row in rows if not row.is_of_crashes), rows[0] if rows else None)
    is_first = filters == ProblemFilters() and here.number == 1
    return InboxPage(
        totals=_totals(),
        filters=filters,
        tabs=tuple(Tab(name, words, totals[name], replace(filters, tab=name).query) for name, words in TABS.items()),
        rows=rows,
        # A list of what becomes of the next request is not in groups of what a program reports.
        groups={} if filters.sort or filters.next_request else tab.of_ranks,
        here=here,
        repairs=rows_of_repairs(repairs[:REVIEWS]),
        without_demo=is_without_demo(sources, filters.source),
        choices=choices,
        filters_on=choices.filters_on(filters),
        orders=problem_list.orders(filters),
        next_requests=problem_list.next_requests(filters),
        views=tuple(SavedView.objects.filter(who=request.operator)),
        start=_start(first) if is_first and first and first.severity != "note" else None,
    )


def _start(row: ProblemRow) -> Start | None:
    """`row`: the first of the list, with the next request of the conversation that is named, which is a crash file only where all are."""
    problem, following = row.problem, row.next_request
    opened = Occurrence.objects.filter(problem=problem, state=Occurrence.State.OPEN).order_by(*WORST_FIRST)
    if problem.is_of_streams:
        of_streams = StreamFinding.objects.filter(stream=opened.values("stream")[:1], code=problem.code).order_by(
            SEVERITY_RANK, "-silent", "pk"
        )
        of_stream = of_streams.select_related("stream").first()
        return Start(of_stream.href, of_stream.stream.title, row.name, of_stream.message) if of_stream else None
    if not row.is_of_crashes:
        opened = opened.filter(conversation__is_crash=False)
    rows = ConversationRule.objects.filter(conversation=opened.values("conversation")[:1], code=problem.code, is_worst=True).order_by()
    first = rows.values_list("conversation__oid", "first__oid", "conversation__title", "first__message", "conversation").first()
    if first is None:
        return None
    conversation, finding, title, message, pk = first
    is_wrong = following.state in (REJECTED, SILENT)
    outcome = row.unnoticed or (f"next request {following.words}" if is_wrong else "")
    href = f"/conversations/{conversation}/?finding={finding}"
    return Start(href, title, row.name, message, waiting_of([pk]).get(pk), following.state, outcome)


def inbox(request: OperatorRequest) -> HttpResponse:
    content = _inbox(request)
    return page(request, "inbox.html", content, twins=("json",), live=live("source", content.filters.source))


def inbox_json(request: OperatorRequest) -> HttpResponse:
    content = _inbox(request)
    recent = rows_of(newest_first(Conversation.objects.counted().filter(DAMAGED, is_gone=False))[:RECENT])
    streams = worst()
    return as_json(
        {
            **json_fields(content.totals, "conversations chunks sources damaged gone read_at"),
            "rules": [_problem_report(problem) for problem in rule_problems()],
            "recent": [row_report(row) for row in recent],
            "streams": {**json_fields(streams, "total damaged"), "worst": summaries(streams.rows)},
            "tab": content.filters.tab,
            "tabs": {tab.name: tab.count for tab in content.tabs},
            **json_fields(content, "page=here.number pages=here.pages"),
            "next": content.here.older.query(request.GET) if content.here.older else "",
            "problems": [problem_list.problem_report(row) | json_fields(row, "is_new") for row in content.rows],
            "to_review": [
                json_fields(row.repair, "id=oid conversation=conversation.oid strategies proposed_by proposed_at")
                | {"group": row.repair.group.oid if row.repair.group else ""}
                for row in content.repairs
            ],
        }
    )


def _problem_report(problem: RuleProblem) -> Json:
    return {
        **json_fields(problem, "code rule=name severity silent"),
        "summary": problem.about.summary if problem.about else "",
        **json_fields(problem, "conversations findings last_activity"),
        "newest": json_fields(problem.newest, "conversation=conversation.oid finding=oid"),
    }
