"""API tokens: a program gets at most what its person may, from twins, downloads and metrics, and from nothing else."""

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import get_resolver
from django.utils import timezone
from pytest_django import Settings

from inspector.actions.problems import Refused
from inspector.models import ApiToken, AuditEntry, Conversation, Source, SourceGroup
from inspector.sign_in import tokens
from tests.access.planted import two_sources
from tests.accounts import account
from tests.actions.building import imported, merged
from tests.commands.running import run
from tests.views.reaching import Walk


@pytest.fixture(autouse=True)
def with_accounts(settings: Settings) -> None:
    settings.INSPECTOR_LOCAL, settings.ALLOWED_HOSTS = False, ["testserver"]


def program(token: str, **more: Any) -> Client:
    return Client(enforce_csrf_checks=True, headers={"authorization": f"Bearer {token}"}, **more)


def token_of(user: Any, role: str = "viewer", **more: Any) -> str:
    return tokens.make("boss", user, "a script", role, **more)[1]


@pytest.mark.django_db
def test_a_person_makes_a_token_that_is_shown_once(tmp_path: Path) -> None:
    shown, hidden = two_sources(tmp_path)
    person = Client()
    person.force_login(account("ann", "proposer", source=shown))
    form = {"name": " nightly  report ", "role": "viewer", "on": f"source:{shown.oid}", "days": "30"}
    answer = person.post("/account/tokens/", form)
    found = re.search(r'id="new-token">(insp_[\w-]{43})<', answer.content.decode())
    assert found and answer["Cache-Control"] == "no-store"
    row = ApiToken.objects.get()
    assert found[1] not in person.get("/account/").content.decode() and found[1] not in str(vars(row))
    assert row.digest == tokens.digest_of(found[1]) and row.shown == found[1][:10] and (row.expires_at - row.created_at).days == 30
    assert person.get("/account.json").json()["tokens"][0]["begins"] == row.shown
    client = program(found[1])
    assert [each["id"] for each in client.get("/sources.json").json()["sources"]] == [shown.oid]
    row.refresh_from_db()
    assert row.used_at
    for bad, why in (
        (form | {"role": "approver"}, "A token may at most what its person may: choose no more than proposer."),
        (form | {"role": "king"}, "A token may at most what its person may"),
        (form | {"days": "367"}, "1 to 366 days"),
        (form | {"days": "x"}, "1 to 366 days"),
        (form | {"name": " "}, "Give the token a name"),
        (form | {"on": f"source:{hidden.oid}"}, "Choose what the token is for"),
        (form | {"on": "group:1"}, "Choose what the token is for"),
    ):
        answer = person.post("/account/tokens/", bad)
        page = answer.content.decode()
        # Next to its field, in the form as it was typed.
        wrong = next(name for name, value in bad.items() if form[name] != value)
        assert answer.status_code == 409 and f'id="token-{wrong}-problem">' in page and why in page and 'id="add" open' in page
    assert ApiToken.objects.count() == 1
    other = Client()
    other.force_login(account("bob", "admin"))
    assert other.post(f"/account/tokens/{row.pk}/revoke/").status_code == 404
    assert "opens nothing any more" in person.post(f"/account/tokens/{row.pk}/revoke/", follow=True).content.decode()
    assert client.get("/sources.json").status_code == 401
    lines = AuditEntry.objects.filter(verb__contains="token").order_by("id").values_list("who", "verb", "source_path")
    assert list(lines) == [("ann", "add token", shown.path), ("ann", "revoke token", shown.path)]


@pytest.mark.django_db
def test_a_token_opens_twins_and_downloads_and_nothing_else(tmp_path: Path) -> None:
    """Every address, by every method: a page, a form and whatever is about people is refused before anything is looked at."""
    two_sources(tmp_path)
    client = program(token_of(account("boss", "admin"), "admin"))
    walk = Walk()
    walk.values = {name: values or ["0" * 12] for name, values in walk.values.items()}
    # Who has a link without a login is nobody, with a token too.
    addresses = [address for address in walk.addresses() if not address.startswith("/share/")]
    assert len(addresses) > 80
    opened = set()
    for address in addresses:
        is_file = re.search(r"\.\w+$", address.rsplit("/", 1)[-1]) or address == "/metrics"
        is_open = bool(is_file) and not address.startswith(("/account", "/users", "/login", "/password"))
        for method in ("GET", "POST", "PUT", "DELETE"):
            answer = client.generic(method, address)
            refused = answer.status_code == 403 and b"A token reads twins" in answer.content
            assert refused is not is_open, (method, address, answer.status_code)
            if is_open and answer.status_code < 300:
                opened.add((method, str(answer.resolver_match.route)))
                assert method == "GET" or answer.resolver_match.route in ("check.json", "diagnose.json", "explain.json"), (method, address)
    assert {("GET", "sources.json"), ("GET", "conversations/<slug:oid>.md"), ("GET", "metrics"), ("GET", "audit.json")} <= opened
    posted = {str(pattern.pattern) for pattern in get_resolver().url_patterns if "POST" in getattr(pattern.callback, "methods", ())}  # type: ignore[union-attr]
    assert {route for route in posted if not route.endswith("/")} == {"check.json", "diagnose.json", "explain.json"}
    assert client.post("/check.json", {"body": '{"messages": []}'}).status_code in (200, 400), "no form token is asked of a program"
    for path in ("/static/inspector.css", "/healthz"):
        assert client.get(path).status_code != 403


@pytest.mark.django_db
def test_a_token_is_the_lower_of_what_it_and_its_person_may(tmp_path: Path) -> None:
    shown, hidden = two_sources(tmp_path)
    boss = account("boss", "admin")
    conversation = Conversation.objects.filter(source=hidden).values_list("oid", flat=True)[0]
    group = SourceGroup.objects.create(name="ours")
    group.sources.add(shown)
    for scope in ({"source": shown}, {"group": group}):
        client = program(token_of(boss, "admin", **scope))
        assert [each["id"] for each in client.get("/sources.json").json()["sources"]] == [shown.oid]
        assert client.get(f"/conversations/{conversation}.json").status_code == 404
        assert client.get("/audit.json").status_code == 403 == client.get("/metrics").status_code
    everywhere = program(token_of(boss, "viewer"))
    assert len(everywhere.get("/sources.json").json()["sources"]) == 2 and everywhere.get("/audit.json").status_code == 200
    assert everywhere.get("/notifications.json").status_code == 403, "as a viewer, whatever its person is"
    assert program(token_of(boss, "admin")).get("/notifications.json").status_code == 200
    revealed = program(token_of(boss, "admin")).post(f"/conversations/{conversation}.json", {"reveal": "1"})
    assert revealed.status_code == 403 and "secrets stay masked" in revealed.json()["error"]
    # What its person loses, it loses.
    boss.grants.update(source=hidden, role="viewer")
    assert [each["id"] for each in everywhere.get("/sources.json").json()["sources"]] == [hidden.oid]
    assert everywhere.get("/audit.json").status_code == 403
    boss.grants.all().delete()
    assert everywhere.get("/sources.json").json()["sources"] == []


@pytest.mark.django_db
def test_a_trace_is_read_with_a_token_for_its_store(tmp_path: Path) -> None:
    shown, _ = two_sources(tmp_path)
    trace = Source.objects.create(oid="trace0000000", path="/t", format="x", is_trace=True, read_at=shown.read_at)
    shown.traces.add(trace)
    row, _ = tokens.make("boss", account("boss", "admin"), "x", "viewer", source=shown)
    assert tokens.access_of_token(row).sources == {shown.pk, trace.pk}


@pytest.mark.django_db
def test_a_token_ends_with_its_time_its_account_and_its_source(tmp_path: Path) -> None:
    shown, _ = two_sources(tmp_path)
    ann = account("ann", "viewer")
    token = token_of(ann)
    client = program(token)
    assert client.get("/index.json").status_code == 200
    ann.is_active = False
    ann.save()
    refused = client.get("/index.json")
    assert refused.status_code == 401 and "opens nothing" in refused.json()["error"] and refused["WWW-Authenticate"].startswith("Bearer")
    with pytest.raises(Refused, match="disabled"):
        token_of(ann)
    ann.is_active = True
    ann.save()
    assert client.get("/index.json").status_code == 200
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert client.get("/index.json").status_code == 401
    of_source = program(token_of(ann, source=shown))
    assert of_source.get("/index.json").status_code == 200
    shown.delete()
    assert of_source.get("/index.json").status_code == 401


@pytest.mark.django_db
def test_a_token_comes_in_one_header_and_takes_the_place_of_a_session() -> None:
    ann = account("ann", "viewer")
    token = token_of(ann)
    for scheme in ("bearer", "BEARER"):
        assert Client(headers={"authorization": f"{scheme} {token}"}).get("/index.json").status_code == 200
    for header in (token, f"Basic {token}", f"Token {token}", f"Bearer x{token}", "Bearer "):
        assert Client(headers={"authorization": header}).get("/index.json").status_code == 302, header
    assert Client().get(f"/index.json?token={token}").status_code == 302
    assert program(token + "x").get("/index.json").status_code == 401 == program(token[:-1]).get("/index.json").status_code
    both = Client(headers={"authorization": f"Bearer {token}"})
    both.force_login(account("boss", "admin"))
    assert both.get("/users/").status_code == 403 == both.get("/account/").status_code
    answer = program(token).get("/index.json")
    assert not answer.cookies


@pytest.mark.django_db
def test_an_admin_of_all_sees_and_revokes_the_tokens_of_others(tmp_path: Path) -> None:
    source = imported(tmp_path / "a.db", merged()).source
    ada = account("ada", "viewer", source=source)
    row, token = tokens.make("ada", ada, "nightly report", "viewer")
    other, _ = tokens.make("boss", account("boss", "admin"), "of the boss", "viewer")
    page, form = f"/users/{ada.pk}/", f"/users/{ada.pk}/tokens/"
    near = Client()
    near.force_login(account("near", "admin", source=source))
    assert "nightly report" not in near.get(page).content.decode() and near.get(f"/users/{ada.pk}.json").json()["tokens"] == []
    assert near.post(form, {"revoke": row.pk}).status_code == 403, "an admin of one source is none of accounts"
    boss = Client()
    boss.force_login(get_user_model().objects.get(username="boss"))
    text = boss.get(page).content.decode()
    assert "nightly report" in text and row.shown in text and token not in text and "of the boss" not in text
    assert [entry["name"] for entry in boss.get(f"/users/{ada.pk}.json").json()["tokens"]] == ["nightly report"]
    for wrong in (str(other.pk), "x", "", "9" * 30):
        assert "This token is gone already" in boss.post(form, {"revoke": wrong}, follow=True).content.decode()
    assert "opens nothing any more" in boss.post(form, {"revoke": row.pk}, follow=True).content.decode()
    assert Client().get("/conversations.json", headers={"Authorization": f"Bearer {token}"}).status_code == 401
    line = AuditEntry.objects.get(verb="revoke token")
    assert (line.who, line.detail["user"], line.detail["token"]) == ("boss", "ada", "nightly report")
    assert [entry.name for entry in ApiToken.objects.all()] == ["of the boss"]


@pytest.mark.django_db
def test_tokens_that_are_none_are_counted_by_address_and_recorded_once() -> None:
    token = token_of(account("ann", "viewer"))
    statuses = [program(f"insp_{number:043}", REMOTE_ADDR="192.0.2.7").get("/index.json").status_code for number in range(33)]
    assert statuses == [401] * 30 + [429] * 3
    assert program(token, REMOTE_ADDR="192.0.2.7").get("/index.json").status_code == 200, "nobody keeps the token of another one out"
    assert AuditEntry.objects.filter(verb="lock sign-in").count() == 1


@pytest.mark.django_db
def test_the_command_makes_lists_and_revokes_tokens(tmp_path: Path) -> None:
    shown, _ = two_sources(tmp_path)
    account("ann", "proposer")
    made = run("user", "token", "add", "ann", "--role", "viewer", "--for", "cron", "--days", "7", "--source", shown.oid)
    first, token = made.out.splitlines()
    assert first.startswith("ann has a token for cron: viewer on") and first.endswith("It is shown now only:")
    assert [each["id"] for each in program(token).get("/sources.json").json()["sources"]] == [shown.oid]
    row = ApiToken.objects.get()
    assert (
        f"{row.pk} ann: cron ({row.shown}…), viewer on" in run("user", "token", "list").out
        and token not in run("user", "token", "list").out
    )
    assert json.loads(run("user", "token", "list", "ann", "--json").out)["tokens"][0]["begins"] == row.shown
    for words, why in (
        (("add", "ann"), "Say what the token may do at most"),
        (("add", "ann", "--role", "admin", "--for", "x"), "choose no more than proposer"),
        (("add", "ann", "--role", "viewer"), "Give the token a name"),
        (("add", "nobody", "--role", "viewer", "--for", "x"), "There is no account nobody"),
        (("revoke", "x"), "There is no token x"),
        (("revoke",), "Write `user token add NAME`"),
        ((), "Write `user token add NAME`"),
    ):
        refused = run("user", "token", *words)
        assert refused.status == 2 and why in refused.err, (words, refused.err)
    assert run("user", "token", "revoke", str(row.pk)).out == "The token cron of ann opens nothing any more.\n"
    assert program(token).get("/sources.json").status_code == 401 and run("user", "token", "list").out == "There is no token.\n"


def test_tokens_are_recognized_and_masked() -> None:
    from inspector.presentation.masking import masked

    token = "insp_" + "aB3-" * 10 + "xyz"
    assert token not in masked(f"curl -H 'Authorization: Bearer {token}' x") and token not in masked(f"the token is {token}, look")
