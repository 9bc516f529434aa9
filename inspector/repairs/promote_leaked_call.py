"""Makes a tool call that arrived as text the call that it spells, closed as interrupted."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit, Insert, Replace, Safety, apply, between
from inspector.conversation.model import Chunk, Conversation, Kind
from inspector.detectors.base import Case
from inspector.readers.dispatch import interrupted_result
from inspector.repairs.arrangement import entry_of
from inspector.repairs.base import Strategy
from inspector.repairs.drop_leaked_call import leaked
from inspector.repairs.leaked_syntax import Leaked, recovered
from inspector.repairs.renumber_messages import renumbered

OWN_ID = "insp-"


def propose(case: Case) -> Iterator[Edit]:
    """Only what is spelled out whole. Messages are renumbered with it: an inserted row must not share a msgIdx."""
    taken = {chunk.call_id for chunk in case.conversation.chunks}
    spare = max((chunk.msg_idx or 0 for chunk in case.conversation.chunks), default=0)
    edits: list[Edit] = []
    for chunk in leaked(case, most=1):
        call = recovered(chunk.text)
        if call is not None:
            spare += 1
            edits += _promoted(chunk, call, _free_id(chunk, taken), spare)
    if edits:
        yield from between(case.conversation, renumbered(apply(case.conversation, edits)))


def _promoted(chunk: Chunk, leaked: Leaked, call_id: str, spare: int) -> list[Edit]:
    """The text before the call stays in the chunk; where there is none, the call takes the row. `spare`: a msgIdx that no neighbour has."""
    payload = {"type": "tool-call", "toolCallId": call_id, "toolName": leaked.name, "input": leaked.input, **entry_of(chunk)}
    call = replace(chunk, kind=Kind.TOOL_CALL, payload=payload)
    edits: list[Edit] = [Replace(chunk, call)]
    if leaked.before.strip():
        call = replace(call, key=f"new:{chunk.key}", seq=chunk.seq + 1, chunk_idx=(chunk.chunk_idx or 0) + 1, raw=b"")
        edits = [Replace(chunk, replace(chunk, payload={**chunk.payload, "text": leaked.before})), Insert(chunk.key, call)]
    result = replace(interrupted_result(call), key=f"new:{call.key}:result", msg_idx=spare)
    return [*edits, Insert(call.key, result)]


def _free_id(chunk: Chunk, taken: set[str]) -> str:
    """`insp-<seq>`, so that anybody who meets the call knows who wrote it."""
    name, count = f"{OWN_ID}{chunk.seq}", 1
    while name in taken:
        count += 1
        name = f"{OWN_ID}{chunk.seq}-{count}"
    taken.add(name)
    return name


def promoted_calls(before: Conversation, after: Conversation) -> list[Chunk]:
    """Calls of `after` that are ours and that `before` does not hold."""
    known = {chunk.call_id for chunk in before.chunks}
    return [
        chunk for chunk in after.chunks if chunk.kind is Kind.TOOL_CALL and chunk.call_id.startswith(OWN_ID) and chunk.call_id not in known
    ]


STRATEGY = Strategy(
    name="promote-leaked-call",
    safety=frozenset({Safety.INVENTED}),
    summary="makes a call that arrived as text, and is spelled out whole, a tool call with an interrupted result, and renumbers the messages",
    cost="A call that the program never saw as one, under an id of ours, and a made-up result, marked as an error; the markup of the call leaves the text. Rows after it move up.",
    noticed_by_user="A failed tool run appears where the turn broke off. Nothing is run: the call is closed as interrupted, and on resume the program sees a call that failed and may let the model make it again.",
    argued_for="The model sees an intact call in place of leaked syntax, knows that it was not run, and goes on from there.",
    argued_against="The provider never sent this call. If the text was quoted and not meant, the model is told that it called a tool.",
    write_kind="W3",
    propose=propose,
    by_choice=True,
)
