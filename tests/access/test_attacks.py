"""What a person with a viewer's account, and one who may approve on one source, try: nothing that they may not see is shown, and nothing that they may not do is done."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from pytest_django import Settings

from inspector import background
from inspector.access.context import NotPermitted, limited_to
from inspector.access.grants import access_of
from inspector.access.permits import by_account
from inspector.actions import repair_groups
from inspector.actions.apply_repair import apply_repair
from inspector.actions.decide_repair import approve_repair
from inspector.actions.people import remove_group, set_password
from inspector.actions.problems import Refused
from inspector.actions.set_write_back import set_write_back
from inspector.models import AuditEntry, BackgroundTask, Grant, Problem, Repair, RepairGroup, Source, SourceGroup, Tombstone
from tests.access.planted import RENUMBER, WORD, World, two_sources
from tests.access.test_nothing_leaks import UNKNOWN, body, filled, leaks, made, of, plain, routes
from tests.accounts import account
from tests.actions.building import imported, merged, proposed
from tests.actions.test_repair_groups import proposed as proposed_group
from tests.actions.test_repair_groups import signed, states, three
from tests.reliability import TRIES
from tests.views.imported import rows, store

pytestmark = pytest.mark.django_db
_ = made

SECRET = "sk-ant-api03-" + "Zk4vQx8LmW2r" * 7
FIELDS = (
    *("with", "source", "target", "q", "finding", "conversation", "problem", "group", "find", "step", "turn", "leaf", "error", "name"),
    *("assigned", "event", "plan", "problem", "on", "take", "put", "of", "view", "tab", "rev", "after", "before", "page", "strategy"),
)
"""What addresses and forms take, of all pages."""
MORE = {"is_superuser": "1", "is_active": "1", "is_staff": "1", "user": "1", "operator": "boss", "who": "boss", "state": "approved"}
"""What no form has."""


@pytest.fixture
def people(settings: Settings) -> Settings:
    """People sign in."""
    settings.INSPECTOR_LOCAL, settings.ALLOWED_HOSTS = False, ["testserver"]
    return settings


def signed_in(user: Any, **options: Any) -> Client:
    client = Client(**options)
    client.force_login(user)
    return client


def one_of_each(made: World, which: int) -> list[str]:
    """An address of each route that is asked by GET, with the last id that is shown (0) or hidden (1)."""
    found = []
    for route, methods in routes():
        ids = made.ids.get(route.partition("/")[0], ([], []))[which][-1:]
        if (
            "GET" in methods
            and not route.startswith(("login/", "logout/"))
            and (ids if re.search("<slug:(oid|key)>", route) else which == 0)
        ):
            found += filled(route, ids or [UNKNOWN])
    return found


def state_of_everything() -> list[Any]:
    models: tuple[Any, ...] = (Repair, RepairGroup, Problem, Source, Grant, SourceGroup, Tombstone)
    accounts = get_user_model().objects.order_by("pk").values("username", "password", "is_active", "is_staff", "is_superuser")
    return [list(accounts), *(list(model._base_manager.order_by("pk").values()) for model in models)]


@pytest.mark.slow
def test_ids_of_what_is_hidden_say_nothing_in_any_parameter(made: World, record_property: Callable[[str, object], None]) -> None:
    """Each address of what is shown, with each parameter, gives the same for an id that is hidden as for one that never was."""
    client = of(made, "ann", "approver")
    hidden = [made.ids[kind][1][-1] for kind in ("conversations", "sources", "repairs")]
    for address in (addresses := one_of_each(made, 0)):
        unknown = plain(client.get(address, dict.fromkeys(FIELDS, UNKNOWN)), UNKNOWN)
        for oid in hidden:
            asked = client.get(address, dict.fromkeys(FIELDS, oid))
            assert plain(asked, oid) == unknown, (address, oid)
            assert not [found for found in leaks(asked, made) if found != oid], (address, oid)
    assert len(addresses) > 60
    record_property(TRIES, len(hidden) * len(addresses))


@pytest.mark.slow
def test_forms_with_ids_of_what_is_hidden_and_with_more_fields_than_they_have_change_nothing(made: World) -> None:
    client = of(made, "ann", "viewer")
    before = state_of_everything()
    hidden = [ids[1][0] for ids in made.ids.values() if ids[1]]
    for route, methods in routes():
        if "POST" not in methods or route.startswith(("login/", "logout/")):
            continue
        kind = route.partition("/")[0]
        (address,) = filled(route, made.ids.get(kind, ([], []))[0][:1] or [UNKNOWN])
        for oid in hidden:
            form = MORE | dict.fromkeys(FIELDS, oid) | {"action": "assign", "to": "ann", "role": "admin", "on": f"source:{oid}"}
            answer = client.post(address, form | {"digest": oid, "statement": "unfixed", "text": "x", "comment": "x"})
            assert answer.status_code in (200, 302, 400, 403, 404, 409, 429), (address, answer.status_code)
            # What was posted may be said back, as the name of a view is.
            assert not [found for found in leaks(answer, made) if found not in hidden], (address, oid)
        for header in ("X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method"):
            client.get(address, {"_method": "POST"} | MORE, headers={header: "POST", "HX-Request": "true"})
        # Nobody is who a header says where no proxy was named.
        client.post(address, {"text": "x"}, headers={"Remote-User": "boss", "X-Forwarded-User": "boss", "Authorization": "Bearer boss"})
        client.post(address, {"text": "x"}, REMOTE_USER="boss")
        assert signed_in(get_user_model().objects.get(username="ann"), enforce_csrf_checks=True).post(address, MORE).status_code == 403
    assert before == state_of_everything()


@pytest.mark.slow
def test_what_one_person_looked_at_reaches_nobody_else_by_a_cache(made: World) -> None:
    """Every kept answer, its ETag, its length and its compressed form are of who asked."""
    client, boss = of(made, "ann", "viewer"), signed_in(account("boss", "admin"))
    compressed = {"Accept-Encoding": "gzip"}
    for address in one_of_each(made, 1):
        theirs = boss.get(address)
        cached = theirs.get("Cache-Control", "")
        assert "private" in cached or cached == "no-store" or theirs.status_code != 200, (address, cached)
        if theirs.status_code != 200 or WORD not in body(theirs).decode(errors="replace"):
            continue
        tag = theirs.get("ETag", '"x"')
        for headers in ({"If-None-Match": tag}, {"If-None-Match": "*"}, {"If-None-Match": tag, "HX-Request": "true"}, compressed):
            answer = client.get(address, headers=headers)
            assert answer.status_code != 304 and not leaks(answer, made, address), (address, headers)
    for kind, (_, ids) in made.ids.items():
        for route, methods in routes():
            if route.startswith(f"{kind}/<slug:") and "GET" in methods:
                ((address,), (unknown,)) = (filled(route, [oid]) for oid in (ids[0], "0" * len(ids[0])))
                one, other = client.head(address), client.head(unknown)
                assert (one.status_code, one.get("Content-Length")) == (other.status_code, other.get("Content-Length")), address
    # What both may see and not do is not the same page.
    for address in one_of_each(made, 0):
        theirs = boss.get(address)
        if "ETag" in theirs and "disabled" in client.get(address).content.decode(errors="replace"):
            assert client.get(address, headers={"If-None-Match": theirs["ETag"]}).status_code == 200, address


def test_to_reveal_a_comparison_takes_the_role_on_both_sides(tmp_path: Path, people: Settings) -> None:
    mine, theirs = (store(tmp_path / f"{name}.db", rows("one", _saying(SECRET))) for name in ("mine", "theirs"))
    ann = account("ann", "approver", mine)
    Grant.objects.create(user=ann, role="viewer", source=theirs)
    client = signed_in(ann)
    one, other = (source.conversations.get().oid for source in (mine, theirs))
    for ending in ("/", ".json"):
        assert (
            SECRET in body(client.post(f"/conversations/{one}/diff{ending}?with={one}&rev=1", {"reveal": "1"})).decode()
            or ending == ".json"
        )
        for address in (f"/conversations/{one}/diff{ending}?with={other}", f"/conversations/{one}/diff/1..1{ending}?with={other}"):
            answer = client.post(address, {"reveal": "1"})
            assert answer.status_code == 403 and SECRET not in body(answer).decode(), address
            assert SECRET not in body(client.get(address)).decode()
        assert client.post(f"/conversations/{other}/diff{ending}?with={one}", {"reveal": "1"}).status_code == 403
    assert not AuditEntry.objects.filter(verb="reveal", conversation=other).exists()


def _saying(text: str) -> list[dict[str, object]]:
    return [{"role": "user", "content": [{"type": "text", "text": text}]}]


def test_whose_secrets_are_masked_gives_nobody_more(tmp_path: Path, people: Settings) -> None:
    shown, _ = two_sources(tmp_path)
    ann = account("ann", "admin", shown, masked=True)
    client, on = signed_in(ann), f"source:{shown.oid}"
    for role in ("proposer", "admin"):
        answer = client.post("/users/roles/", {"name": "ann", "role": role, "on": on})
        assert answer.status_code == 403 and "tick that secrets stay masked" in answer.content.decode()
    assert client.post(f"/users/{ann.pk}/roles/", {"role": "admin", "on": on}).status_code == 403
    assert list(Grant.objects.values_list("role", "is_masked")) == [("admin", True)]
    account("bob", "")
    for form in ({"role": "viewer"}, {"role": "approver", "masked": "1"}):
        assert client.post("/users/roles/", {"name": "bob", "on": on} | form).status_code == 302
    assert Grant.objects.get(user__username="bob").is_masked


def test_an_account_whose_role_may_not_be_given_is_not_added(people: Settings) -> None:
    mara = account("mara", "admin", masked=True)
    answer = signed_in(mara).post("/users/", {"name": "carl", "role": "admin"})
    assert answer.status_code == 403 and not get_user_model().objects.filter(username="carl").exists()
    assert not AuditEntry.objects.filter(verb__in=["add user", "give role"]).exists()


def test_whose_secrets_are_masked_becomes_nobody_who_sees_them(tmp_path: Path, people: Settings) -> None:
    """Neither by the password of another account, also while that is disabled, nor by a source in a group of theirs."""
    shown, _ = two_sources(tmp_path)
    group = SourceGroup.objects.create(name="ours")
    mara, boss = account("mara", "admin", masked=True), account("boss", "admin")
    val, careful, pat = (
        account("val", "viewer"),
        account("careful", "approver", masked=True),
        account("pat", "proposer", shown, is_active=False),
    )
    root = account("root", "", is_superuser=True)
    as_mara = signed_in(mara)
    for user, may in ((boss, False), (root, False), (pat, False), (val, True), (careful, True), (mara, True)):
        page = as_mara.get(f"/users/{user.pk}/").content.decode()
        assert ("sets no password of an account that may" not in page) == may, user
        answer = as_mara.post(f"/users/{user.pk}/link/")
        assert (answer.status_code, b"/welcome/" in answer.content) == ((200, True) if may else (403, False)), user
        assert (
            any(entry.detail["user"] == user.username for entry in AuditEntry.objects.filter(verb="make password link", who="mara")) == may
        )
        assert b"/welcome/" in signed_in(boss).post(f"/users/{user.pk}/link/").content
    with limited_to(access_of(mara)), pytest.raises(NotPermitted, match="sets no password"):
        set_password("mara", boss, "correct horse battery staple")
    grant = Grant.objects.create(user=mara, role="proposer", group=group)
    for role, is_masked, status in (("proposer", False, 403), ("viewer", False, 302), ("approver", True, 302), ("admin", False, 403)):
        Grant.objects.filter(pk=grant.pk).update(role=role, is_masked=is_masked)
        assert as_mara.post(f"/users/groups/{group.pk}/", {"put": shown.oid}).status_code == status
        assert group.sources.exists() == (status == 302), role
        assert as_mara.post(f"/users/groups/{group.pk}/", {"take": shown.oid}).status_code == 302


def test_a_role_that_was_taken_away_ends_what_it_was_for(tmp_path: Path, people: Settings) -> None:
    """At the next request; between a request and its act; in a task that waited; and between the first and the second of a group."""
    repair = proposed(imported(tmp_path / "a.db", merged()), RENUMBER, who="carl")
    source = repair.conversation.source
    group = SourceGroup.objects.create(name="ours")
    group.sources.add(source)
    ann, bob = account("ann", "approver", source), account("bob", "approver", group=group)
    as_ann, as_bob = signed_in(ann), signed_in(bob)
    assert as_bob.get(f"/repairs/{repair.oid}/").status_code == 200
    nonsense = f"/repairs/{repair.oid}/nonsense/"
    assert "The repair is here" in as_bob.get(nonsense).content.decode()
    with limited_to(access_of(bob)):
        approve_repair(repair, "bob", repair.plan_digest, "unfixed")
    # Groups that are emptied or removed leave no role on all.
    group.sources.clear()
    assert as_bob.get(f"/repairs/{repair.oid}/").status_code == 404 and access_of(bob).sources == frozenset()
    assert "No repair here has the id" in as_bob.get(nonsense).content.decode()
    group.sources.add(source)
    remove_group("boss", group)
    assert as_bob.get("/sources.json").json()["sources"] == [] and not Grant.objects.filter(user=bob).exists()
    # Whoever approved it may not any more.
    set_write_back(source, "boss", True, answers_for_it=True)
    people.INSPECTOR_WRITE_BACK = True
    repair = Repair.objects.get()
    with pytest.raises(Refused, match="The approval by bob does not hold any more"):
        apply_repair(repair, "ann")
    repair.refresh_from_db()
    approve_repair(repair, "ann", repair.plan_digest, "unfixed")
    # A request of ann began, and a task waits: then she is a viewer.
    access = access_of(ann)
    task = background.started(repair.conversation, "apply", "k" * 64, {"repair": repair.oid}, "ann", "/", again=True).task
    Grant.objects.filter(user=ann).update(role="viewer")
    with limited_to(access), pytest.raises(NotPermitted, match="your role here is viewer"):
        apply_repair(repair, "ann")
    background.run(task.pk)
    ended = BackgroundTask.objects.get(pk=task.pk)
    assert "To apply a repair takes an approver, and your role here is viewer" in ended.error
    repair.refresh_from_db()
    assert repair.state == "approved" and as_ann.post(f"/repairs/{repair.oid}/apply/").status_code == 403
    # A source that is removed takes its roles with it, and an account that is disabled its session.
    Grant.objects.filter(user=ann).update(role="approver")
    ann.is_active = False
    ann.save()
    assert as_ann.get("/").status_code == 302 and as_ann.get("/sources.json").status_code == 302
    with pytest.raises(Refused, match="the account ann is disabled"):
        apply_repair(repair, "carl")
    empty = Source.objects.create(oid="empty0000000", path="/empty", format="x", read_at=source.read_at)
    account("eve", "admin", empty)
    empty.delete()
    assert not Grant.objects.filter(user__username="eve").exists()


def test_a_group_stops_where_the_role_is_taken_away(tmp_path: Path, people: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = three(tmp_path / "a.db")
    group = proposed_group(problem)
    ann = account("ann", "approver", problem.source)
    real = repair_groups.approve_repair

    def approve(*args: Any) -> None:
        real(*args)
        Grant.objects.filter(user=ann).update(role="proposer")

    monkeypatch.setattr(repair_groups, "approve_repair", approve)
    with (
        by_account("ann"),
        pytest.raises(Refused, match=r"1 of 3 approved\..*your role here is proposer.* 1 was not tried: the role was taken away"),
    ):
        repair_groups.approve_all(group, "ann", signed(group), "unfixed", "")
    assert states(group) == ["approved", "proposed", "proposed"]


def test_reviewers_are_those_who_may_approve_there_and_no_other_account_is_named(tmp_path: Path, people: Settings) -> None:
    repair = proposed(imported(tmp_path / "a.db", merged()), RENUMBER, who="carl")
    source = repair.conversation.source
    other = imported(tmp_path / "b.db", merged()).source
    group = SourceGroup.objects.create(name="ours")
    group.sources.add(source)
    viewer, proposer = account("val", "viewer", source), account("pat", "proposer", source)
    account("ada", "approver", source), account("amy", "admin", group=group), account("all", "approver")
    account("else-where", "approver", other), account("nobody-here", ""), account("off", "approver", is_active=False)
    account("root", "", is_superuser=True)
    page = signed_in(proposer).get(f"/repairs/{repair.oid}/").content.decode()
    assert all(f'<option value="{name}">' in page for name in ("ada", "amy", "all", "root"))
    assert not any(name in page for name in ("else-where", "nobody-here", 'value="val"', 'value="off"'))
    assert '<option value="ada">' not in signed_in(viewer).get(f"/repairs/{repair.oid}/").content.decode()
    said = {}
    for name in ("else-where", "nobody-here", "off", "val", "who-is-not"):
        answer = signed_in(proposer).post(f"/repairs/{repair.oid}/reviewers/", {"reviewers": name}, follow=True).content.decode()
        said[name] = f"No account {name} may approve repairs of this source" in answer
    assert all(said.values()), said
    repair.refresh_from_db()
    assert repair.reviewers == []
    signed_in(proposer).post(f"/repairs/{repair.oid}/reviewers/", {"reviewers": "ada, root"})
    repair.refresh_from_db()
    assert repair.reviewers == ["ada", "root"]
    # INSPECTOR_APPROVERS narrows whom one can ask, as it narrows who may approve.
    people.INSPECTOR_APPROVERS = "reviewers"
    page = signed_in(proposer).get(f"/repairs/{repair.oid}/").content.decode()
    assert '<option value="root">' in page and '<option value="ada">' not in page


def test_a_login_leads_to_no_other_host_and_a_page_of_people_takes_no_odd_number(people: Settings) -> None:
    user = account("ann", "admin")
    user.set_password("correct horse battery")
    user.save()
    form = {"username": "ann", "password": "correct horse battery"}
    for there in ("https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)"):
        assert (
            Client().post(f"/login/?next={there}", form)["Location"] == "/" == Client().post("/login/", form | {"next": there})["Location"]
        )
    client = signed_in(user)
    for number in ("0", "9" * 18, "9" * 40):
        assert {client.get(f"/users/{number}/").status_code, client.post(f"/users/{number}/state/").status_code} == {404}
        assert client.post(f"/users/groups/{number}/", {"remove": "1"}).status_code == 404
