"""One box for whatever somebody has: each kind is answered by its view, and nothing is kept."""

import json
import re
from html import unescape
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils.html import escape

from inspector.models import Conversation, Payload, Problem, Record, Repair, Source, Stream
from inspector.views.check import EXAMPLES as BODIES
from inspector.views.diagnose import EXAMPLES
from tests.commands.running import run
from tests.presentation.diagnose.test_pasted import ERROR, SESSION
from tests.programs.claude_code.session_lines import ID, a, call, lines, u, write
from tests.programs.opencode import stores as opencode
from tests.views.imported import MERGED, rows, store
from tests.views.test_check import GOOD, LATE

pytestmark = pytest.mark.django_db
STREAM = 'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}\n\n'


def post(client: Client, text: str, status: int = 200) -> str:
    answer = client.post("/diagnose/", {"text": text})
    assert answer.status_code == status, answer.content[:300]
    return answer.content.decode()


def test_a_request_that_is_cut_off_is_asked_for_in_the_same_box(client: Client) -> None:
    """The answer was the page Check, of which the next error that was pasted was no JSON."""
    answer = client.post("/diagnose/", {"text": '{"model": "gpt-5",\n "messages": [\n {"role": "assist'}, follow=True)
    page = answer.content.decode()
    assert "What was given is cut off at its end" in page and "no JSON from" not in page and answer.status_code == 400
    assert 'action="/diagnose/"' in page and "{&quot;role&quot;: &quot;assist</textarea>" in page and 'action="/check/"' not in page


def test_an_answer_that_was_not_streamed_is_judged_as_a_stream_is(client: Client) -> None:
    call = '<tool_call>{"name": "ls", "arguments": {}}</tool_call>'
    choice = {"index": 0, "message": {"role": "assistant", "content": call}, "finish_reason": "stop"}
    answer = json.dumps({"id": "c", "object": "chat.completion", "created": 1790000000, "model": "gpt-5", "choices": [choice]})
    page = post(client, answer)
    assert "A call of ls was written as text in the answer" in page and "An answer of OpenAI Chat Completions that was not streamed" in page
    assert 'href="/check/">check the next request' in page and "To keep it" not in page
    assert "Copy the corrected answer" in page and "&quot;created&quot;: 1790000000" in page and "are left out" not in page, "it keeps them"
    assert "<del>&quot;finish_reason&quot;: &quot;stop&quot;</del><ins>&quot;finish_reason&quot;: &quot;tool_calls&quot;</ins>" in page
    assert f"{escape(answer)}</textarea>" in page and "The answer, or something else" in page
    key = answer.replace('"gpt-5"', '"sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"')
    assert "Something else" in post(client, key), "masked, it would be given so again"
    assert "Its parts" in page and "STREAM125</a> tool-text-in-content" in page and "[DONE]" not in page, "nobody sent events"
    torn = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "ls", "arguments": '{"pa'}}],
    }
    cut = {
        "id": "c",
        "object": "chat.completion",
        "created": 1790000000,
        "model": "gpt-5",
        "choices": [choice | {"message": torn, "finish_reason": "length"}],
    }
    page = post(client, json.dumps(cut))
    assert "OpenAI Chat Completions: it stopped at the limit of its tokens (length)" in page and "4 events" not in page
    assert "<b>ls</b> {&quot;pa" in page and "its arguments are cut off" in page
    report = client.post("/diagnose.json", {"text": answer}).json()
    assert report["recognized"] == "answer" and report["streams"][0]["findings"][0]["code"] == "STREAM125"
    said = client.post("/check/", {"body": answer}).content.decode()
    assert "is an answer of OpenAI Chat Completions that was not streamed, and no request" in said and "Diagnose it</button>" in said


def test_the_page_is_one_box(client: Client) -> None:
    text = client.get("/diagnose/").content.decode()
    assert text.count("<textarea") == 1
    assert 'type="file"' in text


@pytest.mark.parametrize(("what", "text"), EXAMPLES, ids=[what for what, _ in EXAMPLES])
def test_every_example_is_recognized_and_something_is_wrong_with_it(client: Client, what: str, text: str) -> None:
    assert f">{what}</button>" in client.get("/diagnose/").content.decode()
    answer = client.post("/diagnose/", {"text": text}, follow=True)
    assert answer.status_code == 200 and 'class="badge' in answer.content.decode() and "Not recognized" not in answer.content.decode()


@pytest.mark.parametrize(("what", "text"), BODIES, ids=[what for what, _ in BODIES])
def test_every_example_of_a_request_is_rejected(client: Client, what: str, text: str) -> None:
    assert f'value="{escape(text)}">{what}</button>' in client.get("/check/").content.decode()
    answer = client.post("/check/", {"body": text}).content.decode()
    assert "rejected</span> by" in answer[answer.index('id="verdict"') :][:300] and "Try an example" not in answer


def test_an_error_leads_to_the_link_of_its_explanation(client: Client) -> None:
    answer = client.post("/diagnose/", {"text": ERROR})
    assert answer.status_code == 302
    assert answer["Location"].startswith("/explain/?error=openai.BadRequestError")
    assert "TOOL202" in client.get(answer["Location"]).content.decode()


def test_an_error_that_no_link_carries_is_explained_at_once(client: Client) -> None:
    assert "TOOL202" in post(client, ERROR + "\n  at line" * 1000)


def test_a_request_is_checked_whatever_is_around_it(client: Client) -> None:
    for text in (json.dumps(LATE), f"curl https://api.example.com -d '{json.dumps(LATE)}'", repr(LATE)):
        page = post(client, text)
        assert "A call has no result in the next message: toolu_1 at messages.1" in page
        assert "move-results" in page
    assert "of which the body was taken" in post(client, f"curl https://api.example.com -d '{json.dumps(GOOD)}'")


def test_a_log_with_both_is_checked_and_offers_the_error(client: Client) -> None:
    page = post(client, f"sending {json.dumps(GOOD)}\n{ERROR}")
    assert "The error next to it" in page
    assert "must be a response" in page


def test_a_session_is_judged_with_the_place_of_each_finding(client: Client) -> None:
    page = post(
        client,
        SESSION
        + '\n{"type":"message","id":"b","parentId":"gone","timestamp":"2026-06-01T10:00:02.000Z","message":{"role":"user","content":[{"type":"text","text":"more"}],"timestamp":2}}',
    )
    assert "TREE101" in page
    assert "read by" in page


def test_what_is_advised_for_a_session_works_to_the_end(client: Client, tmp_path: Path) -> None:
    killed = lines(u("u1", None), a("a1", "u1", "m1", call("toolu_1")), u("u2", "a1", "and now?"))
    assert "import_source FOLDER</code>" in post(client, killed.decode())
    folder = write(tmp_path / "new", {f"{ID}.jsonl": killed})
    assert run("import_source", folder).status == 0
    assert run("repair", folder, "--strategy", "insert-interrupted-result", "--apply").status == 0
    assert len(list(folder.iterdir())) == 2
    assert run("undo", Repair.objects.get().oid).status == 0
    assert [file.read_bytes() for file in folder.iterdir()] == [killed]


def test_a_session_whose_repair_is_a_new_file_needs_no_folder(client: Client) -> None:
    page = post(client, json.dumps(opencode.whole(opencode.KILLED)))
    assert "import_source FILE</code>" in page
    assert "Judged as openai-chat, which is an assumption" in page


def test_a_stream_is_judged(client: Client) -> None:
    page = post(client, STREAM)
    title = page.partition("<h1>")[2].partition("</h1>")[0]
    assert "STREAM" in title and "A captured stream · " in page and "<b>In code:</b>" in page
    assert 'href="/sources/add/#paste">add it as text or a file</a>' in page and "repair it with undo" not in page


def test_a_stream_shows_its_events_with_what_is_wrong_there_and_how_it_should_have_been(client: Client) -> None:
    text = dict(EXAMPLES)["A stream"]
    page = post(client, text)
    events = re.findall(r"<tr>\s*<td class=\"n\">(.*?)</td>(.*?)</tr>", page.partition("<h3>Events</h3>")[2], re.DOTALL)
    assert [(number, "STREAM108" in row) for number, row in events] == [("0", False), ("1", True)]
    assert page.count("Choice 0 has content and got no finish reason.") == 1, "the sentence is there once"
    corrected = unescape(page.partition('id="corrected-1">')[2].partition("</pre>")[0])
    assert '"finish_reason":"length"' in corrected and 'data-copies="corrected-1"' in page
    right = post(client, corrected)
    assert "As it should have been" not in right and "STREAM108" not in right and "<h3>Events</h3>" in right


def test_of_a_long_stream_the_events_around_what_is_wrong_are_listed(client: Client) -> None:
    piece = 'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n: ping\n\n'
    page = post(client, piece * 40 + "data: [DONE]\n\n")
    numbers = re.findall(r'<td class="n">(.*?)</td>', page.partition("<h3>Events</h3>")[2])
    assert 1 < len(numbers) <= 24 and numbers[-1] == "80" and re.search(r"\d+ more events are not shown", page)


def test_a_file_is_taken_as_text_is(client: Client, tmp_path: Path) -> None:
    answer = client.post("/diagnose/", {"text": "", "file": SimpleUploadedFile("r.json", json.dumps(LATE).encode())})
    assert "AN-1" in answer.content.decode()


@pytest.mark.parametrize("text", ["", "good morning", "curl https://x", '{"a": 1}', "\x00\x1b[31m<script>alert(1)</script>"])
def test_what_cannot_be_used_is_answered_in_a_sentence(client: Client, text: str) -> None:
    page = post(client, text, 400)
    assert 'role="alert"' in page
    assert "<script>alert" not in page


def test_what_is_not_recognized_leads_to_what_is(client: Client) -> None:
    """It named a page without a link, and another one for errors than the page of them."""
    alert = post(client, "good morning", 400).partition('role="alert">')[2].partition("</p>")[0]
    assert 'href="/formats/">Formats that are read' in alert and 'href="/profiles/">Errors that are known' in alert


def test_what_is_not_recognized_is_there_again(client: Client) -> None:
    answer = client.post("/diagnose/", {"text": "password = hunter2-and-more\nno <more>"})
    assert answer.status_code == 400 and answer["Cache-Control"] == "no-store"
    assert ">password = hunter2-and-more\nno &lt;more&gt;</textarea>" in answer.content.decode(), "masked, it would be diagnosed so"
    assert "></textarea>" in client.get("/diagnose/").content.decode()


def test_nothing_is_kept(client: Client) -> None:
    for text in (ERROR, json.dumps(LATE), SESSION, STREAM):
        client.post("/diagnose/", {"text": text})
    assert not any(model.objects.exists() for model in (Source, Conversation, Record, Payload, Stream))


def test_the_twin_says_as_what_it_was_recognized(client: Client) -> None:
    for text, kind in ((ERROR, "error"), (json.dumps(LATE), "request"), (SESSION, "session"), (STREAM, "stream")):
        report = client.post("/diagnose.json", {"text": text}).json()
        assert report["recognized"] == kind
        assert report[{"session": "sessions", "stream": "streams"}.get(kind, kind)]
    assert client.get("/diagnose.json").status_code == 405
    assert "nothing to look at" in client.post("/diagnose.json", {"text": ""}).json()["error"]


def test_secrets_of_what_was_pasted_are_masked_on_the_page(client: Client) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    assert secret not in post(client, SESSION.replace('"hi"', f'"{secret}"'))


@pytest.fixture
def known(tmp_path: Path) -> Conversation:
    store(tmp_path / "a.db", rows("0a1b2c3d-0000-4000-8000-000000000001", MERGED, "One"))
    return Conversation.objects.get()


def test_an_id_a_place_and_a_code_lead_to_their_pages(client: Client, known: Conversation) -> None:
    finding, problem = known.findings.get(code="MSG101"), Problem.objects.get(code="MSG101")
    page_of, place = f"/conversations/{known.oid}/", f"/conversations/{known.oid}/?at=2#seq-2"
    leads = {
        **dict.fromkeys(
            (known.oid, f" {known.oid[:6]}\r\n", known.native_id, known.native_id[:8], known.shared_id, f"`{known.oid}`"), page_of
        ),
        **dict.fromkeys((f"{known.oid} seq 2", f"{known.oid}#seq-2", f"{known.oid}:2", f"{known.native_id} 2"), place),
        f"http://other.example:8000{place}": place,
        finding.oid: f"/findings/{finding.oid}/",
        finding.shared_id: f"/findings/{finding.oid}/",
        problem.oid: f"/problems/{problem.oid}/",
        known.source.oid: f"/sources/{known.source.oid}/",
        "msg101": "/rules/MSG101/",
        "premature-terminal": "/rules/STREAM101/",
        "renumber-messages": "/strategies/renumber-messages/",
        "AN-1": "/profiles/?q=AN-1",
    }
    for text, href in leads.items():
        answer = client.post("/diagnose/", {"text": text})
        assert (answer.status_code, answer.headers.get("Location")) == (302, href), text
    assert client.post("/diagnose.json", {"text": known.oid}).json() == {"recognized": "name", "what": "a conversation", "href": page_of}


def test_the_id_of_a_call_leads_to_where_it_is_stored(client: Client, tmp_path: Path) -> None:
    """Nothing here had it, it said, and its store was not imported."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, {f"{ID}.jsonl": lines(u("u1", None), a("a1", "u1", "m1", call("toolu_here01")))})
    run("import_source", tmp_path / "one")
    row = Conversation.objects.get()
    answer = client.post("/diagnose/", {"text": "toolu_here01"})
    assert answer.status_code == 302 and re.fullmatch(rf"/conversations/{row.oid}/\?at=(\d+)#seq-\1", answer["Location"])
    assert client.post("/diagnose.json", {"text": "toolu_here01"}).json()["what"] == "a call"
    run("import_source", tmp_path / "two")
    assert client.post("/diagnose/", {"text": "toolu_here01"})["Location"] == "/conversations/?q=toolu_here01"
    for near in ("toolu_here0", "toolu_here012"):
        assert "no conversation, call, finding" in post(client, near, 400)


def test_a_name_that_leads_nowhere_is_said(client: Client, known: Conversation) -> None:
    assert "Nothing here has the id or code ffffffffff00" in post(client, "ffffffffff00", 400)
    assert "paste the id of the conversation before it" in post(client, "seq 14", 400)
    # A word of a title, or a number after a word, is no place: it may be an error.
    for text in ("One 400", "one", "javascript:alert(1)", "//evil.example/x"):
        assert client.post("/diagnose/", {"text": text}).status_code == 400, text


def deltas(*pieces: str) -> str:
    return "".join(
        f'data: {{"choices":[{{"index":0,"delta":{{"content":{json.dumps(piece)}}},"finish_reason":null}}]}}\n\n' for piece in pieces
    )


def test_a_secret_that_came_in_pieces_is_masked_in_the_corrected_stream_too(client: Client) -> None:
    key = "sk-ant-api03-Zq9Xw8Vu7Ts6Rq5Po4Nm3Lk2Ji1Hg0Fe9Dc8Ba7Yz6Xw5Vu4Ts3Rq2Po1Nm0Lk9Ji8Hg7Fe6Dc5Ba4Yz3-AbCdEfGhAA"
    page = unescape(post(client, deltas("The key is ", *(key[at : at + 4] for at in range(0, len(key), 4)), " of Ada.")))
    corrected = page.partition('id="corrected-1">')[2].partition("</pre>")[0]
    assert "[masked" in corrected and "of Ada." in corrected
    assert not any(f'"{key[at : at + 4]}"' in page for at in range(4, len(key) - 4, 4))


def test_what_is_not_shown_of_a_stream_is_not_said_to_be_right(client: Client) -> None:
    broken = 'data: {"choices":[{"broken\n\n'
    page = post(client, "".join(f"{broken}{deltas(str(number), 'b')}: ping\n\n" for number in range(30)))
    assert "nothing wrong" not in page and re.search(r"\d+ more events are not shown", page)
    assert "cannot be" in page.partition("<h3>Events</h3>")[2] or "As it should have been" in page, "why there is none is said"
    late = post(client, deltas("a") + "data: [DONE]\n\n" + "".join(deltas(f"late{number}") + "data: [DONE]\n\n" for number in range(12)))
    rows = re.findall(r'<tr>\s*<td class="n">(.*?)</tr>', late.partition("<h3>Events</h3>")[2], re.DOTALL)
    assert all("STREAM" in row or "more</div>" in row for row in rows if "late" in row)
