"""Signs people in by OpenID Connect: the authorization code flow with PKCE, state and nonce, by Authlib.

What a sign-in has to remember until the provider leads the person back is in a signed cookie of their browser, so that asking for it fills no table; the browser
that comes back has to be the one that went. Of the provider's tokens only the ID token is kept, in the session, as the hint by which it signs a person out.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core import signing
from django.utils.crypto import constant_time_compare
from django.utils.http import url_has_allowed_host_and_scheme

from inspector.presentation.masking import masked
from inspector.presentation.visible import visible
from inspector.sign_in.accounts import NotLetIn

if TYPE_CHECKING:
    from authlib.integrations.django_client import DjangoOAuth2App  # type: ignore[import-untyped]

COOKIE = "inspector_provider"
BACK = "/login/provider/done/"
"""Where the provider leads people back to."""
MINUTES = 10
"""For a sign-in at the provider."""
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures of a key that only the provider has: neither none nor one of the secret that both have."""
LEEWAY = 60
"""Seconds by which the clocks may differ."""
TIMEOUT = 10
DISCOVERED = 3600
"""Seconds after which its discovery document is read again. Keys are read again at once where one is not known."""
LONGEST_HINT = 8_000
_SALT = "inspector.sign_in.provider"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Person:
    """Whom the provider signed in. `groups` are as it names them."""

    issuer: str
    subject: str
    name: str
    groups: tuple[str, ...]
    id_token: str
    next: str


def is_on() -> bool:
    return bool(settings.INSPECTOR_OIDC_ISSUER) and not settings.INSPECTOR_LOCAL


def host() -> str:
    """By which people recognize it."""
    return urlsplit(settings.INSPECTOR_OIDC_ISSUER).hostname or ""


def safe_next(address: str) -> str:
    """A page of ours; the inbox for anything else."""
    is_ours = address.startswith("/") and not address.startswith("/login") and url_has_allowed_host_and_scheme(address, allowed_hosts=None)
    return address if is_ours else "/"


_app: tuple[float, tuple[str, ...], Any] | None = None


def _provider() -> "DjangoOAuth2App":
    """Read once in an hour. Raises NotLetIn."""
    global _app
    of = (
        settings.INSPECTOR_OIDC_ISSUER,
        settings.INSPECTOR_OIDC_CLIENT_ID,
        settings.INSPECTOR_OIDC_CLIENT_SECRET,
        settings.INSPECTOR_OIDC_SCOPES,
    )
    if _app is None or _app[1] != of or time.monotonic() - _app[0] > DISCOVERED:
        with _answers():
            client = _registered(*of)
            metadata = client.load_server_metadata()
            if metadata.get("issuer") != settings.INSPECTOR_OIDC_ISSUER:
                raise ValueError(f"it calls itself {metadata.get('issuer')!r}")
            offered = metadata.get("id_token_signing_alg_values_supported") or ["RS256"]
            metadata["id_token_signing_alg_values_supported"] = [name for name in offered if name in ALGORITHMS]
        _app = (time.monotonic(), of, client)
    app: DjangoOAuth2App = _app[2]
    return app


def _registered(issuer: str, client_id: str, secret: str, scopes: str) -> "DjangoOAuth2App":
    from authlib.integrations.django_client import OAuth

    options = {"scope": scopes, "code_challenge_method": "S256", "default_timeout": TIMEOUT}
    if not secret:
        options["token_endpoint_auth_method"] = "none"  # noqa: S105
    registered: DjangoOAuth2App = OAuth().register(
        "provider",
        client_id=client_id,
        client_secret=secret or None,
        server_metadata_url=f"{issuer.rstrip('/')}/.well-known/openid-configuration",
        client_kwargs=options,
    )
    return registered


class _answers:
    """What can go wrong with an answer of the provider becomes one sentence; the log says which, without what it sent."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        from authlib.common.errors import AuthlibBaseError  # type: ignore[import-untyped]
        from joserfc.errors import JoseError
        from requests import RequestException

        if isinstance(problem, RequestException) and not isinstance(problem, ValueError):
            _log.warning("The provider %s does not answer: %s", host(), _shown(problem))
            raise NotLetIn(f"{host()} does not answer, so nobody can sign in with it now: try again in a minute.", 502) from problem
        if isinstance(problem, AuthlibBaseError | JoseError | ValueError | KeyError | TypeError | AttributeError | RuntimeError):
            _log.warning("The answer of the provider %s was not accepted: %s", host(), _shown(problem))
            raise NotLetIn(f"The answer of {host()} was not accepted, so nobody was signed in: sign in again.", 403) from problem


def _shown(problem: BaseException) -> str:
    return masked(visible(f"{type(problem).__name__} {problem}"))[:300]


def _address(path: str) -> str:
    return f"{settings.INSPECTOR_BASE_URL}{path}"


def begin(next_page: str) -> tuple[str, str]:
    """Where to send the person, and the value of the cookie. Raises NotLetIn."""
    app = _provider()
    with _answers():
        begun = app.create_authorization_url(_address(BACK))
    remembered = {name: begun[name] for name in ("state", "nonce", "code_verifier")} | {"next": safe_next(next_page)}
    return str(begun["url"]), signing.dumps(remembered, salt=_SALT)


def finish(answer: Mapping[str, str], cookie: str) -> Person:
    """`answer` is what the provider put into the address that it led the person to. Raises NotLetIn."""
    try:
        remembered = signing.loads(cookie, salt=_SALT, max_age=MINUTES * 60)
    except signing.BadSignature:
        raise NotLetIn(
            f"This sign-in was begun in another browser, more than {MINUTES} minutes ago, or is done already: sign in again."
        ) from None
    if not constant_time_compare(str(answer.get("state", "")), remembered["state"]):
        raise NotLetIn("This is the end of another sign-in than the one that was begun last in this browser: sign in again.")
    if answer.get("error"):
        raise NotLetIn(f"{host()} did not sign you in ({visible(str(answer['error']))[:60]}): sign in again, or ask who looks after it.")
    app = _provider()
    if answer.get("iss", settings.INSPECTOR_OIDC_ISSUER) != settings.INSPECTOR_OIDC_ISSUER:
        raise NotLetIn(f"This answer is from another provider than {host()}: sign in again.")
    with _answers():
        token = app.fetch_access_token(_address(BACK), code=answer.get("code", ""), code_verifier=remembered["code_verifier"])
        options = {
            "iss": {"essential": True, "values": [settings.INSPECTOR_OIDC_ISSUER]},
            "aud": {"essential": True, "values": [settings.INSPECTOR_OIDC_CLIENT_ID]},
        }
        claims = app.parse_id_token(token, nonce=remembered["nonce"], claims_options=options, leeway=LEEWAY)
        if not claims or not isinstance(claims["sub"], str) or not 0 < len(claims["sub"]) <= 255:
            raise ValueError("no ID token that says who it is")
        facts = _with_userinfo(app, token, claims)
    return Person(
        issuer=settings.INSPECTOR_OIDC_ISSUER,
        subject=claims["sub"],
        name=str(claim(facts, settings.INSPECTOR_OIDC_NAME) or ""),
        groups=groups_in(claim(facts, settings.INSPECTOR_OIDC_GROUPS)),
        id_token=token["id_token"] if len(token["id_token"]) <= LONGEST_HINT else "",
        next=safe_next(remembered["next"]),
    )


def _with_userinfo(app: "DjangoOAuth2App", token: Any, claims: Mapping[str, Any]) -> Mapping[str, Any]:
    """Some providers say names and groups only when they are asked again."""
    wanted = [settings.INSPECTOR_OIDC_NAME] + ([settings.INSPECTOR_OIDC_GROUPS] if settings.INSPECTOR_GROUP_ROLES else [])
    if all(claim(claims, name) is not None for name in wanted) or "userinfo_endpoint" not in app.load_server_metadata():
        return claims
    more = app.userinfo(token=token)
    if more.get("sub") != claims["sub"]:
        raise ValueError("its userinfo is about somebody else")
    return {**more, **claims}


def claim(claims: Mapping[str, Any], name: str) -> Any:
    """The claim of this name; else, where it has dots, what is inside others."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def groups_in(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(group for group in value if isinstance(group, str)) if isinstance(value, Sequence) else ()


def sign_out_address(id_token: str) -> str:
    """Where a person signs out of the provider, too; "" where it offers none, or does not answer."""
    try:
        app = _provider()
        if not app.load_server_metadata().get("end_session_endpoint"):
            return ""
        end = app.create_logout_url(_address("/login/"), id_token_hint=id_token or None, client_id=settings.INSPECTOR_OIDC_CLIENT_ID)
    except NotLetIn:
        return ""
    address = str(end["url"])
    return address if urlsplit(address).scheme in ("https", urlsplit(settings.INSPECTOR_OIDC_ISSUER).scheme) else ""
