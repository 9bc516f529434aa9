"""What to do about an error that a provider answered: the one recommendation that pages and `repair --for` have too, and the rejection that was observed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.planning.recommend import composed, sequence, without_waiting
from inspector.profiles.judging import judged
from inspector.programs.registry import crash_prefix_of
from inspector.reports.error_meanings import Meaning
from inspector.reports.explain import Explanation, OtherReader, explanation_report, same_refusal
from inspector.reports.panels import Alignment
from inspector.reports.recorded_errors import recorded_errors
from inspector.rules.base import Case, findings
from inspector.rules.catalogue import RULES
from inspector.strategies.base import Strategy
from inspector.strategies.catalogue import STRATEGIES

Json = dict[str, Any]
TRIED = 20_000
"""Chunks of a history up to which strategies are tried on it."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """A strategy that a recognized rule names, or that is recommended. `edits`: how many it would make in the history; None: not tried."""

    strategy: Strategy
    edits: int | None
    is_recommended: bool = False


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

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.strategies)


def profile_of(found: Sequence[Explanation], own_profile: str) -> str:
    """Of the profiles that may have answered so the conversation's own, else the first."""
    names = found[0].candidate.profiles
    return own_profile if own_profile in names else names[0]


def advised(case: Case, profile_name: str, own_projection: str, observed: str) -> Advice:
    """As `repair --for` has it; of a history that is too large to try them, only what the rules name. Raises UnknownProfile, UnknownProjection."""
    troubles = findings(case, RULES)
    judgement = judged(case.reading, case.conversation, profile_name, own_projection)[1]
    if len(case.conversation.chunks) <= TRIED:
        found = sequence(case, troubles, profile_name, own_projection)
    else:
        found = without_waiting(case, troubles, judgement, own_projection)
    return advice_of(case, [each.name for each in found.candidate.strategies], found.why_not, profile_name, own_projection, observed)


def advice_of(case: Case, names: Sequence[str], why_not: str, profile_name: str, own_projection: str, observed: str) -> Advice:
    """Of a recommendation that is made already."""
    strategies, repaired = composed(case, names)
    now, after = (judged(each.reading, each.conversation, profile_name, own_projection)[1].verdict for each in (case, repaired))
    return Advice(profile_name, case.reading.reader, strategies, why_not, observed, now, after)


def observed(found: Sequence[Explanation], text: str, cases: Iterable[Case]) -> str:
    """The rejection in a few words: which rule, where, and what recorded it; of these cases the first that did."""
    candidate = found[0].candidate
    number, block = candidate.values.get("n"), candidate.values.get("m")
    place = next((place.path for each in found for place in each.places if place.is_exact), "")
    place = place or (f"message {number}{f', block {block}' if block else ''}" if number else "")
    source = next((source for case in cases if (source := _source(case, text))), "the error text says")
    return f"rejected{f' at {place}' if place else ''} ({candidate.rule.id}), as {source}"


def _source(case: Case, text: str) -> str:
    where = next((each.where for each in recorded_errors(case) if same_refusal(text, each.text)), None)
    if where is None:
        return ""
    native_id = case.conversation.native_id
    prefix = crash_prefix_of(case.conversation.format, native_id)
    return f"the crash file {native_id.removeprefix(prefix)} records" if prefix else f"recorded at {where}"


def remedies(found: Explanation, case: Case | None, advice: Advice | None) -> tuple[Remedy, ...]:
    """What is recommended first, then what else the rule names and would change something, then what would not."""
    recommended = advice.names if advice else ()
    is_tried = case is not None and len(case.conversation.chunks) <= TRIED
    listed = [
        Remedy(each, sum(1 for _ in each.edits(case)) if case is not None and is_tried else None, name in recommended)
        for name in dict.fromkeys((*recommended, *found.candidate.rule.repaired_by))
        for each in STRATEGIES
        if each.name == name
    ]
    # A recommended one may change nothing before the others have: it stays first.
    return tuple(sorted(listed, key=lambda each: (not each.is_recommended, each.edits == 0)))


def repaired_by(listed: Sequence[Remedy]) -> tuple[str, ...]:
    """Names of the recommended ones; where nothing is recommended, of those that would change something."""
    recommended = tuple(each.strategy.name for each in listed if each.is_recommended)
    return recommended or tuple(each.strategy.name for each in listed if each.edits != 0)


def repaired_by_words(listed: Sequence[Remedy]) -> str:
    """What is recommended, what else would change something, and what would not."""
    if not any(each.is_recommended or each.edits is not None for each in listed):
        return ", ".join(each.strategy.name for each in listed)
    parts = [
        ", ".join(f"{with_safety(each.strategy)}, recommended" for each in listed if each.is_recommended),
        ", ".join(
            f"{with_safety(each.strategy)}, {each.edits:,} edit{'s' if each.edits > 1 else ''}"
            for each in listed
            if each.edits and not each.is_recommended
        ),
    ]
    said = "; or ".join(part for part in parts if part) or "nothing of what usually does"
    idle = ", ".join(each.strategy.name for each in listed if each.edits == 0 and not each.is_recommended)
    return f"{said}; would change nothing here: {idle}" if idle else said


def with_safety(strategy: Strategy) -> str:
    return f"{strategy.name} ({', '.join(sorted(strategy.safety)) or 'safe'})"


def error_report(
    text: str,
    found: Sequence[Explanation],
    known: Meaning | None,
    pointed: tuple[Json, Case] | None,
    repairable: tuple[Json, Case] | None,
    advice: Advice | None,
    others: Sequence[OtherReader],
    alignment: Alignment | None,
) -> Json:
    """What `explain --json` and the page's twin say. `pointed` is the conversation whose numbers the text counts, `repairable` the one that a repair changes, each by its ids."""
    listed = {each.candidate.rule.id: repaired_by(remedies(each, repairable[1], advice)) for each in found} if repairable else None
    report = explanation_report(text, found, listed)
    if known is not None:
        report["known"] = {"means": known.means, "advice": known.advice, "transient": known.is_transient, "rule": known.rule}
    if pointed is not None:
        report["conversation"] = pointed[0] | {"reader": pointed[1].reading.reader}
    if advice is not None and repairable is not None:
        report["recommended"] = repairable[0] | _advice_report(advice)
    if alignment is not None:
        report["stored"] = [
            {"path": piece.path, "seq": piece.stored.seq, "record": piece.stored.key} for piece in alignment.named if piece.stored
        ]
    if others:
        report["other_readers"] = [
            {"reader": each.reader, "path": each.path, "seqs": list(each.seqs), "breaks_the_rule": each.is_broken} for each in others
        ]
    return report


def _advice_report(advice: Advice) -> Json:
    return {
        "profile": advice.profile,
        "reader": advice.reader,
        "strategies": list(advice.names),
        "why_not": advice.why_not,
        "before": {"observed": advice.observed, "judged": advice.now},
        "after": advice.after,
    }
