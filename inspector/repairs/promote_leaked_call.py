"""Makes tool calls that arrived as text at the end of a turn the calls that they spell, with the results that are recorded of them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from inspector.conversation.edits import Edit, Insert, Replace, Safety, apply, between
from inspector.conversation.js_json import canonical
from inspector.conversation.model import Chunk, Conversation, Kind, Message
from inspector.conversation.queries import calls, turns
from inspector.detectors.base import Case
from inspector.detectors.synthetic_texts import written_by
from inspector.detectors.tool_call_in_thinking import declared, place_of
from inspector.formats.request_names import WIRES
from inspector.projections.base import OPENAI_RESPONSES
from inspector.repairs.arrangement import entry_of, placed
from inspector.repairs.base import Strategy
from inspector.repairs.insert_interrupted_result import interrupted
from inspector.repairs.leaked_syntax import Ending, recovered
from inspector.repairs.recorded_runs import Recorded
from inspector.repairs.renumber_messages import renumbered
from inspector.streams.dialects.base import Tools

OWN_ID = "insp-"


def propose(case: Case) -> Iterator[Edit]:
    """Only what is spelled out whole. Messages are renumbered with it: an inserted row must not share a msgIdx."""
    return promoted(case, guesses=False)


def promoted(case: Case, guesses: bool) -> Iterator[Edit]:
    """With `guesses`, parameters of which the text does not tell whether they are text are taken for it."""
    base, tree = case.conversation, case.tree or case.conversation
    taken = {chunk.call_id for chunk in (*base.chunks, *tree.chunks) if chunk.call_id}
    spare = max((chunk.msg_idx or 0 for chunk in (*base.chunks, *tree.chunks)), default=0)
    recorded = Recorded(case, taken)
    edits: list[Edit] = []
    results: list[tuple[str, Chunk]] = []
    all_turns = turns(case.messages)
    for turn in all_turns[:-1] if case.running else all_turns:
        made: list[tuple[Chunk, Chunk]] = []
        for chunk, ending in _endings(turn[-1], declared(case, turn) if _may_leak(turn[-1]) else None, guesses):
            at = chunk
            for number, leaked in enumerate(ending.calls):
                run = recorded.take(leaked.name, leaked.input, chunk)
                # An id that the program knows the run by is the only one under which it finds that again.
                call_id = run.call_id if run else leaked.call_id if leaked.call_id not in taken | {""} else _free_id(chunk, taken)
                taken.add(call_id)
                payload = {"type": "tool-call", "toolCallId": call_id, "toolName": leaked.name, "input": leaked.input, **entry_of(chunk)}
                call = replace(chunk, kind=Kind.TOOL_CALL, payload=payload, raw=b"")
                if number == 0 and not _is_kept(chunk, ending):
                    call = replace(call, raw=chunk.raw)
                    edits.append(Replace(chunk, call))
                else:
                    if number == 0 and not _is_signed(chunk):
                        edits.append(Replace(chunk, replace(chunk, payload={**chunk.payload, "text": ending.before})))
                    spare += 1
                    own = spare if WIRES.get(base.format) == OPENAI_RESPONSES else chunk.msg_idx
                    step = number + 1 if _is_kept(chunk, ending) else number
                    call = replace(
                        call, key=f"new:{chunk.key}:{number}", seq=chunk.seq + step, chunk_idx=(chunk.chunk_idx or 0) + step, msg_idx=own
                    )
                    edits.append(Insert(at.key, call))
                at = call
                made.append((call, run.result(call) if run else interrupted(case, call)))
        results += [
            (made[-1][0].key, replace(result, key=result.key if result.key.startswith("ledger:") else f"new:{call.key}:result"))
            for call, result in made
        ]
    if edits:
        with_calls = case.again(renumbered(apply(base, edits)))
        yield from between(base, apply(with_calls.conversation, placed(with_calls, results, {})))


def _may_leak(message: Message) -> bool:
    return message.role == "assistant" and not calls(message)


def _endings(message: Message, tools: Tools, guesses: bool) -> list[tuple[Chunk, Ending]]:
    """The chunks that end the message with calls, in order. A call that a later chunk spells again is a draft of that, and stays text."""
    found: list[tuple[Chunk, Ending]] = []
    for chunk in reversed(message.chunks) if _may_leak(message) else ():
        later = tuple((call.name, call.input) for _, ending in found for call in ending.calls)
        ending = (
            recovered(chunk.text, replace(place_of(chunk), structured=later), tools) if chunk.kind in (Kind.TEXT, Kind.THINKING) else None
        )
        if ending is None or (any(call.guessed for call in ending.calls) and not guesses):
            break
        found.append((chunk, ending))
        if ending.before.strip():
            break
    return found[::-1]


def _is_signed(chunk: Chunk) -> bool:
    return bool(chunk.payload.get("signature"))


def _is_kept(chunk: Chunk, ending: Ending) -> bool:
    """Whether the chunk stays before the call: with the words before it, or as it is where a signature covers it."""
    return bool(ending.before.strip()) or _is_signed(chunk)


def _free_id(chunk: Chunk, taken: set[str]) -> str:
    """`insp-<seq>`, so that anybody who meets the call knows who wrote it."""
    name, count = f"{OWN_ID}{chunk.seq}", 1
    while name in taken:
        count += 1
        name = f"{OWN_ID}{chunk.seq}-{count}"
    return name


def promoted_calls(before: Conversation, after: Conversation) -> list[tuple[Chunk, bool]]:
    """Calls of `after` that say what no call of `before` does, and whether their results are recorded ones."""
    known = {_said(chunk) for chunk in before.chunks if chunk.kind is Kind.TOOL_CALL}
    results: dict[str, Chunk] = {chunk.call_id: chunk for chunk in after.chunks if chunk.kind is Kind.TOOL_RESULT}
    return [
        (chunk, chunk.call_id in results and not written_by(results[chunk.call_id]))
        for chunk in after.chunks
        if chunk.kind is Kind.TOOL_CALL and _said(chunk) not in known
    ]


def _said(call: Chunk) -> str:
    return canonical([call.tool_name, call.payload.get("input")])


def names(strategies: Sequence[str]) -> bool:
    """Whether calls are made of text by one of these."""
    return bool({"promote-leaked-call", "promote-guessed-call"} & set(strategies))


STRATEGY = Strategy(
    name="promote-leaked-call",
    safety=frozenset({Safety.INVENTED}),
    summary="makes calls that arrived as text at the end of a turn, and are spelled out whole, tool calls with the result that is recorded of them, else an interrupted one, and renumbers the messages",
    cost="Calls that the program never saw as such, under an id that the text or the record of a run gives, else one of ours; where no run is recorded a made-up result, marked as an error. "
    "The markup leaves the text, but for signed thinking, which stays whole. A call whose parameters its text does not type stays text, and so does one in the middle of a turn: what follows it knows no result.",
    noticed_by_user="A tool run appears where the turn broke off. Nothing is run: where no result is recorded the call is closed as interrupted, and on resume the program may let the model make it again.",
    argued_for="The model sees an intact call in place of leaked syntax, knows what came of it or that it was not run, and goes on from there.",
    argued_against="The provider never sent this call. If the text was quoted and not meant, the model is told that it called a tool.",
    write_kind="W3",
    propose=propose,
    by_choice=True,
)
