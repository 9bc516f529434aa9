"""The page of a problem: what its rule says, where it occurs, what became of each conversation, and what was decided. The forms of the inbox end here too."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from django.contrib import messages
from django.db.models import Count, Q, Sum
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect

from inspector.actions import decide_problem
from inspector.actions.decide_problem import DONE, Decision
from inspector.actions.problems import Refused
from inspector.actions.shown_previews import Offered, offered, part_by_default
from inspector.conversation.model import Kind
from inspector.middleware import OperatorRequest, accepts
from inspector.models import (
    Conversation,
    ConversationRule,
    Occurrence,
    Problem,
    ProblemDay,
    ProblemEvent,
    Repair,
    Revision,
    Stream,
    StreamFinding,
    analyses,
    loading,
)
from inspector.models.problem import SEVERITIES, WORST_FIRST
from inspector.presentation import markdown
from inspector.presentation.conversation.excerpt import Excerpt, above_cut, excerpt_of_block, excerpts
from inspector.presentation.conversation.other_readers import read_by_others
from inspector.presentation.conversation.verdict import PASSES, REJECTED, SILENT, NextRequest, unless_unnoticed
from inspector.presentation.conversation.whole import LARGE
from inspector.presentation.json_text import Json, json_fields
from inspector.presentation.prompt.causes import calls_of
from inspector.presentation.repair.outcomes import SAME_REQUEST, tone
from inspector.presentation.repair.plan import left_less
from inspector.presentation.repair.preview_part import PreviewPart
from inspector.presentation.sparkline import Sparkline
from inspector.presentation.visible import visible
from inspector.profiles.base import Violation
from inspector.profiles.catalogue import UnknownProfile
from inspector.profiles.judging import judged_case
from inspector.projections.catalogue import UnknownProjection
from inspector.readers.catalogue import UnknownReader
from inspector.strategies.base import Strategy
from inspector.strategies.catalogue import strategy
from inspector.views import problem_list
from inspector.views.conversation_list import forks_of, forks_with, is_cut_off, is_through_tree, waiting_of
from inspector.views.crashes import Crash, crash_of
from inspector.views.live import live
from inspector.views.pages import absolute, as_json, as_markdown, origin_of_source, page
from inspector.views.paging import ListWindow, window
from inspector.views.problem_list import ProblemRow
from inspector.views.repair_rows import RepairRow
from inspector.views.repair_rows import rows_of as rows_of_repairs

VERSIONS, EVENTS, ALSO, CHOSEN = 5, 50, 6, 200
"""How many are shown, and how many problems one form may choose."""
TRIED = 500
"""Chunks of an example for which the page tries the repairs."""
_OID = re.compile(r"[0-9a-f]{12}")
_State = Occurrence.State


@dataclass(frozen=True, slots=True)
class OccurrenceRow:
    """`finding` is the id of the first one while it is found, and `href` leads to it; `fork` what replaced the conversation.

    `waiting` is a repair that is proposed or approved.
    """

    occurrence: Occurrence
    finding: str
    href: str
    seqs: tuple[int, ...] = ()
    """The first that its first finding names."""
    message: str = ""
    """What the first finding says; "" where it is found no more."""
    fork: Conversation | None = None
    is_in_fork: bool = False
    """Whether the fork has it too: it was made for another problem."""
    waiting: Repair | None = None
    silent_errors: tuple[str, ...] = ()
    """Codes of the rules that are silent errors of a conversation, that of the problem first."""
    has_error: bool = False

    @property
    def subject(self) -> Conversation | Stream:
        subject = self.occurrence.conversation or self.occurrence.stream
        assert subject is not None
        return subject

    @property
    def next_request(self) -> NextRequest:
        subject = self.subject
        return (
            unless_unnoticed(NextRequest(*subject.next_request), self.silent_errors) if isinstance(subject, Conversation) else NextRequest()
        )

    @property
    def is_cut_off(self) -> bool:
        """Of a conversation in a tree, as in the list."""
        return isinstance(self.subject, Conversation) and is_cut_off(self.subject, self.next_request)

    @property
    def is_of_path(self) -> bool:
        """Of a conversation in a tree: its numbers of messages are those of one path, less what a compaction leaves out."""
        return isinstance(self.subject, Conversation) and is_through_tree(self.subject)

    @property
    def seen(self) -> int | None:
        """Epoch milliseconds."""
        subject = self.subject
        return subject.captured_at if isinstance(subject, Stream) else subject.last_activity

    @property
    def words(self) -> str:
        row = self.occurrence
        if row.state == _State.OPEN:
            return "occurs again" if row.regressed_at else "open"
        if row.state == _State.REPAIRED:
            return "repaired" if row.repair_id else "no longer detected"
        if row.state == _State.REPLACED:
            return "carried on in a fork, which has it too" if self.is_in_fork else "repaired by a fork"
        return f"gone from its {'file' if row.stream_id else 'store'}"

    @property
    def is_repaired(self) -> bool:
        return bool(self.occurrence.repair_id) and not self.is_in_fork


class Example(NamedTuple):
    """Of an open conversation: chunks that the first finding names, and how the provider rejects the next request; `is_why`: where the finding is about that."""

    row: OccurrenceRow
    excerpt: Excerpt
    rejection: Violation | None = None
    is_why: bool = False
    fewer: str = ""
    """Of one whose next request passes: how many other readers read fewer messages."""
    offer: Offered | None = None
    """What its repairs come to; None of one of more than `TRIED` chunks."""
    part: PreviewPart | None = None
    """Of the only recommended repair there, in the mode that is the default."""

    @property
    def profile(self) -> str:
        """By which it is rejected."""
        subject = self.row.subject
        return subject.judges[1] if isinstance(subject, Conversation) else ""


class Also(NamedTuple):
    """Another problem of the example: its rule, its id, and its severity there."""

    code: str
    oid: str
    severity: str

    @property
    def stays(self) -> bool:
        """No strategy is for its rule."""
        rule = problem_list.any_rule(self.code)
        return rule is not None and not rule.repaired_by


class Hiding(NamedTuple):
    """Problems of the rules `codes`, for which the next request goes wrong silently. After `strategy` alone, which repairs them, it comes to `end`; "" where that is not worse."""

    codes: tuple[str, ...]
    strategy: str = ""
    end: str = ""


class HistoryLine(NamedTuple):
    """`what` happened; `href` leads to the conversation or repair `named`."""

    at: datetime
    who: str
    what: str
    named: str = ""
    href: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemPage:
    row: ProblemRow
    problem: Problem
    crashes: int
    """Of the conversations in which it occurs now, those that are crash files."""
    rejected: int
    """Of the others, those whose next request a provider rejects, and those of which it goes wrong silently."""
    silently: int
    days: Sparkline
    here: ListWindow[Occurrence]
    rows: tuple[OccurrenceRow, ...]
    repairs: tuple[Repair, ...]
    """The newest repairs of the conversations that are shown which less of it was to be found after, whatever became of them."""
    versions: tuple[tuple[str, int], ...]
    """(version of the client, occurrences) as it was when each was first seen, the most frequent first; and of models."""
    models: tuple[tuple[str, int], ...]
    events: tuple[ProblemEvent, ...]
    example: Example | None
    waiting_for: int
    """How many of its conversations have a repair that waits, and `review` where these are decided."""
    review: str
    reviewed: RepairRow | None
    """The one repair, or the one group, that is there; None where there are others."""
    other_repairs: tuple[str, ...]
    """Ids of those that wait and do not leave less of it."""
    crash: Crash | None
    """Of the example, where that is a crash file: what it recorded, and its session."""
    also: tuple[Also, ...]
    """Other problems of the example, no notes."""
    free_href: str
    """Where a repair is chosen of those of its conversations for which none waits; "" where there is none."""
    consequence: Problem | None
    """Where nothing repairs this one: a problem that it leads to in one of its conversations, and that has repairs."""
    consequence_href: str
    """As `free_href`, of the consequence."""

    @property
    def history(self) -> tuple[HistoryLine, ...]:
        """The newest first: what was decided, and for the occurrences that are shown when each began and which repair is for it."""
        lines = [HistoryLine(event.at, event.who, _words_of(event)) for event in self.events]
        of_repairs: dict[int, tuple[Repair, str]] = {}
        for row in self.rows:
            title = row.subject.title or row.subject.native_id
            lines.append(HistoryLine(datetime.fromtimestamp(row.occurrence.first_at / 1000, UTC), "", "found in", title, row.href))
            own = (repair for repair in self.repairs if repair.conversation_id == row.occurrence.conversation_id)
            of_repairs |= {repair.pk: (repair, title) for repair in (row.waiting, row.occurrence.repair, *own) if repair is not None}
        for repair, title in of_repairs.values():
            lines += _of_repair(repair, title)
        return tuple(sorted(lines, key=lambda line: line.at, reverse=True)[:EVENTS])

    @property
    def fixes(self) -> tuple[tuple[Strategy, str, str], ...]:
        """The strategies, each with what it is called and what the next request is after it alone, where the example was tried."""
        offer = self.example.offer if self.example and self.example.offer else Offered((), frozenset(), "")
        words = offer.words
        fixes = [(offer.costs.get(of.name, of), words.get(of.name, ""), offer.outcomes.get(of.name, "")) for of in self.row.strategies]
        # The recommended ones first; what repairs nothing in the only one, or leaves its request rejected, is none where another does not.
        fixes.sort(key=lambda fix: (not fix[1], not fix[2]))
        is_alone = self.problem.conversations == 1 and any(outcome for _, _, outcome in fixes)
        fine = tuple(fix for fix in fixes if (tone(fix[2]) != "no" if fix[2] else not is_alone))
        return fine or tuple(fixes)

    @property
    def also_ended_by(self) -> tuple[tuple[Strategy, str], ...]:
        """The strategies for other rules that end this one in the example, where none is for it, each with what the next request is after it alone."""
        offer = self.example.offer if self.example else None
        if offer is None:
            return ()
        return tuple((strategy(name), offer.outcomes.get(name, "")) for name in offer.ended.get(self.problem.code, ()))

    @property
    def hidden_by(self) -> Hiding | None:
        """Where the next request of the example goes wrong silently for others: these, and whether it is rejected once they alone are repaired, for this one."""
        example = self.example
        if example is None or example.row.next_request.state != SILENT or self.row.is_silencing:
            return None
        codes = tuple(one.code for one in self.also if problem_list.may_silence(one.code, one.severity, example.row.next_request))
        offer = example.offer or Offered((), frozenset(), "")
        own = [name for name in self.row.repairs if tone(offer.outcomes.get(name, REJECTED)) == "yes"]
        for name in dict.fromkeys(part for repair in own for part in offer.included.get(repair, ())):
            repaired = tuple(code for code in codes if (rule := problem_list.any_rule(code)) and name in rule.repaired_by)
            if repaired and tone(words := offer.outcomes.get(name, "")) == "no":
                return Hiding(repaired, name, words.rpartition("→ ")[2])
        return Hiding(codes) if codes else None

    @property
    def leaves_request(self) -> bool:
        """Whether the next request of the only one that can be repaired goes wrong, and stays the same after each repair of this problem."""
        outcomes = [outcome for *_, outcome in self.fixes]
        return self.unplanned == 1 and bool(outcomes) and all(SAME_REQUEST in outcome and tone(outcome) != "yes" for outcome in outcomes)

    @property
    def left(self) -> str:
        """The severity that it has in the example after what is recommended there for it; "" where it is gone then, or nobody knows."""
        offer = self.example.offer if self.example else None
        part = self.example.part if self.example and offer and not set(offer.recommended).isdisjoint(self.row.repairs) else None
        return next((rule.severity_after for rule in part.counts if rule.code == self.problem.code), "") if part else ""

    @property
    def unplanned(self) -> int:
        """Conversations for which no repair waits, and that can be written."""
        return max(0, self.problem.conversations - self.waiting_for - self.crashes)

    @property
    def repair_href(self) -> str:
        """Of the one that is unplanned its own page."""
        return self.free_href if self.unplanned == 1 and self.free_href else f"/problems/{self.problem.oid}/repair/"

    @property
    def one(self) -> OccurrenceRow | None:
        """The one that has it and is no crash file; None where it is not shown, or there are others."""
        opened = [row for row in self.rows if row.occurrence.state == _State.OPEN and not getattr(row.subject, "is_crash", False)]
        return opened[0] if self.problem.conversations - self.crashes == len(opened) == 1 else None


def _page(request: OperatorRequest, oid: str) -> ProblemPage:
    problem = get_object_or_404(Problem.objects.select_related("source"), oid=oid)
    (row,) = problem_list.rows_of([problem], problem_list.last_day_for(problem.source))
    occurrences = problem.occurrences.select_related("stream" if problem.is_of_streams else "conversation", "repair")
    here = window(occurrences, WORST_FIRST, problem.total, request.GET)
    waiting_for, review, reviewed, others = (0, "", None, ()) if problem.is_of_streams else _waiting(problem)
    rows = (_of_streams if problem.is_of_streams else _of_conversations)(problem, here.rows)
    example = _example(rows)
    consequence = Problem.objects.filter(source=problem.source, code=row.consequence).first() if row.consequence else None
    return ProblemPage(
        row=row,
        problem=problem,
        **problem.occurrences.filter(state=Occurrence.State.OPEN).aggregate(
            crashes=Count("pk", filter=Q(conversation__is_crash=True)),
            rejected=Count("pk", filter=Q(conversation__refused=True, conversation__is_crash=False)),
        ),
        silently=problem_list.counted_silently([row])[0].silently,
        days=row.days,
        here=here,
        rows=rows,
        example=example,
        repairs=() if problem.is_of_streams else _repairs_of(problem, here.rows),
        versions=_most(problem, "client_version"),
        models=_most(problem, "model"),
        events=tuple(problem.events.all()[:EVENTS]),
        waiting_for=waiting_for,
        review=review,
        reviewed=reviewed,
        other_repairs=others,
        crash=_crash(example),
        also=_also(example, problem),
        free_href=_free_href(problem) if row.repair else "",
        consequence=consequence,
        consequence_href=_free_href(consequence) if consequence else "",
    )


def _free_href(problem: Problem) -> str:
    """Of the one conversation that can be written and has no repair that waits, or of all of them together; "" where there is none."""
    waiting = Repair.objects.filter(state__in=Repair.WAITING).values("conversation")
    opened = problem.occurrences.filter(state=_State.OPEN, conversation__is_crash=False).exclude(conversation__in=waiting)
    oids = list(opened.order_by().values_list("conversation__oid", flat=True)[:2])
    if len(oids) == 1:
        return f"/conversations/{oids[0]}/repairs/new/"
    return f"/problems/{problem.oid}/repair/" if oids else ""


def _crash(example: Example | None) -> Crash | None:
    subject = example.row.subject if example else None
    return crash_of(subject, loading.stored(subject).conversation) if isinstance(subject, Conversation) and subject.is_crash else None


def _also(example: Example | None, problem: Problem) -> tuple[Also, ...]:
    subject = example.row.subject if example else None
    if not isinstance(subject, Conversation):
        return ()
    others = Occurrence.objects.filter(conversation=subject, state=_State.OPEN, problem__rank__lt=4).exclude(problem=problem)
    rows = others.order_by("problem__code").values_list("problem__code", "problem__oid", "rank")[:ALSO]
    return tuple(Also(code, oid, SEVERITIES[rank // 2]) for code, oid, rank in rows)


def _example(rows: Sequence[OccurrenceRow]) -> Example | None:
    """Of a session rather than of a crash file. None where no open conversation is shown, or what is kept of it cannot be read any more."""
    for row in sorted(rows, key=lambda row: getattr(row.subject, "is_crash", False)):
        if row.seqs and isinstance(row.subject, Conversation):
            with suppress(UnknownReader, UnknownProfile, UnknownProjection, Revision.DoesNotExist):
                is_large = row.subject.chunk_count >= LARGE
                example = (_example_of_large if is_large else _example_of)(row, row.subject)
                is_tried = not is_large and row.subject.chunk_count <= TRIED and not row.subject.is_crash
                if is_tried:
                    offer = offered(row.subject, "")
                    # What several do together is not said of each.
                    part = part_by_default(row.subject, offer) if len(offer.recommended) == 1 else None
                    example = example._replace(offer=offer, part=part)
                return example if example.excerpt.lines else None
            return None
    return None


def _example_of(row: OccurrenceRow, conversation: Conversation) -> Example:
    case = loading.case(conversation, conversation.source.reader)
    (excerpt,) = excerpts(case, [row.seqs], is_filled=True)
    if row.next_request.state != REJECTED:
        return Example(row, excerpt, fewer=read_by_others(case).words if row.next_request.state == PASSES else "")
    projection, profile = conversation.judges
    _, judgement = judged_case(case, profile, projection)
    # A provider answers with the first of what is wrong.
    first = next(iter(judgement.violations), None)
    is_why = first is not None and bool({*first.seqs, *calls_of(case.conversation.chunks, first.seqs)} & set(row.seqs))
    return Example(row, excerpt, first, is_why)


def _example_of_large(row: OccurrenceRow, conversation: Conversation) -> Example:
    """Of what is kept the headline and two blocks are read."""
    kept = analyses.stored(conversation, analyses.own_ways(conversation))
    number = kept.reaching(row.seqs[0]) if kept else None
    if kept is None or number is None:
        return Example(row, Excerpt())
    excerpt = excerpt_of_block(kept.block(number), row.seqs, is_filled=True)
    if rows := kept.block(0).rows:
        excerpt = above_cut(excerpt, kept.headline().overview.tree, row.seqs, rows[0].seq)
    first = kept.headline().overview.judged.first if row.next_request.state == REJECTED else None
    at = kept.reaching(first.seqs[0]) if first and first.seqs else None
    if first is None or at is None:
        return Example(row, excerpt)
    calls = {one.partner for one in kept.block(at).rows if one.seq in first.seqs and one.kind == Kind.TOOL_RESULT}
    return Example(row, excerpt, first, bool({*first.seqs, *calls} & set(row.seqs)))


def _words_of(event: ProblemEvent) -> str:
    detail = event.detail
    words = f"{event.verb} to {detail.get('to') or 'nobody'}" if event.verb == DONE["assign"] else event.verb
    words += f" until {until}" if (until := detail.get("until")) else ""
    if event.verb == DONE["fix"]:
        return f"{words}{_in_version(detail.get('version', ''))}"
    if "fixed_in" in detail:
        by = f"client version {detail['version']}" if detail["version"] else "a client of unknown version"
        return f"{words}, written by {by}, although marked as fixed{_in_version(detail['fixed_in'])}"
    return f"{words}: {reason}" if (reason := detail.get("reason")) else words


def _in_version(version: str) -> str:
    return f" in client version {version}" if version else ""


def _repairs_of(problem: Problem, occurrences: Sequence[Occurrence]) -> tuple[Repair, ...]:
    newest = Repair.objects.filter(conversation__in=[row.conversation_id for row in occurrences]).order_by("-pk")[:EVENTS]
    return tuple(repair for repair in newest if problem.code in left_less(repair.counts))


def _of_repair(repair: Repair, title: str) -> Iterator[HistoryLine]:
    acts = (
        ("proposed_at", "proposed_by", "proposed"),
        ("approved_at", "approved_by", "approved"),
        ("applied_at", "applied_by", "applied"),
        ("undone_at", "undone_by", "undid"),
    )
    for at, who, act in acts:
        if (moment := getattr(repair, at)) is not None:
            yield HistoryLine(moment, getattr(repair, who), f"{act} a repair of", title, f"/repairs/{repair.oid}/")


def _waiting(problem: Problem) -> tuple[int, str, RepairRow | None, tuple[str, ...]]:
    """For how many of its conversations a repair of it waits, and where: on the page of the one, of their group, or in the list of repairs; that one or group; and the ids of those that wait and leave it as it is."""
    open_ones = problem.occurrences.filter(state=_State.OPEN).values("conversation")
    waiting = Repair.objects.filter(state__in=Repair.WAITING, conversation__in=open_ones)
    all_of_them = waiting.values_list("conversation", "group__oid", "oid", "counts")
    # Of an old one it is not known.
    repairs = [(row, group, oid) for row, group, oid, counts in all_of_them if not counts or problem.code in left_less(counts)]
    of_it = {oid for _, _, oid in repairs}
    others = tuple(oid for _, _, oid, _ in all_of_them if oid not in of_it)
    number, groups = len({row for row, _, _ in repairs}), {group for _, group, _ in repairs}
    if len(repairs) != 1 and (len(groups) != 1 or None in groups):
        return number, "/repairs/", None, others
    (row, *_) = rows_of_repairs(waiting.filter(oid=repairs[0][2]).select_related("conversation__source", "group"))
    return number, f"/repairs/{row.repair.oid}/" if len(repairs) == 1 else row.href, row, others


def _of_conversations(problem: Problem, occurrences: tuple[Occurrence, ...]) -> tuple[OccurrenceRow, ...]:
    ids = [row.conversation_id for row in occurrences]
    rules = ConversationRule.objects.filter(conversation__in=ids, code=problem.code).order_by("-findings")
    columns = rules.values_list("conversation_id", "first__oid", "first__message", "first__seqs")
    first = {pk: (oid, message, seqs) for pk, oid, message, seqs in columns}
    errors: dict[int, list[tuple[bool, str]]] = {}
    for pk, code, silent in ConversationRule.objects.filter(conversation__in=ids, severity="error").values_list(
        "conversation_id", "code", "silent"
    ):
        errors.setdefault(pk, []).append((silent, code))
    forks = forks_of(row.conversation_id for row in occurrences if row.conversation_id and row.state == _State.REPLACED)
    still = forks_with(problem.code, forks.values())
    waiting = waiting_of(ids)
    listed = []
    for row in occurrences:
        if (about := row.conversation) is not None:
            finding, message, seqs = first.get(about.pk, ("", "", ()))
            href = f"/conversations/{about.oid}/{f'?finding={finding}' if finding else ''}"
            fork = forks.get(about.pk)
            is_in_fork = fork is not None and fork.pk in still
            own = errors.get(about.pk, ())
            silent_errors = tuple(sorted((code for is_silent, code in own if is_silent), key=lambda code: (code != problem.code, code)))
            listed.append(
                OccurrenceRow(row, finding, href, tuple(seqs), message, fork, is_in_fork, waiting.get(about.pk), silent_errors, bool(own))
            )
    return tuple(listed)


def _of_streams(problem: Problem, occurrences: tuple[Occurrence, ...]) -> tuple[OccurrenceRow, ...]:
    findings = StreamFinding.objects.filter(stream__in=[row.stream_id for row in occurrences], code=problem.code)
    # Of each stream the first stays.
    first = {finding.stream_id: finding for finding in findings.select_related("stream").order_by("-pk")}
    return tuple(
        OccurrenceRow(row, finding.oid, finding.href, message=finding.message)
        if finding
        else OccurrenceRow(row, "", f"/streams/{row.stream.oid}/")
        for row in occurrences
        if row.stream
        for finding in (first.get(row.stream.pk),)
    )


def _most(problem: Problem, column: str) -> tuple[tuple[str, int], ...]:
    """Those of which it is not known are "", and only counted next to others."""
    days = ProblemDay.objects.filter(problem=problem).order_by().values_list(column).annotate(n=Sum("occurrences"))
    most = tuple(days.order_by("-n", column)[:VERSIONS])
    return most if any(name for name, _ in most) else ()


def problem(request: OperatorRequest, oid: str) -> HttpResponse:
    return page(request, "problem.html", _page(request, oid), twins=("json", "md"), live=live("problem", oid))


def problem_json(request: OperatorRequest, oid: str) -> HttpResponse:
    return as_json(_report(request, _page(request, oid)))


def _report(request: OperatorRequest, content: ProblemPage) -> Json:
    about = content.row.about
    return {
        **problem_list.problem_report(content.row),
        "summary": about.summary if about else "",
        "fixed_in_code": about.fixed_in_code if about else "",
        "client_versions": [{"version": name, "occurrences": number} for name, number in content.versions if name],
        "models": [{"model": name, "occurrences": number} for name, number in content.models if name],
        **json_fields(content, "page=here.number pages=here.pages"),
        "next": content.here.older.query(request.GET) if content.here.older else "",
        "occurrences": [_occurrence_report(row) for row in content.rows],
        "example": _example_report(content.example) if content.example else None,
        "crash": _crash_report(content.crash) if content.crash else None,
        "events": [json_fields(event, "at who verb detail") for event in content.events],
    }


def _occurrence_report(row: OccurrenceRow) -> Json:
    repair = row.occurrence.repair
    return {
        ("stream" if isinstance(row.subject, Stream) else "conversation"): row.subject.oid,
        **json_fields(row, "title=subject.title state=words finding"),
        **json_fields(row.occurrence, "findings first_at closed_at regressed_at"),
        "repair": repair.oid if repair else "",
        "fork": row.fork.oid if row.fork else "",
        "waiting_repair": row.waiting.oid if row.waiting else "",
    }


def _example_report(example: Example) -> Json:
    """The chunks that the page quotes, and what the provider answers to the next request where the problem is why; `answer` is null elsewhere."""
    return {
        "conversation": example.row.subject.oid,
        "title": example.row.subject.title,
        "chunks": [json_fields(line, "seq role kind words read named=is_named") for line in example.excerpt.lines],
        "answer": json_fields(example, "profile rule=rejection.id path=rejection.path text=rejection.text") if example.is_why else None,
    }


def _crash_report(crash: Crash) -> Json:
    """Of the example, where it is a crash file: what the provider answered then, and what becomes of the next request of its session now."""
    session = crash.session
    return {
        "answered": crash.words,
        "session": session.oid if session else "",
        "session_next_request": NextRequest(*session.next_request).words if session else "",
    }


def problem_md(request: OperatorRequest, oid: str) -> HttpResponse:
    content = _page(request, oid)
    rows = [(row.subject.oid, row.subject.title, row.words, _verdict_of(row.subject)) for row in content.rows]
    links = {
        "problem": absolute(request, f"/problems/{content.problem.shared_id}/"),
        "rule": absolute(request, f"/rules/{content.problem.code}/"),
    }
    source = content.problem.source
    text = markdown.problem_md(_report(request, content), source.name, rows, links)
    return as_markdown(text + origin_of_source(source, None, "scan", source.path))


def _verdict_of(subject: Conversation | Stream) -> str:
    """A crash file has no next request."""
    return f"{subject.damage} It is a crash file." if isinstance(subject, Conversation) and subject.is_crash else subject.verdict


@accepts("POST")
def decide(request: OperatorRequest) -> HttpResponse:
    """`problem` names each that the person chose; `action`, `reason`, `end`, `to` and `version` are of the decision."""
    form = request.POST
    action = form.get("action", "")
    to = request.operator if action == "assign-me" else form.get("to", "")
    decision = Decision(
        "assign" if action == "assign-me" else action,
        form.get("reason", ""),
        form.get("day") or form.get("end", ""),
        to,
        form.get("version", "").strip(),
    )
    try:
        number = decide_problem.decide(form.getlist("problem")[:CHOSEN], decision, request.operator)
        done = decide_problem.DONE[decision.action]
        messages.success(
            request, f"{number} problem{'' if number == 1 else 's'} {done}." if number else "Nothing changed: it is so already."
        )
    except Refused as refusal:
        messages.error(request, visible(str(refusal)))
    return redirect(_back(form.get("page", ""), form.get("query", "")))


def _back(oid: str, query: str) -> str:
    """The page of a problem, or the inbox with what the form was chosen from; never another address."""
    if _OID.fullmatch(oid):
        return f"/problems/{oid}/"
    kept = query_of(query)
    return f"/?{kept}" if kept else "/"


def query_of(query: str) -> str:
    """As the inbox understands it; what it does not know is left out."""
    return problem_list.filters_of(QueryDict(query[: decide_problem.QUERY]).dict()).query


@accepts("POST")
def views(request: OperatorRequest) -> HttpResponse:
    """Saves the choice `query` under `name`, or removes the view of this name."""
    form = request.POST
    query, name = query_of(form.get("query", "")), form.get("name", "")
    try:
        if form.get("action") == "remove":
            decide_problem.remove_view(request.operator, name)
        else:
            view = decide_problem.save_view(request.operator, name, query)
            messages.success(request, f"Saved as {view.name}.")
    except Refused as refusal:
        messages.error(request, visible(str(refusal)))
    return redirect(_back("", query))
