"""gbrain's replay of a subagent run: the 1:1 map, the function of pull request 1934, and the reconciliation that head has since #2820.

Read off gbrain 0.46.28 (01aab110d) and the pull request's commit a3d2291d7, whose function was run over the cases of tests/programs/gbrain/test_readers.py.
Nothing here runs a tool: where head would, the reader says so and shows the place as open.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from inspector.conversation.model import Chunk, Conversation, Dropped, Execution, Kind, Message, Reading
from inspector.programs.gbrain.blocks import BARE, encoding_of
from inspector.readers.base import Reader
from inspector.text.jsontext import Unreadable, compact, parse

FORMATS = ("gbrain", "gbrain-export")
UNAVAILABLE = "tool result unavailable on replay"
FAILED = "tool failed"
RECOVERED = "tool result unavailable (recovered after interrupted run)"
LEGACY_NAME = "__legacy__"
HEALED, WOULD_RUN = "healed:", "would-run:"
"""What the key of a result starts with that comes from the ledger, and of one that only a run of the tool could give."""
SETTLED = ("complete", "failed")
"""Statuses of a run that has ended: its output or its error is in the ledger."""
_WORDS = (Kind.TEXT, Kind.TOOL_CALL, Kind.TOOL_RESULT)
HEAD = "gbrain-head"
UNKNOWN = "gbrain's gateway keeps text, calls and results only: the block never reaches the model"
TEXT_WITH_RESULTS = (
    "text next to results: the conversion to the SDK keeps only the results of such a message, so that the words never reach the model"
)


@dataclass(slots=True)
class Replay:
    """What a reader gathers in addition to its messages; `healed` are the indexes of rows that it would write."""

    dropped: list[Dropped] = field(default_factory=list)
    would_run: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    healed: list[int] = field(default_factory=list)


def rows(conversation: Conversation, draft: Replay) -> list[Message]:
    """The 1:1 map: a message for each row, of the block kinds that the shim knows; a row of results is a tool message."""
    messages: list[Message] = []
    for _, chunks in by_row(conversation.chunks):
        supported = [_adapted(chunk) for chunk in chunks if chunk.kind in _WORDS]
        if strange := tuple(chunk for chunk in chunks if chunk.kind not in _WORDS and chunk.payload.get("empty") is None):
            draft.dropped.append(Dropped(strange, UNKNOWN))
        row_role = next((chunk.role for chunk in chunks if chunk.role != "tool"), "user")
        if row_role == "user" and any(chunk.kind is Kind.TOOL_RESULT for chunk in supported):
            if lost := tuple(chunk for chunk in supported if chunk.kind is not Kind.TOOL_RESULT):
                draft.dropped.append(Dropped(lost, TEXT_WITH_RESULTS))
            messages.append(Message("tool", tuple(chunk for chunk in supported if chunk.kind is Kind.TOOL_RESULT)))
        else:
            messages.append(Message(row_role, tuple(supported)))
    return messages


def by_row(chunks: Sequence[Chunk]) -> Iterator[tuple[int | None, list[Chunk]]]:
    """The chunks of each stored message, with its index."""
    row: list[Chunk] = []
    for chunk in chunks:
        if row and row[-1].msg_idx != chunk.msg_idx:
            yield row[-1].msg_idx, row
            row = []
        row.append(chunk)
    if row:
        yield row[-1].msg_idx, row


def unparsed(conversation: Conversation) -> Iterator[Chunk]:
    """Messages that are a JSON string of plain words: gbrain parses a string that it loads once more, and throws."""
    for chunk in conversation.chunks:
        if encoding_of(chunk) == BARE:
            try:
                parse(chunk.text)
            except Unreadable:
                yield chunk


def _adapted(chunk: Chunk) -> Chunk:
    if chunk.kind is Kind.TOOL_RESULT and not chunk.tool_name:
        return replace(chunk, payload={**chunk.payload, "toolName": LEGACY_NAME})
    return chunk


def calls(message: Message) -> list[Chunk]:
    return [chunk for chunk in message.chunks if chunk.kind is Kind.TOOL_CALL] if message.role == "assistant" else []


def result(call: Chunk, content: str, is_error: bool, output: Any = None, key: str = "") -> Chunk:
    """What a client puts in for `call`: in the place of the call, under a key of its own. `output` is the value where it is no text."""
    payload: dict[str, Any] = {
        "type": "tool-result",
        "toolCallId": call.call_id,
        "toolName": call.tool_name,
        "content": content,
        "isError": is_error,
    }
    if not is_error and not isinstance(output, str):
        payload |= {"blocks": [{"type": "json", "value": output}], "wire": "ai-sdk"}
    return Chunk(key or f"synthesized:{call.key}", call.seq, "tool", Kind.TOOL_RESULT, payload, call.msg_idx, call.chunk_idx, at=call.at)


def settled(call: Chunk, run: Execution) -> Chunk:
    """The result that a settled run has: its output, or its error."""
    key = f"{HEALED}{call.key}"
    if run.status == "failed":
        return result(call, FAILED if run.error is None else run.error, True, key=key)
    words = run.output if isinstance(run.output, str) else compact(run.output)
    return result(call, words, False, run.output, key)


def is_from_tool(result: Chunk) -> bool:
    """Whether a result that a reader put in is one that a tool gave, or is to give, and no synthetic text."""
    return result.key.startswith((HEALED, WOULD_RUN))


def _naive(conversation: Conversation, messages: list[Message], draft: Replay) -> list[Message]:
    return messages


def _pr1934(conversation: Conversation, messages: list[Message], draft: Replay) -> list[Message]:
    """After every assistant with calls a message of results by (index, id), the last run of an id for all its calls, whether or not results follow."""
    runs = {(run.message_idx, run.call_id): run for run in conversation.ledger}
    out: list[Message] = []
    for message in messages:
        out.append(message)
        results = []
        for call in calls(message):
            run = runs.get((call.msg_idx or 0, call.call_id))
            results.append(settled(call, run) if run is not None and run.status in SETTLED else result(call, UNAVAILABLE, True))
        if results:
            out.append(Message("tool", tuple(results), synthetic=True))
    return out


def runs_of(message: Message, ledger: Sequence[Execution]) -> list[tuple[Chunk, Execution | None]]:
    """Each call of a message with its run, as head finds it: by place and id, by id where the turn has it once, then an older row without place by its place and name.

    `ledger` is all of it or the message's own part, in the order of the store; of several rows that fit the last one counts.
    """
    own_calls = calls(message)
    index = own_calls[0].msg_idx if own_calls else None
    own = [run for run in ledger if run.message_idx == index]
    by_place = {(run.ordinal, run.call_id): run for run in own if run.ordinal is not None}
    by_id = {run.call_id: run for run in own}
    older = [run for run in own if run.ordinal is None]
    times = Counter(call.call_id for call in own_calls)
    pairs: list[tuple[Chunk, Execution | None]] = []
    for place, call in enumerate(own_calls):
        run = by_place.get((place, call.call_id))
        if run is None and times[call.call_id] == 1:
            run = by_id.get(call.call_id)
        if run is None and place < len(older) and older[place].tool_name == call.tool_name:
            run = older[place]
        pairs.append((call, run))
    return pairs


def by_message(ledger: Sequence[Execution]) -> dict[int, list[Execution]]:
    """The ledger by message, in the order in which gbrain loads it."""
    by_index: dict[int, list[Execution]] = {}
    for run in sorted(ledger, key=lambda run: (run.message_idx, run.ordinal or 0)):
        by_index.setdefault(run.message_idx, []).append(run)
    return by_index


def _head(conversation: Conversation, messages: list[Message], draft: Replay) -> list[Message]:
    """`reconcileGatewayReplay`, then `repairToolPairing` at the border of the request."""
    ledger = by_message(conversation.ledger)
    out: list[Message] = []
    for number, message in enumerate(messages):
        out.append(message)
        following = messages[number + 1] if number + 1 < len(messages) else None
        # Of results that are there head asks neither how many they are nor whose.
        if not calls(message) or (following is not None and following.role == "tool"):
            continue
        index = calls(message)[0].msg_idx or 0
        results = []
        for call, run in runs_of(message, ledger.get(index, ())):
            if run is not None and run.status in SETTLED:
                results.append(settled(call, run))
                continue
            draft.would_run.append(call.tool_name)
            draft.warnings.append(_open(call, run))
            # Open on purpose: what a run gives nobody knows.
            results.append(result(call, "", False, "", f"{WOULD_RUN}{call.key}"))
        out.append(Message("tool", tuple(results), synthetic=True))
        draft.healed.append(index + 1)
    return paired(out)


def _open(call: Chunk, run: Execution | None) -> str:
    name = f"the tool {call.tool_name[:60]!r} (seq {call.seq})"
    unknown = "if it is not, the model reads that the tool is not available"
    if run is None:
        return f"head would run {name} if it is registered, since no execution of the call is noted; {unknown}"
    return f"head would run {name} again if it is registered and idempotent, since its execution is {run.status[:20] or 'without status'}; where it is not idempotent the job ends with an error, and {unknown}"


def paired(messages: Sequence[Message]) -> list[Message]:
    """`repairToolPairing`: a stub for each call that the next message does not answer; a late or foreign result stays where it is."""
    out: list[Message] = []
    waiting: list[Chunk] = []
    for message in (*messages, None):
        is_answer = message is not None and message.role == "tool"
        answered_ids = {chunk.call_id for chunk in message.chunks} if message is not None and is_answer else set()
        stubs = tuple(result(call, RECOVERED, True) for call in waiting if call.call_id not in answered_ids)
        if stubs and not is_answer:
            out.append(Message("tool", stubs, synthetic=True))
        if message is not None:
            out.append(replace(message, chunks=message.chunks + stubs) if stubs and is_answer else message)
            waiting = calls(message)
    return out


def is_terminal(messages: Sequence[Message]) -> bool:
    """Whether head returns the text of the last message and makes no request."""
    if not messages or messages[-1].role != "assistant" or calls(messages[-1]):
        return False
    return any(chunk.kind is Kind.TEXT and chunk.text.strip() for chunk in messages[-1].chunks)


@dataclass(frozen=True, slots=True)
class GbrainVersion:
    """`counts_rows`: the next index is the number of rows; else one after the highest."""

    name: str
    title: str
    note: str
    heal: Callable[[Conversation, list[Message], Replay], list[Message]]
    counts_rows: bool
    proposed: bool = False


VERSIONS = (
    GbrainVersion(
        "gbrain-naive",
        "gbrain before #2820: the messages as they are stored, one for one",
        "Runs of tools are in another table and are left out: every turn with calls that the gateway loop kept is refused by the SDK, on each retry.",
        _naive,
        True,
    ),
    GbrainVersion(
        "gbrain-pr1934",
        "gbrain as pull request 1934 proposed",
        "Puts results in from the ledger by id: a second answer where the history has results, one output for two calls of one id, and a next index that "
        "counts rows, which is taken where indexes have gaps.",
        _pr1934,
        True,
        True,
    ),
    GbrainVersion(
        HEAD,
        "gbrain since #2820 (2026-07-16)",
        "Heals from the ledger by place, then by id; runs a tool again whose execution is missing or pending, or ends the job; counts from the highest index.",
        _head,
        False,
    ),
)


def counters(version: GbrainVersion, conversation: Conversation, healed: Sequence[int] = ()) -> dict[str, Any]:
    """The three counters of the replay, and what they would run into: `nextMessageIdx`, `nextTurnIdx`, `initialMessages` and `collides`."""
    indexes = {chunk.msg_idx for chunk in conversation.chunks if chunk.msg_idx is not None}
    following = len(indexes) if version.counts_rows else max([*indexes, *healed], default=-1) + 1
    assistants = len({chunk.msg_idx for chunk in conversation.chunks if chunk.role == "assistant"})
    # A job without any row is given the prompt at index 0 before it is run.
    following = following if indexes else 1
    return {
        "nextMessageIdx": following,
        "nextTurnIdx": assistants,
        "initialMessages": not indexes,
        "collides": _collision(conversation, indexes, following),
    }


def _collision(conversation: Conversation, indexes: Container[int], following: int) -> str:
    """What the next turn meets at `following`, in a sentence; "" where it is free."""
    if following not in indexes:
        return ""
    # The ledger's row is found by message and place: an older one without place is not met.
    run = next((run for run in conversation.ledger if (run.message_idx, run.ordinal, run.status) == (following, 0, "complete")), None)
    answer = f", and its first call would be answered with the stored output of {run.tool_name[:60]!r}" if run else ""
    return f"index {following} is taken: the next turn would be lost (ON CONFLICT DO NOTHING){answer}"


def read_as(version: GbrainVersion, conversation: Conversation) -> Reading:
    """The report holds the counters, `wouldRun` (names of tools) and `terminal` (of head: the stored answer is returned, and no request made)."""
    draft = Replay()
    grouped = rows(conversation, draft)
    if (words := next(unparsed(conversation), None)) is not None:
        failure = f"the content of the message at index {words.msg_idx} (seq {words.seq}) is plain words, which gbrain parses as JSON"
        return Reading(version.name, tuple(grouped), (), failure=failure)
    messages = version.heal(conversation, list(grouped), draft)
    ends = version.heal is _head and is_terminal(messages)
    report = {**counters(version, conversation, draft.healed), "wouldRun": draft.would_run, "terminal": ends}
    return Reading(version.name, tuple(grouped), tuple(messages), tuple(draft.dropped), report, warnings=tuple(draft.warnings[:20]))


_VERSION = "0.46.28"


def _reader(version: GbrainVersion) -> Reader:
    return Reader(
        version.name,
        FORMATS[0],
        version.title,
        version.note,
        f"gbrain's source at {_VERSION} and pull request 1934, the function and the SDK run over the rows of its table",
        lambda conversation: read_as(version, conversation),
        proposed=version.proposed,
        shipped=not version.proposed,
        release=() if version.proposed else (VERSIONS.index(version),),
        verified=(_VERSION,),
    )


READERS: tuple[Reader, ...] = tuple(_reader(version) for version in VERSIONS)
