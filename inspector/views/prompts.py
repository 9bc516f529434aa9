"""The prompt of a conversation next to its chunks: under any reader, in any wire shape, after any strategies, before anything is written."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from django.http import Http404, HttpRequest, HttpResponse

from inspector.conversation.model import Chunk
from inspector.conversation.tree import entries
from inspector.middleware import OperatorRequest
from inspector.models import Conversation, Repair
from inspector.models.analyses import PromptWays, stored_prompt
from inspector.planning.recommend import composed
from inspector.presentation.conversation import show
from inspector.presentation.conversation.ending import ending_of
from inspector.presentation.conversation.profile_verdicts import ProfileVerdict, profile_verdicts
from inspector.presentation.conversation.recorded_errors import Recorded, latest_rejection
from inspector.presentation.conversation.verdict import NextRequest, silent_errors
from inspector.presentation.conversation.whole import Headline, Whole
from inspector.presentation.conversation.windows import BlockSummary
from inspector.presentation.explain.advice import Advice, advice_of
from inspector.presentation.packed import packed
from inspector.presentation.prompt.causes import HOW, causes, with_causes
from inspector.presentation.prompt.side_by_side import ROWS_KEPT, MissingResult, Pairing, Rows, RowsKept, SideBySideRow, seq_runs, spanned
from inspector.presentation.prompt.summary import LEAD, RequestSummary, SentRequest, request_summary
from inspector.presentation.repair.alternatives import LARGEST, Attempt, reader_alternatives, strategy_alternatives
from inspector.presentation.repair.ends import ending_with
from inspector.presentation.repair.outcomes import is_right
from inspector.presentation.tree.view import TreeView, tree_view
from inspector.presentation.whatif.differences import candidates
from inspector.profiles.catalogue import PROFILES
from inspector.profiles.judging import judged, judged_case
from inspector.projections.catalogue import all_projections
from inspector.readers.catalogue import names
from inspector.rules.base import Case, Finding, Origin, Severity
from inspector.strategies.catalogue import STRATEGIES
from inspector.strategies.catalogue import strategy as strategy_named
from inspector.text.error_words import words_of_error
from inspector.views import facts
from inspector.views.analysis import WHOLE, Analysis
from inspector.views.analysis import analysis as analysis_of
from inspector.views.choice import Choice, analysed, choice_of, looked_up, looked_up_for
from inspector.views.content import fresh_headline, headline_of, judged_now, keep, keep_whole
from inspector.views.conversation_list import live_request
from inspector.views.crashes import crash_links
from inspector.views.pages import as_json, page, unless_unchanged

WINDOW = ROWS_KEPT
BRIEF = 12
"""Rows before the one where a page opens that it still shows, briefly; of more it shows none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPage:
    row: Conversation
    choice: Choice
    look: RequestSummary
    lines: tuple[tuple[SideBySideRow, Chunk | None], ...]
    """The rows of the window; of a crash file each with the chunk of its session that it was made of, where one is known."""
    start: int
    brief: int
    """The first rows of the window, in a line each: with them what is wrong is on the first screen all the same."""
    session: Conversation | None
    projections: list[str]
    profiles: list[str]
    reader_names: list[str]
    advice: Advice | None
    """What to do with the session of a crash file."""
    live: NextRequest
    """Of the path that the program takes, where another one is chosen."""
    waiting: Repair | None
    """The newest repair of what the page offers to repair that waits for a decision or to be applied."""
    readers: tuple[Attempt, ...] = ()
    strategies: tuple[Attempt, ...] = ()
    causes: tuple[tuple[str, str, Finding], ...] = ()
    """Errors of the store of which a repair makes the request acceptable, or that make it wrong silently, each after what it is and its id."""
    is_partial: bool = False
    """Whether the next request is not accepted after what is recommended."""
    answered: Recorded | None = None
    """What the provider refused last, where that is recorded, and another rule than the first of this verdict."""
    agrees: bool = False
    """Whether the profile finds what the provider answered."""
    entries: int = 0
    """Of a tree of which each reader takes its own path; 0 where no reader is tried."""
    largest: int = LARGEST
    how: str = HOW

    @property
    def earlier(self) -> int | None:
        return max(0, self.start - WINDOW) if self.start else None

    @property
    def later(self) -> int | None:
        return self.start + WINDOW if self.start + WINDOW < self.look.total else None

    @property
    def last(self) -> int:
        return self.start + len(self.lines)

    @property
    def is_explained(self) -> bool:
        """Whether the first violation is the cause of what the provider answered."""
        return self.answered is not None and self.answered.provider_rule in self.look.following

    @property
    def missing(self) -> list[MissingResult]:
        return [result for line, _ in self.lines for result in line.missing]

    @property
    def cause_in_words(self) -> str:
        """Of what the provider answered, where that is a result which it missed; "" else."""
        if not self.is_explained or not self.missing:
            return ""
        first = self.missing[0]
        tool = first.tool_name or "a call"
        return f"no result of {tool} is stored" if first.seq is None else f"the result of {tool} is stored, and not sent"

    @property
    def recommended_attempts(self) -> list[Attempt]:
        """Of a request that goes wrong silently: what each recommended strategy alone makes of it, where that is accepted or sends more."""
        if not self.look.silence or self.look.strategies:
            return []
        return [one for one in self.strategies if one.name in self.look.recommended and (one.is_fine or one.count > self.look.messages)]

    @property
    def fuller_readers(self) -> list[Attempt]:
        """Of a request that goes wrong silently: two other readers of which it does not, else that reach more of the tree, both with the same outcome."""
        if not self.look.silence or self.look.strategies:
            return []
        reached = max((one.reached for one in self.readers if one.chosen), default=0)
        fuller = [one for one in self.passing_readers if one.is_fine or one.reached > reached]
        return [one for one in fuller if (one.count, one.words) == (fuller[0].count, fuller[0].words)][:2]

    @property
    def unnoticed(self) -> str:
        """What is wrong although the request passes and nothing of it is lost: "call not run"; "" of others."""
        if not self.look.sendable or self.look.silence:
            return ""
        return next((one.unnoticed for one in self.readers if one.chosen), "")

    @property
    def passing_readers(self) -> list[Attempt]:
        """Other readers of which the request is not rejected: first where it does not go wrong silently either, of these the ones that What if compares."""
        passing = [one for one in self.readers if one.judgement.sendable and not one.failure and not one.chosen]
        compared = candidates(self.row.source.format)
        return sorted(passing, key=lambda one: (not one.is_fine, bool(one.unnoticed), one.name not in compared))

    @property
    def passing_strategies(self) -> list[Attempt]:
        """Those after which the request is not rejected: first where it does not go wrong silently either, then the recommended, then those that lose and invent nothing."""
        passing = [one for one in self.strategies if one.judgement.sendable and not one.failure and not one.chosen]
        return sorted(passing, key=lambda one: (not one.is_fine, one.name not in self.look.recommended, one.safety != "safe"))

    @property
    def right_with(self) -> list[tuple[Attempt, tuple[str, ...]]]:
        """Of a request that still goes wrong silently after the strategies that are tried: one more after which it does not, the first of each cost, and all together.

        What takes something away makes it right only by leaving no trace of what is lacking.
        """
        more = (
            [one for one in self.passing_strategies if one.is_fine and "lossy" not in one.safety]
            if self.look.silence and self.look.strategies
            else []
        )
        first = {one.safety: one for one in reversed(more)}
        return [(one, (*self.look.strategies, one.name)) for one in more if first[one.safety] is one]

    @property
    def is_offered(self) -> bool:
        """Whether the page names strategies that end the rejection."""
        return not self.look.sendable and bool(self.passing_strategies)

    @property
    def offered_strategies(self) -> list[Attempt]:
        """Two of them: the first, and the first after which the request still goes wrong silently, or else the second."""
        first, others = self.passing_strategies[:1], self.passing_strategies[1:]
        return first + ([one for one in others if one.ending.silence != first[0].ending.silence] or others)[:1]

    @property
    def more_strategies(self) -> list[Attempt]:
        """Those that are not chosen."""
        return [one for one in self.strategies if not one.chosen]

    @property
    def accepted(self) -> tuple[int, int]:
        """Of how many readers, and after how many strategies, the request is accepted and does not go wrong silently."""
        readers, strategies = (sum(one.is_fine and not one.unnoticed for one in tried) for tried in (self.readers, self.more_strategies))
        return readers, strategies

    @property
    def unnoticed_readers(self) -> dict[str, int]:
        """What is wrong with readers of which the request is accepted, and with how many of them."""
        return dict(Counter(one.unnoticed for one in self.readers if one.is_fine and one.unnoticed))

    @property
    def wrong_silently(self) -> int:
        """Profiles that the history passes, and of which it goes wrong silently."""
        return sum(line.first is None and bool(line.silence) for line in self.look.profiles)

    @property
    def rejecting(self) -> int:
        """Profiles that reject the history."""
        return sum(line.first is not None for line in self.look.profiles)


def _names(request: HttpRequest) -> tuple[str, ...]:
    return tuple(dict.fromkeys(request.GET.getlist("strategy")))


def _chosen_strategies(request: HttpRequest) -> tuple[str, ...]:
    """Names of strategies. Raises Http404 on one that is none."""
    known_names = {strategy.name for strategy in STRATEGIES}
    chosen = _names(request)
    for name in chosen:
        if name not in known_names:
            raise Http404(f"There is no strategy {name[:80]!r}; the rules page lists them.")
    return chosen


def _sent(choice: Choice, analysis: Analysis, chosen: Sequence[str]) -> tuple[SentRequest, SentRequest]:
    """Without the strategies, and after them."""
    stored = SentRequest(analysis.case, analysis.prompt, with_causes(analysis.judgement))
    if not chosen or analysis.observed:
        return stored, stored
    used, case = composed(analysis.case, chosen)
    prompt, judgement = judged(case.reading, case.conversation, choice.profile, choice.projection)
    return stored, SentRequest(case, prompt, with_causes(judgement), tuple(strategy.name for strategy in used))


@dataclass(frozen=True, slots=True)
class _Computed:
    """The prompt of a conversation that was read as a whole."""

    analysis: Analysis
    stored: SentRequest
    sent: SentRequest
    look: RequestSummary
    rows: Pairing


def _computed(row: Conversation, choice: Choice, chosen: Sequence[str]) -> _Computed:
    """Raises as `analysed`."""
    analysis = analysed(row, choice, choice.step)
    stored, sent = _sent(choice, analysis, chosen)
    tree, conversation = analysis.case.tree, sent.case.conversation
    in_tree = frozenset(chunk.key for chunk in tree.chunks) if sent.strategies and tree else frozenset[str]()
    dropped = () if analysis.observed else sent.case.reading.dropped
    rows = Pairing(stored.case.conversation, conversation, sent.prompt, dropped, sent.judgement, in_tree)
    headline = None if analysis.observed else headline_of(row, choice, analysis)
    silence, recommended, why_not = _advised(headline, analysis, sent)
    look = request_summary(
        stored, sent, rows, silence=silence, recommended=recommended, why_not=why_not, view=_view(headline, analysis),
        leaf=choice.leaf, chosen=chosen, is_observed=analysis.observed is not None, profiles=_profiles(row, analysis, sent),
    )  # fmt: skip
    return _Computed(analysis, stored, sent, look, rows)


def _profiles(row: Conversation, analysis: Analysis, sent: SentRequest) -> tuple[ProfileVerdict, ...]:
    if not sent.strategies or sent.case.reading.failure or len(sent.case.conversation.chunks) > WHOLE:
        return analysis.profile_verdicts
    return profile_verdicts(sent.case, row.source.projection)


def _advised(headline: Headline | None, analysis: Analysis, sent: SentRequest) -> tuple[str, tuple[str, ...], str]:
    """Why the request goes wrong silently, what is recommended, and why that does not satisfy the profile; of a large conversation as its page has it."""
    if analysis.observed:
        return "", (), ""
    if headline is None or sent.strategies:
        used = [strategy_named(name) for name in sent.strategies]
        end = ending_with(analysis.case, used, sent.case, sent.prompt, sent.judgement, analysis.projection)
    else:
        end = ending_of(headline.overview.verdict.next_request, sent.judgement)
    return end.silence, *((analysis.recommended, analysis.why_not) if headline is None else (headline.recommended, ""))


def _view(headline: Headline | None, analysis: Analysis) -> TreeView | None:
    if headline is not None:
        return headline.overview.tree
    tree = analysis.case.tree
    return tree_view(analysis.branches) if tree and len(tree.chunks) <= WHOLE and analysis.branches else None


def _ways(choice: Choice, chosen: Sequence[str]) -> PromptWays:
    return PromptWays(choice.revision, choice.reader, choice.projection, choice.profile, choice.step, choice.leaf, tuple(chosen))


def _keeps_rows(row: Conversation) -> bool:
    """Whether what its page is made of is kept. Of a crash file each row also names what is stored of it elsewhere."""
    return row.chunk_count > LARGEST and not row.is_crash


def key_of_look(request: OperatorRequest, row: Conversation) -> str:
    """Of what is kept of this look at a prompt; "" where nothing is."""
    return _ways(choice_of(request, row), _names(request)).key if _keeps_rows(row) else ""


def is_page_kept(request: OperatorRequest, row: Conversation) -> bool:
    """Whether the page reads no more of the conversation than its window."""
    return _keeps_rows(row) and stored_prompt(row, _ways(choice_of(request, row), _names(request))) is not None


def keep_page(request: OperatorRequest, row: Conversation) -> None:
    """For its next view. Raises as `analysed`."""
    if not _keeps_rows(row):
        return
    before, choice, chosen = judged_now(row), choice_of(request, row), _names(request)
    computed = _computed(row, choice, chosen)
    if _is_short(computed):
        return
    # What the page of the conversation says is said here too, and is worked out by now.
    if fresh_headline(row, choice) is None:
        keep(row, choice)
    blocks = ((start // ROWS_KEPT, computed.rows.some(start, ROWS_KEPT)) for start in range(0, computed.rows.total, ROWS_KEPT))
    parts = ((_summary_of(number, block), packed(block)) for number, block in blocks)
    keep_whole(row, before, _ways(choice, chosen), Whole(packed(computed.look), parts, (), computed.sent.case.is_timed))


def _summary_of(number: int, block: RowsKept) -> BlockSummary:
    """Of rows and not of chunks: the place of a row is that in the table, and what is counted are runs of seqs."""
    first = number * ROWS_KEPT
    highest = max((row.chunk.seq for row in block.rows if row.chunk), default=0)
    return BlockSummary(number, highest, first, first + len(block.rows) - 1, seq_runs(block))


def _is_short(computed: _Computed) -> bool:
    """Whether other readers and strategies are tried on it; also of an early revision of what is long now."""
    return len((computed.sent.case.tree or computed.analysis.case.conversation).chunks) <= LARGEST


def _causes(
    analysis: Analysis, sent: SentRequest, look: RequestSummary, readers: Sequence[Attempt], strategies: Sequence[Attempt]
) -> list[tuple[str, str, Finding]]:
    if sent.strategies or analysis.observed:
        return []
    if look.sendable:
        return _causes_of_silence(analysis, look) if look.silence and readers else []
    passing = {one.name for one in strategies if one.judgement.sendable and not one.failure and not one.chosen}
    oids = (
        {one: oid for oid, one in analysis.findings if one.severity is Severity.ERROR and passing & set(one.repaired_by)} if passing else {}
    )
    named = causes(analysis.case.conversation.chunks, sent.judgement.violations[0].seqs, list(oids))
    return [(word, oids[one], one) for word, one in zip(("Cause", "Effect"), named, strict=False)]


def _causes_of_silence(analysis: Analysis, look: RequestSummary) -> list[tuple[str, str, Finding]]:
    """The line directly above the path that no program reads, and its effect where the path begins; else the first."""
    case, oids = analysis.case, {finding: oid for oid, finding in analysis.findings}
    left_out = {seq for dropped in case.reading.dropped if not dropped.intentional for seq in dropped.seqs}
    reported = silent_errors(case, list(oids)) or [
        finding for finding in oids if finding.origin is Origin.READER and finding.silent and not left_out.isdisjoint(finding.seqs)
    ]
    cut = look.above_cut.cut if look.above_cut else None
    cause = next((finding for finding in reported if cut in finding.seqs), None)
    effect = next((finding for finding in reported if cause and finding.code != cause.code and look.first_seq in finding.seqs), None)
    named = [finding for finding in (cause, effect) if finding] or reported[:1]
    return [(word, oids[finding], finding) for word, finding in zip(("Cause", "Effect"), named, strict=False)]


def _page(request: OperatorRequest, row: Conversation, choice: Choice) -> PromptPage:
    """Raises as `analysed`."""
    chosen = _chosen_strategies(request)
    kept = stored_prompt(row, _ways(choice, chosen)) if _keeps_rows(row) else None
    if kept is not None:
        return _shown(row, choice, kept.summary, kept)
    computed = _computed(row, choice, chosen)
    return _with_trials(_shown(row, choice, computed.look, computed.rows), computed, chosen)


def _shown(row: Conversation, choice: Choice, look: RequestSummary, rows: Rows) -> PromptPage:
    is_opened = choice.start is None and choice.at is None
    is_short = is_opened and 0 < look.opens_at <= BRIEF
    start = look.opens_at if is_opened and not is_short else choice.start or 0
    if choice.at is not None:
        start = max(0, rows.place(choice.at) - 3)
    start = min(start, max(0, look.total - 1))
    session, stored = _session(row)
    return PromptPage(
        row=row,
        choice=choice,
        look=look,
        lines=tuple((line, stored.get(line.chunk.key) if line.chunk else None) for line in spanned(rows.some(start, WINDOW))),
        start=start,
        brief=look.opens_at + LEAD if is_short else 0,
        session=session,
        live=live_request(row, choice.leaf, choice.reader),
        projections=[shape.name for shape in all_projections()],
        profiles=[judge.name for judge in PROFILES],
        reader_names=list(dict.fromkeys([*names(row.source.format), choice.reader])),
        advice=_advice(session, choice) if session else None,
        waiting=Repair.waiting_of(session or row).first(),
    )


def _with_trials(shown: PromptPage, computed: _Computed, chosen: Sequence[str]) -> PromptPage:
    """Of a short history, whose other readers and strategies are tried."""
    analysis, sent, look, choice, row = computed.analysis, computed.sent, computed.look, shown.choice, shown.row
    case, tree = analysis.case, sent.case.tree
    if not _is_short(computed) or look.is_observed:
        return shown
    content = tree if tree and not sent.strategies else sent.case.conversation
    readers = tuple(reader_alternatives(sent.case, content, names(row.source.format), choice.projection, choice.profile))
    strategies = tuple(strategy_alternatives(case, chosen, choice.projection, choice.profile))
    answered = _answered(sent)
    return replace(
        shown,
        readers=readers,
        strategies=strategies,
        causes=tuple(_causes(analysis, sent, look, readers, strategies)),
        is_partial=not sent.strategies and _is_partial(case, look.recommended, choice),
        answered=answered,
        agrees=answered is not None and answered.provider_rule in {violation.id for violation in sent.judgement.violations},
        entries=len(entries(tree)) if tree and content is tree else 0,
    )


def _is_partial(case: Case, repairs: Sequence[str], choice: Choice) -> bool:
    used, repaired = composed(case, repairs)
    return not is_right(ending_with(case, used, repaired, *judged_case(repaired, choice.profile, choice.projection), choice.projection))


def _session(row: Conversation) -> tuple[Conversation | None, dict[str, Chunk]]:
    """Of a crash file its session, and key of a chunk -> the chunk of the session that it was made of."""
    links = crash_links(row, row.source.format, None, ()) if row.is_crash else None
    if links is None or links.crash is None or links.alignment is None:
        return None, {}
    return links.crash.session, {piece.sent.key: piece.stored for piece in links.alignment.pieces if piece.stored is not None}


def _advice(session: Conversation, choice: Choice) -> Advice:
    analysed = analysis_of(session, session.source.reader, choice.projection, choice.profile, session.revision)
    return advice_of(analysed.case, analysed.recommended, analysed.why_not, choice.profile, choice.projection, "")


def _answered(sent: SentRequest) -> Recorded | None:
    rejection = latest_rejection(sent.case)
    first = sent.judgement.violations[0].id if sent.judgement.violations else ""
    return None if rejection is None or rejection.provider_rule == first else replace(rejection, text=words_of_error(rejection.text))


@unless_unchanged(facts.of_prompt)
def prompt(request: OperatorRequest, oid: str) -> HttpResponse:
    _, _, shown = looked_up_for(request, oid, partial(_page, request))
    return page(request, "prompt.html", shown, twins=("json",))


@unless_unchanged(facts.of_analysis)
def prompt_json(request: OperatorRequest, oid: str) -> HttpResponse:
    _, choice, analysis = looked_up(request, oid)
    return as_json(show.prompt_report(_sent(choice, analysis, _chosen_strategies(request))[1].prompt))
