"""What the plans of several conversations do together: each plan as facts that can be kept, and their sum."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from inspector.planning.preview import Preview
from inspector.presentation.conversation.ending import ACCEPTED
from inspector.presentation.repair.alternatives import safety_words
from inspector.presentation.repair.plan import ACTS, counts, ending_after, ending_of_side, headline, remaining, remaining_words
from inspector.presentation.visible import size
from inspector.rules.base import Severity
from inspector.rules.catalogue import RULES

MOST_RULES = 4
_ACTS = {**ACTS, "reindexed": "renumbered"}


def plan_facts(preview: Preview) -> dict[str, Any]:
    """JSON: chunks by what becomes of them, bytes that are written, findings by rule as `counts` has them, verdicts, costs."""
    ops = Counter(row.op for row in preview.rows)
    return {
        "ops": {op: ops[op] for op in _ACTS},
        "bytes": preview.bytes_new,
        "counts": counts(preview),
        "remaining": remaining(preview),
        "accepted": [of.words == ACCEPTED for of in (ending_of_side(preview.before), ending_after(preview))],
        "profile": preview.after.judgement.profile,
        "safety": sorted(map(str, preview.plan.safety)),
        "costs": [cost.sentence for cost in preview.costs],
        "headline": headline(preview),
    }


NOTES = frozenset(rule.code for rule in RULES if rule.severity is Severity.NOTE)


class Change(NamedTuple):
    """Findings of one rule before and after."""

    code: str
    before: int
    after: int
    severity: str = ""
    """The worst of those after, where it is known."""

    @property
    def words(self) -> str:
        return f"{self.code} {self.before:,}→{self.after:,}" if self.before else f"{self.code} +{self.after:,}"

    @property
    def is_worse(self) -> bool:
        return self.after > self.before

    @property
    def tone(self) -> str:
        """The color of its badge: more notes ask for nothing."""
        is_note = self.severity == "note" if self.severity else self.code in NOTES
        return ("note" if is_note else "warn") if self.is_worse else "ok"


def changes_of(counts: Iterable[tuple[str, int, int] | tuple[str, int, int, str]]) -> tuple[Change, ...]:
    """Of the rules whose findings become more or less; those that get worse come first, since a reviewer must not miss them."""
    changed = [Change(*row) for row in counts if row[1] != row[2]]
    return tuple(sorted(changed, key=lambda change: not change.is_worse))


@dataclass(frozen=True, slots=True)
class GroupSum:
    """`accepted`: conversations whose request a provider accepts before and after, and that does not go wrong silently."""

    number: int
    ops: Mapping[str, int]
    bytes: int
    changes: tuple[Change, ...]
    accepted: tuple[int, int]
    costs: tuple[tuple[str, int], ...]
    """Sentence, and of how many conversations."""
    safety: str
    remaining: Mapping[str, int] | None
    """Severity -> findings after all of them; None where a plan of an older version does not say it."""

    @property
    def did(self) -> str:
        """What they write."""
        words = [f"{self.ops[op]:,} {act}" for op, act in _ACTS.items() if self.ops[op]]
        return f"chunks: {', '.join(words) or 'none change'} · {size(self.bytes)} new"

    @property
    def outcome(self) -> str:
        """What the requests and the findings are like after them."""
        before, after = self.accepted
        accepted = f"requests accepted: {before:,} → {after:,}" if before != after else f"requests accepted: {after:,} of {self.number:,}"
        return accepted if self.remaining is None else f"{accepted} · {remaining_words(self.remaining)}"

    @property
    def short(self) -> str:
        """As the headline, without the rules."""
        return " · ".join([self._conversations, self.did, self.outcome])

    @property
    def _conversations(self) -> str:
        return f"{self.number:,} conversation{'' if self.number == 1 else 's'}"

    @property
    def headline(self) -> str:
        parts = [self._conversations, self.did]
        parts += [f"{change.code} {change.before:,} → {change.after:,}" for change in self.changes[:MOST_RULES]]
        if more := self.changes[MOST_RULES:]:
            parts.append(f"{len(more)} more rule{' changes' if len(more) == 1 else 's change'}")
        return " · ".join([*parts, self.outcome])


def sum_of(plans: Iterable[Mapping[str, Any]]) -> GroupSum:
    """`plans` as `plan_facts` has them; one that could not be made is left out."""
    plans = [plan for plan in plans if plan]
    ops, before, after, costs, left = Counter[str](), Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for plan in plans:
        ops.update(plan["ops"])
        for code, (old, new, *_) in plan["counts"].items():
            before[code] += old
            after[code] += new
        costs.update(set(plan["costs"]))
        left.update(plan.get("remaining", {}))
    return GroupSum(
        len(plans),
        {op: ops[op] for op in _ACTS},
        sum(plan["bytes"] for plan in plans),
        changes_of((code, before[code], after[code]) for code in sorted(before | after)),
        (sum(plan["accepted"][0] for plan in plans), sum(plan["accepted"][1] for plan in plans)),
        tuple(costs.most_common()),
        safety_words({word for plan in plans for word in plan["safety"]}),
        dict(left) if all("remaining" in plan for plan in plans) else None,
    )
