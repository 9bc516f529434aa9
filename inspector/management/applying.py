"""Propose, approve and apply in one go, as the person at the keyboard."""

from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db.models import QuerySet

from inspector import models
from inspector.actions.apply_repair import apply_repair
from inspector.actions.comparison import UNDOABLE, compare, target_of
from inspector.actions.decide_repair import BY_COMMAND, approve_repair, reject_repair
from inspector.actions.import_source import import_targets
from inspector.actions.planning import RepairRequest, mode_named, preview_repair, request_for
from inspector.actions.problems import Refused
from inspector.actions.propose_repair import propose_repair
from inspector.actions.undo_repair import verify_repair
from inspector.conversation.tree import LEAF
from inspector.environment import os_user
from inspector.installation import program
from inspector.management.observed import PIPE
from inspector.management.target import Chosen
from inspector.models import Repair, Source, loading
from inspector.planning.preview import Preview, digest
from inspector.presentation.visible import visible
from inspector.sources.problems import shown

_BEFORE = "was applied before, and nothing was written now."


@dataclass(frozen=True, slots=True)
class Applied:
    """`waits_at` is where a second person approves; "" where the repair is done."""

    conversation: models.Conversation
    oid: str
    state: str
    sentence: str
    preview: Preview
    waits_at: str = ""


def apply_now(
    path: str, chosen: Chosen, request: RepairRequest, traces: list[str], expected: Preview | None = None, **written: Any
) -> Applied:
    """Imports a path first. Raises Refused, SourceProblem, CommandError; a repair that this command proposed and that was refused after its approval is withdrawn.

    `written` are reason, incident and reviewers of a repair that is proposed now. Only the bytes of `expected` are written where it is given: what a plan file was checked against may lack what was imported before. The same
    request on the same bytes is one repair: the one that is in the store already, or that waits, is not made again.
    """
    operator = os_user()
    conversation = chosen.row or _imported(path, chosen, traces, operator)
    same = [
        candidate
        for candidate in _repairs_of(conversation.oid, request.mode)
        if _request_key(candidate) == _request_key(request) and candidate.base_digest == digest(chosen.stored)
    ]
    for repair in same:
        if applied := _applied(chosen, repair):
            return applied
    waiting = next(
        (candidate for candidate in same if candidate.state in (Repair.State.PROPOSED, Repair.State.APPROVED) and _is_current(candidate)),
        None,
    )
    if waiting is None:
        _refuse_unknown(chosen, conversation.source, request)
    repair = waiting or propose_repair(conversation, request, operator, **written)
    preview = preview_repair(repair)
    if expected is not None and preview.changes != expected.changes:
        if waiting is None:
            reject_repair(repair, operator)
        raise Refused(
            "With what was imported of this store before, its traces above all, the plan comes out otherwise: make the plan file again here."
        )
    if settings.INSPECTOR_REQUIRE_SECOND_APPROVER and repair.state == Repair.State.PROPOSED:
        sentence = f"Repair {repair.oid} is proposed and rehearsed; it waits for a second person."
        return Applied(conversation, repair.oid, repair.state, sentence, preview, repair_url(repair.oid))
    if repair.state == Repair.State.PROPOSED:
        approve_repair(repair, operator, repair.plan_digest, BY_COMMAND)
    try:
        apply_repair(repair, operator, interactive=True)
    except Refused as refusal:
        if waiting is None and repair.state == Repair.State.APPROVED and not repair.intent:
            # Nobody decided against it: who opens it reads why it was not written.
            reject_repair(repair, operator, f"Not written, and withdrawn by the command: {refusal}")
        raise
    return _done(chosen, repair, preview, f"is {repair.state}. {repair.outcome}")


def applied_before(chosen: Chosen, strategies: list[str] | None, goal: str | None, mode: str | None) -> Applied | None:
    """The repair that was asked for again and is in the store: its plan would change nothing now. Raises Refused where the store cannot be read."""
    for repair in _repairs_of(chosen.oid, mode_named(chosen.format, mode)):
        is_same = repair.strategies == strategies if strategies else repair.profile == goal
        if is_same and (applied := _applied(chosen, repair)):
            return applied
    return None


def _applied(chosen: Chosen, repair: Repair) -> Applied | None:
    """The repair where it is in the store; of a new conversation also where that went on since, which is what it is for. Raises Refused."""
    if repair.state not in UNDOABLE:
        return None
    holds, sentence = verify_repair(repair)
    if holds:
        return _done(chosen, repair, preview_repair(repair), _BEFORE)
    if target_of(repair) == chosen.conversation.native_id or repair.state not in UNDOABLE or not compare(repair).is_written:
        return None
    done = _done(chosen, repair, preview_repair(repair), f"{_BEFORE} {sentence}", can_be_undone=False)
    return replace(done, sentence=f"{done.sentence} To write another one, propose the repair on the page of the original conversation.")


def _refuse_unknown(chosen: Chosen, source: Source, request: RepairRequest) -> None:
    """Raises Refused where the store holds the new conversation of this request, and no repair that is known here wrote it."""
    first = request_for(
        Source(format=source.format), chosen.stored, request.strategies, request.mode, request.reader, leaf=request.options.get(LEAF, "")
    ).options.get("fork_id")
    if not first or (first not in chosen.native_ids and loading.present_conversation(source, first) is None):
        return
    applied = Repair.objects.filter(conversation__source=source, state__in=UNDOABLE)
    if all(repair.options.get("fork_id") != first for repair in applied):
        raise Refused(
            f"The store holds the conversation {visible(first)} already, under the id that this repair of the same bytes gives, and no repair "
            "of this store in Inspector's own database wrote it: it was written with another database, or under another path of the store. "
            "Nothing was written. To write another one, propose the repair on the page of the original conversation."
        )


def _repairs_of(conversation: str, mode: str) -> QuerySet[Repair]:
    return Repair.objects.filter(conversation__oid=conversation, mode=mode).select_related("conversation__source")


def _request_key(request: RepairRequest | Repair) -> tuple[object, ...]:
    return (*request.strategies, request.reader, request.projection, request.profile, request.options.get(LEAF, ""))


def _is_current(repair: Repair) -> bool:
    """Whether the plan that waits comes out as it was proposed."""
    try:
        return preview_repair(repair).digest == repair.plan_digest
    except Refused:
        return False


def _done(chosen: Chosen, repair: Repair, preview: Preview, what: str, can_be_undone: bool = True) -> Applied:
    target = chosen.format.target(preview.plan)
    written = f" The repaired conversation is {target}." if target != preview.plan.conversation else ""
    undo = f" Take it back with: {program()} undo {repair.oid}" if can_be_undone else ""
    sentence = f"Repair {repair.oid} {what}{written}{undo}"
    return Applied(repair.conversation, repair.oid, repair.state, sentence, preview)


def repair_url(oid: str) -> str:
    return f"{settings.INSPECTOR_BASE_URL or 'http://127.0.0.1:8000'}/repairs/{oid}/"


def repair_named(name: str) -> Repair:
    """By its id or the start of it. Raises CommandError."""
    repairs = list(Repair.objects.filter(oid__startswith=visible(name).lower()).select_related("conversation__source")[:6]) if name else []
    if len(repairs) == 1:
        return repairs[0]
    if not repairs:
        raise CommandError(f"There is no repair {shown(name)!r}: the page /repairs/ lists them, and `repair --apply` prints the id.")
    raise CommandError(
        f"{shown(name)!r} may be any of several repairs ({', '.join(repair.oid for repair in repairs[:5])}): write more of the id."
    )


def _imported(path: str, chosen: Chosen, traces: list[str], operator: str) -> models.Conversation:
    if PIPE in traces:
        raise CommandError("What comes through a pipe cannot be imported with the store: save the traces to a file and name that.")
    import_targets([path, *traces], operator, chosen.format.name, as_traces=traces, only=chosen.conversation.native_id)
    return models.Conversation.objects.select_related("source").get(oid=chosen.oid)
