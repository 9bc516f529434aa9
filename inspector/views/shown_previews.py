"""What the pages of a repair show of a revision, kept for the next view: what can be chosen, and the preview of what is chosen.

All of it follows from the records of the revision, when its source and traces were read, and what is asked: another of these is another key.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from datetime import datetime

from inspector.actions.kept_previews import RequestKey, around, base_case, kept_preview, key_of, read_at, request_named
from inspector.actions.planning import RepairRequest, at_leaf, request_for, request_of, shown_digest
from inspector.actions.problems import Refused
from inspector.models import Conversation, Repair, analyses, loading
from inspector.models.cached import MEGABYTE, bounded_cache
from inspector.planning.recommend import LARGE, without_waiting
from inspector.planning.suggested import suggested
from inspector.profiles.judging import judged_case
from inspector.programs.formats import Stored
from inspector.rules.base import Case
from inspector.rules.catalogue import all_findings
from inspector.views.preview_part import PreviewPart, preview_part

FINDINGS = 2_000
"""Findings of a large conversation, the most dangerous first, of which the page marks the strategies."""


@dataclass(frozen=True, slots=True)
class Offered:
    """`recommended` are the strategies that repair what was detected, `named` those that a finding names. `problem`: why the leaf cannot be chosen."""

    recommended: tuple[str, ...]
    named: frozenset[str]
    problem: str


@dataclass(frozen=True, slots=True)
class Shown:
    """`digest` is that of what the preview shows; where there is no preview, `problem` says why.

    `read` is when its source was read where that matters: a turn that seemed to run then may have ended.
    """

    part: PreviewPart | None
    digest: str
    problem: str
    read: datetime | None = None


def base_of_page(row: Conversation, leaf: str) -> tuple[Case, Stored] | None:
    """What a page must hold on to while it asks for the rest, so that a conversation larger than any cache is loaded and judged once; None where nothing is loaded."""
    if _offered.is_known(*_offered_key(row, leaf)) or (not leaf and _analysis(row) is not None):
        return None
    return base_case(row, row.source.reader), loading.stored(row)


def offered(row: Conversation, leaf: str) -> Offered:
    """Raises UnknownReader."""
    return _offered(*_offered_key(row, leaf))


def _analysis(row: Conversation) -> analyses.Stored | None:
    """What the import kept of a large conversation, where it is still true."""
    return analyses.stored(row, analyses.Ways(row.revision, row.source.reader, *row.judges))


def _offered_key(row: Conversation, leaf: str) -> tuple[int, int, tuple[Hashable, ...], str, str, str, str]:
    return row.pk, row.revision, read_at(row), row.source.reader, *row.judges, leaf


@bounded_cache(4 * MEGABYTE, lambda offer: 10_000)
def _offered(pk: int, revision: int, read: tuple[Hashable, ...], reader: str, projection: str, profile: str, leaf: str) -> Offered:
    row = Conversation.objects.select_related("source").get(pk=pk)
    if not leaf and (kept := _analysis(row)) is not None:
        names = frozenset(name for _, finding in kept.first(FINDINGS) for name in finding.repaired_by)
        return Offered(kept.headline().recommended, names, "")
    case, problem = base_case(row, reader, revision), ""
    try:
        case = at_leaf(case, leaf)
    except Refused as refusal:
        problem = str(refusal)
    reported = all_findings(case)
    judgement = judged_case(case, profile, projection)[1]
    recommendation = without_waiting(case, reported, judgement, projection)
    if len(case.conversation.chunks) <= LARGE:
        reported = suggested(case, reported, loading.stored(row, revision))
    named = frozenset(name for finding in reported for name in finding.repaired_by)
    return Offered(tuple(strategy.name for strategy in recommendation.candidate.strategies), named, problem)


def request_of_choice(row: Conversation, strategies: tuple[str, ...], mode: str, reader: str, leaf: str) -> RepairRequest:
    """As `request_for`; asked again, the same, with the time that the first had for an entry in a list. Raises Refused."""
    own_judges = row.source.projection, row.source.profile
    return request_named(_request_key(row.pk, row.revision, read_at(row), strategies, mode, reader, own_judges, leaf))


@bounded_cache(4 * MEGABYTE, lambda key: 5_000)
def _request_key(
    pk: int,
    revision: int,
    read: tuple[Hashable, ...],
    strategies: tuple[str, ...],
    mode: str,
    reader: str,
    judges: tuple[str, str],
    leaf: str,
) -> RequestKey:
    row = Conversation.objects.select_related("source").get(pk=pk)
    return key_of(request_for(row.source, loading.stored(row, revision), strategies, mode, reader, leaf=leaf))


def shown(row: Conversation, revision: int, request: RepairRequest) -> Shown:
    """After a write the source is read again, and a preview of what was there before it is shown on the next page."""
    key, read = key_of(request), row.source.read_at
    page = _shown(row.pk, revision, around(row), None, key)
    return page if page.read in (None, read) else _shown(row.pk, revision, around(row), read, key)


def shown_of(repair: Repair) -> Shown:
    """On the revision that the repair was proposed on."""
    return shown(repair.conversation, repair.revision, request_of(repair))


def _size_of_shown(page: Shown) -> int:
    part = page.part
    if part is None:
        return 1_000
    chunks = [chunk for run in part.runs for row in (*run.shown, *run.folded, *run.last) for chunk in (row.before, row.after) if chunk]
    pieces = [piece for side in (part.before, part.after) for message in side.prompt.messages for piece in message.pieces]
    chunks += [piece.chunk for piece in pieces if piece.chunk is not None]
    values = sum(len(cell.data) for change in part.changes for cell in (change.before, change.after) if cell)
    return values + sum(4 * len(chunk.raw) + 4_000 for chunk in chunks) + sum(len(warning) for warning in part.warnings) + 50_000


@bounded_cache(32 * MEGABYTE, _size_of_shown)
def _shown(pk: int, revision: int, around: tuple[Hashable, ...], read: datetime | None, key: RequestKey) -> Shown:
    """`read` is None where it is not known yet whether it matters when the source was read."""
    row = Conversation.objects.select_related("source").get(pk=pk)
    try:
        preview = kept_preview(row, revision, request_named(key))
    except Refused as problem:
        return Shown(None, "", str(problem), row.source.read_at)
    case = preview.before.case
    # What it was compacted from may be imported later.
    is_timed = case.is_timed or case.conversation.fact("compactedFrom") is not None
    return Shown(preview_part(preview), shown_digest(preview), "", row.source.read_at if is_timed else None)
