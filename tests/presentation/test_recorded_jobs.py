"""What a job of gbrain says that it ended by: explained by itself, with the calls that it speaks of."""

from dataclasses import replace

import pytest

from inspector.conversation.model import Fact
from inspector.presentation.conversation.recorded_errors import Recorded, recorded_errors
from inspector.presentation.conversation.scan import conversation_report
from inspector.presentation.conversation.verdict import verdict
from inspector.presentation.explain.answer import explained_in, recognized
from inspector.profiles.judging import judged
from inspector.programs.gbrain.format import GBRAIN
from inspector.programs.gbrain.readers import result
from inspector.projections.catalogue import projection
from inspector.rules.base import Case, case_of, findings
from inspector.rules.catalogue import RULES
from inspector.rules.synthetic_texts import written_by
from tests.programs.gbrain.conformance_rows import BY_NUMBER, records

PENDING = 'non-idempotent tool "head" pending on resume; cannot safely re-run'
LIVE = 'non-idempotent tool "head" pending on resume; gbrainToolUseId=0197a3c2-7bde-7000-8000-000000000001 — cannot safely re-run'
GONE = 'tool "nosuch" is not in the registry for this subagent'


def job(number: str, error: str, reader: str = "gbrain-naive", status: str = "failed") -> Case:
    (found,) = GBRAIN.read(records(BY_NUMBER[number], status=status, error=error))
    return case_of(found.conversation, reader)


def noted(case: Case) -> Recorded:
    (found,) = recorded_errors(case, findings(case, RULES))
    return found


@pytest.mark.parametrize(
    ("number", "error", "rule", "theirs", "fires"),
    [
        ("1", "[chat(glm-coding)] Tool results are missing for tool calls a, b.", "TOOL601", "SDK-1", "seq 2-3"),
        ("1", "[chat(zhipu:glm-4.6)] Tool result is missing for tool call b.", "TOOL601", "SDK-1", "seq 3"),
        ("2", "AI_MissingToolResultsError: Tool results are missing for tool calls a, b.", "TOOL601", "SDK-1", "seq 2-3"),
        ("10", "Tool results are missing for tool calls a, c.", "TOOL601", "SDK-1", "seq 2-3"),
        ("14", "Tool result is missing for tool call a.", "TOOL603", "SDK-1", "seq 2"),
        ("8", "Tool result is missing for tool call t1.", "TOOL601", "SDK-1", ""),
        ("4", PENDING, "TOOL602", "GB-1", "seq 2"),
        ("4", f"Error: {LIVE}\n    at toolLoop (gateway.ts:1)", "TOOL602", "GB-1", "seq 2"),
        ("12", f"[chat(glm)] {GONE}", "TOOL602", "GB-2", "seq 2"),
        ("6", "HTTP 429: slow down", "", "", ""),
    ],
)
def test_it_is_explained_and_points_to_its_calls(number: str, error: str, rule: str, theirs: str, fires: str) -> None:
    found = noted(job(number, error))
    assert (found.where, found.seq, found.step, found.text) == ("the job's error_text", None, "", error)
    assert found.is_recognized
    assert (found.rule, found.provider_rule, found.fires) == (rule, theirs, fires)


def test_words_that_nobody_knows_are_shown_and_an_empty_text_is_not() -> None:
    assert not noted(job("1", "worker lost")).is_recognized
    assert recorded_errors(job("1", " ")) == ()


def test_the_error_of_another_format_is_none_of_its_own() -> None:
    case = job("1", "Tool result is missing for tool call a.")
    other = replace(case.conversation, format="dispatch", facts={"errorText": Fact("errorText", "x")})
    assert recorded_errors(replace(case, conversation=other)) == ()


def test_scan_says_it_as_json() -> None:
    case = job("1", "Tool results are missing for tool calls a, b.")
    prompt = projection("ai-sdk").project(case.reading.messages)
    (found,) = conversation_report("oid", case, findings(case, RULES), {}, "", prompt)["recorded"]
    assert (found["where"], found["rule"], found["fires"]) == ("the job's error_text", "TOOL601", "seq 2-3")


@pytest.mark.parametrize(("text", "tool"), [(PENDING, "head"), (LIVE, "head"), (GONE, "nosuch")])
def test_what_gbrain_throws_is_recognized_and_names_the_tool(text: str, tool: str) -> None:
    (found,) = recognized(f"job 7 failed: {text}")
    assert found.values["tool"] == tool
    assert found.rule.unjudged


def test_the_explanation_points_to_the_calls_of_the_tool_and_of_the_ids() -> None:
    (found,) = explained_in(recognized(PENDING), job("4", PENDING), "ai-sdk")
    assert [(place.path, place.seqs) for place in found.places] == [("messages.1.content.0", (2,))]
    (missing,) = explained_in(recognized("Tool result is missing for tool call b."), job("1", ""), "ai-sdk")
    assert [place.seqs for place in missing.places] == [(3,)]


@pytest.mark.parametrize(
    ("text", "is_error", "program"),
    [
        ("tool result unavailable on replay", True, "gbrain (pull request 1934)"),
        ("tool result unavailable (recovered after interrupted run)", True, "gbrain"),
        ("tool failed", True, "gbrain, for a failed run without words"),
        ("tool failed", False, ""),
        (GONE, True, "gbrain, for a tool that is not registered"),
        ('tool "nosuch" is not available', True, "gbrain, for a tool that is not registered"),
        (GONE, False, ""),
        (f"{GONE}, said the page", True, ""),
        ("head failed", True, ""),
    ],
)
def test_texts_of_earlier_repairs_are_known_as_made_up(text: str, is_error: bool, program: str) -> None:
    call = job("1", "").conversation.chunks[1]
    assert written_by(result(call, text, is_error)) == program


def test_stored_results_that_a_repair_made_up_are_told() -> None:
    case = job("11", "")
    chunks = tuple(
        replace(chunk, payload={**chunk.payload, "content": "tool result unavailable on replay", "isError": True})
        if chunk.call_id and chunk.seq == 3
        else chunk
        for chunk in case.conversation.chunks
    )
    found = findings(case.with_conversation(replace(case.conversation, chunks=chunks)), RULES)
    assert [(each.code, each.seqs) for each in found] == [("TOOL402", (3,))]


@pytest.mark.parametrize(
    ("number", "reader", "said"),
    [
        ("1", "gbrain-naive", "The store is damaged in one place; the next request is rejected by ai-sdk-6 at messages.1 (SDK-1)."),
        ("4", "gbrain-head", "The store is damaged in one place; a retry would run 'head', if it is registered, before the next request."),
        ("11", "gbrain-head", "Nothing is damaged; a retry returns the stored answer and makes no request."),
        ("11", "gbrain-naive", "Nothing is damaged; the next request passes all known rules."),
        ("8", "gbrain-pr1934", "The store is intact; the next request goes wrong silently: it passes all known rules."),
    ],
)
def test_the_verdict_says_what_a_retry_does(number: str, reader: str, said: str) -> None:
    case = job(number, "", reader)
    assert verdict(case, findings(case, RULES), judged(case.reading, case.conversation, "ai-sdk-6", "ai-sdk")[1]).text == said
