"""The page of a conversation, its chunks and its prompt: filters, windows, hostile text, and the twins."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from inspector.demo import dispatch_incident
from inspector.demo.creation import write_journal
from inspector.models import Conversation, loading
from inspector.views import analysis
from tests.actions.building import A, Store, T, U, again, bring, chunk_key, er, imported, make, merged, put, row, tc, tr
from tests.views.test_explain import session

pytestmark = pytest.mark.django_db

HTMX = {"HTTP_HX_REQUEST": "true"}
Get = Callable[..., str]
__all__ = ["session"]


@pytest.fixture
def get(client: Client) -> Get:
    def page(conversation: Conversation, rest: str = "/", status: int = 200, **headers: str) -> str:
        answer = client.get(f"/conversations/{conversation.oid}{rest}", **headers)  # type: ignore[arg-type]
        assert answer.status_code == status, rest
        return answer.content.decode()

    return page


def seqs(page: str) -> list[int]:
    return [int(seq) for seq in re.findall(r'<tr id="seq-(\d+)"', page)]


def words_of(page: str, kind: str) -> str:
    """Of the first paragraph of this class, without tags."""
    text = re.search(rf'<p class="{kind}">(.*?)</p>', page, re.DOTALL)
    assert text is not None
    return " ".join(re.sub(r"<[^>]+>", "", text[1]).split())


def spans(page: str, column: str) -> list[int]:
    """Of each message in a column, the rows that it has: one cell over them, or where it is merged a cell for each."""
    rows: list[int] = []
    for span, begins in re.findall(
        rf'<td class="{column}"(?: rowspan="(\d+)")?>(?:<div class="msg \w merged[^"]*?( begins)?(?: ends)?")?', page
    ):
        if span or begins:
            rows.append(int(span or 1))
        else:
            rows[-1] += 1
    return rows


def long(path: Path, chunks: int = 1000) -> Conversation:
    """Turns of five chunks, appended as the server does."""
    store = Store()
    for turn in range(chunks // 5):
        store.append(U(f"question {turn}"))
        store.append(A("let me see", tc(f"id{turn}")), T(tr(f"id{turn}")))
        store.append(A(f"answer {turn}"))
    return imported(path, store)


# Filters, and what the query string chooses


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", list(range(1, 15))),
        ("?kind=thinking", [2, 5, 8, 14]),
        ("?kind=tool-call", [10, 11]),
        ("?role=user", [1, 4, 7]),
        ("?role=tool&kind=tool-result", [12, 13]),
        ("?q=CACHE-WARMING", [12]),
        ("?q=toolCallId&role=assistant", [10, 11]),
        ("?kind=error", []),
        ("?q=no such words", []),
        ("?kind=%3Cscript%3E&role=%00&at=x&rev=x&from=-1", list(range(1, 15))),
    ],
)
def test_filters_choose_chunks(get: Get, incident: Conversation, query: str, shown: list[int]) -> None:
    page = get(incident, f"/{query}")
    assert seqs(page) == shown
    if not shown:
        assert "No chunk matches these filters; the conversation has 14" in page
    for column in ("true", "read", "sent"):
        assert sum(spans(page, column)) == len(shown)


def test_findings_only_shows_the_chunks_that_findings_name(get: Get, client: Client, tmp_path: Path) -> None:
    conversation = imported(tmp_path / "a.db", Store().append(U("a"), A("b")).append(U("c"), A("d", tc("lost")), U("e")))
    named = {seq for finding in client.get(f"/conversations/{conversation.oid}.json").json()["findings"] for seq in finding["seqs"]}
    assert named and named < set(range(1, 7)) and seqs(get(conversation, "/?only=findings")) == sorted(named)


def test_a_finding_is_chosen_by_code_or_id_and_its_chunks_light_up(get: Get, incident: Conversation) -> None:
    finding = incident.findings.get(code="MSG101")
    for wanted in (finding.oid, "MSG101"):
        page = get(incident, f"/?finding={wanted}")
        assert re.findall(r'<tr id="seq-(\d+)" class="[^"]*\bhit\b', page) == [str(seq) for seq in range(1, 12)]
    assert "hit" not in re.findall(r'<tr id="seq-1" class="([^"]*)"', get(incident))[0]


def test_another_reader_projection_and_profile_are_chosen_in_the_address(get: Get, incident: Conversation) -> None:
    assert 'class="msg u merged"' in get(incident)
    exact = get(incident, "/?reader=exact%2Bkeep-thinking")
    assert (
        "merged" not in "".join(re.findall(r'<td class="read".*?</td>', exact, re.DOTALL))
        and "<b>9</b> read by exact+keep-thinking" in exact
    )
    assert "load throws" not in get(incident, "/?reader=dispatch-legacy%2Br1")
    for name in ("dispatch-openai",):
        assert f"<option selected>{name}</option>" in get(incident, f"/?as={name}&profile=openai-chat")


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("?reader=nobody", "There is no reader &#x27;nobody&#x27;; `readers` lists them"),
        ("?reader=dispatch-legacy%2Bfast", "There is no reader &#x27;dispatch-legacy+fast&#x27;"),
        ("?reader=%3Cb%3E%E2%80%AE", "There is no reader &#x27;&lt;b&gt;\\u202e&#x27;"),
        ("?as=telegram", "&#x27;telegram&#x27;"),
        ("?profile=telegram", "&#x27;telegram&#x27;"),
        ("?rev=99", "There is no such revision of this conversation."),
    ],
)
def test_what_does_not_exist_is_a_sentence(get: Get, incident: Conversation, query: str, sentence: str) -> None:
    for rest in ("/", "/prompt/") if "rev" not in query else ("/", "/prompt/", "/chunks/0/", "/chunks/0/raw/"):
        assert sentence in get(incident, f"{rest}{query}", status=404)


def test_unknown_conversations_and_chunks_are_404(get: Get, client: Client, incident: Conversation) -> None:
    assert client.get("/conversations/nobody/").status_code == 404
    assert "The conversation has no such chunk." in get(incident, "/chunks/14/", status=404)


def test_an_old_revision_stays_as_it_was(get: Get, tmp_path: Path) -> None:
    conversation = imported(tmp_path / "a.db", merged())
    put(tmp_path / "a.db", chunk_key(2), row("rewritten", "assistant"))
    conversation = again(tmp_path / "a.db")
    new, old = get(conversation), get(conversation, "/?rev=1")
    assert "rewritten" in new and "hi there" not in new
    assert "hi there" in old and "rewritten" not in old and 'of 2: <a class="link" href="?">newest</a>' in old


def test_a_past_request_stands_in_the_middle_and_on_the_right(get: Get, incident: Conversation) -> None:
    trace = loading.trace(incident, incident.native_id)
    assert trace is not None
    step = trace.steps()[-2]
    page = get(incident, f"/?step={quote(step.step_id)}")
    assert "show what was observed" in page and "<b>Client's prompt</b>" in page and spans(page, "read")[0] == 6
    assert sum(spans(page, "read")) == 14
    unknown = get(incident, "/?step=%3Cb%3E%00")
    assert "No trace of &lt;b&gt;\\x00 is imported" in unknown


# Windows


def test_htmx_gets_the_rows_alone(get: Get, incident: Conversation) -> None:
    part = get(incident, **HTMX)
    assert "<html" not in part and "<h1" not in part and part.strip().startswith("<tbody>") and seqs(part) == list(range(1, 15))
    boosted = get(incident, HTTP_HX_BOOSTED="true", **HTMX)
    assert "<html" in boosted


def test_scrolling_shows_every_row_once_and_in_order(get: Get, tmp_path: Path) -> None:
    conversation = long(tmp_path / "a.db", 1001 // 5 * 5)
    page, seen, windows = get(conversation), [], 0
    while True:
        rows = seqs(page)
        seen += rows
        windows += 1
        for column in ("true", "read", "sent"):
            assert sum(spans(page, column)) == len(rows)
        following = re.search(r'hx-get="(\?[^"]+)"', page)
        if following is None:
            break
        page = get(conversation, f"/{following[1].replace('&amp;', '&')}", **HTMX)
    assert seen == list(range(1, 1001)) and windows == 10


def test_scrolling_keeps_the_filters_and_ends_where_rows_repeat_their_number(get: Get, tmp_path: Path) -> None:
    values = {f"conv:c1:chunk:x{number:04d}": row("odd") for number in range(450)}
    conversation = imported(tmp_path / "a.db", values)
    page, rows = get(conversation, "/?kind=text&q=odd"), []
    for _ in range(5):
        rows += re.findall(r"/chunks/(\d+)/\?rev=1\" title", page)
        following = re.search(r'hx-get="(\?[^"]+)"', page)
        if following is None:
            break
        assert "kind=text" in following[1] and "q=odd" in following[1]
        page = get(conversation, f"/{following[1].replace('&amp;', '&')}", **HTMX)
    assert rows == [str(number) for number in range(450)]


def test_a_link_to_a_chunk_shows_what_stands_before_it_and_leads_both_ways(get: Get, tmp_path: Path) -> None:
    conversation = long(tmp_path / "a.db")
    page = get(conversation, "/?at=500")
    assert seqs(page) == list(range(497, 597))
    earlier = re.search(r'href="([^"]+)">\d+ earlier', page)
    assert earlier is not None and seqs(get(conversation, f"/{earlier[1]}")) == list(range(397, 497))
    later = re.search(r'href="([^"]+)" hx-get', page)
    assert later is not None and seqs(get(conversation, f"/{later[1]}")) == list(range(597, 697))
    assert seqs(get(conversation, "/?at=99999"))[-1] == 1000
    assert seqs(get(conversation, "/?from=99999")) == list(range(994, 1001)), "where nothing is, its end"
    assert seqs(get(conversation, "/?from=400&at=10"))[0] == 7


def test_a_message_that_goes_on_from_the_window_before_says_so(get: Get, tmp_path: Path) -> None:
    store = Store()
    for number in range(300):
        store.append(U(f"all of these are read as one {number}"))
    page = get(imported(tmp_path / "a.db", store), "/?from=200")
    assert spans(page, "read") == [100] and "300 chunks" in page


def test_the_number_of_queries_is_the_same_for_ten_and_a_thousand_chunks(client: Client, tmp_path: Path) -> None:
    counts = []
    for conversation in (long(tmp_path / "small.db", 10), long(tmp_path / "long.db", 1000)):
        for cached in (loading._stored, loading._trace, analysis._analysis):
            cached.cache_clear()
        with CaptureQueriesContext(connection) as queries:
            assert client.get(f"/conversations/{conversation.oid}/").status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 24


def test_what_the_reader_makes_up_stands_last_and_in_no_store(get: Get, tmp_path: Path) -> None:
    store = Store().append(U("go"), A("calling", tc("x")), U("and?"), A("well"))
    page = get(imported(tmp_path / "a.db", store))
    rows = re.findall(r"<tr[ >].*?</tr>", page[page.index("<tbody>", page.index('id="rows"')) :], re.DOTALL)
    assert 'class="synthetic"' in rows[5] and "not stored" in rows[5] and "synthetic: " in rows[5]
    assert "interrupted: tool execution did not complete" in rows[5] and seqs(page) == [1, 2, 3, 4, 5]


def test_what_the_reader_makes_up_between_messages_stands_in_its_place(get: Get, session: Conversation) -> None:
    page = get(session)
    rows = re.findall(r"<tr[ >].*?</tr>", page[page.index("<tbody>") :], re.DOTALL)
    at = next(at for at, row in enumerate(rows) if 'class="synthetic"' in row)
    assert 'id="seq-29"' in rows[at - 1] and 'id="seq-30"' in rows[at + 1] and "messages.6 · user" in rows[at]


def test_results_joined_with_the_users_words_are_no_alarm_and_two_answers_in_one_message_are(get: Get, session: Conversation) -> None:
    page = get(session)
    alarms = re.findall(r'<td class="sent"[^>]*><div class="msg \w merged[^>]* begins[^>]*>.*?<b>([^<]+)</b>', page, re.DOTALL)
    assert alarms == ["messages.3 · assistant"]


def test_made_up_rows_come_with_the_last_window_only(get: Get, tmp_path: Path) -> None:
    store = Store()
    for number in range(210):
        store.append(A(tc(f"open{number}")))
    conversation = imported(tmp_path / "a.db", store)
    assert 'class="synthetic"' not in get(conversation)
    last = get(conversation, "/?from=200", **HTMX)
    assert last.count('class="synthetic"') == 201 and "and 10 more synthetic messages inserted by the reader" in last


def test_unreadable_rows_stand_in_their_place_with_the_reason(get: Get, tmp_path: Path) -> None:
    values = {**merged().values, chunk_key(2): "{broken <b>", chunk_key(3): "null"}
    page = get(imported(tmp_path / "a.db", values))
    rows = re.findall(r'<tr id="seq-\d+" class="([^"]*)".*?</tr>', page, re.DOTALL)
    assert ["broken" in classes for classes in rows] == [False, True, True, False]
    assert "not JSON: Expecting property name" in page and "{broken &lt;b&gt;" in page and "the row is JSON null" in page
    assert 'class="gate">dispatch-legacy: load throws' in page


def test_a_number_that_a_row_never_had_is_a_dash_in_the_diff(client: Client, tmp_path: Path) -> None:
    row = imported(tmp_path / "a.db", {**merged().values, chunk_key(2): "{broken"})
    page = client.get(f"/conversations/{row.oid}/repairs/new/?strategy=replace-unreadable-row").content.decode()
    assert "msgIdx <s>–</s>" in page and ">None<" not in page


# Hostile text

NASTY = "<script>alert(1)</script></td></table>\u202etxt.exe\x1b[31mred\x00\ud800\u2028{{ 7|add:7 }}"
SHOWN = "&lt;script&gt;alert(1)&lt;/script&gt;&lt;/td&gt;&lt;/table&gt;\\u202etxt.exe\\x1b[31mred\\x00\\ud800\\u2028{{ 7|add:7 }}"


def nasty(path: Path) -> Conversation:
    store = Store().append(U(NASTY), A(NASTY, er(NASTY, NASTY), tc(NASTY, NASTY, {NASTY: [NASTY]})), T(tr(NASTY, NASTY, NASTY)))
    store.append(A(tc("open", NASTY, NASTY)))
    meta = {"createdAt": 1, "lastActivityAt": 2, "title": NASTY, "status": NASTY, "workspaceId": NASTY}
    store.values["conv:c1:meta"] = json.dumps(meta)
    store.values["conv:c1:model"] = "<script>alert(2)</script>"
    return imported(path, store)


@pytest.mark.parametrize("rest", ["/", "/chunks/0/", "/chunks/3/", "/prompt/", "/repairs/new/?strategy=renumber-messages&mode=fork"])
def test_hostile_text_is_shown_and_not_obeyed(get: Get, tmp_path: Path, rest: str) -> None:
    page = get(nasty(tmp_path / "a.db"), rest)
    assert "<script>alert" not in page
    for hidden in ("\u202e", "\x1b", "\x00", "\u2028"):
        assert hidden not in page
    assert "\\u202etxt.exe\\x1b[31mred" in page or "\\u202etxt.exe\\u001b[31mred" in page
    if rest == "/":
        assert SHOWN in page and page.count("</table>") == page.count("<table")


def test_hostile_text_comes_whole_out_of_the_json_twin(client: Client, tmp_path: Path) -> None:
    conversation = nasty(tmp_path / "a.db")
    answer = client.get(f"/conversations/{conversation.oid}.json")
    assert answer["Content-Type"] == "application/json" and answer.content.isascii()
    report = answer.json()
    assert report["read"]["messages"][0]["chunks"][0]["text"] == NASTY
    assert client.get(f"/conversations/{conversation.oid}/prompt.json").content.isascii()


def test_hostile_text_is_quoted_in_markdown(get: Get, tmp_path: Path) -> None:
    text = get(nasty(tmp_path / "a.db"), ".md")
    fence = text.index("```")
    assert "<script>" not in text[:fence] and "alert(1)" in text[fence:]
    for hidden in ("\u202e", "\x1b", "\x00", "\u2028"):
        assert hidden not in text


def test_traces_of_hostile_ids_do_not_break_the_page(get: Get, tmp_path: Path) -> None:
    turn = "turn\ud800<b>\x00"
    spans_ = [
        {"kind": "span-open", "name": name, "spanId": name, "turnId": turn, "conversationId": "c1", "timestamp": at, "extensionId": "x"}
        for at, name in enumerate(("turn", "step", "prompt"))
    ]
    spans_[1]["parentSpanId"], spans_[2]["parentSpanId"] = "turn", "step"
    spans_[2]["body"] = json.dumps({"messages": [{"role": "user", "chunks": [{"type": "text", "text": "hello"}]}]})
    write_journal(tmp_path / "j.ndjson", spans_)
    make(tmp_path / "a.db", merged().values)
    bring(tmp_path / "a.db", tmp_path / "j.ndjson")
    conversation = Conversation.objects.get()
    page = get(conversation)
    assert "turn 1 step 0" in page
    value = re.findall(r'<option value="([^"]+)">turn 1 step 0', page)[0]
    assert "show what was observed" in get(conversation, f"/?step={quote(value.replace('&lt;', '<').replace('&gt;', '>'))}")


def test_secrets_are_masked_in_markdown_and_on_the_page(get: Get, tmp_path: Path) -> None:
    key = "sk-proj-" + "Ab3dEf7hIj1LmN0pQrStUvWxYz" * 2
    conversation = imported(tmp_path / "a.db", Store().append(U(f"my key is {key}")).append(A(f"the key {key} is set")))
    for text in (get(conversation), get(conversation, ".json"), get(conversation, ".md")):
        assert key[8:30] not in text and "my key is" in text


# Twins, chunks and the prompt


def test_the_json_twin_has_the_fields_of_scan_and_the_messages_of_show(client: Client, incident: Conversation) -> None:
    report = client.get(f"/conversations/{incident.oid}.json").json()
    assert {"id", "native_id", "format", "reader", "chunks", "messages", "verdict", "findings", "profiles"} <= set(report)
    assert (report["id"], report["native_id"], report["chunks"], report["messages"]) == (
        incident.oid, dispatch_incident.CONVERSATION, 14, 4,
    )  # fmt: skip
    assert report["profiles"]["openai-chat"]["sendable"] is False and len(report["chunk_lines"]) == 14
    exact = client.get(f"/conversations/{incident.oid}.json?reader=exact").json()
    assert (exact["reader"], exact["messages"]) == ("exact", 9)


def test_markdown_has_verdict_findings_and_a_link(client: Client, incident: Conversation) -> None:
    answer = client.get(f"/conversations/{incident.oid}.md")
    text = answer.content.decode()
    assert answer["Content-Type"] == "text/markdown; charset=utf-8" and text.startswith("**")
    assert "MSG101" in text and f"/conversations/{incident.identity}/?rev=1&reader=dispatch-legacy` in an Inspector" in text


def test_a_chunk_is_shown_whole_and_downloaded_to_the_byte(client: Client, tmp_path: Path) -> None:
    odd = '{ "chunk":{"type":"text","text":"<b>bold</b>"},"role":"user", "msgIdx":0,"chunkIdx":0,"more":[1]}'
    conversation = imported(tmp_path / "a.db", {**merged().values, chunk_key(1): odd})
    page = client.get(f"/conversations/{conversation.oid}/chunks/0/").content.decode()
    assert "&lt;b&gt;bold&lt;/b&gt;" in page and "<b>bold" not in page and "conv:c1:chunk:0000000001" in page and "more" in page
    raw = client.get(f"/conversations/{conversation.oid}/chunks/0/raw/")
    assert raw.content == odd.encode() and raw["Content-Type"] == "application/octet-stream"
    assert raw["Content-Disposition"] == f'attachment; filename="{conversation.oid}-seq-1.json"'
    assert raw["X-Content-Type-Options"] == "nosniff" and "default-src 'none'" in raw["Content-Security-Policy"]


def test_a_chunk_of_an_old_revision_is_still_there(client: Client, tmp_path: Path) -> None:
    conversation = imported(tmp_path / "a.db", merged())
    put(tmp_path / "a.db", chunk_key(2), row("rewritten", "assistant"))
    again(tmp_path / "a.db")
    old, new = (client.get(f"/conversations/{conversation.oid}/chunks/1/{query}").content.decode() for query in ("?rev=1", ""))
    assert "hi there" in old and "rewritten" in new and "hi there" not in new


def test_the_prompt_shows_what_is_sent_what_is_lost_and_where_it_comes_from(client: Client, get: Get, incident: Conversation) -> None:
    page = get(incident, "/prompt/")
    assert "rejected at messages.1 (OC-2)" in page and "dropped by reconcile: the message holds only thinking" in page
    report = client.get(f"/conversations/{incident.oid}/prompt.json").json()
    assert list(report) == ["messages", "sources", "lost"] and report["messages"][0]["role"] == "user"
    assert {seq for found in report["sources"].values() for seq in found} <= set(range(1, 15)) and report["lost"]
    exact = client.get(f"/conversations/{incident.oid}/prompt.json?reader=exact%2Bkeep-thinking").json()
    assert [message["role"] for message in exact["messages"]] == [
        "user", "assistant", "user", "assistant", "user", "assistant", "tool", "tool", "assistant",
    ]  # fmt: skip


def test_a_conversation_without_chunks_is_a_page_that_says_so(get: Get, tmp_path: Path) -> None:
    make(tmp_path / "a.db", {"conv-index": '["only-listed"]'})
    bring(tmp_path / "a.db")
    conversation = Conversation.objects.get()
    assert "The store has no chunks of this conversation." in get(conversation)
    for rest in (".json", ".md", "/prompt/", "/prompt.json", "/trace/", "/repairs/new/?strategy=fix-counter"):
        get(conversation, rest)


def test_a_gone_conversation_says_so_and_keeps_its_chunks(get: Get, tmp_path: Path) -> None:
    conversation = imported(tmp_path / "a.db", merged(merged(), to="c2"))
    make(tmp_path / "b.db", merged(to="c2").values)
    (tmp_path / "b.db").replace(tmp_path / "a.db")
    bring(tmp_path / "a.db")
    page = get(conversation)
    assert "gone from the store at the last import" in page and "hi there" in page


# What a reader at three in the morning must not have to guess


@pytest.mark.parametrize(
    ("content", "is_error", "said"),
    [
        ("interrupted: tool execution did not complete", True, "a placeholder for a missing result"),
        ("interrupted: tool execution did not complete", False, "a placeholder for a missing result"),
        ("Aborted", True, "the turn was stopped"),
        ("Unknown tool: run_shell", True, "there is none of that name"),
        ("Aborted", False, ""),
        ("Unknown tool: other", True, ""),
        ("Tool execution error: EACCES", True, ""),
    ],
)
def test_a_result_that_no_tool_gave_says_so_in_its_row(get: Get, tmp_path: Path, content: str, is_error: bool, said: str) -> None:
    result = {"type": "tool-result", "toolCallId": "c1", "toolName": "run_shell", "content": content, "isError": is_error}
    conversation = imported(tmp_path / "a.db", Store().append(U("go"), A(tc("c1")), T(result)))
    shown = get(conversation).split('<tr id="seq-3"', 1)[1].split("</tr>", 1)[0]
    alone = get(conversation, "/chunks/2/")
    assert ("synthetic" in shown) == ("Synthetic: " in alone) == bool(said)
    assert said in shown and said in alone


def test_recorded_errors_are_counted_at_the_top_of_the_page(get: Get, tmp_path: Path) -> None:
    conversation = imported(tmp_path / "a.db", Store().append(U("go")).append(A(er("HTTP 401: no"))).append(A(er("HTTP 529: busy"))))
    assert "<summary>2 errors recorded</summary>" in get(conversation)
    assert "recorded</summary>" not in get(imported(tmp_path / "b.db", Store().append(U("go"))))


def test_where_the_reader_fails_nothing_is_said_to_be_sent(get: Get, tmp_path: Path) -> None:
    imported(tmp_path / "a.db", Store().append(U("go")))
    put(tmp_path / "a.db", chunk_key(2), "null")
    conversation = again(tmp_path / "a.db")
    page, prompt = get(conversation), get(conversation, "/prompt/")
    assert "nothing: the reader fails" in page and "nothing: no request can be made" in page
    assert "passes all known rules" not in page.split("<thead>", 1)[1].split("</thead>", 1)[0]
    assert "<h1>Nothing is sent: dispatch-legacy cannot open this conversation." in prompt and "passes all known rules" not in prompt


def test_an_id_of_any_length_is_cut_and_says_how_much(get: Get, tmp_path: Path) -> None:
    long_id = "x" * 3000
    page = get(imported(tmp_path / "a.db", Store().append(U("go"), to=long_id), long_id))
    assert f"{'x' * 200}… 2,800 characters more" in page and "x" * 201 not in page.split("<h1>", 1)[0].split("</title>", 1)[1]


def span_of_step(name: str, parent: str = "", **more: object) -> dict[str, object]:
    turn = "turn-1782600000000-abcdef"
    record = {"kind": "span-open", "name": name, "spanId": name, "turnId": turn, "conversationId": "c1", "timestamp": 1782600000000}
    return {**record, "extensionId": "x", "attributes": {"stepId": f"{turn}#0"}, **({"parentSpanId": parent} if parent else {}), **more}


def observed_page(get: Get, tmp_path: Path, *spans_: dict[str, object]) -> str:
    write_journal(tmp_path / "j.ndjson", [span_of_step("turn"), span_of_step("step", "turn"), *spans_])
    make(tmp_path / "a.db", Store().append(U("hello")).append(U("never sent")).append(U("more")).append(A("an answer")).values)
    bring(tmp_path / "a.db", tmp_path / "j.ndjson")
    conversation = Conversation.objects.get()
    step = re.findall(r'<option value="([^"]+)">turn 1 step 0', get(conversation))[0]
    return get(conversation, f"/?step={quote(step)}")


def test_a_request_without_its_prompt_claims_nothing_about_the_rows(get: Get, tmp_path: Path) -> None:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello"}]})
    page = observed_page(get, tmp_path, span_of_step("provider.request", "step", body=body))
    assert "Which stored rows this request had is not known" in words_of(page, "verdict") and "from which rows is not known" in page
    assert "<b>not known</b>" in page and "the prompt of this request is not recorded" in page
    for claim in ("merged nothing", "left out", "later than this request", "0 messages in the client"):
        assert claim not in page, claim


def test_a_row_that_a_past_request_skipped_is_not_called_later(get: Get, tmp_path: Path) -> None:
    chunks = [{"role": "user", "chunks": [{"type": "text", "text": text}]} for text in ("hello", "more")]
    page = observed_page(get, tmp_path, span_of_step("prompt", "step", body=json.dumps({"messages": chunks, "tools": []})))
    skipped, later = (page.split(f'<tr id="seq-{seq}"', 1)[1].split("</tr>", 1)[0] for seq in (2, 4))
    assert "not in this request, though it is before rows that are" in skipped and "later than" not in skipped
    assert "later than this request" in later


def test_a_past_request_whose_bodies_are_gone_says_so(get: Get, tmp_path: Path) -> None:
    page = observed_page(get, tmp_path)
    assert "the trace no longer has its prompt or its request" in page and "is imported; this shows" not in page


def test_the_copy_of_a_past_request_says_one_thing_and_leads_back_to_it(client: Client, incident: Conversation) -> None:
    trace = loading.trace(incident, incident.native_id)
    assert trace is not None
    step = trace.steps()[-2]
    text = client.get(f"/conversations/{incident.oid}.md?step={quote(step.step_id)}").content.decode()
    headline, rest = text.split("\n", 1)
    assert headline.startswith("**The request of") and "as observed: passes all known rules. The next one:" in headline
    assert "passes all known rules." in rest and f"&step={quote(step.step_id)}" in rest
    now = client.get(f"/conversations/{incident.oid}.md").content.decode()
    assert "as observed" not in now.split("\n", 1)[0] and "&step=" not in now
