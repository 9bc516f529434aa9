"""The damages that a generator of the neighbors' benches makes (`../shared/bench/gen_corrupt.py`): those of lines and chain are named, and the control is clean."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from inspector.programs.claude_code.format import CLAUDE_CODE
from inspector.programs.formats import Cell, Record
from inspector.rules.base import case_of
from inspector.rules.catalogue import all_findings

BENCH = Path(os.environ.get("INSPECTOR_SHARED", Path(__file__).parents[4] / "shared")) / "bench"
NAMED = {
    "clean": {},
    "orphan_tool_call": {"TOOL102": "error"},
    "orphan_tool_result": {"TOOL202": "error"},
    "thinking_only_end": {"THINK401": "note"},
    "thinking_signature_missing": {"THINK201": "warning"},
    "assistant_text_as_user": {"MSG602": "warning", "MSG801": "error", "THINK401": "note"},
    "tool_call_in_thinking": {"THINK402": "note"},
    "message_id_collision": {"MSG403": "note", "MSG602": "warning"},
    "parent_chain_broken": {"TREE201": "warning"},
    "duplicate_uuid": {"TREE203": "note"},
    "torn_last_line": {"STORE801": "warning"},
    "nul_block_mid": {"STORE801": "error"},
    "out_of_order": {"TREE207": "note"},
    "content_wrong_type": {"STORE901": "error"},
}

pytestmark = pytest.mark.skipif(not (BENCH / "gen_corrupt.py").exists(), reason="needs ../shared/bench")


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By the name of the damage."""
    folder = tmp_path_factory.mktemp("damage")
    sizes = ("--conversations", "1", "--per", "200", "--sizes", "100", "--huge", "100", "--spans", "10")
    subprocess.run([sys.executable, str(BENCH / "gen.py"), str(folder / "data"), *sizes], check=True, capture_output=True, timeout=120)
    command = [sys.executable, str(BENCH / "gen_corrupt.py"), str(folder / "data"), str(folder / "out")]
    listing = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    assert json.loads((folder / "data" / "manifest.json").read_text())["conversations"]
    return {name: folder / "out" / "bench" / f"{session}.jsonl" for name, session, _ in map(str.split, listing.splitlines())}


@pytest.mark.parametrize("damage", NAMED)
def test_the_damage_is_named(sessions: dict[str, Path], damage: str) -> None:
    path = sessions[damage]
    (stored,) = CLAUDE_CODE.read([Record(f"projects/bench/{path.name}", Cell(path.read_bytes(), "file"))])
    reported = all_findings(case_of(stored.conversation, "claude-code"))
    assert {finding.code: finding.severity.value for finding in reported} == NAMED[damage]
