"""What Gemini CLI 0.61.0 sends when it resumes a chat: `convertSessionToClientHistory`, and what its client does to that before each request.

Each result is sent twice: once from `toolCalls` of the answer, once from the user's record that was written after it. The request was compared with
those that the program made on three resumes.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from inspector.conversation.model import Chunk, Conversation, Dropped, Kind, Message, Reading
from inspector.programs.gemini_cli.chunks import RESPONSE, about, record_of
from inspector.programs.gemini_cli.records import EMPTIED, IGNORED, LOST, REPLACED, REWOUND, shown_text
from inspector.projections import assembling, gemini
from inspector.projections.base import GEMINI, Projection, Prompt
from inspector.readers.base import Reader
from inspector.text import jsontext
from inspector.wires.ids import UNNAMED
from inspector.wires.shapes.gemini import read as read_parts

NAME = "gemini-cli-0.61"
FORMAT = "gemini-cli"
PROJECTION_NAME = "gemini-cli"
COPY = "copy:"
"""How the key of a result begins that the loader takes from `toolCalls` in addition to the record that holds it."""
SIGNATURE = "skip_thought_signature_validator"
INTERRUPTED = "[The previous response was interrupted before it completed.]"

WHY = {
    REWOUND: "rewound: a $rewindTo drops it",
    REPLACED: "the list that a later $set puts in place does not have it",
    EMPTIED: "a later $set puts a list in place that has nothing to resume",
    LOST: "a $rewindTo names no record that is there, and clears all before it",
}
_NO_ANSWER = "the answer has a text without content: Gemini CLI leaves out the whole answer"


def messages_of(conversation: Conversation) -> list[Message]:
    """One message for each record and role, without lines that cannot be read."""
    groups: list[list[Chunk]] = []
    for chunk in conversation.chunks:
        if chunk.msg_idx is None:
            continue
        if groups and (groups[-1][0].msg_idx, groups[-1][0].role) == (chunk.msg_idx, chunk.role):
            groups[-1].append(chunk)
        else:
            groups.append([chunk])
    return [Message(group[0].role, tuple(group)) for group in groups]


def read(conversation: Conversation) -> Reading:
    grouped = tuple(message for message in messages_of(conversation) if not why(message.chunks[0]))
    dropped = [
        Dropped((chunk,), f"Gemini CLI skips the line without a word: {chunk.reason}", skipped=True)
        for chunk in conversation.chunks
        if chunk.msg_idx is None
    ]
    dropped += [_gone(message) for message in messages_of(conversation) if why(message.chunks[0])]
    if failure := conversation.fact("problem"):
        return Reading(NAME, grouped, (), (*dropped, Dropped(conversation.chunks, failure)), failure=failure)
    sent: list[Message] = []
    for message in grouped:
        if reason := _unsent(message):
            is_note = message.chunks[0].kind is Kind.CONTROL
            dropped.append(Dropped(message.chunks, reason, intentional=is_note or _text(message).startswith("<"), skipped=True))
        elif message.role == "assistant":
            answer, left_out = _answer(message)
            dropped += left_out
            sent += [answer] if answer.chunks else []
            copies = [copy for call in message.chunks for copy in _copies(call)] if answer.chunks else []
            sent += [Message("tool", tuple(copies), synthetic=True)] if copies else []
        else:
            sent.append(message)
    sent, invalid = _without_invalid(sent)
    dropped += invalid
    if sent and sent[-1].role == "tool":
        text = {"type": "text", "text": INTERRUPTED}
        sent.append(Message("assistant", (Chunk("interrupted:", sent[-1].chunks[-1].seq, "assistant", Kind.TEXT, text),), synthetic=True))
    report = {"copiedResults": sum(len(message.chunks) for message in sent if message.synthetic and message.role == "tool")}
    return Reading(NAME, grouped, tuple(sent), tuple(dropped), report)


def why(chunk: Chunk) -> str:
    value = about(chunk).get("why")
    return value if isinstance(value, str) else ""


def _gone(message: Message) -> Dropped:
    reason = why(message.chunks[0])
    return Dropped(message.chunks, WHY.get(reason, reason), intentional=reason not in (LOST, EMPTIED), skipped=True)


def _text(message: Message) -> str:
    """The text by which the program decides: what is no text has a name between brackets there."""
    return "".join(map(_shown, message.chunks)).strip()


def _shown(chunk: Chunk) -> str:
    if "block" in chunk.payload:
        return shown_text(chunk.payload["block"])
    return chunk.text if chunk.kind is Kind.TEXT else "" if chunk.payload.get("empty") is not None else "[part]"


def is_ignored(message: Message) -> bool:
    """Whether the program takes a message of the user for a command, or for what it said itself at a start."""
    text = _text(message)
    return message.role == "user" and (not text or text.startswith(IGNORED))


def _unsent(message: Message) -> str:
    kind = about(message.chunks[0]).get("type")
    if kind is not None:
        return f"a record of the type {kind}, which is for people: no provider is sent it"
    if is_ignored(message):
        text = _text(message)
        if text.startswith("<"):
            return "what the program said itself when it started: it is said again at each start"
        return (
            f"a text that begins with {text[:1]} is taken for a command: it is not sent, and the next resume leaves it out"
            if text
            else "a message without text"
        )
    return ""


def _answer(message: Message) -> tuple[Message, list[Dropped]]:
    """Without thoughts; of an answer that had some, the first call gets the placeholder for its signature."""
    dropped = []
    thoughts = tuple(chunk for chunk in message.chunks if chunk.kind is Kind.THINKING)
    if thoughts:
        dropped.append(Dropped(thoughts, "thoughts are not sent again", intentional=True))
    unlisted = tuple(chunk for chunk in message.chunks if about(chunk).get("unlisted"))
    if unlisted:
        dropped.append(Dropped(unlisted, "the content of the record lists what was said, and not this call"))
    chunks = [chunk for chunk in message.chunks if chunk not in thoughts and chunk not in unlisted and "empty" not in chunk.payload]
    first = next((place for place, chunk in enumerate(chunks) if chunk.kind is Kind.TOOL_CALL), None)
    if thoughts and first is not None and "signature" not in chunks[first].payload:
        chunks[first] = replace(chunks[first], payload={**chunks[first].payload, "signature": SIGNATURE})
    return Message(message.role, tuple(chunks)), dropped


def _copies(call: Chunk) -> list[Chunk]:
    parts = about(call).get("copies")
    blocks = read_parts({"role": "user", "parts": parts}) if isinstance(parts, list) else ()
    return [
        Chunk(f"{COPY}{call.key}.{place}", call.seq, "tool", block.kind, block.payload, call.msg_idx, place, at=call.at)
        for place, block in enumerate(blocks)
    ]


def _without_invalid(messages: list[Message]) -> tuple[list[Message], list[Dropped]]:
    """Answers in a row are left out together where one of them has an empty text."""
    kept: list[Message] = []
    dropped: list[Dropped] = []
    run: list[Message] = []
    for message in [*messages, None]:
        if message is not None and message.role == "assistant":
            run.append(message)
            continue
        if any(_is_invalid(chunk) for answer in run for chunk in answer.chunks):
            dropped.append(Dropped(tuple(chunk for answer in run for chunk in answer.chunks), _NO_ANSWER))
        else:
            kept += run
        run = []
        if message is not None:
            kept.append(message)
    return kept, dropped


def _is_invalid(chunk: Chunk) -> bool:
    return chunk.kind is Kind.TEXT and chunk.text == "" and not chunk.payload.get("extra")


def _with_ids(messages: Sequence[Message]) -> list[Message]:
    """Calls and results without an id get one that follows from their record and place, a result that of the call before it (`ensureStableToolIds`)."""
    named = [list(message.chunks) for message in messages]
    turns = [_turn(message) for message in messages]
    # What the program says itself comes first; results of one answer are one content.
    counted = 0
    for place, chunks in enumerate(named, start=1):
        counted += place < 2 or turns[place - 1] != turns[place - 2]
        for part, chunk in enumerate(chunks):
            if chunk.kind not in (Kind.TOOL_CALL, Kind.TOOL_RESULT) or not _is_unnamed(chunk):
                continue
            seed = "|".join(sorted((turns[place - 1], str(counted), str(part))))
            orphan = "orph_" if chunk.kind is Kind.TOOL_RESULT else ""
            id_ = f"synth_{orphan}{chunk.tool_name}_{hashlib.sha256(jsontext.encode(seed)).hexdigest()[:32]}"
            chunks[part] = replace(chunk, payload={**chunk.payload, "toolCallId": id_})
            following = named[place] if chunk.kind is Kind.TOOL_CALL and place < len(named) else []
            answers = (
                at
                for at, result in enumerate(following)
                if result.kind is Kind.TOOL_RESULT and _is_unnamed(result) and result.tool_name == chunk.tool_name
            )
            if (at := next(answers, None)) is not None:
                following[at] = replace(following[at], payload={**following[at].payload, "toolCallId": id_})
    return [replace(message, chunks=tuple(chunks)) for message, chunks in zip(messages, named, strict=True)]


def _turn(message: Message) -> str:
    """The id that the program gives to the content that it makes of a record."""
    key = message.chunks[0].key
    return record_of(message.chunks[0]) if not key.startswith(COPY) else key.removeprefix(COPY).rsplit(".", 2)[0] + RESPONSE


def _is_unnamed(chunk: Chunk) -> bool:
    return not chunk.call_id or chunk.call_id.startswith(UNNAMED)


def _one_content(unit: assembling.Unit, message: Message) -> bool:
    """The client joins contents of one role; results have the user's."""
    return (unit.role == "assistant") == (message.role == "assistant")


def project(messages: Sequence[Message]) -> Prompt:
    """The client puts `NAME__` before the id of each call that it stores, and takes it off again before it sends one."""
    sent = [replace(message, chunks=tuple(map(_with_sent_id, message.chunks))) for message in _with_ids(messages)]
    return gemini.convert(PROJECTION_NAME, False, sent, merges=_one_content)


def _with_sent_id(chunk: Chunk) -> Chunk:
    prefix = f"{chunk.tool_name.strip() or 'generic_tool'}__"
    if chunk.kind not in (Kind.TOOL_CALL, Kind.TOOL_RESULT) or not chunk.call_id.startswith(prefix):
        return chunk
    return replace(chunk, payload={**chunk.payload, "toolCallId": chunk.call_id.removeprefix(prefix)})


PROJECTION = Projection(
    PROJECTION_NAME,
    "Gemini contents as Gemini CLI joins them",
    "Messages of one role are one content, results and the user's words too; ids lose the name of the tool that the program puts before them.",
    project,
    wire=GEMINI,
)

_VERSION = "0.61.0"
READER = Reader(
    name=NAME,
    format=FORMAT,
    title=f"Gemini CLI {_VERSION}: the request of the next resume",
    note="Sends each result twice, from the record of its calls and from the record after it, and writes that back. Thoughts are left out.",
    evidence=f"the published package at {_VERSION}: its source, and the requests of three resumes in a row",
    read=read,
    shipped=True,
    verified=(_VERSION,),
)
