"""Dispatch: a key-value store in SQLite, its old tables, its loaders and its converter."""

from inspector.programs.base import Numbering, Program
from inspector.programs.dispatch import g0, projection, readers, rows
from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.dispatch.g0 import DISPATCH_G0
from inspector.programs.dispatch.numbering import own_numbers
from inspector.programs.dispatch.rules import merges
from inspector.programs.dispatch.rules.abort_placeholder import placeholders
from inspector.programs.dispatch.rules.pair_cut_by_compaction import cut_off

PROGRAM = Program(
    name="dispatch",
    title="Dispatch",
    package=__name__.rpartition(".")[0],
    formats=(DISPATCH, DISPATCH_G0),
    readers=readers.READERS,
    # The old tables have no msgIdx by which the others go, and their program knew no version of reconcile.
    readers_of={DISPATCH.name: readers.OFFERED, DISPATCH_G0.name: (DISPATCH_G0.default_reader,)},
    variant=readers.named,
    rules_first=True,
    view_after_write="Users who have the conversation open see repaired rows after a reload.",
    bundled=(DISPATCH,),
    has_traces=True,
    next_turn=("A server that is not fixed merges again on its next turn: the rows that it appends carry msgIdx 0 once more.",),
    numbering=Numbering(own_numbers, by_message=True),
    synthetic_chunk=readers.interrupted_result,
    placeholder_author=lambda result: "Dispatch" if result.text.strip() == readers.INTERRUPTED else "",
    converters=(projection.NAME, tuple(projection.FIXES)),
    reader_fixes=(readers.KEEP_THINKING,),
    ruled_out=merges.ruled_out,
    consequences={
        "unanswered-tail-call": "the turn was interrupted. The loader adds a synthetic interrupted result on every read.",
        "unanswered-call": "The loader puts its synthetic result at the end of the history, where providers refuse it.",
        "repeated-call-id": "the loader takes every one for answered.",
    },
    explained_results=lambda case: [*(chunk for _, chunk in placeholders(case)), *cut_off(case)],
    legacy=rows.legacy_rows,
    projections=tuple(projection.variants()),
    read_only={g0.NAME: g0.READ_ONLY},
)
