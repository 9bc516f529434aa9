"""Which strategies to compose where a person names the goal and not the way."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from inspector.conversation.edits import EditMismatch, apply
from inspector.conversation.model import Chunk, Conversation, Kind
from inspector.conversation.numbering import is_stored
from inspector.profiles.base import Judgement, ProviderRule
from inspector.profiles.catalogue import profile
from inspector.profiles.judging import judged
from inspector.programs.base import FROM_LEDGER
from inspector.programs.formats import WriteRefused
from inspector.programs.registry import program_or_default
from inspector.rules.base import Case, Finding, Origin, Severity, at_least, findings
from inspector.rules.catalogue import RULES
from inspector.rules.synthetic_texts import is_synthetic
from inspector.strategies.base import Strategy
from inspector.strategies.catalogue import STRATEGIES
from inspector.strategies.drop_empty_blocks import is_empty

MOST = 4
"""Strategies in a sequence for a profile: what a person can still weigh."""
_PLACE = {each.name: number for number, each in enumerate(STRATEGIES)}
LARGE = 2000
"""Chunks above which a page that must not be waited for tries nothing."""
_WIDE, _NARROW = 10, 2
"""Sequences that are followed at once; fewer where a conversation has more than LARGE chunks."""

_BESIDE_THE_PATH = {
    "insert-interrupted-result": ("reparent-to-result", "fix-compaction-pointer", "drop-failed-turns"),
    "deduplicate-results": ("use-tool-call-id",),
    "drop-orphaned-results": ("fix-compaction-pointer", "drop-failed-turns"),
}
"""What else may cure in a session that is a tree, by the strategy of a provider's rule that would make up or drop."""


def recommended(case: Case, found: Sequence[Finding]) -> tuple[Strategy, ...]:
    """Those that findings at warning or above name and that change something, each after the ones before it, in the catalogue's order.

    With those that become needed by the others: a row that goes may have stood between two messages of one number, and a row that
    becomes readable may share its number with the next. What a person must choose is left to them.
    """
    named = _named(found)
    while True:
        strategies, current = composed(case, named)
        more = _named(findings(current, RULES)) - named if strategies else frozenset()
        if not more:
            return strategies
        named |= more


def _named(found: Sequence[Finding]) -> frozenset[str]:
    names = {name for finding in found if at_least(finding.severity, Severity.WARNING) for name in finding.repaired_by}
    return frozenset(strategy.name for strategy in STRATEGIES if strategy.name in names and not strategy.manual_only)


def sequence(case: Case, troubles: Sequence[Finding], profile_name: str, own_projection: str) -> "Recommendation":
    """What to do where a person only says for whom: what the rules name in a store of Dispatch, then what the profile still refuses.

    Elsewhere the profile comes first, with what errors in the store name as far as it takes that and no more than MOST come together;
    what warnings name only where it refuses nothing. What the store cannot keep is not recommended. Raises UnknownProfile, UnknownProjection.
    """
    by_rules = case.program.rules_first
    if case.reading.failure and not by_rules:
        # Of what cannot be loaded there is no request to judge: first what makes it load.
        troubles = [trouble for trouble in troubles if trouble.severity is Severity.ERROR and trouble.origin is Origin.STORE]
    elif not by_rules:
        found = for_profile(case, profile_name, own_projection)
        if found.why_not:
            return found
        if found.way.strategies:
            return _with_errors_mended(case, troubles, found, profile_name, own_projection)
    named = _writable(case, [each.name for each in recommended(case, troubles)])
    found = for_profile(composed(case, named)[1], profile_name, own_projection)
    strategies, repaired = composed(case, [*named, *(each.name for each in found.way.strategies)])
    if refusal := _refusal(case.conversation, repaired.conversation):
        strategies, repaired = composed(case, named)
        found = replace(found, why_not=found.why_not or refusal)
    way = replace(found.way, strategies=strategies, case=repaired)
    return replace(found, way=way, losses=tuple(losses(case.conversation, repaired.conversation)))


def _writable(case: Case, names: Sequence[str]) -> list[str]:
    """All of these names where the store can keep that, else each that it can on top of the ones before it in the catalogue."""
    if not _refusal(case.conversation, composed(case, names)[1].conversation):
        return list(names)
    kept: list[str] = []
    for name in sorted(set(names), key=lambda name: _PLACE[name]):
        if not _refusal(case.conversation, composed(case, [*kept, name])[1].conversation):
            kept.append(name)
    return kept


def _refusal(base: Conversation, final: Conversation) -> str:
    """Why the store cannot keep `final`, in a sentence; "" where it can, or where only its writer can tell."""
    try:
        program_or_default(base.format).refuse_unfit(base, final)
    except WriteRefused as refused:
        return refused.reason
    return ""


def at_once(case: Case, troubles: Sequence[Finding], judgement: Judgement, own_projection: str) -> "Recommendation":
    """As `sequence`, for a page that must not be waited for: of a large conversation only what the rules name, without trying.

    `judgement` is that of the case as it is.
    """
    if len(case.conversation.chunks) > LARGE:
        named = _writable(case, [each.name for each in recommended(case, troubles)])
        return Recommendation(Way(composed(case, named)[0], case, judgement, Price(0, 0, 0, 0, 0)), "", ())
    return sequence(case, troubles, judgement.profile, own_projection)


def _with_errors_mended(
    case: Case, troubles: Sequence[Finding], found: "Recommendation", profile_name: str, own_projection: str
) -> "Recommendation":
    errors = [trouble for trouble in troubles if trouble.severity is Severity.ERROR and trouble.origin is Origin.STORE]
    strategies, repaired = composed(case, [each.name for each in (*recommended(case, errors), *found.way.strategies)])
    judgement = judged(repaired.reading, repaired.conversation, profile_name, own_projection)[1]
    way = Way(strategies, repaired, judgement, price(case.conversation, repaired.conversation, len(strategies)))
    loses_more = (way.price.results_lost, way.price.content_lost) > (found.way.price.results_lost, found.way.price.content_lost)
    if len(strategies) > MOST or loses_more or not _satisfied(way) or _refusal(case.conversation, repaired.conversation):
        return found
    return Recommendation(way, "", tuple(losses(case.conversation, repaired.conversation)))


@dataclass(frozen=True, slots=True, order=True)
class Price:
    """What a sequence does to a history; compared from left to right, so that nothing real is lost to save a synthetic word."""

    results_lost: int
    content_lost: int
    invented: int
    changed: int
    steps: int


@dataclass(frozen=True, slots=True)
class Way:
    """A sequence, what it makes of the case, and the verdict on that."""

    strategies: tuple[Strategy, ...]
    case: Case
    judgement: Judgement
    price: Price


@dataclass(frozen=True, slots=True)
class Recommendation:
    """`why_not`: why no sequence of at most MOST strategies satisfies the profile; "" where `way` does. `losses` names what it takes out."""

    way: Way
    why_not: str
    losses: tuple[str, ...]


def for_profile(case: Case, profile_name: str, own_projection: str) -> Recommendation:
    """The cheapest sequence whose result no rule of the profile refuses and the store can keep, found by trying. Raises UnknownProfile, UnknownProjection."""
    start = Way((), case, judged(case.reading, case.conversation, profile_name, own_projection)[1], Price(0, 0, 0, 0, 0))
    rules = {rule.id: rule for rule in profile(profile_name).rules}
    beam, best, done = [start], start, [start] if _satisfied(start) else []
    seen: set[frozenset[str]] = set()
    unwritable = ""
    width = _WIDE if len(case.conversation.chunks) <= LARGE else _NARROW
    for _ in range(MOST):
        if done:
            # A longer way is dearer by its steps, and worth a look only where this one loses or makes up something.
            cheapest = min(way.price for way in done)
            if (cheapest.results_lost, cheapest.content_lost, cheapest.invented) == (0, 0, 0):
                break
        found = [new for way in beam for new in _next(case, way, rules, seen, profile_name, own_projection)]
        good = [(way, _refusal(case.conversation, way.case.conversation)) for way in found if _satisfied(way)]
        done += [way for way, refusal in good if not refusal]
        unwritable = unwritable or next((refusal for _, refusal in good if refusal), "")
        beam = sorted((way for way in found if not _satisfied(way)), key=lambda way: (len(way.judgement.violations), way.price))[:width]
        writable = [way for way in beam if not _refusal(case.conversation, way.case.conversation)]
        best = min([best, *writable], key=lambda way: (len(way.judgement.violations), way.price))
        if not beam:
            break
    if done:
        way = min(done, key=_preference)
        return Recommendation(way, "", tuple(losses(case.conversation, way.case.conversation)))
    return Recommendation(best, unwritable or _why_not(best, rules, profile_name), tuple(losses(case.conversation, best.case.conversation)))


def _preference(way: Way) -> tuple[int, int, int, Price]:
    """Of ways that a provider accepts, one that leaves damage in the store is dearer than one that says a synthetic word."""
    left = sum(found.severity is Severity.ERROR and found.origin is Origin.STORE for found in findings(way.case, RULES))
    return way.price.results_lost, way.price.content_lost, left, way.price


def _satisfied(way: Way) -> bool:
    return way.judgement.sendable and not way.case.reading.failure


def _next(
    base: Case, way: Way, rules: dict[str, ProviderRule], seen: set[frozenset[str]], profile_name: str, own_projection: str
) -> Iterator[Way]:
    violated = dict.fromkeys(violation.id for violation in way.judgement.violations)
    named = dict.fromkeys(
        name for rule in violated if rule in rules for name in (*_of_the_store(base, rules[rule]), *rules[rule].repaired_by)
    )
    for name in named:
        names = frozenset((*(used.name for used in way.strategies), name))
        if names in seen or len(names) == len(way.strategies):
            continue
        seen.add(names)
        strategies, case = _longer(base, way, name)
        if len(strategies) < len(names):
            continue
        judgement = judged(case.reading, case.conversation, profile_name, own_projection)[1]
        yield Way(strategies, case, judgement, price(base.conversation, case.conversation, len(strategies)))


def _longer(base: Case, way: Way, name: str) -> tuple[tuple[Strategy, ...], Case]:
    """As `composed` of the names of `way` and one more: on top of it where the catalogue has that one after the others."""
    if all(_PLACE[used.name] < _PLACE[name] for used in way.strategies):
        added, case = composed(way.case, [name])
        return (*way.strategies, *added), case
    return composed(base, [*(used.name for used in way.strategies), name])


def _of_the_store(base: Case, rule: ProviderRule) -> list[str]:
    """A profile knows only the request; in a session that is a tree the cause may lie beside the path, and a store may keep results beside the messages."""
    if base.conversation.ledger:
        return ["insert-ledger-results"] if "insert-interrupted-result" in rule.repaired_by else []
    if not base.program.numbering.by_place:
        return []
    return list(dict.fromkeys(name for cure in rule.repaired_by for name in _BESIDE_THE_PATH.get(cure, ())))


def composed(case: Case, names: Iterable[str]) -> tuple[tuple[Strategy, ...], Case]:
    """The strategies of these names that change something, in the catalogue's order as pages and commands compose them, and the case after them."""
    wanted = set(names)
    used: list[Strategy] = []
    for each in STRATEGIES:
        edits = list(each.edits(case)) if each.name in wanted else []
        # A store that holds a key twice can be edited by nobody: which of the two rows is meant?
        with suppress(EditMismatch):
            case = case.with_conversation(apply(case.conversation, edits)) if edits else case
            used += [each] if edits else []
    return tuple(used), case


def price(base: Conversation, final: Conversation, steps: int) -> Price:
    before, after = _by_key(base.chunks), _by_key(final.chunks)
    lost = _lost(base, final)
    results = sum(chunk.kind is Kind.TOOL_RESULT for chunk in lost)
    changed = sum(chunk.payload != after[key].payload for key, chunk in before.items() if key in after)
    # An entry that comes back onto the path is not made up, nor is what another table of the store has.
    invented = sum(key not in before and not is_stored(chunk) and not key.startswith(FROM_LEDGER) for key, chunk in after.items())
    return Price(results, len(lost) - results, invented, changed, steps)


def _by_key(chunks: Iterable[Chunk]) -> dict[str, Chunk]:
    """By the key that each had before it was moved."""
    return {chunk.key.rpartition("moved:")[2]: chunk for chunk in chunks}


def _lost(base: Conversation, final: Conversation) -> list[Chunk]:
    """What was really said and is gone. A result that another one repeats, a synthetic one and an empty block are no loss; a removed call takes its words along."""
    kept = _by_key(final.chunks)
    repeated = {_said(chunk) for chunk in kept.values() if chunk.kind is Kind.TOOL_RESULT}
    return [
        chunk
        for key, chunk in _by_key(base.chunks).items()
        if not is_empty(chunk)
        and (key not in kept or is_empty(kept[key]))
        and not (chunk.kind is Kind.TOOL_RESULT and (is_synthetic(chunk) or _said(chunk) in repeated))
    ]


def _said(chunk: Chunk) -> tuple[str, str, bool]:
    return chunk.call_id, chunk.text, chunk.is_error


def losses(base: Conversation, final: Conversation) -> Iterator[str]:
    """A sentence for each kind of thing that was said and is gone."""
    by_kind: dict[Kind, list[Chunk]] = {}
    for chunk in _lost(base, final):
        by_kind.setdefault(chunk.kind, []).append(chunk)
    for kind, chunks in by_kind.items():
        seqs = ", ".join(f"{chunk.seq}" for chunk in chunks[:8]) + (f" and {len(chunks) - 8} more" if len(chunks) > 8 else "")
        yield f"{len(chunks)} {kind} {'chunk' if len(chunks) == 1 else 'chunks'} (seq {seqs}) would leave the history."


def _why_not(best: Way, rules: dict[str, ProviderRule], profile_name: str) -> str:
    if best.case.reading.failure:
        return f"The store cannot be loaded: {best.case.reading.failure}"
    left = best.judgement.violations[0]
    rule = rules.get(left.id)
    reason = (rule.advice if rule and rule.advice else "no strategy repairs it") if rule else "no strategy repairs it"
    tried = f" after {', '.join(used.name for used in best.strategies)}" if best.strategies else ""
    return f"No sequence of at most {MOST} strategies satisfies {profile_name}: {left.id} is left at {left.path}{tried} ({reason})."
