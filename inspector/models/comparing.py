"""What-if comparisons of imported conversations; kept by content, since the same rows give the same answer."""

from collections.abc import Callable, Iterable, Sequence
from typing import ParamSpec, TypeVar

from django.db.models import F, Q, QuerySet, Sum

from inspector.access.context import unlimited
from inspector.models import loading
from inspector.models.background import LARGE
from inspector.models.conversation import Conversation, ConversationCount, Revision
from inspector.models.own_process import in_own_process
from inspector.presentation.whatif.differences import Difference, between, client, outcomes, read_by, with_findings
from inspector.rules.base import Case, case_of, stored_messages

P = ParamSpec("P")
T = TypeVar("T")
_DIFFERENCES: dict[tuple[str, ...], Difference] = {}
_WITH_FINDINGS: dict[tuple[object, ...], Difference] = {}
_MOST = 50_000
"""More than the conversations of one page and all clients of a program."""


def running(formats: Iterable[str]) -> dict[str, int]:
    """How many conversations each reader of a source has now; what counts count, and of a program that only the demo has, those of the demo."""
    of_program = Q(is_gone=False, conversations__gt=0, source__format__in=formats)
    for counts in (ConversationCount.objects.counted(), ConversationCount.objects.all()):
        by_reader = counts.filter(of_program).order_by().values_list("source__reader").annotate(n=Sum("conversations"))
        if readers := dict(by_reader.order_by("-n", "source__reader")):
            return readers
    return {}


def comparable(formats: Iterable[str], now: str) -> QuerySet[Conversation]:
    """The conversations that are compared: those of the sources that the reader `now` reads, or else, where it is only supposed to run, all of its program."""
    of_program = Q(is_gone=False, source__format__in=formats)
    counted = Conversation.objects.counted().filter(of_program)
    rows = counted if counted.exists() else Conversation.objects.filter(of_program)
    return rows.filter(source__reader=now) if now in running(formats) else rows


@unlimited
def differences(conversations: Iterable[Conversation], readers: Sequence[str], profile: str = "") -> list[tuple[str, list[Difference]]]:
    """The id of each conversation with the difference of every further client to the first, without findings.

    `profile` replaces the conversation's own. Raises UnknownReader, also for clients of another program, and UnknownProfile.
    """
    conversations = list(conversations)
    digests = _digests(conversations)
    return [(row.oid, _of_one(row, digests.get(row.pk, ""), readers, profile or row.judges[1])) for row in conversations]


@unlimited
def chunks_to_read(conversations: Sequence[Conversation], readers: Sequence[str], profile: str = "") -> int:
    """Chunks of the conversations that `differences` would have to read: of the others the answer is kept."""
    digests = _digests(conversations)
    return sum(row.chunk_count for row in conversations if _kept(row, digests.get(row.pk, ""), readers, profile or row.judges[1]) is None)


def _digests(conversations: Sequence[Conversation]) -> dict[int, str]:
    newest = Revision.objects.filter(number=F("conversation__revision"), conversation__in=conversations)
    return dict(newest.values_list("conversation_id", "digest"))


@unlimited
def difference(conversation: Conversation, reader_a: str, reader_b: str, profile: str = "", ids: Iterable[str] | None = None) -> Difference:
    """With the findings that go and come; `ids` are those of its source, where the caller has them. Raises UnknownReader, UnknownProfile."""
    source = conversation.source
    # Findings depend on the surroundings of the rows as well: another import of the store or of a trace has another time.
    read = (source.read_at, *source.traces.order_by("pk").values_list("pk", "read_at"))
    key = (conversation.pk, conversation.revision, reader_a, reader_b, conversation.judges[0], profile or conversation.judges[1], *read)
    cached = _WITH_FINDINGS.get(key)
    if cached is not None:
        return cached
    [(_, (plain,))] = differences([conversation], (reader_a, reader_b), profile)
    named = None if ids is None else list(ids)
    result = _apart(conversation, _with_findings, conversation.pk, plain, reader_a, reader_b, named)
    if len(_WITH_FINDINGS) > _MOST:
        _WITH_FINDINGS.clear()
    _WITH_FINDINGS[key] = result
    return result


def _apart(conversation: Conversation, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """A server stays small: what reads a large conversation is done by another process."""
    return in_own_process(work, *args, **kwargs) if conversation.chunk_count >= LARGE else work(*args, **kwargs)


@unlimited
def _with_findings(pk: int, plain: Difference, reader_a: str, reader_b: str, ids: list[str] | None) -> Difference:
    conversation = Conversation.objects.select_related("source").get(pk=pk)
    case = loading.case_around(conversation, loading.stored(conversation).conversation, client(reader_a).reader.name, ids)
    return with_findings(plain, read_by(case, reader_a), read_by(case, reader_b))


def _keys(conversation: Conversation, digest: str, readers: Sequence[str], profile: str) -> list[tuple[str, ...]]:
    return [(digest, readers[0], name, conversation.judges[0], profile) for name in readers[1:]]


def _kept(conversation: Conversation, digest: str, readers: Sequence[str], profile: str) -> list[Difference] | None:
    results = [result for key in _keys(conversation, digest, readers, profile) if (result := _DIFFERENCES.get(key))]
    return results if digest and len(results) == len(readers) - 1 else None


def _of_one(conversation: Conversation, digest: str, readers: Sequence[str], profile: str) -> list[Difference]:
    kept = _kept(conversation, digest, readers, profile)
    if kept is not None:
        return kept
    results = _apart(conversation, _computed, conversation.pk, tuple(readers), profile)
    if len(_DIFFERENCES) > _MOST:
        _DIFFERENCES.clear()
    _DIFFERENCES.update(zip(_keys(conversation, digest, readers, profile), results, strict=True))
    return results


@unlimited
def _computed(pk: int, readers: Sequence[str], profile: str) -> list[Difference]:
    conversation = Conversation.objects.select_related("source").get(pk=pk)
    projection = conversation.judges[0]
    # The surroundings (trace, archive) matter to rules only, and are not read here.
    content = loading.stored(conversation).conversation
    case = case_of(content, client(readers[0]).reader.name)
    cases: dict[str, Case] = {}
    for name in readers:
        # A converter reads nothing: clients that differ in it alone share the case.
        cases.setdefault(client(name).reader.name, read_by(case, name))
    first, *others = outcomes([(cases[client(name).reader.name], name) for name in readers], projection, profile)
    return [between(first, other, len(stored_messages(case.conversation))) for other in others]
