"""Which strategies to compose where a person names the goal and not the strategies."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from typing import cast

from inspector.conversation.edits import EditMismatch, apply
from inspector.conversation.model import Chunk, Conversation, Kind
from inspector.conversation.numbering import is_stored
from inspector.profiles.base import Judgement, ProviderRule
from inspector.profiles.catalogue import profile
from inspector.profiles.judging import judged_case
from inspector.programs.base import FROM_LEDGER
from inspector.programs.formats import WriteRefused
from inspector.programs.registry import program_or_default
from inspector.rules.base import Case, Finding, Origin, Severity, at_least
from inspector.rules.catalogue import all_findings
from inspector.rules.catalogue import rule as rule_named
from inspector.rules.synthetic_texts import is_synthetic
from inspector.strategies.base import Strategy
from inspector.strategies.catalogue import STRATEGIES
from inspector.strategies.catalogue import strategy as strategy_named
from inspector.strategies.drop_empty_blocks import is_empty

MOST = 4
"""Strategies in a sequence for a profile: what a person can still weigh."""
_PLACE = {strategy.name: number for number, strategy in enumerate(STRATEGIES)}
LARGE = 2000
"""Chunks above which a page that must not be waited for tries nothing."""
_WIDE, _NARROW = 10, 2
"""Sequences that are followed at once; fewer where a conversation has more than LARGE chunks."""

_OFF_THE_PATH = {
    "insert-interrupted-result": (
        "reparent-to-result",
        "fix-compaction-pointer",
        "drop-failed-turns",
        "recover-stored-result",
        "recover-result-from-file",
    ),
    "deduplicate-results": ("use-tool-call-id",),
    "drop-orphaned-results": ("fix-compaction-pointer", "drop-failed-turns", "return-call", "quote-orphaned-results"),
    "rename-repeated-ids": ("drop-repeated-lines",),
    "thinking-to-text": ("unsigned-thinking-to-text",),
}
"""What else may repair a session that is a tree, by the strategy of a provider's rule that would add or remove something."""


def recommended(case: Case, reported: Sequence[Finding]) -> tuple[Strategy, ...]:
    """Those that findings at warning or above name and that change something, each after the ones before it, in the catalogue's order.

    With those that become needed by the others: a row that goes may have been between two messages of one number, and a row that
    becomes readable may share its number with the next. What a person must choose is left to them.
    """
    named = _named(reported)
    while True:
        strategies, current = composed(case, named)
        more = _named(all_findings(current)) - named if strategies else frozenset()
        if not more:
            return strategies
        named |= more


def _named(reported: Sequence[Finding]) -> frozenset[str]:
    names = {name for finding in reported if at_least(finding.severity, Severity.WARNING) for name in finding.repaired_by}
    return frozenset(strategy.name for strategy in STRATEGIES if strategy.name in names and not strategy.manual_only)


def sequence(case: Case, reported: Sequence[Finding], profile_name: str, own_projection: str) -> "Recommendation":
    """What to do where a person only says for whom: what the rules name in a store of Dispatch, then what the profile still refuses.

    Elsewhere the profile comes first, with what errors in the store name as far as it takes that and no more than MOST come together;
    what warnings name only where it refuses nothing. What the store cannot keep is not recommended. Raises UnknownProfile, UnknownProjection.
    """
    by_rules = case.program.repairs.rules_first
    if case.reading.failure and not by_rules:
        # Of what cannot be loaded there is no request to judge: first what makes it load.
        reported = [finding for finding in reported if finding.severity is Severity.ERROR and finding.origin is Origin.STORE]
    elif not by_rules:
        recommendation = for_profile(case, profile_name, own_projection)
        if recommendation.why_not:
            return recommendation
        if recommendation.candidate.strategies:
            return _with_errors_repaired(case, reported, recommendation, profile_name, own_projection)
    named = _writable(case, [strategy.name for strategy in recommended(case, reported)])
    recommendation = for_profile(composed(case, named)[1], profile_name, own_projection)
    strategies, repaired = composed(case, [*named, *(strategy.name for strategy in recommendation.candidate.strategies)])
    if refusal := _refusal(case.conversation, repaired.conversation):
        strategies, repaired = composed(case, named)
        recommendation = replace(recommendation, why_not=recommendation.why_not or refusal)
    candidate = replace(recommendation.candidate, strategies=strategies, case=repaired)
    return replace(recommendation, candidate=candidate, losses=tuple(losses(case.conversation, repaired.conversation)))


def _writable(case: Case, names: Sequence[str]) -> list[str]:
    """All of these names where the store can keep that, else each that it can on top of the ones before it in the catalogue."""
    if not _refusal(case.conversation, composed(case, names)[1].conversation):
        return list(names)
    kept_names: list[str] = []
    for name in sorted(set(names), key=lambda name: _PLACE[name]):
        if not _refusal(case.conversation, composed(case, [*kept_names, name])[1].conversation):
            kept_names.append(name)
    return kept_names


def _refusal(base: Conversation, final: Conversation) -> str:
    """Why the store cannot keep `final`, in a sentence; "" where it can, or where only its writer knows."""
    try:
        program_or_default(base.format).repairs.refuse_unfit(base, final)
    except WriteRefused as refused:
        return refused.reason
    return ""


def without_waiting(case: Case, reported: Sequence[Finding], judgement: Judgement, own_projection: str) -> "Recommendation":
    """As `sequence`, for a page that must not be waited for: of a large conversation only what the rules name, without trying.

    `judgement` is that of the case as it is.
    """
    if len(case.conversation.chunks) > LARGE:
        named = _writable(case, [strategy.name for strategy in recommended(case, reported)])
        return Recommendation(RepairCandidate(composed(case, named)[0], case, judgement, HistoryCost(0, 0, 0, 0, 0)), "", ())
    return sequence(case, reported, judgement.profile, own_projection)


def _with_errors_repaired(
    case: Case, reported: Sequence[Finding], recommendation: "Recommendation", profile_name: str, own_projection: str
) -> "Recommendation":
    errors = [finding for finding in reported if finding.severity is Severity.ERROR and finding.origin is Origin.STORE]
    # A call that has no id gets its result only after what gives it one.
    named = (*recommended(case, errors), *recommended(recommendation.candidate.case, errors), *recommendation.candidate.strategies)
    strategies, repaired = composed(case, [strategy.name for strategy in named])
    judgement = judged_case(repaired, profile_name, own_projection)[1]
    candidate = RepairCandidate(strategies, repaired, judgement, cost_of(case.conversation, repaired.conversation, len(strategies)))
    loses_more = (candidate.cost.results_lost, candidate.cost.content_lost) > (
        recommendation.candidate.cost.results_lost,
        recommendation.candidate.cost.content_lost,
    )
    if len(strategies) > MOST or loses_more or not _satisfied(candidate) or _refusal(case.conversation, repaired.conversation):
        return recommendation
    return Recommendation(candidate, "", tuple(losses(case.conversation, repaired.conversation)))


@dataclass(frozen=True, slots=True, order=True)
class HistoryCost:
    """What a sequence does to a history; compared from left to right, so that nothing real is lost to save a synthetic word."""

    results_lost: int
    content_lost: int
    invented: int
    changed: int
    steps: int


@dataclass(frozen=True, slots=True)
class RepairCandidate:
    """A sequence, what it makes of the case, and the verdict on that."""

    strategies: tuple[Strategy, ...]
    case: Case
    judgement: Judgement
    cost: HistoryCost


@dataclass(frozen=True, slots=True)
class Recommendation:
    """`why_not`: why no sequence of at most MOST strategies satisfies the profile; "" where `candidate` does. `losses` names what it takes out."""

    candidate: RepairCandidate
    why_not: str
    losses: tuple[str, ...]


def for_profile(case: Case, profile_name: str, own_projection: str) -> Recommendation:
    """The cheapest sequence whose result no rule of the profile refuses and the store can keep, found by trying. Raises UnknownProfile, UnknownProjection."""
    start = RepairCandidate((), case, judged_case(case, profile_name, own_projection)[1], HistoryCost(0, 0, 0, 0, 0))
    rules = {rule.id: rule for rule in profile(profile_name).rules}
    beam, best, satisfying = [start], start, [start] if _satisfied(start) else []
    tried_names: set[frozenset[str]] = set()
    unwritable = ""
    width = _WIDE if len(case.conversation.chunks) <= LARGE else _NARROW
    for _ in range(MOST):
        if satisfying:
            # A longer sequence costs more by its steps, and is worth a look only where this one loses or adds something.
            cheapest = min(candidate.cost for candidate in satisfying)
            if (cheapest.results_lost, cheapest.content_lost, cheapest.invented) == (0, 0, 0):
                break
        extended = [longer for candidate in beam for longer in _next(case, candidate, rules, tried_names, profile_name, own_projection)]
        good = [(candidate, _refusal(case.conversation, candidate.case.conversation)) for candidate in extended if _satisfied(candidate)]
        satisfying += [candidate for candidate, refusal in good if not refusal]
        unwritable = unwritable or next((refusal for _, refusal in good if refusal), "")
        beam = sorted(
            (candidate for candidate in extended if not _satisfied(candidate)),
            key=lambda candidate: (len(candidate.judgement.violations), candidate.cost),
        )[:width]
        writable = [candidate for candidate in beam if not _refusal(case.conversation, candidate.case.conversation)]
        best = min([best, *writable], key=lambda candidate: (len(candidate.judgement.violations), candidate.cost))
        if not beam:
            break
    if satisfying:
        candidate = min(satisfying, key=_preference)
        return Recommendation(candidate, "", tuple(losses(case.conversation, candidate.case.conversation)))
    return Recommendation(best, unwritable or _why_not(best, rules, profile_name), tuple(losses(case.conversation, best.case.conversation)))


def _preference(candidate: RepairCandidate) -> tuple[int, int, int, HistoryCost]:
    """Of candidates that a provider accepts, one that leaves damage in the store costs more than one that adds a synthetic word."""
    remaining_errors = sum(
        finding.severity is Severity.ERROR and finding.origin is Origin.STORE for finding in all_findings(candidate.case)
    )
    return candidate.cost.results_lost, candidate.cost.content_lost, remaining_errors, candidate.cost


def _satisfied(candidate: RepairCandidate) -> bool:
    return candidate.judgement.sendable and not candidate.case.reading.failure


def _next(
    base: Case,
    candidate: RepairCandidate,
    rules: dict[str, ProviderRule],
    tried_names: set[frozenset[str]],
    profile_name: str,
    own_projection: str,
) -> Iterator[RepairCandidate]:
    violated = dict.fromkeys(violation.id for violation in candidate.judgement.violations)
    named = dict.fromkeys(
        name for rule in violated if rule in rules for name in (*_of_the_store(base, rules[rule]), *rules[rule].repaired_by)
    )
    for name in named:
        names = frozenset((*(used.name for used in candidate.strategies), name))
        if names in tried_names or len(names) == len(candidate.strategies):
            continue
        tried_names.add(names)
        strategies, case = longer(base, candidate.strategies, candidate.case, name)
        if len(strategies) < len(names):
            continue
        judgement = judged_case(case, profile_name, own_projection)[1]
        yield RepairCandidate(strategies, case, judgement, cost_of(base.conversation, case.conversation, len(strategies)))


def longer(base: Case, strategies: tuple[Strategy, ...], later: Case, name: str) -> tuple[tuple[Strategy, ...], Case]:
    """As `composed` of `strategies`, which make `later` of `base`, and one more: on top of it where the catalogue has that one after the others."""
    places = [_PLACE[used.name] for used in strategies]
    if _PLACE[name] > max(places, default=-1):
        added, case = composed(later, [name])
        return (*strategies, *added), case
    if _PLACE[name] < min(places) and not any(strategy_named(name).edits(base)):
        return strategies, later
    return composed(base, [*(used.name for used in strategies), name])


def _of_the_store(base: Case, rule: ProviderRule) -> list[str]:
    """A profile knows only the request; in a session that is a tree the cause may be off the path, a store may keep results next to the messages, and the
    program says which of its own rules lead to the cause."""
    own = [
        name
        for of in base.program.errors.rules.get(rule.id, ())
        for name in rule_named(of).repaired_by
        if not strategy_named(name).manual_only
    ]
    if base.conversation.ledger:
        return ["insert-ledger-results"] if "insert-interrupted-result" in rule.repaired_by else []
    if not base.program.numbering.by_place:
        return own
    off_the_path = (name for name_of_rule in rule.repaired_by for name in _OFF_THE_PATH.get(name_of_rule, ()))
    return list(dict.fromkeys([*own, *off_the_path]))


def composed(base: Case, names: Iterable[str]) -> tuple[tuple[Strategy, ...], Case]:
    """The strategies of these names that change something, in the catalogue's order as pages and commands compose them, and the case after them."""
    chosen_names = frozenset(names)
    # What is recommended is composed to see what it leaves, whether the store can keep it, and once more to be offered: one after the other.
    last_names, last = base.cached.get(composed, (None, ((), base)))
    if last_names == chosen_names:
        return cast(tuple[tuple[Strategy, ...], Case], last)
    case, used = base, list[Strategy]()
    for strategy in STRATEGIES:
        edits = list(strategy.edits(case)) if strategy.name in chosen_names else []
        # A store that holds a key twice can be edited by nobody: which of the two rows would it be?
        with suppress(EditMismatch):
            later = case.with_conversation(apply(case.conversation, edits)) if edits else case
            used += [strategy.of(case, later)] if edits else []
            case = later
    if used:
        base.cached[composed] = chosen_names, (tuple(used), case)
    return tuple(used), case


def included(base: Case, codes: Mapping[str, Collection[str]]) -> dict[str, tuple[str, ...]]:
    """Strategy -> those that are for other rules, and change nothing where both are chosen. `codes`: the rules that each is for."""
    parts: dict[str, list[str]] = {}
    for pair in combinations([name for name in codes if composed(base, [name])[0]], 2):
        used = [strategy.name for strategy in composed(base, pair)[0]]
        if len(used) == 1 and not set(codes[pair[0]]) & set(codes[pair[1]]):
            parts.setdefault(used[0], []).extend(name for name in pair if name != used[0])
    return {name: tuple(names) for name, names in parts.items()}


def cost_of(base: Conversation, final: Conversation, steps: int) -> HistoryCost:
    before, after = _by_key(base.chunks), _by_key(final.chunks)
    lost = _lost(base, final)
    results = sum(chunk.kind is Kind.TOOL_RESULT for chunk in lost)
    changed = sum(chunk.payload != after[key].payload for key, chunk in before.items() if key in after)
    # An entry that comes back onto the path is not synthetic, nor is what another table of the store has.
    invented = sum(key not in before and not is_stored(chunk) and not key.startswith(FROM_LEDGER) for key, chunk in after.items())
    return HistoryCost(results, len(lost) - results, invented, changed, steps)


def _by_key(chunks: Iterable[Chunk]) -> dict[str, Chunk]:
    """By the key that each had before it was moved."""
    return {chunk.key.rpartition("moved:")[2]: chunk for chunk in chunks}


def _lost(base: Conversation, final: Conversation) -> list[Chunk]:
    """What was really said and is gone. A result that another one repeats, a block that its answer has again, a synthetic result and an empty block
    are no loss; a removed call takes its words along."""
    kept_chunks = _by_key(final.chunks)
    answer_id = program_or_default(base.format).providers.answer_id
    repeated = {_result_content(chunk) for chunk in kept_chunks.values() if chunk.kind is Kind.TOOL_RESULT}
    blocks = {_block(chunk, id_) for chunk in kept_chunks.values() if (id_ := answer_id(chunk))}
    return [
        chunk
        for key, chunk in _by_key(base.chunks).items()
        if not is_empty(chunk)
        and (key not in kept_chunks or is_empty(kept_chunks[key]))
        and not (chunk.kind is Kind.TOOL_RESULT and (is_synthetic(chunk) or _result_content(chunk) in repeated))
        and _block(chunk, answer_id(chunk)) not in blocks
    ]


def _block(chunk: Chunk, answer_id: str) -> tuple[str, str, str, str]:
    return answer_id, chunk.kind.value, chunk.text, chunk.call_id


def _result_content(chunk: Chunk) -> tuple[str, str, bool]:
    return chunk.call_id, chunk.text, chunk.is_error


def losses(base: Conversation, final: Conversation) -> Iterator[str]:
    """A sentence for each kind of thing that was said and is gone."""
    by_kind: dict[Kind, list[Chunk]] = {}
    for chunk in _lost(base, final):
        by_kind.setdefault(chunk.kind, []).append(chunk)
    for kind, chunks in by_kind.items():
        seqs = ", ".join(f"{chunk.seq}" for chunk in chunks[:8]) + (f" and {len(chunks) - 8} more" if len(chunks) > 8 else "")
        yield f"{len(chunks)} {kind} {'chunk' if len(chunks) == 1 else 'chunks'} (seq {seqs}) would leave the history."


def _why_not(best: RepairCandidate, rules: dict[str, ProviderRule], profile_name: str) -> str:
    if best.case.reading.failure:
        return f"The store cannot be loaded: {best.case.reading.failure}"
    violation = best.judgement.violations[0]
    rule = rules.get(violation.id)
    reason = (rule.advice if rule and rule.advice else "no strategy repairs it") if rule else "no strategy repairs it"
    after_strategies = f" after {', '.join(used.name for used in best.strategies)}" if best.strategies else ""
    return f"No sequence of at most {MOST} strategies satisfies {profile_name}: {violation.id} is left at {violation.path}{after_strategies} ({reason})."
