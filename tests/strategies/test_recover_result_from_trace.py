"""What `recover-result-from-trace` restores from archive, trace or older rows, and what is not certain enough for it."""

from dataclasses import replace

import pytest

from inspector.planning.preview import NothingToDo
from inspector.planning.recommend import sequence
from inspector.presentation.explain.advice import advised, observed, remedies, repaired_by
from inspector.presentation.explain.answer import explained_in, recognized
from inspector.programs.dispatch.readers import INTERRUPTED
from inspector.rules.base import case_of, findings
from inspector.rules.catalogue import RULES
from tests.programs.dispatch.appended_stores import A, Said, T, U, appended, tc, tr
from tests.programs.dispatch.strategies.incidents import ASKED, FOUND_A, FOUND_B, MODES, STEP, believed, lost_result, of, trace_of


@pytest.mark.parametrize("mode", MODES)
def test_a_lost_result_comes_back_behind_the_results_that_are_there(mode: str) -> None:
    repaired = lost_result().repaired(mode)
    assert of(repaired) == "U1 A[2-4] T5 T6 U7 A8"
    assert repaired.chunks[5].payload == tr("b", "found b", step=STEP)


def test_the_real_result_wins_over_a_made_up_one_and_the_rest_is_made_up() -> None:
    trace = trace_of({"prompt": believed(U("go"), ASKED, FOUND_B)})
    incident = replace(lost_result(trace), store=appended([U("go")], [ASKED], [U("and?")]))
    repaired = incident.repaired("same-rows", "recover-result-from-trace", "insert-interrupted-result")
    results = {chunk.call_id: chunk.text for chunk in repaired.chunks if chunk.role == "tool"}
    assert results == {"a": INTERRUPTED, "b": "found b"}


def test_an_error_that_a_provider_gave_is_explained_with_the_real_result() -> None:
    incident = lost_result()
    case = case_of(incident.stored().conversation, "dispatch-legacy", incident.trace)
    text = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
    explanation = next(each for each in explained_in(recognized(text), case, "dispatch-openai") if each.candidate.rule.id == "OC-1")
    advice = advised(case, "openai-chat", "dispatch-openai", observed([explanation], text, [case]))
    assert "recover-result-from-trace" in advice.names and "insert-interrupted-result" not in advice.names
    assert repaired_by(remedies(explanation, case, advice)) == advice.names
    (made_up,) = [each for each in remedies(explanation, case, advice) if each.strategy.name == "insert-interrupted-result"]
    assert made_up.edits and not made_up.is_recommended
    assert [each.name for each in sequence(case, findings(case, RULES), "openai-chat", "dispatch-openai").candidate.strategies] == [
        *advice.names
    ]


@pytest.mark.parametrize(("said", "closed", "error"), [("sent", False, False), ("sent", True, True), ("Unknown tool: ls", None, True)])
def test_a_request_alone_gives_the_text_and_the_tool_span_whether_it_was_an_error(said: str, closed: bool | None, error: bool) -> None:
    tools = {} if closed is None else {"tools": {"b": closed}}
    trace = trace_of({"request": [], **tools}, {"request": [{"role": "tool", "content": said, "tool_call_id": "b"}]})
    assert lost_result(trace).repaired().chunks[5].payload == tr("b", said, error=error, step=STEP)


@pytest.mark.parametrize(
    "said",
    [
        [T(tr("b", "one")), T(tr("b", "two"))],
        [T(tr("b", INTERRUPTED, error=True))],
        [T({"type": "tool-result", "toolCallId": "b", "content": ["no", "text"]})],
        [T({"type": "tool-result", "toolCallId": ["b"], "content": "x"})],
        [T(tr("c", "another"))],
    ],
)
def test_a_result_that_is_not_known_for_certain_is_not_recovered(said: list[Said]) -> None:
    with pytest.raises(NothingToDo):
        lost_result(trace_of({"prompt": believed(*said)})).preview("same-rows")


def test_an_id_that_two_calls_share_gets_no_result() -> None:
    incident = replace(lost_result(), store=appended([U("go")], [ASKED, FOUND_A], [U("and?")], [A(tc("b"))]))
    with pytest.raises(NothingToDo):
        incident.preview("same-rows")
