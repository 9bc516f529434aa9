"""The trail: every act with links, page by page, and a sentence on whether it still holds together; and the login page."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from inspector.actions import audit
from inspector.models import AuditEntry
from inspector.views import audit as audit_view
from tests.accounts import account
from tests.views.imported import HEALTHY, rows, store

pytestmark = pytest.mark.django_db
MaxQueries = Callable[[int], AbstractContextManager[object]]


def test_an_empty_trail_says_what_will_stand_there(client: Client) -> None:
    page = client.get("/audit/")
    assert page.status_code == 200 and "Nothing has been done yet" in page.content.decode()
    empty = {"total": 0, "filters": {}, "page": 1, "pages": 1, "next": "", "broken_at": None, "problems": [], "entries": []}
    assert client.get("/audit.json").json() == empty


def test_a_line_links_to_source_and_conversation(client: Client, tmp_path: Path) -> None:
    source = store(tmp_path / "a.db", rows("one", HEALTHY))
    conversation = source.conversations.get()
    audit.record("ada", "apply", source_path=source.path, conversation=conversation.oid, repair="0" * 12, plan="ab" * 32)
    text = client.get("/audit/").content.decode()
    assert f'href="/sources/{source.oid}/"' in text and f'href="/conversations/{conversation.oid}/"' in text
    assert "ada" in text and "<b>apply</b>" in text and "abababababab…" in text and ">intact</span>" in text
    assert f"/repairs/{'0' * 12}/" not in text, "a repair that is not in the database has no page"
    assert client.get("/audit.json").json()["entries"][0]["detail"] == {"plan": "ab" * 32}


def test_pages_of_fifty_newest_first(client: Client, django_assert_max_num_queries: MaxQueries) -> None:
    for number in range(53):
        audit.record("ada", f"act {number}")
    with django_assert_max_num_queries(11):
        text = client.get("/audit/").content.decode()
    assert "act 52" in text and "act 3<" in text and "act 2<" not in text and "1 to 50 of 53" in text
    assert [entry["verb"] for entry in client.get("/audit.json?page=2").json()["entries"]] == ["act 2", "act 1", "act 0"]


def test_many_lines_are_checked_when_the_page_is_there(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """To check every line takes as long as there are lines: the page of 10,000 took a second, all others a tenth of it."""
    monkeypatch.setattr(audit_view, "CHECKED_AT_ONCE", 2)
    lines = [audit.record("ada", "import"), audit.record("eve", "apply")]
    assert ">intact</span>" in client.get("/audit/").content.decode()
    lines.append(audit.record("ada", "undo"))
    text = client.get("/audit/?who=ada").content.decode()
    assert ">intact</span>" not in text and 'hx-get="?who=ada&amp;check=1"' in text and "Check that every line is intact" in text
    assert ">intact</span>" in client.get("/audit/?check=1").content.decode()
    AuditEntry.objects.filter(pk=lines[1].pk).update(who="ada")
    assert "is not intact" in client.get("/audit/?check=1").content.decode()
    part = client.get("/audit/?check=1", headers={"HX-Request": "true"}).content.decode()
    assert "is not intact" in part and "<table" not in part
    assert client.get("/audit.json").json()["broken_at"] == lines[1].pk


def test_an_altered_line_is_named(client: Client) -> None:
    first, second = audit.record("ada", "import"), audit.record("eve", "apply")
    AuditEntry.objects.filter(pk=second.pk).update(who="ada")
    text = client.get("/audit/").content.decode()
    assert "is not intact" in text and f"Line {second.pk} " in text and ">intact</span>" not in text
    assert client.get("/audit.json").json()["broken_at"] == second.pk != first.pk


def test_hostile_words_in_the_trail_are_shown_and_not_run(client: Client) -> None:
    audit.record("<script>x</script>", "import", source_path="/tmp/\u202e\ud800<b>", note="<i>\u202e", deep={"a": ["<u>"]})
    page = client.get("/audit/")
    text = page.content.decode()
    assert page.status_code == 200
    assert not any(tag in text for tag in ("<script>x", "\u202e", "<i>", "<u>")) and "\\u202e" in text


def test_off_loopback_people_sign_in_on_a_plain_page(client: Client, settings: Settings) -> None:
    settings.INSPECTOR_LOCAL = False
    account("ada", password="correct horse battery")
    assert client.get("/audit/")["Location"] == "/login/?next=/audit/"
    text = client.get("/login/?next=/audit/").content.decode()
    assert 'name="csrfmiddlewaretoken"' in text and 'value="/audit/"' in text and "<nav" not in text
    wrong = client.post("/login/", {"username": "<b>", "password": "no", "next": "/audit/"})
    assert wrong.status_code == 200 and "Incorrect username or password" in wrong.content.decode() and "<b>" not in wrong.content.decode()
    right = client.post("/login/", {"username": "ada", "password": "correct horse battery", "next": "/audit/"})
    assert right["Location"] == "/audit/" and client.get("/audit/").status_code == 200
    client.post("/logout/")
    trail = AuditEntry.objects.order_by("id").values_list("who", "verb", "detail")
    assert list(trail) == [("ada", "sign in", {}), ("ada", "sign out", {})]
