"""Explain: from a pasted error to the rule, the block, the stored chunk and what repairs it."""

import html
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import pytest
from django.test import Client

from inspector.actions.import_source import import_targets
from inspector.demo.rollouts_incident import CRASH, ERROR, SESSION, incident_files
from inspector.models import Conversation
from inspector.presentation.explain.answer import recognized
from inspector.presentation.repair.alternatives import LARGEST
from inspector.views import explain
from inspector.views.explain import EXAMPLES
from tests.commands.running import run
from tests.programs.pi_openclaw.session_files import a, call, header, lines, u
from tests.views.imported import lay

pytestmark = pytest.mark.django_db

FIRST_SENTENCE = "messages.5.content.3: thinking or redacted_thinking blocks in the latest assistant message cannot be modified"
OPENAI = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
MISSING = "messages.5: `tool_use` ids were found without `tool_result` blocks immediately after: {}."
UNANSWERED = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."


@pytest.fixture
def session(tmp_path: Path) -> Conversation:
    """The crashed session with its crash file, imported from real files."""
    return imported_session(tmp_path, incident_files())


def imported_session(tmp_path: Path, files: Mapping[str, bytes]) -> Conversation:
    for key, data in files.items():
        place = tmp_path / "rollouts" / key
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    import_targets([str(tmp_path / "rollouts")], "tester")
    return Conversation.objects.get(native_id=SESSION)


@pytest.fixture
def crash(session: Conversation) -> Conversation:
    return Conversation.objects.get(native_id=f"crash:{CRASH}")


def page(client: Client, error: str, target: str = "", status: int = 200) -> str:
    answer = client.get(f"/explain/?error={quote(error)}&target={quote(target)}")
    assert answer.status_code == status
    return answer.content.decode()


def part(text: str, name: str) -> str:
    """The words of the section with this id."""
    return words(text.partition(f' id="{name}">')[2].partition("</section>")[0])


def words(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def test_the_sentence_of_the_incident_alone_leads_to_the_stored_chunk(client: Client, session: Conversation, crash: Conversation) -> None:
    text = page(client, FIRST_SENTENCE, session.oid)
    assert "<h1>AN-16 of Anthropic at messages.5.content.3, stored at seq 30: thinking of the latest" in text
    assert f'href="/conversations/{session.oid}/?at=30#seq-30"' in text and f'href="/conversations/{crash.oid}/"' in text
    assert "serialization: all" in text
    assert f'href="/conversations/{session.oid}/repairs/new/?strategy=insert-interrupted-result"' in text


def test_the_sequence_to_do_comes_first_with_its_cost_and_what_the_rules_find_there(client: Client, session: Conversation) -> None:
    text = page(client, FIRST_SENTENCE, session.oid)
    do = part(text, "do")
    assert "insert-interrupted-result invented optional Next request after it: passes all known rules. Inserts" in do
    assert "Cost: One synthetic result per call" in do
    assert all(code in part(text, "AN-16") for code in ("TOOL102", "THINK204", "MSG401"))
    assert do.index("insert-interrupted-result") < do.index("Would change nothing here: move-results , ")
    assert words(text).count("Cost: One synthetic result per call") == 1, "described once"
    assert part(text, "AN-16").count("A call of bash at seq 29 has no result") == 1, "as the likely cause"
    assert re.search(r'data-key="R"\s+href="[^"]+strategy=insert-interrupted-result"', text)


def test_it_begins_with_the_decision_and_says_what_to_change_in_the_client(
    client: Client, session: Conversation, crash: Conversation
) -> None:
    text = words(page(client, FIRST_SENTENCE, session.oid))
    cause = text[text.index("Likely cause") : text.index("The crash file of this rejection")]
    assert cause.startswith("Likely cause TOOL102 A call of bash at seq 29 has no result, and later messages follow.")
    assert "Effect messages.5 was made of the stored messages on lines 15-16: 2 responses merged into one turn." in cause
    assert "The provider rejects that with AN-16 ." in cause
    do = text[text.index("What to do") :]
    assert do.index("Show the request that passes") < do.index("Preview insert-interrupted-result") < do.index("In the client:")
    assert do.startswith("What to do Update the client: as rollouts reads the store, the next request passes.")
    assert do.index("In the client: Put results for interrupted calls") < do.index("conversation Find out why")
    session.source.reader = "rollouts-legacy"
    alone = words(page(client, FIRST_SENTENCE))
    assert "In the client: Put results for interrupted calls" in alone and "In a store, THINK204 merged-thinking finds it." in alone
    assert "When a tool result is elsewhere than directly after the message of its call." in alone


def test_without_a_conversation_those_with_the_error_come_first_and_repairs_lead_to_their_preview(
    client: Client, session: Conversation, crash: Conversation
) -> None:
    text = page(client, ERROR)
    assert re.findall(r'<option value="(\w+)">([^<]+) · ', text)[0] == (session.oid, session.title)
    assert f'href="/conversations/{session.oid}/repairs/new/?strategy=thinking-to-text">Preview it on the session' in text
    assert 'href="https://github.com/anthropics/claude-code/issues/63203" rel="noreferrer"' in text
    Conversation.objects.filter(pk=crash.pk).update(is_gone=True)
    assert "Preview it on the session" not in page(client, ERROR)


def test_the_message_that_the_error_names_is_drawn_as_stored_and_as_sent(
    client: Client, session: Conversation, crash: Conversation
) -> None:
    drawn = page(client, ERROR, crash.oid).partition('<table class="drawn">')[2].partition("</table>")[0]
    rows = [words(row) for row in re.findall(r"<tr.*?</tr>", drawn, re.DOTALL)][1:]
    assert [row.split(" ")[1] for row in rows if row.startswith("seq")] == ["27", "28", "29", "30", "31", "32"]
    assert rows[3:6] == [
        "no result of bash is stored its result belongs here, in a message of its own",
        "next stored message same message: merged",
        "seq 30 thinking The command hung and was interrupted. Reading the file itself is enough. = messages.5.content.3 thinking AN-16 which the error names",
    ]
    assert "TOOL102" in rows[2] and f'href="/conversations/{session.oid}/?at=30#seq-30"' in drawn


def test_a_block_that_was_altered_on_the_way_is_drawn_with_the_part_that_differs(client: Client, tmp_path: Path) -> None:
    stored = {key: data.replace(b"Reading the file itself", b"Reading the <b>log</b> itself") for key, data in incident_files().items()}
    files = {key: incident_files()[key] if key.startswith("crashes/") else data for key, data in stored.items()}
    row = imported_session(tmp_path, files)
    drawn = page(client, ERROR, row.oid).partition('<table class="drawn">')[2].partition("</table>")[0]
    (hit,) = re.findall(r'<tr class="hit">.*?</tr>', drawn, re.DOTALL)
    assert (
        "Reading the <del>&lt;b&gt;log&lt;/b&gt;</del> itself is enough." in hit and "Reading the <ins>file</ins> itself is enough." in hit
    )
    assert " altered messages.5.content.3 " in words(hit) and drawn.count("word for word") == 5


def test_an_error_on_the_order_of_a_history_has_an_example_of_both(client: Client) -> None:
    text = page(client, FIRST_SENTENCE)
    rejected, accepted = (
        words(text.partition(f"<h3>{title}</h3>")[2].partition("</ol>")[0]) for title in ("Rejected, for example", "Accepted")
    )
    assert rejected == "user text assistant thinking call a ✗ thinking call b user result b"
    assert accepted == "user text assistant thinking call a user ✓ result a assistant thinking call b user result b"
    assert "Rejected, for example" not in page(client, "messages.3.content.0: Invalid `signature` in `thinking` block")


def test_an_empty_form_offers_texts_that_are_recognized_and_what_is_rejected_now(client: Client, session: Conversation) -> None:
    assert all(recognized(text) for _, text in EXAMPLES)
    Conversation.objects.update(refused=False)
    text = words(client.get("/explain/").content.decode())
    assert all(example in text for _, example in EXAMPLES) and "no known rule rejects the next request" in text
    Conversation.objects.filter(pk=session.pk).update(refused=True, verdict="rejected at messages.1 (AN-1)")
    assert "rejected at messages.1 (AN-1)" in words(client.get("/explain/").content.decode())


def test_what_is_rejected_now_has_the_text_of_the_provider_to_match_by(client: Client, incident: Conversation) -> None:
    """Lists say where and by which rule, which is not in what somebody has in hand."""
    rows = words(page(client, "").partition("Rejected here now")[2].partition("For example")[0])
    assert f"hello {OPENAI} rejected at messages.1 (OC-2 of openai-chat)" in rows
    Conversation.objects.filter(pk=incident.pk).update(next_request=["rejected", "rejected at messages.5", "AN-1 of anthropic-2026-07"])
    assert "hello messages.5: `tool_use` ids were found without" in words(page(client, "")), "with the number of the message"
    Conversation.objects.filter(pk=incident.pk).update(next_request=[], verdict="rejected somewhere")
    assert "hello rejected somewhere" in words(page(client, ""))


def test_a_crash_file_is_not_rejected_now(client: Client, crash: Conversation, session: Conversation) -> None:
    """It was, and with another text than its rules answer; the list of what is rejected has none."""
    Conversation.objects.filter(pk=session.pk).update(refused=False)
    assert crash.refused and "no known rule rejects the next request" in words(page(client, ""))
    Conversation.objects.filter(pk=session.pk).update(refused=True)
    rows = page(client, "").partition("Rejected here now")[2].partition("For example")[0]
    assert f"/conversations/{session.oid}/" in rows and f"/conversations/{crash.oid}/" not in rows


def test_of_a_crash_file_without_a_session_nothing_is_to_be_repaired(client: Client, tmp_path: Path) -> None:
    lay(tmp_path / "rollouts", {name: data for name, data in incident_files().items() if name.startswith("crashes/")})
    import_targets([str(tmp_path / "rollouts")], "tester")
    crash = Conversation.objects.get(native_id=f"crash:{CRASH}")
    alone = "no imported session is known to be the one that crashed: there is nothing to repair."
    assert f"{alone} In the session where this happened, these may help:" in words(page(client, FIRST_SENTENCE, crash.oid))
    for query in ("", "?strategy=order-blocks"):
        options = words(client.get(f"/conversations/{crash.oid}/repairs/new/{query}").content.decode())
        assert options.count("is never written") == 1 and alone in options
        assert "recommended" not in options and "Preview" not in options and "order-blocks" not in options


def test_of_another_error_than_that_of_the_crash_file_its_session_is_named(client: Client, crash: Conversation) -> None:
    """Of its own error the repair of the session is there instead."""
    sealed = "A crash file is evidence of what was refused and is never written: repair the session that it names."
    assert sealed in words(page(client, OPENAI, crash.oid))
    assert sealed not in words(page(client, ERROR, crash.oid))


def test_the_answer_begins_with_what_the_error_means(client: Client) -> None:
    """It began with what to do in the client, in words of another rule."""
    text = words(page(client, OPENAI))
    meaning = text.partition(" Cause ")[2]
    assert meaning.startswith("A tool message has no call directly before it. Usually the call was cut off with older history")
    assert text.index("A tool message has no call") < text.index("In the client:")


def test_a_cause_has_the_calls_and_messages_that_the_text_names(client: Client) -> None:
    """The cause was that the provider rejects such a request, on every retry, which is the effect."""
    causes = [words(page(client, text)).partition(" Cause ")[2] for _, text in EXAMPLES]
    anthropic, openai, gemini, bedrock, mistral = causes
    assert anthropic.startswith("The assistant's call toolu_01 got no tool_result in the next message. Usually")
    assert (
        "The call is in messages.4 or messages.5: reports differ in whether the number is that of its message or of the next." in anthropic
    )
    assert gemini.startswith("Another turn, usually a text of the user, is between the call and its response.")
    assert bedrock.startswith("The call tooluse_1 in messages.1 got no toolResult in messages.2.") and "wording" not in bedrock
    assert mistral.startswith("Between an assistant's calls and the next assistant message are fewer results than calls")
    for cause in causes:
        assert "retry" not in cause.partition("What to do")[0] and "Every retry is rejected" in cause
    assert "✓ text" not in mistral and "✓ result a" in mistral, "the answer that follows is no part of the fix"
    assert "Where the reader hides the call" in openai
    assert 'href="/rules/MSG101/">MSG101</a>' in page(client, OPENAI)


def test_a_text_that_one_repair_fits_has_that_one_and_folds_the_others(client: Client) -> None:
    gemini = page(client, EXAMPLES[2][1]).partition('id="do"')[2].partition("</section>")[0]
    shown, _, folded = gemini.partition("<details")
    assert "For this text usually: move-results safe" in words(shown) and "drop-orphaned-results" not in shown
    assert "4 more repairs" in words(folded) and "drop-orphaned-results" in folded
    assert "For this text usually" not in page(client, EXAMPLES[3][1]), "several may fit"


def test_repairs_that_change_something_where_it_is_rejected_come_first(client: Client, incident: Conversation) -> None:
    """What usually helps led, and the options of this conversation said that it does not repair it."""
    repairs = page(client, OPENAI)
    assert "Repair the store of hello in one of these ways" in part(repairs, "do")
    idle = words(repairs.partition("Would change nothing here:")[2].partition("</p>")[0])
    assert "adopt-results" in idle and "drop-orphaned-results" in idle
    Conversation.objects.update(is_gone=True)
    assert "Repair the store" not in page(client, OPENAI)


@pytest.mark.parametrize("is_named", [True, False])
def test_advice_that_only_partly_helps_has_a_row_for_each_way(client: Client, incident: Conversation, is_named: bool) -> None:
    """The one that passes was a name in a sentence, without a preview, and the other one was described three times."""
    text = page(client, OPENAI, incident.oid if is_named else "")
    rows = text.partition('<table class="list repairs">')[2].partition("</table>")[0].split("<tr>")[1:]
    promote, renumber = map(words, rows)
    cause = text.partition('.cause">')[2].partition("What to do")[0]
    assert not is_named or cause.index(">MSG101<") < cause.index(">TOOL202<"), "the effect is not all of it"
    assert promote.startswith("promote-leaked-call invented accepted The next request passes after it. Turns a call")
    assert "Also repairs THINK301 Turn 3 ends at seq 14 with a tool call written as thinking" in promote, "why a call is offered"
    assert "Also repairs" not in renumber
    assert renumber.startswith(
        "renumber-messages safe partial Ends this rejection. Next request after it: wrong silently (without seq 14). Gives each message"
    )
    for row, name in zip(rows, ("promote-leaked-call", "renumber-messages"), strict=True):
        assert f'href="/conversations/{incident.oid}/repairs/new/?strategy={name}">Preview' in row
        assert f"/conversations/{incident.oid}/prompt/?profile=openai-chat&amp;strategy={name}" in row
    assert text.count("/repairs/new/?strategy=renumber-messages") == 1
    assert "The endpoint of umans/umans-flash is not modeled, judged as openai-chat." in text
    assert "For MSG101 : Group by seq - chunkIdx (right for every stored row)." in words(text)


def test_each_part_has_one_heading_in_the_order_of_an_answer(client: Client, incident: Conversation) -> None:
    for error in [OPENAI, *(text for _, text in EXAMPLES)]:
        text = page(client, error)
        headings = [words(heading) for heading in re.findall(r"<h2.*?</h2>", text, re.DOTALL)]
        assert headings[:3] == ["Cause", "What to do", "Evidence"]
        title = words(text.partition("<h1>")[2].partition("</h1>")[0]).partition(": ")[2]
        assert title.capitalize() not in part(text, text.partition('class="panel answer" id="')[2].partition('"')[0])


def test_of_several_rules_with_one_text_it_says_which_is_likely_and_what_the_others_are_about(
    client: Client, incident: Conversation
) -> None:
    text = page(client, EXAMPLES[0][1])
    line = text[text.index("4 rules answer") : text.index("</ul>", text.index("4 rules answer"))]
    assert words(line) == (
        "4 rules answer with this text, most likely AN-1. The others are about: "
        "AN-3 something else is before the results in what the user sends "
        "AN-4 text follows a call in the assistant's turn AN-4t thinking follows a call in the assistant's turn"
    )
    targets = re.findall('href="#([^"]+)"', line)
    assert targets == ["AN-3.cause", "AN-4.cause", "AN-4t.cause"]
    assert all(f'id="{target}"' in text for target in targets)
    assert "rules answer with this text" not in page(client, OPENAI)


def test_of_several_rules_only_the_first_is_open(client: Client) -> None:
    text = page(client, EXAMPLES[0][1])
    answers = text.split('<section class="panel answer" id="')[1:]
    assert [answer.partition('"')[0] for answer in answers] == ["AN-1", "do", "evidence", "AN-3", "AN-4", "AN-4t"]
    assert [answer.lstrip().partition(">")[2].lstrip().startswith("<details") for answer in answers] == [False] * 3 + [True] * 3
    summaries = [words(answer.partition("<summary>")[2].partition("</summary>")[0]) for answer in answers[3:]]
    assert summaries[0].startswith("AN-3 Something else is before the results") and all("Suggested" not in line for line in summaries)


def test_the_pages_offer_nothing_that_would_be_refused(client: Client, session: Conversation) -> None:
    assert "/explain.json" not in client.get("/explain/").content.decode()
    assert "bundle.zip" in client.get(f"/conversations/{session.oid}/").content.decode()


def test_without_a_conversation_the_crash_files_with_this_very_error_are_named(client: Client, crash: Conversation) -> None:
    assert f"target={crash.oid}" in page(client, FIRST_SENTENCE)
    other = page(client, FIRST_SENTENCE.replace("messages.5", "messages.7"))
    assert f"target={crash.oid}" not in other and 'href="/check/"' in other


def test_the_newest_crash_file_with_this_error_says_its_cause_and_leads_to_the_repair(
    client: Client, session: Conversation, crash: Conversation
) -> None:
    text = words(page(client, ERROR))
    assert text.index("This very error is in 1 crash file here.") < text.index("Likely cause") < text.index("Explain it with the crash of")
    assert "Likely cause TOOL102 A call of bash at seq 29 has no result" in text
    assert "insert-interrupted-result invented optional Next request after it: passes all known rules." in text
    preview = f'href="/conversations/{session.oid}/repairs/new/?strategy=insert-interrupted-result">Preview'
    assert preview in page(client, ERROR)
    Conversation.objects.filter(pk=session.pk).update(chunk_count=LARGEST + 1)
    large = page(client, ERROR)
    assert "This very error is in 1 crash file here." in part(large, "AN-16")
    assert f"target={crash.oid}" in large and "Likely cause" not in large


def test_a_conversation_is_chosen_by_a_part_of_its_title(client: Client, session: Conversation, crash: Conversation) -> None:
    Conversation.objects.filter(pk=session.pk).update(title="Rename the depot", names="rename the depot")
    text = page(client, FIRST_SENTENCE)
    assert "<select" not in text and 'name="target"' in text, "a list of ten thousand is no choice"
    assert f'href="/conversations/{session.oid}/?at=30#seq-30"' in page(client, FIRST_SENTENCE, "the DEPOT")
    Conversation.objects.filter(pk=crash.pk).update(title="<b>Depot", names="<b>depot")
    several = page(client, FIRST_SENTENCE, "depot", 400)
    assert "Several conversations have depot in their title or id: choose one of them." in several and 'class="note error"' not in several
    assert f"target={session.oid}" in several and "&lt;b&gt;Depot" in several and "<b>Depot" not in several
    assert "type a part of its title or id" in page(client, FIRST_SENTENCE, "no such words", 400)
    typed = client.get("/explain/?target=renam", headers={"HX-Request": "true", "HX-Target": "known"})
    options = re.findall(r'<option value="(\w+)">(.*?)</option>', typed.content.decode())
    assert typed.status_code == 200 and options == [(session.oid, f"Rename the depot · {session.short_native_id}")]
    none = client.get("/explain/?target=zzz", headers={"HX-Request": "true", "HX-Target": "known"})
    assert (none.status_code, none.content.decode().strip()) == (200, '<datalist id="known"></datalist>')


@pytest.mark.parametrize("typed", ["{title} ({oid})", "{title} · {short}", "{title} ({native})", "a title of before ({oid})"])
def test_a_conversation_is_found_by_its_title_with_its_id_as_lists_write_it(client: Client, session: Conversation, typed: str) -> None:
    Conversation.objects.filter(pk=session.pk).update(title="Rename (the depot)", names="rename (the depot)")
    names = {"oid": session.oid, "short": session.short_native_id, "native": SESSION, "title": "Rename (the depot)"}
    assert "stored at seq 30" in page(client, FIRST_SENTENCE, typed.format(**names))


@pytest.mark.parametrize("typed", ["no such (000000000000)", "no such · 000000000000", "()", "x (", "a" * 400 + " (" * 400])
def test_a_title_with_an_id_that_nothing_has_is_named_whole(client: Client, session: Conversation, typed: str) -> None:
    assert f"There is no conversation {typed[:80]}:" in html.unescape(page(client, FIRST_SENTENCE, typed, 400))


def test_the_start_lists_what_is_rejected_however_old_it_is(
    client: Client, incident: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explain, "OFFERED", 0)
    assert f'href="/conversations/{incident.oid}/">' in page(client, "")
    Conversation.objects.update(refused=False)
    assert "no known rule rejects the next request of a conversation here" in words(page(client, ""))


def test_the_repairs_that_fit_an_error_are_among_the_first(client: Client, session: Conversation) -> None:
    text = page(client, OPENAI)
    first = text.partition(' id="do">')[2].partition("<details")[0]
    assert re.findall(r'href="/strategies/([\w-]+)/"', first) == ["move-results", "adopt-results", "drop-orphaned-results"], (
        "what is safe comes first"
    )
    one_more = page(client, UNANSWERED).partition(' id="do">')[2].partition("</section>")[0]
    assert "insert-interrupted-result" in one_more and "more repair" not in one_more, "one more is not worth a fold"


def test_what_is_safe_is_before_what_is_invented_and_a_trace_is_a_condition(client: Client) -> None:
    repairs = part(page(client, MISSING.format("toolu_nowhere")), "do")
    names = ("recover-result-from-trace safe", "move-results safe", "rename-repeated-ids safe", "insert-interrupted-result invented")
    places = [repairs.index(name) for name in names]
    assert places == sorted(places)
    assert "When a tool call inside the history has no result, and a trace of its requests is imported." in repairs
    assert "When several calls have one id" in repairs


def test_not_as_many_results_as_calls_has_what_to_do_for_both(client: Client) -> None:
    """A result that is stored twice was answered with: add the missing one."""
    do = part(page(client, EXAMPLES[4][1]), "do")
    assert "In the client, where a tool call inside the history has no result: Add the missing result" in do
    assert "In the client, where one tool result is stored several times over: Store a result once" in do
    assert "TOOL206 repeated-output finds it." in do and "TOOL208 several-results finds it." in do
    assert "deduplicate-results lossy" in do and "more repair" not in do


def test_the_calls_that_an_error_names_are_looked_up(client: Client, session: Conversation, crash: Conversation) -> None:
    """The page asked for the conversation of a call that the search of the header has."""
    text = page(client, MISSING.format("toolu_03roles"))
    line = text.partition('<p class="now">')[2].partition("</p>")[0]
    assert words(line).startswith("toolu_03roles is in ") and f'href="/conversations/{session.oid}/?at=29#seq-29">seq 29</a>' in line
    assert f"target={session.oid}" in line and f"target={crash.oid}" in line and line.count("Explain the error there") == 2
    assert "toolu_03rol is in no conversation here." in words(page(client, MISSING.format("toolu_03rol"))), "a part of an id is none"
    assert "short or too common to look up: search for it" in words(page(client, MISSING.format("a1")))


def test_no_more_than_three_conversations_of_a_call_are_named(client: Client, tmp_path: Path) -> None:
    (tmp_path / "sessions").mkdir()
    for number in range(5):
        history = lines(header(), u("u0", None, "go"), a("a1", "u0", call("toolu_shared1")))
        (tmp_path / "sessions" / f"{number}.jsonl").write_bytes(history)
    import_targets([str(tmp_path / "sessions")], "tester")
    text = page(client, MISSING.format("toolu_shared1"))
    assert text.count("Explain the error there") == 3 and 'href="/conversations/?q=toolu_shared1">2 more</a>.' in text


def test_a_conversation_without_the_call_is_said_to_be_without_it(client: Client, incident: Conversation, tmp_path: Path) -> None:
    """It counted the message of the error in a conversation that the error is not of, and recommended by rules of another provider."""
    session = imported_session(tmp_path, incident_files())
    text = words(page(client, MISSING.format("toolu_03roles"), incident.oid))
    assert "Probably the error of another conversation: hello is judged as openai-chat, which has no such answer." in text
    assert "toolu_03roles is not in it, but in Crash: " in text and session.title[:20] in text
    assert "as the error text says" not in text
    assert "Name the conversation whose error it is. Nothing of hello is repaired for an answer that its provider does not give." in text
    assert "recommended" not in text and "Request after it" not in text
    there = words(page(client, MISSING.format("toolu_03roles"), session.oid))
    assert "Probably the error of another" not in there and "not in it" not in there and "Its own pages" not in there
    nowhere = words(page(client, MISSING.format("toolu_01"), incident.oid))
    assert "toolu_01 is not in it, and in no other conversation here." in nowhere
    assert (
        "Its conversation is not imported: no conversation here has toolu_01. Add its source , or check the JSON of the request" in nowhere
    )
    assert "Explain it there" not in nowhere and "does not break" not in nowhere, "no conversation here is it"
    assert "Probably the error of another" not in words(page(client, OPENAI, incident.oid))


def test_an_error_without_a_place_names_its_provider_and_doubts_the_conversation_first(client: Client, incident: Conversation) -> None:
    text = words(page(client, "prompt is too long: 210000 tokens > 200000 maximum", incident.oid).partition("<h1>")[2])
    assert text.startswith(
        "AN-22 of Anthropic: more tokens than the model takes Probably the error of another conversation: hello is judged"
    )


def test_without_a_conversation_those_that_are_rejected_so_are_named(client: Client, incident: Conversation) -> None:
    """Somebody with an error text does not know the id of the conversation."""
    text = page(client, OPENAI)
    assert f'target={incident.oid}"' in text and "rejected at messages.1: Messages of different roles are read as one" in html.unescape(
        text
    )
    assert f'href="/conversations/{incident.oid}/repairs/new/">' not in text, "its repairs are below"
    Conversation.objects.filter(pk=incident.pk).update(chunk_count=LARGEST + 1)
    assert f'href="/conversations/{incident.oid}/repairs/new/">Preview a repair</a>' in page(client, OPENAI)
    assert "is rejected so" not in page(client, OPENAI, incident.oid)
    assert "is rejected so" not in page(client, "prompt is too long: 210302 tokens > 200000 maximum")
    Conversation.objects.update(is_gone=True)
    assert "is rejected so" not in page(client, OPENAI)


def test_what_no_stored_history_shows_has_its_advice_and_no_repair(client: Client, incident: Conversation) -> None:
    """What else is wrong with the conversation was recommended for it, with a button, and promised a request that passes."""
    too_long = "prompt is too long: 210302 tokens > 200000 maximum"
    for target in ("", incident.oid):
        text = page(client, too_long, target)
        assert (
            words(text)
            .partition(" Cause ")[2]
            .startswith("The request is 10,302 tokens (5%) over the window of 200,000, with system prompt")
        )
        assert "/repairs/new/" not in text and "Cost:" not in text and "Would change nothing here" not in text
        assert "the index or the id that" not in text, "it names none"
    assert "the next request: rejected at messages.1" in part(text, "do")
    assert words(page(client, "Request exceeds the maximum size")).partition(" Cause ")[2].startswith("A request of more than 32 MB.")
    assert "recommended" not in client.get("/explain.json", {"error": too_long, "target": incident.oid}).json()


def test_what_is_too_long_asks_for_the_conversation_and_has_the_command_for_it(client: Client, incident: Conversation) -> None:
    """The advice named a command, and where it is to be read was nowhere."""
    asked = part(page(client, "prompt is too long: 210302 tokens > 200000 maximum"), "do")
    assert asked.startswith("What to do Cut at least 10,302 tokens: compact the conversation in its own program")
    assert "No repair of the store helps." in asked and "Name the conversation to see its size" in asked
    assert "extract ID --out context.md ID is that of the conversation" in asked and "Copy" not in asked, "it is to be edited first"
    assert "extract writes who said what as Markdown, with calls and results in short" in asked
    text = page(client, "prompt is too long: 210 tokens > 200 maximum", incident.oid)
    assert "Cut at least 10 tokens" in part(text, "do") and "Stored of hello: " in part(text, "do")
    command = html.unescape(text.partition('<pre class="type" id="extract">')[2].partition("</pre>")[0])
    assert command.endswith(f" extract {incident.oid} --out context.md") and 'data-copies="extract"' in text


def test_a_conversation_that_is_far_below_the_window_is_not_to_be_cut(client: Client, incident: Conversation) -> None:
    """It advised to cut 10,000 tokens of a conversation of 14 chunks."""
    text = page(client, "prompt is too long: 210000 tokens > 200000 maximum", incident.oid)
    do = part(text, "do")
    assert re.search(r"not by what is stored [\d.]+ KB, about [\d,]+ tokens, far below the window of 200,000\.", words(text))
    assert "The excess is in tools or the system prompt, or it is another conversation: check the JSON of the request" in do
    assert "Cut at least" not in do and "extract" not in do
    report = client.get("/explain.json", {"error": "prompt is too long: 210000 tokens > 200000 maximum", "target": incident.oid}).json()
    (advice,) = (each["advice"] for each in report["recognised"])
    assert f"{advice[0].upper()}{advice[1:]}: check the JSON" in do and report["conversation"]["size"]["is_far_below"]
    assert 'for="other"' in text and text.count('id="target"') == text.count('id="other"') == 1
    assert "cannot be judged offline" not in words(text).partition("What to do")[0]


@pytest.mark.parametrize(
    ("text", "is_far_below"),
    [
        ("This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 tokens.", True),
        ("This model's maximum context length is 128 tokens. However, your messages resulted in 150 tokens.", False),
        ("context_length_exceeded", False),
    ],
)
def test_the_size_of_a_conversation_is_next_to_the_error_of_each_provider(
    client: Client, incident: Conversation, text: str, is_far_below: bool
) -> None:
    shown = page(client, text, incident.oid)
    size = re.search(r"([\d.]+ KB), about [\d,]+ tokens", words(shown))
    assert size and ("not by what is stored" in words(shown)) is is_far_below
    assert ("extract" in part(shown, "do")) is not is_far_below
    assert f"{size[1]} " in words(client.get(f"/conversations/{incident.oid}/").content.decode()), "as its own page has it"


def test_a_named_conversation_has_what_it_breaks_at_the_top(client: Client, incident: Conversation) -> None:
    top = words(page(client, OPENAI, incident.oid).partition("<h1>")[2].partition("<details")[0])
    assert "In hello , as dispatch-legacy reads it: fires now at messages.1 , seq 12 ; at messages.2 , seq 13" in top
    assert "Looked for" not in top and "judges" not in top, "one profile has the rule"


def test_of_rules_with_one_text_the_one_that_fires_stands_first(client: Client, crash: Conversation) -> None:
    text = page(client, "messages.5: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_03roles.", crash.oid)
    top, *answers = text.split('<section class="panel answer" id="AN-')
    fires = ["breaks it" in top, *("breaks it" in answer for answer in answers[1:])]
    assert len(fires) > 2 and fires == sorted(fires, reverse=True) and fires[0] and not all(fires)
    assert "rules answer with this text, and the history breaks " in words(text)


def test_the_crash_itself_says_that_the_rule_fires_and_offers_the_repair_of_its_session(
    client: Client, session: Conversation, crash: Conversation
) -> None:
    text = page(client, ERROR, crash.oid)
    assert "breaks it" in text and f"/conversations/{crash.oid}/prompt/?profile=anthropic-2026-07&amp;at=29#messages.5.content.3" in text
    assert f"/conversations/{session.oid}/repairs/new/?strategy=" in text and f"/conversations/{crash.oid}/repairs/" not in text


def test_without_a_conversation_the_rule_its_evidence_and_its_strategies_are_told(client: Client) -> None:
    text = words(page(client, f"Error: 400 {OPENAI}"))
    assert "OC-2" in text and "quoted in a public issue" in text and "as of 2026-" in text
    assert 'class="list places"' not in text and "/strategies/" in page(client, OPENAI)
    links = re.findall(r'<a [^>]*href="https?://[^"]*"[^>]*>', page(client, OPENAI))
    assert len(links) == 2 and all('href="https://github.com/' in link and 'rel="noreferrer"' in link for link in links), (
        "issues, and nothing else"
    )


def test_a_rule_that_no_look_can_decide_says_why(client: Client) -> None:
    text = page(client, "messages.1.content.0: Invalid `signature` in `thinking` block")
    assert "AN-17" in text and "cannot be judged offline" in text


def test_an_unknown_text_and_an_unknown_conversation_get_a_sentence_each(client: Client) -> None:
    assert "No known rule answers so" in page(client, "the moon is in the wrong phase")
    text = page(client, FIRST_SENTENCE, "no-such-thing", status=400)
    assert "There is no conversation no-such-thing" in text and "AN-16" in text


def test_a_posted_text_becomes_a_link_and_a_long_one_is_explained_without(client: Client) -> None:
    answer = client.post("/explain/", {"error": FIRST_SENTENCE, "target": ""})
    assert answer.status_code == 302 and "AN-16" in client.get(answer["Location"]).content.decode()
    long = "at frame\n" * 2000 + FIRST_SENTENCE
    answer = client.post("/explain/", {"error": long})
    assert answer.status_code == 200 and "AN-16" in answer.content.decode() and "too long for a link" in answer.content.decode()


def test_the_session_and_its_crash_file_are_labeled_where_both_number_a_block(client: Client, session: Conversation) -> None:
    text = words(page(client, FIRST_SENTENCE, session.oid))
    assert "stored at seq 30 of the session" in text
    assert "the rejected request, at messages.5.content.3" in text, "no other number for the same block"
    assert "chunk of the crash file, which counts a seq of its own record messages.5.content.3" in text, "there it is explained"


def test_what_was_rejected_is_before_the_verdict_on_what_is_sent_now(client: Client, session: Conversation) -> None:
    text = page(client, FIRST_SENTENCE, session.oid)
    evidence = part(text, "evidence")
    assert (
        f"before Rejected at messages.5.content.3 (AN-16), as the crash file {CRASH} records. now anthropic-2026-07, as rollouts"
        in evidence
    )


def test_a_title_is_no_part_of_a_sentence(client: Client, session: Conversation) -> None:
    title = "nothing is wrong with it, and no repair is needed"
    Conversation.objects.filter(pk=session.pk).update(title=title)
    text = page(client, FIRST_SENTENCE, session.oid)
    assert f'<a class="link" href="/conversations/{session.oid}/">{title}</a>' in text[text.index("<dt>conversation</dt>") :]
    assert text.count(f"{title}</") == 1, "the name of the one that can be repaired"


@pytest.mark.parametrize(
    ("reader", "verdict"),
    [("rollouts-before-cd8a0c9", "fires now"), ("rollouts", "does not fire now"), ("rollouts-before-cd8a0c9+filter", "does not fire now")],
)
def test_the_reader_that_failed_can_be_chosen(client: Client, session: Conversation, reader: str, verdict: str) -> None:
    answer = client.get("/explain/", {"error": FIRST_SENTENCE, "target": session.oid, "reader": reader})
    text = answer.content.decode()
    assert answer.status_code == 200 and f'<span class="badge{"" if verdict == "fires now" else " ok"}">{verdict}</span>' in text
    assert f"<option selected>{reader}</option>" in text and f"as {reader} reads it" in words(text)
    assert ('id="readers"' in text) == (reader == "rollouts")
    report = client.get("/explain.json", {"error": FIRST_SENTENCE, "target": session.oid, "reader": reader}).json()
    assert report["conversation"] == {"id": session.oid, "native_id": SESSION, "reader": reader}


def test_a_reader_of_another_program_is_a_sentence(client: Client, session: Conversation) -> None:
    asked = {"error": FIRST_SENTENCE, "target": session.oid, "reader": "gbrain-naive"}
    answer = client.get("/explain/", asked)
    assert answer.status_code == 400 and "The reader gbrain-naive does not read rollouts" in words(answer.content.decode())
    assert client.get("/explain.json", asked).status_code == 400


def test_what_passes_by_itself_is_said_to(client: Client, session: Conversation) -> None:
    for target in ("", session.oid):
        text = words(page(client, "API Error: 529 overloaded_error", target))
        assert (
            "The provider is overloaded: nothing in the history is wrong Transient. Send the same request again later" in text
            and "There is nothing to repair." in text
        )
        assert "Not recognized" not in text and "Preview this repair" not in text


def test_the_twin_says_what_the_command_says(client: Client, session: Conversation, crash: Conversation) -> None:
    for oid in (session.oid, crash.oid):
        assert (
            client.get(f"/explain.json?error={quote(ERROR)}&target={oid}").json() == run("explain", ERROR, "--target", oid, "--json").json
        )
    report = client.get(f"/explain.json?error={quote(ERROR)}&target={crash.oid}").json()
    (found,) = report["recognised"]
    assert (found["id"], found["places"][0]["path"], found["places"][0]["seqs"]) == ("AN-16", "messages.5.content.3", [29])
    assert found["evidence"] and found["references"] and found["fires"]
    assert client.get("/explain.json").status_code == 400


@pytest.mark.parametrize(
    "hostile", ["<script>alert(1)</script>", "\ud800 \u202e \x00 {% now %}", "messages.999999999999999999.content.1: ", "}" * 9000]
)
def test_hostile_text_is_shown_and_does_nothing(client: Client, session: Conversation, hostile: str) -> None:
    for target in ("", session.oid, hostile[:50]):
        asked = {
            name: value.encode("utf-8", "replace").decode() for name, value in (("error", hostile + FIRST_SENTENCE), ("target", target))
        }
        answer = client.post("/explain/", asked, follow=True)
        text = answer.content.decode()
        assert answer.status_code in (200, 400) and "AN-16" in text
        assert "<script>alert" not in text and "\u202e" not in text and "\x00" not in text


def test_a_crash_and_its_session_lead_to_each_other_and_crashes_stand_in_the_lists(
    client: Client, session: Conversation, crash: Conversation
) -> None:
    of_crash, of_session = (client.get(f"/conversations/{each.oid}/").content.decode() for each in (crash, session))
    assert f'href="/conversations/{session.oid}/"' in of_crash and "Ruled out:" in of_crash and "equal word for word" in of_crash
    assert (
        f'href="/conversations/{crash.oid}/"' in of_session
        and "Crashed:" in of_session
        and "how it ended: crashed" in words(of_session)
        and "Explain this error" in of_session
    )
    assert f"/conversations/{session.oid}/repairs/new/" in of_crash and "Propose repair" not in of_crash
    assert "Crashes, newest first" in client.get("/conversations/?state=crash").content.decode()
    assert "Crashes, newest first" not in client.get("/conversations/").content.decode()


def test_lists_without_crashes_do_not_mention_them(client: Client, incident: Conversation) -> None:
    assert "Crashes" not in client.get("/conversations/").content.decode()


def test_each_recorded_error_leads_to_its_explanation(client: Client, crash: Conversation) -> None:
    text = client.get(f"/conversations/{crash.oid}/").content.decode()
    recorded = text[text.index('id="recorded"') :]
    assert "AN-16" in recorded and f"target={crash.oid}" in recorded and "Not recognized" not in recorded


def test_the_page_of_profiles_has_every_rule_of_each(client: Client) -> None:
    from inspector.profiles.catalogue import PROFILES

    text = client.get("/profiles/").content.decode()
    for each in PROFILES:
        assert f'id="{each.name}"' in text
        assert all(f'id="{each.name}.{rule.id}"' in text for rule in each.rules), each.name
    assert "not judged offline" in text and "obsolete" in text
