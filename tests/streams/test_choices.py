"""Answers with several choices (`n` in the request): each is assembled, judged, and compared between the sides."""

from collections.abc import Iterator, Mapping
from typing import Any

from inspector.presentation.stream.messages import side_messages
from inspector.presentation.stream.report import analysed, message_report
from inspector.streams.correcting import correct
from inspector.streams.model import Assembled, End, Exchange, How, Means, Read, Side
from inspector.streams.run import one_side
from inspector.streams.two_sides import judged

from .spoken import ASKED, DONE, LAST, call, chunk, exchange, line, ndjson, sse
from .violation_cases import HERMES

Delta = Mapping[str, Any]


def of(index: int, delta: Delta, finish: str | None = None) -> dict[str, Any]:
    """A record of one choice."""
    return chunk({}, choices=[{"index": index, "delta": delta, "finish_reason": finish}])


def says(index: int, *words: str, finish: str = "stop") -> list[dict[str, Any]]:
    return [of(index, {"role": "assistant", "content": ""}), *(of(index, {"content": each}) for each in words), of(index, {}, finish)]


def calls(index: int, call_id: str = "call_1", arguments: str = '{"query":"q"}') -> list[dict[str, Any]]:
    entry = call(call_id=call_id, arguments=arguments)["choices"][0]["delta"]
    return [of(index, {"role": "assistant", **entry}), of(index, {}, "tool_calls")]


def both(backend: bytes, client: bytes) -> Exchange:
    def happenings() -> Iterator[Read | End]:
        for side, data in ((Side.BACKEND, backend), (Side.CLIENT, client)):
            yield Read(side, data)
            yield End(side, How.EOF)

    return Exchange("x", happenings, (Side.BACKEND, Side.CLIENT), request=ASKED | {"n": 2})


def compared(backend: list[dict[str, Any]], client: list[dict[str, Any]]) -> dict[str, str]:
    """Rows that both sides show -> what the first violation of each says."""
    sides = judged(both(sse(*backend, DONE), sse(*client, DONE))).sides
    assert sides is not None
    return {each.rule.name: each.first[0].text for each in sides.evidence}


def texts(answer: Assembled) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in answer.blocks]


TWO = [*says(0, "Alpha ", "one."), *says(1, "Beta ", "two.")]


def test_every_choice_is_assembled() -> None:
    found = one_side(exchange(sse(*TWO, DONE)), Side.CLIENT)

    assert found.evidence == () and found.counts[Means.TEXT] == 2
    assert texts(found.assembled) == [("text", "Alpha one.")] and found.assembled.choice == 0
    (other,) = found.assembled.others
    assert (other.choice, other.role, other.finish, other.ended) == (1, "assistant", "stop", True)
    assert texts(other) == [("text", "Beta two.")] and (other.blocks[0].first, other.blocks[0].last) == (5, 6)


def test_interleaved_choices_with_calls_keep_their_own_blocks() -> None:
    first, second = calls(0, "call_a"), calls(1, "call_b", '{"query":"z"}')
    found = one_side(exchange(sse(first[0], second[0], second[1], first[1], DONE), request=ASKED), Side.CLIENT)

    assert found.evidence == ()
    (other,) = found.assembled.others
    assert [(block.kind, block.call_id, block.text) for block in (*found.assembled.blocks, *other.blocks)] == [
        ("tool-call", "call_a", '{"query":"q"}'),
        ("tool-call", "call_b", '{"query":"z"}'),
    ]


def test_choices_are_alternatives_and_may_use_the_same_call_ids() -> None:
    # Kimi and others number their calls in each answer: functions.search:0.
    assert one_side(exchange(sse(*calls(0), *calls(1), DONE), request=ASKED), Side.CLIENT).evidence == ()


def test_an_answer_whose_first_choice_is_empty_is_not_empty() -> None:
    assert one_side(exchange(sse(*says(0), *says(1, "Hi"), DONE)), Side.CLIENT).evidence == ()


def test_a_call_as_text_in_another_choice_is_found() -> None:
    found = one_side(exchange(sse(*says(0, "Hi"), *says(1, HERMES), DONE), request=ASKED), Side.CLIENT)

    (leaked,) = found.evidence
    assert leaked.rule.name == "tool-text-in-content" and leaked.first[0].text.startswith("Choice 1: ")


def test_a_choice_that_the_client_never_got() -> None:
    assert compared(TWO, says(0, "Alpha ", "one.")) == {"choice-lost": "Choice 1 of the backend did not reach the client: Beta two."}
    assert compared(TWO, TWO) == {}
    # In whatever order the choices come.
    assert compared(TWO, [*says(1, "Beta ", "two."), *says(0, "Alpha ", "one.")]) == {}
    assert set(compared([*says(1, "Beta"), *says(0, "Alpha")], says(0, "Alpha"))) == {"choice-lost"}


def test_a_choice_without_content_is_no_loss() -> None:
    assert compared([*says(0, "Hi"), *says(1)], says(0, "Hi")) == {}


def test_what_is_lost_of_a_choice_is_named_with_it() -> None:
    (text,) = compared(TWO, [*says(0, "Alpha ", "one."), *says(1, "Beta ")]).values()
    assert text.startswith("Choice 1: Text of the backend did not reach the client") and text.endswith("two.")

    assert compared([*says(0, "Hi"), *calls(1)], [*says(0, "Hi"), *says(1, "")]) == {
        "tool-call-lost": "Choice 1: The call of search did not reach the client."
    }
    assert compared([*says(0, "Hi"), *says(1, "Ho", finish="length")], [*says(0, "Hi"), *says(1, "Ho")]) == {
        "finish-altered": "Choice 1: The backend's answer was cut off at its limit, and the client got stop."
    }


def test_a_client_whose_protocol_has_no_choices_gets_the_first() -> None:
    sides = judged(both(sse(*TWO, DONE), ndjson(line("Alpha "), line("one."), LAST))).sides

    assert sides is not None and sides.names == {"choice-lost"}


def test_a_choice_that_is_not_the_backends_is_remarked() -> None:
    sides = judged(both(sse(*says(0, "Hi"), DONE), sse(*TWO[:4], DONE).replace(b"Alpha ", b"H").replace(b"one.", b"i") + b"")).sides
    more = judged(both(sse(*says(0, "Hi"), DONE), sse(*says(0, "Hi"), *says(1, "Ho"), DONE))).sides

    assert sides is not None and sides.remarks == ()
    assert more is not None and more.evidence == () and more.remarks == ("The client got a choice 1, which the backend had not sent.",)


def test_a_client_that_hung_up_lost_no_choice() -> None:
    data = sse(*TWO, DONE)

    def happenings() -> Iterator[Read | End]:
        yield Read(Side.BACKEND, data)
        yield End(Side.BACKEND, How.EOF)
        yield Read(Side.CLIENT, sse(*says(0, "Alpha ")[:2]))
        yield End(Side.CLIENT, How.RESET)

    sides = judged(Exchange("x", happenings, (Side.BACKEND, Side.CLIENT))).sides
    assert sides is not None and "choice-lost" not in sides.names


def test_reports_show_every_choice() -> None:
    found = analysed(exchange(sse(*TWO, DONE)))

    assert found.verdict.startswith("OpenAI Chat Completions, 8 events, 2 choices: ") or "2 choices" in found.verdict
    (answer,) = message_report(found.judged.alone[Side.CLIENT])["answers"]
    assert [(each["choice"], each["blocks"][0]["text"], each["finish"]) for each in answer["others"]] == [(1, "Beta two.", "stop")]
    assert [(each.choice, [part.text for part in each.parts]) for each in side_messages(found)] == [(0, ["Alpha one."]), (1, ["Beta two."])]


def test_the_correction_of_a_lost_choice_is_refused_and_the_first_written() -> None:
    found = correct(both(sse(*TWO, DONE), sse(*says(0, "Alpha ")[:2], DONE)))

    assert "The stream has several choices: only the first is written again." in found.refused


def test_a_hundred_choices_are_kept_and_bounded() -> None:
    many = [record for index in range(200) for record in says(index, f"Choice {index}.")]
    found = one_side(exchange(sse(*many, DONE)), Side.CLIENT)

    assert found.evidence == () and len(found.assembled.others) == 127
    assert set(compared(many[:12], many[:6])) == {"choice-lost"}
