"""Where an id, a place in a conversation, the code of a rule or a link leads, that somebody pasted in place of an error."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from django.db.models import Q, QuerySet

from inspector.models import (
    Conversation,
    Finding,
    Problem,
    Repair,
    RepairGroup,
    Source,
    Stream,
    StreamFinding,
    Tombstone,
    searching,
)
from inspector.models.visible import one_parameter
from inspector.presentation.catalogue.entries import rule_named, strategy_named
from inspector.presentation.visible import folded
from inspector.profiles.catalogue import PROFILES
from inspector.rules.catalogue import UnknownRule
from inspector.strategies.catalogue import UnknownStrategy

LONGEST = 300
SHORTEST = 4
"""Characters of an id that are looked for."""
SHORTEST_OF_CALL = 8
"""Characters of an id of a call: shorter ones are words of other calls too."""
PLACES_OF_CALL = 3
"""Conversations with a call that are named."""
_PLACE = re.compile(r"(?:(?P<id>(?!seq\b)[^\s#]+?)[\s,:#]+)?(?:#?seq[-\s]?|(?<=[\s:#]))(?P<seq>\d{1,12})", re.IGNORECASE)
_ID = re.compile(r"[A-Za-z0-9][\w.@:~+/-]*")
_PAGES = (
    "conversations",
    "findings",
    "problems",
    "profiles",
    "repair-groups",
    "repairs",
    "rules",
    "sources",
    "strategies",
    "streams",
    "tasks",
)
_LINK = re.compile(rf"/(?:{'|'.join(_PAGES)})/[^\s\\]*")


@dataclass(frozen=True, slots=True)
class Lead:
    """`what` it is, for a sentence; `href` is the page of it, or of several, the list of them."""

    what: str
    href: str


class StoredCall(NamedTuple):
    """A conversation that has a call, and where in it the call and its results are."""

    row: Conversation
    seqs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NamedCall:
    """A call by the id that an error or a person names, with the conversations that have it: the newest, or none.

    `is_common`: it is in too many places to look at each. `more`: conversations that are not listed.
    """

    id: str
    stored: tuple[StoredCall, ...] = ()
    more: int = 0
    is_common: bool = False


def named_call(call_id: str) -> NamedCall:
    """By the index of the search, so that nothing is read in which the id is not. Of the demo next to other sources only where those do not have it."""
    if len(call_id) < SHORTEST_OF_CALL:
        return NamedCall(call_id, is_common=True)
    seqs = searching.calls_with(call_id)
    if seqs is None:
        return NamedCall(call_id, is_common=True)
    rows = Conversation.objects.filter(pk__in=one_parameter(list(seqs))).prefetch_related("source").order_by("is_gone", "place", "id")
    listed = list(rows)
    listed = [row for row in listed if not row.source.is_demo] or listed
    stored = tuple(StoredCall(row, tuple(seqs[row.pk])) for row in listed[:PLACES_OF_CALL])
    return NamedCall(call_id, stored, len(listed) - len(stored))


def lead(text: str) -> Lead | None:
    """None where nothing that is here is named so, or `text` names nothing."""
    text = text.strip().strip("\"'`<>()[],;").strip()
    if not text or len(text) > LONGEST or "\n" in text:
        return None
    return _of_link(text) or _of_rule(text) or _of_place(text) or _of_id(text)


def is_name(text: str) -> bool:
    """Whether it can be nothing but an id or a code: one word, with a digit."""
    return len(text) <= LONGEST and _ID.fullmatch(text) is not None and any(character.isdigit() for character in text)


def is_seq(text: str) -> bool:
    place = _PLACE.fullmatch(text.strip())
    return place is not None and not place["id"]


def _of_link(text: str) -> Lead | None:
    """A link of an Inspector, this one or a colleague's: ids that copies share lead to the same here."""
    with suppress(ValueError):
        parts = urlsplit(text)
        if parts.scheme in ("http", "https", "") and (link := _LINK.search(parts.path)):
            query, anchor = f"?{parts.query}" if parts.query else "", f"#{parts.fragment}" if parts.fragment else ""
            return Lead("a link", link[0] + query + anchor)
    return None


def _of_rule(text: str) -> Lead | None:
    with suppress(UnknownRule):
        rule = rule_named(text)
        return Lead(f"the rule {rule.code}", f"/rules/{rule.code}/")
    with suppress(UnknownStrategy):
        return Lead("a strategy", f"/strategies/{strategy_named(text).name}/")
    if any(rule.id == text.upper() for profile in PROFILES for rule in profile.rules):
        return Lead("a rule of a provider", f"/profiles/?{urlencode({'q': text.upper()})}")
    return next((Lead("a profile", f"/profiles/#{profile.name}") for profile in PROFILES if profile.name == text.lower()), None)


def _of_place(text: str) -> Lead | None:
    place = _PLACE.fullmatch(text)
    if place is None or not place["id"]:
        return None
    seq = int(place["seq"])
    # The whole id: "error 400" is no place in a conversation that has "error" in its title.
    rows = Conversation.objects.filter(Q(oid=place["id"].lower()) | Q(identity=place["id"].lower()) | Q(native_id=place["id"]))
    return _one_of(Lead("a place in a conversation", f"{href}?at={seq}#seq-{seq}") for href in _hrefs("conversations", rows))


def _of_id(text: str) -> Lead | None:
    """By our ids, whole or their beginning; then by those of the stores."""
    if len(text) < SHORTEST or _ID.fullmatch(text) is None:
        return None
    if ours := _one_of(_ours(text.lower())):
        return ours
    # A part of an id as the search has it, which is masked: nobody guesses an id under a mask letter by letter.
    of_stores = Q(native_id=text) | Q(names__contains=folded(text)) if is_name(text) else Q(native_id=text)
    leads = [Lead("a conversation", href) for href in _hrefs("conversations", Conversation.objects.filter(of_stores))]
    leads += [Lead("a stream", href) for href in _hrefs("streams", Stream.objects.filter(native_id=text))]
    several = Lead("several conversations", f"/conversations/?{urlencode({'q': text})}")
    if leads or not is_name(text):
        return several if len(leads) > 1 else _one_of(leads)
    call = named_call(text)
    if len(call.stored) > 1:
        return several
    return next((Lead("a call", f"/conversations/{row.oid}/?at={seqs[0]}#seq-{seqs[0]}") for row, seqs in call.stored), None)


def _ours(text: str) -> Iterator[Lead]:
    for what, address, rows in (
        ("a conversation", "conversations", Conversation.objects.filter(Q(oid__startswith=text) | Q(identity=text))),
        ("a finding", "findings", Finding.objects.filter(Q(oid=text) | Q(identity=text))),
        ("a stream", "streams", Stream.objects.filter(oid__startswith=text)),
        ("a repair", "repairs", Repair.objects.filter(oid__startswith=text)),
        ("a group of repairs", "repair-groups", RepairGroup.objects.filter(oid__startswith=text)),
        ("a problem", "problems", Problem.objects.filter(oid__startswith=text)),
        ("a source", "sources", Source.objects.filter(oid__startswith=text)),
    ):
        yield from (Lead(what, href) for href in _hrefs(address, rows))
    for row in StreamFinding.objects.filter(oid=text).select_related("stream"):
        yield Lead("a finding", row.href)
    if Tombstone.objects.filter(oid=text).exists():
        yield Lead("what was purged", f"/conversations/{text}/")


def _hrefs(address: str, rows: QuerySet[Any]) -> list[str]:
    """Of two at most: several are one too many."""
    return [f"/{address}/{oid}/" for oid in rows.order_by().values_list("oid", flat=True)[:2]]


def _one_of(leads: Iterable[Lead]) -> Lead | None:
    """None where there is none, or more than one."""
    several = list(leads)
    return several[0] if len(several) == 1 else None
