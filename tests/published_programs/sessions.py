"""Session files of ours, stored in sessions/: damaged ones, what each mode writes of a plan for them, and some that no program reads as a repair means it.

`python -m tests.published_programs.sessions` writes them again; the programs must then be run again (`python -m tests.published_programs.running`).
"""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from inspector.conversation.edits import Plan, apply
from inspector.conversation.model import Conversation
from inspector.planning.preview import Preview, compose, digest, preview
from inspector.programs.formats import Format, Record, Stored
from inspector.programs.pi_openclaw.openclaw import OPENCLAW
from inspector.programs.pi_openclaw.openclaw_sqlite import OPENCLAW_SQLITE
from inspector.programs.pi_openclaw.pi import PI
from inspector.rules.base import case_of
from inspector.sources import stores
from inspector.strategies.catalogue import strategy
from tests.programs.pi_openclaw.session_files import a, call, entry, header, line, lines, r, records, text, u
from tests.programs.pi_openclaw.sqlite_stores import whole_store

FOLDER = Path(__file__).parent / "sessions"
STORED = "stored"
_KEY = "sessions/2026-11-20T17-33-07-691Z_old.jsonl"
_NEW_ID = "11111111-2222-5333-8444-555555555555"
_THINKS = {"type": "thinking", "thinking": "which file?", "thinkingSignature": "c2ln"}


@dataclass(frozen=True)
class Damaged:
    """A session file as a program left it, and the strategies that repair it."""

    name: str
    form: Format
    strategies: tuple[str, ...]
    data: bytes

    @property
    def modes(self) -> tuple[str, ...]:
        return tuple(mode.name for mode in self.form.modes)

    def records(self) -> tuple[str, list[Record]]:
        """Where it lies, and what is read there: the file in its folder, or the rows of a store that holds its lines."""
        if self.form is not OPENCLAW_SQLITE:
            return "/data", records({_KEY: self.data})
        with tempfile.TemporaryDirectory() as folder:
            entries = [json.loads(each) for each in self.data.splitlines()[1:]]
            store = whole_store(Path(folder, "openclaw-agent.sqlite"), *entries)
            return "/data/agent/openclaw-agent.sqlite", list(stores.records(store, OPENCLAW_SQLITE))


def _damaged(name: str, strategies: Sequence[str], *values: Any, form: Format = PI) -> Damaged:
    return Damaged(name, form, tuple(strategies), lines(header(), *values))


# Table d.8's broken session: u1, a1 with a call, u2.
_ASKED = (u("u1", None, "list it"), a("a1", "u1", text("well"), call("c1", path=".")))
_WENT_ON = u("u2", "a1", "and?")
_FUSED = line(u("u2", "a1", "and?")) + line(a("a2", "u2", text("two files"), stopReason="stop"))

DAMAGED = (
    _damaged("unanswered-call", ["insert-interrupted-result"], *_ASKED, _WENT_ON),
    _damaged(
        *("late-result", ["move-results"], u("u1", None), a("a1", "u1", _THINKS, call("c1"))),
        *(u("u2", "a1", "still there?"), a("a2", "u2", text("yes"), stopReason="stop")),
        *(
            u("u3", "a2", "then look"),
            a("a3", "u3", call("c9")),
            r("r1", "a3", "c1", "late"),
            r("r9", "r1", "c9", "here"),
            u("u4", "r9", "so?"),
        ),
    ),
    _damaged(
        *("parallel-calls", ["move-results", "insert-interrupted-result"], u("u1", None)),
        *(a("a1", "u1", call("c1"), call("c2"), call("c3")), r("r2", "a1", "c2", "two")),
        *(u("u2", "r2", "hurry"), r("r1", "u2", "c1", "one"), u("u3", "r1", "well?")),
    ),
    _damaged(
        *("result-on-another-branch", ["reparent-to-result"], *_ASKED, r("r1", "a1", "c1", "a.py b.py"), _WENT_ON),
        a("a2", "u2", text("two files"), stopReason="stop"),
    ),
    _damaged(
        *("lost-parent", ["reparent-orphan-entry"], u("u1", None, "first"), a("a1", "u1", text("one"), stopReason="stop")),
        *(b'{"type":"message","id":"gone","parentId":"a1","mess', u("u2", "gone", "second"), a("a2", "u2", text("two"), stopReason="stop")),
    ),
    _damaged(
        "fused-lines",
        ["split-fused-line"],
        *_ASKED,
        r("r1", "a1", "c1", "a.py b.py"),
        _FUSED.replace(b'"a1"', b'"r1"', 1),
        u("u3", "a2", "go on"),
    ),
    _damaged(
        *("cut-by-compaction", ["fix-compaction-pointer"], u("u0", None, "long ago"), a("a0", "u0", text("it was"), stopReason="stop")),
        *(u("u1", "a0", "list it"), a("a1", "u1", call("c1")), r("r1", "a1", "c1", "a.py")),
        entry("compaction", "k1", "r1", summary="they talked", firstKeptEntryId="r1", tokensBefore=9),
        u("u2", "k1", "go on"),
    ),
    _damaged(
        *("two-results", ["keep-first-result"], *_ASKED, r("r1", "a1", "c1", "first"), r("r2", "r1", "c1", "second")),
        u("u2", "r2", "and?"),
    ),
    _damaged(
        *("same-id-in-two-turns", ["rename-repeated-ids"], u("u1", None), a("a1", "u1", call("exec_0")), r("r1", "a1", "exec_0", "one")),
        *(a("a2", "r1", call("exec_0")), r("r2", "a2", "exec_0", "two"), u("u2", "r2", "so?")),
    ),
    _damaged(
        *("cut-off", ["truncate-before-incomplete"], u("u0", None, "hello"), a("a0", "u0", text("hi"), stopReason="stop")),
        *(u("u1", "a0", "list it"), a("a1", "u1", call("c1")), u("u2", "a1", "and?")),
    ),
    _damaged(
        *("answer-without-blocks", ["wrap-content"], u("u1", None, "list it")),
        *({**answer, "message": answer["message"] | {"content": "two files"}} for answer in (a("a1", "u1", stopReason="stop"),)),
        u("u2", "a1", "and?"),
    ),
    _damaged("openclaw-unanswered-call", ["insert-openclaw-result"], *_ASKED, _WENT_ON, form=OPENCLAW),
    _damaged(
        *("openclaw-chosen-leaf", ["move-results"], *_ASKED, _WENT_ON, r("r1", "u2", "c1", "a.py"), u("u3", "r1", "so?")),
        *(u("x1", "a1", "left behind"), entry("leaf", "l1", "x1", targetId="u3")),
        form=OPENCLAW,
    ),
    _damaged("openclaw-store-unanswered-call", ["insert-openclaw-result"], *_ASKED, _WENT_ON, form=OPENCLAW_SQLITE),
)

_RESULT = r("r1", "a1", "c1", "made up", isError=True)
# The rows of table d.8, written by hand, and a cycle.
BY_HAND = {
    "by-hand-a-replayed": lines(header(), *_ASKED, _WENT_ON, _RESULT, u("u9", "r1", "and?")),
    "by-hand-b-inserted": lines(header(), *_ASKED, _RESULT, u("u2", "r1", "and?")),
    "by-hand-b-not-reparented": lines(header(), *_ASKED, _RESULT, _WENT_ON),
    "by-hand-c-context-edit": lines(header(), *_ASKED, _WENT_ON, entry("context_edit", "e1", "u2", targetId="a1", replacement=None)),
    "by-hand-d-result-at-the-end": lines(header(), *_ASKED, _WENT_ON, _RESULT),
    "by-hand-e-new-file": lines(header(parentSession="/data/old.jsonl"), *_ASKED, _RESULT, u("u2", "r1", "and?")),
    "by-hand-cycle": lines(header(), u("u1", "a1"), a("a1", "u1", text("round"), stopReason="stop")),
}

ONLY_PI = "only-pi-"
"""Before the names of files that only the pi programs are asked about whose every part is installed."""
_SAID = (
    u("u1", None, "list it"),
    a("a1", "u1", call("c1")),
    r("r1", "a1", "c1", "a.py"),
    a("a2", "r1", text("one file"), stopReason="stop"),
)


def _of_pi(name: str, *values: Any, repaired_by: Sequence[str] = (), version: int = 3) -> Damaged:
    return Damaged(f"{ONLY_PI}{name}", PI, tuple(repaired_by), lines(header(version=version), *values))


def _with(at: int, **changed: Any) -> list[dict[str, Any]]:
    """What was said, with members of one message exchanged."""
    entry_ = _SAID[at]
    return [*_SAID[:at], {**entry_, "message": entry_["message"] | changed}, *_SAID[at + 1 :], u("u2", "a2", "and?")]


def _last(**changed: Any) -> list[dict[str, Any]]:
    """What was said, with members of the last line exchanged; `...` leaves one out."""
    return [*_SAID, {name: value for name, value in ({**u("u2", "a2", "and?"), **changed}).items() if value is not ...}]


_WRAPPED = ("wrap-content",)
IN_PI = (
    *(
        _of_pi(name, *_with(at, content=content), repaired_by=_WRAPPED)
        for name, at, content in (
            ("answer-text", 3, "one file"),
            ("answer-number", 3, 5),
            ("answer-object", 3, text("one file")),
            ("answer-null-block", 3, [None, text("one file")]),
            ("answer-text-null", 3, [text("one file"), {"type": "text", "text": None}]),
            ("result-text", 2, "a.py"),
            ("result-number", 2, 5),
            ("result-null-block", 2, [None, text("a.py")]),
            ("question-number", 0, 5),
            ("question-null-block", 0, [None, text("list it")]),
        )
    ),
    _of_pi("message-null", *_SAID[:3], {**_SAID[3], "message": None}, u("u2", "a2", "and?"), repaired_by=_WRAPPED),
    _of_pi("message-number", *_SAID[:3], {**_SAID[3], "message": 5}, u("u2", "a2", "and?")),
    _of_pi("last-id-null", *_last(id=None)),
    _of_pi("last-id-absent", *_last(id=...)),
    _of_pi("last-id-empty", *_last(id="")),
    _of_pi("last-id-number", *_last(id=5)),
    _of_pi("hook-message", *_with(0, role="hookMessage", customType="t")),
    _of_pi("version-2-hook-message", *_with(0, role="hookMessage", customType="t"), version=2),
    _of_pi("no-summary", *_SAID, entry("compaction", "k1", "a2", firstKeptEntryId="k1"), u("u2", "k1", "and?")),
    _of_pi("line-number", *_SAID, b"5", u("u2", "a2", "and?")),
    _of_pi("line-null", *_SAID, b"null", u("u2", "a2", "and?")),
    _of_pi("version-1-line-number", *_SAID, b"5", u("u2", "a2", "and?"), version=1),
)


@dataclass(frozen=True)
class Repaired:
    """`promised` is the path with the edits of the plan, before anything of it is written; `data` is the file that holds it."""

    promised: Conversation
    preview: Preview
    data: bytes


@cache
def repaired(damaged: Damaged, mode: str) -> Repaired:
    form = damaged.form
    source, held = damaged.records()
    (found,) = form.read(held)
    case = case_of(found.conversation, form.default_reader)
    base = Stored(case.conversation, found.records)
    strategies = [strategy(name) for name in damaged.strategies]
    edits = compose(case, strategies)
    options = form.options(mode, base, _NEW_ID)
    plan = Plan(source, case.conversation.native_id, mode, damaged.strategies, frozenset(), digest(base), edits, options)
    shown = preview(case, base, form, plan, strategies, form.default_projection, form.default_profile)
    (change,) = shown.changes
    assert change.after is not None
    return Repaired(apply(case.conversation, edits), shown, change.after.data)


def written() -> dict[str, bytes]:
    """Name -> bytes, as our writer makes them now."""
    found = {f"{damaged.name}.{STORED}": damaged.data for damaged in DAMAGED}
    found |= {f"{damaged.name}.{mode}": repaired(damaged, mode).data for damaged in DAMAGED for mode in damaged.modes}
    found |= {f"{damaged.name}.{STORED}": damaged.data for damaged in IN_PI}
    found |= {f"{damaged.name}.{mode}": repaired(damaged, mode).data for damaged in IN_PI if damaged.strategies for mode in damaged.modes}
    return dict(sorted((found | BY_HAND).items()))


def kept() -> dict[str, bytes]:
    """Name -> bytes, as they are kept."""
    return {path.stem: path.read_bytes() for path in sorted(FOLDER.glob("*.jsonl"))}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.jsonl"):
        path.unlink()
    for name, data in written().items():
        (FOLDER / f"{name}.jsonl").write_bytes(data)
