"""Stores with damaged rows, and what a plan of strategies writes for them."""

import json
from typing import Any

import pytest

from inspector.planning.preview import NothingToDo, Preview
from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.formats import after
from tests.programs.dispatch.appended_stores import A, Block, Store, T, U, appended, tc, th, tr
from tests.programs.dispatch.previews import preview_of

IN_PLACE, FORK = "same-rows", "new-conversation"
MODES = pytest.mark.parametrize("mode", [IN_PLACE, FORK])
CALL = "<function=run_shell>\n<parameter=command>\nfind . -name '*.py'\n</parameter>\n</function>"


def key(seq: int) -> str:
    return f"conv:c1:chunk:{seq:010d}"


def with_rows(store: Store, rows: dict[int, str]) -> Store:
    return Store({**store.values, **{key(seq): text for seq, text in rows.items()}})


def repaired(store: Store, *names: str, mode: str = IN_PLACE) -> Preview:
    """The preview, once the laws of every repair were seen to hold for it: undo gives every byte back, the same again finds nothing."""
    preview = preview_of(store.stored(), mode, names)
    before = store.records()
    done = after(before, preview.changes)
    assert after(done, [change.reversed() for change in preview.changes]) == before
    target = DISPATCH.target(preview.plan)
    found = next(found for found in DISPATCH.read(done) if found.conversation.native_id == target)
    assert [chunk.raw for chunk in found.conversation.chunks] == [chunk.raw for chunk in preview.after.case.conversation.chunks]
    with pytest.raises(NothingToDo):
        preview_of(found, mode, names)
    return preview


def nothing_to_do(store: Store, *names: str) -> bool:
    with pytest.raises(NothingToDo):
        preview_of(store.stored(), IN_PLACE, names)
    return True


def codes(preview: Preview) -> list[str]:
    return [finding.code for finding in preview.after.findings]


def rows(preview: Preview) -> list[dict[str, Any]]:
    return [json.loads(chunk.raw) for chunk in preview.after.case.conversation.chunks]


def story() -> Store:
    return appended([U("do it")], [A(th("hm"), "calling", tc("x", "t")), T(tr("x", "made", "t"))], [A("done", "really")], [U("thanks")])


def leaking(*blocks: Block | str) -> Store:
    return appended([U("go")], [A(*blocks)], [U("and?")], [A("sorry")])
