"""What `explain` says of an error: one recommendation with the other commands, the reader that sent it, and which conversation of several it is about."""

import json
import re
from pathlib import Path

import pytest

from inspector.demo.branch_incident import BRANCHED, openclaw_files
from inspector.demo.dispatch_others import HEALTHY
from inspector.demo.ownership import CAPTURES
from inspector.demo.rollouts_incident import CRASH, SESSION, incident_files
from tests.commands.running import make, run
from tests.programs.claude_code import session_lines as cc

pytestmark = pytest.mark.django_db
THINKING = (
    "messages.5.content.3: thinking or redacted_thinking blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)
UNANSWERED = (
    "messages.7: `tool_use` ids were found without `tool_result` blocks immediately after: {id}. "
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)
BEFORE = "rollouts-before-cd8a0c9"


def lay(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    return folder


@pytest.fixture
def rollouts(tmp_path: Path) -> Path:
    return lay(tmp_path / "rollouts", incident_files())


def crash(folder: Path, **changed: object) -> Path:
    """The folder with other values in its crash file; None leaves one out."""
    place = folder / "crashes" / f"{CRASH}.txt"
    values = json.loads(place.read_text()) | changed
    place.write_text(json.dumps({name: value for name, value in values.items() if value is not None}))
    return folder


@pytest.mark.parametrize("reader", [[], ["--reader", "verbatim"], ["--reader", "openclaw-2026.1"]])
def test_the_real_result_on_a_branch_is_recommended_as_repair_does(tmp_path: Path, reader: list[str]) -> None:
    folder = lay(tmp_path / "openclaw", dict(openclaw_files()))
    asked = ("--target", folder, "--conversation", BRANCHED, *reader)
    report = run("explain", UNANSWERED.format(id="toolu_x"), *asked, "--json").json
    assert report["recommended"]["strategies"] == ["reparent-to-result"]
    assert {tuple(each["repaired_by"]) for each in report["recognised"]} == {("reparent-to-result",)}
    plan = run("repair", folder, "--conversation", BRANCHED, "--for", "anthropic-2026-07", *reader, "--plan").out
    assert plan.startswith("reparent-to-result on ")
    told = run("explain", UNANSWERED.format(id="toolu_x"), *asked).out
    assert "repaired by: reparent-to-result (safe), recommended; or insert-interrupted-result (invented), 1 edit" in told
    assert f"--conversation {BRANCHED} --for anthropic-2026-07" in told


def test_what_was_rejected_is_before_and_the_verdict_on_what_is_sent_now_apart(rollouts: Path) -> None:
    report = run("explain", THINKING, "--target", rollouts, "--json").json["recommended"]
    assert (report["native_id"], report["strategies"]) == (SESSION, ["insert-interrupted-result"])
    assert report["before"]["observed"] == f"rejected at messages.5.content.3 (AN-16), as the crash file {CRASH} records"
    told = run("explain", THINKING, "--target", rollouts).out
    assert "before: rejected at messages.5.content.3 (AN-16), as the crash file" in told


def test_what_to_do_comes_before_the_rules_that_may_have_answered_so(rollouts: Path) -> None:
    told = run("explain", UNANSWERED.format(id="toolu_x"), "--target", rollouts, "--conversation", SESSION).out
    assert told.startswith(f"What to do with {SESSION} ")
    places = [told.index(words) for words in ("  Preview: ", "\n\nAN-1 (", "\n\nAN-4t (", "Looked for in")]
    assert places == sorted(places)


def test_an_error_that_nothing_recorded_is_before_all_the_same(tmp_path: Path) -> None:
    folder = lay(tmp_path / "openclaw", dict(openclaw_files()))
    report = run("explain", UNANSWERED.format(id="toolu_x"), "--target", folder, "--conversation", BRANCHED, "--json").json
    assert report["recommended"]["before"]["observed"].endswith("(AN-1), as the error text says of toolu_x, which is not stored here")


def test_the_seqs_of_the_crash_file_and_of_the_session_are_labeled(rollouts: Path) -> None:
    told = run("explain", THINKING, "--target", rollouts).out
    assert "messages.5.content.3: seq 29 of the crash file (" in told and "messages.5.content.3: seq 30 of the session (" in told
    report = run("explain", THINKING, "--target", rollouts, "--json").json
    assert report["conversation"]["native_id"] == f"crash:{CRASH}" and report["stored"][0]["seq"] == 30


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"messages": None, "session_id": SESSION}, BEFORE),
        ({"messages": None, "session_id": SESSION, "timestamp": "2026-01-04T10:00:00"}, "rollouts"),
    ],
)
def test_without_the_rejected_request_the_version_of_that_time_reads_the_session(
    rollouts: Path, changed: dict[str, object], name: str
) -> None:
    report = run("explain", THINKING, "--target", crash(rollouts, **changed), "--json").json
    assert (report["conversation"]["native_id"], report["conversation"]["reader"]) == (SESSION, name)
    assert report["recommended"]["before"]["observed"].endswith(f"as the crash file {CRASH} records")
    assert (report["recommended"]["reader"], report["recommended"]["strategies"]) == ("rollouts", ["insert-interrupted-result"])
    (found,) = report["recognised"]
    assert [each["path"] for each in found["fires"]] == (["messages.5.content.3"] if name == BEFORE else [])
    others = [each["reader"] for each in report.get("other_readers", [])]
    assert others == ([] if name == BEFORE else [BEFORE, f"{BEFORE}+filter"])


def test_the_readers_that_have_the_named_block_are_named(rollouts: Path) -> None:
    (rollouts / "crashes" / f"{CRASH}.txt").unlink()
    asked = ("explain", THINKING, "--target", rollouts, "--conversation", SESSION)
    told = run(*asked).out
    assert "this history has no block 3 in it" in told
    assert f"--reader {BEFORE}: messages.5.content.3 is seq 30, and its request breaks the rule there" in told
    assert f"--reader {BEFORE}+filter: messages.5.content.3 is seq 31\n" in told
    told = run(*asked, "--reader", BEFORE).out
    assert "the history breaks it at messages.5.content.3, seq 30, as anthropic-2026-07 judges" in told and "no such place" not in told


@pytest.mark.parametrize(
    ("name", "said"), [("gbrain-naive", "does not read rollouts: name one of rollouts,"), ("nobody", "There is no reader 'nobody'")]
)
def test_a_reader_of_another_program_is_refused_in_one_sentence(rollouts: Path, name: str, said: str) -> None:
    ran = run("explain", THINKING, "--target", rollouts, "--reader", name)
    assert ran.status == 2 and said in ran.err and not ran.out


def test_a_reader_without_a_history_is_refused() -> None:
    ran = run("explain", THINKING, "--reader", "rollouts")
    assert ran.status == 2 and "with --target" in ran.err


def test_of_several_conversations_the_rule_is_explained_and_those_that_match_are_listed(tmp_path: Path) -> None:
    store = make(tmp_path / "dispatch.db")
    text = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
    ran = run("explain", text, "--target", store)
    assert ran.status == 0 and "OC-2 (" in ran.out and "it may be about these" in ran.out
    assert f"--conversation {HEALTHY}" not in ran.out
    report = run("explain", text, "--target", store, "--json").json
    assert report["recognised"] and {each["native_id"][:8] for each in report["conversations"]} >= {"1a997b08", "e4a91b72"}
    assert all("OC-2 at messages." in each["where"] for each in report["conversations"][:2])


def test_where_none_of_several_matches_the_ids_are_said(tmp_path: Path) -> None:
    folder = lay(tmp_path / "openclaw", dict(openclaw_files()))
    ran = run("explain", "messages.1.content.0: Invalid `signature` in `thinking` block", "--target", folder)
    assert ran.status == 0 and "AN-17" in ran.out
    assert "none of them breaks the rule now" in ran.out and BRANCHED in ran.out
    assert run("explain", "the moon is in the wrong phase", "--target", folder).status == 1


def test_a_capture_has_no_history_and_the_rule_is_explained_all_the_same(tmp_path: Path) -> None:
    place = tmp_path / "lost.capture.jsonl"
    place.write_bytes(next(iter(CAPTURES.values())))
    ran = run("explain", THINKING, "--target", place)
    assert ran.status == 0 and "AN-16 (" in ran.out and "holds captured streams" in ran.err


@pytest.mark.parametrize("text", ["HTTP 429: slow down", 'API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}'])
def test_what_passes_by_itself_is_said_to(rollouts: Path, text: str) -> None:
    for target in ([], ["--target", rollouts]):
        ran = run("explain", text, *target)
        assert ran.status == 0 and ran.out.startswith("Transient, not your history: ")
        assert "again later" in ran.out and "nothing to repair" in ran.out
    assert run("explain", text, "--json").json["known"]["transient"] is True


def test_a_known_text_that_a_later_request_gets_again_is_not_called_transient() -> None:
    ran = run("explain", "Error code: 401 - {'error': {'type': 'authentication_error', 'message': 'invalid x-api-key'}}")
    assert ran.status == 0 and "Transient" not in ran.out and "Look at the key" in ran.out


@pytest.mark.parametrize(
    "text",
    [
        "prompt is too long: 213000 tokens > 200000 maximum",
        "This model's maximum context length is 200000 tokens. However, your messages resulted in 213000 tokens.",
    ],
)
@pytest.mark.parametrize(
    ("words", "means"),
    [
        ("hi", "the excess is in tools or the system prompt, or it is another conversation"),
        ("hi " * 150_000, "cut at least 13,000 tokens: compact the conversation"),
    ],
)
def test_of_a_history_that_is_too_long_it_says_what_to_do(tmp_path: Path, text: str, words: str, means: str) -> None:
    """It advised to cut 13,000 tokens of a conversation of 100, and of one provider's text said nothing of its size."""
    lines = cc.lines(cc.u("u1", None, words), cc.a("a1", "u1", "m1", cc.text("ok")))
    store = cc.write(tmp_path, {f"{cc.PROJECT}/{cc.ID}.jsonl": lines})
    ran = run("explain", text, "--target", store)
    assert f"means: {means}" in ran.out and "no repair of the store helps" in ran.out
    is_far_below = "excess" in means
    assert ("`extract`" in ran.out) is not is_far_below
    assert re.search(
        r"stored: [\d.]+ [KM]?B, about [\d,]+ tokens" + (", far below the window of 200,000\n" if is_far_below else "\n"), ran.out
    )
    report = run("explain", text, "--target", store, "--json").json
    assert report["conversation"]["size"]["is_far_below"] is is_far_below and report["conversation"]["size"]["window"] == 200_000
    assert report["recognised"][0]["advice"].startswith(means)
    assert "What to do with" not in ran.out
    assert "nothing in the history" not in ran.out


def test_what_the_provider_takes_and_the_reader_still_gets_wrong_is_called_partial(tmp_path: Path) -> None:
    """It was recommended, and "passes all known rules" was all that was said of the request after it."""
    rejection = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
    told = run("explain", rejection, "--target", make(tmp_path / "dispatch.db"), "--conversation", "1a997b08").out
    assert "after renumber-messages (safe): passes all known rules, but goes wrong silently (without seq 14)" in told
    assert "repaired by: renumber-messages (safe), partial" in told and "recommended" not in told
