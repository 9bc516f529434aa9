"""Rows of gbrain's tables for the tests, made by the server itself where there are many."""

import json
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import psycopg

AT = "2026-08-01 10:00:00+00"

Row = tuple[int, str, list[dict[str, Any]]]


def run(dsn: str, *statements: str) -> None:
    with closing(psycopg.connect(dsn, autocommit=True, prepare_threshold=None)) as connection:
        for statement in statements:
            connection.execute(statement)  # type: ignore[call-overload]


def asked(dsn: str, statement: str, *values: object) -> list[tuple[Any, ...]]:
    with closing(psycopg.connect(dsn, autocommit=True, prepare_threshold=None)) as connection:
        return connection.execute(statement, values or None).fetchall()  # type: ignore[call-overload]


def call(call_id: str, name: str = "search") -> dict[str, Any]:
    return {"type": "tool-call", "toolCallId": call_id, "toolName": name, "input": {"q": call_id}}


def result(call_id: str, output: Any = "found", name: str = "search") -> dict[str, Any]:
    return {"type": "tool-result", "toolCallId": call_id, "toolName": name, "output": output}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def job(dsn: str, number: int, rows: Sequence[Row], runs: Sequence[tuple[int, int, str, str, Any]] = (), status: str = "failed") -> None:
    """A job with messages (index, role, blocks) and runs of tools (message index, ordinal, call id, status, output)."""
    with closing(psycopg.connect(dsn, autocommit=True, prepare_threshold=None)) as connection:
        connection.execute(
            "INSERT INTO minion_jobs (id, name, status, data, created_at, updated_at) VALUES (%s, 'subagent', %s, %s, %s, %s)",
            (number, status, json.dumps({"prompt": f"job {number}"}), AT, AT),
        )
        for index, role, blocks in rows:
            connection.execute(
                "INSERT INTO subagent_messages (job_id, message_idx, role, content_blocks, ended_at) VALUES (%s, %s, %s, %s, %s)",
                (number, index, role, json.dumps(blocks), AT),
            )
        for index, ordinal, call_id, outcome, output in runs:
            connection.execute(
                """INSERT INTO subagent_tool_executions (job_id, message_idx, tool_use_id, tool_name, input, status, output, ordinal, started_at, ended_at)
                   VALUES (%s, %s, %s, 'search', %s, %s, %s, %s, %s, %s)""",
                (number, index, call_id, json.dumps({"q": call_id}), outcome, json.dumps(output), ordinal, AT, AT),
            )


def dangling(dsn: str, number: int = 1) -> None:
    """The incident: a turn with two calls, both run, neither answered in the messages."""
    rows = [(0, "user", [text("look both up")]), (1, "assistant", [call("a"), call("b")])]
    job(dsn, number, rows, [(1, 0, "a", "complete", {"h": 3}), (1, 1, "b", "complete", {"b": 1})])


def many(dsn: str, jobs: int, messages: int = 20, odd: int = 10) -> None:
    """`jobs` jobs of `messages` messages each: a question, then turns of a call and its result; every `odd`th one lacks the result of its last turn."""
    run(
        dsn,
        f"""INSERT INTO minion_jobs (id, name, status, data, created_at, updated_at)
            SELECT n, 'subagent', CASE WHEN n % {odd} = 0 THEN 'failed' ELSE 'completed' END, jsonb_build_object('prompt', 'job ' || n), '{AT}', '{AT}'
            FROM generate_series(1, {jobs}) n""",
        f"""INSERT INTO subagent_messages (job_id, message_idx, role, content_blocks, ended_at)
            SELECT n, i, CASE WHEN i % 2 = 0 THEN 'user' ELSE 'assistant' END, CASE
              WHEN i = 0 THEN jsonb_build_array(jsonb_build_object('type', 'text', 'text', 'look up ' || n))
              WHEN i = {messages - 1} AND n % {odd} > 0 THEN jsonb_build_array(jsonb_build_object('type', 'text', 'text', 'done'))
              WHEN i % 2 = 1 THEN jsonb_build_array(jsonb_build_object('type', 'tool-call', 'toolCallId', 'call_' || n || '_' || i, 'toolName', 'search',
                'input', jsonb_build_object('q', repeat('word ', 20))))
              ELSE jsonb_build_array(jsonb_build_object('type', 'tool-result', 'toolCallId', 'call_' || n || '_' || i - 1, 'toolName', 'search',
                'output', jsonb_build_object('hits', repeat('line ' || n || '-' || i || ' ', 60)))) END, timestamptz '{AT}' + i * interval '1 second'
            FROM generate_series(1, {jobs}) n, generate_series(0, {messages - 1}) i""",
        """INSERT INTO subagent_tool_executions (job_id, message_idx, tool_use_id, tool_name, input, status, output, ordinal, started_at, ended_at)
           SELECT job_id, message_idx, content_blocks->0->>'toolCallId', 'search', content_blocks->0->'input', 'complete',
             jsonb_build_object('hits', 'line'), 0, ended_at, ended_at FROM subagent_messages WHERE content_blocks->0->>'type' = 'tool-call'""",
        "ANALYZE",
    )
