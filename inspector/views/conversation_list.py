"""The list of conversations: filters in the address, pages of fifty, and every limit is shown."""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.db.models import Case, Count, F, IntegerField, Q, QuerySet, Value, When
from django.http import HttpResponse

from inspector.middleware import OperatorRequest
from inspector.models import Conversation, Finding, Source, searching
from inspector.presentation.json_text import Json, json_fields
from inspector.presentation.visible import visible
from inspector.readers.catalogue import all_readers
from inspector.rules.catalogue import RULES
from inspector.views.crashes import Crash, newest_crashes
from inspector.views.pages import as_json, page

PER_PAGE = 50
BADGES = 6

DAMAGED = Q(worst__in=("error", "warning")) | Q(refused=True)
STATES: dict[str, tuple[str, Q]] = {
    "damaged": ("damaged or rejected", DAMAGED),
    "silent": ("goes wrong silently", Q(has_silent=True)),
    "refused": ("rejected by the provider", Q(refused=True)),
    "healthy": ("nothing found", ~DAMAGED),
}
SEVERITY_RANK = Case(
    When(severity="error", then=Value(0)), When(severity="warning", then=Value(1)), default=Value(2), output_field=IntegerField()
)


@dataclass(frozen=True, slots=True)
class Badge:
    """How often a rule fires on one conversation."""

    code: str
    rule: str
    severity: str
    silent: bool
    count: int


_THROUGH_TREES = frozenset(reader.name for reader in all_readers() if reader.path is not None)


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """`matching` counts the chunks with the searched text; `left_out` the rules beyond the first six."""

    conversation: Conversation
    badges: tuple[Badge, ...]
    left_out: int
    matching: int = 0

    @property
    def is_read_otherwise(self) -> bool:
        """Whether other messages are read than were stored. A path through a tree has others anyway: a compaction, branches, synthetic messages."""
        conversation = self.conversation
        is_tree = conversation.source.reader in _THROUGH_TREES
        return conversation.message_count != conversation.read_count and not is_tree


@dataclass(frozen=True, slots=True)
class Filters:
    """What the address chooses. `source` is an oid; unknown words choose nothing, and the page says what it understood."""

    q: str
    rule: str
    source: str
    state: str
    gone: bool

    @property
    def any(self) -> bool:
        return bool(self.q or self.rule or self.source or self.state or self.gone)

    @property
    def as_query(self) -> str:
        """The text filter of a conversation's own page."""
        return urlencode({"q": self.q})


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationListPage:
    filters: Filters
    rows: tuple[ConversationRow, ...]
    here: Page[Conversation]
    total: int
    gone: int
    """How many more the same filters find among those that are gone from their stores."""
    rules: tuple[tuple[str, str], ...]
    states: tuple[tuple[str, str], ...]
    sources: tuple[tuple[str, str], ...]
    crashes: tuple[Crash, ...]
    crash_total: int
    no_index: str
    """Why a search is slow; "" where it is not, or where nothing is searched for."""


def newest_first(conversations: QuerySet[Conversation]) -> QuerySet[Conversation]:
    """The demo's conversations follow one's own: they are there to try things on."""
    return conversations.select_related("source").order_by("source__is_demo", F("last_activity").desc(nulls_last=True), "id")


def open_findings() -> QuerySet[Finding]:
    """Findings of the newest revisions, in conversations that are still in their stores."""
    return Finding.objects.filter(conversation__is_gone=False, is_open=True)


def rows_of(conversations: Iterable[Conversation], q: str = "") -> tuple[ConversationRow, ...]:
    """The rows of a list: two queries, however many conversations there are."""
    conversations = list(conversations)
    ids = [conversation.pk for conversation in conversations]
    badges: dict[int, list[Badge]] = {}
    counted = Finding.objects.filter(conversation_id__in=ids, is_open=True).annotate(rank=SEVERITY_RANK)
    for row in (
        counted.values("conversation_id", "code", "rule", "severity", "silent", "rank")
        .annotate(n=Count("pk"))
        .order_by("rank", "-silent", "code")
    ):
        badges.setdefault(row["conversation_id"], []).append(Badge(row["code"], row["rule"], row["severity"], row["silent"], row["n"]))
    matching = searching.counts(q, ids) if q else {}
    return tuple(
        ConversationRow(row, tuple(badges.get(row.pk, ())[:BADGES]), max(0, len(badges.get(row.pk, ())) - BADGES), matching.get(row.pk, 0))
        for row in conversations
    )


def _filters(request: OperatorRequest) -> Filters:
    get = request.GET
    state = get.get("state", "")
    q = visible(get.get("q", "").strip())[:500]
    rule, source = visible(get.get("rule", "").upper())[:12], visible(get.get("source", ""))[:12]
    return Filters(q, rule, source, state if state in STATES else "", get.get("gone") == "1")


def chosen(filters: Filters) -> QuerySet[Conversation]:
    """Conversations that the filters let through, gone ones included."""
    conversations = Conversation.objects.all()
    if filters.q:
        conversations = conversations.filter(searching.conversations_with(filters.q))
    if filters.rule:
        conversations = conversations.filter(pk__in=Finding.objects.filter(code=filters.rule, is_open=True).values("conversation_id"))
    if filters.source:
        conversations = conversations.filter(source__oid=filters.source)
    return conversations.filter(STATES[filters.state][1]) if filters.state else conversations


def _page(request: OperatorRequest) -> ConversationListPage:
    searching.index_in_background()
    filters = _filters(request)
    conversations = chosen(filters)
    crashes, crash_total = ((), 0) if filters.any else newest_crashes()
    here = Paginator(newest_first(conversations.filter(is_gone=filters.gone)), PER_PAGE).get_page(request.GET.get("page"))
    return ConversationListPage(
        filters=filters,
        rows=rows_of(here.object_list, filters.q),
        here=here,
        total=here.paginator.count,
        gone=0 if filters.gone else conversations.filter(is_gone=True).count(),
        rules=tuple((rule.code, rule.name) for rule in RULES),
        states=tuple((name, words) for name, (words, _) in STATES.items()),
        sources=tuple((source.oid, source.name) for source in Source.objects.filter(is_trace=False)),
        crashes=crashes,
        crash_total=crash_total,
        no_index=searching.no_index() if filters.q else "",
    )


_ROW = (
    "id=oid native_id title source=source.oid chunks=chunk_count messages_stored=message_count messages_read=read_count verdict status "
    "last_activity worst silent=has_silent refused gone=is_gone"
)


def row_report(row: ConversationRow) -> Json:
    """One conversation of a `.json` list."""
    return {
        **json_fields(row.conversation, _ROW),
        "findings": [json_fields(badge, "code rule severity count") for badge in row.badges],
        "findings_left_out": row.left_out,
    }


def conversation_list(request: OperatorRequest) -> HttpResponse:
    return page(request, "conversations.html", _page(request), part="rows", twins=("json",))


def conversation_list_json(request: OperatorRequest) -> HttpResponse:
    content = _page(request)
    return as_json(
        {
            **json_fields(content, "total gone page=here.number pages=here.paginator.num_pages"),
            "conversations": [row_report(row) for row in content.rows],
        }
    )
