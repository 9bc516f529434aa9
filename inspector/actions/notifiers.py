"""Adds, changes, tests and removes who is told of events. What opens a receiver is typed once, kept apart, and never shown or recorded."""

import re
import secrets
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils import timezone

from inspector.access.permits import acts
from inspector.actions import audit
from inspector.actions.problems import Refused
from inspector.delivering import Result, claim, deliver
from inspector.models import Delivery, Notifier, NotifierSecret, Source, SourceGroup
from inspector.models.transactions import one_writer
from inspector.notifying.events import EVENTS, SEVERITIES, TEST
from inspector.notifying.posting import NotSent, parsed
from inspector.presentation.masking import masked
from inspector.presentation.visible import visible

MOST = 100
"""Notifiers: each is looked at by every act that is announced."""
LONGEST_NAME = 60
MOST_RECIPIENTS, LEAST_KEY, LONGEST_SECRET = 20, 16, 300
GITHUB = "https://api.github.com"
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")
_Kind = Notifier.Kind


@dataclass(frozen=True, slots=True)
class _Place:
    """What is shown, and what is kept apart."""

    place: str
    address: str
    secret: str

    @property
    def tail(self) -> str:
        """Of the secret, or of an address that is one."""
        text = self.secret or self.address
        return text[-4:] if len(text) >= LEAST_KEY else ""


@dataclass(frozen=True, slots=True)
class Reach:
    """What a notifier is limited to; at least one of them."""

    sources: Sequence[Source] = ()
    groups: Sequence[SourceGroup] = ()


def _everywhere(_: object) -> Iterable[None]:
    """Notifiers belong to no source: the role on all sources counts."""
    return (None,)


@acts("notify", of=_everywhere)
def add(kind: str, typed: Mapping[str, str], events: Iterable[str], reach: Reach | None, operator: str) -> Notifier:
    """`typed` has the fields of the form; `reach` is None for all sources. Raises Refused."""
    if kind not in _PLACES:
        raise Refused("Choose what the notifier sends to: a webhook, Slack, a GitHub issue, or e-mail.")
    if Notifier.objects.count() >= MOST:
        raise Refused(f"There are {MOST} notifiers, and no more are possible: remove one first.")
    name, place = _name(typed), _PLACES[kind](typed, None)
    with one_writer():
        row = Notifier(oid=secrets.token_hex(6), kind=kind, added_by=operator, added_at=timezone.now())
        _save(row, name, typed, events, reach, place)
        _record(row, operator, "add notifier")
    return row


@acts("notify", of=_everywhere)
def change(row: Notifier, typed: Mapping[str, str], events: Iterable[str], reach: Reach | None, operator: str) -> None:
    """Secrets that are left out stay, unless what they are sent to changes. Raises Refused."""
    name, place = _name(typed), _PLACES[row.kind](typed, row)
    with one_writer():
        _save(row, name, typed, events, reach, place)
        _record(row, operator, "change notifier")


@acts("notify", of=_everywhere)
def remove(row: Notifier, operator: str) -> None:
    """With its secrets, and its messages, those that wait too."""
    with one_writer():
        waiting = row.deliveries.filter(state=Delivery.State.WAITING).count()
        _record(row, operator, "remove notifier", waiting=waiting)
        row.delete()


@acts("notify", of=_everywhere)
def test(row: Notifier, operator: str) -> Result:
    """Sends one message now, once, and records what became of it."""
    now = timezone.now()
    with one_writer():
        message = Delivery.objects.create(
            key=str(uuid.uuid4()), notifier=row, event=TEST.name, added_at=now, due_at=now, page="/notifications/"
        )
        _record(row, operator, "test notifier")
    delivery = claim(message.key)
    # A loop that was faster records it too.
    return deliver(delivery) if delivery else Result(problem="It is being sent: look at the log below in a moment.")


def api_of(row: Notifier) -> str:
    """The address of the API of a GitHub notifier, which is no secret."""
    kept = _kept(row)
    return kept.address.partition("/repos/")[0] if kept else ""


def _save(row: Notifier, name: str, typed: Mapping[str, str], events: Iterable[str], reach: Reach | None, place: _Place) -> None:
    chosen, least = set(events), typed.get("least", SEVERITIES[-1])
    if not chosen or not chosen <= set(EVENTS):
        raise Refused("Choose at least one event of those that are listed.", "event")
    if least not in SEVERITIES:
        raise Refused("Choose the least severity: error, warning or note.", "least")
    if reach is not None and not reach.sources and not reach.groups:
        raise Refused("No source is chosen: choose those that it is limited to, or all.", "reach")
    if Notifier.objects.filter(name=name).exclude(pk=row.pk).exists():
        raise Refused("Another notifier has this name: choose one that tells them apart.", "name")
    row.name, row.place, row.tail = name, place.place, place.tail
    row.events, row.least = [event for event in EVENTS if event in chosen], least
    row.is_on, row.is_limited = typed.get("on", "1") == "1", reach is not None
    row.save()
    row.sources.set(reach.sources if reach else ())
    row.groups.set(reach.groups if reach else ())
    NotifierSecret.objects.update_or_create(notifier=row, defaults={"address": place.address, "secret": place.secret})


def _name(typed: Mapping[str, str]) -> str:
    name = visible(" ".join(typed.get("name", "").split()))
    if not name or len(name) > LONGEST_NAME:
        raise Refused(f"Name the notifier with 1 to {LONGEST_NAME} characters, such as the channel that it sends to.", "name")
    return masked(name)[:LONGEST_NAME]


def _record(row: Notifier, operator: str, verb: str, **detail: Any) -> None:
    facts: dict[str, Any] = {
        "notifier": row.oid,
        "name": row.name,
        "kind": row.kind,
        "to": row.place,
        "events": list(row.events),
        "least": row.least,
    }
    sources = sorted(row.sources.values_list("oid", flat=True)) if row.is_limited else "all"
    groups = sorted(row.groups.values_list("name", flat=True))
    audit.record(operator, verb, **facts, sources=sources, groups=groups, on=row.is_on, **detail)


def _kept(row: Notifier | None) -> NotifierSecret | None:
    return NotifierSecret.objects.filter(notifier=row).first() if row is not None and row.pk else None


def _typed_secret(typed: Mapping[str, str], least: int = 1) -> str:
    secret = typed.get("secret", "").strip()
    if secret and (not least <= len(secret) <= LONGEST_SECRET or not secret.isascii() or not secret.isprintable() or " " in secret):
        raise Refused(
            f"The secret has {least} to {LONGEST_SECRET} characters of ASCII without spaces: this one has not. Type it again.", "secret"
        )
    return secret


def _sendable(address: str, field: str = "address") -> str:
    """The origin of an address, for pages. Raises Refused; names are looked up when something is sent."""
    try:
        return parsed(address).origin
    except NotSent as problem:
        raise Refused(problem.sentence, field) from None


def _webhook(typed: Mapping[str, str], row: Notifier | None) -> _Place:
    kept, address, secret = _kept(row), typed.get("address", "").strip(), _typed_secret(typed, LEAST_KEY)
    address = address or (kept.address if kept else "")
    secret = secret or (kept.secret if kept else "")
    if not address:
        raise Refused("Type the address that the webhook is sent to, such as https://example.org/hooks/inspector.", "address")
    if not secret:
        raise Refused(
            f"Type the key that signs the messages, of at least {LEAST_KEY} characters: `openssl rand -hex 32` makes one.", "secret"
        )
    return _Place(f"{_sendable(address)}/…", address, secret)


def _slack(typed: Mapping[str, str], row: Notifier | None) -> _Place:
    kept, address = _kept(row), typed.get("address", "").strip()
    address = address or (kept.address if kept else "")
    if not address:
        raise Refused("Type the address of the incoming webhook that Slack made: https://hooks.slack.com/services/…", "address")
    return _Place(f"{_sendable(address)}/…", address, "")


def _github(typed: Mapping[str, str], row: Notifier | None) -> _Place:
    kept, secret = _kept(row), _typed_secret(typed)
    api = (typed.get("api", "").strip() or GITHUB).rstrip("/")
    repository, issue = typed.get("repository", "").strip(), typed.get("issue", "").strip().removeprefix("#")
    if not _REPOSITORY.fullmatch(repository) or ".." in repository:
        raise Refused("Type the repository as owner/name, such as example/agents.", "repository")
    if not re.fullmatch("[1-9][0-9]{0,9}", issue):
        raise Refused("Type the number of the issue that is commented on.", "issue")
    origin = _sendable(api, "api")
    if "?" in api:
        raise Refused("The address of the API has no question mark: https://HOST/api/v3 for GitHub Enterprise.", "api")
    address = f"{api}/repos/{repository}/issues/{issue}/comments"
    if not secret and kept is not None:
        if not kept.address.startswith(f"{api}/repos/"):
            raise Refused("The token was typed for another address of the API: type it again for this one.", "secret")
        secret = kept.secret
    if not secret:
        raise Refused(
            "Type a token that may comment on the issue: a fine-grained one for this repository, with write access to issues.", "secret"
        )
    return _Place(f"{repository}#{issue} at {origin}", address, secret)


def _email(typed: Mapping[str, str], row: Notifier | None) -> _Place:
    recipients = [part.strip() for part in re.split(r"[,\n]", typed.get("recipients", "")) if part.strip()]
    if not recipients and row is not None:
        return _Place(row.place, "", "")
    if not 1 <= len(recipients) <= MOST_RECIPIENTS:
        raise Refused(f"Type 1 to {MOST_RECIPIENTS} e-mail addresses, with commas between them.", "recipients")
    for recipient in recipients:
        try:
            validate_email(recipient)
        except ValidationError:
            raise Refused(f"{visible(recipient[:80])!r} is no e-mail address: write it as name@example.org.", "recipients") from None
    if not settings.INSPECTOR_EMAIL:
        raise Refused("No mail server is set: whoever runs the server sets INSPECTOR_EMAIL_URL, and then e-mail can be sent.", "recipients")
    return _Place(", ".join(recipients), "", "")


_PLACES: Mapping[str, Callable[[Mapping[str, str], Notifier | None], _Place]] = {
    _Kind.WEBHOOK: _webhook,
    _Kind.SLACK: _slack,
    _Kind.GITHUB: _github,
    _Kind.EMAIL: _email,
}
