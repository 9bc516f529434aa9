"""The preview of a plan on a stored revision, worked out once for the page, its twin and the proposal: a revision never changes.

Only what shows a plan or proposes it asks here. Everything that writes works the plan out again, and approval does unless the conversation is large.
"""

from collections.abc import Hashable

from inspector.access.context import unlimited
from inspector.actions.planning import RepairRequest, preview_on
from inspector.actions.problems import Refused
from inspector.conversation.tree import LEAF
from inspector.models import Conversation, analyses, loading
from inspector.models.cached import MEGABYTE, bounded_cache
from inspector.planning.preview import KnownSide, Preview
from inspector.profiles.base import Judgement
from inspector.readers.catalogue import UnknownReader
from inspector.rules.base import Case

RequestKey = tuple[tuple[str, ...], str, str, str, str, tuple[tuple[str, str], ...]]


def read_at(conversation: Conversation) -> tuple[Hashable, ...]:
    """When its source and the traces of that were read, and where the source is: a case says all of it."""
    source = conversation.source
    return source.path, source.read_at, *source.traces.order_by("pk").values_list("pk", "read_at")


def around(conversation: Conversation) -> tuple[Hashable, ...]:
    """As `read_at`, without when the source was read: only where a case is timed that may change what is found in it."""
    source = conversation.source
    path, _, *traces = read_at(conversation)
    ids = (id_ for id_ in source.conversations.filter(is_gone=False).values_list("native_id", flat=True).iterator())
    return path, loading.format_of(source).bleeding(conversation.native_id, ids), *traces


def key_of(request: RepairRequest) -> RequestKey:
    options = tuple(sorted(request.options.items()))
    return request.strategies, request.mode, request.reader, request.projection, request.profile, options


def request_named(key: RequestKey) -> RepairRequest:
    return RepairRequest(*key[:5], dict(key[5]))


def base_case(conversation: Conversation, reader: str, revision: int | None = None) -> Case:
    """As `loading.case`; one for all who hold it at once, so that rules and judges look at it once. Raises UnknownReader, Revision.DoesNotExist."""
    return case_as_read(conversation.pk, reader, revision or conversation.revision, read_at(conversation))


@bounded_cache(0, lambda case: 1)
def case_as_read(pk: int, reader: str, revision: int, read: tuple[Hashable, ...]) -> Case:
    """`read`: as `read_at`."""
    return loading.case(Conversation.objects.select_related("source").get(pk=pk), reader, revision)


@unlimited
def kept_preview(conversation: Conversation, revision: int, request: RepairRequest) -> Preview:
    """As `preview_on`. Raises Refused."""
    return _kept_preview(conversation.pk, revision, read_at(conversation), key_of(request))


def _size_of_preview(preview: Preview) -> int:
    """Chunks of both sides as they are stored and parsed, each with its message, its place in the prompt and a row (measured with tracemalloc)."""
    chunks = (*preview.before.case.conversation.chunks, *preview.after.case.conversation.chunks)
    return sum(3 * len(chunk.raw) + 4_000 for chunk in chunks)


@bounded_cache(64 * MEGABYTE, _size_of_preview)
def _kept_preview(pk: int, revision: int, read: tuple[Hashable, ...], key: RequestKey) -> Preview:
    conversation = Conversation.objects.select_related("source").get(pk=pk)
    request = request_named(key)
    try:
        case = base_case(conversation, request.reader, revision)
    except UnknownReader as problem:
        raise Refused(str(problem)) from None
    return preview_on(conversation, revision, request, case, known_side(conversation, revision, request))


def known_side(conversation: Conversation, revision: int, request: RepairRequest) -> KnownSide | None:
    """What the import of a large conversation kept of it, where it still holds and is asked by the same reader and judges."""
    ways = analyses.Ways(revision, request.reader, request.projection, request.profile)
    kept = analyses.stored(conversation, ways) if LEAF not in request.options and ways == analyses.own_ways(conversation) else None
    if kept is None or kept.is_stale:
        return None
    overview = kept.headline().overview
    judged = overview.judged
    violations = () if judged.first is None else (judged.first,)
    return KnownSide(dict(overview.kinds), Judgement(judged.profile, violations, judged.notes), overview.verdict.next_request)
