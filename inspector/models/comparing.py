"""What-if comparisons of imported conversations; kept by content, since the same rows give the same answer."""

from collections.abc import Iterable, Sequence

from django.db.models import F

from inspector.detectors.base import case_of
from inspector.models import loading
from inspector.models.conversation import Conversation, Revision
from inspector.reports.whatif import Difference, between, compare_cases, outcome

_KEPT: dict[tuple[str, ...], Difference] = {}
_MOST = 20_000


def differences(conversations: Iterable[Conversation], readers: Sequence[str], profile: str = "") -> list[tuple[str, list[Difference]]]:
    """The id of each conversation with the difference of every further reader to the first, without findings.

    `profile` stands in for the source's own. Raises UnknownReader, UnknownProfile.
    """
    conversations = list(conversations)
    newest = Revision.objects.filter(number=F("conversation__revision"), conversation__in=conversations)
    digests = dict(newest.values_list("conversation_id", "digest"))
    return [(each.oid, _of_one(each, digests.get(each.pk, ""), readers, profile or each.source.profile)) for each in conversations]


def difference(conversation: Conversation, reader_a: str, reader_b: str, profile: str = "", ids: Iterable[str] | None = None) -> Difference:
    """With the findings that go and come; `ids` are those of its source, where the caller has them. Raises UnknownReader, UnknownProfile."""
    found = loading.stored(conversation).conversation
    case = loading.case_around(conversation, found, reader_a, ids)
    return compare_cases(case, case.again(found, reader_b), conversation.source.projection, profile or conversation.source.profile)


def _of_one(conversation: Conversation, digest: str, readers: Sequence[str], profile: str) -> list[Difference]:
    projection = conversation.source.projection
    keys = [(digest, readers[0], name, projection, profile) for name in readers[1:]]
    kept = [_KEPT.get(key) for key in keys]
    if digest and all(kept):
        return [each for each in kept if each is not None]
    # The surroundings (trace, archive) matter to rules only, and are not read here.
    found = loading.stored(conversation).conversation
    cases = [case_of(found, name) for name in readers]
    first, *others = (outcome(case, projection, profile) for case in cases)
    made = [between(first, other, len(cases[0].messages)) for other in others]
    if len(_KEPT) > _MOST:
        _KEPT.clear()
    _KEPT.update(zip(keys, made, strict=True))
    return made
