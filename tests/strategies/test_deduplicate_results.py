"""What `deduplicate-results` writes in stored rows, what stays byte for byte, and what it leaves alone."""

from collections.abc import Sequence

from tests.folding import in_one_test
from tests.programs.dispatch.appended_stores import A, Block, Store, T, U, appended, tc, tr
from tests.programs.dispatch.strategies.repaired_rows import MODES, codes, key, nothing_to_do, repaired, rows


def results(*said: Block, calls: Sequence[Block] = (tc("a"),)) -> Store:
    return appended([U("go")], [A(*calls), *(T(result) for result in said)], [A("done")])


@MODES
def test_a_result_that_was_stored_many_times_is_kept_once(mode: str) -> None:
    preview = repaired(results(*[tr("a", "listing")] * 10), "deduplicate-results", "renumber-messages", mode=mode)
    assert [row["chunk"]["type"] for row in rows(preview)] == ["text", "tool-call", "tool-result", "text"]
    assert "TOOL206" in [finding.code for finding in preview.before.findings]
    assert not {"TOOL206", "TOOL202"} & set(codes(preview))


def test_the_copy_behind_the_call_is_kept_and_its_neighbours_keep_their_bytes() -> None:
    store = appended([T(tr("a", "listing"))], [U("go")], [A(tc("a")), T(tr("a", "listing"))], [A("done"), T(tr("a", "listing"))])
    changes = repaired(store, "deduplicate-results").changes
    assert [(change.key, change.after) for change in changes] == [(key(1), None), (key(6), None)]


@in_one_test(
    "store",
    [
        results(tr("a", "one"), tr("a", "two")),
        results(tr("a", "ok"), tr("a", "ok", error=True)),
        results(tr("a", "ok", step="turn-1-a#0"), tr("a", "ok", step="turn-1-a#1")),
        results(tr("a", "ok"), tr("a", "ok"), calls=(tc("a"), tc("a", "pwd"))),
        results(tr("", "ok"), tr("", "ok"), calls=(tc(""),)),
        appended([U("go")], [A(tc("a")), T(tr("a", "ok"))], [U("go")], [A(tc("a")), T(tr("a", "ok"))]),
    ],
)
def test_results_that_differ_and_ids_that_calls_share_are_not_merged(store: Store) -> None:
    assert nothing_to_do(store, "deduplicate-results")
