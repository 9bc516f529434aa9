"""What a provider's error means, and where in a conversation it points."""

from dataclasses import dataclass
from itertools import islice
from urllib.parse import urlencode

from django.http import HttpResponse, HttpResponseRedirect

from inspector.conversation.model import Chunk
from inspector.detectors.base import Case, Finding
from inspector.formats.rollouts_crash import PREFIX
from inspector.middleware import OperatorRequest
from inspector.models import Conversation, loading
from inspector.models.transactions import one_snapshot
from inspector.profiles.base import EVIDENCE
from inspector.readers.gbrain import FORMATS as GBRAIN
from inspector.repairs.base import Strategy
from inspector.repairs.catalogue import STRATEGIES
from inspector.reports.crash_alignment import Alignment, aligned
from inspector.reports.explain import Explanation, calls_named, explained, explanation_report, same_refusal, sentence
from inspector.reports.visible import visible
from inspector.views.analysis import Analysis, analysis
from inspector.views.conversation_list import DAMAGED, newest_first
from inspector.views.crashes import beside
from inspector.views.judges import chosen_judges
from inspector.views.pages import as_json, page

LINKABLE = 2000
"""Characters of an error text that an address may carry; a longer one is explained, without a link to it."""
OFFERED = 30
PLACES_SHOWN = 12
CRASHES_SEARCHED = 50
"""The newest crash files whose error is compared with a text for which no conversation is named."""
JOBS_SEARCHED = 200
"""The newest damaged jobs that are searched for the calls which a text names."""
TRIED = 20_000
"""Chunks of a history up to which each strategy is tried for the page."""
NOT_RECOGNISED = "No known rule answers so: paste more of the error, or the whole log line. The rules page lists the texts that are known."


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
class Remedy:
    """`edits`: what it would change in the conversation that can be repaired; None where that was not tried."""

    strategy: Strategy
    edits: int | None


@dataclass(frozen=True, slots=True)
class Answer:
    """One rule that may have answered so. `evidence` are the words of its marks."""

    found: Explanation
    sentence: str
    evidence: tuple[str, ...]
    spots: tuple[Spot, ...]
    spots_left_out: int
    mends: tuple[Remedy, ...]
    """Those that would change something first."""


@dataclass(frozen=True, slots=True)
class CrashSays:
    """A crash file with this very error, laid beside its session: where the block that it names is stored."""

    crash: Conversation
    session: Conversation
    alignment: Alignment


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do with the conversation that can be repaired: the sequence that its profile takes, and what the rules find at the place."""

    row: Conversation
    profile: str
    sequence: tuple[Strategy, ...]
    findings: tuple[tuple[str, Finding], ...]
    verdict: str
    why_not: str


@dataclass(frozen=True, slots=True)
class ExplainPage:
    error: str
    target: str
    heading: str
    row: Conversation | None
    mend: Conversation | None
    """The conversation that can be repaired: of a crash, its session."""
    crash: CrashSays | None
    advice: Advice | None
    recorded: tuple[Conversation, ...]
    """Crash files with this very error, where no conversation is named."""
    named: tuple[Conversation, ...]
    """Jobs that hold a call which the error names, where no conversation is named."""
    problem: str
    answers: tuple[Answer, ...]
    offered: tuple[Conversation, ...]
    is_linkable: bool
    nothing: str = NOT_RECOGNISED


def _asked(request: OperatorRequest) -> tuple[str, str]:
    data = request.POST if request.method == "POST" else request.GET
    return data.get("error", ""), data.get("target", "").strip()


def _target(name: str) -> tuple[Conversation | None, str]:
    """The conversation with this id (ours or its own), or the sentence that says what is wrong."""
    if not name:
        return None, ""
    known, name = Conversation.objects.select_related("source"), visible(name)
    row = known.filter(oid=name.lower()).first() or known.filter(native_id=name).first()
    return (row, "") if row else (None, f"There is no conversation {name[:80]}: choose one of the list, or leave the field empty.")


def _found(error: str, row: Conversation | None) -> tuple[Explanation, ...]:
    if not error.strip():
        return ()
    case = loading.case(row, row.source.reader) if row else None
    return explained(error, case, row.source.projection if row else "")


def _answer(found: Explanation, case: Case | None) -> Answer:
    """`case` is of the conversation that can be repaired."""
    rule = found.candidate.rule
    spots = tuple(
        Spot(
            each.path,
            each.profile,
            each.why,
            each.chunks[:PLACES_SHOWN],
            max(0, len(each.chunks) - PLACES_SHOWN),
            urlencode({"profile": each.profile, **({"at": each.seqs[0]} if each.seqs else {})}) + f"#{each.path}",
        )
        for each in found.places[:PLACES_SHOWN]
    )
    evidence = tuple(EVIDENCE[mark] for mark in rule.evidence if mark in EVIDENCE)
    mends = [each for name in rule.mended_by for each in STRATEGIES if each.name == name]
    is_tried = case is not None and len(case.conversation.chunks) <= TRIED
    remedies = [Remedy(each, sum(1 for _ in each.propose(case)) if case is not None and is_tried else None) for each in mends]
    remedies.sort(key=lambda each: each.edits == 0)
    return Answer(found, sentence(found), evidence, spots, len(found.places) - len(spots), tuple(remedies))


def _advice(mend: Conversation | None, answers: tuple[Explanation, ...], crash: CrashSays | None) -> tuple[Advice | None, Analysis | None]:
    """By the profile that answered so; where several may have, by the conversation's own one if it is among them."""
    if mend is None or not answers:
        return None, None
    names = answers[0].candidate.profiles
    projection, profile = chosen_judges("", mend.judges[1] if mend.judges[1] in names else names[0], mend.judges)
    found = analysis(mend, mend.source.reader, projection, profile, mend.revision)
    seqs = _pointed_at(answers, crash)
    there = tuple((oid, finding) for oid, finding in found.findings if seqs & set(finding.seqs))
    sequence = tuple(each for name in found.recommended for each in STRATEGIES if each.name == name)
    return Advice(mend, profile, sequence, there[:PLACES_SHOWN], found.verdict, found.why_not), found


def _pointed_at(answers: tuple[Explanation, ...], crash: CrashSays | None) -> set[int]:
    """Seqs of the conversation that can be repaired: of a crash, those behind the whole message that the error names."""
    if crash:
        messages = {piece.sent.msg_idx for piece in crash.alignment.named}
        return {piece.stored.seq for piece in crash.alignment.pieces if piece.stored is not None and piece.sent.msg_idx in messages}
    fires = {seq for each in answers for _, _, seqs in each.fires for seq in seqs}
    return fires | {seq for each in answers for place in each.places for seq in place.seqs}


def _recorded(error: str) -> tuple[Conversation, ...]:
    """The newest crash files that hold this error."""
    rows = newest_first(Conversation.objects.filter(native_id__startswith=PREFIX, source__format="rollouts", is_gone=False))
    newest = rows.select_related("source")[:CRASHES_SEARCHED]
    same = (each for each in newest if same_refusal(error, loading.stored(each).conversation.fact("error") or ""))
    return tuple(islice(same, 5))


def _named(error: str) -> tuple[Conversation, ...]:
    """The newest damaged jobs of gbrain with a call that this error names."""
    ids = calls_named(error)
    if not ids:
        return ()
    rows = newest_first(Conversation.objects.filter(DAMAGED, source__format__in=GBRAIN, is_gone=False))
    newest = rows.select_related("source")[:JOBS_SEARCHED]
    held = (each for each in newest if any(chunk.call_id in ids for chunk in loading.stored(each).conversation.chunks))
    return tuple(islice(held, 5))


def _crash(error: str, row: Conversation | None) -> CrashSays | None:
    """By the crash that is the target, or the newest one of the session whose error names the same place."""
    if row is None or row.source.format != "rollouts":
        return None
    found = loading.stored(row).conversation
    held = beside(row, found, None)
    if held and held.crash and held.crash.session and held.alignment:
        return CrashSays(row, held.crash.session, held.alignment) if same_refusal(error, held.crash.error) else None
    for crash in held.crashes if held else ():
        other = loading.stored(crash).conversation
        if same_refusal(error, other.fact("error") or ""):
            return CrashSays(crash, row, aligned(found, other))
    return None


def _heading(answers: tuple[Answer, ...], crash: CrashSays | None) -> str:
    """The first rule, and where: in the store itself where a crash file tells it."""
    if not answers:
        return ""
    rule = answers[0].found.candidate.rule
    named = next((piece for piece in crash.alignment.named if piece.stored), None) if crash else None
    if named is None or named.stored is None:
        return answers[0].sentence
    return f"{rule.id}: {rule.summary} at {named.path}, stored at seq {named.stored.seq}"


def _page(request: OperatorRequest) -> ExplainPage:
    error, target = _asked(request)
    row, problem = _target(target)
    explanations = tuple(sorted(_found(error, row), key=lambda each: not each.fires))
    offered = tuple(newest_first(Conversation.objects.filter(is_gone=False))[:OFFERED])
    crash = _crash(error, row) if explanations else None
    mend = crash.session if crash else row
    advice, found = _advice(mend, explanations, crash)
    answers = tuple(_answer(each, found.case if found else None) for each in explanations)
    return ExplainPage(
        error,
        target,
        _heading(answers, crash),
        row,
        mend,
        crash,
        advice,
        _recorded(error) if answers and not target else (),
        _named(error) if answers and not target else (),
        problem,
        answers,
        offered,
        len(error) <= LINKABLE,
    )


def explain(request: OperatorRequest) -> HttpResponse:
    """POST is for texts that an address cannot carry; a short one is sent on to its link."""
    error, target = _asked(request)
    if request.method == "POST" and len(error) <= LINKABLE:
        return HttpResponseRedirect(f"/explain/?{urlencode({'error': visible(error), 'target': target})}")
    # What is posted here is read only, as if it were in the address.
    with one_snapshot():
        content = _page(request)
    return page(
        request,
        "explain.html",
        content,
        twins=("json",) if error.strip() and content.is_linkable else (),
        status=400 if content.problem else 200,
    )


def explain_json(request: OperatorRequest) -> HttpResponse:
    error, target = _asked(request)
    row, problem = _target(target)
    if problem or not error.strip():
        return as_json(
            {"error": problem or "There is no text to explain: give it as ?error=..., and ?target= for a conversation."}, status=400
        )
    return as_json(explanation_report(error, _found(error, row)))
