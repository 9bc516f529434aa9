"""Chat Completions: what the events of real-looking streams say and assemble to."""

import json
from typing import Any

import pytest

from inspector.conversation.model import Kind
from inspector.streams.model import Delta, Exchange, Means, Read, Side
from inspector.streams.run import OneSide, run
from inspector.streams.to_conversation import conversation

from .spoken import ASKED, DONE, ROLE, arguments, call, chat, chunk, exchange, finish, judged, sse, text, usage

PARALLEL = chat(
    chunk({"reasoning_content": "The user "}),
    chunk({"reasoning_content": "wants both."}),
    text("Looking"),
    text(" twice."),
    call(0, "call_a", arguments=""),
    arguments(0, '{"query":'),
    arguments(0, '"Zürich"}'),
    call(1, "call_b", arguments='{"query":"Bern"}'),
    finish("tool_calls"),
    usage(30),
)


def deltas(data: bytes, **more: Any) -> list[Delta]:
    return [delta for observed in run(exchange(data, **more), Side.CLIENT) for delta in observed.deltas]


def blocks(found: OneSide) -> list[tuple[str, str, str, str]]:
    return [(each.kind, each.text, each.name, each.call_id) for each in found.assembled.blocks]


def test_thinking_text_and_parallel_calls() -> None:
    found = judged(exchange(PARALLEL, request=ASKED))

    assert blocks(found) == [
        ("thinking", "The user wants both.", "", ""),
        ("text", "Looking twice.", "", ""),
        ("tool-call", '{"query":"Zürich"}', "search", "call_a"),
        ("tool-call", '{"query":"Bern"}', "search", "call_b"),
    ]
    whole = found.assembled
    assert (whole.role, whole.finish, whole.ended, whole.id, whole.model, whole.usage["total_tokens"]) == (
        "assistant",
        "tool_calls",
        True,
        "c1",
        "m",
        30,
    )
    assert [(each.first, each.last) for each in whole.blocks] == [(1, 2), (3, 4), (5, 9), (8, 9)]
    assert all(each.complete for each in whole.blocks) and found.evidence == () and found.state == "ended"
    assert found.counts[Means.TEXT] == 2 and found.counts[Means.ARGUMENTS] == 3 and found.events == 12


def test_what_each_event_says() -> None:
    said = [(each.event, each.means, each.block, each.text) for each in deltas(chat(text("Hi"), call(), finish("tool_calls")))]

    assert said == [
        (0, Means.START, None, ""),
        (0, Means.ROLE, None, "assistant"),
        (1, Means.TEXT, 0, "Hi"),
        (2, Means.BLOCK_END, 0, ""),
        (2, Means.CALL, 1, ""),
        (2, Means.ARGUMENTS, 1, '{"query":"q"}'),
        (3, Means.FINISH, None, "tool_calls"),
        (3, Means.BLOCK_END, 1, ""),
        (4, Means.TERMINAL, None, "[DONE]"),
    ]
    ended = next(each for each in deltas(PARALLEL) if each.means is Means.BLOCK_END and each.value)
    assert (ended.name, ended.call_id, ended.value) == ("search", "call_a", {"input": {"query": "Zürich"}})


def test_states() -> None:
    data = chat(text("Hi"), finish(), usage())

    assert [observed.state for observed in run(exchange(data), Side.CLIENT)] == ["start", "answer", "finished", "usage", "ended"]


def test_a_refusal() -> None:
    found = judged(chat(chunk({"refusal": "I can"}), chunk({"refusal": "not."}), finish()))

    assert blocks(found) == [("refusal", "I cannot.", "", "")] and found.evidence == ()


def test_parts_of_content_as_mistral_sends_them() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "2+2"}]}
    found = judged(chat(chunk({"content": [thought]}), chunk({"content": [{"type": "text", "text": "4"}]}), finish()))

    assert blocks(found) == [("thinking", "2+2", "", ""), ("text", "4", "", "")] and found.evidence == ()


def test_reasoning_that_stands_under_two_names_is_said_once() -> None:
    details = [{"type": "reasoning.text", "text": "Hm", "signature": "sig"}]
    found = judged(chat(chunk({"reasoning": "Hm", "reasoning_details": details}), text("Hi"), finish()))

    assert blocks(found) == [("thinking", "Hm", "", ""), ("text", "Hi", "", "")]
    assert found.assembled.blocks[0].signature == "sig"


def test_the_message_is_that_of_the_first_choice() -> None:
    def both(*deltas: dict[str, Any], word: str | None = None) -> dict[str, Any]:
        return chunk({}, choices=[{"index": i, "delta": delta, "finish_reason": word} for i, delta in enumerate(deltas)])

    other = {"tool_calls": [{"index": 0, "id": "call_x", "type": "function", "function": {"name": "search", "arguments": "{"}}]}
    found = judged(
        sse(
            both({"role": "assistant", "content": "A"}, {"role": "assistant", "content": "B"}),
            both({"content": "a"}, other),
            both({}, {}, word="stop"),
            DONE,
        )
    )

    assert blocks(found) == [("text", "Aa", "", "")]
    (second,) = found.assembled.others
    assert [(each.kind, each.text, each.call_id) for each in second.blocks] == [("text", "B", ""), ("tool-call", "{", "call_x")]
    assert "tool-args-invalid-json" in found.names
    assert Means.CALL not in found.counts and found.counts[Means.FINISH] == 1


def test_arguments_that_two_calls_send_by_turns_are_kept_apart() -> None:
    found = judged(
        chat(
            call(0, "call_a", arguments='{"query":'),
            call(1, "call_b", arguments='{"query":'),
            arguments(0, '"a"}'),
            arguments(1, '"b"}'),
            finish("tool_calls"),
        )
    )

    assert [each[1] for each in blocks(found)] == ['{"query":"a"}', '{"query":"b"}']
    assert found.names == {"parallel-calls-interleaved"}


def test_another_call_under_the_same_index_is_another_call() -> None:
    found = judged(chat(call(0, "call_a"), call(0, "call_b"), finish("tool_calls")))

    assert [each[3] for each in blocks(found)] == ["call_a", "call_b"]


@pytest.mark.parametrize("size", [1, 2, 7, 4096])
def test_any_split_of_the_bytes_says_the_same(size: int) -> None:
    def happenings() -> Any:
        for at in range(0, len(PARALLEL), size):
            yield Read(Side.CLIENT, PARALLEL[at : at + size])

    split = Exchange("x", happenings, (Side.CLIENT,))

    assert [delta for observed in run(split, Side.CLIENT) for delta in observed.deltas] == deltas(PARALLEL)


def test_a_text_beyond_the_limit_is_counted_and_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.streams.blocks.TEXT_KEPT", 10)
    found = judged(chat(text("x" * 8), text("y" * 8), call(arguments='{"query":"long"}'), finish("tool_calls")))

    assert [(len(each.text), each.size) for each in found.assembled.blocks] == [(10, 16), (10, 16)]
    assert found.evidence == ()


def test_the_assembled_message_is_a_conversation() -> None:
    chat_made = conversation(judged(PARALLEL).answers, "x")

    assert [(chunk.key, chunk.kind, chunk.text or chunk.payload.get("input")) for chunk in chat_made.chunks] == [
        ("event-1", Kind.THINKING, "The user wants both."),
        ("event-3", Kind.TEXT, "Looking twice."),
        ("event-5", Kind.TOOL_CALL, {"query": "Zürich"}),
        ("event-8", Kind.TOOL_CALL, {"query": "Bern"}),
    ]
    assert [chunk.call_id for chunk in chat_made.chunks[2:]] == ["call_a", "call_b"] and chat_made.format == "stream"
    two = chunk({"tool_calls": [json.loads(sse(call(i, f"c{i}"))[6:])["choices"][0]["delta"]["tool_calls"][0] for i in (0, 1)]})
    keys = [each.key for each in conversation(judged(sse(ROLE, two, finish("tool_calls"), DONE)).answers, "x").chunks]
    assert keys == ["event-1", "event-1.1"]


def test_an_error_is_a_chunk_of_its_own() -> None:
    made = conversation(judged(sse(ROLE, text("Hi"), {"error": {"message": "overloaded"}})).answers, "x")

    assert [(chunk.kind, chunk.text) for chunk in made.chunks] == [(Kind.TEXT, "Hi"), (Kind.ERROR, "overloaded")]
