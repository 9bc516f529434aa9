"""Settings of sign-in that make no sense stop the start with one sentence."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from inspector import environment
from inspector.sign_in.mapping import mapping_of, roles_of

NAME = "INSPECTOR_SAMPLE"


def refused(monkeypatch: pytest.MonkeyPatch, read: object, value: str, *more: object) -> str:
    monkeypatch.setenv(NAME, value)
    with pytest.raises(ImproperlyConfigured) as problem:
        read(NAME, *more)  # type: ignore[operator]
    text = str(problem.value)
    assert text.startswith(NAME) and text.endswith(".") and "\n" not in text
    return text


def test_a_bad_value_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("0", "-1", "9000", "x", "1.5"):
        refused(monkeypatch, environment.hours, value, 24)
    for value in ("X Remote", "X_Remote", "X:", "Authorization", "host"):
        refused(monkeypatch, environment.header, value)
    for value in ("http://login.example.org", "login.example.org", "https://", "https://a.example/?x", "javascript:x"):
        refused(monkeypatch, environment.issuer, value)
    for value in ("https://login.example.org/realms/a/", "http://127.0.0.1:8000/o"):
        monkeypatch.setenv(NAME, value)
        assert environment.issuer(NAME) == value
    for value in ("x", "[]", '{"a":"king"}', '{"a":7}', '{"a":["viewer",null]}', '{"a":"@x"}'):
        refused(monkeypatch, environment.roles_of_groups, value)
    refused(monkeypatch, environment.one_of, "some", ("mapped", "all", "none"))


def test_half_a_way_to_sign_in_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = {
        "INSPECTOR_OIDC_ISSUER": "https://a.example",
        "INSPECTOR_OIDC_CLIENT_ID": "x",
        "INSPECTOR_BASE_URL": "https://b.example",
        "INSPECTOR_PASSWORDS": "off",
    }
    proxy = {"INSPECTOR_PROXY_USER_HEADER": "X-A", "INSPECTOR_PROXY_GROUPS_HEADER": "X-B", "INSPECTOR_TRUSTED_PROXIES": "127.0.0.1"}
    for settings, missing in (
        (whole, ("INSPECTOR_OIDC_ISSUER", "INSPECTOR_OIDC_CLIENT_ID", "INSPECTOR_BASE_URL")),
        (proxy, (*proxy,)[::2]),
    ):
        for name in (*whole, *proxy):
            monkeypatch.delenv(name, raising=False)
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        environment.refuse_incomplete_sign_in()
        for name in missing:
            with monkeypatch.context() as without:
                without.delenv(name)
                with pytest.raises(ImproperlyConfigured, match=r"set|unset"):
                    environment.refuse_incomplete_sign_in()
    for name, value in whole.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured, match="two ways"):
        environment.refuse_incomplete_sign_in()


def test_the_highest_role_of_all_groups_counts_for_each_group_of_sources() -> None:
    mapping = mapping_of('{"a":"viewer","b":["approver","admin@x"],"c":"viewer@x"}')
    assert roles_of(["a", "c", "none"], mapping) == {"": "viewer", "x": "viewer"}
    assert roles_of(["c", "b", "a", "a"], mapping) == {"": "approver", "x": "admin"}
    assert roles_of([], mapping) == {} == roles_of(["a"], {})
