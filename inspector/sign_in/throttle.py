"""Attempts to sign in that fail are counted, in our database, for all processes: after a few, the next ones wait, each time twice as long.

An attempt is counted before the password is looked at, so that a hundred at once are a hundred. A name that is no account is counted like one that is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import salted_hmac

from inspector.actions import audit
from inspector.models import FailedSignIn
from inspector.models.transactions import one_writer
from inspector.sign_in.client_address import network_of

LIMITS: Mapping[str, int] = {"both": 5, "address": 30, "name": 50, "token": 30}
"""Failures until the next attempt waits. `both`: one name from one address. Those of a name from everywhere are many more: else anybody could lock out anybody."""
FIRST_WAIT = 30
LONGEST_WAIT = 900
"""Seconds."""
FORGOTTEN = 3600
"""Seconds without a failure after which the count begins again."""
MOST_ROWS = 10_000
"""More than that are not kept: those without a failure for longest go first."""
NAME = 150
"""Characters of a user name that is kept of a sign-in that failed: as many as Django's own may have."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """`wait` are the seconds until it may be made; 0 = now. `locks` are the kinds whose next attempt waits, unless this one succeeds."""

    name: str
    address: str
    kinds: Mapping[str, str]
    wait: int = 0
    locks: Mapping[str, int] | None = None


def kinds_of(name: str, address: str) -> dict[str, str]:
    """Kind -> digest of what it counts."""
    name, address = name.strip().casefold(), network_of(address)
    values = {"both": f"{address} {name}", "address": address, "name": name}
    if not address:
        values = {"name": name}
    return {kind: salted_hmac(f"inspector.sign_in.{kind}", value, algorithm="sha256").hexdigest() for kind, value in values.items()}


def begin(name: str, address: str, kinds: Mapping[str, str] | None = None) -> Attempt:
    kinds = kinds_of(name, address) if kinds is None else kinds
    now = timezone.now()
    with one_writer():
        rows = {row.digest: row for row in FailedSignIn.objects.filter(digest__in=kinds.values())}
        wait = max((_wait(row, now) for row in rows.values()), default=0)
        if wait:
            return Attempt(name, address, kinds, wait)
        locks = {}
        if len(rows) < len(kinds):
            _forget(now)
        for kind, digest in kinds.items():
            row = rows.get(digest) or FailedSignIn(kind=kind, digest=digest, last_at=now)
            is_old = row.last_at < now - timedelta(seconds=FORGOTTEN)
            row.failures, row.last_at = (0 if is_old else row.failures) + 1, now
            over = row.failures - LIMITS[kind]
            if over >= 0:
                locks[kind] = min(FIRST_WAIT * 2 ** min(over, 10), LONGEST_WAIT)
                row.locked_until = now + timedelta(seconds=locks[kind])
            row.save()
    return Attempt(name, address, kinds, 0, locks)


def _wait(row: FailedSignIn, now: datetime) -> int:
    return max(0, int((row.locked_until - now).total_seconds()) + 1) if row.locked_until and row.locked_until > now else 0


def _forget(now: datetime) -> None:
    """What no longer counts, and the oldest where there are too many."""
    old = Q(last_at__lt=now - timedelta(seconds=FORGOTTEN)) & (Q(locked_until=None) | Q(locked_until__lt=now))
    FailedSignIn.objects.filter(old).delete()
    if FailedSignIn.objects.count() >= MOST_ROWS:
        oldest = FailedSignIn.objects.order_by("last_at").values_list("pk", flat=True)[: MOST_ROWS // 10]
        FailedSignIn.objects.filter(pk__in=list(oldest)).delete()


def succeeded(attempt: Attempt) -> None:
    """The name counts from 0 again. The address does not: who has one account could guess at others between two sign-ins."""
    with one_writer():
        FailedSignIn.objects.filter(digest__in=[digest for kind, digest in attempt.kinds.items() if kind != "address"]).delete()
        row = FailedSignIn.objects.filter(digest=attempt.kinds.get("address")).first()
        if row is None:
            return
        row.failures = max(0, row.failures - 1)
        if "address" in (attempt.locks or {}):
            row.locked_until = None
        row.save()


def failed(attempt: Attempt) -> None:
    """One line of the audit log for each time that it locks something, and none for others: anybody can try without end."""
    if attempt.locks:
        detail = {"name": attempt.name[:NAME], "address": attempt.address, "for": ", ".join(WORDS[kind] for kind in attempt.locks)}
        audit.record("", "lock sign-in", **detail, wait=_spoken(max(attempt.locks.values())))


WORDS = {"both": "this name from this address", "address": "this address", "name": "this name", "token": "API tokens from this address"}


def sentence(wait: int) -> str:
    return f"Too many attempts failed. Wait {_spoken(wait)}, then try again."


def _spoken(seconds: int) -> str:
    return f"{seconds} seconds" if seconds < 120 else f"{-(-seconds // 60)} minutes"
