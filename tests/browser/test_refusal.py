"""A refused resume as a person walks it: paste the error, land on the stored chunk, see what repairs it, propose the repair."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from inspector.actions.import_source import import_targets
from inspector.demo.rollouts_incident import CRASH, ERROR, SESSION, incident_files
from inspector.models import Conversation, Repair
from tests.browser.test_inbox import ON_SCREEN

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def session(tmp_path: Path, transactional_db: None) -> Conversation:
    for key, data in incident_files().items():
        place = tmp_path / "rollouts" / key
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    import_targets([str(tmp_path / "rollouts")], "tester")
    return Conversation.objects.get(native_id=SESSION)


def test_an_error_leads_to_the_chunk_and_to_a_proposed_repair(page: Page, live_server: LiveServer, session: Conversation) -> None:
    page.goto(live_server.url)
    page.get_by_role("link", name="Diagnose", exact=True).click()
    page.get_by_label("Paste it").fill(ERROR)
    page.get_by_role("button", name="Diagnose").click()
    page.get_by_label("Conversation", exact=True).fill(session.oid)
    page.get_by_role("button", name="Explain").click()
    expect(page.locator("h1")).to_contain_text("AN-16")
    expect(page.locator("h1")).to_contain_text("stored at seq 30")
    explained = page.url
    page.get_by_role("link", name="seq 30").first.click()
    expect(page.locator("tr#seq-30")).to_contain_text("The command hung")
    page.goto(explained)
    expect(page.locator("#do")).to_contain_text("Cost: One synthetic result per call")
    page.get_by_role("link", name="Preview insert-interrupted-result").click()
    expect(page.locator("body")).to_contain_text("passes all known rules")
    page.get_by_role("button", name="Propose this repair").click()
    expect(page.locator("body")).to_contain_text("Rehearsed on a copy")
    assert Repair.objects.get().conversation == session


@pytest.mark.parametrize("page", ["with script"], indirect=True)
def test_the_field_for_a_conversation_suggests_those_with_what_is_typed(page: Page, live_server: LiveServer, session: Conversation) -> None:
    page.goto(f"{live_server.url}/explain/")
    field, options = page.get_by_label("Conversation", exact=True), page.locator("#known option")
    expect(options).to_have_count(2)
    field.press_sequentially("zzz")
    expect(options).to_have_count(0)
    field.fill("")
    field.press_sequentially(session.oid[:6])
    expect(options).to_have_count(1)
    expect(options).to_have_attribute("value", session.oid)


def test_the_first_screens_of_a_session_and_its_crash_file_are_for_reading(
    page: Page, live_server: LiveServer, session: Conversation
) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    for conversation in (session, Conversation.objects.get(native_id=f"crash:{CRASH}")):
        page.goto(f"{live_server.url}/conversations/{conversation.oid}/")
        expect(page.locator("p.half").first).to_contain_text("# store.py (120 lines)")
        words, controls = page.evaluate(ON_SCREEN)
        assert words < 300 and controls < 45, (conversation.native_id, words, controls)


def test_the_crash_shows_the_refused_block_in_its_prompt(page: Page, live_server: LiveServer, session: Conversation) -> None:
    crash = Conversation.objects.get(native_id=f"crash:{CRASH}")
    page.goto(f"{live_server.url}/conversations/")
    page.get_by_role("link", name="Crash files 1").click()
    page.locator("#crashes").get_by_role("link", name="messages.5.content.3").click()
    expect(page.locator("#crash")).to_contain_text("serialization: all")
    page.get_by_text("More", exact=True).click()
    page.get_by_role("link", name="Prompt", exact=True).click()
    expect(page.locator("[id='messages.5.content.3']")).to_contain_text("AN-16")
    page.locator(".verdicts-of summary").click()
    page.locator(".verdicts").get_by_role("link", name="gemini", exact=False).first.click()
    expect(page.locator("h1")).to_contain_text("gemini: rejected at contents.")
    assert str(crash.oid) in page.url


def test_a_pasted_request_comes_back_repaired(page: Page, live_server: LiveServer) -> None:
    page.goto(f"{live_server.url}/check/")
    call = '{"type":"tool_use","id":"toolu_1","name":"bash","input":{}}'
    page.get_by_label("The JSON that was").fill(
        f'{{"messages":[{{"role":"user","content":"go"}},{{"role":"assistant","content":[{call}]}},{{"role":"user","content":"and?"}}]}}'
    )
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator("h1")).to_contain_text("A call has no result in the next message: toolu_1")
    page.get_by_role("button", name="Apply to the text").click()
    expect(page.locator("h1")).to_contain_text("passes all known rules")
    expect(page.get_by_label("The JSON that was")).to_have_value(re.compile('"tool_result"'))
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_label("The JSON that was")).not_to_have_value(re.compile('"tool_result"'))
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the repaired body").click()
    assert '"tool_result"' in download.value.path().read_text()


@pytest.mark.parametrize("page", ["with script"], indirect=True)
def test_a_request_is_judged_while_it_is_typed(page: Page, live_server: LiveServer) -> None:
    page.goto(f"{live_server.url}/check/")
    field, verdict = page.get_by_label("The JSON that was"), page.locator("#verdict")
    body = '{\n "messages": [\n  {"role": "user", "content": "go"},\n  {"role": "tool", "tool_call_id": "c", "content": "x"}\n ],\n "model": "gpt-5"\n}'
    field.fill(body)
    expect(verdict).to_contain_text("rejected by openai-chat")
    expect(page.locator(".numbers")).to_have_text("\n".join(map(str, range(1, 8))))
    verdict.get_by_role("link", name="line 4").first.click()
    selected = page.evaluate("(() => { const f = document.activeElement; return f.value.slice(f.selectionStart, f.selectionEnd); })()")
    assert selected.strip().startswith('{"role": "tool"')
    field.fill(body[:-1])
    expect(verdict).to_contain_text("cut off in line 6 at model: its messages are whole")
    expect(verdict).to_contain_text("rejected by openai-chat")
    expect(field).to_have_value(body[:-1])
    field.fill(body.replace('"model":', '"model"'))
    expect(verdict).to_contain_text("It is no JSON from line")
    field.fill(body + " " * 100_000)
    expect(verdict).to_contain_text("press Check")
    expect(verdict).not_to_contain_text("no JSON")
    expect(page.locator("h1")).to_have_text("Check a request")


@pytest.mark.parametrize("page", ["with script"], indirect=True)
def test_what_a_repair_puts_in_is_copied_as_the_json_that_it_is(page: Page, live_server: LiveServer) -> None:
    page.goto(f"{live_server.url}/check/")
    page.get_by_role("button", name="Anthropic: a call without its result").click()
    page.evaluate("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }")
    page.locator("#verdict").get_by_role("button", name="Copy").click()
    expect(page.locator("#toast")).to_have_text("Copied")
    copied = json.loads("{" + page.evaluate("window.copied") + "}")
    assert [block["type"] for block in copied["content"]] == ["tool_result", "text"]
