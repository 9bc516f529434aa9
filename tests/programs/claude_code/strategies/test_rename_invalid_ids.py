"""Ids that Anthropic rejects (AN-7) in a session of Claude Code: `--for` renames the call and its result, and undo gives the bytes back."""

from pathlib import Path

import pytest

from tests.commands.running import run
from tests.programs.claude_code import session_lines as cc

pytestmark = pytest.mark.django_db
BAD = "call:1.a/b"
LINES = (
    cc.u("u1", None, "run it"),
    cc.a("a1", "u1", "m1", cc.call(BAD)),
    cc.a("a2", "a1", "m1", cc.call("toolu_2")),
    cc.r("r1", "a1", BAD),
    cc.r("r2", "a2", "toolu_2"),
    cc.a("a3", "r2", "m2", cc.text("done")),
    cc.u("u2", "a3", "go on"),
)


@pytest.mark.parametrize("mode", ["same-file", "new-session"])
def test_the_call_and_its_result_get_one_new_id_and_undo_restores_every_byte(tmp_path: Path, mode: str) -> None:
    store = cc.write(tmp_path, {f"{cc.PROJECT}/{cc.ID}.jsonl": cc.lines(*LINES)}) / "projects"
    assert "(AN-7)" in run("scan", store).out and run("doctor", store).status == 1
    applied = run("repair", store, "--conversation", cc.ID, "--for", "anthropic-2026-07", "--mode", mode, "--apply", "--json")
    assert applied.status == 0 and applied.json["state"] == "verified"
    ids = [edit["after"]["payload"]["toolCallId"] for edit in applied.json["edits"]]
    assert len(ids) == 2 and len(set(ids)) == 1 and ids[0].isalnum()
    (path,) = [path for path in store.rglob("*.jsonl") if (path.stem == cc.ID) == (mode == "same-file")]
    written = path.read_text()
    assert BAD not in written and written.count(ids[0]) == 2 and written.count("toolu_2") == 2
    assert run("check", path).status == 0
    assert run("undo", applied.json["repair"]).status == 0
    assert {path.read_bytes() for path in store.rglob("*.jsonl")} == {cc.lines(*LINES)}
