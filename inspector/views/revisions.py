"""Two revisions of one conversation chunk by chunk, and two conversations, or two revisions, next to each other."""

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import cast

from django.db.models import Count
from django.http import Http404, HttpResponse

from inspector.conversation import notation
from inspector.conversation.model import Conversation as Core
from inspector.conversation.model import Dropped
from inspector.middleware import OperatorRequest
from inspector.models import Conversation, Repair, Revision, loading
from inspector.planning.preview import DiffRow, diff_rows
from inspector.presentation.conversation.compared import WINDOW, ComparedWindow, compared, compared_readings, window
from inspector.presentation.json_text import Json, json_fields
from inspector.presentation.repair.plan import chunks_summary
from inspector.presentation.repair.preview_part import DiffRun, diff_runs
from inspector.presentation.visible import visible
from inspector.presentation.whatif.differences import between, client, outcomes, read_by, wrong_rows
from inspector.presentation.whatif.inserted import unhelpful
from inspector.presentation.whatif.words import WORDS, part_of
from inspector.profiles.base import Violation
from inspector.profiles.catalogue import UnknownProfile
from inspector.readers.catalogue import UnknownReader
from inspector.rules.base import case_of, stored_messages
from inspector.views import facts
from inspector.views.choice import conversation_or_404
from inspector.views.pages import as_json, page, unless_unchanged
from inspector.views.whatif import Place, client_query, place_of

RUNS_SHOWN = 400
OTHERS = 50
"""Conversations of the same source that are offered to compare with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionsPage:
    row: Conversation
    old: int
    new: int
    old_at: datetime
    new_at: datetime
    earlier: bool
    later: bool
    summary: str
    runs: tuple[DiffRun, ...]
    runs_left: int
    repairs: tuple[Repair, ...]
    ended: tuple[tuple[str, str, int], ...]
    """(code, name, number) of the findings that the newer one no longer has."""


def _both(oid: str, old: int, new: int) -> tuple[Conversation, Revision, Revision, Core, Core]:
    row = conversation_or_404(oid)
    # A larger number is in no column.
    numbers = [number for number in (old, new) if number <= row.revision]
    revisions = {revision.number: revision for revision in row.revisions.filter(number__in=numbers)}
    for number in (old, new):
        if number not in revisions:
            raise Http404(f"There is no revision {number} of this conversation; the newest is {row.revision}.")
    return row, revisions[old], revisions[new], loading.stored(row, old).conversation, loading.stored(row, new).conversation


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """All from `client` on is of a side that is one conversation as a client reads it.

    `keys` are those of the chunks that it reads, of which it `inserted` some, and `unhelpful` says why the call of an inserted result is rejected
    all the same; `wrong` says what it gets wrong, by key; of the next request, `verdict`, `state`, `silence` and `violation` are as of an Outcome.
    """

    row: Conversation
    revision: int
    chunks: int
    client: str = ""
    query: str = ""
    messages: int = 0
    failure: str = ""
    keys: frozenset[str] = frozenset()
    inserted: frozenset[str] = frozenset()
    unhelpful: Mapping[str, str] = field(default_factory=dict)
    wrong: Mapping[str, str] = field(default_factory=dict)
    verdict: str = ""
    state: str = ""
    silence: str = ""
    violation: Violation | None = None

    @property
    def title(self) -> str:
        return client(self.client).title


@dataclass(frozen=True, slots=True)
class ComparedReadings:
    """What becomes of a conversation with the other of two readers, in words; `dropped` is what neither reads, with why."""

    change: str
    needs_repair: bool
    dropped: tuple[Dropped, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonPage:
    """`sides` is None until a conversation to compare with is chosen; `others` are those of the same source that may be meant."""

    row: Conversation
    sides: tuple[ComparedSide, ComparedSide] | None
    window: ComparedWindow | None
    others: Sequence[Conversation]
    readings: ComparedReadings | None = None
    place: Place | None = None
    """Where it is in the list of What if."""

    @property
    def is_equal(self) -> bool:
        return self.window is not None and self.window.counts.keys() <= {"same"}

    @property
    def later(self) -> int | None:
        return self.window.start + WINDOW if self.window and self.window.start + WINDOW < self.window.total else None

    @property
    def earlier(self) -> int | None:
        return max(0, self.window.start - WINDOW) if self.window and self.window.start else None


def _side(oid: str, number: int | None) -> tuple[ComparedSide, Core]:
    """Of the newest revision where `number` is None."""
    row = Conversation.objects.select_related("source").filter(oid=oid).first()
    if row is None:
        raise Http404(f"There is no conversation {visible(oid)[:60]}: copy the id from the address of its page.")
    number = row.revision if number is None else number
    if number > row.revision or not row.revisions.filter(number=number).exists():
        raise Http404(f"There is no revision {number} of {row.oid}; the newest is {row.revision}.")
    content = loading.stored(row, number).conversation
    return ComparedSide(row, number, len(content.chunks)), content


def _chosen_revision(request: OperatorRequest, name: str) -> int | None:
    word = request.GET.get(name, "")
    return int(word) if word.isdecimal() and len(word) < 9 else None


def _is_of_readers(request: OperatorRequest) -> bool:
    return not request.GET.get("with") and len(request.GET.getlist("reader")) > 1


def _with_place(request: OperatorRequest, oid: str, old: int | None = None, new: int | None = None) -> object:
    own = facts.of_compared(request, oid, old, new)
    if own is None or not _is_of_readers(request):
        return own
    try:
        place = place_of(request, oid)
    except Http404:
        return None
    near = place and [row and (row.oid, row.title) for row in (place.before, place.after)]
    return own, place and (place.number, place.total), near


@unless_unchanged(_with_place)
def comparison(request: OperatorRequest, oid: str, old: int | None = None, new: int | None = None) -> HttpResponse:
    """`?with=` is the other conversation, `rev` and `with_rev` choose revisions, `from` the first line; `reader`, twice, compares two readers of one."""
    row = conversation_or_404(oid)
    if not request.GET.get("with") and len(request.GET.getlist("reader")) < 2:
        others = row.source.conversations.exclude(pk=row.pk).order_by("-last_activity", "pk")[:OTHERS]
        return page(request, "compared.html", ComparisonPage(row=row, sides=None, window=None, others=list(others)))
    left, right, rows, readings = _compared(request, oid, old, new)
    word = request.GET.get("from", "")
    marked = {seq for side in (left, right) if side.violation for seq in side.violation.seqs}
    shown = window(rows, int(word) if word.isdecimal() and len(word) < 9 else 0, marked)
    place = place_of(request, oid) if readings else None
    content = ComparisonPage(row=row, sides=(left, right), window=shown, others=(), readings=readings, place=place)
    return page(request, "compared.html", content, twins=("json",))


_Compared = tuple[ComparedSide, ComparedSide, tuple[DiffRow, ...], ComparedReadings | None]


def _compared(request: OperatorRequest, oid: str, old: int | None, new: int | None) -> _Compared:
    if not request.GET.get("with"):
        return _read_by_two(conversation_or_404(oid), request.GET.getlist("reader")[:2], request.GET.get("profile", ""))
    left, before = _side(oid, _chosen_revision(request, "rev") if old is None else old)
    right, after = _side(request.GET["with"], _chosen_revision(request, "with_rev") if new is None else new)
    return left, right, compared(before, after), None


def _read_by_two(row: Conversation, clients: Sequence[str], profile: str) -> _Compared:
    """One conversation as two clients read it. Raises Http404."""
    try:
        case = case_of(loading.stored(row).conversation, client(clients[0]).reader.name)
        cases = [read_by(case, name) for name in clients]
        first, second = outcomes(list(zip(cases, clients, strict=True)), row.judges[0], profile or row.judges[1])
    except (UnknownReader, UnknownProfile) as problem:
        raise Http404(str(problem)) from None
    one, other = (case.reading for case in cases)
    change = between(first, second, len(stored_messages(case.conversation)))
    left, right = (
        ComparedSide(
            row,
            row.revision,
            sum(len(message.chunks) for message in read.reading.messages),
            name,
            client_query(name, profile),
            len(read.reading.messages),
            read.reading.failure,
            frozenset(chunk.key for message in read.reading.messages for chunk in message.chunks),
            frozenset(chunk.key for message in read.reading.messages if message.synthetic for chunk in message.chunks),
            unhelpful(read, name, row.judges[0], profile or row.judges[1], result.violation),
            wrong_rows(result),
            result.verdict,
            result.state,
            result.silence,
            result.violation,
        )
        for name, read, result in zip(clients, cases, (first, second), strict=True)
    )
    rows = compared_readings(one.messages, other.messages)
    part = part_of(change)
    if part == "same" and any(row.op != "same" for row in rows):
        # The words that both insert may differ.
        part = "neither"
    subject = "the next request" if change.next_request else "the conversation"
    without = {chunk.key for dropped in other.dropped for chunk in dropped.chunks}
    neither = tuple(
        replace(dropped, chunks=chunks)
        for dropped in one.dropped
        if (chunks := tuple(chunk for chunk in dropped.chunks if chunk.key in without))
    )
    readings = ComparedReadings(f"{subject} {WORDS[part].one}", change.needs_repair, neither)
    return left, right, rows, readings


@unless_unchanged(facts.of_compared)
def comparison_json(request: OperatorRequest, oid: str, old: int | None = None, new: int | None = None) -> HttpResponse:
    if not request.GET.get("with") and len(request.GET.getlist("reader")) < 2:
        raise Http404("This compares two conversations, or two readers of one: name the other one, as in ?with=ID, or both readers.")
    left, right, rows, _ = _compared(request, oid, old, new)
    return as_json(
        {
            "conversation": left.row.oid,
            "with": right.row.oid,
            "old": _side_report(left),
            "new": _side_report(right),
            "counts": dict(Counter(row.op for row in rows)),
            "rows": [
                {
                    "op": row.op,
                    "old": None if row.before is None else notation.dump_chunk(row.before),
                    "new": None if row.after is None else notation.dump_chunk(row.after),
                }
                for row in rows
                if row.op != "same"
            ],
        }
    )


def _side_report(side: ComparedSide) -> Json:
    report = {"conversation": side.row.oid, "revision": side.revision, "chunks": side.chunks}
    return {**report, **json_fields(side, "reader=client messages verdict next_request=state")} if side.client else report


@unless_unchanged(facts.of_compared)
def diff(request: OperatorRequest, oid: str, old: int, new: int) -> HttpResponse:
    if request.GET.get("with"):
        return cast(HttpResponse, comparison(request, oid, old, new))
    row, before, after, old_content, new_content = _both(oid, old, new)
    rows = diff_rows(old_content, new_content)
    runs = diff_runs(rows)
    repairs = row.repairs.filter(revision__gte=min(old, new), revision__lt=max(old, new), applied_at__isnull=False).order_by("applied_at")
    ended = row.findings.filter(is_open=False, revision__gte=min(old, new), revision__lt=max(old, new))
    content = RevisionsPage(
        row=row,
        old=old,
        new=new,
        old_at=before.seen_at,
        new_at=after.seen_at,
        earlier=old > 1,
        later=new < row.revision,
        summary=chunks_summary(rows),
        runs=runs[:RUNS_SHOWN],
        runs_left=max(0, len(runs) - RUNS_SHOWN),
        repairs=tuple(repairs),
        ended=tuple(ended.order_by("code").values_list("code", "rule").annotate(n=Count("pk"))),
    )
    return page(request, "revisions.html", content)


@unless_unchanged(facts.of_compared)
def diff_json(request: OperatorRequest, oid: str, old: int, new: int) -> HttpResponse:
    if request.GET.get("with"):
        return cast(HttpResponse, comparison_json(request, oid, old, new))
    row, before, after, old_content, new_content = _both(oid, old, new)
    old_lines, new_lines = ([notation.dump_chunk(chunk) for chunk in content.chunks] for content in (old_content, new_content))
    text = "\n".join(difflib.unified_diff(old_lines, new_lines, f"revision {old}", f"revision {new}", n=2, lineterm=""))
    return as_json(
        {
            "conversation": row.oid,
            "old": {"revision": old, "digest": before.digest, "read_at": before.seen_at.isoformat()},
            "new": {"revision": new, "digest": after.digest, "read_at": after.seen_at.isoformat()},
            "diff": text,
        }
    )
