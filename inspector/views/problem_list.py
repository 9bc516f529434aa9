"""The problems of the inbox: tabs, filters and order are in the address, and a page costs the same however many there are."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.db.models import Case, CharField, Count, Exists, OuterRef, Q, QuerySet, Subquery, Sum, TextField, When
from django.db.models.functions import Cast, Coalesce
from django.template.defaultfilters import capfirst, truncatewords

from inspector.actions.comparison import UNDOABLE
from inspector.middleware import OperatorRequest
from inspector.models import Conversation, Occurrence, Problem, ProblemDay, Repair, Source
from inspector.models.problem import SEVERITIES, WORST_FIRST, ProblemState, in_states, today
from inspector.presentation.clock import age_words, day_of
from inspector.presentation.conversation.ending import ACCEPTED, ENDINGS, WRONG_SILENTLY, words_of
from inspector.presentation.conversation.verdict import PASSES, REJECTED, SILENT, UNREADABLE, WITHOUT, NextRequest
from inspector.presentation.json_text import Json, json_fields
from inspector.presentation.repair.plan import left_less
from inspector.presentation.sparkline import Sparkline, sparkline
from inspector.presentation.visible import visible
from inspector.programs.registry import program_or_default, programs
from inspector.rules.base import Origin, Rule, RuleEntry
from inspector.rules.catalogue import RULES, UnknownRule, rule
from inspector.strategies.base import Strategy
from inspector.strategies.catalogue import strategy
from inspector.streams.violations import ALL_STREAM_RULES
from inspector.views.conversation_list import options_of
from inspector.views.paging import ListWindow, window
from inspector.views.repair_rows import with_together

REVIEW, OPEN, REPAIRED, IGNORED = "review", "open", "repaired", "ignored"
TABS = {REVIEW: "To review", OPEN: "Open", REPAIRED: "Repaired", IGNORED: "Ignored"}
IN_TAB = {OPEN: ProblemState.OPEN, REPAIRED: ProblemState.REPAIRED, IGNORED: ProblemState.IGNORED}
DAYS = 30
NEW_DAYS = 7
"""For so long a problem that was first seen is new."""
SHOWN = 25
"""Problems of a page."""
MOST_REPAIRS = 1000
"""Of the sources of a list, up to which it counts the conversations that they repair."""
MOST_COUNTED = 100
"""Conversations of a problem up to which a list counts those that are rejected."""
DONE = "repaired"
"""In place of the state of a repair that is in the store."""
ME, NOBODY = "me", "none"
KINDS = {"conversations": False, "streams": True}
"""What the address may ask for -> whether the source is evidence, as each that holds streams is."""
_OF_STREAMS: dict[str, RuleEntry] = {entry.code: entry for entry in ALL_STREAM_RULES}
REJECTED_OTHERWISE, SILENT_OTHERWISE = "rejected, other cause", "wrong silently, other cause"
"""Of a problem that cannot be why."""
CRASH_FILE = "crash file"
"""Of a problem in place of the next request where all that have it are crash files: these have none, and are never written."""
_UNNOTICED = [entry.code for entry in RULES if entry.unnoticed]
_MISREAD = [entry.code for entry in RULES if entry.silent and entry.origin is Origin.READER]
_SILENCING = [*_UNNOTICED, *_MISREAD]
_PASSING = [entry.code for entry in RULES if entry.always_passes]
_WITHOUT = json.dumps(WITHOUT)[:-1]
_ALSO = {WRONG_SILENTLY: "content lost, history hidden"}
NEXT_REQUESTS = {words.replace(" ", "-"): words for words in ENDINGS}
"""What the address may ask for -> its words."""
SORTS: dict[str, tuple[str, ...]] = {
    "": ("rank", "-conversations", "-last_seen", "code", "id"),
    "conversations": ("conversations", "id"),
    "-conversations": ("-conversations", "id"),
    "first": ("first_seen", "id"),
    "-first": ("-first_seen", "id"),
    "seen": ("last_seen", "id"),
    "-seen": ("-last_seen", "id"),
}
"""What the address may ask for -> the columns; most dangerous first where it asks for nothing."""
SORT_WORDS = {
    "": "unreported errors first",
    "-conversations": "occurs in most",
    "conversations": "occurs in fewest",
    "-seen": "seen last",
    "seen": "not seen for longest",
    "-first": "newest",
    "first": "oldest",
}


@dataclass(frozen=True, slots=True)
class ProblemFilters:
    """What the address chooses; unknown words choose nothing. `assigned`: ME, NOBODY, or a name. `day`: on which it began to occur somewhere."""

    tab: str = OPEN
    q: str = ""
    kind: str = ""
    source: str = ""
    program: str = ""
    severity: str = ""
    silent: bool = False
    next_request: str = ""
    assigned: str = ""
    day: str = ""
    sort: str = ""

    @property
    def query(self) -> str:
        pairs = ((name, getattr(self, name)) for name in self.__slots__)
        return urlencode({name: "1" if value is True else value for name, value in pairs if value and (name, value) != ("tab", OPEN)})


@dataclass(frozen=True, slots=True)
class Shown:
    """A filter that is set, or an order of the list, in words; `query` is of the list without that filter, or in that order."""

    words: str
    query: str
    is_chosen: bool = True
    also: str = ""
    """Other words of a row that it means."""


@dataclass(frozen=True, slots=True)
class TabContent:
    of_ranks: dict[int, int]
    """Rank -> how many problems have it."""

    @property
    def total(self) -> int:
        return sum(self.of_ranks.values())


@dataclass(frozen=True, slots=True)
class RepairsOfProblem:
    """The repairs that leave less of a problem. `counts`: conversations by what the newest of each is: "repaired", or its state while it waits."""

    waiting: Repair | None = None
    """The newest that waits; of it the id and the state are known."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Empty where they are too many to be counted."""
    group: str = ""
    """The id of the group that all that wait are in."""


@dataclass(frozen=True, slots=True)
class ProblemRow:
    problem: Problem
    about: RuleEntry | None
    """None for a code that an older Inspector stored and this one has no rule for."""
    days: Sparkline
    own_repairs: RepairsOfProblem
    has_traces: bool
    """Traces belong to its source."""
    is_rejected: bool
    """Whether the next request is rejected of the conversation that is first of those that have it, without crash files."""
    next_request: NextRequest
    """Of the same conversation; of a problem of streams nothing."""
    rejected: int | None
    """Conversations that have it now and whose next request is rejected; None where they are too many to be counted here."""
    is_of_crashes: bool
    """Whether all that have it now are crash files."""
    consequence: str = ""
    """Where nothing repairs it: the code of a problem that it leads to, in one of its conversations."""
    crashes: int = 0
    """Crash files that have it now, next to conversations."""
    silently: int = 0
    """Of the same those whose next request goes wrong silently, where a list is of these."""

    @property
    def waiting(self) -> Repair | None:
        return self.own_repairs.waiting

    @property
    def code(self) -> str:
        return self.problem.code

    @property
    def name(self) -> str:
        return self.problem.rule

    @property
    def summary(self) -> str:
        """Of the rule."""
        return self.about.summary if self.about else ""

    def shortened(self, most: int) -> str:
        """The summary in about so many words: whole, or its first clause, or its beginning, with the mark of what is left out."""
        summary = capfirst(self.summary)
        clause = summary.partition(", ")[0]
        if len(summary.split()) <= most:
            return summary
        return f"{clause} …" if len(clause.split()) <= most else truncatewords(clause, most)

    @property
    def effect(self) -> str:
        """In one word, what somebody notices of it."""
        if self.problem.silent:
            return "silent"
        return "rejected" if self.is_rejecting else "reported"

    @property
    def unreported(self) -> str:
        """That nobody is told of it: of what no program reports anywhere, or of what is wrong silently with the request that it is in."""
        if not self.problem.silent:
            return ""
        is_reported = self.about is not None and not self.about.silent
        return "the next request raises no error" if is_reported else "no program reports this damage"

    @property
    def is_rejecting(self) -> bool:
        """Whether it is an error for which a request can be rejected, and the next one is; so may be what is silent."""
        return self.is_rejected and self.may_reject and self.next_request.words != UNREADABLE

    @property
    def may_reject(self) -> bool:
        return self.severity == "error" and not (self.about and self.about.always_passes)

    @property
    def is_silencing(self) -> bool:
        """Whether it can be why the next request goes wrong silently."""
        return may_silence(self.code, self.severity, self.next_request)

    @property
    def is_new(self) -> bool:
        """First seen on one of the last days that `days` shows, and nobody decided anything about it."""
        is_fresh = last_day([self.problem.first_seen]) > self.days.last - timedelta(days=NEW_DAYS)
        return is_fresh and self.problem.state == ProblemState.OPEN

    @property
    def is_seen_again(self) -> bool:
        """On a later day than that on which it was first seen."""
        return last_day([self.problem.first_seen]) < last_day([self.problem.last_seen])

    @property
    def outcome(self) -> str:
        """Of the next request in a word or two; that it is rejected it says of what may be why."""
        if self.is_of_crashes:
            return CRASH_FILE
        if self.is_rejecting:
            return REJECTED
        is_other = self.next_request.state == REJECTED or (self.next_request.state == SILENT and not self.is_silencing)
        return "" if is_other else words_of(self.next_request)

    @property
    def outcomes(self) -> str:
        """The same of all that have it: in how many it is rejected, where that is known and there are several; of what is not why, that it is so."""
        if not self.outcome and self.next_request.state in (REJECTED, SILENT):
            return REJECTED_OTHERWISE if self.next_request.state == REJECTED else SILENT_OTHERWISE
        if not self.rejected or self.problem.conversations == 1 or not self.may_reject:
            return self.outcome
        if self.rejected == self.problem.conversations:
            return f"all {REJECTED}"
        return f"{self.rejected:,} of {self.problem.conversations:,} {REJECTED}"

    @property
    def crash_words(self) -> str:
        """The crash files that have it next to conversations: they have no next request."""
        return f"{self.crashes:,} {CRASH_FILE}{'' if self.crashes == 1 else 's'}" if self.crashes else ""

    @property
    def unnoticed(self) -> str:
        """What is wrong although the next request passes, as the page of the conversation says it; "" where it is rejected of one that has it."""
        following = self.next_request
        if self.rejected or following.state not in (PASSES, SILENT):
            return ""
        if following.state == SILENT:
            return following.words if following.words != WRONG_SILENTLY and self.is_silencing else ""
        return self.about.unnoticed if self.about and not self.problem.rank else ""

    @property
    def repairs(self) -> tuple[str, ...]:
        """The strategies of its rule that can change something in conversations of its source; none of a problem of streams or of crash files."""
        if self.about is None or self.problem.is_of_streams or self.is_of_crashes:
            return ()
        chosen = (strategy(name) for name in self.about.repaired_by)
        format_name = self.problem.source.format
        return tuple(one.name for one in chosen if one.applies_to(format_name) and (self.has_traces or not one.reads_trace))

    @property
    def strategies(self) -> tuple[Strategy, ...]:
        return tuple(map(strategy, self.repairs))

    @property
    def repair(self) -> str:
        """The first of them; a plan may choose others, of other rules too, since it repairs a conversation as a whole."""
        return "" if self.is_settled else next(iter(self.repairs), "")

    @property
    def is_settled(self) -> bool:
        """Whether a repair was written, and what is left of the problem are notes, which ask for nothing."""
        return self.severity == "note" and DONE in self.own_repairs.counts

    @property
    def progress(self) -> dict[str, int]:
        """Conversations by what their repair is: those that were repaired, at most as many as do not have it now, then those for which one waits."""
        counts, now = self.own_repairs.counts, self.problem.conversations
        repaired = min(counts.get(DONE, 0), self.problem.total - now)
        waiting = {state: min(counts[state], now) for state in Repair.WAITING if state in counts}
        return ({DONE: repaired} if repaired else {}) | waiting

    @property
    def progress_words(self) -> str:
        """Of how many conversations that is; "" where no repair is."""
        progress, one = self.progress, self.own_repairs.waiting
        total = self.problem.conversations + progress.get(DONE, 0)
        if len(progress) > 1:
            return ", ".join(f"{number:,} {state}" for state, number in progress.items())
        for state, number in progress.items():
            if total > 1:
                return f"all {total:,} {state}" if number == total else f"{number:,} of {total:,} {state}"
            return f"{state} {one.oid[:6]}" if one else state
        return f"{one.state} {one.oid[:6]}" if one else ""

    @property
    def left(self) -> int:
        """Conversations that have it and for which no repair waits, where a repair is for others."""
        waiting = sum(number for state, number in self.progress.items() if state != DONE)
        return max(0, self.problem.conversations - waiting) if self.progress and self.repair else 0

    @property
    def repairs_href(self) -> str:
        """Where the repairs that wait are decided: the page of the one, of their group, or of the problem."""
        if self.waiting is None:
            return f"/problems/{self.problem.oid}/"
        if sum(self.own_repairs.counts.get(state, 0) for state in Repair.WAITING) == 1:
            return f"/repairs/{self.waiting.oid}/"
        return f"/repair-groups/{self.own_repairs.group}/" if self.own_repairs.group else f"/problems/{self.problem.oid}/"

    def other_words(self, now: int) -> int:
        """Words of its row next to the summary: name, code, number, source, ages, outcome, repair, what was decided, that it is silent. `now` in epoch milliseconds."""
        problem = self.problem
        decided = (self.is_new or problem.state != "open") + 3 * (problem.fixed_at is not None) + min(2, len(problem.assigned_to.split()))
        aged = age_words(problem.last_seen, now) + (1 + age_words(problem.first_seen, now) if self.is_seen_again else 0)
        return (
            3
            + len((self.unnoticed or self.outcomes).split())
            + len(self.crash_words.split())
            + len(self.progress_words.split())
            + (2 if self.left or self.consequence else bool((self.repair or self.correction) and not self.progress_words))
            + min(3, len(problem.source.name.split()))
            + aged
            + decided
        )

    @property
    def has_corrected_copy(self) -> bool:
        """Of a rule of streams of which a strategy corrects a copy."""
        return bool(self.correction)

    @property
    def correction(self) -> str:
        """The first strategy that corrects a copy of a stream; "" of a problem of conversations."""
        is_corrected = self.problem.is_of_streams and self.about is not None and self.about.code in _OF_STREAMS
        return next(iter(self.about.repaired_by), "") if is_corrected and self.about else ""

    @property
    def severity(self) -> str:
        return self.problem.severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """(value, words) of the filters."""

    sources: tuple[tuple[str, str], ...]
    programs: tuple[tuple[str, str], ...]
    kinds: tuple[tuple[str, str], ...] = tuple((name, name) for name in KINDS)
    severities: tuple[tuple[str, str], ...] = tuple((name, name) for name in SEVERITIES)
    assigned: tuple[tuple[str, str], ...] = ((ME, "me"), (NOBODY, "nobody"))

    def filters_on(self, filters: ProblemFilters) -> tuple[Shown, ...]:
        """Those that are set, but for the search and the next request, which have their own fields."""
        values = (
            ("kind", filters.kind),
            ("source", dict(self.sources).get(filters.source, filters.source)),
            ("program", dict(self.programs).get(filters.program, filters.program)),
            ("severity", filters.severity and f"{filters.severity}s"),
            ("silent", "unreported" if filters.silent else ""),
            ("assigned", filters.assigned and f"assigned to {dict(self.assigned).get(filters.assigned, filters.assigned)}"),
            ("day", filters.day and f"began on {filters.day}"),
        )
        unset: dict[str, Any] = {name: False if name == "silent" else "" for name, _ in values}
        return tuple(Shown(words, replace(filters, **{name: unset[name]}).query) for name, words in values if words)


def orders(filters: ProblemFilters) -> tuple[Shown, ...]:
    """How the list can be sorted, with the words of each."""
    return tuple(Shown(words, replace(filters, sort=key).query, key == filters.sort) for key, words in SORT_WORDS.items())


def next_requests(filters: ProblemFilters) -> tuple[Shown, ...]:
    """What may become of the next request, with the words of each."""
    choices = {"": "any", **NEXT_REQUESTS}
    return tuple(
        Shown(words, replace(filters, next_request=key).query, key == filters.next_request, _ALSO.get(words, ""))
        for key, words in choices.items()
    )


def known_rule(code: str) -> Rule | None:
    """None for a code that an older Inspector stored and this one has no rule for."""
    try:
        return rule(code)
    except UnknownRule:
        return None


def any_rule(code: str) -> RuleEntry | None:
    """Of conversations or of streams; None for one that an older Inspector stored."""
    return _OF_STREAMS.get(code) or known_rule(code)


def filters_of(params: dict[str, str]) -> ProblemFilters:
    """`params`: of an address, one value of each name."""
    tab, severity, sort, kind, following = (params.get(name, "") for name in ("tab", "severity", "sort", "kind", "next_request"))
    return ProblemFilters(
        tab=tab if tab in TABS else OPEN,
        q=visible(params.get("q", "").strip())[:200],
        kind=kind if kind in KINDS else "",
        source=visible(params.get("source", ""))[:12],
        program=visible(params.get("program", ""))[:40],
        severity=severity if severity in SEVERITIES else "",
        silent=params.get("silent") == "1",
        next_request=following if following in NEXT_REQUESTS else "",
        assigned=visible(params.get("assigned", ""))[:150],
        day=day_of(params.get("day", "")),
        sort=sort if sort in SORTS else "",
    )


def chosen(filters: ProblemFilters, operator: str) -> QuerySet[Problem]:
    """Those that the filters let through, of every tab."""
    rows = Problem.objects.counted(filters.source)
    if filters.q:
        named = [
            entry.code for entry in (*RULES, *ALL_STREAM_RULES) if filters.q.lower() in f"{entry.code} {entry.name} {entry.summary}".lower()
        ]
        rows = rows.filter(Q(code__in=named) | Q(rule__icontains=filters.q) | Q(source__path__icontains=filters.q) | Q(oid=filters.q))
    if filters.kind:
        rows = rows.filter(source__is_trace=KINDS[filters.kind])
    if filters.program:
        formats = [entry.name for program in programs() if program.name == filters.program for entry in program.formats]
        rows = rows.filter(source__format__in=formats)
    if filters.severity:
        rank = 2 * SEVERITIES.index(filters.severity)
        rows = rows.filter(rank__in=(rank, rank + 1))
    if filters.silent:
        rows = rows.filter(rank__in=(0, 2, 4))
    if filters.next_request:
        rows = _with_next_request(rows).filter(_by_next_request()[NEXT_REQUESTS[filters.next_request]])
    if filters.assigned:
        rows = rows.filter(assigned_to={ME: operator, NOBODY: ""}.get(filters.assigned, filters.assigned))
    if filters.day:
        rows = rows.filter(pk__in=ProblemDay.objects.filter(day=filters.day).values("problem"))
    return rows


def _with_next_request(problems: QuerySet[Problem]) -> QuerySet[Problem]:
    """`is_refused` and `following`: of the conversation that is first of those that have it; `rejected`: how many are, where they are not too many.

    A crash file has no next request and is left out: where there is nothing else, `following` is None.
    """
    # By index, of each problem one; of the most frequent ones that is all that is asked.
    opened = _opened(problem=OuterRef("pk"))
    first = opened.order_by(*WORST_FIRST).annotate(following=Cast("conversation__next_request", TextField()))
    rejected = first.filter(conversation__refused=True).exclude(following__startswith=_stored("", UNREADABLE))
    number = rejected.order_by().values("problem").annotate(n=Count("pk")).values("n")
    return problems.annotate(
        is_refused=Subquery(first.values("conversation__refused")[:1]),
        following=Subquery(first.values("following")[:1]),
        rejected=Case(When(conversations__lte=MOST_COUNTED, then=Coalesce(Subquery(number), 0))),
    )


def _opened(**problems: Any) -> QuerySet[Occurrence]:
    """Conversations that have it now and have a next request."""
    return Occurrence.objects.filter(**problems, state=Occurrence.State.OPEN, conversation__is_crash=False)


def _consequence() -> Case:
    """Of a rule that leads to others the code of one that is found in the same conversation and is no note; of a frequent one its first conversations are asked."""
    first = _opened(problem=OuterRef(OuterRef("pk"))).order_by(*WORST_FIRST).values("conversation")[:MOST_COUNTED]
    same = Occurrence.objects.filter(problem__source=OuterRef("source"), state=Occurrence.State.OPEN, rank__lt=4, conversation__in=first)
    codes = same.order_by("problem__code").values("problem__code")
    of_rule = (
        When(code=entry.code, then=Subquery(codes.filter(problem__code__in=entry.leads_to)[:1])) for entry in RULES if entry.leads_to
    )
    return Case(*of_rule, output_field=CharField())


def _stored(*beginning: str) -> str:
    """How the text of a stored next request begins that has these words first."""
    return json.dumps(beginning)[:-1]


def may_silence(code: str, severity: str, following: NextRequest) -> bool:
    """Whether a problem can be why this next request goes wrong silently: an error where something is left out, else what its rule says is misread or lost."""
    is_error, is_left_out = severity == "error", following.more.startswith(WITHOUT)
    is_why = (is_error and (is_left_out or code in _SILENCING)) or (is_left_out and code in _MISREAD)
    return following.state == SILENT and is_why


def _may_silence(problem: str = "") -> Q:
    """The same, of the stored `following`; `problem`: the path to its columns."""
    is_error, is_left_out = Q(**{f"{problem}rank__lt": 2}), Q(following__contains=_WITHOUT)
    silencing, misread = (Q(**{f"{problem}code__in": codes}) for codes in (_SILENCING, _MISREAD))
    return (is_error & (is_left_out | silencing)) | (is_left_out & misread)


def _by_next_request() -> dict[str, Q]:
    """Words -> the problems whose row says so, and not that it has another cause; of what is wrong silently also those with any occurrence that is."""
    silent, passes, unreadable = (Q(following__startswith=_stored(*words)) for words in ((SILENT,), (PASSES,), ("", UNREADABLE)))
    of_any = _opened(problem=OuterRef("pk")).annotate(following=Cast("conversation__next_request", TextField()))
    of_any = of_any.filter(silent, _may_silence("problem__"))
    is_error, is_noticed = Q(rank__lt=2), ~Q(rank=0, code__in=_UNNOTICED)
    may_reject = is_error & ~Q(code__in=_PASSING)
    rejected = may_reject & (Q(rejected__gt=0) | (Q(rejected=None, is_refused=True) & ~unreadable))
    return {
        REJECTED: rejected,
        WRONG_SILENTLY: (~rejected & ((silent & _may_silence()) | (passes & ~is_noticed))) | Q(Exists(of_any)),
        ACCEPTED: ~rejected & passes & is_noticed,
        UNREADABLE: ~rejected & unreadable,
    }


def tabs_of(rows: QuerySet[Problem]) -> dict[str, TabContent]:
    """What of `rows` is in each tab. One query."""
    states = {tab: in_states()[state] for tab, state in IN_TAB.items()}
    numbers = {f"n_{tab}": Count("pk", filter=state) for tab, state in states.items()}
    of_ranks = list(rows.order_by().values("rank").annotate(**numbers).values_list("rank", *numbers))
    return {tab: TabContent({row[0]: row[at] for row in of_ranks if row[at]}) for at, tab in enumerate(states, 1)}


def waiting() -> QuerySet[Repair]:
    """Repairs, or groups of them, that wait for a review."""
    return Repair.listed([Repair.State.PROPOSED]).filter(changes_by="")


def to_review() -> QuerySet[Repair]:
    """The same as rows of a list need them."""
    return with_together(waiting().select_related("conversation__source", "group"), [Repair.State.PROPOSED])


def window_of(request: OperatorRequest, filters: ProblemFilters, rows: QuerySet[Problem], total: int) -> ListWindow[Problem]:
    of_tab = rows.filter(in_states()[IN_TAB[filters.tab]]) if filters.tab in IN_TAB else Problem.objects.none()
    return window(of_tab.select_related("source"), SORTS[filters.sort], total, request.GET, SHOWN)


def rows_of(problems: Iterable[Problem], last: date) -> tuple[ProblemRow, ...]:
    """With what was new on each of the days that end with `last`. Four queries, and one more of a program that writes crash files."""
    problems = list(problems)
    days: dict[int, dict[date, int]] = defaultdict(dict)
    of_days = ProblemDay.objects.filter(problem__in=problems, day__gt=last - timedelta(days=DAYS), day__lte=last).order_by()
    for pk, day, number in of_days.values_list("problem_id", "day").annotate(n=Sum("occurrences")).values_list("problem_id", "day", "n"):
        days[pk][day] = number
    repairs = _repairs_of(problems)
    more = _with_next_request(Problem.objects.filter(pk__in=[problem.pk for problem in problems]).order_by()).annotate(
        has_traces=Exists(Source.traces.through.objects.filter(from_source=OuterRef("source"))),
        consequence=_consequence(),
    )
    columns = more.values_list("pk", "has_traces", "is_refused", "following", "rejected", "consequence")
    around = {
        pk: (has_traces, bool(is_refused), NextRequest(*json.loads(following or "[]")), rejected, following is None, consequence or "")
        for pk, has_traces, is_refused, following, rejected, consequence in columns
    }
    with_crashes = [problem.pk for problem in problems if program_or_default(problem.source.format).crash_prefix]
    crashes = _crashes(with_crashes) if with_crashes else {}
    return tuple(
        ProblemRow(
            problem,
            any_rule(problem.code),
            sparkline(days[problem.pk], last, DAYS),
            repairs.get((problem.source_id, problem.code), RepairsOfProblem()),
            *around[problem.pk][:4],
            is_of_crashes=around[problem.pk][4] and problem.conversations > 0 and not problem.is_of_streams,
            consequence=around[problem.pk][5],
            crashes=0 if around[problem.pk][4] else crashes.get(problem.pk, 0),
        )
        for problem in problems
    )


def _crashes(problems: Iterable[int]) -> dict[int, int]:
    """Problem -> crash files that have it."""
    rows = Occurrence.objects.filter(problem__in=list(problems), state=Occurrence.State.OPEN, conversation__is_crash=True).order_by()
    return dict(rows.values_list("problem").annotate(Count("pk")))


def counted_silently(rows: Iterable[ProblemRow]) -> tuple[ProblemRow, ...]:
    """With how many of its conversations go wrong silently. One query."""
    rows = list(rows)
    opened = _opened(problem__in=[row.problem.pk for row in rows])
    silent, passes = (Q(following__startswith=_stored(state)) for state in (SILENT, PASSES))
    unnoticed = Q(problem__rank=0, problem__code__in=_UNNOTICED)
    wrong = opened.annotate(following=Cast("conversation__next_request", TextField()))
    wrong = wrong.filter((silent & _may_silence("problem__")) | (passes & unnoticed))
    counts = dict(wrong.order_by().values_list("problem").annotate(n=Count("pk")))
    return tuple(replace(row, silently=counts.get(row.problem.pk, 0)) for row in rows)


def _repairs_of(problems: Iterable[Problem]) -> dict[tuple[int, str], RepairsOfProblem]:
    """(source, code) of a rule -> the repairs that leave less of it. Two queries: those that wait, the newest first; then as many of the others as are counted, in any order."""
    of_sources = Repair.objects.filter(conversation__source__in={problem.source_id for problem in problems})
    waiting = list(
        of_sources.filter(state__in=Repair.WAITING)
        .order_by("-pk")
        .values_list("conversation__source", "conversation", "counts", "oid", "state", "changes_by", "group__oid")[: MOST_REPAIRS + 1]
    )
    done = of_sources.filter(state__in=UNDOABLE).order_by().values_list("conversation__source", "conversation", "counts")
    done_rows = list(done[: MOST_REPAIRS + 1 - len(waiting)])
    first: dict[tuple[int, str], Repair] = {}
    states: dict[tuple[int, str], dict[int, str]] = defaultdict(dict)
    groups: dict[tuple[int, str], set[str]] = defaultdict(set)
    for source, conversation, counts, oid, state, changes_by, group in waiting:
        for code in left_less(counts):
            states[source, code].setdefault(conversation, state)
            first.setdefault((source, code), Repair(oid=oid, state=state, changes_by=changes_by))
            groups[source, code].add(group or "")
    is_counted = len(waiting) <= MOST_REPAIRS
    for source, conversation, counts in done_rows if len(waiting) + len(done_rows) <= MOST_REPAIRS else ():
        for code in left_less(counts):
            states[source, code].setdefault(conversation, DONE)
    return {
        place: RepairsOfProblem(
            first.get(place), Counter(of.values()) if is_counted else {}, next(iter(groups[place])) if len(groups[place]) == 1 else ""
        )
        for place, of in states.items()
    }


def days_by_source(sources: Iterable[Source], last: date) -> dict[int, Sparkline]:
    """What was new in each of them on each of the days that end with `last`."""
    days: dict[int, dict[date, int]] = defaultdict(dict)
    in_span = ProblemDay.objects.filter(problem__source__in=sources, day__gt=last - timedelta(days=DAYS), day__lte=last).order_by()
    for pk, day, number in in_span.values_list("problem__source", "day").annotate(Sum("occurrences")):
        days[pk][day] = number
    return {source.pk: sparkline(days[source.pk], last, DAYS) for source in sources}


def last_day_for(source: Source) -> date:
    """Where what a page of it shows by day ends: as of all, but for a source of the demo next to others, which those do not count."""
    is_apart = source.is_demo and Source.objects.filter(is_demo=False).exists()
    return last_day_of_all(source.oid if is_apart else "")


def last_day_of_all(source: str = "") -> date:
    """On which a conversation was active or a problem began, of all or of a source: the end of what is shown by day. A clock that is wrong does not count."""
    now = int(datetime.now(UTC).timestamp() * 1000)
    days = ProblemDay.objects.counted(source).filter(day__lte=today()).order_by("-day").values("day")[:1]
    active = Conversation.objects.counted(source).filter(is_gone=False, place__gte=-now).order_by("place").values("last_activity")[:1]
    began, at = Source.objects.order_by("pk").values_list(Subquery(days), Subquery(active)).first() or (None, None)
    return max((day for day in (began, last_day([at]) if at is not None and at <= now else None) if day), default=today())


def last_day(moments: Iterable[int]) -> date:
    """On which the latest of the moments (epoch milliseconds) is, in UTC; today of none, and of one that is to come: a clock may be wrong."""
    latest = max(moments, default=None)
    return today() if latest is None else min(today(), datetime.fromtimestamp(latest / 1000, UTC).date())


def choices(sources: Iterable[Source], stores: Iterable[Source]) -> Choices:
    """`stores`: those of which something is listed."""
    names = {(program.name, program.title) for program in map(program_or_default, {store.format for store in stores})}
    return Choices(sources=options_of(sources), programs=tuple(sorted(names)))


_PROBLEM = (
    "id=problem.oid code rule=name severity silent=problem.silent effect unnoticed rejected=is_rejecting next_request=outcome state=problem.state source=problem.source.oid "
    "rejected_conversations=rejected findings=problem.findings first_seen=problem.first_seen "
    "last_seen=problem.last_seen repaired_at=problem.repaired_at regressed_at=problem.regressed_at assigned_to=problem.assigned_to "
    "fixed_in_version=problem.fixed_in fixed_at=problem.fixed_at fixed_by=problem.fixed_by "
    "reason=problem.reason until_it_occurs=problem.until_occurs decided_by=problem.decided_by decided_at=problem.decided_at"
)


def problem_report(row: ProblemRow) -> Json:
    """One problem of a `.json` list; `days` are new occurrences, the last of them on `days_to`."""
    problem, until = row.problem, row.problem.ignored_until
    counts = {f"{noun}s": (problem.conversations, problem.total) if noun == problem.noun else (0, 0) for noun in ("conversation", "stream")}
    return {
        **json_fields(row, _PROBLEM),
        **{name: number for name, (number, _) in counts.items()},
        **{f"{name}_ever": number for name, (_, number) in counts.items()},
        "ignored_until": until.isoformat() if until else None,
        "waiting_repair": row.waiting.oid if row.waiting else "",
        "repair_progress": row.progress,
        "days": list(row.days.counts),
        "days_to": row.days.last.isoformat(),
    }
