"""What was observed, as commands show it: a past request, the whole trace, and the causes that a finding rules out."""

import json
from pathlib import Path

import pytest

from inspector.demo.dispatch_incident import trace_records
from tests.commands.running import incident, run, traces

pytestmark = pytest.mark.only_settles

TURN = "turn-1782655646318-"


@pytest.fixture
def store(tmp_path: Path) -> tuple[Path, str, Path]:
    return incident(tmp_path / "dispatch.db"), "--traces", traces(tmp_path / "traces.db")


def requests() -> list[list[object]]:
    """The messages of each step's request as the seed recorded them, in order."""
    bodies = [
        record["body"]
        for record in trace_records()
        if record.get("name") == "provider.request" and record["kind"] == "span-open" and record.get("turnId")
    ]
    return [json.loads(body)["messages"] for body in bodies]


def test_the_last_observed_request_is_shown_as_it_was_sent(store: tuple[object, ...]) -> None:
    ran = run("show", *store, "--as", "sent")
    assert (ran.status, json.loads(ran.out)) == (0, requests()[-1])
    assert "step 4 of 4" in ran.err


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_step_is_named_by_its_number_or_its_id(store: tuple[object, ...], number: int) -> None:
    by_number = run("show", *store, "--as", "sent", "--step", number, "--json").json
    assert run("show", *store, "--as", "sent", "--step", by_number["step"], "--json").json == by_number
    assert json.loads(run("show", *store, "--as", "sent", "--step", number).out) == requests()[number - 1]
    assert set(by_number) == {
        *("messages", "sources", "lost", "step", "number", "system", "model", "tools", "finish_reason", "computed", "notes"),
    }
    assert [by_number["system"], *by_number["messages"]] == requests()[number - 1]


def test_a_past_request_says_from_which_rows_it_was_made(store: tuple[object, ...]) -> None:
    shown = run("show", *store, "--as", "sent", "--json").json
    assert (shown["finish_reason"], shown["computed"], shown["tools"]) == ("stop", False, 9)
    assert shown["sources"]["messages.0"] == [1, 3, 4, 6]


@pytest.mark.parametrize("step", ["0", "5", "-1", "turn-1#0", "", "x" * 5000, "\x1b[2J"])
def test_a_step_that_is_not_there_is_refused_in_one_sentence(store: tuple[object, ...], step: str) -> None:
    ran = run("show", *store, "--as", "sent", f"--step={step}")
    assert ran.status == 2 and "--trace lists them" in ran.err and ran.err.count("\n") == 1 and "\x1b" not in ran.err


def test_the_trace_is_shown_turn_by_turn_with_the_rows_of_each_step(store: tuple[object, ...]) -> None:
    ran = run("show", *store, "--trace")
    assert ran.status == 0 and ran.out.startswith("3 turns, 4 steps, 4 requests, 2 tool calls observed")
    (last,) = [line for line in ran.out.split("\n") if "step 4 " in line]
    assert "finish stop" in last and last.endswith("stored as seq 14")
    assert "Outside of turns" in ran.out


def test_the_trace_as_json_is_that_of_the_page(store: tuple[object, ...]) -> None:
    shown = run("show", *store, "--trace", "--json").json
    assert [len(turn["steps"]) for turn in shown["turns"]] == [1, 1, 2]
    assert set(shown) == {"conversation_id", "headline", "end_missing", "problems", "turns", "lane", "logs"}


def test_without_a_trace_both_say_what_to_do(tmp_path: Path) -> None:
    store = incident(tmp_path / "dispatch.db")
    for options in (("--trace",), ("--as", "sent")):
        ran = run("show", store, *options)
        assert ran.status == 2 and "--traces" in ran.err and ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--trace", "--as", "messages"), "leave --as out"),
        (("--step", "1"), "--as sent"),
        (("--trace", "--step", "1"), "--as sent"),
        (("--as", "sent", "--reader", "exact"), "--reader"),
    ],
)
def test_options_that_mean_nothing_together_are_refused(store: tuple[object, ...], options: tuple[str, ...], words: str) -> None:
    ran = run("show", *store, *options)
    assert ran.status == 2 and words in ran.err and ran.err.count("\n") == 1


@pytest.mark.only_settles(False)
@pytest.mark.django_db
def test_an_imported_conversation_has_its_trace(store: tuple[object, ...]) -> None:
    assert run("import_source", store[0], store[2]).status == 0
    oid = run("scan", store[0], "--json").json["conversations"][0]["id"]
    assert json.loads(run("show", oid, "--as", "sent").out) == requests()[-1]
    assert run("show", oid, "--trace").out == run("show", *store, "--trace").out


def test_a_request_body_is_what_was_sent(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "go"}]
    (tmp_path / "a.json").write_text(json.dumps({"model": "claude-opus-4-5", "max_tokens": 9, "system": "s", "messages": messages}))
    assert json.loads(run("show", tmp_path / "a.json", "--as", "sent").out) == messages


def test_findings_say_what_they_rule_out(store: tuple[object, ...]) -> None:
    (conversation,) = run("scan", *store, "--json").json["conversations"]
    assert all(isinstance(found["ruled_out"], list) for found in conversation["findings"])
    merged = next(found for found in conversation["findings"] if found["code"] == "MSG101")
    assert merged["ruled_out"] and all(len(row) == 2 and all(row) for row in merged["ruled_out"])
