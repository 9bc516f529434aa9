"""Messages of the outbox on their way: one loop in each server and each worker claims what is due, sends it, and records what became of it.

A message is sent at least once. Two never send it at the same time: a claim is one conditional write, and ends with its process or after CLAIM_LASTS.
After a kill between the send and the record it is sent again, with the same key, by which a receiver knows it.
"""

import random
import re
import smtplib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import Q
from django.utils import timezone

from inspector.models import Delivery, Notifier, NotifierSecret, Problem
from inspector.models.transactions import is_in_memory
from inspector.notifying import messages
from inspector.notifying.events import TEST, Notice
from inspector.notifying.posting import Answer, NotSent, Url, parsed, post
from inspector.notifying.signature import EVENT_HEADER, KEY_HEADER, SIGNATURE_HEADER, TIME_HEADER, signature
from inspector.presentation.masking import masked
from inspector.presentation.visible import visible
from inspector.sources.processes import has_ended, this_process

ATTEMPTS = 10
FIRST_WAIT, LONGEST_WAIT = 15, 3600
"""Seconds before the second attempt, doubled with each further one; with those of ATTEMPTS it is about two hours."""
JITTER = 0.2
"""Of a wait, more or less: what failed together is not tried again together."""
CLAIM_LASTS = timedelta(minutes=2)
"""Longer than one send may take."""
POLL = 1.0
AT_ONCE = 50
"""Messages in one round, so that the loop also does its other work."""
SENDERS = 4
"""Messages that one process sends at once, each to another notifier."""
KEPT = timedelta(days=14)
MOST_KEPT = 10_000
"""Of messages that ended, whichever is reached first."""
TIDY_EVERY = 3600.0
ANSWER_KEPT = 300
FINAL = frozenset({400, 405, 410, 411, 413, 414, 415, 422})
"""Answers that another attempt with the same message gets again. Others may be repaired by who runs the receiver: a token, an address, a limit."""
LOOPBACK = re.compile(r"(?:localhost|.*\.localhost|127\..*|\[?::1\]?|0\.0\.0\.0)", re.IGNORECASE)
_SENDING = threading.BoundedSemaphore(SENDERS)
_beat: float | None = None
"""When the loop of this process last began a round; None where it has none."""


@dataclass(frozen=True, slots=True)
class Result:
    """`problem` is "" where it was sent."""

    status: int | None = None
    answer: str = ""
    problem: str = ""
    is_final: bool = False
    wait: int | None = None


def link_to(path: str) -> str:
    """An address that others can open; "" without INSPECTOR_BASE_URL, and where that leads to one's own machine only."""
    base = settings.INSPECTOR_BASE_URL
    return f"{base}{path}" if base and path and not LOOPBACK.fullmatch(urlsplit(base).hostname or "") else ""


def deliver_due(most: int = AT_ONCE) -> int:
    """Sends what is due, in the order in which it is, and returns how many messages were tried."""
    for count in range(most):
        delivery = claim()
        if delivery is None:
            return count
        deliver(delivery)
    return most


def claim(key: str = "") -> Delivery | None:
    """The next message that is due and that nobody sends, which is ours then; with `key` that one."""
    now = timezone.now()
    waiting, over = Delivery.objects.filter(state=Delivery.State.WAITING), now - CLAIM_LASTS
    rows = waiting.filter(Q(claimed_at=None) | Q(claimed_at__lt=over), due_at__lte=now)
    # One after the other to one notifier: a receiver that is away takes no more than one place.
    rows = rows.filter(key=key) if key else rows.exclude(notifier__in=waiting.filter(claimed_at__gte=over).values("notifier"))
    if not rows.exists():
        return None
    with transaction.atomic():
        # A database server passes by the rows that another is claiming; SQLite lets one transaction write at a time.
        delivery = rows.select_for_update(skip_locked=True).order_by("due_at", "pk").first()
        if delivery is None:
            return None
        delivery.claimed_at, delivery.claimed_by = now, this_process()
        delivery.attempts += 1
        if delivery.attempts == 1:
            _count_again(delivery)
        delivery.save(update_fields=["claimed_at", "claimed_by", "attempts", "items"])
    return delivery


def _count_again(delivery: Delivery) -> None:
    """The occurrences of each problem as many as they are now. Later attempts say the same."""
    oids = [item["problem"] for item in delivery.items if "problem" in item]
    numbers = dict(Problem.objects.filter(oid__in=oids).values_list("oid", "conversations")) if oids else {}
    delivery.items = [{**item, "occurrences": numbers.get(item["problem"], 1)} if "problem" in item else item for item in delivery.items]


def deliver(delivery: Delivery) -> Result:
    """Sends a message that is claimed, and records what became of it. A claim that another took over meanwhile is left to that one."""
    result = _sent(delivery)
    now = timezone.now()
    values: dict[str, Any] = {
        "status": result.status,
        "answer": result.answer,
        "error": result.problem,
        "claimed_at": None,
        "claimed_by": "",
    }
    if not result.problem:
        values |= {"state": Delivery.State.SENT, "ended_at": now}
    elif result.is_final or delivery.attempts >= ATTEMPTS or delivery.event == TEST.name:
        values |= {"state": Delivery.State.GIVEN_UP, "ended_at": now, "error": _given_up(delivery, result)}
    else:
        values |= {"due_at": now + _wait(delivery.attempts, result.wait)}
    own = Delivery.objects.filter(pk=delivery.pk, claimed_at=delivery.claimed_at, claimed_by=delivery.claimed_by)
    own.update(**values)
    return result


def _given_up(delivery: Delivery, result: Result) -> str:
    if delivery.event == TEST.name:
        return result.problem
    if result.is_final:
        return f"Not sent, and not tried again: {result.problem}"
    return f"Given up after {delivery.attempts} attempts: {result.problem}"


def _wait(attempts: int, asked: int | None) -> timedelta:
    seconds = min(LONGEST_WAIT, max(FIRST_WAIT * 2 ** (attempts - 1), asked or 0))
    return timedelta(seconds=seconds * random.uniform(1 - JITTER, 1 + JITTER))  # noqa: S311 (no secret)


def notice_of(delivery: Delivery) -> Notice:
    many = delivery.total > 1 and any("problem" in item for item in delivery.items)
    page = f"/?source={delivery.source['id']}" if many else delivery.page
    return Notice(
        delivery.key,
        delivery.event,
        delivery.added_at.isoformat(timespec="seconds"),
        delivery.source,
        tuple(delivery.items),
        delivery.total,
        link_to(page),
    )


def _sent(delivery: Delivery) -> Result:
    notifier = Notifier.objects.select_related("kept_secret").filter(pk=delivery.notifier_id).first()
    if notifier is None:
        return Result(problem="The notifier was removed.", is_final=True)
    if not notifier.is_on and delivery.event != TEST.name:
        return Result(problem="The notifier is switched off.", is_final=True)
    try:
        return _SEND[notifier.kind](notifier, notifier.kept_secret, notice_of(delivery))
    except NotSent as problem:
        return Result(problem=problem.sentence, is_final=problem.is_final)


def _post(secret: NotifierSecret, url: Url, body: bytes, headers: Mapping[str, str]) -> Result:
    own = {"Content-Type": "application/json", "User-Agent": "Inspector", **headers}
    answer = post(url, body, own, settings.INSPECTOR_NOTIFY_PRIVATE)
    return Result(answer.status, _shown(answer, secret), _problem_of(answer), _is_final(answer), answer.wait)


def _problem_of(answer: Answer) -> str:
    if 200 <= answer.status < 300:
        return ""
    if 300 <= answer.status < 400:
        return f"The receiver answered {answer.status}, a redirect, which is not followed: enter the address that it leads to."
    return f"The receiver answered {answer.status}."


def _is_final(answer: Answer) -> bool:
    return 300 <= answer.status < 400 or answer.status in FINAL


def _shown(answer: Answer, secret: NotifierSecret) -> str:
    """The beginning of an answer, without what a receiver may repeat of our secrets."""
    text, url = answer.text, urlsplit(secret.address)
    parts = {secret.secret, secret.address, *re.split(r"[/?&=]", f"{url.path}?{url.query}")}
    for form in sorted({form for part in parts for form in (part, unquote(part), quote(part))}, key=len, reverse=True):
        if len(form) >= 6:
            text = text.replace(form, "[masked]")
    return visible(masked(" ".join(text.split())))[:ANSWER_KEPT]


def _webhook(notifier: Notifier, secret: NotifierSecret, notice: Notice) -> Result:
    body, now = messages.json_body(notice), int(time.time())
    headers = {
        TIME_HEADER: str(now),
        SIGNATURE_HEADER: signature(secret.secret, now, body),
        KEY_HEADER: notice.key,
        EVENT_HEADER: notice.event,
    }
    return _post(secret, parsed(secret.address), body, headers)


def _slack(notifier: Notifier, secret: NotifierSecret, notice: Notice) -> Result:
    return _post(secret, parsed(secret.address), messages.slack_body(notice), {KEY_HEADER: notice.key})


def _github(notifier: Notifier, secret: NotifierSecret, notice: Notice) -> Result:
    headers = {
        "Authorization": f"Bearer {secret.secret}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
        KEY_HEADER: notice.key,
    }
    return _post(secret, parsed(secret.address), messages.github_body(notice), headers)


def _email(notifier: Notifier, secret: NotifierSecret, notice: Notice) -> Result:
    if not settings.INSPECTOR_EMAIL:
        raise NotSent("No mail server is set: whoever runs the server sets INSPECTOR_EMAIL_URL.")
    own = {"Message-ID": f"<{notice.key}@inspector>", "X-Inspector-Event": notice.event, "Auto-Submitted": "auto-generated"}
    recipients = [part.strip() for part in notifier.place.split(",")]
    try:
        # Each alone, so that nobody reads who else is told; Django refuses line breaks in every header.
        EmailMessage(messages.subject(notice), messages.text(notice), settings.INSPECTOR_EMAIL_FROM, bcc=recipients, headers=own).send()
    except smtplib.SMTPResponseException as error:
        raise NotSent(f"The mail server answered {error.smtp_code}.") from None
    except smtplib.SMTPRecipientsRefused:
        raise NotSent("The mail server takes no message for these recipients.") from None
    except (OSError, smtplib.SMTPException, ValueError):
        # What the library says may quote a user name.
        raise NotSent("The mail server could not be reached, or did not take the message.") from None
    return Result(answer="The mail server took the message.")


_SEND: Mapping[str, Callable[[Notifier, NotifierSecret, Notice], Result]] = {
    Notifier.Kind.WEBHOOK: _webhook,
    Notifier.Kind.SLACK: _slack,
    Notifier.Kind.GITHUB: _github,
    Notifier.Kind.EMAIL: _email,
}


# The loop


def take_over() -> int:
    """Messages whose process ended while it sent them are free at once, where that is known: it ran on this machine."""
    rows = Delivery.objects.filter(state=Delivery.State.WAITING).exclude(claimed_at=None)
    lost = [(pk, by) for pk, by in rows.values_list("pk", "claimed_by") if has_ended(by)]
    return sum(Delivery.objects.filter(pk=pk, claimed_by=by).update(claimed_at=None, claimed_by="") for pk, by in lost)


def tidy(now: datetime | None = None) -> int:
    """Removes old messages that ended, and returns how many."""
    ended = Delivery.objects.exclude(ended_at=None)
    old = ended.filter(ended_at__lt=(now or timezone.now()) - KEPT).delete()[0]
    last = ended.order_by("-ended_at").values_list("ended_at", flat=True)[MOST_KEPT : MOST_KEPT + 1]
    return old + sum(ended.filter(ended_at__lte=at).delete()[0] for at in list(last))


def is_alive() -> bool | None:
    """Whether the loop of this process goes round; None where it has none."""
    return None if _beat is None else time.monotonic() - _beat < CLAIM_LASTS.total_seconds()


@contextmanager
def delivering(is_server: bool = False) -> Iterator[None]:
    """Delivers next to what else this process does. A server leaves it to the workers as long as one is alive."""
    global _beat
    if is_in_memory():
        yield
        return
    stop = threading.Event()
    _beat = time.monotonic()
    thread = threading.Thread(target=_go_round, args=(stop, is_server), name="deliveries", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        # A message that is being sent keeps its claim and is sent again: nobody waits for a slow receiver to stop a server.
        thread.join(2 * POLL)
        _beat = None


def _go_round(stop: threading.Event, is_server: bool) -> None:
    global _beat
    tidied: float | None = None
    while not stop.is_set():
        _beat = time.monotonic()
        try:
            if tidied is None or _beat - tidied > TIDY_EVERY:
                tidied = _beat
                tidy()
            take_over()
            if not (is_server and _has_worker()):
                _begin_due()
        except (DatabaseError, InterfaceError):
            # It is busy, or away: the next round tries again, and /healthz says that it is away.
            pass
        finally:
            connection.close()
        stop.wait(POLL)


def _begin_due() -> None:
    """Each in a thread of its own, SENDERS of them: a receiver that answers slowly does not keep the others waiting."""
    while _SENDING.acquire(blocking=False):
        delivery = None
        try:
            delivery = claim()
        finally:
            if delivery is None:
                _SENDING.release()
        if delivery is None:
            return
        threading.Thread(target=_deliver_one, args=(delivery,), daemon=True).start()


def _deliver_one(delivery: Delivery) -> None:
    try:
        deliver(delivery)
    except (DatabaseError, InterfaceError):
        # Nothing is recorded, so that it is sent again when its claim is over.
        pass
    finally:
        connection.close()
        _SENDING.release()


def _has_worker() -> bool:
    if connection.vendor != "postgresql":
        return False
    from inspector.management import jobs

    return jobs.has_worker()
