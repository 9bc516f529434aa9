"""The rows of lists of repairs: which findings each takes away, which it makes, and what of its conversations is in the list."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from inspector.models import Repair, RepairComment
from inspector.models.problem import SEVERITIES
from inspector.planning.preview import safety_of as marks_of
from inspector.presentation.clock import age_words
from inspector.presentation.repair.alternatives import safety_words
from inspector.presentation.repair.group_sum import NOTES, Change, changes_of, sum_of
from inspector.presentation.repair.plan import parts_of
from inspector.programs.catalogue import format_named
from inspector.programs.formats import mode_risk
from inspector.rules.base import Severity
from inspector.rules.catalogue import RULES
from inspector.strategies.catalogue import STRATEGIES

SHOWN_CHANGES = 4


@dataclass(frozen=True, slots=True)
class RepairRow:
    """One repair, or those of a group that are in the list: `together` of `whole`.

    `did` is what the plan writes, `outcome` what that is good for, `safety` what its strategies do beyond moving things.
    """

    repair: Repair
    changes: tuple[Change, ...]
    left_out: int
    """Rules that change and are not in `changes`."""
    did: str
    outcome: str
    safety: str
    strategies: tuple[str, ...]
    together: int
    whole: int
    left: tuple[tuple[str, str], ...]
    """Code and severity of the rules that are found after it as often as before, errors first, but for those of notes; () of a group."""
    risk: str
    """What its mode does to the conversation that is there."""

    @property
    def title(self) -> str:
        if (group := self.repair.group) is None:
            return str(self.repair.conversation.title or self.repair.conversation.short_native_id)
        share = f"{self.whole}" if self.together == self.whole else f"{self.together} of {self.whole}"
        return f"{share} conversation{'' if self.whole == 1 else 's'}: {group.rule}"

    @property
    def act(self) -> str:
        """What its strategies do, as the first words of a title."""
        return ", then ".join(name.replace("-", " ") for name in self.strategies).capitalize()

    @property
    def next_request(self) -> str:
        """The part of the outcome about the request, without the profile that judges it."""
        return self.outcome.partition(" · ")[0].removeprefix(f"{self.repair.profile}: ")

    @property
    def remaining(self) -> str:
        return self.outcome.partition(" · ")[2]

    @property
    def href(self) -> str:
        return f"/repair-groups/{self.repair.group.oid}/" if self.repair.group else f"/repairs/{self.repair.oid}/"

    def other_words(self, now: int) -> int:
        """Words of its row next to the title, as the inbox shows it: safety, source, strategies, rules, outcome, people, and when it was proposed."""
        repair = self.repair
        rules = sum(len(change.words.split()) for change in self.changes) + 2 * bool(self.left_out)
        names = (
            min(3, len(repair.conversation.source.name.split())) + min(2, len(repair.proposed_by.split())) + min(2, len(repair.reviewers))
        )
        # Only what a repair loses or invents is said.
        others = (
            (0 if self.safety == "safe" else len(self.safety.split()))
            + 2
            + len(self.strategies)
            + len(self.outcome.split())
            + (not repair.reviewers)
        )
        return rules + names + others + age_words(int(repair.proposed_at.timestamp() * 1000), now)


def with_together(rows: QuerySet[Repair], states: Iterable[str]) -> QuerySet[Repair]:
    """With `together`: of the group of each how many repairs are in one of the states, of each conversation the newest; 0 of a repair alone."""
    newer = Repair.objects.filter(group=OuterRef("group"), conversation=OuterRef("conversation"), pk__gt=OuterRef("pk"))
    of_group = Repair.objects.filter(group=OuterRef("group"), state__in=tuple(states)).exclude(pk__in=Subquery(newer.values("pk")))
    number = of_group.order_by().values("group").annotate(n=Count("pk")).values("n")
    return rows.annotate(together=Coalesce(Subquery(number), 0))


def with_comments(rows: QuerySet[Repair]) -> QuerySet[Repair]:
    """With `comment_count`: how many words people left on each, decisions without a word not counted."""
    of_repair = RepairComment.objects.filter(repair=OuterRef("pk")).exclude(text="")
    number = of_repair.order_by().values("repair").annotate(n=Count("pk")).values("n")
    return rows.annotate(comment_count=Coalesce(Subquery(number), 0))


def rows_of(repairs: Iterable[Repair]) -> tuple[RepairRow, ...]:
    return tuple(map(_row, repairs))


def _row(repair: Repair) -> RepairRow:
    if (group := repair.group) is not None:
        total = sum_of(member["plan"] for member in group.members)
        changed, (did, outcome), strategies, safety = total.changes, (total.did, total.outcome), group.strategies, total.safety
        whole = len(group.members)
    else:
        changed = changes_of((code, before, after) for code, (before, after, *_) in repair.counts.items())
        (did, outcome), strategies, whole = parts_of(repair.summary), repair.strategies, 1
        safety = safety_of(repair)
    same = () if group or "no error" in outcome else (code for code, (before, after, *_) in repair.counts.items() if after == before)
    left = sorted(((code, severity_of(code)) for code in same if code not in NOTES), key=lambda rule: (SEVERITIES.index(rule[1]), rule[0]))
    together = getattr(repair, "together", whole) or whole
    return RepairRow(
        repair,
        changed[:SHOWN_CHANGES],
        len(changed[SHOWN_CHANGES:]),
        did,
        outcome,
        safety,
        tuple(strategies),
        min(together, whole),
        whole,
        tuple(left[:SHOWN_CHANGES]),
        mode_risk(format_named(repair.conversation.source.format), repair.mode),
    )


def severity_of(code: str) -> str:
    """Of a rule; that of a note for one that only an older Inspector had."""
    return next((str(rule.severity) for rule in RULES if rule.code == code), str(Severity.NOTE))


def safety_of(repair: Repair) -> str:
    """What it does beyond moving things; of one of an older Inspector what its strategies do, of which one that this one has not says nothing of itself."""
    return repair.safety or safety_words(marks_of([strategy for strategy in STRATEGIES if strategy.name in repair.strategies]))
