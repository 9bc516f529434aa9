"""Check: a pasted or uploaded request is judged, repaired and given back, and nothing of it is kept."""

import base64
import html
import json
import re
from html import unescape
from typing import Any

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from inspector.models import Conversation, Payload, Record, Source
from inspector.presentation.check.lines import LARGEST
from inspector.profiles.catalogue import PROFILES
from inspector.views import check
from inspector.wires.names import WIRES
from tests.operators import OperatorClient

pytestmark = pytest.mark.django_db

CALL = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.txt"}
LATE: dict[str, Any] = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 100,
    "messages": [
        {"role": "user", "content": "List the files"},
        {"role": "assistant", "content": [CALL]},
        {"role": "user", "content": "still there?"},
        {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]},
        {"role": "user", "content": [RESULT]},
    ],
}
GOOD = {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]}


def post(client: Client, body: str, status: int = 200, **fields: str) -> str:
    answer = client.post("/check/", {"body": body, **fields})
    assert answer.status_code == status, answer.content[:400]
    return answer.content.decode()


def field_of(page: str) -> str:
    (text,) = re.findall(r'<textarea id="body".*?>([^<]*)</textarea>', page, re.DOTALL)
    return html.unescape(text)


def test_a_refused_body_shows_the_place_the_repair_and_stores_nothing(client: Client) -> None:
    text = post(client, json.dumps(LATE))
    assert ">A call has no result in the next message: toolu_1 at messages.1 <" in text
    assert "rejected</span> by" in text and "Only its end is missing" not in text
    assert "move-results" in text and "passes all known rules" in text
    assert all(f'/profiles/#{each.name}"' in text for each in PROFILES)
    assert not any(model.objects.exists() for model in (Source, Conversation, Record, Payload))
    assert "Nothing is stored" in text
    found = text[text.index('id="findings"') :]
    [(place, line)] = re.findall(r'<span class="mono">([^<]*)</span>: The result at seq 5 comes late.*?data-line="(\d+)"', found)
    assert place == "messages.4.content.0" and '"tool_result"' in field_of(text).split("\n")[int(line)], "as its provider names it"


def test_a_finding_has_no_path_where_the_body_is_judged_by_another_api(client: Client) -> None:
    text = post(client, json.dumps(LATE), profile="gemini")
    assert "<p>seq 5: The result at seq 5 comes late" in text


def test_the_value_that_is_missing_is_shown_and_the_line_after_which_it_belongs(client: Client) -> None:
    asked = {"role": "user", "content": [{"type": "text", "text": "Well?"}]}
    text = post(client, json.dumps({**LATE, "messages": [*LATE["messages"][:2], asked]}))
    (line,) = re.findall(r'<span id="line-(\d+)" class="[^"]*gains">', text)
    change = text[text.index("Insert after") : text.index("</pre>", text.index("Insert after"))]
    assert f'data-line="{line}"' in change and "<del>" not in change
    inserted = html.unescape("".join(re.findall(r"<ins>(.*?)</ins>", change))).removesuffix(",")
    assert json.loads(inserted)["tool_use_id"] == "toolu_1"
    assert 'data-copies="added-1">Copy</button>' in change and '<span id="added-1"><ins>' in change
    assert "<b>Then anthropic-2026-07: passes all known rules</b>, no error or warning remains." in text and not re.search(
        r"\d K?B (?:are )?written", text
    )
    taken_out = post(client, check.OPENAI)
    assert "Take out" in taken_out and "<ins>" not in taken_out and "data-copies" not in taken_out


def test_the_repaired_body_comes_back_as_a_download_and_passes(client: Client) -> None:
    held = re.search(r'name="held" value="([^"]+)"', post(client, json.dumps(LATE)))
    assert held and json.loads(base64.b64decode(held[1])) == LATE
    answer = client.post("/check/", {"held": held[1], "format": "anthropic-request", "do": "download"})
    assert answer["Content-Disposition"].startswith("attachment") and answer["Content-Type"] == "application/octet-stream"
    repaired = json.loads(answer.content)
    assert repaired["messages"][2]["content"][0] == RESULT and repaired["model"] == LATE["model"]
    assert "passes all known rules</h1>" in post(client, answer.content.decode())


def test_a_repair_is_applied_to_the_text_and_undone(client: Client) -> None:
    page = post(client, check.EXAMPLES[1][1])
    assert re.findall(r'<span id="line-(\d+)" class="fix">', page) == ["22"]
    (held,) = re.findall(r'name="held" value="([^"]+)"', page)
    applied = post(client, field_of(page), held=held, do="apply")
    assert "Applied to the text" in applied and "passes all known rules</h1>" in applied
    assert [block["type"] for block in json.loads(field_of(applied))["messages"][2]["content"]] == ["tool_result", "text"]
    assert re.findall(r'<span id="line-(\d+)" class="fix">', applied) == [str(number) for number in range(22, 34)]
    (before,) = re.findall(r'name="before" value="([^"]+)"', applied)
    undone = post(client, field_of(applied), before=before, do="undo")
    assert field_of(undone) == field_of(page) and "Applied to the text" not in undone and "Apply to the text" in undone


def repair_of(page: str) -> str:
    return page[page.index('<h2 id="repair">') : page.index('<h2 id="findings">')]


def test_a_lossy_repair_of_a_text_says_first_what_loses_nothing_and_promises_nothing_of_a_store(client: Client) -> None:
    page = post(client, check.OPENAI)
    repair = repair_of(page)
    assert (
        repair.index("Put the missing call back")
        < repair.index("What the tool said leaves the history.")
        < repair.index("Apply to the text")
    )
    assert "btn main" not in repair, "what loses content is not the main action"
    assert not re.search(r"[Uu]ndo and the audit|a gap in the numbers", page)


def test_a_safe_repair_of_a_text_is_the_main_action(client: Client) -> None:
    repair = repair_of(post(client, json.dumps(LATE)))
    assert '<button class="btn main" form="ask" name="do" value="apply">Apply to the text' in repair and "Better, if you can" not in repair


@pytest.mark.parametrize("body", [json.dumps(GOOD), json.dumps(LATE | {"system": "sk-ant-api03-" + "aB3" * 30})])
def test_what_has_no_repair_or_is_shown_with_masks_has_nothing_to_apply(client: Client, body: str) -> None:
    assert "Apply to the text" not in post(client, body)


@pytest.mark.parametrize(("act", "before"), [("apply", ""), ("undo", ""), ("undo", "no base64"), ("nonsense", "")])
def test_an_act_without_its_body_is_a_check(client: Client, act: str, before: str) -> None:
    assert "Applied to the text" not in post(client, json.dumps(GOOD), do=act, before=before)
    assert "There is no body to check" in post(client, "", 400, do=act, before=before)


def test_a_file_that_needs_no_repair_is_answered_whatever_is_asked(client: Client) -> None:
    for act, data, words in (
        ("apply", b'{"a": 1}', "What was given"),
        ("download", b'{"a": 1}', "What was given"),
        ("apply", json.dumps(GOOD).encode(), "passes all"),
    ):
        answer = client.post("/check/", {"file": SimpleUploadedFile("r.json", data), "do": act}).content.decode()
        assert words in answer and "is empty" not in answer


def test_a_body_that_is_too_large_to_be_carried_names_the_command(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "CARRIED", 100)
    monkeypatch.setattr(check, "TYPED", 100)
    answer = client.post("/check/", {"file": SimpleUploadedFile("r.json", json.dumps(LATE).encode())}).content.decode()
    assert (
        "Apply to the text" not in answer and "repair FILE --for " in answer and 'value="download"' not in answer.partition("too large")[2]
    )


def test_a_body_with_a_key_twice_is_shown_as_it_came(client: Client) -> None:
    body = '{"model": "a", "messages": [{"role": "user", "content": "hi"}], "model": "gpt-5"}'
    assert field_of(post(client, body)) == body


def test_an_upload_is_read_byte_for_byte(client: Client) -> None:
    upload = SimpleUploadedFile("r.json", json.dumps(LATE).encode(), "application/json")
    assert "rejected at messages.1" in client.post("/check/", {"file": upload}).content.decode()


def test_a_good_body_needs_nothing_and_downloads_unchanged(client: Client) -> None:
    text = post(client, json.dumps(GOOD))
    assert "passes all known rules</h1>" in text and "Nothing to repair" in text
    assert client.post("/check/", {"body": json.dumps(GOOD), "do": "download"}).content == json.dumps(GOOD).encode()


ENDS_WITH_ASSISTANT = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]


@pytest.mark.parametrize(
    ("own", "chosen", "verdict"),
    [
        ("", "", "depends on the model"),
        ("", "claude-opus-4-5", "passes"),
        ("", " claude-opus-4-6 ", "rejected"),
        ("claude-opus-4-6", "", "rejected"),
        ("claude-opus-4-6", "claude-opus-4-5", "passes"),
    ],
)
def test_it_is_judged_for_the_model_that_is_chosen(client: Client, own: str, chosen: str, verdict: str) -> None:
    """Of a bare list nothing says it, and it had to be written into the JSON."""
    body = {"messages": ENDS_WITH_ASSISTANT, "max_tokens": 9, **({"model": own} if own else {})}
    page = post(client, json.dumps(body), format="anthropic-request", model=chosen)
    shown = re.search(r'class="badge[^"]*">([^<]+)</span>(?:(?!class="badge).)*anthropic-2026-07', page, re.DOTALL)
    assert shown and shown[1] == verdict
    assert ("for the model" in page) is bool(chosen) and ("which model it is for is not known" in page) is not (own or chosen)
    repaired = client.post("/check.json", {"body": json.dumps(body), "format": "anthropic-request", "model": chosen}).json()["repaired"]
    assert (repaired is not None) is (verdict == "rejected")
    assert repaired is None or json.loads(repaired).get("model", "") == own, "what is chosen is not written into it"


@pytest.mark.parametrize("model", ["gpt-5", "claude-opus-4-6", "claude-opus-4-5", "mistral-large-latest"])
def test_a_chosen_model_is_as_good_as_one_in_the_json(client: Client, model: str) -> None:
    """With gpt-5 in the field a list of messages was judged as Anthropic's."""
    chosen = post(client, json.dumps(ENDS_WITH_ASSISTANT), model=model)
    in_json = post(client, json.dumps({"model": model, "messages": ENDS_WITH_ASSISTANT}))
    heads = [re.sub(r"\s+", " ", re.findall(r"<h1[^>]*>(.*?)</h1>", page, re.DOTALL)[0]) for page in (chosen, in_json)]
    read_as = [re.findall(r"Read as ([^:]*: [^:,]*)", page)[0] for page in (chosen, in_json)]
    assert heads[0] == heads[1] and read_as[0] == read_as[1], (heads, read_as)
    assert "Say it in the" not in chosen


def test_a_model_that_no_profile_has_decides_nothing(client: Client) -> None:
    """A name without meaning made a green verdict of one that did not show."""
    page = post(client, json.dumps(ENDS_WITH_ASSISTANT), model="foo")
    assert (
        "Which API it is for does not show" in page
        and "depends on the model, and foo is none that is known" in page
        and "whether foo is one of these is not known" in page
    )


def test_another_profile_can_be_asked_for(client: Client) -> None:
    assert re.search(r"<h1[^>]*>[^<]* at messages\.\d ", post(client, json.dumps(LATE), profile="mistral-strict"))


def test_each_violation_leads_to_its_line_of_the_request(client: Client) -> None:
    text = post(client, json.dumps(LATE, indent=2))
    assert 'href="#line-12"' in text and ">lines 12–19</a>" in text
    assert re.findall(r'<span id="line-(\d+)" class="hit[ "]', text) == [str(number) for number in (*range(12, 20), *range(38, 43))]
    assert ">lines 12–19</a>" in post(client, json.dumps(LATE)), "with a line for each value"
    assert '</span><span id="line-2">' in text, "without script each number is next to its line"
    assert 'class="hit"' not in post(client, json.dumps({**LATE, "x": "x" * LARGEST}), format="anthropic-request")


def test_the_text_stays_to_be_edited_and_its_own_bytes_are_meant_until_then(client: Client) -> None:
    given = json.dumps(GOOD)
    page = post(client, given)
    (held,) = re.findall(r'name="held" value="([^"]+)"', page)
    lines = json.dumps(GOOD, indent=2)
    assert lines in html.unescape(page)
    assert client.post("/check/", {"held": held, "body": lines.replace("\n", "\r\n"), "do": "download"}).content == given.encode()
    edited = lines.replace("hi", "hello")
    assert client.post("/check/", {"held": held, "body": edited, "do": "download"}).content == edited.encode()


def test_a_body_with_a_secret_is_shown_by_lines_and_no_mask_is_sent_back(client: Client) -> None:
    secret = "sk-ant-api03-" + "aB3" * 30
    page = post(client, json.dumps(LATE | {"system": f"The key is {secret}"}))
    assert 'class="listing"' in page and ">lines 12–19</a>" in page and secret not in page
    (field,) = re.findall(r'<textarea id="body".*?>([^<]*)</textarea>', page, re.DOTALL)
    assert field == ""


def test_while_somebody_types_the_verdict_alone_comes_back(client: Client) -> None:
    def typed(body: str) -> str:
        answer = client.post("/check/", {"body": body}, HTTP_HX_REQUEST="true", HTTP_HX_TARGET="verdict")
        assert answer.status_code == 200
        return answer.content.decode()

    text = typed(json.dumps(LATE, indent=2))
    assert "rejected</span> by" in text and 'data-line="12" data-last="19">lines 12–19</a>' in text
    assert "move-results" in text and "<html" not in text
    assert 'id="title" hx-swap-oob="true"' in text and "Download the repaired body" in text and "Apply to the text" in text
    assert "data-line" not in typed(json.dumps(LATE)), "all of it is on one line"
    torn = typed(json.dumps(LATE, indent=2)[:-40])
    assert (
        "This is a request, cut off in line 41 at messages.4.content.0" in torn
        and "rejected</span> by" in torn
        and "Apply to the text" not in torn
    )
    begun = typed('{"messages": [{"role": "user", "cont')
    assert "<h2>No request yet</h2>" in begun and "is cut off at its end" in begun and "no JSON from" not in begun
    wrong = typed(json.dumps(LATE, indent=2).replace('"role": "user"', '"role" "user"', 1))
    assert "<h2>No request yet</h2>" in wrong and re.search(r'data-line="\d+">line \d+</a> on', wrong)
    assert "<h2>Verdict</h2>" in typed(" ") and "passes all known rules" in typed(json.dumps(GOOD))


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("", "There is no body to check"),
        ("[1, 2, 3]", "list"),
        ("<html><body>502</body></html>", "HTML or XML"),
        ('{"messages": [{"role": "user", "con', "is cut off at its end"),
        ("[" * 10_000 + "]" * 10_000, "What was given"),
        ('{"messages": []}', "What was given"),
        ('{"hello": 1}', "no request body"),
        ('"text"', "What was given"),
        ("\ud83d<script>", "What was given"),
    ],
)
def test_what_is_no_request_gets_one_sentence(client: Client, body: str, says: str) -> None:
    answer = client.post("/check/", {"body": body.encode("utf-8", "replace").decode()})
    text = answer.content.decode()
    assert answer.status_code == 400
    (said,) = re.findall(r'<p class="note error" role="alert">(.*?)</p>', text)
    assert says in said and "Traceback" not in text and "<script>alert" not in text
    assert client.post("/check.json", {"body": body.encode("utf-8", "replace").decode()}).status_code == 400


def test_a_session_of_a_program_is_named(client: Client) -> None:
    line = json.dumps({"parentUuid": None, "isSidechain": False, "sessionId": "s", "type": "user"})
    text = post(client, f"{line}\n{line}\n", 400)
    assert "What was given is the file of a session of Claude Code, and no request." in text and "Diagnose it</button>" in text


def test_names_that_nothing_knows_get_one_sentence(client: Client) -> None:
    assert "There is no request format dispatch" in post(client, json.dumps(GOOD), 400, format="dispatch")
    assert "There is no profile" in post(client, json.dumps(GOOD), 400, profile="<b>")


def test_a_file_that_is_too_large_is_refused_before_it_is_read(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "LARGEST", 10)
    answer = client.post("/check/", {"file": SimpleUploadedFile("r.json", b"{" + b" " * 20)})
    assert answer.status_code == 400 and b"over 50 MB" in answer.content


def test_hostile_content_is_shown_and_does_nothing(client: Client) -> None:
    body = {
        "messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "<script>x</script>", "content": "\ud800\u202e"}]}]
    }
    text = post(client, json.dumps(body))
    assert "<script>x" not in text and "\u202e" not in text and "&lt;script&gt;" in text


def test_the_form_offers_every_format_and_profile_and_needs_the_token(client: Client) -> None:
    text = client.get("/check/").content.decode()
    assert all(f'value="{name}"' in text for name in WIRES) and all(f"<option>{each.name}</option>" in text for each in PROFILES)
    assert "csrfmiddlewaretoken" in text
    assert OperatorClient(enforce_csrf_checks=True).post("/check/", {"body": "{}"}).status_code == 403


def test_the_twin_reports_every_profile_and_the_repair(client: Client) -> None:
    report = client.post("/check.json", {"body": json.dumps(LATE)}).json()
    (conversation,) = report["conversations"]
    assert set(conversation["profiles"]) == {each.name for each in PROFILES}
    assert conversation["profiles"]["anthropic-2026-07"]["violations"][0]["path"] == "messages.1"
    assert report["repaired_by"] == ["move-results"] and json.loads(report["repaired"])["messages"]
    assert report["repair"]["profiles"]["anthropic-2026-07"]["after"] == "passes all known rules"
    assert client.get("/check.json").status_code == 405


def test_what_several_shapes_share_is_judged_as_one_and_the_field_chooses_another(client: Client) -> None:
    shared = '[{"role": "user", "content": "go"}]'
    text = post(client, shared)
    assert (
        "Request body: Anthropic Messages" in text
        and "the same in openai-chat-request, openai-responses-request, mistral-request, ai-sdk-messages: the field Format" in text
    )
    assert "Request body: OpenAI" in post(client, shared, format="openai-chat-request")
    # A program says which.
    said = client.post("/check.json", {"body": shared})
    assert said.status_code == 400 and "the field Format" in said.json()["error"]


@pytest.mark.parametrize(
    ("text", "recognized", "verdict"),
    [
        (f"curl https://api.example.com -d '{json.dumps(LATE)}'", "a curl command, of which the body was taken", "rejected</span> by"),
        (repr(LATE), "a request written as Python values", "rejected</span> by"),
        (
            json.dumps(LATE["messages"][0]),
            "a single message, judged as a list of one",
            "Which API it is for does not show: 10 of 10 profiles accept it",
        ),
    ],
)
def test_what_is_around_a_request_is_taken_off_as_in_diagnose(client: Client, text: str, recognized: str, verdict: str) -> None:
    page = post(client, text)
    assert f"This is {recognized}" in page and verdict in page
    assert client.post("/check.json", {"body": text}).status_code == 400


def test_of_a_request_that_is_cut_off_nothing_is_applied_and_nothing_downloaded(client: Client) -> None:
    torn = json.dumps(LATE | {"tools": []})[:-1] + ', "stream": tr'
    page = post(client, torn)
    assert (
        "its messages are whole, and judged" in page
        and "Only the beginning of the request is here" in page
        and "Apply to the text" not in page
    )
    for act in ("apply", "download"):
        assert "Only the beginning of the request is here" in post(client, torn, do=act)


def test_the_text_of_a_request_that_is_cut_off_stays(client: Client) -> None:
    torn = json.dumps(LATE, indent=2)[:-40]
    page = post(client, torn)
    (field,) = re.findall(r'<textarea id="body".*?>([^<]*)</textarea>', page, re.DOTALL)
    assert unescape(field) == torn and 'class="hit">12' in page


def test_nothing_is_called_accepted_of_a_request_that_is_cut_off(client: Client) -> None:
    page = post(client, json.dumps(GOOD | {"stream": True})[:-3])
    assert len(re.findall(r'<span id="line-\d+" class="[^"]*cut">', page)) == 1 and "data-cut" in page
    assert "nothing is wrong up to where it is cut off" in page and "nothing wrong so far</span>" in page and "passes</span>" not in page


def test_the_request_before_and_after_is_named_as_its_wire_names_it(client: Client) -> None:
    call = {"functionCall": {"name": "bash", "args": {}}}
    turns = [("user", {"text": "go"}), ("model", call), ("user", {"text": "and?"})]
    body = json.dumps({"contents": [{"role": role, "parts": [part]} for role, part in turns]})
    text = client.post("/check/", {"body": body}).content.decode()
    assert '<p class="wire a"><b>contents.1 · model</b>' in text and "messages.1" not in text[text.index("Prompt before") :]


@pytest.mark.parametrize("path", ["/check/", "/check.json", "/explain/"])
def test_more_text_than_a_form_takes_is_one_sentence_that_names_the_ways_that_remain(path: str) -> None:
    # With the check of tokens that a browser meets: it reads the form before any view does.
    client = OperatorClient(enforce_csrf_checks=True)
    client.get("/check/")
    answer = client.post(path, {"body": "x" * (settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)})
    said = answer.content.decode()
    assert answer.status_code == 400 and "over 40 MB" in said and "choose it as a file" in said and "command scan" in said
    assert ("<nav" in said) is not path.endswith(".json")


def test_a_captured_stream_is_told_where_it_belongs(client: Client) -> None:
    said = 'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\ndata: [DONE]\n\n'
    answer = client.post("/check/", {"body": said})
    assert (
        answer.status_code == 400
        and "is a captured stream, and no request" in answer.content.decode()
        and 'action="/diagnose/"' in answer.content.decode()
    )


def test_a_body_that_telemetry_masked_is_not_called_sendable(client: Client) -> None:
    masked = {"type": "thinking", "thinking": "<REDACTED>", "signature": "EqQBCkgI"}
    answer = {"role": "assistant", "content": [masked, {"type": "text", "text": "hello"}]}
    page = post(client, json.dumps(GOOD | {"messages": [*GOOD["messages"], answer, {"role": "user", "content": "on"}]}))
    assert "MSG503" in page and "this verdict is of the masks" in page and '<b class="fine">sendable</b>' not in page


def test_a_comma_too_many_is_named_and_taken_out(client: Client) -> None:
    text = json.dumps(GOOD, indent=2)
    wrong = f"{text[:-2]},{text[-2:]}"
    page = post(client, wrong)
    assert "Invalid JSON: a comma too many in line" in page and "No provider takes it as it is" in page
    assert "Nothing else to repair for " in page
    (field,) = re.findall(r'<textarea id="body".*?>([^<]*)</textarea>', page, re.DOTALL)
    assert unescape(field) == wrong
    (field,) = re.findall(r'<textarea id="body".*?>([^<]*)</textarea>', post(client, wrong, do="apply"), re.DOTALL)
    assert unescape(field) == text


@pytest.mark.parametrize(
    ("around", "roles", "note"),
    [
        ({"model": "claude-mythos"}, "ua", "from 4.6 on rejects (AN-10): whether claude-mythos is one of these is not known."),
        ({}, "ua", "from 4.6 on rejects (AN-10): which model it is for is not known."),
        ({"model": "claude-opus-4-5"}, "ua", ""),
        ({"model": "claude-opus-4-6"}, "ua", ""),
        ({"model": "claude-mythos"}, "u", ""),
    ],
)
def test_what_a_verdict_depends_on_is_said_next_to_it(client: Client, around: dict[str, str], roles: str, note: str) -> None:
    """A list that ends with the assistant passed, without a word of the models that reject it."""
    messages = [{"role": {"u": "user", "a": "assistant"}[role], "content": [{"type": "text", "text": "hi"}]} for role in roles]
    body = json.dumps({**around, "max_tokens": 9, "system": "be short", "messages": messages})
    text = unescape(client.post("/check/", {"body": body, "format": "anthropic-request"}).content.decode())
    first = text.partition('class="spot"')[2].partition("</div>")[0]
    assert "anthropic-2026-07" in first and ((note in first) if note else "rejects (AN-10)" not in text)
    assert ("AN-10</span>" in text or 'AN-10"' in text) is (around.get("model") == "claude-opus-4-6")


def test_the_note_of_one_profile_is_not_that_of_the_others(client: Client) -> None:
    """A request of a model of OpenAI was "not modeled, judged as deepseek-thinking"."""
    body = {"model": "gpt-5", "messages": [{"role": "user", "content": "hi"}]}
    page = post(client, json.dumps(body), format="openai-chat-request")
    assert "openai-chat" in page and "not modeled" not in page
    page = post(client, json.dumps(body | {"model": "glm-5"}), format="openai-chat-request")
    assert page.count("endpoint of glm-5 is not modeled, judged as openai-chat") == 1 and "judged as deepseek-thinking" not in page


def test_of_a_request_that_is_cut_what_repairs_its_violation_is_named(client: Client) -> None:
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {}}]}
    said = [{"role": "user", "content": "go"}, call, {"role": "user", "content": "well?"}, {"role": "assistant", "content": "I look"}]
    body = json.dumps({"model": "claude-opus-4-6", "max_tokens": 9, "messages": said})
    page = client.post("/check/", {"body": body[:-6]}).content.decode()
    repair = page.partition('id="repair"')[2].partition("<h2")[0]
    assert (
        "Repair: when all of it is here" in repair and "What repairs AN-1:" in repair and "/strategies/insert-interrupted-result/" in repair
    )
