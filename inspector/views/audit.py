"""The audit log: who did what to which bytes, when, and whether it still holds together."""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import reduce, wraps
from itertools import chain, groupby
from operator import or_
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpResponse, StreamingHttpResponse

from inspector.access.permits import permit
from inspector.actions.audit import REMOVE, WHAT_NEXT, AuditState, sealed_sentence, state
from inspector.middleware import OperatorRequest
from inspector.models import AuditEntry, Conversation, Repair, Source
from inspector.models.loading import format_of
from inspector.presentation.json_text import json_fields
from inspector.presentation.repair.plan import parts_of
from inspector.presentation.visible import clipped, visible
from inspector.programs.catalogue import UnknownFormat
from inspector.programs.formats import mode_word
from inspector.views.pages import as_json, page, refusal
from inspector.views.paging import ListWindow, window

FILTERS = {"repair": "repair", "conversation": "conversation", "source": "source_path", "who": "who", "verb": "verb"}
"""What an address may ask for, with the column."""
DAYS = {"from": "gte", "to": "lt"}
"""The first and the last day (UTC), both with the lines of that day."""
SPANS = {"hour": ("the last hour", timedelta(hours=1)), "day": ("the last 24 hours", timedelta(days=1))}
"""What `last` may ask for, with its words."""
SIGN_IN = "sign in"
WITHOUT = "without"
"""The verb whose lines an address leaves out."""
BATCH = 2_000
OFFERED = 5000
"""The newest lines, whose people and acts a page offers to choose from."""
CHECKED_AT_ONCE = 1000
"""Lines of the log up to which a page checks every one before it is shown; more are checked when the page is there, or a person asks."""
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a program for tables would compute; a quotation mark before it says that it is text."""
_HEX = re.compile(r"[0-9a-f]{16,}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
PLANNED = ("propose", "approve", "apply")
"""Acts on what the plan of a repair writes."""
SEARCHED = ("who", "verb", "source_path", "conversation", "repair")
"""Columns that a text is looked for in."""
_MOMENT = re.compile(r"\b(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(?:\.\d+)?\+00:00")


@dataclass(frozen=True, slots=True)
class AuditRow:
    """The links are "" where what the line names is not in the database any more."""

    entry: AuditEntry
    source: str
    conversation: str
    repair: str
    strategies: tuple[str, ...]
    """Of the repair."""
    detail: tuple[tuple[str, str], ...]
    """Name and value; of what is so or not only the name. Digests are among `fields` only."""
    client: tuple[str, ...]
    """The address and the browser of who signs in or is locked out, or of the session that ends."""
    title: str = ""
    """Of the conversation, where lists show it."""
    same: tuple[AuditEntry, ...] = ()
    """Lines in a row before `entry` that say the same."""

    @property
    def alike(self) -> object:
        """Equal for lines that a page may show as one: sign-ins of one person in one way, from one place."""
        entry = self.entry
        return (entry.verb, entry.who, self.detail, self.client) if entry.verb == SIGN_IN else entry.pk

    @property
    def kind(self) -> str:
        """What the id of the line is of."""
        return "source" if self.entry.verb == REMOVE else "conversation"

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """All that the log has of the line, with every digest whole."""
        facts = json_fields(self.entry, _ENTRY)
        # One of the details may have the name of a fact.
        pairs = chain(*(part.items() for part in (facts, facts.pop("detail"))))
        values = ((name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)) for name, value in pairs)
        return tuple((name, value) for name, value in values if value)


@dataclass(frozen=True, slots=True)
class AuditPage:
    rows: tuple[AuditRow, ...]
    here: ListWindow[AuditEntry]
    total: int
    state: AuditState | None
    """None where the lines are too many to check each before the page is shown."""
    filters: dict[str, str]
    """Name -> value of what the address asks for; {} = every line."""
    query: str
    """Of an export of the same lines."""
    people: tuple[tuple[str, str], ...]
    """Who is named by one of the newest lines, to choose from, with the one that is chosen; and what was done."""
    verbs: tuple[tuple[str, str], ...]
    checked_at: datetime

    @property
    def shown(self) -> tuple[AuditRow, ...]:
        """The rows of the page: sign-ins of one person in a row are one, unless a line of theirs is not intact."""
        broken = self.broken_lines
        runs = groupby(self.rows, lambda row: row.alike if row.entry.pk not in broken else row.entry.pk)
        return tuple(replace(run[0], same=tuple(row.entry for row in run[1:])) for _, rows in runs for run in [list(rows)])

    @property
    def broken_lines(self) -> frozenset[int]:
        return frozenset(problem.line for problem in self.state.problems) if self.state else frozenset()

    @property
    def sealed(self) -> str:
        return sealed_sentence(self.state.sealed) if self.state and self.state.sealed else ""

    @property
    def has_head(self) -> bool:
        """Whether the newest line is kept outside the database as well."""
        return bool(self.state and self.state.head and self.state.head.line)

    @property
    def is_about_one(self) -> bool:
        """Whether the address asks for lines about a source, a conversation or a repair."""
        return not self.filters.keys().isdisjoint(("source", "conversation", "repair"))

    @property
    def who(self) -> str:
        return self.filters.get("who", "")

    @property
    def q(self) -> str:
        return self.filters.get("q", "")

    @property
    def verb(self) -> str:
        return self.filters.get("verb", "")

    @property
    def first_day(self) -> str:
        return self.filters.get("from", "")

    @property
    def last_day(self) -> str:
        return self.filters.get("to", "")

    @property
    def spans(self) -> tuple[tuple[str, str, bool], ...]:
        """Name and words of each, with whether it is chosen."""
        return tuple((name, words, name == self.filters.get("last")) for name, (words, _) in SPANS.items())

    @property
    def has_no_sign_ins(self) -> bool:
        return self.filters.get(WITHOUT) == SIGN_IN

    what_next = WHAT_NEXT


def _rows(entries: Sequence[AuditEntry]) -> tuple[AuditRow, ...]:
    sources = {source.path: source for source in Source.objects.filter(path__in={entry.source_path for entry in entries})}
    named = {entry.conversation for entry in entries}
    conversations = set(Conversation.objects.filter(oid__in=named).values_list("oid", flat=True))
    titles = dict(Conversation.objects.counted().filter(oid__in=named).values_list("oid", "title"))
    repairs = {repair.oid: repair for repair in Repair.objects.filter(oid__in={entry.repair for entry in entries}).only(*_OF_REPAIR)}
    return tuple(
        AuditRow(
            entry,
            f"/sources/{sources[entry.source_path].oid}/" if entry.source_path in sources else "",
            f"/conversations/{entry.conversation}/" if entry.conversation in conversations else "",
            f"/repairs/{entry.repair}/" if entry.repair in repairs else "",
            tuple(repairs[entry.repair].strategies) if entry.repair in repairs else (),
            _details(entry, sources.get(entry.source_path), repairs.get(entry.repair)),
            tuple(str(entry.detail[name]) for name in _client(entry) if entry.detail.get(name)),
            titles.get(entry.conversation) or "",
        )
        for entry in entries
    )


_OF_REPAIR = ("oid", "strategies", "summary")
_WORDS = {
    "is_import_allowed": "an import of its store brings it back",
    "lock_ms": "store locked for ms",
    "tombstones": "digest of what is kept of it",
}
"""Details whose names in the log are not the words of a page."""


def _client(entry: AuditEntry) -> tuple[str, ...]:
    """The details that are the object of the line. Other lines name addresses of pages."""
    return ("address", "browser") if entry.verb in (SIGN_IN, "sign out of one session", "lock sign-in") else ()


def _details(entry: AuditEntry, source: Source | None, repair: Repair | None) -> tuple[tuple[str, str], ...]:
    values = {
        name: value
        for name, value in entry.detail.items()
        if value not in (0, "", [], {}) and name not in _client(entry) and not _DIGEST.fullmatch(str(value))
    }
    if repair and repair.summary and entry.verb in PLANNED:
        values = {"plan": parts_of(repair.summary)[0], **values}
    if source and "mode" in values:
        with suppress(UnknownFormat):
            values["mode"] = mode_word(format_of(source), values["mode"])
    return tuple((_WORDS.get(name) or name.replace("_", " "), "" if value is True else _shown(value)) for name, value in values.items())


def _shown(value: Any) -> str:
    """Ids of contents and moments shortened, lists with commas; `AuditRow.fields` has them whole."""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = ", ".join(value)
    text = value if isinstance(value, str) else json.dumps(value)
    return _MOMENT.sub(r"\1 \2 UTC", _HEX.sub(lambda match: f"{match.group()[:12]}…", text))


class NoDay(Exception):
    """A filter by days that names none."""


def _filters(request: OperatorRequest) -> dict[str, str]:
    return {name: value for name in (*FILTERS, "q", *DAYS, "last", WITHOUT) if (value := visible(request.GET.get(name, "").strip()))}


def _chosen(filters: Mapping[str, str]) -> QuerySet[AuditEntry]:
    """The lines that an address asks for. Raises NoDay."""
    entries = AuditEntry.objects.all()
    for name, value in filters.items():
        if name in DAYS:
            entries = entries.filter(**{f"at__{DAYS[name]}": _midnight(value) + timedelta(days=name == "to")})
            continue
        if name == "last":
            entries = entries.filter(at__gte=datetime.now(UTC) - _span(value))
            continue
        if name == "q":
            entries = entries.filter(reduce(or_, (Q(**{f"{column}__icontains": value}) for column in SEARCHED)))
            continue
        if name == WITHOUT:
            entries = entries.exclude(verb=value)
            continue
        if name == "source":
            value = Source.objects.filter(oid=value).values_list("path", flat=True).first() or value
        entries = entries.filter(**{FILTERS[name]: value})
    return entries


def _span(name: str) -> timedelta:
    try:
        return SPANS[name][1]
    except KeyError:
        raise NoDay from None


def _midnight(text: str) -> datetime:
    try:
        return datetime.combine(date.fromisoformat(text), time(), UTC)
    except ValueError:
        raise NoDay from None


def for_auditors(view: Callable[[OperatorRequest], Any]) -> Callable[[OperatorRequest], Any]:
    """The log names every source: it is read by who may see all. An address that names no day where it should is one sentence."""

    @wraps(view)
    def answer(request: OperatorRequest) -> Any:
        permit("audit")
        try:
            return view(request)
        except (NoDay, OverflowError):
            sentence = "This is no day: write the first and the last one as YYYY-MM-DD, such as from=2026-01-31, or last=hour or last=day."
            return as_json({"error": sentence}, status=400) if request.path.endswith(".json") else refusal(request, sentence, status=400)

    return answer


def _page(request: OperatorRequest, checks: bool = True) -> AuditPage:
    # The first query: before it, the head is read (see `state`).
    log = state() if checks or not AuditEntry.objects.order_by("pk")[CHECKED_AT_ONCE:].exists() else None
    filters = _filters(request)
    entries = _chosen(filters)
    here = window(entries, ("-id",), entries.count(), request.GET)
    kept = request.GET.copy()
    for name in ("page", "after", "before", "check"):
        kept.pop(name, None)
    newest = list(AuditEntry.objects.order_by("-pk").values_list("who", "verb")[:OFFERED])
    return AuditPage(
        rows=_rows(here.rows),
        here=here,
        total=here.total,
        state=log,
        filters=filters,
        query=f"?{kept.urlencode()}" if kept else "",
        people=_choices(filters.get("who", ""), (who for who, _ in newest)),
        verbs=_choices(filters.get("verb", ""), (verb for _, verb in newest)),
        checked_at=datetime.now(UTC),
    )


def _choices(chosen: str, words: Iterable[Any]) -> tuple[tuple[str, str], ...]:
    shown = {chosen, *(visible(str(word)) for word in words)} - {""}
    return tuple((word, clipped(word, 60)[0]) for word in sorted(shown))


@for_auditors
def audit(request: OperatorRequest) -> HttpResponse:
    return page(request, "audit.html", _page(request, request.GET.get("check") == "1"), part="check", twins=("json",))


@for_auditors
def audit_json(request: OperatorRequest) -> HttpResponse:
    content = _page(request)
    problems = content.state.problems if content.state else ()
    return as_json(
        {
            **json_fields(content, "total filters page=here.number pages=here.pages"),
            "next": content.here.older.query(request.GET) if content.here.older else "",
            "broken_at": min((problem.line for problem in problems if problem.line), default=None),
            "problems": [json_fields(problem, "line repair sentence") for problem in problems],
            "entries": [json_fields(row.entry, _ENTRY) for row in content.rows],
        }
    )


@for_auditors
def audit_csv(request: OperatorRequest) -> StreamingHttpResponse:
    """The lines that the filters leave, oldest first, with secrets masked; `audit --export` has them as they are sealed."""
    rows = ([_cell(value) for value in _entry(entry).values()] for entry in _in_batches(_chosen(_filters(request))))
    names = [column.partition("=")[0] for column in _ENTRY.split()]
    writer = csv.writer(Lines())
    lines = (writer.writerow(row) for row in chain([names], rows))
    return _download(lines, "text/csv; charset=utf-8", "audit.csv")


@for_auditors
def audit_lines(request: OperatorRequest) -> StreamingHttpResponse:
    """The same as one JSON object a line."""
    entries = _in_batches(_chosen(_filters(request)))
    lines = (json.dumps(_entry(entry), ensure_ascii=False, default=str) + "\n" for entry in entries)
    return _download(lines, "application/x-ndjson; charset=utf-8", "audit.jsonl")


class Lines:
    """What a writer of CSV writes, one line at a time."""

    def write(self, line: str) -> str:
        return line


def _entry(entry: AuditEntry) -> dict[str, Any]:
    return dict(json_fields(entry, _ENTRY))


def _cell(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str).strip('"')
    return f"'{text}" if text.startswith(FORMULA) else text


def _in_batches(entries: QuerySet[AuditEntry]) -> Iterator[AuditEntry]:
    """Queried now, so that no filter is refused in the middle of the answer; of the next ones only so many are in memory at a time."""
    batch = list(entries.order_by("id")[:BATCH])

    def lines(batch: list[AuditEntry]) -> Iterator[AuditEntry]:
        while batch:
            yield from batch
            batch = list(entries.filter(pk__gt=batch[-1].pk).order_by("id")[:BATCH])

    return lines(batch)


def _download(lines: Iterator[str], kind: str, name: str) -> StreamingHttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return StreamingHttpResponse((line.encode() for line in lines), content_type=kind, headers=headers)


_ENTRY = "number=pk at who verb source=source_path conversation repair detail previous digest"
