"""The judgement of conversations as rows: findings, verdict and what lists show. `examined` makes it, without a database; here it is written."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

import inspector
from inspector.access.context import unlimited
from inspector.models import Conversation, Finding, Source, analyses, counting, loading
from inspector.models.bulk import put, update_from
from inspector.models.identity import finding_oids
from inspector.presentation.conversation.examined import Examined, Judges, examined
from inspector.presentation.visible import visible
from inspector.programs.formats import Stored
from inspector.rules.base import Finding as RuleFinding

_SUMMARY = (
    "projection",
    "profile",
    "message_count",
    "read_count",
    "verdict",
    "damage",
    "next_request",
    "worst",
    "has_silent",
    "refused",
    "client_version",
)
_OF_FINDING = [field.name for field in Finding._meta.concrete_fields if field.name != "id"]
_AS_TEXT = Finding._meta.get_field("seqs").get_prep_value


@unlimited
def examine(conversation: Conversation, stored: Stored | None = None, ids: Sequence[str] | None = None) -> Examined:
    """Judges the newest revision with the reader and provider of its source, and keeps findings and verdict for the lists."""
    stored = stored or loading.stored(conversation)
    result = examined(stored, judges_of(conversation.source), loading.surroundings(conversation, stored.conversation, ids))
    write_examined([(conversation, result)])
    return result


def judges_of(source: Source) -> Judges:
    return Judges(source.reader, source.projection, source.profile)


def judged_with(source: Source) -> tuple[object, ...]:
    """What findings of its conversations depend on besides their records: where it changed since they were judged, they are of another question."""
    return judges_of(source), *source.traces.order_by("pk").values_list("pk", "read_at")


@unlimited
def write_examined(batch: Sequence[tuple[Conversation, Examined]]) -> None:
    """Writes what was judged of the newest revision of each conversation, and brings the lists up to it. Findings that are no longer found stay, closed, for their links."""
    for conversation, result in batch:
        for name in _SUMMARY:
            setattr(conversation, name, getattr(result, name))
        conversation.judged_by = inspector.__version__
    update_from([conversation for conversation, _ in batch], Conversation, (*_SUMMARY, "judged_by"))
    Finding.objects.filter(conversation__in=[conversation.pk for conversation, _ in batch], is_open=True).update(is_open=False)
    rows = [row for conversation, result in batch for row in _findings(conversation, result.findings)]
    for conversation, result in batch:
        if result.whole is not None:
            ways = analyses.Ways(conversation.revision, conversation.source.reader, result.projection, result.profile)
            analyses.keep(conversation, ways, result.whole)
    put(Finding, "oid", _OF_FINDING, rows)
    counting.renew(conversation.pk for conversation, _ in batch)


def finding_ids(conversation_oid: str, results: Iterable[RuleFinding]) -> Iterator[tuple[str, RuleFinding]]:
    """Each finding with its id."""
    results = list(results)
    return zip(finding_oids(conversation_oid, ((finding.code, finding.key) for finding in results)), results, strict=True)


def _findings(conversation: Conversation, results: Sequence[RuleFinding]) -> Iterator[tuple[Any, ...]]:
    shared_ids = (shared_id for shared_id, _ in finding_ids(conversation.identity, results)) if conversation.identity else repeat("")
    for (oid, finding), shared_id in zip(finding_ids(conversation.oid, results), shared_ids, strict=False):
        yield _finding(conversation, finding, oid, shared_id)


def _finding(conversation: Conversation, finding: RuleFinding, oid: str, shared_id: str) -> tuple[Any, ...]:
    """In the order of _OF_FINDING."""
    return (
        *(oid, shared_id, True, conversation.pk, conversation.revision, conversation.source.reader),
        *(finding.code, finding.rule, finding.severity.value, finding.silent, finding.origin.value),
        *(visible(finding.message), _AS_TEXT(list(finding.seqs)), finding.total, visible(finding.key)),
    )
