"""A conversation as a context file to start a new session from: who said what, calls and results in short, nothing added."""

from collections.abc import Iterator, Mapping

from inspector.conversation.model import Chunk, Kind, Message
from inspector.presentation.markdown import cut, fenced_whole, prose
from inspector.rules.base import Case
from inspector.rules.synthetic_texts import written_by
from inspector.text.jsontext import compact

_ROLES = {"user": "User", "assistant": "Assistant", "system": "System prompt", "tool": "Tool"}
_THINKING = (Kind.THINKING, Kind.REDACTED_THINKING)
_THOUGHT, _UNREAD = "block of thinking", "row that cannot be read"
_SEVERAL = {_THOUGHT: "blocks of thinking", _UNREAD: "rows that cannot be read"}
RESULT_LINES, RESULT_LENGTH, INPUT_LENGTH = 20, 2000, 500


def extract_md(case: Case, reader: str) -> str:
    """Markdown. Words are whole; of results the first lines; thinking and damaged rows are counted. Secrets that are recognized are masked.

    Of a history that cannot be loaded the stored messages are taken, else what the reader sends.
    """
    messages = case.messages if case.reading.failure else case.reading.messages
    title = case.conversation.title.strip()
    left_out: dict[str, int] = {}
    names = {chunk.call_id: chunk.tool_name for message in messages for chunk in message.chunks if chunk.kind is Kind.TOOL_CALL}
    parts = [part for number, message in enumerate(messages, start=1) for part in _message(number, message, names, left_out)]
    unread = sum(chunk.kind is Kind.UNREADABLE for chunk in (case.tree or case.conversation).chunks)
    if unread:
        left_out[_UNREAD] = unread
    counts = ", ".join(f"{count:,} {what if count == 1 else _SEVERAL[what]}" for what, count in left_out.items())
    return (
        "\n\n".join(
            [
                f"# {prose(title) if title else 'Conversation'}",
                f"The history of an earlier session ({prose(case.conversation.format)} {prose(case.conversation.native_id)}, as {prose(reader)} reads it), "
                f"extracted to go on from in a new one: {len(messages):,} messages. Results of tools are shortened, and secrets that are recognized are masked. "
                f"{f'Left out: {counts}. ' if counts else ''}Nothing was added.",
                *parts,
            ]
        )
        + "\n"
    )


def _message(number: int, message: Message, names: Mapping[str, str], left_out: dict[str, int]) -> Iterator[str]:
    parts = [part for chunk in message.chunks for part in _chunk(chunk, names, left_out)]
    if parts:
        synthetic = ", added by the reader" if message.synthetic else ""
        yield f"## {number}. {_ROLES.get(message.role, prose(message.role))}{synthetic}"
        yield from parts


def _chunk(chunk: Chunk, names: Mapping[str, str], left_out: dict[str, int]) -> Iterator[str]:
    match chunk.kind:
        case Kind.TEXT | Kind.SYSTEM:
            if chunk.text.strip():
                yield fenced_whole(chunk.text)
        case Kind.TOOL_CALL:
            yield f"Call of {prose(chunk.tool_name or 'a tool without a name')}:"
            yield fenced_whole(cut(compact(chunk.payload.get("input")), 1, INPUT_LENGTH))
        case Kind.TOOL_RESULT:
            author = written_by(chunk)
            what = f"Placeholder of {author} for a result that is missing" if author else "Error" if chunk.is_error else "Result"
            name = chunk.tool_name or names.get(chunk.call_id, "")
            yield f"{what}{f' of {prose(name)}' if name else ''}:"
            yield fenced_whole(cut(chunk.text, RESULT_LINES, RESULT_LENGTH)) if chunk.text.strip() else "(no text)"
        case Kind.ERROR:
            yield "Error:"
            yield fenced_whole(chunk.text)
        case kind if kind in _THINKING:
            left_out[_THOUGHT] = left_out.get(_THOUGHT, 0) + 1
        case kind:
            yield f"({prose(kind.value)}, not shown)"
