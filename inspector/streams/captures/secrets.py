"""What a capture may not bring with it: keys in headers, in addresses and in the settings of a request."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

SECRETS = frozenset(
    (
        "authorization",
        "proxyauthorization",
        "authorizationtoken",
        "cookie",
        "setcookie",
        "xapikey",
        "apikey",
        "xgoogapikey",
        "openaiapikey",
        "accesstoken",
        "xauthtoken",
        "xamzsecuritytoken",
        "clientsecret",
        "password",
        "apitoken",
    )
)
"""Names whose values are dropped, in lower case without hyphens and underscores."""


def is_secret(name: str) -> bool:
    return name.lower().replace("-", "").replace("_", "") in SECRETS


def without_secrets(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """A JSON object without the members that hold keys, at any depth: a request names them for the tools that its server is to call. The object itself is changed."""
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            for name in [name for name in item if isinstance(name, str) and is_secret(name) and not isinstance(item[name], dict)]:
                del item[name]
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
    return value


def address(url: str) -> str:
    """Host and path: neither user nor query, which is where keys are."""
    try:
        parts = urlsplit(url)
        return f"{parts.netloc.rpartition('@')[2]}{parts.path}"
    except ValueError:
        return ""
