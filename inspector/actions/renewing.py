"""Judges again what was kept of large conversations by older rules, or before something around them was read again, and masks the words of searches where they did not."""

from collections.abc import Iterator
from itertools import islice

from django.db.models import Q

import inspector
from inspector.access.context import unlimited
from inspector.actions.examining import judged_with, judges_of, write_examined
from inspector.actions.revisions import names_of
from inspector.models import Conversation, SearchText, analyses, loading, searching
from inspector.models.transactions import one_writer
from inspector.presentation.conversation.examined import examined
from inspector.presentation.conversation.revision_content import words_of
from inspector.presentation.conversation.whole import LARGE
from inspector.presentation.masking import masked
from inspector.programs.formats import Stored


def stale() -> Iterator[Conversation]:
    """Large conversations of which nothing is kept, or what is stale, and those whose words an older version masked; the damaged and the newest first."""
    rows = Conversation.objects.filter(Q(is_gone=False, chunk_count__gte=LARGE) | ~Q(masked_by=inspector.__version__)).select_related(
        "source"
    )
    for pk in list(rows.order_by("-refused", "-last_activity", "pk").values_list("pk", flat=True)):
        row = rows.filter(pk=pk).first()
        if row is not None and (row.masked_by != inspector.__version__ or _is_stale(row)):
            yield row


def _is_stale(row: Conversation) -> bool:
    if row.is_gone or row.chunk_count < LARGE:
        return False
    own = analyses.stored(row, analyses.own_ways(row))
    # With a trace it is kept nowhere: its page compares with past requests, which are read when it is opened.
    return own.is_stale if own is not None else not row.source.traces.exists()


@unlimited
def renew(row: Conversation) -> bool:
    """False where an import, another reader or other traces were faster. Judging and masking take no lock, writing a short one."""
    before = (row.source.read_at, *judged_with(row.source))
    stored = loading.stored(row)
    is_masked = row.masked_by == inspector.__version__
    is_judged = not is_masked and not _is_stale(row)
    result = None if is_judged else examined(stored, judges_of(row.source), loading.surroundings(row, stored.conversation))
    texts = {} if is_masked else _masked_texts(row, stored)
    with one_writer(row.source_id):
        now = Conversation.objects.select_related("source").filter(pk=row.pk, revision=row.revision, is_gone=row.is_gone).first()
        if now is None or (now.source.read_at, *judged_with(now.source)) != before:
            return False
        searching.replace_texts(texts)
        if result is not None:
            write_examined([(now, result)])
        names = names_of(now.title, now.native_id)
        Conversation.objects.filter(pk=now.pk).update(masked_by=inspector.__version__, names=names)
    return True


def _masked_texts(row: Conversation, stored: Stored) -> dict[int, str]:
    """Rows of words that this version masks in another way. Those of the newest revision are made again from its chunks; what an older version left
    unmasked in words that only earlier revisions have is looked for in the words themselves, as lists of them are long and cases are folded."""
    texts = SearchText.objects.filter(conversation=row).order_by("position", "pk")
    words, renewed = words_of(stored.conversation.chunks), {}
    for pk, count, text, until in texts.values_list("pk", "count", "text", "until").iterator(chunk_size=20):
        old = text.split(searching.END)[:count]
        new = [masked(part) for part in old] if until is not None else list(islice(words, count))
        if new != old and len(new) == len(old):
            renewed[pk] = "".join(part + searching.END for part in new)
    return renewed
