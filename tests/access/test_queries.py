"""How often a page of who signed in asks the database: as often with a thousand sources and five hundred people as with a few."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from inspector.models import Grant, Problem, Source, SourceGroup
from tests.access.planted import RENUMBER
from tests.accounts import account
from tests.actions.building import imported, merged, proposed

MOST = {
    "/": 40,
    "/index.json": 40,
    "/conversations/": 25,
    "/conversations/CONVERSATION/": 60,
    "/problems/PROBLEM/": 40,
    "/repairs/": 25,
    "/repairs/REPAIR/": 70,
    "/sources/": 25,
    "/streams/": 25,
    "/trends/": 25,
    "/users/": 20,
    "/users.json": 20,
    "/users/USER/": 20,
    "/users/groups/": 20,
    "/users/groups/GROUP/": 20,
    "/users/groups/GROUP.json": 20,
    "/users/groups.json": 20,
    "/audit/": 20,
    "/audit.json": 20,
}
SOURCES, USERS = 1_000, 500


@pytest.mark.slow
@pytest.mark.django_db
def test_pages_ask_as_often_for_many_sources_and_people_as_for_few(tmp_path: Path, settings: Settings) -> None:
    repair = proposed(imported(tmp_path / "a.db", merged()), RENUMBER)
    source, group = repair.conversation.source, SourceGroup.objects.create(name="ours")
    group.sources.add(source)
    clients = {
        "admin": _client(account("boss", "admin")),
        "approver of one source": _client(account("ann", "approver", source)),
        "viewer of a group": _client(account("val", "viewer", group=group)),
    }
    settings.INSPECTOR_LOCAL, settings.ALLOWED_HOSTS = False, ["testserver"]
    ids = {
        "CONVERSATION": repair.conversation.oid,
        "PROBLEM": Problem.objects.filter(source=source).values_list("oid", flat=True)[0],
        "REPAIR": repair.oid,
        "GROUP": str(group.pk),
        "USER": str(get_user_model().objects.get(username="ann").pk),
    }
    few = _asked(clients, ids)
    _add_many(source, group)
    many = _asked(clients, ids)
    assert not [(key, few[key], asked) for key, asked in many.items() if asked > few[key] + 2 or asked > MOST[key[1]]]
    answered = clients["admin"].get("/users/?page=2").content.decode()
    assert "name-050" in answered and "name-001" not in answered and answered.count('row-link" href="/users/') == 50
    page = clients["admin"].get(f"/users/{ids['USER']}/").content.decode()
    assert page.count('<option value="source:') == 50 and "50 of 1001 are listed" in page and "and 951 more" in page.lower()
    found = clients["admin"].get(f"/users/{ids['USER']}/?find=/s/0777").content.decode()
    assert found.count('<option value="source:') == 1 and "s/0777" in found
    groups = clients["admin"].get(f"/users/groups/{group.pk}/?find=/s/0777").content.decode()
    assert "1,001" in groups and groups.count('name="take"') == 1


def _client(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def _asked(clients: dict[str, Client], ids: dict[str, str]) -> dict[tuple[str, str], int]:
    """Queries of each page for each person, when nothing has to be worked out for the first time any more."""
    counts = {}
    for who, client in clients.items():
        for address in MOST:
            path = address
            for word, oid in ids.items():
                path = path.replace(word, oid)
            client.get(path)
            with CaptureQueriesContext(
                connection,
            ) as queries:
                answer = client.get(path)
            assert answer.status_code in ((200,) if who == "admin" or ("/users" not in path and "/audit" not in path) else (403,)), (
                who,
                path,
            )
            counts[who, address] = len(queries)
    return counts


def _add_many(source: Source, group: SourceGroup) -> None:
    """All in one group, all with a role of ann, and each account with a role on one of them."""
    now = timezone.now()
    Source.objects.bulk_create(
        Source(oid=f"5{number:011d}", path=f"/s/{number:04d}/a.db", format=source.format, read_at=now) for number in range(SOURCES)
    )
    rows = list(Source.objects.filter(path__startswith="/s/"))
    group.sources.add(*rows)
    users = get_user_model().objects.bulk_create(get_user_model()(username=f"name-{number:03d}") for number in range(USERS))
    ann = get_user_model().objects.get(username="ann")
    Grant.objects.bulk_create(Grant(user=user, role="viewer", source=rows[number]) for number, user in enumerate(users))
    Grant.objects.bulk_create(Grant(user=ann, role="viewer", source=row) for row in rows)
    SourceGroup.objects.bulk_create(SourceGroup(name=f"group {number}") for number in range(60))
