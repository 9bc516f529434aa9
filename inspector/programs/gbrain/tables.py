"""The four tables of gbrain (schema 140, 2026-08-22; the same in PostgreSQL and PGLite) of which a subagent run consists, and how their values read."""

from datetime import UTC, datetime
from typing import Any

from inspector.programs.formats import Relation
from inspector.text import jsontext
from inspector.text.jsontext import Unreadable

JOBS, MESSAGES, EXECUTIONS, LEASES = "minion_jobs", "subagent_messages", "subagent_tool_executions", "subagent_rate_leases"

# The columns of a job that show its state; tokens of locks and the payload of other queues stay where they are.
_JOB = (
    *("id", "name", "queue", "status", "data", "max_attempts", "attempts_made", "attempts_started", "lock_until", "delay_until"),
    *("parent_job_id", "result", "error_text", "created_at", "started_at", "finished_at", "updated_at"),
)
_MESSAGE = (
    *("job_id", "message_idx", "role", "content_blocks", "schema_version", "provider_id", "tokens_in", "tokens_out"),
    *("tokens_cache_read", "tokens_cache_create", "model", "ended_at"),
)
_EXECUTION = (
    *("id", "job_id", "message_idx", "tool_use_id", "tool_name", "input", "status", "output", "error", "schema_version", "provider_id"),
    *("ordinal", "gbrain_tool_use_id", "started_at", "ended_at"),
)
RELATIONS = (
    Relation(
        JOBS,
        _JOB,
        ("id", "status", "data"),
        ("id",),
        "id",
        "minion_jobs.name = 'subagent' OR EXISTS (SELECT 1 FROM subagent_messages m WHERE m.job_id = minion_jobs.id)",
    ),
    # The number of a row says nothing that (job, index) does not, and an inserted row takes the next one.
    Relation(MESSAGES, _MESSAGE, ("job_id", "message_idx", "role", "content_blocks"), ("job_id", "message_idx"), "job_id"),
    Relation(
        EXECUTIONS,
        _EXECUTION,
        ("id", "job_id", "message_idx", "tool_use_id", "tool_name", "status"),
        ("job_id", "id"),
        "job_id",
        distinguished_by=("message_idx", "ordinal", "tool_use_id"),
    ),
    Relation(
        LEASES,
        ("id", "key", "owner_job_id", "acquired_at", "expires_at"),
        ("key", "owner_job_id", "expires_at"),
        ("owner_job_id", "id"),
        "owner_job_id",
        optional=True,
        distinguished_by=("key", "acquired_at", "expires_at"),
    ),
)

IN_FULL = {
    JOBS: (
        *("id", "name", "queue", "status", "priority", "data", "max_attempts", "attempts_made", "attempts_started"),
        *("backoff_type", "backoff_delay"),
        *("backoff_jitter", "stalled_counter", "max_stalled", "lock_token", "lock_until", "delay_until", "parent_job_id", "on_child_fail"),
        *("tokens_input", "tokens_output", "tokens_cache_read", "depth", "max_children", "timeout_ms", "lock_duration_ms", "timeout_at"),
        *("remove_on_complete", "remove_on_fail", "idempotency_key", "private_queue_owner_job_id", "private_queue_owner_token"),
        *("private_queue_lease_until", "result", "progress", "error_text", "stacktrace", "created_at", "started_at", "finished_at"),
        "updated_at",
    ),
    MESSAGES: ("id", *_MESSAGE),
    EXECUTIONS: _EXECUTION,
    LEASES: RELATIONS[3].columns,
}
"""Every column in the order of a database that schema 140 made: a dump with INSERTs may leave the names out."""


def milliseconds(text: str | None) -> int | None:
    """Epoch milliseconds of a timestamptz as PostgreSQL prints it in ISO style, or of an ISO text; None for what is none (`infinity` too)."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


def value(text: str | None) -> Any:
    """The JSON value of a jsonb column, None for NULL. Raises Unreadable."""
    return None if text is None else jsontext.parse(text)


def whole(text: str | None) -> int | None:
    try:
        return int(text or "")
    except ValueError:
        return None


def inner(text: str) -> Any:
    """What a JSON string holds that was encoded twice: an array or object; None where it is just a text."""
    if text.lstrip()[:1] not in ("[", "{"):
        return None
    try:
        return jsontext.parse(text)
    except Unreadable:
        return None
