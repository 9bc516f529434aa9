"""Work on large conversations that a page asks for and does not wait for: a process of its own does it, which ends after it.

A plan covers every byte that it writes, so that its preview takes as long as the conversation is large, and so do the rehearsal, the write and the undo.
A request starts the work and answers; the page asks again until it is done. What only our own database is needed for is a job of the queue where a
`worker` is there (PostgreSQL). What reads or writes a store is done on this machine, which has the store.
"""

import io
import json
import multiprocessing
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from types import ModuleType
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError, OperationalError, connection, transaction
from django.utils import timezone

from inspector.access.context import NotPermitted, unlimited
from inspector.access.permits import acts, by_account, permit
from inspector.actions import add_source
from inspector.actions.add_source import limit_of_adding
from inspector.actions.apply_repair import apply_repair
from inspector.actions.group_previews import planned, planned_all
from inspector.actions.planning import request_for, request_of
from inspector.actions.problems import Refused
from inspector.actions.propose_repair import GROUP_GONE, propose_repair
from inspector.actions.remove_source import begin_removal, being_removed, finish_removal
from inspector.actions.repair_groups import apply_all, approve_all, propose_again, propose_all, undo_all
from inspector.actions.shown_previews import (
    choice_digest,
    first_choice,
    is_kept,
    is_kept_of,
    keep_shown,
    keep_shown_of_choice,
    shown_of,
    shown_of_choice,
)
from inspector.actions.undo_repair import still_holds, undo_repair
from inspector.background_process import run_task
from inspector.command_line import expected, printable, unexpected
from inspector.middleware import web_limit
from inspector.models import BackgroundTask, Conversation, Problem, Repair, RepairGroup, Source, analyses, loading
from inspector.models.background import LARGE, judged_since
from inspector.models.transactions import is_in_memory, one_writer
from inspector.presentation.visible import visible
from inspector.programs.registry import programs
from inspector.sources import unchanged
from inspector.sources.dsn import Dsn
from inspector.sources.places import place
from inspector.sources.problems import SourceProblem
from inspector.sources.processes import has_ended, this_process
from inspector.sources.reach import Limit, limited
from inspector.text.at_hand import at_work
from inspector.text.durations import duration

AT_ONCE = 2
"""Processes at a time; further tasks wait."""
TASKS_KEPT = 16
"""Of one conversation, of those that ended."""
LONGEST = timedelta(hours=1)
"""Only for a task of a process on another machine, of which it is not known whether it ended."""
NOT_KEPT = "not kept"
"""The answer of a task whose preview is too large for our database: its page computes it."""
JOB = "job "
ACTS = ("propose", "apply", "undo", "import", "remove", "demo on", "demo off")
TITLES = {
    "apply": "Apply repair",
    "undo": "Undo repair",
    "propose": "Propose repair",
    "group preview": "Preview repairs",
    "group propose": "Propose repairs",
    "group approve": "Approve repairs",
    "group apply": "Apply repairs",
    "group undo": "Undo repairs",
    "compare": "Compare the store",
    "import": "Add a source",
    "remove": "Remove a source",
    "demo on": "Switch the demo on",
    "demo off": "Switch the demo off",
}
RESULTS = {
    "preview": "Open the preview",
    "apply": "Open the repair",
    "undo": "Open the repair",
    "propose": "Open the repair",
    "import": "Open the source",
    "remove": "To the sources",
    "demo on": "To the sources",
    "demo off": "To the sources",
}
"""Where a task that came to its end leads, as the words of a link; all others show what came of them on the page that asked."""
GROUP_ACTS = ("group propose", "group approve", "group apply", "group undo")
LOST = (
    "The process that did this was ended in the middle: memory ran out, Inspector was stopped, or its database could not be reached. "
    "What was done stays done: do it again for the rest."
)
_SENTENCES = {
    "preview": "The preview is being computed ({} chunks); this page shows it when it is done.",
    "plan": "The preview is being computed ({} chunks); this page shows it when it is done.",
    "compare": "The store is being compared with what this repair wrote ({} chunks); this page says what it holds when that is done.",
    "propose": "The repair is being rehearsed on a copy ({} chunks); its page opens when that is done.",
    "apply": "The repair is being written to the store, read back and judged again ({} chunks); its page opens when that is done.",
    "undo": "Every byte from before the repair is being restored ({} chunks); the page of the repair opens when that is done.",
    "import": "The source is being imported; its page opens when that is done.",
    "remove": "The source is being removed with {} conversations and all that was derived from them; the list opens when that is done.",
    "demo on": "The demo is being written and imported; the list opens when that is done.",
    "demo off": "The demo is being removed with {} conversations; the list opens when that is done.",
    "group preview": "The plans of {} conversations are being computed; this page shows them when that is done.",
    "group propose": "Each repair is being rehearsed on a copy, one of {} conversations after the other; this page shows what is proposed.",
    "group approve": "The plan of each of {} conversations is computed once more and compared with what was signed; this page shows what is approved.",
    "group apply": "The repairs are being written, one of {} conversations after the other, each read back and judged again; this page shows how far it is.",
    "group undo": "Every byte from before is being restored, in one of {} conversations after the other; this page shows how far it is.",
}
_CONTEXT = multiprocessing.get_context("forkserver")
_PLACES = threading.BoundedSemaphore(AT_ONCE)


@dataclass(frozen=True, slots=True)
class Work:
    """A task as it is now. `problem`: why it did not come to its end, or what it ended with instead of an answer."""

    task: BackgroundTask
    is_running: bool
    problem: str

    @property
    def sentence(self) -> str:
        row = self.task.conversation
        return _SENTENCES[self.task.kind].format(f"{row.chunk_count if row else self.task.arguments.get('total', 0):,}")

    @property
    def title(self) -> str:
        return TITLES.get(self.task.kind, "Preview repair")

    @property
    def tells(self) -> tuple[str, ...]:
        """The kinds whose answer is a sentence for a person."""
        return (*ACTS, *GROUP_ACTS)

    @property
    def subject(self) -> str:
        """What it is about, in a few words; "" where its title says all."""
        row, arguments, total = self.task.conversation, self.task.arguments, self.task.arguments.get("total", 0)
        if row is not None:
            return row.title or row.short_native_id
        if name := arguments.get("name") or self.path:
            return str(name)
        of = f" of {self.task.source.name}" if self.task.source else ""
        return f"{total:,} conversation{'s' * (total != 1)}{of}" if total else ""

    @property
    def path(self) -> str:
        """What it was asked to read; "" where it was asked for something else."""
        return add_source.known_as(str(self.task.arguments.get("path", "")))

    @property
    def state(self) -> str:
        return "running" if self.is_running else "failed" if self.problem else "done"

    @property
    def outcome(self) -> str:
        """How it ended, as a sentence; "" while it runs, and where another page shows what came of it."""
        return self.problem or (self.task.answer if self.task.kind in self.tells else "")

    @property
    def result(self) -> str:
        """Words of the link to what came of it, or to where it is asked for again."""
        return "Try again where it was asked for" if self.problem else RESULTS.get(self.task.kind, "Open its page")

    @property
    def took(self) -> str:
        """From its beginning to its end, or until now while it runs; "" where nobody recorded the end."""
        if self.task.ended_at is None and not self.is_running:
            return ""
        seconds = ((self.task.ended_at or timezone.now()) - self.task.started_at).total_seconds()
        return f"{seconds:.0f} s" if seconds < 120 else duration(round(seconds * 1000))

    @property
    def done(self) -> int | None:
        """How many of `total` conversations are done, where the database says so while it runs."""
        of = {"remove": {"source__oid": self.task.arguments.get("source", "")}, "demo off": {"source__is_demo": True}}.get(self.task.kind)
        total = self.task.arguments.get("total", 0)
        return max(0, total - Conversation.objects.filter(**of).count()) if of and total else None


def is_large(row: Conversation) -> bool:
    return row.chunk_count >= LARGE


@unlimited
def preview(
    row: Conversation, strategies: tuple[str, ...], mode: str, reader: str, leaf: str, back: str, again: bool = False
) -> Work | None:
    """What computes the preview of this choice; None where it is kept, or no task can keep it."""
    choice = strategies, mode, reader, leaf
    if is_kept(row, *choice):
        return None
    arguments = {"strategies": strategies, "mode": mode, "reader": reader, "leaf": leaf}
    work = _asked(row, "preview", _key_of_preview(row, *choice), arguments, back, again)
    return None if work.task.answer == NOT_KEPT else work


@unlimited
def is_kept_by_none(row: Conversation, strategies: tuple[str, ...], mode: str, reader: str, leaf: str) -> bool:
    """Whether the preview of this choice is known to be too large for our database."""
    key = _key_of_preview(row, strategies, mode, reader, leaf)
    return BackgroundTask.objects.filter(key=key, answer=NOT_KEPT).exists()


@unlimited
def plan_of(repair: Repair, back: str, again: bool = False) -> Work | None:
    """As `preview`, of the plan of a repair."""
    if is_kept_of(repair):
        return None
    work = _asked(repair.conversation, "plan", _key_of_plan(repair), {"repair": repair.oid}, back, again)
    return None if work.task.answer == NOT_KEPT else work


@unlimited
def is_plan_kept_by_none(repair: Repair) -> bool:
    return BackgroundTask.objects.filter(key=_key_of_plan(repair), answer=NOT_KEPT).exists()


@unlimited
def comparison(repair: Repair, back: str, again: bool = False) -> Work | None:
    """What compares the store with what an applied repair wrote; None where a page compares them itself. It is as good as the files are unchanged."""
    stamp = _stamp(repair.conversation.source)
    if stamp is None:
        return None
    others = repair.conversation.repairs.order_by("pk").values_list("oid", "state", "intent")
    key = analyses.digest_of_values(("compare", repair.oid, *others, stamp))
    return _asked(repair.conversation, "compare", key, {"repair": repair.oid}, back, again)


def is_compared_apart(repair: Repair) -> bool:
    """Whether a task compares its store, and not the page."""
    return _stamp(repair.conversation.source) is not None


def _stamp(source: Source) -> str | None:
    """Of its files as they are now; None where that is not known."""
    where = place(source.path)
    if isinstance(where, Dsn):
        return None
    try:
        return unchanged.stamp(where, source.format, ("inspector", *(program.package for program in programs()))) or None
    except SourceProblem:
        return None


@acts("propose")
def propose(row: Conversation, chosen: dict[str, Any], operator: str, back: str) -> Work:
    """`chosen` has strategies, mode, reader, leaf, the time of a list's entry as `now`, and as `seen` the digest of the preview that was shown."""
    parts = analyses.digest_of_values(("propose", row.oid, operator, sorted(chosen.items())))
    return started(row, "propose", parts, chosen, operator, back, again=True)


def act(kind: str, repair: Repair, operator: str) -> Work:
    """Applies or undoes."""
    permit(kind, repair)
    key = analyses.digest_of_values((kind, repair.oid))
    return started(repair.conversation, kind, key, {"repair": repair.oid}, operator, f"/repairs/{repair.oid}/", again=True)


@unlimited
def group_preview(
    problem: Problem, rows: Sequence[Conversation], strategies: Sequence[str], mode: str, back: str, again: bool = False
) -> Work:
    """What computes the plans of these conversations; its answer is JSON, as `group_previews.planned_all` has them."""
    basis = [(row.pk, row.revision, *row.judges, row.source.reader) for row in rows]
    waiting = Repair.objects.filter(conversation__in=rows).order_by("pk").values_list("pk", "state")
    key = analyses.digest_of_values(("group preview", problem.oid, *strategies, mode, *basis, *waiting, analyses.basis(rows[0], True)))
    arguments = {"code": problem.code, "rows": [row.oid for row in rows], "strategies": list(strategies), "mode": mode, "total": len(rows)}
    return started(None, "group preview", key, arguments, "", back, again, source=problem.source)


def add(path: str, operator: str, watch: bool | None = None) -> Work:
    """Imports what a person added; `watch` as of `add_source.add`."""
    permit("add source")
    key = analyses.digest_of_values(("import", path, operator))
    return started(None, "import", key, {"path": path, "watch": watch}, operator, "/sources/add/", again=True)


def remove(source: Source, operator: str) -> Work:
    """Does what `begin_removal` began; who asks for it again gets the same task while it runs."""
    permit("remove", source)
    arguments = {"source": source.oid, "name": source.name, "total": source.conversations.count()}
    return started(None, "remove", _key_of_removal(source), arguments, operator, "/sources/", again=True)


@unlimited
def go_on_removing() -> None:
    """A removal whose process was ended in the middle goes on."""
    for source in being_removed():
        task = BackgroundTask.objects.filter(key=_key_of_removal(source)).first()
        if task is None or not state_of(task).is_running:
            remove(source, source.removed_by)


def _key_of_removal(source: Source) -> str:
    return analyses.digest_of_values(("remove", source.oid))


def switch_demo(on: bool, operator: str) -> Work:
    permit("demo")
    total = Conversation.objects.filter(source__is_demo=True).count()
    kind = f"demo {'on' if on else 'off'}"
    return started(None, kind, analyses.digest_of_values((kind,)), {"total": total}, operator, "/sources/", again=True)


def act_on_group(kind: str, group: RepairGroup, operator: str, again: Sequence[str] = (), decision: Sequence[Any] = ()) -> Work:
    """Proposes, approves, applies or undoes; `again` are the conversations that are proposed once more, `decision` is what `approve_all` takes."""
    permit(kind.removeprefix("group "), group)
    key = analyses.digest_of_values((kind, group.oid))
    arguments = {"group": group.oid, "total": len(again) or len(group.members), "again": list(again), "decision": list(decision)}
    return started(None, kind, key, arguments, operator, f"/repair-groups/{group.oid}/", again=True, source=group.source)


@unlimited
def last_of_group(group: RepairGroup) -> Work | None:
    """What works on it now, or did last; None where that is not known any more."""
    keys = [analyses.digest_of_values((kind, group.oid)) for kind in GROUP_ACTS]
    task = BackgroundTask.objects.filter(key__in=keys).order_by("-pk").first()
    return None if task is None else state_of(task)


@unlimited
def acting_on(repair: Repair) -> Work | None:
    """The task that applies or undoes the repair at this moment."""
    keys = [analyses.digest_of_values((kind, repair.oid)) for kind in ("apply", "undo")]
    for task in BackgroundTask.objects.filter(key__in=keys, ended_at=None).select_related("conversation"):
        if (work := state_of(task)).is_running:
            return work
    return None


def _key_of_preview(row: Conversation, *choice: Any) -> str:
    return analyses.digest_of_values(("preview", row.pk, row.revision, choice_digest(row, *choice)))


def _key_of_plan(repair: Repair) -> str:
    return analyses.digest_of_values(("plan", repair.oid, analyses.basis(repair.conversation, True)))


def _asked(row: Conversation, kind: str, key: str, arguments: dict[str, Any], back: str, again: bool) -> Work:
    """The task of a page. One that ended well, and whose result is dropped by now, is done once more."""
    task = BackgroundTask.objects.filter(key=key).select_related("conversation").first()
    if task is not None:
        work = state_of(task)
        is_dropped = kind != "compare" and not work.problem and task.answer != NOT_KEPT
        if work.is_running or not (again or is_dropped):
            return work
    return started(row, kind, key, arguments, "", back, again=True)


@unlimited
def started(
    row: Conversation | None,
    kind: str,
    key: str,
    arguments: dict[str, Any],
    operator: str,
    back: str,
    again: bool = False,
    source: Source | None = None,
) -> Work:
    """The task that runs under this key; else a new one, where there is none or `again`. `source` is that of several conversations."""
    work, is_new = _recorded(row, kind, key, arguments, operator, back, again, source)
    if is_new:
        transaction.on_commit(partial(_begin, work.task.pk, kind))
    return work


def _recorded(
    row: Conversation | None,
    kind: str,
    key: str,
    arguments: dict[str, Any],
    operator: str,
    back: str,
    again: bool,
    source: Source | None = None,
) -> tuple[Work, bool]:
    """The task, and whether it is new: then nobody does it yet."""
    with one_writer():
        task = BackgroundTask.objects.filter(key=key).select_related("conversation").first()
        if task is not None:
            work = state_of(task)
            if work.is_running or not again:
                return work, False
            task.delete()
        task = BackgroundTask.objects.create(
            conversation=row,
            source=row.source if row else source,
            key=key,
            kind=kind,
            arguments=arguments,
            operator=operator,
            back=back,
            started_at=timezone.now(),
            by=this_process(),
        )
        ended = BackgroundTask.objects.filter(conversation=row).exclude(ended_at=None).order_by("-ended_at", "-pk")
        BackgroundTask.objects.filter(pk__in=list(ended.values_list("pk", flat=True)[TASKS_KEPT:])).delete()
        return Work(task, True, ""), True


def state_of(task: BackgroundTask) -> Work:
    if task.ended_at is not None:
        return Work(task, False, task.error)
    if task.by.startswith(JOB):
        problem = _problem_of_job(int(task.by.removeprefix(JOB)))
    else:
        is_lost = has_ended(task.by) or task.started_at < timezone.now() - LONGEST
        problem = LOST if is_lost and not _has_ended_since(task) else ""
    return Work(task, not problem, problem)


def _has_ended_since(task: BackgroundTask) -> bool:
    """Whether it is recorded by now how it ended. A page reads one snapshot, in which the task may go on while its process is gone already: the next look
    shows what became of it."""
    now = connection.copy() if connection.in_atomic_block and not is_in_memory() else connection
    try:
        with now.cursor() as cursor:
            cursor.execute("SELECT 1 FROM inspector_backgroundtask WHERE id = %s AND ended_at IS NOT NULL", (task.pk,))
            return cursor.fetchone() is not None
    except DatabaseError:
        return False
    finally:
        if now is not connection:
            now.close()


def _problem_of_job(number: int) -> str:
    queue = queue_of_workers()
    row = None if queue is None else queue.described(number)
    if queue is None or row is None:
        return LOST
    if row["state"] not in ("waiting", "running"):
        return str(row["error"]) or LOST
    return "" if queue.has_worker() else "It waits in the queue, and no worker answers: start one with the command worker."


def queue_of_workers() -> ModuleType | None:
    """None with SQLite, which has no queue."""
    if connection.vendor != "postgresql":
        return None
    from inspector.management.queueing import jobs_module

    try:
        return jobs_module()
    except CommandError:
        return None


@unlimited
def _begin(pk: int, kind: str) -> None:
    if is_in_memory():
        # No other process sees this database.
        run(pk)
    elif not _is_queued(pk, kind):
        threading.Thread(target=_watched, args=(pk,), daemon=True).start()


def _is_queued(pk: int, kind: str) -> bool:
    queue = None if kind not in ("preview", "plan") else queue_of_workers()
    if queue is None or not queue.has_worker():
        return False
    BackgroundTask.objects.filter(pk=pk).update(by=f"{JOB}{queue.queue_background(pk)}")
    return True


def _watched(pk: int) -> None:
    try:
        with _PLACES:
            _finish(pk)
    finally:
        connection.close()


def _finish(pk: int) -> None:
    """In a process of its own, whose end is waited for."""
    # As the pages of the whole: the process is a copy of one that has everything imported and nothing open.
    _CONTEXT.set_forkserver_preload(["inspector.wsgi"])
    process = _CONTEXT.Process(target=run_task, args=(pk, str(connection.settings_dict["NAME"])), daemon=True)
    process.start()
    process.join()
    if process.exitcode:
        BackgroundTask.objects.filter(pk=pk, ended_at=None).update(ended_at=timezone.now(), error=LOST)


@unlimited
def run(pk: int, retries: bool = False) -> None:
    """Does the work of a task and records how it ended. `retries`: whoever calls tries again where the database cannot be reached."""
    task = BackgroundTask.objects.filter(pk=pk, ended_at=None).select_related("conversation__source").first()
    if task is None:
        return
    answer = error = ""
    try:
        # What a page may read, and no more.
        with limited(_limit_of(task.kind)), at_work(), _by(task):
            answer = _WORKS[task.kind](task)
    except (Refused, NotPermitted) as refusal:
        error = str(refusal)
    except SourceProblem as problem:
        error = problem.sentence
    except Exception as problem:
        if retries and isinstance(problem, OperationalError):
            raise
        error = printable(expected(problem) or unexpected(problem, ["", task.kind]))
    BackgroundTask.objects.filter(pk=pk).update(
        ended_at=timezone.now(), answer=answer, error=error, back=task.back, arguments=task.arguments
    )


def _by(task: BackgroundTask) -> AbstractContextManager[None]:
    """Where people sign in: by whoever asked for it, who may have lost the role since."""
    return nullcontext() if settings.INSPECTOR_LOCAL or not task.operator else by_account(task.operator)


def _limit_of(kind: str) -> Limit | None:
    """The demo is written by us, into our own folder."""
    if kind == "demo on":
        return None
    return limit_of_adding(web_limit()) if kind == "import" else web_limit()


def _import(task: BackgroundTask) -> str:
    begun = timezone.now()
    done = add_source.add(task.arguments["path"], task.operator, task.arguments.get("watch"))
    task.back = f"/sources/{done.source.oid}/"
    prepare_ahead(judged_since(begun, [done.source]), waits=False)
    return visible(f"{done.source.name} is imported.")


def _remove(task: BackgroundTask) -> str:
    source = Source.objects.filter(oid=task.arguments["source"]).first()
    if source is not None:
        finish_removal(source)
    return "The source is removed, with all that was derived from it. The store is as it was."


def _demo_on(task: BackgroundTask) -> str:
    output = io.StringIO()
    call_command("demo", stdout=output, stderr=output)
    return "The demo is imported. It is not counted where other sources are."


def _demo_off(task: BackgroundTask) -> str:
    for source in Source.objects.filter(is_demo=True):
        # A trace goes with its store.
        if Source.objects.filter(pk=source.pk).exists():
            begin_removal(source, task.operator, "the demo was switched off", with_repairs=True)
            finish_removal(source)
    return "The demo is off. Its files stay where they are."


def _preview(task: BackgroundTask) -> str:
    row, chosen = _conversation(task), task.arguments
    choice = tuple(chosen["strategies"]), chosen["mode"], chosen["reader"], chosen["leaf"]
    shown_of_choice(row, *choice)
    keep_shown_of_choice(row, *choice)
    return "" if is_kept(row, *choice) else NOT_KEPT


def _plan(task: BackgroundTask) -> str:
    repair = _repair(task)
    shown_of(repair)
    keep_shown(repair.conversation, repair.revision, request_of(repair))
    return "" if is_kept_of(repair) else NOT_KEPT


def _compare(task: BackgroundTask) -> str:
    is_in_store, sentence = still_holds(_repair(task))
    task.arguments |= {"is_in_store": is_in_store}
    return sentence


def _propose(task: BackgroundTask) -> str:
    row, chosen = _conversation(task), task.arguments
    request = request_for(
        row.source, loading.stored(row), chosen["strategies"], chosen["mode"], chosen["reader"], leaf=chosen["leaf"], now=chosen["now"]
    )
    repair = propose_repair(row, request, task.operator, chosen["seen"], **chosen.get("written", {}))
    task.back = f"/repairs/{repair.oid}/"
    return ""


def _acted(act: Callable[[Repair, str], None], task: BackgroundTask) -> str:
    repair = _repair(task)
    act(repair, task.operator)
    return visible(f"{repair.get_state_display()}. {repair.outcome}")


def _group_preview(task: BackgroundTask) -> str:
    rows = Conversation.objects.select_related("source").in_bulk(task.arguments["rows"], field_name="oid")
    of = [rows[oid] for oid in task.arguments["rows"] if oid in rows]
    return json.dumps(planned_all(of, task.arguments["code"], task.arguments["strategies"], task.arguments["mode"]))


def _acted_on_group(act: Callable[[RepairGroup, str], str], task: BackgroundTask) -> str:
    return act(_group(task), task.operator)


def _group_propose(task: BackgroundTask) -> str:
    group, again = _group(task), task.arguments["again"]
    if not again:
        return propose_all(group, task.operator)
    rows = Conversation.objects.select_related("source").filter(oid__in=again, source=group.source)
    chosen = {member["conversation"]: member for member in group.members}
    members = {
        row.oid: planned(row, group.code, chosen[row.oid]["strategies"], chosen[row.oid]["mode"]) for row in rows if row.oid in chosen
    }
    return propose_again(group, members, task.operator)


def _conversation(task: BackgroundTask) -> Conversation:
    assert task.conversation is not None
    return task.conversation


def _group(task: BackgroundTask) -> RepairGroup:
    group = RepairGroup.objects.select_related("source").filter(oid=task.arguments["group"]).first()
    if group is None:
        raise Refused(GROUP_GONE)
    return group


def _repair(task: BackgroundTask) -> Repair:
    return Repair.objects.select_related("conversation__source").get(oid=task.arguments["repair"])


_WORKS: dict[str, Callable[[BackgroundTask], str]] = {
    "preview": _preview,
    "plan": _plan,
    "compare": _compare,
    "propose": _propose,
    "apply": partial(_acted, apply_repair),
    "undo": partial(_acted, undo_repair),
    "import": _import,
    "remove": _remove,
    "demo on": _demo_on,
    "demo off": _demo_off,
    "group preview": _group_preview,
    "group propose": _group_propose,
    "group approve": lambda task: approve_all(_group(task), task.operator, *task.arguments["decision"]),
    "group apply": partial(_acted_on_group, apply_all),
    "group undo": partial(_acted_on_group, undo_all),
}


@unlimited
def prepare_ahead(rows: Iterable[Conversation], waits: bool) -> None:
    """Computes the preview of the repair that the page of each conversation suggests, so that the first look at it reads what is kept."""
    for row in rows:
        choice = first_choice(row)
        if choice is None or is_kept(row, *choice):
            continue
        strategies, mode, reader, leaf = choice
        arguments = {"strategies": strategies, "mode": mode, "reader": reader, "leaf": leaf}
        key, query = _key_of_preview(row, *choice), urlencode({"strategy": strategies, "mode": mode, "reader": reader}, doseq=True)
        back = f"/conversations/{row.oid}/repairs/new/?{query}"
        if not waits:
            started(row, "preview", key, arguments, "", back)
            continue
        work, is_new = _recorded(row, "preview", key, arguments, "", back, again=False)
        task = work.task
        if not is_new:
            continue
        if connection.in_atomic_block or is_in_memory():
            run(task.pk)
        elif not _is_queued(task.pk, task.kind):
            _finish(task.pk)
