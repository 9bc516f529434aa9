"""Serves the web interface from this machine."""

import errno
import ipaddress
import json
import resource
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import waitress  # type: ignore[import-untyped]
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.servers.basehttp import get_internal_wsgi_application
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.template.loader import get_template
from django.urls import get_resolver

from inspector import access_token
from inspector.actions import audit
from inspector.actions.renewing import stale
from inspector.actions.settling import clear_interrupted, settle_all
from inspector.actions.verification import due
from inspector.connections import TimedChannel
from inspector.delivering import delivering
from inspector.demo.database import served
from inspector.environment import os_user
from inspector.installation import program
from inspector.large_pages import Application, LargePages
from inspector.models.own_process import stay_small
from inspector.presentation.conversation.placed import Block
from inspector.presentation.conversation.whole import Headline
from inspector.presentation.packed import prepare
from inspector.presentation.visible import visible
from inspector.rules.base import Finding
from inspector.sources import files
from inspector.views.pages import version_of_pages
from inspector.watcher import watching_sources

PORTS_TO_TRY = 50
THREADS = 64
"""Requests that are answered at once. Most wait: an open event stream keeps its thread, and so does a client that reads more than SPOOLED bytes slowly."""
CONNECTIONS = 4_000
"""Open at once, however slow: a connection takes a thread only after its whole request is here."""
DATABASE_CONNECTIONS = 16
"""To PostgreSQL, at most; that many requests ask it something at once, more than two cores answer."""
DATABASE_SECONDS = 20
"""For which a request waits for one of them, as long as a writer waits for another; then the database is reported as busy."""
IDLE_SECONDS = 30
"""After which a connection that neither sends nor reads is closed."""
CLEANUP_SECONDS = 10
"""Between two looks for such connections."""
HEADERS = 64 * 2**10
"""Bytes of the headers of a request, with the address."""
BODY = 64 * 2**20
"""Bytes of a request: the largest upload of the page Check, in the encoding of a form."""
SPOOLED = 64 * 2**20
"""Bytes of an answer that wait, in a temporary file, for a client that reads slowly, while the thread goes on to the next request."""
IN_MEMORY = 64 * 2**10
"""Bytes of a request or an answer that wait in memory; more of them go to a temporary file."""
FILES_OF_A_CONNECTION = 2
"""Its socket, and the temporary file of what waits for it."""
OTHER_FILES = 256
_PREPARED_TEMPLATES = (
    *("conversation.html", "conversations.html", "chunk.html", "chunks/folds.html", "chunks/notices.html", "chunks/crash.html"),
    *("chunks/controls.html", "chunks/finding.html", "chunks/tree.html"),
)


class Command(BaseCommand):
    """`serve [--host 127.0.0.1] [--port 8000] [--json]`; takes the next free port when the port is taken, runs until interrupted. `--url` only prints the link."""

    help = "Serves the web interface, to this machine only unless DJANGO_ALLOWED_HOSTS is set."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
        parser.add_argument(
            "--port", type=int, default=8000, help="the port to listen on; when it is taken, the next free one (default: 8000)"
        )
        parser.add_argument("--url", action="store_true", help="only print the link that opens the pages of an Inspector that serves there")
        parser.add_argument(
            "--json", action="store_true", help="print where it serves, and the token that it asks for, as one line of JSON"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        host, port = options["host"], options["port"]
        if options["url"]:
            self.print_link(address_of(host, port), "", options["json"])
            return
        refuse_unready(host, port)
        listening = listen(host, port)
        prepare_pages()
        served_port = listening.getsockname()[1]
        url = address_of(host, served_port)
        if port and served_port != port:
            self.stderr.write(f"Port {port} is taken; serving on {url} instead.")
        self.print_link(url, "Inspector is at ", options["json"])
        if not options["json"]:
            self.stderr.write(who_may_use_it(os_user() if settings.INSPECTOR_LOCAL else None) + " Stop it with Ctrl-C.")
        self.stdout.flush()
        files.remove_unused_workspaces()
        if sentence := audit.sentence_on_start():
            self.stderr.write(visible(sentence))
        clear_interrupted()
        for interrupted in settle_all():
            self.stderr.write(visible(interrupted.sentence))
        with served() as problems:
            for problem in problems:
                self.stderr.write(problem)
            with renewing():
                run(listening)

    def print_link(self, url: str, before: str, as_json: bool) -> None:
        is_local = settings.INSPECTOR_LOCAL
        if as_json:
            operator, token = (os_user(), access_token.token()) if is_local else (None, None)
            self.stdout.write(json.dumps({"url": url, "token": token, "local": is_local, "operator": operator}))
        else:
            self.stdout.write(f"{before}{access_token.link(url) if is_local else url}")


def prepare_pages() -> None:
    """What is made once, and the first view of a conversation would wait for: a third of the time that it takes."""
    get_resolver().url_patterns  # noqa: B018 (imports all views)
    for name in _PREPARED_TEMPLATES:
        get_template(name)
    for kind in (Headline, Block, Finding):
        prepare(kind)
    version_of_pages()


@contextmanager
def renewing() -> Iterator[None]:
    """Next to the server, the command that judges again what an older version judged, and looks at applied repairs; it ends with the server."""
    if next(stale(), None) is None and not due().exists():
        yield
        return
    command = ("nice", sys.executable) if shutil.which("nice") else (sys.executable,)
    # Of its own session: Ctrl-C is for the server, which then ends it.
    process = subprocess.Popen([*command, sys.argv[0], "renew"], stdout=subprocess.DEVNULL, start_new_session=True)  # noqa: S603
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def refuse_unready(host: str, port: int) -> None:
    """Raises CommandError when `host` would let other machines into local mode, `port` is none, or the database is not migrated."""
    if settings.INSPECTOR_LOCAL and not is_loopback(host):
        raise CommandError(
            f"--host {host} would let other machines in, and nobody signs in to local single-operator mode: set DJANGO_ALLOWED_HOSTS to the "
            f"host name that people use and make them users with `{program()} user add NAME --role ROLE`, or leave --host out."
        )
    if not 0 <= port <= 65535:
        raise CommandError(f"--port {port} is not a port: choose one from 1024 to 65535, or 0 for any free one.")
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise CommandError(f"The database is empty or older than this version: run `{program()} migrate` first.")


def is_loopback(host: str) -> bool:
    """Whether `host`, a name or an address, can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listen(host: str, port: int) -> socket.socket:
    """A listening socket on `host` at `port` or the next free port above it; raises CommandError when there is none."""
    for candidate in range(port, min(port + PORTS_TO_TRY, 65536)):
        try:
            # localhost may have two addresses, and which port is free must be asked for one.
            family, kind, protocol, _, address = socket.getaddrinfo(host, candidate, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
            return _listen_at(socket.socket(family, kind, protocol), address)
        except OSError as error:
            if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
                raise CommandError(f"--host {host} is not an address of this machine: leave it out to serve on 127.0.0.1.") from error
            if isinstance(error, PermissionError):
                raise CommandError(f"Port {candidate} needs rights that you do not have: choose one above 1023 with --port.") from error
            if error.errno != errno.EADDRINUSE:
                raise CommandError(
                    f"Port {candidate} on {host} cannot be used ({error.strerror}): choose others with --host and --port."
                ) from error
    raise CommandError(f"The ports from {port} up are all taken: choose another with --port, or --port 0 for any free one.")


def address_of(host: str, port: int) -> str:
    """The address of the first page."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/"


def who_may_use_it(operator: str | None) -> str:
    """One sentence on the mode: `operator` is the OS user in local mode, None where people sign in."""
    if operator is None:
        return "People sign in with their user names (DJANGO_ALLOWED_HOSTS is set)."
    return f"Local single-operator mode: only this machine can open it, only with this link, and whoever does acts as {operator}."


def run(listening: socket.socket) -> None:
    """Serves until SIGINT or SIGTERM; requests that are running then have five seconds to end."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        with pooled(), delivering(is_server=True), watching_sources():
            stay_small()
            server_of(LargePages(get_internal_wsgi_application()), listening).run()
    finally:
        listening.close()


@contextmanager
def pooled() -> Iterator[None]:
    """All threads share a few connections to PostgreSQL. Else each would keep its own, and three servers more than PostgreSQL allows."""
    own = connections["default"]
    if own.vendor != "postgresql":
        yield
        return
    connections.close_all()
    # The address may limit the age of connections, which a pool does itself.
    own.settings_dict["CONN_MAX_AGE"] = 0
    # The pool waits twice as long after each connection that fails, for minutes at last. Where it gives up as soon as a request does, the next
    # request tries at once, and the pages are back with the server.
    times = {"timeout": DATABASE_SECONDS, "reconnect_timeout": DATABASE_SECONDS}
    own.settings_dict["OPTIONS"]["pool"] = {"min_size": 1, "max_size": DATABASE_CONNECTIONS, **times}
    try:
        yield
    finally:
        own.close_pool()  # type: ignore[attr-defined]


def server_of(application: Application, listening: socket.socket) -> Any:
    """waitress, set so that slow clients keep nobody waiting."""
    server = waitress.create_server(
        application,
        sockets=[listening],
        threads=THREADS,
        connection_limit=connection_limit(),
        # select() cannot wait for more than 1,024 files.
        asyncore_use_poll=True,
        channel_timeout=IDLE_SECONDS,
        outbuf_high_watermark=SPOOLED,
        outbuf_overflow=IN_MEMORY,
        inbuf_overflow=IN_MEMORY,
        max_request_header_size=HEADERS,
        max_request_body_size=BODY,
        cleanup_interval=CLEANUP_SECONDS,
        ident=None,
        # Removed, they would make a request that a proxy passes on look like one of the person at this machine.
        clear_untrusted_proxy_headers=False,
    )
    server.channel_class = TimedChannel
    return server


def connection_limit() -> int:
    """CONNECTIONS, or as many as this process may have files for; raises its own limit of open files as far as it may."""
    wanted = CONNECTIONS * FILES_OF_A_CONNECTION + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        # macOS reports no limit and refuses more than its own.
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return CONNECTIONS
    return max(1, min(CONNECTIONS, (soft - OTHER_FILES) // FILES_OF_A_CONNECTION))


def _listen_at(unbound: socket.socket, address: Any) -> socket.socket:
    try:
        unbound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        unbound.bind(address)
        # Two programs can bind one port until the first of them listens.
        unbound.listen(1024)
    except OSError:
        unbound.close()
        raise
    return unbound
