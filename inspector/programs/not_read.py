"""Programs and telemetry whose files are known and not read yet: by the tables of a database, or by how a file of theirs begins."""

import re

from inspector.programs.formats import Shape

GOOSE = "sessions of goose"
_TABLES: tuple[tuple[str, frozenset[str]], ...] = (
    ("checkpoints of LangGraph", frozenset({"checkpoints", "writes"})),
    ("sessions of the OpenAI Agents SDK", frozenset({"agent_sessions", "agent_messages"})),
    ("sessions of opencode before its version 1, or of Crush", frozenset({"goose_db_version", "sessions", "messages", "files"})),
    (GOOSE, frozenset({"schema_version", "sessions", "messages"})),
)

TRAJECTORY = "a runtime trace of OpenClaw"

# Quotes keep words of a conversation out, which are escaped there. All are written as compact lines, the members in this order.
_HEADS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    (TRAJECTORY, re.compile(rb'^\s*\{[^\n]*"traceSchema"\s*:\s*"openclaw-trajectory"', re.MULTILINE)),
    ("an OpenTelemetry export (OTLP in JSON)", re.compile(rb'\A\s*\{\s*"resource_?(?:[sS]pans|[lL]ogs|[mM]etrics)"\s*:')),
    ("an export of Jaeger", re.compile(rb'\A\s*\{\s*"data"\s*:\s*\[\s*\{\s*"traceID"\s*:')),
    # Of an SDK's own exporters, of a list of spans, of a log with a span on each line.
    (
        "an export of spans",
        re.compile(rb'\A\s*\[?\s*\{(?=.*"trace_?id"\s*:\s*"(?:0x)?[0-9a-f-]{16,36}").*"span_?id"\s*:\s*"', re.DOTALL | re.IGNORECASE),
    ),
    ("an index of saved requests", re.compile(rb'\A\s*\{[^\n]*"request_file"\s*:\s*"[^\n]*"response_file"\s*:\s*"')),
)
_LOOKED_AT = 4096
"""Bytes at the start of a file: a first line of these programs may be longer than any limit, and its members come before its content."""

_WHAT_TO_DO = {
    GOOSE: "goose leaves out calls and results without a partner when it loads a session, so start it again first. What it sends is the member `input` of the "
    "first line of llm_request.N.jsonl in ~/.local/state/goose/logs: save that as a file and `check` it",
}
_CHECK = "Save the request that was sent as a file of JSON and `check` it"


def why(what: str) -> str:
    """The end of a sentence that names it, and what can be done all the same, without the last full stop."""
    return f"which Inspector does not read yet: `formats` lists what it reads. {_WHAT_TO_DO.get(what, _CHECK)}; `explain` says what the provider's error means"


def of_head(head: bytes) -> str:
    """What a file is that begins so, as `an export of Jaeger`; "" where nobody knows."""
    start = head[:_LOOKED_AT].removeprefix(b"\xef\xbb\xbf")
    return next((what for what, pattern in _HEADS if pattern.search(start)), "")


def of_shape(shape: Shape) -> str:
    """The same of a database, or of a folder by the beginnings of some of its files."""
    names = (what for what, tables in _TABLES if tables <= shape.tables.keys())
    return next(names, "") or next((what for head in shape.heads if (what := of_head(head))), "")
