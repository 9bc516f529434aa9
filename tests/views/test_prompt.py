"""The prompt page: chunks beside the blocks they become, what is lost, every profile's verdict, and what a reader or strategy would change."""

import html
import json
import re
from pathlib import Path

import pytest
from django.test import Client

from inspector.actions.planning import request_for
from inspector.actions.propose_repair import propose_repair
from inspector.demo.creation import write_dispatch_store
from inspector.models import Conversation, loading
from inspector.presentation.prompt.side_by_side import ROWS_KEPT
from inspector.profiles.catalogue import PROFILES
from inspector.projections.catalogue import all_projections
from tests.actions.building import bring
from tests.views.imported import rows
from tests.views.test_explain import crash, session, words

__all__ = ["crash", "session"]
pytestmark = pytest.mark.django_db


def prompt(client: Client, row: Conversation, query: str = "", status: int = 200) -> str:
    answer = client.get(f"/conversations/{row.oid}/prompt/{query}")
    assert answer.status_code == status, query
    return answer.content.decode()


def lines(page: str) -> dict[str, str]:
    """seq -> what its row says."""
    body = page[page.index('<table class="pairs">') :]
    return {found[1]: words(found[2]) for found in re.finditer(r'<tr [^>]*id="seq-(\d+)"[^>]*>(.*?)</tr>', body, re.DOTALL)}


def verdicts(page: str) -> dict[str, str]:
    part = page[page.index('<nav class="verdicts"') : page.index("</nav>", page.index('<nav class="verdicts"'))]
    return {name: words(said) for name, said in re.findall(r"<b>([^<]+)</b>(.*?)</a>", part, re.DOTALL)}


def test_each_chunk_stands_beside_the_block_that_it_became(client: Client, session: Conversation) -> None:
    found = lines(prompt(client, session))
    assert "messages.1.content.1" in found["4"] and "I read the modules first." in found["4"]
    assert "messages.2.content.0" in found["13"] and '"tool_result"' in found["13"]
    assert f'<a class="seq" href="/conversations/{session.oid}/?at=13#seq-13">' in prompt(client, session)


def test_the_message_cell_spans_the_rows_that_stand_in_it(client: Client, session: Conversation) -> None:
    page = prompt(client, session)
    spans = {
        path: int(span)
        for span, path in re.findall(r'<td class="message \w" rowspan="(\d+)"><div class="sticky"><b class="mono">([^<]+)', page)
    }
    assert spans["messages.1"] == 10 and spans["messages.2"] == 9


def test_what_is_made_up_on_the_way_is_marked_and_belongs_to_no_chunk(client: Client, session: Conversation) -> None:
    page = prompt(client, session)
    assert "not in the store: synthetic" in page and "synthetic, in no store" in page


def test_what_is_lost_says_why_beside_its_chunk(client: Client, incident: Conversation) -> None:
    found = lines(prompt(client, incident, "?from=0"))
    assert "lost: thinking dropped from user messages" in found["2"]
    assert "dropped by reconcile" in found["14"] and "on purpose" not in found["14"]
    assert "Hello! How can I help you today?" in found["3"] and "messages.0.content" in found["3"]


def test_a_violation_stands_at_the_block_that_the_provider_points_at(client: Client, crash: Conversation) -> None:
    page = prompt(client, crash)
    block = page[page.index('id="messages.5.content.3"') :]
    assert "refused" in page[page.index('id="messages.5.content.3"') - 40 :][:40]
    assert "AN-16 follows from AN-1" in words(block[: block.index("</td>")])


def test_the_page_opens_at_the_first_violation_unless_its_address_says_otherwise(client: Client, incident: Conversation) -> None:
    page = prompt(client, incident)
    assert list(lines(page)) == [str(seq) for seq in range(1, 15)] and "messages.1" in lines(page)["12"]
    assert re.findall(r'<tr class="[^"]* brief" id="seq-(\d+)"', page) == [str(seq) for seq in range(1, 12)], "a line each"
    assert '<a class="link" href="?at=12#seq-12">Go to messages.1</a>' in page
    later = prompt(client, incident, "?from=7")
    assert " brief" not in later and '"?from=0">7 earlier rows</a>' in later
    assert "user continued" in lines(later)["9"], "the message began before the rows that are shown"
    assert list(lines(prompt(client, incident, "?from=0"))) == [str(seq) for seq in range(1, 15)]
    accepted = prompt(client, incident, "?strategy=renumber-messages")
    right = words(accepted[accepted.index("What makes it right</a>") :].partition("</p>")[0])
    assert right == "What makes it right : promote-leaked-call invented on top"
    assert '?strategy=renumber-messages&amp;strategy=promote-leaked-call"' in accepted
    tried = words(accepted[accepted.index("What is chosen, and each other strategy on top of it") :].partition("</table>")[0])
    assert "promote-leaked-call invented 2 accepted" in tried and "end-with-user invented 1 wrong silently" in tried
    assert '<dt class="still">Lacks</dt><dd>seq 14: dropped by reconcile: the message holds only thinking.</dd>' in accepted
    assert re.findall(r' brief" id="seq-(\d+)"', accepted)[-1] == "13", "what it lacks then"
    assert " brief" not in prompt(client, incident, "?strategy=promote-leaked-call"), "it lacks nothing"
    assert "Go to" not in accepted and "Accepted</dt>" not in accepted


def test_a_chunk_of_a_crash_file_names_its_chunk_in_the_session(client: Client, session: Conversation, crash: Conversation) -> None:
    page = prompt(client, crash)
    assert lines(page)["29"].startswith("29 session 30 assistant thinking") and "messages.5.content.3" in lines(page)["29"]
    assert f'href="/conversations/{session.oid}/?at=30#seq-30">session 30</a>' in page


def test_a_call_that_a_rule_names_by_its_id_is_marked_and_what_the_provider_answered_is_said(
    client: Client, session: Conversation, crash: Conversation
) -> None:
    page = prompt(client, crash)
    blocks = {
        path: words(block) for path, block in re.findall(r'<div class="wire-block [^"]*refused" id="([^"]+)">(.*?)</td>', page, re.DOTALL)
    }
    assert list(blocks) == ["messages.5.content.2", "messages.5.content.3"]
    assert "AN-1 {" in blocks["messages.5.content.2"] and "toolu_03roles" in blocks["messages.5.content.2"]
    assert "AN-4t follows from AN-1" in blocks["messages.5.content.3"]
    assert words(page.partition("<h1>")[2].partition("</h1>")[0]) == (
        "Rejected: no result of bash is stored, so two answers run together in one message"
    )
    chain = words(page.partition('<dl class="pairs chain">')[2].partition("</dl>")[0])
    assert chain == (
        "Cause AN-1 A call has no result in the next message: no result of bash is stored. Go to messages.5 "
        "Effect Two answers run together in one message: AN-4t thinking follows a call in the assistant's turn, AN-16 thinking of the latest assistant turn is not as it was received. "
        "Repaired with AN-1. Answer AN-16 messages.5.content.3: thinking or redacted_thinking blocks in the latest assistant message cannot be "
        "modified. These blocks must remain as they were in the original response. (seq 34 of the crash file) Explain AN-16 "
        "Repair The session passes now, as rollouts reads it: update the client. For an older client, repair it by insert-interrupted-result "
        "invented : passes all known rules. The recorded request stays as it is."
    )
    assert "Chunks of the crash file · 34 rows" in words(
        page
    ) and "Tried in memory on this recorded request: none of 3 readers and 8 strategies is accepted" in words(page)
    buttons = re.findall(r'<a class="btn( main)?" href="/conversations/(\w+)/([^"?]+)', page)
    assert buttons == [("", session.oid, "repairs/new/"), (" main", session.oid, "prompt/")]
    signature = re.search(r"signature.*?(\S{24}… 172 characters)", blocks["messages.5.content.3"])
    assert signature is not None, "the beginning of a signature, and how long it is"


def test_the_place_of_a_missing_result_is_drawn_after_its_call(client: Client, crash: Conversation) -> None:
    page = prompt(client, crash)
    place = page.index('<tr class="t gap">')
    assert page.index('id="seq-28"') < place < page.index('id="seq-29"') and page.count('<tr class="t gap">') == 1
    assert words(page[place : page.index("</tr>", place)].partition(">")[2]) == (
        "no result of bash is stored AN-1 The result of toolu_03roles belongs here, in a message of its own"
    )
    accepted = prompt(client, crash, "?strategy=insert-plain-result")
    assert '<tr class="t gap">' not in accepted


def test_what_is_tried_names_what_the_profile_accepts(client: Client, incident: Conversation) -> None:
    """What only ends the rejection is not called accepted."""
    page = words(prompt(client, incident))
    assert (
        "Repair Accepted after promote-leaked-call invented , wrong silently after renumber-messages safe (without seq 14) all ways, also several together "
        "Reader Call not run, but not rejected, read by"
    ) in page
    assert re.search(
        r"Tried in memory, nothing is written: accepted with 0 of \d+ readers \(call not run with 6 more\), after 2 of \d+ strategies Under each reader",
        page,
    )


def test_repair_leads_to_the_options_where_what_is_recommended_leaves_the_request_wrong(client: Client, incident: Conversation) -> None:
    button = re.search(r'<a class="btn main"[^>]*>', prompt(client, incident))
    assert button and '/repairs/new/"' in button[0] and "What repairs it, and what each way costs" in button[0]
    tried = re.search(r'<a class="btn main"[^>]*>', prompt(client, incident, "?strategy=promote-leaked-call"))
    assert tried and "/repairs/new/?strategy=promote-leaked-call" in tried[0]


def test_what_goes_wrong_silently_does_not_pass(client: Client, incident: Conversation) -> None:
    page = words(prompt(client, incident, "?reader=exact"))
    assert (
        "openai-chat: wrong silently: without seq 14 8 messages" in page and "passes all known rules" not in page.partition("Profiles:")[0]
    )


def test_the_finding_about_the_call_of_a_rejected_result_is_the_cause_and_the_one_at_the_result_its_effect(
    client: Client, incident: Conversation
) -> None:
    """THINK301 is an error of the same store; the result at seq 12 is where the provider rejects, and the chunks that are merged contain its call."""
    page = words(prompt(client, incident))
    assert "Cause MSG101 6 messages in a row of 3 turns share msgIdx 0 and are read as one user message." in page
    assert (
        "Effect TOOL202 The result at seq 12 is read without its call: the call (seq 10) is inside MSG 0, which is read as user. Repair"
        in page
    )
    assert "Cause MSG101" not in words(prompt(client, incident, "?strategy=renumber-messages"))


def test_a_crash_file_is_never_repaired_and_leads_to_its_session_before_anything_is_chosen(client: Client, crash: Conversation) -> None:
    assert "request of the crash" in prompt(client, crash) and 'data-key="R"' not in prompt(client, crash)
    session = crash.source.conversations.get(is_crash=False)
    address = f"/conversations/{crash.oid}/repairs/new/"
    assert client.get(address)["Location"] == f"/conversations/{session.oid}/repairs/new/"
    session.delete()
    assert "is never written, and no imported session is known to be the one that crashed" in client.get(address).content.decode()


def test_a_reader_that_sends_a_call_as_words_is_not_offered_as_if_nothing_was_wrong(client: Client, incident: Conversation) -> None:
    """It keeps the thinking in which the call was written, and the request passes with it."""
    readers = prompt(client, incident).partition("<dt>Reader</dt>")[2].partition("</dd>")[0]
    assert words(readers).startswith("Call not run, but not rejected, read by dispatch-role-split+keep-thinking , or exact+keep-thinking")
    other = prompt(client, incident, "?reader=exact%2Bkeep-thinking")
    assert "Call not run, though the request passes: a stream was stored so." in other
    repaired = prompt(client, incident, "?reader=exact%2Bkeep-thinking&strategy=promote-leaked-call")
    assert "though the request passes" not in repaired + prompt(client, incident)


def test_an_address_leads_to_one_block(client: Client, incident: Conversation) -> None:
    """Several chunks go into one text here, and each row shows its piece of it."""
    page = prompt(client, incident, "?from=0")
    ids = re.findall(r' id="([^"]+)"', page)
    assert page.count(">messages.0.content</a>") > 1 and ids.count("messages.0.content") == 1 and len(ids) == len(set(ids))


def test_every_profile_has_its_verdict_and_a_link_that_shows_it(client: Client, incident: Conversation) -> None:
    said = verdicts(prompt(client, incident))
    assert set(said) == {each.name for each in PROFILES}
    assert said["openai-chat"] == "rejected at messages.1 (OC-2)"
    for name, words_said in said.items():
        page = prompt(client, incident, f"?profile={name}")
        assert f"<h1>{name}: " in page
        title = page[: page.index("</h1>")]
        assert ("passes all known rules" in title) == words_said.startswith(("passes", "wrong silently"))
        assert ("wrong silently" in title) == (words_said == "wrong silently"), (
            "it was called a pass here, and wrong silently once it was chosen"
        )
    assert "wrong silently" in said.values()


def test_a_wire_shape_brings_a_profile_along_and_a_profile_its_shape(client: Client, incident: Conversation) -> None:
    wires = {each.name: each.wire for each in PROFILES}
    for shape in all_projections():
        page = prompt(client, incident, f"?as={shape.name.replace('+', '%2B')}")
        found = re.search(r"<h1>([\w-]+): ", page)
        assert found and f"<option selected>{shape.name}</option>" in page and wires[found[1]] == shape.wire
    page = client.get(f"/conversations/{incident.oid}/?as=anthropic").content.decode()
    assert "<option selected>anthropic-2026-07</option>" in page and "<b>Sent</b> rejected at" in page
    page = client.get(f"/conversations/{incident.oid}/?profile=gemini").content.decode()
    assert "<b>contents.0 · user</b>" in page and "<option selected>gemini</option>" in page


def test_a_strategy_is_tried_and_nothing_is_written(client: Client, incident: Conversation) -> None:
    store = Path(incident.source.path)
    before = store.read_bytes()
    page = prompt(client, incident, "?strategy=renumber-messages")
    note = words(page)
    assert "tried in memory and written nowhere" in note and "14 renumbered; 8 messages instead of 3" in note
    assert "openai-chat: wrong silently: without seq 14, before: rejected at messages.1 (OC-2)" in note
    assert "/repairs/new/?strategy=renumber-messages" in page
    assert store.read_bytes() == before
    assert len(client.get(f"/conversations/{incident.oid}/prompt.json?strategy=renumber-messages").json()["messages"]) == 8


def test_what_a_strategy_removes_stays_visible(client: Client, incident: Conversation) -> None:
    found = lines(prompt(client, incident, "?profile=anthropic-2026-07&strategy=strip-thinking"))
    assert "- removed" in found["2"] and "removed by the strategy" in found["2"]


def test_readers_and_strategies_are_compared(client: Client, incident: Conversation) -> None:
    page = prompt(client, incident)
    table = words(page[(start := page.index("<h2>Under each reader")) : page.index("</details>", start)])
    assert "exact 8 wrong silently: without seq 14" in table and "dispatch-legacy shown 3 rejected at messages.1 (OC-2)" in table
    assert "renumber-messages safe 14 wrong silently: without seq 14" in table
    assert re.search(r"promote-leaked-call invented \d+ accepted", table)


def test_names_that_nothing_knows_are_said(client: Client, incident: Conversation) -> None:
    for query in ("?as=nope", "?profile=nope", "?reader=nope", "?strategy=nope"):
        assert "There is no" in prompt(client, incident, query, status=404)
    assert "would change nothing here" in prompt(client, incident, "?strategy=fix-counter")


@pytest.mark.slow
def test_rows_come_in_windows_and_an_address_opens_at_a_chunk(client: Client, tmp_path: Path, db: None) -> None:
    chunks = [
        {"chunk": {"type": "text", "text": f"t{at}"}, "role": "user" if at % 2 else "assistant", "msgIdx": at, "chunkIdx": 0}
        for at in range(1, 501)
    ]
    write_dispatch_store(tmp_path / "a.db", rows("long", chunks))
    bring(tmp_path / "a.db")
    row = Conversation.objects.get()
    first, later, at = (lines(prompt(client, row, query)) for query in ("", "?from=200", "?at=450"))
    assert len(first) == ROWS_KEPT and next(iter(later)) == "201" and "450" in at and "messages.449.content" in at["450"]


def test_hostile_content_is_shown_and_does_nothing(client: Client, tmp_path: Path, db: None) -> None:
    chunks = [
        {"chunk": {"type": "text", "text": "<script>x</script>\ud800\u202e"}, "role": "user", "msgIdx": 0, "chunkIdx": 0},
        {
            "chunk": {"type": "tool-call", "toolCallId": "\ud800<b>", "toolName": "<i>\u202e", "input": {"\ud800": "<u>"}},
            "role": "assistant",
            "msgIdx": 1,
            "chunkIdx": 0,
        },
    ]
    write_dispatch_store(tmp_path / "a.db", rows("c", chunks))
    bring(tmp_path / "a.db")
    for each in PROFILES:
        page = prompt(client, Conversation.objects.get(), f"?profile={each.name}")
        assert not any(text in page for text in ("<script>x", "\u202e", "<b>&", "<i>\\u", "<u>"))


def test_the_overview_says_who_refuses_from_where_and_who_accepts(client: Client, incident: Conversation) -> None:
    page = client.get(f"/conversations/{incident.oid}/").content.decode()
    table = page[page.index('id="profiles"') : page.index("</table>", page.index('id="profiles"'))]
    lines = [words(row) for row in table.split("<tr")[2:]]
    assert sorted(line.split()[1] for line in lines) == sorted(each.name for each in PROFILES)
    assert any(re.search(r"openai-chat rejected seq 12 OC-2 messages\.1", line) for line in lines)
    assert re.search(r"openai-responses wrong silently passes all known rules", lines[-2]), "those that accept it come last"
    froms = [
        int(match[1])
        for line in lines
        if (match := re.search(r"rejected (?:as it ends: what comes next may complete it )?seq (\d+)", line))
    ]
    assert froms == sorted(froms) and len(froms) > 5
    assert '<rect class="refusal mine"' in page and "rejected from seq 12 by openai-chat" in page
    assert '<span class="refusal-key mine"' in page


def test_what_only_other_profiles_reject_is_no_error_of_the_overview(client: Client, session: Conversation) -> None:
    page = client.get(f"/conversations/{session.oid}/").content.decode()
    assert '<rect class="refusal"' in page and "others reject" in page
    assert "refusal mine" not in page and "refusal-key mine" not in page


def test_a_profile_that_refuses_offers_its_repair_or_says_why_there_is_none(
    client: Client, session: Conversation, crash: Conversation
) -> None:
    assert "Repair for mistral-strict" in prompt(client, session, "?profile=mistral-strict")
    assert f"/conversations/{crash.oid}/repairs/" not in prompt(client, crash, "?profile=mistral-strict"), "a crash file is never written"


def test_roles_of_other_wire_shapes_keep_their_colors(client: Client, session: Conversation) -> None:
    for profile in ("gemini", "openai-responses"):
        classes = set(re.findall(r'<td class="message (\w)"', prompt(client, session, f"?profile={profile}")))
        assert classes <= {"u", "a", "t", "s"} and "a" in classes, profile


def body(page: str) -> dict[str, object]:
    """The request that the page offers to copy."""
    found = re.search(r'<pre class="code" id="body">(.*?)</pre>', page, re.DOTALL)
    assert found is not None and 'data-copies="body"' in page and 'href="#body"' in page
    request: dict[str, object] = json.loads(html.unescape(re.sub(r"<[^>]+>", "", found[1])))
    return request


@pytest.mark.parametrize(("name", "members"), [("incident", ["messages"]), ("session", ["system", "messages"])])
def test_the_request_is_there_as_json_to_copy(client: Client, request: pytest.FixtureRequest, name: str, members: list[str]) -> None:
    row = request.getfixturevalue(name)
    copied = body(prompt(client, row))
    assert list(copied) == members
    assert copied["messages"] == client.get(f"/conversations/{row.oid}/prompt.json").json()["messages"]


def test_a_repair_that_waits_comes_before_another_one(client: Client, incident: Conversation) -> None:
    assert "Waiting" not in words(prompt(client, incident))
    repair = propose_repair(incident, request_for(incident.source, loading.stored(incident), ["renumber-messages"], "in-place"), "ada")
    page = prompt(client, incident)
    assert (
        f"safe (without seq 14) all ways, also several together ; renumber-messages is proposed by ada: review repair {repair.oid[:6]}"
        in words(page)
    )
    assert f"Waiting renumber-messages is proposed by ada: review repair {repair.oid[:6]}" in words(
        prompt(client, incident, "?reader=exact")
    )
    assert f'<a class="btn main" href="/repairs/{repair.oid}/">Review repair</a>' in page
    assert page.count('class="btn main"') == 1


def test_a_crash_file_names_the_repair_of_its_session_as_soon_as_it_waits(
    client: Client, session: Conversation, crash: Conversation
) -> None:
    address = f"/conversations/{crash.oid}/prompt/"
    client.get(address)
    kept = client.get(address)["ETag"]
    assert client.get(address, headers={"if-none-match": kept}).status_code == 304
    request = request_for(session.source, loading.stored(session), ["insert-interrupted-result"], "same-file")
    repair = propose_repair(session, request, "ada")
    answer = client.get(address, headers={"if-none-match": kept})
    assert answer.status_code == 200
    assert f"insert-interrupted-result of the session is proposed by ada: review repair {repair.oid[:6]}" in words(answer.content.decode())
