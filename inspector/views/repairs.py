"""A repair from preview to undo. Every act is one POST that calls one public function."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import get_object_or_404
from django.utils import timezone

from inspector import background
from inspector.access.permits import why_not
from inspector.actions import reviewing
from inspector.actions.apply_repair import apply_repair
from inspector.actions.approvals import approvers_of, expires_at, why_lapsed
from inspector.actions.decide_repair import STATEMENTS, approve_repair, reject_repair, request_changes, statement_of, why_not_approve
from inspector.actions.kept_previews import kept_preview
from inspector.actions.planning import (
    mode_named,
    reader_named,
    request_for,
    request_of,
    web_may_write,
)
from inspector.actions.problems import NothingToRepair, Refused
from inspector.actions.propose_repair import propose_repair
from inspector.actions.settling import Interrupted
from inspector.actions.shown_previews import (
    Detected,
    Offered,
    Shown,
    base_of_page,
    first_ticked,
    is_kept,
    is_kept_of,
    is_offer_kept,
    keep_shown,
    keep_shown_of_choice,
    offered,
    request_of_choice,
    shown_of,
    shown_of_choice,
)
from inspector.actions.undo_repair import AT_WORK, UNDOABLE, still_holds, undo_repair
from inspector.background import Work
from inspector.conversation.tree import LEAF
from inspector.environment import host_name
from inspector.middleware import OperatorRequest, accepts, writes
from inspector.models import Conversation, Problem, ProblemDay, Repair, RepairComment, Source, loading
from inspector.models.problem import SEVERITIES
from inspector.models.transactions import one_snapshot
from inspector.presentation import markdown
from inspector.presentation.json_text import Json, json_fields
from inspector.presentation.masking import masked
from inspector.presentation.repair import plan
from inspector.presentation.repair.alternatives import LARGEST
from inspector.presentation.repair.hunks import anchor_of, hunks_of
from inspector.presentation.repair.outcomes import AdviceLine, is_right
from inspector.presentation.repair.preview_part import DiffRun, PreviewPart
from inspector.presentation.visible import visible
from inspector.programs.catalogue import NEW_FILE_ONLY
from inspector.programs.formats import InFiles, Lists, Scripted, WriteMode, WrittenByProgram, mode_summary
from inspector.readers.catalogue import names
from inspector.sources.own_program import read_only
from inspector.sources.places import is_dsn
from inspector.strategies.base import Strategy
from inspector.strategies.catalogue import STRATEGIES
from inspector.views import facts
from inspector.views.choice import conversation_or_404
from inspector.views.crashes import crash_of, why_never_written
from inspector.views.pages import absolute, as_json, as_markdown, origin_of, page, unless_unchanged
from inspector.views.problem_list import known_rule

_TIME = re.compile("[0-9]{1,14}")
_POSITION = re.compile("[0-9]{1,7}")
OFFERED_ACCOUNTS = 200
COMPARED = 500
"""Chunks of a conversation for which the options try every mode."""
KNOWN = 3
"""Problems of which a page says what tells whether their cause is fixed."""
LINKABLE = 4000
"""Characters of a query that an address carries: every strategy there is, and an entry's id."""
STATES = ("proposed", "approved", "applied", "verified")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRepairPage:
    row: Conversation
    chosen: tuple[str, ...]
    ticked: tuple[str, ...]
    """The chosen ones that change something; before anybody chose, those that fit."""
    left_out: tuple[Strategy, ...]
    """Those that were chosen too, and that one of these includes."""
    strategies: tuple[Strategy, ...]
    detected: "tuple[DetectedRule, ...]"
    """The rules that fire, the worst first."""
    near: frozenset[str]
    """Those that a finding names, the recommended and the chosen ones; the others are folded away."""
    recommended: tuple[str, ...]
    word: str
    """What they are called together."""
    words: Mapping[str, str]
    """What each of them is called."""
    not_modeled: str
    """As of a judgement."""
    advice: tuple[AdviceLine, ...]
    """Which to choose, a line for each choice."""
    accepted: tuple[str, ...]
    """Those after which alone the next request is accepted."""
    outcomes: Mapping[str, str]
    """What the next request comes to after each of these alone."""
    included: Mapping[str, tuple[str, ...]]
    """Strategy -> those that change nothing where it is chosen too."""
    ending: Mapping[str, tuple[str, ...]]
    """Code of a rule that no strategy is for -> those of the tried ones that end it."""
    ended: Mapping[str, Strategy]
    """Code of a rule that no strategy is for -> the one that ends it all the same, where that is not ticked."""
    mode: str
    modes: tuple[WriteMode, ...]
    mode_reasons: Mapping[str, str]
    """Why the page begins with another mode than the first, by the mode that the sentence is about."""
    compared: Mapping[str, PreviewPart]
    """By mode what is ticked comes to, where the modes leave different findings."""
    reader: str
    readers: list[str]
    may_write: bool
    sealed: str
    """Why nothing is ever written to this source; empty where an approved repair can be."""
    is_scripted: bool
    """Whether a command gives the repair as a script."""
    is_new_file: bool
    """Whether a command gives the repaired conversation as a file that its program imports."""
    is_file: bool
    """Whether it is stored in files, of which undo compares the whole, and not in rows."""
    written_by: str
    """The program that writes to the store for us; "" where Inspector does."""
    part: PreviewPart | None
    expected: PreviewPart | None
    """Of what is ticked, chosen or not; None where it was not tried."""
    problem: str
    seen: str
    """What the preview shows, as a digest: only that is proposed."""
    leaf: str
    """The entry of a tree whose path is to be repaired, where a person chose one."""
    hunks: "tuple[ShownHunk, ...]"
    place: "StorePlace"
    written: "Written"
    """What a person typed already, before another option was chosen or after a refusal."""
    accounts: tuple[str, ...]
    waiting: tuple[Repair, ...]
    """Repairs of the conversation that wait, the newest first."""
    work: Work | None = None
    """What computes the preview of a large conversation, until it is kept."""
    is_unticked: bool = False
    """Whether a preview of nothing was asked for."""

    @property
    def grouped(self) -> "tuple[RuleOptions, ...]":
        """Each rule with the near strategies that are of none before it: the ticked and the recommended first, then those that lose and invent nothing; those
        that are of no rule come last."""
        near = _near(self.strategies, self.near, self.ticked, self.recommended)
        groups, placed = [], set[str]()
        for rule in self.detected:
            own = [strategy for strategy in near if strategy.name in rule.strategies]
            new = tuple(strategy for strategy in own if strategy.name not in placed)
            first = sum(strategy.name in (*self.ticked, *self.recommended) for strategy in new) or 1
            groups.append(
                RuleOptions(
                    rule,
                    new[:first],
                    new[first:],
                    tuple(strategy.name for strategy in own if strategy.name in placed),
                    tuple(name for name in rule.strategies if name not in self.near),
                )
            )
            placed |= {strategy.name for strategy in own}
        rest = tuple(strategy for strategy in near if strategy.name not in placed)
        return (*groups, RuleOptions(None, rest, (), (), ())) if rest else tuple(groups)

    @property
    def ticked_twice(self) -> tuple[tuple[str, list[str]], ...]:
        """The rules for which more than one of the strategies listed with it is ticked."""
        ticked = ((group.rule, [of.name for of in (*group.first, *group.others) if of.name in self.ticked]) for group in self.grouped)
        return tuple((rule.code, names) for rule, names in ticked if rule is not None and len(names) > 1)

    @property
    def parts(self) -> "tuple[IncludedStrategies, ...]":
        """What each strategy includes, with the rules that it repairs thereby."""
        return tuple(
            IncludedStrategies(
                name,
                names,
                tuple(rule.code for rule in self.detected if {*names} & {*rule.strategies} and name not in rule.strategies),
                bool(self.ticked) and {*self.ticked} <= {*names},
            )
            for name, names in self.included.items()
        )

    @property
    def in_part(self) -> frozenset[str]:
        """Codes of the rules of which what is ticked leaves some findings."""
        return frozenset(rule.code for rule in self.expected.counts if 0 < rule.after < rule.before) if self.expected else frozenset()

    @property
    def also(self) -> "tuple[AlsoRepairs, ...]":
        """What repairs rules that remain."""
        choice = RepairChoice(self.ticked, self.mode, self.reader, self.leaf)
        own = _also(self.expected, choice, self.written, self.strategies, self.near, self.recommended)
        left = {rule.code for rule in self.expected.left} if self.expected else set()
        ending = {code: (of, choice._replace(strategies=(*self.ticked, of.name))) for code, of in self.ended.items() if code in left}
        return (*own, *(AlsoRepairs(code, of, _query(more, self.written)) for code, (of, more) in ending.items()))

    @property
    def is_a_choice(self) -> bool:
        """Whether nothing is ticked because there are several ways."""
        return not self.ticked and len(self.advice) > 1

    @property
    def cleaner_modes(self) -> list[str]:
        """Those after which less is found than after the chosen one."""
        left = {
            name: sum(rule.before if rule.code in part.lost_codes else rule.after for rule in part.counts)
            for name, part in self.compared.items()
        }
        return [mode.alias or mode.name for mode in self.modes if left.get(mode.name, 0) < left.get(self.mode, 0)]

    @property
    def writes_new(self) -> bool:
        """Whether the mode writes a new conversation, and leaves the one that is there."""
        return any(mode.name == self.mode and mode.alias == "fork" for mode in self.modes)

    @property
    def better(self) -> str:
        """The first strategy after which alone the next request is accepted, where it is neither now nor after what is ticked."""
        part = self.expected
        if part is None or is_right(part.before.ending) or is_right(part.after.ending):
            return ""
        return next((name for name in self.accepted if (name,) != self.ticked), "")

    @property
    def alike(self) -> tuple[Repair, ...]:
        """Those that wait and do what is chosen, or would be, in whatever mode."""
        return tuple(repair for repair in self.waiting if list(repair.strategies) == list(self.ticked))

    @property
    def same(self) -> Repair | None:
        """The one of these in the chosen mode."""
        return next((repair for repair in self.alike if repair.mode == self.mode), None)


class DetectedRule(NamedTuple):
    """What one rule found in the conversation: `message` of the first of them, and the strategies that repair them where each can be written."""

    code: str
    severity: str
    number: int
    message: str
    strategies: tuple[str, ...]

    @property
    def reason(self) -> str:
        """Why its rule has no strategy; "" where it has one."""
        about = known_rule(self.code)
        return about.no_repair_reason if about else ""


class AlsoRepairs(NamedTuple):
    """`query` chooses the strategy too."""

    code: str
    strategy: Strategy
    query: str


class IncludedStrategies(NamedTuple):
    """`has_ticked`: all that is ticked is among the `names`."""

    strategy: str
    names: tuple[str, ...]
    codes: tuple[str, ...]
    has_ticked: bool


class RuleOptions(NamedTuple):
    """The strategies to choose from for what a rule found; `above` are those that are listed with a rule before it, `elsewhere` those that do not repair it here."""

    rule: DetectedRule | None
    first: tuple[Strategy, ...]
    """What is ticked or recommended, else the first one."""
    others: tuple[Strategy, ...]
    """Alternatives to it, folded away."""
    above: tuple[str, ...]
    elsewhere: tuple[str, ...]


class Written(NamedTuple):
    """What a person writes on a proposal, as typed."""

    reason: str
    incident: str
    reviewers: str


class StorePlace(NamedTuple):
    """Where a store is. `kind`: live, or what it is a copy of."""

    host: str
    kind: str
    is_live: bool


class ShownHunk(NamedTuple):
    """`anchor` is "" of rows that stay; `span` are its seqs as words."""

    anchor: str
    position: int
    span: str
    runs: tuple[DiffRun, ...]
    comments: tuple[RepairComment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairPage:
    repair: Repair
    part: PreviewPart | None
    problem: str
    steps: tuple[tuple[str, str], ...]
    may_write: bool
    second_approver: bool
    can_undo: bool
    store_sentence: str
    is_in_store: bool
    target: str
    reach: str
    place: StorePlace
    mode_summary: str
    """What the mode writes, in its own words."""
    statements: dict[str, str]
    """What an approver chooses from, by the value that the form sends."""
    statement: tuple[str, str]
    """What was stated on approval."""
    remains: tuple[str, ...] = ()
    """What the operator still has to do once the repair is in the store."""
    work: Work | None = None
    """What computes the preview, compares the store, applies or undoes at this moment."""
    is_waiting: bool = False
    """Whether nothing can be decided until that is done."""
    interrupted: str = ""
    """What a write that was interrupted still needs; "" where nothing is open."""
    hunks: tuple[ShownHunk, ...] = ()
    comments: tuple[RepairComment, ...] = ()
    """On the whole repair, on hunks that are not shown, and the decisions."""
    changes: RepairComment | None = None
    """What who proposed it was asked to change, while that is so, and who looks at it again where they are asked."""
    next_reviewers: str = ""
    known: "tuple[KnownProblems, ...]" = ()
    """What tells who decides whether the program is fixed."""
    why_not_approve: str = ""
    """Why who looks cannot approve it."""
    lapsed: str = ""
    """Why its approval does not hold any more."""
    expires: datetime | None = None
    is_moved: bool = False
    """A later import read other content than the plan is based on: it can only be proposed again."""
    again: str = ""
    """The query of the page that proposes the same for what the store holds now, or something else from there."""
    accounts: tuple[str, ...] = ()
    also: "tuple[AlsoRepairs, ...]" = ()
    """What else repairs rules that remain."""

    @property
    def on_hunks(self) -> list[tuple[ShownHunk, RepairComment]]:
        """The comments that are next to the rows that they are about."""
        return [(hunk, comment) for hunk in self.hunks for comment in hunk.comments]

    @property
    def comment_count(self) -> int:
        return len(self.comments) + len(self.on_hunks)

    @property
    def others(self) -> list[Repair]:
        """Other repairs of the conversation that wait too."""
        row = self.repair
        return list(Repair.waiting_of(row.conversation).exclude(pk=row.pk)[:WAITING_SHOWN]) if row.state in Repair.WAITING else []


class KnownProblems(NamedTuple):
    """Problems of which the same is known. `newest` is the last day on which they began in a conversation of the source, with who wrote most of them; None
    where only repairs of ours made them."""

    problems: tuple[Problem, ...]
    newest: ProblemDay | None


class RepairChoice(NamedTuple):
    """What the query or the form asks for."""

    strategies: tuple[str, ...]
    mode: str
    reader: str
    leaf: str


def _query(choice: RepairChoice, written: Written) -> str:
    """Of the page with the preview of the choice, and what was typed where it fits; never a secret, since browsers keep addresses."""
    single = {"mode": choice.mode, "reader": choice.reader, "leaf": choice.leaf}
    parameters = {"strategy": choice.strategies, **{name: value for name, value in single.items() if value}}
    typed = {name: value for name, value in written._asdict().items() if value and masked(value) == value}
    queries = (urlencode(parameters | typed, doseq=True), urlencode(parameters, doseq=True))
    return next((query for query in queries if len(query) < LINKABLE), "")


def _is_a_choice(offer: Offered, part: PreviewPart | None) -> bool:
    """Whether something else than what is recommended makes the next request right, or nothing does and something else repairs more, at another cost: then a
    person chooses, and nothing is ticked."""
    is_wrong = part is not None and not is_right(part.before.ending) and not is_right(part.after.ending)
    return is_wrong and (bool(offer.accepted) or len(offer.options) > 1)


def _near(strategies: Iterable[Strategy], names: Collection[str], ticked: Collection[str], recommended: Collection[str]) -> list[Strategy]:
    """Those of these names: the ticked and the recommended first, then those that lose and invent nothing."""
    near = [strategy for strategy in strategies if strategy.name in names]
    return sorted(near, key=lambda strategy: (strategy.name not in ticked, strategy.name not in recommended, bool(strategy.safety)))


def _also(
    part: PreviewPart | None,
    choice: RepairChoice,
    written: Written,
    strategies: Iterable[Strategy],
    names: Collection[str],
    recommended: Collection[str],
) -> tuple[AlsoRepairs, ...]:
    """Of each rule that remains the first strategy of these names that repairs it, where none that does is chosen."""
    near = _near(strategies, names, choice.strategies, recommended)
    offers: dict[str, AlsoRepairs] = {}
    for rule in part.left if part is not None else ():
        own = [strategy for strategy in near if strategy.name in _repaired_by(rule.code)]
        if own and own[0].name not in offers and not set(choice.strategies) & set(_repaired_by(rule.code)):
            more = choice._replace(strategies=(*choice.strategies, own[0].name))
            offers[own[0].name] = AlsoRepairs(rule.code, own[0], _query(more, written))
    return tuple(offers.values())


def _data(request: HttpRequest) -> QueryDict:
    return request.POST if request.method == "POST" else request.GET


def _chosen(request: HttpRequest, row: Conversation) -> RepairChoice:
    data = _data(request)
    named = tuple(dict.fromkeys(data.getlist("strategy")))
    reader = visible(data.get("reader", "")) or row.source.reader
    chosen = tuple(strategy.name for strategy in STRATEGIES if strategy.name in named)
    return RepairChoice(chosen, data.get("mode", ""), reader, data.get("leaf", ""))


def _new_page(request: OperatorRequest, row: Conversation, work: Work | None) -> NewRepairPage:
    choice = _chosen(request, row)
    format_ = loading.format_of(row.source)
    base = base_of_page(row, choice.leaf)
    own_reader = _offered_reader(row, choice.reader)
    offer = offered(row, choice.leaf, own_reader)
    mode, reader, preview = choice.mode, row.source.reader, Shown(None, "", offer.problem)
    # The form always sends its mode and reader; a link to the page may name a reader alone.
    is_from_form = ("mode" if format_.modes else "reader") in request.GET
    ticked = choice.strategies or (() if is_from_form else first_ticked(offer))
    waiting = tuple(Repair.waiting_of(row)[:WAITING_SHOWN])
    mode_reasons: Mapping[str, str] = {}
    left_out: Collection[str] = ()
    tried: PreviewPart | None = None
    is_chosen = bool(choice.strategies) and OUTCOME not in request.GET
    try:
        mode = mode_named(format_, mode)
        reader = reader_named(format_, choice.reader)
        if not choice.mode and ticked and row.chunk_count <= LARGEST:
            mode, mode_reasons = _first_mode(row, choice._replace(strategies=ticked, mode=mode, reader=reader), waiting)
        if ticked and work is None and (is_chosen or row.chunk_count <= LARGEST or is_kept(row, ticked, mode, reader, choice.leaf)):
            preview = shown_of_choice(row, ticked, mode, reader, choice.leaf)
        # A proposal that was refused comes back as it was sent.
        if request.method != "POST" or "preview" in request.GET:
            left_out = _left_out(offer.included, ticked, preview.part)
        if left_out:
            ticked = tuple(name for name in ticked if name not in left_out)
            choice = choice._replace(strategies=ticked)
            preview = shown_of_choice(row, ticked, mode, reader, choice.leaf)
        tried = preview.part
        if not choice.strategies and _is_a_choice(offer, tried):
            ticked, preview = (), Shown(None, "", "")
    except Refused as refusal:
        preview = Shown(None, "", str(refusal))
    del base
    strategies = offer.strategies(row.source.format)
    known = {of.name for of in STRATEGIES}
    unknown = next((name for name in _data(request).getlist("strategy") if name not in known), "")
    return NewRepairPage(
        row=row,
        chosen=choice.strategies,
        ticked=ticked,
        left_out=tuple(of for of in strategies if of.name in left_out),
        strategies=strategies,
        detected=_detected(row, tried, offer.detected if choice.leaf or own_reader else None, {of.name for of in strategies}),
        near=offer.named | {*offer.recommended, *choice.strategies},
        recommended=offer.recommended,
        word=offer.word,
        words=offer.words,
        not_modeled=offer.not_modeled,
        advice=offer.advice,
        accepted=offer.accepted,
        outcomes=offer.outcomes,
        included=offer.included,
        ending=offer.ended,
        ended={
            code: next(of for of in STRATEGIES if of.name == names[0]) for code, names in offer.ended.items() if not {*names} & {*ticked}
        },
        mode=mode,
        modes=format_.modes,
        mode_reasons=mode_reasons,
        is_unticked=is_from_form and not choice.strategies and OUTCOME not in request.GET and request.method == "GET",
        compared={} if is_chosen else _compared(row, choice._replace(strategies=ticked, mode=mode, reader=reader), preview.part),
        reader=reader,
        readers=list(dict.fromkeys([*names(row.source.format), reader])),
        may_write=web_may_write(row.source),
        sealed=why_never_written(row) or read_only(row.source.format),
        is_scripted=isinstance(format_, Scripted),
        is_new_file=row.source.format in NEW_FILE_ONLY,
        is_file=isinstance(format_, InFiles),
        written_by=format_.own_program.name if isinstance(format_, WrittenByProgram) else "",
        part=preview.part if choice.strategies else None,
        expected=preview.part,
        problem=preview.problem or (f"There is no strategy {unknown[:80]!r}: choose from those below." if unknown else ""),
        seen=preview.digest,
        leaf=choice.leaf,
        work=work,
        hunks=_hunks(preview.part, "", ()),
        place=place_of(row.source),
        written=written_of(request),
        waiting=waiting,
        accounts=accounts(row.source),
    )


def _left_out(included: Mapping[str, Sequence[str]], ticked: Sequence[str], part: PreviewPart | None) -> frozenset[str]:
    """Of what is ticked, what another that is ticked includes, and what changes nothing in this plan either. Of a long conversation none is known."""
    effective = {cost.strategy for cost in part.costs} if part is not None else {*ticked}
    return frozenset(name for of in ticked for name in included.get(of, ()) if name in ticked and name not in effective)


def _offered_reader(row: Conversation, reader: str) -> str:
    """By which the strategies are tried: another than the deployed one, as far as its findings can be waited for; "" is the deployed one."""
    with suppress(Refused):
        if row.chunk_count <= LARGEST and reader_named(loading.format_of(row.source), reader) != row.source.reader:
            return reader
    return ""


def _first_mode(row: Conversation, choice: RepairChoice, waiting: Sequence[Repair]) -> tuple[str, dict[str, str]]:
    """Before anybody chose one: that of a repair that waits, else the first in which this can be written, else that of the choice. With why it is not the first
    of all, by the mode that the sentence is about.
    """
    for repair in waiting:
        if list(repair.strategies) == list(choice.strategies):
            return repair.mode, {} if repair.mode == choice.mode else {repair.mode: "Chosen here: a repair that waits is in this mode."}
    reasons: dict[str, str] = {}
    for mode in loading.format_of(row.source).modes:
        try:
            shown = shown_of_choice(row, choice.strategies, mode.name, choice.reader, choice.leaf)
        except Refused as refusal:
            shown = Shown(None, "", str(refusal))
        if shown.part is not None:
            return mode.name, reasons
        reasons[mode.name] = f"Not possible here: {shown.problem}"
    return choice.mode, {}


def _compared(row: Conversation, choice: RepairChoice, part: PreviewPart | None) -> dict[str, PreviewPart]:
    """{} of a conversation for which a page does not try each mode, and where all leave the same."""
    if part is None or row.chunk_count > COMPARED:
        return {}
    parts = {choice.mode: part}
    for mode in loading.format_of(row.source).modes:
        with suppress(Refused):
            shown = shown_of_choice(row, choice.strategies, mode.name, choice.reader, choice.leaf)
            parts |= {mode.name: shown.part} if shown.part is not None else {}
    left = {tuple((rule.code, rule.after, rule.severity_after) for rule in part.counts) for part in parts.values()}
    return parts if len(left) > 1 else {}


def _detected(
    row: Conversation, part: PreviewPart | None, at_leaf: Iterable[Detected] | None, names: Collection[str]
) -> tuple[DetectedRule, ...]:
    """Where there is a preview, what it found; of a chosen leaf what is found on its path; else one query, for what the last import did."""
    if part is not None:
        rows = [(damage.code, damage.severity, damage.times, damage.message) for damage in part.damage]
    elif at_leaf is not None:
        rows = [(rule.code, rule.severity, rule.number, rule.message) for rule in at_leaf]
    else:
        rules = row.rules.select_related("first").only("code", "severity", "findings", "first__message")
        rows = [(rule.code, rule.severity, rule.findings, rule.first.message) for rule in rules]
    rows.sort(key=lambda rule: (SEVERITIES.index(rule[1]), rule[0]))
    return tuple(DetectedRule(*rule, tuple(name for name in _repaired_by(rule[0]) if name in names)) for rule in rows)


def _repaired_by(code: str) -> tuple[str, ...]:
    about = known_rule(code)
    return about.repaired_by if about else ()


def _work_of_preview(request: HttpRequest, row: Conversation) -> Work | None:
    """What computes the preview of a large conversation; None where the page shows it now."""
    choice = _chosen(request, row)
    if not choice.strategies or OUTCOME in request.GET or not background.is_large(row):
        return None
    try:
        return background.preview(row, *_complete(choice, row), *back_of(request))
    except Refused:
        return None


OUTCOME = "outcome"
"""In the query of htmx: of what is ticked, only what it comes to is asked for."""

AGAIN = "again"
"""In the query of a page: what failed for it is to be tried once more."""


def back_of(request: HttpRequest) -> tuple[str, bool]:
    """The address of this page, and whether it asks to try once more."""
    query = request.GET.copy()
    is_again = query.pop(AGAIN, None) is not None
    return f"{request.path}?{query.urlencode()}" if query else request.path, is_again


def written_of(request: HttpRequest) -> Written:
    data = _data(request)
    return Written(*(visible(data.get(name, ""))[: reviewing.LONGEST] for name in Written._fields))


def accounts(source: Source) -> tuple[str, ...]:
    """For those who may ask somebody: who can be asked to review. Where nobody signs in, those who acted on a repair or were asked before."""
    if why_not("ask", source):
        return ()
    if settings.INSPECTOR_LOCAL:
        latest = Repair.objects.values_list("proposed_by", "approved_by", "reviewers")[:OFFERED_ACCOUNTS]
        names = {name for proposer, approver, reviewers in latest for name in (proposer, approver, *reviewers) if name}
        return tuple(sorted(map(visible, names)))
    return tuple(approvers_of(source).values_list("username", flat=True)[:OFFERED_ACCOUNTS])


def place_of(source: Source) -> StorePlace:
    """A source that nobody called a copy when it was imported counts as live."""
    if source.sealed:
        kind = "evidence bundle"
    elif source.came_from:
        kind = f"copy of {source.came_from}"
    else:
        kind = "demo" if source.is_demo else "live store"
    # The address of a database says its host itself.
    return StorePlace("" if is_dsn(source.path) else host_name(), kind, kind == "live store")


def _hunks(part: PreviewPart | None, digest: str, comments: Sequence[RepairComment]) -> tuple[ShownHunk, ...]:
    """`digest` is that of the plan of a repair, whose hunks can be commented on; "" before it is proposed."""
    return tuple(
        ShownHunk(
            hunk.anchor if digest else "",
            hunk.position,
            _span(hunk.runs),
            hunk.runs,
            tuple(comment for comment in comments if hunk.anchor and comment.anchor == hunk.anchor),
        )
        for hunk in hunks_of(part.runs if part is not None else (), digest)
    )


def _span(runs: Sequence[DiffRun]) -> str:
    rows = [row for run in runs for row in (*run.shown, *run.folded, *run.last)]
    # A chunk that is inserted has a number of the conversation after it only.
    seqs = [row.before.seq for row in rows if row.before] or [row.after.seq for row in rows if row.after]
    return f"{seqs[0]:,}" if seqs[0] == seqs[-1] else f"{seqs[0]:,}–{seqs[-1]:,}"


def _complete(choice: RepairChoice, row: Conversation) -> tuple[tuple[str, ...], str, str, str]:
    """With the names of mode and reader that are meant by default. Raises Refused."""
    format_ = loading.format_of(row.source)
    return choice.strategies, mode_named(format_, choice.mode), reader_named(format_, choice.reader), choice.leaf


def is_new_page_kept(request: HttpRequest, row: Conversation) -> bool:
    """Whether the page of a new repair reads nothing of the conversation itself."""
    choice = _chosen(request, row)
    try:
        if not is_offer_kept(row, choice.leaf):
            return False
        return not choice.strategies or is_kept(row, *_complete(choice, row)) or not _is_kept_by_none(choice, row)
    except Refused:
        return True


def _is_kept_by_none(choice: RepairChoice, row: Conversation) -> bool:
    return not background.is_large(row) or background.is_kept_by_none(row, *_complete(choice, row))


def keep_new_page(request: HttpRequest, row: Conversation) -> None:
    """For its next view."""
    choice = _chosen(request, row)
    with suppress(Refused):
        if choice.strategies:
            keep_shown_of_choice(row, *_complete(choice, row))


def is_page_kept(repair: Repair) -> bool:
    """Whether the page of a repair reads nothing of the conversation, neither here nor in its store."""
    is_compared = repair.state in UNDOABLE and not repair.intent
    if background.is_large(repair.conversation):
        return not background.is_plan_kept_by_none(repair) and not (is_compared and not background.is_compared_apart(repair))
    return not repair.intent and not is_compared and is_kept_of(repair)


def keep_page(repair: Repair) -> None:
    """For its next view."""
    keep_shown(repair.conversation, repair.revision, request_of(repair))


@writes
@accepts("GET", "HEAD", "POST")
def new(request: OperatorRequest, oid: str) -> HttpResponse:
    """GET previews and writes nothing; POST proposes what is chosen, where `seen` in its address says what was previewed. With `preview` there it previews too.

    `at` is the time (epoch ms) that this plan gives to the entry of a new conversation in a list.
    """
    row = conversation_or_404(oid)
    if request.method != "POST" and row.is_crash and (session := crash_of(row, loading.stored(row).conversation).session):
        # What was refused is written nowhere: the session that the crash file names is what is repaired.
        strategies = urlencode([("strategy", name) for name in request.GET.getlist("strategy")])
        return HttpResponseRedirect(f"/conversations/{session.oid}/repairs/new/{f'?{strategies}' if strategies else ''}")
    if request.method != "POST":
        work = _work_of_preview(request, row)
        here, is_again = back_of(request)
        if is_again:
            return HttpResponseRedirect(here)
        with one_snapshot():
            content = _new_page(request, row, work)
            return page(
                request,
                "repair_new.html",
                content,
                part="ticked" if OUTCOME in request.GET else "preview",
                twins=("json",) if content.chosen else (),
            )
    choice = _chosen(request, row)
    if "preview" in request.GET:
        return _shown_again(request, row, _address_of(request, choice))
    at, seen_digest = request.GET.get("at", ""), request.GET.get("seen", "")
    now = int(at) if _TIME.fullmatch(at) else None
    address = _address_of(request, choice)
    try:
        # Before anything else: a large conversation is proposed by a process that answers later, and what it is given is kept.
        written = reviewing.checked(row.source, *(request.POST.get(name, "") for name in Written._fields))
    except Refused as refusal:
        return _not_proposed(request, row, refusal, address)
    if background.is_large(row):
        chosen = {**choice._asdict(), "now": now, "seen": seen_digest, "written": written}
        work = background.propose(row, chosen, request.operator, address)
        return HttpResponseRedirect(f"/tasks/{work.task.key}/")
    try:
        plan_request = request_for(
            row.source, loading.stored(row), choice.strategies, choice.mode, choice.reader, leaf=choice.leaf, now=now
        )
        before = timezone.now()
        repair = propose_repair(row, plan_request, request.operator, seen_digest, **written)
        if repair.proposed_at < before:
            messages.info(
                request, "You proposed this plan before, and it waits for a review: this is that repair. Nothing was proposed again."
            )
    except Refused as refusal:
        return _not_proposed(request, row, refusal, address)
    return HttpResponseRedirect(f"/repairs/{repair.oid}/")


def _not_proposed(request: OperatorRequest, row: Conversation, refusal: Refused, address: str) -> HttpResponse:
    messages.error(request, visible(str(refusal)))
    return _shown_again(request, row, address, status=409)


def _shown_again(request: OperatorRequest, row: Conversation, address: str, status: int = 200) -> HttpResponse:
    """The page again with all that was typed; of a large conversation, whose preview is read by address, with what fits into one."""
    if background.is_large(row):
        return HttpResponseRedirect(address)
    with one_snapshot():
        return page(request, "repair_new.html", _new_page(request, row, None), status=status)


def _address_of(request: HttpRequest, choice: RepairChoice) -> str:
    """The page with the preview of the choice."""
    query = _query(choice, written_of(request))
    return f"{request.path}?{query}" if query else request.path


def new_json(request: OperatorRequest, oid: str) -> HttpResponse:
    row = conversation_or_404(oid)
    choice = _chosen(request, row)
    try:
        mode_named(loading.format_of(row.source), choice.mode)
        if not choice.strategies:
            raise NothingToRepair("Name at least one strategy.")
        if not choice.mode and row.chunk_count <= LARGEST:
            choice = choice._replace(mode=_first_mode(row, choice, tuple(Repair.waiting_of(row)[:WAITING_SHOWN]))[0])
        preview = kept_preview(row, row.revision, request_of_choice(row, *choice))
    except Refused as refusal:
        return as_json({"error": str(refusal), "strategies": [strategy.name for strategy in STRATEGIES]}, status=400)
    return as_json(plan.plan_report(row.oid, preview))


@dataclass(frozen=True, slots=True)
class RepairWorks:
    """What the page of a repair of a large conversation waits for, and what the store was compared with."""

    plan: Work | None = None
    comparison: Work | None = None
    act: Work | None = None

    @property
    def shown(self) -> Work | None:
        """The one of which the page speaks; what ended well is on it already."""
        return next(
            (work for work in (self.act, self.plan, self.comparison) if work is not None and (work.is_running or work.problem)), None
        )


def _works(request: HttpRequest, repair: Repair) -> RepairWorks:
    if not background.is_large(repair.conversation):
        return RepairWorks()
    acting, address = background.acting_on(repair), back_of(request)
    if acting is not None:
        return RepairWorks(background.plan_of(repair, *address), None, acting)
    is_compared = repair.state in UNDOABLE and not repair.intent
    return RepairWorks(background.plan_of(repair, *address), background.comparison(repair, *address) if is_compared else None)


def _in_store(repair: Repair, works: RepairWorks) -> tuple[bool, str]:
    """Whether the store of an applied repair contains it, in a sentence. Raises Refused."""
    work = works.comparison
    if works.act is not None:
        return False, ""
    if work is None:
        return still_holds(repair)
    if work.is_running or work.problem:
        return False, work.problem or "The store is being compared."
    return bool(work.task.arguments["is_in_store"]), work.task.answer


def _repair_page(repair: Repair, operator: str, interrupted: Sequence[Interrupted], works: RepairWorks) -> RepairPage:
    source = repair.conversation.source
    is_in_store, store_sentence, reach = False, "", ""
    preview = shown_of(repair) if works.plan is None else Shown(None, "", "")
    part, problem = preview.part, preview.problem
    try:
        if repair.state in UNDOABLE and not repair.intent:
            is_in_store, store_sentence = _in_store(repair, works)
    except Refused as refusal:
        store_sentence = str(refusal)
    target = ""
    if part is not None:
        native = loading.format_of(source).target(part.plan)
        fork = loading.present_conversation(source, native)
        target = fork.oid if fork else ""
        if native != part.plan.conversation:
            reach = _reach(repair, native, not isinstance(loading.format_of(source), Lists))
    return RepairPage(
        repair=repair,
        part=part,
        problem=problem,
        steps=_steps(repair),
        may_write=web_may_write(source),
        second_approver=settings.INSPECTOR_REQUIRE_SECOND_APPROVER,
        can_undo=repair.state in UNDOABLE and is_in_store,
        store_sentence=store_sentence,
        is_in_store=is_in_store,
        target=target,
        reach=visible(reach),
        mode_summary=mode_summary(loading.format_of(source), repair.mode),
        statements=STATEMENTS,
        statement=statement_of(repair),
        remains=part.remains if part is not None else (),
        work=works.shown,
        is_waiting=any(work is not None and work.is_running for work in (works.act, works.plan)),
        interrupted="" if works.act is not None else _open(repair, interrupted),
        place=place_of(source),
        **_review(repair, operator, part),
    )


def _review(repair: Repair, operator: str, part: PreviewPart | None) -> dict[str, Any]:
    """What belongs to the decision on a repair."""
    is_waiting = repair.state in Repair.WAITING
    comments = tuple(repair.comments.all())
    hunks = _hunks(part, repair.plan_digest, comments)
    shown = {hunk.anchor for hunk in hunks if hunk.anchor}
    row, choice = repair.conversation, RepairChoice(tuple(repair.strategies), repair.mode, repair.reader, repair.options.get(LEAF) or "")
    requested = comments[::-1] if is_waiting and repair.changes_by else ()
    reviewers = ", ".join(dict.fromkeys(filter(None, (*repair.reviewers, repair.changes_by))))
    written, also = Written(repair.reason, repair.incident, reviewers), tuple[AlsoRepairs, ...]()
    if is_waiting and part is not None and not repair.is_moved and (is_offer_kept(row, choice.leaf) or not is_kept_of(repair)):
        offer = offered(row, choice.leaf)
        also = _also(part, choice, written, offer.strategies(row.source.format), offer.named, offer.recommended)
    return {
        "hunks": hunks,
        "comments": tuple(comment for comment in comments if comment.anchor not in shown),
        "changes": next((comment for comment in requested if comment.verdict == RepairComment.Verdict.CHANGES), None),
        "next_reviewers": reviewers,
        "known": _known(repair) if repair.state == Repair.State.PROPOSED else (),
        "why_not_approve": why_not_approve(repair, operator) if repair.state == Repair.State.PROPOSED else "",
        "lapsed": why_lapsed(repair),
        "expires": expires_at(repair),
        "is_moved": repair.is_moved,
        "again": _query(choice, written),
        "accounts": accounts(row.source) if is_waiting else (),
        "also": also,
    }


def _known(repair: Repair) -> tuple[KnownProblems, ...]:
    """Of the problems that it repairs: those that somebody marked as fixed, then the worst."""
    problems = Problem.objects.filter(source=repair.conversation.source, code__in=plan.left_less(repair.counts)).order_by("rank", "code")
    groups: dict[tuple[object, ...], KnownProblems] = {}
    for problem in sorted(problems, key=lambda problem: problem.fixed_at is None)[:KNOWN]:
        day = problem.days.order_by("-day", "-occurrences").first()
        key = (problem.fixed_at, problem.regressed_at, day and (day.day, day.client_version, day.model))
        group = groups.get(key, KnownProblems((), day))
        groups[key] = group._replace(problems=(*group.problems, problem))
    return tuple(groups.values())


def _open(repair: Repair, interrupted: Sequence[Interrupted]) -> str:
    """What a write whose intent is open needs; "" where none is."""
    if not repair.intent:
        return ""
    return next((write.sentence for write in interrupted if write.repair.pk == repair.pk), AT_WORK)


def _reach(repair: Repair, native: str, is_listed: bool) -> str:
    """How users get to a fork, "" where it is gone. `is_listed` where the program lists what is written to its store, without a step by the operator."""
    title = repair.options.get("title", "")
    what = f"“{title}” (id {native})" if title else f"id {native}"
    if repair.state in Repair.WAITING:
        return f"The repaired history will be a conversation of its own, {what}; the original stays as it is. It is not written yet."
    if repair.state in UNDOABLE:
        opened = (
            "the program lists it, and its users can continue there"
            if is_listed
            else "what its program needs to open it is under Follow-up"
        )
        return f"The repaired history is a conversation of its own, {what}: {opened}. The original stays as it is."
    return ""


_WAITS_FOR = {"approved": "waits for approval", "applied": "waits to be applied", "verified": "waits to be verified"}


def _steps(repair: Repair) -> tuple[tuple[str, str], ...]:
    """(name, state) of each step: done, now (what it waits for), or nothing yet; what ended it comes last."""
    order = list(STATES)
    state = str(repair.state)
    if state in order:
        at = order.index(state)
        done = ((name, "done") for name in order[: at + 1])
        waits_for = {**_WAITS_FOR, "approved": "waits for changes"} if repair.changes_by else _WAITS_FOR
        return (*done, *((waits_for[name], "now") for name in order[at + 1 : at + 2]), *((name, "") for name in order[at + 2 :]))
    reached = {"rejected": 1, "stale": 1 + bool(repair.approved_digest), "failed": 2, "undone": 4, "overwritten": 4}.get(state, 1)
    return (*((name, "done") for name in order[:reached]), (state, "end"))


@writes
@unless_unchanged(facts.of_ended_repair)
def repair(request: OperatorRequest, oid: str) -> HttpResponse:
    row = get_object_or_404(Repair.objects.select_related("conversation__source", "group"), oid=oid)
    works = _works(request, row)
    here, is_again = back_of(request)
    if is_again:
        return HttpResponseRedirect(here)
    with one_snapshot():
        row = get_object_or_404(Repair.objects.select_related("conversation__source", "group"), oid=oid)
        return page(request, "repair.html", _repair_page(row, request.operator, request.interrupted, works), twins=("json", "md"))


def facts_of(repair: Repair) -> Json:
    people, times = (" ".join(f"{step}_{what}" for step in ("proposed", "approved", "applied", "undone")) for what in ("by", "at"))
    review = "reason incident reviewers changes_requested_by=changes_by summary regression regressed_at checked_at"
    group = {"group": repair.group.oid if repair.group else ""}
    return json_fields(repair, f"repair=oid state outcome strategies rehearsal {people} {times} {review}") | {
        "expires_at": expires_at(repair),
        **group,
    }


def _comments_report(repair: Repair) -> list[Json]:
    return [json_fields(row, "at who verdict text hunk=anchor") for row in repair.comments.all()]


@unless_unchanged(facts.of_ended_repair)
def repair_json(request: OperatorRequest, oid: str) -> HttpResponse:
    row = get_object_or_404(Repair.objects.select_related("conversation__source", "group"), oid=oid)
    facts = {**facts_of(row), "statement": statement_of(row)[0], "comments": _comments_report(row)}
    try:
        return as_json({**plan.plan_report(row.conversation.oid, kept_preview(row.conversation, row.revision, request_of(row))), **facts})
    except Refused as refusal:
        return as_json({"error": str(refusal), **facts}, status=409)


@unless_unchanged(facts.of_ended_repair)
def repair_md(request: OperatorRequest, oid: str) -> HttpResponse:
    row = get_object_or_404(Repair.objects.select_related("conversation__source", "group"), oid=oid)
    try:
        preview = kept_preview(row.conversation, row.revision, request_of(row))
    except Refused as refusal:
        return as_markdown(f"{markdown.prose(str(refusal))}\n", status=409)
    facts = {**facts_of(row), "strategies": ", then ".join(row.strategies), "rehearsal": row.rehearsal.get("sentence", "")}
    facts |= {
        "changes": " ".join(filter(None, (plan.summary(preview), plan.own_members(preview)))),
        "stated on approval": statement_of(row)[1],
        "reviewers": ", ".join(row.reviewers),
    }
    facts |= {"expires_at": value.isoformat() if (value := facts["expires_at"]) else ""}
    comments = [(comment.who, comment.verdict or ("on a hunk" if comment.anchor else ""), comment.text) for comment in row.comments.all()]
    report, links = (
        {**plan.plan_report(row.conversation.oid, preview), "diff": preview.shown_diff},
        {"repair": absolute(request, f"/repairs/{oid}/")},
    )
    if incident := facts.pop("incident"):
        links["incident"] = incident
    text = markdown.repair_md(report, facts, links, comments)
    strategies = [word for name in row.strategies for word in ("--strategy", name)]
    command = (
        "repair",
        row.conversation.source.path,
        "--conversation",
        row.conversation.native_id,
        *strategies,
        "--mode",
        row.mode,
        "--plan",
    )
    return as_markdown(text + origin_of(row.conversation, row.revision, *command))


WAITING_SHOWN = 5
"""Repairs of one conversation that a page names."""


def _act(request: OperatorRequest, oid: str, act: Callable[[Repair], None], done: str = "", background_kind: str = "") -> HttpResponse:
    """One act on one repair; a refusal becomes a sentence on its page. Without `done` the page's own outcome says what was done.

    `background_kind`: what does it for a large conversation, whose page does not wait for it.
    """
    repair = get_object_or_404(Repair.objects.select_related("conversation__source", "group"), oid=oid)
    if background_kind and background.is_large(repair.conversation):
        return HttpResponseRedirect(f"/tasks/{background.act(background_kind, repair, request.operator).task.key}/")
    try:
        act(repair)
    except Refused as refusal:
        messages.error(request, visible(str(refusal)))
    else:
        # A repair's own outcome stands on its page.
        messages.success(request, done or f"{repair.get_state_display()}.")
    return HttpResponseRedirect(f"/repairs/{oid}/")


def _kept_digest(repair: Repair) -> str:
    """Of the plan of a large conversation, whose preview the approver saw; "" where it is worked out now. Raises Refused."""
    if not background.is_large(repair.conversation) or background.is_plan_kept_by_none(repair):
        return ""
    if not is_kept_of(repair):
        raise Refused("The preview of this plan has to be computed again: read it on this page when it is done, then approve.")
    return shown_of(repair).plan_digest


@accepts("POST")
def approve(request: OperatorRequest, oid: str) -> HttpResponse:
    signed, stated, text = (request.POST.get(name, "") for name in ("digest", "statement", "comment"))
    return _act(
        request,
        oid,
        lambda repair: approve_repair(
            repair, request.operator, signed, stated if stated in STATEMENTS else "", text, kept_digest=_kept_digest(repair)
        ),
        "Approved. Nothing is written yet: apply does that.",
    )


@accepts("POST")
def reject(request: OperatorRequest, oid: str) -> HttpResponse:
    text = request.POST.get("comment", "")
    return _act(request, oid, lambda repair: reject_repair(repair, request.operator, text), "Rejected. Nothing was written.")


@accepts("POST")
def changes(request: OperatorRequest, oid: str) -> HttpResponse:
    text = request.POST.get("comment", "")
    done = "Changes requested: the repair waits for who proposed it."
    return _act(request, oid, lambda repair: request_changes(repair, request.operator, text), done)


@accepts("POST")
def comment(request: OperatorRequest, oid: str) -> HttpResponse:
    """On the repair; with `at`, the position of a hunk in its diff, on that one."""
    text, at = request.POST.get("text", ""), request.POST.get("at", "")

    def keep(repair: Repair) -> None:
        if at and not _POSITION.fullmatch(at):
            raise Refused("This is no hunk of the plan: open the repair again, and comment on one that it shows.")
        reviewing.comment(repair, request.operator, text, anchor_of(repair.plan_digest, int(at)) if at else "")

    return _act(request, oid, keep, "Your comment is on this page.")


@accepts("POST")
def reviewers(request: OperatorRequest, oid: str) -> HttpResponse:
    names = request.POST.get("reviewers", "")
    done = "The reviewers are named on this page and in the list of repairs." if names.strip() else "Nobody is asked to review any more."
    return _act(request, oid, lambda repair: reviewing.request_reviewers(repair, request.operator, names), done)


@accepts("POST")
def apply(request: OperatorRequest, oid: str) -> HttpResponse:
    return _act(request, oid, lambda repair: apply_repair(repair, request.operator), background_kind="apply")


@accepts("POST")
def undo(request: OperatorRequest, oid: str) -> HttpResponse:
    return _act(request, oid, lambda repair: undo_repair(repair, request.operator), background_kind="undo")
