"""Dispatch: a key-value store in SQLite, its old tables, its loaders and its converter."""

from inspector.programs.base import Calls, CaseLines, Errors, Home, Numbering, Program, Repairs, SyntheticResults
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
    traces=(
        "TRACES is the trace database of Dispatch (DISPATCH_TRACE_DB, else .dispatch-data/traces.db) or a journal (DISPATCH_JOURNAL, else "
        ".dispatch/journal/app.ndjson, and its rotated .1). Dispatch itself removes records older than 7 days."
    ),
    # Not that of the old tables: it keeps the keys of its providers next to them.
    homes=(
        Home(DISPATCH.name, "./.dispatch-data/dispatch.db", moved_by="DISPATCH_DB"),
        Home(DISPATCH.name, "/var/lib/dispatch/dispatch.db"),
    ),
    numbering=Numbering(own_numbers, by_message=True),
    converters=(projection.NAME, tuple(projection.FIXES)),
    reader_fixes=(readers.KEEP_THINKING,),
    projections=tuple(projection.variants()),
    read_only={g0.NAME: g0.READ_ONLY},
    synthetic=SyntheticResults(
        chunk=readers.interrupted_result,
        author=lambda result: "Dispatch" if result.text.strip() == readers.INTERRUPTED else "",
    ),
    calls=Calls(
        explained_results=lambda case: [*(chunk for _, chunk in placeholders(case)), *cut_off(case)],
    ),
    repairs=Repairs(
        rules_first=True,
        view_after_write="Users who have the conversation open see repaired rows after a reload.",
        next_turn={
            "A server that is not fixed merges again on its next turn: the rows that it appends carry msgIdx 0 once more.": merges.CODES
        },
    ),
    errors=Errors(
        ruled_out=merges.ruled_out,
        consequences={
            "unanswered-tail-call": "the turn was interrupted. The loader adds a synthetic interrupted result on every read.",
            "unanswered-call": "The loader puts its synthetic result at the end of the history, and providers refuse a result there.",
            "repeated-call-id": "the loader takes every one for answered.",
        },
    ),
    notation=CaseLines(
        legacy=rows.legacy_rows,
    ),
)
