"""System checks: settings that are allowed one by one and risky or useless together."""

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Warning, register
from django.db import connection
from django.http.request import validate_host


@register()
def check_settings(**_: Any) -> list[CheckMessage]:
    """Warnings inspector.W001 to W006; none of them stops a command."""
    return [Warning(message, hint=hint, id=f"inspector.{code}") for code, message, hint in _risks()]


@register(deploy=True)
def check_deployment(**_: Any) -> list[CheckMessage]:
    """Warnings inspector.W101 to W104: what other people need, who reach the pages over a network."""
    return [Warning(message, hint=hint, id=f"inspector.{code}") for code, message, hint in _risks_for_others()]


def _risks_for_others() -> Iterator[tuple[str, str, str]]:
    if settings.INSPECTOR_LOCAL:
        yield (
            "W101",
            "DJANGO_ALLOWED_HOSTS names this machine only: this is local single-operator mode, without accounts.",
            "Set DJANGO_ALLOWED_HOSTS and INSPECTOR_BASE_URL to the host name that people use.",
        )
    elif not settings.INSPECTOR_BASE_URL.startswith("https://"):
        yield (
            "W102",
            "INSPECTOR_BASE_URL is no https address, so that passwords and conversations cross the network in the clear.",
            "Let a proxy end TLS, and set INSPECTOR_BASE_URL to its address.",
        )
    elif not settings.INSPECTOR_TRUSTED_PROXIES:
        yield (
            "W104",
            "INSPECTOR_TRUSTED_PROXIES is not set, so that everybody has the address of the proxy: who fails to sign in locks out the others.",
            "Set it to the address from which the proxy asks, and let the proxy set X-Forwarded-For.",
        )
    if "*" in settings.ALLOWED_HOSTS:
        yield (
            "W103",
            "DJANGO_ALLOWED_HOSTS has *, which lets a page of any host name ask as a person who is signed in.",
            "List the host names that people use.",
        )


@register()
def check_own_database(**_: Any) -> list[CheckMessage]:
    """Nothing, or the error itself where a server does not let us in: the command line makes one sentence of it, where Django would print a list."""
    if connection.vendor != "sqlite":
        connection.ensure_connection()
    return []


def _risks() -> Iterator[tuple[str, str, str]]:
    """(code, what is risky, what to do)."""
    if settings.INSPECTOR_WRITE_BACK and settings.DEBUG:
        yield (
            "W001",
            "INSPECTOR_WRITE_BACK and DJANGO_DEBUG are both on.",
            "Debug pages show settings and stored content: unset DJANGO_DEBUG where the web interface may write to sources.",
        )
    for root in settings.INSPECTOR_SOURCES:
        if isinstance(root, Path) and not root.is_dir():
            yield (
                "W002",
                f"INSPECTOR_SOURCES names {root}, which is not a folder here.",
                "Correct the path, or mount the folder before the start; until then the web interface reads nothing below it.",
            )
    host = urlsplit(settings.INSPECTOR_BASE_URL).hostname
    if host and not validate_host(f"[{host}]" if ":" in host else host, settings.ALLOWED_HOSTS):
        yield (
            "W003",
            f"INSPECTOR_BASE_URL leads to {host}, which DJANGO_ALLOWED_HOSTS does not name.",
            f"Links that leave this machine would be refused: add {host} to DJANGO_ALLOWED_HOSTS.",
        )
    if settings.DEBUG and not settings.INSPECTOR_LOCAL:
        yield (
            "W004",
            "DJANGO_DEBUG is on while DJANGO_ALLOWED_HOSTS lets other machines in.",
            "Debug pages show settings and stored content: unset DJANGO_DEBUG.",
        )
    if settings.INSPECTOR_REQUIRE_SECOND_APPROVER and settings.INSPECTOR_LOCAL:
        yield (
            "W005",
            "INSPECTOR_REQUIRE_SECOND_APPROVER is on while only the person at this machine can reach the pages.",
            "Set DJANGO_ALLOWED_HOSTS to the host name that people use, so that a second person can sign in and approve.",
        )
    path = settings.VAR_DIR / "secret-key"
    if path.exists() and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield (
            "W006",
            f"Other users of this machine can reach {path}.",
            "Who has the key can sign in as anyone: chmod 600 it, or delete it so that a new one is made.",
        )
