"""Judges again what was kept of large conversations by older rules, or before something around them was read again."""

from collections.abc import Iterator

from inspector.actions.examining import judged_with, judges_of, write_examined
from inspector.models import Conversation, analyses, loading
from inspector.models.transactions import one_writer
from inspector.presentation.conversation.examined import examined
from inspector.presentation.conversation.whole import LARGE


def stale() -> Iterator[Conversation]:
    """Large conversations of which nothing is kept, or what is stale; the damaged and the newest first."""
    rows = Conversation.objects.filter(is_gone=False, chunk_count__gte=LARGE).select_related("source")
    for pk in list(rows.order_by("-refused", "-last_activity", "pk").values_list("pk", flat=True)):
        row = rows.filter(pk=pk).first()
        if row is not None and _is_stale(row):
            yield row


def _is_stale(row: Conversation) -> bool:
    own = analyses.stored(row, analyses.own_ways(row))
    # With a trace it is kept nowhere: its page compares with past requests, which are read when it is opened.
    return own.is_stale if own is not None else not row.source.traces.exists()


def renew(row: Conversation) -> bool:
    """False where an import, another reader or other traces were faster. Judging takes no lock, writing a short one."""
    before = (row.source.read_at, *judged_with(row.source))
    stored = loading.stored(row)
    result = examined(stored, judges_of(row.source), loading.surroundings(row, stored.conversation))
    with one_writer(row.source_id):
        now = Conversation.objects.select_related("source").filter(pk=row.pk, revision=row.revision, is_gone=False).first()
        if now is None or (now.source.read_at, *judged_with(now.source)) != before:
            return False
        write_examined([(now, result)])
    return True
