"""Links that show one conversation, finding, repair, problem or stream without a login: made, opened, revoked."""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from inspector.access.context import unlimited
from inspector.access.grants import access_named
from inspector.access.permits import acts, permit
from inspector.access.roles import Access, Role, RoleOn
from inspector.actions import audit
from inspector.actions.problems import Refused
from inspector.models import Conversation, Finding, Occurrence, Problem, Repair, ShareLink, Source, Stream
from inspector.models.transactions import one_writer
from inspector.presentation.masking import masked
from inspector.presentation.visible import visible

DAYS = (1, 7, 30)
TOKEN_BYTES = 24
"""192 bits."""
NOTE = 500
LABEL = 200
LOCAL = (
    "In local mode nobody but the person at this machine can open a page, with or without a link: copy the Markdown of the page or the page as one file "
    "instead, or let Inspector run where people sign in."
)
EXPIRED = "This link has expired. Ask who sent it for another one."
REVOKED = "This link was revoked. Ask who sent it."
ENDED = "This link has ended, because who made it may no longer share this. Ask who sent it."
GONE = "What this link showed is no longer in Inspector: it was removed, or purged."

Shared = Conversation | Finding | Repair | Problem | Stream
MODELS: Mapping[str, tuple[type[Shared], str]] = {
    ShareLink.Kind.CONVERSATION: (Conversation, "source"),
    ShareLink.Kind.FINDING: (Finding, "conversation__source"),
    ShareLink.Kind.REPAIR: (Repair, "conversation__source"),
    ShareLink.Kind.PROBLEM: (Problem, "source"),
    ShareLink.Kind.STREAM: (Stream, "source"),
}
"""Kind -> what it is, and the way to its source."""


class Ended(Exception):
    """A link that was one; the text is a sentence for whoever has it."""


@dataclass(frozen=True)
class Opened:
    link: ShareLink
    access: Access
    """Of whoever has the link: this one thing, and nothing else."""


def source_of_shared(about: Shared) -> Source:
    return about.conversation.source if isinstance(about, Finding | Repair) else about.source


def make_link(about: Shared, operator: str, days: int, exact: bool, note: str) -> tuple[ShareLink, str]:
    """The link and its token, which is kept nowhere. Raises Refused."""
    if settings.INSPECTOR_LOCAL:
        raise Refused(LOCAL)
    if days not in DAYS:
        raise Refused("Choose from the list for how long the link is to be open.", "days")
    if exact:
        permit("reveal", about)
    return _make(about, operator, days, exact, masked(visible(" ".join(note.split())))[:NOTE])


@acts("share")
def _make(about: Shared, operator: str, days: int, exact: bool, note: str) -> tuple[ShareLink, str]:
    token = _new_token()
    kind = next(kind for kind, (model, _) in MODELS.items() if isinstance(about, model))
    source, now = source_of_shared(about), timezone.now()
    with one_writer():
        link = ShareLink.objects.create(
            oid=secrets.token_hex(6),
            token_hash=hash_of(token),
            kind=kind,
            about=about.oid,
            label=masked(visible(label_of(about)))[:LABEL],
            source=source,
            created_by=operator,
            created_at=now,
            expires_at=now + timedelta(days=days),
            is_exact=exact,
            note=note,
        )
        audit.record(operator, "share", source_path=source.path, **_facts(link), until=link.expires_at.isoformat(), note=note)
    return link, token


def label_of(about: Shared) -> str:
    match about:
        case Conversation():
            return about.title or about.short_native_id
        case Finding() | Problem():
            return f"{about.code} {about.rule}"
        case Repair():
            return ", then ".join(about.strategies)
        case Stream():
            return about.title or about.native_id


def _facts(link: ShareLink) -> dict[str, Any]:
    return {"link": link.oid, "kind": str(link.kind), "about": link.about, "exact": link.is_exact}


def revoke(link: ShareLink, operator: str) -> None:
    permit("share", link.source)
    _revoke(link, operator)


@unlimited
def _revoke(link: ShareLink, operator: str) -> None:
    with one_writer():
        if ShareLink.objects.filter(pk=link.pk, revoked_at=None).update(revoked_at=timezone.now(), revoked_by=operator):
            audit.record(operator, "revoke share", source_path=link.source.path if link.source else "", **_facts(link))


def _new_token() -> str:
    """Not one that looks like a secret of a program: the page that shows it once would mask it."""
    while True:
        token = secrets.token_urlsafe(TOKEN_BYTES)
        if masked(f"/share/{token}/") == f"/share/{token}/":
            return token


def hash_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


@unlimited
def open_link(token: str) -> Opened | None:
    """None of a token that nobody has. Raises Ended."""
    link = ShareLink.objects.select_related("source").filter(token_hash=hash_of(token)).first()
    if link is None:
        return None
    if link.revoked_at is not None:
        raise Ended(REVOKED)
    if link.expires_at <= timezone.now():
        raise Ended(EXPIRED)
    model, path = MODELS[link.kind]
    about = model._base_manager.select_related(path).filter(oid=link.about).first()
    if about is None or link.source is None:
        raise Ended(GONE)
    source = source_of_shared(about)
    if not settings.INSPECTOR_LOCAL:
        maker = access_named(link.created_by)
        if not maker.may("share", source.pk) or (link.is_exact and not maker.may("reveal", source.pk)):
            raise Ended(ENDED)
    with one_writer():
        now = timezone.now()
        if ShareLink.objects.filter(pk=link.pk, first_at=None).update(first_at=now):
            audit.record("", "open share", source_path=source.path, **_facts(link))
        ShareLink.objects.filter(pk=link.pk).update(opened=F("opened") + 1, last_at=now)
    return Opened(link, _access(about, source))


def _access(about: Shared, source: Source) -> Access:
    """Of a source and its traces what belongs to this one thing."""
    seen = frozenset([source.pk, *source.traces.values_list("pk", flat=True)])
    only: dict[str, Any] = {"conversation": (), "stream": (), "problem": ()}
    match about:
        case Conversation() | Stream():
            only[type(about).__name__.lower()] = (about.pk,)
        case Finding() | Repair():
            only["conversation"] = (about.conversation_id,)
        case Problem():
            occurrences = Occurrence._base_manager.filter(problem=about.pk)
            only["problem"] = (about.pk,)
            only["conversation"] = occurrences.exclude(conversation=None).values("conversation")
            only["stream"] = occurrences.exclude(stream=None).values("stream")
    return Access("", (RoleOn(Role.VIEWER, seen),), only=only)
