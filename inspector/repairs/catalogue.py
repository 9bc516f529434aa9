"""Every strategy, in the order in which a repair composes them by default."""

from inspector.repairs import (
    add_empty_thinking,
    adopt_results,
    answer_before_user,
    convert_stranded_messages,
    deduplicate_results,
    drop_abort_placeholders,
    drop_empty_blocks,
    drop_leaked_call,
    drop_orphaned_results,
    drop_unreadable_lines,
    drop_unsigned_thinking,
    end_with_user,
    insert_interrupted_result,
    insert_lost_steering,
    keep_first_result,
    make_blocks_loadable,
    mend_counter,
    merge_same_role_messages,
    migrate_endpoint,
    move_results,
    order_blocks,
    promote_leaked_call,
    realign_with_archive,
    rebuild_unreadable_row,
    recover_result_from_trace,
    rename_in_fork,
    rename_invalid_ids,
    rename_repeated_ids,
    renumber_messages,
    replace_surrogates,
    replace_unreadable_row,
    restore_call_from_archive,
    restore_from_parent,
    sanitise_arguments,
    sanitise_tool_names,
    shorten_ids,
    start_with_user,
    strip_error_chunks,
    strip_old_thinking,
    strip_thinking,
    system_first,
    thinking_to_text,
)
from inspector.repairs.base import Strategy

# Rows become whole first, so that the others see all of them. What was really said comes back first, then what belongs to nothing goes, then what is still missing is made up.
STRATEGIES: tuple[Strategy, ...] = (
    rebuild_unreadable_row.STRATEGY,
    replace_unreadable_row.STRATEGY,
    drop_unreadable_lines.STRATEGY,
    make_blocks_loadable.STRATEGY,
    migrate_endpoint.STRATEGY,
    sanitise_arguments.STRATEGY,
    sanitise_tool_names.STRATEGY,
    replace_surrogates.STRATEGY,
    convert_stranded_messages.STRATEGY,
    realign_with_archive.STRATEGY,
    restore_call_from_archive.STRATEGY,
    restore_from_parent.STRATEGY,
    recover_result_from_trace.STRATEGY,
    insert_lost_steering.STRATEGY,
    rename_invalid_ids.STRATEGY,
    rename_repeated_ids.STRATEGY,
    shorten_ids.STRATEGY,
    move_results.STRATEGY,
    adopt_results.STRATEGY,
    deduplicate_results.STRATEGY,
    keep_first_result.STRATEGY,
    drop_abort_placeholders.STRATEGY,
    drop_orphaned_results.STRATEGY,
    strip_error_chunks.STRATEGY,
    promote_leaked_call.STRATEGY,
    drop_leaked_call.STRATEGY,
    insert_interrupted_result.STRATEGY,
    drop_unsigned_thinking.STRATEGY,
    thinking_to_text.STRATEGY,
    strip_old_thinking.STRATEGY,
    strip_thinking.STRATEGY,
    add_empty_thinking.STRATEGY,
    drop_empty_blocks.STRATEGY,
    order_blocks.STRATEGY,
    merge_same_role_messages.STRATEGY,
    system_first.STRATEGY,
    start_with_user.STRATEGY,
    answer_before_user.STRATEGY,
    end_with_user.STRATEGY,
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
