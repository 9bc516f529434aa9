"""`check`, and the function of that name: would the provider accept a history, and what is wrong with it."""

import json
import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from django.conf import settings

from inspector import NotAHistory, check, check_all
from tests.commands.running import Ran, incident, run, run_in_process

pytestmark = pytest.mark.only_settles

CALL = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
REJECTED: list[dict[str, Any]] = [
    {"role": "user", "content": "read it"},
    {"role": "assistant", "content": [CALL]},
    {"role": "user", "content": "go on"},
]
ACCEPTED = [
    *REJECTED[:2],
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "text"}, {"type": "text", "text": "go on"}]},
]
SESSION = (
    '{"type":"session","version":3,"id":"s1","timestamp":"2026-11-20T17:33:07.691Z","cwd":"/home/dev/app"}\n'
    '{"type":"message","id":"aaaaaaaa","parentId":null,"timestamp":"2026-11-20T17:33:08.000Z","message":{"role":"user","content":"hi"}}\n'
)
DANGLING = SESSION + (
    '{"type":"message","id":"bbbbbbbb","parentId":"ffffffff","timestamp":"2026-11-20T17:33:09.000Z",'
    '"message":{"role":"user","content":"still there?"}}\n'
)


def body(path: Path, messages: list[dict[str, Any]]) -> Path:
    """A body with a message on each line, the first one on line 2."""
    lines = ",\n".join(json.dumps(message) for message in messages)
    path.write_text(f'{{"model": "claude-opus-4", "messages": [\n{lines}\n]}}\n')
    return path


def test_an_accepted_body_ends_with_status_0(tmp_path: Path) -> None:
    ran = run("check", body(tmp_path / "request.json", ACCEPTED))
    assert (ran.status, ran.err) == (0, "")
    assert "the next request passes all known rules" in ran.out


def test_a_rejected_body_ends_with_status_1_and_names_rule_line_and_text(tmp_path: Path) -> None:
    path = body(tmp_path / "request.json", REJECTED)
    ran = run("check", path)
    assert ran.status == 1
    assert f"{path}: " in ran.out and "AN-1 messages.1, line 3: messages.1: `tool_use` ids were found without" in ran.out
    assert "repaired by insert-interrupted-result" in ran.out


def test_a_body_that_only_another_provider_rejects_is_judged_by_the_one_that_is_named(tmp_path: Path) -> None:
    path = body(tmp_path / "request.json", ACCEPTED)
    other = run("check", path, "--profile", "mistral-strict", "--json").json["histories"][0]
    assert other["profile"] == "mistral-strict" and not other["accepted"]
    assert "MI-4" in {violation["id"] for violation in other["violations"]}


def test_an_accepted_store_with_an_error_in_it_ends_with_status_1(tmp_path: Path) -> None:
    (history,) = run("check", incident(tmp_path / "dispatch.db"), "--json").json["histories"]
    assert not history["passes"] and any(finding["severity"] == "error" for finding in history["findings"])


@pytest.mark.parametrize(
    ("content", "options", "sentence"),
    [
        (None, (), "does not exist; check the path and try again."),
        ("{", (), "is cut off at its end, so that it cannot be read"),
        ("words", (), "is no store, request body"),
        ("{}", ("--format", "none"), "There is no format 'none'"),
        ('{"messages":[{"role":"user","content":"hi"}]}', ("--profile", "none"), "There is no profile 'none'; `profiles` lists them."),
        ('{"model":"claude-opus-4","messages":[{"role":"user","content":"hi"}]}', ("--reader", "none"), "There is no reader 'none'"),
    ],
)
def test_what_cannot_be_checked_ends_with_status_2_and_one_sentence(
    tmp_path: Path, content: str | None, options: tuple[str, ...], sentence: str
) -> None:
    path = tmp_path / "history.json"
    if content is not None:
        path.write_text(content)
    ran = run("check", path, *options)
    assert ran.status == 2 and sentence in ran.err and ran.err.count("\n") == 1 and not ran.out


@pytest.mark.slow
def test_a_history_comes_through_a_pipe(tmp_path: Path) -> None:
    database = tmp_path / "own.db"

    def piped(data: bytes) -> Ran:
        return run_in_process(database, "check", "-", stdin=data)

    assert piped(json.dumps({"messages": ACCEPTED}).encode()).status == 0
    assert piped(json.dumps({"messages": REJECTED}).encode()).status == 1
    session = piped(SESSION.encode())
    assert session.status == 0 and session.out.startswith("s1: "), session.err
    empty = piped(b"")
    assert empty.status == 2 and "Standard input is empty" in empty.err
    unknown = piped(b"words")
    assert unknown.status == 2 and unknown.err.startswith("The history is no store") and "/" not in unknown.err.split(":")[0]
    database_file = piped(incident(tmp_path / "dispatch.db").read_bytes())
    assert database_file.status == 2 and "cannot come through a pipe" in database_file.err


def test_a_folder_is_checked_conversation_by_conversation(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "one.jsonl").write_text(SESSION)
    (folder / "two.jsonl").write_text(DANGLING.replace('"s1"', '"s2"'))
    ran = run("check", folder)
    assert ran.status == 1
    assert "1 of 2 conversations pass." in ran.out and "one.jsonl" not in ran.out
    assert f"{folder / 'two.jsonl'} s2: " in ran.out and "TREE101 dangling-parent (error), line 3" in ran.out


def test_a_file_that_cannot_be_read_is_no_success(tmp_path: Path) -> None:
    folder = tmp_path / "requests"
    folder.mkdir()
    body(folder / "a.json", ACCEPTED)
    assert run("check", folder).status == 0
    (folder / "README").write_text("words")
    ran = run("check", folder)
    assert ran.status == 2 and "Not read, " in ran.err


def test_a_folder_of_bodies_is_checked_file_by_file(tmp_path: Path) -> None:
    folder = tmp_path / "requests"
    folder.mkdir()
    body(folder / "a.json", ACCEPTED)
    body(folder / "b.json", REJECTED)
    (folder / "README").write_text("words")
    ran = run("check", folder)
    assert ran.status == 1 and "1 of 2 conversations pass." in ran.out and f"{folder / 'b.json'}: " in ran.out
    assert "Not read, " in ran.err and "README" in ran.err
    (folder / "b.json").unlink()
    assert run("check", folder).status == 2
    (folder / "a.json").unlink()
    assert run("check", folder).status == 2


# What the standard asks for of the parts that we write (SARIF 2.1.0, OASIS, sections 3.13 to 3.50): members that must be there, and types.
TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
RULE = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": {"type": "string"},
        "name": {"type": "string"},
        "shortDescription": TEXT,
        "fullDescription": TEXT,
        "defaultConfiguration": {"type": "object", "properties": {"level": LEVEL}},
    },
    "additionalProperties": False,
}
PLACE = {
    "type": "object",
    "properties": {
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation"],
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "required": ["uri"],
                    "properties": {"uri": {"type": "string", "pattern": "^[!-~]+$"}},
                },
                "region": {"type": "object", "required": ["startLine"], "properties": {"startLine": {"type": "integer", "minimum": 1}}},
            },
            "additionalProperties": False,
        },
        "logicalLocations": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"fullyQualifiedName": {"type": "string"}, "kind": {"type": "string"}},
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}
RESULT = {
    "type": "object",
    "required": ["message", "ruleId", "ruleIndex", "level", "locations"],
    "properties": {
        "message": TEXT,
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": LEVEL,
        "locations": {"type": "array", "items": PLACE},
        "properties": {"type": "object"},
    },
    "additionalProperties": False,
}
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {"rules": {"type": "array", "items": RULE, "uniqueItems": True}},
                            }
                        },
                        "additionalProperties": False,
                    },
                    "invocations": {"type": "array", "items": {"type": "object", "required": ["executionSuccessful"]}},
                    "results": {"type": "array", "items": RESULT},
                },
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}


def test_sarif_describes_each_rule_once_and_puts_each_result_at_its_line(tmp_path: Path) -> None:
    folder = tmp_path / "my requests"
    folder.mkdir()
    body(folder / "grüße.json", REJECTED)
    body(folder / "b.json", REJECTED)
    (folder / "README").write_text("words")
    ran = run("check", folder, "--output", "sarif")
    assert ran.status == 1
    jsonschema.validate(ran.json, SARIF)
    (only,) = ran.json["runs"]
    rules = only["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["AN-1", "TOOL102"]
    assert [rules[result["ruleIndex"]]["id"] for result in only["results"]] == [result["ruleId"] for result in only["results"]]
    places = [result["locations"][0]["physicalLocation"] for result in only["results"]]
    assert {place["region"]["startLine"] for place in places} == {3}
    assert {place["artifactLocation"]["uri"].rpartition("/")[2] for place in places} == {"gr%C3%BC%C3%9Fe.json", "b.json"}
    (invocation,) = only["invocations"]
    assert "README" in invocation["toolExecutionNotifications"][0]["message"]["text"]


def test_sarif_of_an_accepted_history_has_no_results(tmp_path: Path) -> None:
    ran = run("check", body(tmp_path / "request.json", ACCEPTED), "--output", "sarif")
    jsonschema.validate(ran.json, SARIF)
    assert ran.status == 0 and ran.json["runs"][0]["results"] == []


def test_a_line_is_named_only_where_it_is_known(tmp_path: Path) -> None:
    """Blocks with the same bytes have the line of their message; a database has no lines."""
    twice = {"role": "assistant", "content": [CALL]}
    path = body(tmp_path / "request.json", [REJECTED[0], twice, REJECTED[2], twice, REJECTED[2]])
    lines = [violation["line"] for violation in run("check", path, "--json").json["histories"][0]["violations"]]
    assert lines[:2] == [3, 5]
    stored = run("check", incident(tmp_path / "dispatch.db"), "--output", "sarif").json["runs"][0]["results"]
    assert stored and all("region" not in result["locations"][0]["physicalLocation"] for result in stored)


def test_junit_has_one_test_case_a_conversation(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "one.jsonl").write_text(SESSION)
    hostile = DANGLING.replace('"s1"', '"s2]]>\\u0001<&\\uffff"').replace("ffffffff", "<f&]]>")
    (folder / "two.jsonl").write_text(hostile)
    ran = run("check", folder, "--output", "junit")
    root = ElementTree.fromstring(ran.out.encode())
    (suite,) = root
    assert (root.tag, suite.tag) == ("testsuites", "testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    one, two = suite.findall("testcase")
    assert one.get("name") == "s1" and len(one) == 0
    assert str(two.get("name")).startswith("s2]]>\\x01<&") and str(two.get("classname")).endswith("two.jsonl")
    (failure,) = two
    assert (failure.tag, failure.get("type")) == ("failure", "TREE101") and "dangling-parent" in str(failure.text)


def test_a_file_that_is_no_history_is_an_error_of_the_suite(tmp_path: Path) -> None:
    body(tmp_path / "a.json", ACCEPTED)
    (tmp_path / "README").write_text("words")
    (suite,) = ElementTree.fromstring(run("check", tmp_path, "--output", "junit").out.encode())
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "0", "1")
    assert [case.find("error") is not None for case in suite.findall("testcase")] == [False, True]


def test_the_function_takes_what_a_program_has_at_hand(tmp_path: Path) -> None:
    request = {"model": "claude-opus-4", "messages": REJECTED}
    path = body(tmp_path / "request.json", REJECTED)
    for history in (request, json.dumps(request).encode(), path):
        checked = check(history)
        assert not checked.accepted and not checked.passes
        assert [violation.id for violation in checked.violations] == ["AN-1"]
    assert check(REJECTED).violations and check(ACCEPTED).passes
    assert check(SESSION.encode()).conversation == "s1"
    with pytest.raises(FrozenInstanceError):
        checked.verdict = "fine"  # type: ignore[misc]


def test_the_profile_says_whose_body_it_is_where_nothing_else_does() -> None:
    words = [{"role": "user", "content": "hi"}]
    assert check(words, profile="anthropic-2026-07").format == "anthropic-request"
    assert check(words, profile="openai-chat").format == "openai-chat-request"


def test_objects_of_an_sdk_are_read_as_it_sends_them() -> None:
    class Block:
        def model_dump(self, mode: str, exclude_unset: bool) -> dict[str, Any]:
            return CALL

    assert [violation.id for violation in check([REJECTED[0], {"role": "assistant", "content": [Block()]}, REJECTED[2]]).violations] == [
        "AN-1"
    ]


@pytest.mark.parametrize(
    ("history", "sentence"),
    [
        ("text", "A str is no history"),
        (7, "A int is no history"),
        ([], "The history holds an empty list of messages"),
        ({"role": "user"}, "The history "),
        ([{"role": "user", "content": object()}], "has no JSON"),
        (b"", "The history is empty"),
        ({"messages": [{"role": "user", "content": "hi"}]}, "The history "),
        (b"SQLite format 3\0", "is checked by its path"),
        (Path("/nowhere/at/all"), "/nowhere/at/all does not exist"),
    ],
)
def test_what_is_no_history_is_refused_with_a_sentence(history: Any, sentence: str) -> None:
    with pytest.raises(NotAHistory, match=sentence):
        check(history)


def test_a_store_with_many_conversations_is_checked_with_check_all(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text(SESSION)
    (tmp_path / "two.jsonl").write_text(DANGLING.replace('"s1"', '"s2"'))
    assert [(checked.conversation, checked.passes) for checked in check_all(tmp_path)] == [("s1", True), ("s2", False)]
    with pytest.raises(NotAHistory, match="holds several conversations: use check_all"):
        check(tmp_path)


@pytest.mark.slow
def test_the_function_needs_no_django(tmp_path: Path) -> None:
    code = (
        "import sys; from inspector import check; "
        "print(check({'model': 'claude-opus-4', 'messages': [{'role': 'user', 'content': 'hi'}]}).accepted, [name for name in sys.modules if name.startswith('django')])"
    )
    environment = {"PYTHONPATH": str(settings.BASE_DIR), "HOME": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=60)
    assert (ran.stdout.strip(), ran.stderr) == ("True []", "")
    assert not list(tmp_path.iterdir())
