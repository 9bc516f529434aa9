"""Corrected streams: without errors but for one that the server reports itself, and the same when corrected again."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from random import Random

import pytest

from inspector.conversation.edits import Safety
from inspector.rules.base import Severity
from inspector.strategies.catalogue import STRATEGIES as OF_CONVERSATIONS
from inspector.streams.captures import catalogue, own
from inspector.streams.correcting import CannotCorrect, Correction, correct
from inspector.streams.corrections import STREAM_STRATEGIES
from inspector.streams.model import Assembled, End, Exchange, How, Read, Side
from inspector.streams.run import one_side
from inspector.streams.two_sides import judged
from inspector.streams.violations import BY_NAME
from tests.folding import in_one_test

from . import spoken
from .golden.cases import CASES as GOLDEN
from .golden.cases import FLOWS
from .golden.script import Golden
from .spoken import ASKED, ROLE, call, chat, exchange, finish, ndjson, sse, text
from .violation_cases import CASES, HERMES, Said

INHERENT = {"in-band-error"}


def errors(exchange: Exchange) -> set[str]:
    found = judged(exchange)
    every = [each for side in exchange.sides for each in found.evidence(side)]
    return {each.rule.name for each in every if each.severity is Severity.ERROR} - INHERENT


def data(exchange: Exchange) -> bytes:
    return b"".join(each.data for each in exchange.happenings() if isinstance(each, Read))


def answer(exchange: Exchange) -> Assembled:
    return one_side(exchange, exchange.sides[0]).assembled


def said(exchange: Exchange) -> list[tuple[str, str, str]]:
    return [(block.kind, block.name, block.text) for block in answer(exchange).blocks]


def named(correction: Correction) -> list[str]:
    return [strategy.name for strategy in correction.used]


def golden(name: str) -> Exchange:
    return next(case for case in GOLDEN if case.name == name).exchange()


@cache
def golden_errors(name: str) -> set[str]:
    return errors(golden(name))


def beside(exchange: Exchange, corrected: Exchange) -> Exchange:
    """The corrected stream as what the client of this exchange got, once the backend had ended."""

    def happenings() -> Iterator[Read | End]:
        yield from (each for each in exchange.happenings() if each.side is Side.BACKEND)
        yield from corrected.happenings()

    return replace(exchange, happenings=happenings)


@in_one_test("case", GOLDEN, ids=lambda case: case.name)
def test_a_corrected_stream_has_no_errors_and_is_what_the_backend_said(case: Golden) -> None:
    correction = correct(case.exchange())

    if correction.used:
        assert errors(correction.exchange) == set()
        assert correct(correction.exchange) == Correction(correction.exchange)
        again = judged(beside(case.exchange(), correction.exchange)).sides
        assert again is not None and again.evidence == ()
    else:
        assert data(correction.exchange) == data(case.exchange()) and not case.sides


@in_one_test(
    "one",
    [pytest.param(one, id=f"{row}: {label}") for row, cases in CASES.items() for label, one, _ in cases],
)
def test_streams_of_one_side_have_none_either(one: Said) -> None:
    given = exchange(one) if isinstance(one, bytes) else one
    try:
        correction = correct(given)
    except CannotCorrect as refused:
        assert str(refused).endswith(".")
        return

    assert errors(correction.exchange) == set(), data(correction.exchange)
    assert correct(correction.exchange).used == ()


def test_a_premature_terminal_moves_behind_what_the_backend_said() -> None:
    correction = correct(FLOWS[2].exchange())

    assert said(correction.exchange) == [("tool-call", "create_file", '{"path":"a.txt"}'), ("text", "", "I have made it.")]
    assert (answer(correction.exchange).finish, answer(correction.exchange).ended) == ("tool_calls", True)
    assert named(correction) == ["use-backend-content", "rebuild-calls", "one-terminal", "re-encode"]
    moved = next(change for change in correction.changes if change.strategy == "one-terminal")
    assert (moved.event, moved.before) == (2, "the terminal [DONE] here")


def test_the_call_that_the_client_got_keeps_its_id() -> None:
    (call_id,) = (block.call_id for block in answer(correct(FLOWS[2].exchange()).exchange).blocks if block.kind == "tool-call")

    assert call_id == "call_1"


def test_events_that_were_lost_come_back_and_repeated_ones_go() -> None:
    correction = correct(golden("older O-O"))

    assert said(correction.exchange) == [("text", "", "Hi "), ("tool-call", "search", '{"query":"q"}'), ("text", "", " tail")]
    taken = [change for change in correction.changes if change.strategy == "use-backend-content"]
    assert ("text Hi ", "", False) in {(each.before, each.after, each.restored) for each in taken}
    assert ("", "text  tail", True) in {(each.before, each.after, each.restored) for each in taken}


def test_a_thought_that_was_made_a_call_is_a_thought_again() -> None:
    corrected = answer(correct(golden("c L-O")).exchange)

    assert [block.kind for block in corrected.blocks] == ["thinking", "text"] and corrected.finish == "stop" and not corrected.usage


@pytest.mark.parametrize("name", ["e L-O", "16 split over seven"])
def test_a_made_terminal_says_incomplete_and_never_stop(name: str) -> None:
    correction = correct(golden(name))

    assert answer(correction.exchange).finish == "length" and answer(correction.exchange).ended
    (made,) = (strategy for strategy in correction.used if strategy.name == "mark-incomplete")
    assert Safety.INVENTED in made.safety and "never `stop`" in made.summary
    assert any("incomplete" in change.after for change in correction.changes)


@pytest.mark.parametrize(
    ("one", "finish", "data_of_end"),
    [
        (sse(ROLE, text("Hi")), "length", b"data: [DONE]"),
        (ndjson(spoken.line("Hi")), "length", b'"done":true'),
        (sse(spoken.START, *spoken.SAID), "max_tokens", b"message_stop"),
        (spoken.responses(*spoken.SPOKEN), "max_output_tokens", b"response.incomplete"),
    ],
    ids=["chat", "Ollama", "Anthropic", "Responses"],
)
def test_every_dialect_has_its_word_for_incomplete(one: bytes, finish: str, data_of_end: bytes) -> None:
    corrected = correct(exchange(one)).exchange

    assert answer(corrected).finish == finish and data_of_end in data(corrected) and answer(corrected).blocks[0].text == "Hi"


def test_behind_an_error_of_the_server_there_is_no_terminal() -> None:
    corrected = correct(golden("p O-O")).exchange

    assert b"[DONE]" not in data(corrected) and answer(corrected).error == "overloaded"


def test_calls_in_text_become_calls() -> None:
    correction = correct(exchange(chat(text("Let me look.\n"), text(HERMES), finish()), request=ASKED))

    assert said(correction.exchange) == [("text", "", "Let me look.\n"), ("tool-call", "search", '{"query":"q"}')]
    assert answer(correction.exchange).finish == "tool_calls"
    assert (correction.changes[0].strategy, correction.changes[0].event) == ("rebuild-calls", 2), "the event in which the call begins"


UNTYPED = {"tools": [{"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}]}
GUESS = "<tool_call>\n<function=search>\n<parameter=limit>\n7\n</parameter>\n</function>\n</tool_call>"


def test_a_field_that_must_be_guessed_is_refused_until_somebody_says_so() -> None:
    given = exchange(chat(text(GUESS), finish()), request=UNTYPED)

    refused, guessed = correct(given), correct(given, invented=True)

    assert "limit" in refused.refused[0] and said(refused.exchange) == [("text", "", GUESS)]
    assert said(guessed.exchange) == [("tool-call", "search", '{"limit":"7"}')] and not guessed.refused


def test_broken_arguments_become_text_and_are_not_completed() -> None:
    correction = correct(exchange(chat(call(arguments='{"query": "q'), finish("tool_calls"))))

    assert said(correction.exchange) == [("text", "", '[A call of search came broken, and is kept as text: {"query": "q]')]
    assert answer(correction.exchange).finish == "stop"


def test_calls_are_numbered_in_their_order() -> None:
    given = exchange(chat(call(1, ""), call(3, "call_1", arguments='{"query":"r"}'), call(4, "call_1"), finish("tool_calls")))

    blocks = answer(correct(given).exchange).blocks

    assert len({block.call_id for block in blocks}) == 3 and [block.text for block in blocks] == [
        '{"query":"q"}',
        '{"query":"r"}',
        '{"query":"q"}',
    ]


def test_characters_come_back_from_the_bytes_of_the_backend() -> None:
    assert said(correct(golden("l O-O")).exchange) == [("text", "", "a€b")]


def test_of_one_side_broken_bytes_stay_broken_and_become_utf8() -> None:
    correction = correct(exchange(chat(text("a€b"), finish()).replace("€".encode(), b"\xe2\x82")))

    assert said(correction.exchange) == [("text", "", "a\ufffdb")] and named(correction) == ["decode-again", "re-encode"]


def test_a_signature_comes_back() -> None:
    def thought(signature: str) -> bytes:
        return spoken.messages(
            *spoken.block(0, "thinking", ("thinking_delta", "Hm."), ("signature_delta", signature)),
            *spoken.block(1, "text", ("text_delta", "Hi")),
            spoken.reason(),
        )

    given = Golden(
        "x", [(Side.BACKEND, thought("c2ln")), (Side.BACKEND, How.EOF), (Side.CLIENT, thought("c2ln\n")), (Side.CLIENT, How.EOF)]
    )
    correction = correct(given.exchange())

    assert answer(correction.exchange).blocks[0].signature == "c2ln" and named(correction) == ["restore-signature", "re-encode"]


def test_what_would_be_lost_is_refused() -> None:
    tool = [spoken.begin(0, "server_tool_use"), spoken.delta(0, "input_json_delta", "{}"), spoken.end(0)]

    with pytest.raises(CannotCorrect, match="not written again"):
        correct(exchange(spoken.sse(spoken.START, *tool)))


def test_a_person_may_pick_strategies_and_no_other_is_applied() -> None:
    given = exchange(chat(text(HERMES), finish()) + sse(spoken.DONE), request=ASKED)

    all_of_them, one = correct(given), correct(given, strategies=["one-terminal"])

    assert named(all_of_them) == ["rebuild-calls", "one-terminal", "re-encode"]
    assert named(one) == ["one-terminal", "re-encode"] and said(one.exchange) == [("text", "", HERMES)]
    assert errors(one.exchange) == {"tool-text-in-content"} and answer(one.exchange).finish == "stop"


@pytest.mark.parametrize(
    ("given", "picked", "others"),
    [
        (exchange(chat(text(HERMES), finish()), request=ASKED), "rebuild-calls", "one-finish"),
        (
            exchange(chat(text(HERMES), text("Hi"), finish(), finish()) + sse(spoken.DONE), request=ASKED),
            "rebuild-calls",
            "one-terminal and one-finish",
        ),
        (exchange(sse(spoken.START, *spoken.SAID, spoken.reason("tool_use"))), "one-finish", "mark-incomplete"),
        (exchange(chat(call(1), call(3), finish()).replace(b"[DONE]", b"[DONE]\n\ndata: [DONE]")), "one-terminal", "renumber-calls"),
        (golden("older O-O"), "use-backend-content", "one-terminal"),
    ],
)
def test_what_cannot_be_done_alone_says_which_others_it_needs(given: Exchange, picked: str, others: str) -> None:
    with pytest.raises(CannotCorrect, match=f"{picked} cannot be done here without .*{others}"):
        correct(given, strategies=[picked])


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case.name)
@in_one_test("picked", [strategy.name for strategy in STREAM_STRATEGIES])
def test_each_strategy_alone_does_its_own_or_says_why_not(case: Golden, picked: str) -> None:
    try:
        correction = correct(case.exchange(), strategies=[picked])
    except CannotCorrect as refused:
        assert str(refused).endswith("choose them as well.")
        return

    assert set(named(correction)) <= {picked, "re-encode"}
    # What the proxy had turned to something worse is seen once that is repaired.
    seen = {"tool-text-in-content", "tool-text-in-reasoning", "wrapper-unparsed", "empty-stream"}
    if correction.used:
        assert errors(correction.exchange) <= golden_errors(case.name) | seen
    else:
        assert data(correction.exchange) == data(case.exchange()) and correction.exchange.native_id == case.name
        assert not case.sides or correction.refused


def test_a_terminal_that_is_not_picked_stays_away() -> None:
    correction = correct(exchange(sse(ROLE, text(HERMES)), request=ASKED), strategies=["rebuild-calls"])

    assert b"[DONE]" not in data(correction.exchange) and errors(correction.exchange) == {"missing-terminal"}


def test_a_name_that_is_none_and_one_that_does_nothing_are_said() -> None:
    given = exchange(sse(ROLE, text("Hi")))

    with pytest.raises(CannotCorrect, match="no strategy 'repair-all' for streams; there are use-backend-content,"):
        correct(given, strategies=["repair-all"])
    assert correct(given, strategies=["rebuild-calls"]) == Correction(given, refused=("rebuild-calls has nothing to do here.",))


def test_of_several_choices_only_the_first_is_written_anew() -> None:
    other = {"index": 1, "delta": {"role": "assistant", "content": "Ho"}, "finish_reason": None}
    called = {"index": 1, "delta": call()["choices"][0]["delta"], "finish_reason": None}
    ends = [{"index": 1, "delta": {}, "finish_reason": "tool_calls"}]
    given = exchange(
        sse(
            ROLE,
            spoken.chunk({}, choices=[other]),
            spoken.chunk({}, choices=[called]),
            text("Hi"),
            finish(),
            spoken.chunk({}, choices=ends),
        ),
        how=How.RESET,
    )

    correction = correct(given)

    assert said(correction.exchange) == [("text", "", "Hi")] and errors(correction.exchange) == set()
    assert correction.refused == ("The stream has several choices: only the first is written again.",)


def test_altered_arguments_and_an_altered_end_become_the_backends() -> None:
    B, C = Side.BACKEND, Side.CLIENT
    ours = chat(call(call_id="call_b"), finish("length"))
    theirs = chat(call(call_id="call_c", arguments='{"query":"Q"}'), finish("tool_calls"))
    given = Golden("x", [(B, ours), (B, How.EOF), (C, theirs), (C, How.EOF)]).exchange()

    corrected = correct(given)

    both = judged(given).sides
    assert both is not None and both.names == {"tool-args-altered", "finish-altered"} and errors(corrected.exchange) == set()
    (block,) = answer(corrected.exchange).blocks
    assert (block.call_id, block.text, answer(corrected.exchange).finish) == ("call_c", '{"query":"q"}', "length")


def test_a_legal_stream_stays_as_it_is() -> None:
    given = exchange(chat(text("Hi"), finish()))

    assert correct(given) == Correction(given)


def test_the_corrected_capture_is_a_capture() -> None:
    corrected = correct(golden("a O-O")).exchange
    lines = b"".join(own.written(corrected))

    (read,) = catalogue.exchanges(lambda offset=0: iter([lines[offset:]]), "corrected")

    assert data(read) == data(corrected) and errors(read) == set() and read.lacks == {"times", "read-boundaries"}


def test_strategies_name_rows_of_the_table_and_what_they_cost() -> None:
    repaired = frozenset[str]().union(*(strategy.rules for strategy in STREAM_STRATEGIES))

    assert repaired <= set(BY_NAME)
    assert all(strategy.summary.endswith(".") and strategy.cost.endswith(".") for strategy in STREAM_STRATEGIES)
    names = {strategy.name for strategy in STREAM_STRATEGIES}
    assert len(names) == len(STREAM_STRATEGIES) and not names & {strategy.name for strategy in OF_CONVERSATIONS}


def damaged(case: Golden, random: Random) -> Golden:
    """The capture with steps lost, repeated, swapped, or bytes of them broken."""
    steps = list(case.steps)
    for _ in range(random.randint(1, 4)):
        at, other = random.randrange(len(steps)), random.randrange(len(steps))
        side, what = steps[at]
        match random.randrange(4):
            case 0 if len(steps) > 1:
                del steps[at]
            case 1:
                steps.insert(other, steps[at])
            case 2:
                steps[at], steps[other] = steps[other], steps[at]
            case 3 if isinstance(what, bytes) and what:
                cut = random.randrange(len(what))
                steps[at] = (side, what[:cut] + bytes([random.randrange(256)]) * random.randrange(2) + what[cut + 1 :])
    return replace(case, steps=steps)


@in_one_test("seed", range(60))
def test_whatever_was_damaged_is_corrected_or_refused(seed: int) -> None:
    random = Random(seed)
    given = damaged(random.choice(GOLDEN), random).exchange()
    try:
        correction = correct(given)
    except CannotCorrect as refused:
        assert str(refused).endswith(".")
        return

    if correction.used and not correction.refused:
        assert errors(correction.exchange) == set()
        assert correct(correction.exchange).used == ()
