"""The trace of a conversation as a waterfall, its bodies as pages and as exact bytes, and the same as JSON."""

import html
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import path
from django.utils import timezone

from inspector.actions.import_source import import_targets
from inspector.demo import dispatch_incident
from inspector.demo.creation import write_dispatch_store, write_journal
from inspector.models import Conversation, loading
from inspector.traces.model import Trace
from inspector.views import traces

pytestmark = pytest.mark.urls(__name__)

urlpatterns = [
    path("conversations/<slug:oid>/trace/", traces.trace),
    path("conversations/<slug:oid>/trace.json", traces.trace_json),
    path("conversations/<slug:oid>/trace/body/<slug:digest>/", traces.body),
    path("conversations/<slug:oid>/trace/body/<slug:digest>/raw/", traces.body_raw),
]

T = 1782655327318
"""A moment on 2026-06-28, 14:02:07.318 UTC."""


def opened(
    span: str, called: str, at: int, turn: str = "t", parent: str = "", body: str | None = None, **attributes: Any
) -> dict[str, Any]:
    return _record("span-open", span, called, at, turn, parent, attributes) | ({} if body is None else {"body": body})


def closed(span: str, called: str, at: int, lasted: int, parent: str = "", ended: str = "ok", **attributes: Any) -> dict[str, Any]:
    return _record("span-close", span, called, at, "t", parent, attributes) | {"durationMs": lasted, "status": ended}


def said(text: str, span: str = "") -> dict[str, Any]:
    record = _record("log", span, "", 1, "t" if span else "", "", {}) | {"level": "warn", "msg": text}
    return {key: value for key, value in record.items() if key != "name"}


def _record(kind: str, span: str, name: str, at: int, turn: str, parent: str, attributes: dict[str, Any]) -> dict[str, Any]:
    optional = {"spanId": span, "turnId": turn, "parentSpanId": parent}
    given = {key: value for key, value in optional.items() if value}
    native = dispatch_incident.CONVERSATION
    return {
        "kind": kind,
        "name": name,
        "timestamp": T + at,
        "extensionId": "e",
        "conversationId": native,
        "attributes": attributes,
        **given,
    }


@pytest.fixture
def with_trace(db: None, tmp_path: Path) -> Any:
    """Imports the example store with a journal of the given records, and returns the conversation."""

    def imported(records: Iterable[dict[str, Any]] | None) -> Conversation:
        write_dispatch_store(tmp_path / "dispatch.db", dispatch_incident.store_rows())
        targets = [str(tmp_path / "dispatch.db")]
        if records is not None:
            write_journal(tmp_path / "app.ndjson", records)
            targets.append(str(tmp_path / "app.ndjson"))
        import_targets(targets, "tester")
        return Conversation.objects.get(native_id=dispatch_incident.CONVERSATION)

    return imported


def trace_of(conversation: Conversation) -> Trace:
    found = loading.trace(conversation, dispatch_incident.CONVERSATION)
    assert found
    return found


def get(client: Client, conversation: Conversation, rest: str = "", status: int = 200) -> str:
    answer = client.get(f"/conversations/{conversation.oid}/trace/{rest}")
    assert answer.status_code == status
    return str(answer.content.decode())


def text(page: str) -> str:
    """The words of a page, without markup."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", page)))


def rows(page: str) -> list[str]:
    return [text(row) for row in re.findall(r"<tr class=.*?</tr>", page, re.DOTALL)]


def row(page: str, *words: str) -> str:
    (found,) = [row for row in rows(page) if all(word in row for word in words)]
    return found


def turns_of(page: str) -> list[str]:
    return re.findall(r"<summary[^>]*>(Turn \d+)</summary>", page)


def concerns_of(page: str) -> list[str]:
    """The first is the title."""
    wrong = page.partition('<dl class="pairs chain">')[2].partition("</dl>")[0]
    title = re.findall(r"<h1>.*?: <span[^>]*>([^<]+)</span></h1>", page)
    return [*title, *(text(words).strip() for words in re.findall(r"<dd>\s*([^<\s][^<]*):", wrong))]


def test_every_span_is_a_row_and_turns_of_like_length_have_one_axis(client: Client, incident: Conversation) -> None:
    page = get(client, incident)
    assert len(rows(page)) == 20, "how a request went on is in its own bar"
    assert turns_of(page) == ["Turn 1", "Turn 2", "Turn 3"]
    assert "3 turns, 4 steps, 4 requests, 2 tool calls" in text(page)
    widths = [float(width) for width in re.findall(r'<rect class="b-turn[ a-z]*" x="0.0" y="1" width="([\d.]+)"', page)]
    assert widths == [283.3, 370.8, 1000.0] and len(re.findall(r"<span>0</span>\s*<span>2.61 s</span>\s*<span>5.21 s</span>", page)) == 1
    assert "52.41 s later" in page and "5 min 19 s later" in page


def test_a_turn_that_is_much_longer_than_another_has_an_axis_of_its_own(client: Client, with_trace: Any) -> None:
    records = [
        {**opened("a", "turn", 0), "turnId": "a"},
        {**closed("a", "turn", 1_000, 1_000), "turnId": "a"},
        {**opened("b", "turn", 2_000), "turnId": "b"},
        {**closed("b", "turn", 13_000, 11_000), "turnId": "b"},
    ]
    page = get(client, with_trace(records))
    assert re.findall(r'<rect class="b-turn[ a-z]*" x="0.0" y="1" width="([\d.]+)"', page) == ["1000.0", "1000.0"]


def test_a_row_tells_clock_duration_finish_reason_and_tokens(client: Client, incident: Conversation) -> None:
    step = row(get(client, incident), "step 1")
    assert "14:08:26.331" in step and "1.53 s" in step
    assert "finish stop" in step and "tokens in" not in step
    request = row(get(client, incident), "tokens in 2,461, out 46, cache read 1,984")
    assert "HTTP 200" in request, "the tokens of a step are those of its request"


def test_a_request_tells_its_http_status_and_a_prompt_what_it_offered(client: Client, incident: Conversation) -> None:
    page = get(client, incident)
    assert "HTTP 200 tokens in 2,461, out 46, cache read 1,984 first token 741 ms" in row(page, "request", "14:08:26.333")
    assert "5 messages of the 8 stored before it" in row(page, "prompt", "14:08:26.332")


def test_what_is_the_same_in_all_spans_is_shown_once(client: Client, incident: Conversation) -> None:
    page = text(get(client, incident))
    assert page.count("umans-flash") == 2, "in the line of facts, and in the list of the attributes that are the same"
    assert "9 tools in each prompt" in page and page.count("request.method") == 1 and page.count("messageCount") == 4


def test_tool_calls_lead_to_their_stored_chunks(client: Client, incident: Conversation) -> None:
    page = get(client, incident)
    assert f'href="/conversations/{incident.oid}/?at=10#seq-10"' in page
    failed = row(page, "tool call", "call_c17e05aa3d6f4c92")
    assert "seq 11 , seq 13" in failed and "the result is an error" in failed
    assert "seq 8–13" in row(page, "step 0", "finish tool_calls")


def test_steps_of_words_alone_lead_to_their_rows_the_one_that_ended_in_a_leaked_call_too(client: Client, incident: Conversation) -> None:
    report = client.get(f"/conversations/{incident.oid}/trace.json").json()
    assert [[step["seqs"] for step in turn["steps"]] for turn in report["turns"]] == [[[2, 3]], [[5, 6]], [list(range(8, 14)), [14]]]


def test_a_step_leads_to_what_was_believed_what_was_sent_and_beside_the_store(client: Client, incident: Conversation) -> None:
    step = trace_of(incident).steps()[-1]
    page = get(client, incident)
    assert step.prompt and step.request
    assert f'href="/conversations/{incident.oid}/trace/body/{step.prompt.body}/">show the prompt</a>' in page
    assert f'href="/conversations/{incident.oid}/trace/body/{step.request.body}/">show the request</a>' in page
    assert f'href="/conversations/{incident.oid}/?step={step.step_id.replace("#", "%23")}">compare with the store</a>' in page


def test_a_prompt_with_fewer_messages_than_were_stored_before_it_says_so(client: Client, incident: Conversation) -> None:
    prompts = [row for row in rows(get(client, incident)) if row.startswith(" prompt ")]
    assert "1 message show the prompt" in prompts[0], "the first prompt has all that was stored"
    assert [re.search(r"\d messages? of the \d", row)[0] for row in prompts[1:]] == [
        "2 messages of the 3",
        "2 messages of the 5",
        "5 messages of the 8",
    ]


def test_a_prompt_with_fewer_messages_names_what_is_one_message_in_it(client: Client, incident: Conversation) -> None:
    assert re.findall(r"stored before it : (seq .*?) MSG101", text(get(client, incident))) == [
        "seq 1-3 as one user message",
        "seq 1-6 as one user message",
        "seq 1-6 as one user message",
    ]


def test_only_as_many_bodies_are_read_as_a_page_names_differences_of(
    client: Client, incident: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces, "DIFFERENCES_SHOWN", 1)
    page = text(get(client, incident))
    assert page.count("as one user message") == 1 and page.count("stored before it") == 3


MANY = [
    record
    for number in range(15)
    for turn, at in [(f"t{number}", number * 10_000)]
    for record in (
        {**opened(turn, "turn", at), "turnId": turn},
        {**opened(f"s{number}", "step", at + 1, parent=turn), "turnId": turn},
        {**opened(f"r{number}", "provider.request", at + 2, parent=f"s{number}"), "turnId": turn},
        {**closed(f"r{number}", "provider.request", at + 500, 498, f"s{number}", status=500 if number in (2, 9) else 200), "turnId": turn},
        {**opened(f"c{number}", "tool-call", at + 500, parent=f"s{number}", name="ls"), "turnId": turn},
        {**closed(f"c{number}", "tool-call", at + 600, 100, f"s{number}", isError=number == 5), "turnId": turn},
        {**closed(f"s{number}", "step", at + 600, 599, turn), "turnId": turn},
        {**closed(turn, "turn", at + 600, 600), "turnId": turn},
    )
]
"""Fifteen turns: requests of turns 3 and 10 failed, and a tool of turn 6."""


def open_turns(page: str) -> list[str]:
    return re.findall(r'<details class="turn-fold"\s+open>\s*<summary[^>]*>(Turn \d+)<', page)


def test_turns_without_a_problem_are_folded_in_a_long_trace_except_the_chosen_one(client: Client, with_trace: Any) -> None:
    conversation = with_trace(MANY)
    page = get(client, conversation)
    assert len(turns_of(page)) == 15 and open_turns(page) == ["Turn 3", "Turn 6", "Turn 10"]
    assert open_turns(get(client, conversation, "?step=t0%230")) == ["Turn 1", "Turn 3", "Turn 6", "Turn 10"]


def test_no_turn_is_folded_in_a_short_trace(client: Client, incident: Conversation) -> None:
    assert open_turns(get(client, incident)) == ["Turn 1", "Turn 2", "Turn 3"]


@pytest.mark.parametrize(
    ("problem", "turns", "left_out"),
    [
        ("any", ["Turn 3", "Turn 6", "Turn 10"], ["2", "3"]),
        ("failed", ["Turn 3", "Turn 10"], ["6"]),
        ("tool", ["Turn 6"], []),
        ("retried", [], []),
    ],
)
def test_only_the_turns_with_a_problem_are_shown(
    client: Client, with_trace: Any, problem: str, turns: list[str], left_out: list[str]
) -> None:
    page = get(client, with_trace(MANY), f"?problem={problem}")
    assert turns_of(page) == open_turns(page) == turns
    assert re.findall(r"(\d+) other turns", page) == left_out
    assert "all 15 turns" in text(page) and "3 with problems" in text(page)


def test_problems_are_stepped_through_in_order_of_time_within_the_filter(client: Client, with_trace: Any) -> None:
    conversation = with_trace(MANY)

    def steps(rest: str) -> dict[str, str]:
        return dict(re.findall(r'data-key="([pn])"\s+href="([^"]*)"', get(client, conversation, rest)))

    assert steps("") == {"n": "?step=t2%230#here"}
    assert steps("?step=t5%230") == {"p": "?step=t2%230#here", "n": "?step=t9%230#here"}
    assert steps("?problem=failed&step=t2%230") == {"n": "?problem=failed&amp;step=t9%230#here"}
    assert steps("?step=t9%230") == {"p": "?step=t5%230#here"}
    assert "problem 2 of 3" in text(get(client, conversation, "?step=t5%230"))


def test_what_happened_outside_of_turns_is_told_in_words(client: Client, incident: Conversation) -> None:
    page = get(client, incident)
    assert "1 message dropped as empty 0 error chunks stripped 0 calls given an interrupted result" in row(page, "repair by the loader")
    assert "HTTP 200" in row(page, "cache warming request", "741 ms")
    assert "never closed" in row(page, "cache warming request", "unknown")
    assert text(page).count("aborted, crashed or still running") == 2, "explained once with the colors, and in what is missing"


def test_the_page_says_which_sources_were_read_and_what_they_cannot_tell(client: Client, incident: Conversation) -> None:
    source = incident.source.traces.get()
    source.problems = [{"where": "row 7", "reason": "Its attributes are <b>no</b> JSON."}]
    source.read_at = timezone.now()
    source.save()
    page = text(get(client, incident))
    assert "traces.db read just now" in page
    assert "1 span was opened and never closed" in page
    assert "traces.db , row 7 : Its attributes are <b>no</b> JSON." in page


def test_a_chosen_step_is_marked_and_an_unknown_one_is_told(client: Client, incident: Conversation) -> None:
    step = trace_of(incident).steps()[-1]
    chosen = get(client, incident, f"?step={step.step_id.replace('#', '%23')}")
    (marked,) = re.findall(r'<tr class="[^"]* hit" id="here">.*?</tr>', chosen, re.DOTALL)
    assert "14:08:26.331" in marked
    unknown = get(client, incident, "?step=%3Cb%3E%00nope")
    assert "This trace has no step &lt;b&gt;\\x00nope." in unknown and 'id="here"' not in unknown
    assert "There is no turn nope among these: the last ones are shown." in get(client, incident, "?turn=nope")


def test_a_chosen_turn_stands_first_and_the_earlier_ones_are_a_link_away(client: Client, incident: Conversation) -> None:
    turns = trace_of(incident).turns
    page = get(client, incident, f"?turn={turns[1].turn_id}")
    assert turns_of(page) == ["Turn 2", "Turn 3"]
    assert f'href="?turn={turns[0].turn_id}">1 earlier turn<' in page


def test_a_long_trace_is_shown_in_pages(client: Client, with_trace: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "ROWS_SHOWN", 2)
    conversation = with_trace([opened(f"s{number}", "turn", number * 1000, f"t{number}") for number in range(5)])
    last = get(client, conversation)
    assert turns_of(last) == ["Turn 4", "Turn 5"] and 'href="?turn=t1">3 earlier turns<' in last
    middle = get(client, conversation, "?turn=t1")
    assert turns_of(middle) == ["Turn 2", "Turn 3"]
    assert 'href="?turn=t0">1 earlier turn<' in middle and 'href="?turn=t3">2 later turns<' in middle


def test_a_turn_of_too_many_spans_is_cut_and_says_so(client: Client, with_trace: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "ROWS_SHOWN", 3)
    page = get(client, with_trace([opened(f"s{number}", "step", number) for number in range(8)]))
    assert len(rows(page)) == 4 and "5 further spans of this turn are in" in page


RETRIED = [
    opened("t", "turn", 0),
    opened("s", "step", 1, parent="t"),
    opened("a", "provider.request", 2, parent="s", body="{}"),
    closed("a", "provider.request", 500, 498, "s", "error", status=429, **{"error.message": "429 Too Many Requests"}),
    opened("b", "provider.request", 900, parent="s", body="{}"),
    closed("b", "provider.request", 950, 50, "s", "error", status=0, **{"error.message": "socket hang up"}),
    opened("c", "provider.request", 1900, parent="s", body="{}"),
    closed("lost", "tool-call", 3000, 200, "s", name="ls", orphaned=True),
    said("trying again", "s"),
    said("by itself"),
]


def test_retries_network_failures_and_half_recorded_spans_are_told(client: Client, with_trace: Any) -> None:
    page = get(client, with_trace(RETRIED))
    assert "HTTP 429 closed as an error" in row(page, "attempt 1 of 3, then retried")
    failed = row(page, "attempt 2 of 3, then retried")
    assert "the network failed, so there is no HTTP answer" in failed and "socket hang up" in failed and "HTTP 0" not in failed
    assert "unknown" in row(page, "attempt 3 of 3, the one that counts", "never closed")
    assert "orphaned" in row(page, "tool call", "open record missing")
    assert "14:02:10.118" in row(page, "tool call")
    assert "warn trying again" in row(page, "step 0") and "warn by itself" in text(page)
    assert concerns_of(page) == [
        "1 tool call has no result",
        "4 spans have only one end recorded",
        "2 requests failed and were retried",
    ]
    assert "2 requests failed and were retried: turn 1, step 0 . 429 Too Many Requests" in text(page)
    assert page.count("url(#no-end)") == 4, "three spans that were never closed, and the legend"


def test_the_worst_of_a_trace_is_its_first_sentence(client: Client, incident: Conversation) -> None:
    page = get(client, incident)
    assert concerns_of(page) == [
        "3 prompts have fewer messages than were stored before them",
        "1 tool result is an error",
        "1 span has only one end recorded",
    ]
    assert '?step=turn-1782655381204-x0m2ha%230#here">turn 2, step 0</a>' in page
    assert re.findall(r"turn \d, step \d \(\d of \d\)", text(page)) == [
        "turn 2, step 0 (2 of 3)",
        "turn 3, step 0 (2 of 5)",
        "turn 3, step 1 (5 of 8)",
    ]


def test_a_prompt_that_left_messages_out_names_the_finding_in_these_messages(client: Client, incident: Conversation) -> None:
    page = get(client, incident)
    finding = incident.findings.get(code="MSG101")
    assert row(page, "prompt", "2 messages of the 3 stored before it : seq 1-3 as one user message MSG101")
    assert page.count(f'href="/findings/{finding.oid}/" title="merged-messages, found in these messages"') == 3
    incident.findings.filter(code="MSG101").update(origin="store")
    assert "found in these messages" not in get(client, incident), "only what is about reading can explain what a prompt leaves out"


def test_the_twin_of_a_trace_says_that_its_end_is_missing(client: Client, incident: Conversation) -> None:
    """In the incident the last request was never closed: the cache warming, and no turn. The title is about the prompts."""
    assert "end is missing" not in text(get(client, incident))
    assert client.get(f"/conversations/{incident.oid}/trace.json").json()["end_missing"] is True


def test_a_span_that_was_not_closed_before_the_last_turn_leaves_the_end_as_it_is(client: Client, with_trace: Any) -> None:
    conversation = with_trace([opened("a", "turn", 0, "t0"), opened("t", "turn", 100), closed("t", "turn", 200, 100)])
    assert concerns_of(get(client, conversation)) == ["1 span has only one end recorded"]
    assert client.get(f"/conversations/{conversation.oid}/trace.json").json()["end_missing"] is False


def test_a_request_that_failed_is_the_worst_and_its_error_is_quoted(client: Client, with_trace: Any) -> None:
    failed = [
        opened("t", "turn", 0),
        opened("s", "step", 1, parent="t"),
        opened("a", "provider.request", 2, parent="s"),
        closed("a", "provider.request", 500, 498, "s", status=400, **{"error.message": "roles must <i>alternate</i>"}),
    ]
    refused = get(client, with_trace(failed))
    assert concerns_of(refused)[0] == "1 request failed" and "<q>roles must &lt;i&gt;alternate&lt;/i&gt;</q>" in refused
    assert '<rect class="b-request failed"' in refused


def test_a_step_without_a_request_is_never_told_as_no_request(client: Client, with_trace: Any) -> None:
    page = get(client, with_trace([opened("t", "turn", 0), opened("s", "step", 1, parent="t")]))
    assert "1 step has no recorded request, which is not the same as no request" in text(page)
    step = row(page, "step 0")
    assert "neither body is recorded compare with the store" in step


def test_a_turn_whose_span_is_lost_still_shows_its_steps(client: Client, with_trace: Any) -> None:
    page = get(client, with_trace([opened("s", "step", 1, parent="gone")]))
    assert "not recorded" in text(page) and "step 0" in rows(page)[1]


def test_a_conversation_without_traces_says_how_to_add_them(client: Client, with_trace: Any) -> None:
    conversation = with_trace(None)
    page = text(get(client, conversation))
    assert "No trace was imported for this conversation" in page
    assert f"manage.py import_source {conversation.source.path} TRACES" in page


def test_traces_that_hold_nothing_on_a_conversation_are_not_called_missing(client: Client, incident: Conversation) -> None:
    other = Conversation.objects.exclude(pk=incident.pk).first()
    assert other
    assert "The trace sources have nothing on this conversation" in text(get(client, other))


HOSTILE = "<script>alert(1)</script>\u202e\x1b\ud800'\">"


def test_hostile_text_is_shown_and_not_obeyed(client: Client, with_trace: Any) -> None:
    conversation = with_trace(
        [
            opened("t", HOSTILE, 0, body=HOSTILE, **{HOSTILE: HOSTILE, "long": "y" * 9000}),
            opened("s" + HOSTILE, "step", 1, HOSTILE, parent="t"),
            closed("x" + HOSTILE, "tool-call", 5, 10**14, ended=HOSTILE, name={"a": [HOSTILE]}, toolCallId=[HOSTILE], finishReason=HOSTILE),
            said(HOSTILE),
            {**opened("l", "step", 2), "links": [{"spanId": HOSTILE}]},
        ]
    )
    page = get(client, conversation)
    assert "<script>alert" not in page and "\u202e" not in page and "\x1b" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\u202e\\x1b\\ud800" in page
    assert "… and 5,000 more characters" in page
    (digest,) = {span.body for span in trace_of(conversation).turns[0].other if span.body}
    assert "<script>alert" not in get(client, conversation, f"body/{digest}/")
    assert client.get(f"/conversations/{conversation.oid}/trace.json").status_code == 200


def test_a_body_is_indented_and_named_with_its_span(client: Client, incident: Conversation) -> None:
    request = trace_of(incident).steps()[-1].request
    assert request
    page = get(client, incident, f"body/{request.body}/")
    assert "request of turn 3, step 1, 2026-06-28 14:08:26" in page
    assert f"{request.body}" in page and "JSON, indented for reading" in page
    assert re.search(r'"role"</span>.*"system"', page) and "helloHello! How can I help you today?" in page


def test_the_raw_body_is_the_exact_bytes_as_a_download(client: Client, incident: Conversation) -> None:
    request = trace_of(incident).steps()[-1].request
    assert request and request.body
    answer = client.get(f"/conversations/{incident.oid}/trace/body/{request.body}/raw/")
    sent = [record["body"].encode() for record in dispatch_incident.trace_records() if "body" in record]
    assert answer.content in sent and answer.content == loading.body(request.body)
    assert answer["Content-Type"] == "application/json"
    assert answer["Content-Disposition"].startswith("attachment;") and answer["X-Content-Type-Options"] == "nosniff"


def test_a_body_that_is_no_json_is_shown_as_stored_and_downloaded_as_text(client: Client, with_trace: Any) -> None:
    conversation = with_trace([opened("t", "turn", 0, body="<h1>not json</h1>")])
    digest = trace_of(conversation).turns[0].span.body  # type: ignore[union-attr]
    page = get(client, conversation, f"body/{digest}/")
    assert "&lt;h1&gt;not json&lt;/h1&gt;" in page and "as stored: not JSON" in page
    answer = client.get(f"/conversations/{conversation.oid}/trace/body/{digest}/raw/")
    assert answer["Content-Type"] == "text/plain; charset=utf-8" and answer.content == b"<h1>not json</h1>"


def test_a_long_body_is_cut_and_leads_to_all_of_it(client: Client, with_trace: Any) -> None:
    conversation = with_trace([opened("t", "turn", 0, body=json.dumps({"text": "y" * 300_000}))])
    page = get(client, conversation, f"body/{trace_of(conversation).turns[0].span.body}/")  # type: ignore[union-attr]
    assert page.count("y") < 200_100 and "the first 200000 characters" in page and "download all 300.0 KB" in page


def test_a_body_of_another_conversation_is_not_given_out(client: Client, incident: Conversation) -> None:
    request = trace_of(incident).steps()[-1].request
    other = Conversation.objects.exclude(pk=incident.pk).first()
    assert request and other
    for rest in (f"body/{request.body}/", f"body/{request.body}/raw/", "body/nothing/"):
        get(client, other, rest, status=404)
    assert client.get("/conversations/nobody/trace/").status_code == 404


def test_the_json_twin_tells_turns_steps_spans_lane_and_problems(client: Client, incident: Conversation) -> None:
    report = client.get(f"/conversations/{incident.oid}/trace.json").json()
    assert [len(turn["steps"]) for turn in report["turns"]] == [1, 1, 2]
    assert [len(turn["spans"]) for turn in report["turns"]] == [6, 6, 13]
    step = report["turns"][2]["steps"][0]
    assert (step["finish_reason"], step["attempts"], step["seqs"]) == ("tool_calls", 1, [8, 9, 10, 11, 12, 13])
    assert [(span["name"], span["state"]) for span in report["lane"]] == [
        ("provider.request", "complete"),
        ("reconcile.repair", "complete"),
        ("provider.request", "never closed"),
    ]
    assert report["lane"][1]["attributes"]["droppedEmptyMessages"] == 1
    assert len(report["problems"]) == 1 and report["sources"][0]["format"] == "dispatch-traces"


def test_the_number_of_queries_does_not_grow_with_the_trace(client: Client, with_trace: Any) -> None:
    turns = [f"t{number}" for number in range(30)]
    records = [
        opened(f"{kind}{turn}", kind, at, turn, body=f'{{"{turn}": 1}}')
        for turn in turns
        for at, kind in enumerate(("turn", "step", "prompt"))
    ]
    conversation = with_trace(records)
    loading._stored.cache_clear()
    loading._trace.cache_clear()
    with CaptureQueriesContext(
        connection,
    ) as queries:
        get(client, conversation)
    assert len(queries) <= 14
