"""A call whose result is in no line of its session, and in another file of it: a large output in tool-results, or the answer of an agent in its file.
Found, with the file as evidence; put back in both write modes; undone byte for byte."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from inspector.models import Conversation, loading
from inspector.programs.claude_code.around import notice
from inspector.rules.catalogue import all_findings
from tests.actions.building import bring
from tests.commands.running import run
from tests.programs.claude_code.session_lines import ENVELOPE, ID, OTHER, PROJECT, a, lines, r, text, u, write

pytestmark = pytest.mark.django_db
LARGE = "".join(f"{number:6} a line of the output of a command\n" for number in range(2000))
PLACEHOLDER = "[Tool result missing due to internal error]"


def called(name: str = "Bash", call_id: str = "toolu_01Lost", **given: Any) -> tuple[dict[str, Any], ...]:
    """A session in which the call has no result, and the conversation went on."""
    block = {"type": "tool_use", "id": call_id, "name": name, "input": given or {"command": "ls -R /"}}
    return (u("u1", None), a("a1", "u1", "m1", block, 1), u("u2", "a1", "and?", 2), a("a2", "u2", "m2", text("Well."), 3))


AGENT_CALL = called("Agent", description="look", prompt="Look for TODO comments.", subagent_type="Explore")


def agent(*blocks: Mapping[str, Any], stop: str | None = "end_turn", prompt: str = "Look for TODO comments.") -> bytes:
    """The file of an agent, of which the last line says why it ended."""
    about = {"isSidechain": True, "agentId": "ac47f8c"}
    answers = [a(f"s{number}", f"s{number - 1}", "m8", block, number + 1, **about) for number, block in enumerate(blocks, start=1)]
    if answers:
        answers[-1]["message"]["stop_reason"] = stop
    return lines(u("s0", None, prompt, 1, **about), *answers)


def meta(call_id: str = "toolu_01Lost") -> bytes:
    return json.dumps({"agentType": "Explore", "description": "look", "toolUseId": call_id, "spawnDepth": 1}).encode()


def store(tmp_path: Path, session: tuple[dict[str, Any], ...], files: Mapping[str, bytes]) -> Path:
    return write(tmp_path / "claude", {f"{PROJECT}/{ID}.jsonl": lines(*session), **{f"{PROJECT}/{name}": files[name] for name in files}})


def findings_of(folder: Path) -> dict[str, dict[str, Any]]:
    reports = {report["native_id"]: report for report in run("scan", folder, "--no-cache", "--json").json["conversations"]}
    return {finding["code"]: finding for finding in reports[ID]["findings"]}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


SPILLED, AGENT, META = (
    f"{ID}/tool-results/toolu_01Lost.txt",
    f"{ID}/subagents/agent-ac47f8c.jsonl",
    f"{ID}/subagents/agent-ac47f8c.meta.json",
)
ANSWERED = agent(text("Three comments."))
FAMILIES: dict[str, tuple[tuple[dict[str, Any], ...], dict[str, bytes], str]] = {
    "an output that was too large": (called(), {SPILLED: LARGE.encode()}, LARGE),
    "an output as content blocks": (
        called("mcp__docs__read"),
        {SPILLED.replace(".txt", ".json"): json.dumps([text(LARGE)], indent=2).encode()},
        "",
    ),
    "a placeholder in its place": (
        (*called()[:2], r("r1", "a1", "toolu_01Lost", PLACEHOLDER, 2), u("u2", "r1", "and?", 3)),
        {SPILLED: LARGE.encode()},
        LARGE,
    ),
    "an agent whose call is named next to it": (
        AGENT_CALL,
        {AGENT: agent(text("Three comments."), prompt="(rendered)"), META: meta()},
        "Three comments.",
    ),
    "an agent that was given the prompt of the call": (AGENT_CALL, {AGENT: ANSWERED}, "Three comments."),
    "an agent of an older version, next to the session": (AGENT_CALL, {"agent-ac47f8c.jsonl": ANSWERED}, "Three comments."),
    "an answer in two blocks": (AGENT_CALL, {AGENT: agent(text("Three"), text("comments."))}, "Three\ncomments."),
}
each_family = pytest.mark.parametrize("name", FAMILIES)


@each_family
def test_it_is_found_with_the_file_as_evidence(tmp_path: Path, name: str) -> None:
    session, files, _ = FAMILIES[name]
    folder = store(tmp_path, session, files)
    found = findings_of(folder)
    is_placeholder = "placeholder" in name
    assert set(found) == ({"TOOL212", "TOOL402"} if is_placeholder else {"TOOL212"})
    assert found["TOOL212"]["severity"] == ("warning" if is_placeholder else "error")
    assert "/".join(next(iter(files)).split("/")[-2:]) in found["TOOL212"]["message"]
    assert "recover-result-from-file" in found["TOOL212"]["repaired_by"]
    bring(folder)
    (finding,) = (
        finding
        for finding in all_findings(loading.case(Conversation.objects.get(native_id=ID), "claude-code"))
        if finding.code == "TOOL212"
    )
    assert dict(finding.evidence)["file"] == str(folder / PROJECT / next(iter(files)))


@pytest.mark.parametrize("mode", ["new-session", "same-file"])
@each_family
def test_it_is_put_back_and_undone_byte_for_byte(tmp_path: Path, name: str, mode: str) -> None:
    session, files, words = FAMILIES[name]
    folder = store(tmp_path, session, files)
    before = contents(folder)
    applied = run("repair", folder, "--conversation", ID, "--for", "anthropic-2026-07", "--mode", mode, "--apply", "--json")
    assert applied.status == 0 and applied.json["state"] == "verified", applied
    assert next(finding["repaired_by"] for finding in applied.json["findings_before"]) == ["recover-result-from-file"]
    after = contents(folder)
    (key,) = (key for key in after if after[key] != before.get(key))
    results = [
        block["content"]
        for value in map(json.loads, after[key].splitlines())
        if isinstance(value["message"]["content"], list)
        for block in value["message"]["content"]
        if block["type"] == "tool_result"
    ]
    place = str(folder / PROJECT / next(iter(files)))
    content = files[next(iter(files))].decode()
    assert results == [notice(content, place) if "tool-results" in place else words]
    assert run("undo", applied.json["repair"]).status == 0
    assert contents(folder) == before


def test_a_plan_names_the_file(tmp_path: Path) -> None:
    folder = store(tmp_path, called(), {SPILLED: LARGE.encode()})
    shown = run("repair", folder, "--conversation", ID, "--strategy", "recover-result-from-file", "--plan").out
    assert f"  taken from: {folder / PROJECT / SPILLED}\n" in shown


def test_the_notice_is_that_of_the_program() -> None:
    """Its size, the path, and the first 2,000 characters up to the end of a line, as sessions of 2.1.29 have it."""
    first, second, *_, last = notice(LARGE, "/p/tool-results/toolu_1.txt").split("\n")
    assert (first, last) == ("<persisted-output>", "</persisted-output>")
    assert second == "Output too large (80.1KB). Full output saved to: /p/tool-results/toolu_1.txt"
    shown = notice(LARGE, "/p").partition("Preview (first 2KB):\n")[2]
    assert LARGE.startswith(shown.removesuffix("\n...\n</persisted-output>")) and 1900 < len(shown) < 2030
    assert notice("short", "/p").endswith("Preview (first 2KB):\nshort\n</persisted-output>")


@pytest.mark.parametrize(
    ("session", "files"),
    [
        pytest.param(called(), {f"{ID}/tool-results/bq1x2y3z4.txt": LARGE.encode()}, id="an output whose name is that of no call"),
        pytest.param(called(), {f"{OTHER}/tool-results/toolu_01Lost.txt": LARGE.encode()}, id="an output of another session"),
        pytest.param(called(), {SPILLED: b"\xff\xfe not text"}, id="an output that is no text"),
        pytest.param(called(), {SPILLED: b""}, id="an output that was not written"),
        pytest.param(
            AGENT_CALL,
            {AGENT: agent(text("I look."), {"type": "tool_use", "id": "t9", "name": "Grep", "input": {}})},
            id="an agent at work",
        ),
        pytest.param(AGENT_CALL, {AGENT: agent(text("I stop"), stop="max_tokens")}, id="an answer that was cut"),
        pytest.param(AGENT_CALL, {AGENT: agent()}, id="an agent that said nothing"),
        pytest.param(AGENT_CALL, {AGENT: agent(text("Two."), prompt="Another task.")}, id="an agent with another prompt"),
        pytest.param(AGENT_CALL, {AGENT: ANSWERED, META: meta("toolu_01Other")}, id="an agent of another call"),
        pytest.param(AGENT_CALL, {AGENT: ANSWERED, AGENT.replace("ac47f8c", "bd58a9d"): ANSWERED}, id="two agents with one prompt"),
    ],
)
def test_what_proves_no_outcome_is_left(tmp_path: Path, session: tuple[dict[str, Any], ...], files: dict[str, bytes]) -> None:
    assert set(findings_of(store(tmp_path, session, files))) == {"TOOL102"}


def test_last_words_of_an_agent_that_may_have_gone_on_are_a_choice(tmp_path: Path) -> None:
    """Older versions store no reason for the end of an answer."""
    folder = store(tmp_path, AGENT_CALL, {AGENT: agent(text("Three comments."), stop=None)})
    found = findings_of(folder)
    assert {code: finding["severity"] for code, finding in found.items()} == {"TOOL102": "error", "TOOL212": "note"}
    shown = run("repair", folder, "--conversation", ID, "--for", "anthropic-2026-07", "--plan", "--json").json
    assert shown["safety"] == ["invented"]
    applied = run("repair", folder, "--conversation", ID, "--strategy", "recover-agent-words", "--mode", "same-file", "--apply", "--json")
    assert applied.json["state"] == "verified" and "Three comments." in (folder / PROJECT / f"{ID}.jsonl").read_text()


def test_a_call_with_its_result_is_left_and_no_file_is_read(tmp_path: Path) -> None:
    spilled = f"<persisted-output>\nOutput too large (82KB). Full output saved to: /home/dev/{SPILLED}\n</persisted-output>"
    session = (*called()[:2], r("r1", "a1", "toolu_01Lost", spilled, 2), u("u2", "r1", "and?", 3))
    folder = store(tmp_path, session, {SPILLED: LARGE.encode(), AGENT: ANSWERED})
    (folder / PROJECT / SPILLED).chmod(0)
    assert findings_of(folder) == {}


def test_pages_know_what_is_around_a_session_and_a_second_import_reads_nothing(tmp_path: Path) -> None:
    """Records of a revision are those of the session alone: what other files say is kept with it."""
    started = {**r("r0", "u1", "toolu_00", "done", 1), "toolUseResult": {"status": "completed", "agentId": "ac47f8c"}}
    block = {"type": "tool_use", "id": "toolu_00", "name": "Agent", "input": {"prompt": "x"}}
    first = (u("u1", None), a("a0", "u1", "m0", block), {**started, "parentUuid": "a0"})
    lost = tuple({**value, "parentUuid": "r0"} if value["uuid"] == "a1" else value for value in called()[1:])
    folder = store(tmp_path, (*first, *lost), {SPILLED: LARGE.encode(), AGENT: agent(text("done"))})
    assert ENVELOPE["sessionId"] == ID
    bring(folder)
    again = bring(folder)[0]
    assert (again.conversations, again.unchanged) == (2, 2)
    loading.forget()
    row = Conversation.objects.get(native_id=ID)
    assert row.revision == 1
    assert [finding.code for finding in all_findings(loading.case(row, "claude-code"))] == ["TOOL212"]
