"""Traces that a command is given with its target: a trace database, a journal, or a journal through a pipe."""

import sys
from collections.abc import Sequence
from functools import partial

from django.core.management.base import CommandError

from inspector.actions.own_database import refuse_own_database
from inspector.sources import files
from inspector.sources.captures import Captures
from inspector.sources.opening import MAGIC
from inspector.sources.places import place
from inspector.sources.problems import SourceProblem, shown
from inspector.sources.reading import NoRequest, Traces, read
from inspector.traces.bodies import decompress
from inspector.traces.model import Trace, TraceRecord
from inspector.traces.tree import build

PIPE = "-"
_PIPE_LIMIT = 1 << 30
NO_SQLITE = "A SQLite store cannot come through a pipe: save it to a file, with its -wal file next to it if it has one, and name that."


def trace_of(traces: Sequence[Traces], native_id: str) -> Trace | None:
    """What trace sources hold on a conversation; None where there are none."""
    if not traces:
        return None
    records: list[TraceRecord] = [record for source in traces for record in source.records]
    return build(native_id, records, partial(_body, traces))


def _body(traces: Sequence[Traces], name: str) -> bytes | None:
    body = next((source.bodies[name] for source in traces if name in source.bodies), None)
    return None if body is None else decompress(body)


def read_traces(name: str) -> Traces:
    """Raises CommandError, SourceProblem."""
    content = read_observed(name)
    if isinstance(content, Traces):
        return content
    raise CommandError(
        f"{shown(name, 4096)} holds captured streams ({content.kind}): only scan compares them with a store; name it as TARGET."
    )


def read_observed(name: str) -> Traces | Captures:
    """Traces, or captured streams. Raises CommandError, SourceProblem."""
    if name == PIPE:
        return _piped_traces()
    path = place(name)
    refuse_own_database(path)
    content = read(path)
    if isinstance(content, Traces | Captures):
        return content
    raise CommandError(f"{shown(str(path), 4096)} holds conversations ({content.format.name}), no traces: name it as TARGET.")


def _piped_traces() -> Traces:
    """A journal from standard input; it is kept in a private folder while it is read."""
    data = sys.stdin.buffer.read(_PIPE_LIMIT + 1)
    if data.startswith(MAGIC):
        raise CommandError(NO_SQLITE)
    if not data or len(data) > _PIPE_LIMIT:
        raise CommandError("Standard input is empty or over 1 GB: pipe a journal into it, or name its file.")
    with files.workspace() as folder:
        (folder / "stdin.ndjson").write_bytes(data)
        try:
            content = read(folder / "stdin.ndjson")
        except NoRequest as refused:
            raise CommandError(f"Standard input {refused.reason}") from None
        except SourceProblem as problem:
            raise CommandError("Standard input holds no journal that can be read: save it to a file and name that.") from problem
    if isinstance(content, Traces):
        return content
    raise CommandError(NO_SQLITE)
