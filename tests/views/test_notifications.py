"""The page of notifications: who is told, a test, the log; and that nothing that was typed as a secret is shown again."""

import ipaddress
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from inspector.models import AuditEntry, Delivery, Notifier, NotifierSecret
from inspector.notifying.events import EVENTS
from tests.accounts import account
from tests.notifying.receiving import Receiver, web_server
from tests.operators import OperatorClient
from tests.views.imported import MERGED, rows, store

pytestmark = pytest.mark.django_db
MaxQueries = Callable[[int], AbstractContextManager[object]]
KEY = "k" * 10 + "0123456789abcdef"


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    settings.INSPECTOR_NOTIFY_PRIVATE = [ipaddress.ip_network("127.0.0.1")]
    with web_server() as running:
        yield running


def add(client: Client, receiver: Receiver, **more: object) -> Notifier:
    form = {
        "kind": "webhook",
        "name": "team",
        "address": receiver.url,
        "secret": KEY,
        "event": list(EVENTS),
        "least": "note",
        "reach": "all",
        **more,
    }
    answer = client.post("/notifications/", form, follow=True)
    assert answer.status_code == 200, answer.content.decode()
    return Notifier.objects.get()


def test_a_webhook_is_added_tested_changed_and_removed(client: Client, receiver: Receiver) -> None:
    assert "Nobody is notified yet" in client.get("/notifications/").content.decode()
    row = add(client, receiver, event=["undo"])
    page = client.post(f"/notifications/{row.oid}/test/", follow=True).content.decode()
    assert "The test was sent, and the receiver answered 200" in page and "A test message" in page and "thank you" in page
    receiver.status = 500
    assert "The receiver answered 500" in client.post(f"/notifications/{row.oid}/test/", follow=True).content.decode()
    form = {"name": "other", "event": ["apply"], "least": "error", "reach": "all", "on": "0"}
    assert "It is changed" in client.post(f"/notifications/{row.oid}/", form, follow=True).content.decode()
    row.refresh_from_db()
    assert (row.name, row.events, row.is_on, row.kept_secret.secret) == ("other", ["apply"], False, KEY)
    client.post(f"/notifications/{row.oid}/remove/")
    assert not Notifier.objects.exists() and not NotifierSecret.objects.exists()
    assert AuditEntry.objects.filter(verb="remove notifier").exists()


def test_bad_input_is_said_next_to_its_field_and_the_rest_is_kept(client: Client) -> None:
    good = {"kind": "github", "name": "ops", "repository": "a/b", "issue": "7", "secret": KEY, "event": ["undo"], "least": "error"}
    for field, value in (("name", " "), ("repository", "x"), ("issue", "seven"), ("api", "ftp://x"), ("secret", "a b"), ("event", [])):
        answer = client.post("/notifications/", good | {"reach": "all", field: value})
        page = answer.content.decode()
        assert answer.status_code == 409 and f'id="n-{field}-problem">' in page and page.count('class="problem"') == 1, field
        assert KEY not in page and ('value="ops"' in page or field == "name") and '<option value="error" selected>' in page
        assert 'value="undo" checked' in page or field == "event"
    some = client.post("/notifications/", good | {"reach": "some"}).content.decode()
    assert 'id="n-reach-problem">No source is chosen' in some and 'value="some" checked' in some
    assert not Notifier.objects.exists()


def test_no_page_or_twin_has_a_secret_after_it_was_typed(client: Client, receiver: Receiver) -> None:
    row = add(client, receiver)
    receiver.answer = lambda got: got.path.encode() + KEY.encode()
    client.post(f"/notifications/{row.oid}/test/")
    refused = client.post("/notifications/", {"kind": "webhook", "name": "team", "address": receiver.url, "secret": KEY, "event": ["undo"]})
    assert refused.status_code == 409 and "Another notifier has this name" in refused.content.decode()
    wrong = client.post(
        f"/notifications/{row.oid}/", {"name": "team", "address": receiver.url, "secret": KEY + "\n" + KEY, "event": ["undo"]}
    )
    assert wrong.status_code == 409
    places = (
        "/notifications/",
        f"/notifications/{row.oid}/",
        "/notifications.json",
        f"/notifications/{row.oid}.json",
        "/audit/",
        "/audit.json",
    )
    for text in [refused.content.decode(), wrong.content.decode(), *(client.get(place).content.decode() for place in places)]:
        assert KEY not in text and "T-0123456789" not in text
    assert "…cdef" in client.get("/notifications/").content.decode()
    assert client.get("/notifications.json").json()["notifiers"][0]["secret_ends_with"] == "cdef"


def test_it_is_for_admins_of_all_sources_and_others_learn_nothing(settings: Settings, receiver: Receiver, tmp_path: Path) -> None:
    row = add(OperatorClient(), receiver)
    source = store(tmp_path / "a.db", rows("one", MERGED))
    settings.INSPECTOR_LOCAL = False
    client, places = Client(), ("/notifications/", f"/notifications/{row.oid}/")
    twins = ("/notifications.json", f"/notifications/{row.oid}.json", "/notifications/000000000000.json")
    for user in (account("ann", "approver"), account("ben", "admin", source), account("eve", "")):
        client.force_login(user)
        answers = [client.get(place) for place in (*places, *twins)]
        answers += [
            client.post(place, {"kind": "webhook"})
            for place in (*places, *(f"/notifications/{row.oid}/{act}/" for act in ("test", "remove")))
        ]
        assert {answer.status_code for answer in answers} == {403}
        assert not any(b"127.0.0.1" in answer.content or b"cdef" in answer.content for answer in answers)
        assert b'href="/notifications/"' not in client.get("/rules/").content
    assert Notifier.objects.exists() and not receiver.requests
    client.force_login(account("joe", "admin"))
    assert {client.get(place).status_code for place in (*places, *twins[:2])} == {200}
    assert b'href="/notifications/"' in client.get("/rules/").content


def test_each_kind_has_its_form_and_a_refusal_keeps_what_was_typed(client: Client) -> None:
    for kind, word in (("webhook", "Key that signs"), ("slack", "incoming webhook"), ("github", "Repository"), ("email", "Recipients")):
        assert word in client.get("/notifications/", {"kind": kind}).content.decode()
    assert "Key that signs" not in client.get("/notifications/", {"kind": "<x>"}).content.decode()
    form = {"kind": "github", "name": "<b>n</b>", "repository": "o/r", "issue": "x", "secret": KEY, "event": ["undo"], "reach": "some"}
    page = client.post("/notifications/", form)
    text = page.content.decode()
    assert page.status_code == 409 and "number of the issue" in text and 'value="o/r"' in text and KEY not in text and "<b>n" not in text
    assert client.post("/notifications/", {"kind": "fax"}).status_code == 409


def test_the_log_has_pages_and_costs_the_same_however_long_it_is(
    client: Client, receiver: Receiver, django_assert_max_num_queries: MaxQueries
) -> None:
    row, now = add(client, receiver), timezone.now()
    for number in range(5):
        Notifier.objects.create(
            oid=f"{number:012}", name=f"n{number}", kind="slack", place="https://a.example/…", added_by="x", added_at=now
        )
    Delivery.objects.bulk_create(
        Delivery(key=str(number), notifier=row, event="test", added_at=now, due_at=now, state="sent", ended_at=now) for number in range(120)
    )
    with django_assert_max_num_queries(8):
        first = client.get("/notifications.json").json()
    assert len(first["deliveries"]) == 50 and first["total"] == 120 and first["next"]
    second = client.get(f"/notifications.json?{first['next']}").json()
    assert not {each["id"] for each in first["deliveries"]} & {each["id"] for each in second["deliveries"]}
    with django_assert_max_num_queries(9):
        assert client.get("/notifications/").status_code == 200
