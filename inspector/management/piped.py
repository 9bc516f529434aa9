"""A request body that comes through standard input."""

import sys

from django.core.management.base import CommandError

from inspector.formats.catalogue import UnknownFormat, format_named
from inspector.formats.request_layout import LIMIT
from inspector.formats.request_names import WIRES
from inspector.management.observed import NO_SQLITE
from inspector.sources import files
from inspector.sources.opening import MAGIC
from inspector.sources.problems import SourceProblem
from inspector.sources.reading import NoRequest, NotAStore, Store, read_store

NAME = "standard-input.json"


def read_body(format_name: str | None) -> Store:
    """The body as a store; it is kept in a private folder while it is read. Raises CommandError, UnknownFormat."""
    if format_name is not None and format_named(format_name).name not in WIRES:
        raise CommandError(f"Only a request body can come through standard input, no store of the format {format_name}: name its path.")
    data = b"" if sys.stdin.isatty() else sys.stdin.buffer.read(LIMIT + 1)
    if data.startswith(MAGIC):
        raise CommandError(NO_SQLITE)
    if not data.strip():
        raise CommandError("Standard input is empty: pipe the body of a request into it, as JSON, or name a path as TARGET.")
    if len(data) > LIMIT:
        raise CommandError(f"Standard input is over {LIMIT >> 20} MB, which no provider takes as a request: check what is piped into it.")
    with files.workspace() as folder:
        path = folder / NAME
        path.write_bytes(data)
        try:
            return read_store(path, format_name)
        except NoRequest as problem:
            raise CommandError(f"Standard input {problem.reason}") from None
        except NotAStore:
            raise CommandError("Standard input holds traces, no conversations: name the store as TARGET and add --traces -.") from None
        except UnknownFormat:
            raise
        except SourceProblem:
            raise CommandError(
                "Standard input holds no request body: pipe the JSON that was sent into it, or name a store by its path."
            ) from None


def refuse_writing() -> None:
    """Raises CommandError."""
    raise CommandError(
        "What came through standard input cannot be written back to: use --plan, or --out PATH (--out - prints the repaired body)."
    )
