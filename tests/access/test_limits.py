"""Every model belongs to a source or has a reason, a limit hides what it must, and what computes or stores has none."""

from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser, Group, Permission
from django.contrib.contenttypes.models import ContentType

from inspector.access.context import NotPermitted, current, limited_to, unlimited
from inspector.access.grants import access_of, admins_of, whom_to_ask
from inspector.access.permits import acts, permit, source_of, why_not
from inspector.access.roles import ACTIONS, ROLES, Access, Role, RoleOn, refusal_of
from inspector.actions.decide_repair import approve_repair
from inspector.middleware import parts_within
from inspector.models import Conversation, Grant, Repair, Source, SourceGroup
from inspector.models.searching import index_texts
from inspector.models.visible import Visible
from inspector.views.leads import named_call
from tests.access.planted import two_sources
from tests.accounts import account
from tests.actions.building import A, Store, T, U, imported, merged, proposed, tc, tr

REASONS = {
    "Payload": "bytes by their digest, which no address takes without a conversation or stream that has them",
    "JobResult": "what commands asked for; no page reads it",
    "AuditEntry": "one chain of lines; its page takes a role on all sources",
    "Watcher": "which process looks at sources; it names none",
    "SavedView": "a person's own, by their name",
    "Grant": "pages of administrators, and the limit itself",
    "SourceGroup": "pages of administrators, and the limit itself",
    "FailedSignIn": "counts by hashes; no page reads it",
    "OpenSession": "a person's own, by their account",
    "Identity": "asked for at a sign-in only",
    "ApiToken": "a person's own, by their account",
    "Notifier": "pages of administrators of all sources, and the outbox",
    "NotifierSecret": "no page reads it",
    "Delivery": "pages of administrators of all sources, and the outbox",
}


@pytest.mark.django_db
def test_every_model_belongs_to_a_source_or_has_a_reason(tmp_path: Path) -> None:
    shown, hidden = two_sources(tmp_path)
    belonging = []
    for model in apps.get_app_config("inspector").get_models():
        manager = model._default_manager
        if not isinstance(manager, Visible):
            if not model._meta.auto_created:
                assert REASONS.pop(model.__name__)
            continue
        belonging.append(model.__name__)
        assert model._base_manager.__class__ is not Visible
        with limited_to(Access("ann")):
            assert not model._default_manager.exists(), model
        with limited_to(Access("ann", (RoleOn(Role.ADMIN, frozenset([shown.pk])),))):
            seen = model._default_manager.count()
        with limited_to(Access("ann", (RoleOn(Role.ADMIN, frozenset([hidden.pk])),))):
            assert seen + model._default_manager.count() == model._base_manager.count(), model
    assert not REASONS and len(belonging) > 20


@pytest.mark.django_db
def test_rows_of_a_row_have_the_limit_too(tmp_path: Path) -> None:
    shown, hidden = two_sources(tmp_path)
    row = Conversation.objects.filter(source=hidden).first()
    assert row is not None
    with limited_to(Access("ann", (RoleOn(Role.ADMIN, frozenset([shown.pk])),))):
        assert not hidden.conversations.exists() and not row.records.exists() and not row.findings.exists()
        assert shown.conversations.exists()
    many = frozenset(range(10**6, 10**6 + 40_000)) | {shown.pk}
    with limited_to(Access("ann", (RoleOn(Role.VIEWER, many),))):
        assert list(Source.objects.all()) == [shown]


@pytest.mark.django_db
def test_a_call_of_another_source_is_in_no_conversation(tmp_path: Path) -> None:
    shown, hidden = (imported(tmp_path / f"{name}.db", _with_call("c1", f"call-of-{name}-1")).source for name in ("shown", "hidden"))
    index_texts()
    assert [named_call(f"call-of-{name}-1").stored[0].row.source for name in ("shown", "hidden")] == [shown, hidden]
    with limited_to(Access("ann", (RoleOn(Role.VIEWER, frozenset([shown.pk])),))):
        assert named_call("call-of-shown-1").stored and not named_call("call-of-hidden-1").stored
        assert not named_call("call-of-hidden-1").more and not named_call("call-of-hidden-1").is_common


def _with_call(name: str, call_id: str) -> Store:
    store = Store()
    store.append(U("go"), A("calling", tc(call_id)), T(tr(call_id)), to=name)
    return store


@pytest.mark.django_db
def test_grants_come_to_the_highest_role_that_covers_a_source(tmp_path: Path) -> None:
    shown, hidden = two_sources(tmp_path)
    trace = Source.objects.create(oid="trace0000000", path="/t", format="x", is_trace=True, read_at=shown.read_at)
    shown.traces.add(trace)
    group = SourceGroup.objects.create(name="ours")
    group.sources.add(shown)
    ann = account("ann", "viewer", group=group)
    Grant.objects.create(user=ann, role="approver", source=shown, is_masked=True)
    access = access_of(ann)
    assert access.sources == {shown.pk, trace.pk} and not access.sees(hidden.pk) and access.sees(trace.pk)
    assert (access.role_on(shown.pk), access.role_on(trace.pk), access.role_on(hidden.pk), access.role_on(None)) == (3, 1, None, None)
    assert access.may("apply", shown.pk) and not access.may("write back", shown.pk) and not access.may("apply", hidden.pk)
    assert not access.may("reveal", shown.pk), "an approver whose secrets stay masked"
    Grant.objects.create(user=ann, role="viewer")
    everywhere = access_of(ann)
    assert everywhere.sources is None and everywhere.may("audit") and not everywhere.may("users") and everywhere.may("apply", shown.pk)
    assert not everywhere.may_on_all("reveal")
    assert access_of(AnonymousUser()).sources == frozenset()
    ann.is_active = False
    assert access_of(ann).sources == frozenset()
    boss = account("boss", "", is_superuser=True)
    assert access_of(boss).may("users") and access_of(boss).sources is None
    account("carl", "admin", source=shown)
    account("dora", "admin", group=group)
    assert admins_of(shown.pk) == ["boss", "carl", "dora"] and admins_of(hidden.pk) == ["boss"] == admins_of(None)
    assert whom_to_ask(shown.pk) == "boss, carl or dora"


def test_a_refusal_names_both_roles_and_who_can_give_one() -> None:
    viewer = Access("ann", (RoleOn(Role.VIEWER, frozenset([1])),))
    assert refusal_of(viewer, "approve", 1, "bob") == "To approve a repair takes an approver, and your role here is viewer. Ask bob for it."
    assert "you have no role on all sources" in refusal_of(viewer, "audit", None, "bob")
    masked = Access("ann", (RoleOn(Role.ADMIN, None, is_masked=True),))
    assert "whose secrets stay masked" in refusal_of(masked, "reveal", 1, "bob")
    assert list(ROLES) == ["viewer", "proposer", "approver", "admin"]
    assert ACTIONS["undo"].least == ACTIONS["apply"].least


@pytest.mark.django_db
def test_an_act_is_refused_before_anything_is_done_and_done_without_a_limit(tmp_path: Path) -> None:
    shown, _ = two_sources(tmp_path)
    account("boss", "admin")
    seen: list[object] = []

    @acts("apply")
    def act(about: Source, word: str) -> str:
        """It is done."""
        seen.append(current())
        return word

    ann = account("ann", "approver")
    with limited_to(Access("ann", (RoleOn(Role.PROPOSER, frozenset([shown.pk])),))):
        assert why_not("propose", shown) == ""
        with pytest.raises(NotPermitted, match=r"To apply a repair takes an approver, and your role here is proposer\. Ask boss for it\."):
            act(shown, "x")
        with pytest.raises(NotPermitted, match="you have no role on all sources"):
            permit("users")
    with limited_to(Access("ann", (RoleOn(Role.APPROVER, None),))):
        assert act(shown, "done") == "done" and seen == [None]
        assert unlimited(current)() is None and current() is not None
        ann.grants.all().delete()
        with pytest.raises(NotPermitted, match="you have no role here"):
            act(shown, "taken away since the request began")
    assert act(shown, "by a command") and act.__doc__ == "It is done."
    with pytest.raises(TypeError, match="Grant belongs to no source"):
        source_of(Grant())


@pytest.mark.django_db
def test_the_limit_is_that_of_the_person_and_not_of_the_approver(tmp_path: Path) -> None:
    """A plan that a person with a limit signs is computed as a command computes it."""
    repair = proposed(imported(tmp_path / "a.db", merged()), "renumber-messages")
    source = repair.conversation.source.pk
    with limited_to(Access("ann", (RoleOn(Role.PROPOSER, frozenset([source])),))), pytest.raises(NotPermitted):
        approve_repair(repair, "ann", repair.plan_digest, "unfixed")
    assert Repair.objects.get().state == "proposed"
    with limited_to(Access("ann", (RoleOn(Role.APPROVER, frozenset([source])),))):
        account("ann", "approver")
        approve_repair(repair, "ann", repair.plan_digest, "unfixed")
    assert Repair.objects.get().state == "approved"


def test_what_is_streamed_after_a_request_has_its_limit() -> None:
    access = Access("ann")

    def parts() -> object:
        yield b"1" if current() is access else b"0"
        yield b"2" if current() is access else b"0"

    assert [(part, current()) for part in parts_within(parts(), partial(limited_to, access))] == [(b"1", None), (b"2", None)]  # type: ignore[arg-type]


@pytest.mark.django_db
def test_at_the_upgrade_nobody_loses_and_nobody_gains() -> None:
    users = get_user_model().objects
    users.create_superuser("root")
    users.create_user("gone", is_active=False)
    users.create_user("ann")
    kind = ContentType.objects.get_for_model(Conversation)
    reveal, _ = Permission.objects.get_or_create(codename="reveal", content_type=kind)
    users.create_user("bob").user_permissions.add(reveal)
    Group.objects.create(name="all").permissions.add(reveal)
    users.create_user("carl").groups.add(Group.objects.get())
    import_module("inspector.migrations.0036_access").grants_of_accounts(apps, None)
    grants = Grant.objects.values_list("user__username", "role", "is_masked", "source", "group")
    assert list(grants) == [
        ("ann", "approver", True, None, None),
        ("bob", "approver", False, None, None),
        ("carl", "approver", False, None, None),
    ]
