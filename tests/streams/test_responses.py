"""OpenAI's Responses: what the events of real-looking streams say and assemble to."""

from inspector.streams.model import Means, Side
from inspector.streams.run import run

from .spoken import CALLED, FUNCTION, ITEM, SPOKEN, added, completed, done, exchange, judged, part, responses

REASONING = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Look."}], "encrypted_content": "gAAA"}
THOUGHT = [
    added(0, REASONING | {"summary": []}),
    part(0, "reasoning_summary_text.delta", delta="Lo", summary_index=0),
    part(0, "reasoning_summary_text.delta", delta="ok.", summary_index=0),
    part(0, "reasoning_summary_text.done", text="Look.", summary_index=0),
    done(0, REASONING),
]


def at(index: int, events: list[dict[str, object]]) -> list[dict[str, object]]:
    return [{**each, "output_index": index} for each in events]


def test_reasoning_text_and_a_call() -> None:
    found = judged(responses(*THOUGHT, *at(1, SPOKEN), *at(2, CALLED), completed(REASONING, ITEM, FUNCTION)))

    assert [(each.kind, each.text, each.name, each.call_id, each.signature) for each in found.assembled.blocks] == [
        ("thinking", "Look.", "", "", "gAAA"),
        ("text", "Hi", "", "", ""),
        ("tool-call", '{"query":"q"}', "search", "call_1", ""),
    ]
    whole = found.assembled
    assert (whole.role, whole.finish, whole.ended, whole.id, whole.usage) == (
        "assistant",
        "completed",
        True,
        "resp_1",
        {"input_tokens": 1, "output_tokens": 2},
    )
    assert found.evidence == () and all(each.complete for each in whole.blocks)


def test_states() -> None:
    data = responses(*SPOKEN, completed(ITEM))

    assert [observed.state for observed in run(exchange(data), Side.CLIENT)] == ["response", *["in message"] * 4, "response", "ended"]


def test_a_refusal() -> None:
    item = ITEM | {"content": [{"type": "refusal", "refusal": "No."}]}
    found = judged(
        responses(
            added(0, item), part(0, "refusal.delta", delta="No."), part(0, "refusal.done", refusal="No."), done(0, item), completed(item)
        )
    )

    assert [(each.kind, each.text) for each in found.assembled.blocks] == [("refusal", "No.")] and found.evidence == ()


def test_a_custom_call_has_free_text_for_arguments() -> None:
    item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "sql", "input": "SELECT 1"}
    data = responses(
        added(0, item | {"input": ""}), part(0, "custom_tool_call_input.delta", delta="SELECT 1"), done(0, item), completed(item)
    )
    said = [each for observed in run(exchange(data), Side.CLIENT) for each in observed.deltas if each.means is Means.BLOCK_END]

    assert [each.value for each in said] == [{"input": {"input": "SELECT 1"}}] and judged(data).evidence == ()


def test_an_item_that_was_not_streamed_is_taken_whole() -> None:
    found = judged(responses(added(0, ITEM), done(0, ITEM), completed(ITEM)))

    assert [each.text for each in found.assembled.blocks] == ["Hi"] and found.evidence == ()


def test_an_answer_that_is_cut_off_is_incomplete() -> None:
    found = judged(responses(*SPOKEN[:2], completed(status="incomplete", incomplete_details={"reason": "max_output_tokens"})))

    assert (found.assembled.finish, found.assembled.blocks[0].complete, found.evidence) == ("max_output_tokens", False, ())


def test_a_failed_answer_says_why() -> None:
    found = judged(responses(*SPOKEN, completed(ITEM, status="failed", error={"code": "server_error", "message": "It broke."})))

    assert (found.assembled.error, found.assembled.finish, found.names) == ("It broke.", "failed", {"in-band-error"})
