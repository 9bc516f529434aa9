"""Captured streams as targets: what scan, show, repair and import_source say of them, and with which status they end."""

import gzip
import json
import random
from pathlib import Path

import pytest

from inspector.models import Stream
from inspector.streams.captures.catalogue import KINDS
from inspector.streams.corrections import STREAM_STRATEGIES
from inspector.streams.violations import ALL_STREAM_RULES, STREAM_RULES
from tests.actions.test_import_streams import har
from tests.commands.running import incident, make, run, run_in_process
from tests.corpus import CORPUS, needs
from tests.streams.spoken import DONE, ROLE, call, chunk, sse, text
from tests.streams.test_golden_tables import FOLDER

BUG = FOLDER / "the-bug-O-L.jsonl"
FIXED = FOLDER / "correct-flow-O-L.jsonl"
WHOLE = sse(ROLE, text("Hi "), text("there."), chunk({}, "stop"), DONE)
UNENDED = sse(ROLE, text("Hi "))

pytestmark = pytest.mark.django_db


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def one_side_of(path: Path, out: Path, side: str) -> Path:
    """The capture as it would be with one side only."""
    head, *lines = path.read_bytes().splitlines()
    header = json.loads(head) | {"sides": [side]}
    kept = [line for line in lines if json.loads(line)["side"] == side]
    return written(out, b"\n".join([json.dumps(header).encode(), *kept]) + b"\n")


def codes(report: dict[str, object]) -> list[str]:
    return [found["code"] for found in report["findings"]]  # type: ignore[attr-defined]


class TestScan:
    def test_both_sides_show_the_terminal_that_came_too_early(self) -> None:
        ran = run("scan", BUG)

        assert ran.status == 1
        assert ran.out.startswith(
            "Ended too early: the client's terminal came at input 3 of 6 of the backend, and content of the backend after it"
        )
        assert "STREAM101 premature-terminal: error, silent, wrong in the stream, client event" in ran.out
        assert "corrected by one-terminal" in ran.out

    @pytest.mark.parametrize("side", ["client", "backend"])
    def test_one_side_alone_does_not_claim_it(self, tmp_path: Path, side: str) -> None:
        ran = run("scan", one_side_of(BUG, tmp_path / "x.jsonl", side), "--json")
        (stream,) = ran.json["streams"]

        assert "STREAM101" not in codes(stream)
        assert any(f"Only the {side} side was captured" in remark for remark in stream["remarks"])

    def test_the_fixed_flow_has_no_findings(self) -> None:
        ran = run("scan", FIXED, "--json")
        (stream,) = ran.json["streams"]

        assert ran.status == 0 and stream["findings"] == [] and "nothing is wrong by what both sides show" in stream["verdict"]

    def test_json_has_the_fields_that_scripts_rely_on(self) -> None:
        scanned = run("scan", BUG, "--json").json
        (stream,) = scanned["streams"]

        assert scanned["source"] == {"path": str(BUG), "format": "stream-capture", "findings": [], "problems": []}
        assert scanned["conversations"] == []
        assert list(stream) == ["id", "native_id", "title", "protocol", "events", "verdict", "sides", "findings", "remarks"]
        assert (stream["protocol"], stream["events"]) == ("ollama-chat", 8)
        assert [side["side"] for side in stream["sides"]] == ["backend", "client"]
        first = stream["findings"][0]
        assert {"code", "rule", "severity", "silent", "origin", "side", "events", "total", "message", "repaired_by"} <= first.keys()
        assert first["code"] == "STREAM101" and first["repaired_by"] == ["one-terminal"]

    @pytest.mark.parametrize(("fail_on", "status"), [("error", 0), ("warning", 1), ("note", 1), ("never", 0)])
    def test_the_status_goes_by_the_worst_finding(self, tmp_path: Path, fail_on: str, status: int) -> None:
        path = written(tmp_path / "x.sse", sse(ROLE, text("Hi <|im_end|>"), chunk({}, "stop"), DONE))
        assert run("scan", path, "--fail-on", fail_on).status == status

    def test_of_several_exchanges_those_without_findings_are_counted(self, tmp_path: Path) -> None:
        path = har(tmp_path / "x.har", WHOLE, UNENDED, WHOLE)
        ran = run("scan", path)

        assert ran.status == 1 and "x.har#1" in ran.out and "Nothing wrong: 2 of 3 streams." in ran.out
        assert run("scan", path, "--conversation", "x.har#2").status == 0
        assert "it holds 3 streams (x.har#0" in run("scan", path, "--conversation", "nobody").err

    def test_the_rules_of_conversations_look_at_the_message(self, tmp_path: Path) -> None:
        said = "<toolbridge:calls><search><query>q</query></search></toolbridge:calls>"
        path = written(tmp_path / "x.sse", sse(ROLE, text(said), chunk({}, "stop"), DONE))
        (stream,) = run("scan", path, "--json").json["streams"]

        (found,) = [each for each in stream["findings"] if each["code"] == "THINK301"]
        assert (found["side"], found["events"], found["origin"]) == ("backend", [1], "stream")

    def test_a_call_written_as_text_is_one_finding(self, tmp_path: Path) -> None:
        said = '<tool_call>\n{"name": "search", "arguments": {"query": "q"}}\n</tool_call>'
        path = written(tmp_path / "x.sse", sse(ROLE, chunk({"reasoning_content": said}), chunk({}, "stop"), DONE))
        (stream,) = run("scan", path, "--json").json["streams"]

        assert "STREAM126" in codes(stream) and "THINK301" not in codes(stream)

    @pytest.mark.slow
    def test_a_kind_can_be_forced(self, tmp_path: Path) -> None:
        path = written(tmp_path / "notes", b"no capture at all\n")
        assert "is no store, request body, trace database, journal or capture" in run("scan", path).err
        forced = run("scan", path, "--format", "raw", "--json")
        assert forced.status == 0 and forced.json["source"]["format"] == "raw"
        assert "cannot be read as a capture" in run("scan", path, "--format", "har").err

    def test_formats_win(self, tmp_path: Path) -> None:
        body = {"model": "gpt-4o", "stream": True, "messages": [{"role": "user", "content": "data: hello"}], "log": {"entries": []}}
        asked = written(tmp_path / "request.har", json.dumps(body).encode())
        assert run("scan", asked, "--json").json["source"]["format"] == "openai-chat-request"
        assert run("scan", incident(tmp_path / "dispatch.db"), "--json").json["streams"] == []

    def test_what_means_nothing_for_a_capture_is_refused(self) -> None:
        ran = run("scan", BUG, "--reader", "exact", "--profile", "all")
        assert ran.status == 2 and "for which --reader and --profile means nothing: leave it out." in ran.err

    def test_an_unsupported_dialect_is_named_in_one_sentence(self, tmp_path: Path) -> None:
        line = json.dumps({"candidates": [{"content": {"parts": [{"text": "Hi"}], "role": "model"}}]}).encode()
        ran = run("scan", written(tmp_path / "x.sse", b"data: " + line + b"\n\n"))
        assert ran.status == 0 and ran.out.startswith("Not judged: Gemini is not read here.")


class TestDamage:
    """Read as far as it goes, said, and never a traceback."""

    def test_cut_anywhere(self, tmp_path: Path) -> None:
        data = BUG.read_bytes()
        for size in random.Random(7).sample(range(1, len(data)), 40):
            ran = run("scan", written(tmp_path / "x.capture.jsonl", data[:size]), "--json", "--format", "stream-capture")
            assert ran.status in (0, 1, 2)
            if ran.status == 2:
                assert "cannot be read as a capture. No line of it is one of a stream capture" in ran.err
            else:
                (stream,) = ran.json["streams"]
                assert any(
                    word in remark for remark in stream["remarks"] for word in ("torn", "does not say how", "Nothing was kept", "no JSON")
                )

    def test_packed_and_cut_off(self, tmp_path: Path) -> None:
        path = written(tmp_path / "x.sse.gz", gzip.compress(WHOLE * 20)[:-20])
        (stream,) = run("scan", path, "--json").json["streams"]
        assert any("ends before its end mark" in remark for remark in stream["remarks"])

    def test_a_whole_that_cannot_be_parsed(self, tmp_path: Path) -> None:
        path = har(tmp_path / "x.har", WHOLE)
        path.write_bytes(path.read_bytes()[:-40])
        ran = run("scan", path)
        assert ran.status == 2 and "The archive cannot be read" in ran.err and "export it again" in ran.err

    def test_other_commands_say_what_takes_it(self) -> None:
        ran = run("whatif", BUG, "--reader", "exact", "--reader", "dispatch-legacy")
        assert (
            ran.status == 2 and "holds captured streams (stream-capture), no conversations: scan, show, repair and import_source" in ran.err
        )


class TestShow:
    def test_events_fold_and_what_is_wrong_stands_below(self) -> None:
        out = run("show", BUG).out

        assert "client: ollama-chat" in out and "text deltas" in out
        lines = out.split("\n")
        place = next(number for number, line in enumerate(lines) if "! STREAM101 premature-terminal (error)" in line)
        assert "terminal" in lines[place - 1] and "[ended]" in lines[place - 1]

    def test_json_has_the_lines(self, tmp_path: Path) -> None:
        shown = run(
            "show", written(tmp_path / "x.sse", sse(ROLE, *(text("a ") for _ in range(500)), chunk({}, "stop"), DONE)), "--json"
        ).json
        lines = [(line["events"], line["kind"], line["state"]) for line in shown["lines"]]
        assert lines == [
            ([0, 0], "start", "start"),
            ([1, 500], "text", "answer"),
            ([501, 501], "finish", "finished"),
            ([502, 502], "terminal", "ended"),
            ([], "end", "ended"),
        ]

    def test_the_message(self, tmp_path: Path) -> None:
        path = written(tmp_path / "x.sse", sse(ROLE, text("Hi "), text("there."), call(), chunk({}, "tool_calls"), DONE))
        assert run("show", path, "--as", "message").out.splitlines() == [
            "# backend: openai-chat (tool_calls)",
            "0 assistant 0.0 text Hi there.",
            '1 assistant 0.1 tool-call call_1 search {"query":"q"}',
        ]
        (side,) = run("show", path, "--as", "message", "--json").json["sides"]
        assert [block["kind"] for block in side["answers"][0]["blocks"]] == ["text", "tool-call"]

    def test_our_own_format_reads_the_same_again(self, tmp_path: Path) -> None:
        again = written(tmp_path / "again.jsonl", run("show", BUG, "--as", "capture").out.encode())
        first, second = (run("scan", path, "--json").json["streams"][0] for path in (BUG, again))
        assert first["findings"] == second["findings"] and first["sides"] == second["sides"]

    def test_one_of_several_is_asked_for(self, tmp_path: Path) -> None:
        path = har(tmp_path / "x.har", WHOLE, UNENDED)
        assert "holds 2 streams (x.har#0" in run("show", path).err
        assert run("show", path, "--conversation", "x.har#1").status == 0

    def test_shapes_of_the_other_kind_are_refused(self, tmp_path: Path) -> None:
        assert "is shown --as events (the default), message or capture" in run("show", BUG, "--as", "messages").err
        store = incident(tmp_path / "dispatch.db")
        assert "--as message shows a captured stream, and this is a conversation" in run("show", store, "--as", "message").err


class TestRepair:
    def test_the_plan_says_what_changes_and_what_it_costs(self) -> None:
        ran = run("repair", BUG, "--plan")
        assert ran.status == 0 and "one-terminal (safe)" in ran.out and "cost:" in ran.out
        assert "before: STREAM101 premature-terminal" in ran.out and "after: no findings" in ran.out

    def test_the_corrected_capture_is_a_new_file(self, tmp_path: Path) -> None:
        before = BUG.read_bytes()
        out = tmp_path / "corrected.capture.jsonl"
        ran = run("repair", BUG, "--out", out)

        assert ran.status == 0 and f"The corrected capture is {out}" in ran.out and BUG.read_bytes() == before
        assert run("scan", out, "--json").json["streams"][0]["findings"] == []
        assert "already exists" in run("repair", BUG, "--out", out).err

    def test_what_one_strategy_leaves_is_said(self) -> None:
        plan = run("repair", FOLDER / "older-O-O.jsonl", "--strategy", "one-terminal", "--plan", "--json").json
        assert plan["strategies"] == ["one-terminal", "re-encode"]
        after = [found["code"] for found in plan["findings_after"]]
        assert "STREAM101" not in after and "STREAM131" in after

    def test_a_capture_is_never_written_to(self) -> None:
        ran = run("repair", BUG, "--strategy", "one-terminal", "--apply")
        assert ran.status == 2 and "A capture is evidence and is never written to" in ran.err

    def test_nothing_to_do_is_status_one(self) -> None:
        ran = run("repair", FIXED, "--plan")
        assert ran.status == 1 and "Nothing to do" in ran.err and not ran.out

    def test_names_are_those_of_captures(self, tmp_path: Path) -> None:
        assert "no strategy 'renumber-messages' for captures: choose from use-backend-content" in (
            run("repair", BUG, "--strategy", "renumber-messages", "--plan").err
        )
        store = incident(tmp_path / "dispatch.db")
        assert run("repair", store, "--strategy", "one-terminal", "--plan").status == 2
        assert "Say what to do with --strategy NAME" in run("repair", store, "--plan").err
        assert "--accept-invented is for captures" in run("repair", store, "--for", "openai-chat", "--accept-invented", "--plan").err

    def test_what_must_be_guessed_needs_a_word(self, tmp_path: Path) -> None:
        said = "<tool_call>\n<function=search>\n<parameter=query>\n12\n</parameter>\n</function>\n</tool_call>"
        path = written(tmp_path / "x.sse", sse(ROLE, text(said), chunk({}, "stop"), DONE))
        # Whether 12 is a number or a text, only a schema could say.
        refused, guessed = run("repair", path, "--plan"), run("repair", path, "--plan", "--accept-invented")
        assert "stays text" in refused.out + refused.err
        assert guessed.status == 0 and "a call of search" in guessed.out

    @pytest.mark.slow
    def test_a_stream_goes_through_pipes(self, tmp_path: Path) -> None:
        ran = run_in_process(tmp_path / "own.sqlite3", "repair", "-", "--out", "-", stdin=BUG.read_bytes())
        assert ran.status == 0
        corrected = run("scan", written(tmp_path / "new.jsonl", ran.out.encode()), "--json").json["streams"]
        assert [stream["findings"] for stream in corrected] == [[]]


class TestPiped:
    @pytest.mark.slow
    def test_what_curl_brings(self, tmp_path: Path) -> None:
        ran = run_in_process(tmp_path / "own.sqlite3", "scan", "-", "--json", stdin=UNENDED)
        (stream,) = ran.json["streams"]
        assert ran.status == 1 and ran.json["source"] == {"path": "-", "format": "raw", "findings": [], "problems": []}
        assert "STREAM106" in codes(stream)

    @pytest.mark.slow
    def test_nothing_and_what_is_neither(self, tmp_path: Path) -> None:
        database = tmp_path / "own.sqlite3"
        assert "Standard input is empty" in run_in_process(database, "scan", "-").err
        assert "is JSON, but no request body" in run_in_process(database, "scan", "-", stdin=b'{"foo":1}').err
        assert "holds no request body and no capture" in run_in_process(database, "scan", "-", stdin=b"hello\n").err

    def test_a_kind_can_be_forced(self, tmp_path: Path) -> None:
        ran = run_in_process(tmp_path / "own.sqlite3", "scan", "-", "--format", "raw", stdin=b"hello\n")
        assert ran.status == 0 and ran.out.startswith("Not judged: its protocol is not read here.")


class TestImported:
    def test_streams_are_counted_and_named_by_their_ids(self) -> None:
        ran = run("import_source", BUG)
        assert ran.out.strip().endswith("the-bug-O-L.jsonl: 1 captured stream (stream-capture)")
        stream = Stream.objects.get()
        assert run("scan", stream.oid[:6], "--json").json["streams"][0]["id"] == stream.oid
        assert run("show", stream.oid, "--as", "message").status == 0
        assert run("import_source", stream.oid, "--json").json["sources"][0]["streams"] == 1
        assert run("import_source", BUG).out.strip().endswith("1 as they were")

    def test_a_path_and_its_import_have_one_id(self) -> None:
        run("import_source", BUG)
        assert run("scan", BUG, "--json").json["streams"][0]["id"] == Stream.objects.get().oid


class TestBesideAStore:
    CALL = {"type": "tool-call", "toolCallId": "call_1", "toolName": "search", "input": {"query": "q"}}

    def store(self, path: Path, *chunks: dict[str, object]) -> Path:
        rows = [("conv:c:chunk:0000000001", {"chunk": {"type": "text", "text": "hello"}, "role": "user", "msgIdx": 0, "chunkIdx": 0})]
        for number, piece in enumerate(chunks):
            rows.append((f"conv:c:chunk:000000000{number + 2}", {"chunk": piece, "role": "assistant", "msgIdx": 1, "chunkIdx": number}))
        held = [("conversation-store", key, json.dumps(value)) for key, value in rows]
        return make(path, [*held, ("conversation-store", "conv:c:seq", str(len(rows))), ("conversation-store", "conv-index", '["c"]')])

    def test_the_stored_answer_parts_from_what_came(self, tmp_path: Path) -> None:
        store = self.store(tmp_path / "dispatch.db", {"type": "text", "text": "Let me "}, {**self.CALL, "input": {"query": "r"}})
        capture = written(tmp_path / "x.sse", sse(ROLE, text("Let me look."), call(), chunk({}, "tool_calls"), DONE))
        ran = run("scan", store, "--traces", capture, "--json")
        (stream,) = ran.json["streams"]

        assert ran.status == 1 and len(ran.json["conversations"]) == 1
        assert codes(stream) == ["STREAM201", "STREAM206"]
        assert stream["stored"] == [
            {"conversation": ran.json["conversations"][0]["id"], "where": "the last stored answer", "differences": 2}
        ]
        assert "The stored text ends 5 characters early, before look." in run("scan", store, "--traces", capture).out

    def test_the_same_answer_has_no_difference(self, tmp_path: Path) -> None:
        store = self.store(tmp_path / "dispatch.db", {"type": "text", "text": "Let me look."}, self.CALL)
        capture = written(tmp_path / "x.sse", sse(ROLE, text("Let me look."), call(), chunk({}, "tool_calls"), DONE))
        ran = run("scan", store, "--traces", capture)
        assert "next to the last stored answer of" in ran.out and ": the same" in ran.out

    def test_a_stranger_is_said_to_be_one(self, tmp_path: Path) -> None:
        store = self.store(tmp_path / "dispatch.db", {"type": "text", "text": "Let me look."})
        ran = run("scan", store, "--traces", written(tmp_path / "x.sse", WHOLE), "--json")
        assert ran.json["streams"][0]["findings"] == [] and "No answer of the store begins as the stream x.sse does" in ran.err

    def test_only_scan_does_that(self, tmp_path: Path) -> None:
        store = self.store(tmp_path / "dispatch.db", {"type": "text", "text": "Let me look."})
        ran = run("show", store, "--traces", written(tmp_path / "x.sse", WHOLE))
        assert ran.status == 2 and "only scan compares them with a store" in ran.err


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("Error: Did not receive done or success response in stream.", "STREAM106"),
        ("Expected array delta entry to have an `index` property", "STREAM115"),
        ('RuntimeError: Unexpected event order, got content_block_start before "message_start"', "STREAM150"),
        ("API Error: Content block not found", "STREAM151"),
    ],
)
def test_what_clients_say_of_a_stream_is_explained(said: str, code: str) -> None:
    ran = run("explain", said)
    assert ran.status == 0 and f"{code} " in ran.out and "`scan CAPTURE` shows where" in ran.out
    assert [row["code"] for row in run("explain", said, "--json").json["streams"]] == [code]


class TestCatalogues:
    def test_rows_are_listed_and_explained(self) -> None:
        listed = run("rules", "--json").json["stream_rules"]
        assert [row["code"] for row in listed] == [row.code for row in ALL_STREAM_RULES]
        for row in STREAM_RULES:
            assert row.summary in run("rules", row.code.lower()).out
        assert run("rules", "premature-terminal", "--json").json["repaired_by"] == ["one-terminal"]
        assert "STREAM101 premature-terminal (error, silent)" in run("rules").out

    def test_corrections_have_a_section_of_their_own(self) -> None:
        out = run("strategies").out
        for strategy in STREAM_STRATEGIES:
            assert strategy.summary in out.split("Of captured streams")[1]
            assert strategy.cost in run("strategies", strategy.name).out

    def test_kinds_are_among_the_formats(self) -> None:
        listed = {found["name"]: found for found in run("formats", "--json").json["formats"]}
        assert all(listed[kind.name]["holds"] == "streams" for kind in KINDS)


@pytest.mark.corpus
@needs("streams")
def test_every_stream_of_the_corpus_is_judged_or_named() -> None:
    paths = [path for top in ("streams", "vcr-cassettes") for path in (CORPUS / top).rglob("*") if path.is_file() and path.stat().st_size]
    assert paths
    for path in paths:
        ran = run("scan", path, "--json")
        assert ran.status in (0, 1), (path, ran.err)
        for stream in ran.json["streams"]:
            assert stream["protocol"] and stream["verdict"]


class TestFolders:
    def test_a_folder_of_captures_is_answered_with_their_names(self, tmp_path: Path) -> None:
        (tmp_path / "more").mkdir()
        written(tmp_path / "a.sse", WHOLE)
        written(tmp_path / "more" / "b.capture.jsonl", BUG.read_bytes())
        written(tmp_path / "notes.txt", b"no capture")
        for words in (("show",), ("repair", "--plan"), ("import_source",)):
            ran = run(words[0], tmp_path, *words[1:])

            assert ran.status == 2 and "a folder with captures of streams (a.sse, more/b.capture.jsonl): name one of these files" in ran.err

    def test_a_folder_without_any_is_none_that_is_known(self, tmp_path: Path) -> None:
        written(tmp_path / "notes.txt", b"no capture")

        assert "is no store, request body, trace database, journal or capture" in run("scan", tmp_path).err


def test_a_change_of_a_plan_is_one_line(tmp_path: Path) -> None:
    spoken = 'I look.\n<tool_call>\n{"name": "ls", "arguments": {}}\n</tool_call>'
    ran = run("repair", written(tmp_path / "x.sse", sse(ROLE, text(spoken), chunk({}, "stop"), DONE)), "--plan")

    (line,) = [line for line in ran.out.splitlines() if "a call of ls" in line]
    assert line.startswith("  event 1: ") and "<tool_call>\\n" in line and line.endswith("(rebuild-calls)")
