"""Writes the example incident as real store files and imports them."""

import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from inspector.actions.import_source import import_targets
from inspector.environment import os_user, program
from inspector.formats.rollouts import ROLLOUTS
from inspector.formats.rollouts_crash import PREFIX
from inspector.management.answering import AnsweringCommand
from inspector.models.identity import short_id
from inspector.seeds.dispatch_incident import CONVERSATION, store_rows, trace_records
from inspector.seeds.dispatch_others import OTHERS
from inspector.seeds.rollouts_incident import SESSION, incident_files
from inspector.sources import creation, files, folders
from inspector.sources.problems import SourceProblem, shown
from inspector.sources.reading import Store, Traces, read
from inspector.traces.record_id import record_id


class Command(AnsweringCommand):
    """`demo [--fresh] [--folder PATH]`; files that are there stay as they are unless `--fresh`."""

    help = "Writes the example incident as real store files into var/demo/, imports them, and says what to try."

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("--fresh", action="store_true", help="write the files anew, whatever was repaired or changed in them")
        parser.add_argument("--folder", metavar="PATH", help="where to write them (default: var/demo)")

    def answer(self, options: dict[str, Any]) -> None:
        if options["folder"] == "":
            raise CommandError("Name the folder behind --folder, or leave it out for var/demo.")
        folder = Path(options["folder"] or settings.VAR_DIR / "demo")
        store, traces, rollouts = folder / "dispatch.db", folder / "traces.db", folder / "rollouts"
        for path in (store, traces, rollouts):
            _refuse_foreign(path)
        if options["fresh"]:
            _remove(store)
            _remove(traces)
            folders.remove(rollouts)
        written = [path.name for path in (store, traces, rollouts) if not files.exists(path)]
        if store.name in written:
            creation.write_dispatch_store(store, store_rows())
        if traces.name in written:
            creation.write_trace_store(traces, trace_records())
        if rollouts.name in written:
            _write(rollouts, incident_files())
        imported, _ = import_targets([str(store), str(traces)], os_user(), demo=True)
        # By itself: traces belong to every store of the same call.
        (sessions,) = import_targets([str(rollouts)], os_user(), demo=True)
        incident = short_id(imported.source.path, imported.source.format, CONVERSATION)
        refused = short_id(sessions.source.path, sessions.source.format, SESSION)
        if options["json"]:
            places = {"store": str(store), "traces": str(traces), "rollouts": str(rollouts), "written": written}
            self.say_json({**places, "conversations": imported.conversations, "incident": incident, "refused": refused})
            return
        self.say(f"{'Wrote' if written else 'Kept'} {_near(store)} and {_near(traces)}: {imported.conversations} conversations.")
        self.say(f"{'Wrote' if written else 'Kept'} {_near(rollouts)}: a session ({refused}) with the crash file of its refused request.")
        if not written:
            self.say("They were there already and are as you left them; --fresh writes them anew.")
        self.say("Try:")
        self.say(f"  {program()} serve")
        self.say(f"  {program()} scan {_near(store)}")
        self.say(f"  {program()} show {incident} --as messages")
        self.say(f"  {program()} repair {incident} --strategy renumber-messages --plan")
        self.say(f"  {program()} scan {_near(rollouts)} --profile all")
        self.say(f"  {program()} repair {refused} --for anthropic-2026-07 --plan")


def _refuse_foreign(path: Path) -> None:
    """Pages may write to the demo's files at once, and --fresh removes them: neither may befall a store that is in use. Raises CommandError."""
    if not files.exists(path):
        return
    try:
        held = read(path)
    except SourceProblem:
        is_ours = False
    else:
        is_ours = _is_ours(held)
    if not is_ours:
        raise CommandError(
            f"{shown(str(path), 4096)} is not a file of the demo and stays as it is: name another --folder, or move it away."
        )


def _is_ours(held: Store | Traces) -> bool:
    """A demo's store holds all its conversations, whatever was repaired in them; its trace is never written to."""
    if isinstance(held, Traces):
        return {record.id for record in held.records} == {record_id(record) for record in trace_records()}
    names = {stored.conversation.native_id for stored in held.conversations}
    if held.format.name == ROLLOUTS.name:
        made = [stored for stored in held.conversations if '"inspector"' in (stored.conversation.fact("tags") or "")]
        known = {SESSION, *(name for name in names if name.startswith(PREFIX)), *(stored.conversation.native_id for stored in made)}
        return SESSION in names and names <= known
    return {CONVERSATION, *OTHERS} <= names


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _write(folder: Path, contents: dict[str, bytes]) -> None:
    for key, data in contents.items():
        place = folder / key
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        place.write_bytes(data)


def _near(path: Path) -> str:
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
