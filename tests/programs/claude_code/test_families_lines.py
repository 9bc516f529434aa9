"""Families F10, F11 and F13 of damage in Claude Code's sessions, which is in lines and their chain: each is found, repaired in both write modes where
both make sense, so that a resume reaches the messages again, and undone byte for byte. No provider answers to them with an error: the session opens, and
has forgotten something, or does not open."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from inspector.planning.recommend import sequence
from inspector.programs.claude_code.format import CLAUDE_CODE
from inspector.programs.formats import Cell, Record
from inspector.rules.base import Case, case_of
from inspector.rules.catalogue import all_findings
from inspector.strategies.catalogue import strategy
from tests.commands.running import run
from tests.programs.claude_code.families import in_turn, with_model
from tests.programs.claude_code.session_lines import ID, MODEL, PROJECT, a, boundary, call, encoded, line, lines, r, text, u, write

pytestmark = pytest.mark.django_db
KEY = f"{PROJECT}/{ID}.jsonl"
BOTH, SAME = ("new-session", "same-file"), ("same-file",)
START = (u("u1", None, "first"), a("a1", "u1", "m1", text("done"), 1))
END = (u("u2", "a1", "and?", 2), a("a2", "u2", "m2", text("well"), 3))
ALL = ("user:first", "assistant:done", "user:and?", "assistant:well")


def answer_of(content: Any, id_: str = "a1", parent: str | None = "u1") -> dict[str, Any]:
    """An answer with the content of another writer."""
    return line("assistant", id_, parent, {"id": "m1", "type": "message", "role": "assistant", "model": MODEL, "content": content}, 1)


def hook(parent: str, minute: int) -> dict[str, Any]:
    """As a version wrote it that put the context of hooks into the chain: all of a session have one uuid."""
    return line("saved_hook_context", "h1", parent, None, minute, content=["context"])


def notice(parent: str, minute: int) -> dict[str, Any]:
    return line("system", "h1", parent, None, minute, subtype="informational", content="note")


def below_hook(id_: str, minute: int = 2) -> tuple[dict[str, Any], ...]:
    return u(id_, "h1", "and?", minute), a("a2", id_, "m2", text("well"), 3)


@dataclass(frozen=True)
class Family:
    """`findings`: code -> severity. `strategies`: what repairs it, () where nothing can be proven. `before`, `after`: the messages that a resume sends."""

    data: bytes
    findings: Mapping[str, str]
    before: tuple[str, ...]
    strategies: tuple[str, ...] = ()
    after: tuple[str, ...] = ALL
    modes: tuple[str, ...] = BOTH


SNAPSHOT = {
    "type": "file-history-snapshot",
    "messageId": "u1",
    "snapshot": {"messageId": "u1", "trackedFileBackups": {"a.py": {"content": "x" * 600_000}}, "timestamp": "2026-08-01T10:00:00.000Z"},
    "isSnapshotUpdate": False,
}
PAST, RELINK, SPLIT, QUARANTINE, DROP = (
    "relink-past-unread-line",
    "relink-lost-line",
    "split-session-line",
    "quarantine-unreadable-lines",
    "drop-malformed-record",
)
FAMILIES: dict[str, Family] = {
    "F10 a parent that was never written": Family(
        lines(*START, u("u2", "phantom", "and?", 2), END[1]), {"TREE201": "error"}, ("user:and?", "assistant:well"), (RELINK,)
    ),
    "F10 a result whose parent was never written": Family(
        lines(u("u1", None, "first"), a("a1", "u1", "m1", call("t1"), 1), r("r1", "phantom", "t1", "one", 2), u("u2", "r1", "and?", 3)),
        {"TREE201": "error", "TOOL211": "error"},
        ("user:and?",),
        (RELINK,),
        ("user:first", "assistant:t1", "tool:one", "user:and?"),
    ),
    "F10 its own parent": Family(
        lines(*START, u("u2", "u2", "and?", 2), END[1]), {"TREE202": "error"}, ("user:and?", "assistant:well"), (RELINK,)
    ),
    "F10 a loop": Family(lines(*START, u("u2", "a2", "and?", 2), END[1]), {"TREE202": "error"}, ("user:and?", "assistant:well"), (RELINK,)),
    "F10 a stale parent of an older segment": Family(
        lines(
            *START,
            boundary("b1", logicalParentUuid="a1"),
            u("s1", "b1", "Summary", 2, isCompactSummary=True),
            a("a2", "s1", "m2", text("on"), 3),
            a("a3", "a1", "m3", text("stale"), 4),
        ),
        {"TREE204": "error"},
        ("user:first", "assistant:done", "assistant:stale"),
        (RELINK,),
        ("user:Summary", "assistant:on", "assistant:stale"),
    ),
    "F10 a compaction that wrote lines again": Family(lines(*START, START[1], *END), {"TREE203": "note"}, ALL),
    "F10 one uuid for two messages": Family(
        lines(*START, u("a1", "u1", "hidden", 2), u("u2", "a1", "and?", 2), END[1]),
        {"TREE203": "error"},
        ("user:first", "user:hidden", *ALL[2:]),
    ),
    "F10 the context of a hook, one uuid several times": Family(
        lines(*START, hook("a1", 1), *below_hook("u2"), hook("a2", 4), u("u3", "h1", "on", 5)),
        {"TREE208": "error"},
        ("user:on",),
        (PAST,),
        (*ALL, "user:on"),
    ),
    "F10 the context of a hook, once": Family(lines(*START, hook("a1", 1), *below_hook("u2")), {"TREE208": "error"}, ALL[2:], (PAST,), ALL),
    "F10 the context of a hook, seconds before": Family(lines(*START, hook("a1", 1), *below_hook("u2", 1)), {"TREE208": "note"}, ALL),
    "F10 lines of the system with one uuid": Family(
        lines(*START, notice("a1", 1), *below_hook("u2"), notice("a2", 4), u("u3", "h1", "on", 5)),
        {"TREE203": "error"},
        (*ALL[2:], "user:on"),
        (PAST,),
        (*ALL, "user:on"),
    ),
    "F10 two processes on one session": Family(lines(*START, u("x1", "a1", "to the other", 9), *END), {"TREE205": "warning"}, ALL),
    "F10 a rewind": Family(lines(*START, u("x1", "a1", "no", 1), *END), {"TREE205": "note"}, ALL),
    "F11 torn, and the next record on the same line": Family(
        lines(*START[:1], encoded(START[1])[:-40] + encoded(u("u2", "u1", "and?", 2)), END[1]),
        {"STORE802": "error"},
        ("assistant:well",),
        (SPLIT, QUARANTINE),
        ("user:first", "user:and?", "assistant:well"),
    ),
    "F11 torn, and what hangs below it on the same line": Family(
        lines(START[0], encoded(START[1])[:-40] + encoded(END[0]), END[1]),
        {"STORE802": "error"},
        ("assistant:well",),
        (SPLIT, QUARANTINE, RELINK),
        ("user:first", "user:and?", "assistant:well"),
    ),
    "F11 no line end between two records": Family(
        lines(START[0], encoded(START[1]) + encoded(END[0]), END[1]), {"STORE802": "error"}, ("assistant:well",), (SPLIT,)
    ),
    "F11 NUL bytes": Family(lines(*START, b"\0" * 64, *END), {"STORE801": "error"}, ALL, (QUARANTINE,), modes=SAME),
    "F11 a torn line in the middle, and what hangs below it": Family(
        lines(*START, encoded(u("lost", "a1", "lost", 2))[:-40], u("u2", "lost", "and?", 2), END[1]),
        {"STORE801": "error", "TREE201": "error"},
        ("user:and?", "assistant:well"),
        (RELINK, QUARANTINE),
    ),
    "F11 a torn last line": Family(
        lines(*START, *END) + encoded(u("u3", "a2", "more"))[:70], {"STORE801": "warning"}, ALL, (QUARANTINE,), modes=SAME
    ),
    "F11 a line of a log": Family(lines(*START, b"Error: disk full", *END), {"STORE801": "warning"}, ALL, (QUARANTINE,), modes=SAME),
    "F11 nested deeper than programs read": Family(
        lines(*START, b'{"a":' + b"[" * 3000 + b"]" * 3000 + b"}", *END), {"STORE801": "warning"}, ALL
    ),
    "F11 bytes that are not UTF-8": Family(
        lines(*START, encoded(u("u2", "a1", "and", 2)).replace(b'"and"', b'"an\xff"'), END[1]),
        {"STORE801": "warning"},
        ("user:first", "assistant:done", "user:an\ufffd", "assistant:well"),
    ),
    "F14 snapshots of files are most of the session": Family(
        lines(*START, SNAPSHOT, *END, SNAPSHOT), {"STORE905": "note"}, ALL, ("set-snapshots-aside",), modes=SAME
    ),
    "F14 snapshots, and less than half of it": Family(
        lines(*START, SNAPSHOT, u("u2", "a1", "and?" * 400_000, 2), END[1]),
        {},
        ("user:first", "assistant:done", "user:" + "and?" * 400_000, "assistant:well"),
    ),
    "F13 a malformed attachment": Family(
        lines(*START, line("attachment", "t1", "a1", None, attachment={"type": "diagnostics"}), u("u2", "t1", "and?", 2), END[1]),
        {"STORE901": "error"},
        ALL,
        (DROP,),
    ),
    "F13 a malformed delta": Family(
        lines(
            *START,
            line("attachment", "t1", "a1", None, attachment={"type": "deferred_tools_delta", "addedNames": None}),
            u("u2", "t1", "and?", 2),
            END[1],
        ),
        {"STORE901": "error"},
        ALL,
        (DROP,),
    ),
    "F13 a message of no shape": Family(
        lines(*START, u("x1", "a1", 42, 1), u("u2", "x1", "and?", 2), END[1]),
        {"STORE901": "error"},
        ALL,
        (DROP,),
    ),
    "F13 a block that is null": Family(
        lines(*START, u("u2", "a1", [text("and?"), None], 2), END[1]),
        {"STORE901": "error"},
        ALL,
        (DROP,),
    ),
    "F13 an answer whose content is text": Family(
        lines(START[0], answer_of("done"), *END), {"STORE901": "error"}, ALL, ("list-answer-text",)
    ),
    "F13 a block that is null on another branch": Family(
        lines(*START, u("x1", "a1", [None], 1), u("x2", "x1", "no", 1), *END),
        {"STORE901": "error", "TREE205": "note"},
        ALL,
        (QUARANTINE,),
    ),
    "F13 a message of no shape on another branch": Family(
        lines(*START, u("x1", "a1", 42, 1), *END), {"STORE901": "note", "TREE205": "note"}, ALL
    ),
    "F13 an error of the provider that is text": Family(
        lines(
            *START,
            with_model("<synthetic>", {**answer_of("API Error: 500", "e1", "a1"), "isApiErrorMessage": True}),
            u("u2", "e1", "and?", 2),
            END[1],
        ),
        {},
        ALL,
    ),
}
repairable = [
    pytest.param(name, mode, marks=() if mode == one_mode else pytest.mark.slow)
    for name, family, one_mode in in_turn(FAMILIES)
    if family.strategies
    for mode in family.modes
]


def read(data: bytes, key: str = KEY) -> Case:
    (session,) = CLAUDE_CODE.read([Record(key, Cell(data, "file"))])
    return case_of(session.conversation, "claude-code")


def sent(case: Case) -> tuple[str, ...]:
    return tuple(f"{chunk.role}:{chunk.text or chunk.call_id}" for message in case.reading.messages for chunk in message.chunks)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def folder(tmp_path: Path, name: str) -> Path:
    write(tmp_path / "claude", {KEY: FAMILIES[name].data})
    return tmp_path / "claude"


@pytest.mark.parametrize("name", FAMILIES)
def test_it_is_found(name: str) -> None:
    family, case = FAMILIES[name], read(FAMILIES[name].data)
    assert sent(case) == family.before
    reported = all_findings(case)
    assert {finding.code: finding.severity.value for finding in reported} == family.findings
    own = [finding for finding in reported if finding.code.startswith(("TREE2", "STORE8", "STORE9"))]
    assert all(finding.no_repair_reason or finding.repaired_by for finding in own)
    assert all(not finding.repaired_by for finding in own) is not bool(family.strategies)


@pytest.mark.parametrize(("name", "mode"), repairable)
def test_it_is_repaired_and_undone_byte_for_byte(folder: Path, name: str, mode: str) -> None:
    family, before = FAMILIES[name], contents(folder)
    strategies: list[Any] = [word for strategy in family.strategies for word in ("--strategy", strategy)]
    applied = run("repair", folder, "--conversation", ID, *strategies, "--mode", mode, "--apply", "--json")
    assert applied.status == 0 and applied.json["state"] == "verified", applied
    after = contents(folder)
    written = next(key for key in after if key.endswith(".jsonl") and after[key] != before.get(key))
    assert (written == KEY) is (mode == "same-file")
    case = read(after[written], written)
    assert sent(case) == family.after
    assert not [finding for finding in all_findings(case) if finding.severity != "note"]
    assert run("undo", applied.json["repair"]).status == 0
    assert contents(folder) == before


@pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if family.strategies])
def test_it_is_recommended(name: str) -> None:
    case = read(FAMILIES[name].data)
    chosen = sequence(case, all_findings(case), "anthropic-2026-07", "anthropic").candidate.strategies
    assert {one.name for one in chosen} == {of for of in FAMILIES[name].strategies if not strategy(of).manual_only}


@pytest.mark.parametrize("mode", BOTH)
def test_a_repair_without_what_closes_the_gap_says_that_the_gap_is_left(tmp_path: Path, mode: str) -> None:
    """The new session begins after the gap, and names the parent that is in no line."""
    folder = write(tmp_path / "claude", {KEY: FAMILIES["F11 torn, and what hangs below it on the same line"].data})
    before = contents(folder)
    plan = run("repair", folder, "--conversation", ID, "--strategy", SPLIT, "--strategy", QUARANTINE, "--mode", mode, "--plan").out
    assert "after: TREE201" in plan
    assert run("repair", folder, "--conversation", ID, "--strategy", SPLIT, "--mode", mode, "--apply", "--json").status == 0
    (written,) = (key for key, data in contents(folder).items() if key.endswith(".jsonl") and data != before.get(key))
    case = read(contents(folder)[written], written)
    assert sent(case) == ("user:and?", "assistant:well")
    assert [finding.severity for finding in all_findings(case) if finding.code == "TREE201"] == [
        "warning" if mode == "new-session" else "error"
    ]


def test_a_copy_may_have_another_name_than_the_session(tmp_path: Path) -> None:
    path = write(tmp_path / "claude", {KEY: FAMILIES["F13 a message of no shape"].data}) / KEY
    assert run("repair", path, "--strategy", DROP, "--out", tmp_path / "repaired.jsonl").status == 0
    assert sent(read((tmp_path / "repaired.jsonl").read_bytes())) == ALL


def test_no_byte_of_a_quarantined_line_is_lost(tmp_path: Path) -> None:
    folder = write(tmp_path / "claude", {KEY: FAMILIES["F11 NUL bytes"].data})
    assert run("repair", folder, "--conversation", ID, "--strategy", QUARANTINE, "--mode", "same-file", "--apply", "--json").status == 0
    (sidecar,) = list(folder.rglob("*.quarantine"))
    assert sidecar.parent == (folder / KEY).parent and sidecar.read_bytes() == b"\0" * 64 + b"\n"
    assert (folder / KEY).read_bytes() == lines(*START, *END)
    # The program lists *.jsonl, and so do we.
    assert [found["native_id"] for found in run("scan", folder, "--json").json["conversations"]] == [ID]


def test_a_session_that_was_opened_alone_has_its_quarantine_next_to_it(tmp_path: Path) -> None:
    path = write(tmp_path / "claude", {KEY: FAMILIES["F11 NUL bytes"].data}) / KEY
    before = contents(tmp_path)
    applied = run("repair", path, "--strategy", QUARANTINE, "--mode", "same-file", "--apply", "--json")
    assert applied.status == 0, applied
    assert {found.suffix for found in path.parent.iterdir()} == {".jsonl", ".quarantine"}
    assert run("undo", applied.json["repair"]).status == 0 and contents(tmp_path) == before
