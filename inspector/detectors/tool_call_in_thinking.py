"""THINK301: a turn ends with a tool call that arrived as text."""

from collections.abc import Iterator, Sequence

from inspector.conversation.model import Chunk, Kind, Message
from inspector.conversation.queries import turns
from inspector.detectors.base import Case, Fault, Hit, Rule, Severity
from inspector.detectors.merges import ruled_out
from inspector.streams.dialects.base import Tools
from inspector.streams.dialects.catalogue import BY_ID
from inspector.streams.leaked_calls import Found, Where, calls_in
from inspector.streams.leaked_scan import marker_of
from inspector.streams.request_rules import asked
from inspector.traces import observe
from inspector.traces.model import Step, Trace
from inspector.traces.witness import turn_of

# What a turn ends with, as this rule sees it: nothing came behind it, and the turn was taken for finished.
_PLACES = {
    Kind.THINKING: Where("thinking", after="nothing", finish="stop"),
    Kind.TEXT: Where("content", after="nothing", finish="stop"),
}


def place_of(chunk: Chunk) -> Where:
    """Where the text of a chunk stands that ends a turn."""
    return _PLACES.get(chunk.kind, Where())


def declared(case: Case, turn: Sequence[Message]) -> Tools:
    """The tools that the model was offered in the turn, as the body itself or the trace has them: of the turn's last step, else of the last one known. None: not known."""
    named = case.conversation.fact("tools")
    if named:
        return frozenset(named.split(", "))
    if case.trace is None:
        return None
    ids = {turn_of(chunk.step_id)[0] for message in turn for chunk in message.chunks if chunk.step_id is not None}
    steps = case.trace.steps()
    own = [step for step in steps if turn_of(step.step_id)[0] in ids]
    return next((tools for step in reversed(own or steps) if (tools := _offered(case.trace, step)) is not None), None)


def _offered(trace: Trace, step: Step) -> Tools:
    known = trace.worked_out.setdefault("tools", {})
    if step.step_id not in known:
        request, prompt = observe.parsed_request(trace, step), observe.prompt_body(trace, step)
        body = request if request is not None else prompt
        found = asked({"tools": body.get("tools")} if body is not None else None)
        known[step.step_id] = None if found.open or not found.tools else found.tools
    tools: Tools = known[step.step_id]
    return tools


def leaked_calls(chunk: Chunk, tools: Tools = None) -> list[Found]:
    """The calls that stand in the chunk as text, in any dialect; of forms that only a declared tool tells from text, those of declared tools."""
    return list(calls_in(chunk.text, tools, place_of(chunk))) if chunk.kind in _PLACES else []


def leaked_call(chunk: Chunk, tools: Tools = None) -> str:
    """The marker with which call text starts in the chunk, or "" where there is none."""
    found = leaked_calls(chunk, tools)
    return marker_of(chunk.text, found[0].start) if found else ""


def check(case: Case) -> Iterator[Hit]:
    all_turns = turns(case.messages)
    for number, turn in enumerate(all_turns, start=1):
        last = turn[-1]
        chunk = last.chunks[-1]
        if last.role != "assistant" or chunk.kind not in _PLACES or any(each.kind is Kind.TOOL_CALL for each in last.chunks):
            continue
        # Each form has one of these signs; without them no request need be parsed.
        if not any(sign in chunk.text for sign in "<[{"):
            continue
        tools = declared(case, turn)
        marker = "" if case.running and number == len(all_turns) else leaked_call(chunk, tools)
        if not marker:
            continue
        text = f"Turn {number} ends at seq {chunk.seq} with a tool call written as {chunk.kind}: {marker}... No structured call arrived, so nothing was run and the turn ended."
        found = leaked_calls(chunk, tools)[0]
        spelled = (f"{found.dialect}, {BY_ID[found.dialect].title}", " ".join(found.reasons))
        evidence = (("text", chunk.text[:200]), ("spelled as", spelled[0]), ("taken for a call", spelled[1]))
        asks = ("promote-guessed-call", "drop-leaked-call") if found.guessed else None
        yield Hit((chunk,), text, evidence=evidence, ruled_out=ruled_out(case), repaired_by=asks)


RULE = Rule(
    code="THINK301",
    state="T2",
    name="tool-call-in-thinking",
    severity=Severity.ERROR,
    silent=True,
    fault=Fault.STREAM,
    summary="a tool call arrived as text in thinking or content, and the turn ended",
    why=(
        "The program looks only at structured calls: it sees none, takes the turn for finished, and the user gets no answer and no error. "
        "A history that shows the model no intact calls (MSG101) makes models fall back to this."
    ),
    example='1 user 0.0 text go\n2 assistant 0.0 thinking "<function=run>"',
    check=check,
    references=("Dispatch notes/tool-call-in-thinking-bug.md, 2026-06-28",),
    repaired_by=("promote-leaked-call", "promote-guessed-call", "drop-leaked-call"),
    fixed_in_code="Mend the cause first (MSG101); a stream parser that knows the text forms of a call is the second line of defence.",
)
