"""What the store and the trace already say went wrong: recorded errors, what each means, and the rule that it belongs to."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from inspector.conversation.model import Kind
from inspector.conversation.queries import span_text
from inspector.detectors.base import GBRAIN, Case, Finding
from inspector.formats.gbrain_facts import ERROR
from inspector.reports.explain import recognised
from inspector.traces.model import Span

MOST = 50
READ = 8000
"""Characters of an error that are looked at; bodies of failed requests can be whole web pages."""
NOT_RECOGNISED = "not recognised"
BESIDE = "a request beside the turns"


@dataclass(frozen=True, slots=True)
class Meaning:
    """`rule` is a rule of ours, `provider_rule` one of the provider's by our name for it; "" where there is none."""

    pattern: re.Pattern[str]
    means: str
    rule: str = ""
    provider_rule: str = ""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One recorded error. `seq` is its row, or None where only the trace or the store's own notes have it; `fires` says where its rule fires now."""

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
    def is_recognised(self) -> bool:
        return self.means != NOT_RECOGNISED


def _meaning(pattern: str, means: str, rule: str = "", provider_rule: str = "") -> Meaning:
    return Meaning(re.compile(pattern, re.IGNORECASE), means, rule, provider_rule)


_UNANSWERED = "a tool call in the request had no result directly after it"
_ORPHAN = "a tool result in the request had no call before it"
# The first that matches counts: from the text of one provider to what any of them says.
# Texts as seen in public reports; OC: OpenAI Chat Completions, OV: others that speak it.
MEANINGS = (
    _meaning(r"insufficient tool messages following tool_calls", _UNANSWERED, "TOOL102", "OV-1"),
    _meaning(r"InternalError\.Algo\.InvalidParameter.{0,80}tool_calls", _UNANSWERED, "TOOL102", "OV-2"),
    _meaning(r"must be followed by tool messages", _UNANSWERED, "TOOL102", "OC-1"),
    _meaning(r"role .?.?tool.?.? must be a response to a prece+ding message", _ORPHAN, "TOOL202", "OC-2"),
    _meaning(r"tool_call_id.{0,200}not found in .{0,4}tool_calls", "a tool result named a call that the message before it does not have", "TOOL202", "OC-3"),
    _meaning(r"tool_call_id\s{1,3}is not found", "a tool result named a call that the message before it does not have", "TOOL202", "OV-3"),
    _meaning(r"tool_calls\[\d+\]\.id.{0,4}: string too long", "the id of a tool call was longer than the provider takes", "", "OC-4"),
    _meaning(r"tool_calls.{0,4}: empty array", "an assistant message was sent with an empty list of calls", "", "OC-5"),
    _meaning(r"invalid value for .?.?content.?.?: expected a string, got null", "a message was sent without content", "", "OC-6"),
    _meaning(r"reasoning_content.{0,80}(?:must be passed back|in the assistant message)", "the provider wants the thinking back that the history leaves out", "", "OV-4"),
    _meaning(
        r"unexpected character: line \d+ column \d+|expecting .{1,40} delimiter: line \d+",
        "the arguments of a stored call are no JSON, and the provider tried to read them: every request with this history is refused",
        "TOOL301",
    ),
    _meaning(r"model .{0,80}not supported|model not supported|model_not_found|model .{0,80}does not exist", "the provider does not offer this model to this account: nothing in the history is wrong but the stored error", "MSG201"),
    _meaning(r"maximum context length|prompt is too long|context_length_exceeded|too many tokens", "the history is longer than the model takes"),
    _meaning(r"\b429\b|rate.?limit", "the provider asked to wait: nothing in the history is wrong"),
    _meaning(r"\b40[13]\b|unauthorized|invalid api key|authentication", "the provider refused the credentials: nothing in the history is wrong"),
    _meaning(r"http 5\d\d|\b50[0234]\b|\b529\b|overloaded|internal server error|bad gateway", "the provider failed: nothing in the history is wrong"),
    _meaning(r"timed? ?out|econnreset|econnrefused|socket|fetch failed|network|unable to connect", "the connection failed: the provider may not have seen the request"),
)  # fmt: skip


# What our own rules say of a refusal, by the provider's rule: where they fire, the page says so.
_OURS = {
    "AN-1": "TOOL102",
    "AN-2": "TOOL202",
    "AN-16": "THINK204",
    "AN-18": "THINK201",
    "BR-1": "TOOL102",
    "OR-1": "TOOL102",
    "OR-2": "TOOL202",
    "SDK-1": "TOOL102",
}
# Of gbrain, whose ledger tells such calls apart: the first that fires is named.
_OF_GBRAIN = {"SDK-1": ("TOOL601", "TOOL602", "TOOL603"), "GB-1": ("TOOL602",), "GB-2": ("TOOL602", "TOOL601")}


@lru_cache(maxsize=256)
def meaning(text: str) -> Meaning | None:
    """What a recorded error means: by a rule of a provider before what any of them says; None where nothing knows it."""
    shown = text[:READ]
    told = [known for known in MEANINGS if known.pattern.search(shown)]
    particular = next((known for known in told if known.rule or known.provider_rule), None)
    if particular is None and (found := recognised(shown)):
        rule = found[0].rule
        return Meaning(re.compile(re.escape(rule.id)), rule.summary, _OURS.get(rule.id, ""), rule.id)
    return particular or (told[0] if told else None)


def recorded_errors(case: Case, findings: Sequence[Finding] = ()) -> tuple[Recorded, ...]:
    """The first MOST, rows before trace; equal errors of one place are counted, not repeated."""
    found: dict[tuple[str, str], Recorded] = {}
    counts: dict[tuple[str, str], int] = {}
    for where, seq, step, text in (*_rows(case), *_noted(case), *_observed(case)):
        key = (where, text[:READ])
        counts[key] = counts.get(key, 0) + 1
        if key not in found and len(found) < MOST:
            found[key] = _recorded(case, where, seq, step, text, findings)
    return tuple(replace(each, times=counts[key]) for key, each in found.items())


def _recorded(case: Case, where: str, seq: int | None, step: str, text: str, findings: Sequence[Finding]) -> Recorded:
    known = meaning(text)
    if known is None:
        return Recorded(where, seq, step, text, NOT_RECOGNISED)
    rules = _OF_GBRAIN.get(known.provider_rule, ()) if case.conversation.format in GBRAIN else ()
    rules = rules or ((known.rule,) if known.rule else ())
    fires = [finding for finding in findings if finding.code in rules]
    seqs = sorted({seq for finding in fires for seq in finding.seqs})
    rule = next((code for code in rules if any(finding.code == code for finding in fires)), rules[0] if rules else "")
    if known.provider_rule in _OF_GBRAIN:
        seqs = _named(case, text, seqs)
    return Recorded(where, seq, step, text, known.means, rule, known.provider_rule, f"seq {span_text(seqs, 4)}" if seqs else "")


def _named(case: Case, text: str, seqs: list[int]) -> list[int]:
    """Of these the calls whose id or tool the text names; all of them where it names none."""
    told = recognised(text[:READ])
    ids, tools = {id_ for each in told for id_ in each.ids}, {each.values.get("tool") for each in told}
    within = set(seqs)
    own = [
        chunk.seq
        for chunk in case.conversation.chunks
        if chunk.seq in within and chunk.kind is Kind.TOOL_CALL and (chunk.call_id in ids or chunk.tool_name in tools)
    ]
    return own or seqs


_Found = tuple[str, int | None, str, str]
"""Where it is noted in words, its row, its step, and its text."""


def _rows(case: Case) -> Iterator[_Found]:
    for chunk in case.conversation.chunks:
        if chunk.kind is Kind.ERROR:
            code = chunk.payload.get("code")
            text = chunk.text or "(an error chunk without a message)"
            yield f"seq {chunk.seq}", chunk.seq, "", text if not isinstance(code, str) or code in text else f"{text} (code {code})"


def _noted(case: Case) -> Iterator[_Found]:
    """What a job of gbrain was ended by, by its own account."""
    text = case.conversation.fact(ERROR) if case.conversation.format in GBRAIN else None
    if text and text.strip():
        yield "the job's error_text", None, "", text


def _observed(case: Case) -> Iterator[_Found]:
    """Failed requests of steps, else the error of the step itself; then failed requests beside the turns."""
    if case.trace is None:
        return
    for step in case.trace.steps():
        texts = [text for span in step.requests if (text := _error_of(span))] or [text for text in (_error_of(step.span),) if text]
        yield from ((step.step_id, None, step.step_id, text) for text in texts)
    for span in case.trace.lane:
        if span.name == "provider.request" and (text := _error_of(span)):
            yield BESIDE, None, BESIDE, text


def _error_of(span: Span) -> str:
    attributes = span.attributes
    texts = [attributes.get(name) for name in ("response.error_body", "error.message")]
    body = next((text for text in texts if isinstance(text, str) and text.strip()), "")
    status = attributes.get("status")
    if not body or not isinstance(status, int) or isinstance(status, bool) or str(status) in body[:READ]:
        return body
    return f"HTTP {status}: {body}" if status else f"network: {body}"
