"""Gemini: each rule that is judged, with contents that it refuses and contents that it nearly does."""

from typing import Any

import pytest

from inspector.profiles.base import ProviderRule
from inspector.profiles.gemini import GEMINI_3_PROFILE, GEMINI_PROFILE, RULES, RULES_3
from tests.profiles.asking import assert_knows_its_text, assert_table_is_whole, assert_takes_any_body, fired, violations

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
    ("GE-1", "contents.2.parts.0", [ASK, model("Reading."), model(CALL), user(RESULT)]),
    ("GE-2", "contents.1.parts.0", [ASK, user(RESULT), model("Rounding."), MORE]),
    ("GE-2", "contents.2.parts.1", [ASK, model("Rounding."), user("And", RESULT)]),
    ("GE-3", "contents.2", [ASK, model(CALL, CALL), user(RESULT), model("Rounding."), MORE]),
    ("GE-3", "contents.2", [ASK, model(CALL), user(RESULT, RESULT), model("Rounding."), MORE]),
    ("GE-3", "contents.1", [ASK, model(CALL), MORE]),
    ("GE-4", "contents.1", [ASK, {"role": "model", "parts": []}, MORE]),
    ("GE-4", "contents.1", [ASK, {"role": "model"}, MORE]),
    ("GE-5", "contents.1.parts.1", [ASK, model("Rounding.", {}), MORE]),
    ("GE-5", "contents.1.parts.0", [ASK, model({"thought": True}), MORE]),
    ("GE-5", "contents.1.parts.0", [ASK, model(""), MORE]),
    ("GE-6", "contents.1", [ASK, model("Rounding.")]),
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
]


@pytest.mark.parametrize(("rule", "path", "contents"), REFUSED)
def test_what_is_refused(rule: str, path: str, contents: list[Part]) -> None:
    assert fired(GEMINI_PROFILE, contents) == [(rule, path)]


@pytest.mark.parametrize("contents", TAKEN)
def test_what_is_nearly_refused(contents: list[Part]) -> None:
    assert fired(GEMINI_PROFILE, contents) == []


SIGNATURES = [
    ("no signature", [ASK, model(CALL), user(RESULT)], ["contents.1.parts.0"]),
    ("of a step each", [ASK, model(SIGNED), user(RESULT), model("Now", CALL), user(RESULT)], ["contents.3.parts.1"]),
    ("an empty one", [ASK, model({**CALL, "thoughtSignature": ""}), user(RESULT)], ["contents.1.parts.0"]),
    ("of the second of parallel calls only", [ASK, model(CALL, SIGNED), user(RESULT, RESULT)], ["contents.1.parts.0"]),
    ("of the first of parallel calls", [ASK, model(SIGNED, CALL), user(RESULT, RESULT)], []),
    ("in the other spelling", [ASK, model({"function_call": {"name": "f"}, "thought_signature": "Ci"}), user(RESULT)], []),
    ("none, but in an earlier turn", [ASK, model(CALL), user(RESULT), model("Rounding."), MORE], []),
    ("no call at all", [ASK, model("Rounding."), MORE], []),
]


@pytest.mark.parametrize(("what", "contents", "paths"), SIGNATURES)
def test_gemini_3_wants_a_signature_at_the_first_call_of_each_step(what: str, contents: list[Part], paths: list[str]) -> None:
    assert fired(GEMINI_3_PROFILE, contents) == [("GE-8", path) for path in paths]
    assert fired(GEMINI_PROFILE, contents) == []


def test_only_the_end_is_missing_while_a_tool_runs_or_the_user_thinks() -> None:
    for contents in ([ASK, model(CALL)], [ASK, model(CALL, CALL), user(RESULT)], [ASK, model("Rounding.")]):
        assert {found.open_ended for found in violations(GEMINI_PROFILE, contents)} == {True}
    for contents in ([ASK, model(CALL), MORE], [ASK, model(CALL), user(RESULT, RESULT)]):
        assert {found.open_ended for found in violations(GEMINI_PROFILE, contents)} == {False}


def test_places_of_the_texts_are_those_of_the_body() -> None:
    assert violations(GEMINI_PROFILE, [ASK, model("Rounding.", {}), MORE])[0].text == (
        "* GenerateContentRequest.contents[1].parts[1].data: required oneof field 'data' must have one initialized field"
    )
    assert "`default_api:read_file`, position 2." in violations(GEMINI_3_PROFILE, [ASK, model(CALL), user(RESULT)])[0].text


@pytest.mark.parametrize("profile", [GEMINI_PROFILE, GEMINI_3_PROFILE], ids=lambda profile: profile.name)
def test_any_body_is_judged(profile: Any) -> None:
    assert_takes_any_body(profile, [ASK, model("Reading.", SIGNED, CALL), user(RESULT, RESULT), model("Rounding."), MORE])


@pytest.mark.parametrize("rule", RULES_3, ids=lambda rule: rule.id)
def test_texts_are_recognised(rule: ProviderRule) -> None:
    assert_knows_its_text(rule)


def test_the_wording_of_vertex_is_recognised_too() -> None:
    text = "Unable to submit request because function call `read_file` in the 4. content block is missing a `thought_signature`."
    assert any(match.group("n") == "4" for pattern in RULES_3[7].patterns() if (match := pattern.search(text)))


def test_every_row_is_there() -> None:
    for rules in (RULES, RULES_3):
        assert [rule.id for rule in rules] == [f"GE-{number}" for number in range(1, 11)]
    assert {rule.id for rule in RULES_3 if rule.unjudged} == {"GE-7", "GE-9", "GE-10"}
    assert {rule.id for rule in RULES if rule.unjudged} == {"GE-7", "GE-8", "GE-9", "GE-10"}
    assert_table_is_whole(GEMINI_PROFILE)
    assert_table_is_whole(GEMINI_3_PROFILE)
