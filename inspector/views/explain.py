"""What a provider's error means, and where in a conversation it points."""

import re
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple
from urllib.parse import urlencode

from django.db.models import Q
from django.http import HttpResponse, HttpResponseRedirect, QueryDict

from inspector.actions.kept_previews import base_case
from inspector.actions.planning import reader_named
from inspector.actions.problems import Refused
from inspector.actions.shown_previews import offered
from inspector.conversation.model import Chunk, Kind
from inspector.middleware import OperatorRequest, accepts
from inspector.models import Conversation, analyses, loading
from inspector.models.background import LARGE
from inspector.models.transactions import one_snapshot
from inspector.presentation.conversation.ending import WRONG_SILENTLY
from inspector.presentation.conversation.overview import crashes_of
from inspector.presentation.conversation.panels import Alignment
from inspector.presentation.explain.advice import (
    TRIED,
    Advice,
    Remedy,
    advice_of,
    error_report,
    is_advice_only,
    observed,
    profile_of,
    remedies,
)
from inspector.presentation.explain.answer import (
    Explanation,
    OtherReader,
    advice_words,
    cause_words,
    explained_in,
    other_readers,
    reader_of_error,
    recognized,
    same_refusal,
    sentence,
)
from inspector.presentation.explain.examples import ShapePair, shape_pair
from inspector.presentation.explain.meanings import means, own_rules, unrecognized_meaning
from inspector.presentation.json_text import Json, json_fields
from inspector.presentation.prompt.causes import causes
from inspector.presentation.repair.alternatives import LARGEST
from inspector.presentation.repair.outcomes import PARTIAL
from inspector.presentation.visible import folded, visible
from inspector.profiles.base import EVIDENCE
from inspector.profiles.catalogue import profile as profile_named
from inspector.profiles.catalogue import provider_of, text_of
from inspector.programs.base import Meaning
from inspector.programs.registry import program_or_default
from inspector.readers.catalogue import names as readers_of
from inspector.rules.base import Case, Finding, Rule, Severity
from inspector.rules.catalogue import rule as rule_named
from inspector.strategies.base import Strategy
from inspector.views.analysis import Analysis, analysis
from inspector.views.conversation_list import STATES, newest_first
from inspector.views.crashes import Crash, crash_files, crash_links, crash_of, why_never_written
from inspector.views.judges import chosen_judges
from inspector.views.leads import NamedCall, named_call
from inspector.views.pages import as_json, own_address, page

LINKABLE = 2000
"""Characters of an error text that an address may carry; a longer one is explained, without a link to it."""
OFFERED = 30
"""Conversations that the field for one suggests: the newest, or the newest with what is typed in their title or id."""
REMEDIES = 3
"""Repairs that are shown next to an error; those that are recommended are, however many there are."""
PLACES_SHOWN = 12
CRASHES_SEARCHED = 50
"""The newest crash files whose error is compared with a text for which no conversation is named."""
CALLS_NAMED = 3
"""Calls of a text that are looked up."""
REJECTED_SHOWN = 5
"""Conversations that are rejected so, where the text names none of them."""
EXAMPLES = (
    (
        "Anthropic",
        "messages.5: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01. "
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
    ),
    ("OpenAI", "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."),
    ("Gemini", "Please ensure that function response turn comes immediately after a function call turn."),
    ("Bedrock", "Expected toolResult blocks at messages.2.content for the following Ids: tooluse_1"),
    ("Mistral", "Not the same number of function calls and responses"),
)
"""Texts of providers that an empty form offers, each with its provider."""
# As lists and the suggestions of the field write it: "title (id)" and "title · id".
_ID_AFTER_TITLE = re.compile(r"(?:\s\(|\s· )([^\s()]+)\)?\Z")
NOT_RECOGNISED = "No known rule answers so: paste more of the error, or the whole log line."


class RepairRow(NamedTuple):
    """Strategies to choose together. `end`: what becomes of the next request after them; "" where it is accepted."""

    strategies: tuple[Strategy, ...]
    end: str
    word: str
    """What they are called: whether the next request is right after them."""

    @property
    def is_rejected_no_more(self) -> bool:
        """The error ends, and something else is wrong then."""
        return self.end.startswith(WRONG_SILENTLY)


@dataclass(frozen=True, slots=True)
class Spot:
    """A place of the request with its chunks; `query` opens the prompt page there."""

    path: str
    profile: str
    why: str
    chunks: tuple[Chunk, ...]
    left_out: int
    query: str


@dataclass(frozen=True, slots=True)
class Answer:
    """One rule that may have answered so. `evidence` are the words of its marks."""

    explanation: Explanation
    sentence: str
    evidence: tuple[str, ...]
    spots: tuple[Spot, ...]
    spots_left_out: int
    remedies: tuple[Remedy, ...]
    """What is recommended first, then what else would change something."""
    tried_on: Conversation | None
    """The conversation on which they were tried."""
    shown: frozenset[str] = frozenset()
    """Strategies that the page describes already."""

    @property
    def cause(self) -> str:
        """A sentence; "" where the advice has all that the summary of the rule does not say."""
        rule = self.explanation.candidate.rule
        words = means(rule)
        return cause_words(self.explanation.candidate) or (
            "" if words == rule.summary and rule.advice and not self.is_advice_only else f"{words}."
        )

    @property
    def advice(self) -> str:
        return advice_words(self.explanation)

    @property
    def is_far_below(self) -> bool:
        return bool(self.explanation.size and self.explanation.size.is_far_below)

    @property
    def ours(self) -> tuple[Rule, ...]:
        """Our rules that find in a store what is rejected so."""
        return own_rules(self.explanation.candidate.rule.id)

    @property
    def likely(self) -> frozenset[str]:
        """Repairs that these name."""
        return frozenset(name for rule in self.ours for name in rule.repaired_by)

    @property
    def example(self) -> ShapePair | None:
        return shape_pair(self.explanation.candidate.rule.id)

    @property
    def is_advice_only(self) -> bool:
        return is_advice_only(self.explanation)

    @property
    def changing(self) -> tuple[Remedy, ...]:
        """The recommended first, then what is safe; of both first those that our rules behind the error name."""
        changing = (remedy for remedy in self.remedies if not _is_idle(remedy) and remedy.strategy.name not in self.shown)
        return tuple(
            sorted(changing, key=lambda remedy: (not remedy.is_recommended, not remedy.is_safe, remedy.strategy.name not in self.likely))
        )

    @property
    def usual(self) -> Remedy | None:
        """The only one that our rules behind the error name, where none was tried."""
        is_only = self.tried_on is None and len(self.likely) == 1
        return next((remedy for remedy in self.changing if remedy.strategy.name in self.likely), None) if is_only else None

    @property
    def first(self) -> tuple[Remedy, ...]:
        """Of `changing` what is shown at once, up to the last likely one: one more is not worth a fold, and next to others that were tried none is."""
        if self.shown:
            return ()
        if self.usual:
            return (self.usual,)
        shown = (
            number for number, remedy in enumerate(self.changing, start=1) if remedy.is_recommended or remedy.strategy.name in self.likely
        )
        number = max([REMEDIES, *shown])
        return self.changing if len(self.changing) == number + 1 else self.changing[:number]

    @property
    def further(self) -> tuple[Remedy, ...]:
        return tuple(remedy for remedy in self.changing if remedy not in self.first)

    @property
    def idle(self) -> tuple[Strategy, ...]:
        """Those that were tried on the conversation and would change nothing."""
        return tuple(remedy.strategy for remedy in self.remedies if _is_idle(remedy) and remedy.strategy.name not in self.shown)


def _is_idle(remedy: Remedy) -> bool:
    return remedy.edits == 0 and not remedy.is_recommended


@dataclass(frozen=True, slots=True)
class CrashMatch:
    """A crash file with this very error, aligned with its session: where the block that it names is stored."""

    crash: Conversation
    session: Conversation
    alignment: Alignment


@dataclass(frozen=True, slots=True)
class Lookup:
    """What the text and its target lead to. `pointed` is the conversation whose numbers the text counts, `repairable` the one that a repair changes."""

    explanations: tuple[Explanation, ...]
    meaning: Meaning | None
    """Where no rule of a provider is recognized."""
    pointed: tuple[Conversation, Case] | None = None
    repairable: tuple[Conversation, Case] | None = None
    crash: CrashMatch | None = None
    advice: Advice | None = None
    findings: tuple[tuple[str, Finding], ...] = ()
    """Of the conversation that can be repaired, at the place; what causes them is first."""
    verdict: str = ""
    others: tuple[OtherReader, ...] = ()
    errors: tuple[tuple[str, Finding], ...] = ()
    """Of the conversation that can be repaired, those elsewhere."""


class RejectedNow(NamedTuple):
    """A conversation whose next request is rejected, with what the provider answers; "" where that is not known."""

    row: Conversation
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainPage:
    error: str
    target: str
    heading: str
    row: Conversation | None
    reader: str
    """The one that the places are counted by; "" where no conversation is named."""
    chosen_reader: str
    readers: tuple[str, ...]
    lookup: Lookup
    counts_crash: bool
    """Whether places count in the crash file, which numbers its chunks for itself."""
    recorded: tuple[Crash, ...]
    """Crash files with this very error, where no conversation is named."""
    subject: Lookup
    """`lookup`; where no conversation is named, what the newest of `recorded` leads to, or the first of `rejected`, where it is small enough to be
    analysed before somebody asks for it."""
    repairs: tuple[RepairRow, ...]
    """What to choose for the conversation of `subject`, what passes first."""
    calls: tuple[NamedCall, ...]
    """Calls that the error names: all, or those that the conversation which is named does not have."""
    rejected: tuple[Conversation, ...]
    """The newest whose next request one of these rules rejects, where nothing of the text leads to one; one more than are shown."""
    problem: str
    own_address: str
    answers: tuple[Answer, ...]
    offered: tuple[Conversation, ...]
    rejected_now: "tuple[RejectedNow, ...]"
    """The newest whose next request is rejected, where there is no text yet. A crash file has no next request."""
    is_linkable: bool
    nothing: str = NOT_RECOGNISED
    examples: tuple[tuple[str, str], ...] = EXAMPLES

    @property
    def repairable(self) -> Conversation | None:
        return self.subject.repairable[0] if self.subject.repairable else None

    @property
    def sealed(self) -> str:
        """Why no repair is for the conversation that is named: a crash file, where its session did not record this error or is not known; else ""."""
        return why_never_written(self.row) if self.row and self.repairable is None else ""

    @property
    def affected(self) -> Conversation | None:
        """The newest session of which a crash file records this error."""
        return next((crash.session for crash in self.recorded if crash.session), None)

    @property
    def with_calls(self) -> tuple[Conversation, ...]:
        return tuple(dict.fromkeys(stored.row for call in self.calls for stored in call.stored))

    @property
    def other_profile(self) -> str:
        """The profile that judges the conversation on its own pages, where it has no such answer; "" where it is the same or no conversation is named."""
        own = self.row.judges[1] if self.row and self.answers else ""
        return "" if own in self.answers[0].explanation.candidate.profiles else own

    @property
    def cause(self) -> Rule | None:
        """Of the finding that causes the rejection, where its correction in code is not among those of the error."""
        first = next((finding for _, finding in self.subject.findings), None)
        rule = rule_named(first.code) if first else None
        return rule if rule and rule.fixed_in_code and rule not in self.answers[0].ours else None

    @property
    def is_elsewhere(self) -> bool:
        """Whether the error is hardly of the conversation: its requests have another shape, and nothing of the text is in it."""
        if not self.other_profile or self.answers[0].explanation.fires:
            return False
        shapes = {profile_named(name).wire for name in self.answers[0].explanation.candidate.profiles}
        return profile_named(self.other_profile).wire not in shapes and len(self.calls) == len(_ids(self.lookup)[:CALLS_NAMED])

    @property
    def is_nowhere(self) -> bool:
        """Whether it names calls, and no conversation here has one of them."""
        return self.is_elsewhere and bool(self.calls) and not any(call.stored or call.is_common for call in self.calls)

    @property
    def choices(self) -> tuple[Conversation, ...]:
        """Conversations to suggest, those in which the error was found first."""
        sessions = [crash.session for crash in self.recorded if crash.session]
        return tuple(dict.fromkeys([*sessions, *self.with_calls, *self.rejected, *self.offered]))[:OFFERED]

    @property
    def unanswered(self) -> frozenset[str]:
        """Ids of the calls of the session of a crash that have no stored result."""
        chunks = self.lookup.repairable[1].conversation.chunks if self.lookup.repairable else ()
        answered = {chunk.call_id for chunk in chunks if chunk.kind is Kind.TOOL_RESULT}
        return frozenset(chunk.call_id for chunk in chunks if chunk.kind is Kind.TOOL_CALL) - answered


def _query(request: OperatorRequest) -> tuple[str, str, str]:
    data = request.POST if request.method == "POST" else request.GET
    return data.get("error", ""), data.get("target", "").strip(), data.get("reader", "")


def is_of_large(chosen: QueryDict) -> bool:
    """Whether the page reads a large conversation; of a crash file it also reads its session."""
    row = _target(chosen.get("target", "").strip())[0] if chosen.get("error", "").strip() else None
    return row is not None and row.chunk_count >= LARGE


def _target(name: str) -> tuple[Conversation | None, str]:
    """The conversation with this id (ours or its own), or the only one with these words in its title; or the sentence that says what is wrong."""
    if not name:
        return None, ""
    conversations, name = Conversation.objects.select_related("source"), visible(name)
    row = conversations.filter(oid=name.lower()).first() or conversations.filter(native_id=name).first()
    similar = () if row else _suggested(name)
    if row or len(similar) == 1:
        return row or similar[0], ""
    if not similar and (with_title := _ID_AFTER_TITLE.search(name)) and (row := _target(with_title[1])[0]):
        return row, ""
    if similar:
        return None, f"Several conversations have {name[:80]} in their title or id: choose one of them."
    return None, f"There is no conversation {name[:80]}: type a part of its title or id, or leave the field empty."


def _suggested(words: str) -> tuple[Conversation, ...]:
    """The newest with these words in their title or id; of the demo next to other sources only where none of those has them."""
    newest = newest_first(Conversation.objects.counted().filter(is_gone=False))
    if not words:
        return tuple(newest[:OFFERED])
    named = Q(names__contains=folded(words)) | Q(oid__startswith=folded(words))
    return tuple(newest.filter(named)[:OFFERED]) or tuple(newest_first(Conversation.objects.filter(named, is_gone=False))[:OFFERED])


def _unfit(row: Conversation | None, reader: str) -> str:
    """Why the history cannot be read so; "" where it can."""
    if not reader:
        return ""
    if row is None:
        return "?reader= says how a history is read: name its conversation with ?target=."
    try:
        reader_named(loading.format_of(row.source), reader)
    except Refused as problem:
        return visible(str(problem))
    return ""


def _answer(explanation: Explanation, lookup: Lookup, read: dict[str, str], shown: frozenset[str]) -> Answer:
    """`lookup` has the conversation that can be repaired, `read` what an address of the one that is pointed at says of its reader."""
    row, case = lookup.repairable or (None, None)
    rule = explanation.candidate.rule
    spots = tuple(
        Spot(
            place.path,
            place.profile,
            place.why,
            place.chunks[:PLACES_SHOWN],
            max(0, len(place.chunks) - PLACES_SHOWN),
            urlencode({"profile": place.profile, **read, **({"at": place.seqs[0]} if place.seqs else {})}) + f"#{place.path}",
        )
        for place in explanation.places[:PLACES_SHOWN]
    )
    evidence = tuple(EVIDENCE[mark] for mark in rule.evidence if mark in EVIDENCE)
    return Answer(
        explanation,
        sentence(explanation),
        evidence,
        spots,
        len(explanation.places) - len(spots),
        remedies(explanation, case, lookup.advice),
        row,
        shown,
    )


def _look(error: str, row: Conversation | None, reader: str) -> Lookup:
    """`reader`: "" = a crash file as it is, and a session as its source reads it."""
    candidates = recognized(error) if error.strip() else ()
    if not candidates or row is None:
        return Lookup(explained_in(candidates, None, ""), unrecognized_meaning(error) if error.strip() and not candidates else None)
    crash = _crash(error, row)
    case = base_case(row, reader or row.source.reader)
    if not reader and program_or_default(row.source.format).errors.of_older_versions and len(case.conversation.chunks) <= TRIED:
        reader = reader_of_error(candidates, case, readers_of(row.source.format), row.source.projection)
        case = base_case(row, reader) if reader else case
    repairable = None if row.is_crash else row
    if crash:
        # Without the rejected request its numbers count in the session, as the version of that time made a request of it.
        row, used = (crash.session, reader or crash.alignment.reader) if reader or not crash.alignment.pieces else (crash.crash, "")
        case, repairable = loading.case(row, used or row.source.reader), crash.session
    explanations = tuple(sorted(explained_in(candidates, case, row.source.projection), key=lambda explanation: not explanation.fires))
    is_small = len(case.conversation.chunks) <= TRIED and not row.is_crash
    others = other_readers(explanations, case, readers_of(row.source.format), row.source.projection) if is_small else ()
    if repairable is None or is_advice_only(explanations[0]):
        return Lookup(explanations, None, (row, case), others=others)
    projection, profile = chosen_judges("", profile_of(explanations, repairable.judges[1]), repairable.judges)
    analysed = analysis(repairable, reader or repairable.source.reader, projection, profile, repairable.revision)
    names, why_not = _recommended(repairable, analysed, projection, profile)
    cases = [*([loading.case(crash.crash, crash.crash.source.reader)] if crash else []), case, analysed.case]
    advice = advice_of(analysed.case, names, why_not, profile, projection, observed(explanations, error, cases))
    seqs = _pointed_at(explanations, crash)
    errors = {finding: oid for oid, finding in analysed.findings if finding.severity is Severity.ERROR}
    first = {errors[finding]: finding for finding in causes(analysed.case.conversation.chunks, seqs, list(errors))}
    there = tuple((first | {oid: finding for oid, finding in analysed.findings if seqs & set(finding.seqs)}).items())[:PLACES_SHOWN]
    here = {oid for oid, _ in there}
    elsewhere = tuple((oid, finding) for finding, oid in errors.items() if oid not in here)[:PLACES_SHOWN]
    return Lookup(
        explanations, None, (row, case), (repairable, analysed.case), crash, advice, there, analysed.verdict.text, others, elsewhere
    )


def _recommended(row: Conversation, analysed: Analysis, projection: str, profile: str) -> tuple[tuple[str, ...], str]:
    """Names of strategies, and why they repair a part only; of a large conversation as its page has it."""
    own_ways = analyses.Ways(row.revision, analysed.case.reading.reader, projection, profile)
    kept = analyses.stored(row, own_ways) if row.chunk_count >= LARGE else None
    return (analysed.recommended, analysed.why_not) if kept is None or kept.is_stale else (kept.headline().recommended, "")


def _pointed_at(answers: tuple[Explanation, ...], crash: CrashMatch | None) -> set[int]:
    """Seqs of the conversation that can be repaired: of a crash, those after the whole message that the error names."""
    if crash and crash.alignment.named:
        messages = {piece.sent.msg_idx for piece in crash.alignment.named}
        return {piece.stored.seq for piece in crash.alignment.pieces if piece.stored is not None and piece.sent.msg_idx in messages}
    fires = {seq for explanation in answers for _, _, seqs in explanation.fires for seq in seqs}
    return fires | {seq for explanation in answers for place in explanation.places for seq in place.seqs}


def _recorded(error: str) -> tuple[Crash, ...]:
    """The newest crash files with this error."""
    newest = (crash_of(row, loading.stored(row).conversation) for row in newest_first(crash_files())[:CRASHES_SEARCHED])
    return tuple(islice((crash for crash in newest if same_refusal(error, crash.error)), 5))


def _ids(lookup: Lookup) -> tuple[str, ...]:
    """Of the calls that the error names."""
    return tuple(dict.fromkeys(name for explanation in lookup.explanations for name in explanation.candidate.ids))


def _calls(lookup: Lookup) -> tuple[NamedCall, ...]:
    """Those of them that the conversation does not have."""
    cases = [pair[1] for pair in (lookup.pointed, lookup.repairable) if pair]
    stored = {chunk.call_id for case in cases for chunk in (case.tree or case.conversation).chunks}
    return tuple(named_call(name) for name in _ids(lookup)[:CALLS_NAMED] if name not in stored)


def _rejected(explanations: tuple[Explanation, ...]) -> tuple[Conversation, ...]:
    """By the verdicts of lists, which end in the rule that rejects. A crash file has no next request."""
    by_rule = Q()
    for explanation in explanations:
        by_rule |= Q(verdict__contains=f"({explanation.candidate.rule.id})")
    rows = newest_first(Conversation.objects.counted().filter(by_rule, is_gone=False, refused=True, is_replaced=False, is_crash=False))
    return tuple(rows[: REJECTED_SHOWN + 1])


def _rejected_now(row: Conversation) -> RejectedNow:
    """By its verdict as lists have it."""
    _, at, by = (*row.next_request, "", "", "")[:3]
    rule_id, _, profile = by.partition(" of ")
    return RejectedNow(row, text_of(profile, rule_id, at))


def _crash(error: str, row: Conversation | None) -> CrashMatch | None:
    """By the crash that is the target, or the newest one of the session whose error names the same place."""
    aligned = program_or_default(row.source.format).panels.aligned if row else None
    if row is None or aligned is None:
        return None
    conversation = loading.stored(row).conversation
    links = crash_links(row, conversation.format, None, crashes_of(conversation))
    if links and links.crash and links.crash.session and links.alignment:
        return CrashMatch(row, links.crash.session, links.alignment) if same_refusal(error, links.crash.error) else None
    for crash in links.crashes if links else ():
        other = loading.stored(crash).conversation
        if same_refusal(error, other.fact("error") or ""):
            return CrashMatch(crash, row, aligned(conversation, other))
    return None


def _heading(answers: tuple[Answer, ...], crash: CrashMatch | None) -> str:
    """The first rule, and where: in the store itself where a crash file shows it."""
    if not answers:
        return ""
    rule = answers[0].explanation.candidate.rule
    provider = provider_of(rule.id)
    rule_words = f"{rule.id} of {provider}" if provider else rule.id
    named = next((piece for piece in crash.alignment.named if piece.stored), None) if crash else None
    if named is None or named.stored is None:
        return rule_words + answers[0].sentence.removeprefix(rule.id)
    return f"{rule_words} at {named.path}, stored at seq {named.stored.seq}: {rule.summary}"


def _repairs(subject: Lookup) -> tuple[RepairRow, ...]:
    """What is recommended; where the next request is not right after it, each choice, as the options of a repair have it."""
    if subject.repairable is None or subject.advice is None:
        return ()
    row, advice = subject.repairable[0], subject.advice
    is_own = (advice.reader, advice.profile) == (row.source.reader, row.judges[1]) and row.chunk_count <= LARGEST
    if is_own and not advice.now_passes and (not advice.names or advice.word == PARTIAL):
        offer = offered(row, "")
        if offer.recommended == advice.names and offer.options:
            by_name = {strategy.name: strategy for strategy in offer.strategies(row.source.format)}
            return tuple(RepairRow(tuple(by_name[name] for name in option.names), option.end, option.word) for option in offer.options)
    return (RepairRow(advice.strategies, advice.after, advice.word),) if advice.strategies else ()


def explain_page(error: str, target: str, reader: str) -> ExplainPage:
    row, problem = _target(target)
    # The form sends the reader of a conversation that was taken out of it again.
    if row is None:
        reader = ""
    elif unfit := _unfit(row, reader):
        reader, problem = "", unfit
    readers = tuple(dict.fromkeys([*readers_of(row.source.format), *([reader] if reader else [])])) if row else ()
    lookup = _look(error, row, reader)
    pointed = lookup.pointed
    used = pointed[1].reading.reader if pointed else ""
    read = {"reader": used} if pointed and used != pointed[0].source.reader else {}
    is_alone = bool(lookup.explanations) and not target
    recorded, calls = _recorded(error) if is_alone else (), _calls(lookup)
    is_stored = any(call.stored for call in calls)
    rejected = _rejected(lookup.explanations) if is_alone and not recorded and not is_stored else ()
    newest = recorded[0].session if recorded else rejected[0] if rejected else None
    of_newest = _look(error, recorded[0].row if recorded else newest, "") if newest and newest.chunk_count <= LARGEST else None
    # Where nobody named a conversation, repairs are tried on the newest that is rejected so: what usually helps may change nothing there.
    fires = (
        {explanation.candidate.rule.id for explanation in of_newest.explanations if explanation.fires} if of_newest and rejected else set()
    )
    subject = of_newest if of_newest and (recorded or fires) else lookup
    repairs = _repairs(subject)
    described = frozenset(strategy.name for repair in repairs for strategy in repair.strategies)
    answers = tuple(
        _answer(explanation, of_newest if of_newest and explanation.candidate.rule.id in fires else lookup, read, described)
        for explanation in lookup.explanations
    )
    return ExplainPage(
        error=error,
        target=target,
        heading=_heading(answers, lookup.crash),
        row=pointed[0] if pointed else row,
        reader=used or (row.source.reader if row else ""),
        chosen_reader=reader,
        readers=readers,
        lookup=lookup,
        counts_crash=pointed is not None and pointed[0].is_crash,
        recorded=recorded,
        subject=subject,
        repairs=repairs,
        calls=calls,
        rejected=rejected,
        problem=problem,
        own_address=own_address(),
        answers=answers,
        offered=_suggested("" if row and error else visible(target)),
        rejected_now=()
        if error
        else tuple(
            map(_rejected_now, newest_first(Conversation.objects.counted().filter(**STATES["refused"][1], is_gone=False))[:REJECTED_SHOWN])
        ),
        is_linkable=len(error) <= LINKABLE,
    )


@accepts("GET", "HEAD", "POST")
def explain(request: OperatorRequest) -> HttpResponse:
    """POST is for texts that an address cannot carry; a short one is sent on to its link."""
    error, target, reader = _query(request)
    if request.method == "POST" and len(error) <= LINKABLE:
        chosen = {"error": visible(error), "target": target, **({"reader": visible(reader)} if reader else {})}
        return HttpResponseRedirect(f"/explain/?{urlencode(chosen)}")
    # What is posted here is read only, as if it were in the address.
    with one_snapshot():
        content = explain_page(error, target, reader)
    is_typing = bool(request.htmx) and request.htmx.target == "known"
    return page(
        request,
        "explain.html",
        content,
        part="known" if is_typing else "",
        twins=("json",) if error.strip() and content.is_linkable else (),
        status=400 if content.problem and not is_typing else 200,
    )


@accepts("GET", "HEAD", "POST")
def explain_json(request: OperatorRequest) -> HttpResponse:
    error, target, reader = _query(request)
    row, problem = _target(target)
    problem = problem or _unfit(row, reader)
    if problem or not error.strip():
        return as_json(
            {"error": problem or "There is no text to explain: give it as ?error=..., and ?target= for a conversation."}, status=400
        )
    return as_json(explain_report(error, row, reader))


def explain_report(error: str, row: Conversation | None, reader: str) -> Json:
    lookup = _look(error, row, reader)
    pointed, repairable = (
        ((json_fields(pair[0], "id=oid native_id"), pair[1]) if pair else None) for pair in (lookup.pointed, lookup.repairable)
    )
    alignment = lookup.crash.alignment if lookup.crash else None
    return error_report(error, lookup.explanations, lookup.meaning, pointed, repairable, lookup.advice, lookup.others, alignment)
