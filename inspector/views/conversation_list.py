"""The list of conversations: filters in the address, pages of fifty, and every limit is shown."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.db.models import Aggregate, Case, Count, IntegerField, OuterRef, Q, QuerySet, Sum, Value, When
from django.http import HttpResponse

from inspector.middleware import OperatorRequest
from inspector.models import Conversation, ConversationCount, ConversationRule, Repair, RuleCount, Source, counting, searching
from inspector.models.prepared import prepared, totals
from inspector.models.visible import DEMO
from inspector.presentation.clock import day_of, first_of
from inspector.presentation.conversation.ending import WRONG_SILENTLY
from inspector.presentation.conversation.verdict import SILENT, NextRequest, unless_unnoticed
from inspector.presentation.json_text import Json, json_fields
from inspector.presentation.visible import visible
from inspector.readers.catalogue import all_readers
from inspector.rules.catalogue import RULES
from inspector.views.crashes import Crash, newest_crashes
from inspector.views.live import live
from inspector.views.pages import as_json, page
from inspector.views.paging import ListWindow, window

BADGES = 6
DAY = 86_400_000

DAMAGED = Q(is_damaged=True)
STATES: dict[str, tuple[str, dict[str, bool]]] = {
    "": ("All", {}),
    "damaged": ("Damaged or rejected", {"is_damaged": True}),
    "refused": ("Rejected", {"refused": True, "is_damaged": True, "is_crash": False}),
    "silent": ("Unreported", {"has_silent": True, "is_damaged": True}),
    "forked": ("Repaired by a fork", {"is_replaced": True}),
    "crash": ("Crash files", {"is_crash": True}),
    "healthy": ("Nothing found", {"is_damaged": False, "is_replaced": False}),
}
"""State -> the words of its tab, and the columns of a conversation, and of its count, that say so."""
MEANINGS = {
    "damaged": "With an error or warning that a rule reports, or with a next request that the provider rejects.",
    "refused": "Their next request breaks a rule of the provider: it answers with an error, at each attempt.",
    "silent": "With an error or warning that no program reports, or a next request that goes wrong silently. A provider may reject it all the "
    "same: such a conversation is in Rejected too.",
    "forked": "A repair wrote them again as new conversations, to which their rows lead: users go on there.",
    "crash": "What a program wrote down when it failed, next to its sessions.",
    "healthy": "No rule reports an error or a warning, and the next request passes all known rules. That is no promise.",
}
"""What a state is, for those who see only its name."""
StateCounts = Mapping[str, int | None]
"""What `_state_counts` gives; empty where a text or a rule chooses too."""
SORTS: dict[str, tuple[str, str]] = {
    "": ("place", "id"),
    "active": ("-place", "-id"),
    "-active": ("place", "id"),
    "chunks": ("chunk_count", "id"),
    "-chunks": ("-chunk_count", "-id"),
}
"""What the address may ask for -> the columns; those that were active last come first where it asks for nothing."""
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

    @property
    def label(self) -> str:
        return f"{self.code} ×{self.count}" if self.count > 1 else self.code

    @property
    def title(self) -> str:
        times = "1 time" if self.count == 1 else f"{self.count} times"
        return f"{self.rule}: {self.severity}, {'no program reports it' if self.silent else 'usually raises an error'}, {times}"


_THROUGH_TREES = frozenset(reader.name for reader in all_readers() if reader.path is not None)


def is_through_tree(conversation: Conversation) -> bool:
    """Whether its numbers of messages are of a path: a compaction, branches and synthetic messages make others of them anyway."""
    return conversation.source.reader in _THROUGH_TREES


def is_cut_off(conversation: Conversation, following: NextRequest) -> bool:
    """Whether what is stored is not all on the path that both numbers of messages are of."""
    is_lost = following.state == SILENT and following.words != WRONG_SILENTLY
    return is_lost and conversation.message_count == conversation.read_count and is_through_tree(conversation)


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """`matching` counts the chunks with the searched text; `left_out` the rules beyond the first six."""

    conversation: Conversation
    badges: tuple[Badge, ...]
    left_out: int
    matching: int = 0
    fork: Conversation | None = None
    """What replaced it."""
    undone: Repair | None = None
    """The repair that wrote it, and whose undo removed it."""
    waiting: Repair | None = None
    """Of its repairs the one that is proposed or approved."""

    @property
    def has_error(self) -> bool:
        return any(badge.severity == "error" for badge in self.badges)

    @property
    def next_request(self) -> NextRequest:
        silent_errors = (badge.code for badge in self.badges if badge.silent and badge.severity == "error")
        return unless_unnoticed(NextRequest(*self.conversation.next_request), silent_errors)

    @property
    def is_cut_off(self) -> bool:
        """Whether both numbers of messages are of the path through a tree, and what is stored is not all reached: a damaged parent or line hides it."""
        return is_cut_off(self.conversation, self.next_request)

    @property
    def is_read_otherwise(self) -> bool:
        """Whether other messages are read than were stored; of a path through a tree others are anyway."""
        conversation = self.conversation
        return conversation.message_count != conversation.read_count and not is_through_tree(conversation)


@dataclass(frozen=True, slots=True)
class Filters:
    """What the address chooses. `source` is an oid; unknown words choose nothing, and the page says what it understood."""

    q: str
    rule: str
    source: str
    state: str
    gone: bool
    sort: str = ""
    since: str = ""
    """First and last day (UTC) on which a conversation was active last."""
    until: str = ""
    by: str = ""
    """A part of the model or of the version of the client."""

    @property
    def any(self) -> bool:
        return bool(self.is_uncounted or self.rule or self.source or self.state or self.gone)

    @property
    def is_uncounted(self) -> bool:
        """No stored count says how many it chooses."""
        return bool(self.q or self.since or self.until or self.by)

    @property
    def counted_of(self) -> dict[str, Any]:
        """How stored counts are asked of its source: what the query of these depends on is named, its values are not."""
        return {"is_demo": True} if self.source == DEMO else {}

    @property
    def own_source(self) -> tuple[str, ...]:
        return (self.source,) if self.source and self.source != DEMO else ()

    @property
    def as_query(self) -> str:
        """The text filter of a conversation's own page."""
        return urlencode({"q": self.q})


@dataclass(frozen=True, slots=True)
class StateTab:
    """`count` is None where a text or a rule chooses too: nothing is counted for it."""

    state: str
    words: str
    count: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationListPage:
    filters: Filters
    rows: tuple[ConversationRow, ...]
    here: ListWindow[Any]
    total: int
    gone: int
    """How many more the same filters find among those that are gone from their stores."""
    rules: tuple[tuple[str, str], ...]
    tabs: tuple[StateTab, ...]
    sources: tuple[tuple[str, str], ...]
    crashes: tuple[Crash, ...]
    crash_total: int
    without_demo: bool
    """Whether conversations of the demo are left out."""
    no_index: str
    """Why a search is slow; "" where it is not, or where nothing is searched for."""

    @property
    def meaning(self) -> str:
        """Of the state that is chosen."""
        return MEANINGS.get(self.filters.state, "")


def newest_first(conversations: QuerySet[Conversation]) -> QuerySet[Conversation]:
    """Those that were active last come first."""
    return conversations.prefetch_related("source").order_by("place", "id")


def with_rule(code: str | OuterRef, is_gone: bool = False, source: str = "") -> QuerySet[ConversationRule]:
    """The conversations with open findings of a rule, each once."""
    rows = ConversationRule.objects.counted(source).filter(code=code, is_worst=True, is_gone=is_gone)
    return rows.select_related("conversation").prefetch_related("conversation__source")


RULE_KEYS = ("place", "conversation_id")
"""By which `with_rule` is in the order of all lists."""


def rows_of(conversations: Iterable[Conversation], q: str = "") -> tuple[ConversationRow, ...]:
    """The rows of a list: two queries, and one more for a text, however many conversations there are."""
    conversations = list(conversations)
    ids = [conversation.pk for conversation in conversations]
    badges: dict[int, list[Badge]] = {}
    rules = ConversationRule.objects.filter(conversation__in=ids).order_by(SEVERITY_RANK, "-silent", "code")
    for pk, code, rule, severity, silent, count in rules.values_list("conversation_id", "code", "rule", "severity", "silent", "findings"):
        badges.setdefault(pk, []).append(Badge(code, rule, severity, silent, count))
    matching = searching.counts(q, ids) if q else {}
    forks = forks_of(row.pk for row in conversations if row.is_replaced)
    writers = [row.forked_by_id for row in conversations if row.is_gone and row.forked_by_id]
    undone = {repair.pk: repair for repair in Repair.objects.filter(pk__in=writers, state=Repair.State.UNDONE)} if writers else {}
    waiting = waiting_of(ids)
    return tuple(
        ConversationRow(
            row,
            tuple(badges.get(row.pk, ())[:BADGES]),
            max(0, len(badges.get(row.pk, ())) - BADGES),
            matching.get(row.pk, 0),
            forks.get(row.pk),
            undone.get(row.forked_by_id) if row.is_gone and row.forked_by_id else None,
            waiting.get(row.pk),
        )
        for row in conversations
    )


def live_request(conversation: Conversation, leaf: str, reader: str) -> NextRequest:
    """What becomes of the next request of the path that the program takes, next to that of a leaf that a person chose; nothing without one, or for another reader."""
    if not leaf or reader != conversation.source.reader:
        return NextRequest()
    silent_errors = ConversationRule.objects.filter(conversation=conversation, silent=True, severity="error").order_by("code")
    return unless_unnoticed(NextRequest(*conversation.next_request), silent_errors.values_list("code", flat=True))


def waiting_of(conversations: Iterable[int | None]) -> dict[int, Repair]:
    """Conversation -> its newest repair that waits."""
    rows = Repair.objects.filter(conversation__in=conversations, state__in=Repair.WAITING).order_by("pk")
    return {repair.conversation_id: repair for repair in rows.defer("rehearsal", "options", "counts")}


def forks_of(originals: Iterable[int]) -> dict[int, Conversation]:
    """Original -> the newest fork of it that is in the store."""
    pks = list(originals)
    rows = Conversation.objects.filter(forked_by__conversation__in=pks, forked_by__state__in=counting.IN_STORE, is_gone=False)
    return {row.forked_by.conversation_id: row for row in rows.select_related("forked_by").order_by("pk") if row.forked_by} if pks else {}


def forks_with(code: str, forks: Iterable[Conversation]) -> set[int]:
    """Of these forks, those in which the rule is still detected: each was made for another problem."""
    return set(ConversationRule.objects.filter(conversation__in=list(forks), code=code).values_list("conversation_id", flat=True))


def options_of(sources: Iterable[Source]) -> tuple[tuple[str, str], ...]:
    """Of a filter; where the demo is next to others, it is one too."""
    listed = list(sources)
    demo = ((DEMO, "the demo"),) if is_without_demo(listed, "") else ()
    return (*(source.option for source in listed), *demo)


def is_without_demo(sources: Iterable[Source], chosen: str) -> bool:
    """Whether a list leaves the demo out, and so has to say it; `sources` are all that there are."""
    return not chosen and len({source.is_demo for source in sources}) == 2


def missing(gone: int, conversations: QuerySet[Conversation] | None = None) -> int:
    """Of so many of these, or of all, that are gone from their stores, those that an undo of ours did not remove."""
    if not gone:
        return 0
    return gone - (_removed_by_undoing()["n"] if conversations is None else _removed(conversations).count())


def _removed(conversations: QuerySet[Conversation]) -> QuerySet[Conversation]:
    return conversations.filter(is_gone=True, forked_by__state=Repair.State.UNDONE)


@totals
def _removed_by_undoing() -> tuple[QuerySet[Conversation], dict[str, Aggregate]]:
    return _removed(Conversation.objects.counted()), {"n": Count("*")}


def _filters(request: OperatorRequest) -> Filters:
    get = request.GET
    state = get.get("state", "")
    q = visible(get.get("q", "").strip())[:500]
    rule, source, sort = visible(get.get("rule", "").upper())[:12], visible(get.get("source", ""))[:12], get.get("sort", "")
    return Filters(
        q,
        rule,
        source,
        state if state in STATES else "",
        get.get("gone") == "1",
        sort if sort in SORTS else "",
        day_of(get.get("since", "")),
        day_of(get.get("until", "")),
        visible(get.get("by", "").strip())[:60],
    )


def chosen(filters: Filters) -> QuerySet[Conversation]:
    """Conversations that the filters let through, gone ones included."""
    conversations = Conversation.objects.counted(filters.source)
    if filters.q:
        conversations = conversations.filter(searching.conversations_with(filters.q))
    if filters.rule:
        conversations = conversations.filter(
            pk__in=ConversationRule.objects.counted(filters.source).filter(code=filters.rule, is_worst=True).values("conversation_id")
        )
    if filters.since or filters.until:
        since = first_of(filters.since) if filters.since else None
        until = first_of(filters.until) + DAY if filters.until else None
        conversations = conversations.filter(counting.places_between(since, until, is_of_demo(filters.source)))
    if filters.by:
        conversations = conversations.filter(Q(model__icontains=filters.by) | Q(client_version__icontains=filters.by))
    return conversations.filter(**_columns(filters))


def _columns(filters: Filters) -> dict[str, Any]:
    """The state, as columns of a conversation and of its count."""
    return dict(STATES[filters.state][1])


def _of_rule(filters: Filters) -> QuerySet[ConversationRule]:
    columns = {f"conversation__{name}": value for name, value in _columns(filters).items()}
    return with_rule(filters.rule, filters.gone, filters.source).filter(**columns)


def _total(filters: Filters, conversations: QuerySet[Conversation], states: StateCounts) -> int:
    """How many conversations the filters choose; a stored count, where there is one and they look at no state of those with a rule."""
    if filters.is_uncounted and not states:
        return conversations.filter(is_gone=filters.gone).count()
    if filters.rule and (filters.state or filters.gone):
        return _of_rule(filters).count()
    counted = (
        _with_the_rule(filters.rule, *filters.own_source, **filters.counted_of)["n"]
        if filters.rule
        else states[_count_name(filters, filters.state)]
    )
    return counted or 0


def _count_name(filters: Filters, state: str) -> str:
    return f"{'gone' if filters.gone else 'n'}_{state}"


def _state_counts(filters: Filters) -> StateCounts:
    """How many are in each state of those that the other filters choose."""
    if filters.q or filters.rule:
        return {}
    if not filters.is_uncounted:
        return _by_state(*filters.own_source, **filters.counted_of)
    rows = chosen(replace(filters, state=""))
    # Apart, since each has its index.
    return {
        _count_name(replace(filters, gone=is_gone), state): number
        for is_gone in (False, True)
        for state, number in rows.filter(is_gone=is_gone)
        .aggregate(**{state: Count("pk", filter=Q(**columns)) for state, (_, columns) in STATES.items()})
        .items()
    }


@totals
def _by_state(*source: str, is_demo: bool = False) -> tuple[QuerySet[ConversationCount], dict[str, Aggregate]]:
    """How many conversations are in each state, from stored counts; those that are gone from their stores apart."""
    sums: dict[str, Aggregate] = {
        f"{name}_{state}": Sum("conversations", filter=Q(is_gone=is_gone, **columns))
        for name, is_gone in (("n", False), ("gone", True))
        for state, (_, columns) in STATES.items()
    }
    return ConversationCount.objects.counted(*_source(source, is_demo)), sums


def _tabs(filters: Filters, states: StateCounts) -> tuple[StateTab, ...]:
    """Each state that there is; each with its count, unless that would look at the conversations."""
    if not states:
        return tuple(StateTab(state, words, None) for state, (words, _) in STATES.items())
    tabs = (StateTab(state, words, states[_count_name(filters, state)] or 0) for state, (words, _) in STATES.items())
    return tuple(tab for tab in tabs if tab.count or tab.state in ("", filters.state))


@totals
def _with_the_rule(code: str, *source: str, is_demo: bool = False) -> tuple[QuerySet[RuleCount], dict[str, Aggregate]]:
    return RuleCount.objects.counted(*_source(source, is_demo)).filter(code=code), {"n": Sum("conversations")}


def _window(
    request: OperatorRequest, filters: Filters, conversations: QuerySet[Conversation], total: int
) -> tuple[ListWindow[Any], list[Conversation]]:
    if filters.rule and not filters.is_uncounted and not filters.sort:
        of_rule = window(_of_rule(filters), RULE_KEYS, total, request.GET)
        return of_rule, [row.conversation for row in of_rule.rows]
    here = window(newest_first(conversations.filter(is_gone=filters.gone)), SORTS[filters.sort], total, request.GET)
    return here, list(here.rows)


def _rules(filters: Filters) -> tuple[tuple[str, str], ...]:
    """Those that are found somewhere, and the chosen one; what is gone from its store is not counted by rule, so that there every rule is offered."""
    occurring = {filters.rule, *(code for (code,) in _occurring(*filters.own_source, **filters.counted_of))}
    return tuple((rule.code, f"{rule.code} {rule.name}") for rule in RULES if filters.gone or rule.code in occurring)


def _source(source: tuple[str, ...], is_demo: bool) -> tuple[str, ...]:
    return (DEMO,) if is_demo else source


def is_of_demo(source: str) -> bool:
    """A list has the demo's conversations alone, or none of them."""
    return all(is_demo for oid, _, _, is_demo in _sources() if not source or oid == source)


@prepared
def _sources() -> QuerySet[Source, Any]:
    return Source.objects.values_list("oid", "path", "is_trace", "is_demo")


@prepared
def _occurring(*source: str, is_demo: bool = False) -> QuerySet[RuleCount, Any]:
    return RuleCount.objects.counted(*_source(source, is_demo)).filter(conversations__gt=0).order_by().values_list("code").distinct()


def _page(request: OperatorRequest) -> ConversationListPage:
    searching.index_in_background()
    filters = _filters(request)
    conversations = chosen(filters)
    states = _state_counts(filters)
    here, shown = _window(request, filters, conversations, _total(filters, conversations, states))
    sources = [Source(oid=oid, path=path, is_trace=is_trace, is_demo=is_demo) for oid, path, is_trace, is_demo in _sources()]
    crashes, crash_total = newest_crashes() if here.number == 1 and filters == Filters("", "", "", "crash", False) else ((), 0)
    gone = 0 if filters.gone else _total(replace(filters, gone=True), conversations, states)
    return ConversationListPage(
        filters=filters,
        rows=rows_of(shown, filters.q),
        here=here,
        total=here.total,
        gone=missing(gone, conversations if filters.any else None),
        rules=_rules(filters),
        tabs=_tabs(filters, states),
        sources=options_of(source for source in sources if not source.is_trace),
        crashes=crashes,
        crash_total=crash_total,
        without_demo=is_without_demo(sources, filters.source),
        no_index=searching.no_index() if filters.q else "",
    )


_ROW = (
    "id=oid native_id title source=source.oid model client_version chunks=chunk_count messages_stored=message_count messages_read=read_count verdict status "
    "last_activity worst silent=has_silent refused gone=is_gone"
)


def row_report(row: ConversationRow) -> Json:
    """One conversation of a `.json` list."""
    return {
        **json_fields(row.conversation, _ROW),
        "fork": row.fork.oid if row.fork else "",
        "findings": [json_fields(badge, "code rule severity count") for badge in row.badges],
        "findings_left_out": row.left_out,
        "waiting_repair": row.waiting.oid if row.waiting else "",
    }


def conversation_list(request: OperatorRequest) -> HttpResponse:
    content = _page(request)
    return page(request, "conversations.html", content, part="rows", twins=("json",), live=live("source", content.filters.source))


def conversation_list_json(request: OperatorRequest) -> HttpResponse:
    content = _page(request)
    return as_json(
        {
            **json_fields(content, "total gone page=here.number pages=here.pages"),
            "next": content.here.older.query(request.GET) if content.here.older else "",
            "conversations": [row_report(row) for row in content.rows],
        }
    )
