"""The prompt of a conversation next to its chunks: under any reader, in any wire shape, after any strategies, before anything is written."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from django.http import Http404, HttpResponse

from inspector.conversation.model import Chunk, Dropped
from inspector.conversation.tree import LEAF, entries
from inspector.middleware import OperatorRequest
from inspector.models import Conversation, Repair
from inspector.planning.recommend import composed
from inspector.presentation.conversation import show
from inspector.presentation.conversation.ending import WRONG_SILENTLY, ending_of, ending_without_findings
from inspector.presentation.conversation.profile_verdicts import ProfileVerdict, profile_verdicts
from inspector.presentation.conversation.recorded_errors import Recorded, latest_rejection
from inspector.presentation.conversation.verdict import NextRequest, silent_errors
from inspector.presentation.conversation.whole import Headline
from inspector.presentation.explain.advice import Advice, advice_of
from inspector.presentation.prompt.above_cut import AboveCut, above_cut
from inspector.presentation.prompt.causes import HOW, causes, with_causes
from inspector.presentation.prompt.provider_request import request_list
from inspector.presentation.prompt.side_by_side import MissingResult, SideBySide, SideBySideRow, elsewhere, place_of, side_by_side
from inspector.presentation.repair.alternatives import LARGEST, Attempt, reader_alternatives, strategy_alternatives
from inspector.presentation.repair.outcomes import is_right
from inspector.presentation.tree.view import tree_view
from inspector.presentation.visible import beginning, visible
from inspector.presentation.whatif.differences import candidates
from inspector.profiles.base import Judgement, Violation
from inspector.profiles.catalogue import PROFILES
from inspector.profiles.judging import judged
from inspector.projections.base import Prompt
from inspector.projections.catalogue import all_projections
from inspector.readers.catalogue import names
from inspector.rules.base import Case, Finding, Origin, Severity
from inspector.strategies.catalogue import STRATEGIES
from inspector.text import jsontext
from inspector.text.error_words import words_of_error
from inspector.views import facts
from inspector.views.analysis import WHOLE, Analysis
from inspector.views.analysis import analysis as analysis_of
from inspector.views.choice import Choice, looked_up
from inspector.views.chunks import TEXT_SHOWN
from inspector.views.content import kept_headline
from inspector.views.conversation_list import live_request
from inspector.views.crashes import crash_links
from inspector.views.pages import as_json, page, unless_unchanged

WINDOW = 200
NEAR, LEAD = 6, 4
"""Rows that the first screen shows next to the first violation or more, and how many are shown before it where it is further down."""


@dataclass(frozen=True, slots=True)
class Look:
    """What is shown: the case after the chosen strategies, its prompt, and the verdict on that."""

    case: Case
    prompt: Prompt
    judgement: Judgement
    strategies: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPage:
    row: Conversation
    choice: Choice
    analysis: Analysis
    look: Look
    silence: str
    """Why the request goes wrong silently, though it passes; "" of a past one."""
    table: SideBySide
    lines: tuple[tuple[SideBySideRow, Chunk | None], ...]
    """The rows of the table; of a crash file each with the chunk of its session that it was made of, where one is known."""
    session: Conversation | None
    loose: tuple[Violation, ...]
    profile_verdicts: tuple[ProfileVerdict, ...]
    readers: tuple[Attempt, ...]
    strategies: tuple[Attempt, ...]
    recommended: tuple[str, ...]
    """Names of the strategies that repair the findings; () of a past request."""
    is_partial: bool
    """Whether the next request is not accepted after them."""
    why_not: str
    """Why no sequence of strategies satisfies the profile; "" of a past request."""
    unchanged: tuple[str, ...]
    """Chosen strategies that would change nothing here."""
    differs: str
    earlier: int | None
    later: int | None
    last: int
    projections: list[str]
    profiles: list[str]
    reader_names: list[str]
    text: str
    is_cut: bool
    answered: Recorded | None
    """What the provider refused last, where that is recorded, and another rule than the first of this verdict."""
    advice: Advice | None
    """What to do with the session of a crash file."""
    above_cut: AboveCut | None
    """What damage cuts off the path; None where nothing does, or of a large session of which nothing is kept."""
    entries: int
    """Of a tree of which each reader takes its own path; 0 where no reader is tried."""
    live: NextRequest
    """Of the path that the program takes, where another one is chosen."""
    waiting: Repair | None
    """The newest repair of what the page offers to repair that waits for a decision or to be applied."""
    largest: int = LARGEST
    how: str = HOW

    @property
    def dropped_chunks(self) -> int:
        return sum(len(group.chunks) for group in self.look.case.reading.dropped)

    @property
    def lost_chunks(self) -> int:
        return sum(len(group.chunks) for group in self.look.prompt.lost)

    @property
    def agrees(self) -> bool:
        """Whether the profile finds what the provider answered."""
        return self.answered is not None and self.answered.provider_rule in {violation.id for violation in self.look.judgement.violations}

    @property
    def is_explained(self) -> bool:
        """Whether the first violation is the cause of what the provider answered."""
        return self.answered is not None and self.answered.provider_rule in self.following

    @property
    def missing(self) -> list[MissingResult]:
        return [result for line, _ in self.lines for result in line.missing]

    @property
    def cause_in_words(self) -> str:
        """Of what the provider answered, where that is a result which it missed; "" else."""
        if not self.is_explained or not self.missing:
            return ""
        first = self.missing[0]
        tool = first.call.tool_name or "a call"
        return f"no result of {tool} is stored" if first.seq is None else f"the result of {tool} is stored, and not sent"

    @property
    def verdict(self) -> str:
        return _verdict_after(self.look, self.silence)

    @property
    def causes(self) -> list[tuple[str, str, Finding]]:
        """Errors of the store of which a repair makes the request acceptable, or that make it wrong silently, each after what it is and its id."""
        if self.look.strategies or self.analysis.observed:
            return []
        if self.look.judgement.sendable:
            return self._causes_of_silence if self.silence and self.readers else []
        passing = {one.name for one in self.passing_strategies}
        if not passing:
            return []
        oids = {one: oid for oid, one in self.analysis.findings if one.severity is Severity.ERROR and passing & set(one.repaired_by)}
        named = causes(self.analysis.case.conversation.chunks, self.look.judgement.violations[0].seqs, list(oids))
        return [(word, oids[one], one) for word, one in zip(("Cause", "Effect"), named, strict=False)]

    @property
    def _causes_of_silence(self) -> list[tuple[str, str, Finding]]:
        """The line directly above the path that no program reads, and its effect where the path begins; else the first."""
        case, oids = self.look.case, {finding: oid for oid, finding in self.analysis.findings}
        left_out = {seq for dropped in case.reading.dropped if not dropped.intentional for seq in dropped.seqs}
        reported = silent_errors(case, list(oids)) or [
            finding for finding in oids if finding.origin is Origin.READER and finding.silent and not left_out.isdisjoint(finding.seqs)
        ]
        cut = self.above_cut.cut if self.above_cut else None
        first = case.conversation.chunks[0].seq if case.conversation.chunks else None
        cause = next((finding for finding in reported if cut in finding.seqs), None)
        effect = next((finding for finding in reported if cause and finding.code != cause.code and first in finding.seqs), None)
        named = [finding for finding in (cause, effect) if finding] or reported[:1]
        return [(word, oids[finding], finding) for word, finding in zip(("Cause", "Effect"), named, strict=False)]

    @property
    def chosen_leaf(self) -> str:
        """The entry of the tree that the address chooses, as it is shown; "" where it chooses none that is there."""
        return visible((self.look.case.tree.fact(LEAF) if self.look.case.tree else None) or "")

    @property
    def is_unknown_leaf(self) -> bool:
        """Whether the address chooses an entry that is not there: of the live path it chooses nothing else."""
        chunks = self.look.case.conversation.chunks
        is_live = bool(chunks) and visible(chunks[-1].key.rpartition(".")[0]) == self.choice.leaf
        return bool(self.choice.leaf and self.look.case.tree and not self.chosen_leaf) and not is_live

    @property
    def recommended_attempts(self) -> list[Attempt]:
        """Of a request that goes wrong silently: what each recommended strategy alone makes of it, where that is accepted or sends more."""
        if not self.silence or self.look.strategies:
            return []
        sent = len(self.look.prompt.messages)
        return [one for one in self.strategies if one.name in self.recommended and (one.is_fine or one.count > sent)]

    @property
    def fuller_readers(self) -> list[Attempt]:
        """Of a request that goes wrong silently: two other readers of which it does not, else that reach more of the tree, both with the same outcome."""
        if not self.silence or self.look.strategies:
            return []
        reached = max((one.reached for one in self.readers if one.chosen), default=0)
        fuller = [one for one in self.passing_readers if one.is_fine or one.reached > reached]
        return [one for one in fuller if (one.count, one.words) == (fuller[0].count, fuller[0].words)][:2]

    @property
    def unnoticed(self) -> str:
        """What is wrong although the request passes and nothing of it is lost: "call not run"; "" of others."""
        if not self.look.judgement.sendable or self.silence:
            return ""
        return next((one.unnoticed for one in self.readers if one.chosen), "")

    @property
    def following(self) -> list[str]:
        """Rules of violations that follow from the first one."""
        if not self.look.judgement.violations:
            return []
        first, *others = self.look.judgement.violations
        message = first.path.split(".")[:2]
        return list(dict.fromkeys(one.id for one in others if one.cause == first.id and one.path.split(".")[:2] == message))

    @property
    def passing_readers(self) -> list[Attempt]:
        """Other readers of which the request is not rejected: first where it does not go wrong silently either, of these the ones that What if compares."""
        passing = [one for one in self.readers if one.judgement.sendable and not one.failure and not one.chosen]
        compared = candidates(self.row.source.format)
        return sorted(passing, key=lambda one: (not one.is_fine, one.name not in compared))

    @property
    def passing_strategies(self) -> list[Attempt]:
        """Those after which the request is not rejected: first where it does not go wrong silently either, then the recommended, then those that lose and invent nothing."""
        passing = [one for one in self.strategies if one.judgement.sendable and not one.failure and not one.chosen]
        return sorted(passing, key=lambda one: (not one.is_fine, one.name not in self.recommended, one.safety != "safe"))

    @property
    def lacks(self) -> list[tuple[tuple[int, ...], str]]:
        """What the request silently lacks after the strategies that are tried: seqs, and why."""
        dropped = self.look.case.reading.dropped if self.silence and self.look.strategies else ()
        return [(tuple(chunk.seq for chunk in group.chunks), group.why) for group in dropped if not group.intentional]

    @property
    def right_with(self) -> list[tuple[Attempt, tuple[str, ...]]]:
        """Of a request that still goes wrong silently after the strategies that are tried: one more after which it does not, the first of each cost, and all together.

        What takes something away makes it right only by leaving no trace of what is lacking.
        """
        more = (
            [one for one in self.passing_strategies if one.is_fine and "lossy" not in one.safety]
            if self.silence and self.look.strategies
            else []
        )
        first = {one.safety: one for one in reversed(more)}
        return [(one, (*self.look.strategies, one.name)) for one in more if first[one.safety] is one]

    @property
    def is_offered(self) -> bool:
        """Whether the page names strategies that end the rejection."""
        return not self.look.judgement.sendable and bool(self.passing_strategies)

    @property
    def offered_strategies(self) -> list[Attempt]:
        """Two of them: the first, and the first after which the request still goes wrong silently, or else the second."""
        first, others = self.passing_strategies[:1], self.passing_strategies[1:]
        return first + ([one for one in others if one.ending.silence != first[0].ending.silence] or others)[:1]

    @property
    def accepted(self) -> tuple[int, int]:
        """Of how many readers, and after how many strategies, the request is accepted and does not go wrong silently."""
        # What only takes away what is not sent makes no request right that was not.
        readers, strategies = (
            sum(one.is_fine and not (self.silence and one.is_same_request) for one in tried) for tried in (self.readers, self.strategies)
        )
        return readers, strategies

    @property
    def unnoticed_readers(self) -> dict[str, int]:
        """What is wrong with readers of which the request is accepted, and with how many of them."""
        return dict(Counter(one.unnoticed for one in self.readers if one.is_fine and one.unnoticed))

    @property
    def wrong_silently(self) -> int:
        """Profiles that the history passes, and of which it goes wrong silently."""
        return sum(verdict.judgement.sendable and bool(verdict.silence) for verdict in self.profile_verdicts)

    @property
    def rejecting(self) -> int:
        """Profiles that reject the history."""
        return sum(not verdict.judgement.sendable for verdict in self.profile_verdicts)


def _look(request: OperatorRequest, choice: Choice, analysis: Analysis) -> Look:
    """Raises Http404 on a strategy that is none."""
    chosen = tuple(dict.fromkeys(request.GET.getlist("strategy")))
    known_names = {strategy.name for strategy in STRATEGIES}
    for name in chosen:
        if name not in known_names:
            raise Http404(f"There is no strategy {name[:80]!r}; the rules page lists them.")
    if not chosen or analysis.observed:
        return Look(analysis.case, analysis.prompt, with_causes(analysis.judgement), ())
    used, case = composed(analysis.case, chosen)
    prompt, judgement = judged(case.reading, case.conversation, choice.profile, choice.projection)
    return Look(case, prompt, with_causes(judgement), tuple(strategy.name for strategy in used))


def _profile_verdicts(row: Conversation, analysis: Analysis, look: Look) -> tuple[ProfileVerdict, ...]:
    if not look.strategies or look.case.reading.failure or len(look.case.conversation.chunks) > WHOLE:
        return analysis.profile_verdicts
    return profile_verdicts(look.case, row.source.projection)


def _differs(analysis: Analysis, look: Look, table: SideBySide, silence: str) -> str:
    """What the strategies change, in one sentence; "" where none is tried."""
    if not look.strategies:
        return ""
    changed = ", ".join(f"{count} {word}" for word, count in table.changes.items()) or "no chunk changed"
    messages = f"{len(look.prompt.messages)} messages instead of {len(analysis.prompt.messages)}"
    failed = look.case.reading.failure
    verdict = failed or f"{look.judgement.profile}: {_verdict_after(look, silence)}, before: {_verdict(analysis)}"
    return f"With {', then '.join(look.strategies)}, tried in memory and written nowhere: {changed}; {messages}. {verdict}."


def _verdict_after(look: Look, silence: str) -> str:
    return f"{WRONG_SILENTLY}: {silence}" if silence else look.judgement.verdict


def _verdict(analysis: Analysis) -> str:
    if analysis.case.reading.failure:
        return f"{analysis.case.reading.reader} could not open it"
    silence = ending_without_findings(analysis.case, analysis.judgement).silence
    return f"{WRONG_SILENTLY}: {silence}" if silence else analysis.judgement.verdict


def _first_wrong(look: Look, dropped: Iterable[Dropped]) -> int | None:
    """The seq with which the page begins: where the request is rejected, else the first that it lacks. Where a strategy leaves it rejected, what that changes
    comes first.
    """
    if look.judgement.violations:
        return None if look.strategies else next(iter(look.judgement.violations[0].seqs), None)
    return next((chunk.seq for group in dropped if not group.intentional for chunk in group.chunks), None)


def _page(request: OperatorRequest, row: Conversation, choice: Choice, analysis: Analysis) -> PromptPage:
    look = _look(request, choice, analysis)
    dropped = () if analysis.observed else look.case.reading.dropped
    base = analysis.case.conversation
    start = choice.start or 0
    headline = kept_headline(row, choice)
    silence, repairs, why_not = _advised(headline, analysis, look)
    first = _first_wrong(look, dropped if silence else ())
    if choice.at is not None:
        start = max(0, place_of(base, look.case.conversation, look.prompt, dropped, choice.at) - 3)
    elif choice.start is None and first is not None:
        place = place_of(base, look.case.conversation, look.prompt, dropped, first)
        start = place - LEAD if place > NEAR else 0
    stored_keys = (
        frozenset(chunk.key for chunk in analysis.case.tree.chunks) if look.strategies and analysis.case.tree else frozenset[str]()
    )
    table = side_by_side(base, look.case.conversation, look.prompt, dropped, look.judgement, start, WINDOW, stored_keys)
    count, tree = len(base.chunks), look.case.tree
    is_small = len((tree or base).chunks) <= LARGEST and not analysis.observed
    content = tree if tree and not look.strategies else look.case.conversation
    session, stored = _session(row)
    body = request_list(look.prompt)
    text = json.dumps(body, indent=2, ensure_ascii=False) if count <= WHOLE else jsontext.compact(body)
    chosen = request.GET.getlist("strategy")
    return PromptPage(
        row=row,
        choice=choice,
        live=live_request(row, choice.leaf, choice.reader),
        analysis=analysis,
        look=look,
        silence=silence,
        table=table,
        lines=tuple((line, stored.get(line.chunk.key) if line.chunk else None) for line in table.rows),
        session=session,
        loose=elsewhere(look.judgement, look.prompt),
        profile_verdicts=_profile_verdicts(row, analysis, look),
        readers=tuple(reader_alternatives(look.case, content, names(row.source.format), choice.projection, choice.profile))
        if is_small
        else (),
        strategies=tuple(strategy_alternatives(analysis.case, chosen, choice.projection, choice.profile)) if is_small else (),
        recommended=repairs,
        is_partial=is_small and not look.strategies and _is_partial(analysis.case, repairs, choice),
        why_not=why_not,
        unchanged=tuple(dict.fromkeys(name for name in chosen if name not in look.strategies)) if not analysis.observed else (),
        differs=_differs(analysis, look, table, silence),
        earlier=max(0, start - WINDOW) if start else None,
        later=start + WINDOW if start + WINDOW < table.total else None,
        last=start + len(table.rows),
        projections=[shape.name for shape in all_projections()],
        profiles=[judge.name for judge in PROFILES],
        reader_names=list(dict.fromkeys([*names(row.source.format), choice.reader])),
        text=visible(beginning(text, TEXT_SHOWN)),
        is_cut=len(text) > TEXT_SHOWN,
        answered=_answered(look) if is_small else None,
        advice=_advice(session, choice) if session else None,
        above_cut=_above_cut(headline, analysis, look),
        entries=len(entries(tree)) if tree and is_small and content is tree else 0,
        waiting=Repair.waiting_of(session or row).first(),
    )


def _advised(headline: Headline | None, analysis: Analysis, look: Look) -> tuple[str, tuple[str, ...], str]:
    """Why the request goes wrong silently, what is recommended, and why that does not satisfy the profile; of a large conversation as its page has it."""
    if analysis.observed:
        return "", (), ""
    if headline is None or look.strategies:
        end = ending_without_findings(look.case, look.judgement)
    else:
        end = ending_of(headline.overview.verdict.next_request, look.judgement)
    return end.silence, *((analysis.recommended, analysis.why_not) if headline is None else (headline.recommended, ""))


def _above_cut(headline: Headline | None, analysis: Analysis, look: Look) -> AboveCut | None:
    tree = look.case.tree
    if tree is None or analysis.observed:
        return None
    if headline is not None:
        view = headline.overview.tree
    else:
        view = tree_view(analysis.branches) if len(tree.chunks) <= WHOLE and analysis.branches else None
    sent = {chunk.key.rpartition(".")[0] or chunk.key for chunk in look.case.conversation.chunks} if look.strategies else frozenset[str]()
    return above_cut(tree, view, sent) if view else None


def _is_partial(case: Case, repairs: Sequence[str], choice: Choice) -> bool:
    _, repaired = composed(case, repairs)
    _, judgement = judged(repaired.reading, repaired.conversation, choice.profile, choice.projection)
    return not is_right(ending_without_findings(repaired, judgement))


def _session(row: Conversation) -> tuple[Conversation | None, dict[str, Chunk]]:
    """Of a crash file its session, and key of a chunk -> the chunk of the session that it was made of."""
    links = crash_links(row, row.source.format, None, ()) if row.is_crash else None
    if links is None or links.crash is None or links.alignment is None:
        return None, {}
    return links.crash.session, {piece.sent.key: piece.stored for piece in links.alignment.pieces if piece.stored is not None}


def _advice(session: Conversation, choice: Choice) -> Advice:
    analysed = analysis_of(session, session.source.reader, choice.projection, choice.profile, session.revision)
    return advice_of(analysed.case, analysed.recommended, analysed.why_not, choice.profile, choice.projection, "")


def _answered(look: Look) -> Recorded | None:
    rejection = latest_rejection(look.case)
    first = look.judgement.violations[0].id if look.judgement.violations else ""
    return None if rejection is None or rejection.provider_rule == first else replace(rejection, text=words_of_error(rejection.text))


@unless_unchanged(facts.of_prompt)
def prompt(request: OperatorRequest, oid: str) -> HttpResponse:
    row, choice, analysis = looked_up(request, oid)
    return page(request, "prompt.html", _page(request, row, choice, analysis), twins=("json",))


@unless_unchanged(facts.of_analysis)
def prompt_json(request: OperatorRequest, oid: str) -> HttpResponse:
    _, choice, analysis = looked_up(request, oid)
    return as_json(show.prompt_report(_look(request, choice, analysis).prompt))
