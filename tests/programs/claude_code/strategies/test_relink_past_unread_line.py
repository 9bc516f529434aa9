"""What `relink-past-unread-line` leads where, and what it leaves."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.planning.preview import compose
from inspector.rules.base import Severity
from inspector.rules.catalogue import all_findings
from inspector.strategies.catalogue import strategy
from tests.programs.claude_code.session_lines import a, case, line, said, text, u
from tests.programs.claude_code.strategies.repaired_sessions import codes, each_mode, written

NAME = "relink-past-unread-line"


def hook(parent: str | None, minute: int = 0, kind: str = "saved_hook_context", id_: str = "h") -> dict[str, Any]:
    more = {"subtype": "informational"} if kind == "system" else {}
    return line(kind, id_, parent, None, minute, content="context", **more)


def parents(data: bytes) -> dict[str, str | None]:
    return {row["uuid"]: row["parentUuid"] for row in map(json.loads, data.splitlines())}


@each_mode
@pytest.mark.parametrize("kind", ["saved_hook_context", "of-tomorrow", "system", "attachment"])
def test_each_line_hangs_below_the_message_before_its_own_hook(kind: str, mode: str) -> None:
    more = {"attachment": {"type": "hook_success", "content": "ok"}} if kind == "attachment" else {}
    values = (
        *(u("u1", None), a("a1", "u1", "m1", text("one"), 1), {**hook("a1", 2, kind), **more}),
        *(u("u2", "h", "and?", 3), a("a2", "u2", "m2", text("two"), 4), {**hook("a2", 5, kind), **more}, u("u3", "h", "more", 6)),
    )
    is_read = kind in ("system", "attachment")
    assert said(case(*values).conversation) == (["user:and?", "assistant:two", "user:more"] if is_read else ["user:more"])
    later, data = written([NAME], mode, *values)
    assert said(later.conversation) == ["user:go", "assistant:one", "user:and?", "assistant:two", "user:more"] and codes(later) == []
    messages = {id_: parent for id_, parent in parents(data).items() if id_ != "h"}
    assert messages == {"u1": None, "a1": "u1", "u2": "a1", "a2": "u2", "u3": "a2"}


@each_mode
def test_hooks_below_hooks_are_passed_one_after_the_other(mode: str) -> None:
    later, data = written([NAME], mode, u("u1", None), hook("u1", 1), hook("h", 2, id_="i"), a("a1", "i", "m1", text("one"), 3))
    assert said(later.conversation) == ["user:go", "assistant:one"] and parents(data)["a1"] == "u1"


@pytest.mark.parametrize(
    "values",
    [
        # The session begins with it: nothing is before it.
        (hook(None), u("u1", "h"), a("a1", "u1", "m1", text("one"), 1)),
        # Lines that lead on to their parents.
        (u("u1", None), hook("u1", 1, "progress"), a("a1", "h", "m1", text("one"), 2)),
        (u("u1", None), hook("u1", 1, "system"), a("a1", "h", "m1", text("one"), 2)),
        # Nothing hangs below it.
        (u("u1", None), hook("u1", 1), a("a1", "u1", "m1", text("one"), 2)),
        # Its own parent is nowhere.
        (u("u1", None), hook("gone", 1), a("a1", "h", "m1", text("one"), 2)),
    ],
)
def test_other_lines_are_left(values: tuple[dict[str, Any], ...]) -> None:
    assert compose(case(*values), [strategy(NAME)]) == ()
    assert "TREE208" not in codes(case(*values))


def test_within_seconds_one_hook_is_a_note_and_several_of_one_uuid_a_warning() -> None:
    """Claude Code 2.1.332 goes on by the times then; who goes by the uuid loses what is between two of them."""

    def severities(*values: dict[str, Any]) -> list[Severity]:
        return [finding.severity for finding in all_findings(case(*values)) if finding.code == "TREE208"]

    once = (u("u1", None), a("a1", "u1", "m1", text("one")), hook("a1"), u("u2", "h", "and?"))
    assert severities(*once) == [Severity.NOTE]
    assert severities(*once, a("a2", "u2", "m2", text("two")), hook("a2"), u("u3", "h", "more")) == [Severity.WARNING]
    assert severities(*once[:3], u("u2", "h", "and?", 1)) == [Severity.ERROR]


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_every_message_is_reached_wherever_hooks_of_one_uuid_are(hooks: list[bool]) -> None:
    values, parent, words = [u("u0", None, "w0")], "u0", ["user:w0"]
    for number, has_hook in enumerate(hooks, 1):
        if has_hook:
            values.append(hook(parent, number))
            parent = "h"
        values.append(u(f"u{number}", parent, f"w{number}", number))
        parent = f"u{number}"
        words.append(f"user:w{number}")
    if compose(case(*values), [strategy(NAME)]):
        later, _ = written([NAME], "same-file", *values)
        assert said(later.conversation) == words and "TREE208" not in codes(later)
    else:
        assert not any(hooks) and said(case(*values).conversation) == words
