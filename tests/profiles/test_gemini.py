"""Gemini: each rule that is judged, with contents that it refuses and contents that it nearly does."""

from typing import Any

import pytest

from inspector.profiles.base import ProviderRule
from inspector.profiles.gemini import GEMINI_3_PROFILE, GEMINI_PROFILE, RULES, RULES_3, is_strict
from tests.folding import in_one_test
from tests.profiles.asking import assert_knows_its_text, assert_table_is_whole, assert_takes_any_body, fired, violations
from tests.profiles.judged import found, said

Part = dict[str, Any]
CALL: Part = {"functionCall": {"name": "read_file", "args": {"path": "a.py"}}}
SIGNED: Part = {**CALL, "thoughtSignature": "CiEBjz1r"}
RESULT: Part = {"functionResponse": {"name": "read_file", "response": {"result": "text"}}}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


def model(*parts: Any) -> dict[str, Any]:
    return {**user(*parts), "role": "model"}


ASK, MORE = user("Why is the total off?"), user("Fix it.")

REFUSED = [
    ("GE-1", "contents.0.parts.1", [model("Reading.", CALL), user(RESULT)]),
    ("GE-2", "contents.1.parts.0", [ASK, user(RESULT), model("Rounding."), MORE]),
    ("GE-2", "contents.2.parts.1", [ASK, model("Rounding."), user("And", RESULT)]),
    ("GE-3", "contents.2", [ASK, model(CALL, CALL), user(RESULT), model("Rounding."), MORE]),
    ("GE-3", "contents.2", [ASK, model(CALL), user(RESULT, RESULT), model("Rounding."), MORE]),
    ("GE-3", "contents.1", [ASK, model(CALL), MORE]),
    ("GE-3", "contents.1", [ASK, model(CALL), model(CALL), MORE]),
    ("GE-3", "contents.3", [ASK, model(CALL), model(CALL), user(RESULT)]),
    ("GE-4", "contents.1", [ASK, {"role": "model", "parts": []}, MORE]),
    ("GE-4", "contents.1", [ASK, {"role": "model"}, MORE]),
    ("GE-5", "contents.1.parts.1", [ASK, model("Rounding.", {}), MORE]),
    ("GE-5", "contents.1.parts.0", [ASK, model({"thought": True}), MORE]),
    ("GE-11", "contents.0", [{**ASK, "role": "invalid_role"}]),
    ("GE-11", "contents.1", [ASK, {**model("Rounding."), "role": "assistant"}, MORE]),
    ("GE-11", "contents.0", [{**ASK, "role": "system"}, MORE]),
]
TAKEN = [
    [ASK, model("Reading.", CALL), user(RESULT)],
    [ASK, model(CALL), user(RESULT), model(CALL), user(RESULT), model("Rounding."), MORE],
    [ASK, model(CALL, CALL), user(RESULT, RESULT), model("Rounding."), MORE],
    [ASK, {"role": "model", "parts": [{"function_call": {"name": "f"}}]}, {"role": "function", "parts": [{"function_response": {}}]}],
    [ASK, MORE],
    [model("Hello."), ASK],
    [ASK, model({"text": "Hm.", "thought": True}, "Rounding."), MORE],
    [ASK, model({"text": "", "thoughtSignature": "CiEBjz1r"}), MORE],
    [ASK, model("Rounding.", ""), MORE],
    [ASK, model(CALL), user(RESULT, "And quickly.")],
    [ASK, model(""), MORE],
    [user("")],
    [ASK, model({"thought": True, "thoughtSignature": "CiEBjz1r"}, "Rounding."), MORE],
    [ASK, model({"thought_signature": "CiEBjz1r"}), MORE],
    [ASK, model("Rounding.")],
    [ASK, model("Reading."), model(CALL), user(RESULT)],
    [ASK, model(CALL), model(CALL), user(RESULT, RESULT)],
    [ASK, model(CALL), model("Reading."), model(CALL), user(RESULT, RESULT), model("Rounding."), MORE],
    [{"parts": [{"text": "Why is the total off?"}]}],
]


@in_one_test(("rule", "path", "contents"), REFUSED)
def test_what_is_refused(rule: str, path: str, contents: list[Part]) -> None:
    assert fired(GEMINI_PROFILE, contents) == [(rule, path)]


@in_one_test("contents", TAKEN)
def test_what_is_nearly_refused(contents: list[Part]) -> None:
    assert fired(GEMINI_PROFILE, contents) == []


def test_results_of_one_turn_are_in_one_content() -> None:
    """Sent to Vertex by vertesia/llumiverse #620: split 400, in one content 200."""
    assert fired(GEMINI_PROFILE, [ASK, model(CALL, CALL), user(RESULT), user(RESULT)]) == [
        ("GE-3", "contents.2"),
        ("GE-2", "contents.3.parts.0"),
    ]


@in_one_test(
    ("name", "refuses"),
    [
        ("gemini-3.5-flash-lite", True),
        ("models/gemini-3.6-flash", True),
        ("gemini-3.8-flash-preview-09", True),
        ("gemini-4-argon", True),
        ("gemini-3-flash-preview", False),
        ("google/gemini-3.1-flash-lite", False),
        ("gemini-3.5-flash", False),
        ("gemini-flash-latest", False),
        (None, False),
    ],
)
def test_how_a_request_may_end_and_which_roles_it_may_have_depends_on_the_model(name: str | None, refuses: bool) -> None:
    """As sent to each of them and recorded in public on 2026-10-03."""
    ends = found(GEMINI_3_PROFILE, [ASK, model("Rounding.")], model=name)
    assert ends == ([("GE-6", "contents.1")] if refuses else [])
    for role in ("system", "function"):
        body = [ASK, model("Rounding."), {**MORE, "role": role}, MORE]
        assert found(GEMINI_3_PROFILE, body, model=name) == ([("GE-11", "contents.2")] if refuses else [])
    assert found(GEMINI_3_PROFILE, [{**ASK, "role": "invalid_role"}], model=name) == [("GE-11", "contents.0")]
    assert is_strict(name) is (refuses if name and "latest" not in name else None)


SIGNATURES = [
    ("no signature", [ASK, model(CALL), user(RESULT)], ["contents.1.parts.0"]),
    ("of a step each", [ASK, model(SIGNED), user(RESULT), model("Now", CALL), user(RESULT)], ["contents.3.parts.1"]),
    ("an empty one", [ASK, model({**CALL, "thoughtSignature": ""}), user(RESULT)], ["contents.1.parts.0"]),
    ("of the second of parallel calls only", [ASK, model(CALL, SIGNED), user(RESULT, RESULT)], ["contents.1.parts.0"]),
    ("of the first of parallel calls", [ASK, model(SIGNED, CALL), user(RESULT, RESULT)], []),
    ("of the first of parallel calls in two contents", [ASK, model(SIGNED), model(CALL), user(RESULT, RESULT)], []),
    ("in the other spelling", [ASK, model({"function_call": {"name": "f"}, "thought_signature": "Ci"}), user(RESULT)], []),
    ("none, but in an earlier turn", [ASK, model(CALL), user(RESULT), model("Rounding."), MORE], []),
    ("no call at all", [ASK, model("Rounding."), MORE], []),
]


@in_one_test(("what", "contents", "paths"), SIGNATURES)
def test_gemini_3_wants_a_signature_at_the_first_call_of_each_step(what: str, contents: list[Part], paths: list[str]) -> None:
    assert fired(GEMINI_3_PROFILE, contents) == [("GE-8", path) for path in paths]
    assert fired(GEMINI_PROFILE, contents) == []


def test_only_the_end_is_missing_while_a_tool_runs_or_the_user_thinks() -> None:
    for contents in ([ASK, model(CALL)], [ASK, model(CALL, CALL), user(RESULT)], [ASK, model(CALL), model(CALL)]):
        assert {each.open_ended for each in violations(GEMINI_PROFILE, contents)} == {True}
    assert {each.open_ended for each in said(GEMINI_3_PROFILE, [ASK, model("Rounding.")], model="gemini-3.8-flash")} == {True}
    for contents in ([ASK, model(CALL), MORE], [ASK, model(CALL), user(RESULT, RESULT)]):
        assert {each.open_ended for each in violations(GEMINI_PROFILE, contents)} == {False}


def test_places_of_the_texts_are_those_of_the_body() -> None:
    assert violations(GEMINI_PROFILE, [ASK, model("Rounding.", {}), MORE])[0].text == (
        "* GenerateContentRequest.contents[1].parts[1].data: required oneof field 'data' must have one initialized field"
    )
    assert "`default_api:read_file`, position 2." in violations(GEMINI_3_PROFILE, [ASK, model(CALL), user(RESULT)])[0].text


@pytest.mark.parametrize("profile", [GEMINI_PROFILE, GEMINI_3_PROFILE], ids=lambda profile: profile.name)
def test_any_body_is_judged(profile: Any) -> None:
    assert_takes_any_body(profile, [ASK, model("Reading.", SIGNED, CALL), user(RESULT, RESULT), model("Rounding."), MORE])


@in_one_test("rule", RULES_3, ids=lambda rule: rule.id)
def test_texts_are_recognised(rule: ProviderRule) -> None:
    assert_knows_its_text(rule)


def test_the_wording_of_vertex_is_recognized_too() -> None:
    text = "Unable to submit request because function call `read_file` in the 4. content block is missing a `thought_signature`."
    assert any(match.group("n") == "4" for pattern in RULES_3[7].patterns() if (match := pattern.search(text)))


def test_every_row_is_there() -> None:
    for rules in (RULES, RULES_3):
        assert [rule.id for rule in rules] == [f"GE-{number}" for number in range(1, 13)]
        assert {rule.id for rule in rules if rule.obsolete} == {"GE-10"}
    assert {rule.id for rule in RULES_3 if rule.unjudged} == {"GE-7", "GE-9", "GE-12"}
    assert {rule.id for rule in RULES if rule.unjudged} == {"GE-6", "GE-7", "GE-8", "GE-9", "GE-12"}
    assert_table_is_whole(GEMINI_PROFILE)
    assert_table_is_whole(GEMINI_3_PROFILE)
