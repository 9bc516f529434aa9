"""The published programs, run again: what goldens.json keeps is what they read. Skipped where they are not installed."""

import pytest

from tests.published_programs import codex
from tests.published_programs.running import PROGRAMS, Program, goldens
from tests.published_programs.sessions import kept

pytestmark = pytest.mark.programs


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_the_program_reads_again_what_is_kept(program: Program) -> None:
    if reason := program.missing():
        pytest.skip(reason)
    versions, read = goldens()
    files = {name: data for name, data in kept().items() if program.reads(name)}
    answer = program.ask(files)
    assert answer["version"] == versions[program.name]
    assert answer["files"] == {name: read[name][program.name] for name in files}


def test_codex_sends_again_what_is_kept() -> None:
    if reason := codex.missing():
        pytest.skip(reason)
    assert codex.ask() == codex.kept()
