"""What the store and the trace recorded as failures: recorded errors, what each means, and the rule that it belongs to."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from inspector.conversation.model import Kind
from inspector.conversation.queries import span_text
from inspector.presentation.explain.answer import recognized
from inspector.presentation.explain.meanings import READ, meaning
from inspector.rules.base import Case, Finding
from inspector.traces.model import Span

MOST = 50
NOT_RECOGNISED = "not recognized"
OUTSIDE_TURNS = "a request outside of the turns"


@dataclass(frozen=True, slots=True)
class Recorded:
    """One recorded error. `seq` is its row, or None where only the trace or a fact of the store has it; `fires` says where its rule fires now."""

    where: str
    seq: int | None
    step: str
    text: str
    means: str
    rule: str = ""
    provider_rule: str = ""
    fires: str = ""
    times: int = 1

    @property
    def is_recognized(self) -> bool:
        return self.means != NOT_RECOGNISED


def recorded_errors(case: Case, findings: Sequence[Finding] = ()) -> tuple[Recorded, ...]:
    """The first MOST, rows before trace; equal errors of one place are counted, not repeated."""
    errors: dict[tuple[str, str], Recorded] = {}
    counts: dict[tuple[str, str], int] = {}
    for where, seq, step, text in (*_rows(case), *_noted(case), *_observed(case)):
        key = (where, text[:READ])
        counts[key] = counts.get(key, 0) + 1
        if key not in errors and len(errors) < MOST:
            errors[key] = _recorded(case, where, seq, step, text, findings)
    return tuple(replace(error, times=counts[key]) for key, error in errors.items())


def latest_rejection(case: Case) -> Recorded | None:
    """The provider's rejection that is the last thing recorded: no answer came after it. None where there is none, or no rule of a provider is known for it."""
    steps = case.trace.steps() if case.trace else []
    answered = max(
        (chunk.seq for message in case.messages if message.role == "assistant" for chunk in message.chunks if chunk.kind is not Kind.ERROR),
        default=-1,
    )
    rejection: Recorded | None = None
    for where, seq, step, text in (*_rows(case), *_noted(case), *_observed(case)):
        is_last = step == steps[-1].step_id if step and steps else seq is None or seq >= answered
        if is_last and (error := _recorded(case, where, seq, step, text, ())).provider_rule:
            rejection = error
    return rejection


def _recorded(case: Case, where: str, seq: int | None, step: str, text: str, findings: Sequence[Finding]) -> Recorded:
    known_meaning = meaning(text, case.program.errors.meanings)
    if known_meaning is None:
        return Recorded(where, seq, step, text, NOT_RECOGNISED)
    rules = case.program.errors.rules.get(known_meaning.provider_rule, ())
    rules = rules or ((known_meaning.rule,) if known_meaning.rule else ())
    fires = [finding for finding in findings if finding.code in rules]
    seqs = sorted({seq for finding in fires for seq in finding.seqs})
    rule = next((code for code in rules if any(finding.code == code for finding in fires)), rules[0] if rules else "")
    if known_meaning.provider_rule in case.program.errors.rules:
        seqs = _named(case, text, seqs)
    return Recorded(
        where, seq, step, text, known_meaning.means, rule, known_meaning.provider_rule, f"seq {span_text(seqs, 4)}" if seqs else ""
    )


def _named(case: Case, text: str, seqs: list[int]) -> list[int]:
    """Of these the calls whose id or tool the text names; all of them where it names none."""
    candidates = recognized(text[:READ])
    ids, tools = {id_ for candidate in candidates for id_ in candidate.ids}, {candidate.values.get("tool") for candidate in candidates}
    within = set(seqs)
    own = [
        chunk.seq
        for chunk in case.conversation.chunks
        if chunk.seq in within and chunk.kind is Kind.TOOL_CALL and (chunk.call_id in ids or chunk.tool_name in tools)
    ]
    return own or seqs


_RawError = tuple[str, int | None, str, str]
"""Where it is recorded (in words), its row, its step, and its text."""


def _rows(case: Case) -> Iterator[_RawError]:
    """Rows that are errors; of a session file the error of the last answer, since those before it were followed by another."""
    for chunk in case.conversation.chunks:
        if chunk.kind is Kind.ERROR:
            code = chunk.payload.get("code")
            text = chunk.text or "(an error chunk without a message)"
            yield f"seq {chunk.seq}", chunk.seq, "", text if not isinstance(code, str) or code in text else f"{text} (code {code})"
    last = next((message.chunks[0] for message in reversed(case.messages) if message.role == "assistant"), None)
    if last is not None and case.tree is not None and isinstance(entry := last.payload.get("entry"), Mapping):
        error = entry.get("errorMessage")
        if entry.get("stopReason") == "error" and isinstance(error, str) and error.strip():
            yield f"seq {last.seq}", last.seq, "", error


def _noted(case: Case) -> Iterator[_RawError]:
    """The error that a job of gbrain records as its end; the newest crash file of a session of rollouts."""
    for name, where in case.program.errors.facts:
        if (text := case.conversation.fact(name)) and text.strip():
            yield where, None, "", text
    if crash := case.conversation.fact("crashError"):
        name = (case.conversation.fact("crashes") or "").partition(", ")[0]
        yield f"the crash file {name.partition(':')[2]}", None, "", crash


def _observed(case: Case) -> Iterator[_RawError]:
    """Failed requests of steps, else the error of the step itself; then failed requests outside of the turns."""
    if case.trace is None:
        return
    for step in case.trace.steps():
        texts = [text for span in step.requests if (text := _error_of(span))] or [text for text in (_error_of(step.span),) if text]
        yield from ((step.step_id, None, step.step_id, text) for text in texts)
    for span in case.trace.lane:
        if span.name == "provider.request" and (text := _error_of(span)):
            yield OUTSIDE_TURNS, None, OUTSIDE_TURNS, text


def _error_of(span: Span) -> str:
    attributes = span.attributes
    texts = [attributes.get(name) for name in ("response.error_body", "error.message")]
    body = next((text for text in texts if isinstance(text, str) and text.strip()), "")
    status = attributes.get("status")
    if not body or not isinstance(status, int) or isinstance(status, bool) or str(status) in body[:READ]:
        return body
    return f"HTTP {status}: {body}" if status else f"network: {body}"
