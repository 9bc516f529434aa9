"""Dispatch: a key-value store in SQLite, its old tables, its loaders and its converter."""

from inspector.programs.base import Program
from inspector.programs.dispatch import g0, projection, readers
from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.dispatch.g0 import DISPATCH_G0
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
    consequences={
        "unanswered-tail-call": "the turn was interrupted. The loader makes up an interrupted result on every read.",
        "unanswered-call": "The loader puts its made-up result at the end of the history, where providers refuse it.",
        "repeated-call-id": "the loader takes every one for answered.",
    },
    explained_results=lambda case: [*(chunk for _, chunk in placeholders(case)), *cut_off(case)],
    projections=tuple(projection.variants()),
    read_only={g0.NAME: g0.READ_ONLY},
)
