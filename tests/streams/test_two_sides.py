"""What only both sides prove, in any pair of protocols, and what is not claimed."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from inspector.streams import consumer
from inspector.streams.model import End, How, Read, Side
from inspector.streams.text_compare import differences
from inspector.streams.two_sides import ON_BACKEND, TwoSides, two_sides
from inspector.streams.violations import STREAM_RULES
from tests.folding import in_one_test

from .golden.cases import FLOWS, TABLE, W
from .golden.script import END, EOF, Golden, Step, b, c, cl, raw
from .spoken import (
    CALLED,
    DONE,
    FUNCTION,
    ITEM,
    LAST,
    OLLAMA_CALL,
    ROLE,
    SAID,
    SPOKEN,
    START,
    STOP,
    block,
    call,
    chat,
    chunk,
    completed,
    finish,
    line,
    messages,
    ndjson,
    reason,
    responses,
    sse,
    text,
    usage,
)

B, C = Side.BACKEND, Side.CLIENT
HI = b(ROLE, text("Hi there, all of you. "), text("Bye."), finish(), DONE) + EOF
LONG = "One sentence that is long enough. "


def played(steps: list[Step], **more: Any) -> TwoSides:
    found = two_sides(replace(Golden("x", steps).exchange(), **more))
    assert found is not None
    return found


def whole(backend: bytes, client: bytes, **more: Any) -> TwoSides:
    return played(raw(B, backend) + EOF + raw(C, client) + END, **more)


SIGNED = block(0, "thinking", ("thinking_delta", "Hm."), ("signature_delta", "c2ln"))
SAME = {
    "chat": chat(text("Hi"), call(), finish("tool_calls"), usage(5)),
    "Ollama": ndjson(line("Hi"), line(tool_calls=[OLLAMA_CALL]), LAST),
    "Anthropic": messages(*SAID, *block(1, "tool_use", ("input_json_delta", '{"query": "q"}')), reason("tool_use")),
    "Responses": responses(*SPOKEN, *[{**each, "output_index": 1} for each in CALLED], completed(ITEM, FUNCTION)),
}


@pytest.mark.parametrize("client", SAME)
@pytest.mark.parametrize("backend", SAME)
def test_one_answer_in_two_dialects_is_one_answer(backend: str, client: str) -> None:
    assert whole(SAME[backend], SAME[client]) == TwoSides(())


TWO_CHOICES = [
    chunk({}, choices=[{"index": index, "delta": {"role": "assistant", "content": words}, "finish_reason": "stop"}])
    for index, words in enumerate(("Hi", "Ho"))
]
# Row -> (what it is of, the steps, what is found); the first of each nearly fires.
CASES: dict[str, list[tuple[str, list[Step], str]]] = {
    "premature-terminal": [
        (
            "only the backend's [DONE] is to come",
            b(ROLE, text("Hi"), finish()) + c(ROLE, text("Hi"), finish(), DONE) + END + b(DONE) + EOF,
            "",
        ),
        (
            "the finish is to come",
            b(ROLE, text("Hi")) + c(ROLE, text("Hi"), finish(), DONE) + END + b(finish(), DONE) + EOF,
            "premature-terminal",
        ),
        (
            "usage is to come",
            b(ROLE, text("Hi"), finish()) + c(ROLE, text("Hi"), finish(), DONE) + END + b(usage(), DONE) + EOF,
            "premature-terminal",
        ),
        (
            "Anthropic",
            [
                *raw(B, sse(START, *SAID, named=True)),
                *raw(C, messages(*SAID, reason())),
                *END,
                *raw(B, sse(reason(), STOP, named=True)),
                *EOF,
            ],
            "premature-terminal",
        ),
    ],
    "fabricated-terminal": [
        ("marked as cut off", b(ROLE, text("Hi")) + c(ROLE, text("Hi")) + EOF + c(finish("length"), DONE) + END, ""),
        ("the capture of the backend was cut", b(ROLE, text("Hi")) + c(ROLE, text("Hi")) + [(B, How.CUT)] + c(finish(), DONE) + END, ""),
        ("a reset", b(ROLE, text("Hi")) + c(ROLE, text("Hi")) + [(B, How.RESET)] + c(finish(), DONE) + END, "fabricated-terminal"),
        (
            "an error that the client is not told of",
            b(ROLE, text("Hi"), {"error": {"message": "no"}}, DONE) + EOF + c(ROLE, text("Hi"), finish(), DONE) + END,
            "fabricated-terminal",
        ),
    ],
    "terminal-swallowed": [
        ("the client hung up", HI[:2] + c(ROLE, text("Hi there, all of you. ")) + HI[2:] + [(C, How.RESET)], ""),
        ("an error in its place", HI + c(ROLE, text("Hi there, all of you. Bye."), {"error": {"message": "no"}}) + END, ""),
        ("never sent on", HI + c(ROLE, text("Hi there, all of you. Bye.")) + END, "terminal-swallowed"),
        ("to Ollama", HI + cl(line("Hi there, all of you. Bye.")) + END, "terminal-swallowed"),
    ],
    "tool-call-lost": [
        ("made of text", b(ROLE, text(W), finish(), DONE) + EOF + c(ROLE, call(), finish("tool_calls"), DONE) + END, ""),
        ("text as it was", b(ROLE, text(W), finish(), DONE) + EOF + c(ROLE, text(W), finish(), DONE) + END, ""),
        ("the client hung up", b(ROLE, call(), finish("tool_calls"), DONE) + EOF + c(ROLE) + [(C, How.RESET)], ""),
        ("a call as text", b(ROLE, text(W), finish(), DONE) + EOF + c(ROLE, finish(), DONE) + END, "tool-call-lost"),
        ("a structured call", b(ROLE, call(), finish("tool_calls"), DONE) + EOF + c(ROLE, finish(), DONE) + END, "tool-call-lost"),
    ],
    "tool-call-partial-lost": [
        (
            "numbers typed by the proxy",
            b(ROLE, text(W.replace(">q<", ">7<")), finish(), DONE)
            + EOF
            + c(ROLE, call(arguments='{"query":7}'), finish("tool_calls"), DONE)
            + END,
            "",
        ),
        (
            "the second",
            b(ROLE, call(), call(1, "call_2", arguments='{"query":"r"}'), finish("tool_calls"), DONE)
            + EOF
            + c(ROLE, call(), finish("tool_calls"), DONE)
            + END,
            "tool-call-partial-lost",
        ),
        (
            "half of it",
            b(ROLE, call(), finish("tool_calls"), DONE) + EOF + c(ROLE, call(arguments='{"quer')) + END,
            "tool-call-partial-lost terminal-swallowed",
        ),
    ],
    "tool-args-altered": [
        (
            "spelled again",
            b(ROLE, call(arguments='{"query": "\\u00e4", "limit": 7}'), finish("tool_calls"), DONE)
            + EOF
            + c(ROLE, call(arguments='{"limit":7.0,"query":"ä"}'), finish("tool_calls"), DONE)
            + END,
            "",
        ),
        (
            "an object where there was text",
            b(ROLE, call(), finish("tool_calls"), DONE) + EOF + cl(line(tool_calls=[OLLAMA_CALL]), LAST) + END,
            "",
        ),
        (
            "left out",
            b(ROLE, call(), finish("tool_calls"), DONE) + EOF + c(ROLE, call(arguments="{}"), finish("tool_calls"), DONE) + END,
            "tool-args-altered",
        ),
        (
            "a number made text",
            b(ROLE, call(arguments='{"query":7}'), finish("tool_calls"), DONE)
            + EOF
            + c(ROLE, call(arguments='{"query":"7"}'), finish("tool_calls"), DONE)
            + END,
            "tool-args-altered",
        ),
        (
            "one of two",
            b(ROLE, call(), call(1, "call_2", arguments='{"query":"r"}'), finish("tool_calls"), DONE)
            + EOF
            + c(ROLE, call(), call(1, "call_2", arguments='{"query":"R"}'), finish("tool_calls"), DONE)
            + END,
            "tool-args-altered",
        ),
    ],
    "finish-altered": [
        (
            "the same in another protocol",
            b(ROLE, text("Hi"), finish("length"), DONE) + EOF + cl(line("Hi"), line(done=True, done_reason="length", eval_count=1)) + END,
            "",
        ),
        (
            "the proxy's own limit",
            b(ROLE, text("Hi"), finish("stop"), DONE) + EOF + c(ROLE, text("Hi"), finish("length"), DONE) + END,
            "",
        ),
        ("none came", b(ROLE, text("Hi"), finish("length"), DONE) + EOF + c(ROLE, text("Hi"), DONE) + END, ""),
        (
            "stop",
            b(ROLE, text("Hi"), finish("length"), DONE) + EOF + c(ROLE, text("Hi"), finish("stop"), DONE) + END,
            "finish-altered",
        ),
        (
            "Ollama's stop",
            b(ROLE, text("Hi"), finish("length"), DONE) + EOF + cl(line("Hi"), LAST) + END,
            "finish-altered",
        ),
    ],
    "choice-lost": [
        ("both choices", b(*TWO_CHOICES, DONE) + EOF + c(*TWO_CHOICES, DONE) + END, ""),
        ("the first alone", b(*TWO_CHOICES, DONE) + EOF + c(*TWO_CHOICES[::2], DONE) + END, "choice-lost"),
    ],
    "tool-text-promoted-from-reasoning": [
        (
            "reasoning that was not closed",
            b(chunk({"role": "assistant", "reasoning_content": "I need it.\n" + W}), finish(), DONE)
            + EOF
            + c(chunk({"role": "assistant", "reasoning_content": "I need it.\n"}), call(), finish("tool_calls"), DONE)
            + END,
            "",
        ),
        (
            "between tags in the text",
            b(ROLE, text(f"<think>Not {W} yet.</think>No."), finish(), DONE)
            + EOF
            + c(ROLE, text("<think>Not  yet.</think>"), call(), text("No."), finish("tool_calls"), DONE)
            + END,
            "tool-text-promoted-from-reasoning",
        ),
    ],
    "content-replayed": [
        (
            "said twice by the model",
            b(ROLE, text("ha "), text("ha "), finish(), DONE) + EOF + c(ROLE, text("ha ha "), finish(), DONE) + END,
            "",
        ),
        ("a word of the proxy's own", HI + c(ROLE, text("Hi there, all of you. Bye."), text(" you"), finish(), DONE) + END, ""),
        ("an event", HI + c(ROLE, text("Hi there, all of you. "), text("Bye."), text("Bye."), finish(), DONE) + END, "content-replayed"),
        ("all of it", HI + c(ROLE, *[text("Hi there, all of you. Bye.")] * 2, finish(), DONE) + END, "content-replayed"),
        (
            "a call",
            b(ROLE, call(), finish("tool_calls"), DONE) + EOF + c(ROLE, call(), call(1, "call_2"), finish("tool_calls"), DONE) + END,
            "content-replayed",
        ),
    ],
    "content-lost": [
        (
            "tags of thinking",
            b(ROLE, text("<think>Hm.</think>Hi"), finish(), DONE) + EOF + c(ROLE, text("Hm.Hi"), finish(), DONE) + END,
            "",
        ),
        (
            "thinking as thinking",
            b(ROLE, text("<think>Hm.</think>Hi"), finish(), DONE)
            + EOF
            + c(ROLE, chunk({"reasoning_content": "Hm."}), text("Hi"), finish(), DONE)
            + END,
            "",
        ),
        (
            "blanks around a call",
            b(ROLE, text(f"Hi\n\n{W}\n"), finish(), DONE) + EOF + c(ROLE, text("Hi"), call(), finish("tool_calls"), DONE) + END,
            "",
        ),
        ("the client hung up", HI + c(ROLE, text("Hi there")) + [(C, How.RESET)], ""),
        ("the end", HI + c(ROLE, text("Hi there, all of you. "), finish(), DONE) + END, "content-lost"),
        ("the middle, before the client hung up", HI + c(ROLE, text("Hi there, "), text("Bye.")) + [(C, How.RESET)], "content-lost"),
        ("its blanks", b(ROLE, text("a  b"), finish(), DONE) + EOF + c(ROLE, text("ab"), finish(), DONE) + END, "content-lost"),
        (
            "reasoning",
            b(chunk({"role": "assistant", "reasoning_content": "Hm."}), text("Hi"), finish(), DONE)
            + EOF
            + c(ROLE, text("Hi"), finish(), DONE)
            + END,
            "content-lost",
        ),
    ],
    "content-reordered": [
        (
            "an echo after the terminal",
            HI + c(ROLE, text("Hi there, all of you. Bye."), finish(), DONE, text("Bye.")) + END,
            "content-replayed",
        ),
        ("in other pieces", HI + c(ROLE, text("Hi there, "), text("all of you. Bye."), finish(), DONE) + END, ""),
        ("the other way round", HI + c(ROLE, text("Bye."), text("Hi there, all of you. "), finish(), DONE) + END, "content-reordered"),
        (
            "and something is lost",
            b(ROLE, *map(text, ("The first of it. ", "Then second. ", "At last third. ")), finish(), DONE)
            + EOF
            + c(ROLE, text("At last third. "), text("The first of it. "), finish(), DONE)
            + END,
            "content-reordered content-lost",
        ),
    ],
    "record-split-by-proxy": [
        (
            "joined as it should be",
            raw(B, sse(ROLE), sse(text("Hello"))[:30], sse(text("Hello"))[30:], sse(finish(), DONE))
            + EOF
            + c(ROLE, text("Hello"), finish(), DONE)
            + END,
            "",
        ),
        (
            "another one is lost",
            raw(B, sse(ROLE), sse(text("Hello"))[:30], sse(text("Hello"))[30:], sse(text(" you"), finish(), DONE))
            + EOF
            + c(ROLE, text("Hello"), finish(), DONE)
            + END,
            "content-lost",
        ),
        (
            "dropped",
            raw(B, sse(ROLE), sse(text("Hello"))[:30], sse(text("Hello"))[30:], sse(text(" you"), finish(), DONE))
            + EOF
            + c(ROLE, text(" you"), finish(), DONE)
            + END,
            "record-split-by-proxy",
        ),
    ],
    "utf8-broken": [
        ("sent by the backend", b(ROLE, text("a\ufffdb"), finish(), DONE) + EOF + c(ROLE, text("a\ufffdb"), finish(), DONE) + END, ""),
        ("on the way", b(ROLE, text("a€b"), finish(), DONE) + EOF + c(ROLE, text("a\ufffd\ufffdb"), finish(), DONE) + END, "utf8-broken"),
        (
            "and something is lost",
            b(ROLE, text("a€b"), text(" and more"), finish(), DONE) + EOF + c(ROLE, text("a\ufffdb"), finish(), DONE) + END,
            "utf8-broken content-lost",
        ),
    ],
    "signature-altered": [
        ("as it was", raw(B, messages(*SIGNED, reason())) + EOF + raw(C, messages(*SIGNED, reason())) + END, ""),
        (
            "spelled again",
            raw(B, messages(*SIGNED, reason()))
            + EOF
            + raw(C, messages(*block(0, "thinking", ("thinking_delta", "Hm."), ("signature_delta", "c2ln\n")), reason()))
            + END,
            "signature-altered",
        ),
    ],
    "usage-zero-fabricated": [
        (
            "the backend's own 0",
            b(ROLE, text("x"), finish(), usage(1), DONE) + EOF + c(ROLE, text("x"), finish(), usage(1), DONE) + END,
            "",
        ),
        (
            "fabricated",
            b(ROLE, text("x"), finish(), DONE)
            + EOF
            + c(ROLE, text("x"), finish(), chunk({}, choices=[], usage={"prompt_tokens": 0, "completion_tokens": 0}), DONE)
            + END,
            "usage-zero-fabricated",
        ),
    ],
    "after-end-write": [
        ("the end is last", HI + c(ROLE, text("Hi there, all of you. Bye."), finish(), DONE) + END, ""),
        (
            "bytes after it",
            HI + c(ROLE, text("Hi there, all of you. Bye."), finish(), DONE) + END + raw(C, b": bye\n\n"),
            "after-end-write",
        ),
    ],
}


@in_one_test(
    ("steps", "expected"),
    [pytest.param(steps, expected, id=f"{row}: {label}") for row, cases in CASES.items() for label, steps, expected in cases],
)
def test_what_is_found_is_what_happened_between_the_sides(steps: list[Step], expected: str) -> None:
    found = played(steps)

    assert found.names == set(expected.split()), [each.first for each in found.evidence]


def test_every_row_of_both_sides_fires_and_nearly_fires() -> None:
    rows = {row.name for row in STREAM_RULES if row.two_sided}

    missing = ", ".join(sorted(rows - set(CASES)))
    assert not missing, f"write the cases of the new row {missing} in tests/streams/test_two_sides.py: what nearly fires, then what fires"
    assert rows | {"utf8-broken"} == set(CASES) and rows >= ON_BACKEND
    for row, cases in CASES.items():
        fires = [row in expected.split() for _, _, expected in cases]
        assert any(fires) and not fires[0], row


def test_the_bug_of_the_report_is_named_at_its_input() -> None:
    found = two_sides(FLOWS[2].exchange())
    assert found is not None
    (premature,) = (each for each in found.evidence if each.rule.name == "premature-terminal")

    assert (
        premature.first[0].text
        == "Ended too early: the client's terminal came at input 3 of 5 of the backend, and content of the backend after it."
    )
    assert premature.first[0].event == 2 and premature.rule.code == "STREAM101"


def test_a_terminal_that_overtook_the_content_is_premature_and_out_of_order() -> None:
    found = two_sides(next(case for case in TABLE if case.name == "g O-L").exchange())
    assert found is not None

    assert [each.first[0].text for each in found.evidence] == [
        "The client got its terminal before 8 characters that the backend sent before its own.",
        "The backend sent its terminal last, and the client got it earlier.",
    ]


@pytest.mark.parametrize("side", list(Side))
def test_one_side_alone_is_not_compared(side: Side) -> None:
    exchange = FLOWS[2].exchange()

    def happenings() -> Iterator[Read | End]:
        return (each for each in exchange.happenings() if each.side is side)

    assert two_sides(replace(exchange, sides=(side,), happenings=happenings)) is None


def test_where_the_order_was_not_kept_nothing_is_said_about_it() -> None:
    bug = FLOWS[2].exchange()

    def happenings() -> Iterator[Read | End]:
        for side in (C, B):
            yield from (each for each in bug.happenings() if each.side is side)

    found = two_sides(replace(bug, happenings=happenings, ordered=False))

    assert found is not None and found.names == {"content-lost"}


def test_of_several_answers_or_an_unknown_dialect_nothing_is_compared() -> None:
    unknown = played(HI + raw(C, b'data: {"candidates": []}\n\n') + END)
    several = whole(messages(*SAID, reason()) * 2, messages(*SAID, reason()), lacks=frozenset({"framing"}))

    assert not unknown.evidence and "not read here" in unknown.remarks[0]
    assert not several.evidence and "several answers" in several.remarks[0]


def test_what_is_no_fault_by_any_rule_is_remarked() -> None:
    added = whole(chat(text("Hi"), finish()), chat(text("Hi"), text(" [sent by the proxy]"), finish()))

    assert not added.evidence and "which the backend had not sent" in added.remarks[0]


def test_beyond_the_limit_nothing_is_claimed() -> None:
    pieces = [text(LONG * 1_000)] * (consumer.TEXT_KEPT // (len(LONG) * 1_000) + 2)
    found = whole(chat(*pieces, finish()), chat(*pieces[:-1], finish()))

    assert not found.evidence and "The first 4,000,000 characters" in found.remarks[0]


def test_evidence_is_bounded() -> None:
    numbers = [text(f"Number {number} of all. ") for number in range(200)]
    found = whole(chat(*numbers, finish()), chat(*numbers[::2], finish()))

    (lost,) = found.evidence
    assert (lost.rule.name, lost.total, len(lost.first)) == ("content-lost", 100, 5)


def test_texts_word_by_word() -> None:
    sent = "The quick brown fox jumps over the lazy dog."

    assert differences(sent, sent).lost == ()
    assert differences(sent, "The quick fox jumps over the lazy dog.").lost == ((10, 16),)
    assert differences(sent, sent + " Ok.").added == ((44, 48),)
    assert differences(sent, sent + sent).replayed == ((44, 88),)
    assert differences(sent, "the lazy dog. The quick brown fox jumps over").moved is not None


@pytest.mark.parametrize("unit", ["a", "a ", "ab. ", "\n", "x" * 40 + " "])
def test_long_texts_of_one_thing_are_compared_all_the_same(unit: str) -> None:
    sent = unit * (1_000_000 // len(unit))
    middle = len(sent) // 2

    found = differences(sent, sent[:middle] + "¤" + sent[middle + 1000 :])

    assert sum(end - start for start, end in found.lost) <= len(sent) and found.added
    assert differences(sent, sent[: middle + 1]).lost
