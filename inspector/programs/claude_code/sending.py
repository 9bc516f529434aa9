"""What Claude Code does to the messages of a session that it resumes before it sends them, by its version.

Measured with 21 published versions from 1.0.72 to 2.1.332, which resumed sessions of ours and sent their request to an endpoint on the same machine
(`tests/published_programs/claude_code.py`). Each constant is the oldest measured version that does it; the one before that does not is in its comment.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from inspector.conversation.model import Chunk, Kind, Message
from inspector.conversation.tree import about_of
from inspector.programs.claude_code.lines import ASSISTANT
from inspector.programs.claude_code.thinking import model_of

Version = tuple[int, int, int]

HOISTS = (2, 0, 76)  # not 1.0.124
DROPS_ERRORS = (2, 0, 76)  # not 1.0.124
DROPS_THINKING = (2, 1, 12)  # not 2.0.76
PAIRS = (2, 1, 27)  # not 2.1.12
DROPS_BLANKS = (2, 1, 39)  # not 2.1.27
PAIRS_FIRST = (2, 1, 69)  # not 2.1.47
SENDS_COMMANDS = (2, 1, 69)  # not 2.1.47
PAIRS_ONCE = (2, 1, 81)  # not 2.1.75
FILLS = (2, 1, 92)  # not 2.1.86
CALLS_LAST = (2, 1, 126)  # not 2.1.112
DROPS_EMPTY_TEXTS = (2, 1, 156)  # not 2.1.142
DROPS_THINKING_OF_OTHERS = (2, 1, 156)  # not 2.1.142

MISSING = "[Tool result missing due to internal error]"
INTERRUPTED, NO_CONTENT = "[Tool use interrupted]", "(no content)"
UNANSWERED = "a call that has no result anywhere in the session: the program leaves it out of every request"
BLANK = "an answer of blanks only: the program leaves it out of every request"
ONLY_THINKING = "thinking of an answer that says nothing else: the program leaves it out of every request"
ORPHAN = "a result whose call is not in the answer before it: the program leaves it out of every request"
REPEATED = "a second call or result with an id that is there already: the program leaves it out of every request"
OF_OTHERS = "thinking of another model than the last answer's: the program leaves it out while the next request names that one"
EMPTY = "an empty text next to other blocks: the program leaves it out of every request"
_THINKING = (Kind.THINKING, Kind.REDACTED_THINKING)

Left = dict[str, list[Chunk]]
"""What is left out, by the reason."""


def answer_id(message: Message) -> str:
    """The id that Anthropic gave the answer; "" of every other message."""
    inner = about_of(message.chunks[0]).get("message") if message.role == ASSISTANT else None
    id_ = inner.get("id") if isinstance(inner, dict) else None
    return id_ if isinstance(id_, str) else ""


def sent_lines(lines: Sequence[Message], version: Version) -> tuple[list[Message], Left]:
    """The lines that become messages, before pieces of one answer are joined: without calls that nothing answers, blank answers, and lonely thinking."""
    left: Left = {}
    answered = {chunk.call_id for line in lines for chunk in line.chunks if chunk.kind is Kind.TOOL_RESULT}
    result: list[Message] = []
    model = next((model for line in reversed(lines) if line.role == ASSISTANT and line.chunks and (model := model_of(line.chunks[0]))), "")
    for line in lines:
        if line.role == ASSISTANT and line.chunks and version >= DROPS_THINKING_OF_OTHERS and model_of(line.chunks[0]) not in ("", model):
            line = _without_thinking(line, left)
        if line.role == ASSISTANT:
            calls = [chunk for chunk in line.chunks if chunk.kind is Kind.TOOL_CALL]
            lost = [call for call in calls if call.call_id not in answered]
            if lost and (version < DROPS_BLANKS or len(lost) == len(calls)):
                # Since then all that is on the line goes with its calls, and nothing goes where one of them has a result.
                gone = list(line.chunks) if version >= DROPS_BLANKS else lost
                left.setdefault(UNANSWERED, []).extend(gone)
                line = _without(line, gone)
            elif (
                version >= DROPS_BLANKS and line.chunks and all(chunk.kind is Kind.TEXT and not chunk.text.strip() for chunk in line.chunks)
            ):
                left.setdefault(BLANK, []).extend(line.chunks)
                continue
        if line.chunks:
            result.append(line)
    return (_with_words(result, left) if version >= DROPS_THINKING else result), left


def _without_thinking(line: Message, left: Left) -> Message:
    of_other = [chunk for chunk in line.chunks if chunk.kind in _THINKING]
    if of_other:
        left.setdefault(OF_OTHERS, []).extend(of_other)
    return _without(line, of_other)


def _with_words(lines: Sequence[Message], left: Left) -> list[Message]:
    is_thinking = [line.role == ASSISTANT and all(chunk.kind in _THINKING for chunk in line.chunks) for line in lines]
    if not any(is_thinking):
        return list(lines)
    spoken = {answer_id(line) for line, only in zip(lines, is_thinking, strict=True) if line.role == ASSISTANT and not only}
    result = []
    for line, only in zip(lines, is_thinking, strict=True):
        if only and (answer_id(line) or None) not in spoken:
            left.setdefault(ONLY_THINKING, []).extend(line.chunks)
        else:
            result.append(line)
    return result


def paired(messages: Sequence[Message], version: Version, left: Left) -> list[Message]:
    """With a result for each call directly after its answer, and no other; what is left out is added to `left`."""
    result: list[Message] = []
    seen_ids: set[str] = set()
    place = 0
    while place < len(messages):
        answer = messages[place] if messages[place].role == ASSISTANT else None
        place += answer is not None
        end = place
        while end < len(messages) and messages[end].role != ASSISTANT:
            end += 1
        following = messages[place:end]
        place = end
        waiting: set[str] = set()
        if answer is not None:
            answer, waiting = _calls_once(answer, seen_ids, version, left)
            result.append(answer)
        if version >= PAIRS and (answer is not None or version >= PAIRS_FIRST):
            following = _own_results(following, waiting, version, left, is_first=answer is None)
        if answer is not None and version >= PAIRS:
            given = {chunk.call_id for message in following for chunk in message.chunks if chunk.kind is Kind.TOOL_RESULT}
            result += [
                _synthetic("tool", call, MISSING) for call in answer.chunks if call.kind is Kind.TOOL_CALL and call.call_id not in given
            ]
        result += _results_first(following) if version >= HOISTS else following
    return result


def _calls_once(answer: Message, seen_ids: set[str], version: Version, left: Left) -> tuple[Message, set[str]]:
    """An answer without calls whose id it has already, or an answer before it; and the ids of its calls."""
    calls = [chunk for chunk in answer.chunks if chunk.kind is Kind.TOOL_CALL]
    if not calls:
        return answer, set()
    own: set[str] = set()
    repeated = []
    for call in calls:
        if (version >= PAIRS_ONCE and call.call_id in own) or (version >= FILLS and call.call_id in seen_ids):
            repeated.append(call)
        else:
            own.add(call.call_id)
    seen_ids |= own
    if repeated:
        left.setdefault(REPEATED, []).extend(repeated)
        answer = _without(answer, repeated)
        if not answer.chunks:
            answer = _synthetic(ASSISTANT, repeated[0], INTERRUPTED)
    if version >= CALLS_LAST and len(own) < len(answer.chunks):
        answer = replace(answer, chunks=tuple(sorted(answer.chunks, key=lambda chunk: chunk.kind is Kind.TOOL_CALL)))
    return answer, own


def _own_results(following: Sequence[Message], waiting: set[str], version: Version, left: Left, is_first: bool) -> list[Message]:
    """What the user sends after an answer, without results of other calls and second results; filled in where nothing of it stays."""
    given: set[str] = set()
    result = []
    gone: list[Chunk] = []
    for message in following:
        orphans, repeated = [], []
        for chunk in message.chunks:
            if chunk.kind is not Kind.TOOL_RESULT:
                continue
            if chunk.call_id not in waiting:
                orphans.append(chunk)
            elif chunk.call_id in given and version >= PAIRS_ONCE:
                repeated.append(chunk)
            given.add(chunk.call_id)
        for why, chunks in ((ORPHAN, orphans), (REPEATED, repeated)):
            if chunks:
                left.setdefault(why, []).extend(chunks)
                gone += chunks
                message = _without(message, chunks)
        if message.chunks:
            result.append(message)
    if gone and not result and version >= FILLS and not is_first:
        result = [_synthetic("user", gone[0], NO_CONTENT)]
    return result


def _results_first(following: Sequence[Message]) -> list[Message]:
    """As one message of the request has them: what the user said comes after the results."""
    return sorted(following, key=lambda message: message.role != "tool")


def without_empty_texts(messages: Iterable[Message], left: Left) -> list[Message]:
    result = []
    for message in messages:
        if message.role == "user" and len(message.chunks) > 1:
            empty = [chunk for chunk in message.chunks if chunk.kind is Kind.TEXT and not chunk.text]
            if empty and len(empty) < len(message.chunks):
                left.setdefault(EMPTY, []).extend(empty)
                message = _without(message, empty)
        result.append(message)
    return result


def _without(message: Message, chunks: Sequence[Chunk]) -> Message:
    gone = {id(chunk) for chunk in chunks}
    return replace(message, chunks=tuple(chunk for chunk in message.chunks if id(chunk) not in gone))


def _synthetic(role: str, near: Chunk, words: str) -> Message:
    """What the program says in the place of `near`, which it leaves out or has no result for."""
    if role == "tool":
        payload = {"type": "tool-result", "toolCallId": near.call_id, "toolName": near.tool_name, "content": words, "isError": True}
        chunk = Chunk(f"synthesized:{near.key}", near.seq, role, Kind.TOOL_RESULT, payload, 0, 0, at=near.at)
    else:
        chunk = Chunk(f"synthesized:{near.key}", near.seq, role, Kind.TEXT, {"type": "text", "text": words}, 0, 0, at=near.at)
    return Message(role, (chunk,), synthetic=True)
