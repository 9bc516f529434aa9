"""The answer as it came beside the answer as it is stored."""

from typing import Any

from inspector.conversation.model import Chunk, Conversation, Kind
from inspector.streams.aligning import DifferenceKind, aligned, answer_of, last_answer, traced_answer
from inspector.streams.model import Side
from inspector.streams.run import one_side
from tests.folding import in_one_test

from .spoken import block, exchange, messages, reason

CAME = messages(
    *block(0, "thinking", ("thinking_delta", "Hm."), ("signature_delta", "c2ln")),
    *block(1, "text", ("text_delta", "Hi "), ("text_delta", "there.")),
    *block(2, "tool_use", ("input_json_delta", '{"query": "q"}')),
    reason("tool_use"),
)
THINKING = {"type": "thinking", "text": "Hm.", "signature": "c2ln"}
TEXT = {"type": "text", "text": "Hi there."}
CALL = {"type": "tool-call", "toolCallId": "toolu_2", "toolName": "search", "input": {"query": "q"}}


def came() -> list[Any]:
    return list(answer_of(one_side(exchange(CAME), Side.CLIENT).answers))


@in_one_test(
    ("stored", "expected"),
    [
        ([THINKING, TEXT, CALL], []),
        ([THINKING, {"type": "text", "text": "Hi "}, {"type": "text", "text": "there."}, CALL], []),
        ([THINKING, TEXT, CALL | {"input": {"query": "q"}, "stepId": "s1"}], []),
        ([THINKING, {"type": "text", "text": "Hi "}, CALL], [("ends-early", "text")]),
        ([THINKING, {"type": "text", "text": "Hi there. Really."}, CALL], [("goes-on", "text")]),
        ([THINKING, {"type": "text", "text": "Hi everybody."}, CALL], [("differs", "text")]),
        ([THINKING, TEXT, CALL | {"input": {"query": "r"}}], [("arguments-differ", "tool-call")]),
        ([THINKING, TEXT, CALL | {"toolCallId": "call_9"}], [("id-differs", "tool-call")]),
        ([THINKING, TEXT], [("dropped", "tool-call")]),
        ([THINKING, TEXT, CALL, CALL | {"toolCallId": "call_9"}], [("added", "tool-call")]),
        ([TEXT, CALL], [("dropped", "thinking")]),
        ([THINKING | {"signature": "c2ln\n"}, TEXT, CALL], [("signature-altered", "thinking")]),
        ([{"type": "thinking", "text": "Hm."}, TEXT, CALL], [("signature-dropped", "thinking")]),
        ([], [("dropped", "text"), ("dropped", "thinking"), ("dropped", "tool-call")]),
    ],
)
def test_what_the_one_has_and_the_other_has_not(stored: list[Any], expected: list[tuple[str, str]]) -> None:
    assert [(each.how, each.what) for each in aligned(came(), stored)] == [(DifferenceKind(how), what) for how, what in expected]


def test_what_never_came() -> None:
    assert [(each.how, each.what) for each in aligned([], [TEXT, CALL])] == [
        (DifferenceKind.ADDED, "text"),
        (DifferenceKind.ADDED, "tool-call"),
    ]


def test_sentences_name_the_place() -> None:
    (early,) = aligned([TEXT], [{"type": "text", "text": "Hi "}])

    assert early.text == "The stored text ends 6 characters early, before there."


def stored(*chunks: tuple[str, Kind, dict[str, Any]]) -> Conversation:
    return Conversation("c", "x", tuple(Chunk(str(seq), seq, role, kind, payload) for seq, (role, kind, payload) in enumerate(chunks)))


def test_the_last_answer_of_a_conversation() -> None:
    result = {"type": "tool-result", "toolCallId": "toolu_2", "content": "ok"}
    old, said = ("assistant", Kind.TEXT, {"type": "text", "text": "old"}), ("assistant", Kind.TEXT, TEXT)
    asked = ("user", Kind.TEXT, {"type": "text", "text": "hello"})

    assert last_answer(stored(old, asked, said, ("assistant", Kind.TOOL_CALL, CALL), ("tool", Kind.TOOL_RESULT, result))) == [TEXT, CALL]
    assert last_answer(stored(said, asked)) == []


def test_steps_part_answers_where_the_store_knows_them() -> None:
    first, second = (CALL | {"stepId": step, "toolCallId": step} for step in ("s1", "s2"))
    result = {"type": "tool-result", "toolCallId": "s1", "content": "ok", "stepId": "s1"}

    found = last_answer(
        stored(
            ("assistant", Kind.TOOL_CALL, first),
            ("tool", Kind.TOOL_RESULT, result),
            ("assistant", Kind.TEXT, TEXT | {"stepId": "s2"}),
            ("assistant", Kind.TOOL_CALL, second),
        )
    )

    assert found == [TEXT | {"stepId": "s2"}, second]


def test_the_last_answer_of_a_traced_prompt() -> None:
    prompt = [{"role": "assistant", "chunks": [TEXT, CALL, 7]}, {"role": "tool", "chunks": [{"type": "tool-result"}]}]

    assert traced_answer(prompt) == [TEXT, CALL]
    assert traced_answer([{"role": "user"}, "damaged"]) == []
