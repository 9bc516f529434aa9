"""OpenID Connect against a real provider in a process of its own, also where its answers are wrong."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from django.conf import settings as configured
from django.contrib.auth import get_user_model
from django.test import Client
from pytest_django import Settings

from inspector.models import AuditEntry, Grant, Identity, SourceGroup
from inspector.sign_in import provider
from inspector.sign_in.mapping import mapping_of
from tests.accounts import account
from tests.commands.running import run
from tests.reliability import TRIES
from tests.sign_in.provider_server import CLIENT, SECRET

pytestmark = [pytest.mark.slow, pytest.mark.django_db]
BASE = "http://testserver"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    command = [sys.executable, "-m", "tests.sign_in.provider_server", str(tmp_path_factory.mktemp("provider")), BASE]
    process = subprocess.Popen(command, cwd=configured.BASE_DIR, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.kill()
    process.wait()


@pytest.fixture
def at(server: str, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> str:
    settings.INSPECTOR_LOCAL, settings.ALLOWED_HOSTS, settings.INSPECTOR_BASE_URL = False, ["testserver"], BASE
    settings.INSPECTOR_OIDC_ISSUER, settings.INSPECTOR_OIDC_CLIENT_ID, settings.INSPECTOR_OIDC_CLIENT_SECRET = f"{server}/o", CLIENT, SECRET
    settings.INSPECTOR_NEW_PEOPLE = "all"
    monkeypatch.setattr(provider, "_app", None)
    control(server, fault="", claims={})
    return server


def control(server: str, **state: Any) -> None:
    assert requests.post(f"{server}/control/", data=json.dumps(state), timeout=20).status_code == 200


def led_back(server: str, address: str, name: str) -> str:
    """What the browser of a person does at the provider; the path with which they come back."""
    browser = requests.Session()
    browser.get(f"{server}/in/", params={"as": name}, timeout=20)
    answer = browser.get(address, allow_redirects=False, timeout=20)
    back = answer.headers["Location"]
    assert back.startswith(f"{BASE}/login/provider/done/?"), back
    return back.removeprefix(BASE)


def signed_in(server: str, name: str = "ann", next_page: str = "/sources/", client: Client | None = None) -> tuple[Client, Any]:
    client = client or Client()
    begun = client.get("/login/provider/", {"next": next_page})
    return client, client.get(led_back(server, begun["Location"], name))


def sentence(answer: Any) -> str:
    text = answer.content.decode()
    return text.partition('role="alert">')[2].partition("</p>")[0]


def test_a_person_comes_in_with_code_pkce_state_and_nonce_and_is_known_by_their_subject(at: str) -> None:
    client = Client()
    assert (
        f'href="/login/provider/?next=%2Fsources%2F">Sign in with {provider.host()}'
        in client.get("/login/?next=/sources/").content.decode()
    )
    begun = client.get("/login/provider/?next=/sources/")
    asked = {name: values[0] for name, values in parse_qs(urlsplit(begun["Location"]).query).items()}
    assert (
        asked["response_type"] == "code" and asked["code_challenge_method"] == "S256" and len(asked["nonce"]) >= 20 <= len(asked["state"])
    )
    assert asked["redirect_uri"] == f"{BASE}/login/provider/done/" and asked["scope"].split()[0] == "openid"
    cookie = begun.cookies[provider.COOKIE]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"], cookie["max-age"]) == (True, "Lax", "/login/", 600)
    assert begun["Cache-Control"] == "no-store" and asked["nonce"] not in cookie.value
    back = led_back(at, begun["Location"], "ann")
    done = client.get(back)
    assert (done.status_code, done["Location"]) == (302, "/sources/") and not done.cookies[provider.COOKIE].value
    ann = get_user_model().objects.get(username="ann")
    identity = Identity.objects.get()
    assert (identity.user, identity.issuer) == (ann, f"{at}/o") and not ann.has_usable_password() and not ann.email
    assert "no role on any source yet" in client.get("/").content.decode()
    assert client.get("/account.json").json()["sessions"][0]["by"] == "provider"
    # The same subject is the same account, whatever they are called now; the same name with another subject is nobody's.
    control(at, claims={"preferred_username": "annette"})
    assert signed_in(at)[1].status_code == 302 and get_user_model().objects.count() == 1
    control(at, claims={"preferred_username": "ann"})
    refused = signed_in(at, "mallory")[1]
    assert refused.status_code == 403 and "There is an account ann already, and it does not sign in this way." in sentence(refused)
    assert "The provider knows you as " in sentence(refused) and get_user_model().objects.count() == 1
    lines = list(AuditEntry.objects.order_by("id").values_list("who", "verb"))
    assert lines == [("ann", "add user"), ("ann", "connect user"), ("ann", "sign in"), ("ann", "sign in")]


def test_an_account_made_by_hand_is_not_taken_over_by_its_name_or_e_mail(at: str) -> None:
    boss = account("boss", "admin", email="boss@example.org", password="x")
    refused = signed_in(at, "boss")[1]
    assert (
        refused.status_code == 403 and "Ask boss to connect it with `user connect`." in sentence(refused) and not Identity.objects.exists()
    )
    subject = sentence(refused).partition("knows you as ")[2].rstrip(".")
    assert "Name the id" in run("user", "connect", "boss").err
    assert run("user", "connect", "boss", "--subject", subject).out == f"boss signs in with {at}/o as {subject}.\n"
    assert "signs in as boss already" in run("user", "connect", "boss", "--subject", subject).err
    client, done = signed_in(at, "boss")
    assert done.status_code == 302 and client.get("/audit/").status_code == 200
    boss.is_active = False
    boss.save()
    assert client.get("/audit/").status_code == 302
    assert "Your account is disabled." in sentence(signed_in(at, "boss")[1])


def test_groups_give_and_take_roles_at_each_sign_in_and_those_by_hand_stay(
    at: str, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.INSPECTOR_GROUP_ROLES = mapping_of('{"/team a":"viewer","leads":["approver@payments","proposer"],"gone":"admin@nowhere"}')
    settings.INSPECTOR_NEW_PEOPLE = "mapped"
    payments = SourceGroup.objects.create(name="payments")
    assert "Inspector has no account for you." in sentence(signed_in(at, "bob")[1])
    control(at, claims={"groups": ["others", "/team a", "leads", "gone", 7]})
    assert signed_in(at, "bob")[1].status_code == 302
    bob = get_user_model().objects.get()
    Grant.objects.create(user=bob, role="viewer", group=payments)

    def roles() -> set[tuple[str, str, bool]]:
        return {(grant.role, grant.on, grant.is_mapped) for grant in bob.grants.all()}

    by_hand = ("viewer", "the group payments", False)
    assert roles() == {by_hand, ("proposer", "all sources", True), ("approver", "the group payments", True)}
    assert "a group of sources that there is not: nowhere" in caplog.text
    control(at, claims={"groups": "/team a"})
    signed_in(at, "bob")
    assert roles() == {by_hand, ("viewer", "all sources", True)}
    # Said only by its userinfo.
    control(at, claims={"groups": ["leads"]}, fault="no groups in the token")
    signed_in(at, "bob")
    assert ("approver", "the group payments", True) in roles()
    settings.INSPECTOR_OIDC_GROUPS = "realm.roles"
    control(at, claims={"realm": {"roles": ["/team a"]}}, fault="")
    signed_in(at, "bob")
    assert roles() == {by_hand, ("viewer", "all sources", True)}
    control(at, claims={})
    assert signed_in(at, "bob")[1].status_code == 302, "who has an account keeps it without a role"
    assert roles() == {by_hand}
    settings.INSPECTOR_NEW_PEOPLE = "none"
    control(at, claims={"groups": ["leads"]})
    assert "Inspector has no account for you." in sentence(signed_in(at, "eve")[1])


WRONG = {
    "nonce": "'nonce'",
    "no nonce": "'nonce'",
    "audience": "'aud'",
    "audience with azp": "'aud'",
    "issuer": "'iss'",
    "expired": "expired",
    "subject": "no ID token that says who it is",
    "at_hash": "'at_hash'",
    "unsigned": "'none' is not allowed",
    "secret": "'HS256' is not allowed",
    "cut": "bad_signature",
    "other key": "bad_signature",
    "no JSON": "not a JSON object",
    "userinfo": "about somebody else",
    "token endpoint": "502",
}


def test_a_wrong_answer_signs_nobody_in(at: str, caplog: pytest.LogCaptureFixture, record_property: Callable[[str, object], None]) -> None:
    record_property(TRIES, len(WRONG))
    for fault, reason in WRONG.items():
        caplog.clear()
        # Without a name in the ID token the userinfo is asked.
        control(at, fault=fault, claims={"preferred_username": None} if fault == "userinfo" else {})
        client, answer = signed_in(at)
        if reason == "502":
            assert answer.status_code == 502 and "127.0.0.1 does not answer" in sentence(answer)
        else:
            assert answer.status_code == 403, fault
            assert sentence(answer) == "The answer of 127.0.0.1 was not accepted, so nobody was signed in: sign in again."
        assert reason in caplog.text, fault
        assert client.get("/").status_code == 302 and not answer.cookies[provider.COOKIE].value, fault
    assert not get_user_model().objects.exists()
    control(at, fault="")
    assert signed_in(at)[1].status_code == 302


def test_a_sign_in_is_of_one_browser_and_once(at: str) -> None:
    client = Client()
    begun = client.get("/login/provider/")
    cookie = client.cookies[provider.COOKIE].value
    back = led_back(at, begun["Location"], "ann")
    elsewhere = Client().get(back)
    assert elsewhere.status_code == 403 and "begun in another browser" in sentence(elsewhere), "a link that somebody sends signs nobody in"
    other = Client()
    other.get("/login/provider/")
    assert "the end of another sign-in" in sentence(other.get(back))
    assert client.get(back).status_code == 302
    again = Client()
    assert "begun in another browser" in sentence(client.get(back))
    again.cookies[provider.COOKIE] = cookie
    replayed = again.get(back)
    assert replayed.status_code == 403 and "was not accepted" in sentence(replayed), "the provider takes a code once"
    forged = Client()
    forged.cookies[provider.COOKIE] = cookie[:-4] + "AAAA"
    assert "begun in another browser" in sentence(forged.get(back))
    client = Client()
    state = parse_qs(urlsplit(client.get("/login/provider/")["Location"]).query)["state"][0]
    denied = client.get("/login/provider/done/", {"error": "<b>access_denied", "state": state})
    assert denied.status_code == 403 and "did not sign you in (&lt;b&gt;access_denied)" in sentence(denied)
    client = Client()
    begun = client.get("/login/provider/")
    mixed = client.get(led_back(at, begun["Location"], "ann") + "&iss=https://another.example")
    assert "from another provider" in sentence(mixed) or mixed.status_code == 403


@pytest.mark.parametrize(
    "next_page", ["https://evil.example/", "//evil.example/", "/\\evil.example", "\\\\evil.example", "javascript:alert(1)", "/login/provider/", "", "http:///x", "/\t/evil.example"]
)  # fmt: skip
def test_next_leads_to_a_page_of_ours_only(next_page: str) -> None:
    assert provider.safe_next(next_page) == "/"
    assert provider.safe_next("/problems/x/?a=b#c") == "/problems/x/?a=b#c"


def test_below_a_path_the_way_back_and_the_cookie_are_below_it_too(at: str, settings: Settings) -> None:
    settings.INSPECTOR_BASE_URL = f"{BASE}/inspector"
    begun = Client().get("/inspector/login/provider/?next=/rules/")
    assert parse_qs(urlsplit(begun["Location"]).query)["redirect_uri"] == [f"{BASE}/inspector/login/provider/done/"]
    assert begun.cookies[provider.COOKIE]["path"] == "/inspector/login/"
    page = Client().get("/inspector/login/?next=/rules/").content.decode()
    assert 'href="/inspector/login/provider/?next=%2Frules%2F"' in page and 'action="/inspector/login/"' in page


def test_a_browser_is_not_led_elsewhere(at: str) -> None:
    assert signed_in(at, next_page="https://evil.example/")[1]["Location"] == "/"


def test_new_keys_of_the_provider_are_read_when_they_are_met(at: str) -> None:
    assert signed_in(at)[1].status_code == 302
    control(at, rotate=True)
    assert signed_in(at)[1].status_code == 302


def test_a_provider_that_is_down_or_another_is_one_sentence(at: str, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    control(at, fault="discovery")
    answer = Client().get("/login/provider/")
    assert answer.status_code == 403 and "was not accepted" in sentence(answer)
    settings.INSPECTOR_OIDC_ISSUER = "http://127.0.0.1:9/o"
    answer = Client().get("/login/provider/?next=/x/")
    assert answer.status_code == 502 and "127.0.0.1 does not answer, so nobody can sign in with it now" in sentence(answer)
    assert 'name="password"' in answer.content.decode()
    settings.INSPECTOR_PASSWORDS = False
    page = Client().get("/login/").content.decode()
    assert 'name="password"' not in page and "Sign in with 127.0.0.1" in page
    account("ada", password="correct horse battery")
    assert Client().post("/login/", {"username": "ada", "password": "correct horse battery"}).status_code == 403


def test_who_signs_out_is_led_to_sign_out_of_the_provider_too(at: str) -> None:
    client, _ = signed_in(at)
    left = client.post("/logout/")
    page = left.content.decode()
    assert left.status_code == 200 and "You are signed out of Inspector" in page and left["Cache-Control"] == "no-store"
    from html import unescape

    link = unescape(page.partition('<a class="btn main wide" href="')[2].partition('"')[0])
    asked = parse_qs(urlsplit(link).query)
    assert (
        link.startswith(f"{at}/o/logout/?")
        and asked["post_logout_redirect_uri"] == [f"{BASE}/login/"]
        and asked["id_token_hint"][0].count(".") == 2
    )
    browser = requests.Session()
    browser.get(f"{at}/in/", params={"as": "ann"}, timeout=20)
    out = browser.get(link, allow_redirects=False, timeout=20)
    assert out.status_code == 302 and out.headers["Location"].startswith(f"{BASE}/login/")
    assert client.get("/").status_code == 302
    account("ada", password="correct horse battery")
    client.post("/login/", {"username": "ada", "password": "correct horse battery"})
    assert client.post("/logout/")["Location"] == "/login/?signed=out"
