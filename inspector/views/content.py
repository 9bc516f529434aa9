"""What the page of a conversation shows: of a small one computed when it is opened, of a large one what was kept."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from inspector.actions.examining import judged_with
from inspector.actions.kept_previews import read_at
from inspector.conversation.queries import span_text
from inspector.models import Conversation, analyses, loading
from inspector.models.cached import MEGABYTE, bounded_cache
from inspector.models.transactions import one_writer
from inspector.presentation.conversation.columns import merged_seqs
from inspector.presentation.conversation.overview import Overview, RecordedStep, overview
from inspector.presentation.conversation.profile_verdicts import Profiles, profile_verdicts, profiles_of
from inspector.presentation.conversation.whole import LARGE, Headline, Whole, blocks_of, packed_whole, tried
from inspector.presentation.conversation.windows import Blocks, InMemory
from inspector.projections.observed import NO_PROMPT
from inspector.rules.base import Finding
from inspector.views.analysis import Analysis
from inspector.views.choice import Choice, analysed


class Findings(Protocol):
    """The findings of a conversation with their ids, most dangerous first."""

    def first(self, count: int) -> Sequence[tuple[str, Finding]]: ...

    def number(self, word: str) -> int | None:
        """The place of the one with this id, or the first of the rule with this code; "" is the first of all."""
        ...

    def at(self, number: int) -> tuple[str, Finding] | None: ...

    def suggested(self, number: int) -> Finding:
        """With the strategies that repair it here; beyond the first of each rule of a large conversation with those that its rule names."""
        ...


@dataclass(frozen=True, slots=True)
class Content:
    """`profiles` is None where no request is read, and of a large conversation until somebody asks. `recommended` are names of strategies."""

    overview: Overview
    blocks: Blocks
    findings: Findings
    recommended: tuple[str, ...]
    then_and_now: str
    profiles: Profiles | None
    stale_since: datetime | None = None
    """When it was judged, where the rules or what is around it are others now."""


class _InMemoryFindings:
    def __init__(self, row: Conversation, revision: int, analysis: Analysis) -> None:
        self._row, self._revision, self._analysis = row, revision, analysis

    def first(self, count: int) -> Sequence[tuple[str, Finding]]:
        return self._analysis.findings[:count]

    def number(self, word: str) -> int | None:
        numbered = enumerate(self._analysis.findings)
        return next((number for number, (oid, finding) in numbered if word in (oid, finding.code, "")), None)

    def at(self, number: int) -> tuple[str, Finding] | None:
        return self._analysis.findings[number] if 0 <= number < len(self._analysis.findings) else None

    def suggested(self, number: int) -> Finding:
        return self._analysis.suggested(self._row, self._revision, *self._analysis.findings[number])


def content(row: Conversation, choice: Choice) -> Content:
    """Raises Revision.DoesNotExist, UnknownReader, UnknownProjection, UnknownProfile."""
    is_small = row.chunk_count < LARGE and choice.revision == row.revision
    stored = None if is_small else analyses.stored(row, ways(choice))
    return computed(row, choice) if stored is None else _kept(row, choice, stored)


def _kept(row: Conversation, choice: Choice, stored: analyses.Stored) -> Content:
    headline = stored.headline()
    return Content(
        headline.overview,
        stored,
        stored,
        headline.recommended,
        headline.then_and_now,
        _all_profiles(row, choice),
        stored.written_at if stored.is_stale else None,
    )


def _all_profiles(row: Conversation, choice: Choice) -> Profiles | None:
    """Each profile judges the whole conversation: that is done when somebody asks."""
    if not choice.all_profiles or choice.step:
        return None
    return _profiles(row.pk, row.source.projection, choice.reader, choice.revision, choice.leaf, read_at(row))


@bounded_cache(MEGABYTE, lambda profiles: 20_000)
def _profiles(pk: int, projection: str, reader: str, revision: int, leaf: str, read: tuple[Hashable, ...]) -> Profiles:
    """`read`: when the store and its traces were read, since a case says both."""
    case = loading.case(Conversation.objects.select_related("source").get(pk=pk), reader, revision, leaf)
    return profiles_of(case.conversation, () if case.reading.failure else profile_verdicts(case, projection))


def fresh_headline(row: Conversation, choice: Choice) -> Headline | None:
    """What the page of a large conversation says above its rows; None where nothing is kept, or of older rules."""
    kept = analyses.stored(row, ways(choice)) if row.chunk_count >= LARGE else None
    return None if kept is None or kept.is_stale else kept.headline()


def headline_of(row: Conversation, choice: Choice, analysis: Analysis) -> Headline | None:
    """The same, worked out where it is not kept; None of a small conversation."""
    if row.chunk_count < LARGE:
        return None
    return fresh_headline(row, choice) or _headline(row, choice, analysis)


def ways(choice: Choice) -> analyses.Ways:
    return analyses.Ways(choice.revision, choice.reader, choice.projection, choice.profile, choice.step, choice.leaf)


def computed(row: Conversation, choice: Choice) -> Content:
    analysis = analysed(row, choice, choice.step)
    headline = _headline(row, choice, analysis)
    profiles = profiles_of(analysis.case.conversation, analysis.profile_verdicts) if analysis.profile_verdicts else None
    return Content(
        headline.overview,
        InMemory(tuple(blocks_of(analysis.case, analysis.columns, analysis.branches))),
        _InMemoryFindings(row, choice.revision, analysis),
        headline.recommended,
        headline.then_and_now,
        profiles,
    )


def _headline(row: Conversation, choice: Choice, analysis: Analysis) -> Headline:
    findings = [finding for _, finding in analysis.findings]
    about = overview(
        analysis.case, findings, analysis.prompt, analysis.judgement, analysis.verdict, analysis.columns, analysis.observed,
        analysis.branches, analysis.own_leaves, choice.leaf,
    )  # fmt: skip
    return Headline(about, analysis.recommended, then_and_now(row, choice, about.steps))


def keep(row: Conversation, choice: Choice) -> None:
    """Keeps what the page of a large conversation computed, for its next view. Raises as `content`."""
    before = judged_now(row)
    analysis = analysed(row, choice, choice.step)
    findings = [finding for _, finding in analysis.findings]
    stored = loading.stored(row, choice.revision)
    whole = packed_whole(
        _headline(row, choice, analysis), analysis.case, tried(analysis.case, findings, stored), analysis.columns, analysis.branches
    )
    keep_whole(row, before, ways(choice), whole)


def judged_now(row: Conversation) -> tuple[Hashable, ...]:
    """What is different as soon as its source was read again, or is judged in another way."""
    return row.source.read_at, *judged_with(row.source)


def keep_whole(row: Conversation, before: tuple[Hashable, ...], looked: analyses.Ways, whole: Whole) -> None:
    """`before`: as `judged_now`, when it was begun. What came too late is not kept."""
    with one_writer():
        now = Conversation.objects.select_related("source").filter(pk=row.pk, revision=row.revision).first()
        if now is not None and judged_now(now) == before:
            analyses.keep(now, looked, whole)


def then_and_now(row: Conversation, choice: Choice, steps: Sequence[RecordedStep]) -> str:
    """What the shown (or else the last) observed request merged, and what the next one would merge: the two differ, and both matter."""
    steps = [step for step in steps if not choice.step or step.step_id == choice.step]
    if not steps or choice.revision != row.revision:
        return ""
    then, now = analysed(row, choice, steps[0].step_id), analysed(row, choice)
    if not then.observed or NO_PROMPT in then.observed.notes:
        return ""
    before, after = merged_seqs(then.columns), merged_seqs(now.columns)
    if not before and not after:
        return ""
    merged = f"merged seq {span_text(before)}" if before else "merged nothing"
    merges = f"would merge seq {span_text(after)}" if after else "would merge nothing"
    return f"The request of {steps[0].label}, as observed, {merged}; the next one, as {choice.reader} reads now, {merges}."
