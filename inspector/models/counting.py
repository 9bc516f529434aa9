"""The counts and the order of the lists, kept with every write, so that no page counts or sorts all conversations or findings.

A conversation carries where it is counted now. What changed is thus known from the rows alone, and an import costs what it touched, however
much there is of its source.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from django.db import connection
from django.db.models import Count, F, Min, Q, QuerySet, Sum

from inspector.models import occurrences
from inspector.models.bulk import insert, update
from inspector.models.conversation import (
    DEMO_PLACE,
    NO_ACTIVITY,
    Conversation,
    ConversationCount,
    ConversationRule,
    Finding,
    Revision,
    RuleCount,
)
from inspector.models.problem import SEVERITIES
from inspector.models.repair import Repair
from inspector.models.source import Source
from inspector.programs.registry import crash_prefix_of

_BATCH = 500
_OF_COUNT = ("is_gone", "is_damaged", "has_silent", "refused", "is_crash", "is_replaced")
_OF_RULE = ("conversation", "code", "severity", "silent", "rule", "findings", "first", "is_worst", "is_gone", "place")
IN_STORE = (Repair.State.APPLIED, Repair.State.VERIFIED)
_KEY = 4
"""The first columns of _OF_RULE, which distinguish the rows."""

_Changes = dict[tuple[Any, ...], list[int]]
"""What distinguishes a row of counts -> what is added to (conversations, chunks) or (conversations, findings)."""


def place_of(last_activity: int | None, is_demo: bool) -> int:
    """The conversation that was active last has the smallest; one of which that is not known follows them, and the demo's follow one's own."""
    return (NO_ACTIVITY if last_activity is None else -last_activity) + (DEMO_PLACE if is_demo else 0)


def places_between(since: int | None, until: int | None, is_demo: bool) -> Q:
    """The range of `place_of` of what was active from `since` on and before `until` (epoch milliseconds)."""
    start = DEMO_PLACE if is_demo else 0
    beyond, last = NO_ACTIVITY if until is None else until, NO_ACTIVITY - 1 if since is None else -since
    return Q(place__gt=start - beyond, place__lte=start + last)


def renew(conversation_ids: Iterable[int]) -> None:
    """Brings the lists up to what these conversations and their findings are now. Only inside `one_writer`, after what it counts was written."""
    ids = iter(conversation_ids)
    while batch := list(islice(ids, _BATCH)):
        _name_forks(batch)
        # What a fork replaced depends on whether the fork is there.
        originals = Conversation.objects.filter(pk__in=batch, forked_by__isnull=False).values_list("forked_by__conversation_id", flat=True)
        batch = list(dict.fromkeys([*batch, *originals]))
        _renew_conversations(batch)
        _renew_rules(batch)


def forget(ids: list[int]) -> None:
    """Takes conversations that are about to be deleted out of the counts. Only inside `one_writer`."""
    occurrences.forget(ids)
    Finding.objects.filter(conversation__in=ids).update(is_open=False)
    _renew_rules(ids)
    counted = Conversation.objects.filter(pk__in=ids, counted__isnull=False).order_by()
    for pk, conversations, chunks in counted.values_list("counted").annotate(Count("pk"), Sum("counted_chunks")):
        ConversationCount.objects.filter(pk=pk).update(conversations=F("conversations") - conversations, chunks=F("chunks") - chunks)


def misplaced(source: Source) -> QuerySet[Conversation]:
    """Those whose place in the lists is from before the source became the demo's, or ceased to be."""
    before = {"place__lte": NO_ACTIVITY} if source.is_demo else {"place__gt": NO_ACTIVITY}
    return source.conversations.filter(counted__isnull=False, **before)


def _renew_conversations(ids: list[int]) -> None:
    counts: _Changes = defaultdict(lambda: [0, 0])
    keys: dict[int, tuple[Any, ...]] = {}
    rows = list(Conversation.objects.filter(pk__in=ids).select_related("source", "counted").defer("title", "verdict"))
    replaced = _replaced(ids)
    for row in rows:
        if row.counted:
            _add(counts, _count_key(row.counted), -1, -row.counted_chunks)
        row.place = place_of(row.last_activity, row.source.is_demo)
        row.is_replaced = row.pk in replaced
        row.is_damaged = (row.worst in ("error", "warning") or row.refused) and not row.is_replaced
        row.is_crash = bool(crash_prefix_of(row.source.format, row.native_id))
        keys[row.pk] = _count_key(row)
        _add(counts, keys[row.pk], 1, row.chunk_count)
    kept = {_count_key(count): count for count in ConversationCount.objects.filter(source__in={row.source_id for row in rows})}
    for key, (conversations, chunks) in counts.items():
        kept.setdefault(key, ConversationCount(source_id=key[0], **dict(zip(_OF_COUNT, key[1:], strict=True))))
        kept[key].conversations += conversations
        kept[key].chunks += chunks
    changed = [kept[key] for key, numbers in counts.items() if any(numbers) and kept[key].pk is not None]
    ConversationCount.objects.bulk_create(count for count in kept.values() if count.pk is None)
    update(ConversationCount, ("conversations", "chunks"), ((count.conversations, count.chunks, count.pk) for count in changed))
    quote = connection.ops.quote_name
    table = quote(Conversation._meta.db_table)
    columns = ("place", "is_damaged", "is_crash", "is_replaced", "counted_id", "counted_chunks")
    # Plain SQL, one statement for all: an UPDATE of 500 rows with a CASE for each column takes ten times as long.
    sql = f"UPDATE {table} SET {', '.join(f'{quote(name)} = %s' for name in columns)} WHERE id = %s"  # noqa: S608 (names of our own model)
    values = [(row.place, row.is_damaged, row.is_crash, row.is_replaced, kept[keys[row.pk]].pk, row.chunk_count, row.pk) for row in rows]
    with connection.cursor() as cursor:
        cursor.executemany(sql, values)


def _name_forks(ids: list[int]) -> None:
    """Which of the conversations that came in were written by a repair of ours: their ids end with what the repair chose."""
    new_rows = Conversation.objects.filter(pk__in=ids, counted=None).values_list("pk", "source", "native_id")
    repairs = Repair.objects.filter(conversation__source__in={source for _, source, _ in new_rows}, state__in=IN_STORE).only("options")
    forks = {fork_id: repair for repair in repairs if (fork_id := repair.options.get("fork_id"))}
    for pk, _, native_id in new_rows if forks else ():
        if repair := next((repair for fork_id, repair in forks.items() if native_id.endswith(fork_id)), None):
            Conversation.objects.filter(pk=pk).update(forked_by=repair)


def _replaced(ids: list[int]) -> set[int]:
    """Conversations of which a fork was imported and is in the store, and which hold what they held when it was written."""
    rows = Repair.objects.filter(conversation__in=ids, state__in=IN_STORE).values_list("pk", "conversation_id", "base_digest", "options")
    forked = {pk: (conversation, digest) for pk, conversation, digest, options in rows if options.get("fork_id")}
    if not forked:
        return set()
    # Before it is imported nobody knows what it still has: a problem that goes on in it was closed, and opened again.
    there = set(Conversation.objects.filter(forked_by__in=list(forked), is_gone=False).values_list("forked_by_id", flat=True))
    of_them = Revision.objects.filter(conversation__in={conversation for conversation, _ in forked.values()})
    digests = dict(of_them.order_by("number").values_list("conversation_id", "digest"))
    return {conversation for pk, (conversation, digest) in forked.items() if pk in there and digests.get(conversation) == digest}


def _count_key(row: Conversation | ConversationCount) -> tuple[Any, ...]:
    return (row.source_id, *(getattr(row, name) for name in _OF_COUNT))


def _renew_rules(ids: list[int]) -> None:
    columns = ("pk", "source_id", "is_gone", "place", "is_replaced")
    about = {pk: rest for pk, *rest in Conversation.objects.filter(pk__in=ids).values_list(*columns).order_by()}
    before = {
        row[1 : _KEY + 1]: row
        for row in ConversationRule.objects.filter(conversation__in=ids).values_list("pk", *_OF_RULE).order_by().iterator(chunk_size=2000)
    }
    after = {row[:_KEY]: row for row in _rules_now(ids, about)}
    counts: _Changes = defaultdict(lambda: [0, 0])
    changed = [key for key, row in before.items() if after.get(key) != row[1:]]
    fresh = [row for key, row in after.items() if key not in before or before[key][1:] != row]
    # Those that count their conversation; the others are of one that a fork replaced.
    counting_before = {row[1:3] for row in before.values() if row[-3]}
    counting_after = {row[:2] for row in after.values() if row[-3]}
    for rows, sign, counting in (([before[key][1:] for key in changed], -1, counting_before), (fresh, 1, counting_after)):
        for pk, code, severity, _silent, _rule, findings, _first, is_worst, is_gone, _place in rows:
            if not is_gone and (pk, code) in counting:
                _add(counts, (about[pk][0], code, severity), sign * is_worst, sign * findings)
    closed = [before[key][0] for key in changed]
    for start in range(0, len(closed), _BATCH):
        ConversationRule.objects.filter(pk__in=closed[start : start + _BATCH]).delete()
    insert(ConversationRule, _OF_RULE, fresh)
    kept = {(row.source_id, row.code, row.severity): row for row in RuleCount.objects.filter(source__in={source for source, *_ in counts})}
    moved = [(key, conversations, findings) for key, (conversations, findings) in counts.items() if conversations or findings]
    insert(
        RuleCount, ("source", "code", "severity", "conversations", "findings"), ((*key, *more) for key, *more in moved if key not in kept)
    )
    recounted = ((kept[key], conversations, findings) for key, conversations, findings in moved if key in kept)
    sums = ((count.conversations + conversations, count.findings + findings, count.pk) for count, conversations, findings in recounted)
    update(RuleCount, ("conversations", "findings"), sums)
    occurrences.renew(ids, after.values())


def _rules_now(ids: list[int], about: dict[int, list[Any]]) -> Iterator[tuple[Any, ...]]:
    """Rows of ConversationRule, in the order of _OF_RULE; of each conversation and rule the worst is the first."""
    opened = Finding.objects.filter(conversation__in=ids, is_open=True).order_by()
    grouped = opened.values_list("conversation_id", "code", "severity", "silent").annotate(Min("rule"), Count("pk"), Min("pk"))
    seen: set[tuple[int, str]] = set()
    for pk, code, severity, silent, rule, findings, first in sorted(grouped, key=lambda row: (SEVERITIES.index(row[2]), not row[3])):
        _, is_gone, place, is_replaced = about[pk]
        yield pk, code, severity, silent, rule, findings, first, (pk, code) not in seen and not is_replaced, is_gone, place
        seen.add((pk, code))


def _add(counts: _Changes, key: tuple[Any, ...], *numbers: int) -> None:
    counts[key] = [count + number for count, number in zip(counts[key], numbers, strict=True)]
