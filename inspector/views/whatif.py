"""The impact of a reader change: every conversation as one client and as others of its program have it."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import Http404, HttpResponse

from inspector.middleware import OperatorRequest
from inspector.models import Conversation, ConversationCount, Source
from inspector.models.comparing import chunks_to_read, comparable, difference, differences, running
from inspector.presentation.conversation.verdict import PASSES, REJECTED, SILENT
from inspector.presentation.json_text import Json, json_fields
from inspector.presentation.whatif.differences import (
    NEXT_REQUESTS,
    NOT_KNOWN,
    Client,
    Difference,
    Summary,
    Tally,
    candidates,
    client,
    compared_formats,
    standing,
    summarize,
)
from inspector.presentation.whatif.report import difference_report, summary_report
from inspector.presentation.whatif.words import PARTS, STANDINGS, WORDS, Standing, Words, going_back, loss_words, part_of, state_words
from inspector.profiles.catalogue import PROFILES, UnknownProfile
from inspector.profiles.catalogue import profile as profile_named
from inspector.programs.catalogue import UnknownFormat, format_named
from inspector.programs.registry import program_or_default
from inspector.readers.catalogue import UnknownReader, all_readers, names
from inspector.views.conversation_list import newest_first
from inspector.views.pages import as_json, page
from inspector.views.paging import ListWindow, in_memory

PER_PAGE = 25
AMOUNTS = (50, 200, 1000)
"""Conversations that are read by each client, the newest; a page reads the first amount unless the address asks for more."""
BEST = 3
"""Readers that are shown before the list of all is opened, next to the two that are compared."""
MOST_READ = 2_000
"""Chunks that a page of one conversation reads of the others to say where it is among them, a tenth of a second or two; beyond, it says nothing."""
_FAILING = frozenset(NEXT_REQUESTS.values()) - {"newly_passes"}
"""The changes after which a next request does not pass."""
COLUMNS = (
    ("newly pass", "good", ("newly_passes", "newly_lacks")),
    ("newly rejected", "why", ("newly_rejected", "rejected_not_silent")),
    ("newly wrong silently", "why", ("newly_silent", "silent_not_rejected")),
    (WORDS["only_worse"].several, "why", ("only_worse",)),
    *((WORDS[name].several, "", (name,)) for name in ("mixed", "only_better", "neither")),
    ("are as now", "", ("still_rejected", "still_silent", "same")),
)
"""What becomes of conversations: its words, the class of its color where there are any, and the parts. Each conversation is in one of them."""
EQUALS_NAMED = 3


def _is(name: str) -> Callable[[Difference], bool]:
    return lambda difference: name == part_of(difference)


SHOWS: Mapping[str, Callable[[Difference], bool]] = {
    "all": lambda difference: difference.differs or bool(difference.still_merged),
    "wrong": lambda difference: difference.state_b in (REJECTED, SILENT) or (difference.state_b == PASSES and bool(difference.silence_b)),
    "failing": lambda difference: difference.next_request in _FAILING,
    "worse": lambda difference: bool(difference.worse),
    "worse_in_part": lambda difference: gets_worse(difference),
    **{name: _is(name) for name in PARTS},
    "merged": lambda difference: bool(difference.still_merged),
    NOT_KNOWN: lambda difference: difference.state_b == NOT_KNOWN,
}
"""Which rows a page shows, by the names of their words."""
_SHOWN_BEFORE = {"sendable": "newly_passes", "rejected": "newly_rejected"}
"""As links in issues name them that were made while a request was either rejected or not."""


@dataclass(frozen=True, slots=True)
class WhatIfChoice:
    """`a` runs now, `b` is compared with it; `profile` is "" for each conversation's own; `show` picks the rows, `amount` how many conversations are read."""

    a: str
    b: str
    profile: str
    show: str
    amount: int


@dataclass(frozen=True, slots=True)
class WhatIfRow:
    conversation: Conversation
    difference: Difference

    @property
    def words(self) -> Words:
        return WORDS[part_of(self.difference)]


@dataclass(frozen=True, slots=True)
class ComparedProgram:
    """A program with imported conversations, as one reader has them now; `href` compares it. `is_demo`: only the demo has it, next to other sources."""

    title: str
    href: str
    is_chosen: bool
    is_demo: bool


@dataclass(frozen=True, slots=True)
class ClientLine:
    """`query` shows a conversation as this client reads and sends it; `columns` has each conversation once: the words and colors of COLUMNS, and how many.

    `worse`: conversations that get worse in something, whatever else becomes of them.
    """

    summary: Summary
    query: str
    columns: tuple[tuple[str, str, Tally], ...]
    worse: int

    @property
    def title(self) -> str:
        return client(self.summary.reader_b).title

    @property
    def standing(self) -> Standing:
        return STANDINGS[standing(self.summary.reader_a, self.summary.reader_b)]

    @property
    def lacking(self) -> tuple[tuple[str, int], ...]:
        """What requests lack that pass, and in how many conversations."""
        return tuple(self.summary.lacking.items())

    @property
    def failing(self) -> int:
        """How many next requests change and do not pass."""
        return sum(self.summary.next_requests[name].count for name in _FAILING)

    @property
    def wrong(self) -> int:
        """How many next requests do not pass then, or pass and lack something."""
        states = self.summary.states
        return states[REJECTED][1] + states[SILENT][1] + sum(self.summary.lacking.values())

    @property
    def rank(self) -> tuple[int, ...]:
        passing, silent, rejected = (self.summary.states[state][1] for state in (PASSES, SILENT, REJECTED))
        return -passing, silent, rejected, self.worse, self.summary.merged.count


@dataclass(frozen=True, slots=True)
class Equals:
    """Readers that are equal to the chosen one in all numbers, and the conversations of which something else becomes with them: none, where the list is empty."""

    names: tuple[str, ...]
    conversations: int
    named: tuple[Conversation, ...]
    """The first few of them."""


@dataclass(frozen=True, slots=True)
class Part:
    """Conversations of one part: `x` and `width` are percentages of a bar of all; `name` is the row filter that lists them."""

    words: Words
    count: int
    name: str
    x: float
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfPage:
    """`lines` has one a client; `rows` are the conversations that A and B read differently, worse ones first."""

    programs: tuple[ComparedProgram, ...]
    choice: WhatIfChoice
    others: tuple[str, ...]
    """Readers that can be chosen and are not among the lines."""
    profiles: tuple[str, ...]
    lines: tuple[ClientLine, ...]
    chosen: ClientLine
    equals: tuple[Equals, ...]
    is_ours: bool
    """Whether the page chose the reader to compare."""
    now: str
    """The query for what runs now."""
    rows: tuple[WhatIfRow, ...]
    here: ListWindow[str]
    part_counts: Mapping[str, int]
    counted: int
    running: Mapping[str, int]
    """How many conversations of the program each reader has now."""

    @property
    def query(self) -> str:
        """That of this page, for one that leads back to it."""
        choice = self.choice
        rest = {
            "profile": choice.profile,
            "show": "" if choice.show == "all" else choice.show,
            "of": "" if choice.amount == AMOUNTS[0] else choice.amount,
            "page": "" if self.here.number == 1 else self.here.number,
        }
        return urlencode({"reader": [choice.a, choice.b], **{name: value for name, value in rest.items() if value}}, doseq=True)

    @property
    def clients(self) -> tuple[tuple[str, Client], ...]:
        """The one that runs now, and the one that is compared with it."""
        return ("runs now", client(self.choice.a)), (self.chosen.standing.label, client(self.choice.b))

    @property
    def total(self) -> int:
        return self.running.get(self.choice.a, sum(self.running.values()))

    @property
    def is_supposed(self) -> bool:
        """No source is read by the one that is to run now."""
        return self.choice.a not in self.running

    @property
    def other_running(self) -> tuple[tuple[str, int], ...]:
        """Other readers of sources of this program, with their conversations."""
        return tuple((name, count) for name, count in self.running.items() if name != self.choice.a)

    @property
    def words(self) -> Mapping[str, Words]:
        return WORDS

    @property
    def verdict(self) -> str:
        """What gets worse, then what becomes of the next requests, with the reader that runs now and with the other."""
        return "; ".join(filter(None, (self.losses, state_words(self.chosen.summary))))

    @property
    def losses(self) -> str:
        return loss_words(self.part_counts, self.chosen.summary)

    @property
    def going_back(self) -> str:
        return going_back(self.chosen.summary, self.losses)

    @property
    def has_fixes(self) -> bool:
        """Readers are compared with and without proposed fixes of their program."""
        return any(bool(program_or_default(name).converters[1]) for name in compared_formats(self.choice.a))

    @property
    def has_unknown(self) -> bool:
        """Something of a conversation was not read, whichever client reads it."""
        return bool(self.chosen.summary.states[NOT_KNOWN][1])

    @property
    def best(self) -> tuple[ClientLine, ...]:
        """The readers with which most next requests pass, then fewest go wrong silently; with those that the page compares."""
        ranked = sorted(self.lines, key=lambda line: line.rank)
        named = (self.choice.a, self.choice.b)
        return tuple(line for place, line in enumerate(ranked) if place < BEST or line.summary.reader_b in named)

    @property
    def parts(self) -> tuple[Part, ...]:
        """Each conversation is in one of them."""
        parts: list[Part] = []
        for name in PARTS:
            if count := self.part_counts[name]:
                x = parts[-1].x + parts[-1].width if parts else 0
                parts.append(Part(WORDS[name], count, name, x, 100 * count / self.counted))
        return tuple(parts)

    @property
    def shows(self) -> tuple[tuple[str, str], ...]:
        return tuple((name, WORDS[name].several) for name in SHOWS)

    @property
    def amounts(self) -> tuple[tuple[str, str], ...]:
        """What `of` chooses from, of so many conversations."""
        smaller = [amount for amount in AMOUNTS if amount < self.total]
        return tuple((str(amount), f"{amount:,} newest") for amount in AMOUNTS[: len(smaller) + 1]) if smaller else ()


def _choice(request: OperatorRequest) -> WhatIfChoice:
    """The deployed reader and one that was proposed for its program, unless the address names others. Raises Http404."""
    get = request.GET
    readers = get.getlist("reader")[:2]
    show = _SHOWN_BEFORE.get(get.get("show", ""), get.get("show", ""))
    try:
        a = readers[0] if readers else _deployed(get.get("program", "")) or all_readers()[0].name
        b = readers[1] if len(readers) > 1 else _other(a)
        if not compared_formats(a, b):
            raise Http404(f"{a} and {b} are readers of different programs: choose two of one program.")
        if get.get("profile"):
            profile_named(get["profile"])
    except (UnknownReader, UnknownProfile, UnknownFormat) as problem:
        raise Http404(str(problem)) from None
    return WhatIfChoice(a, b, get.get("profile", ""), show if show in SHOWS else "all", _amount(get.get("of", "")))


def _amount(text: str) -> int:
    return next((amount for amount in AMOUNTS if str(amount) == text), AMOUNTS[0])


def _deployed(program: str) -> str | None:
    """Of one's own sources before the demo's; the first by its format whose program has several readers to compare, or of the format `program`. Raises UnknownFormat."""
    sources = Source.objects.filter(is_trace=False).exclude(reader="").order_by("is_demo", "format", "pk").values_list("format", "reader")
    if program:
        return next((name for format_name, name in sources if format_name == program), format_named(program).default_reader)
    return next((name for format_name, name in sources if len(names(format_name)) > 1), None)


def _other(name: str) -> str:
    """What to compare a reader with: what was proposed for its program and may ship, else the next release, else the one before."""
    offered = [other for other in _offered(compared_formats(name)) if other != name]
    releases = sorted(filter(_is_version, offered), key=_release)
    newer, older = ([other for other in releases if standing(name, other) == place] for place in ("newer", "older"))
    return next(iter((*filter(_may_ship, offered), *newer, *reversed(older), *filter(_is_version, offered), *offered)), name)


def _release(name: str) -> tuple[int, ...]:
    return client(name).reader.release


def _may_ship(name: str) -> bool:
    about = client(name).reader
    return about.proposed and not about.is_withdrawn


def _may_replace(name: str, now: str) -> bool:
    """Whether it may take the place of the one that runs `now`."""
    return _may_ship(name) or (standing(now, name) == "newer" and _is_version(name))


def _is_version(name: str) -> bool:
    """Whether it is one of its own: neither a proposal that was withdrawn, nor what another goes on to send."""
    about = client(name).reader
    return not about.is_withdrawn and not about.is_sent


def _offered(formats: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name for format_name in formats for name in candidates(format_name)))


def client_query(name: str, profile: str = "") -> str:
    """What shows a conversation as a client reads and sends it, judged by a profile; by its own where that is ""."""
    chosen_client = client(name)
    # An empty name is the deployed projection.
    projection = chosen_client.projection("")
    return urlencode(
        {"reader": chosen_client.reader.name, **({"as": projection} if projection else {}), **({"profile": profile} if profile else {})}
    )


def _programs(choice: WhatIfChoice) -> tuple[ComparedProgram, ...]:
    present = ConversationCount.objects.filter(is_gone=False, conversations__gt=0).order_by(
        "source__is_demo", "source__format", "source__reader"
    )
    has_own = Source.objects.filter(is_demo=False).exists()
    # Of a program that one has oneself, the demo's conversations are not compared.
    is_demo_alone: dict[tuple[str, ...], bool] = {}
    formats: dict[str, str] = {}
    for format_name, is_demo, name in present.values_list("source__format", "source__is_demo", "source__reader").distinct():
        offered = tuple(names(format_name))
        if len(offered) > 1 and is_demo_alone.setdefault(offered, has_own and is_demo) == (has_own and is_demo):
            formats.setdefault(name, format_name)
    several = Counter(formats.values())
    return tuple(
        ComparedProgram(
            f"{format_name} {name}" if several[format_name] > 1 else format_name,
            f"?{urlencode({'reader': name})}",
            name == choice.a or (choice.a not in formats and client(choice.a).reader.format == format_name),
            is_demo_alone[tuple(names(format_name))],
        )
        for name, format_name in formats.items()
    )


def _newest(choice: WhatIfChoice) -> QuerySet[Conversation]:
    return newest_first(comparable(compared_formats(choice.a, choice.b), choice.a))[: choice.amount]


def _listed(choice: WhatIfChoice, compared: Iterable[tuple[str, Difference]]) -> list[str]:
    """The ids of the conversations that the page shows: what gets worse first, and of that what loses most."""
    shown = [row for row in compared if SHOWS[choice.show](row[1])]
    return [oid for oid, _ in sorted(shown, key=lambda row: (PARTS.index(part_of(row[1])), not row[1].worse, -row[1].lost_messages))]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a conversation is in the list of What if: its number, from 1, the page that shows it ("": the first), and the rows before and after it."""

    number: int
    total: int
    before: Conversation | None
    after: Conversation | None

    @property
    def page(self) -> str:
        return str((self.number - 1) // PER_PAGE + 1) if self.number > PER_PAGE else ""


def place_of(request: OperatorRequest, oid: str) -> Place | None:
    """In the list that the address gives on What if; None where it is not in it, or where that takes more than a moment. Raises Http404."""
    choice = _choice(request)
    rows = {row.oid: row for row in _newest(choice)}
    readers = (choice.a, choice.b)
    if oid not in rows or chunks_to_read(list(rows.values()), readers, choice.profile) > MOST_READ:
        return None
    listed = _listed(choice, ((one, result) for one, (result,) in differences(rows.values(), readers, choice.profile)))
    if oid not in listed:
        return None
    at = listed.index(oid)
    before, after = (rows[listed[near]] if 0 <= near < len(listed) else None for near in (at - 1, at + 1))
    return Place(at + 1, len(listed), before, after)


def gets_worse(difference: Difference) -> bool:
    """In something: a next request that only fails in another way is no such thing."""
    return any(mark == "worse" for mark, _ in difference.changes)


def _line(choice: WhatIfChoice, name: str, named: Sequence[tuple[str, Difference]]) -> ClientLine:
    columns = []
    for words, color, parts in COLUMNS:
        oids = [oid for oid, one in named if part_of(one) in parts]
        columns.append((words, color if oids else "", Tally(len(oids), tuple(oids[:1]))))
    worse = sum(gets_worse(one) for _, one in named)
    return ClientLine(summarize(choice.a, name, named), client_query(name, choice.profile), tuple(columns), worse)


def _equals(
    choice: WhatIfChoice, lines: Sequence[ClientLine], place: int, compared: Sequence[tuple[str, Sequence[Difference]]]
) -> dict[tuple[str, ...], list[str]]:
    """The names of the readers that have the rank of the chosen one, by the ids of the conversations that differ with it."""
    equals: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for at, line in enumerate(lines):
        if line.rank == lines[place].rank and line.summary.reader_b not in (choice.a, choice.b):
            oids = (oid for oid, by_client in compared if replace(by_client[at], reader_b=choice.b) != by_client[place])
            equals[tuple(oids)].append(line.summary.reader_b)
    return dict(sorted(equals.items(), key=lambda one: len(one[0])))


def _page(request: OperatorRequest) -> WhatIfPage:
    choice = _choice(request)
    formats = compared_formats(choice.a, choice.b)
    offered = _offered(formats)
    # Of sessions that two programs share, some readers open only the files.
    others = list(dict.fromkeys([*(name for name in offered if all(name in candidates(format_name) for format_name in formats)), choice.b]))
    compared = differences(_newest(choice), [choice.a, *others], choice.profile)
    place = others.index(choice.b)
    lines = tuple(_line(choice, name, [(oid, by_client[at]) for oid, by_client in compared]) for at, name in enumerate(others))
    is_ours = len(request.GET.getlist("reader")) < 2
    if is_ours:
        replacing = [line for line in lines if _may_replace(line.summary.reader_b, choice.a) and line.summary.reader_b != choice.a]
        best = min(replacing, key=lambda line: line.rank, default=lines[place])
        choice, place = replace(choice, b=best.summary.reader_b), lines.index(best)
    named = [*offered, *(name for format_name in formats for name in names(format_name))]
    here = in_memory(_listed(choice, ((oid, by_client[place]) for oid, by_client in compared)), request.GET, PER_PAGE)
    equals = _equals(choice, lines, place, compared)
    linked = {oid for oids in equals for oid in oids[:EQUALS_NAMED]}
    by_oid = {row.oid: row for row in Conversation.objects.filter(oid__in={*here.rows, *linked}).select_related("source")}
    return WhatIfPage(
        programs=_programs(choice),
        choice=choice,
        others=tuple(dict.fromkeys(name for name in (*named, choice.a) if name not in others)),
        profiles=tuple(judge.name for judge in PROFILES),
        lines=lines,
        chosen=lines[place],
        equals=tuple(
            Equals(tuple(equal), len(oids), tuple(by_oid[oid] for oid in oids[:EQUALS_NAMED] if oid in by_oid))
            for oids, equal in equals.items()
        ),
        is_ours=is_ours,
        now=client_query(choice.a, choice.profile),
        rows=tuple(
            WhatIfRow(by_oid[oid], difference(by_oid[oid], choice.a, choice.b, choice.profile)) for oid in here.rows if oid in by_oid
        ),
        here=here,
        part_counts=Counter(part_of(by_client[place]) for _, by_client in compared),
        counted=len(compared),
        running=running(formats),
    )


def whatif(request: OperatorRequest) -> HttpResponse:
    return page(request, "whatif.html", _page(request), twins=("json",))


def whatif_json(request: OperatorRequest) -> HttpResponse:
    return as_json(_report(_page(request)))


def _report(content: WhatIfPage) -> Json:
    return {
        **summary_report(content.chosen.summary),
        **json_fields(content, "counted total page=here.number pages=here.pages"),
        "readers": [summary_report(line.summary) for line in content.lines],
        "differences": [difference_report(row.conversation.oid, row.conversation.native_id, row.difference) for row in content.rows],
    }
