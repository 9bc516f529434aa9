"""Writes the example incidents as real store files and imports them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from inspector.actions.import_source import import_targets
from inspector.demo import creation, gbrain_incident
from inspector.demo import database as demo_database
from inspector.demo.branch_incident import BRANCHED
from inspector.demo.dispatch_incident import CONVERSATION, store_rows, trace_records
from inspector.demo.ownership import CAPTURES, STREAMS, TREES, is_ours
from inspector.demo.private_postgres import CannotStart
from inspector.demo.rollouts_incident import SESSION, incident_files
from inspector.demo.stream_incident import CAPTURED_AT, PREMATURE
from inspector.environment import os_user
from inspector.installation import program
from inspector.management.answering import AnsweringCommand
from inspector.models import Conversation, Stream
from inspector.models.identity import short_id
from inspector.programs.pi_openclaw import openclaw, pi
from inspector.sources import files, folders
from inspector.sources.problems import SourceProblem, shown
from inspector.sources.reading import read


class Command(AnsweringCommand):
    """`demo [--fresh] [--folder PATH]`; files that are there stay as they are unless `--fresh`."""

    help = "Writes the example incidents as real store files, imports them, and says what to try."

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("--fresh", action="store_true", help="write the files again, whatever was repaired or changed in them")
        parser.add_argument(
            "--folder",
            metavar="PATH",
            help="where to write them (default: demo/ in var/ of a checkout, else in the data directory of the user)",
        )

    def answer(self, options: dict[str, Any]) -> None:
        if options["folder"] == "":
            raise CommandError(f"Name a folder after --folder, or leave it out for {settings.VAR_DIR / 'demo'}.")
        folder = Path(options["folder"] or settings.VAR_DIR / "demo")
        store, traces, rollouts = folder / "dispatch.db", folder / "traces.db", folder / "rollouts"
        trees = (folder / openclaw.NAME, folder / pi.NAME)
        streams = [folder / STREAMS / name for name in CAPTURES]
        export = folder / "gbrain.sql"
        paths = (store, traces, rollouts, *trees, export)
        server = folder / "postgres"
        for path in (*paths, *streams):
            _refuse_foreign(path)
        demo_database.refuse_foreign(server)
        if options["fresh"]:
            for path in (store, traces, export, *streams):
                _remove(path)
            for path in (rollouts, *trees):
                folders.remove(path)
        written = [path.name for path in paths if not files.exists(path)]
        captured = {path.name: CAPTURES[path.name] for path in streams if not files.exists(path)}
        written += [STREAMS] if captured else []
        if store.name in written:
            creation.write_dispatch_store(store, store_rows())
        if traces.name in written:
            creation.write_trace_store(traces, trace_records())
        if rollouts.name in written:
            _write(rollouts, incident_files())
        for path in trees:
            if path.name in written:
                _write(path, TREES[path.name])
        _write(folder / STREAMS, captured)
        for path in streams:
            # A capture is as old as its file: these are of the day of the first incident, as the conversations around them.
            os.utime(path, (CAPTURED_AT, CAPTURED_AT))
        if export.name in written:
            _write(folder, {export.name: gbrain_incident.script().encode()})
        imported, _ = import_targets([str(store), str(traces)], os_user(), demo=True)
        # By itself: traces belong to every store of the same call.
        (sessions,) = import_targets([str(rollouts)], os_user(), demo=True)
        (branches,), (damaged,) = (import_targets([str(path)], os_user(), demo=True) for path in trees)
        imported_streams = import_targets([str(path) for path in streams], os_user(), demo=True)
        premature = Stream.oid_of(imported_streams[0].source, PREMATURE)
        jobs, loaded, no_server = _jobs(export, server, options["fresh"])
        incident = Conversation.oid_of(imported.source, CONVERSATION)
        refused = Conversation.oid_of(sessions.source, SESSION)
        branched = Conversation.oid_of(branches.source, BRANCHED)
        job = short_id(*jobs, str(gbrain_incident.FAILED))
        if options["json"]:
            paths_by_name = {
                "store": str(store),
                "traces": str(traces),
                "rollouts": str(rollouts),
                **{path.name: str(path) for path in trees},
                STREAMS: str(folder / STREAMS),
                "gbrain": jobs[0],
            }
            ids = {"incident": incident, "refused": refused, "branched": branched, "premature": premature, "job": job}
            self.say_json({**paths_by_name, "written": written, "conversations": imported.conversations, **ids})
            return
        tree_counts = f"{branches.conversations} sessions that are trees ({branched} has a result on another branch), {damaged.conversations} with damaged lines"
        job_counts = f"{len(gbrain_incident.DEMO_JOBS)} jobs of gbrain ({job} dies on every retry), {no_server}"
        for is_new, places, content in (
            (written, (store, traces), f"{imported.conversations} conversations"),
            (written, (rollouts,), f"a session ({refused}) with the crash file of its refused request"),
            ({path.name for path in trees} & {*written}, trees, tree_counts),
            (captured, (folder / STREAMS,), f"{len(streams)} captured streams ({premature} was ended too early)"),
            (loaded or export.name in written, (export,), job_counts),
        ):
            self.say(f"{'Wrote' if is_new else 'Kept'} {' and '.join(map(_near, places))}: {content}.")
        if not written:
            self.say("They were there already and are as you left them; --fresh writes them again.")
        self.say("Try:")
        self.say(f"  {program()} serve")
        self.say(f"  {program()} scan {_near(store)}")
        self.say(f"  {program()} show {incident} --as messages")
        self.say(f"  {program()} repair {incident} --strategy renumber-messages --plan")
        self.say(f"  {program()} scan {_near(rollouts)} --profile all")
        self.say(f"  {program()} repair {refused} --for anthropic-2026-07 --plan")
        self.say(f"  {program()} show {branched} --as tree")
        self.say(f"  {program()} repair {branched} --strategy reparent-to-result --plan")
        self.say(f"  {program()} scan {_near(trees[1])}")
        self.say(f"  {program()} scan {_near(streams[0])}")
        self.say(f"  {program()} repair {_near(export)} --conversation {gbrain_incident.FAILED} --strategy insert-ledger-results --plan")


def _jobs(export: Path, server: Path, fresh: bool) -> tuple[tuple[str, str], bool, str]:
    """What gbrain's jobs are known by, whether their database was filled just now, and in words how they are read."""
    try:
        with demo_database.loaded(server, fresh) as (where, filled):
            (imported,) = import_targets([where], os_user(), demo=True)
            return (
                (imported.source.path, imported.source.format),
                filled,
                f"loaded into a PostgreSQL of its own, which runs while `serve` does: {where}",
            )
    except CannotStart as problem:
        (imported,) = import_targets([str(export)], os_user(), demo=True)
        return (imported.source.path, imported.source.format), False, f"read from that export, since {problem}"


def _refuse_foreign(path: Path) -> None:
    """Pages may write to the demo's files at once, and --fresh removes them: neither may befall a store that is in use. Raises CommandError."""
    if not files.exists(path):
        return
    try:
        may_be_removed = is_ours(read(path))
    except SourceProblem:
        may_be_removed = False
    if not may_be_removed:
        is_not = "is not the demo's folder, or not only and wholly that," if folders.is_folder(path) else "is not a file of the demo"
        raise CommandError(f"{shown(str(path), 4096)} {is_not} and stays as it is: name another --folder, or move it away.")


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _write(folder: Path, contents: Mapping[str, bytes]) -> None:
    for key, data in contents.items():
        place = folder / key
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        place.write_bytes(data)


def _near(path: Path) -> str:
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
