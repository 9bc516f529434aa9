"""Who may ask what: each role at every address with every method that it takes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import render
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from inspector.access.roles import ACTIONS, ROLES, Role
from inspector.models import BackgroundTask, Conversation, Finding, Problem, Repair, RepairGroup, ShareLink, Source, Stream
from inspector.views import pages
from tests.access.planted import World, world
from tests.access.test_nothing_leaks import filled, routes
from tests.accounts import account
from tests.reliability import TRIES

ANYBODY, SOMEBODY = "anybody", "who is admin of a source"
"""Whoever signed in, without a role too."""
OF_ALL = ("index.json", "trends", "conversations", "streams", "diagnose", "explain", "check", "repairs", "sources")
OF_ALL += (
    "reference",
    "rules",
    "rules/<slug:code>",
    "strategies",
    "strategies/<slug:name>",
    "whatif",
    "formats",
    "readers",
    "projections",
    "profiles",
)
OF_ALL += ("live", "tasks")
OF_ALL += ("account", "login/provider", "login/provider/done", "login", "logout", "password", "welcome/<slug:uidb64>/<slug:token>")
GET: dict[str, str] = {
    "": ANYBODY,
    **dict.fromkeys(OF_ALL, ANYBODY),
    "audit": "audit",
    "metrics": "metrics",
    "notifications": "notify",
    "notifications/<slug:oid>": "notify",
    "audit/export.csv": "audit",
    "audit/export.jsonl": "audit",
    "users": SOMEBODY,
    "users/<int:pk>": SOMEBODY,
    "users/groups": "users",
    "users/groups/<int:pk>": "users",
    "sources/add": "add source",
    "sources/<slug:oid>/remove": "remove",
    "new-link/<slug:kind>/<slug:oid>": "share",
    "links": SOMEBODY,
    "share/<slug:token>": ANYBODY,
}
"""What an address takes that has no id of a source or of something in it; all others take the action `see`. `.json`, `.md` and `/` are the same address."""
POST = {
    "account/sessions/<int:pk>/end": ANYBODY,
    "account/sessions/end": ANYBODY,
    "account/tokens": ANYBODY,
    "account/tokens/<int:pk>/revoke": ANYBODY,
    "check": ANYBODY,
    "conversations/<slug:oid>/repairs/new": "propose",
    "diagnose": ANYBODY,
    "explain": ANYBODY,
    "login": ANYBODY,
    "logout": ANYBODY,
    "notifications": "notify",
    "notifications/<slug:oid>": "notify",
    "notifications/<slug:oid>/remove": "notify",
    "notifications/<slug:oid>/test": "notify",
    "password": ANYBODY,
    "users": "users",
    "users/<int:pk>/link": "users",
    "users/<int:pk>/roles": "users",
    "users/<int:pk>/state": "users",
    "users/<int:pk>/tokens": "tokens",
    "users/groups": "users",
    "users/groups/<int:pk>": "users",
    "users/roles": SOMEBODY,
    "problems/<slug:oid>/repair": "propose",
    "problems/decide": "decide",
    "problems/views": ANYBODY,
    "repair-groups/<slug:oid>/again": "propose",
    "repair-groups/<slug:oid>/apply": "apply",
    "repair-groups/<slug:oid>/approve": "approve",
    "repair-groups/<slug:oid>/reject": "reject",
    "repair-groups/<slug:oid>/reviewers": "ask",
    "repair-groups/<slug:oid>/undo": "undo",
    "repairs/<slug:oid>/apply": "apply",
    "repairs/<slug:oid>/approve": "approve",
    "repairs/<slug:oid>/changes": "request changes",
    "repairs/<slug:oid>/comments": "comment",
    "repairs/<slug:oid>/reject": "reject",
    "repairs/<slug:oid>/reviewers": "ask",
    "repairs/<slug:oid>/undo": "undo",
    "repairs/decide": ANYBODY,
    "links/<slug:oid>/revoke": "share",
    "new-link/<slug:kind>/<slug:oid>": "share",
    "sources/<slug:oid>": "reader",
    "sources/<slug:oid>/import": "import",
    "sources/<slug:oid>/remove": "remove",
    "sources/<slug:oid>/watch": "watch",
    "sources/<slug:oid>/write-back": "write back",
    "sources/add": "add source",
    "sources/demo": "demo",
    "sources/watch": ANYBODY,
    "welcome/<slug:uidb64>/<slug:token>": ANYBODY,
}


def name_of(route: str) -> str:
    return route.removesuffix("/").removesuffix(".json").removesuffix(".md").removesuffix(".html") if route != "index.json" else route


def is_allowed(action: str, role: Role | None, is_everywhere: bool) -> bool:
    if action == ANYBODY:
        return True
    if action == SOMEBODY:
        return role == Role.ADMIN
    about = ACTIONS[action]
    return role is not None and role >= about.least and (is_everywhere or not about.is_everywhere)


NAMES = (*ROLES, *(f"{role} of all" for role in ROLES), "nobody")
RENDERED = ("viewer", "admin of all")
"""Whose pages are made whole; of the others it counts whether they are answered, and what is said where they are not."""


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("names", [RENDERED, tuple(name for name in NAMES if name not in RENDERED)], ids=["pages", "answers"])
def test_every_role_at_every_address(
    names: tuple[str, ...], tmp_path: Path, settings: Settings, record_property: Callable[[str, object], None]
) -> None:
    made = world(tmp_path)
    settings.INSPECTOR_LOCAL, settings.ALLOWED_HOSTS, settings.VAR_DIR = False, ["testserver"], tmp_path
    wrong: list[tuple[object, ...]] = []
    tries = 0
    for name in names:
        with pytest.MonkeyPatch.context() as patch, transaction.atomic():
            if name not in RENDERED:
                patch.setattr(pages, "render", _rendered)
            asked, not_held = _asked(made, name)
            tries, wrong = tries + asked, wrong + not_held
            transaction.set_rollback(True)
    record_property(TRIES, tries)
    assert not wrong


def _rendered(request: Any, template: str, context: Any, status: int) -> HttpResponse:
    return HttpResponse() if status == 200 else render(request, template, context, status=status)


def _asked(made: World, name: str) -> tuple[int, list[tuple[object, ...]]]:
    """How many requests were sent, and those that were answered otherwise than the table says."""
    source = Source.objects.get(path__endswith="plain.db")
    is_everywhere, role = name.endswith(" of all"), ROLES.get(name.removesuffix(" of all"))
    ShareLink.objects.create(
        oid="link00000000", token_hash="x", kind="source", source=source, created_at=timezone.now(), expires_at=timezone.now()
    )
    user = account("ann", role.word if role else "", None if is_everywhere else source)
    if role and not is_everywhere:
        for other in made.shown:
            user.grants.get_or_create(role=role.word, source=other)
    client = Client()
    client.force_login(user)
    wrong: list[tuple[object, ...]] = []
    asked = 0
    for route, methods in routes():
        ids = _ids(route, source)
        is_about = bool(ids)
        (address,) = filled(route, ids or ["none"])
        address = address.replace("/users/1", f"/users/{user.pk}")
        get_action = GET.get(name_of(route), "see" if is_about else "missing")
        assert get_action != "missing" or "GET" not in methods, f"say in GET who may ask {route}"
        forms: list[tuple[str, str, dict[str, Any]]] = []
        if "GET" in methods:
            forms.append(("get", get_action, {}))
            if is_about and get_action == "see":
                forms.append(("post", "reveal", {"reveal": "1"}))
        if "POST" in methods:
            action = POST[name_of(route)]
            row = Repair.objects.filter(oid__in=ids).first()
            form = {"digest": row.plan_digest if row else "", "statement": "unfixed", "text": "x", "on": "1", "answers": "1"}
            problem = Problem.objects.filter(source=source).first()
            form |= {"problem": problem.oid if problem else "", "action": "acknowledge", "error": "x", "body": "{}"}
            forms.append(("post", action, form | ({"on": "all", "role": "viewer"} if route.endswith("/roles/") else {})))
        for method, action, form in forms:
            with transaction.atomic():
                answer = getattr(client, method)(address, form)
                transaction.set_rollback(True)
            client.force_login(user)
            asked += 1
            may, is_seen = is_allowed(action, role, is_everywhere), role is not None or not is_about
            refused = answer.status_code == 403 or (not is_seen and answer.status_code == 404)
            if answer.status_code >= 500 or refused is may:
                wrong.append((name, method, address, action, answer.status_code))
            if answer.status_code == 403 and method == "get":
                text = answer.content.decode()
                assert "Ask an administrator for it." in text and ("no role" in text or (role and role.word in text)), address
    assert asked > 120
    return asked, wrong


def _ids(route: str, source: Source) -> list[str]:
    """Of one thing of the source that an address may be about; of streams, of whatever source."""
    of: dict[str, Any] = {
        "conversations": Conversation.objects.filter(source=source, native_id="plain-one"),
        "findings": Finding.objects.filter(conversation__source=source, is_open=True),
        "problems": Problem.objects.filter(source=source),
        "repairs": Repair.objects.filter(conversation__source=source, state="proposed", group=None),
        "repair-groups": RepairGroup.objects.filter(source=source),
        "sources": Source.objects.filter(pk=source.pk),
        "new-link": Conversation.objects.filter(source=source, native_id="plain-one"),
        "links": ShareLink.objects.filter(source=source),
        "streams": Stream.objects.filter(source__path__contains="shown"),
    }
    if "<slug:key>" in route:
        return list(source_tasks(source))
    kind = route.partition("/")[0]
    return list(of[kind].values_list("oid", flat=True)[:1]) if "<slug:oid>" in route and kind in of else []


def source_tasks(source: Source) -> list[str]:
    return list(BackgroundTask.objects.filter(source=source, kind="plan").values_list("key", flat=True)[:1])


def test_the_table_names_no_address_that_is_not_there() -> None:
    known = {name_of(route) for route, _ in routes()}
    assert set(GET) | set(POST) <= known
    assert {name_of(route) for route, methods in routes() if "POST" in methods} == set(POST)
