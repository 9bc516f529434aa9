"""The audit log: one line an act, sealed with a key that is not in the database and bound to the line before; and what is wrong with it.

The newest committed line is kept outside the database as well (the head). It is written after the commit, so that after a kill, or with another machine,
the database may be ahead of it, by lines that only a holder of the key can have made: that is no alarm, and the next line settles it. A head that is ahead
of the database is one: lines were taken away at the end, or an older copy of the database was put in its place.
"""

import hashlib
import json
import logging
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from inspector.access.context import unlimited
from inspector.actions.problems import Refused
from inspector.actions.writing import values_digest
from inspector.models import AuditEntry, Repair, RepairChange, RepairComment, Tombstone
from inspector.models.transactions import one_snapshot, one_writer
from inspector.presentation.visible import visible
from inspector.sources import audit_files
from inspector.sources.audit_files import AuditHead
from inspector.sources.problems import SourceProblem, shown

SEAL = "seal audit log"
"""The verb of a line that covers every line before it, as they were then, by one digest: of an older version, or accepted with what is wrong with them."""
PURGE = "purge"
REMOVE = "remove source"
"""The verb of the last line of a removal, whose `conversation` is the id of the source."""
ALLOW = "allow import"
SEAL_REPAIR = "seal repair"
SEAL_PURGE = "seal purge"
LAPSE = "lapse"
"""The verb of a line that says that an approval no longer holds."""
OLDER_VERSION = "lines of a version of Inspector that had no key"
NAMED = 20
_BATCH = 2000
_IN_MEMORY = secrets.token_bytes(audit_files.LEAST)
"""For a database that ends with this process."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AuditProblem:
    """`line` is the row id, 0 for what is no line; `repair` the id of the repair that it concerns, or ""."""

    sentence: str
    line: int = 0
    repair: str = ""


@dataclass(frozen=True, slots=True)
class AuditState:
    """`sealed`: the last line that covers all before it, with its reason; None where every line has its own seal."""

    lines: int
    last: AuditEntry | None
    problems: tuple[AuditProblem, ...]
    """At most NAMED of them."""
    total: int
    sealed: AuditEntry | None
    head: AuditHead | None


@dataclass(frozen=True, slots=True)
class Line:
    """What one line says, besides who did what when."""

    source_path: str = ""
    conversation: str = ""
    repair: str = ""
    detail: dict[str, Any] = field(default_factory=dict)


def record(who: str, verb: str, *, source_path: str = "", conversation: str = "", repair: str = "", **detail: Any) -> AuditEntry:
    """Raises SourceProblem where the key cannot be read: what cannot be recorded is not done."""
    (entry,) = record_all(who, verb, [Line(source_path, conversation, repair, detail)])
    return entry


def record_all(who: str, verb: str, lines: Sequence[Line]) -> list[AuditEntry]:
    """The same act on several things, at least one. Raises SourceProblem."""
    # One after the other: two lines that follow the same one would look like tampering.
    with one_writer():
        last = AuditEntry.objects.order_by("-id").first()
        if last is None:
            begin()
        previous, sealing = last.digest if last else "", key()
        entries = []
        for line in lines:
            entry = AuditEntry(
                at=timezone.now(),
                who=visible(who),
                verb=verb,
                source_path=visible(line.source_path),
                conversation=line.conversation,
                repair=line.repair,
                detail=line.detail,
                previous=previous,
            )
            previous = entry.digest = audit_files.line_seal(sealing, entry.content())
            entries.append(entry)
        AuditEntry.objects.bulk_create(entries)
        transaction.on_commit(partial(_advance, entries[-1].pk, entries[-1].digest))
    return entries


def key_file() -> Path | None:
    place: Path | None = settings.INSPECTOR_AUDIT_KEY_FILE
    return place


def key() -> bytes:
    """Raises SourceProblem."""
    place = key_file()
    return _IN_MEMORY if place is None else audit_files.key(place)


def begin() -> None:
    place = key_file()
    if place is not None:
        try:
            audit_files.begin(place)
        except OSError as error:
            raise Refused(
                f"The key of the audit log cannot be kept in {shown(str(place), 4096)} ({error.strerror}), so nothing can be recorded: "
                "make the folder writable, or name another file in INSPECTOR_AUDIT_KEY_FILE."
            ) from error


def _advance(line: int, seal: str) -> None:
    """Moves the head to a committed line, where the database has the line that it names. It never goes back, and an alarm stays one."""
    place = key_file()
    if place is None:
        return
    try:
        with audit_files.locked(place):
            head = audit_files.head(place)
            if head is None or head.line >= line or not _has(head):
                return
            count = AuditEntry.objects.filter(pk__gt=head.line, pk__lte=line).count()
            audit_files.write_head(place, AuditHead(head.lines + count, line, seal))
    except (OSError, SourceProblem, DatabaseError) as problem:
        # The act is committed: the next line that can be written there takes the head along.
        _log.warning("The head of the audit log in %s was not written: %s", audit_files.head_of(place), problem)


def _has(head: AuditHead) -> bool:
    return head == audit_files.EMPTY or AuditEntry.objects.filter(pk=head.line, digest=head.seal).exists()


@unlimited
def repair_digest(repair: str) -> str:
    """SHA-256 (hex) of what the database says of a repair, its kept values included once they are written; "" where there is no such repair."""
    row = Repair.objects.filter(oid=repair).values(*_FACTS).first()
    return "" if row is None else _facts_digest(row, _comments(RepairComment.objects.filter(repair__oid=repair)).get(repair, []))


_FACTS = (
    *("oid", "conversation__oid", "revision", "mode", "options"),
    *("base_digest", "plan_digest", "state", "outcome", "rehearsal", "proposed_by", "proposed_at"),
    *("approved_by", "approved_at", "approved_digest", "applied_by", "applied_at", "undone_by", "undone_at", "values_digest"),
    *("reason", "incident", "reviewers", "summary", "counts", "regression", "regressed_at", "group__oid", "changes_by", "safety"),
)
"""Not the names of strategies, reader and judges, which a later version may rename: the digest of the plan covers what they made of the store."""
_SINCE: dict[str, Any] = {
    **dict.fromkeys(("reason", "incident", "summary", "regression", "changes_by", "safety"), ""),
    **{"reviewers": [], "counts": {}, "regressed_at": None, "group__oid": None},
}
"""Facts of a later version, with the value of one that is not set: that one is no part of the digest, so that the digests of an older version hold."""
_WITH = {"applied_at": ("applied_by", "values_digest"), "undone_at": ("undone_by",)}
"""What is set before a write, with its intent, and is a fact only with the record of its outcome."""

_WHO = {"propose": "proposed_by", "approve": "approved_by", "reject": "approved_by", "apply": "applied_by", "undo": "undone_by"}
"""Compared with the lines of these acts themselves: a later act records the row as it is by then."""


def _comments(rows: QuerySet[RepairComment]) -> dict[str, list[list[Any]]]:
    """What each repair's comments and decisions say, by the id of the repair, in their order."""
    comments: dict[str, list[list[Any]]] = {}
    for oid, *comment in rows.order_by("pk").values_list("repair__oid", "at", "who", "anchor", "verdict", "text"):
        comments.setdefault(oid, []).append(comment)
    return comments


def _facts_digest(row: dict[str, Any], comments: Sequence[Any]) -> str:
    facts = {name: value for name, value in row.items() if name not in _SINCE or value != _SINCE[name]}
    if comments:
        facts["comments"] = comments
    for moment, names in _WITH.items():
        if facts[moment] is None:
            facts |= dict.fromkeys(names, "")
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=lambda value: value.isoformat()).encode()).hexdigest()


def _values_digest(repair: int) -> str:
    return values_digest(RepairChange.objects.filter(repair=repair).order_by("position").iterator(chunk_size=50))


@dataclass(slots=True)
class _Walk:
    """The lines one after the other; what a line that seals all before it covers is no problem any more."""

    key: bytes
    head: AuditHead | None
    lines: int = 0
    last: AuditEntry | None = None
    sealed: AuditEntry | None = None
    is_head_there: bool = False
    problems: list[AuditProblem] = field(default_factory=list)
    repairs: dict[str, tuple[AuditEntry, str]] = field(default_factory=dict)
    """Id of a repair -> its last line with a digest of its row, and that digest."""
    acts: dict[tuple[str, str], str] = field(default_factory=dict)
    """Id of a repair and the column that names who did it -> who did it by the log."""
    purged: set[str] = field(default_factory=set)
    purges: dict[str, AuditEntry] = field(default_factory=dict)
    """Id of a purged conversation -> the last line that says what is kept of it."""
    allowed: set[str] = field(default_factory=set)
    """Ids of purged conversations that may be imported again."""
    covered: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def add(self, entry: AuditEntry) -> None:
        content = entry.content()
        is_whole = entry.digest == audit_files.line_seal(self.key, content)
        follows = entry.previous == (self.last.digest if self.last else "")
        if entry.verb == SEAL and is_whole and follows and entry.detail.get("covers") == self.covered.hexdigest():
            self.sealed = entry
            self.problems.clear()
            self.repairs.clear()
            self.acts.clear()
            self.purges.clear()
            self.allowed.clear()
        elif not is_whole:
            self._note(f"Line {_named(entry)} was changed after it was written, or written without the key.", entry)
        elif not follows:
            self._note(f"Line {_named(entry)} does not follow the line before it: lines were removed or exchanged.", entry)
        _cover(self.covered, entry)
        if entry.verb == PURGE and is_whole:
            self.purged.update(entry.detail["repairs"])
            self.allowed.discard(entry.conversation)
        if entry.verb == SEAL_PURGE and is_whole:
            self.allowed.discard(entry.conversation)
        if is_whole and (entry.verb == ALLOW or entry.detail.get("is_import_allowed")):
            self.allowed.add(entry.conversation)
        if entry.verb in (PURGE, SEAL_PURGE, REMOVE) and is_whole:
            self.purges[entry.conversation] = entry
        if is_whole and "record" in entry.detail:
            self.repairs[entry.repair] = entry, str(entry.detail["record"])
            self.acts[entry.repair, _WHO.get(entry.verb, "")] = entry.who
            if entry.verb == LAPSE:
                self.acts[entry.repair, "approved_by"] = ""
        self.is_head_there |= self.head is not None and (entry.pk, entry.digest) == (self.head.line, self.head.seal)
        self.lines += 1
        self.last = entry

    def _note(self, sentence: str, entry: AuditEntry) -> None:
        self.problems.append(AuditProblem(sentence, entry.pk, entry.repair))

    def compare_head(self, place: Path) -> None:
        if self.head is None:
            what = f"The head of the audit log, {shown(str(audit_files.head_of(place)), 4096)}, is missing or not sealed with its key"
            self.problems.append(AuditProblem(f"{what}: whether lines were removed at the end cannot be known."))
        elif not self.is_head_there and self.head != audit_files.EMPTY:
            self.problems.append(
                AuditProblem(
                    f"The log had {self.head.lines:,} lines, the last of them line {self.head.line}, and the database has {self.lines:,} without "
                    "that one: lines were removed at the end, or an older copy of the database was put in its place."
                )
            )


def _named(entry: AuditEntry) -> str:
    return f"{entry.pk} ({entry.at:%Y-%m-%d %H:%M:%S} UTC, {visible(entry.verb)})"


@unlimited
def state(values: bool = False) -> AuditState:
    """Walks through all lines and compares the rows of all repairs; with `values` also every kept value. Raises SourceProblem where the key cannot be read."""
    with one_snapshot():
        return _state(values)


def _state(values: bool) -> AuditState:
    walk = _walked()
    rows = list(Repair.objects.values("pk", *_FACTS).order_by("pk"))
    there = {row["oid"] for row in rows}
    problems = [*walk.problems, *_repair_problems(walk, rows, values), *_tombstone_problems(walk)]
    for oid, (entry, _) in walk.repairs.items():
        if oid not in there and oid not in walk.purged:
            sentence = f"Repair {oid} of line {_named(entry)} is not in the database, and no line says that it was purged."
            problems.append(AuditProblem(sentence, entry.pk, oid))
    return AuditState(walk.lines, walk.last, tuple(problems[:NAMED]), len(problems), walk.sealed, walk.head)


def _walked() -> _Walk:
    place = key_file()
    lines = AuditEntry.objects.order_by("id")
    if place is not None and not place.exists() and not audit_files.head_of(place).exists() and not lines.exists():
        return _Walk(b"", audit_files.EMPTY)
    # The head first: while the lines are read, others may be committed, and a head that names one of those would be ahead of them.
    walk = _Walk(key(), audit_files.EMPTY if place is None else audit_files.head(place))
    for entry in lines.iterator(chunk_size=_BATCH):
        walk.add(entry)
    if place is not None:
        walk.compare_head(place)
    return walk


def _repair_problems(walk: _Walk, rows: Iterable[dict[str, Any]], values: bool) -> list[AuditProblem]:
    problems = []
    rows = list(rows)
    commented = RepairComment.objects.all() if len(rows) != 1 else RepairComment.objects.filter(repair=rows[0]["pk"])
    comments = _comments(commented)
    for row in rows:
        pk, oid = row.pop("pk"), row["oid"]
        entry, recorded = walk.repairs.get(oid, (None, ""))
        if entry is None:
            problems.append(AuditProblem(f"Repair {oid} is in the database, and no line of the log says who proposed it.", 0, oid))
        elif _facts_digest(row, comments.get(oid, [])) != recorded or any(
            walk.acts.get((oid, name), visible(row[name])) != visible(row[name]) for name in _WHO.values()
        ):
            sentence = f"Repair {oid} is not as line {_named(entry)} recorded it: its row was changed in the database."
            problems.append(AuditProblem(sentence, entry.pk, oid))
        elif values and row["applied_at"] is not None and _values_digest(pk) != row["values_digest"]:
            sentence = f"The values that are kept of repair {oid} are not those that it wrote: they were changed in the database."
            problems.append(AuditProblem(sentence, entry.pk, oid))
    return problems


def tombstones_digest(rows: Iterable[Tombstone]) -> str:
    """SHA-256 (hex) of what is kept of one purged conversation, in any order; not whether it may be imported again, which lines of their own say."""
    facts = sorted([str(getattr(row, name)) for name in _KEPT] for row in rows)
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


_KEPT = ("kind", "oid", "conversation", "source", "native", "first_seen", "last_activity", "purged_at", "purged_by", "reason")


def _tombstone_problems(walk: _Walk) -> Iterator[AuditProblem]:
    there = set()
    rows = Tombstone.objects.order_by("conversation").iterator(chunk_size=_BATCH)
    for conversation, group in groupby(rows, key=lambda row: row.conversation):
        tombstones = list(group)
        there.add(conversation)
        entry = walk.purges.get(conversation)
        if entry is not None and not _is_as_recorded(tombstones, entry):
            sentence = f"What is kept of the purged conversation {conversation} is not as line {_named(entry)} recorded it: it was changed in the database."
            yield AuditProblem(sentence, entry.pk)
        elif entry is None and (walk.sealed is None or "purges" in walk.sealed.detail):
            yield AuditProblem(f"Conversation {visible(conversation)} is kept as purged, and no line of the log says who purged it.")
        elif any(row.is_import_allowed != (conversation in walk.allowed) for row in tombstones if row.kind == Tombstone.Kind.CONVERSATION):
            yield AuditProblem(f"Whether the purged conversation {conversation} may be imported again was changed in the database.")
    for conversation in walk.purges.keys() - there:
        entry = walk.purges[conversation]
        yield AuditProblem(
            f"What was kept of the purged conversation {conversation} of line {_named(entry)} is not in the database.", entry.pk
        )


def _is_as_recorded(rows: Sequence[Tombstone], entry: AuditEntry) -> bool:
    """An older version recorded who purged it and why, and left what it kept of earlier purges of the same conversation as it was."""
    if "tombstones" in entry.detail:
        return bool(entry.detail["tombstones"] == tombstones_digest(rows))
    latest = max(row.purged_at for row in rows)
    return all((row.purged_by, row.reason) == (entry.who, entry.detail["reason"]) for row in rows if row.purged_at == latest)


def broken_at() -> AuditEntry | None:
    """The first line that something is wrong with; None where there is none, whatever is wrong with the head or with repairs."""
    problem = next((problem for problem in _walked().problems if problem.line), None)
    return AuditEntry.objects.get(pk=problem.line) if problem else None


@unlimited
def refuse_unless_intact(repair: Repair) -> None:
    """Raises Refused before a store is written on the word of a log, or of a repair, that somebody changed. Reading goes on."""
    try:
        # What another process decides between the two is in both, or in none.
        with one_snapshot():
            walk = _walked()
            rows = Repair.objects.filter(pk=repair.pk).values("pk", *_FACTS)
            problems = [*walk.problems, *_repair_problems(walk, rows, values=True)]
    except SourceProblem as problem:
        raise Refused(str(problem)) from None
    if problems:
        raise Refused(f"{problems[0].sentence} {WHAT_NEXT}")


WHAT_NEXT = (
    "No store is written until that is settled: look at all of it with the command audit --verify, compare with a backup or an export, "
    "then restore that, or accept what is there with audit --accept REASON."
)


def sentence_on_start() -> str:
    """ "" where the log is intact. What is wrong stops nobody from reading, and every write to a store until it is settled."""
    try:
        catch_up()
        log = state()
    except SourceProblem as problem:
        return str(problem)
    except DatabaseError:
        # Every page says that, and the server answers on.
        return ""
    return f"{log.problems[0].sentence} {WHAT_NEXT}" if log.problems else ""


def catch_up() -> None:
    """Takes the head along to the last line, where a process was killed between the commit of a line and its head."""
    last = AuditEntry.objects.order_by("-id").first()
    if last is not None and not _walked().problems:
        _advance(last.pk, last.digest)


def accept(who: str, reason: str) -> AuditEntry:
    """Seals the log as it is, with what is wrong with it and why that is accepted; a new head, and a new key where that is missing, go with it."""
    place = key_file()
    if place is not None and not place.exists():
        audit_files.new_key(place)
    before = state(values=True)
    return _seal(who, reason, problems=[problem.sentence for problem in before.problems], problem_count=before.total)


def seal_older_version(who: str) -> AuditEntry | None:
    """Seals what a version without a key wrote, once, when the database is migrated; None where there is nothing, or a head already."""
    place = key_file()
    if place is None or audit_files.head_of(place).exists() or not AuditEntry.objects.exists():
        return None
    begin()
    previous, is_intact = "", True
    for entry in AuditEntry.objects.order_by("id").iterator(chunk_size=_BATCH):
        is_intact = is_intact and (entry.previous, entry.digest) == (previous, hashlib.sha256(entry.content()).hexdigest())
        previous = entry.digest
    return _seal(who, OLDER_VERSION, was_intact=is_intact)


def _seal(who: str, reason: str, **detail: Any) -> AuditEntry:
    """A line that covers all before it, and one for each repair. The head begins again with them."""
    with one_writer():
        for pk in Repair.objects.filter(applied_at__isnull=False).values_list("pk", flat=True):
            Repair.objects.filter(pk=pk).update(values_digest=_values_digest(pk))
        covered, count = hashlib.sha256(), 0
        for entry in AuditEntry.objects.order_by("id").iterator(chunk_size=_BATCH):
            _cover(covered, entry)
            count += 1
        purged = list(Tombstone.objects.order_by("conversation").values_list("conversation", flat=True).distinct())
        sealed = record(who, SEAL, covers=covered.hexdigest(), lines=count, reason=reason, purges=len(purged), **detail)
        for conversation in purged:
            seal_purge(who, conversation)
        for oid in Repair.objects.order_by("pk").values_list("oid", flat=True):
            record(who, SEAL_REPAIR, repair=oid, record=repair_digest(oid))
        # After those of record(), which leave a head that is an alarm as it is.
        transaction.on_commit(_begin_head)
    return sealed


def seal_purge(who: str, conversation: str) -> None:
    """A line that covers what is kept of a purged conversation now."""
    rows = Tombstone.objects.filter(conversation=conversation)
    is_allowed = rows.filter(is_import_allowed=True).exists()
    record(who, SEAL_PURGE, conversation=conversation, tombstones=tombstones_digest(rows), is_import_allowed=is_allowed)


def _cover(covered: "hashlib._Hash", entry: AuditEntry) -> None:
    content = entry.content()
    covered.update(b"%d:%s%s\n" % (len(content), content, entry.digest.encode()))


def _begin_head() -> None:
    place = key_file()
    last = AuditEntry.objects.order_by("-id").first()
    if place is not None and last is not None:
        with audit_files.locked(place):
            audit_files.write_head(place, AuditHead(AuditEntry.objects.count(), last.pk, last.digest))


def sealed_sentence(sealed: AuditEntry) -> str:
    """What the line that covers all before it says of them."""
    detail = sealed.detail
    was = {True: " Their chain of hashes was whole.", False: " Their chain of hashes was not whole."}.get(detail.get("was_intact"), "")
    problems = detail.get("problem_count", 0)
    accepted = f" {problems:,} problem{'s were' if problems != 1 else ' was'} accepted with them." if problems else ""
    return (
        f"Line {_named(sealed)} by {visible(sealed.who)} seals the {detail.get('lines', 0):,} lines before it as they were then: "
        f"{visible(str(detail.get('reason', '')))}.{was}{accepted}"
    )
