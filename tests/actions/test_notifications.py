"""What is announced, to whom, once; what becomes of a message that a receiver does not take; and that no secret is shown again."""

import hashlib
import hmac
import ipaddress
import json
import re
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured
from django.db import connection, transaction
from django.utils import timezone
from pytest_django import Settings

from inspector import delivering
from inspector.actions import notifiers
from inspector.actions.apply_repair import apply_repair
from inspector.actions.decide_repair import approve_repair, reject_repair
from inspector.actions.group_previews import occurrences_of, planned_all
from inspector.actions.problems import Refused
from inspector.actions.purge import purge
from inspector.actions.repair_groups import approve_all, open_group, propose_all
from inspector.actions.undo_repair import undo_repair
from inspector.delivering import ATTEMPTS, CLAIM_LASTS, claim, deliver, deliver_due, tidy
from inspector.models import AuditEntry, Conversation, Delivery, Notifier, Problem, Source, SourceGroup, outbox
from inspector.notifying.events import EVENTS
from tests.actions.building import WHO, again, broken, chunk_key, imported, merged, proposed, put, row
from tests.notifying.receiving import Receiver, mail_server, web_server
from tests.views.imported import MERGED, many, rows, store

pytestmark = pytest.mark.django_db
KEY = "k" * 10 + "0123456789abcdef"


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    settings.INSPECTOR_NOTIFY_PRIVATE = [ipaddress.ip_network("127.0.0.1")]
    settings.INSPECTOR_BASE_URL = "https://inspector.example.org"
    with web_server() as running:
        yield running


def webhook(receiver: Receiver, name: str = "hook", sources: list[Source] | None = None, **more: Any) -> Notifier:
    typed = {"name": name, "address": receiver.url, "secret": KEY, "least": more.pop("least", "note")}
    return notifiers.add("webhook", typed, more.pop("events", EVENTS), None if sources is None else notifiers.Reach(sources), WHO)


def bodies(receiver: Receiver) -> list[dict[str, Any]]:
    """What came, once everything that waits is due."""
    Delivery.objects.filter(state="waiting").update(due_at=timezone.now())
    receiver.requests.clear()
    deliver_due()
    return [json.loads(got.body) for got in receiver.requests]


def test_each_act_on_a_repair_is_announced_with_what_where_and_a_link(receiver: Receiver, tmp_path: Path) -> None:
    webhook(receiver)
    conversation = imported(tmp_path / "a.db", merged())
    assert [body["event"] for body in bodies(receiver)] == ["new-problem"]
    repair = proposed(conversation, "renumber-messages")
    approve_repair(repair, "ana", repair.plan_digest, "unfixed")
    apply_repair(repair, "ben", interactive=True)
    undo_repair(repair, "ben", interactive=True)
    other = proposed(again(tmp_path / "a.db"), "renumber-messages")
    reject_repair(other, "ana")
    got = bodies(receiver)
    acts = [body for body in got if body["event"] not in ("new-problem", "regression")]
    assert [body["event"] for body in acts] == ["proposal", "approval", "apply", "undo", "proposal", "rejection"]
    assert acts[1]["link"] == f"https://inspector.example.org/repairs/{repair.oid}/"
    assert acts[1]["sentence"].startswith(f"Approved in {conversation.source.name}: ") and ", by ana" in acts[1]["sentence"]
    assert not Delivery.objects.filter(state="waiting").exists()


def test_one_import_with_many_problems_is_one_message_that_is_due_when_it_ends(receiver: Receiver, tmp_path: Path) -> None:
    webhook(receiver)
    webhook(receiver, "errors", least="error")
    imported(tmp_path / "a.db", broken())
    found = Problem.objects.count()
    assert found > 3 and Delivery.objects.count() == 2
    assert not Delivery.objects.filter(due_at__gt=timezone.now()).exists()
    errors, all_of_them = bodies(receiver)
    assert all_of_them["total"] == found == len(all_of_them["items"]) and all_of_them["sentence"] == (
        f"{found} new problems in {Source.objects.get().name}."
    )
    assert all_of_them["link"] == f"https://inspector.example.org/?source={Source.objects.get().oid}"
    assert errors["total"] < found and {item["severity"] for item in errors["items"]} == {"error"}
    again(tmp_path / "a.db")
    assert not bodies(receiver)


def test_a_problem_in_more_conversations_is_no_news_and_one_that_comes_back_is(receiver: Receiver, tmp_path: Path) -> None:
    webhook(receiver)
    conversation = imported(tmp_path / "a.db", merged())
    (first,) = bodies(receiver)
    assert first["items"][0]["occurrences"] == 1 and first["items"][0]["code"] == "MSG101"
    repair = proposed(conversation, "renumber-messages")
    approve_repair(repair, WHO, repair.plan_digest, "unfixed")
    apply_repair(repair, WHO, interactive=True)
    bodies(receiver)
    store(tmp_path / "b.db", rows("other", MERGED))
    assert [body["event"] for body in bodies(receiver)] == ["new-problem"]
    put(tmp_path / "a.db", chunk_key(5), row("again", msg_idx=0))
    put(tmp_path / "a.db", chunk_key(6), row("and again", role="assistant", msg_idx=0))
    again(tmp_path / "a.db")
    problem = Problem.objects.get(source__path__endswith="a.db", code="MSG101")
    (news,) = [body for body in bodies(receiver) if body["event"] == "regression"]
    assert problem.regressed_at and [item["problem"] for item in news["items"]] == [problem.oid]


def test_a_notifier_that_is_limited_gets_nothing_of_others_and_nobody_the_demo(receiver: Receiver, tmp_path: Path) -> None:
    known = store(tmp_path / "known.db", rows("one", MERGED))
    row = webhook(receiver, sources=[known])
    imported(tmp_path / "a.db", broken())
    assert not Delivery.objects.exists()
    with transaction.atomic():
        outbox.announce(known, "undo", [{"repair": "1", "conversation": "c", "title": "t", "summary": "", "who": "w", "outcome": ""}], "/")
    assert len(bodies(receiver)) == 1
    row.sources.clear()
    Source.objects.update(is_demo=True)
    known.refresh_from_db()
    webhook(receiver, "everything")
    with transaction.atomic():
        outbox.announce(known, "undo", [{"repair": "1", "conversation": "c", "title": "t", "summary": "", "who": "w", "outcome": ""}], "/")
    assert not Delivery.objects.filter(state="waiting").exists()


def test_an_act_on_a_group_of_repairs_is_one_message_and_a_group_of_sources_is_heard_of(receiver: Receiver, tmp_path: Path) -> None:
    known = many(tmp_path / "known.db", 8)
    group_of_sources = SourceGroup.objects.create(name="ours")
    group_of_sources.sources.add(known)
    typed = {"name": "hook", "address": receiver.url, "secret": KEY}
    notifiers.add("webhook", typed, EVENTS, notifiers.Reach(groups=[group_of_sources]), WHO)
    many(tmp_path / "other.db", 8)
    problem = Problem.objects.get(source=known, code="MSG101")
    plans = [plan for plan in planned_all(occurrences_of(problem), problem.code, [], "") if not plan["problem"]]
    group = open_group(known, "MSG101", problem.rule, plans, WHO, goes_on=False)
    propose_all(group, WHO)
    approve_all(group, "ana", {repair.oid: repair.plan_digest for repair in group.current}, "unfixed", "")
    got = bodies(receiver)
    assert [(body["event"], body["total"]) for body in got] == [("proposal", 4), ("approval", 4)]
    assert got[0]["link"] == f"https://inspector.example.org/repair-groups/{group.oid}/" and got[1]["sentence"].startswith(
        "4 repairs approved in "
    )


def test_a_purged_conversation_is_in_no_message_any_more(receiver: Receiver, tmp_path: Path) -> None:
    webhook(receiver)
    receiver.answer = lambda got: got.body
    store(tmp_path / "a.db", rows("one", MERGED, "The secret plan of the moon"))
    first = Delivery.objects.get()
    bodies(receiver)
    Delivery.objects.create(
        key="l", notifier=first.notifier, event="new-problem", added_at=timezone.now(), due_at=timezone.now(), items=first.items
    )
    assert "moon" in str(list(Delivery.objects.values()))
    purge(Conversation.objects.get(), WHO, "asked for")
    assert "moon" not in str(list(Delivery.objects.values())) and "moon" not in str(bodies(receiver))


def test_what_is_rolled_back_is_not_announced(receiver: Receiver, tmp_path: Path) -> None:
    webhook(receiver)
    conversation = imported(tmp_path / "a.db", merged())
    Delivery.objects.all().delete()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        proposed(conversation, "renumber-messages")
        raise ZeroDivisionError
    assert not Delivery.objects.exists()


def test_a_receiver_verifies_the_signature_as_the_guide_says(receiver: Receiver, tmp_path: Path) -> None:
    """By the code of the guide itself."""
    guide = (Path(configured.BASE_DIR) / "docs" / "how-to" / "notifications.md").read_text()
    code = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)[0]
    assert len(code.strip().splitlines()) <= 12
    scope: dict[str, Any] = {}
    exec(code, scope)
    notifiers.test(webhook(receiver), WHO)
    got = receiver.requests[0]
    assert scope["is_from_inspector"](got.headers, got.body, KEY)
    stamp = got.headers["X-Inspector-Timestamp"]
    expected = hmac.new(KEY.encode(), stamp.encode() + b"." + got.body, hashlib.sha256).hexdigest()
    assert got.headers["X-Inspector-Signature"] == f"sha256={expected}" and len(got.headers["Idempotency-Key"]) == 36
    assert not scope["is_from_inspector"](got.headers, got.body + b" ", KEY) and not scope["is_from_inspector"](
        got.headers, got.body, KEY + "x"
    )
    old = {**got.headers, "X-Inspector-Timestamp": str(int(stamp) - 3600)}
    assert not scope["is_from_inspector"](old, got.body, KEY)


def test_a_failed_message_is_tried_again_later_and_later_and_then_given_up_with_a_sentence(receiver: Receiver) -> None:
    row, receiver.status = webhook(receiver), 503
    message = Delivery.objects.create(key="k", notifier=row, event="undo", added_at=timezone.now(), due_at=timezone.now(), items=[ITEM])
    waits = []
    for _ in range(ATTEMPTS):
        Delivery.objects.filter(pk=message.pk).update(due_at=timezone.now())
        begun = timezone.now()
        assert deliver_due() == 1
        message.refresh_from_db()
        waits.append((message.due_at - begun).total_seconds())
    assert deliver_due() == 0 and len(receiver.requests) == ATTEMPTS
    assert (message.state, message.status) == ("given up", 503)
    assert message.error == f"Given up after {ATTEMPTS} attempts: The receiver answered 503."
    assert all(0.79 * 15 * 2**place < wait < 1.21 * 15 * 2**place + 1 for place, wait in enumerate(waits[:8])) and max(waits) < 3600 * 1.3
    assert {got.headers["Idempotency-Key"] for got in receiver.requests} == {"k"}


ITEM = {"repair": "1", "conversation": "c", "title": "t", "summary": "", "who": "w", "outcome": ""}


@pytest.mark.parametrize(
    ("status", "is_over"), [(307, True), (400, True), (413, True), (401, False), (404, False), (429, False), (500, False)]
)
def test_what_another_attempt_would_not_change_is_given_up_at_once(receiver: Receiver, status: int, is_over: bool) -> None:
    row, receiver.status, receiver.headers = webhook(receiver), status, {"Location": "http://169.254.169.254/", "Retry-After": "120"}
    message = Delivery.objects.create(key="k", notifier=row, event="undo", added_at=timezone.now(), due_at=timezone.now(), items=[ITEM])
    assert deliver_due() == 1 and len(receiver.requests) == 1
    message.refresh_from_db()
    assert (message.state == "given up") is is_over and message.status == status and "169.254" not in message.error
    assert is_over or message.due_at > timezone.now() + timedelta(seconds=90)


def test_a_claim_is_for_one_and_ends_with_its_time_or_its_process(receiver: Receiver) -> None:
    row = webhook(receiver)
    Delivery.objects.create(key="k", notifier=row, event="undo", added_at=timezone.now(), due_at=timezone.now(), items=[ITEM])
    first = claim()
    assert first is not None and claim() is None and delivering.take_over() == 0
    Delivery.objects.update(claimed_at=timezone.now() - CLAIM_LASTS - timedelta(seconds=1))
    second = claim()
    assert second is not None
    deliver(second)
    # Whoever had it before and was only slow does not write over what became of it.
    receiver.status = 500
    deliver(first)
    assert Delivery.objects.get().state == "sent"

    Delivery.objects.create(key="l", notifier=row, event="undo", added_at=timezone.now(), due_at=timezone.now(), items=[ITEM])
    killed = claim()
    assert killed is not None
    Delivery.objects.filter(key="l").update(claimed_by=_of_a_process_that_ended())
    assert delivering.take_over() == 1 and claim() is not None


def _of_a_process_that_ended() -> str:
    import subprocess
    import sys

    code = "from inspector.sources.processes import this_process; print(this_process())"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=configured.BASE_DIR).stdout.strip()


@pytest.mark.django_db(transaction=True)
def test_of_many_that_deliver_at_once_each_message_is_sent_by_one(receiver: Receiver) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("the database of the tests is in memory, which threads share: the loop of a server is tested with a file below")
    now, others = timezone.now(), [webhook(receiver, f"hook {number}") for number in range(5)]
    Delivery.objects.bulk_create(
        Delivery(key=f"{number}-{row.pk}", notifier=row, event="undo", added_at=now, due_at=now, items=[ITEM])
        for row in others
        for number in range(6)
    )

    def work() -> None:
        try:
            while Delivery.objects.filter(state="waiting").exists():
                deliver_due()
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    keys = [got.headers["Idempotency-Key"] for got in receiver.requests]
    assert len(keys) == len(set(keys)) == 30


def test_a_receiver_that_is_away_does_not_fill_the_outbox(receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MOST_WAITING", 2)
    row, source = webhook(receiver), store(tmp_path / "a.db", [])
    for number in range(5):
        with transaction.atomic():
            outbox.announce(source, "undo", [{**ITEM, "repair": str(number)}], "/")
    row.refresh_from_db()
    assert Delivery.objects.count() == 2 and row.left_out == 3


def test_what_ended_long_ago_is_removed(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    row, now = webhook(receiver), timezone.now()
    for days in range(20):
        at = now - timedelta(days=days)
        Delivery.objects.create(key=str(days), notifier=row, event="undo", added_at=at, due_at=at, ended_at=at, state="sent")
    Delivery.objects.create(key="waits", notifier=row, event="undo", added_at=now - timedelta(days=99), due_at=now)
    assert tidy() == 6 and Delivery.objects.count() == 15
    monkeypatch.setattr(delivering, "MOST_KEPT", 3)
    tidy()
    assert Delivery.objects.filter(state="sent").count() == 3 and Delivery.objects.filter(key="waits").exists()


def test_a_receiver_that_repeats_our_secrets_has_them_masked(receiver: Receiver) -> None:
    receiver.answer = lambda got: f"you sent {got.path} and {KEY}; token ghp_{'a1B2' * 9}".encode() + b"x" * 1000
    assert not notifiers.test(webhook(receiver), WHO).problem
    answer = Delivery.objects.get().answer
    assert KEY not in answer and "T-0123456789" not in answer and "ghp_a" not in answer and len(answer) <= 300


def test_an_address_that_is_not_allowed_is_said_and_not_tried_again(receiver: Receiver, settings: Settings) -> None:
    settings.INSPECTOR_NOTIFY_PRIVATE = []
    result = notifiers.test(webhook(receiver), WHO)
    assert "INSPECTOR_NOTIFY_PRIVATE" in result.problem and not receiver.requests
    assert receiver.url not in Delivery.objects.get().error


@pytest.mark.parametrize("base", ["", "http://localhost:8000", "http://127.0.0.1:8000", "https://[::1]/inspector"])
def test_no_link_leads_to_a_machine_of_ones_own(settings: Settings, base: str) -> None:
    settings.INSPECTOR_BASE_URL = base
    assert delivering.link_to("/repairs/1/") == ""


def test_slack_and_github_get_what_they_expect(receiver: Receiver) -> None:
    slack = notifiers.add("slack", {"name": "s", "address": receiver.url}, EVENTS, None, WHO)
    api = f"http://127.0.0.1:{receiver.port}/api/v3"
    typed = {"name": "g", "api": api, "repository": "o/r", "issue": "12", "secret": "github_pat_0123456789"}
    github = notifiers.add("github", typed, EVENTS, None, WHO)
    assert not notifiers.test(slack, WHO).problem and not notifiers.test(github, WHO).problem
    first, second = receiver.requests
    assert first.path == "/hooks/T-0123456789" and json.loads(first.body)["blocks"]
    assert second.path == "/api/v3/repos/o/r/issues/12/comments" and second.headers["Authorization"] == "Bearer github_pat_0123456789"
    assert json.loads(second.body)["body"].startswith("A test message")
    with pytest.raises(Refused, match="type it again"):
        notifiers.change(github, {**typed, "api": "https://evil.example", "secret": ""}, EVENTS, None, WHO)
    notifiers.change(github, {**typed, "secret": "", "issue": "13"}, EVENTS, None, WHO)
    notifiers.test(github, WHO)
    assert receiver.requests[-1].path.endswith("/13/comments")


def test_an_email_has_one_subject_and_its_recipients_whatever_is_quoted(settings: Settings, tmp_path: Path) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    with mail_server() as (port, messages):
        settings.INSPECTOR_EMAIL, settings.EMAIL_HOST, settings.EMAIL_PORT = True, "127.0.0.1", port
        row = notifiers.add("email", {"name": "m", "recipients": "ana@example.org, ben@example.org"}, EVENTS, None, WHO)
        hostile = "x\r\nBcc: evil@example.net\r\n\r\nbody"
        item = {**ITEM, "title": hostile, "who": hostile}
        Delivery.objects.create(
            key="k", notifier=row, event="undo", added_at=timezone.now(), due_at=timezone.now(), items=[item], source={"name": hostile}
        )
        assert deliver_due() == 1
    (message,) = messages
    envelope = [line for line in message.splitlines() if line.upper().startswith("RCPT")]
    head = message.partition("\r\n\r\n")[0]
    assert len(envelope) == 2 and "evil@example.net" not in "".join(envelope)
    assert not re.search(r"^(Bcc|To):.*evil", head, re.MULTILINE | re.IGNORECASE) and head.count("Subject:") == 1
    assert Delivery.objects.get().state == "sent"


def test_a_mail_server_that_refuses_or_is_not_there_is_said_without_its_words(settings: Settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.INSPECTOR_EMAIL, settings.EMAIL_HOST = True, "127.0.0.1"
    row = notifiers.add("email", {"name": "m", "recipients": "ana@example.org"}, EVENTS, None, WHO)
    with mail_server("550 no such user: secret detail") as (port, _):
        settings.EMAIL_PORT = port
        assert notifiers.test(row, WHO).problem == "The mail server takes no message for these recipients."
    assert "could not be reached" in notifiers.test(row, WHO).problem


@pytest.mark.parametrize(
    ("kind", "typed", "sentence"),
    [
        ("fax", {"name": "n"}, "Choose what"),
        ("webhook", {"name": ""}, "Name the notifier"),
        ("webhook", {"name": "n", "address": "x", "secret": KEY}, "write it whole"),
        ("webhook", {"name": "n", "address": "https://a.example/", "secret": "short"}, "16 to 300"),
        ("webhook", {"name": "n", "address": "https://a.example/", "secret": "line\r\nbreak" * 4}, "without spaces"),
        ("webhook", {"name": "n", "secret": KEY}, "Type the address"),
        ("slack", {"name": "n"}, "incoming webhook"),
        ("github", {"name": "n", "repository": "o/../r", "issue": "1", "secret": "t"}, "owner/name"),
        ("github", {"name": "n", "repository": "o/r", "issue": "1/../2", "secret": "t"}, "number of the issue"),
        ("github", {"name": "n", "repository": "o/r", "issue": "1"}, "Type a token"),
        ("email", {"name": "n", "recipients": "a@example.org\r\nBcc: b@example.org"}, "no e-mail address"),
        ("email", {"name": "n", "recipients": "a@example.org"}, "INSPECTOR_EMAIL_URL"),
        ("slack", {"name": "n", "address": "https://a.example/", "least": "worst"}, "least severity"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(kind: str, typed: dict[str, str], sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        notifiers.add(kind, typed, EVENTS, None, WHO)
    assert not Notifier.objects.exists() and not AuditEntry.objects.exists()


def test_everything_is_recorded_and_no_secret_is(receiver: Receiver) -> None:
    row = webhook(receiver)
    notifiers.change(row, {"name": "other"}, ["undo"], None, WHO)
    assert not notifiers.test(row, WHO).problem, "the key and the address are kept"
    notifiers.remove(row, WHO)
    lines = AuditEntry.objects.order_by("pk")
    assert [line.verb for line in lines] == ["add notifier", "change notifier", "test notifier", "remove notifier"]
    assert not any(word in line.content().decode() for line in lines for word in (KEY, "T-0123456789"))
    assert not Delivery.objects.exists()
