"""What the AI SDK itself says of gbrain's table: rows as they are stored, what each of gbrain's versions makes of them, and our repairs of them."""

import pytest

from tests.folding import in_one_test
from tests.judges import gbrain
from tests.judges.inquiries import GBRAIN
from tests.judges.running import OLDEST
from tests.programs.gbrain.conformance_rows import BY_NUMBER, ROWS

TOLD = GBRAIN.told["histories"]
SDKS = ("ai-sdk-6", "ai-sdk-7", OLDEST.name)
JUDGES = {"ai-sdk-6": "ai-sdk-6", "ai-sdk-7": "ai-sdk-7", OLDEST.name: "ai-sdk-6", "mistral": "mistral"}
"""Judge -> our profile of it."""
REPAIRED = [name for name in gbrain.histories() if name not in BY_NUMBER]
NUMBERS = [row.number for row in ROWS]
WITH_REPAIR = [row.number for row in ROWS if row.refusal and row.repairable]


def test_every_question_was_asked_of_every_judge() -> None:
    questions = list(gbrain.asked())
    assert [question for question in TOLD if question != gbrain.A_DATE] == questions
    assert all(list(TOLD[question]) == list(JUDGES) for question in questions)
    assert GBRAIN.told["versions"] | {"mistral": ""} == {
        "ai-sdk-6": "ai 6.0.326",
        "ai-sdk-7": "ai 7.0.173",
        "ai-sdk-6.0.168": "ai 6.0.168",
        "mistral": "",
    }


@pytest.mark.parametrize("judge", JUDGES)
@in_one_test("question", gbrain.asked())
def test_our_verdict_is_that_of_the_judge(question: str, judge: str) -> None:
    """Of the stored rows the SDK was given a map that its runner makes, and we judge what our reader makes."""
    told, ours = TOLD[question][judge], gbrain.verdict(question, JUDGES[judge])
    assert ours.sendable == told["ok"], told["error"] or [found.text for found in ours.violations]
    assert told["ok"] or any(told["error"].endswith(found.text) for found in ours.violations)


@in_one_test("judge", SDKS)
@in_one_test("number", NUMBERS)
def test_mapped_one_for_one_a_row_is_refused_as_the_table_has_it(number: str, judge: str) -> None:
    assert TOLD[f"{number} / gbrain-naive"][judge]["error"] == (BY_NUMBER[number].refusal or None)


@in_one_test("judge", SDKS)
@in_one_test("version", ["gbrain-pr1934", "gbrain-head"])
@in_one_test("number", NUMBERS)
def test_what_the_proposed_and_the_later_replay_make_of_a_row_the_sdk_takes(number: str, version: str, judge: str) -> None:
    assert TOLD[f"{number} / {version}"][judge]["ok"]


@pytest.mark.parametrize(
    ("question", "of_anthropic", "of_mistral"),
    [
        ("8 / gbrain-pr1934", "AN-6", "Duplicate tool call id t1 in tool results"),
        ("9 / gbrain-pr1934", "AN-5", "Duplicate tool call id a in assistant message"),
        ("9 / gbrain-head", "AN-5", "Duplicate tool call id a in assistant message"),
        ("13 / gbrain-pr1934", "AN-6", "Unexpected role 'tool' after role 'user'"),
        ("13 / gbrain-head", "AN-6", "Unexpected role 'tool' after role 'user'"),
        ("14 / gbrain-pr1934", "AN-2", "Unexpected tool call id z in tool results"),
        ("14 / gbrain-head", "AN-2", "Unexpected tool call id z in tool results"),
    ],
)
def test_the_sdk_takes_what_providers_refuse(question: str, of_anthropic: str, of_mistral: str) -> None:
    assert all(TOLD[question][judge]["ok"] for judge in SDKS)
    assert of_anthropic in {found.id for found in gbrain.verdict(question, "anthropic-2026-07").violations}
    assert TOLD[question]["mistral"] == {"ok": False, "error": of_mistral}


@in_one_test("judge", SDKS)
@in_one_test("version", gbrain.VERSIONS)
@in_one_test("name", REPAIRED)
def test_what_we_repaired_is_taken_by_whichever_version_replays_it(name: str, version: str, judge: str) -> None:
    assert TOLD[f"{name} / {version}"][judge]["ok"]


def test_every_row_that_can_be_is_repaired() -> None:
    assert list(dict.fromkeys(name.partition(" ")[0] for name in REPAIRED)) == WITH_REPAIR
    known = {"1", "3", "5", "9", "10", "15"}
    for number in WITH_REPAIR:
        names = {name.partition(" ")[2] for name in REPAIRED if name.partition(" ")[0] == number}
        first = f"{gbrain.LEDGER} " if number == "2" else ""
        assert names == ({gbrain.LEDGER} if number in known else {f"{first}{words}" for words in gbrain.WORDS})


@in_one_test("name", REPAIRED)
def test_a_repair_adds_results_and_leaves_what_is_there(name: str) -> None:
    before, after = gbrain.histories()[name.partition(" ")[0]], gbrain.histories()[name]
    said = iter([chunk.payload for chunk in after.conversation.chunks])
    assert all(chunk.payload in said for chunk in before.conversation.chunks)
    assert {record.key for record in before.records} <= {record.key for record in after.records}
    assert len({record.key for record in after.records}) == len(after.records)


@in_one_test("name", REPAIRED)
def test_the_proposed_replay_answers_each_call_of_a_repaired_history_once_more(name: str) -> None:
    """The SDK does not mind; a provider that counts results does."""
    assert "AN-6" in {found.id for found in gbrain.verdict(f"{name} / gbrain-pr1934", "anthropic-2026-07").violations}
    assert "Duplicate tool call id" in TOLD[f"{name} / gbrain-pr1934"]["mistral"]["error"]


def test_a_date_in_an_output_is_refused_by_version_6_only_before_it_is_json() -> None:
    told = TOLD[gbrain.A_DATE]
    schema = "Invalid prompt: The messages do not match the ModelMessage[] schema."
    assert [told[judge]["error"] for judge in SDKS] == [schema, None, schema]
    assert all(TOLD[f"15 {gbrain.LEDGER} / gbrain-naive"][judge]["ok"] for judge in SDKS)
