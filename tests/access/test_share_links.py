"""Links without a login, attacked: they show one page, read-only and masked, for as long as they are open, and nothing else by any trick."""

import html
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from inspector.access.context import limited_to
from inspector.actions import share
from inspector.actions.problems import Refused
from inspector.actions.purge import purge
from inspector.actions.share import make_link, open_link
from inspector.logs import MaskedFormatter, WithoutToken
from inspector.models import AuditEntry, Conversation, Finding, Grant, Problem, Repair, ShareLink, Source, Stream
from inspector.views import shared
from tests.access.planted import WORD, World, world
from tests.accounts import account
from tests.kept import Kept

pytestmark = pytest.mark.django_db
LINK = re.compile(r"/share/[-\w]{32}/")


@pytest.fixture
def made(db: None, kept: Kept, settings: Settings) -> World:
    made = kept("world", world)
    settings.INSPECTOR_LOCAL, settings.ALLOWED_HOSTS = False, ["testserver"]
    shared.forget_tries()
    return made


@pytest.fixture
def plain(made: World) -> Source:
    return Source.objects.get(path__endswith="plain.db")


def signed_in(name: str, role: str = "admin", **on: Any) -> Client:
    client = Client()
    client.force_login(account(name, role, **on))
    return client


def link_to(client: Client, row: Any, **fields: str) -> str:
    """As a person makes it; the path of the link."""
    kind = type(row).__name__.lower()
    answer = client.post(f"/new-link/{kind}/{row.oid}/", {"days": "7", "note": "for the vendor", **fields})
    found = LINK.search(answer.content.decode())
    assert answer.status_code == 200 and found, answer.content.decode()[-3000:]
    assert answer["Cache-Control"] == "no-store", "the token is on this page only"
    return found[0]


def things(plain: Source) -> dict[str, Any]:
    row = plain.conversations.get(native_id="plain-one")
    return {
        "conversation": row,
        "finding": Finding.objects.filter(conversation=row, is_open=True)[0],
        "problem": Problem.objects.filter(source=plain)[0],
        "repair": Repair.objects.filter(conversation__source=plain)[0],
        "stream": Stream.objects.filter(source__path__contains="shown")[0],
    }


def test_each_kind_shows_its_page_read_only_and_leads_nowhere(made: World, plain: Source) -> None:
    boss, nobody = signed_in("boss"), Client()
    for kind, row in things(plain).items():
        path = link_to(boss, row)
        answer = nobody.get(path)
        text = answer.content.decode()
        assert answer.status_code == 200 and "read only" in text and "shared by boss until" in text, (kind, text[-2000:])
        # The token of the link is random, and may have any of these in it.
        words = text.replace(path, "/share/token/").lower()
        for name in ("<form", "<script", "<button", "<input", "<select", "<textarea", "hx-", "csrf", "onclick", "<iframe", "reveal"):
            assert name not in words, (kind, name)
        hrefs = {html.unescape(href) for href in re.findall(r'(?:href|src|action)="([^"]*)"', text)}
        assert all(href.startswith(("#", "/static/", path, "data:image/")) for href in hrefs), (kind, hrefs)
        assert answer["Cache-Control"] == "no-store" and "ETag" not in answer.headers and not answer.cookies, kind
        assert answer["Referrer-Policy"] == "no-referrer" and "noindex" in answer["X-Robots-Tag"] and 'content="noindex' in text
        assert WORD not in text, kind
        assert nobody.get(path, {"x": "1"}, HTTP_IF_NONE_MATCH="*").status_code == 200
    titles = [row.title for row in plain.conversations.all() if row.title]
    own = things(plain)["conversation"]
    page = nobody.get(link_to(boss, own)).content.decode()
    assert not [title for title in titles if title != own.title and title in page], "no other conversation of the same source"
    assert AuditEntry.objects.filter(verb="share").count() == 6 and AuditEntry.objects.filter(verb="open share").count() == 6
    assert ShareLink.objects.filter(kind="conversation", opened=2).exists()


def test_nothing_else_is_opened_with_a_stolen_link(made: World, plain: Source) -> None:
    boss, thief = signed_in("boss"), Client()
    row = things(plain)["conversation"]
    path = link_to(boss, row)
    before = thief.get(path).content
    hidden = made.hidden[0]
    other = Conversation.objects.filter(source=hidden)[0]
    for tail in ("x", "../", f"../../conversations/{other.oid}/", "chunks/0/raw/", "prompt/", "trace/", f"?x=/conversations/{other.oid}/"):
        answer = thief.get(path + tail)
        assert answer.status_code in (404, 302) or answer.content == before, tail
    for ending in (".json", ".md", ".html", "/bundle.zip"):
        assert thief.get(path.rstrip("/") + ending).status_code in (302, 404), ending
    finding = Finding.objects.filter(conversation=other).first()
    queries = (
        {"reveal": "1"}, {"leaf": "x"}, {"rev": "1"}, {"rev": "999"}, {"oid": other.oid}, {"reader": "nonsense"}, {"as": "x"}, {"q": WORD},
        {"finding": finding.oid if finding else "x"}, {"step": "x"}, {"profile": "nope"}, {"profiles": "all"}, {"again": "1"},
    )  # fmt: skip
    for query in queries:
        answer = thief.get(path, query)
        assert answer.status_code == 200 and WORD not in answer.content.decode(), query
        if "finding" not in query:
            assert answer.content == before, query
    for headers in (
        {"HTTP_HX_REQUEST": "true", "HTTP_HX_TARGET": "rows"},
        {"HTTP_HX_REQUEST": "true", "HTTP_HX_BOOSTED": "true"},
        {"HTTP_COOKIE": "x=y"},
    ):
        assert thief.get(path, **headers).content == before, headers
    for method in ("post", "put", "delete", "patch"):
        assert getattr(thief, method)(path, {"reveal": "1"}).status_code in (403, 405), method
    assert thief.get(f"/conversations/{row.oid}/").status_code == 302 and thief.get("/").status_code == 302, "it signs nobody in"
    # Who is signed in sees no more by it, and less than on the page itself.
    assert boss.get(path).content == before and boss.post(path, {"reveal": "1"}).status_code == 405
    assert not AuditEntry.objects.filter(verb="reveal").exists()


def test_it_ends_when_it_expires_is_revoked_or_its_maker_may_no_longer(made: World, plain: Source) -> None:
    ada, thief = signed_in("ada", source=plain), Client()
    row = things(plain)["conversation"]
    path = link_to(ada, row)
    assert thief.get(path).status_code == 200
    link = ShareLink.objects.get()
    ShareLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert_ended(thief, path, "has expired")
    ShareLink.objects.update(expires_at=link.expires_at)
    Grant.objects.filter(user__username="ada").update(role="approver")
    assert_ended(thief, path, "may no longer share")
    Grant.objects.filter(user__username="ada").update(role="admin")
    assert thief.get(path).status_code == 200
    type(Grant.objects.get(user__username="ada").user).objects.filter(username="ada").update(is_active=False)
    assert_ended(thief, path, "may no longer share")
    type(Grant.objects.get(user__username="ada").user).objects.filter(username="ada").update(is_active=True)
    assert "Revoke" in ada.get("/links/").content.decode()
    assert ada.post(f"/links/{link.oid}/revoke/").status_code == 302
    assert_ended(thief, path, "was revoked")
    assert AuditEntry.objects.get(verb="revoke share").who == "ada"
    other = link_to(ada, row)
    purge(row, "ada", "asked for")
    assert_ended(thief, other, "no longer in Inspector")
    assert thief.get("/share/" + "x" * 32 + "/").status_code == 404


def assert_ended(thief: Client, path: str, words: str) -> None:
    answer = thief.get(path)
    text = answer.content.decode()
    assert answer.status_code == 410 and words in text and "plain" not in text and answer["Cache-Control"] == "no-store", text


def test_secrets_are_masked_unless_it_was_said_and_its_maker_may(made: World, plain: Source, tmp_path: Path) -> None:
    from tests.views.imported import rows, store

    secret = "sk-ant-api03-" + "Ab3dEf6hIj9k" * 7
    own = store(
        tmp_path / "secret.db",
        rows("s", [{"chunk": {"type": "text", "text": f"key {secret}"}, "role": "user", "msgIdx": 0, "chunkIdx": 0}]),
    )
    row, boss, thief = own.conversations.get(), signed_in("boss"), Client()
    masked = thief.get(link_to(boss, row))
    assert secret not in masked.content.decode() and "[masked" in masked.content.decode()
    careful = signed_in("careful", source=own, masked=True)
    assert careful.post(f"/new-link/conversation/{row.oid}/", {"days": "7", "exact": "1"}).status_code == 403
    path = link_to(boss, row, exact="1")
    exact = thief.get(path)
    assert secret in exact.content.decode() and "as they are stored" in exact.content.decode() and exact["Cache-Control"] == "no-store"
    assert secret not in thief.get(link_to(boss, row)).content.decode(), "what was shown exactly is not kept for the others"
    account("other", "admin")
    Grant.objects.filter(user__username="boss").update(is_masked=True)
    assert_ended(thief, path, "may no longer share")


def test_the_token_is_kept_nowhere_and_is_in_no_log(made: World, plain: Source, caplog: pytest.LogCaptureFixture) -> None:
    import logging

    from django.db import connection

    boss = signed_in("boss")
    path = link_to(boss, things(plain)["conversation"])
    token = path.split("/")[2]
    Client().get(path)
    assert token not in boss.get("/links/").content.decode() + str(list(ShareLink.objects.values())) + str(
        list(AuditEntry.objects.values())
    )
    assert token not in boss.get("/audit/").content.decode() and token not in boss.get("/links.json").content.decode()
    record = logging.LogRecord("django.server", 20, "x", 1, '"GET %s HTTP/1.1" 200', (path,), None)
    assert token not in MaskedFormatter("%(message)s").format(record)
    WithoutToken().filter(record)
    assert token not in record.getMessage() and "/share/***" in record.getMessage()
    assert connection.vendor


def test_a_token_is_not_masked_where_it_is_shown_once(made: World, plain: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of a hundred thousand looks like the key of a provider."""
    drawn = iter(["hf_IEeWz-7jE7bgOSl3BkkyPXTLL7_eF", "r8_QCyE8GbTO5WcuSYZZxx7q8cPAthmB", "IEeWz-7jE7bgOSl3BkkyPXTLL7_eFr8x"])
    monkeypatch.setattr(share.secrets, "token_urlsafe", lambda size: next(drawn))
    path = link_to(signed_in("boss"), things(plain)["conversation"])
    assert path == "/share/IEeWz-7jE7bgOSl3BkkyPXTLL7_eFr8x/" and Client().get(path).status_code == 200


def test_who_tries_many_waits(made: World, plain: Source) -> None:
    boss, thief = signed_in("boss"), Client()
    path = link_to(boss, things(plain)["conversation"])
    answers = [thief.get(f"/share/{number:032d}/") for number in range(shared.TRIES + 1)]
    assert {answer.status_code for answer in answers[:-1]} == {404} and answers[-1].status_code == 429 and answers[-1]["Retry-After"]
    assert thief.get(path).status_code == 429 and thief.get(path, REMOTE_ADDR="203.0.113.9").status_code == 200
    for number in range(30):
        shared._count(str(number))
    assert shared._tried("0", clock=lambda: 1e12) == 0


def test_links_are_made_listed_and_revoked_by_admins_of_their_source(made: World, plain: Source) -> None:
    boss, ada = signed_in("boss"), signed_in("ada", source=plain)
    row = things(plain)["conversation"]
    other = next(each for each in made.shown if each.pk != plain.pk and each.conversations.exists())
    link_to(boss, other.conversations.all()[0], note="for others")
    link_to(ada, row)
    assert "for others" not in ada.get("/links/").content.decode() and len(ada.get("/links.json").json()["links"]) == 1
    assert len(boss.get("/links.json").json()["links"]) == 2
    foreign = ShareLink.objects.get(note="for others")
    assert (
        ada.post(f"/links/{foreign.oid}/revoke/").status_code == 404
        and ada.get(f"/new-link/conversation/{other.conversations.all()[0].oid}/").status_code == 404
    )
    for role in ("viewer", "proposer", "approver"):
        low = signed_in(role, role)
        assert (low.get("/links/").status_code, low.get(f"/new-link/conversation/{row.oid}/").status_code) == (403, 403), role
        assert low.post(f"/links/{foreign.oid}/revoke/").status_code == 403
        assert "Share without a login" not in low.get(f"/conversations/{row.oid}/").content.decode()
    assert f"/new-link/conversation/{row.oid}/" in ada.get(f"/conversations/{row.oid}/").content.decode()
    for wrong in ({"days": "8"}, {"days": "x"}, {}):
        answer = ada.post(f"/new-link/conversation/{row.oid}/", wrong | {"note": "for the vendor"})
        page = answer.content.decode()
        assert answer.status_code == 409 and 'id="share-days-problem">Choose from the list' in page and 'value="for the vendor"' in page
    assert ada.get(f"/new-link/source/{plain.oid}/").status_code == 404


def test_the_list_has_a_tab_of_what_ended_and_is_sorted(made: World, plain: Source) -> None:
    boss, row = signed_in("boss"), things(plain)["conversation"]
    for note in ("a", "b", "c", "d"):
        link_to(boss, row, note=note)
    a, _, c, d = ShareLink.objects.order_by("id")
    now = timezone.now()
    ShareLink.objects.filter(pk=a.pk).update(expires_at=now - timedelta(days=2))
    ShareLink.objects.filter(pk=c.pk).update(opened=7)
    boss.post(f"/links/{d.oid}/revoke/")

    def notes(query: str) -> list[str]:
        return [link["note"] for link in boss.get(f"/links.json{query}").json()["links"]]

    assert notes("") == ["d", "c", "b", "a"] and notes("?tab=open") == ["c", "b"] and notes("?tab=ended") == ["d", "a"]
    assert notes("?tab=ended&sort=ends") == ["a", "d"], "when it was revoked, not when it would have expired"
    assert notes("?tab=open&sort=made") == ["b", "c"] == notes("?tab=open&sort=opened") and notes("?sort=nothing") == notes("?sort=-made")
    page = boss.get("/links/").content.decode()
    assert (
        page.count(">Revoke</button>") == 2 and 'Open <span class="count">2</span>' in page and 'Ended <span class="count">2</span>' in page
    )
    ended = boss.get("/links/?tab=ended").content.decode()
    assert ">Revoke</button>" not in ended and "revoked " in ended and "expired " in ended
    ShareLink.objects.filter(revoked_at=None).update(expires_at=now)
    assert "No link is open." in boss.get("/links/").content.decode()


def test_in_local_mode_none_is_offered(made: World, plain: Source, client: Client, settings: Settings) -> None:
    settings.INSPECTOR_LOCAL = True
    row = things(plain)["conversation"]
    assert "nobody but the person at this machine" in client.get(f"/new-link/conversation/{row.oid}/").content.decode()
    assert "Share without a login" not in client.get(f"/conversations/{row.oid}/").content.decode()
    with pytest.raises(Refused, match="In local mode"):
        make_link(row, "x", 7, False, "")


def test_a_limit_of_one_thing_hides_the_rest_of_its_source(
    made: World, plain: Source, django_assert_max_num_queries: Callable[..., Any]
) -> None:
    row = things(plain)["conversation"]
    client = signed_in("boss")
    token = link_to(client, row).split("/")[2]
    opened = open_link(token)
    assert opened is not None
    with limited_to(opened.access):
        assert list(Conversation.objects.all()) == [row] and list(Source.objects.exclude(is_trace=True)) == [plain]
        assert not Problem.objects.exists() and not Stream.objects.exists() and not ShareLink.objects.exists()
        assert {finding.conversation_id for finding in Finding.objects.all()} == {row.pk}
    problem = things(plain)["problem"]
    opened = open_link(link_to(client, problem).split("/")[2])
    assert opened is not None
    with limited_to(opened.access):
        assert (
            list(Problem.objects.all()) == [problem]
            and Conversation.objects.count() == problem.occurrences.exclude(conversation=None).count()
        )
    assert open_link("x" * 32) is None
