"""The line with which a resume ends, by the version of the program: the message last said, or a checkpoint that names another one.

The program writes a `last-prompt` line with the uuid of the line that the session was at: when it ends, and when the person goes back (`explicit`, and
`rewound`), so that a resume ends there although later lines are in the file. Measured with 2.1.112, 2.1.200 and 2.1.332
(`tests/published_programs/claude_code.py`).
"""

from collections.abc import Iterator, Mapping, Sequence, Set

from inspector.conversation.model import Kind
from inspector.conversation.tree import Entry
from inspector.programs.claude_code.kept import is_boundary
from inspector.programs.claude_code.lines import ASSISTANT, SYSTEM

CHECKPOINT = "last-prompt"
ENDS_LAST = (2, 1, 92)  # not 2.1.86
ENDS_AT_CHECKPOINTS = (2, 1, 200)  # not 2.1.112
ENDS_NEWEST = (2, 1, 332)  # not 2.1.200


def leaf(
    all_lines: Sequence[Entry],
    loaded: Sequence[Entry],
    by_id: Mapping[str, Entry],
    parents: Mapping[str, str],
    version: tuple[int, int, int],
) -> Entry | None:
    """None where the person went back to before the first message, or where there is none. `parents`: of lines that a compaction puts elsewhere."""
    if version < ENDS_LAST:
        return _newest_message(loaded)
    if version < ENDS_AT_CHECKPOINTS:
        return last_message(_without_children(loaded, by_id)) or last_message(loaded)
    checkpoint, is_explicit, last = _checkpoint(all_lines, {entry.index for entry in loaded})
    if is_explicit and checkpoint is None:
        return None
    if last is None:
        return last_message(loaded)
    end = by_id.get(checkpoint or "")
    if end is None or (not is_explicit and _follows(last, end, by_id, parents, version)):
        end = last
    if checkpoint is None and version >= ENDS_NEWEST:
        end = _newest_below(last, loaded, by_id, parents)
    above = [entry for entry in _upward(end, by_id, parents) if is_message(entry) or is_boundary(entry.about)]
    # A compaction without anything after it, as of a session that was killed there: the boundary is the end, and nothing of what is above it is sent.
    return above[0] if any(map(is_message, above)) else last_message(loaded)


def is_left_by_hand(all_lines: Sequence[Entry], loaded: Sequence[Entry]) -> bool:
    """Whether the person went back to the line with which the newest version ends, and said nothing since."""
    return _checkpoint(all_lines, {entry.index for entry in loaded})[1]


def _without_children(loaded: Sequence[Entry], by_id: Mapping[str, Entry]) -> list[Entry]:
    """Messages below which there is no other, in the order in which their ids come first."""
    parents = {entry.parent for entry in loaded if is_message(entry)}
    return [entry for entry in by_id.values() if entry.id not in parents]


def _checkpoint(all_lines: Sequence[Entry], loaded: Set[int]) -> tuple[str | None, bool, Entry | None]:
    """The uuid that the last checkpoint since the last compaction names, whether it was set by hand and nothing was said since, and the last line."""
    named: str | None = None
    is_explicit, is_cleared = False, False
    last: Entry | None = None
    for entry in reversed(all_lines):
        if last is not None and (named or is_cleared):
            break
        if entry.type == CHECKPOINT:
            uuid, by_hand = entry.about.get("leafUuid"), entry.about.get("explicit") is True
            if isinstance(uuid, str) and uuid and not is_cleared and named in (None, uuid):
                named = uuid
                is_explicit = is_explicit or (last is None and by_hand)
            elif named is None and uuid is None and by_hand:
                is_cleared, is_explicit = True, last is None
        elif last is None and entry.index in loaded and _is_own(entry):
            last = entry
        if entry.type == SYSTEM and is_boundary(entry.about):
            break
    return named, is_explicit, last


def _is_own(entry: Entry) -> bool:
    return entry.type != "progress" and not is_side(entry)


def _follows(last: Entry, end: Entry, by_id: Mapping[str, Entry], parents: Mapping[str, str], version: tuple[int, int, int]) -> bool:
    """Whether `last` is below `end`, or, since ENDS_NEWEST, below another piece of the same answer: parallel calls have a branch each."""
    above = by_id.get(parents.get(end.id) or end.parent or "")
    lines = (end, above) if version >= ENDS_NEWEST else ()
    answers = {answer for entry in lines if entry is not None and calls_in(entry) and (answer := answer_of(entry))}
    return any(entry.id == end.id or answer_of(entry) in answers for entry in _upward(last, by_id, parents))


def _newest_below(last: Entry, loaded: Sequence[Entry], by_id: Mapping[str, Entry], parents: Mapping[str, str]) -> Entry:
    """The newest of the lines below the last one of the file, where a later one was put before it; `last` itself as a rule."""
    times = [entry.chunks[0].at or 0 for entry in loaded]
    if max(times, default=0) <= (last.chunks[0].at or 0):
        return last
    below = {last.id: True}
    end, newest = last, 0
    for entry, time in zip(loaded, times, strict=True):
        walked: list[str] = []
        is_below = False
        for line in _upward(entry, by_id, parents):
            if line.id in below:
                is_below = below[line.id]
                break
            walked.append(line.id)
        below |= dict.fromkeys(walked, is_below)
        if is_below and entry.id != last.id and time >= newest and _is_own(entry):
            end, newest = entry, time
    return end


def _upward(entry: Entry, by_id: Mapping[str, Entry], parents: Mapping[str, str]) -> Iterator[Entry]:
    walked: set[str] = set()
    line: Entry | None = entry
    while line is not None and line.id not in walked:
        walked.add(line.id)
        yield line
        line = by_id.get(parents.get(line.id) or line.parent or "")


def last_message(loaded: Sequence[Entry]) -> Entry | None:
    """The last message: of the main conversation, or of the agent where the file is an agent's."""
    spoken_lines = [entry for entry in loaded if is_message(entry)]
    return next((entry for entry in reversed(spoken_lines) if not is_side(entry)), spoken_lines[-1] if spoken_lines else None)


def _newest_message(loaded: Sequence[Entry]) -> Entry | None:
    """By its time, the first of several, as versions before ENDS_LAST chose the end; a compaction's boundary where it is newer than all messages."""
    ends = [entry for entry in loaded if (is_message(entry) or is_boundary(entry.about)) and not is_side(entry)]
    return max(ends, key=lambda entry: entry.chunks[0].at or 0) if any(map(is_message, ends)) else last_message(loaded)


def is_message(entry: Entry) -> bool:
    """Whether the line holds a message, of whoever."""
    return bool(entry.chunks[0].role)


def is_side(entry: Entry) -> bool:
    """Whether it is a line of an agent that the conversation started."""
    return entry.about.get("isSidechain") is True


def answer_of(entry: Entry) -> str:
    """The id of the answer that a line is a piece of; "" of every other line."""
    message = entry.about.get("message")
    id_ = message.get("id") if entry.chunks[0].role == ASSISTANT and isinstance(message, dict) else None
    return id_ if isinstance(id_, str) else ""


def calls_in(entry: Entry) -> list[str]:
    return [chunk.call_id for chunk in entry.chunks if chunk.kind is Kind.TOOL_CALL]
