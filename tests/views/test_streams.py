"""The pages of captured streams: the list, one stream with its permalinks, filters and twins, its bytes, and the corrected capture."""

import html
import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from django.test import Client

from inspector.actions.import_source import import_targets
from inspector.demo.stream_incident import LEAKED, PREMATURE, REPAIRED, capture_files
from inspector.models import Problem, Stream
from inspector.streams.captures import own
from inspector.streams.examples import kept
from inspector.streams.model import Side
from inspector.views import streams
from tests.commands.running import run
from tests.streams.golden.script import END, EOF, Golden, b, c, raw
from tests.streams.spoken import DONE, ROLE, finish, sse, text

pytestmark = pytest.mark.django_db
HOSTILE = '</pre><script>alert(1)</script><img src=x onerror=alert(2)>"\u202e\x00'


@pytest.fixture(autouse=True)
def forget_streams() -> None:
    streams._viewed.cache_clear()


@pytest.fixture
def captured(tmp_path: Path) -> Mapping[str, Stream]:
    """The demo's three captures, imported from real files."""
    for name, data in capture_files().items():
        (tmp_path / name).write_bytes(data)
    import_targets([str(tmp_path / name) for name in capture_files()], "tester")
    return {stream.native_id: stream for stream in Stream.objects.all()}


def imported(folder: Path, golden: Golden) -> Stream:
    path = folder / "x.capture.jsonl"
    path.write_bytes(b"".join(own.written(golden.exchange())))
    import_targets([str(path)], "tester")
    return Stream.objects.get(native_id=golden.name)


def get(client: Client, path: str, status: int = 200, **headers: str) -> str:
    answer = client.get(path, headers=headers)
    assert answer.status_code == status, answer.content[:2000]
    return str(answer.content.decode())


def words(page: str) -> str:
    """The words of a page, without markup."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", page)))


def test_the_list_says_when_a_stream_was_captured_and_not_when_it_was_read(client: Client, captured: Mapping[str, Stream]) -> None:
    Stream.objects.update(file_time=1782604800 * 10**9)
    page = get(client, "/streams/")
    cells = re.findall(r'<td class="when" data-label="captured"><time[^>]*>([^<]*)</time>', page)
    assert cells == ["2026-06-28"] * len(captured) and "last read" not in page
    assert '<span class="badge error">error, silent</span>' in page


def test_the_premature_terminal_is_the_first_thing_on_the_page(client: Client, captured: Mapping[str, Stream]) -> None:
    page = get(client, f"/streams/{captured[PREMATURE].oid}/")
    (headline,) = re.findall(r"<h1[^>]*>(.*?)</h1>", page)
    assert headline.startswith("The stream was ended too early: the client got [DONE] at input 3 of 5.")
    said = words(page)
    for sentence in (
        "Clients close at the terminal: all after it is lost.",
        "error STREAM101 premature-terminal",
        "Ended: this did not reach the client.",
        "text: did not reach the client 78 characters",
        "text: a tool call, written as text",
        "state: finished → ended",
        "create_file , search",
    ):
        assert sentence in said, sentence


def test_the_same_stream_after_the_fix_has_nothing(client: Client, captured: Mapping[str, Stream]) -> None:
    page = get(client, f"/streams/{captured[REPAIRED].oid}/")
    assert "No findings" in page and 'class="badge error"' not in page and "Correct a copy" not in page


def test_one_side_alone_says_what_it_cannot_show(client: Client, captured: Mapping[str, Stream]) -> None:
    said = words(get(client, f"/streams/{captured[LEAKED].oid}/"))
    assert "client side only" in said and "Not visible from one side" in said and "premature-terminal" in said
    assert "STREAM126" in said and "thinking: a tool call, written as text" in said
    assert "What one side alone" not in get(client, f"/streams/{captured[PREMATURE].oid}/")


def test_one_side_alone_has_no_lane_of_the_other(client: Client, captured: Mapping[str, Stream]) -> None:
    page = get(client, f"/streams/{captured[LEAKED].oid}/")
    assert 'id="choose-lane"' not in page and "<span>backend</span>" not in page
    page = get(client, f"/streams/{captured[PREMATURE].oid}/")
    assert 'id="choose-lane"' in page and "<span>backend</span>" in page


def test_a_call_that_was_written_as_text_is_shown_as_the_call_that_it_becomes(client: Client, captured: Mapping[str, Stream]) -> None:
    said = words(get(client, f"/streams/{captured[LEAKED].oid}/"))
    assert 'Becomes a call of run_shell with {"command":"ls -la .cache"} in a repaired copy' in said
    received, _, after = said.partition("Message of a repaired copy by rebuild-calls invented")
    assert "finish stop" in received and "finish tool_calls" in after and "thinking: a tool call, written as text" not in after


def test_what_was_lost_comes_back_in_the_message_of_the_repaired_copy(client: Client, captured: Mapping[str, Stream]) -> None:
    said = words(get(client, f"/streams/{captured[PREMATURE].oid}/"))
    assert "Comes back text I have written the file." in said
    assert "I have written the file." in said.partition("Message of a repaired copy")[2]
    assert "Message of a repaired copy" not in words(get(client, f"/streams/{captured[REPAIRED].oid}/"))


def test_the_title_is_one_sentence_and_only_the_findings_explain_it(client: Client, captured: Mapping[str, Stream]) -> None:
    page = get(client, f"/streams/{captured[LEAKED].oid}/")
    (headline,) = re.findall(r"<h1[^>]*>(.*?)</h1>", page, re.DOTALL)
    assert words(headline).strip() == "A call of run_shell was written as text in the reasoning, and not run. STREAM126"
    assert words(page).count("very likely the intended call") == 1


def test_the_message_counts_the_characters_that_the_rows_count(client: Client, captured: Mapping[str, Stream]) -> None:
    """The event that begins the call begins with a new line: it counts with the call in both."""
    page = words(get(client, f"/streams/{captured[LEAKED].oid}/"))
    assert "21 thinking deltas, 134 characters" in page and "5 thinking deltas, 80 characters" in page
    assert "thinking 134 characters" in page and "a tool call, written as text 80 characters" in page


def test_the_lanes_say_their_colors_and_where_their_time_begins(client: Client, captured: Mapping[str, Stream]) -> None:
    page = words(get(client, f"/streams/{captured[LEAKED].oid}/"))
    assert "388 ms after the capture began" in page and "start thinking finish, terminal, end an error is found there" in page


def test_the_missing_side_is_said_once(client: Client, captured: Mapping[str, Stream]) -> None:
    page = words(get(client, f"/streams/{captured[LEAKED].oid}/"))
    assert page.count("side was captured") == 1 and "What this capture cannot say" not in page


def test_a_setting_of_the_request_is_spelled_as_json_does(client: Client, captured: Mapping[str, Stream]) -> None:
    assert '<dt>stream</dt><dd class="mono">true</dd>' in get(client, f"/streams/{captured[PREMATURE].oid}/")


def test_a_permalink_opens_the_event_with_its_bytes(client: Client, captured: Mapping[str, Stream]) -> None:
    stream = captured[PREMATURE]
    page = get(client, f"/streams/{stream.oid}/?side=client&at=2")
    assert 'id="e-client-2"' in page and "Event 2 of the client" in page and "data: [DONE]" in page
    assert "in read 3" in words(page)
    answer = client.get(f"/streams/{stream.oid}/events/client/2/raw/")
    assert b"".join(answer.streaming_content) == b"data: [DONE]\n\n" and "attachment" in answer["Content-Disposition"]
    assert answer["X-Content-Type-Options"] == "nosniff" and answer["Content-Type"].startswith("text/plain")


def test_each_row_has_the_bytes_of_its_events_where_they_are_asked_for(client: Client, captured: Mapping[str, Stream]) -> None:
    address = f"/streams/{captured[PREMATURE].oid}/"
    assert 'class="wire"' not in get(client, address)
    page = get(client, f"{address}?raw=1")
    cell = page[page.index('id="e-client-2"') :]
    assert "<pre>data: [DONE]</pre>" in cell[: cell.index("</td>")] and 'value="1" checked> bytes' in page
    wire = [html.unescape(found) for found in re.findall(r'<div class="wire">.*?<pre>(.*?)</pre>', page, re.DOTALL)]
    raw = [
        b"".join(client.get(f"{address}events/{side}/{event}/raw/").streaming_content).decode().rstrip("\n")
        for side, events in (("backend", 5), ("client", 3))
        for event in range(events)
    ]
    assert sorted(wire) == sorted(raw), "the bytes that can be downloaded, event by event"


def test_a_side_alone_has_one_numbering(client: Client, captured: Mapping[str, Stream]) -> None:
    alone = words(get(client, f"/streams/{captured[LEAKED].oid}/"))
    assert "Events count from 0" in alone and "Inputs count" not in alone and not re.search(r"record \d", alone)
    assert "Inputs count from 1" in words(get(client, f"/streams/{captured[PREMATURE].oid}/"))


def test_an_event_within_a_fold_has_its_anchor_too(client: Client, captured: Mapping[str, Stream]) -> None:
    page = get(client, f"/streams/{captured[LEAKED].oid}/?side=client&at=9")
    assert page.count('id="e-client-9"') == 1 and "Event 9 of the client" in page


@pytest.mark.parametrize("query", ["side=client&at=99", "side=backend&at=7"])
def test_an_event_that_is_not_there_is_said(client: Client, captured: Mapping[str, Stream], query: str) -> None:
    assert "has no event" in get(client, f"/streams/{captured[PREMATURE].oid}/?{query}")


@pytest.mark.parametrize("query", ["side=x&at=-1", "from=1e9", "lane=both&kind=nothing", "at=" + "9" * 500, "from=99999", "kind=%00"])
def test_no_query_breaks_the_page(client: Client, captured: Mapping[str, Stream], query: str) -> None:
    get(client, f"/streams/{captured[PREMATURE].oid}/?{query}")


@pytest.mark.parametrize("path", ["events/middle/0/raw/", "events/client/99/raw/", "events/backend/5/raw/"])
def test_bytes_that_are_not_there_are_not_found(client: Client, captured: Mapping[str, Stream], path: str) -> None:
    get(client, f"/streams/{captured[PREMATURE].oid}/{path}", 404)


def test_filters_live_in_the_query(client: Client, captured: Mapping[str, Stream]) -> None:
    base = f"/streams/{captured[PREMATURE].oid}/"
    assert get(client, base).count('<tr id="row-') == 8
    assert get(client, f"{base}?only=findings").count('<tr id="row-') == 2
    assert get(client, f"{base}?kind=terminal").count('<tr id="row-') == 2
    client_only = get(client, f"{base}?lane=client")
    assert client_only.count('<tr id="row-') == 4 and "what came from the model" not in client_only
    assert "No row matches these filters" in get(client, f"{base}?kind=refusal")


def test_further_rows_come_by_htmx_and_by_link(client: Client, tmp_path: Path) -> None:
    steps = [step for number in range(150) for step in b(text(f"{number} ")) + c(text(f"{number} ")) + b(finish())]
    stream = imported(tmp_path, Golden("long", b(ROLE) + c(ROLE) + steps + EOF + END))
    page = get(client, f"/streams/{stream.oid}/")
    assert page.count('<tr id="row-') == 120 and 'hx-get="?from=' in page
    (start,) = re.findall(r'hx-get="\?from=(\d+)"', page)
    part = get(client, f"/streams/{stream.oid}/?from={start}", **{"HX-Request": "true"})
    assert "<html" not in part and f'id="row-{start}"' in part and part.lstrip().startswith("<tbody>")
    assert "Earlier rows" in get(client, f"/streams/{stream.oid}/?from={start}")


def test_hostile_content_is_shown_and_not_run(client: Client, tmp_path: Path) -> None:
    steps = raw(Side.BACKEND, sse(ROLE, text(HOSTILE), finish(HOSTILE), {"error": {"message": HOSTILE}}, DONE)) + EOF
    golden = Golden(
        "evil", [*steps, *raw(Side.CLIENT, sse(ROLE, text("ok" + HOSTILE))), *END], request={"model": HOSTILE, "tools": [{"name": HOSTILE}]}
    )
    stream = imported(tmp_path, golden)
    for path in ("", "?side=backend&at=1", "?side=backend&at=3", "corrected/"):
        page = get(client, f"/streams/{stream.oid}/{path}")
        assert "<script>alert" not in page and "<img src=x" not in page and "\u202e" not in page and "\x00" not in page
    assert "\\u202e" in get(client, f"/streams/{stream.oid}/")
    assert "<script>" not in get(client, "/streams/")


def test_twins_say_what_the_page_says(client: Client, captured: Mapping[str, Stream]) -> None:
    stream = captured[PREMATURE]
    found = json.loads(get(client, f"/streams/{stream.oid}.json"))
    assert (found["id"], found["events"]) == (stream.oid, 8)
    assert [each["rule"] for each in found["findings"]] == ["premature-terminal", "content-lost"]
    text_ = get(client, f"/streams/{stream.oid}.md?side=client&at=2")
    assert "ended too early" in text_ and f"/streams/{stream.oid}/?side=client&at=2" in text_
    assert "after input 3 (405.9 ms) | client: [DONE]  <- error premature-terminal" in text_


def test_secrets_are_masked_in_what_is_pasted(client: Client, tmp_path: Path) -> None:
    key = "sk-ant-api03-" + "x7Kq" * 12
    stream = imported(
        tmp_path, Golden("keys", [*raw(Side.BACKEND, sse(ROLE, text(f"the key is {key}"), finish(), DONE)), *EOF, *c(ROLE, DONE), *END])
    )
    assert key not in get(client, f"/streams/{stream.oid}.md")


def test_the_capture_is_given_in_our_own_format(client: Client, captured: Mapping[str, Stream]) -> None:
    answer = client.get(f"/streams/{captured[PREMATURE].oid}/capture.jsonl")
    assert (
        b"".join(answer.streaming_content) == capture_files()[f"{PREMATURE}.capture.jsonl"]
        and "attachment" in answer["Content-Disposition"]
    )


def test_a_corrected_capture_is_previewed_and_comes_without_errors(client: Client, captured: Mapping[str, Stream], tmp_path: Path) -> None:
    base = f"/streams/{captured[PREMATURE].oid}/corrected/"
    said = words(get(client, base))
    assert "The stream as it should have been" in said and "one-terminal" in said and "the terminal after all content" in said
    answer = client.get(f"{base}capture.jsonl")
    path = tmp_path / "new.capture.jsonl"
    path.write_bytes(b"".join(answer.streaming_content))
    import_targets([str(path)], "tester")
    corrected = Stream.objects.get(native_id=f"{PREMATURE}-corrected")
    assert corrected.worst not in ("error", "warning")


def test_what_cannot_or_need_not_be_corrected_is_one_sentence(client: Client, captured: Mapping[str, Stream]) -> None:
    repaired, early = (f"/streams/{captured[name].oid}/corrected/" for name in (REPAIRED, PREMATURE))
    assert "Nothing of this stream is corrected" in get(client, repaired)
    assert "Nothing of this stream is to be corrected" in get(client, f"{repaired}capture.jsonl", 409)
    assert "There is no strategy" in get(client, f"{early}?strategy=nonsense")
    assert "There is no strategy" in get(client, f"{early}capture.jsonl?strategy=nonsense", 409)


def test_the_list_is_worst_first_and_filtered(client: Client, captured: Mapping[str, Stream]) -> None:
    found = client.get("/streams.json").json()
    assert [each["worst"] for each in found["streams"]] == ["error", "error", ""] and found["total"] == 3
    for query, count in (
        ("state=damaged", 2),
        ("state=healthy", 1),
        ("sides=both", 2),
        ("state=two-sided", 2),
        ("sides=both&state=healthy", 1),
        ("state=zzz", 3),
        ("rule=STREAM101", 1),
        ("q=REASONING", 1),
        ("q=zzz", 0),
    ):
        assert client.get(f"/streams.json?{query}").json()["total"] == count, query
    source = captured[LEAKED].source.oid
    assert client.get(f"/streams.json?source={source}").json()["total"] == 1
    assert "Nothing here matches" in get(client, "/streams/?q=zzz")


@pytest.mark.parametrize(("query", "tabs"), [
    ("", ["All 3", "Errors or warnings 2", "No error or warning 1"]),
    ("?state=damaged", ["All 3", "Errors or warnings 2", "No error or warning 1"]),
    # Sources count by state alone.
    ("?q=reasoning", ["All", "Errors or warnings", "No error or warning"]),
])  # fmt: skip
def test_the_tabs_of_the_list_count_streams_by_state(client: Client, captured: Mapping[str, Stream], query: str, tabs: list[str]) -> None:
    nav = get(client, f"/streams/{query}").partition('aria-label="States"')[2].partition("</nav>")[0]
    assert [words(tab).strip() for tab in re.findall(r"<a [^>]*>(.*?)</a>", nav, re.DOTALL)] == tabs
    assert nav.count('aria-current="page"') == 1


def test_a_row_says_what_is_found_by_which_rule_and_where_it_arose(client: Client, captured: Mapping[str, Stream]) -> None:
    page = get(client, "/streams/")
    cells = {
        stream.title: [words(cell).strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)]
        for stream in captured.values()
        for row in page.split("<tr>")
        if f'row-link" href="/streams/{stream.oid}/"' in row
    }
    leaked, early, repaired = (cells[captured[name].title] for name in (LEAKED, PREMATURE, REPAIRED))
    assert leaked[1:4] == [
        "error, silent",
        "A call of run_shell was written as text in the reasoning, and not run. STREAM126",
        "backend or after it only the client captured",
    ]
    assert early[2].startswith("Ended too early: the client's terminal came at input 3 of 5") and early[2].endswith("STREAM101 STREAM131")
    assert early[3] == "between backend and client both sides captured"
    assert repaired[1] == "nothing found" and "STREAM" not in repaired[2] and repaired[3] == "both sides captured"
    assert page.count('href="/rules/STREAM101/"') == 1


def test_a_name_at_the_beginning_of_a_finding_gets_no_capital(client: Client, tmp_path: Path) -> None:
    capture = tmp_path / "early.capture.jsonl"
    capture.write_text("".join(json.dumps(line) + "\n" for line in kept()["block-before-start"]["wrong"]["capture"]))
    import_targets([str(capture)], "tester")
    stream = Stream.objects.get()
    assert stream.verdict.startswith("content_block_start comes before")
    problem = Problem.objects.get(code=stream.findings.get(rule="block-before-start").code)
    for address in ("/streams/", f"/streams/{stream.oid}/", f"/problems/{problem.oid}/"):
        page = get(client, address)
        assert "content_block_start comes before" in page and "Content_block_start" not in page, address


def test_a_stream_says_where_its_worst_finding_arose_and_which_conversation_asked(client: Client, captured: Mapping[str, Stream]) -> None:
    early, leaked = (words(get(client, f"/streams/{captured[name].oid}/")) for name in (PREMATURE, LEAKED))
    assert "error, silent It arose between backend and client: both sides prove it. Clients close at the terminal" in early
    assert "error, silent Whether it arose in the backend or after it is not shown. The client runs no tool" in leaked
    assert "It arose" not in words(get(client, f"/streams/{captured[REPAIRED].oid}/"))
    assert "the user asked Write down when the backup runs, in notes/backup.md. Find the conversation" in early
    assert 'href="/conversations/?q=Write%20down%20when%20the%20backup%20runs%2C%20in%20notes%2Fbackup.md."' in get(
        client, f"/streams/{captured[PREMATURE].oid}/"
    )


def test_an_empty_list_says_how_to_load_one(client: Client) -> None:
    assert "import_source capture.sse" in get(client, "/streams/")


def test_streams_stand_in_the_inbox_with_their_sources_and_on_the_rules(client: Client, captured: Mapping[str, Stream]) -> None:
    inbox = words(get(client, "/"))
    assert "2 captured streams are" in inbox and "3 captured streams" in inbox and "Welcome" not in inbox
    assert client.get("/index.json").json()["streams"]["damaged"] == 2
    source = captured[PREMATURE].source.oid
    assert f"/streams/?source={source}" in get(client, "/sources/") and "Nothing is ever written to a capture" in get(
        client, f"/sources/{source}/"
    )
    assert '/streams/?rule=STREAM101">1<' in get(client, "/rules/")
    rule = words(get(client, "/rules/STREAM101/"))
    assert "premature-terminal" in rule and "one-terminal" in rule and "1 stream now" in rule
    assert client.get("/rules/STREAM101.json").json()["rule"] == "premature-terminal"


def test_a_large_capture_that_has_gone_on_says_so(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.actions.import_streams.LARGEST_KEPT", 10)
    stream = imported(tmp_path, Golden("big", raw(Side.CLIENT, sse(ROLE, text("Hi"), finish(), DONE)) + END))
    assert not stream.is_kept
    get(client, f"/streams/{stream.oid}/")
    with (tmp_path / "x.capture.jsonl").open("ab") as file:
        file.write(b"\n")
    for path in (f"/streams/{stream.oid}/", f"/streams/{stream.oid}/capture.jsonl", f"/streams/{stream.oid}/corrected/"):
        assert "import it again" in get(client, path, 409)
    assert "import it again" in get(client, f"/streams/{stream.oid}.json", 409) and "import it again" in get(
        client, f"/streams/{stream.oid}.md", 409
    )


def test_a_secret_that_several_events_say_is_in_none_of_them(client: Client, tmp_path: Path) -> None:
    """No part of it is recognized by itself: the text of the message is looked at, and each event is shown without its part."""
    parts = ("the password is Cn", "ry7Hq2", "Zt9Lm", "Xc4V, and", " ghp", "_Kanry7Hq2Zt9LmXc4", "Vb8NwRkY3sPdF", "gTj6Ua then more")
    steps = [step for part in parts for step in c(text(part))]
    stream = imported(tmp_path, Golden("parts", [*c(ROLE), *steps, *c(finish(), DONE), *END]))
    shown = [
        get(client, f"/streams/{stream.oid}/{path}") for path in ("", "?raw=1", *(f"?side=client&at={event}" for event in range(1, 10)))
    ]
    shown += [run("show", stream.oid).out, run("show", stream.oid, "--json").out, get(client, f"/streams/{stream.oid}.md")]
    for event in range(1, 10):
        shown.append(b"".join(client.get(f"/streams/{stream.oid}/events/client/{event}/raw/").streaming_content).decode())
    for page in shown:
        assert not [part for part in ("ry7Hq2", "Zt9Lm", "Xc4V", "_Kanry", "Vb8Nw", "gTj6") if part in page]
    assert " then more" in words(shown[0]) and "[masked github-token" in shown[0]
    revealed = client.post(f"/streams/{stream.oid}/?side=client&at=3", {"reveal": "1"}).content.decode()
    assert "Zt9Lm" in revealed and "Zt9Lm" not in get(client, f"/streams/{stream.oid}/?side=client&at=3")
