"""What the pages of a repair show of a revision, kept for the next view: what can be chosen, and the preview of what is chosen.

All of it follows from the records of the revision, when its source and traces were read, and what is asked: another of these is another key.
The preview of a large conversation is kept in our database, since its page is made by a process of its own.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from inspector.access.context import unlimited
from inspector.actions.kept_previews import RequestKey, around, base_case, kept_preview, key_of, read_at, request_named
from inspector.actions.planning import RepairRequest, at_leaf, mode_named, request_for, request_of, shown_digest
from inspector.actions.problems import Refused
from inspector.conversation.model import Chunk
from inspector.conversation.tree import LEAF
from inspector.models import Conversation, Repair, analyses, loading, previews
from inspector.models.cached import MEGABYTE, bounded_cache
from inspector.planning.preview import DiffRow, diff_rows
from inspector.planning.recommend import LARGE, RepairCandidate, composed, included, without_waiting
from inspector.planning.suggested import as_written, suggested
from inspector.presentation.conversation.ending import ACCEPTED, Ending, ending_without_findings
from inspector.presentation.conversation.verdict import silent_errors
from inspector.presentation.packed import packed, unpacked
from inspector.presentation.repair.alternatives import LARGEST, Attempt, safety_words, strategy_alternatives
from inspector.presentation.repair.ends import ending_with
from inspector.presentation.repair.outcomes import (
    PARTIAL,
    RECOMMENDED,
    SAME_REQUEST,
    SUGGESTED,
    AdviceLine,
    Passing,
    RepairOption,
    Tried,
    advice_lines,
    advice_word,
    is_right,
    outcome,
    repair_options,
    tone,
)
from inspector.presentation.repair.preview_part import PreviewPart, PromptWindow, added_chunks, message_of, preview_part
from inspector.profiles.judging import judged_case
from inspector.programs.formats import Stored
from inspector.rules.base import Case, Rule, Severity, by_rule
from inspector.rules.catalogue import RULES, all_findings
from inspector.strategies.base import Strategy
from inspector.strategies.catalogue import STRATEGIES, strategy

FINDINGS = 2_000
"""Findings of a large conversation, the most dangerous first, of which the page marks the strategies."""
SHOWN_FINDINGS = 200
"""Of them, those whose sentences the page shows, by rule."""


@dataclass(frozen=True, slots=True)
class Offered:
    """`recommended` are the strategies that repair what was detected, `named` those that a finding names. `problem`: why the leaf cannot be chosen.

    `outcomes`: what the profile says of the next request after each of these alone, in words; of a long conversation none is tried.
    """

    recommended: tuple[str, ...]
    named: frozenset[str]
    problem: str
    outcomes: Mapping[str, str] = field(default_factory=dict)
    included: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Strategy -> those that change nothing where it is chosen too; of a long conversation none is tried."""
    ended: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Code of a rule that is found and that no strategy is for -> those of the tried ones after which it finds nothing, the ones first after which the request passes."""
    detected: "tuple[Detected, ...]" = ()
    """Of the path to a chosen leaf, or as another reader has it, what the rules find there."""
    not_modeled: str = ""
    """As of a judgement."""
    word: str = RECOMMENDED
    """What `recommended` is called: whether the next request passes after all of them. Of a long conversation it is as the preview of them has it, where one is kept; nobody knows else."""
    advice: tuple[AdviceLine, ...] = ()
    """Which to choose, a line for each choice; of a long conversation of `recommended` alone."""
    options: tuple[RepairOption, ...] = ()
    """The same, to be shown otherwise; () where what is recommended would make a request that passes wrong."""
    accepted: tuple[str, ...] = ()
    """The tried strategies after which alone the next request is accepted."""

    costs: Mapping[str, Strategy] = field(default_factory=dict)
    """Each of `named` and `recommended` with what it costs here; of a long conversation none."""

    def strategies(self, format_name: str) -> tuple[Strategy, ...]:
        """All that are for a format."""
        return tuple(self.costs.get(of.name, of) for of in STRATEGIES if of.applies_to(format_name))

    @property
    def words(self) -> dict[str, str]:
        """Strategy -> what it is called: of `recommended`, of which all together leave the next request wrong, one that alone does not is recommended. Of the
        others those that leave it wrong.
        """
        alone = {option.names[0]: option.word for option in self.options if len(option.names) == 1}
        others = {name: PARTIAL for name, words in self.outcomes.items() if tone(words) != "yes"}
        return others | {name: alone.get(name, self.word) for name in self.recommended}


class Detected(NamedTuple):
    """How often a rule fires, with the sentence of the first."""

    code: str
    severity: str
    number: int
    message: str


@dataclass(frozen=True, slots=True)
class Shown:
    """`digest` is that of what the preview shows; where there is no preview, `problem` says why.

    `read` is when its source was read where that matters: a turn that seemed to run then may have ended.
    """

    part: PreviewPart | None
    digest: str
    problem: str
    read: datetime | None = None
    plan_digest: str = ""


def base_of_page(row: Conversation, leaf: str) -> tuple[Case, Stored] | None:
    """What a page must hold on to while it asks for the rest, so that a conversation larger than any cache is loaded and judged once; None where nothing is loaded."""
    return None if is_offer_kept(row, leaf) else (base_case(row, row.source.reader), loading.stored(row))


def is_offer_kept(row: Conversation, leaf: str) -> bool:
    """Whether what can be chosen is known without the conversation."""
    return _offered.is_known(*_offered_key(row, leaf)) or (not leaf and _analysis(row) is not None)


@unlimited
def is_kept(row: Conversation, strategies: tuple[str, ...], mode: str, reader: str, leaf: str) -> bool:
    """Whether our database has the preview of what is chosen."""
    known = previews.request_of(row, _choices(row, strategies, mode, reader, leaf))
    return known is not None and previews.kept(_place(row, row.revision, _key_of_json(known), around(row))) is not None


@unlimited
def is_kept_of(repair: Repair) -> bool:
    row = repair.conversation
    return previews.kept(_place(row, repair.revision, key_of(request_of(repair)), around(row))) is not None


@unlimited
def offered(row: Conversation, leaf: str, reader: str = "") -> Offered:
    """`reader`: "" is the deployed one. Raises UnknownReader."""
    offer = _offered(*_offered_key(row, leaf, reader))
    is_own = not leaf and reader in ("", row.source.reader)
    return _advised_by_preview(row, offer) if is_own and row.chunk_count > LARGEST and offer.recommended else offer


def _advised_by_preview(row: Conversation, offer: Offered) -> Offered:
    """Of a large conversation nothing is tried for the page; of the largest the import keeps the preview of what is recommended."""
    choice = _by_default(row, offer.recommended)
    if choice is None or not is_kept(row, *choice) or (part := shown_of_choice(row, *choice).part) is None:
        return replace(offer, word=SUGGESTED)
    return _with_advice(
        offer, part.before.ending, Tried(offer.recommended, part.safety, part.after.ending, part.read, "", part.invents_no_words), ()
    )


def _analysis(row: Conversation) -> analyses.Stored | None:
    """What the import kept of a large conversation, where it is still true."""
    kept = analyses.stored(row, analyses.own_ways(row))
    return None if kept is None or kept.is_stale else kept


def _offered_key(row: Conversation, leaf: str, reader: str = "") -> tuple[int, int, tuple[Hashable, ...], str, str, str, str]:
    return row.pk, row.revision, read_at(row), reader or row.source.reader, *row.judges, leaf


def part_by_default(row: Conversation, offer: Offered) -> PreviewPart | None:
    """Of what is recommended, in the mode that is the default; None where there is none, or it cannot be written so."""
    choice = _by_default(row, offer.recommended)
    with suppress(Refused):
        return shown_of_choice(row, *choice).part if choice else None
    return None


@bounded_cache(4 * MEGABYTE, lambda offer: 10_000)
def _offered(pk: int, revision: int, read: tuple[Hashable, ...], reader: str, projection: str, profile: str, leaf: str) -> Offered:
    row = Conversation.objects.select_related("source").get(pk=pk)
    is_own = not leaf and reader == row.source.reader
    if is_own and (kept := _analysis(row)) is not None:
        names = frozenset(name for _, finding in kept.first(FINDINGS) for name in finding.repaired_by)
        headline = kept.headline()
        return Offered(headline.recommended, names, "", not_modeled=headline.overview.judged.not_modeled)
    case, problem = base_case(row, reader, revision), ""
    try:
        case = at_leaf(case, leaf)
    except Refused as refusal:
        problem = str(refusal)
    reported = all_findings(case)
    judgement = judged_case(case, profile, projection)[1]
    recommendation = without_waiting(case, reported, judgement, projection)
    stored = loading.stored(row, revision) if _is_tried(case) else None
    if stored is not None:
        reported = suggested(case, reported, stored)
    written = partial(as_written, case, stored, projection, profile)
    named = frozenset(name for finding in reported for name in finding.repaired_by)
    recommended = tuple(strategy.name for strategy in recommendation.candidate.strategies)
    groups = () if is_own else by_rule(reported)
    detected = tuple(Detected(group[0].code, group[0].severity, len(group), message_of(group)) for group in groups)
    codes = {name: {finding.code for finding in reported if name in finding.repaired_by} for name in sorted(named)}
    parts = included(case, codes) if len(case.conversation.chunks) <= LARGEST and not case.reading.failure else {}
    loose = {finding.code for finding in reported} - {finding.code for finding in reported if finding.repaired_by}
    attempts = _attempts(case, named | {*recommended}, projection, profile, [rule for rule in RULES if rule.code in loose], written)
    now = ending_without_findings(case, judgement)
    costs = {name: strategy(name).of(case) for name in named | {*recommended}} if _is_tried(case) else {}
    costs |= {attempt.name: attempt.used for attempt in attempts if attempt.used}
    offer = Offered(
        recommended, named, problem, _outcomes(attempts, now, profile), parts, _ended(attempts, loose), detected,
        costs=costs, not_modeled=judgement.not_modeled,
    )  # fmt: skip
    return _advised(offer, case, recommendation.candidate, now, projection, profile, attempts, written) if _is_tried(case) else offer


def _is_tried(case: Case) -> bool:
    return len(case.conversation.chunks) <= LARGEST


Written = Callable[[Sequence[str]], Case | None]
"""What strategies leave of a conversation once it is stored; None where that is not known."""


def _attempts(
    case: Case, named: Collection[str], projection: str, profile: str, watched: Sequence[Rule], written: Written
) -> list[Attempt]:
    if not _is_tried(case) or case.reading.failure:
        return []
    return list(
        strategy_alternatives(
            case, (), projection, profile, [strategy for strategy in STRATEGIES if strategy.name in named], watched, written
        )
    )


def _outcomes(attempts: Sequence[Attempt], now: Ending, profile: str) -> dict[str, str]:
    return {
        attempt.name: f"{profile}: {outcome(now, attempt.ending).text}{f'; {SAME_REQUEST}' if attempt.is_same_request else ''}"
        for attempt in attempts
    }


def _ended(attempts: Sequence[Attempt], codes: Collection[str]) -> dict[str, tuple[str, ...]]:
    passing = sorted(attempts, key=lambda attempt: not attempt.is_fine)
    names = {code: tuple(attempt.name for attempt in passing if code in attempt.ends) for code in sorted(codes)}
    return {code: of for code, of in names.items() if of}


def _advised(
    offer: Offered,
    case: Case,
    candidate: RepairCandidate,
    now: Ending,
    projection: str,
    profile: str,
    attempts: Sequence[Attempt],
    written: Written,
) -> Offered:
    # What the store cannot keep is left out of a candidate after it was judged.
    later = written(offer.recommended) or candidate.case
    after = ending_with(case, candidate.strategies, later, *judged_case(later, profile, projection), projection)
    passing = [Passing((attempt.name,), attempt.safety, attempt.ending) for attempt in attempts if is_right(attempt.ending)]
    safety = _safety_of(candidate.strategies)
    if offer.recommended and not is_right(after):
        more = offer.named - {*offer.recommended, *(of.names[0] for of in passing)}
        passing += _passing_with_one_more(case, offer.recommended, sorted(more), projection, profile, written)
    added = added_chunks(case, diff_rows(case.conversation, candidate.case.conversation))
    read = len(case.reading.messages), len(later.reading.messages)
    stays = {finding.code: finding for finding in silent_errors(later, all_findings(later))}
    places = ", ".join(f"{code} at seq {finding.seqs[0]}" for code, finding in stays.items() if finding.seqs)
    tried = Tried(offer.recommended, safety, after, read, places, not added)
    is_hopeless = offer.recommended and not passing and not is_right(after)
    whole = _leaving_less(case, later, tried, offer.named, projection, profile, written) if is_hopeless else None
    return _with_advice(offer, now, tried, passing, whole)


def _leaving_less(
    case: Case, later: Case, tried: Tried, named: Collection[str], projection: str, profile: str, written: Written
) -> Tried | None:
    """What was tried, which made `later`, with those of the `named` strategies that leave fewer errors and warnings, each after the others; None where none does."""
    left, best = _harmful(later), tried
    for name in (of.name for of in STRATEGIES if of.name in named and of.name not in tried.names):
        strategies, repaired = composed(case, [*best.names, name])
        repaired = written([strategy.name for strategy in strategies]) or repaired
        if (leaves := _harmful(repaired)) < left:
            end = ending_with(case, strategies, repaired, *judged_case(repaired, profile, projection), projection)
            ends = "leaves no error or warning" if not leaves else f"leaves {leaves:,} of what is found"
            read, names = (tried.read[0], len(repaired.reading.messages)), tuple(strategy.name for strategy in strategies)
            left, best = leaves, Tried(names, _safety_of(strategies), end, read, ends=ends)
    return None if best is tried else best


def _harmful(case: Case) -> int:
    return sum(finding.severity is not Severity.NOTE for finding in all_findings(case))


def _passing_with_one_more(
    case: Case, names: Sequence[str], more: Iterable[str], projection: str, profile: str, written: Written
) -> Iterator[Passing]:
    for name in more:
        strategies, repaired = composed(case, [*names, name])
        repaired = written([strategy.name for strategy in strategies]) or repaired
        end = ending_with(case, strategies, repaired, *judged_case(repaired, profile, projection), projection)
        if is_right(end):
            yield Passing(tuple(strategy.name for strategy in strategies), _safety_of(strategies), end)


def _safety_of(strategies: Iterable[Strategy]) -> str:
    return safety_words({kind for strategy in strategies for kind in strategy.safety})


def _with_advice(offer: Offered, now: Ending, tried: Tried, passing: Sequence[Passing], whole: Tried | None = None) -> Offered:
    """`now`: the end of the next request as it is; `tried`: all that is recommended."""
    if is_right(now) and not is_right(tried.after):
        # What repairs its findings and makes the next request wrong is nothing to begin with.
        return replace(offer, recommended=(), advice=advice_lines(Tried((), "", tried.after), now, passing))
    return replace(
        offer,
        word=advice_word(now, tried.after),
        advice=advice_lines(tried, now, passing, whole),
        options=repair_options(tried, now, passing, whole),
        accepted=tuple(of.names[0] for of in passing if of.after.words == ACCEPTED and len(of.names) == 1),
    )


def request_of_choice(row: Conversation, strategies: tuple[str, ...], mode: str, reader: str, leaf: str) -> RepairRequest:
    """As `request_for`; asked again, the same, with the time that the first had for an entry in a list. Raises Refused."""
    own_judges = row.source.projection, row.source.profile
    arguments = row.pk, row.revision, read_at(row), strategies, mode, reader, own_judges, leaf
    if row.chunk_count >= LARGE and not _request_key.is_known(*arguments):
        known = previews.request_of(row, _choices(row, strategies, mode, reader, leaf))
        if known is not None:
            return request_named(_key_of_json(known))
    return request_named(_request_key(*arguments))


@unlimited
def first_choice(row: Conversation) -> tuple[tuple[str, ...], str, str, str] | None:
    """Strategies, mode, reader and leaf that the page of a new repair has chosen before anybody else does; None where that is nothing, or not known yet."""
    if not is_offer_kept(row, ""):
        return None
    return _by_default(row, first_ticked(offered(row, "")))


def _by_default(row: Conversation, ticked: Collection[str]) -> tuple[tuple[str, ...], str, str, str] | None:
    """What an address that names nothing else asks for; None where nothing is ticked or the source has no mode."""
    try:
        mode = mode_named(loading.format_of(row.source), "")
    except Refused:
        return None
    return (tuple(strategy.name for strategy in STRATEGIES if strategy.name in ticked), mode, row.source.reader, "") if ticked else None


def first_ticked(offer: Offered) -> tuple[str, ...]:
    """Before anybody chose: what is recommended, else the only strategy that a finding names; of several, each another way, a person picks."""
    return offer.recommended or (tuple(offer.named) if len(offer.named) == 1 else ())


def choice_digest(row: Conversation, *chosen: Hashable) -> str:
    """Of what a person chose, as long as it leads to the same request."""
    return _choices(row, *chosen)[True]


def _choices(row: Conversation, *chosen: Hashable) -> tuple[str, str]:
    return previews.choices_of(row, (chosen, row.source.projection, row.source.profile))


def _key_of_json(request: Sequence[Any]) -> RequestKey:
    strategies, mode, reader, projection, profile, options = request
    return tuple(strategies), mode, reader, projection, profile, tuple((name, value) for name, value in options)


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


@unlimited
def shown(row: Conversation, revision: int, request: RepairRequest) -> Shown:
    """After a write the source is read again, and a preview of what was there before it is shown on the next page."""
    key, read = key_of(request), row.source.read_at
    page = _shown(row.pk, revision, around(row), None, key)
    return page if page.read in (None, read) else _shown(row.pk, revision, around(row), read, key)


@unlimited
def shown_of_choice(row: Conversation, strategies: tuple[str, ...], mode: str, reader: str, leaf: str) -> Shown:
    """Of the newest revision. Raises Refused."""
    return shown(row, row.revision, request_of_choice(row, strategies, mode, reader, leaf))


@unlimited
def keep_shown_of_choice(row: Conversation, strategies: tuple[str, ...], mode: str, reader: str, leaf: str) -> None:
    """As `keep_shown`; the next time the same is chosen, the conversation is not even loaded to know what is asked. Raises Refused."""
    request = request_of_choice(row, strategies, mode, reader, leaf)
    keep_shown(row, row.revision, request)
    # An id or a time that the request has besides was chosen for what the source had then.
    is_timed = bool(request.options.keys() - {LEAF})
    place = _place(row, row.revision, key_of(request), around(row))
    previews.note_choice(place, _choices(row, strategies, mode, reader, leaf), is_timed)


@unlimited
def keep_shown(row: Conversation, revision: int, request: RepairRequest) -> None:
    """Keeps what the page of a large conversation showed, for the next view: this process has it in memory."""
    key = key_of(request)
    place = _place(row, revision, key, around(row))
    if not _shown.is_known(row.pk, revision, around(row), None, key) or previews.kept(place) is not None:
        return
    page = shown(row, revision, request)
    # What no text can encode is worked out again.
    with suppress(RecursionError):
        previews.keep(place, packed(_without_records(page)), page.read is not None)


@unlimited
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
    if row.chunk_count < LARGE:
        return _computed(row, revision, key)
    data = previews.kept(_place(row, revision, key, around))
    if data is not None:
        return unpacked(Shown, data)
    return _computed(row, revision, key)


def _place(row: Conversation, revision: int, key: RequestKey, around: Hashable) -> previews.PreviewPlace:
    return previews.place_of(row, revision, key, around)


def _without_records(page: Shown) -> Shown:
    """The page shows what chunks say, and never the bytes of their records, which may be a line of megabytes for each."""
    part = page.part
    if part is None:
        return page
    runs = tuple(replace(run, shown=_bare_rows(run.shown), folded=_bare_rows(run.folded), last=_bare_rows(run.last)) for run in part.runs)
    before, after = (replace(side, prompt=_bare_prompt(side.prompt)) for side in (part.before, part.after))
    return replace(page, part=replace(part, runs=runs, before=before, after=after))


def _bare_rows(rows: Sequence[DiffRow]) -> tuple[DiffRow, ...]:
    return tuple(replace(row, before=_bare(row.before), after=_bare(row.after)) for row in rows)


def _bare_prompt(prompt: PromptWindow) -> PromptWindow:
    messages = tuple(
        replace(message, pieces=tuple(replace(piece, chunk=_bare(piece.chunk)) for piece in message.pieces)) for message in prompt.messages
    )
    return replace(prompt, messages=messages)


def _bare(chunk: Chunk | None) -> Chunk | None:
    return chunk if chunk is None else replace(chunk, raw=b"")


def _computed(row: Conversation, revision: int, key: RequestKey) -> Shown:
    try:
        preview = kept_preview(row, revision, request_named(key))
    except Refused as problem:
        return Shown(None, "", str(problem), row.source.read_at)
    case = preview.before.case
    # What it was compacted from may be imported later.
    is_timed = case.is_timed or case.conversation.fact("compactedFrom") is not None
    kept = _analysis(row) if preview.before.known is not None else None
    known = [finding for _, finding in kept.first(SHOWN_FINDINGS)] if kept is not None else []
    read = row.source.read_at if is_timed else None
    return Shown(preview_part(preview, known), shown_digest(preview), "", read, preview.digest)
