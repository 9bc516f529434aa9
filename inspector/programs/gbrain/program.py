"""gbrain: subagent runs in PostgreSQL, messages in one table and runs of tools in another, and exports of these tables."""

from inspector.programs.base import Calls, Errors, Numbering, Panels, Program, Repairs, SyntheticResults, Trait
from inspector.programs.gbrain import exports, facts, ledger_lane, readers, writing
from inspector.programs.gbrain.after_repair import after_repair
from inspector.programs.gbrain.exports import GBRAIN_EXPORT
from inspector.programs.gbrain.format import GBRAIN
from inspector.programs.gbrain.job_lines import job_facts
from inspector.programs.gbrain.notes import notes, placeholder_author
from inspector.programs.gbrain.numbering import at_free_indexes
from inspector.programs.gbrain.strategies.insert_ledger_results import ledger_result, settled_runs
from inspector.programs.gbrain.strategies.result_rows import placed_in_rows

_NAMES = tuple(reader.name for reader in readers.READERS)

PROGRAM = Program(
    name="gbrain",
    title="gbrain",
    package=__name__.rpartition(".")[0],
    formats=(GBRAIN, GBRAIN_EXPORT),
    readers=tuple(readers.READERS),
    readers_of={GBRAIN.name: _NAMES, GBRAIN_EXPORT.name: _NAMES},
    traits=dict.fromkeys((GBRAIN.name, GBRAIN_EXPORT.name), frozenset({Trait.PLACEHOLDERS})),
    export_command="pg_dump -t minion_jobs -t 'subagent_*' ADDRESS > gbrain.sql",
    sends_open_end=True,
    numbering=Numbering(at_free_indexes),
    read_only={exports.NAME: exports.READ_ONLY},
    synthetic=SyntheticResults(
        texts=notes,
        author=placeholder_author,
        is_from_tool=readers.is_from_tool,
    ),
    calls=Calls(
        # The ledger says more of calls without a result (TOOL601 to TOOL603).
        unanswered=lambda case: [],
        settles_ids=True,
        # What looks as if a call were buried is a result next to the reader's synthetic one (TOOL605).
        buries=False,
        settled=lambda case: (answer.call.key for answer, _ in settled_runs(case)),
    ),
    repairs=Repairs(
        refuse_unfit=writing.refuse_unfit,
        follow_up=after_repair,
        view_after_write="",
        place_results=placed_in_rows,
        ledger_result=lambda call, run: ledger_result(call, run) if run.status in readers.SETTLED and not run.damage else None,
    ),
    panels=Panels(
        job_lines=job_facts,
        ledger_lane=ledger_lane.lane,
        ledger_cells=ledger_lane.cells,
    ),
    errors=Errors(
        consequences={
            "repeated-call-id in one message": (
                "the ledger distinguishes them by their place. Pull request 1934 gives all of them the outcome of the last, and providers refuse a repeated id."
            ),
        },
        rules={"SDK-1": ("TOOL601", "TOOL602", "TOOL603"), "GB-1": ("TOOL602",), "GB-2": ("TOOL602", "TOOL601")},
        facts=((facts.ERROR, "the job's error_text"),),
    ),
)
