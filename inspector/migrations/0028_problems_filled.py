"""Fills problems and their occurrences from what is stored, as `counting` does for what is imported from now on; and says which conversations a fork replaced.

A few thousand rows are in memory at a time; days and problems stay until the end, of which there are few.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain, groupby, islice
from typing import Any

from django.db import migrations
from django.db.models import Case, Exists, F, Max, Min, OuterRef, Subquery, Value, When
from django.utils import timezone

BATCH = 2000
OPEN, REPLACED, REPAIRED, GONE = range(4)
RANKS = {"error": 0, "warning": 2, "note": 4}
WORST = Min(Case(*(When(severity=name, silent=silent, then=Value(rank + (not silent))) for name, rank in RANKS.items() for silent in (True, False))))


def fill(apps: Any, schema_editor: Any) -> None:
    _name_forks(apps)
    _Filling(apps).run()


def _name_forks(apps: Any) -> None:
    conversations, repairs, revisions = (apps.get_model("inspector", name).objects for name in ("Conversation", "Repair", "Revision"))
    for repair in repairs.filter(state__in=("applied", "verified")).select_related("conversation").order_by("pk").iterator(chunk_size=BATCH):
        fork_id, original = repair.options.get("fork_id"), repair.conversation
        if not fork_id:
            continue
        forks = conversations.filter(source=original.source_id, native_id__endswith=fork_id)
        forks.update(forked_by=repair)
        last = revisions.filter(conversation=original).order_by("-number").first()
        if last is not None and last.digest == repair.base_digest and not forks.filter(is_gone=True).exists() and not original.is_replaced:
            _replace(apps, original)


def _replace(apps: Any, original: Any) -> None:
    counts, rules, rule_counts = (apps.get_model("inspector", name).objects for name in ("ConversationCount", "ConversationRule", "RuleCount"))
    original.is_damaged, original.is_replaced = False, True
    if before := original.counted:
        flags = {name: getattr(original, name) for name in ("source", "is_gone", "is_damaged", "has_silent", "refused", "is_crash", "is_replaced")}
        after, _ = counts.get_or_create(**flags)
        for count, sign in ((before, -1), (after, 1)):
            counts.filter(pk=count.pk).update(
                conversations=F("conversations") + sign, chunks=F("chunks") + sign * original.counted_chunks
            )
        original.counted = after
    original.save(update_fields=["is_damaged", "is_replaced", "counted"])
    for row in rules.filter(conversation=original):
        if not row.is_gone:
            rule_counts.filter(source=original.source, code=row.code, severity=row.severity).update(
                conversations=F("conversations") - int(row.is_worst), findings=F("findings") - row.findings
            )
    rules.filter(conversation=original).update(is_worst=False)


class _Filling:
    def __init__(self, apps: Any) -> None:
        names = ("Problem", "ProblemDay", "Occurrence", "Conversation", "ConversationRule", "Finding", "Revision", "Repair")
        self.models = {name: apps.get_model("inspector", name) for name in names}
        self.problems: dict[tuple[int, str], Any] = {}
        self.days: dict[tuple[Any, ...], Any] = {}
        self.now = timezone.now()
        self.repairs: dict[tuple[int, int], int] = {}
        self.forks: dict[int, int] = {}
        rows = self.models["Repair"].objects.filter(state__in=("applied", "verified")).order_by("pk")
        for pk, conversation, revision, options in rows.values_list("pk", "conversation_id", "revision", "options"):
            if options.get("fork_id"):
                self.forks[conversation] = pk
            else:
                self.repairs[conversation, revision] = pk

    def run(self) -> None:
        occurrences = chain(self._found(), self._closed())
        while batch := list(islice(occurrences, BATCH)):
            self.models["Occurrence"].objects.bulk_create(batch)
        for row in (*self.days.values(), *self.problems.values()):
            row.save()

    def _found(self) -> Iterator[Any]:
        """Of what is found in the newest revisions."""
        rules = self.models["ConversationRule"].objects.order_by("conversation_id", "code", "severity", "silent")
        about = self._about("conversation_id", "conversation__")
        rows = rules.values_list("conversation_id", "code", "rule", "severity", "silent", "findings", *about)
        for (pk, code), group in groupby(rows.iterator(chunk_size=BATCH), key=lambda row: row[:2]):
            of_rule = list(group)
            rank = min(RANKS[row[3]] + (not row[4]) for row in of_rule)
            is_gone, is_replaced = of_rule[0][7], of_rule[0][8]
            state = GONE if is_gone else REPLACED if is_replaced else OPEN
            repair = self.forks.get(pk) if state == REPLACED else None
            yield self._occurrence(pk, code, of_rule[0][2], rank, sum(row[5] for row in of_rule), state, repair, of_rule[0][6:])

    def _closed(self) -> Iterator[Any]:
        """Of what was found in an earlier revision, and is not any more."""
        still = self.models["ConversationRule"].objects.filter(conversation=OuterRef("conversation_id"), code=OuterRef("code"))
        findings = self.models["Finding"].objects.filter(~Exists(still), is_open=False).order_by("conversation_id", "code")
        about = self._about("conversation_id", "conversation__")
        grouped = findings.values_list("conversation_id", "code").annotate(name=Min("rule"), worst=WORST, last=Max("revision"))
        rows = grouped.values_list("conversation_id", "code", "name", "worst", "last", *about)
        for pk, code, rule, rank, last, *rest in rows.iterator(chunk_size=BATCH):
            yield self._occurrence(pk, code, rule, rank, 0, REPAIRED, self.repairs.get((pk, last)), rest)

    def _about(self, key: str, path: str) -> tuple[Any, ...]:
        seen = self.models["Revision"].objects.filter(conversation=OuterRef(key)).order_by("-number").values("seen_at")[:1]
        names = ("source_id", "is_gone", "is_replaced", "place", "last_activity", "model", "revision", "forked_by_id", "source__oid")
        return (*(path + name for name in names), Subquery(seen))

    def _occurrence(self, pk: int, code: str, rule: str, rank: int, findings: int, state: int, repair: Any, about: Any) -> Any:
        source, _, _, place, last_activity, model, revision, forked_by, source_oid, seen_at = about
        at = last_activity if last_activity is not None else int((seen_at or self.now).timestamp() * 1000)
        problem = self._problem(source, source_oid, code, rule, rank, at)
        problem.total += 1
        if state == OPEN:
            problem.rank = rank if not problem.conversations else min(problem.rank, rank)
            problem.conversations += 1
            problem.findings += findings
            problem.repaired_at = None
        problem.first_seen, problem.last_seen = min(problem.first_seen, at), max(problem.last_seen, at)
        day = None if forked_by else self._day(problem, at, model)
        return self.models["Occurrence"](
            problem=problem, conversation_id=pk, state=state, rank=rank, place=place, findings=findings, first_at=at, day=day,
            closed_at=None if state == OPEN else self.now, closed_revision=0 if state == OPEN else revision, repair_id=repair,
        )  # fmt: skip

    def _problem(self, source: int, source_oid: str, code: str, rule: str, rank: int, at: int) -> Any:
        if (source, code) not in self.problems:
            oid = _short_id("problem", source_oid, code)
            fields = {"source_id": source, "code": code, "rule": rule, "rank": rank, "first_seen": at, "last_seen": at}
            self.problems[source, code] = self.models["Problem"].objects.create(oid=oid, repaired_at=self.now, **fields)
        return self.problems[source, code]

    def _day(self, problem: Any, at: int, model: str) -> Any:
        day = datetime.fromtimestamp(at / 1000, UTC).date()
        key = (problem.pk, day, model)
        if key not in self.days:
            self.days[key] = self.models["ProblemDay"].objects.create(problem=problem, day=day, client_version="", model=model)
        self.days[key].occurrences += 1
        return self.days[key]


def _short_id(*parts: str) -> str:
    """As `identity.short_id` made it when this was written."""
    sha = sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        sha.update(len(data).to_bytes(8, "big"))
        sha.update(data)
    return sha.hexdigest()[:12]


class Migration(migrations.Migration):
    dependencies = [("inspector", "0027_problems")]
    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
