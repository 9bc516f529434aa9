"""Links by the id that every copy of a store gives a conversation, a finding or a problem lead to what was imported here, under the id that it has here."""

import re
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import QueryDict

from inspector.models import Conversation, Finding, Problem, Revision

_PROBLEM = re.compile(r"/problems/([0-9a-f]{12})-([A-Z]+[0-9]+)(/.*|\.(?:json|md))$")
_SHARED = re.compile(r"/(conversations|findings)/([0-9a-f]{12})(/.*|\.(?:json|md|html))$")
MOST = 50
"""Copies that are listed."""


@dataclass(frozen=True, slots=True)
class Copy:
    href: str
    conversation: Conversation


def copies_of(path: str, query: QueryDict) -> list[Copy]:
    """What is meant by an address that nothing has as its own: one of each source that has a copy, the newest first."""
    if match := _PROBLEM.match(path):
        return _problems(match[1], match[2], match[3], query)
    match = _SHARED.match(path)
    if match is None:
        return []
    kind, shared_id, rest = match.groups()
    if kind == "conversations":
        rows = Conversation.objects.filter(identity=shared_id).select_related("source").order_by("is_gone", "-pk")[:MOST]
        return [Copy(f"/conversations/{row.oid}{rest}{_query(row, query)}", row) for row in rows]
    findings = Finding.objects.filter(identity=shared_id).select_related("conversation__source").order_by("-is_open", "-pk")[:MOST]
    return [Copy(f"/findings/{row.oid}{rest}{_query(row.conversation, query)}", row.conversation) for row in findings]


def _problems(identity: str, code: str, rest: str, query: QueryDict) -> list[Copy]:
    """Of each source that has a copy of the conversation, its problem of this rule."""
    rows = Conversation.objects.filter(identity=identity).select_related("source").order_by("is_gone", "-pk")[:MOST]
    own = {Problem.oid_of(row.source.oid, code): row for row in rows}
    there = set(Problem.objects.filter(oid__in=own).values_list("oid", flat=True))
    parameters = f"?{query.urlencode()}" if query else ""
    return [Copy(f"/problems/{oid}{rest}{parameters}", row) for oid, row in own.items() if oid in there]


def _query(row: Conversation, query: QueryDict) -> str:
    """Without what only the Inspector has that made the link: its revisions are counted by its imports, and its findings have its ids."""
    pairs = [(name, value) for name, values in query.lists() for value in values]
    revision = query.get("rev", "")
    if revision and not (revision.isdecimal() and Revision.objects.filter(conversation=row, number=int(revision[:9])).exists()):
        pairs = [(name, value) for name, value in pairs if name != "rev"]
    finding = query.get("finding", "")
    if finding and not Finding.objects.filter(conversation=row, oid=finding).exists():
        here = Finding.objects.filter(conversation=row, identity=finding).values_list("oid", flat=True).first()
        pairs = [(name, value) for name, value in pairs if name != "finding"] + ([("finding", here)] if here else [])
    return f"?{urlencode(pairs)}" if pairs else ""
