"""Makes tool calls that arrived as text at the end of a turn the calls that they encode, with the results that are recorded of them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from inspector.conversation.edits import Edit, Insert, Remove, Replace, Safety, apply, between
from inspector.conversation.model import Chunk, Conversation, Kind
from inspector.conversation.queries import turns
from inspector.programs.registry import wire_of
from inspector.projections.base import OPENAI_RESPONSES
from inspector.rules.base import Case
from inspector.rules.synthetic_texts import written_by
from inspector.rules.tool_call_in_thinking import answer_of, declared, ending, is_silent
from inspector.strategies.arrangement import entry_of, placed
from inspector.strategies.base import CaseCost, Strategy
from inspector.strategies.insert_results import interrupted
from inspector.strategies.leaked_syntax import LeakedEnding, recovered
from inspector.strategies.numbering import renumbered
from inspector.strategies.recorded_runs import RecordedRuns
from inspector.streams.call_syntax.base import Tools
from inspector.streams.leaked_calls import where_of
from inspector.text.js_json import canonical

OWN_ID = "insp-"


def promoted(case: Case, guesses: bool) -> Iterator[Edit]:
    """With `guesses`, parameters for which the text does not say whether they are text are taken for text."""
    base, tree = case.conversation, case.tree or case.conversation
    used_ids = {chunk.call_id for chunk in (*base.chunks, *tree.chunks) if chunk.call_id}
    spare = max((chunk.msg_idx or 0 for chunk in (*base.chunks, *tree.chunks)), default=0)
    recorded = RecordedRuns(case, used_ids)
    edits: list[Edit] = []
    results: list[tuple[str, Chunk]] = []
    all_turns = turns(case.messages)
    for turn in all_turns[:-1] if case.running else all_turns:
        pairs: list[tuple[Chunk, Chunk]] = []
        chunks = ending(turn)
        endings, blanks = _endings(chunks, declared(case, turn), guesses) if chunks else ([], [])
        edits += [Remove(chunk) for chunk in blanks]
        for chunk, leaking in endings:
            at = chunk
            for number, leaked in enumerate(leaking.calls):
                run = recorded.take(leaked.name, leaked.input, chunk)
                # An id that the program knows the run by is the only one under which it finds that again.
                call_id = run.call_id if run else leaked.call_id if leaked.call_id not in used_ids | {""} else _free_id(chunk, used_ids)
                used_ids.add(call_id)
                payload = {"type": "tool-call", "toolCallId": call_id, "toolName": leaked.name, "input": leaked.input, **entry_of(chunk)}
                call = replace(chunk, kind=Kind.TOOL_CALL, payload=payload, raw=b"")
                if number == 0 and not _is_kept(chunk, leaking):
                    call = replace(call, raw=chunk.raw)
                    edits.append(Replace(chunk, call))
                else:
                    if number == 0 and not _is_signed(chunk):
                        edits.append(Replace(chunk, replace(chunk, payload={**chunk.payload, "text": leaking.before})))
                    spare += 1
                    own = spare if wire_of(base.format) == OPENAI_RESPONSES else chunk.msg_idx
                    step = number + 1 if _is_kept(chunk, leaking) else number
                    call = replace(
                        call, key=f"new:{chunk.key}:{number}", seq=chunk.seq + step, chunk_idx=(chunk.chunk_idx or 0) + step, msg_idx=own
                    )
                    edits.append(Insert(at.key, call))
                at = call
                pairs.append((call, run.result(call) if run else interrupted(case, call)))
        results += [
            (pairs[-1][0].key, replace(result, key=result.key if result.key.startswith("ledger:") else f"new:{call.key}:result"))
            for call, result in pairs
        ]
    if edits:
        with_calls = case.with_conversation(renumbered(apply(base, edits)))
        yield from between(base, apply(with_calls.conversation, placed(with_calls, results, {})))


def _endings(chunks: Sequence[Chunk], tools: Tools, guesses: bool) -> tuple[list[tuple[Chunk, LeakedEnding]], list[Chunk]]:
    """The chunks that end an answer with calls, in order, and the blank text after them, which would come after the calls.

    A call that a later chunk has again is a draft of that, and stays text.
    """
    parts, finish = answer_of(chunks)
    texts = [chunk for chunk in chunks if chunk.kind is not Kind.ERROR]
    endings: list[tuple[Chunk, LeakedEnding]] = []
    blanks: list[Chunk] = []
    blanks_since: list[Chunk] = []
    if any(chunk.kind is Kind.TOOL_CALL for chunk in texts):
        return [], []
    for number, chunk in reversed(list(enumerate(texts))):
        if is_silent(chunk):
            blanks_since.append(chunk)
            continue
        later = tuple((call.name, call.input) for _, later_ending in endings for call in later_ending.calls)
        is_text = chunk.kind in (Kind.TEXT, Kind.THINKING)
        ending = recovered(chunk.text, replace(where_of(parts, number, finish), structured=later), tools) if is_text else None
        if ending is None or (any(call.guessed for call in ending.calls) and not guesses):
            break
        endings.append((chunk, ending))
        blanks += blanks_since
        blanks_since = []
        if ending.before.strip():
            break
    return endings[::-1], blanks


def _is_signed(chunk: Chunk) -> bool:
    return bool(chunk.payload.get("signature"))


def _is_kept(chunk: Chunk, ending: LeakedEnding) -> bool:
    """Whether the chunk stays before the call: with the words before it, or as it is where a signature covers it."""
    return bool(ending.before.strip()) or _is_signed(chunk)


def _free_id(chunk: Chunk, used_ids: set[str]) -> str:
    """`insp-<seq>`, so that anybody who meets the call knows who wrote it."""
    name, count = f"{OWN_ID}{chunk.seq}", 1
    while name in used_ids:
        count += 1
        name = f"{OWN_ID}{chunk.seq}-{count}"
    return name


def promoted_calls(before: Conversation, after: Conversation) -> list[tuple[Chunk, bool]]:
    """Calls of `after` that say what no call of `before` does, and whether their results are recorded ones."""
    contents = {_content(chunk) for chunk in before.chunks if chunk.kind is Kind.TOOL_CALL}
    results: dict[str, Chunk] = {chunk.call_id: chunk for chunk in after.chunks if chunk.kind is Kind.TOOL_RESULT}
    return [
        (chunk, chunk.call_id in results and not written_by(results[chunk.call_id]))
        for chunk in after.chunks
        if chunk.kind is Kind.TOOL_CALL and _content(chunk) not in contents
    ]


def _content(call: Chunk) -> str:
    return canonical([call.tool_name, call.payload.get("input")])


def _cost_of(case: Case) -> CaseCost | None:
    calls = promoted_calls(case.conversation, apply(case.conversation, promoted(case, guesses=False)))
    outcomes = {is_recorded for _, is_recorded in calls}
    if len(outcomes) != 1:
        return None
    result = (
        "its result is the one that is recorded."
        if outcomes == {True}
        else "no run of it is recorded, so its result is synthetic and marked as an error."
    )
    return CaseCost(_INVENTED, f"A call that the program never saw; {result} {_MARKUP}")


def names(strategies: Sequence[str]) -> bool:
    """Whether calls are made of text by one of these."""
    return bool({"promote-leaked-call", "promote-guessed-call"} & set(strategies))


_INVENTED = frozenset({Safety.INVENTED})
_MARKUP = (
    "The markup leaves the text, but for signed thinking, which stays whole. A call whose parameters its text does not type stays text, and so does one in "
    "the middle of a turn: what follows it knows no result."
)
STRATEGY = (
    Strategy(
        name="promote-leaked-call",
        safety=_INVENTED,
        summary="turns a call that the model wrote out as text at the end of a turn into a tool call, with its recorded result or else an interrupted one, and renumbers the messages",
        cost="A call that the program never saw, with the id that the text or a recorded run gives it, else a new one; without a recorded run its result is synthetic and marked as an error. "
        + _MARKUP,
        cost_of=_cost_of,
        user_visible_effect="A tool run appears where the turn broke off. Nothing is run: where no result is recorded the call is closed as interrupted, and on resume the program may let the model make it again.",
        pros="The model sees an intact call in place of leaked syntax, knows what came of it or that it was not run, and goes on from there.",
        cons="The provider never sent this call. If the text was only quoted, the model reads that it called a tool.",
        write_kind="W3",
        propose=lambda case: promoted(case, guesses=False),
        manual_only=True,
        order=350,
    ),
    Strategy(
        name="promote-guessed-call",
        safety=_INVENTED,
        summary="does what promote-leaked-call does, also where the type of a parameter must be guessed",
        cost="What promote-leaked-call costs; and parameters are guessed: one becomes text where its syntax does not say whether 7 is a number and no schema is known. The finding names these.",
        user_visible_effect="A tool run appears where the turn broke off, perhaps with a parameter of the wrong type.",
        pros="Most tools take such a value either way, and the person who asks for it has seen which parameters these are.",
        cons="The model reads a call that it did not make in this form. With the trace imported too, the declared schema types the values, and nothing is guessed.",
        write_kind="W3",
        propose=lambda case: promoted(case, guesses=True),
        manual_only=True,
        order=360,
    ),
)
