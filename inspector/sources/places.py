"""Where a source is: a path, or the address of a PostgreSQL database. The password of an address is for the connection only: it is never shown or kept."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

from inspector.sources import files
from inspector.sources.dsn import Dsn, Place
from inspector.sources.problems import SourceProblem
from inspector.sources.uploads import KEPT

SCHEMES = ("postgresql://", "postgres://")
_SCHEME = re.compile(r"\s*([a-z][a-z0-9+.:-]*)://", re.IGNORECASE)
# How libpq, and people who come from it, write an address too; and what is left of one when its scheme was mistyped: NAME:PASSWORD@HOST.
_ADDRESS = re.compile(
    r"^\s*postgres(?:ql)?:|(?:^|\s)(?:host|hostaddr|port|dbname|user|password|service|sslmode)\s*=|^[^/\s:@]*:[^\s@]*@[^\s@/:]+(?::\d|/)",
    re.IGNORECASE,
)
_typed: dict[str, str] = {}
"""What was typed in this process, by the name without password: an import that follows a write must log in as the first one did."""


class NoPath(SourceProblem):
    template = "The path is empty: name a file or a folder, . for this folder. Where it came from a variable, the variable is not set."


@dataclass(eq=False)
class NoAddress(SourceProblem):
    """An address that cannot be read as one. The sentence repeats nothing of it: any part may be a piece of a password."""

    detail: str

    @property
    def sentence(self) -> str:
        return (
            f"The address of the database cannot be read ({self.detail}); write postgresql://USER@HOST:PORT/NAME and give the password in "
            "PGPASSWORD or ~/.pgpass."
        )


def is_dsn(text: str) -> bool:
    """Whether it looks like an address, a wrong one too: then sentences do not repeat it."""
    return bool(_SCHEME.match(text)) or (not text.startswith(("/", "./", "../")) and bool(_ADDRESS.search(text)))


def place(text: str) -> Place:
    """The place that a person or our database names. Raises NoAddress, and NoPath where nothing is named."""
    if not text.strip():
        raise NoPath(Path())
    if not is_dsn(text):
        return Path(text)
    from inspector.sources import libpq

    typed = _as_libpq(text.strip())
    parts = libpq.parameters(typed)
    if parts is None:
        raise _no_address("a part of it is no user, host, port, name or known parameter")
    _refuse_torn(typed, parts)
    hidden = [key for key in libpq.SECRET if parts.pop(key, None) is not None]
    name = _named(parts)
    if hidden:
        _typed[name] = typed
    return Dsn(name, _typed.get(name, typed))


def _no_address(detail: str) -> NoAddress:
    return NoAddress(Path("database"), detail)


def _as_libpq(text: str) -> str:
    """With the scheme as libpq takes it. Raises NoAddress for the schemes of other programs."""
    match = _SCHEME.match(text)
    if match is None:
        return text
    scheme = f"{match[1].lower()}://"
    if scheme not in SCHEMES:
        raise _no_address("only the schemes postgresql:// and postgres:// are read")
    return scheme + text[match.end() :]


def _refuse_torn(typed: str, parts: dict[str, str]) -> None:
    """A password with a bare @, / or : makes libpq take its rest for a host, port or name, which would then be shown. Raises NoAddress."""
    if typed.startswith(SCHEMES) and typed.partition("?")[0].count("@") > 1:
        raise _no_address("it holds more than one @: in a password write %40 for @, %2F for /, %3A for :")
    if typed.startswith(SCHEMES) and "@" in typed.partition("://")[2].partition("/")[2].partition("?")[0]:
        raise _no_address("an @ follows a /: in a password write %2F for /, in a name %40 for @")
    if "@" in parts.get("host", "").removeprefix("@"):
        raise _no_address("its host holds an @: in a password write %40 for it")
    if not re.fullmatch(r"[0-9,]*", parts.get("port", "")):
        raise _no_address("its port is no number")
    if ":" in parts.get("user", ""):
        raise _no_address("its user holds a :, after which a password may follow")


def _named(parts: dict[str, str]) -> str:
    user, host, port, database = (parts.pop(key, "") for key in ("user", "host", "port", "dbname"))
    # The folder of a socket is no host name, and neither are several hosts: they follow the question mark.
    parameters = {"host": host} if host.startswith(("/", "@")) or "," in host or "," in port else {}
    shown_host = "" if parameters else f"[{quote(host, safe=':')}]" if ":" in host else quote(host, safe="")
    at = f"{quote(user, safe='')}@" if user else ""
    if port and not shown_host:
        parameters["port"] = port
    sorted_parameters = {key: value for key, value in sorted({**parameters, **parts}.items()) if value}
    query = f"?{urlencode(sorted_parameters, quote_via=quote, safe='/,')}" if sorted_parameters else ""
    colon = f":{port}" if port and shown_host else ""
    return f"postgresql://{at}{shown_host}{colon}/{quote(database, safe='')}{query}"


def real(where: Place) -> str:
    """What a source is known by: the real path, or the address without its password. Raises Missing for a path that cannot be one."""
    return where.name if isinstance(where, Dsn) else files.real(where)


_UPLOADED = re.compile(rf".*/uploads/{KEPT.pattern}")


def short(name: str) -> str:
    """For lists: file and folder, since stores of one program are all called the same; of an address the database and its host."""
    if uploaded := _UPLOADED.fullmatch(name):
        # The folder is ours, and says nothing to whoever brought it.
        return uploaded[1]
    if not is_dsn(name):
        return "/".join(name.rsplit("/", 2)[-2:])
    from inspector.sources import libpq

    parts = libpq.parameters(name)
    if parts is None:
        return name
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"{parts.get('dbname') or parts.get('service') or 'default database'} at {parts.get('host') or 'the local server'}{port}"


def exists(where: Place) -> bool:
    """Whether there is something to open; for a database only opening it shows."""
    return isinstance(where, Dsn) or files.exists(where)


def written_at(where: Place) -> float | None:
    """Seconds since the epoch when it was last written; None where it is not known."""
    return None if isinstance(where, Dsn) else files.written_at(where)
