"""Of a source that a person may not see nothing is found at any address, and every answer is what it would be without that source."""

import re
from collections.abc import Iterator
from itertools import islice

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import get_resolver
from pytest_django import Settings

from inspector.models import Grant, Repair, Source
from inspector.models.problem import Problem
from inspector.sign_in import sessions
from tests.access.planted import WORD, World, remove, world
from tests.accounts import account
from tests.kept import Kept
from tests.views.reaching import whole

UNKNOWN = "0123456789ab"
QUERIES = (
    *(f"/conversations/?{query}" for query in (f"q={WORD}", "q=hello", "state=damaged", "gone=1", "sort=size")),
    *(f"/conversations.json?{query}" for query in (f"q={WORD}", "q=the")),
    *("/live/?of=everything&seen=0.0.0.0.0.0", "/live/?of=everything&seen=1.1.1.1.1.1"),
    *("/streams/?state=damaged", "/streams.json", "/index.json?tab=all", "/?tab=all", f"/?q={WORD}", f"/?assigned={WORD}", "/?tab=review"),
    *("/trends/?by=source", "/trends.json?by=source", "/trends.json?by=version", "/repairs/?tab=approved", "/repairs.json?tab=waiting"),
    *(f"/explain/?target={WORD}-one", f"/explain/?error={WORD}", f"/whatif/?q={WORD}", f"/audit/?who={WORD}"),
)
_NEVER_EQUAL = re.compile(
    rb'<time [^>]*>[^<]*</time>|(?<=csrfmiddlewaretoken" value=")\w+|(?<=x-csrftoken": ")\w+|"(?:at|now|age)": "[^"]*"'
)


@pytest.fixture
def made(db: None, kept: Kept, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> World:
    # On a slow machine a session would be noted as seen again between two looks.
    monkeypatch.setattr(sessions, "STEP", 10**9)
    made = kept("world", world)
    settings.INSPECTOR_LOCAL, settings.ALLOWED_HOSTS = False, ["testserver"]
    return made


def of(made: World, name: str, role: str) -> Client:
    """Signed in, with a role on each source that is shown."""
    user = account(name, "")
    for source in made.shown:
        Grant.objects.create(user=user, role=role, source=source)
    client = Client()
    client.force_login(user)
    return client


def routes() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every address with the methods that its view takes."""
    for pattern in get_resolver().url_patterns:
        yield str(pattern.pattern), getattr(pattern.callback, "methods", ("GET", "HEAD"))  # type: ignore[union-attr]


VALUES = {
    "old": "1",
    "new": "1",
    "position": "0",
    "digest": "0" * 64,
    "side": "client",
    "number": "0",
    "code": "X1",
    "name": "x",
    "pk": "1",
}
VALUES |= {"uidb64": "MQ", "token": "x", "kind": "conversation"}


def filled(route: str, ids: list[str]) -> Iterator[str]:
    """The address for each id; once where it takes none."""
    of_id = re.compile(r"<slug:(?:oid|key)>")
    for oid in ids if of_id.search(route) else ids[:1]:
        yield "/" + re.sub(r"<\w+:(\w+)>", lambda match: VALUES[match[1]], of_id.sub(oid, route))


def body(answer: HttpResponse) -> bytes:
    """Read once: what is streamed is gone after it."""
    if not hasattr(answer, "body"):
        answer.body = whole(answer)  # type: ignore[attr-defined]
    return answer.body  # type: ignore[attr-defined,no-any-return]


def plain(answer: HttpResponse, *ids: str) -> bytes:
    """What is left of an answer without times, form tokens and the id that was asked for."""
    content = _NEVER_EQUAL.sub(b"", body(answer))
    for oid in ids:
        content = content.replace(oid.encode(), b"ID")
    return b"%d %s %s" % (answer.status_code, answer.get("Location", "").replace(ids[0] if ids else "\0", "ID").encode(), content)


def leaks(answer: HttpResponse, made: World, asked: str = "") -> list[str]:
    text = (body(answer) + str(answer.headers).encode()).decode(errors="replace").lower()
    hidden = {oid for kind, (_, ids) in made.ids.items() for oid in ids} - {oid for _, (ids, _) in made.ids.items() for oid in ids}
    return [oid for oid in (*hidden, WORD) if oid in text and oid not in asked.lower()]


def every_address(made: World, which: int) -> list[str]:
    found = []
    for route, methods in routes():
        kind = route.partition("/")[0]
        ids = made.ids.get(kind, ([], []))[which][:6] or [UNKNOWN]
        if "GET" in methods and not route.startswith(("login/", "logout/")):
            found += filled(route, ids)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("role", ["viewer", "admin"])
def test_a_hidden_source_is_the_same_as_none(made: World, role: str) -> None:
    """For a viewer, and for an admin of all that is shown."""
    boss = Client()
    boss.force_login(account("boss", "viewer"))
    client = of(made, "ann", role)
    before = _looked(made, client, boss)
    remove(made.hidden)
    assert not Source._base_manager.filter(path__contains=WORD).exists() and Repair._base_manager.exists()
    for address in before:
        after = plain(client.get(address))
        first = next((at for at, (old, new) in enumerate(zip(before[address], after, strict=False)) if old != new), 0)
        assert after == before[address], (address, before[address][first - 100 : first + 200], after[first - 100 : first + 200])


def _looked(made: World, client: Client, boss: Client) -> dict[str, bytes]:
    """What each address answers while the hidden sources are there."""
    mine = [*every_address(made, 0), *QUERIES, *(f"/conversations/?source={source.oid}" for source in made.hidden)]
    theirs = {address: oid for kind, (_, ids) in made.ids.items() for oid in ids for address in _with_id(kind, oid)}
    for address in mine:
        # What is worked out by a task is shown from the second look on.
        whole(client.get(address))
    before = {}
    for address in mine:
        answer = client.get(address)
        assert not leaks(answer, made, address), (address, leaks(answer, made, address))
        before[address] = plain(answer)
    expected: dict[str, bytes] = {}
    for address, oid in theirs.items():
        answer = client.get(address)
        assert not leaks(answer, made, address), (address, leaks(answer, made, address))
        unknown = UNKNOWN if len(oid) == 12 else "0" * len(oid)
        other = address.replace(oid, unknown)
        expected[other] = expected.get(other) or plain(client.get(other), unknown)
        assert plain(answer, oid) == expected[other], address
    for address in ("/explain/", "/diagnose/", "/diagnose.json"):
        answer = client.post(
            address, {"error": f"{WORD}-call", "text": f"tool_use ids without tool_result: {WORD}-call", "target": f"{WORD}-one"}
        )
        assert b"zanthorp.db" not in body(answer) and not [oid for oid in leaks(answer, made) if oid != WORD], address
    found = (address for address in mine if leaks(boss.get(address), made, address))
    assert len(list(islice(found, 16))) == 16, "who sees all finds the word there"
    return before


def _with_id(kind: str, oid: str) -> Iterator[str]:
    """Every address that takes an id of this kind, and each that takes one in its query."""
    for route, methods in routes():
        of_kind = route.partition("/")[0] == ("streams" if kind == "stream-findings" else kind)
        if of_kind and "GET" in methods and re.search("<slug:(oid|key)>", route):
            yield from filled(route, [oid])
    if kind in ("conversations", "sources"):
        yield from (
            f"/conversations/?q={oid}",
            f"/?source={oid}",
            f"/streams/?source={oid}",
            f"/explain/?target={oid}",
            f"/trends/?source={oid}",
        )
        yield from (f"/conversations.json?source={oid}", f"/index.json?source={oid}", f"/sources/{oid}/import/")
        yield f"/live/?of={kind[:-1]}:{oid}&seen=1.1.1.1.1.1"


@pytest.mark.slow
def test_a_form_about_a_hidden_source_does_nothing(made: World) -> None:
    """With the highest role on the other sources."""
    client = of(made, "ann", "admin")
    rows = list(Repair._base_manager.values()), list(Source._base_manager.values()), list(Problem._base_manager.values())
    for route, methods in routes():
        kind = route.partition("/")[0]
        for oid in made.ids.get(kind, ([], []))[1] if "POST" in methods and "<slug:" in route else ():
            (address,) = filled(route, [oid])
            form = (
                {"reveal": "1"}
                if "GET" in methods
                else {"on": "1", "answers": "1", "digest": "x", "statement": "unfixed", "text": "x", "comment": "x"}
            )
            answer = client.post(address, form)
            assert answer.status_code in (403, 404) and not leaks(answer, made, address), (address, answer.status_code)
    problems = made.ids["problems"][1]
    client.post("/problems/decide/", {"problem": problems, "action": "acknowledge"})
    assert rows == (list(Repair._base_manager.values()), list(Source._base_manager.values()), list(Problem._base_manager.values()))
