"""Anthropic's Messages: what the events of real-looking streams say and assemble to."""

from inspector.conversation.model import Kind
from inspector.streams.model import Means, Side
from inspector.streams.run import run
from inspector.streams.to_conversation import conversation

from .spoken import ASKED, SAID, START, STOP, USED, begin, block, delta, end, exchange, judged, messages, ndjson, reason, sse

THOUGHT = block(0, "thinking", ("thinking_delta", "Let me "), ("thinking_delta", "see."), ("signature_delta", "EqQB/+=="))
TWO_CALLS = [
    *THOUGHT,
    *block(1, "redacted_thinking", data="b64"),
    *block(2, "text", ("text_delta", "I look "), ("text_delta", "twice.")),
    *block(3, "tool_use", ("input_json_delta", ""), ("input_json_delta", '{"query":'), ("input_json_delta", '"a"}')),
    *block(4, "tool_use", ("input_json_delta", '{"query":"b"}')),
    reason("tool_use"),
]


def test_thinking_with_its_signature_text_and_calls() -> None:
    found = judged(exchange(messages(*TWO_CALLS), request=ASKED))

    assert [(each.kind, each.text, each.name, each.call_id) for each in found.assembled.blocks] == [
        ("thinking", "Let me see.", "", ""),
        ("redacted-thinking", "b64", "redacted_thinking", ""),
        ("text", "I look twice.", "", ""),
        ("tool-call", '{"query":"a"}', "search", "toolu_3"),
        ("tool-call", '{"query":"b"}', "search", "toolu_4"),
    ]
    whole = found.assembled
    assert whole.blocks[0].signature == "EqQB/+==" and all(each.complete for each in whole.blocks)
    assert (whole.role, whole.finish, whole.ended, whole.id, whole.usage) == (
        "assistant",
        "tool_use",
        True,
        "msg_1",
        {"input_tokens": 1, "output_tokens": 9},
    )
    assert found.evidence == ()


def test_as_a_conversation() -> None:
    made = conversation(judged(messages(*TWO_CALLS)).answers, "x")

    assert [(chunk.kind, dict(chunk.payload)) for chunk in made.chunks] == [
        (Kind.THINKING, {"type": "thinking", "text": "Let me see.", "signature": "EqQB/+=="}),
        (Kind.REDACTED_THINKING, {"type": "redacted-thinking", "data": "b64"}),
        (Kind.TEXT, {"type": "text", "text": "I look twice."}),
        (Kind.TOOL_CALL, {"type": "tool-call", "toolCallId": "toolu_3", "toolName": "search", "input": {"query": "a"}}),
        (Kind.TOOL_CALL, {"type": "tool-call", "toolCallId": "toolu_4", "toolName": "search", "input": {"query": "b"}}),
    ]


def test_states() -> None:
    data = messages(*SAID, *[{**each, "index": 1} for each in USED], reason("tool_use"))
    states = ["message", "in text", "in text", "message", "in tool_use", "in tool_use", "in tool_use", "message", "finished", "ended"]

    assert [observed.state for observed in run(exchange(data), Side.CLIENT)] == states


def test_a_call_without_arguments_has_none() -> None:
    said = [
        each for observed in run(exchange(messages(*block(0, "tool_use"), reason("tool_use"))), Side.CLIENT) for each in observed.deltas
    ]

    assert [each.value for each in said if each.means is Means.BLOCK_END] == [{"input": {}}]


def test_input_that_came_whole_with_the_start() -> None:
    found = judged(messages(begin(0, "tool_use", input={"query": "q"}), end(0), reason("tool_use")))

    assert found.assembled.blocks[0].text == '{"query":"q"}' and found.evidence == ()


def test_results_of_server_tools_are_complete_in_their_start() -> None:
    result = begin(1, "web_search_tool_result", tool_use_id="srvtoolu_1", content=[])
    found = judged(
        messages(
            *block(0, "server_tool_use", ("input_json_delta", '{"query":"q"}')),
            result,
            end(1),
            *block(2, "text", ("text_delta", "Hi")),
            reason(),
        )
    )

    assert [(each.kind, each.name) for each in found.assembled.blocks] == [
        ("other", "server_tool_use"),
        ("other", "web_search_tool_result"),
        ("text", ""),
    ]
    assert found.evidence == () and found.counts[Means.CALL] == 0
    wrong = judged(messages(result | {"index": 0}, delta(0, "text_delta", "x"), end(0), reason()))
    assert wrong.names == {"delta-type-mismatch"}


def test_a_message_that_begins_anew_within_another() -> None:
    again = START | {"message": START["message"] | {"id": "msg_2"}}
    found = judged(sse(START, *THOUGHT, begin(1, "tool_use"), again, *SAID, reason(), STOP))

    assert found.names == {"start-repeated", "id-or-model-changed", "block-left-open", "finish-mismatch-stop"}
    assert [(each.kind, each.complete) for each in found.assembled.blocks] == [("thinking", True), ("tool-call", False), ("text", True)]


def test_a_file_of_events_may_hold_several_answers() -> None:
    one = [START, *SAID, reason(), STOP]
    found = judged(exchange(ndjson(*one, *one), lacks=frozenset({"framing", "terminal-record"})))

    assert (len(found.answers), found.evidence) == (2, ()) and "several answers" in found.problems[0]
    assert [(chunk.msg_idx, chunk.key) for chunk in conversation(found.answers, "x").chunks] == [(0, "event-1"), (1, "event-7")]
    assert "content-after-terminal" in judged(sse(*one, *one)).names
