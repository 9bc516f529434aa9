"""Stores imported for the tests of pages: the example, and conversations written row by row."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from inspector.actions.import_source import import_targets
from inspector.demo import dispatch_incident, gbrain_incident
from inspector.demo.branch_incident import openclaw_files, pi_files
from inspector.demo.creation import write_dispatch_store, write_journal, write_trace_store
from inspector.demo.rollouts_incident import incident_files
from inspector.models import Source

Row = tuple[str, str, str]

INCIDENT = "1a997b08-09c2-412c-b296-48703c8aaf58"
HEALTHY: tuple[Mapping[str, object], ...] = (
    {"chunk": {"type": "text", "text": "hi"}, "role": "user", "msgIdx": 0, "chunkIdx": 0},
    {"chunk": {"type": "text", "text": "hello"}, "role": "assistant", "msgIdx": 1, "chunkIdx": 0},
)
MERGED: tuple[Mapping[str, object], ...] = tuple({**row, "msgIdx": 0} for row in HEALTHY)


def example(folder: Path, traces: bool = True) -> Source:
    """The seed incident with its five neighbors, and its trace."""
    store, trace = folder / "dispatch.db", folder / "traces.db"
    write_dispatch_store(store, dispatch_incident.store_rows())
    targets = [str(store)]
    if traces:
        write_trace_store(trace, dispatch_incident.trace_records())
        targets.append(str(trace))
    return import_targets(targets, "tester")[0].source


def rows(native_id: str, chunks: Sequence[Mapping[str, object]], title: str = "", at: int = 1782000000000) -> list[Row]:
    meta = {"createdAt": at, "lastActivityAt": at, "title": title or native_id, "status": "idle"}
    values = {f"conv:{native_id}:chunk:{seq:010d}": json.dumps(chunk) for seq, chunk in enumerate(chunks, start=1)}
    values |= {f"conv:{native_id}:seq": str(len(chunks)), f"conv:{native_id}:meta": json.dumps(meta)}
    return [("conversation-store", key, value) for key, value in values.items()]


def store(path: Path, found: Sequence[Row]) -> Source:
    """A store of `rows`, imported."""
    write_dispatch_store(path, found)
    return import_targets([str(path)], "tester")[0].source


def many(path: Path, count: int) -> Source:
    """`count` conversations, every second one merged, the last one last active."""
    found = [
        row
        for number in range(count)
        for row in rows(
            f"conversation-{number:03d}", MERGED if number % 2 else HEALTHY, f"Title {number:03d}", 1782000000000 + number * 1000
        )
    ]
    return store(path, found)


def torn_journal(path: Path) -> Source:
    """A journal with one good line and one that is none."""
    write_journal(path, dispatch_incident.trace_records()[:1])
    with path.open("ab") as file:
        file.write(b'{"kind": "log", <script>\n{}\n')
    return import_targets([str(path)], "tester")[0].source


def lay(folder: Path, contents: Mapping[str, bytes]) -> Path:
    for name, data in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def of_programs(folder: Path) -> None:
    example(folder)
    (folder / "gbrain.sql").write_bytes(gbrain_incident.script().encode())
    (folder / "a.json").write_text('{"model": "gpt-5", "messages": [{"role": "user", "content": "hi"}]}')
    folders = (lay(folder / "rollouts", incident_files()), lay(folder / "openclaw", openclaw_files()), lay(folder / "pi", pi_files()))
    for path in (*folders, folder / "gbrain.sql", folder / "a.json"):
        import_targets([str(path)], "tester")
