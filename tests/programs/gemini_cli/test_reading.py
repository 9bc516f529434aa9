"""Chats as 0.61.0 loads them: what replaces what, what is not live any more, and the request of the next resume."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.conversation.model import Kind, Reading
from inspector.profiles.judging import judged_case
from inspector.programs.formats import Shape, Stored
from inspector.programs.gemini_cli.chunks import about
from inspector.programs.gemini_cli.format import GEMINI_CLI
from inspector.programs.gemini_cli.program import PROGRAM
from inspector.programs.gemini_cli.reader import INTERRUPTED, NAME, PROJECTION, SIGNATURE, read
from inspector.rules.base import case_of
from inspector.rules.catalogue import all_findings
from inspector.sources.places import place
from inspector.sources.reading import read_store
from inspector.text.json_lines import BOM
from tests.programs.gemini_cli.chats import (
    CLEAN,
    CONTEXT,
    HEADER,
    ID,
    TWO_CALLS,
    answer,
    call,
    lines,
    listed,
    of_bytes,
    response,
    resumed,
    rewind,
    stored,
    tool_call,
    user,
    write,
)  # fmt: skip

EXAMPLES = Path(__file__).parents[4] / "shared" / "examples" / "stores" / "gemini_cli"


def shown(chat: Stored) -> list[tuple[str, str, str]]:
    return [(chunk.role, chunk.kind.value, chunk.text or chunk.call_id) for chunk in chat.conversation.chunks]


def contents(chat: Stored) -> list[Any]:
    """Role and parts, short: texts as they are, calls as `name(id)`, responses as `id=output`."""

    def short(part: dict[str, Any]) -> str:
        if "functionCall" in part:
            sign = "*" if part.get("thoughtSignature") == SIGNATURE else ""
            return f"{part['functionCall']['name']}({part['functionCall']['id']}){sign}"
        if "functionResponse" in part:
            return f"{part['functionResponse']['id']}={part['functionResponse']['response'].get('output')}"
        return str(part["text"])

    return [(value["role"], [short(part) for part in value["parts"]]) for value in PROJECTION.project(reading(chat).messages).values]


def reading(chat: Stored) -> Reading:
    return read(chat.conversation)


def codes(chat: Stored) -> list[str]:
    return [f"{finding.code}/{finding.severity.value}" for finding in all_findings(case_of(chat.conversation, NAME))]


def verdict(chat: Stored) -> list[str]:
    return [violation.id for violation in judged_case(case_of(chat.conversation, NAME), "gemini", PROJECTION.name)[1].violations]


def test_a_chat_that_was_never_resumed_is_whole_and_its_next_request_is_doubled() -> None:
    chat = stored(*CLEAN)
    assert shown(chat)[1:] == [
        ("user", "text", "List the files."),
        ("assistant", "thinking", "I think."),
        ("assistant", "text", "I look."),
        ("assistant", "tool-call", "ls__a"),
        ("assistant", "tool-call", "ls__b"),
        ("tool", "tool-result", "x"),
        ("tool", "tool-result", "y"),
        ("assistant", "text", "Two files."),
    ]
    assert contents(chat) == [
        ("user", ["List the files."]),
        ("model", ["I look.", "ls(a)*", "ls(b)"]),
        ("user", ["a=x", "b=y", "a=x", "b=y"]),
        ("model", ["Two files."]),
    ]
    assert codes(chat) == ["TOOL701/note"] and verdict(chat) == ["GE-3"]


def test_after_one_resume_each_result_is_sent_four_times() -> None:
    chat = stored(*resumed())
    assert contents(chat)[2] == ("user", ["a=x", "b=y"] * 4)
    assert codes(chat) == ["TOOL701/error", "TOOL206/warning", "TOOL206/warning"] and verdict(chat) == ["GE-3"]


def test_a_record_replaces_the_earlier_one_of_its_id_in_its_place() -> None:
    chat = stored(HEADER, user("u1", "one"), user("u2", "two"), user("u1", "uno"))
    assert [text for _, _, text in shown(chat)] == ["uno", "two"]


def test_a_list_takes_the_place_of_all_and_what_it_lacks_is_shown() -> None:
    chat = stored(HEADER, user("u1", "one"), answer("m1", "aye"), listed(user("s", "a summary")), user("u2", "two"))
    assert [(text, about(chunk).get("why")) for (_, _, text), chunk in zip(shown(chat), chat.conversation.chunks, strict=True)] == [
        ("one", "replaced"),
        ("aye", "replaced"),
        ("a summary", None),
        ("two", None),
    ]
    assert contents(chat) == [("user", ["a summary", "two"])] and codes(chat) == []


def test_a_rewind_drops_the_named_record_and_all_after_it() -> None:
    chat = stored(HEADER, user("u1", "one"), answer("m1", "aye"), user("u2", "two"), rewind("u2"), user("u3", "three"))
    assert contents(chat) == [("user", ["one"]), ("model", ["aye"]), ("user", ["three"])] and codes(chat) == []


def test_a_rewind_to_an_unknown_record_clears_all_before_it() -> None:
    chat = stored(HEADER, user("u1", "one"), answer("m1", "aye"), rewind("u9"), user("u3", "three"))
    assert contents(chat) == [("user", ["three"])] and codes(chat) == ["STORE701/error"]
    (finding,) = all_findings(case_of(chat.conversation, NAME))
    assert "line 4" in finding.message and "2 messages from seq 1 on" in finding.message


def test_a_rewind_in_a_chat_without_records_clears_nothing() -> None:
    assert codes(stored(HEADER, rewind("u9"), user("u1", "one"))) == []


@pytest.mark.parametrize(
    ("line", "damage", "expected"),
    [
        ('{"id":"m1","type":"gemini","content":"I lo', "torn", "STORE801/error"),
        ('{"id":"m1","type":"gemini","content":"a"}{"id":"u2","type":"user","content":"b"}', "fused", "STORE801/warning"),
        ("\0\0\0\0", "nul", "STORE801/error"),
        ("hello", "not-json", "STORE801/warning"),
        ("[1]", "not-object", "STORE801/warning"),
    ],
)
def test_a_line_that_does_not_parse_is_skipped_and_shown(line: str, damage: str, expected: str) -> None:
    chat = stored(HEADER, user("u1", "one"), line, user("u3", "three"))
    assert [(chunk.kind, chunk.damage) for chunk in chat.conversation.chunks][1] == (Kind.UNREADABLE, damage)
    assert contents(chat) == [("user", ["one", "three"])] and codes(chat) == [expected]


def test_a_torn_last_line_says_so() -> None:
    chat = of_bytes(lines(HEADER, user("u1", "one")) + b'{"id":"m1"')
    assert chat.conversation.chunks[-1].reason.endswith("line 3 of the file, which ends in it without a line end")


def test_a_call_without_a_result_is_sent_alone() -> None:
    chat = stored(HEADER, user("u1", "go"), answer("m1", toolCalls=[tool_call("a")]), user("u2", "and?"))
    assert codes(chat) == ["TOOL102/error"] and verdict(chat) == ["GE-3"]


def test_a_kill_in_a_tool_leaves_the_text_of_the_answer_and_nothing_to_find() -> None:
    chat = stored(HEADER, user("u1", "go"), answer("m1"), user("u2", "and?"))
    assert codes(chat) == [] and verdict(chat) == []


def test_results_that_only_the_record_of_the_call_keeps_are_sent_once() -> None:
    chat = stored(HEADER, user("u1", "go"), answer("m1", toolCalls=TWO_CALLS), answer("m2", "Done."))
    assert contents(chat)[2] == ("user", ["a=x", "b=y"]) and codes(chat) == []


def test_a_result_that_is_a_text_is_sent_as_output() -> None:
    chat = stored(HEADER, user("u1", "go"), answer("m1", toolCalls=[tool_call("a") | {"result": "plain"}]))
    assert contents(chat)[2:] == [("user", ["a=plain"]), ("model", [INTERRUPTED])]


def test_calls_that_the_content_does_not_list_are_not_sent() -> None:
    """Where the content has thoughts or calls, the loader takes nothing else for what was said."""
    chat = stored(
        HEADER, user("u1", "go"), answer("m1", [{"text": "hm", "thought": True}, call("a")], toolCalls=[tool_call("b", response("b", "y"))])
    )
    assert contents(chat)[1:3] == [("model", ["ls(a)*"]), ("user", ["b=y"])] and verdict(chat) == []


@pytest.mark.parametrize("text", ["/help", "?", "  /clear", "<session_context>x</session_context>", "<hook_context>", ""])
def test_what_is_taken_for_a_command_is_not_sent(text: str) -> None:
    assert contents(stored(HEADER, user("u1", "go"), user("u2", text))) == [("user", ["go"])]


def test_a_part_without_words_is_no_message() -> None:
    assert contents(stored(HEADER, user("u1", "go"), user("u2", {"text": None}), user("u3", {"hologram": 5}))) == [("user", ["go"])]


def test_notes_for_people_are_not_sent() -> None:
    info = {"id": "i1", "timestamp": "2026-11-22T02:54:46.045Z", "type": "info", "content": "Request cancelled."}
    chat = stored(HEADER, user("u1", "go"), info, answer("m1", "done"))
    assert contents(chat) == [("user", ["go"]), ("model", ["done"])] and shown(chat)[1][:2] == ("", "control")


def test_an_answer_with_an_empty_text_is_left_out_with_its_neighbors() -> None:
    chat = stored(HEADER, user("u1", "go"), answer("m1", [{"text": ""}]), answer("m2", "done"), user("u2", "on"))
    assert contents(chat) == [("user", ["go", "on"])]


def test_two_processes_take_back_what_the_other_wrote() -> None:
    first = [HEADER, user("u1", "one"), answer("m1", "aye"), user("u2", "mine"), answer("m2", "yours"), user("u3", "last")]
    chat = stored(*first, listed(CONTEXT, first[1], first[2], first[5]))
    assert codes(chat) == ["STORE703/warning"] * 2


def test_an_answer_that_is_written_again_without_its_call_is_found() -> None:
    calls = [tool_call("a", response("a", "x")), tool_call("b", response("b", "y"))]
    chat = stored(HEADER, user("u1", "go"), answer("m1", toolCalls=calls), answer("m1", toolCalls=calls[:1]))
    assert codes(chat) == ["STORE703/warning"]


def test_an_abort_and_a_compression_are_no_lost_update() -> None:
    turns = [user("u1", "one"), answer("m1", "aye"), user("u2", "two"), answer("m2", "bee")]
    assert codes(stored(HEADER, *turns, listed(*turns[:2]))) == []
    assert codes(stored(HEADER, listed(CONTEXT), *turns, listed(CONTEXT, user("s", "a summary"), answer("t", "Got it."), *turns[2:]))) == []


def test_one_object_of_an_older_version_is_read() -> None:
    older = {**HEADER, "messages": [user("u1", "go"), answer("m1", toolCalls=TWO_CALLS), answer("m2", "Done.")]}
    chat = of_bytes(json.dumps(older, indent=2).encode(), "session-2025-11-22T02-53-4c59aa92.json")
    assert contents(chat)[2] == ("user", ["a=x", "b=y"]) and chat.conversation.fact("legacy")


def test_a_file_without_its_first_line_cannot_be_resumed() -> None:
    chat = stored(user("u1", "go"))
    assert "cannot resume it" in reading(chat).failure and codes(chat) == ["STORE704/error"]


def test_a_byte_order_mark_hides_the_first_line() -> None:
    chat = of_bytes(BOM + lines(HEADER, user("u1", "go")))
    assert "cannot resume it" in reading(chat).failure and codes(chat) == ["STORE704/error"]
    again = of_bytes(BOM + lines(HEADER, user("u1", "go"), {"$set": {"sessionId": ID, "projectHash": "2458f1"}}))
    assert contents(again) == [("user", ["go"])] and codes(again) == []
    further_on = of_bytes(lines(HEADER) + BOM + lines(user("u1", "go"), user("u2", "on")))
    assert contents(further_on) == [("user", ["on"])] and codes(further_on) == ["STORE801/warning"]


def test_a_carriage_return_ends_a_line() -> None:
    chat = of_bytes(lines(*CLEAN).replace(b"\n", b"\r"))
    assert contents(chat) == contents(stored(*CLEAN)) and codes(chat) == codes(stored(*CLEAN))


@pytest.mark.parametrize("last", [listed(), listed(CONTEXT), listed(user("u1", "/help"))])
def test_a_chat_that_a_list_emptied_is_not_listed(last: dict[str, Any]) -> None:
    chat = stored(HEADER, user("u1", "one"), answer("m1", "aye"), last)
    assert "does not list" in reading(chat).failure and codes(chat) == ["STORE704/error"]


@pytest.mark.parametrize("said", [(), (listed(CONTEXT),), (user("u1", "/help"),), (user("u1", "go"), rewind("u1"))])
def test_a_chat_in_which_nothing_was_said_is_not_listed_and_no_damage(said: tuple[Any, ...]) -> None:
    chat = stored(HEADER, *said)
    assert "does not list" in reading(chat).failure and codes(chat) == [] and not PROGRAM.is_resumed(chat.conversation)


def test_two_files_with_one_id_are_two_conversations(tmp_path: Path) -> None:
    write(tmp_path, *CLEAN)
    chats = write(tmp_path, HEADER, listed(CONTEXT), name="session-2026-11-22T17-33-4c59aa92.jsonl")
    store = read_store(place(str(chats)))
    assert store.format.name == "gemini-cli"
    assert [chat.conversation.native_id for chat in store.conversations] == [
        f"{ID} session-2026-11-22T02-53-4c59aa92.jsonl",
        f"{ID} session-2026-11-22T17-33-4c59aa92.jsonl",
    ]
    # The finding is on the one that holds the conversation.
    assert [codes(chat) for chat in store.conversations] == [["STORE702/error", "TOOL701/note"], []]


def test_two_files_with_one_id_and_a_conversation_each_are_only_a_warning(tmp_path: Path) -> None:
    write(tmp_path, HEADER, user("u1", "one"))
    chats = write(tmp_path, HEADER, user("u2", "two"), name="session-2026-11-22T17-33-4c59aa92.jsonl")
    assert [codes(chat) for chat in read_store(place(str(chats))).conversations] == [["STORE702/warning"]] * 2


def test_a_folder_of_chats_is_recognized_by_its_files() -> None:
    assert GEMINI_CLI.sniff(Shape(files=("tmp/proj/chats/session-2026-11-22T02-53-4c59aa92.jsonl",))) == 0.8
    assert GEMINI_CLI.sniff(Shape(files=("a/x.jsonl",), heads=(lines(HEADER),))) == 0.9
    assert GEMINI_CLI.sniff(Shape(head=lines(HEADER))) == 0.9
    assert GEMINI_CLI.sniff(Shape(head=b'{"type":"session"}')) == GEMINI_CLI.sniff(Shape(files=("a/x.jsonl",))) == 0.0


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the chats that the program itself wrote are not here")
def test_chats_that_the_program_wrote() -> None:
    found = {file.name: codes(of_bytes(file.read_bytes(), file.name)) for file in sorted(EXAMPLES.glob("*.jsonl"))}
    assert found == {
        "clean.jsonl": ["TOOL701/note"],
        "killed_after_one_resume.jsonl": ["TOOL701/error", "TOOL206/warning", "TOOL206/warning"],
    }
