"""The occurrences of problems, kept with every write as the counts of the lists are (see `counting`): an import costs what it touched."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from itertools import islice
from typing import Any

from django.db import connection
from django.db.models import Count, Max, Min
from django.utils import timezone

from inspector.models.bulk import insert, update
from inspector.models.conversation import Conversation
from inspector.models.outbox import announce
from inspector.models.problem import WORST_FIRST, Occurrence, Problem, ProblemDay, ProblemEvent, ProblemState, rank_of
from inspector.models.repair import Repair
from inspector.models.source import Source
from inspector.models.stream import Stream, StreamFinding
from inspector.notifying.events import problem_item

REPAIRED, OCCURRED, OPENED = "repaired", "occurred again", "opened again"
"""Verbs of events that nobody decided."""
_State = Occurrence.State
_FIELDS = (
    *("problem", "conversation", "stream", "state", "rank", "place", "findings", "first_at", "day"),
    *("closed_at", "closed_revision", "repair", "regressed_at"),
)
_OF_DATA = (
    *("rank", "conversations", "findings", "total", "first_seen", "last_seen", "repaired_at", "regressed_at"),
    *("decision", "reason", "until_occurs", "fixed_in", "fixed_at", "fixed_by"),
)
"""What a batch may change in a problem."""
_COLUMNS = ("pk", *({field.name: field.attname for field in Occurrence._meta.concrete_fields}[name] for name in _FIELDS))
_DayKey = tuple[int, date, str, str]
"""Problem, day, version of the client, model."""
_BATCH = 500


@dataclass(frozen=True, slots=True)
class _Subject:
    """What a rule occurs in, a conversation or a captured stream; `at` is its activity in epoch milliseconds.

    `is_ours`: a repair wrote it, so that what it still has was not done again. `is_silent`: its next request goes wrong and nobody is told, so that
    nothing reports there what elsewhere raises an error.
    """

    pk: int
    source_id: int
    source_oid: str
    at: int
    place: int
    revision: int
    model: str
    client_version: str = ""
    is_gone: bool = False
    is_replaced: bool = False
    is_ours: bool = False
    is_silent: bool = False
    is_stream: bool = False


@dataclass(frozen=True, slots=True)
class _Findings:
    """Of one rule in one conversation or stream, open ones: the name of the rule, the rank of the worst, and how many."""

    rule: str
    rank: int
    number: int


@dataclass(slots=True)
class _Row:
    """An occurrence; `pk` is None of a new one, `day_key` says where it is to be counted."""

    pk: int | None
    problem_id: int
    conversation_id: int | None
    stream_id: int | None
    state: int
    rank: int
    place: int
    findings: int
    first_at: int
    day_id: int | None = None
    closed_at: datetime | None = None
    closed_revision: int = 0
    repair_id: int | None = None
    regressed_at: datetime | None = None
    day_key: _DayKey | None = None

    @property
    def subject_id(self) -> int:
        pk = self.stream_id if self.conversation_id is None else self.conversation_id
        assert pk is not None
        return pk

    @property
    def values(self) -> list[Any]:
        """In the order of _FIELDS."""
        return [getattr(self, name) for name in _COLUMNS[1:]]


@dataclass(slots=True)
class _Change:
    """What a batch changes in a problem. `lost`: one of its worst occurrences is not open or not as severe any more."""

    conversations: int = 0
    findings: int = 0
    total: int = 0
    best: int = 9
    lost: bool = False
    occurred: bool = False
    regressed: bool = False
    after_fix: str | None = None
    """Version of a client that did it after the fix, "" where it is not known; None where none did."""


def renew(ids: list[int], rule_rows: Iterable[tuple[Any, ...]]) -> None:
    """Brings occurrences and problems of these conversations up to the rows that ConversationRule has of them now. Only inside `one_writer`."""
    findings = _by_rule(rule_rows)
    kept = [_Row(*row) for row in Occurrence.objects.filter(conversation__in=ids).values_list(*_COLUMNS).order_by()]
    if findings or kept:
        _Batch(_conversations(ids), findings, kept, _repairs(ids), _undone(kept)).run()


def renew_streams(ids: Iterable[int]) -> None:
    """Brings occurrences and problems of these streams up to what is stored of them now. Only inside `one_writer`."""
    rest = iter(ids)
    while batch := list(islice(rest, _BATCH)):
        rows = StreamFinding.objects.filter(stream__in=batch).order_by()
        grouped = rows.values_list("stream_id", "code", "severity", "silent").annotate(name=Min("rule"), n=Count("pk"))
        findings = _by_rule(grouped.values_list("stream_id", "code", "severity", "silent", "name", "n"))
        kept = [_Row(*row) for row in Occurrence.objects.filter(stream__in=batch).values_list(*_COLUMNS).order_by()]
        if findings or kept:
            _Batch(_streams(batch), findings, kept, {}, {}).run()


def _conversations(ids: list[int]) -> dict[int, _Subject]:
    now = _milliseconds(timezone.now())
    only = (
        *("source__oid", "revision", "last_activity", "place", "is_gone", "is_replaced", "forked_by_id", "client_version", "model"),
        "next_request",
    )
    rows = Conversation.objects.filter(pk__in=ids).select_related("source").only(*only).order_by()
    return {
        row.pk: _Subject(
            pk=row.pk,
            source_id=row.source_id,
            source_oid=row.source.oid,
            at=now if row.last_activity is None else row.last_activity,
            place=row.place,
            revision=row.revision,
            model=row.model,
            client_version=row.client_version,
            is_gone=row.is_gone,
            is_replaced=row.is_replaced,
            is_ours=row.forked_by_id is not None,
            is_silent=row.is_silent,
        )
        for row in rows
    }


def _streams(ids: list[int]) -> dict[int, _Subject]:
    """In the order of their file, since all of a problem are of one."""
    only = ("source__oid", "revision", "file_time", "seen_at", "position", "is_gone", "model")
    rows = Stream.objects.filter(pk__in=ids).select_related("source").only(*only).order_by()
    return {
        row.pk: _Subject(
            pk=row.pk,
            source_id=row.source_id,
            source_oid=row.source.oid,
            at=row.captured_at,
            place=row.position,
            revision=row.revision,
            model=row.model,
            is_gone=row.is_gone,
            is_stream=True,
        )
        for row in rows
    }


def _repairs(ids: list[int]) -> dict[int, list[tuple[int, int, bool]]]:
    """Of each conversation (repair, revision it was made for, whether it wrote a fork), as they were made."""
    by_conversation: dict[int, list[tuple[int, int, bool]]] = defaultdict(list)
    repairs = Repair.objects.filter(conversation__in=ids, state__in=(Repair.State.APPLIED, Repair.State.VERIFIED)).order_by("pk")
    for pk, conversation, revision, options in repairs.values_list("pk", "conversation_id", "revision", "options"):
        by_conversation[conversation].append((pk, revision, bool(options.get("fork_id"))))
    return by_conversation


def _undone(kept: list[_Row]) -> dict[int, datetime]:
    """When a repair of a conversation with closed occurrences was undone last."""
    closed = {row.subject_id for row in kept if row.state != _State.OPEN}
    undone = Repair.objects.filter(conversation__in=closed, state=Repair.State.UNDONE).order_by() if closed else Repair.objects.none()
    return dict(undone.values_list("conversation_id").annotate(Max("undone_at")))


def _by_rule(rule_rows: Iterable[tuple[Any, ...]]) -> dict[tuple[int, str], _Findings]:
    by_rule: dict[tuple[int, str], _Findings] = {}
    for pk, code, severity, silent, rule, number, *_ in rule_rows:
        rank, other = rank_of(severity, silent), by_rule.get((pk, code))
        by_rule[pk, code] = _Findings(rule, min(rank, other.rank), number + other.number) if other else _Findings(rule, rank, number)
    return by_rule


class _Batch:
    """Of conversations or of streams; what it looks at is by their ids."""

    def __init__(
        self,
        subjects: dict[int, _Subject],
        findings: dict[tuple[int, str], _Findings],
        kept: list[_Row],
        repairs: Mapping[int, list[tuple[int, int, bool]]],
        undone: Mapping[int, datetime],
    ) -> None:
        self._now = timezone.now()
        self._subjects, self._findings, self._repairs, self._undone = subjects, findings, repairs, undone
        sources = {subject.source_id for subject in subjects.values()}
        self._problems = {(problem.source_id, problem.code): problem for problem in Problem.objects.filter(source__in=sources)}
        codes = {problem.pk: problem.code for problem in self._problems.values()}
        self._kept = {(row.subject_id, codes[row.problem_id]): row for row in kept}
        self._changes: dict[int, _Change] = defaultdict(_Change)
        self._written: list[_Row] = []
        self._news: dict[str, list[Problem]] = {"new-problem": [], "regression": []}

    def run(self) -> None:
        self._add_problems()
        for key in {**self._kept, **self._findings}:
            self._renew(self._subjects[key[0]], key[1])
        self._count_days()
        insert(Occurrence, _FIELDS, (row.values for row in self._written if row.pk is None))
        update(Occurrence, _FIELDS, ([*row.values, row.pk] for row in self._written if row.pk is not None))
        changed = [problem for problem in self._problems.values() if problem.pk in self._changes]
        for problem in changed:
            self._renew_problem(problem, self._changes[problem.pk])
        fields = [field for field in Problem._meta.concrete_fields if field.name in _OF_DATA]
        # Times as the ORM writes them, since lists compare them.
        values = ([field.get_db_prep_save(getattr(problem, field.attname), connection) for field in fields] for problem in changed)
        update(Problem, [field.name for field in fields], ((*row, problem.pk) for row, problem in zip(values, changed, strict=True)))
        self._announce()

    def _add_problems(self) -> None:
        """Those that occur for the first time."""
        new: dict[tuple[int, str], Problem] = {}
        for (pk, code), findings in self._findings.items():
            subject = self._subjects[pk]
            key = (subject.source_id, code)
            if key not in self._problems and key not in new and _state(subject, findings, None) == _State.OPEN:
                oid = Problem.oid_of(subject.source_oid, code)
                seen = {"first_seen": subject.at, "last_seen": subject.at}
                new[key] = Problem(oid=oid, source_id=subject.source_id, code=code, rule=findings.rule, rank=findings.rank, **seen)
        self._problems |= zip(new, Problem.objects.bulk_create(new.values()), strict=True)
        self._news["new-problem"] = [self._problems[key] for key in new]

    def _renew(self, subject: _Subject, code: str) -> None:
        findings, row = self._findings.get((subject.pk, code)), self._kept.get((subject.pk, code))
        state = _state(subject, findings, row)
        if findings is not None and subject.is_silent:
            findings = replace(findings, rank=findings.rank - findings.rank % 2)
        if row is None and (findings is None or state != _State.OPEN):
            return
        at, problem = subject.at, self._problems[subject.source_id, code]
        if row is None:
            assert findings is not None
            of_conversation, of_stream = (None, subject.pk) if subject.is_stream else (subject.pk, None)
            row = _Row(None, problem.pk, of_conversation, of_stream, _State.GONE, findings.rank, subject.place, 0, at)
        after = (state, findings.rank if findings else row.rank, subject.place, findings.number if findings else 0)
        if after == (row.state, row.rank, row.place, row.findings):
            return
        change, was_open, is_open = self._changes[problem.pk], row.state == _State.OPEN, state == _State.OPEN
        change.conversations += is_open - was_open
        change.findings += (after[3] if is_open else 0) - (row.findings if was_open else 0)
        change.lost |= was_open and row.rank == problem.rank and (not is_open or after[1] > row.rank)
        if is_open:
            change.best = min(change.best, after[1])
            problem.first_seen, problem.last_seen = min(problem.first_seen, at), max(problem.last_seen, at)
        if is_open and not was_open:
            self._open(subject, code, row, change)
        elif was_open and not is_open:
            row.closed_at, row.closed_revision = self._now, subject.revision
            row.repair_id = self._repair(subject, state)
        row.state, row.rank, row.place, row.findings = after
        self._written.append(row)

    def _open(self, subject: _Subject, code: str, row: _Row, change: _Change) -> None:
        if row.pk is None:
            change.total += 1
            is_new = not subject.is_ours
        else:
            undone_at = self._undone.get(subject.pk)
            is_undone = undone_at is not None and row.closed_at is not None and undone_at >= row.closed_at
            # The same bytes are only judged otherwise: by another reader, or other rules.
            is_new = row.state in (_State.REPAIRED, _State.REPLACED) and subject.revision != row.closed_revision and not is_undone
            change.regressed |= is_new
            row.regressed_at = self._now if is_new else None
            row.closed_at = row.repair_id = None
        change.occurred |= is_new
        if is_new:
            if self._problems[subject.source_id, code].is_after_fix(subject.client_version, subject.at):
                change.after_fix = subject.client_version
            row.day_key = (row.problem_id, _day(subject.at), subject.client_version, subject.model)

    def _repair(self, subject: _Subject, state: int) -> int | None:
        """The repair of ours after which it is not found in this revision, or the fork that replaced it."""
        repairs = self._repairs.get(subject.pk, [])
        if state == _State.REPLACED:
            return next((pk for pk, _, is_fork in reversed(repairs) if is_fork), None)
        if state == _State.REPAIRED:
            return next((pk for pk, revision, is_fork in reversed(repairs) if not is_fork and revision == subject.revision - 1), None)
        return None

    def _count_days(self) -> None:
        counts = Counter(row.day_key for row in self._written if row.day_key is not None)
        if not counts:
            return
        of_days = ProblemDay.objects.filter(problem__in={key[0] for key in counts}, day__in={key[1] for key in counts})
        days = {(day.problem_id, day.day, day.client_version, day.model): day for day in of_days}
        missing = [ProblemDay(problem_id=key[0], day=key[1], client_version=key[2], model=key[3]) for key in counts if key not in days]
        days |= {(day.problem_id, day.day, day.client_version, day.model): day for day in ProblemDay.objects.bulk_create(missing)}
        update(ProblemDay, ("occurrences",), ((days[key].occurrences + number, days[key].pk) for key, number in counts.items()))
        for row in self._written:
            if row.day_key is not None:
                row.day_id = days[row.day_key].pk

    def _renew_problem(self, problem: Problem, change: _Change) -> None:
        was_open = problem.conversations > 0
        problem.conversations += change.conversations
        problem.findings += change.findings
        problem.total += change.total
        is_open = problem.conversations > 0
        if is_open and change.lost:
            problem.rank = _worst(problem)
        elif is_open:
            problem.rank = min(problem.rank, change.best) if was_open else change.best
        if was_open and not is_open:
            problem.repaired_at, problem.regressed_at = self._now, None
            _record(problem, self._now, REPAIRED)
        elif is_open:
            # What is older than a fix is only found late.
            is_back = change.occurred and problem.repaired_at is not None and problem.fixed_at is None
            self._occur(problem, change, is_back=is_back or change.regressed or change.after_fix is not None)

    def _occur(self, problem: Problem, change: _Change, is_back: bool) -> None:
        was_repaired, problem.repaired_at = problem.repaired_at is not None, None
        ends = is_back and problem.decision == ProblemState.ACKNOWLEDGED
        ends |= change.occurred and problem.decision == ProblemState.IGNORED and problem.until_occurs
        if is_back:
            problem.regressed_at = self._now
        if ends:
            problem.decision, problem.reason, problem.until_occurs = "", "", False
        if is_back or ends:
            _record(problem, self._now, OCCURRED, **_despite(problem, change))
            self._news["regression"].append(problem)
        elif was_repaired:
            _record(problem, self._now, OPENED)

    def _announce(self) -> None:
        """New problems, and those that occur again, each with a conversation or stream of this batch in which it does."""
        if not any(self._news.values()):
            return
        examples: dict[int, int] = {}
        for row in self._written:
            if row.state == _State.OPEN:
                examples.setdefault(row.problem_id, row.subject_id)
        model = Stream if next(iter(self._subjects.values())).is_stream else Conversation
        names = {pk: (oid, title) for pk, oid, title in model.objects.filter(pk__in=examples.values()).values_list("pk", "oid", "title")}
        sources = Source.objects.in_bulk({problem.source_id for problems in self._news.values() for problem in problems})
        for event, problems in self._news.items():
            items: dict[int, list[dict[str, Any]]] = defaultdict(list)
            for problem in problems:
                about = problem.oid, problem.code, problem.rule, problem.severity, problem.silent
                items[problem.source_id].append(problem_item(*about, *names[examples[problem.pk]], is_stream=model is Stream))
            for pk, of_source in items.items():
                announce(sources[pk], event, of_source, f"/problems/{of_source[0]['problem']}/", sources[pk].oid)


def _state(subject: _Subject, findings: _Findings | None, row: _Row | None) -> int:
    if subject.is_gone:
        return _State.GONE if row is None or row.state == _State.OPEN else row.state
    if findings is None:
        return _State.REPAIRED
    return _State.REPLACED if subject.is_replaced else _State.OPEN


def _despite(problem: Problem, change: _Change) -> dict[str, str]:
    """What an event says of an occurrence after the fix, which was none."""
    if change.after_fix is None:
        return {}
    detail = {"version": change.after_fix, "fixed_in": problem.fixed_in}
    problem.fixed_in, problem.fixed_at, problem.fixed_by = "", None, ""
    return detail


def _record(problem: Problem, at: datetime, verb: str, **detail: str) -> None:
    ProblemEvent.objects.create(problem=problem, at=at, verb=verb, detail=detail)


def _worst(problem: Problem) -> int:
    """The rank of the worst open occurrence; the first of an index."""
    row = Occurrence.objects.filter(problem=problem, state=_State.OPEN).order_by(*WORST_FIRST).values_list("rank")
    return row[0][0] if row else problem.rank


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def _day(at: int) -> date:
    return datetime.fromtimestamp(at / 1000, UTC).date()


def forget(conversation_ids: list[int]) -> None:
    """Takes conversations that are about to be deleted out of their problems, and those that had no others with them. Only inside `one_writer`."""
    for pk in Occurrence.objects.filter(conversation__in=conversation_ids).order_by("pk").values_list("pk", flat=True):
        row = Occurrence.objects.select_related("problem").get(pk=pk)
        problem = row.problem
        if row.day_id is not None:
            day = ProblemDay.objects.get(pk=row.day_id)
            day.occurrences -= 1
            day.save() if day.occurrences > 0 else day.delete()
        row.delete()
        problem.total -= 1
        if not problem.total:
            problem.delete()
            continue
        if row.state == _State.OPEN:
            problem.conversations -= 1
            problem.findings -= row.findings
        rest = problem.occurrences.aggregate(first=Min("first_at"), last=Max("conversation__last_activity"))
        problem.first_seen = rest["first"]
        problem.last_seen = max(problem.first_seen, rest["last"] or problem.first_seen)
        if problem.conversations:
            problem.rank = _worst(problem)
        elif problem.repaired_at is None:
            problem.repaired_at = timezone.now()
        problem.save()
