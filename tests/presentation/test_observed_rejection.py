"""The column "before" of a plan shows the rejection that was recorded, and the versions of the program that send what is rejected."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from inspector.actions.import_source import import_targets
from inspector.conversation import notation
from inspector.conversation.edits import Plan
from inspector.demo.rollouts_incident import SESSION, incident_files
from inspector.models import Conversation
from inspector.planning.preview import Preview, compose, digest, preview, safety_of
from inspector.presentation.conversation.recorded_errors import latest_rejection
from inspector.presentation.repair.observed_rejection import observed, profiles_report
from inspector.programs.formats import Cell, Format, Record, Stored
from inspector.programs.rollouts.format import ROLLOUTS
from inspector.rules.base import case_of
from inspector.strategies.catalogue import strategy
from tests.commands.running import run
from tests.programs.pi_openclaw.session_files import a, call, header, lines, r, text, u
from tests.programs.pi_openclaw.strategies.repaired_trees import FORMATS, stored

pytestmark = pytest.mark.only_settles

REJECTED = (
    '400 {"type":"error","error":{"type":"invalid_request_error","message":"messages.1: `tool_use` ids were found without `tool_result` blocks '
    'immediately after: c1. Each `tool_use` block must have a corresponding `tool_result` block in the next message."}}'
)
ACCEPTED = "passes all known rules"
FAILED = a("a9", "u9", stopReason="error", errorMessage=REJECTED)


def planned(base: Stored, format_: Format, reader: str, name: str, mode: str) -> Preview:
    case = case_of(base.conversation, reader)
    base = Stored(case.conversation, base.records)
    chosen, options = [strategy(name)], format_.options(mode, base, "11111111-2222-5333-8444-555555555555")
    plan = Plan("/s", base.conversation.native_id, mode, (name,), safety_of(chosen), digest(base), compose(case, chosen), options)
    return preview(case, base, format_, plan, chosen, format_.default_projection, "anthropic-2026-07")


def crashed(**changed: Any) -> Stored:
    """The published incident; `changed` are members of its crash file."""
    files = dict(incident_files())
    name = next(name for name in files if name.startswith("crashes/"))
    files[name] = json.dumps(json.loads(files[name]) | changed).encode()
    found = ROLLOUTS.read([Record(key, Cell(data, "file")) for key, data in sorted(files.items())])
    return next(each for each in found if each.conversation.native_id == SESSION)


def test_a_crash_file_stands_before_the_verdict_on_what_the_program_of_today_makes_of_the_session() -> None:
    made = planned(crashed(), ROLLOUTS, "rollouts", "insert-interrupted-result", "child")
    seen = observed(made)
    assert seen is not None and seen.rejection.provider_rule == "AN-16" and "cannot be modified" in seen.rejection.text
    assert [(each.reader, each.before.verdict, each.after.verdict) for each in seen.versions] == [
        ("rollouts-before-cd8a0c9", "rejected at messages.5 (AN-1)", ACCEPTED)
    ]
    told = profiles_report(made)["anthropic-2026-07"]
    assert told["before"] == f"{seen.words}; as rollouts reads it now: {ACCEPTED}" and told["after"] == ACCEPTED
    assert told["versions"] == {"rollouts-before-cd8a0c9": {"before": "rejected at messages.5 (AN-1)", "after": ACCEPTED}}


def test_the_version_that_failed_may_be_the_chosen_one() -> None:
    made = planned(crashed(), ROLLOUTS, "rollouts-before-cd8a0c9", "insert-interrupted-result", "child")
    seen = observed(made)
    assert seen is not None and seen.versions == () and not made.before.judgement.sendable


@pytest.mark.parametrize(
    "changed",
    [
        # The session went on after it; the error is none of the history; no file says what it was.
        {"timestamp": "2025-12-23T15:20:00.000000"},
        {"error_message": "Error code: 529 - overloaded_error"},
        {"error_message": ""},
    ],
)
def test_a_crash_that_says_nothing_of_this_history_is_not_put_before_a_verdict(changed: Mapping[str, Any]) -> None:
    made = planned(crashed(**changed), ROLLOUTS, "rollouts", "insert-interrupted-result", "child")
    assert observed(made) is None
    assert profiles_report(made) == {"anthropic-2026-07": {"before": ACCEPTED, "after": ACCEPTED}}


def test_the_error_of_the_last_answer_of_a_session_is_what_was_observed() -> None:
    """OpenClaw 2026.7 sends the call of a failed turn without its result; 2026.9 leaves the turn out."""
    rows = (u("u1", None), a("a1", "u1", call("c1"), stopReason="error"), u("u9", "a1"), FAILED)
    made = planned(stored(lines(header(), *rows), "openclaw"), FORMATS["openclaw"], "openclaw-2026.9", "drop-failed-turns", "replay-suffix")
    seen = observed(made)
    assert seen is not None and seen.rejection.provider_rule == "AN-1" and seen.rejection.text == REJECTED
    assert ("openclaw-2026.7", False, True) in [(each.reader, each.before.sendable, each.after.sendable) for each in seen.versions]


def test_an_error_that_another_answer_followed_is_history() -> None:
    rows = (u("u1", None), a("a1", "u1", call("c1")), r("r1", "a1", "c1"), u("u9", "r1"), FAILED, u("u3", "a9"))
    for more, is_last in (((), True), ((a("a3", "u3", text("well"), stopReason="stop"),), False)):
        case = case_of(stored(lines(header(), *rows, *more)).conversation, "pi-1.5")
        assert (latest_rejection(case) is not None) == is_last


@pytest.mark.parametrize(
    ("more", "rule"),
    [("", "OC-1"), ("\n5 user 3.0 text again", "OC-1"), ("\n5 user 3.0 text again\n6 assistant 4.0 text well", "")],
)
def test_an_error_row_counts_until_there_is_an_answer(more: str, rule: str) -> None:
    said = "Invalid request: an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
    history = f"1 user 0.0 text go\n2 assistant 1.0 tool-call a ls {{}}\n3 user 2.0 text and?\n4 assistant 2.1 error {json.dumps(said)}"
    found = latest_rejection(case_of(notation.load(history + more)[0], "dispatch-legacy"))
    assert (found.provider_rule if found else "") == rule


@pytest.mark.only_settles(False)
@pytest.mark.django_db
def test_command_and_page_show_it(tmp_path: Path, client: Client) -> None:
    for key, data in incident_files().items():
        place = tmp_path / "rollouts" / key
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    how = ("--conversation", SESSION, "--strategy", "insert-interrupted-result", "--plan")
    said = run("repair", tmp_path / "rollouts", *how).out
    assert "observed before: rejected when it was sent (AN-16), recorded at the crash file" in said
    assert f"as rollouts-before-cd8a0c9 reads it (--reader): rejected at messages.5 (AN-1) before, {ACCEPTED} after" in said
    import_targets([str(tmp_path / "rollouts")], "tester")
    row = Conversation.objects.get(native_id=SESSION)
    page = client.get(f"/conversations/{row.oid}/repairs/new/?strategy=insert-interrupted-result").content.decode()
    assert "<b>Observed: rejected when it was sent (AN-16)" in page and "reader=rollouts-before-cd8a0c9" in page
