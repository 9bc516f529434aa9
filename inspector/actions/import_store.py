"""The conversations of a store into the models, one after the other: workers read and judge, this process writes, a few conversations in each transaction.

A conversation is written with its findings or not at all. What was written stays when an import ends early, and the next one goes on after it: a conversation
whose records have the digest of its last revision is neither parsed nor written.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from time import monotonic

import inspector
from inspector.actions.examining import judged_with, judges_of, write_examined
from inspector.actions.revisions import write_revisions
from inspector.models import Conversation, Revision, Source, Tombstone, TraceRecord, counting, loading, news
from inspector.models.identity import indexed
from inspector.models.transactions import one_writer
from inspector.planning.preview import digest
from inspector.presentation.conversation.examined import Examined, Judges
from inspector.presentation.conversation.revision_content import RevisionContent, shared_facts
from inspector.presentation.conversation.work import LONG, Done, Known, Task, done_of
from inspector.presentation.visible import visible
from inspector.programs.formats import UNREAD, Stored
from inspector.sources import reach, reading
from inspector.sources.problems import NOT_OPENED, SourceProblem
from inspector.sources.reading import Server, Store
from inspector.sources.streaming import OpenStore
from inspector.sources.workers import Workers

BATCH_CHUNKS, BATCH_BYTES, BATCH_CONVERSATIONS, BATCH_SECONDS = 10_000, 8 << 20, 200, 2.0
"""What one transaction writes at most, and how long what was judged waits for it; a single conversation may be more."""
TOGETHER_BYTES = 10 << 20
"""Of a batch whose payloads one statement writes. With several, two imports that share payloads could each wait for the other."""


@dataclass
class Imported:
    """What one target brought; `unchanged` counts conversations or streams that are as they were."""

    source: Source
    conversations: int = 0
    chunks: int = 0
    unchanged: int = 0
    gone: int = 0
    records: int = 0
    streams: int = 0
    problems: int = 0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the import of a store is; `total` is None where the store does not say how many conversations it has."""

    place: str
    conversations: int
    total: int | None
    chunks: int


Report = Callable[[Progress], None]
Part = tuple[int, int]
"""(number from 0, how many parts): which conversations, by what a number made of their ids leaves when it is divided."""


@dataclass(frozen=True, slots=True)
class _Row:
    """What the database has of a conversation when the import begins."""

    pk: int
    revision: int
    is_gone: bool
    is_judged: bool
    chunk_count: int


class StoreImport:
    """The import of one store; `only` limits it to one conversation of a server, `part` to a part of them."""

    def __init__(self, imported: Imported, store: Store | OpenStore | Server, only: str, report: Report, part: Part | None = None) -> None:
        self.imported = imported
        self.source = imported.source
        self.store = store
        self._report = report
        self._judged_with = judged_with(self.source)
        self._part = part
        self._purged = frozenset(
            Tombstone.objects.filter(source=self.source.oid, kind=Tombstone.Kind.CONVERSATION, is_import_allowed=False).values_list(
                "oid", flat=True
            )
        )
        rows = self.source.conversations.filter(native_id=only) if only else self.source.conversations.all()
        values = rows.values_list("oid", "pk", "revision", "is_gone", "judged_by", "verdict", "chunk_count", "native_id")
        self._rows: dict[str, _Row] = {}
        self._names: set[str] = set()
        for oid, pk, revision, is_gone, judged_by, verdict, chunk_count, name in values.iterator(chunk_size=2000):
            self._names.add(name)
            if not self._is_wanted(oid):
                continue
            self._rows[oid] = _Row(pk, revision, is_gone, judged_by == inspector.__version__ and bool(verdict), chunk_count)
        last = Revision.objects.filter(conversation__in=rows).order_by("number").values_list("conversation_id", "digest", "shared_facts")
        self._last = {pk: (digest, facts) for pk, digest, facts in last.iterator(chunk_size=2000)}
        self._seen: set[str] = set()
        self._batch: list[tuple[str, Done]] = []
        self._chunks = self._bytes = 0
        self._since = monotonic()

    def run(self, workers: Workers) -> None:
        """Raises SourceProblem, WorkerLost; what was written before stays."""
        imported = self.imported
        imported.conversations = imported.chunks = imported.unchanged = 0
        self._seen.clear()
        self._batch.clear()
        try:
            with closing(self._done(workers)) as results:
                for done in results:
                    self._take(done)
        except SourceProblem:
            # What came before is whole, whatever is wrong with the next one.
            self._write()
            raise
        self._write()

    def mark_gone(self) -> int:
        """Conversations that the store does not have any more; only after all of it was read. A later import of the store knows better."""
        if not isinstance(self.store, Server) and any(problem.where == NOT_OPENED for problem in self.store.problems):
            return 0
        if not self.is_last(Source.objects.get(pk=self.source.pk)):
            return 0
        unexamined = self.store.unexamined if isinstance(self.store, OpenStore) else ()
        present = self._seen.union(Conversation.oid_of(self.source, native_id) for native_id in unexamined)
        pks = [row.pk for oid, row in self._rows.items() if oid not in present and not row.is_gone]
        count = Conversation.objects.filter(pk__in=pks, is_gone=False).update(is_gone=True)
        counting.renew(pks)
        if count:
            news.changes(self.source.pk)
        return count

    def is_last(self, now: Source) -> bool:
        """Whether no other import of the source began after this one; `now` is the source as it is in the database."""
        return now.read_at == self.source.read_at

    def _done(self, workers: Workers) -> Generator[Done]:
        if isinstance(self.store, OpenStore):
            yield from workers.mapped(self._tasks(self.store), lambda task: task.size)
            return
        conversations = self.store.conversations if isinstance(self.store, Store) else reading.streamed(self.store.path, self.store.format)
        ids = [visible(stored.conversation.native_id) for stored in self.store.conversations] if isinstance(self.store, Store) else []
        for stored in conversations:
            if not self._is_wanted(Conversation.oid_of(self.source, stored.conversation.native_id)):
                continue
            yield self._done_here(stored, ids)

    def _done_here(self, stored: Stored, ids: Sequence[str]) -> Done:
        content = stored.conversation
        known = self._known(Conversation.oid_of(self.source, content.native_id))
        is_same = known is not None and (known.digest, known.shared_facts) == (digest(stored), shared_facts(stored))
        if known is not None and is_same and known.is_judged:
            return Done(content.native_id, None, None)
        around = loading.surroundings(Conversation(source=self.source), content, ids)
        return done_of(stored, self._judges, around, is_same)

    def _tasks(self, store: OpenStore) -> Iterator[Task]:
        judges, taken_at = self._judges, int(self.source.read_at.timestamp() * 1000)
        bleeding = store.format.bleeding_among([visible(listed.native_id) for listed in store.listed])
        traces = list(self.source.traces.values_list("pk", flat=True))
        traced = set(TraceRecord.objects.filter(source_id__in=traces).values_list("conversation_id", flat=True)) if traces else set()
        # The long ones first: one that came last would be read by one worker, while the others have nothing to do.
        for listed in sorted(store.examined, key=lambda listed: sum(file.size for file in store.files(listed)) < LONG):
            if not self._is_wanted(Conversation.oid_of(self.source, listed.native_id)):
                continue
            # Within a limit only this process knows what may be opened.
            listed = store.within_limit(listed)
            files = () if reach.is_limited() or UNREAD in listed.facts else store.files(listed)
            listed, records = (listed, ()) if files else store.records_of(listed)
            yield Task(
                format=store.format.name,
                listed=store.informed(listed, records),
                records=tuple(records),
                judges=judges,
                taken_at=taken_at,
                bleeding=bleeding(listed.native_id),
                known=self._known(Conversation.oid_of(self.source, listed.native_id)),
                is_traced=bool(traces),
                is_judged_later=indexed(listed.native_id) in traced,
                store=store.path,
                files=files,
            )

    def _is_wanted(self, oid: str) -> bool:
        """Of this part, and not purged."""
        return oid not in self._purged and (self._part is None or int(oid, 16) % self._part[1] == self._part[0])

    @property
    def _judges(self) -> Judges:
        return judges_of(self.source)

    def _known(self, oid: str) -> Known | None:
        row = self._rows.get(oid)
        last = self._last.get(row.pk) if row else None
        return Known(last[0], last[1], row.is_judged) if row and last and not row.is_gone else None

    def _take(self, done: Done) -> None:
        imported, oid = self.imported, Conversation.oid_of(self.source, done.native_id)
        self._seen.add(oid)
        imported.conversations += 1
        if done.content is None:
            imported.unchanged += 1
            imported.chunks += self._rows[oid].chunk_count
        else:
            imported.chunks += done.content.summary.chunk_count
            self._chunks += done.content.summary.chunk_count
            self._bytes += _bytes(done.content)
        if done.content is not None or done.examined is not None:
            self._batch.append((oid, done))
        if self._is_full():
            self._write()
        self._report(Progress(self.source.path, imported.conversations, self._total, imported.chunks))

    @property
    def _total(self) -> int | None:
        if isinstance(self.store, Server):
            return None
        if isinstance(self.store, OpenStore):
            return len(self.store.listed) - len(self.store.unexamined)
        return len(self.store.conversations)

    def _is_full(self) -> bool:
        return (
            len(self._batch) >= BATCH_CONVERSATIONS
            or self._chunks >= BATCH_CHUNKS
            or self._bytes >= BATCH_BYTES
            or (bool(self._batch) and monotonic() - self._since > BATCH_SECONDS)
        )

    def _write(self) -> None:
        batch, self._batch = self._batch, []
        source = self.source.pk if self._bytes <= TOGETHER_BYTES else None
        self._chunks = self._bytes = 0
        self._since = monotonic()
        if not batch:
            return
        with one_writer(source):
            now = Source.objects.get(pk=self.source.pk)
            is_last, is_judged_so = self.is_last(now), judged_with(now) == self._judged_with
            rows = Conversation.objects.in_bulk([oid for oid, _ in batch], field_name="oid")
            last = Revision.objects.filter(conversation__in=[row.pk for row in rows.values()]).order_by("number")
            digests = dict(last.values_list("conversation__oid", "digest"))
            fresh: list[tuple[Conversation, RevisionContent]] = []
            judged: list[tuple[Conversation, Examined]] = []
            for oid, done in batch:
                conversation = rows.get(oid)
                if conversation is None:
                    conversation = Conversation(oid=oid, native_id=self._name(done.native_id, oid))
                conversation.source = self.source
                seen = self._rows[oid].revision if oid in self._rows else 0
                # Another import of this store may have written meanwhile: the same, or what it is now if that one began later.
                is_as_seen = conversation.revision == seen
                is_same = is_as_seen if done.content is None else digests.get(oid) == done.content.digest
                is_fresh = done.content is not None and (is_as_seen or (is_last and not is_same))
                if done.content is not None and is_fresh:
                    fresh.append((conversation, done.content))
                if done.examined is not None and is_judged_so and (is_fresh or is_same):
                    judged.append((conversation, done.examined))
            write_revisions(fresh)
            write_examined(judged)
            # The others are judged when all around them is in the database, and are listed meanwhile.
            counting.renew({conversation.pk for conversation, _ in fresh} - {conversation.pk for conversation, _ in judged})
            if fresh or judged:
                news.changes(self.source.pk)

    def _name(self, native_id: str, oid: str) -> str:
        """The id as text; with ours after it where another id, that differs in hidden characters only, is shown the same."""
        shown = visible(native_id)
        name = f"{shown} ({oid})" if shown in self._names else shown
        self._names.add(name)
        return name


def _bytes(content: RevisionContent) -> int:
    return sum(len(record.data) for record in content.records)
