"""Settings that come from the environment; a bad value stops startup with one sentence that names its variable."""

import getpass
import ipaddress
import os
import platform
import re
import secrets
import stat
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import environ  # type: ignore[import-untyped]
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import validate_email

from inspector.notifying.addresses import Network
from inspector.sign_in.mapping import MappedRole, mapping_of
from inspector.sources.dsn import Place
from inspector.sources.places import SCHEMES, NoAddress, is_dsn, place
from inspector.text import limits

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
YES = {"1", "true", "yes", "on"}
NO = {"", "0", "false", "no", "off"}
POSTGRES = {"postgres", "postgresql", "psql", "pgsql"}
VARIABLES = (
    (
        "INSPECTOR_DATABASE_URL",
        "SQLite in `var/` of a checkout, else in the data directory of the user",
        "Inspector's own database: `sqlite:///PATH` or `postgres://USER:PASSWORD@HOST:PORT/NAME` (PostgreSQL 14 or newer; create the database, then run `migrate`). A relative path starts at the checkout, else at that directory.",
    ),
    (
        "INSPECTOR_SOURCES",
        "not set",
        "Folders and database addresses that the web interface may read. Commands read what the person who types them may read.",
    ),
    (
        "INSPECTOR_WRITE_BACK",
        "off",
        "Allows writes from the pages. In local mode to every source; without it, each source has a switch on its page. Where people sign in, it is needed and the switch of the source too.",
    ),
    ("INSPECTOR_REQUIRE_SECOND_APPROVER", "off", "The person who proposes a repair cannot approve it."),
    (
        "INSPECTOR_APPROVERS",
        "not set",
        "The name of the group whose members, and superusers, may approve repairs on the pages. Not set, everybody whose role is approver or admin may. No page or command makes such groups: they are Django's, from before there were roles. An approval no longer holds when the account is disabled or leaves the group.",
    ),
    (
        "INSPECTOR_SESSION_HOURS",
        "24",
        "Hours after which a person signs in again; groups at a provider are read then.",
    ),
    ("INSPECTOR_SESSION_IDLE_HOURS", "4", "Hours without a request after which a session ends."),
    (
        "INSPECTOR_TRUSTED_PROXIES",
        "not set",
        "Addresses and networks of proxies, with commas between them: `127.0.0.1,10.1.0.0/16`. Only what they say in `X-Forwarded-For` counts as the address of a client, and only their header names a person.",
    ),
    (
        "INSPECTOR_PASSWORDS",
        "on",
        "People sign in with a password. Off, only [a provider](../how-to/sign-in.md#openid-connect) lets them in.",
    ),
    (
        "INSPECTOR_OIDC_ISSUER",
        "not set",
        "The address of an OpenID Connect provider, as its discovery document has it; [the guide](../how-to/sign-in.md#openid-connect) says what to register there.",
    ),
    ("INSPECTOR_OIDC_CLIENT_ID", "not set", "What the provider calls Inspector."),
    (
        "INSPECTOR_OIDC_CLIENT_SECRET",
        "not set",
        "The secret that the provider gave with it; without one, PKCE alone protects the exchange.",
    ),
    ("INSPECTOR_OIDC_SCOPES", "`openid profile email`", "What is asked of the provider."),
    ("INSPECTOR_OIDC_NAME", "`preferred_username`", "The claim that is the name of a new account."),
    ("INSPECTOR_OIDC_GROUPS", "`groups`", "The claim with the groups of a person; `realm_access.roles` is one inside another."),
    (
        "INSPECTOR_PROXY_USER_HEADER",
        "not set",
        "The header in which a proxy of INSPECTOR_TRUSTED_PROXIES [names the person](../how-to/sign-in.md#a-proxy-that-signs-people-in). Set, nobody signs in otherwise, and nothing else than these proxies is answered.",
    ),
    ("INSPECTOR_PROXY_GROUPS_HEADER", "not set", "The header in which it names their groups, with commas between them."),
    (
        "INSPECTOR_GROUP_ROLES",
        "not set",
        'Which roles follow from the groups of a person at the provider or proxy, as JSON: `{"admins":"admin","support":["viewer","approver@payments"]}`. After `@` is the name of a group of sources; without it the role is on all.',
    ),
    (
        "INSPECTOR_NEW_PEOPLE",
        "`mapped`",
        "Who gets an account at their first sign-in through a provider or proxy: `mapped` are those for whose groups INSPECTOR_GROUP_ROLES has a role, `all` is everybody, `none` is nobody.",
    ),
    ("INSPECTOR_APPROVAL_EXPIRES", "7", "Days for which an approval holds; with 0 it never expires."),
    (
        "INSPECTOR_WATCH",
        "on",
        "Off, nothing is watched, whatever the switches of the sources say. On, each source has a switch on its page; one that nobody touched is on in local mode for a file or folder that was imported by its path, and off otherwise.",
    ),
    (
        "INSPECTOR_OPENCODE",
        "in local mode `opencode` of PATH",
        "The program that imports repaired sessions into opencode's own store, and deletes them to undo that, as an absolute path; `off` for none. Where people sign in there is none unless this names it: it runs as the user of Inspector, in the folder of the session.",
    ),
    (
        "INSPECTOR_BASE_URL",
        "not set",
        "The public address, for links that leave the machine and for requests through a proxy; with a path, all pages are below it. With `https`, cookies are secure, browsers keep to https for a year, and the proxy has to set `X-Forwarded-Proto`.",
    ),
    (
        "INSPECTOR_NOTIFY_PRIVATE",
        "not set",
        "Networks that [notifications](../how-to/notifications.md) may be sent to although they are private or local, as addresses or with a prefix, with commas between them: `10.1.0.0/16,127.0.0.1`. Only to them also without encryption (`http`).",
    ),
    (
        "INSPECTOR_EMAIL_URL",
        "not set",
        "The mail server for notifications: `smtp://HOST:25`, `smtp+tls://USER:PASSWORD@HOST:587` (STARTTLS) or `smtp+ssl://USER:PASSWORD@HOST:465`. Characters such as `@` in a password are written `%40`.",
    ),
    ("INSPECTOR_EMAIL_FROM", "`inspector@` and the name of this machine", "The sender of these e-mails."),
    (
        "INSPECTOR_METRICS_TOKEN",
        "not set",
        "A bearer token of at least 16 characters that reads `/metrics`, and nothing else.",
    ),
    (
        limits.VALUE_NAME,
        "64",
        "Megabytes of one value of a database or one line of a file; a larger one is reported and not read. An import takes up to seven times as much memory.",
    ),
    (
        limits.FILE_NAME,
        "128",
        "Megabytes of a file that is read at once, such as a session; a larger one is reported and not read. An import takes up to five times as much memory.",
    ),
    (
        limits.EMPTY_NAME,
        "5000",
        "Conversations of one record or none that are examined of one store; how many more there are is reported.",
    ),
    (
        "DJANGO_ALLOWED_HOSTS",
        "loopback names",
        "Host names, with commas between them. Any other name than a loopback name ends local mode: people sign in.",
    ),
    ("DJANGO_SECRET_KEY", "generated once, in `secret-key` next to the default database", "Signs sessions and forms."),
    (
        "INSPECTOR_AUDIT_KEY_FILE",
        "next to an SQLite database, as `NAME.audit-key`; with PostgreSQL `audit-key` in the data folder",
        "The key that seals the audit log, made there the first time. The log's head is next to it, so the folder has to be writable; each database needs a key file of its own.",
    ),
    ("DJANGO_DEBUG", "off", "Debug pages and template reloading, for developers only."),
)
"""Every variable that the settings read: name, default and meaning, as Markdown of the reference."""


def host_name() -> str:
    """Of this machine, for pages that say where a file is."""
    return platform.node() or "this machine"


def flag(name: str, default: bool = False) -> bool:
    """The truth value in variable `name`, `default` when unset or blank; raises ImproperlyConfigured for any other word."""
    # django-environ reads every word that it does not know as False, so that a typing error would pass silently.
    value = os.environ.get(name, "").strip().lower()
    if value not in YES | NO:
        raise ImproperlyConfigured(f"{name} must be true or false, and {value!r} is neither: set it to one of them or unset it.")
    return value in YES if value else default


def hours(name: str, default: int) -> int:
    """The number of hours in variable `name`; raises ImproperlyConfigured for anything but a number of hours."""
    text = os.environ.get(name, "").strip()
    if text and not (text.isdecimal() and text.isascii() and 0 < int(text) <= 8784):
        raise ImproperlyConfigured(f"{name} must be a number of hours from 1 to 8784, and {text!r} is none: set it to one or unset it.")
    return int(text or default)


def one_of(name: str, words: Sequence[str]) -> str:
    """The word in variable `name`, the first of `words` when unset."""
    word = os.environ.get(name, "").strip().lower() or words[0]
    if word not in words:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(words)}, and {word!r} is none of them: correct or unset it.")
    return word


def header(name: str) -> str:
    """The name of a header of HTTP in variable `name`, or ""."""
    value = os.environ.get(name, "").strip()
    if value and not re.fullmatch(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*", value):
        raise ImproperlyConfigured(
            f"{name} must be the name of a header such as X-Remote-User, and {value!r} is none: correct or unset it."
        )
    if value.lower() in _TAKEN_HEADERS:
        raise ImproperlyConfigured(f"{name} names {value}, which says something else: choose a header that only the proxy sets.")
    return value


_TAKEN_HEADERS = {
    "host",
    "cookie",
    "authorization",
    "x-forwarded-for",
    "x-forwarded-proto",
    "x-forwarded-host",
    "forwarded",
    "content-type",
}


def refuse_incomplete_sign_in() -> None:
    """Raises ImproperlyConfigured for settings of a provider or proxy that are of no use one without the other."""
    is_set = {name: bool(os.environ.get(name, "").strip()) for name, *_ in VARIABLES}
    for name, needed, why in (
        ("INSPECTOR_OIDC_ISSUER", "INSPECTOR_OIDC_CLIENT_ID", "the provider gives one when Inspector is registered there"),
        ("INSPECTOR_OIDC_ISSUER", "INSPECTOR_BASE_URL", "the provider leads people back to it"),
        ("INSPECTOR_PROXY_USER_HEADER", "INSPECTOR_TRUSTED_PROXIES", "else anybody could send that header"),
        ("INSPECTOR_PROXY_GROUPS_HEADER", "INSPECTOR_PROXY_USER_HEADER", "groups are those of a person"),
    ):
        if is_set[name] and not is_set[needed]:
            raise ImproperlyConfigured(f"{name} needs {needed}, since {why}: set both, or neither.")
    if is_set["INSPECTOR_OIDC_ISSUER"] and is_set["INSPECTOR_PROXY_USER_HEADER"]:
        raise ImproperlyConfigured("INSPECTOR_OIDC_ISSUER and INSPECTOR_PROXY_USER_HEADER are two ways to sign in: set one of them.")
    if not flag("INSPECTOR_PASSWORDS", default=True) and not is_set["INSPECTOR_OIDC_ISSUER"] and not is_set["INSPECTOR_PROXY_USER_HEADER"]:
        raise ImproperlyConfigured(
            "INSPECTOR_PASSWORDS is off and there is no provider, so nobody could sign in: set INSPECTOR_OIDC_ISSUER, or unset it."
        )


def issuer(name: str) -> str:
    """The https address in variable `name` as it is, or ""; http only to this machine."""
    value = os.environ.get(name, "").strip()
    try:
        parts = urlsplit(value)
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and f"{parts.hostname}" in {"localhost", "127.0.0.1", "::1"})
        usable = is_safe and bool(parts.hostname) and not parts.query and not parts.fragment
    except ValueError:
        usable = False
    if value and not usable:
        raise ImproperlyConfigured(f"{name} must be the https address of a provider, and {value!r} is not: correct or unset it.")
    return value


def roles_of_groups(name: str) -> dict[str, list[MappedRole]]:
    """The JSON in variable `name`: {"GROUP": "ROLE", "GROUP": ["ROLE@SOURCES", ...]}; {} when unset."""
    text = os.environ.get(name, "").strip()
    try:
        return mapping_of(text) if text else {}
    except ValueError as problem:
        raise ImproperlyConfigured(f"{name} {problem}: correct or unset it.") from None


def days(name: str, default: int) -> int:
    """The number of days in variable `name`, `default` when unset; raises ImproperlyConfigured for anything else."""
    text = os.environ.get(name, "").strip()
    if text and not (text.isdecimal() and text.isascii() and int(text) <= 3650):
        raise ImproperlyConfigured(f"{name} must be a number of days from 0 to 3650, and {text!r} is none: set it to one or unset it.")
    return int(text) if text else default


def megabytes(name: str) -> None:
    """Raises ImproperlyConfigured where variable `name` is set and no number of megabytes. What reads it is `inspector.text.limits`."""
    text = os.environ.get(name, "").strip()
    if text and not (text.isdecimal() and 0 < int(text) < 1024):
        raise ImproperlyConfigured(f"{name} must be a number of megabytes from 1 to 1023, and {text!r} is none: set it to one or unset it.")


def program(name: str, is_local: bool) -> None:
    """Raises ImproperlyConfigured where variable `name` is set, not `off`, and no absolute path of a program. What reads it is `inspector.sources.own_program`.

    Not set, it becomes `off` unless `is_local`: where people sign in, somebody has to decide that a program may be run.
    """
    value = os.environ.get(name, "").strip()
    if value not in ("", "off") and not (Path(value).is_absolute() and os.access(value, os.X_OK) and Path(value).is_file()):
        raise ImproperlyConfigured(f"{name} must be the absolute path of a program, or off, and {value!r} is neither: correct or unset it.")
    if not value and not is_local:
        os.environ[name] = "off"


def count(name: str) -> None:
    """Raises ImproperlyConfigured where variable `name` is set and no number. What reads it is `inspector.text.limits`."""
    text = os.environ.get(name, "").strip()
    if text and not (text.isdecimal() and 0 < int(text) < 1_000_000_000):
        raise ImproperlyConfigured(f"{name} must be a whole number from 1 on, and {text!r} is none: set it to one or unset it.")


def host_names(name: str) -> list[str]:
    """The comma-separated host names in variable `name`, without ports; the loopback names when unset or blank."""
    hosts = _listed(os.environ.get(name, ""), ",")
    for host in hosts:
        if not re.fullmatch(r"\*|\.?[\w-]+(\.[\w-]+)*|\[[0-9a-fA-F:.]+\]", host):
            raise ImproperlyConfigured(
                f"{name} must list host names with commas between them, and {host!r} is none: leave out scheme, port and path."
            )
    return hosts or list(LOOPBACK_NAMES)


def is_local(hosts: list[str]) -> bool:
    """Whether `hosts` are loopback names only, which no other machine can use."""
    return set(hosts) <= set(LOOPBACK_NAMES)


def sources(name: str) -> list[Place]:
    """The absolute folders in variable `name`, links resolved, whether they exist or not, and the addresses of databases.

    Folders are separated by the system's path separator or a comma, addresses by commas (a comma in an address is written %2C).
    """
    places: list[Place] = []
    for part in _listed(os.environ.get(name, ""), ","):
        places += [_address(name, part)] if "://" in part else _folders(name, part)
    return places


def as_listed(text: str) -> str:
    """A path or an address without password as `sources` reads it back; "" for a path that holds what separates places, which no list can have."""
    if is_dsn(text):
        return text.replace(",", "%2C")
    return text if _listed(text, f",{os.pathsep}") == [text] else ""


def _address(name: str, text: str) -> Place:
    # The sentences never repeat the address: it may hold a password.
    if not text.lower().startswith(SCHEMES):
        raise ImproperlyConfigured(f"{name} lists something before postgresql:// without a comma: put a comma before each address.")
    try:
        return place(text)
    except NoAddress as problem:
        raise ImproperlyConfigured(f"{name} lists an address that is none. {problem.sentence}") from None


def _folders(name: str, text: str) -> list[Path]:
    folders = []
    for part in _listed(text, os.pathsep):
        path = Path(part)
        if part.startswith("~"):
            try:
                path = path.expanduser()
            except RuntimeError as error:
                raise ImproperlyConfigured(f"{name} names {part!r}, whose home folder is unknown: write the whole path.") from error
        if not path.is_absolute():
            raise ImproperlyConfigured(f"{name} must list absolute folders, and {part!r} is not absolute: write the whole path.")
        folders.append(path.resolve())
    return folders


def base_url(name: str) -> str:
    """The http or https address in variable `name` without its last slash, or "" when unset."""
    value = os.environ.get(name, "").strip()
    try:
        parts = urlsplit(value)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and not parts.query and not parts.fragment
        _ = parts.port
    except ValueError:
        usable = False
    if value and not usable:
        raise ImproperlyConfigured(
            f"{name} must be an address such as https://inspector.example.org, and {value!r} is not: correct or unset it."
        )
    return value.rstrip("/")


def networks(name: str) -> list[Network]:
    """The networks and addresses in variable `name`."""
    listed = []
    for part in _listed(os.environ.get(name, ""), ","):
        try:
            listed.append(ipaddress.ip_network(part))
        except ValueError:
            raise ImproperlyConfigured(
                f"{name} must list addresses and networks such as 127.0.0.1 and 10.1.0.0/16, and {part!r} is none: correct or unset it."
            ) from None
    return listed


def email(name: str) -> dict[str, Any]:
    """Django's settings for the mail server in variable `name`; {} when unset."""
    url = os.environ.get(name, "").strip()
    if not url:
        return {}
    # The sentences never repeat the URL: it may hold a password.
    try:
        settings: dict[str, Any] = environ.Env.email_url_config(url) if url.partition("://")[0] in _MAIL_SCHEMES else {}
    except (KeyError, ValueError):
        settings = {}
    if not settings.get("EMAIL_HOST"):
        raise ImproperlyConfigured(f"{name} must be an address such as smtp+tls://USER:PASSWORD@HOST:587, and is not: correct or unset it.")
    return {name: value for name, value in settings.items() if name.startswith("EMAIL_") and name != "EMAIL_FILE_PATH"}


def sender(name: str) -> str:
    """The e-mail address in variable `name`, else one of this machine."""
    address = os.environ.get(name, "").strip()
    try:
        validate_email(address or f"inspector@{host_name()}")
    except ValidationError:
        if address:
            raise ImproperlyConfigured(
                f"{name} must be an e-mail address such as inspector@example.org, and {address!r} is none: correct or unset it."
            ) from None
        return "inspector@localhost"
    return address or f"inspector@{host_name()}"


_MAIL_SCHEMES = ("smtp", "smtps", "smtp+tls", "smtp+ssl")


def bearer_token(name: str) -> str:
    """The secret in variable `name`, or ""."""
    token = os.environ.get(name, "").strip()
    if token and (len(token) < 16 or not token.isascii() or re.search(r"\s", token)):
        raise ImproperlyConfigured(
            f"{name} must have at least 16 characters without spaces: make one with `openssl rand -hex 32`, or unset it."
        )
    return token


def database(name: str, default: Path, start: Path) -> dict[str, Any]:
    """Django's settings for the database in variable `name` (a URL), or for SQLite in `default`; makes the folder of an SQLite file.

    A relative SQLite path starts at the folder `start`, so that every command finds the same file from wherever it runs.
    """
    url = os.environ.get(name, "").strip()
    if not url:
        return _sqlite(name, {"ENGINE": "django.db.backends.sqlite3", "NAME": str(default)}, default)
    # The sentences never repeat the URL: it may hold a password.
    scheme = url.partition(":")[0]
    if scheme not in POSTGRES | {"sqlite"}:
        raise ImproperlyConfigured(f"{name} must be a sqlite:// or postgres:// URL, and its scheme is {scheme!r}: correct or unset it.")
    try:
        settings: dict[str, Any] = environ.Env.db_url_config(url)
    except ValueError as error:
        raise ImproperlyConfigured(
            f"{name} is not a database URL that can be read: write sqlite:///PATH or postgres://USER@HOST/NAME."
        ) from error
    if scheme == "sqlite":
        return _sqlite(name, settings, start / settings["NAME"])
    if not settings["NAME"]:
        raise ImproperlyConfigured(f"{name} names no database: write postgres://USER@HOST/NAME.")
    if not find_spec("psycopg"):
        raise ImproperlyConfigured(f"{name} names PostgreSQL, and its driver is not installed: run pip install 'psycopg[binary]'.")
    return _postgres(settings)


def secret_key(name: str, kept_in: Path) -> str:
    """The key in variable `name`, else the one in the file `kept_in`, made there (mode 600) the first time."""
    value = os.environ.get(name, "").strip()
    if value:
        return value
    try:
        if not kept_in.exists():
            _keep_new_secret(kept_in)
        key = kept_in.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise ImproperlyConfigured(
            f"{name} is not set and no key can be kept in {kept_in} ({error}): set it or make the folder writable."
        ) from error
    if not key:
        raise ImproperlyConfigured(f"{name} is not set and {kept_in} is empty: delete that file, and a new key is made.")
    return key


def kept_secret(path: Path) -> str:
    """The secret in the file `path`, made there (mode 600, in a folder of mode 700) the first time.

    Raises ImproperlyConfigured where it cannot be kept, and where another user has or had the file: then others may know it.
    """
    try:
        if not path.exists():
            _keep_new_secret(path)
            path.parent.chmod(0o700)
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), encoding="ascii") as file:
            status = os.fstat(file.fileno())
            secret = file.read().strip()
    except (OSError, ValueError) as error:
        raise ImproperlyConfigured(f"No secret can be kept in {path} ({error}): make its folder yours and writable.") from error
    if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ImproperlyConfigured(f"Other users of this machine can read {path}: delete it, and a new one is made that they do not know.")
    if not secret:
        raise ImproperlyConfigured(f"{path} is empty: delete it, and a new one is made.")
    return secret


def audit_key_file(name: str, database: dict[str, Any], folder: Path) -> Path | None:
    """The file in variable `name`; else next to an SQLite database, else in `folder`; None for a database in memory."""
    value = os.environ.get(name, "").strip()
    if value:
        path = Path(value)
        if not path.is_absolute():
            raise ImproperlyConfigured(f"{name} must name an absolute path, and {value!r} is not one: write the whole path.")
        return path
    if "sqlite" not in database["ENGINE"]:
        return folder / "audit-key"
    return None if database["NAME"] == ":memory:" else Path(f"{database['NAME']}.audit-key")


def os_user() -> str:
    """The user name of the person at the keyboard; in a container whose user has no name, the number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"


def _listed(value: str, separators: str) -> list[str]:
    return [part.strip() for part in re.split(f"[{re.escape(separators)}]", value) if part.strip()]


def _sqlite(name: str, settings: dict[str, Any], path: Path) -> dict[str, Any]:
    # synchronous stays FULL: the intent of an apply must be on the disk before the first byte of a source is changed.
    # IMMEDIATE: a transaction that reads first and then writes would fail at once, whatever the timeout, when another has written meanwhile.
    options = {"init_command": "PRAGMA journal_mode=WAL", "timeout": 20, "transaction_mode": "IMMEDIATE"}
    settings["OPTIONS"] = options | settings.get("OPTIONS", {})
    if settings["NAME"] == ":memory:":
        return settings
    try:
        # Conversations hold secrets: a folder that we make is closed to other users.
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{name} is to be in {path.parent}, which cannot be made ({error.strerror}): name another place."
        ) from error
    return settings | {"NAME": str(path)}


def _postgres(settings: dict[str, Any]) -> dict[str, Any]:
    from psycopg import IsolationLevel

    # The folder of a socket is written %2Frun%2Fpostgresql, as libpq has it.
    settings["HOST"] = unquote(settings["HOST"])
    # A host that does not answer, or a net that swallows packets, must not be waited for all day. The isolation is ours whatever the
    # server's own setting is: what another writer committed has to be seen once the turn is ours.
    options: dict[str, Any] = {"connect_timeout": 10, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
    options |= {"isolation_level": IsolationLevel.READ_COMMITTED, "application_name": "inspector's own"}
    settings["OPTIONS"] = options | settings.get("OPTIONS", {})
    # A new session takes the server ten times as long as a query; one that broke meanwhile is replaced.
    return {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True} | settings


def _keep_new_secret(path: Path) -> None:
    # Written aside and then linked: a command that starts at the same moment reads a whole secret, and both read the same one.
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    aside = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(50) + "\n")
        try:
            os.link(aside, path)
        except FileExistsError:
            pass
    finally:
        aside.unlink(missing_ok=True)
