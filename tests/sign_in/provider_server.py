"""A real OpenID Connect provider in a process of its own: django-oauth-toolkit, with keys made at its start, and faults that it can be told to have.

`python -m tests.sign_in.provider_server FOLDER BACK` prints its address. People sign in at /in/ with their name alone; /control/ sets claims and faults.
"""

import base64
import json
import socket
import sys
from pathlib import Path
from typing import Any

import django
import waitress
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse

NAME = "tests.sign_in.provider_server"
CLIENT, SECRET = "inspector", "a secret of forty characters or a few more"
STATE: dict[str, Any] = {"fault": "", "claims": {}}


def pem() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    format = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, format, serialization.NoEncryption()).decode()


def main() -> None:
    folder, back = Path(sys.argv[1]), sys.argv[2]
    listening = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    settings.configure(
        SECRET_KEY="x" * 50,
        ALLOWED_HOSTS=["127.0.0.1"],
        ROOT_URLCONF=NAME,
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "provider.sqlite3")}},
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "oauth2_provider"],
        MIDDLEWARE=[f"{NAME}.faults", "django.contrib.sessions.middleware.SessionMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware"],
        TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True, "OPTIONS": {"context_processors": ["django.template.context_processors.request"]}}],
        LOGIN_URL="/in/",
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        USE_TZ=True,
        OAUTH2_PROVIDER={
            "OIDC_ENABLED": True,
            "OIDC_ISS_ENDPOINT": f"{address}/o",
            "OIDC_RSA_PRIVATE_KEY": pem(),
            "OIDC_RP_INITIATED_LOGOUT_ENABLED": True,
            "OIDC_RP_INITIATED_LOGOUT_ALWAYS_PROMPT": False,
            "OAUTH2_VALIDATOR_CLASS": f"{NAME}.Validator",
            "SCOPES": {"openid": "who", "profile": "name", "email": "e-mail"},
        },
    )  # fmt: skip
    # Django imports this module by its name; it is this one.
    sys.modules[NAME] = sys.modules[__name__]
    django.setup()
    from django.core.management import call_command
    from django.core.wsgi import get_wsgi_application
    from oauth2_provider.models import get_application_model

    call_command("migrate", verbosity=0)
    get_application_model().objects.create(
        name="Inspector",
        client_id=CLIENT,
        client_secret=SECRET,
        client_type="confidential",
        authorization_grant_type="authorization-code",
        algorithm="RS256",
        skip_authorization=True,
        redirect_uris=f"{back}/login/provider/done/",
        post_logout_redirect_uris=f"{back}/login/",
    )
    define()
    server = waitress.create_server(get_wsgi_application(), sockets=[listening], threads=4)
    sys.stdout.write(f"{address}\n")
    sys.stdout.flush()
    server.run()


urlpatterns: list[Any] = []


def define() -> None:
    """What needs Django: the validator, and the addresses."""
    from django.contrib.auth import get_user_model, login
    from django.urls import include, path
    from django.views.decorators.csrf import csrf_exempt
    from jwcrypto import jwk, jwt
    from oauth2_provider.oauth2_validators import OAuth2Validator
    from oauth2_provider.settings import oauth2_settings

    class Validator(OAuth2Validator):
        oidc_claim_scope = None

        def get_additional_claims(self, request: Any) -> dict[str, Any]:
            claims = {"preferred_username": request.user.username, "email": "boss@example.org", **STATE["claims"]}
            return {name: value for name, value in claims.items() if value is not None}

        def get_id_token_dictionary(self, token: Any, token_handler: Any, request: Any) -> Any:
            claims, until = super().get_id_token_dictionary(token, token_handler, request)
            past = {"iat": 1_000_000, "exp": 1_000_300}
            faults: dict[str, dict[str, Any]] = {
                "nonce": {"nonce": "another"},
                "no nonce": {"nonce": ""},
                "audience": {"aud": "another"},
                "audience with azp": {"aud": ["another"], "azp": CLIENT},
                "issuer": {"iss": "https://another.example"},
                "expired": past,
                "subject": {"sub": ""},
                "at_hash": {"at_hash": "AAAA"},
            }
            claims |= faults.get(STATE["fault"], {})
            if STATE["fault"] == "no groups in the token":
                claims.pop("groups", None)
            return claims, until

        def get_userinfo_claims(self, request: Any) -> Any:
            claims = super().get_userinfo_claims(request)
            return claims | ({"sub": "somebody else"} if STATE["fault"] == "userinfo" else {})

        def finalize_id_token(self, id_token: Any, token: Any, token_handler: Any, request: Any) -> str:
            signed: str = super().finalize_id_token(id_token, token, token_handler, request)
            content = base64.urlsafe_b64decode(signed.split(".")[1] + "==")
            if STATE["fault"] == "unsigned":
                header = base64.urlsafe_b64encode(b'{"typ":"JWT","alg":"none"}').rstrip(b"=").decode()
                return f"{header}.{signed.split('.')[1]}."
            if STATE["fault"] == "cut":
                return signed[:-10]
            if STATE["fault"] in ("secret", "other key"):
                other = jwk.JWK.from_pem(pem().encode())
                shared = jwk.JWK(kty="oct", k=base64.urlsafe_b64encode(SECRET.encode()).rstrip(b"=").decode())
                by_secret = STATE["fault"] == "secret"
                header = {"alg": "HS256"} if by_secret else {"alg": "RS256", "kid": request.client.jwk_key.thumbprint()}
                made = jwt.JWT(header=json.dumps(header), claims=content.decode())
                made.make_signed_token(shared if by_secret else other)
                return str(made.serialize())
            return signed

    globals()["Validator"] = Validator

    def sign_in(request: HttpRequest) -> HttpResponse:
        user, _ = get_user_model().objects.get_or_create(username=request.GET["as"])
        login(request, user, backend="django.contrib.auth.backends.ModelBackend")
        return HttpResponse("in")

    @csrf_exempt
    def control(request: HttpRequest) -> HttpResponse:
        STATE.update(json.loads(request.body))
        if STATE.pop("rotate", False):
            oauth2_settings.OIDC_RSA_PRIVATE_KEY = pem()
        return JsonResponse({})

    urlpatterns.extend(
        [path("in/", sign_in), path("control/", control), path("o/", include("oauth2_provider.urls", namespace="oauth2_provider"))]
    )


def faults(get_response: Any) -> Any:
    def middleware(request: HttpRequest) -> HttpResponse:
        if STATE["fault"] == "discovery" and request.path.endswith("openid-configuration"):
            return JsonResponse({"issuer": "https://another.example"})
        if STATE["fault"] == "token endpoint" and request.path.endswith("/token/"):
            return HttpResponse("<html>Bad Gateway", status=502)
        if STATE["fault"] == "no JSON" and request.path.endswith("/token/"):
            return HttpResponse("<html>welcome")
        if STATE["fault"] == "away":
            return HttpResponseRedirect("https://another.example/")
        return get_response(request)

    return middleware


if __name__ == "__main__":
    main()
