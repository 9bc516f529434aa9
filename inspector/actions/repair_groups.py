"""Repairs of one problem, proposed, decided, written and undone together. Each act is the act on one repair, for one conversation after the other."""

import secrets
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.utils import timezone

from inspector.access.context import NotPermitted
from inspector.access.permits import acts, refuse_taken_away
from inspector.actions import audit, reviewing
from inspector.actions.apply_repair import apply_repair
from inspector.actions.decide_repair import approve_repair, reject_repair
from inspector.actions.planning import request_for
from inspector.actions.problems import Refused
from inspector.actions.propose_repair import PURGED, propose_repair
from inspector.actions.undo_repair import UNDOABLE, undo_repair
from inspector.models import Conversation, Repair, RepairGroup, Source, loading, outbox
from inspector.models.transactions import one_writer
from inspector.presentation.visible import clipped, visible
from inspector.sources.problems import SourceProblem
from inspector.text.at_hand import apart

MOST = 100
"""Conversations of one group."""
_State = Repair.State
Member = dict[str, Any]


@acts("propose")
def open_group(
    source: Source, /, code: str, rule: str, members: list[Member], operator: str, *, goes_on: bool, **written: str
) -> RepairGroup:
    """Nothing is proposed yet; `propose_all` does that. `written`: reason, incident and reviewers, as `reviewing.checked` has them. Raises Refused.

    Each conversation is in it once, and a form that is sent twice opens one group.
    """
    members = list({member["conversation"]: member for member in members}.values())
    if not members:
        raise Refused("No conversation is chosen: choose at least one that a strategy repairs, then propose again.")
    if len(members) > MOST:
        raise Refused(f"At most {MOST} conversations are repaired together: leave some out, and repair them after these.")
    columns = {
        "goes_on": goes_on,
        "reason": written.get("reason", ""),
        "incident": written.get("incident", ""),
        "reviewers": reviewing.reviewers_named(written.get("reviewers", ""), source),
        "proposed_by": operator,
    }
    with one_writer():
        newest = RepairGroup.objects.filter(source=source, code=code).order_by("-pk").first()
        if newest is not None and _is_same(newest, members, columns):
            return newest
        group = RepairGroup.objects.create(
            oid=secrets.token_hex(6), source=source, code=code, rule=rule, members=members, proposed_at=timezone.now(), **columns
        )
        _record(group, operator, "propose group", [member["conversation"] for member in members], goes_on=goes_on)
    return group


def _is_same(group: RepairGroup, members: list[Member], columns: Mapping[str, Any]) -> bool:
    """Whether it asks for just this, and nothing became of it yet."""
    return (
        group.members == members
        and all(getattr(group, name) == value for name, value in columns.items())
        and all(repair.state == _State.PROPOSED and not repair.is_moved for repair in group.current)
    )


@acts("propose")
def propose_all(group: RepairGroup, operator: str) -> str:
    """Those that are not proposed yet, so that a proposal that was interrupted goes on. A conversation that is refused does not keep the others from it."""
    proposed = {repair.conversation.oid for repair in group.current}
    rest = [member for member in group.members if member["conversation"] not in proposed]
    return _one_by_one(group, rest, lambda member: _propose(group, member, operator), "proposed", goes_on=True)


@acts("propose")
def propose_again(group: RepairGroup, members: Mapping[str, Member], operator: str) -> str:
    """For what the store holds now; `members` by conversation. What waited for these conversations is rejected, the others keep their approval."""

    def propose(member: Member) -> None:
        old = next((repair for repair in group.current if repair.conversation.oid == member["conversation"]), None)
        if member["problem"]:
            raise Refused(member["problem"])
        repair = _propose(group, member, operator)
        if old is not None and old.state in (_State.PROPOSED, _State.APPROVED):
            reject_repair(old, operator, f"Proposed again as repair {repair.oid}, for what the store holds now.")

    _keep(group, members.values())
    _record(group, operator, "propose again", list(members))
    return _one_by_one(group, members.values(), propose, "proposed again", goes_on=True)


def _propose(group: RepairGroup, member: Member, operator: str) -> Repair:
    member["problem"] = ""
    try:
        row = Conversation.objects.select_related("source").filter(oid=member["conversation"], source=group.source).first()
        if row is None:
            raise Refused(PURGED)
        chosen = member["strategies"], member["mode"], member["reader"]
        request = request_for(row.source, loading.stored(row), *chosen, now=member["at"])
        written = {"reason": group.reason, "incident": group.incident, "reviewers": group.reviewers}
        return propose_repair(row, request, operator, member["seen"] or None, group=group, **written)
    except (Refused, SourceProblem) as problem:
        member["problem"] = _sentence(problem)
        raise
    finally:
        _keep(group, [member])


def _keep(group: RepairGroup, members: Iterable[Member]) -> None:
    """These in place of what the group has of their conversations. What a purge took out of it meanwhile stays out: a plan says what its conversation holds."""
    newer = {member["conversation"]: member for member in members}
    with one_writer():
        kept = RepairGroup.objects.filter(pk=group.pk).first()
        if kept is not None:
            group.members = [newer.get(member["conversation"], member) for member in kept.members]
            group.save(update_fields=["members"])


@acts("approve")
def approve_all(group: RepairGroup, operator: str, signed: Mapping[str, str], statement: str, comment: str) -> str:
    """`signed`: repair -> digest of the plan that the approver saw, as the page of the group lists them; only these are approved."""

    def approve(repair: Repair) -> None:
        if repair.is_moved:
            raise Refused("The conversation changed since it was proposed: propose it again.")
        approve_repair(repair, operator, signed[repair.oid], statement, comment)

    waiting = [repair for repair in group.current if repair.state == _State.PROPOSED and repair.oid in signed]
    _record(group, operator, "approve group", [repair.oid for repair in waiting])
    return _one_by_one(group, waiting, approve, "approved", goes_on=True)


@acts("reject")
def reject_all(group: RepairGroup, operator: str, comment: str) -> str:
    """All that wait, whether approved or not."""
    waiting = [repair for repair in group.current if repair.state in (_State.PROPOSED, _State.APPROVED)]
    _record(group, operator, "reject group", [repair.oid for repair in waiting])
    return _one_by_one(group, waiting, lambda repair: reject_repair(repair, operator, comment), "rejected", goes_on=True)


@acts("ask")
def ask_all(group: RepairGroup, operator: str, names: str) -> str:
    """In place of those who were asked before, of all that wait. Raises Refused."""
    chosen = reviewing.reviewers_named(names, group.source)
    waiting = [repair for repair in group.current if repair.state in Repair.WAITING]
    if waiting:
        RepairGroup.objects.filter(pk=group.pk).update(reviewers=chosen)
    _record(group, operator, "request review of group", [repair.oid for repair in waiting], reviewers=chosen)
    return _one_by_one(group, waiting, lambda repair: reviewing.request_reviewers(repair, operator, chosen), "asked about", goes_on=True)


@acts("apply")
def apply_all(group: RepairGroup, operator: str, interactive: bool = False) -> str:
    """Those that are approved, and a write that was interrupted; what is applied already is left as it is, so that it goes on where it was killed."""
    waiting = [repair for repair in group.current if repair.intent or (repair.state == _State.APPROVED and not repair.is_moved)]
    _record(group, operator, "apply group", [repair.oid for repair in waiting])
    return _one_by_one(group, waiting, lambda repair: apply_repair(_now(repair), operator, interactive), "applied", group.goes_on)


@acts("undo")
def undo_all(group: RepairGroup, operator: str, interactive: bool = False) -> str:
    """The last that was applied comes first."""
    applied = [repair for repair in group.current if repair.state in UNDOABLE or repair.intent]
    _record(group, operator, "undo group", [repair.oid for repair in applied])
    return _one_by_one(group, applied[::-1], lambda repair: undo_repair(_now(repair), operator, interactive), "undone", group.goes_on)


def _now(repair: Repair) -> Repair:
    """As it is by now: the others before it took their time."""
    repair.refresh_from_db()
    return repair


def _one_by_one(group: RepairGroup, items: Iterable[Any], act: Callable[[Any], object], done_word: str, goes_on: bool) -> str:
    """What was done, in one sentence. Raises Refused with the same where one was refused."""
    items = list(items)
    if not items:
        raise Refused(f"No repair of this group can be {done_word} now: load its page again.")
    refused: dict[str, list[str]] = {}
    done = left = 0
    for place, item in enumerate(items):
        try:
            # The others took their time.
            refuse_taken_away()
            with apart():
                act(item)
            done += 1
        except (Refused, SourceProblem, NotPermitted, ObjectDoesNotExist) as problem:
            if isinstance(problem, ObjectDoesNotExist) and _row(group, item) is not None:
                raise
            refused.setdefault(_sentence(problem), []).append(_name(group, item))
            if not goes_on or isinstance(problem, NotPermitted):
                left = len(items) - place - 1
                break
    outbox.release(group.oid)
    total = f"{done} of {len(items)} {done_word}."
    if not refused:
        return total
    parts = [total, *(f"{', '.join(names)}: {sentence}" for sentence, names in refused.items())]
    if left:
        why = "this group stops at the first failure" if not goes_on else "the role was taken away"
        parts.append(f"{left} {'was' if left == 1 else 'were'} not tried: {why}.")
    raise Refused(" ".join(parts))


def _row(group: RepairGroup, item: Any) -> Conversation | None:
    return Conversation.objects.filter(oid=_oid(item), source=group.source).first()


def _oid(item: Any) -> str:
    return str(item.conversation.oid if isinstance(item, Repair) else item["conversation"])


def _name(group: RepairGroup, item: Any) -> str:
    row = _row(group, item)
    return clipped(visible(row.title or row.short_native_id), 60)[0] if row else _oid(item)


def _sentence(problem: Exception) -> str:
    if isinstance(problem, ObjectDoesNotExist):
        return PURGED
    return problem.sentence if isinstance(problem, SourceProblem) else str(problem)


def _record(group: RepairGroup, operator: str, verb: str, of: list[str], **detail: Any) -> None:
    """Who began it, on which repairs or conversations; what became of each is in the line of its own act."""
    audit.record(operator, verb, source_path=group.source.path, group=group.oid, rule=group.code, of=of, **detail)
