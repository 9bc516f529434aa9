"""One place to work: a store and Inspector's own database in memory, saved and brought back for each point, with every command run in a fork.

Starting Python and Django costs more than a command does, so the process that forks has both loaded and no connection open.
"""

import importlib
import os
import pkgutil
import re
import shutil
import signal
import sqlite3
import sys
import traceback
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.faults.cases import Case
from tests.faults.servers import Postgres
from tests.faults.shim import ON_SERVERS, Call, Shim, calls
from tests.faults.stores import Change, Content, Files, Found, Intent, Sqlite, found

HANGS = 60
"""Seconds after which a command is taken to hang."""
LATER = 120
"""Seconds after which somebody looks."""
SOCKETS = "socket:"


@dataclass(frozen=True)
class Fault:
    """`call`: the one that fails, as an earlier run counted it; without one the calls are only counted."""

    kind: str
    call: Call | None = None


@dataclass(frozen=True)
class Answer:
    """How a command or a page ended: `status` is negative for a signal, `calls` are those that were counted."""

    what: str
    status: int
    text: str
    calls: tuple[Call, ...] = ()

    @property
    def is_odd(self) -> bool:
        """No traceback ever reaches a user, and nothing hangs."""
        is_killed = self.status == -signal.SIGKILL
        return not is_killed and (
            self.status not in (0, 1, 2) or "Traceback (most recent call last)" in self.text or "fault of Inspector" in self.text
        )


class Bench:
    """`folder` holds `store`, `own` (the data folder of Inspector) and what is saved of both."""

    def __init__(self, folder: Path, shim: Shim, migrated: Path) -> None:
        self.folder, self.shim, self.migrated = folder, shim, migrated
        self.store_folder, self.own = folder / "store", folder / "own"
        self.database = self.own / "inspector.sqlite3"
        self.scratch = folder / "scratch"
        self.scratch.mkdir(parents=True)
        self.store = Files(self.store_folder, self.scratch)
        from django.conf import settings
        from django.db import connection

        connection.settings_dict["NAME"] = str(self.database)
        # The head of the audit log counts the lines of this very database, and is saved and restored with it.
        settings.INSPECTOR_AUDIT_KEY_FILE = self.own / f"{self.database.name}.audit-key"

    # A case ----------------------------------------------------------------------------------------------------------------------

    def prepare(self, case: Case) -> None:
        """A fresh store, imported; what it holds is `before`."""
        for path in (self.store_folder, self.own):
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir()
        for path in self.migrated.parent.glob(f"{self.migrated.name}*"):
            shutil.copy(path, self.own / path.name.replace(self.migrated.name, self.database.name))
        self.case = case
        self.close()
        self.store = {"files": Files, "sqlite": Sqlite, "postgres": Postgres}[case.kind](self.store_folder, self.scratch)
        self.path = case.make(self.store.address() if isinstance(self.store, Postgres) else self.store_folder)
        if case.kind == "files":
            self.store.base = Path(self.path).parent
        imported = self.command("import_source", self.path)
        assert imported.status == 0, imported.text
        _age(self.store_folder)
        self.before: Content = self.store.content()

    def close(self) -> None:
        if isinstance(self.store, Postgres):
            self.store.close()

    @property
    def repairing(self) -> tuple[str, ...]:
        """The command that a person types first."""
        chosen = ("--conversation", self.case.conversation) if self.case.conversation else ()
        return ("repair", self.path, *chosen, "--strategy", *self.case.strategies, "--mode", self.case.mode, "--apply")

    def save(self, name: str) -> None:
        kept = self.folder / name
        self.store.save(kept / "store")
        shutil.rmtree(kept / "own", ignore_errors=True)
        shutil.copytree(self.own, kept / "own")

    def restore(self, name: str) -> None:
        kept = self.folder / name
        self.store.restore(kept / "store")
        shutil.rmtree(self.own, ignore_errors=True)
        shutil.copytree(kept / "own", self.own)

    # Running ---------------------------------------------------------------------------------------------------------------------

    def command(self, *arguments: str, fault: Fault | None = None) -> Answer:
        """As `manage.py` runs it, its exit status and everything that it prints included."""
        import manage

        return self.fork(" ".join(arguments), lambda: manage.main(["manage.py", *arguments]), fault)

    def page(self, address: str) -> Answer:
        """Status 0 for a page, 1 for one that is not there, 99 for an error of the server."""

        def get() -> int:
            from django.db import connections
            from django.test import Client

            from inspector.access_token import bearer

            answer = Client(headers={"host": "localhost", **bearer()}, raise_request_exception=False).get(address)
            sys.stdout.write(answer.content.decode())
            connections.close_all()
            return 99 if answer.status_code >= 500 else int(answer.status_code >= 400)

        return self.fork(f"GET {address}", get)

    def press(self, address: str) -> Answer:
        """A button of a page: status 0, or 2 where the page says that it was refused."""

        def post() -> int:
            from django.contrib.messages import ERROR, get_messages
            from django.db import connections
            from django.test import Client

            from inspector.access_token import bearer

            answer = Client(headers={"host": "localhost", **bearer()}, raise_request_exception=False).post(address)
            said = list(get_messages(answer.wsgi_request))
            sys.stdout.write("\n".join(each.message for each in said))
            connections.close_all()
            return 99 if answer.status_code >= 500 else 2 if answer.status_code >= 400 or any(each.level >= ERROR for each in said) else 0

        return self.fork(f"POST {address}", post)

    def fork(self, what: str, act: Callable[[], int], fault: Fault | None = None) -> Answer:
        out, log = self.scratch / "out", self.scratch / "calls"
        child = os.fork()
        if not child:
            self._be_child(out, log, act, fault)
        _, ended = os.waitpid(child, os.WUNTRACED if fault and fault.kind in ON_SERVERS else 0)
        if fault and os.WIFSTOPPED(ended):
            self.store.strike(fault.kind)
            os.kill(child, signal.SIGCONT)
            _, ended = os.waitpid(child, 0)
        self.store.wait()
        status = os.waitstatus_to_exitcode(ended)
        counted = calls(log.read_bytes()) if fault else []
        return Answer(what, status, out.read_text("utf-8", "replace"), tuple(counted))

    def _be_child(self, out: Path, log: Path, act: Callable[[], int], fault: Fault | None) -> None:
        status = 98
        try:
            signal.alarm(HANGS)
            opened = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(opened, 1)
            os.dup2(opened, 2)
            sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            if fault:
                counted = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                self.shim.arm(fault.kind, fault.call, self.watched, counted)
            status = act()
        except SystemExit as left:
            status = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
        except BaseException:
            traceback.print_exc()
        finally:
            self.shim.arm("off", None, [], -1)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    @property
    def watched(self) -> list[str]:
        return [f"{self.store_folder}/", f"{self.own}/", SOCKETS]

    # Looking ---------------------------------------------------------------------------------------------------------------------

    def intents(self) -> list[Intent]:
        """The repairs in Inspector's own database, oldest first, read in a copy: opening it would play in its log."""
        copy = self.scratch / "own"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.own, copy)
        with closing(sqlite3.connect(copy / self.database.name)) as connection:
            changes: dict[int, list[Change]] = {}
            for repair, key, element, before, after in connection.execute(
                "SELECT repair_id, key, element, before, after FROM inspector_repairchange ORDER BY repair_id, position"
            ):
                changes.setdefault(repair, []).append(Change(key.decode("utf-8", "surrogateescape"), element, before, after))
            repairs = connection.execute("SELECT id, oid, state, claimed_at FROM inspector_repair ORDER BY id").fetchall()
        return [Intent(oid, state, tuple(changes.get(number, ())), claimed is not None) for number, oid, state, claimed in repairs]

    def look(self) -> tuple[Found, list[Intent]]:
        intents = self.intents()
        return found(self.store, self.before, intents), intents

    def let_time_pass(self) -> None:
        """A claim or a lock of a process that died is good for a while; a person comes back later."""
        for lock in self.store_folder.rglob("*.lock"):
            os.utime(lock, (lock.stat().st_atime - LATER, lock.stat().st_mtime - LATER))
        if any(intent.is_claimed for intent in self.intents()):
            with closing(sqlite3.connect(self.database)) as connection, connection:
                connection.execute(
                    "UPDATE inspector_repair SET claimed_at = datetime(claimed_at, ?) || '.000000' WHERE claimed_at IS NOT NULL",
                    (f"-{LATER} seconds",),
                )


def _age(folder: Path) -> None:
    """A file of this very moment is looked at twice by whoever reads it, which takes time."""
    for place in folder.rglob("*"):
        if place.is_file():
            os.utime(place, (1_790_000_000, 1_790_000_000))


def load_everything() -> None:
    """Whatever a command or a page would import and compile, before the first fork."""
    import gc

    from django.conf import settings
    from django.template.loader import get_template
    from django.urls import get_resolver

    import inspector
    import manage  # noqa: F401

    for module in pkgutil.walk_packages(inspector.__path__, "inspector."):
        # The engine of the queue is there with PostgreSQL only.
        if ".migrations." not in module.name and not module.name.endswith(("wsgi", ".management.jobs")):
            importlib.import_module(module.name)
    get_resolver().url_patterns  # noqa: B018
    for path in sorted((settings.BASE_DIR / "templates").rglob("*.html")):
        get_template(str(path.relative_to(settings.BASE_DIR / "templates")))
    gc.collect()
    gc.freeze()


def names_write(text: str, intents: list[Intent]) -> bool:
    """Whether an answer says that a write was interrupted, and which act finishes it."""
    return "interrupted while it was written" in text and any(re.search(rf"\b(apply|undo) {intent.oid}", text) for intent in intents)
