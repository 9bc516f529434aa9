"""Errors that Claude Code itself answers with are explained: texts of versions before 2.1.277 on sessions with one such line, and of public reports."""

import pytest

from inspector.conversation import notation
from inspector.presentation.conversation.recorded_errors import NOT_RECOGNISED, recorded_errors
from inspector.presentation.explain.meanings import unrecognized_meaning
from inspector.programs.claude_code.error_texts import MEANINGS
from inspector.rules.base import case_of
from inspector.rules.catalogue import rule
from tests.commands.running import run

CALLER = 'n.type==="tool_use"&&("caller"in n)&&n.caller!==null'


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("No conversation found with session ID: 9d1f6f6e-0000-4000-8000-000000000001", "STORE903"),
        ("RangeError: Maximum call stack size exceeded.\n    at parse (unknown)", "STORE801"),
        # One malformed line each, resumed by versions before 2.1.277.
        ("undefined is not an object (evaluating 'e.files.length')", "STORE901"),
        ("null is not an object (evaluating 'e.files.length')", "STORE901"),
        ("undefined is not an object (evaluating 'e.addedLines.length')", "STORE901"),
        ("undefined is not an object (evaluating 'e.removedNames.length')", "STORE901"),
        ("Failed to resume session: null is not an object (evaluating 't.attachment.type')", "STORE901"),
        ("Failed to resume session: t is not an Object. (evaluating '\"displayPath\"in t')", "STORE901"),
        ("e.at is not a function. (In 'e.at(-1)', 'e.at' is undefined)", "STORE901"),
        ("null is not an object (evaluating 'e.at')", "STORE901"),
        ("null is not an object (evaluating 'P.length')", "STORE901"),
        (
            f"e.message.content.some is not a function. (In 'e.message.content.some((n)=>{CALLER})', 'e.message.content.some' is undefined)",
            "STORE901",
        ),
        ("Failed to resume session: null is not an object (evaluating 'd.message.content')", "STORE901"),
        ("Failed to resume session: null is not an object (evaluating 'p.type')", "STORE901"),
        ("_ is not an Object. (evaluating '\"tool_use_id\"in _')", "STORE901"),
        ('"modelUsage":{},"errors":["number is not iterable"]}', "STORE901"),
        # Earlier versions ran on Node.js.
        ("TypeError: e is not iterable", "STORE901"),
        ("TypeError: Cannot read properties of undefined (reading 'addedNames')", "STORE901"),
    ],
)
def test_the_error_of_the_program_leads_to_a_rule_and_says_what_to_do(text: str, code: str) -> None:
    meaning = unrecognized_meaning(text)
    assert meaning is not None and meaning.rule == code and meaning.advice.endswith(".")


@pytest.mark.parametrize(
    "text",
    [
        "undefined is not an object (evaluating 'window.location.href')",
        "TypeError: configuration is not iterable by design",
        "TypeError: this.callback is not a function",
        "no session",
    ],
)
def test_errors_of_other_programs_are_not_explained_so(text: str) -> None:
    assert unrecognized_meaning(text) is None


def test_every_rule_exists_and_every_meaning_is_a_part_of_a_sentence() -> None:
    for meaning in MEANINGS:
        assert rule(meaning.rule) and not meaning.means.endswith(".")


def test_an_error_that_another_program_recorded_is_not_explained_so() -> None:
    conversation, _ = notation.load("1 user 0.0 text go\n2 assistant 0.0 error 'TypeError: e is not iterable'")
    (recorded,) = recorded_errors(case_of(conversation, "dispatch-legacy"))
    assert recorded.means == NOT_RECOGNISED


@pytest.mark.django_db
def test_the_command_explains_it() -> None:
    answer = run("explain", "Failed to resume session: null is not an object (evaluating 'p.type')")
    assert answer.status == 0 and "STORE901" in answer.out and "drop-malformed-record" in answer.out
