"""What-if comparisons of imported conversations; kept by content, since the same rows give the same answer."""

from collections.abc import Iterable, Sequence

from django.db.models import F

from inspector.access.context import unlimited
from inspector.models import loading
from inspector.models.conversation import Conversation, Revision
from inspector.presentation.whatif.differences import Difference, between, client, outcomes, read_by, with_findings
from inspector.rules.base import Case, case_of, stored_messages

_DIFFERENCES: dict[tuple[str, ...], Difference] = {}
_WITH_FINDINGS: dict[tuple[object, ...], Difference] = {}
_MOST = 50_000
"""More than the conversations of one page and all clients of a program."""


@unlimited
def differences(conversations: Iterable[Conversation], readers: Sequence[str], profile: str = "") -> list[tuple[str, list[Difference]]]:
    """The id of each conversation with the difference of every further client to the first, without findings.

    `profile` replaces the conversation's own. Raises UnknownReader, also for clients of another program, and UnknownProfile.
    """
    conversations = list(conversations)
    newest = Revision.objects.filter(number=F("conversation__revision"), conversation__in=conversations)
    digests = dict(newest.values_list("conversation_id", "digest"))
    return [(row.oid, _of_one(row, digests.get(row.pk, ""), readers, profile or row.judges[1])) for row in conversations]


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
    case = loading.case_around(conversation, loading.stored(conversation).conversation, client(reader_a).reader.name, ids)
    result = with_findings(plain, read_by(case, reader_a), read_by(case, reader_b))
    if len(_WITH_FINDINGS) > _MOST:
        _WITH_FINDINGS.clear()
    _WITH_FINDINGS[key] = result
    return result


def _of_one(conversation: Conversation, digest: str, readers: Sequence[str], profile: str) -> list[Difference]:
    projection = conversation.judges[0]
    keys = [(digest, readers[0], name, projection, profile) for name in readers[1:]]
    cached = [_DIFFERENCES.get(key) for key in keys]
    if digest and all(cached):
        return [result for result in cached if result is not None]
    # The surroundings (trace, archive) matter to rules only, and are not read here.
    content = loading.stored(conversation).conversation
    case = case_of(content, client(readers[0]).reader.name)
    cases: dict[str, Case] = {}
    for name in readers:
        # A converter reads nothing: clients that differ in it alone share the case.
        cases.setdefault(client(name).reader.name, read_by(case, name))
    first, *others = outcomes([(cases[client(name).reader.name], name) for name in readers], projection, profile)
    results = [between(first, other, len(stored_messages(case.conversation))) for other in others]
    if len(_DIFFERENCES) > _MOST:
        _DIFFERENCES.clear()
    _DIFFERENCES.update(zip(keys, results, strict=True))
    return results
