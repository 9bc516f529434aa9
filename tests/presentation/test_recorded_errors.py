"""What is recorded already is found by itself, explained where its words are known, and listed where they are not."""

from dataclasses import replace

import pytest

from inspector.conversation import notation
from inspector.presentation.conversation.recorded_errors import MOST, recorded_errors
from inspector.presentation.conversation.scan import conversation_report
from inspector.presentation.explain.meanings import MEANINGS, meaning
from inspector.presentation.markdown import conversation_md
from inspector.profiles.openai_chat import OPENAI_CHAT as PROFILE
from inspector.projections.catalogue import projection
from inspector.rules.base import Case, case_of, findings
from inspector.rules.catalogue import RULES, rule
from inspector.traces.model import Trace, TraceRecord
from inspector.traces.tree import build

E2 = "HTTP 400: unexpected character: line 1 column 1413 (char 1412). Received Model Group=glm-5.2"


def case(text: str, trace: Trace | None = None) -> Case:
    return case_of(notation.load(text)[0], "dispatch-legacy", trace)


def traced(**attributes: object) -> Trace:
    opened = TraceRecord("1", "span-open", 1, 0, "x", "step", span_id="s", conversation_id="case", turn_id="t")
    request = replace(opened, id="2", name="provider.request", span_id="r", parent_span_id="s", timestamp=2)
    closed = replace(request, id="3", kind="span-close", status="error", attributes=attributes, timestamp=3)
    return build("case", [opened, request, closed])


@pytest.mark.parametrize(
    ("text", "ours", "theirs"),
    [
        (E2, "TOOL301", ""),
        ("Expecting ':' delimiter: line 1 column 1413 (char 1412)", "TOOL301", ""),
        ("HTTP 401: model not supported", "MSG201", ""),
        (PROFILE.rules[0].text, "TOOL102", "OC-1"),
        (PROFILE.rules[1].text, "TOOL202", "OC-2"),
        ("Messages with role 'tool' must be a response to a preceding message with 'tool_calls'", "TOOL202", "OC-2"),
        ("Invalid parameter: 'tool_call_id' of 'a' not found in 'tool_calls' of previous message.", "TOOL202", "OC-3"),
        ("tool_call_id  is not found", "TOOL202", "OV-3"),
        ("Invalid 'messages[3].tool_calls[0].id': string too long. Expected a string with maximum length 40", "", "OC-4"),
        ("Invalid 'messages[3].tool_calls': empty array. Expected an array with minimum length 1", "", "OC-5"),
        ("Invalid value for 'content': expected a string, got null.", "", "OC-6"),
        ("An assistant message ... (insufficient tool messages following tool_calls message)", "TOOL102", "OV-1"),
        ('<400> InternalError.Algo.InvalidParameter: An assistant message with "tool_calls" must be followed', "TOOL102", "OV-2"),
        ("Missing `reasoning_content` field in the assistant message at message index 3.", "", "OV-4"),
        ("HTTP 429: slow down", "", ""),
        ("HTTP 503: overloaded", "", ""),
    ],
)
def test_known_words_are_explained_and_name_their_rule(text: str, ours: str, theirs: str) -> None:
    known = meaning(text)
    assert known is not None
    assert (known.rule, known.provider_rule) == (ours, theirs)


@pytest.mark.parametrize(
    "text",
    [
        "HTTP 429: slow down",
        "Error code: 429 - {'type': 'error', 'error': {'type': 'rate_limit_error', 'message': 'Number of request tokens has exceeded your per-minute rate limit'}}",
        "429 Too Many Requests",
        "Request failed with status code 429",
        'API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
        '{"type":"error","error":{"details":null,"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}',
        '{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}',
        "HTTP/1.1 502 Bad Gateway",
        'Error code: 500 - {"type":"error","error":{"type":"api_error","message":"Internal server error"}}',
    ],
)
def test_what_passes_by_itself_is_transient(text: str) -> None:
    known = meaning(text)
    assert known is not None and known.is_transient and "later" in known.advice and not known.rule


@pytest.mark.parametrize(
    "text",
    [
        "HTTP 400: this is no known refusal",
        'File "agents.py", line 429, in run',
        'Error code: 400 - at frame 529, x-ratelimit-remaining-requests: 12, File "socket.py"',
        "Error code: 429 - {'error': {'message': 'You exceeded your current quota, please check your plan', 'code': 'insufficient_quota'}}",
        "Error code: 401 - {'type': 'error', 'error': {'type': 'authentication_error', 'message': 'invalid x-api-key'}}",
        "messages.5.content.3: thinking or redacted_thinking blocks in the latest assistant message cannot be modified (attempt 429)",
    ],
)
def test_what_a_later_request_gets_again_is_not_transient(text: str) -> None:
    known = meaning(text)
    assert known is None or not known.is_transient


def test_every_rule_that_is_named_exists_and_every_meaning_is_a_part_of_a_sentence() -> None:
    for known in MEANINGS:
        assert not known.rule or rule(known.rule)
        assert known.means and not known.means.endswith(".")


def test_the_error_of_a_row_names_the_call_that_caused_it() -> None:
    looked_at = case(
        f'1 user 0.0 text go\n2 assistant 0.0 tool-call a ls "{{"\n3 tool 1.0 tool-result a no name=ls\n4 assistant 0.0 error "{E2}"'
    )
    (found,) = recorded_errors(looked_at, findings(looked_at, RULES))
    assert (found.where, found.seq, found.rule, found.fires) == ("seq 4", 4, "TOOL301", "seq 2")


def test_the_body_of_a_failed_request_is_read_with_its_status() -> None:
    looked_at = case(
        "1 user 0.0 text go", traced(status=400, **{"response.error_body": "tool_call_id  is not found", "error.message": "no"})
    )
    (found,) = recorded_errors(looked_at)
    assert (found.where, found.seq, found.text, found.provider_rule) == ("t#0", None, "HTTP 400: tool_call_id  is not found", "OV-3")


@pytest.mark.parametrize(
    "attributes", [{}, {"status": 500}, {"response.error_body": 5}, {"error.message": ""}, {"response.error_body": [None]}]
)
def test_a_request_that_says_nothing_is_not_listed(attributes: dict[str, object]) -> None:
    assert recorded_errors(case("1 user 0.0 text go", traced(**attributes))) == ()


def test_what_is_not_recognised_is_listed_as_that() -> None:
    (found,) = recorded_errors(case("1 user 0.0 text go\n2 assistant 0.0 error flux capacitor"))
    assert (found.is_recognized, found.means, found.text) == (False, "not recognized", "flux capacitor")


def test_the_same_error_at_one_place_is_counted_and_the_list_is_bounded() -> None:
    rows = "\n".join(f"{seq} assistant 0.0 error e{seq}" for seq in range(1, MOST + 20))
    assert len(recorded_errors(case(rows))) == MOST
    (found,) = recorded_errors(case("3 assistant 0.0 error no\n3 assistant 0.1 error no"))
    assert found.times == 2


def test_a_page_instead_of_an_error_is_looked_at_in_part_and_at_once() -> None:
    assert meaning("<html>" + "tool_call_id" * 500_000) is None
    assert meaning("'" * 1_000_000 + E2) is None


def test_a_copy_for_an_issue_tells_what_was_recorded_without_its_markup() -> None:
    looked_at = case('1 user 0.0 text go\n2 assistant 1.0 error "HTTP 401: model not supported <b>@all</b>"')
    found = findings(looked_at, RULES)
    prompt = projection("dispatch-openai").project(looked_at.reading.messages)
    text = conversation_md(conversation_report("x", looked_at, found, {}, "It is.", prompt), [], {})
    assert "Recorded errors:" in text and "does not offer this model" in text and "MSG201, found at seq 2" in text
    assert "@all" not in text and "<b>" not in text
