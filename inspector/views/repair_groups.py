"""One plan for many conversations of a problem: its preview, the page on which all of it is reviewed, and the acts on all of them at once."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404

from inspector import background
from inspector.actions import repair_groups, reviewing
from inspector.actions.approvals import why_lapsed
from inspector.actions.decide_repair import STATEMENTS, why_not_approve
from inspector.actions.group_previews import number_left, occurrences_of, planned_all, why_none
from inspector.actions.planning import mode_named, web_may_write
from inspector.actions.problems import Refused
from inspector.actions.repair_groups import MOST
from inspector.actions.shown_previews import shown_of
from inspector.actions.undo_repair import UNDOABLE
from inspector.background import Work
from inspector.middleware import OperatorRequest, accepts, writes
from inspector.models import Conversation, Problem, Repair, RepairComment, RepairGroup, Source, loading
from inspector.models.transactions import one_snapshot
from inspector.presentation import markdown
from inspector.presentation.json_text import Json, json_fields
from inspector.presentation.repair.alternatives import safety_words
from inspector.presentation.repair.group_sum import GroupSum, sum_of
from inspector.presentation.repair.plan import parts_of
from inspector.presentation.repair.preview_part import PreviewPart
from inspector.presentation.visible import visible
from inspector.programs.formats import WriteMode, mode_word
from inspector.rules.base import RuleEntry
from inspector.sources.own_program import read_only
from inspector.strategies.base import Strategy
from inspector.strategies.catalogue import STRATEGIES
from inspector.views.pages import absolute, as_json, as_markdown, origin_of_source, page
from inspector.views.paging import ListWindow, in_memory
from inspector.views.problem_list import known_rule
from inspector.views.repair_rows import safety_of
from inspector.views.repairs import StorePlace, Written, accounts, back_of, place_of, written_of

AT_ONCE = 500
"""What conversations may cost together, in chunks, for a page to compute their plans itself: about 200 ms."""
PER_CONVERSATION = 50
"""What a conversation costs beyond its chunks."""
PER_PAGE = 25
OPEN = 500
"""What the diffs of one page may cost in the same way; those of the others are asked for one by one."""
OF_STREAMS = "A captured stream is evidence and is never written: fix what sent it; its page has a corrected copy where one can be made."
_CHOSEN = re.compile(r"([0-9a-f]{12}):([0-9a-f]{64}):([0-9]{0,14})")
_SIGNED = re.compile(r"([0-9a-f]{12}):([0-9a-f]{64})")
_State = Repair.State


def _safety_of(member: dict[str, Any]) -> str:
    """As of a plan alone; "" where there is no plan."""
    plan = member.get("plan")
    return safety_words(plan["safety"]) if plan else ""


class MemberPlan(NamedTuple):
    """`member` as `planned` has it."""

    conversation: Conversation
    member: dict[str, Any]

    @property
    def safety(self) -> str:
        return _safety_of(self.member)

    @property
    def chosen(self) -> str:
        """What the form sends of it: which conversation, what was previewed, and the time of its entry in a list."""
        return f"{self.conversation.oid}:{self.member['seen']}:{self.member['at'] or ''}"


class GroupChoice(NamedTuple):
    strategies: tuple[str, ...]
    mode: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewGroupPage:
    problem: Problem
    plans: tuple[MemberPlan, ...]
    others: tuple[MemberPlan, ...]
    """Those without a plan, each with the reason."""
    total: GroupSum
    left: int
    """Conversations that are more than one group may have."""
    work: Work | None
    choice: GroupChoice
    strategies: tuple[Strategy, ...]
    modes: tuple[WriteMode, ...]
    sealed: str
    may_write: bool
    place: StorePlace
    written: Written
    accounts: tuple[str, ...]
    goes_on: bool

    @property
    def writes_new(self) -> bool:
        """Whether the originals stay as they are."""
        return _writes_new(self.problem.source, [self.choice.mode])

    @property
    def is_waiting(self) -> bool:
        """Whether there is nothing to propose before others are decided on."""
        return not self.plans and not self.left and all("repair" in other.member for other in self.others)

    @property
    def waiting(self) -> tuple[tuple[Repair, str], ...]:
        """The repairs that have to be decided on first, each with what its strategies do beyond moving things."""
        oids = [other.member["repair"] for other in self.others if other.member.get("repair")]
        repairs = Repair.objects.filter(oid__in=oids).select_related("conversation", "group").order_by("pk")
        return tuple((repair, safety_of(repair)) for repair in repairs)


class GroupMember(NamedTuple):
    """`part` is None where its diff is not shown until it is asked for."""

    conversation: Conversation | None
    member: dict[str, Any]
    repair: Repair | None
    state: str
    why: str
    part: PreviewPart | None
    is_open: bool
    others: tuple[Repair, ...]
    """Repairs of the conversation that wait, and are not of this group."""

    @property
    def outcome(self) -> str:
        """What the request and the findings are like after its plan; "" where there is none."""
        return parts_of(self._headline)[1]

    @property
    def safety(self) -> str:
        return _safety_of(self.member)

    @property
    def did(self) -> str:
        """What else its plan's headline says."""
        return self._headline.removesuffix(f" · {self.outcome}")

    @property
    def _headline(self) -> str:
        plan = self.member.get("plan")
        return str(plan["headline"]) if plan else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPage:
    group: RepairGroup
    problem: str
    """The address of its problem."""
    total: GroupSum
    states: tuple[tuple[str, int], ...]
    here: ListWindow[dict[str, Any]]
    members: tuple[GroupMember, ...]
    strategies: tuple[str, ...]
    modes: tuple[str, ...]
    about: RuleEntry | None
    """The rule of the problem; None of one that this version does not know."""
    waiting: tuple[Repair, ...]
    """Those that can be approved; the form sends the digest of each."""
    accounts: tuple[str, ...]
    """Those that may be asked to review, where the person may ask."""
    approved: tuple[Repair, ...]
    applied: tuple[Repair, ...]
    again: tuple[str, ...]
    """Conversations that can be proposed again."""
    unproposed: int
    why_not_approve: str
    may_write: bool
    statements: dict[str, str]
    place: StorePlace
    work: Work | None
    comments: tuple[tuple[RepairComment, int], ...]
    """Each with the number of conversations that it is on."""

    @property
    def writes_new(self) -> bool:
        """Whether the originals stay as they are."""
        return _writes_new(self.group.source, self.modes)


def _writes_new(source: Source, modes: Sequence[str]) -> bool:
    return all(mode_word(loading.format_of(source), mode) == "fork" for mode in modes)


def _cost(row: Conversation) -> int:
    return row.chunk_count + PER_CONVERSATION


def _choice(request: OperatorRequest, problem: Problem) -> GroupChoice:
    """Raises Refused for a mode that there is none of, and for a problem of streams."""
    if problem.is_of_streams:
        raise Refused(OF_STREAMS)
    data = request.POST if request.method == "POST" else request.GET
    named = data.getlist("strategy")
    mode = mode_named(loading.format_of(problem.source), data.get("mode", ""))
    return GroupChoice(tuple(strategy.name for strategy in STRATEGIES if strategy.name in named), mode)


def _plans(
    request: OperatorRequest, problem: Problem, rows: Sequence[Conversation], choice: GroupChoice
) -> tuple[list[dict[str, Any]], Work | None]:
    """The plan of each conversation, and what computes them where that takes longer than a page may."""
    if sum(map(_cost, rows)) <= AT_ONCE:
        return planned_all(rows, problem.code, *choice), None
    work = background.group_preview(problem, rows, *choice, *back_of(request))
    return ([] if work.is_running or work.problem else json.loads(work.task.answer)), work


def _new_page(request: OperatorRequest, problem: Problem, choice: GroupChoice, sealed: str) -> NewGroupPage:
    rows = occurrences_of(problem)
    plans, work = ([], None) if sealed else _plans(request, problem, rows, choice)
    of_oid = {row.oid: row for row in rows}
    members = [MemberPlan(of_oid[plan["conversation"]], plan) for plan in plans if plan["conversation"] in of_oid]
    about = known_rule(problem.code)
    format_ = loading.format_of(problem.source)
    return NewGroupPage(
        problem=problem,
        plans=tuple(member for member in members if not member.member["problem"]),
        others=tuple(member for member in members if member.member["problem"]),
        total=sum_of(plan["plan"] for plan in plans),
        left=number_left(problem),
        work=work if work is not None and (work.is_running or work.problem) else None,
        choice=choice,
        strategies=tuple(one for one in STRATEGIES if about and one.name in about.repaired_by and one.applies_to(problem.source.format)),
        modes=format_.modes,
        sealed=sealed,
        may_write=web_may_write(problem.source),
        place=place_of(problem.source),
        written=written_of(request),
        accounts=accounts(problem.source),
        goes_on=request.GET.get("after") == "on",
    )


@writes
@accepts("GET", "HEAD", "POST")
def new(request: OperatorRequest, oid: str) -> HttpResponse:
    """GET previews and writes nothing; POST proposes the conversations that are chosen, each with what was previewed of it."""
    problem = get_object_or_404(Problem.objects.select_related("source"), oid=oid)
    if problem.is_of_streams:
        messages.error(request, OF_STREAMS)
        return HttpResponseRedirect(f"/problems/{problem.oid}/")
    try:
        choice, sealed = _choice(request, problem), why_none(problem) or read_only(problem.source.format)
    except Refused as refusal:
        choice, sealed = GroupChoice((), ""), str(refusal)
    if request.method == "POST":
        return _propose(request, problem, choice, sealed)
    here, is_again = back_of(request)
    if is_again:
        if not sealed:
            background.group_preview(problem, occurrences_of(problem), *choice, here, again=True)
        return HttpResponseRedirect(here)
    content = _new_page(request, problem, choice, sealed)
    with one_snapshot():
        return page(request, "repair_group_new.html", content, part="preview", twins=("json",))


def _propose(request: OperatorRequest, problem: Problem, choice: GroupChoice, sealed: str) -> HttpResponse:
    try:
        if sealed:
            raise Refused(sealed)
        written = reviewing.checked(problem.source, *(request.POST.get(name, "") for name in Written._fields))
        chosen = [match for value in request.POST.getlist("conversation") if (match := _CHOSEN.fullmatch(value))]
        plans, work = _plans(request, problem, occurrences_of(problem), choice)
        if work is not None and (work.is_running or work.problem):
            raise Refused("The plans have to be computed again: read them on this page when that is done, then propose them.")
        of_oid = {plan["conversation"]: plan for plan in plans if not plan["problem"]}
        members = [
            of_oid[oid] | {"seen": seen, "at": int(at) if at else None} for oid, seen, at in (m.groups() for m in chosen) if oid in of_oid
        ]
        goes_on = request.POST.get("after") == "on"
        group = repair_groups.open_group(problem.source, problem.code, problem.rule, members, request.operator, goes_on=goes_on, **written)
    except Refused as refusal:
        messages.error(request, visible(str(refusal)))
        return HttpResponseRedirect(f"/problems/{problem.oid}/repair/")
    if len(group.current) < len(group.members):
        _begin("group propose", request.operator, group)
    return HttpResponseRedirect(f"/repair-groups/{group.oid}/")


@writes
def new_json(request: OperatorRequest, oid: str) -> HttpResponse:
    problem = get_object_or_404(Problem.objects.select_related("source"), oid=oid)
    try:
        content = _new_page(request, problem, _choice(request, problem), why_none(problem) or read_only(problem.source.format))
    except Refused as refusal:
        return as_json({"error": str(refusal)}, status=400)
    if content.sealed:
        return as_json({"error": content.sealed}, status=400)
    state = "" if content.work is None else content.work.problem or content.work.sentence
    plans = [plan.member for plan in (*content.plans, *content.others)]
    return as_json({"problem": oid, "waiting": state, **json_fields(content, "left headline=total.headline"), "conversations": plans})


def _group(oid: str) -> RepairGroup:
    return get_object_or_404(RepairGroup.objects.select_related("source"), oid=oid)


def _state(repair: Repair | None, work: Work | None) -> str:
    if repair is None:
        return "being proposed" if work is not None and work.is_running else "not proposed"
    if repair.intent:
        return "being written"
    if repair.is_moved:
        return "changed"
    return "regressed" if repair.regression and repair.state in UNDOABLE else str(repair.state)


def _why(repair: Repair | None, member: dict[str, Any], state: str) -> str:
    if state == "changed":
        return "The conversation changed since this was proposed, so its approval does not hold: propose it again."
    if repair is None:
        return str(member["problem"])
    return repair.regression if state == "regressed" else why_lapsed(repair) or repair.outcome


def _group_page(request: OperatorRequest, group: RepairGroup) -> GroupPage:
    work = background.last_of_group(group)
    current = {repair.conversation.oid: repair for repair in group.current}
    state_of = {member["conversation"]: _state(current.get(member["conversation"]), work) for member in group.members}
    here = in_memory(group.members, request.GET, PER_PAGE)
    of_oid = {row.oid: row for row in Conversation.objects.filter(source=group.source, oid__in=[row["conversation"] for row in here.rows])}
    others_of = defaultdict[int, list[Repair]](list)
    for other in (
        Repair.objects.filter(conversation__in=of_oid.values(), state__in=Repair.WAITING).exclude(group=group).order_by("-pk")[:MOST]
    ):
        others_of[other.conversation_id].append(other)
    shown, rest, members = request.GET.get("show", ""), OPEN, []
    # What loses or invents something is looked at first.
    first = next((member for member in here.rows if (member.get("plan") or {}).get("safety")), here.rows[0] if here.rows else None)
    for member in here.rows:
        oid = member["conversation"]
        repair, row = current.get(oid), of_oid.get(oid)
        part, is_chosen = None, shown == oid
        if repair is not None and row is not None and not background.is_large(row) and (is_chosen or _cost(row) <= rest):
            part = shown_of(repair).part
            rest -= _cost(row)
        is_open = is_chosen or (not shown and member is first)
        why, others = _why(repair, member, state_of[oid]), tuple(others_of[row.pk]) if row else ()
        members.append(GroupMember(row, member, repair, state_of[oid], why, part, is_open, others))
    repairs = list(current.values())
    settled = [repair for repair in repairs if state_of[repair.conversation.oid] not in ("changed", "being written")]
    waiting = tuple(repair for repair in settled if repair.state == _State.PROPOSED)
    ended = (
        "changed",
        "regressed",
        *(str(one) for one in (_State.STALE, _State.FAILED, _State.REJECTED, _State.UNDONE, _State.OVERWRITTEN)),
    )
    return GroupPage(
        group=group,
        problem=f"/problems/{Problem.oid_of(group.source.oid, group.code)}/",
        total=sum_of(member["plan"] for member in group.members),
        states=tuple(Counter(state_of.values()).most_common()),
        here=here,
        members=tuple(members),
        strategies=tuple(dict.fromkeys(name for member in group.members for name in member["strategies"])),
        modes=tuple(dict.fromkeys(str(member["mode"]) for member in group.members)),
        about=known_rule(group.code),
        waiting=waiting,
        accounts=accounts(group.source) if waiting else (),
        approved=tuple(repair for repair in repairs if repair.intent or (repair in settled and repair.state == _State.APPROVED)),
        applied=tuple(repair for repair in repairs if repair.state in UNDOABLE and not repair.intent),
        again=tuple(oid for oid, state in state_of.items() if state in ended),
        unproposed=sum(state == "not proposed" for state in state_of.values()),
        why_not_approve=next((why for repair in waiting if (why := why_not_approve(repair, request.operator))), ""),
        may_write=web_may_write(group.source),
        statements=STATEMENTS,
        place=place_of(group.source),
        work=work,
        comments=_comments(repairs),
    )


def _comments(repairs: Sequence[Repair]) -> tuple[tuple[RepairComment, int], ...]:
    """What was written on all of them at once is shown once."""
    alike: dict[tuple[str, str, str], list[RepairComment]] = {}
    for row in RepairComment.objects.filter(repair__in=repairs).select_related("repair").order_by("pk"):
        alike.setdefault((row.who, row.verdict, row.text), []).append(row)
    return tuple((rows[0], len({row.repair_id for row in rows})) for rows in alike.values())


def group(request: OperatorRequest, oid: str) -> HttpResponse:
    return page(request, "repair_group.html", _group_page(request, _group(oid)), part="state", twins=("json", "md"))


def _report(group: RepairGroup) -> Json:
    work = background.last_of_group(group)
    current = {repair.conversation.oid: repair for repair in group.current}
    members = []
    for member in group.members:
        repair = current.get(member["conversation"])
        state = _state(repair, work)
        facts = {"repair": repair.oid if repair else "", "state": state, "why": _why(repair, member, state)}
        members.append({**facts, **{name: member[name] for name in ("conversation", "strategies", "mode", "plan")}})
    return {
        **json_fields(group, "group=oid source=source.oid code rule goes_on reason incident reviewers proposed_by proposed_at"),
        "headline": sum_of(member["plan"] for member in group.members).headline,
        "states": dict(Counter(member["state"] for member in members)),
        "conversations": members,
    }


def group_json(request: OperatorRequest, oid: str) -> HttpResponse:
    return as_json(_report(_group(oid)))


def group_md(request: OperatorRequest, oid: str) -> HttpResponse:
    group = _group(oid)
    links = {"group": absolute(request, f"/repair-groups/{oid}/")}
    if group.incident:
        links["incident"] = group.incident
    text = markdown.group_md(_report(group), group.source.name, links)
    return as_markdown(text + origin_of_source(group.source, None, "scan", group.source.path))


def _act(request: OperatorRequest, oid: str, act: Callable[[RepairGroup], object]) -> HttpResponse:
    try:
        done = act(_group(oid))
        if isinstance(done, str):
            messages.success(request, done)
    except Refused as refusal:
        messages.error(request, visible(str(refusal)))
    return HttpResponseRedirect(f"/repair-groups/{oid}/")


@accepts("POST")
def approve(request: OperatorRequest, oid: str) -> HttpResponse:
    """`plan` names each repair with the digest of the plan that the page showed."""
    signed = {match[1]: match[2] for value in request.POST.getlist("plan")[:MOST] if (match := _SIGNED.fullmatch(value))}
    stated, text = request.POST.get("statement", ""), request.POST.get("comment", "")

    def decide(group: RepairGroup) -> object:
        # Masked here: what a task is given is kept.
        decision = signed, stated if stated in STATEMENTS else "", reviewing.text_of_a_person(text, "The comment")
        if sum(_cost(repair.conversation) for repair in group.current) <= AT_ONCE:
            return repair_groups.approve_all(group, request.operator, *decision)
        _begin("group approve", request.operator, group, decision=decision)
        return None

    return _act(request, oid, decide)


@accepts("POST")
def reject(request: OperatorRequest, oid: str) -> HttpResponse:
    return _act(request, oid, lambda group: repair_groups.reject_all(group, request.operator, request.POST.get("comment", "")))


@accepts("POST")
def reviewers(request: OperatorRequest, oid: str) -> HttpResponse:
    names = request.POST.get("reviewers", "")
    done = "The reviewers are named here and on each repair." if names.strip() else "Nobody is asked to review any more."

    def ask(group: RepairGroup) -> str:
        repair_groups.ask_all(group, request.operator, names)
        return done

    return _act(request, oid, ask)


@accepts("POST")
def apply(request: OperatorRequest, oid: str) -> HttpResponse:
    return _act(request, oid, partial(_begin, "group apply", request.operator))


@accepts("POST")
def undo(request: OperatorRequest, oid: str) -> HttpResponse:
    return _act(request, oid, partial(_begin, "group undo", request.operator))


@accepts("POST")
def again(request: OperatorRequest, oid: str) -> HttpResponse:
    """Proposes what is not proposed yet, or again the `conversation` of which the form says so."""
    chosen = request.POST.getlist("conversation")[:MOST]

    def propose(group: RepairGroup) -> None:
        known = {member["conversation"] for member in group.members}
        _begin("group propose", request.operator, group, [oid for oid in chosen if oid in known])

    return _act(request, oid, propose)


def _begin(kind: str, operator: str, group: RepairGroup, again: Sequence[str] = (), decision: Sequence[Any] = ()) -> None:
    """As a task: the page shows how far it is. Raises Refused while another works on the group."""
    work = background.last_of_group(group)
    if work is not None and work.is_running and work.task.kind != kind:
        raise Refused("Another act on this group goes on at this moment: wait for its end, then try again.")
    background.act_on_group(kind, group, operator, again, decision)
