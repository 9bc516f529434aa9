"""Users, their roles and groups on pages and by command; nobody locks the last admin out."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from pytest_django import Settings

from inspector.models import AuditEntry, Grant, Source, SourceGroup
from tests.access.planted import two_sources
from tests.accounts import account
from tests.commands.running import run

GOOD = "correct horse battery"


@pytest.fixture
def boss(settings: Settings) -> Client:
    """An admin of all, signed in."""
    settings.INSPECTOR_LOCAL, settings.ALLOWED_HOSTS = False, ["testserver"]
    client = Client()
    client.force_login(account("boss", "admin"))
    return client


def said(client: Client, path: str, form: dict[str, object]) -> str:
    return client.post(path, form, follow=True).content.decode()


@pytest.mark.django_db
def test_bad_input_is_said_next_to_its_field_and_what_was_typed_is_kept(boss: Client) -> None:
    ann = account("ann")
    answer = boss.post("/users/", {"name": "a b<", "role": "viewer", "password": "a password that was typed"})
    page = answer.content.decode()
    assert answer.status_code == 409 and "a password that was typed" not in page
    assert re.search(r'name="name"[^>]* value="a b&lt;" aria-describedby="add-name-problem" aria-invalid="true" autofocus>', page)
    assert re.search(r'autofocus><p class="problem" role="alert" id="add-name-problem">This is no user name', page)
    assert '<option value="viewer" selected>' in page and '<details class="add" id="add" open>' in page
    weak = boss.post("/users/", {"name": "carl", "role": "", "password": "12345678"}).content.decode()
    assert 'id="add-password-problem">This password cannot be taken' in weak and 'value="carl"' in weak and "12345678" not in weak
    wrong = boss.post(f"/users/{ann.pk}/roles/", {"role": "proposer", "on": "source:nowhere", "masked": "1"})
    page = wrong.content.decode()
    assert wrong.status_code == 409 and 'id="role-on-problem">Choose what the role is on' in page
    assert '<option value="proposer" selected>' in page and 'name="masked" value="1" checked' in page
    again = boss.post("/users/groups/", {"name": "x" * 61})
    assert again.status_code == 409 and 'id="add-name-problem">Give the group a name' in again.content.decode()
    assert ann.grants.count() == 1 and not SourceGroup.objects.exists()


@pytest.mark.django_db
def test_the_list_of_users_is_searched_and_sorted(boss: Client) -> None:
    for name in ("zoe", "bert", "bernd"):
        account(name)
    get_user_model().objects.filter(username="zoe").update(last_login=datetime(2030, 1, 1, tzinfo=UTC))

    def names(query: str) -> list[str]:
        return [row["name"] for row in boss.get(f"/users.json?{query}").json()["users"]]

    assert names("q=BER") == ["bernd", "bert"]
    assert (
        names("sort=-name") == ["zoe", "boss", "bert", "bernd"] and names("sort=nothing") == names("sort=name") == names("sort=-name")[::-1]
    )
    assert names("sort=-seen")[:2] == ["zoe", "boss"] and names("sort=seen") == ["boss", "zoe", "bernd", "bert"]
    assert "No account has this in its name" in boss.get("/users/?q=nobody").content.decode()


@pytest.mark.django_db
def test_a_user_is_added_with_a_link_that_works_once(boss: Client, tmp_path: Path) -> None:
    shown, _ = two_sources(tmp_path)
    answer = boss.post("/users/", {"name": "ann", "role": ""})
    text = answer.content.decode()
    link = re.search(r'id="password-link">http://testserver(/welcome/[^<]+)<', text)
    assert link and answer["Cache-Control"] == "no-store"
    ann = get_user_model().objects.get(username="ann")
    assert not ann.has_usable_password() and not ann.grants.exists()
    assert "is the name" not in text and said(boss, "/users/", {"name": "ANN"}).count("There is an account ANN already") == 1
    assert "no user name" in said(boss, "/users/", {"name": "a b<"})
    stranger = Client()
    form = stranger.get(link[1], follow=True)
    assert "Your name is <b>ann</b>" in form.content.decode()
    address = form.redirect_chain[-1][0]
    weak = stranger.post(address, {"new_password1": "password", "new_password2": "password"}).content.decode()
    assert "too common" in weak and "Confirm new password" in weak and weak.count("autofocus") == 1 and "At least 8 characters" in weak
    wrong = re.search(r"<input[^>]*autofocus[^>]*>", weak)
    assert wrong and 'aria-describedby="id_new_password2_error"' in wrong[0] and 'role="alert" id="id_new_password2_error"' in weak
    done = stranger.post(address, {"new_password1": GOOD, "new_password2": GOOD})
    assert b"Your password is set. Sign in with it." in stranger.get(done["Location"]).content
    assert b"is set" not in stranger.get("/login/").content
    assert "This link is used up" in Client().get(link[1], follow=True).content.decode()
    assert stranger.post("/login/", {"username": "ann", "password": GOOD}).status_code == 302
    page = stranger.get("/").content.decode()
    assert "Your account has no role on any source yet, so there is nothing to see. Ask boss for one." in page
    assert stranger.get("/users/").status_code == 403 and "/users/" not in page and 'href="/account/"' in page
    assert 'href="/password/"' in stranger.get("/account/").content.decode()
    # A role on one source is seen at the next request, and gone when it is taken away.
    said(boss, f"/users/{ann.pk}/roles/", {"role": "viewer", "on": f"source:{shown.oid}"})
    assert shown.oid in stranger.get("/sources/").content.decode()
    text = said(boss, f"/users/{ann.pk}/roles/", {"take": Grant.objects.get(user=ann).pk})
    assert "The role is taken away." in text and shown.oid not in stranger.get("/sources/").content.decode()
    assert "sign in no more" in said(boss, f"/users/{ann.pk}/state/", {"on": "0"})
    assert stranger.get("/").status_code == 302
    lines = AuditEntry.objects.order_by("id").values_list("who", "verb", "detail")
    assert ("boss", "add user", {"user": "ann"}) in lines and ("ann", "set password", {"by": "link"}) in lines
    given = {"user": "ann", "role": "viewer", "on": shown.name}
    assert (
        ("boss", "give role", given) in lines
        and ("boss", "take role", given) in lines
        and ("boss", "disable user", {"user": "ann"}) in lines
    )


@pytest.mark.django_db
def test_the_last_admin_is_not_locked_out(boss: Client) -> None:
    user = get_user_model().objects.get()
    for path, form in ((f"/users/{user.pk}/roles/", {"take": user.grants.get().pk}), (f"/users/{user.pk}/state/", {"on": "0"})):
        assert "Nobody would be left who may look after users" in said(boss, path, form)
    assert "Nobody would be left" in said(boss, f"/users/{user.pk}/roles/", {"role": "viewer", "on": "all"})
    assert run("user", "disable", "boss").status == 2
    user.refresh_from_db()
    assert user.is_active and user.grants.get().role == "admin"
    other = account("other", "admin")
    assert "taken away" in said(boss, f"/users/{other.pk}/roles/", {"take": other.grants.get().pk})
    assert "Choose what the role is on" in said(boss, f"/users/{other.pk}/roles/", {"role": "viewer", "on": "source:nowhere"})
    assert "There is no role king" in said(boss, f"/users/{other.pk}/roles/", {"role": "king", "on": "all"})


@pytest.mark.django_db
def test_an_admin_of_one_source_gives_roles_on_that_one(boss: Client, tmp_path: Path) -> None:
    shown, hidden = two_sources(tmp_path)
    ann, carl = account("ann", "viewer", source=hidden), account("carl", "admin", source=shown)
    client = Client()
    client.force_login(carl)
    assert "Add a user" not in client.get("/users/").content.decode() and client.post("/users/", {"name": "x"}).status_code == 403
    # The names of others are for who looks after all of them; whoever has a name may give its account a role.
    assert client.get(f"/users/{ann.pk}/").status_code == 404 == client.post(f"/users/{ann.pk}/roles/", {"take": "1"}).status_code
    assert ">ann<" not in client.get("/users/").content.decode() and "ann" not in str(client.get("/users.json").json())
    assert "no account of this name" in said(client, "/users/roles/", {"name": "an", "role": "viewer", "on": f"source:{shown.oid}"})
    assert "The role is given." in said(client, "/users/roles/", {"name": "ann", "role": "viewer", "on": f"source:{shown.oid}"})
    assert "Choose what" in said(client, "/users/roles/", {"name": "ann", "role": "viewer", "on": f"source:{hidden.oid}"})
    assert client.post("/users/roles/", {"name": "ann", "role": "viewer", "on": "all"}).status_code == 403
    page = client.get(f"/users/{ann.pk}/").content.decode()
    assert hidden.name not in page and shown.name in page and "all sources</option>" not in page
    assert [row["source"] for row in client.get(f"/users/{ann.pk}.json").json()["roles"]] == [shown.oid]
    for on in ("all", f"group:{SourceGroup.objects.create(name='g').pk}"):
        assert client.post(f"/users/{ann.pk}/roles/", {"role": "admin", "on": on}).status_code == 403
    assert "Choose what the role is on" in said(client, f"/users/{ann.pk}/roles/", {"role": "viewer", "on": f"source:{hidden.oid}"})
    assert "gone already" in said(client, f"/users/{ann.pk}/roles/", {"take": ann.grants.get(source=hidden).pk})
    assert "The role is given." in said(client, f"/users/{ann.pk}/roles/", {"role": "approver", "on": f"source:{shown.oid}", "masked": "1"})
    assert client.get(f"/users/{ann.pk}.json").json()["roles"][0]["masked"] is True
    assert client.post(f"/users/{ann.pk}/link/").status_code == 403 == client.get("/users/groups/").status_code


@pytest.mark.django_db
def test_a_group_of_sources_gives_its_role_to_what_is_put_into_it(boss: Client, tmp_path: Path) -> None:
    shown, _ = two_sources(tmp_path)
    said(boss, "/users/groups/", {"name": "  ours "})
    group = SourceGroup.objects.get(name="ours")
    ann = account("ann", "viewer", group=group)
    client = Client()
    client.force_login(ann)
    assert client.get("/sources.json").json()["sources"] == []
    said(boss, f"/users/groups/{group.pk}/", {"put": shown.oid})
    assert [row["id"] for row in client.get("/sources.json").json()["sources"]] == [shown.oid]
    assert boss.get("/users/groups.json").json()["groups"][0]["sources"] == [shown.oid]
    assert "There is a group ours already" in said(boss, "/users/groups/", {"name": "ours"})
    assert "the group ours" in boss.get(f"/users/{ann.pk}/").content.decode()
    said(boss, f"/users/groups/{group.pk}/", {"take": shown.oid})
    assert client.get("/sources.json").json()["sources"] == []
    said(boss, f"/users/groups/{group.pk}/", {"put": shown.oid})
    carl, address = account("carl", ""), f"/users/groups/{group.pk}/"
    wrong = boss.post(address, {"name": "karl", "role": "viewer", "masked": "1"})
    page = wrong.content.decode()
    assert wrong.status_code == 409 and 'id="role-name-problem">There is no account of this name' in page and 'value="karl"' in page
    assert "There is no role king" in boss.post(address, {"name": "carl", "role": "king"}).content.decode()
    assert "carl has the role proposer on the group ours." in said(boss, address, {"name": "carl", "role": "proposer", "masked": "1"})
    page = boss.get(address).content.decode()
    assert "This takes away <b>2 roles on 1 source</b>, of 2 people." in page and f'href="/users/{ann.pk}/"' in page
    assert [(row["name"], row["role"], row["masked"]) for row in boss.get(f"/users/groups/{group.pk}.json").json()["roles"]] == [
        ("ann", "viewer", False),
        ("carl", "proposer", True),
    ]
    grant = carl.grants.get()
    elsewhere = Grant.objects.create(user=ann, role="viewer", source=shown)
    assert "gone already" in said(boss, address, {"end": str(elsewhere.pk)})
    elsewhere.delete()
    assert "carl has the role proposer on the group ours no more." in said(boss, address, {"end": str(grant.pk)})
    assert "gone already" in said(boss, address, {"end": str(grant.pk)}) and not carl.grants.exists()
    said(boss, address, {"remove": "1"})
    assert AuditEntry.objects.get(verb="remove source group").detail == {"group": "ours", "roles": 1, "sources": 1}
    assert boss.get(address).status_code == 404
    assert not Grant.objects.filter(user=ann).exists() and Source.objects.count() == 2


@pytest.mark.django_db
def test_the_list_of_groups_says_their_sources_and_people_and_is_sorted_and_searched(boss: Client, tmp_path: Path) -> None:
    shown, hidden = two_sources(tmp_path)
    for name, sources, people in (("payments", (shown, hidden), "abcde"), ("support", (shown,), ""), ("empty", (), "x")):
        group = SourceGroup.objects.create(name=name)
        group.sources.add(*sources)
        for letter in people:
            account(f"{name}-{letter}", "viewer", group=group)
    # Two roles of one person are one person.
    twice = get_user_model().objects.get(username="payments-a")
    Grant.objects.create(user=twice, role="approver", group=SourceGroup.objects.get(name="payments"), is_mapped=True)

    def listed(query: str = "") -> list[str]:
        return re.findall(r'row-link" href="/users/groups/\d+/">([^<]+)<', boss.get(f"/users/groups/{query}").content.decode())

    assert listed() == listed("?sort=nothing") == ["empty", "payments", "support"] == listed("?sort=-name")[::-1]
    assert listed("?sort=-sources") == ["payments", "support", "empty"] and listed("?sort=people") == ["support", "empty", "payments"]
    assert listed("?q=PAY") == ["payments"] and "No group has this in its name" in boss.get("/users/groups/?q=none").content.decode()
    page = boss.get("/users/groups/").content.decode()
    assert "5 <span" in page and "payments-a, payments-b and 3 more" in page and page.count(">nobody<") == 1
    cells = re.findall(r'data-label="sources">(.*?)</td>', page, re.DOTALL)
    names = sorted((shown.name, hidden.name))
    assert [re.sub("<[^>]+>", "", words).split() for words in cells] == [["none"], ["2", f"{names[0]},", names[1]], ["1", shown.name]]


@pytest.mark.django_db
def test_one_changes_ones_own_password(boss: Client, client: Client, settings: Settings) -> None:
    user = get_user_model().objects.get()
    user.set_password(GOOD)
    user.save()
    one, elsewhere = Client(), Client()
    for each in (one, elsewhere):
        each.login(username="boss", password=GOOD)
    new = {"new_password1": GOOD + "!", "new_password2": GOOD + "!"}
    assert "old password was entered incorrectly" in one.post("/password/", {"old_password": "x", **new}).content.decode()
    assert "Your password is changed" in said(one, "/password/", {"old_password": GOOD, **new})
    assert one.get("/").status_code == 200 and elsewhere.get("/").status_code == 302
    assert AuditEntry.objects.filter(verb="change password", who="boss").count() == 1
    settings.INSPECTOR_LOCAL = True
    assert client.get("/password/").status_code == 404


@pytest.mark.django_db
def test_the_command_makes_the_first_account(tmp_path: Path, settings: Settings) -> None:
    settings.INSPECTOR_BASE_URL = "https://inspector.example.org"
    shown, _ = two_sources(tmp_path)
    assert "There is no account yet" in run("user", "list").out
    first = run("user", "add", "ada", "--role", "admin")
    assert first.out.startswith("ada is admin of all sources.") and re.search(
        r"\nhttps://inspector\.example\.org/welcome/\S+/\n", first.out
    )
    assert run("user", "add", "bob", "--role", "viewer", "--source", str(tmp_path / "shown.db")).out.startswith(
        f"bob is viewer of {shown.name}."
    )
    assert run("user", "grant", "bob", "--role", "proposer", "--masked").status == 0
    assert "bob: viewer of" in run("user", "list").out and "proposer of all sources (secrets masked)" in run("user", "list").out
    assert run("user", "revoke", "bob").status == 0 and run("user", "disable", "bob").status == 0
    assert "(disabled)" in run("user", "list").out
    for words, why in (
        (("add", "carl"), "Say what carl may do"),
        (("add", "carl", "--role", "viewer", "--source", "/nowhere"), "No source /nowhere is imported"),
        (("grant", "nobody", "--role", "viewer"), "There is no account nobody"),
        (("grant", "bob", "--role", "viewer", "--group", "g"), "There is no group of sources g"),
        (("revoke", "bob"), "bob has no role there"),
        (("list", "bob"), "takes no name"),
    ):
        refused = run("user", *words)
        assert refused.status == 2 and why in refused.err, (words, refused.err)
    assert not get_user_model().objects.filter(username="carl").exists()


def test_where_nothing_is_imported_yet_the_page_says_what_that_person_can_do(boss: Client) -> None:
    low = Client()
    low.force_login(account("low", "proposer"))
    for address in ("/", "/conversations/", "/sources/"):
        own, theirs = boss.get(address).content.decode(), low.get(address).content.decode()
        assert "import_source" in own and "make run" not in own, address
        assert "you may see" in theirs and "make run" not in theirs and "import_source /path" not in theirs, address
    assert '<a class="btn main" href="/sources/add/">' in boss.get("/").content.decode()
