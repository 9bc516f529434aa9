"""What OpenClaw 2026.9.6 sends: the policy for a model, all passes by it, and the tables of its repairs."""

from typing import Any

import pytest

from inspector.conversation.model import Kind, Reading
from inspector.programs.pi_openclaw.readers import openclaw_turns as turns
from inspector.programs.pi_openclaw.readers.openclaw_ids import STRICT, STRICT9
from inspector.programs.pi_openclaw.readers.openclaw_policy import Policy, policy_of
from inspector.readers.catalogue import clients, names, reader
from tests.programs.pi_openclaw.readers.stored_messages import answer, call, file_of, history, result, text, thought, told, user
from tests.programs.pi_openclaw.shapes import chain, entry, shape_of, stored

SENT = "openclaw-2026.9+sent"

# Policy.

POLICIES: list[tuple[str, str, str, dict[str, Any]]] = [
    ("anthropic", "anthropic-messages", "claude-opus-4-5", {"ids": STRICT, "signatures": True, "anthropic": True, "own_thinking": True, "native_ids": True}),
    ("anthropic", "anthropic-messages", "claude-3-7-sonnet", {"drops_thinking": True, "own_thinking": False}),
    ("anthropic", "anthropic-messages", "claude-sonnet-4-5", {"drops_thinking": True}),
    *[("anthropic", "anthropic-messages", f"claude-{each}", {"drops_thinking": False}) for each in ("fable-5", "mythos-5", "opus-4-8", "opus-5", "sonnet-4-6", "sonnet-5")],
    ("fireworks", "anthropic-messages", "glm-5", {"signatures": True, "drops_thinking": False, "native_ids": False}),
    ("amazon-bedrock", "bedrock-converse-stream", "us.anthropic.claude-sonnet-4-5-v1:0", {"name": "bedrock", "drops_thinking": True, "anthropic": True}),
    ("google", "google-generative-ai", "gemini-3-pro", {"ids": STRICT, "gemini": True, "bootstrap": True, "anthropic": False}),
    ("groq", "openai-completions", "x", {"ids": STRICT, "drops_reasoning": True, "gemini": True, "anthropic": True, "bootstrap": True}),
    ("moonshot", "openai-completions", "moonshotai/kimi-k2-thinking", {"drops_reasoning": False}),
    ("openai", "openai-responses", "gpt-5", {"ids": "", "responses": True, "anthropic": False}),
    ("proxy", "openai-responses", "anthropic/claude-opus-4-5", {"responses": True, "anthropic": True}),
    ("mistral", "mistral-conversations", "large", {"ids": STRICT9, "anthropic": False, "gemini": False}),
    ("", "", "", {"name": "any other api", "ids": "", "anthropic": False}),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "api", "model", "flags"), POLICIES, ids=[f"{row[1]}-{row[2]}" for row in POLICIES])
def test_the_policy_for_a_model(provider: str, api: str, model: str, flags: dict[str, Any]) -> None:
    found: Policy = policy_of(provider, api, model)
    assert {name: getattr(found, name) for name in flags} == flags


# The reader.


def sent(*values: dict[str, Any]) -> Reading:
    client = reader(SENT)
    assert client.path
    return client.read(client.path(file_of(*values)))


def of(api: str, provider: str = "x", model: str = "m") -> dict[str, str]:
    return {"api": api, "provider": provider, "model": model}


@pytest.mark.parametrize("unknown", ["U A(c1) U", "U A(c1) A('hm') R(c1=ok) U", "U A(c1)^error U", "U R(c1=early) A(c1) U"])
def test_of_an_api_that_is_not_known_only_the_pairing_is_left(unknown: str) -> None:
    tree = stored(value | {"message": value["message"] | {"api": "unheard-of"}} for value in chain(unknown))
    readings = [reader(name).read(scan(tree)) for name in ("openclaw-2026.9", SENT) if (scan := reader(name).path)]
    assert shape_of(readings[0].messages) == shape_of(readings[1].messages)


def test_one_history_by_four_policies() -> None:
    values = [user("a"), user("b"), answer(thought("sig"), call("call_1")), user("c")]
    anthropic = sent(
        *values[:2], answer(thought("sig"), call("call_1"), **of("anthropic-messages", "anthropic", "claude-opus-4-5")), values[3]
    )
    missing = anthropic.messages[2].chunks[0].text
    assert told(anthropic.messages) == ["user: a | b", "assistant: thought sig | call call_1 run", f"tool: call_1 {missing}", "user: c"]
    assert missing.startswith("[openclaw] missing tool result")
    completions = sent(*values[:2], answer(thought("sig"), call("call_1"), **of("openai-completions")), values[3])
    assert told(completions.messages) == ["user: a | b", "assistant: call call1 run", f"tool: call1 {missing}", "user: c"]
    responses = sent(*values[:2], answer(thought("sig"), call("call_1"), **of("openai-responses")), values[3])
    assert told(responses.messages)[2:4] == ["assistant: thought sig | call call_1 run", "tool: call_1 aborted"]
    mistral = sent(*values[:2], answer(thought("sig"), call("call_1"), **of("mistral-conversations")), values[3])
    assert [each.call_id for message in mistral.messages for each in message.chunks if each.call_id] == ["78d66c1f7"] * 2


def test_the_report_names_the_policy_and_counts_every_pass() -> None:
    reading = sent(user(), answer(thought(" "), text("x"), call(name=""), **of("anthropic-messages")), user(), user())
    assert reading.report["policy"] == "anthropic" and reading.report["model"] == "x anthropic-messages m"
    assert {name: reading.report[name] for name in ("thinkingBlocksDropped", "droppedToolCalls", "turnsMerged", "added")} == {
        "thinkingBlocksDropped": 1, "droppedToolCalls": 1, "turnsMerged": 1, "added": 0,
    }  # fmt: skip
    assert {seq for each in reading.dropped for seq in each.seqs} == {2, 4}


def test_an_answer_at_the_end_stays_and_is_warned_of() -> None:
    reading = sent(user(), answer(text("done"), stopReason="stop", **of("anthropic-messages")))
    assert told(reading.messages)[-1] == "assistant: done"
    assert any("would be left out" in each for each in reading.warnings)
    assert not sent(user(), answer(text("done"), stopReason="stop", **of("openai-responses"))).warnings


def test_a_changed_model_is_the_one_that_answers_next() -> None:
    lines = [entry("a", None, message=user()), entry("b", "a", message=answer(text("x"), **of("anthropic-messages")))]
    changed = stored([*lines, entry("m", "b", type="model_change", provider="mistral", modelId="large")])
    client = reader(SENT)
    assert client.path
    assert client.read(client.path(changed)).report["policy"] == "any other api"


def test_the_whole_is_a_variant_and_no_further_client() -> None:
    for name in ("pi", "openclaw", "openclaw-sqlite"):
        assert names(name)[-1] == SENT and SENT not in clients(name)
    assert reader("openclaw-2026.9").variants[0][0] == "sent"


# The file repair's table of 2026.7.1, as far as 2026.9.6 does at sending what that one wrote into the file.

FILE_REPAIR = [
    ("a failed answer without content", [user(), answer(stopReason="error"), user()], ["user: go on", "user: go on"]),
    ("a blank user message", [user(" "), answer(text("x"), stopReason="stop"), user()], ["assistant: x", "user: go on"]),
]


@pytest.mark.parametrize(("values", "expected"), [row[1:] for row in FILE_REPAIR], ids=[row[0] for row in FILE_REPAIR])
def test_what_was_once_written_over_is_left_out_today(values: list[dict[str, Any]], expected: list[str]) -> None:
    assert told(turns.with_content(history(*values)).messages) == expected


# The append guard's table, as far as a reader of what was appended answers it; the guard itself writes, and is not modeled.

GUARD: list[tuple[str, list[dict[str, Any]], str]] = [
    ("a call, then a user", chain("U A(c1) U"), "U A(c1) R(c1=SYN) U"),
    ("a call with its result", chain("U A(c1) R(c1=ok) U"), "U A(c1) R(c1=ok) U"),
    ("one of two results, then an answer", chain("U A(c1 c2) R(c2=ok) A('t')"), "U A(c1 c2) R(c1=SYN) R(c2=ok) A('t')"),
    ("an aborted answer, then a user", chain("U A(c1)^aborted U"), "U U"),
    # The guard reads such a key; the session manager leaves the row out before that.
    ("a result keyed toolUseId", chain("U A(c1) R(c1:toolUseId=x) U"), "U A(c1) R(c1=SYN) U"),
]


@pytest.mark.parametrize(("lines", "expected"), [row[1:] for row in GUARD], ids=[row[0] for row in GUARD])
def test_what_the_guard_would_have_written_is_what_the_reader_sends(lines: list[dict[str, Any]], expected: str) -> None:
    client = reader("openclaw-2026.9")
    assert client.path
    assert shape_of(client.read(client.path(stored(lines))).messages) == expected


def test_a_result_with_a_blank_tool_name_gets_that_of_its_call() -> None:
    reading = sent(user(), answer(call(), **of("anthropic-messages")), result("c1", toolName=" "), user())
    assert [each.tool_name for message in reading.messages for each in message.chunks if each.kind is Kind.TOOL_RESULT] == ["run"]


def test_a_stored_call_without_arguments_is_not_sent() -> None:
    reading = sent(user(), answer(text("well"), call(arguments=...), **of("anthropic-messages")), user())
    assert told(reading.messages) == ["user: go on", "assistant: well", "user: go on"]
