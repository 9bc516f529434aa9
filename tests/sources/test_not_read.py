"""Files of programs that are known and not read yet, and copies that a folder of sessions keeps: each is named, and none is left out without a word."""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from inspector.sources.problems import SourceProblem
from inspector.sources.reading import UNREAD_FILES, Store, read
from tests.folding import in_one_test
from tests.profiles.evidence import evidence
from tests.programs.pi_openclaw.session_files import a, header, lines, r, u

SESSION = lines(header(), u("1", None), a("2", "1"), r("3", "2", "c"))
CLAUDE = {"parentUuid": None, "isSidechain": False, "sessionId": "5f1c27d0", "version": "2.1.33", "type": "user", "uuid": "u1"}
FILES = {
    "a runtime trace of OpenClaw": (lines({"traceSchema": "openclaw-trajectory", "schemaVersion": 1, "type": "session.started"}),),
}
OTLP_SPANS = {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {"name": "s"}, "spans": []}]}]}
OTLP_LOGS = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": "claude_code.api_request"}}]}]}]}
SDK = {"name": "ai.streamText", "spanContext": {"traceId": "f99cc53c9bb8fe40462f7a48999e7088", "spanId": "25ec6d8e42789717"}}
INDEX = {"timestamp": "2026-11-22T03:25:46.762Z", "request_file": "a.request.json", "response_file": "b.response.json"}
FILES |= {
    "an OpenTelemetry export (OTLP in JSON)": (
        lines(OTLP_SPANS, OTLP_SPANS),
        lines(OTLP_LOGS),
        json.dumps(OTLP_LOGS, indent=2).encode(),
        lines({"resource_spans": []}, {"resource_spans": []}),
    ),
    "an export of Jaeger": (json.dumps({"data": [{"traceID": "c620759e5d60fafb", "spans": []}]}, indent=2).encode(),),
    "an export of spans": (
        json.dumps([SDK], indent=2).encode(),
        # As Gemini CLI writes its log: values one after the other, over many lines each.
        json.dumps({"_spanContext": SDK["spanContext"]}, indent=2).encode() * 2,
        json.dumps({"name": "chat", "context": {"trace_id": "0x" + "a1" * 16, "span_id": "0x" + "b2" * 8}}, indent=4).encode(),
        lines({"trace_id": "a1" * 16, "span_id": "b2" * 8, "name": "chat gpt"}, {"trace_id": "a1" * 16, "span_id": "b3" * 8}),
    ),
    "an index of saved requests": (lines(INDEX, INDEX),),
}
TABLES = {
    "checkpoints of LangGraph": ("checkpoints", "writes"),
    "sessions of the OpenAI Agents SDK": ("agent_sessions", "agent_messages"),
    "sessions of goose": ("schema_version", "sessions", "messages"),
}


def refusal(path: Path) -> str:
    with pytest.raises(SourceProblem) as found:
        read(path)
    return found.value.sentence


@pytest.mark.parametrize(("what", "data"), [(what, data) for what, every in FILES.items() for data in every])
def test_a_file_of_a_known_program_is_named(tmp_path: Path, what: str, data: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    said = refusal(path)
    assert said.startswith(f"{path} is {what}") and "does not read yet" in said and "`formats`" in said and "request body" not in said


@pytest.mark.parametrize("what", FILES)
def test_a_folder_of_its_sessions_is_named(tmp_path: Path, what: str) -> None:
    (tmp_path / "projects" / "deep").mkdir(parents=True)
    for number, data in enumerate(FILES[what]):
        (tmp_path / "projects" / "deep" / f"{number}.jsonl").write_bytes(data)
    assert f"holds {what}" in refusal(tmp_path / "projects")


@pytest.mark.parametrize(("what", "tables"), TABLES.items())
def test_a_database_of_a_known_program_is_named(tmp_path: Path, what: str, tables: tuple[str, ...]) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as connection:
        for table in tables:
            connection.execute(f"CREATE TABLE {table} (id TEXT)")
    said = refusal(path)
    assert f"holds {what}, which Inspector does not read yet" in said and "`check` it; `explain` says" in said


def test_of_goose_it_is_said_what_it_does_itself_and_where_its_requests_are(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    with closing(sqlite3.connect(path)) as connection:
        for table in TABLES["sessions of goose"]:
            connection.execute(f"CREATE TABLE {table} (id TEXT)")
    assert "start it again first" in refusal(path) and "the member `input` of the first line of llm_request.N.jsonl" in refusal(path)
    log = tmp_path / "llm_request.0.jsonl"
    request = {"model": "claude-sonnet-4", "max_tokens": 9, "messages": [{"role": "user", "content": [{"type": "text", "text": "go"}]}]}
    log.write_bytes(lines({"model_config": {}, "input": request}, {"data": {}, "usage": None}))
    assert "1 of them request bodies (anthropic-request) in the member input: save the one" in refusal(log)


def test_what_nobody_knows_is_not_given_a_name(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE checkpoints (id TEXT)")
        connection.execute("CREATE TABLE messages (id TEXT)")
    assert "no store" in refusal(path)
    (tmp_path / "a.txt").write_text("Words about a parentUuid.\n")
    assert "no store" in refusal(tmp_path / "a.txt")


def test_a_request_that_quotes_such_a_session_is_a_request(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "c", "name": "read", "input": CLAUDE}
    body = {
        "model": "claude-opus-4-5",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": json.dumps(CLAUDE)}, {"role": "assistant", "content": [call]}],
    }
    (tmp_path / "a.json").write_text(json.dumps(body))
    store = read(tmp_path / "a.json")
    assert isinstance(store, Store) and store.format.name == "anthropic-request"


def test_several_values_in_one_file_are_not_called_broken_json(tmp_path: Path) -> None:
    path = tmp_path / "batch.jsonl"
    for data in (lines({"custom_id": "1", "input": 3}, {"custom_id": "2"}), b'{"a": 1} {"b": 2}\n', b'{"a": 1}\n{"b": 2}\n{"c": '):
        path.write_bytes(data)
        said = refusal(path)
        assert "holds several JSON values" in said and "a file of its own" in said and "Extra data" not in said
    path.write_bytes(b'{"a": 1} and words')
    assert "Extra data" in refusal(path)


BODY = {"model": "claude-opus-4-5", "max_tokens": 9, "system": "s", "messages": [{"role": "user", "content": "go"}]}
CHAT = {"model": "gpt-5", "messages": [{"role": "user", "content": "go"}]}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((BODY, BODY), "holds 2 JSON values, all of them request bodies (anthropic-request): "),
        ((BODY, {"usage": 1}, CHAT), "holds 3 JSON values, 2 of them request bodies (anthropic-request, openai-chat-request): "),
        (
            ({"custom_id": "1", "params": BODY},) * 2,
            "holds 2 JSON values, all of them request bodies (anthropic-request) in the member params: ",
        ),
        (
            ({"custom_id": "1", "method": "POST", "body": CHAT},) * 3,
            "holds 3 JSON values, all of them request bodies (openai-chat-request) in the member body: ",
        ),
    ],
)
def test_request_bodies_one_on_each_line_are_counted_and_named(tmp_path: Path, values: tuple[object, ...], said: str) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_bytes(lines(*values))
    assert refusal(path) == f"{path} {said}save the one that you mean as a file of its own."


COPIES = {
    "b.jsonl.deleted.2026-01-01T00-00-00.000Z": "2 of deleted sessions",
    "c.jsonl.deleted.2026-01-02T00-00-00.000Z": "2 of deleted sessions",
    "d.jsonl.reset.2026-01-02T00-00-00.000Z": "1 of a reset session",
    "e.jsonl.bak-12-1780000000000": "1 backup",
    "f.corrupt-2026-01-02-ab12.jsonl": "1 of a corrupted session",
    "g.checkpoint.0001.jsonl": "1 from before a compaction",
}


def folder(base: Path, *names: str) -> Path:
    for name in names:
        (base / "sessions" / name).parent.mkdir(parents=True, exist_ok=True)
        (base / "sessions" / name).write_bytes(SESSION)
    return base / "sessions"


def said_of(path: Path) -> list[str]:
    store = read(path)
    assert isinstance(store, Store)
    return [problem.reason for problem in store.problems if problem.where == UNREAD_FILES]


def test_copies_next_to_sessions_are_counted_and_named(tmp_path: Path) -> None:
    (said,) = said_of(folder(tmp_path, "a.jsonl", *COPIES))
    assert said.startswith("6 files are copies of sessions that the program set aside (")
    assert all(kind in said for kind in COPIES.values()) and "b.jsonl.deleted.2026-01-01" in said and "by its path" in said


def test_a_runtime_trace_next_to_sessions_is_named_for_what_it_is(tmp_path: Path) -> None:
    (said,) = said_of(folder(tmp_path, "a.jsonl", "a.trajectory.jsonl"))
    assert said.startswith("1 file is a runtime trace of OpenClaw, which Inspector does not read yet: a.trajectory.jsonl.")


def test_a_folder_of_sessions_alone_says_nothing(tmp_path: Path) -> None:
    path = folder(tmp_path, "a.jsonl", "sessions.json", "a.jsonl.lock")
    (path / "sessions.json").write_text("{}")
    (path / "a.jsonl.lock").write_text("{}")
    assert said_of(path) == []


def test_copies_in_a_folder_without_sessions_are_named_too(tmp_path: Path) -> None:
    base = folder(tmp_path, "main/a.jsonl", "old/b.jsonl.deleted.2026-01-01T00-00-00.000Z")
    (said,) = said_of(base)
    assert said.startswith(
        "1 file is a copy of a session that the program set aside (1 of a deleted session), and is not read: old/b.jsonl.deleted."
    )


def test_a_folder_with_copies_alone_says_how_to_read_them(tmp_path: Path) -> None:
    path = folder(tmp_path, *(name for name in COPIES if not name.endswith(".jsonl")))
    said = refusal(path)
    assert said.startswith(f"{path} holds no session, only copies that its program set aside (") and "2 of deleted sessions" in said
    assert isinstance(read(path / "b.jsonl.deleted.2026-01-01T00-00-00.000Z"), Store)


def test_a_folder_without_a_file_is_named_so(tmp_path: Path) -> None:
    (tmp_path / "sessions" / "2026").mkdir(parents=True)
    assert (
        refusal(tmp_path / "sessions")
        == f"{tmp_path / 'sessions'} is a folder without a file: name the folder that the program really writes to."
    )


SHARED = Path(os.environ.get("INSPECTOR_SHARED", Path(__file__).parents[3] / "shared"))
PROGRAMS = {
    "examples/stores/goose": "goose",
}
TRACES = {
    "examples/traces/agents/claude-code/raw_index.jsonl": "an index of saved requests",
    "examples/traces/agents/claude-code/inline_logs.otlp.json": "an OpenTelemetry export (OTLP in JSON)",
    "examples/traces/agents/codex/logs.otlp.json": "an OpenTelemetry export (OTLP in JSON)",
    "examples/traces/agents/gemini-cli/telemetry_outfile.log": "an export of spans",
    "corpus/otel-spans/jaeger-ui/otlp2jaeger-multi-in.json.txt": "an OpenTelemetry export (OTLP in JSON)",
    "corpus/jaeger/jaeger-ui/oltp2jaeger-multi-out.json": "an export of Jaeger",
}
PROGRAMS |= {"examples/stores/openai_agents": "the OpenAI Agents SDK", "examples/stores/langgraph": "LangGraph"}
STRANGE = ("schema_drift.jsonl", "session_simple.jsonl", ".sql", "-wal")
"""Files that are no session of these programs, or not of a version that ever was."""


def real_files() -> Iterator[tuple[str, Path]]:
    for below, program in PROGRAMS.items():
        for path in sorted((SHARED / below).rglob("*")):
            if path.suffix in (".jsonl", ".db", ".sqlite") and not path.name.endswith(STRANGE):
                yield program, path


@pytest.mark.skipif(not (SHARED / "corpus").is_dir(), reason="the collection of other programs' files is not here")
def test_real_files_of_these_programs_are_named() -> None:
    wrong = [(str(path), said) for program, path in real_files() if f"of {program}" not in (said := refusal(path))]
    assert wrong == []


@in_one_test(("name", "what"), TRACES.items())
def test_real_traces_are_named(name: str, what: str) -> None:
    folder, _, file = name.rpartition("/")
    assert f" is {what}, which Inspector does not read yet" in refusal(evidence(file, folder))
