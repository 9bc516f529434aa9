"""What to do about an error that a provider answered: the one recommendation that pages and `repair --for` have too, and the rejection that was observed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inspector.planning.recommend import composed, sequence, without_waiting
from inspector.presentation.conversation.ending import ending_without_findings
from inspector.presentation.conversation.panels import Alignment
from inspector.presentation.conversation.recorded_errors import recorded_errors
from inspector.presentation.explain.answer import Explanation, OtherReader, explanation_report, same_refusal
from inspector.presentation.explain.meanings import own_rules
from inspector.presentation.json_text import Json, json_fields
from inspector.presentation.repair.ends import ending_with
from inspector.presentation.repair.outcomes import advice_word
from inspector.profiles.catalogue import PROFILES
from inspector.profiles.judging import judged_case
from inspector.programs.base import Meaning
from inspector.programs.registry import crash_prefix_of
from inspector.rules.base import Case, Rule, findings
from inspector.rules.catalogue import RULES
from inspector.strategies.base import Strategy
from inspector.strategies.catalogue import STRATEGIES

MOST_NAMED = 3
"""Calls of an error that a sentence names."""
TRIED = 20_000
"""Chunks of a history up to which strategies are tried on it."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """A strategy that a recognized rule names, or that is recommended. `edits`: how many it would make in the history; None: not tried."""

    strategy: Strategy
    edits: int | None
    word: str = ""
    """What it is called where it is recommended: whether the next request passes after all that is."""
    when: str = ""
    """The clause after "when" that says what it is for."""

    @property
    def is_recommended(self) -> bool:
        return bool(self.word)

    @property
    def is_safe(self) -> bool:
        return not self.strategy.safety


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do with a conversation. `observed` says what the provider rejected; `now` and `after` are verdicts of `profile` on what `reader` sends."""

    profile: str
    reader: str
    strategies: tuple[Strategy, ...]
    why_not: str
    observed: str
    now: str
    after: str
    now_passes: bool
    word: str
    """What the strategies are called."""
    not_modeled: str = ""
    """As of a judgement."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(strategy.name for strategy in self.strategies)


def is_advice_only(explanation: Explanation) -> bool:
    """Whether no stored history shows the refusal and no repair helps, as of too many tokens: what a conversation needs besides is another matter."""
    rule = explanation.candidate.rule
    unjudged = (other.unjudged for profile in PROFILES for other in profile.rules if other.id == rule.id)
    return bool(rule.advice and not rule.repaired_by and not explanation.fires) and all(unjudged)


def profile_of(explanations: Sequence[Explanation], own_profile: str) -> str:
    """Of the profiles that may have answered so the conversation's own, else the first."""
    names = explanations[0].candidate.profiles
    return own_profile if own_profile in names else names[0]


def advised(case: Case, profile_name: str, own_projection: str, observed: str) -> Advice:
    """As `repair --for` has it; of a history that is too large to try them, only what the rules name. Raises UnknownProfile, UnknownProjection."""
    case_findings = findings(case, RULES)
    judgement = judged_case(case, profile_name, own_projection)[1]
    if len(case.conversation.chunks) <= TRIED:
        recommendation = sequence(case, case_findings, profile_name, own_projection)
    else:
        recommendation = without_waiting(case, case_findings, judgement, own_projection)
    return advice_of(
        case,
        [strategy.name for strategy in recommendation.candidate.strategies],
        recommendation.why_not,
        profile_name,
        own_projection,
        observed,
    )


def advice_of(case: Case, names: Sequence[str], why_not: str, profile_name: str, own_projection: str, observed: str) -> Advice:
    """Of a recommendation that exists already."""
    strategies, repaired = composed(case, names)
    now = judged_case(case, profile_name, own_projection)[1]
    prompt, after = judged_case(repaired, profile_name, own_projection)
    end = ending_with(case, strategies, repaired, prompt, after, own_projection)
    verdict = f"{after.verdict}, but goes {end.words} ({end.silence})" if end.silence else after.verdict
    return Advice(
        profile_name,
        case.reading.reader,
        strategies,
        why_not,
        observed,
        now.verdict,
        verdict,
        now.sendable,
        advice_word(ending_without_findings(case, now), end),
        now.not_modeled,
    )


def observed(explanations: Sequence[Explanation], text: str, cases: Iterable[Case]) -> str:
    """The rejection in a few words: which rule, where, and what recorded it; of these cases the first that did."""
    candidate = explanations[0].candidate
    places = [place for explanation in explanations for place in explanation.places if place.is_exact or candidate.values.get("n")]
    place = next((place.path for place in sorted(places, key=lambda place: not place.is_exact)), "")
    cases = list(cases)
    source = next((source for case in cases if (source := _source(case, text))), "")
    if not source:
        stored = {chunk.call_id for case in cases for chunk in (case.tree or case.conversation).chunks}
        missing = bool(candidate.ids) and not stored.intersection(candidate.ids)
        source = (
            f"the error text says of {', '.join(candidate.ids[:MOST_NAMED])}, which is not stored here"
            if missing
            else "the error text says"
        )
    return f"rejected{f' at {place}' if place else ''} ({candidate.rule.id}), as {source}"


def _source(case: Case, text: str) -> str:
    where = next((error.where for error in recorded_errors(case) if same_refusal(text, error.text)), None)
    if where is None:
        return ""
    native_id = case.conversation.native_id
    prefix = crash_prefix_of(case.conversation.format, native_id)
    return f"the crash file {native_id.removeprefix(prefix)} records" if prefix else f"recorded at {where}"


def remedies(explanation: Explanation, case: Case | None, advice: Advice | None) -> tuple[Remedy, ...]:
    """What is recommended first, then what else the rule names and would change something, then what would not."""
    recommended, word = (advice.names, advice.word) if advice and not is_advice_only(explanation) else ((), "")
    is_tried = case is not None and len(case.conversation.chunks) <= TRIED
    listed = [
        Remedy(
            strategy,
            sum(1 for _ in strategy.edits(case)) if case is not None and is_tried else None,
            word if name in recommended else "",
            _when(strategy, own_rules(explanation.candidate.rule.id)),
        )
        for name in dict.fromkeys((*recommended, *explanation.candidate.rule.repaired_by))
        for strategy in STRATEGIES
        if strategy.name == name
    ]
    # A recommended one may change nothing before the others have: it stays first.
    return tuple(sorted(listed, key=lambda strategy: (not strategy.is_recommended, strategy.edits == 0)))


def _when(strategy: Strategy, likely: Sequence[Rule]) -> str:
    """By the rules of ours that it repairs, of these by the likely ones where it repairs such."""
    rules = [rule for rule in RULES if strategy.name in rule.repaired_by]
    named = [rule for rule in rules if rule in likely] or rules[:2]
    return "; or ".join(rule.summary for rule in named) or strategy.when


def repaired_by(listed: Sequence[Remedy]) -> tuple[str, ...]:
    """Names of the recommended ones; where nothing is recommended, of those that would change something."""
    recommended = tuple(remedy.strategy.name for remedy in listed if remedy.is_recommended)
    return recommended or tuple(remedy.strategy.name for remedy in listed if remedy.edits != 0)


def repaired_by_words(listed: Sequence[Remedy]) -> str:
    """What is recommended, what else would change something, and what would not."""
    if not any(remedy.is_recommended or remedy.edits is not None for remedy in listed):
        return ", ".join(remedy.strategy.name for remedy in listed)
    parts = [
        ", ".join(f"{with_safety(remedy.strategy)}, {remedy.word}" for remedy in listed if remedy.is_recommended),
        ", ".join(
            f"{with_safety(remedy.strategy)}, {remedy.edits:,} edit{'s' if remedy.edits > 1 else ''}"
            for remedy in listed
            if remedy.edits and not remedy.is_recommended
        ),
    ]
    changing = "; or ".join(part for part in parts if part) or "nothing of what usually does"
    idle = ", ".join(remedy.strategy.name for remedy in listed if remedy.edits == 0 and not remedy.is_recommended)
    return f"{changing}; would change nothing here: {idle}" if idle else changing


def with_safety(strategy: Strategy) -> str:
    return f"{strategy.name} ({', '.join(sorted(strategy.safety)) or 'safe'})"


def error_report(
    text: str,
    explanations: Sequence[Explanation],
    meaning: Meaning | None,
    pointed: tuple[Json, Case] | None,
    repairable: tuple[Json, Case] | None,
    advice: Advice | None,
    others: Sequence[OtherReader],
    alignment: Alignment | None,
) -> Json:
    """What `explain --json` and the page's `.json` twin contain. `pointed` is the conversation whose numbers the text counts, `repairable` the one that a repair changes, each by its ids."""
    listed = (
        {explanation.candidate.rule.id: repaired_by(remedies(explanation, repairable[1], advice)) for explanation in explanations}
        if repairable
        else None
    )
    report = explanation_report(text, explanations, listed)
    if meaning is not None:
        report["known"] = json_fields(meaning, "means advice transient=is_transient rule")
    if pointed is not None:
        report["conversation"] = pointed[0] | {"reader": pointed[1].reading.reader}
        if stored := next((explanation.size for explanation in explanations if explanation.size), None):
            report["conversation"] |= {"size": json_fields(stored, "bytes=stored_bytes tokens window is_far_below")}
    if advice is not None and repairable is not None:
        report["recommended"] = repairable[0] | _advice_report(advice)
    if alignment is not None:
        report["stored"] = [
            {"path": piece.path, "seq": piece.stored.seq, "record": piece.stored.key} for piece in alignment.named if piece.stored
        ]
    if others:
        report["other_readers"] = [json_fields(other, "reader path seqs breaks_the_rule=is_broken") for other in others]
    return report


def _advice_report(advice: Advice) -> Json:
    return {
        **json_fields(advice, "profile reader strategies=names why_not"),
        "before": {"observed": advice.observed, "judged": advice.now},
        "after": advice.after,
    }
