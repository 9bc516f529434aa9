"""Every program that Inspector brings keeps what the kit for programs asks."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from inspector.testing import kit
from tests.actions.building import chunk_key, put, row
from tests.faults.cases import CASES
from tests.programs.claude_code import session_lines as claude_code
from tests.programs.codex.threads import event, line
from tests.programs.gemini_cli import chats as gemini
from tests.programs.pi_openclaw import session_files as rows

pytestmark = pytest.mark.django_db


ROLLOUTS_LINE = json.dumps({"role": "user", "content": "and then?", "timestamp": "2025-12-23T16:00:00.000000"}).encode() + b"\n"
ERA_A_LINE = b'{"type": "message", "timestamp": "2025-12-03T11:00:00", "message": {"role": "user", "content": "and then?"}}\n'
SESSION_LINE = rows.lines(rows.u("later", "u2", "and then?"))
FILES = {
    "rollouts A": ("rollouts", "*0b1c.jsonl", ERA_A_LINE),
    "rollouts": ("rollouts", "{}/messages.jsonl", ROLLOUTS_LINE),
    "pi": ("pi", "*{}.jsonl", SESSION_LINE),
    "openclaw": ("openclaw", "{}.jsonl", SESSION_LINE),
    "claude-code": ("claude-code", "{}.jsonl", claude_code.lines(claude_code.u("later", "u2", "and then?"))),
    "codex": ("codex", "*{}.jsonl", line(99, event("token_count"))),
    "gemini-cli": ("gemini-cli", gemini.NAME, gemini.lines(gemini.user("later", "and then?"))),
    "request body": ("anthropic-request", "request.json", b"\n"),
}
"""Start of the name of a case -> format, the file of the conversation, and what its program appends to it."""


def _appended(pattern: str, line: bytes, path: str) -> None:
    (file,) = sorted(Path(path).rglob(pattern)) if Path(path).is_dir() else [Path(path)]
    file.write_bytes(file.read_bytes() + line)


def _next_row(path: str) -> None:
    put(Path(path), chunk_key(90, "c1"), row("and then?", msg_idx=9))


def _samples() -> dict[str, kit.Sample]:
    """The stores of the fault harness, each with all of its modes; those of a server are in tests/postgres."""
    samples: dict[str, kit.Sample] = {}
    for case in (each for each in CASES if each.kind != "postgres"):
        if case.program in samples:
            known = samples[case.program]
            samples[case.program] = replace(known, modes=(*known.modes, case.mode))
            continue
        format_, went_on = "dispatch", _next_row
        if case.kind == "files":
            format_, pattern, line = next(FILES[start] for start in FILES if case.program.startswith(start))
            went_on = partial(_appended, pattern.format(case.conversation), line)
        samples[case.program] = kit.Sample(format_, case.make, case.conversation or "request", case.strategies, went_on, (case.mode,))
    return samples


SAMPLES = _samples()


@pytest.mark.slow
@pytest.mark.parametrize("check", kit.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", SAMPLES)
def test_an_own_program_keeps_what_the_kit_asks(name: str, check: kit.Check, tmp_path: Path) -> None:
    check(SAMPLES[name], tmp_path / "store")
