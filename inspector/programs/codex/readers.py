"""What the next request of a resumed thread holds: the history after compactions and rollbacks, as Codex replays it, and its repair before it is sent.

From rollout_reconstruction.rs, history.rs and normalize.rs of openai/codex (2026), and from resuming 90 threads with codex-cli 0.169.0 against an endpoint
of our own, legacy and paginated ones: both are replayed alike, and differ in what stops them from loading.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Conversation, Dropped, Kind, Message, Reading
from inspector.programs.codex.entries import REPLACEMENT, entry_of
from inspector.programs.codex.items import COMPACTED, CONTEXT, EVENT, ITEM, META, PAGINATED, STARTS, is_sent
from inspector.programs.codex.sending import as_sent
from inspector.projections.base import OPENAI_RESPONSES
from inspector.projections.openai_responses import CALL_TYPES, CUSTOM, FUNCTION, call_type
from inspector.readers.base import Reader

if TYPE_CHECKING:
    from inspector.rules.base import Case

NAME = "codex"
FORMAT = "codex"
ABORTED = "aborted"
SUMMARY_PREFIX = "Another language model started to solve this problem and produced a summary of its thinking process."
_CONTEXT = (
    ("<environment_context>", "</environment_context>"),
    ("<user_instructions>", "</user_instructions>"),
    ("# agents.md instructions", "</instructions>"),
    ("<skill>", "</skill>"),
    ("<user_shell_command>", "</user_shell_command>"),
    ("<turn_aborted>", "</turn_aborted>"),
    ("<subagent_notification>", "</subagent_notification>"),
)
"""How texts of the user's begin and end that the program wrote, in lower case."""
_DEVELOPER_CONTEXT = re.compile(
    r"\s*<(?:permissions[ _]instructions|collaboration_mode|realtime_conversation|model_switch|personality_spec)>", re.I
)
_TOOL_SEARCH = "tool_search_call"
SNAPSHOT = "ghost_snapshot"
"""The type of an item of 2025 that was never sent."""
UNREAD = "Codex cannot parse the record, and goes on without it"
UNKNOWN = "Codex sends no item of this type"
EVENTS = "an event or a note of the program to itself, which is never sent"
COMPACTED_AWAY = "a later compaction replaced it"
ROLLED_BACK = "its turn was rolled back"
SUPERSEDED = "a compaction whose turn was rolled back, or that a later one replaced"
RESTARTED = "another session_meta comes after it: of a thread that counts its records Codex reads what comes after the last one"
CUT = "its call was compacted away or rolled back"
ORPHANED = "Codex leaves a result out whose call is not in the history"


def is_context(message: Message) -> bool:
    """Whether the program wrote a message of the user's: what it says of the environment, of instructions, of a turn that was interrupted."""
    return any(_is_fragment(chunk.text) for chunk in message.chunks if chunk.kind is Kind.TEXT)


def _is_fragment(text: str) -> bool:
    words = text.strip().lower()
    return any(words.startswith(start) and words.endswith(end) for start, end in _CONTEXT)


def starts_turn(message: Message) -> bool:
    if entry_of(message.chunks[0]).get("name") == "agent_message":
        return True
    return message.role == "user" and not is_context(message)


def _is_turn_context(message: Message) -> bool:
    """What was written before a turn for that turn alone: it goes with it."""
    if message.role == "user":
        return is_context(message)
    return message.role == "system" and any(_DEVELOPER_CONTEXT.match(chunk.text) for chunk in message.chunks)


@dataclass(slots=True)
class _Replay:
    """`base` is the key of the compaction that `history` begins with, `turns` are the places in it at which turns of the user begin."""

    history: list[Message] = field(default_factory=list)
    base: str = ""
    turns: list[int] = field(default_factory=list)

    def append(self, message: Message) -> None:
        if starts_turn(message):
            self.turns.append(len(self.history))
        self.history.append(message)

    def begin(self, base: str, history: Sequence[Message] = ()) -> None:
        self.history, self.base, self.turns = [], base, []
        for message in history:
            self.append(message)

    def roll_back(self, count: Any) -> None:
        if not _is_count(count) or not self.turns:
            return
        cut = self.turns[-count] if count <= len(self.turns) else self.turns[0]
        while cut > self.turns[0] and _is_turn_context(self.history[cut - 1]):
            cut -= 1
        del self.turns[-count:], self.history[cut:]

    def summarize(self, summary: Message) -> None:
        """A compaction of before 2025-11 stored its summary alone: what the user said stays, up to about 20,000 tokens, and the summary comes last."""
        kept = [message for message in self.history if message.role == "user" and starts_turn(message) and not _is_summary(message)]
        self.begin(summary.chunks[0].key, [*_recent(kept), summary])


def _is_count(count: Any) -> bool:
    return isinstance(count, int) and not isinstance(count, bool) and count > 0


def _undone(steps: Sequence[Message]) -> set[str]:
    """The compactions that a rollback takes back, by key. From the end on the program counts turns, each from the record that starts it, or where none
    does from that of an earlier turn or the first record; those with words of the user's it counts off, and it uses no compaction of any of them.
    """
    undone: set[str] = set()
    in_turn: list[str] = []
    pending, is_users, id_ = 0, False, None
    for message in reversed(steps):
        entry = entry_of(message.chunks[0])
        kind, name, turn = entry.get("type"), entry.get("name"), entry.get("turn")
        if "unread" in entry:
            continue
        if kind == COMPACTED:
            in_turn.append(message.chunks[0].key)
        elif kind == EVENT and name == "thread_rolled_back":
            pending += entry["turns"] if _is_count(entry.get("turns")) else 0
        elif kind == CONTEXT:
            id_ = id_ or turn
        elif kind == EVENT and name in STARTS and turn and id_ in (None, turn):
            undone.update(in_turn if pending else ())
            pending -= pending > 0 and is_users
            in_turn, is_users, id_ = [], False, None
        is_users = is_users or (kind == ITEM and bool(message.role) and starts_turn(message)) or (kind == EVENT and name == "user_message")
    return undone | set(in_turn if pending else ())


def _is_summary(message: Message) -> bool:
    return message.chunks[0].text.startswith(SUMMARY_PREFIX)


def _recent(messages: Sequence[Message], characters: int = 80_000) -> Sequence[Message]:
    for number in range(len(messages) - 1, -1, -1):
        characters -= sum(len(chunk.text) for chunk in messages[number].chunks)
        if characters < 0:
            # The first one that does not fit is cut, and shown whole here.
            return messages[number:]
    return messages


def live_history(chunks: Sequence[Chunk]) -> tuple[list[Message], str]:
    """The items that Codex has in its history after the last record, before it repairs them for a request; and the key of the compaction before them."""
    replay = _Replay()
    is_replacing = False
    steps = _after_last_meta(list(_steps(chunks)))
    undone = _undone(steps)
    for message in steps:
        chunk = message.chunks[0]
        entry = entry_of(chunk)
        kind = entry.get("type")
        if kind == REPLACEMENT and "unread" not in entry:
            if is_replacing and entry.get("name") != SNAPSHOT:
                replay.append(message)
            continue
        if "unread" in entry or chunk.kind is Kind.UNREADABLE:
            continue
        if kind == COMPACTED:
            if message.role:
                # One that has no history of its own is used in any case (0.169.0, run).
                replay.summarize(message)
            elif is_replacing := chunk.key not in undone:
                replay.begin(chunk.key)
        elif kind == EVENT and entry.get("name") == "thread_rolled_back":
            replay.roll_back(entry.get("turns"))
        elif (kind == ITEM or not entry) and message.role and sends(message):
            replay.append(message)
    return replay.history, replay.base


def _after_last_meta(steps: list[Message]) -> list[Message]:
    """Of a paginated thread, by its first session_meta, what comes after the last one, whatever that says (0.169.0, run); of another one all."""
    entries = [entry_of(message.chunks[0]) for message in steps]
    metas = [place for place, entry in enumerate(entries) if entry.get("type") == META and "unread" not in entry]
    return steps[metas[-1] :] if len(metas) > 1 and entries[metas[0]].get("mode") == PAGINATED else steps


def sends(message: Message) -> bool:
    """Whether an item of its type is ever sent; one that a repair put in is."""
    entry = entry_of(message.chunks[0])
    role = "system" if message.role == "system" and not _is_developer(message) else ""
    return not entry or is_sent({"type": entry.get("name"), "role": role})


def _is_developer(message: Message) -> bool:
    extra = message.chunks[0].payload.get("extra")
    fields = extra.get("message") if isinstance(extra, Mapping) else None
    return isinstance(fields, Mapping) and fields.get("role") == "developer"


def _steps(chunks: Sequence[Chunk]) -> Iterator[Message]:
    """Messages and notes in their order; a note is a message of no role."""
    group: list[Chunk] = []
    for chunk in chunks:
        if group and chunk.chunk_idx is not None and queries.same_message(group[-1], chunk):
            group.append(chunk)
            continue
        if group:
            yield Message(group[0].role, tuple(group))
        group = [chunk]
    if group:
        yield Message(group[0].role, tuple(group))


def read(conversation: Conversation) -> Reading:
    failure = conversation.fact("stops") or ""
    history, base = live_history(conversation.chunks)
    messages, orphans = repaired(history)
    dropped = tuple(_dropped(conversation.chunks, history, base, orphans))
    report = {"aborted": sum(message.synthetic for message in messages), "orphans": len(orphans)}
    if failure:
        return Reading(NAME, (), (), dropped, report, failure)
    return Reading(NAME, tuple(history), tuple(messages), dropped, report)


def repaired(history: Sequence[Message]) -> tuple[list[Message], list[Chunk]]:
    """The history as it is sent: `aborted` right after each call that has no output, and without outputs that have no call. Pairs are made by id and kind."""
    calls = [(chunk, _kind_of_output(chunk)) for message in history for chunk in queries.calls(message)]
    called = {(chunk.call_id, kind) for chunk, kind in calls}
    results = [(chunk, _kind_of_result(chunk)) for message in history for chunk in queries.results(message)]
    answered = {(chunk.call_id, kind) for chunk, kind in results}
    unpaired = [chunk for chunk, kind in results if (chunk.call_id, kind) not in called and not _is_server_run(chunk)]
    # An output without any id stays, and the API refuses it.
    orphans = [chunk for chunk in unpaired if isinstance(chunk.payload.get("toolCallId"), str)]
    orphan_keys = {chunk.key for chunk in orphans}
    shells = {chunk.call_id for chunk, _ in calls if call_type(chunk) not in (FUNCTION, CUSTOM, _TOOL_SEARCH)}
    messages: list[Message] = []
    for message in history:
        if any(chunk.key in orphan_keys for chunk in message.chunks):
            continue
        chunks = tuple(map(as_sent, message.chunks))
        if any(chunk.call_id in shells for chunk in queries.results(message)):
            chunks = tuple(map(_as_function_output, chunks))
        messages.append(message if chunks == message.chunks else replace(message, chunks=chunks))
        messages += (
            Message("tool", (aborted(call),), synthetic=True)
            for call in queries.calls(message)
            if (call.call_id, _kind_of_output(call)) not in answered
        )
    return messages, orphans


def _kind_of_output(call: Chunk) -> str:
    kind = call_type(call)
    # The output of a shell that runs here is stored as that of a function.
    return CALL_TYPES[kind].output if kind in (CUSTOM, _TOOL_SEARCH) else CALL_TYPES[FUNCTION].output


def _kind_of_result(result: Chunk) -> str:
    extra = result.payload.get("extra")
    kind = extra.get("type") if isinstance(extra, Mapping) else None
    return kind if kind in (CALL_TYPES[CUSTOM].output, CALL_TYPES[_TOOL_SEARCH].output) else CALL_TYPES[FUNCTION].output


def _as_function_output(result: Chunk) -> Chunk:
    """The output of a local shell is sent as it is stored, as that of a function; measured with 0.169.0."""
    if result.kind is not Kind.TOOL_RESULT or result.payload.get("extra"):
        return result
    return replace(result, payload={**result.payload, "extra": {"type": CALL_TYPES[FUNCTION].output}, "wire": OPENAI_RESPONSES})


def _is_server_run(result: Chunk) -> bool:
    extra = result.payload.get("extra")
    return isinstance(extra, Mapping) and extra.get("execution") == "server"


def aborted(call: Chunk) -> Chunk:
    """The output that Codex puts in for a call without one."""
    payload: dict[str, Any] = {
        "type": "tool-result",
        "toolCallId": call.call_id,
        "toolName": call.tool_name,
        "content": ABORTED,
        "isError": False,
    }
    kind = _kind_of_output(call)
    if call_type(call) == _TOOL_SEARCH:
        payload |= {"extra": {"type": kind, "status": "completed", "execution": "client", "tools": []}, "wire": OPENAI_RESPONSES}
    elif call_type(call) != FUNCTION:
        payload |= {"extra": {"type": kind}, "wire": OPENAI_RESPONSES}
    return Chunk(f"synthesized:{call.key}", 0, "tool", Kind.TOOL_RESULT, payload, 0, 0, at=call.at)


def answered_results(case: "Case") -> Iterator[Chunk]:
    """Results of which a call is before them in the file: the provider pairs the two by id, wherever they are, and a compaction may have taken the call."""
    called: set[str] = set()
    for chunk in case.conversation.chunks:
        if chunk.kind is Kind.TOOL_CALL:
            called.add(chunk.call_id)
        elif chunk.kind is Kind.TOOL_RESULT and chunk.call_id in called:
            yield chunk


def _dropped(chunks: Sequence[Chunk], history: Sequence[Message], base: str, orphans: Sequence[Chunk]) -> Iterator[Dropped]:
    live = {chunk.key for message in history for chunk in message.chunks}
    by_why: dict[str, list[Chunk]] = {}
    is_before = bool(base)
    steps = list(_steps(chunks))
    first = _after_last_meta(steps)[0].chunks[0].key if steps else ""
    is_restarted = bool(steps) and first != chunks[0].key
    for chunk in chunks:
        is_restarted = is_restarted and chunk.key != first
        if chunk.key == base:
            is_before = False
        if chunk.key not in live:
            why = _why(chunk, is_before)
            by_why.setdefault(RESTARTED if is_restarted and why in (COMPACTED_AWAY, ROLLED_BACK) else why, []).append(chunk)
    for why, left_out in by_why.items():
        yield Dropped(tuple(left_out), why, intentional=why not in (UNREAD, RESTARTED), skipped=True)
    called = {chunk.call_id for chunk in chunks if chunk.kind is Kind.TOOL_CALL}
    cut = tuple(chunk for chunk in orphans if chunk.call_id in called)
    if cut:
        yield Dropped(cut, CUT, intentional=True)
    if lost := tuple(chunk for chunk in orphans if chunk.call_id not in called):
        yield Dropped(lost, ORPHANED)


def _why(chunk: Chunk, is_before: bool) -> str:
    entry = entry_of(chunk)
    if "unread" in entry or chunk.kind is Kind.UNREADABLE:
        return UNREAD
    if not chunk.role:
        return EVENTS
    if entry.get("type") in (REPLACEMENT, COMPACTED):
        return SUPERSEDED
    if not sends(Message(chunk.role, (chunk,))):
        return UNKNOWN
    return COMPACTED_AWAY if is_before else ROLLED_BACK


_VERSION = "0.169.0"
READER = Reader(
    NAME,
    FORMAT,
    "Codex CLI 0.169: the history that a resumed thread sends",
    "Replays compactions and rollbacks, leaves out records that it cannot parse, puts words in place of images that it cannot send, and `aborted` in for outputs that are missing and leaves out those without a "
    "call. The instructions in front and the context of the next turn, which no file holds, are not shown; long outputs are shown whole.",
    f"codex-cli {_VERSION}, run; openai/codex rollout_reconstruction.rs and normalize.rs",
    read,
    shipped=True,
    verified=(_VERSION,),
)

__all__ = ["READER", "aborted", "is_context", "live_history"]
