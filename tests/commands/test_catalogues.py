"""The catalogue commands list all that there is, and explain one."""

import pytest

from inspector.readers.catalogue import names
from inspector.rules.catalogue import RULES
from inspector.strategies.catalogue import STRATEGIES
from tests.commands.running import run


@pytest.mark.parametrize("command", ["formats", "readers", "projections", "profiles", "rules", "strategies"])
def test_each_catalogue_is_printed_and_is_json(command: str) -> None:
    ran, listed = run(command), run(command, "--json").json[command]
    assert ran.status == 0 and listed
    for entry in listed:
        assert (entry.get("code") or entry["name"]) in ran.out


def test_formats_say_their_modes_with_aliases_and_list_traces() -> None:
    formats = {found["name"]: found for found in run("formats", "--json").json["formats"]}
    assert {mode["alias"] for mode in formats["dispatch"]["modes"]} == {"fork", "in-place"}
    assert formats["dispatch-traces"]["holds"] == formats["dispatch-journal"]["holds"] == "traces"


def test_every_variant_of_a_reader_can_be_used() -> None:
    listed = {each["name"] for found in run("readers", "--json").json["readers"] for each in (found, *found["variants"])}
    assert set(names("dispatch")) <= listed


def test_a_rule_is_explained_by_code_and_by_name() -> None:
    for rule in RULES:
        found = run("rules", rule.code.lower(), "--json").json
        assert found == run("rules", rule.name, "--json").json and found["why"] == rule.why
        assert rule.summary in run("rules", rule.code).out
    assert "There is no rule 'MSG999'; `rules` lists them." in run("rules", "MSG999").err


def test_a_strategy_is_explained() -> None:
    for strategy in STRATEGIES:
        assert strategy.cons in run("strategies", strategy.name).out
    ran = run("strategies", "magic")
    assert ran.status == 2 and "`strategies` lists them" in ran.err


def test_profiles_say_evidence_and_date() -> None:
    rule = run("profiles", "--json").json["profiles"][0]["rules"][0]
    assert rule["id"] == "OC-1" and rule["evidence"] == "I" and rule["date"] == "2026-07" and "tool_call_id" in rule["text"]
