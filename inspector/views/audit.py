"""The audit trail: who did what to which bytes, when, and whether the trail itself still holds together."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse

from inspector.access.permits import permit
from inspector.actions.audit import WHAT_NEXT, AuditState, sealed_sentence, state
from inspector.middleware import OperatorRequest
from inspector.models import AuditEntry, Conversation, Repair, Source
from inspector.presentation.json_text import json_fields
from inspector.presentation.visible import visible
from inspector.views.pages import as_json, page
from inspector.views.paging import ListWindow, window

FILTERS = {"repair": "repair", "conversation": "conversation", "source": "source_path", "who": "who", "verb": "verb"}
"""What an address may ask for, with the column."""
_HEX = re.compile(r"[0-9a-f]{16,}")


@dataclass(frozen=True, slots=True)
class AuditRow:
    """The links are "" where what the line names is not in the database any more."""

    entry: AuditEntry
    source: str
    conversation: str
    repair: str
    detail: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class AuditPage:
    rows: tuple[AuditRow, ...]
    here: ListWindow[AuditEntry]
    total: int
    state: AuditState
    filters: dict[str, str]
    """Name -> value of what the address asks for; {} = every line."""

    @property
    def broken_lines(self) -> frozenset[int]:
        return frozenset(problem.line for problem in self.state.problems)

    @property
    def sealed(self) -> str:
        return sealed_sentence(self.state.sealed) if self.state.sealed else ""

    what_next = WHAT_NEXT


def _rows(entries: Sequence[AuditEntry]) -> tuple[AuditRow, ...]:
    sources = dict(Source.objects.filter(path__in={entry.source_path for entry in entries}).values_list("path", "oid"))
    conversations = set(Conversation.objects.filter(oid__in={entry.conversation for entry in entries}).values_list("oid", flat=True))
    repairs = set(Repair.objects.filter(oid__in={entry.repair for entry in entries}).values_list("oid", flat=True))
    return tuple(
        AuditRow(
            entry,
            f"/sources/{sources[entry.source_path]}/" if entry.source_path in sources else "",
            f"/conversations/{entry.conversation}/" if entry.conversation in conversations else "",
            f"/repairs/{entry.repair}/" if entry.repair in repairs else "",
            tuple((name.replace("_", " "), _shown(value)) for name, value in entry.detail.items() if value not in (0, "", [], {})),
        )
        for entry in entries
    )


def _shown(value: Any) -> str:
    """Digests shortened; the `.json` twin has them whole."""
    text = value if isinstance(value, str) else json.dumps(value)
    return _HEX.sub(lambda match: f"{match.group()[:12]}…", text)


def _page(request: OperatorRequest) -> AuditPage:
    permit("audit")
    # The first query: before it, the head is read (see `state`).
    log = state()
    filters = {name: value for name in FILTERS if (value := visible(request.GET.get(name, "").strip()))}
    entries = AuditEntry.objects.all()
    for name, value in filters.items():
        entries = entries.filter(**{FILTERS[name]: value})
    here = window(entries, ("-id",), entries.count(), request.GET)
    return AuditPage(_rows(here.rows), here, here.total, log, filters)


def audit(request: OperatorRequest) -> HttpResponse:
    return page(request, "audit.html", _page(request), twins=("json",))


def audit_json(request: OperatorRequest) -> HttpResponse:
    content = _page(request)
    return as_json(
        {
            **json_fields(content, "total filters page=here.number pages=here.pages"),
            "next": content.here.older.query(request.GET) if content.here.older else "",
            "broken_at": min((problem.line for problem in content.state.problems if problem.line), default=None),
            "problems": [json_fields(problem, "line repair sentence") for problem in content.state.problems],
            "entries": [json_fields(row.entry, _ENTRY) for row in content.rows],
        }
    )


_ENTRY = "number=pk at who verb source=source_path conversation repair detail previous digest"
