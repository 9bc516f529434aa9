"""The table of what can be wrong with a stream: one row each, judged by the machines, the frames, the text, the clock, or by comparing both sides.

Codes are STREAM101 to STREAM170 for the rows of the first table; STREAM171 and on are what shared a row with another one, and what was added. A code is never given to another row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from inspector.projections.base import ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES
from inspector.rules.base import Origin, RuleEntry, Severity
from inspector.streams.fixed_in_code import FIXED_IN_CODE
from inspector.streams.model import StreamViolation

OLLAMA_CHAT = "ollama-chat"
OLLAMA_GENERATE = "ollama-generate"

O = frozenset({OPENAI_CHAT})  # noqa: E741
L = frozenset({OLLAMA_CHAT, OLLAMA_GENERATE})
A = frozenset({ANTHROPIC})
R = frozenset({OPENAI_RESPONSES})
ALL = O | L | A | R


class ShownBy(StrEnum):
    """What shows a violation."""

    MACHINE = "machine"
    FRAMES = "frames"
    TEXT = "text"
    CLOCK = "clock"
    REQUEST = "request"
    SIDES = "sides"
    STORE = "store"
    CAPTURES = "several captures"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRule(RuleEntry):
    """`why`: what it does to a client, "" where that is not known. `repaired_by`: strategies that correct a copy of the capture."""

    protocols: frozenset[str]
    shown_by: ShownBy

    @property
    def two_sided(self) -> bool:
        """Only a comparison of both sides proves it."""
        return self.shown_by is ShownBy.SIDES


_RAISING = """
in-band-error http-error-body-midstream record-not-json record-split-by-proxy framing-mixed framing-wrong-content-type
tool-index-missing tool-type-missing tool-id-missing tool-id-duplicate missing-finish-reason start-repeated reasoning-index-missing
block-before-start block-not-open delta-type-mismatch signature-missing signature-altered
stall never-terminated terminal-swallowed after-end-write
"""
"""Rules after which a client in use throws, a provider refuses the next request, or somebody waits and sees it."""

_BROKEN_CALLS = " tool-args-invalid-json tool-args-not-object tool-args-truncated-with-success tool-name-missing"
REPAIRS: Mapping[str, frozenset[str]] = {
    strategy: frozenset(names.split())
    for strategy, names in (
        (
            "use-backend-content",
            "content-lost content-replayed content-reordered record-split-by-proxy tool-call-lost tool-call-partial-lost tool-args-altered "
            "tool-text-promoted-from-reasoning tool-index-missing tool-index-reused" + _BROKEN_CALLS,
        ),
        ("decode-again", "utf8-broken"),
        ("restore-signature", "signature-altered"),
        ("rebuild-calls", "tool-text-in-content tool-text-in-reasoning wrapper-unparsed wrapper-fragment-leak"),
        ("broken-calls-to-text", _BROKEN_CALLS),
        ("renumber-calls", "tool-index-missing tool-index-gap tool-index-reused tool-id-missing tool-id-duplicate tool-type-missing"),
        ("omit-unsigned-thinking", "signature-missing"),
        ("drop-fabricated-usage", "usage-zero-fabricated"),
        (
            "one-terminal",
            "premature-terminal terminal-before-content content-after-terminal duplicate-terminal response-ends-twice after-end-write",
        ),
        (
            "one-finish",
            "content-after-finish missing-finish-reason duplicate-finish finish-empty-string stop-reason-missing "
            "finish-mismatch-stop finish-mismatch-tool finish-altered",
        ),
        ("mark-incomplete", "fabricated-terminal missing-terminal response-without-end never-terminated empty-stream terminal-swallowed"),
        ("re-encode", ""),
    )
}
"""Strategies of `corrections`, in their order -> the names of the rules whose violations each repairs."""


def _rule(
    number: int, name: str, severity: Severity, protocols: frozenset[str], shown_by: ShownBy, summary: str, why: str = ""
) -> StreamRule:
    return StreamRule(
        code=f"STREAM{100 + number}",
        name=name,
        severity=severity,
        silent=name not in _RAISING.split(),
        origin=Origin.STORE if shown_by is ShownBy.STORE else Origin.STREAM,
        summary=summary,
        why=why,
        repaired_by=tuple(strategy for strategy, names in REPAIRS.items() if name in names),
        fixed_in_code=FIXED_IN_CODE.get(name, ""),
        protocols=protocols,
        shown_by=shown_by,
    )


_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.NOTE
_M, _F, _T, _C, _Q, _2, _S = ShownBy.MACHINE, ShownBy.FRAMES, ShownBy.TEXT, ShownBy.CLOCK, ShownBy.REQUEST, ShownBy.SIDES, ShownBy.STORE

_NODE_INDEX = 'The official Node SDK throws "Expected array delta entry to have an `index` property".'
_NODE_TYPE = 'The official Node SDK throws "tool call snapshot missing `type`".'
_LOOP = "The client runs no tool: it shows the text and asks again, or stops."
_BLOCK = 'Claude Code throws "Content block not found".'

STREAM_RULES = (
    _rule(1, "premature-terminal", _E, ALL, _2, "the client's terminal came before the backend's", "Clients close at the terminal: all after it is lost."),
    _rule(2, "terminal-before-content", _E, ALL, _M, "the terminal is the first record, and content follows", "The client sees an empty answer."),
    _rule(3, "content-after-terminal", _E, ALL, _M, "a payload comes after the terminal record", "Clients have closed by then: it is lost."),
    _rule(4, "content-after-finish", _E, O | A, _M, "content comes after the finish reason of its choice, or a block after message_delta", "Clients that run tools at the finish reason never see it."),
    _rule(5, "duplicate-terminal", _W, O | L | A, _M, "the terminal record comes a second time"),
    _rule(6, "missing-terminal", _E, ALL, _M, "the stream ends without its terminal record", 'Clients wait, or take half an answer for whole; Ollama\'s for JavaScript throws "Did not receive done or success response in stream".'),
    _rule(7, "fabricated-terminal", _E, ALL, _2, "the client got an ordinary terminal though the backend ended without one, or with an error", "A failed answer looks complete and is stored as such."),
    _rule(8, "missing-finish-reason", _E, O, _M, "the terminal comes, and a choice with content has no finish reason", 'The Vercel AI SDK fails with "Response stream ended without a finish reason."'),
    _rule(9, "duplicate-finish", _E, O, _M, "one choice has two finish reasons", "Clients differ in which of them counts."),
    _rule(10, "finish-mismatch-stop", _E, O | A, _M, "there are tool calls, and the finish reason says that the model stopped by itself", "Clients that go by the finish reason do not run the tools."),
    _rule(11, "finish-mismatch-tool", _E, O | A, _M, "the finish reason says tool calls, and there is none", "Clients wait for results of nothing, or ask again permanently."),
    _rule(12, "finish-empty-string", _W, O, _M, "the finish reason is an empty text", "Clients that test for null take the first record for the last."),
    _rule(13, "unknown-finish", _W, O | A | R, _M, "the finish reason is none of the protocol's words"),
    _rule(14, "stop-reason-missing", _E, A, _M, "message_stop comes, and no message_delta gave a stop reason"),
    _rule(15, "tool-index-missing", _E, O, _M, "an entry of tool_calls has no index", _NODE_INDEX),
    _rule(16, "tool-index-gap", _E, O, _M, "the indexes of calls do not start at 0, or skip one", "Clients that keep calls in a list get holes."),
    _rule(17, "tool-index-reused", _E, O, _M, "another call comes under the index of an earlier one", "Clients join the arguments of both."),
    _rule(18, "tool-id-missing", _E, O | A | R, _M, "a call begins without an id", "Its result cannot be sent back."),
    _rule(19, "tool-id-duplicate", _E, ALL, _M, "two calls have one id, in this answer or across turns", "Providers refuse the next request, or pair the wrong result."),
    _rule(20, "tool-args-invalid-json", _E, O | A | R, _M, "the arguments of a call do not parse"),
    _rule(21, "tool-args-not-object", _E, ALL, _M, "the arguments of a call are no object; in Ollama's protocol also: they are a text"),
    _rule(22, "tool-args-truncated-with-success", _E, O | A, _M, "the arguments of a call stop inside of their JSON, and the finish reason says success"),
    _rule(23, "tool-call-lost", _E, ALL, _2, "the backend sent structured calls, and the client got none", _LOOP),
    _rule(24, "tool-call-partial-lost", _E, ALL, _2, "the backend's text holds several calls, and the client got fewer"),
    _rule(25, "tool-text-in-content", _E, ALL, _T, "a tool call is written as text in the visible content, and no structured call follows", _LOOP),
    _rule(26, "tool-text-in-reasoning", _E, ALL, _T, "a tool call is written as text in the reasoning, and no structured call follows", _LOOP),
    _rule(27, "tool-text-promoted-from-reasoning", _W, ALL, _2, "a call that was only quoted in closed reasoning became a real one"),
    _rule(28, "wrapper-unparsed", _E, O | L, _T, "the wrapper that a proxy asks the model for reaches the client", _LOOP),
    _rule(29, "wrapper-fragment-leak", _W, O | L, _T, "a piece of the wrapper remains after the call"),
    _rule(30, "content-replayed", _E, ALL, _2, "a run of the client's text comes twice, and once from the backend"),
    _rule(31, "content-lost", _E, ALL, _2, "visible text of the backend did not reach the client"),
    _rule(32, "content-reordered", _E, ALL, _2, "the client got the same text in another order"),
    _rule(33, "framing-mixed", _E, ALL, _F, "server-sent events and lines of JSON are in one response", "A client parses one of the two, and drops or throws at the other."),
    _rule(34, "framing-wrong-content-type", _W, ALL, _F, "the declared content type is not the framing that came"),
    _rule(35, "record-not-json", _E, ALL, _M, "a complete record is no JSON object"),
    _rule(36, "record-split-by-proxy", _E, ALL, _2, "a legal record of the backend was cut by a read, and the client lost it or got an error"),
    _rule(37, "utf8-broken", _E, ALL, _F, "bytes are no UTF-8, or the client got U+FFFD where the backend had sent text"),
    _rule(38, "crlf", _I, ALL, _F, "lines end with CR LF: accepted"),
    _rule(39, "event-without-blank-line", _W, ALL, _F, "the last event has no blank line after it", "By the standard, clients drop it."),
    _rule(40, "non-data-line", _I, ALL, _F, "a line is a comment, or has no known field"),
    _rule(41, "in-band-error", _E, ALL, _M, "the server reports an error in the stream"),
    _rule(42, "http-error-body-midstream", _E, ALL, _F, "the JSON body of an HTTP error is in a stream that had begun", "Clients take it for a record, and throw or pass over it."),
    _rule(43, "id-or-model-changed", _W, O | A, _M, "the id or the model changes within one stream"),
    _rule(44, "created-unit-wrong", _I, O | L, _M, "the time of creation is in milliseconds, or in 1970"),
    _rule(45, "role-missing-or-repeated", _W, O, _M, "the first record of a choice has no role, or the role is sent again", 'The stream helper of the official Python client joins them to a role of "assistantassistant", which no server takes back.'),
    _rule(46, "usage-missing", _W, O | A, _M, "the usage that was asked for, or belongs to the record, did not come"),
    _rule(47, "usage-zero-fabricated", _W, ALL, _2, "the client got a usage of 0 where the backend gave none"),
    _rule(48, "done-reason-missing", _W, L, _M, "the last line has no done_reason"),
    _rule(49, "done-missing-fields", _I, L, _M, "the last line has no counters"),
    _rule(50, "block-before-start", _E, A, _M, "a content block comes before message_start", "The Python SDK throws \"Unexpected event order, got … before 'message_start'\"."),
    _rule(51, "block-not-open", _E, A, _M, "a delta or stop names a block that is not open", _BLOCK),
    _rule(52, "block-left-open", _E, A, _M, "the message ends with a block open"),
    _rule(53, "delta-type-mismatch", _E, A, _M, "a delta is not of a type that its block takes", 'Claude Code throws "Content block is not a thinking block".'),
    _rule(54, "signature-missing", _E, A, _M, "a thinking block ends without its signature", "The block cannot be sent back: the provider refuses the next request."),
    _rule(55, "signature-altered", _E, ALL, _2, "the signature of a thinking block differs between the sides", "The provider refuses the next request."),
    _rule(56, "thinking-empty", _W, A, _M, "a thinking block has a signature and no words"),
    _rule(57, "sequence-gap", _E, R, _M, "the sequence numbers skip some"),
    _rule(58, "response-without-end", _E, R, _M, "the stream ends without response.completed, incomplete or failed"),
    _rule(59, "done-differs-from-deltas", _E, R, _M, "what a done event gives is not what the deltas before it add up to"),
    _rule(60, "final-differs-from-items", _E, R, _M, "the output of the final response is not the list of items that were done"),
    _rule(61, "stall", _W, ALL, _C, "no record came for long"),
    _rule(62, "never-terminated", _E, ALL, _C, "the stream stayed open for long without a record, and without its terminal"),
    _rule(63, "empty-stream", _E, ALL, _M, "the terminal comes with neither content nor a call before it"),
    _rule(64, "think-unclosed", _W, O | L, _T, "thinking begins with a tag in the visible content, and never ends"),
    _rule(65, "think-tag-leak", _W, O | L, _T, "tags of thinking are in the visible content"),
    _rule(66, "special-token-leak", _W, O | L, _T, "special tokens of the model are in the visible content"),
    _rule(67, "unknown-tool", _W, ALL, _Q, "a call names a tool that the request does not declare", "Some servers skip such calls without a word."),
    _rule(68, "tool-args-schema-mismatch", _I, ALL, _Q, "the arguments of a call break the schema that the request declares"),
    _rule(69, "parallel-calls-interleaved", _I, O, _M, "the deltas of two calls interleave: legal, and more than simple clients can take"),
    _rule(70, "after-end-write", _E, ALL, _2, "the proxy wrote to a client whose stream it had ended"),
    _rule(71, "tool-name-missing", _E, ALL, _M, "a call begins without a name"),
    _rule(72, "tool-type-missing", _E, O, _M, "a call begins without a type", _NODE_TYPE),
    _rule(73, "bom", _I, ALL, _F, "the stream begins with a byte order mark: accepted"),
    _rule(74, "bare-cr", _I, ALL, _F, "lines end with CR alone: accepted, and unknown to many clients"),
    _rule(75, "usage-duplicate", _W, O, _M, "the usage record comes a second time"),
    _rule(76, "usage-not-last", _W, O, _M, "content comes after the usage record"),
    _rule(77, "block-reopened", _E, A, _M, "a block begins under the index of an earlier one"),
    _rule(78, "block-index-gap", _E, A, _M, "the indexes of blocks do not start at 0, or skip one"),
    _rule(79, "sequence-repeat", _E, R, _M, "a sequence number comes again, or goes back"),
    _rule(80, "response-ends-twice", _E, R, _M, "the response ends twice"),
    _rule(81, "terminal-swallowed", _E, ALL, _2, "the backend's terminal came, and the client never got one", "The client waits until it gives up, or takes the answer for broken."),
    _rule(82, "unknown-event", _I, ALL, _M, "a record is of no type that is known here: passed over"),
    _rule(83, "start-repeated", _E, A | R, _M, "the message begins a second time before it has ended", "Anthropic's Node SDK throws; others start again and lose what came, or splice both."),
    _rule(84, "item-not-open", _E, R, _M, "an event names an output item that is not open"),
    _rule(85, "item-index-gap", _W, R, _M, "the indexes of output items do not start at 0, or skip one"),
    _rule(86, "item-left-open", _E, R, _M, "the response is completed with an item that is not done"),
    _rule(87, "blocks-interleaved", _W, A, _M, "a block begins while another one is open"),
    _rule(88, "finish-altered", _E, ALL, _2, "the backend's answer was cut off at its limit, and the client got another end", "Half an answer is taken and stored for a whole one."),
    _rule(89, "tool-args-altered", _E, ALL, _2, "the client got a call of the backend with other arguments", "The tool is run with what the model did not ask for."),
    _rule(90, "reasoning-index-missing", _W, O, _M, "an entry of reasoning_details has no index, and an earlier record has entries already", 'The stream helper of the official Python client raises "Expected list delta entry to have an `index` key"; others cannot tell which fragments to join.'),
    _rule(91, "choice-lost", _E, O, _2, "a choice of the backend did not reach the client", "A client that asked for several answers (`n`) goes on with fewer, and nothing says so."),
)  # fmt: skip

STORED_RULES = (
    _rule(101, "stored-ends-early", _E, ALL, _S, "what is stored is only the beginning of what came"),
    _rule(102, "stored-goes-on", _W, ALL, _S, "what is stored goes on after what came"),
    _rule(103, "stored-otherwise", _E, ALL, _S, "what is stored is not what came"),
    _rule(104, "stored-without", _E, ALL, _S, "a part of the answer came and is not stored"),
    _rule(105, "stored-besides", _W, ALL, _S, "a part of the stored answer never came"),
    _rule(106, "stored-arguments-differ", _E, ALL, _S, "a call is stored with other arguments than came"),
    _rule(107, "stored-id-differs", _W, ALL, _S, "a call is stored under another id than came"),
    _rule(108, "stored-signature-altered", _E, ALL, _S, "a signature of thinking is stored otherwise than it came"),
    _rule(109, "stored-unsigned", _E, ALL, _S, "thinking is stored without the signature that came with it"),
)
"""How a stored answer differs from the stream that brought it, in the order of `aligning.Differs`."""

REPEATED = _rule(
    111,
    "request-repeated",
    _W,
    ALL,
    ShownBy.CAPTURES,
    "the client asks the same again",
    "A client asks again where it could not use the answer: without a limit it does so permanently.",
)
ALL_STREAM_RULES = (*STREAM_RULES, *STORED_RULES, REPEATED)
BY_NAME = {rule.name: rule for rule in STREAM_RULES}


def severity_of(violation: StreamViolation) -> Severity:
    return violation.severity or BY_NAME[violation.name].severity
