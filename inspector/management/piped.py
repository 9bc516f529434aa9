"""A request body or a captured stream that comes through standard input."""

import io
import sys
from pathlib import Path

from django.core.management.base import CommandError

from inspector.management.observed import NO_SQLITE, PIPE
from inspector.programs.catalogue import UnknownFormat, format_named
from inspector.programs.registry import wire_of
from inspector.sources import captures, files
from inspector.sources.captures import NAMES
from inspector.sources.opening import MAGIC
from inspector.sources.problems import SourceProblem
from inspector.sources.reading import ACapture, NoRequest, NotAStore, Store, read_store
from inspector.streams.captures.base import CaptureKind, Opened, head_of
from inspector.streams.captures.catalogue import HEAD, kind_named
from inspector.wires.layout import LIMIT

NAME = "standard-input.json"
CAPTURE = "standard-input"
_LARGEST = 4 << 30
"""Bytes of a capture that are taken through a pipe."""


def read_body(format_name: str | None) -> Store:
    """The body as a store; it is kept in a private folder while it is read. Raises CommandError, UnknownFormat, and ACapture with the streams of a capture."""
    if format_name is not None and format_name not in NAMES and not wire_of(format_named(format_name).name):
        raise CommandError(
            f"Only a request body or a capture can come through standard input, no store of the format {format_name}: name its path."
        )
    opened, size = captures.spooled(io.BytesIO() if sys.stdin.isatty() else sys.stdin.buffer, _LARGEST)
    head = head_of(opened, HEAD)
    if head.startswith(MAGIC):
        raise CommandError(NO_SQLITE)
    if not head.strip():
        raise CommandError("Standard input is empty: pipe the body of a request or a captured stream into it, or name a path as TARGET.")
    if size > _LARGEST:
        raise CommandError(f"Standard input is over {_LARGEST >> 30} GB: save the capture to a file and name that.")
    if format_name in NAMES:
        raise _captured(opened, kind_named(format_name))
    kind = captures.kind_of(opened, CAPTURE) if format_name is None else None
    if size > LIMIT:
        if kind is not None:
            raise _captured(opened, kind)
        raise CommandError(f"Standard input is over {LIMIT >> 20} MB, which no provider takes as a request: check what is piped into it.")
    with files.workspace() as folder:
        path = folder / NAME
        path.write_bytes(b"".join(opened()))
        try:
            return read_store(path, format_name)
        except ACapture as capture:
            # Its file goes with the folder.
            problem = _captured(opened, kind_named(capture.captures.kind))
        except NoRequest as error:
            raise CommandError(f"Standard input {error.reason}") from None
        except NotAStore:
            raise CommandError("Standard input holds traces, no conversations: name the store as TARGET and add --traces -.") from None
        except UnknownFormat:
            raise
        except SourceProblem:
            raise CommandError(
                "Standard input holds no request body and no capture: pipe the JSON that was sent or the stream that came into it, or name a store by its path."
            ) from None
    raise problem


def _captured(opened: Opened, kind: CaptureKind) -> ACapture:
    return ACapture(Path(PIPE), captures.read_from(opened, Path(PIPE), CAPTURE, kind))


def refuse_writing() -> None:
    """Raises CommandError."""
    raise CommandError(
        "What came through standard input cannot be written back to: use --plan, or --out PATH (--out - prints the repaired body)."
    )
