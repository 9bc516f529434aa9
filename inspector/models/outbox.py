"""Messages are written with the act that they are about, in its transaction: what is rolled back is not announced, and what is committed is.

A digest waits for more of the same, so that an import with 50 new problems is one message.
"""

import uuid
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from django.db.models import F, Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.utils import timezone

from inspector.models.notification import Delivery, Notifier
from inspector.models.repair import Repair
from inspector.models.source import Source
from inspector.notifying.events import KEPT, NAME, OF_VERBS, is_wanted, quoted, repair_item, together

QUIET = timedelta(seconds=20)
"""A digest is sent when nothing was added to it for so long, or when its import or its act on a group is over."""
LONGEST = timedelta(minutes=5)
"""After its first, a digest waits for no more."""
MOST_WAITING = 500
"""Messages of one notifier; what happens while so many wait is counted, and not sent."""

Item = Mapping[str, Any]


def announce(source: Source, event: str, items: Iterable[Item], page: str, digest: str = "") -> None:
    """To every notifier that wants it. Only inside the transaction of what it is about. `digest`: what else belongs to the same message."""
    items = list(items)
    for notifier in _wanting(source, event) if items else ():
        if wanted := [item for item in items if is_wanted(item, notifier.least)]:
            _put(notifier, source, event, wanted, page, f"{event} {digest}" if digest else "")


def _wanting(source: Source, event: str) -> list[Notifier]:
    everywhere = Q(is_limited=False) if not source.is_demo else Q(pk=None)
    rows = Notifier.objects.filter(
        everywhere | Q(is_limited=True, sources=source) | Q(is_limited=True, groups__sources=source), is_on=True
    ).distinct()
    return [row for row in rows if event in row.events]


def _put(notifier: Notifier, source: Source, event: str, items: list[Item], page: str, key: str) -> None:
    now = timezone.now()
    if key and (row := _open(notifier, key)):
        row.items = together([*row.items, *items])[:KEPT]
        row.total += len(items)
        row.due_at = min(now + QUIET, row.added_at + LONGEST)
        row.save(update_fields=["items", "total", "due_at"])
        return
    if Delivery.objects.filter(notifier=notifier, state=Delivery.State.WAITING).count() >= MOST_WAITING:
        Notifier.objects.filter(pk=notifier.pk).update(left_out=F("left_out") + len(items))
        return
    Delivery.objects.create(
        key=str(uuid.uuid4()),
        notifier=notifier,
        event=event,
        together=key,
        source={"id": source.oid, "name": quoted(source.name, NAME)},
        items=together(items)[:KEPT],
        total=len(items),
        page=page,
        added_at=now,
        due_at=now + QUIET if key else now,
    )


def _open(notifier: Notifier, key: str) -> Delivery | None:
    """The digest that nobody began to send; nobody does before this transaction ends."""
    rows = Delivery.objects.filter(notifier=notifier, together=key, state=Delivery.State.WAITING, attempts=0, claimed_at=None)
    return rows.select_for_update().first()


def announce_repair(repair: Repair, who: str, verb: str, outcome: str = "") -> None:
    """By the verb of its line of the audit log. A proposal whose rehearsal failed is no proposal."""
    event = OF_VERBS.get(verb)
    if event is None or (event == "proposal" and repair.state != Repair.State.PROPOSED):
        return
    conversation, group = repair.conversation, repair.group
    item = repair_item(repair.oid, conversation.oid, conversation.title, repair.summary, who, outcome)
    page = f"/repair-groups/{group.oid}/" if group else f"/repairs/{repair.oid}/"
    announce(conversation.source, event, [item], page, group.oid if group else "")


def release(digest: str) -> None:
    """What the digests waited for is over: they are due now."""
    now = timezone.now()
    keys = [f"{event} {digest}" for event in ("new-problem", "regression", *OF_VERBS.values())]
    Delivery.objects.filter(together__in=keys, state=Delivery.State.WAITING, attempts=0, due_at__gt=now).update(due_at=now)


def forget(conversations: Iterable[str]) -> None:
    """What was quoted of conversations that are about to be deleted, and what receivers answered to it: what waits is sent without it."""
    names = set(conversations)
    # One look at all that are kept: a condition for each conversation would compare each with the text of every message.
    quoting = [
        pk
        for pk, items in Delivery.objects.order_by().values_list("pk", "items").iterator(chunk_size=500)
        if any(item.get("conversation") in names for item in items)
    ]
    for row in Delivery.objects.filter(pk__in=quoting):
        row.items = [
            {**item, "title": "", "summary": "", "outcome": ""} if item.get("conversation") in names else item for item in row.items
        ]
        row.answer = ""
        row.save(update_fields=["items", "answer"])


def of_source(source: str) -> "QuerySet[Delivery]":
    return Delivery.objects.annotate(about=Cast("source", TextField())).filter(about__contains=f'"{source}"')
