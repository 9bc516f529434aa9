"""Two revisions of one conversation, chunk by chunk."""

import difflib
from dataclasses import dataclass
from datetime import datetime

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404

from inspector.conversation import notation
from inspector.conversation.model import Conversation as Core
from inspector.middleware import OperatorRequest
from inspector.models import Conversation, Repair, Revision, loading
from inspector.planning.preview import diff_rows
from inspector.presentation.repair.plan import chunks_summary
from inspector.views import facts
from inspector.views.pages import as_json, page, unless_unchanged
from inspector.views.preview_part import DiffRun, diff_runs

RUNS_SHOWN = 400


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


def _both(oid: str, old: int, new: int) -> tuple[Conversation, Revision, Revision, Core, Core]:
    row = get_object_or_404(Conversation.objects.select_related("source"), oid=oid)
    revisions = {revision.number: revision for revision in row.revisions.filter(number__in=(old, new))}
    for number in (old, new):
        if number not in revisions:
            raise Http404(f"There is no revision {number} of this conversation; the newest is {row.revision}.")
    return row, revisions[old], revisions[new], loading.stored(row, old).conversation, loading.stored(row, new).conversation


@unless_unchanged(facts.of_revision)
def diff(request: OperatorRequest, oid: str, old: int, new: int) -> HttpResponse:
    row, before, after, old_content, new_content = _both(oid, old, new)
    rows = diff_rows(old_content, new_content)
    runs = diff_runs(rows)
    repairs = row.repairs.filter(revision__gte=min(old, new), revision__lt=max(old, new), applied_at__isnull=False).order_by("applied_at")
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
    )
    return page(request, "revisions.html", content)


@unless_unchanged(facts.of_revision)
def diff_json(request: OperatorRequest, oid: str, old: int, new: int) -> HttpResponse:
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
