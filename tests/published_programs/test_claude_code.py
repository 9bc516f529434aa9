"""What seven versions of Claude Code send when they resume sessions of ours: what our readers of them say, and of the newest after a repair what was promised."""

from pathlib import Path

import pytest

from inspector.projections.catalogue import projection
from inspector.rules.base import case_of
from inspector.rules.catalogue import all_findings, rule
from tests.commands.running import run
from tests.folding import in_one_test
from tests.programs.claude_code.session_lines import ID, PROJECT, stored, write
from tests.programs.claude_code.test_families_lines import FAMILIES
from tests.published_programs import claude_code
from tests.published_programs.claude_code import BEFORE, NEWEST, VERSIONS, Said, said

SENT = claude_code.kept()
SESSIONS = claude_code.sessions()


def ours(data: bytes, reader: str) -> Said:
    messages = case_of(stored(data.removesuffix(b"\n")).conversation, reader).reading.messages
    return said(projection("anthropic").project(messages).values)


def test_every_session_was_resumed_by_every_version() -> None:
    assert list(SENT) == list(VERSIONS.values()) and {tuple(answers) for answers in SENT.values()} == {tuple(SESSIONS)}


@in_one_test("reader, name", [(reader, name) for reader in VERSIONS for name in SESSIONS])
def test_our_reader_gives_what_is_sent(reader: str, name: str) -> None:
    sent = SENT[VERSIONS[reader]][name]
    if sent is None:
        pytest.skip("the program refuses to resume it")
    assert ours(SESSIONS[name], reader) == sent


@pytest.mark.parametrize("reader", VERSIONS)
def test_rules_look_through_every_session(reader: str) -> None:
    codes = {
        finding.code
        for data in SESSIONS.values()
        for finding in all_findings(case_of(stored(data.removesuffix(b"\n")).conversation, reader))
    }
    assert {"MSG602", "TOOL102", "TREE201", "TREE206"} <= codes


def test_what_a_version_refuses_to_resume_is_named_by_a_rule_that_blocks_the_resume() -> None:
    refused = [name for name, sent in SENT[BEFORE].items() if sent is None]
    assert refused and None not in SENT[NEWEST].values()
    for name in refused:
        case = case_of(stored(SESSIONS[name].removesuffix(b"\n")).conversation, "claude-code")
        assert any(rule(finding.code).blocks_resume for finding in all_findings(case)), name


@pytest.mark.programs
@pytest.mark.parametrize("version", VERSIONS.values())
def test_claude_code_sends_again_what_is_kept(version: str) -> None:
    if reason := claude_code.missing(version):
        pytest.skip(reason)
    assert claude_code.ask(version) == SENT[version]


@pytest.mark.programs
@pytest.mark.django_db
@pytest.mark.parametrize("name", [name for name, answer in SENT[BEFORE].items() if answer is None and name in FAMILIES])
def test_what_a_version_refuses_it_resumes_after_the_repair(tmp_path: Path, name: str) -> None:
    if reason := claude_code.missing(BEFORE):
        pytest.skip(reason)
    path = write(tmp_path, {f"{PROJECT}/{ID}.jsonl": FAMILIES[name].data}) / f"{PROJECT}/{ID}.jsonl"
    assert claude_code.sent(BEFORE, path.read_bytes()) is None
    strategies = [word for strategy in FAMILIES[name].strategies for word in ("--strategy", strategy)]
    assert run("repair", path, *strategies, "--mode", "same-file", "--apply", "--json").status == 0
    assert tuple(claude_code.sent(BEFORE, path.read_bytes()) or ()) == FAMILIES[name].after
