"""Every strategy, in the order in which a repair composes them by default."""

from inspector.repairs import (
    convert_stranded_messages,
    deduplicate_results,
    drop_abort_placeholders,
    drop_leaked_call,
    drop_orphaned_results,
    insert_interrupted_result,
    insert_lost_steering,
    mend_counter,
    promote_leaked_call,
    realign_with_archive,
    rebuild_unreadable_row,
    recover_result_from_trace,
    rename_in_fork,
    renumber_messages,
    replace_unreadable_row,
    restore_call_from_archive,
    sanitise_arguments,
    strip_error_chunks,
)
from inspector.repairs.base import Strategy

# Rows become whole first, so that the others see all of them. What was really said comes back first, then what belongs to nothing goes, then what is still missing is made up.
STRATEGIES: tuple[Strategy, ...] = (
    rebuild_unreadable_row.STRATEGY,
    replace_unreadable_row.STRATEGY,
    sanitise_arguments.STRATEGY,
    convert_stranded_messages.STRATEGY,
    realign_with_archive.STRATEGY,
    restore_call_from_archive.STRATEGY,
    recover_result_from_trace.STRATEGY,
    insert_lost_steering.STRATEGY,
    deduplicate_results.STRATEGY,
    drop_abort_placeholders.STRATEGY,
    drop_orphaned_results.STRATEGY,
    strip_error_chunks.STRATEGY,
    promote_leaked_call.STRATEGY,
    drop_leaked_call.STRATEGY,
    insert_interrupted_result.STRATEGY,
    renumber_messages.STRATEGY,
    rename_in_fork.STRATEGY,
    mend_counter.STRATEGY,
)


class UnknownStrategy(LookupError):
    def __init__(self, name: str) -> None:
        super().__init__(f"There is no strategy {name!r}; `strategies` lists them.")


def strategy(name: str) -> Strategy:
    for found in STRATEGIES:
        if found.name == name:
            return found
    raise UnknownStrategy(name)
