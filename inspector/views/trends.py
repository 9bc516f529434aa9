"""What began to occur on each day: by rule, source, version of the client or model. From the counts that imports keep, not from conversations."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from string import ascii_uppercase
from typing import NamedTuple
from urllib.parse import urlencode

from django.db.models import Count, F, Max, Min, Q, QuerySet, Sum, Value
from django.http import HttpResponse

from inspector.middleware import OperatorRequest
from inspector.models import Conversation, Occurrence, Problem, ProblemDay, Source, counting
from inspector.models.conversation import DEMO_PLACE
from inspector.models.problem import ProblemState, in_states, today
from inspector.presentation.clock import day_of, first_of
from inspector.presentation.json_text import json_fields
from inspector.presentation.sparkline import Sparkline, sparkline
from inspector.presentation.visible import clipped, visible
from inspector.rules.base import Severity
from inspector.rules.catalogue import RULES
from inspector.streams.violations import ALL_STREAM_RULES
from inspector.views.conversation_list import DAY, is_of_demo
from inspector.views.pages import as_json, page
from inspector.views.problem_list import any_rule, last_day_of_all

SHOWN = 50
NAMED = 3
MARKS_SHOWN = 12
SPANS = (30, 90, 365)
LONGEST = SPANS[-1]
EARLIEST = date(1970, 1, 1)
"""No store is older, and two spans before it are dates still."""
WIDE = 0.6
"""The part of the days that may be between the first and the last with anything, so that a link leads to these alone."""
GROUPS = {
    "rule": ("rule", "problem__code"),
    "source": ("source", "problem__source__oid"),
    "version": ("client version", "client_version"),
    "model": ("model", "model"),
}
"""What the address may ask for -> its words, and the column."""


@dataclass(frozen=True, slots=True)
class TrendRow:
    """`key` is a rule's code, the id of a source, or a version; `href` the problems of it."""

    key: str
    name: str
    days: Sparkline
    before: int
    """In as many days before these."""
    open: int | None
    """How many it occurs in now; None of a version or model, whose open ones are not counted."""
    repaired: int
    """In how many it ended by a repair since the first of the days; 0 of a version or model."""
    href: str

    @property
    def older(self) -> int:
        """At least how many of the open ones began earlier than those of `before`."""
        return max(0, (self.open or 0) - self.days.total - self.before)

    @property
    def is_new(self) -> bool:
        """Whether none is known from before the days that are shown."""
        return not self.before and not self.older

    @property
    def severity(self) -> str:
        """Of the rule that it is of."""
        return _severity(self.key)


class First(NamedTuple):
    """A version of the client or a model on the first day that it occurs: what it is, and how many of what is new have it, on that day and up to the end of the span."""

    what: str
    name: str
    number: int
    up_to_end: int
    unnamed: int
    """Of what is new on that day or later, how many have no known version, or model."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A day of the span on which versions of the client or models occur that did not before; `place` is that of the day, from 0, `new` what is new on it."""

    letter: str
    day: date
    place: int
    new: int
    names: tuple[First, ...]


@dataclass(frozen=True, slots=True)
class Since:
    """What began since the version of the client, or else the model, that occurs first on the latest day: rows with how many, in words."""

    mark: Mark
    of: First
    total: int
    days: int
    """Those of the span before it, and as many as the span has before that: `first` has what did not begin in them."""
    first: list[tuple[TrendRow, str]]
    again: list[tuple[TrendRow, str]]

    @property
    def is_one_day(self) -> bool:
        """Whether nothing began after the day itself."""
        return self.total == self.mark.new

    @property
    def others(self) -> int:
        """Of `total`, those with another version, or model."""
        return self.total - self.of.up_to_end - self.of.unnamed


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendsPage:
    by: str
    span: int
    is_chosen: bool
    """Whether the address names the days themselves, and not how many."""
    rule: str
    newest: date | None
    """The last day on which any began, in the span or before it."""
    last: date
    end: date
    """The last day that there is anything of; `last` is this, or a day before it that was chosen."""
    total: Sparkline
    """Of everything, those that are left out too."""
    parts: dict[str, Sparkline]
    """By severity, the worst first: they add up to `total`."""
    in_streams: int
    """Those of `total` that are in captured streams, not in conversations."""
    active: Sparkline
    """Conversations that were active last on each day, damaged or not, whatever rule is chosen."""
    active_damaged: Sparkline
    """Those of `active` that are damaged or rejected now."""
    latest: date | None
    """The last day on which any began at all, in the span or later."""
    before: int
    open: int
    open_in_streams: int
    open_problems: int
    """The problems of the tab Open that `open` are the occurrences of."""
    repaired: int
    """Occurrences that ended by a repair, on the first day of the span or later."""
    rows: tuple[TrendRow, ...]
    more: int
    marks: tuple[Mark, ...]
    groups: tuple[tuple[str, str], ...]
    rules: tuple[tuple[str, str], ...]

    @property
    def total_places(self) -> str:
        return _places(self.total.total, self.in_streams)

    @property
    def open_places(self) -> str:
        return _places(self.open, self.open_in_streams)

    @property
    def days_old(self) -> int:
        """0 where there is something of today."""
        return (today() - self.end).days

    @property
    def quiet_days(self) -> int:
        """How long none has begun at the end of the span, although conversations went on."""
        return (self.last - self.newest).days if self.newest else 0

    @property
    def quiet_until_end(self) -> int:
        """The same to the end of all days, where none began after the span either; else as in the span."""
        return (self.end - self.newest).days if self.newest and self.newest == self.latest else self.quiet_days

    @property
    def hidden_days(self) -> int:
        """Of these, those after the span."""
        return self.quiet_until_end - self.quiet_days

    @property
    def is_even(self) -> bool:
        """Whether several began, each on another day: none of these has the most."""
        return self.total.most == 1 < self.total.total

    @property
    def first(self) -> date:
        return self.last - timedelta(days=self.span - 1)

    @property
    def first_before(self) -> date:
        return self.first - timedelta(days=self.span)

    @property
    def last_before(self) -> date:
        return self.first - timedelta(days=1)

    @property
    def moving(self) -> list[TrendRow]:
        return [row for row in self.rows if row.days.total]

    @property
    def still(self) -> list[TrendRow]:
        """The rows without anything new."""
        return [row for row in self.rows if not row.days.total]

    @property
    def still_open(self) -> int:
        return sum(row.open or 0 for row in self.still)

    @property
    def changes(self) -> list[tuple[str, list[tuple[TrendRow, str]]]]:
        """What changed since the days before, in a word, with its rows; nothing where there was nothing before."""
        if not self.before:
            return []
        grown = sorted((row for row in self.rows if row.days.total > row.before > 0), key=lambda row: row.before - row.days.total)
        changes = (
            ("New", [row for row in self.moving if row.is_new]),
            ("More", grown),
            ("None any more", sorted((row for row in self.still if row.before), key=lambda row: -row.before)),
        )
        return [
            (word, [(row, f"({row.before:,} → {row.days.total:,})" if row.before else "") for row in rows])
            for word, rows in changes
            if rows
        ]

    @property
    def of_most(self) -> list[tuple[TrendRow, str]]:
        """The rows of the day that has the most of all, those with the most first, with how many where it is more than one."""
        at = self.total.counts.index(self.total.most)
        rows = sorted(((row, number) for row in self.rows if (number := row.days.counts[at])), key=lambda pair: -pair[1])
        return [(row, f"{number:,}" if number > 1 else "") for row, number in rows]

    @property
    def firsts_of_most(self) -> list[First]:
        """What occurs for the first time on the day with the most, and is in some of what is new then: a place to look for the cause."""
        return [name for mark in self.marks if mark.day == self.total.most_on for name in mark.names if name.number][:NAMED]

    @property
    def since(self) -> Since | None:
        """None where none began in the span, and where the rows are versions themselves."""
        named = [(mark, first) for mark in self.marks for first in mark.names]
        of_clients = [one for one in named if one[1].what == GROUPS["version"][0]]
        if not named or self.by not in ("rule", "source"):
            return None
        mark, of = max(of_clients or named, key=lambda one: (one[0].place, one[1].number))
        counts = [(row, sum(row.days.counts[mark.place :])) for row in self.rows]
        counts = sorted((one for one in counts if one[1]), key=lambda one: -one[1])
        first = [(row, f"{number:,}") for row, number in counts if number == row.days.total and row.is_new]
        again = [(row, _of_new(row, number)) for row, number in counts if number < row.days.total or not row.is_new]
        return Since(mark, of, sum(self.total.counts[mark.place :]), mark.place + self.span, first, again)

    @property
    def is_peak_named(self) -> bool:
        """Whether what is said of the latest version, or model, is of the day with the most."""
        since = self.since
        return since is not None and since.is_one_day and since.mark.day == self.total.most_on and since.total < self.total.total

    @property
    def places(self) -> tuple[int, ...]:
        return tuple(mark.place for mark in self.marks)

    @property
    def href_of_day(self) -> str:
        """The problems that began to occur somewhere on the day that is written after it."""
        return "/?" + urlencode(({"q": self.rule} if self.rule else {}) | {"day": ""})

    @property
    def chosen_span(self) -> str:
        return "" if self.is_chosen else str(self.span)

    @property
    def spans(self) -> tuple[tuple[str, str], ...]:
        chosen = (("", "chosen days"),) if self.is_chosen else ()
        return (*chosen, *((str(number), f"{number} days") for number in SPANS))

    @property
    def earlier(self) -> str:
        """The query of the days before these."""
        return self._query(self.first_before, self.last_before)

    @property
    def later(self) -> str:
        """That of the days after these, "" where there is nothing of them."""
        last = min(self.end, self.last + timedelta(days=self.span))
        return self._query(last - timedelta(days=self.span - 1), last) if last > self.last else ""

    @property
    def to_end(self) -> str:
        """The query of these days and all after them."""
        return self._query(self.first, self.end)

    @property
    def busy(self) -> tuple[date, date] | None:
        """The first and the last of the days on which any began, where they are few of the span."""
        places = [place for place, number in enumerate(self.total.counts) if number]
        if len(places) < 2 or places[-1] - places[0] + 1 > WIDE * self.span:
            return None
        return self.total.day(places[0]), self.total.day(places[-1])

    @property
    def closer(self) -> str:
        """The query of these days."""
        return self._query(*self.busy) if self.busy else ""

    def _query(self, since: date, until: date) -> str:
        chosen = {"by": self.by if self.by != "rule" else "", "rule": self.rule}
        return urlencode({name: value for name, value in chosen.items() if value} | {"since": since, "until": until})

    @property
    def most(self) -> int:
        """On one day, in any row: they have one scale."""
        return max((row.days.most for row in self.rows), default=0)


def _page(request: OperatorRequest) -> TrendsPage:
    by, code = (request.GET.get(name, "") for name in ("by", "rule"))
    by = by if by in GROUPS else "rule"
    code = code if any_rule(code) else ""
    end = last_day_of_all()
    days, last, is_chosen = _days(request, end)
    of_days = ProblemDay.objects.counted().filter(**({"problem__code": code} if code else {})).order_by()
    newest = of_days.filter(day__lte=last).aggregate(last=Max("day"))["last"]
    latest = newest if last == end else of_days.filter(day__lte=end).aggregate(last=Max("day"))["last"]
    start = last - timedelta(days=days)
    of_span, of_span_before = (
        of_days.filter(day__gt=start, day__lte=last),
        of_days.filter(day__gt=start - timedelta(days=days), day__lte=start),
    )
    since = datetime.combine(start + timedelta(days=1), time(), UTC)
    repaired = (
        Occurrence.objects.counted()
        .filter(closed_at__gte=since, state__in=(Occurrence.State.REPLACED, Occurrence.State.REPAIRED))
        .order_by()
    )
    repaired = repaired.filter(problem__code=code) if code else repaired
    rows, more = _rows(of_span, of_span_before, repaired, by, code, last, days)
    total, parts, in_streams = _by_severity(of_span, last, days)
    open_in_streams = Sum("conversations", filter=Q(source__is_trace=True), default=0)
    occurring = {code, *Problem.objects.counted().order_by().values_list("code", flat=True).distinct()}
    return TrendsPage(
        by=by,
        span=days,
        is_chosen=is_chosen,
        rule=code,
        newest=newest,
        last=last,
        end=end,
        total=total,
        parts=parts,
        in_streams=in_streams,
        active=_active(Conversation.objects.counted(), start, last, days),
        active_damaged=_active(Conversation.objects.counted().filter(is_damaged=True), start, last, days),
        latest=latest,
        before=of_span_before.aggregate(n=Sum("occurrences", default=0))["n"],
        **_open_problems(code).aggregate(open=Sum("conversations", default=0), open_in_streams=open_in_streams, open_problems=Count("pk")),
        repaired=repaired.count(),
        rows=rows,
        more=more,
        marks=_marks(of_span, start, total),
        groups=tuple((name, words) for name, (words, _) in GROUPS.items()),
        rules=tuple((entry.code, f"{entry.code} {entry.name}") for entry in (*RULES, *ALL_STREAM_RULES) if entry.code in occurring),
    )


def _days(request: OperatorRequest, end: date) -> tuple[int, date, bool]:
    """How many days the address asks for, the last of them, and whether it names them: from `since` to `until`, LONGEST at most, none after `end`."""
    span, since, until = (request.GET.get(name, "") for name in ("days", "since", "until"))
    first, last = (max(EARLIEST, date.fromisoformat(day)) if (day := day_of(text)) else None for text in (since, until))
    if span in map(str, SPANS):
        return int(span), end, False
    if not (first or last):
        return SPANS[0], end, False
    last = min(last or end, end)
    if first is None or first > last:
        return SPANS[0], last, True
    return min(LONGEST, (last - first).days + 1), last, True


def _places(number: int, in_streams: int) -> str:
    """In what so many occurrences are."""
    rest = number - in_streams
    if not in_streams or not rest:
        return "in streams" if in_streams else "in conversations"
    return f"{rest:,} in conversations, {in_streams:,} in streams"


def _active(conversations: QuerySet[Conversation], before: date, last: date, days: int) -> Sparkline:
    """By an index of the list of conversations, all or damaged ones."""
    is_demo = is_of_demo("")
    since, until = (first_of(day.isoformat()) + DAY for day in (before, last))
    active = conversations.filter(counting.places_between(since, until, is_demo), is_gone=False).order_by()
    # Of whole numbers the quotient is one.
    of_days = active.annotate(number=(Value(DEMO_PLACE if is_demo else 0) - F("place")) / DAY).values_list("number").annotate(Count("pk"))
    return sparkline({date(1970, 1, 1) + timedelta(days=number): count for number, count in of_days}, last, days)


def _marks(of_days: QuerySet[ProblemDay], before: date, total: Sparkline) -> tuple[Mark, ...]:
    """The last of them, whatever rule is chosen: a version does not begin with a rule. Only what they are in is counted of the chosen rule."""
    names: dict[date, list[First]] = defaultdict(list)
    for words, column in (GROUPS["version"], GROUPS["model"]):
        firsts = ProblemDay.objects.counted().exclude(**{column: ""}).order_by().values_list(column).annotate(first=Min("day"))
        in_span = list(firsts.filter(first__gt=before, first__lte=total.last).order_by(column))
        counts = (
            of_days.filter(**{f"{column}__in": ["", *(name for name, _ in in_span)]})
            .values_list(column, "day")
            .annotate(Sum("occurrences"))
        )
        new: dict[str, dict[date, int]] = defaultdict(dict)
        for name, day, number in counts if in_span else ():
            new[name][day] = number
        for name, first in in_span:
            unnamed = sum(number for day, number in new[""].items() if day >= first)
            names[first].append(First(words, name, new[name].get(first, 0), sum(new[name].values()), unnamed))
    days = sorted(names)[-MARKS_SHOWN:]
    places = [(day - before).days - 1 for day in days]
    return tuple(Mark(ascii_uppercase[at], day, places[at], total.counts[places[at]], tuple(names[day])) for at, day in enumerate(days))


def _by_severity(of_days: QuerySet[ProblemDay], last: date, days: int) -> tuple[Sparkline, dict[str, Sparkline], int]:
    """Of all, of each severity, and how many are in streams."""
    in_streams, stream_codes = 0, {rule.code for rule in ALL_STREAM_RULES}
    all_: Counter[date] = Counter()
    parts: dict[str, Counter[date]] = {str(severity): Counter() for severity in Severity}
    for code, day, number in of_days.values_list("problem__code", "day").annotate(n=Sum("occurrences")):
        all_[day] += number
        in_streams += number if code in stream_codes else 0
        parts[_severity(code)][day] += number
    return sparkline(all_, last, days), {name: sparkline(part, last, days) for name, part in parts.items() if part}, in_streams


def _of_new(row: TrendRow, number: int) -> str:
    """How many of what is new in the row, and of what began before where there is any: the numbers of its table."""
    before = (f", {n:,} {word}" for n, word in ((row.before, "before"), (row.older, "older")) if n)
    return f"{number:,} of {row.days.total:,} new{''.join(before)}"


def _severity(code: str) -> str:
    known = any_rule(code)
    return str(known.severity if known else Severity.NOTE)


def _rows(
    of_days: QuerySet[ProblemDay],
    of_days_before: QuerySet[ProblemDay],
    repaired: QuerySet[Occurrence],
    by: str,
    code: str,
    last: date,
    days: int,
) -> tuple[tuple[TrendRow, ...], int]:
    """The SHOWN with the most new ones, then the most that are open, then the most before; and how many more there are."""
    column = GROUPS[by][1]
    new, before = (dict(rows.values_list(column).annotate(Sum("occurrences"))) for rows in (of_days, of_days_before))
    still: dict[str, int] | None = None
    ended: dict[str, int] = {}
    if column.startswith("problem__"):
        still = dict(_open_problems(code).values_list(column.removeprefix("problem__")).annotate(Sum("conversations")))
        ended = dict(repaired.values_list(column).annotate(Count("pk")))
    numbers = {key: (new.get(key, 0), (still or {}).get(key, 0), before.get(key, 0)) for key in {*new, *(still or {}), *before, *ended}}
    ordered = sorted(
        (key for key, counts in numbers.items() if any(counts) or key in ended), key=lambda key: ([-number for number in numbers[key]], key)
    )
    keys = ordered[:SHOWN]
    counts: dict[str, dict[date, int]] = defaultdict(dict)
    shown = of_days.filter(**{f"{column}__in": keys})
    for key, day, number in shown.values_list(column, "day").annotate(n=Sum("occurrences")).values_list(column, "day", "n"):
        counts[key][day] = number
    names = {source.oid: source.name for source in Source.objects.filter(oid__in=keys)} if by == "source" else {}
    rows = (
        TrendRow(
            key,
            _name(by, key, names),
            sparkline(counts[key], last, days),
            before.get(key, 0),
            None if still is None else still.get(key, 0),
            ended.get(key, 0),
            _href(by, key, code),
        )
        for key in keys
    )
    return tuple(rows), len(ordered) - len(keys)


def _open_problems(code: str) -> QuerySet[Problem]:
    """Those of the tab Open: what is ignored is not counted."""
    return Problem.objects.counted().filter(in_states()[ProblemState.OPEN], **({"code": code} if code else {})).order_by()


def _name(by: str, key: str, sources: dict[str, str]) -> str:
    if by == "rule":
        about = any_rule(key)
        return about.name if about else ""
    if by == "source":
        return clipped(sources.get(key, key), 60)[0]
    return visible(key) or "not known"


def _href(by: str, key: str, code: str) -> str:
    if by == "rule":
        return "/?" + urlencode({"q": key})
    if by == "source":
        return "/?" + urlencode({"source": key} | ({"q": code} if code else {}))
    return ""


def trends(request: OperatorRequest) -> HttpResponse:
    return page(request, "trends.html", _page(request), twins=("json",))


def trends_json(request: OperatorRequest) -> HttpResponse:
    content = _page(request)
    return as_json(
        {
            **json_fields(content, "by days=span rule"),
            "newest": content.newest.isoformat() if content.newest else None,
            "days_to": content.last.isoformat(),
            "active": content.active.counts,
            "active_damaged": content.active_damaged.counts,
            "total": content.total.total,
            "before": content.before,
            "in_streams": content.in_streams,
            "open": content.open,
            "open_in_streams": content.open_in_streams,
            "repaired": content.repaired,
            "more": content.more,
            "firsts": [
                {"day": mark.day.isoformat(), "what": what, "name": name} for mark in content.marks for what, name, *_ in mark.names
            ],
            "since": json_fields(
                content.since, "what=of.what name=of.name with_it=of.up_to_end not_known=of.unnamed total days_before=days"
            )
            | {
                "day": content.since.mark.day.isoformat(),
                "first": [row.key for row, _ in content.since.first],
                "again": [row.key for row, _ in content.since.again],
            }
            if content.since
            else None,
            "rows": [
                json_fields(row, "key name total=days.total before open repaired most=days.most days=days.counts") for row in content.rows
            ],
        }
    )
