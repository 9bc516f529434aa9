"""By whose rules a session is judged where nobody names a profile: those of the provider that answers in it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from inspector.actions.import_source import import_targets
from inspector.conversation.model import Conversation
from inspector.profiles.answering import own_judges, own_profile
from inspector.profiles.anthropic import ANTHROPIC_COMPATIBLE, ANTHROPIC_PROFILE
from inspector.profiles.catalogue import profile
from inspector.profiles.judging import judged
from inspector.programs.pi_openclaw.entries import read_session
from inspector.programs.pi_openclaw.facts import facts_of
from inspector.projections.catalogue import projection
from inspector.rules.base import case_of
from tests.commands.running import run
from tests.programs.pi_openclaw.session_files import a, call, entry, header, lines, text, u

pytestmark = pytest.mark.only_settles

USUAL = ANTHROPIC_PROFILE.name
UNSIGNED = {"type": "thinking", "thinking": "which file?"}


def answered(*content: Any, provider: str = "anthropic", api: str = "", model: str = "m1", parent: str = "u1") -> dict[str, Any]:
    about = {"provider": provider, "model": model} | ({"api": api} if api else {})
    value: dict[str, Any] = a("a1", parent, *(content or (text("hello"),)), stopReason="stop")
    kept = {name: each for name, each in value["message"].items() if name not in ("api", "provider", "model")}
    return value | {"message": kept | about}


def session(*entries: Any, format_name: str = "pi") -> Conversation:
    found = read_session(lines(header(), u("u1", None), *entries))
    return Conversation("s", format_name, tuple(found.chunks), facts_of(found, "file", control_rows=False))


CHOICES = [
    ("anthropic", "anthropic-messages", "claude-opus-4-5", USUAL),
    ("anthropic", "", "claude-opus-4-5", USUAL),
    ("github-copilot", "anthropic-messages", "claude-sonnet-4", USUAL),
    ("fireworks", "anthropic-messages", "glm-5", ANTHROPIC_COMPATIBLE.name),
    ("fireworks", "", "glm", ANTHROPIC_COMPATIBLE.name),
    ("fireworks", "unheard-of", "glm", ANTHROPIC_COMPATIBLE.name),
    ("groq", "openai-completions", "x", "openai-chat"),
    ("openai", "openai-responses", "gpt-5", "openai-responses"),
    ("openai", "openai-codex-responses", "gpt-5", "openai-responses"),
    ("google", "google-generative-ai", "gemini-2.5-pro", "gemini"),
    ("google", "google-vertex", "gemini-3-pro", "gemini-3"),
    ("amazon-bedrock", "bedrock-converse-stream", "anthropic.claude", "bedrock"),
    ("mistral", "mistral-conversations", "large", "mistral"),
    ("deepseek", "openai-completions", "deepseek-chat", "openai-chat"),
]


@pytest.mark.parametrize(("provider", "api", "model", "expected"), CHOICES, ids=[" ".join(row[:2]) for row in CHOICES])
def test_the_last_answer_names_the_judge(provider: str, api: str, model: str, expected: str) -> None:
    conversation = session(answered(provider=provider, api=api, model=model))
    name, why = own_profile(conversation, USUAL)
    assert name == expected
    assert (provider in why and expected in why) if expected != USUAL else why == ""
    made, judge = own_judges(conversation, "anthropic", USUAL)
    assert projection(made).wire == profile(judge).wire


def test_deepseek_that_thinks_wants_its_reasoning_back() -> None:
    level = entry("thinking_level_change", "t1", "a1", thinkingLevel="high")
    conversation = session(answered(provider="deepseek", api="openai-completions", model="deepseek-reasoner"), level)
    assert own_judges(conversation, "anthropic", USUAL) == ("openai-chat+reasoning", "deepseek-thinking")


def test_a_later_change_of_the_model_counts_and_its_api_is_that_of_its_own_answers() -> None:
    def changed(*more: Sequence[Any]) -> str:
        return own_profile(session(answered(api="anthropic-messages"), *more), USUAL)[0]

    assert changed(entry("model_change", "m1", "a1", provider="openai", modelId="gpt-5")) == "openai-responses"
    assert changed(entry("model_change", "m1", "a1", provider="fireworks", modelId="glm")) == ANTHROPIC_COMPATIBLE.name
    there_and_back = (
        entry("model_change", "m2", "a1", provider="openai", modelId="gpt-5"),
        entry("model_change", "m3", "m2", provider="anthropic", modelId="m1"),
    )
    assert changed(*there_and_back) == USUAL


def test_what_a_person_or_another_format_chose_stays() -> None:
    foreign = answered(provider="fireworks", api="openai-completions")
    assert own_profile(session(foreign), "mistral") == ("mistral", "")
    assert own_profile(session(foreign, format_name="dispatch"), USUAL) == (USUAL, "")
    assert own_profile(session(), USUAL) == (USUAL, "")


@pytest.mark.parametrize(("provider", "refused"), [("anthropic", ["AN-18"]), ("fireworks", [])])
def test_thinking_without_a_signature_is_refused_by_anthropic_alone(provider: str, refused: list[str]) -> None:
    conversation = session(answered(UNSIGNED, text("hello"), provider=provider, api="anthropic-messages"), u("u2", "a1", "and?"))
    made, judge = own_judges(conversation, "anthropic", USUAL)
    reading = case_of(conversation, "pi-1.5").reading
    found = judged(reading, conversation, judge, made)[1]
    assert [each.id for each in found.violations] == refused
    assert any("fireworks" in note for note in found.notes) == (provider == "fireworks")
    # Who asks for Anthropic's rules gets them.
    assert [each.id for each in judged(reading, conversation, USUAL, "anthropic")[1].violations] == ["AN-18"]


def test_another_provider_over_messages_still_wants_results_behind_calls() -> None:
    conversation = session(answered(call("c1"), provider="fireworks", api="anthropic-messages"), u("u2", "a1"))
    found = judged(case_of(conversation, "verbatim").reading, conversation, ANTHROPIC_COMPATIBLE.name, "anthropic")[1]
    assert [each.id for each in found.violations] == ["AN-1"]


def test_its_rules_are_rows_of_anthropics_table() -> None:
    assert set(ANTHROPIC_COMPATIBLE.rules) < set(ANTHROPIC_PROFILE.rules)
    assert not {"AN-15", "AN-16", "AN-17", "AN-17e", "AN-18", "AN-19", "AN-10"} & {rule.id for rule in ANTHROPIC_COMPATIBLE.rules}


def test_scan_says_by_which_profile_and_why(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(lines(header(), u("u1", None), answered(UNSIGNED, text("hello"), provider="fireworks", api="anthropic-messages")))
    told = run("scan", file)
    assert "judged as anthropic-compatible, since 'm1' of fireworks over anthropic-messages answers in this session" in told.out
    assert "the next request passes all known rules" in told.out
    (found,) = run("scan", file, "--json").json["conversations"]
    assert found["judged_by"]["profile"] == "anthropic-compatible" and "fireworks" in found["judged_by"]["why"]
    asked = run("scan", file, "--profile", USUAL)
    assert "AN-18" in asked.out or "signature" in asked.out


@pytest.mark.only_settles(False)
@pytest.mark.django_db
def test_the_lists_and_pages_go_by_the_same_profile_and_say_why(tmp_path: Path, client: Client) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(lines(header(), u("u1", None), answered(UNSIGNED, text("hello"), provider="fireworks", api="anthropic-messages")))
    (imported,) = import_targets([str(file)], "tester")
    row = imported.source.conversations.get()
    assert row.judges == ("anthropic", "anthropic-compatible") and not row.refused
    page = client.get(f"/conversations/{row.oid}/").content.decode()
    assert "Judged as anthropic-compatible, since" in page and "fireworks over anthropic-messages" in page
    prompt = client.get(f"/conversations/{row.oid}/prompt/?reader=openclaw-2026.9%2Bsent").content.decode()
    assert "Judged as anthropic-compatible" in prompt and "openclaw-2026.9+sent</option>" in prompt
    asked = client.get(f"/conversations/{row.oid}/prompt/?profile={USUAL}").content.decode()
    assert "AN-18" in asked and "Judged as anthropic-compatible" not in asked
