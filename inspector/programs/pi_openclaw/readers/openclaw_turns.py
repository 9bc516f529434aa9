"""The order of turns that OpenClaw 2026.9.6 makes before a request: neighbors of one role merged, calls without a result cut, a user message first."""

from collections.abc import Sequence
from dataclasses import replace

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Kind, Message
from inspector.programs.pi_openclaw.readers.openclaw_passes import THINKING, Passed, as_text, is_empty, nothing, with_chunks, with_members
from inspector.programs.pi_openclaw.readers.openclaw_thinking import only_reasoned
from inspector.programs.pi_openclaw.readers.result_pairing import FAILED, TYPES_OF_CALL, calls_of, id_of, stop_reason
from inspector.programs.pi_openclaw.readers.rows import mapping, stored_name

CALLS_OMITTED = "[tool calls omitted]"
BOOTSTRAP = "(session bootstrap)"
_OF_TURN = ("usage", "stopReason", "errorMessage")


def with_content(messages: Sequence[Message]) -> Passed:
    """Without blank text, and without messages that hold nothing else."""
    passed = Passed()
    for message in messages:
        if message.role not in ("user", "assistant"):
            passed.messages.append(message)
            continue
        blank = [chunk for chunk in message.chunks if is_empty(chunk) or (chunk.kind is Kind.TEXT and not chunk.text.strip())]
        blank_keys = {chunk.key for chunk in blank}
        remaining = [chunk for chunk in message.chunks if chunk.key not in blank_keys]
        if only_reasoned(message):
            passed.left_out(message.chunks, "an answer that reached its limit while it thought: not sent")
        elif blank:
            passed.left_out(blank, "blank: not sent")
        if remaining and not only_reasoned(message):
            passed.messages.append(with_chunks(message, remaining) if blank else message)
        else:
            passed.count("emptyMessagesDropped")
    return passed


def begun_by_user(messages: Sequence[Message]) -> Passed:
    """A synthetic user message before an answer that comes first."""
    passed = Passed(list(messages))
    if messages and messages[0].role == "assistant":
        first = messages[0].chunks[0]
        chunk = Chunk(f"synthesized:{first.key}", first.seq, "user", Kind.TEXT, {"type": "text", "text": BOOTSTRAP}, 0, 0, at=first.at)
        passed.messages.insert(0, Message("user", (chunk,), synthetic=True))
        passed.count("bootstrapped")
    return passed


def gemini_turns(messages: Sequence[Message]) -> Passed:
    """Neighboring answers are one."""
    return _merged(messages, "assistant")


def anthropic_turns(messages: Sequence[Message], merge_users: bool = True) -> Passed:
    """Neighboring answers are one; calls without a result before the next answer go; neighboring user messages are one."""
    merged = _merged(messages, "assistant")
    cut = _without_dangling(merged.messages)
    last = _merged(cut.messages, "user") if merge_users else Passed(cut.messages)
    counts = dict(merged.counts)
    for passed in (cut, last):
        for name, number in passed.counts.items():
            counts[name] = counts.get(name, 0) + number
    return Passed(last.messages, cut.dropped, counts)


def trailing_answers(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The answers without calls that end the history: they are removed where no user message follows them, since a request may not end so."""
    at = len(messages)
    while at and messages[at - 1].role == "assistant" and not queries.calls(messages[at - 1]):
        at -= 1
    return tuple(messages[at:])


def _merged(messages: Sequence[Message], role: str) -> Passed:
    passed = Passed()
    run: list[Message] = []

    def close() -> None:
        if run:
            passed.messages.append(_joined(run, role) if len(run) > 1 else run[0])
        if len(run) > 1:
            passed.count("turnsMerged", len(run) - 1)
        run.clear()

    for message in messages:
        if run and message.role != role:
            close()
        if message.role == role:
            run.append(message)
        else:
            passed.messages.append(message)
    close()
    return passed


def _joined(run: Sequence[Message], role: str) -> Message:
    """What the program knows of a merged answer are usage and end of the last that has them, of a merged user message the time of the last."""
    chunks = [chunk for message in run for chunk in message.chunks if not is_empty(chunk)] or [run[0].chunks[0]]
    about = dict(mapping(run[0].chunks[0].payload.get("entry")))
    for message in run[1:]:
        later = mapping(message.chunks[0].payload.get("entry"))
        names = _OF_TURN if role == "assistant" else ("messageTimestamp",)
        about |= {name: later[name] for name in names if later.get(name)}
    first = with_members(chunks[0], {"entry": about})
    if role == "user":
        first = replace(first, at=next((message.chunks[0].at for message in reversed(run) if message.chunks[0].at is not None), first.at))
    return Message(role, (first, *chunks[1:]), all(message.synthetic for message in run))


def _without_dangling(messages: Sequence[Message]) -> Passed:
    """A turn that thinks keeps all of its calls or none."""
    passed = Passed()
    results = _results_after(messages)
    for at, message in enumerate(messages):
        calls = calls_of(message, TYPES_OF_CALL)
        if not calls:
            passed.messages.append(message)
            continue
        names = results[at]
        thinks = any(chunk.kind in THINKING for chunk in message.chunks)
        removed = [chunk for chunk in message.chunks if _is_call(chunk) and not _is_answered(chunk, names, thinks)]
        if removed and thinks:
            removed = list(message.chunks)
        if removed:
            removed_keys = {chunk.key for chunk in removed}
            remaining = [chunk for chunk in message.chunks if chunk.key not in removed_keys]
            instead = nothing(removed[0]) if stop_reason(message) in FAILED else as_text(removed[0], CALLS_OMITTED)
            passed.count("callsOmitted", sum(map(_is_call, removed)))
            passed.left_out(
                removed,
                "a call without a result before the next answer" + (": left out with its whole turn, which thinks" if thinks else ""),
            )
            message = with_chunks(message, remaining or [instead])
        passed.messages.append(message)
    return passed


def _results_after(messages: Sequence[Message]) -> dict[int, dict[str, set[str]]]:
    """By the place of an answer: the ids of the results before the next answer, each with the names of tools that they give."""
    by_place: dict[int, dict[str, set[str]]] = {}
    at: int | None = None
    for index, message in enumerate(messages):
        if message.role == "assistant":
            at, by_place[index] = index, {}
        elif message.role == "tool" and at is not None:
            for chunk in message.chunks:
                name = chunk.tool_name.strip()
                by_place[at].setdefault(id_of(Message("tool", (chunk,))), set()).update([name] if name else [])
    return by_place


def _is_call(chunk: Chunk) -> bool:
    return chunk.kind is Kind.TOOL_CALL and stored_name(chunk, "toolCall") in TYPES_OF_CALL


def _is_answered(call: Chunk, results: dict[str, set[str]], thinks: bool) -> bool:
    id_, name = call.call_id.strip(), call.tool_name.strip()
    if not id_ or id_ not in results:
        return False
    return not thinks or (bool(name) and (not results[id_] or name in results[id_]))
