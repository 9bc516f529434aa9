"""What Claude Code does to the messages of a session that it resumes before it sends them, by its version.

Measured with 30 published versions from 1.0.72 to 2.1.332, which resumed sessions of ours and sent their request to an endpoint on the same machine
(`tests/published_programs/claude_code.py`). Each constant is the oldest measured version that does it; the one before that does not is in its comment.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import dropwhile

from inspector.conversation.model import Chunk, Kind, Message
from inspector.conversation.tree import about_of
from inspector.programs.claude_code.lines import ASSISTANT
from inspector.programs.claude_code.thinking import model_of

Version = tuple[int, int, int]

HOISTS = (2, 0, 76)  # not 1.0.124
DROPS_ERRORS = (2, 0, 76)  # not 1.0.124
DROPS_THINKING = (2, 1, 12)  # not 2.0.76
PAIRS = (2, 1, 27)  # not 2.1.12
FILLS_ANSWERS = (2, 1, 75)  # not 2.1.12
KEEPS_ORDER = (2, 1, 75)  # not 2.1.12
DROPS_BLANKS = (2, 1, 39)  # not 2.1.27
PAIRS_FIRST = (2, 1, 69)  # not 2.1.47
SENDS_COMMANDS = (2, 1, 69)  # not 2.1.47
PAIRS_ONCE = (2, 1, 81)  # not 2.1.75
FILLS = (2, 1, 92)  # not 2.1.86
CALLS_LAST = (2, 1, 126)  # not 2.1.112
DROPS_EMPTY_TEXTS = (2, 1, 156)  # not 2.1.142
DROPS_THINKING_OF_OTHERS = (2, 1, 156)  # not 2.1.142
DROPS_BLANKS_OF_THINKING = (2, 1, 261)  # not 2.1.245
SKIPS_UNREAD = (2, 1, 277)  # not 2.1.275, which fails on some shapes
SETTLES = (2, 1, 281)  # not 2.1.280
SENDS_UNKNOWN = (2, 1, 200)  # not 2.1.112
FILLS_FIRST = (2, 1, 332)  # not 2.1.200

MISSING = "[Tool result missing due to internal error]"
UNRECORDED = (
    "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown. "
    "Check whether it took effect before relying on it or running it again.]"
)
INTERRUPTED, NO_CONTENT = "[Tool use interrupted]", "(no content)"
REMOVED = "[Orphaned tool result removed due to conversation resume]"
COMMAND = "local_command"
UNANSWERED = "a call that has no result anywhere in the session: the program leaves it out of every request"
BLANK = "an answer of blanks only: the program leaves it out of every request"
ONLY_THINKING = "thinking of an answer that says nothing else: the program leaves it out of every request"
ORPHAN = "a result whose call is not in the answer before it: the program leaves it out of every request"
REPEATED = "a second call or result with an id that is there already: the program leaves it out of every request"
OF_OTHERS = "thinking of another model than the last answer's: the program leaves it out while the next request names that one"
HOLLOW = 'an answer without content: the program says "(no content)" in its place'
EMPTY = "a blank text: the program leaves it out of every request"
UNREAD = "something else where the program reads a block: it leaves it out of every request"
_THINKING = (Kind.THINKING, Kind.REDACTED_THINKING)
_ODD = (Kind.CONTROL, Kind.UNREADABLE)

Left = dict[str, list[Chunk]]
"""What is left out, by the reason."""


def answer_id(message: Message) -> str:
    """The id that Anthropic gave the answer; "" of every other message."""
    inner = about_of(message.chunks[0]).get("message") if message.role == ASSISTANT else None
    id_ = inner.get("id") if isinstance(inner, dict) else None
    return id_ if isinstance(id_, str) else ""


def sent_lines(lines: Sequence[Message], version: Version, settled: tuple[Sequence[Chunk], Sequence[Chunk]]) -> tuple[list[Message], Left]:
    """The lines that become messages, before pieces of one answer are joined: without calls that nothing answers, blank answers, and lonely thinking.

    `settled`, from SETTLES on: calls that get a result which says that none was recorded, where they have none, and those that stay without one."""
    left: Left = {}
    if version >= SKIPS_UNREAD:
        lines = _readable(lines, left)
    # A call without an id is answered by a result without one.
    answered = {chunk.call_id for line in lines for chunk in line.chunks if _is_result(chunk)}
    last, earlier = settled if version >= SETTLES else ((), ())
    waiting = [call for call in last if call.call_id not in answered]
    answered |= {call.call_id for call in (*waiting, *earlier)}
    result: list[Message] = []
    model = next((model for line in reversed(lines) if line.role == ASSISTANT and line.chunks and (model := model_of(line.chunks[0]))), "")
    for line in lines:
        if line.role == ASSISTANT and line.chunks and version >= DROPS_THINKING_OF_OTHERS and model_of(line.chunks[0]) not in ("", model):
            line = _without_thinking(line, left)
        if line.role == ASSISTANT:
            calls = [chunk for chunk in line.chunks if _is_call(chunk)]
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
            elif version >= DROPS_BLANKS_OF_THINKING and len(line.chunks) > 1 and _is_thinking_and_blanks(line):
                line = _left_out(line, [chunk for chunk in line.chunks if chunk.kind is Kind.TEXT], BLANK, left)
        if line.chunks:
            result.append(line)
    result += [_synthetic("tool", call, UNRECORDED) for call in waiting]
    spoken = _with_words(result, left) if version >= DROPS_THINKING else result
    return (_results_after_calls(spoken) if version >= SETTLES else spoken), left


def _readable(lines: Sequence[Message], left: Left) -> Sequence[Message]:
    """Without blocks in whose place something else is, and without empty texts of an answer."""
    result: list[Message] = []
    for line in lines:
        unread = [chunk for chunk in line.chunks if chunk.kind in _ODD and _is_unread(chunk) and not _is_empty(line, chunk)]
        empty = [chunk for chunk in line.chunks if line.role == ASSISTANT and chunk.kind is Kind.TEXT and not chunk.text]
        result.append(_left_out(_left_out(line, unread, UNREAD, left), empty, EMPTY, left))
    return result


def _is_empty(line: Message, chunk: Chunk) -> bool:
    """What is no block, and yet is sent: an empty text of the user's, and an answer without blocks, which gets words."""
    return chunk.payload.get("empty") == ("[]" if line.role == ASSISTANT else "")


def _is_unread(chunk: Chunk) -> bool:
    if chunk.kind is not Kind.CONTROL:
        return chunk.kind is Kind.UNREADABLE
    block = chunk.payload.get("block")
    if not isinstance(block, Mapping):
        return "empty" in chunk.payload
    kind = block.get("type")
    return not isinstance(kind, str) or (kind == "text" and not isinstance(block.get("text"), str))


def _is_malformed(chunk: Chunk, kind: str) -> bool:
    """Whether it is a block of that type without a member that it has to have."""
    block = chunk.payload.get("block")
    return chunk.kind is Kind.CONTROL and isinstance(block, Mapping) and block.get("type") == kind


def _is_call(chunk: Chunk) -> bool:
    return chunk.kind is Kind.TOOL_CALL or (chunk.kind is Kind.CONTROL and _is_malformed(chunk, "tool_use"))


def _is_result(chunk: Chunk) -> bool:
    return chunk.kind is Kind.TOOL_RESULT or (chunk.kind is Kind.CONTROL and _is_malformed(chunk, "tool_result"))


def _is_thinking_and_blanks(line: Message) -> bool:
    """First thinking, then nothing but blanks: blanks before thinking stay, as measured."""
    after = dropwhile(lambda chunk: chunk.kind in _THINKING, line.chunks)
    return line.chunks[0].kind in _THINKING and all(_is_blank(chunk) for chunk in after)


def _is_blank(chunk: Chunk) -> bool:
    return chunk.kind is Kind.TEXT and not chunk.text.strip()


def last_calls(lines: Sequence[Message]) -> tuple[list[Chunk], list[Chunk]]:
    """The calls of the last answer, where nobody said anything after it, and those of the answers before it that stay with them: up to one without calls, or
    one whose calls have no results although another answer follows."""
    answers: list[list[Chunk]] = []
    answered: set[str] = set()
    answer, is_followed = "", False
    for line in reversed([line for line in lines if line.chunks]):
        if line.role != ASSISTANT:
            spoken = [chunk for chunk in line.chunks if chunk.kind is not Kind.TOOL_RESULT and not _is_unread(chunk)]
            if spoken and about_of(spoken[0]).get("subtype") != COMMAND:
                break
            answered.update(chunk.call_id for chunk in line.chunks)
            is_followed = False
        elif not all(chunk.kind in _THINKING or _is_blank(chunk) for chunk in line.chunks):
            if not answers or answer_id(line) != answer:
                if answers and (not answers[-1] or (is_followed and not answered.issuperset(call.call_id for call in answers[-1]))):
                    break
                answers.append([])
                answer = answer_id(line) or line.chunks[0].key
            answers[-1] += [chunk for chunk in reversed(line.chunks) if chunk.kind is Kind.TOOL_CALL]
            is_followed = True
    last, *earlier = answers or [[]]
    return last[::-1], [call for calls in reversed(earlier) for call in reversed(calls)]


def _results_after_calls(lines: Sequence[Message]) -> list[Message]:
    """A line of results whose calls come later is put after their answer, as long as the user said nothing between."""
    moved: dict[int, int] = {}
    early: dict[str, list[int]] = {}
    seen_ids: set[str] = set()
    end = -1
    for number, line in enumerate(lines):
        results = {chunk.call_id for chunk in line.chunks if chunk.kind is Kind.TOOL_RESULT}
        if line.role == ASSISTANT:
            calls = [chunk.call_id for chunk in line.chunks if chunk.kind is Kind.TOOL_CALL]
            seen_ids.update(calls)
            if early and calls:
                # What was found for a piece holds for those after it.
                end = end if end > number else _last_piece(lines, number)
                for call_id in calls:
                    moved |= {place: end for place in early.pop(call_id, ()) if place not in moved}
        elif not results:
            early.clear()
        elif seen_ids.isdisjoint(results):
            for call_id in results:
                early.setdefault(call_id, []).append(number)
    if not moved:
        return list(lines)
    after: dict[int, list[Message]] = {}
    for place, end in sorted(moved.items()):
        after.setdefault(end, []).append(lines[place])
    return [message for number, line in enumerate(lines) if number not in moved for message in (line, *after.get(number, ()))]


def _last_piece(lines: Sequence[Message], number: int) -> int:
    """Of the pieces of one answer that are next to each other, the last."""
    answer = answer_id(lines[number])
    while answer and number + 1 < len(lines) and answer_id(lines[number + 1]) == answer:
        number += 1
    return number


def _without_thinking(line: Message, left: Left) -> Message:
    return _left_out(line, [chunk for chunk in line.chunks if chunk.kind in _THINKING], OF_OTHERS, left)


def _with_words(lines: Sequence[Message], left: Left) -> list[Message]:
    is_thinking = [line.role == ASSISTANT and all(chunk.kind in _THINKING for chunk in line.chunks) for line in lines]
    if not any(is_thinking):
        return list(lines)
    spoken = {
        answer_id(line)
        for line, only in zip(lines, is_thinking, strict=True)
        if line.role == ASSISTANT and not only and not (line.chunks[0].kind is Kind.CONTROL and _is_hollow(line))
    }
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
            given = {chunk.call_id for message in following for chunk in message.chunks if _is_result(chunk)}
            result += [_synthetic("tool", call, MISSING) for call in answer.chunks if _is_call(call) and call.call_id not in given]
        result += _results_first(following, version) if version >= HOISTS else following
    return result


def _is_hollow(answer: Message) -> bool:
    """Whether it is the line of an answer without blocks, which says nothing."""
    return all(chunk.kind is Kind.CONTROL and _is_empty(answer, chunk) for chunk in answer.chunks)


def filled(answers: Sequence[Message], left: Left) -> list[Message]:
    """With words in answers that have no content on any of their lines."""
    result = list(answers)
    for number, answer in enumerate(answers):
        hollow = [chunk for chunk in answer.chunks if chunk.kind is Kind.CONTROL and _is_empty(answer, chunk)]
        if hollow and answer.role == ASSISTANT:
            left.setdefault(HOLLOW, []).extend(hollow)
            result[number] = _without(answer, hollow) if len(hollow) < len(answer.chunks) else _synthetic(ASSISTANT, hollow[0], NO_CONTENT)
    return result


def _calls_once(answer: Message, seen_ids: set[str], version: Version, left: Left) -> tuple[Message, set[str]]:
    """An answer without calls whose id it has already, or an answer before it; and the ids of its calls."""
    calls = [chunk for chunk in answer.chunks if _is_call(chunk)]
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
        answer = replace(answer, chunks=tuple(sorted(answer.chunks, key=_is_call)))
    return answer, own


def _own_results(following: Sequence[Message], waiting: set[str], version: Version, left: Left, is_first: bool) -> list[Message]:
    """What the user sends after an answer, without results of other calls and second results; filled in where nothing of it stays."""
    given: set[str] = set()
    result = []
    gone: list[Chunk] = []
    for message in following:
        orphans, repeated = [], []
        for chunk in message.chunks:
            if not _is_result(chunk):
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
    if gone and not result and version >= (FILLS_FIRST if is_first else FILLS):
        result = [_synthetic("user", gone[0], REMOVED if is_first else NO_CONTENT)]
    return result


def _results_first(following: Sequence[Message], version: Version) -> Sequence[Message]:
    """As one message of the request has them: what the user said comes after the results, from KEEPS_ORDER on only where several lines are put together."""
    if version >= KEEPS_ORDER and len({chunk.msg_idx for message in following for chunk in message.chunks}) == 1:
        return following
    return sorted(following, key=lambda message: message.role != "tool")


def without_empty_texts(messages: Iterable[Message], left: Left) -> list[Message]:
    """Without blank texts of the user next to other blocks of the same turn, which become one message of the request."""
    result: list[Message] = []
    turn: list[Message] = []
    for message in messages:
        if message.role == ASSISTANT:
            result += _turn_without_blanks(turn, left)
            result.append(message)
            turn = []
        else:
            turn.append(message)
    return result + _turn_without_blanks(turn, left)


def _turn_without_blanks(turn: list[Message], left: Left) -> list[Message]:
    chunks = [chunk for message in turn for chunk in message.chunks if chunk.kind is not Kind.TOOL_RESULT]
    blank = [chunk for chunk in chunks if _is_blank(chunk) or _is_malformed(chunk, "text")]
    if not blank:
        return turn
    if len(blank) < sum(len(message.chunks) for message in turn):
        is_blank = {id(chunk) for chunk in blank}
        left.setdefault(EMPTY, []).extend(blank)
        kept = [replace(message, chunks=tuple(chunk for chunk in message.chunks if id(chunk) not in is_blank)) for message in turn]
        return [message for message in kept if message.chunks]
    if blank[0].text or len(blank) > 1:
        return turn
    left.setdefault(EMPTY, []).extend(blank)
    return [_synthetic("user", blank[0], NO_CONTENT)]


def _left_out(message: Message, chunks: Sequence[Chunk], why: str, left: Left) -> Message:
    """Without those of the chunks that are in it."""
    own = {id(chunk) for chunk in message.chunks}
    gone = [chunk for chunk in chunks if id(chunk) in own]
    if not gone:
        return message
    left.setdefault(why, []).extend(gone)
    return _without(message, gone)


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
