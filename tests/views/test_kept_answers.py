"""A page that is opened again is not made again, for whoever may see it, as long as nothing that it depends on changed."""

import re
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings

from inspector import kept_answers
from inspector.models import AuditEntry, Conversation
from tests.accounts import account
from tests.actions.building import again, chunk_key, imported, merged, put, row
from tests.operators import OperatorClient
from tests.views.test_unchanged import HEAVY, OF_A_CONVERSATION, address

pytestmark = pytest.mark.django_db
SECRET = "sk-ant-api03-" + "Qz7" * 30 + "-AAAAAA"


@pytest.fixture
def client() -> Client:
    """With the cookie of its form token."""
    client = OperatorClient()
    client.get("/explain/")
    return client


def opened(client: Client, path: str) -> tuple[bytes, int]:
    """The answer to who does not have it, and how many queries read what was stored."""
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(path)
    assert answer.status_code == 200, path
    return answer.content, sum(bool(HEAVY.search(query["sql"])) for query in queries)


@pytest.mark.parametrize("path", OF_A_CONVERSATION)
def test_the_second_view_is_the_first_one_again(client: Client, incident: Conversation, path: str) -> None:
    first, second = opened(client, address(incident, path)), opened(client, address(incident, path))
    assert second == (first[0], 0)


def test_what_changed_is_shown_at_once(client: Client, tmp_path: Path) -> None:
    path = address(imported(tmp_path / "a.db", merged()), "")
    before, _ = opened(client, path)
    put(tmp_path / "a.db", chunk_key(5), row("and then this", msg_idx=4))
    again(tmp_path / "a.db")
    after, _ = opened(client, path)
    assert b"and then this" in after and b"and then this" not in before


def test_what_is_revealed_is_kept_for_nobody(client: Client, tmp_path: Path) -> None:
    conversation = imported(tmp_path / "a.db", {chunk_key(0): row(f"the key is {SECRET}")})
    path = address(conversation, "")
    masked, _ = opened(client, path)
    assert SECRET.encode() not in masked and b"[masked" in masked
    for asked in (1, 2):
        revealed = client.post(path, {"reveal": "1"})
        assert SECRET.encode() in revealed.content and revealed["Cache-Control"] == "no-store"
        assert AuditEntry.objects.filter(verb="reveal").count() == asked
        again_masked = client.get(path)
        assert again_masked.content == masked and again_masked["Inspector-Masked"]


def test_each_person_gets_their_own(tmp_path: Path) -> None:
    conversation = imported(tmp_path / "a.db", merged())
    path = address(conversation, "")
    with override_settings(INSPECTOR_LOCAL=False):
        clients = {name: Client() for name in ("ann", "bob", "eve")}
        for name, client in clients.items():
            client.force_login(account(name, "" if name == "eve" else "viewer"))
            client.get("/rules/")
        shown = {name: [client.get(path) for _ in range(2)] for name, client in clients.items()}
    assert [answer.status_code for answer in shown["eve"]] == [404, 404]
    for name in ("ann", "bob"):
        first, second = shown[name]
        assert first.content == second.content and re.search(rf"<summary>\s*{name}\b".encode(), second.content)


def test_a_part_is_not_the_page(client: Client, tmp_path: Path) -> None:
    path = address(imported(tmp_path / "a.db", merged()), "")
    whole, _ = opened(client, path)
    part = client.get(path, headers={"hx-request": "true", "hx-target": "rows"}).content
    assert b"<html" in whole and b"<html" not in part
    assert opened(client, path)[0] == whole and client.get(path, headers={"hx-request": "true", "hx-target": "rows"}).content == part


def test_a_search_is_made_each_time(client: Client, tmp_path: Path) -> None:
    """What is found depends on how much of the texts is indexed."""
    path = address(imported(tmp_path / "a.db", merged()), "?q=hello")
    assert [opened(client, path)[1] > 0 for _ in range(2)] == [True, True]


def test_large_answers_are_not_kept(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_answers, "_LARGEST", 1000)
    path = address(imported(tmp_path / "a.db", merged()), "prompt/")
    kept_answers._ANSWERS.clear()
    opened(client, path)
    assert len(kept_answers._ANSWERS) == 0
