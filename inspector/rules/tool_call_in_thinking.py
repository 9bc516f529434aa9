"""THINK301: a turn ends with a tool call that arrived as text."""

from collections.abc import Iterator, Sequence

from inspector.conversation.model import Chunk, Kind, Message
from inspector.conversation.queries import turns
from inspector.rules.base import Case, Match, Origin, Rule, Severity
from inspector.streams.call_syntax.base import Tools
from inspector.streams.call_syntax.catalogue import BY_ID
from inspector.streams.leaked_calls import AnswerPart, TextCall, leaked
from inspector.streams.leaked_scan import marker_of
from inspector.streams.request_rules import request_facts
from inspector.traces import observe
from inspector.traces.model import Step, Trace
from inspector.traces.witness import turn_of

_SIGNS = "<[{"
"""Each form of a call has one of these; without them no request need be parsed."""


def ending(turn: Sequence[Message]) -> tuple[Chunk, ...]:
    """The chunks of the last assistant message that has content, and of those after it, which hold nothing but blank text and errors.

    () where something else ends the turn.
    """
    for number in range(len(turn) - 1, -1, -1):
        if turn[number].role != "assistant":
            return ()
        if not all(is_silent(chunk) for chunk in turn[number].chunks):
            return tuple(chunk for message in turn[number:] for chunk in message.chunks)
    return ()


def is_silent(chunk: Chunk) -> bool:
    """It says nothing of the answer: blank text, as some servers send after reasoning, or an error that the program noted."""
    return chunk.kind is Kind.ERROR or answer_part(chunk).is_blank


def answer_part(chunk: Chunk) -> AnswerPart:
    """A chunk as the search for calls in text sees it."""
    match chunk.kind:
        case Kind.THINKING:
            return AnswerPart("thinking", chunk.text, bool(chunk.payload.get("signature")))
        case Kind.TEXT:
            return AnswerPart("content", chunk.text)
        case Kind.TOOL_CALL:
            arguments = chunk.payload.get("input")
            return AnswerPart("call", name=chunk.tool_name, arguments=arguments if isinstance(arguments, dict) else None)
    return AnswerPart("other")


def answer_of(chunks: Sequence[Chunk]) -> tuple[list[AnswerPart], str]:
    """The parts of a turn's last answer, and its finish reason: `stop`, since the turn was taken for finished; "" where an error ended it."""
    is_failed = any(chunk.kind is Kind.ERROR for chunk in chunks)
    return [answer_part(chunk) for chunk in chunks if chunk.kind is not Kind.ERROR], "" if is_failed else "stop"


def declared(case: Case, turn: Sequence[Message]) -> Tools:
    """The tools that the model was offered in the turn, as the body itself or the trace has them: of the turn's last step, else of the last one known. None: not known."""
    named = case.conversation.fact("tools")
    if named is not None:
        return frozenset(named.split(", ")) if named else frozenset()
    if case.trace is None:
        return None
    ids = {turn_of(chunk.step_id)[0] for message in turn for chunk in message.chunks if chunk.step_id is not None}
    steps = case.trace.steps()
    own = [step for step in steps if turn_of(step.step_id)[0] in ids]
    return next((tools for step in reversed(own or steps) if (tools := _offered(case.trace, step)) is not None), None)


def _offered(trace: Trace, step: Step) -> Tools:
    tools_of_step = trace.worked_out.setdefault("tools", {})
    if step.step_id not in tools_of_step:
        request, prompt = observe.parsed_request(trace, step), observe.prompt_body(trace, step)
        body = request if request is not None else prompt
        facts = request_facts({"tools": body.get("tools")} if body is not None else None)
        tools_of_step[step.step_id] = None if facts.open or not facts.tools else facts.tools
    tools: Tools = tools_of_step[step.step_id]
    return tools


def leaks(case: Case, turn: Sequence[Message]) -> list[tuple[Chunk, TextCall]]:
    """The calls that the last answer of a turn made as text, each with its chunk; of forms that only a declared tool distinguishes from text, those of declared tools."""
    chunks = [chunk for chunk in ending(turn) if chunk.kind is not Kind.ERROR]
    if not any(sign in chunk.text for chunk in chunks if chunk.kind in (Kind.TEXT, Kind.THINKING) for sign in _SIGNS):
        return []
    parts, finish = answer_of(ending(turn))
    return [(chunks[number], call) for number, call in leaked(parts, declared(case, turn), finish)]


def check(case: Case) -> Iterator[Match]:
    all_turns = turns(case.messages)
    for number, turn in enumerate(all_turns[:-1] if case.running else all_turns, start=1):
        leaked_calls = leaks(case, turn)
        if not leaked_calls:
            continue
        chunk, first_call = leaked_calls[0]
        marker = marker_of(chunk.text, first_call.start)
        text = f"Turn {number} ends at seq {chunk.seq} with a tool call written as {chunk.kind}: {marker}... No structured call arrived, so nothing was run and the turn ended."
        syntax = (f"{first_call.syntax}, {BY_ID[first_call.syntax].title}", " ".join(first_call.reasons))
        evidence = (("text", chunk.text[:200]), ("call syntax", syntax[0]), ("taken for a call", syntax[1]))
        chunks = tuple({leak_chunk.key: leak_chunk for leak_chunk, _ in leaked_calls}.values())
        yield Match(
            chunks, text, evidence=evidence, ruled_out=case.program.errors.ruled_out(case), repaired_by=_repairs(ending(turn), leaked_calls)
        )


def _repairs(chunks: Sequence[Chunk], leaked_calls: Sequence[tuple[Chunk, TextCall]]) -> tuple[str, ...] | None:
    """None: any of the rule's own. A call that is cut off, or that words follow, cannot be made a structured one."""
    last, last_call = leaked_calls[-1]
    keys = [chunk.key for chunk in chunks]
    is_last = all(is_silent(chunk) for chunk in chunks[keys.index(last.key) + 1 :]) and not last.text[last_call.end :].strip()
    if not is_last or any(call.confidence == "low" for _, call in leaked_calls):
        return ("drop-leaked-call",)
    return ("promote-guessed-call", "drop-leaked-call") if any(call.guessed for _, call in leaked_calls) else None


RULE = Rule(
    code="THINK301",
    state="T2",
    name="tool-call-in-thinking",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STREAM,
    summary="a tool call arrived as text in thinking or content, and the turn ended",
    unnoticed="call not run",
    always_passes=True,
    why=(
        "The program looks only at structured calls: it sees none, takes the turn for finished, and the user gets no answer and no error. "
        "A history that shows the model no intact calls (MSG101) makes models fall back to this."
    ),
    example='1 user 0.0 text go\n2 assistant 0.0 thinking "<function=run>"',
    check=check,
    references=("Dispatch notes/tool-call-in-thinking-bug.md, 2026-06-28",),
    repaired_by=("promote-leaked-call", "promote-guessed-call", "drop-leaked-call"),
    fixed_in_code="Repair the cause first (MSG101); a stream parser that knows the text forms of a call is the second line of defence.",
)
