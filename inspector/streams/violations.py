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
in_band_error http_error_body_midstream malformed_record record_split_by_proxy framing_mixed framing_wrong_content_type
tool_index_missing tool_type_missing tool_id_missing tool_id_duplicate missing_finish_reason start_repeated reasoning_index_missing
a_block_before_start a_index_unopened a_delta_type_mismatch a_signature_missing a_signature_altered
stall never_terminated terminal_swallowed after_end_write
"""
"""Rules after which a client in use throws, a provider refuses the next request, or somebody waits and sees it."""

_BROKEN_CALLS = " tool_args_invalid_json tool_args_not_object tool_args_truncated_with_success tool_name_missing"
REPAIRS: Mapping[str, frozenset[str]] = {
    strategy: frozenset(names.split())
    for strategy, names in (
        (
            "use-backend-content",
            "content_lost content_replayed content_reordered record_split_by_proxy tool_call_lost tool_call_partial_lost tool_args_altered "
            "tool_text_promoted_from_reasoning tool_index_missing tool_index_reused" + _BROKEN_CALLS,
        ),
        ("decode-again", "utf8_broken"),
        ("restore-signature", "a_signature_altered"),
        ("rebuild-calls", "tool_text_in_content tool_text_in_reasoning wrapper_unparsed wrapper_fragment_leak"),
        ("broken-calls-to-text", _BROKEN_CALLS),
        ("renumber-calls", "tool_index_missing tool_index_gap tool_index_reused tool_id_missing tool_id_duplicate tool_type_missing"),
        ("omit-unsigned-thinking", "a_signature_missing"),
        ("drop-fabricated-usage", "usage_zero_fabricated"),
        (
            "one-terminal",
            "premature_terminal terminal_before_content content_after_terminal duplicate_terminal r_two_terminals after_end_write",
        ),
        (
            "one-finish",
            "content_after_finish missing_finish_reason duplicate_finish finish_empty_string stop_reason_missing "
            "finish_mismatch_stop finish_mismatch_tool finish_altered",
        ),
        ("mark-incomplete", "fabricated_terminal missing_terminal r_no_terminal never_terminated empty_stream terminal_swallowed"),
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
    _rule(1, "premature_terminal", _E, ALL, _2, "The client got a terminal before the backend had sent its own.", "Clients close at the terminal: all after it is lost."),
    _rule(2, "terminal_before_content", _E, ALL, _M, "The terminal is the first record, and content follows.", "The client sees an empty answer."),
    _rule(3, "content_after_terminal", _E, ALL, _M, "A payload comes after the terminal record.", "Clients have closed by then: it is lost."),
    _rule(4, "content_after_finish", _E, O | A, _M, "Content comes after the finish reason of its choice, or a block after message_delta.", "Clients that run tools at the finish reason never see it."),
    _rule(5, "duplicate_terminal", _W, O | L | A, _M, "The terminal record comes a second time."),
    _rule(6, "missing_terminal", _E, ALL, _M, "The stream ends without its terminal record.", 'Ollama\'s JavaScript client throws "Did not receive done or success response in stream."; others wait or take half an answer for whole.'),
    _rule(7, "fabricated_terminal", _E, ALL, _2, "The client got an ordinary terminal though the backend ended without one, or with an error.", "A failed answer looks complete and is stored as such."),
    _rule(8, "missing_finish_reason", _E, O, _M, "The terminal comes, and a choice with content has no finish reason.", 'The Vercel AI SDK fails with "Response stream ended without a finish reason."'),
    _rule(9, "duplicate_finish", _E, O, _M, "One choice has two finish reasons.", "Clients differ in which of them counts."),
    _rule(10, "finish_mismatch_stop", _E, O | A, _M, "There are tool calls, and the finish reason says that the model stopped by itself.", "Clients that go by the finish reason do not run the tools."),
    _rule(11, "finish_mismatch_tool", _E, O | A, _M, "The finish reason says tool calls, and there is none.", "Clients wait for results of nothing, or ask again permanently."),
    _rule(12, "finish_empty_string", _W, O, _M, "The finish reason is an empty text.", "Clients that test for null take the first record for the last."),
    _rule(13, "finish_unknown", _W, O | A | R, _M, "The finish reason is none of the protocol's words."),
    _rule(14, "stop_reason_missing", _E, A, _M, "message_stop comes, and no message_delta gave a stop reason."),
    _rule(15, "tool_index_missing", _E, O, _M, "An entry of tool_calls has no index.", _NODE_INDEX),
    _rule(16, "tool_index_gap", _E, O, _M, "The indexes of calls do not start at 0, or skip one.", "Clients that keep calls in a list get holes."),
    _rule(17, "tool_index_reused", _E, O, _M, "Another call comes under the index of an earlier one.", "Clients join the arguments of both."),
    _rule(18, "tool_id_missing", _E, O | A | R, _M, "A call begins without an id.", "Its result cannot be sent back."),
    _rule(19, "tool_id_duplicate", _E, ALL, _M, "Two calls have one id, in this answer or across turns.", "Providers refuse the next request, or pair the wrong result."),
    _rule(20, "tool_args_invalid_json", _E, O | A | R, _M, "The arguments of a call do not parse."),
    _rule(21, "tool_args_not_object", _E, ALL, _M, "The arguments of a call are no object; in Ollama's protocol also: they are a text."),
    _rule(22, "tool_args_truncated_with_success", _E, O | A, _M, "The arguments of a call stop inside of their JSON, and the finish reason says success."),
    _rule(23, "tool_call_lost", _E, ALL, _2, "The backend sent structured calls, and the client got none.", _LOOP),
    _rule(24, "tool_call_partial_lost", _E, ALL, _2, "The backend's text holds several calls, and the client got fewer."),
    _rule(25, "tool_text_in_content", _E, ALL, _T, "A tool call is written as text in the visible content, and no structured call follows.", _LOOP),
    _rule(26, "tool_text_in_reasoning", _E, ALL, _T, "A tool call is written as text in the reasoning, and no structured call follows.", _LOOP),
    _rule(27, "tool_text_promoted_from_reasoning", _W, ALL, _2, "A call that was only quoted in closed reasoning became a real one."),
    _rule(28, "wrapper_unparsed", _E, O | L, _T, "The wrapper that a proxy asks the model for reaches the client.", _LOOP),
    _rule(29, "wrapper_fragment_leak", _W, O | L, _T, "A piece of the wrapper remains after the call."),
    _rule(30, "content_replayed", _E, ALL, _2, "A run of the client's text comes twice, and once from the backend."),
    _rule(31, "content_lost", _E, ALL, _2, "Visible text of the backend did not reach the client."),
    _rule(32, "content_reordered", _E, ALL, _2, "The client got the same text in another order."),
    _rule(33, "framing_mixed", _E, ALL, _F, "Server-sent events and lines of JSON are in one response.", "A client parses one of the two, and drops or throws at the other."),
    _rule(34, "framing_wrong_content_type", _W, ALL, _F, "The declared content type is not the framing that came."),
    _rule(35, "malformed_record", _E, ALL, _M, "A complete record is no JSON object."),
    _rule(36, "record_split_by_proxy", _E, ALL, _2, "A legal record of the backend was cut by a read, and the client lost it or got an error."),
    _rule(37, "utf8_broken", _E, ALL, _F, "Bytes are no UTF-8, or the client got U+FFFD where the backend had sent text."),
    _rule(38, "crlf", _I, ALL, _F, "Lines end with CR LF: accepted."),
    _rule(39, "event_without_blank_line", _W, ALL, _F, "The last event has no blank line after it.", "By the standard, clients drop it."),
    _rule(40, "non_data_line", _I, ALL, _F, "A line is a comment, or has no known field."),
    _rule(41, "in_band_error", _E, ALL, _M, "The server reports an error in the stream."),
    _rule(42, "http_error_body_midstream", _E, ALL, _F, "The JSON body of an HTTP error is in a stream that had begun.", "Clients take it for a record, and throw or pass over it."),
    _rule(43, "id_or_model_changed", _W, O | A, _M, "The id or the model changes within one stream."),
    _rule(44, "created_unit_wrong", _I, O | L, _M, "The time of creation is in milliseconds, or in 1970."),
    _rule(45, "role_missing_or_repeated", _W, O, _M, "The first record of a choice has no role, or the role is sent again.", 'The stream helper of the official Python client joins them to a role of "assistantassistant", which no server takes back.'),
    _rule(46, "usage_missing", _W, O | A, _M, "The usage that was asked for, or belongs to the record, did not come."),
    _rule(47, "usage_zero_fabricated", _W, ALL, _2, "The client got a usage of 0 where the backend gave none."),
    _rule(48, "done_reason_missing", _W, L, _M, "The last line has no done_reason."),
    _rule(49, "done_missing_fields", _I, L, _M, "The last line has no counters."),
    _rule(50, "a_block_before_start", _E, A, _M, "A content block comes before message_start.", "The Python SDK throws \"Unexpected event order, got … before 'message_start'\"."),
    _rule(51, "a_index_unopened", _E, A, _M, "A delta or stop names a block that is not open.", _BLOCK),
    _rule(52, "a_block_left_open", _E, A, _M, "The message ends with a block open."),
    _rule(53, "a_delta_type_mismatch", _E, A, _M, "A delta is not of a type that its block takes.", 'Claude Code throws "Content block is not a thinking block".'),
    _rule(54, "a_signature_missing", _E, A, _M, "A thinking block ends without its signature.", "The block cannot be sent back: the provider refuses the next request."),
    _rule(55, "a_signature_altered", _E, ALL, _2, "The signature of a thinking block differs between the sides.", "The provider refuses the next request."),
    _rule(56, "a_thinking_empty", _W, A, _M, "A thinking block has a signature and no words."),
    _rule(57, "r_sequence_gap", _E, R, _M, "The sequence numbers skip some."),
    _rule(58, "r_no_terminal", _E, R, _M, "The stream ends without response.completed, incomplete or failed."),
    _rule(59, "r_done_ne_deltas", _E, R, _M, "What a done event gives is not what the deltas before it add up to."),
    _rule(60, "r_final_ne_items", _E, R, _M, "The output of the final response is not the list of items that were done."),
    _rule(61, "stall", _W, ALL, _C, "No record came for long."),
    _rule(62, "never_terminated", _E, ALL, _C, "The stream stayed open for long without a record, and without its terminal."),
    _rule(63, "empty_stream", _E, ALL, _M, "The terminal comes with neither content nor a call before it."),
    _rule(64, "think_unclosed", _W, O | L, _T, "Thinking begins with a tag in the visible content, and never ends."),
    _rule(65, "think_tag_leak", _W, O | L, _T, "Tags of thinking are in the visible content."),
    _rule(66, "special_token_leak", _W, O | L, _T, "Special tokens of the model are in the visible content."),
    _rule(67, "tool_unknown_name", _W, ALL, _Q, "A call names a tool that the request does not declare.", "Some servers skip such calls without a word."),
    _rule(68, "tool_args_schema_mismatch", _I, ALL, _Q, "The arguments of a call break the schema that the request declares."),
    _rule(69, "parallel_calls_interleaved", _I, O, _M, "The deltas of two calls interleave: legal, and more than simple clients can take."),
    _rule(70, "after_end_write", _E, ALL, _2, "The proxy wrote to a client whose stream it had ended."),
    _rule(71, "tool_name_missing", _E, ALL, _M, "A call begins without a name."),
    _rule(72, "tool_type_missing", _E, O, _M, "A call begins without a type.", _NODE_TYPE),
    _rule(73, "bom", _I, ALL, _F, "The stream begins with a byte order mark: accepted."),
    _rule(74, "bare_cr", _I, ALL, _F, "Lines end with CR alone: accepted, and unknown to many clients."),
    _rule(75, "usage_duplicate", _W, O, _M, "The usage record comes a second time."),
    _rule(76, "usage_not_last", _W, O, _M, "Content comes after the usage record."),
    _rule(77, "a_index_reopened", _E, A, _M, "A block begins under the index of an earlier one."),
    _rule(78, "a_index_gap", _E, A, _M, "The indexes of blocks do not start at 0, or skip one."),
    _rule(79, "r_sequence_repeat", _E, R, _M, "A sequence number comes again, or goes back."),
    _rule(80, "r_two_terminals", _E, R, _M, "The response ends twice."),
    _rule(81, "terminal_swallowed", _E, ALL, _2, "The backend's terminal came, and the client never got one.", "The client waits until it gives up, or takes the answer for broken."),
    _rule(82, "event_unknown", _I, ALL, _M, "A record is of no type that is known here: passed over."),
    _rule(83, "start_repeated", _E, A | R, _M, "The message begins a second time before it has ended.", "Anthropic's Node SDK throws; others start again and lose what came, or splice both."),
    _rule(84, "r_item_unopened", _E, R, _M, "An event names an output item that is not open."),
    _rule(85, "r_index_gap", _W, R, _M, "The indexes of output items do not start at 0, or skip one."),
    _rule(86, "r_item_left_open", _E, R, _M, "The response is completed with an item that is not done."),
    _rule(87, "a_blocks_interleaved", _W, A, _M, "A block begins while another one is open."),
    _rule(88, "finish_altered", _E, ALL, _2, "The backend's answer was cut off at its limit, and the client got another end.", "Half an answer is taken and stored for a whole one."),
    _rule(89, "tool_args_altered", _E, ALL, _2, "The client got a call of the backend with other arguments.", "The tool is run with what the model did not ask for."),
    _rule(90, "reasoning_index_missing", _W, O, _M, "An entry of reasoning_details has no index, and an earlier record has entries already.", 'The stream helper of the official Python client raises "Expected list delta entry to have an `index` key"; others cannot tell which fragments to join.'),
    _rule(91, "choice_lost", _E, O, _2, "A choice of the backend did not reach the client.", "A client that asked for several answers (`n`) goes on with fewer, and nothing says so."),
)  # fmt: skip

STORED_RULES = (
    _rule(101, "stored-ends-early", _E, ALL, _S, "What is stored is only the beginning of what came."),
    _rule(102, "stored-goes-on", _W, ALL, _S, "What is stored goes on after what came."),
    _rule(103, "stored-otherwise", _E, ALL, _S, "What is stored is not what came."),
    _rule(104, "stored-without", _E, ALL, _S, "A part of the answer came and is not stored."),
    _rule(105, "stored-besides", _W, ALL, _S, "A part of the stored answer never came."),
    _rule(106, "stored-arguments-differ", _E, ALL, _S, "A call is stored with other arguments than came."),
    _rule(107, "stored-id-differs", _W, ALL, _S, "A call is stored under another id than came."),
    _rule(108, "stored-signature-altered", _E, ALL, _S, "A signature of thinking is stored otherwise than it came."),
    _rule(109, "stored-unsigned", _E, ALL, _S, "Thinking is stored without the signature that came with it."),
)
"""How a stored answer differs from the stream that brought it, in the order of `aligning.Differs`."""

REPEATED = _rule(
    111,
    "request-repeated",
    _W,
    ALL,
    ShownBy.CAPTURES,
    "The client asks the same again.",
    "A client asks again where it could not use the answer: without a limit it does so permanently.",
)
ALL_STREAM_RULES = (*STREAM_RULES, *STORED_RULES, REPEATED)
BY_NAME = {rule.name: rule for rule in STREAM_RULES}


def severity_of(violation: StreamViolation) -> Severity:
    return violation.severity or BY_NAME[violation.name].severity
