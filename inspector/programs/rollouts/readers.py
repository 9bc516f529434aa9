"""rollouts' loader and the repair that it runs before every request: `transform_messages`, three passes, defects and all.

Read off upstream's transform_messages.py at 0779491 (2026-01-04); its two dead functions (merging and stripping) have no callers and are left out.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Conversation, Dropped, Kind, Message, Reading
from inspector.programs.rollouts.crash import PREFIX
from inspector.programs.rollouts.loading import line_problem, unknown_keys
from inspector.readers.base import Reader

NAME = "rollouts"
INTERRUPTED = "[interrupted - no result provided]"
_APIS = {"anthropic": "anthropic-messages", "google": "google-generative-ai", "openai": "openai-completions"}
_ERA_A = "rollouts since 10a625c neither lists nor loads sessions of era A (one file each)"


@dataclass(frozen=True, slots=True)
class RequestTarget:
    provider: str
    api: str


@dataclass(frozen=True, slots=True)
class Passes:
    """Which of the passes after the first a version has: synthetic results are added since cd8a0c9 (2025-12-23)."""

    synthesizes: bool = True
    filters: bool = True


HEAD = Passes()


@dataclass(frozen=True, slots=True)
class RolloutsVersion:
    """A range of rollouts' versions by what becomes of a session's messages before they are sent. `does` continues "a request ..."."""

    name: str
    title: str
    passes: Passes
    does: str
    note: str


# The newest first. Of the time before cd8a0c9 it is not known when the filter of orphaned calls came: a crash file that contains its request shows it.
VERSIONS = (
    RolloutsVersion(
        NAME,
        "rollouts since cd8a0c9 (2025-12-23): its loader, then its repair before sending (transform_messages)",
        HEAD,
        "with synthetic results and without orphaned calls, as since cd8a0c9",
        "Loads all of a session or nothing. Makes up results for interrupted calls, filters orphans; leaves duplicates and orphaned results as they are.",
    ),
    RolloutsVersion(
        "rollouts-before-cd8a0c9+filter",
        "rollouts before cd8a0c9, with the filter of orphaned calls",
        Passes(synthesizes=False),
        "without synthetic results, orphaned calls filtered out",
        "Makes up no results: the responses before and after an interrupted call become one assistant turn, without the call.",
    ),
    RolloutsVersion(
        "rollouts-before-cd8a0c9",
        "rollouts before cd8a0c9 (2025-12-23)",
        Passes(synthesizes=False, filters=False),
        "merged as stored, without synthetic results and with orphaned calls",
        "Makes up no results and filters nothing: the responses before and after an interrupted call become one assistant turn. Replays the request "
        "of the published incident.",
    ),
)
BEFORE = VERSIONS[-1]
# 87d7b4d, the next commit, is of 2025-12-23 17:49 by the clock of its author; crash files have such times too, and neither names a zone.
_CD8A0C9_AT = int(datetime(2025, 12, 23, 17, 49, tzinfo=UTC).timestamp() * 1000)


def version_at(moment: int | None) -> RolloutsVersion:
    """The version that was the newest at `moment` (epoch ms, of a time without a zone read as UTC); None: not known, today's."""
    return BEFORE if moment is not None and moment < _CD8A0C9_AT else VERSIONS[0]


def grouped(conversation: Conversation) -> tuple[Message, ...]:
    """One message for each line of the file; an unreadable line is none."""
    messages: list[list[Chunk]] = []
    for chunk in conversation.chunks:
        if chunk.msg_idx is None:
            continue
        if messages and messages[-1][0].msg_idx == chunk.msg_idx:
            messages[-1].append(chunk)
        else:
            messages.append([chunk])
    return tuple(Message(chunks[0].role, tuple(chunks)) for chunks in messages)


def about(message: Message, name: str) -> str:
    """`provider` or `api` of the message as stored; "" where it has none."""
    stored = message.chunks[0].payload.get("stored")
    value = stored.get(name) if isinstance(stored, dict) else None
    return value if isinstance(value, str) else ""


def model_name(chunk: Chunk) -> str:
    """`provider/model` of an answer; "" where its line has none."""
    stored = chunk.payload.get("stored")
    if chunk.role != "assistant" or not isinstance(stored, dict) or not isinstance(stored.get("model"), str):
        return ""
    return f"{stored['provider']}/{stored['model']}" if isinstance(stored.get("provider"), str) else stored["model"]


def target_of(conversation: Conversation, messages: Sequence[Message]) -> RequestTarget:
    """Where the next request goes: the session's endpoint; the API is the one that its messages of this provider came by."""
    provider = conversation.fact("provider") or next((named for message in messages if (named := about(message, "provider"))), "unknown")
    used = [about(message, "api") for message in messages if about(message, "provider") == provider and about(message, "api")]
    return RequestTarget(provider, "anthropic-messages" if provider == "anthropic" else used[-1] if used else _APIS.get(provider, provider))


def converted(messages: Sequence[Message], target: RequestTarget) -> list[Message]:
    """Pass 1: thinking of another provider or API becomes text in tags. What names no provider counts as the first that is named."""
    named = next((message for message in messages if about(message, "provider")), None)
    provider = about(named, "provider") if named else target.provider
    api = (about(named, "api") if named else "") or target.api
    result = []
    for message in messages:
        own = RequestTarget(about(message, "provider") or provider, about(message, "api") or api)
        if message.role == "assistant" and own != target:
            message = Message(message.role, tuple(_as_text(chunk) for chunk in message.chunks), message.synthetic)
        result.append(message)
    return result


def _as_text(chunk: Chunk) -> Chunk:
    if chunk.kind is not Kind.THINKING:
        return chunk
    return replace(chunk, kind=Kind.TEXT, payload={"type": "text", "text": f"<thinking>\n{chunk.text}\n</thinking>"})


def with_results(messages: Sequence[Message]) -> list[Message]:
    """Pass 2: before an assistant or user message, a synthetic result for each call that still waits; calls that wait at the end are left."""
    result: list[Message] = []
    pending: list[Chunk] = []
    for message in messages:
        if message.role in ("assistant", "user") and pending:
            result += [Message("tool", (interrupted_result(call),), synthetic=True) for call in pending]
            pending = []
        if message.role == "assistant":
            pending = [*pending, *queries.calls(message)]
        if message.role == "tool" and (answered_id := message.chunks[0].call_id):
            pending = [call for call in pending if call.call_id != answered_id]
        result.append(message)
    return result


def interrupted_result(call: Chunk) -> Chunk:
    """Upstream's synthetic tool message: content and id, every other field null."""
    payload = {"type": "tool-result", "toolCallId": call.call_id, "toolName": "", "content": INTERRUPTED, "isError": False}
    return Chunk(f"synthesized:{call.key}", call.seq, "tool", Kind.TOOL_RESULT, payload, 0, 0, at=call.at)


def without_orphans(messages: Sequence[Message]) -> tuple[list[Message], list[Chunk]]:
    """Pass 3: calls without a result before the next assistant message go, but not those of the last message."""
    kept_messages: list[Message] = []
    dropped: list[Chunk] = []
    answered: set[str] = set()
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role == "tool":
            answered.add(message.chunks[0].call_id)
        if message.role != "assistant":
            kept_messages.append(message)
            continue
        orphans = [] if index == len(messages) - 1 else [call for call in queries.calls(message) if call.call_id not in answered]
        answered = set()
        orphan_keys = {call.key for call in orphans}
        remaining = tuple(chunk for chunk in message.chunks if chunk.key not in orphan_keys)
        dropped = orphans + dropped
        if remaining:
            kept_messages.append(Message(message.role, remaining, message.synthetic) if orphans else message)
    return kept_messages[::-1], dropped


def transformed(messages: Sequence[Message], target: RequestTarget, passes: Passes = HEAD) -> tuple[tuple[Message, ...], list[Chunk]]:
    """The messages that the provider's converter gets, and the calls that were left out."""
    current = converted(messages, target)
    if passes.synthesizes:
        current = with_results(current)
    result, dropped = without_orphans(current) if passes.filters else (current, [])
    return tuple(result), dropped


def failure_of(conversation: Conversation) -> str:
    """The first exception of the loader, which loads a session whole or not at all; "" where it loads."""
    if conversation.fact("era") == "A":
        return _ERA_A
    if problem := conversation.fact("sessionProblem"):
        return problem
    before: bytes | None = None
    for chunk in conversation.chunks:
        # Blocks of one line share its bytes.
        if chunk.raw and chunk.raw is not before and (problem := line_problem(chunk.raw)):
            return f"{problem} (messages.jsonl, seq {chunk.seq}): the whole session does not load, though it is listed"
        before = chunk.raw
    return ""


def read(conversation: Conversation) -> Reading:
    return read_as(VERSIONS[0], conversation)


def read_as(version: RolloutsVersion, conversation: Conversation) -> Reading:
    """The loader's reading, then its repair. A crash file is the request itself, and read as it is."""
    if conversation.native_id.startswith(PREFIX):
        messages = queries.true_messages(conversation.chunks)
        return Reading(version.name, messages, messages)
    lines = grouped(conversation)
    if failure := failure_of(conversation):
        return Reading(version.name, lines, (), (Dropped(conversation.chunks, failure),), failure=failure)
    messages, orphans = transformed(lines, target_of(conversation, lines), version.passes)
    dropped = [
        Dropped((call,), "a call without a result before the next assistant message: filtered out before sending") for call in orphans
    ]
    synthetic = [message.chunks[0] for message in messages if message.synthetic]
    report = {
        "syntheticResults": len(synthetic),
        "firstSyntheticResult": synthetic[0].call_id if synthetic else None,
        "filteredCalls": len(orphans),
    }
    return Reading(version.name, lines, messages, tuple(dropped), report, warnings=(*_unknown(conversation), *_unrepaired(messages)))


def _unknown(conversation: Conversation) -> list[str]:
    counts: dict[str, int] = {}
    before: bytes | None = None
    for chunk in conversation.chunks:
        if chunk.raw is not before and chunk.raw:
            for name in unknown_keys(_object(chunk.raw)):
                counts[name] = counts.get(name, 0) + 1
        before = chunk.raw
    return [
        f"the unknown key {name} of {count} lines is dropped on load, and lost at the next rewrite"
        for name, count in sorted(counts.items())
    ]


def _object(raw: bytes) -> dict[str, Any]:
    value = json.loads(raw.decode("utf-8"))
    return value if isinstance(value, dict) else {}


def _unrepaired(messages: Sequence[Message]) -> list[str]:
    """What the passes leave or make: two results for one call, results without a call, one id for two calls. Providers refuse each."""
    warnings: list[str] = []
    calls: set[str] = set()
    results: dict[str, bool] = {}
    for message in messages:
        for call in queries.calls(message) if message.role == "assistant" else ():
            if call.call_id in calls:
                warnings.append(f"the id {call.call_id} is that of two calls, which the repair leaves so")
                results.pop(call.call_id, None)
            calls.add(call.call_id)
        if message.role != "tool":
            continue
        call_id = message.chunks[0].call_id
        if call_id not in calls:
            warnings.append(f"the result for {call_id} (seq {message.chunks[0].seq}) has no call before it, and the repair leaves it")
        elif call_id in results:
            why = "next to the repair's synthetic one" if results[call_id] or message.synthetic else "which the repair leaves so"
            warnings.append(f"the call {call_id} has two results, {why}")
        results[call_id] = results.get(call_id, False) or message.synthetic
    return warnings


_COMMIT = "commit 0779491"


def _reader(version: RolloutsVersion) -> Reader:
    return Reader(
        version.name,
        NAME,
        version.title,
        version.note,
        f"upstream source and its modules run at {_COMMIT}; the 11 rows of its golden table"
        if version is VERSIONS[0]
        else "the same source without the passes that cd8a0c9 added, and the crash file of the published incident",
        lambda conversation: read_as(version, conversation),
        shipped=version is VERSIONS[0],
        release=(len(VERSIONS) - VERSIONS.index(version),),
        verified=(_COMMIT,),
    )


READERS = tuple(_reader(version) for version in VERSIONS)
