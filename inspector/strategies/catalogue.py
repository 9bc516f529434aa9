"""Every strategy, in the order in which a repair composes them by default."""

from inspector.programs.dispatch.strategies import (
    convert_stranded_messages,
    drop_abort_placeholders,
    insert_lost_steering,
    mend_counter,
    realign_with_archive,
    rebuild_unreadable_row,
    rename_in_fork,
    replace_unreadable_row,
    restore_call_from_archive,
    strip_error_chunks,
)
from inspector.programs.gbrain.strategies import (
    decode_double_encoded,
    insert_ledger_results,
    insert_recovered_result,
    insert_replay_result,
    wrap_bare_text,
)
from inspector.programs.pi_openclaw.strategies import (
    drop_failed_turns,
    fix_compaction_pointer,
    insert_openclaw_result,
    insert_pi_result,
    keep_failed_turn,
    reparent_orphan_entry,
    reparent_to_result,
    split_fused_line,
    use_tool_call_id,
)
from inspector.programs.rollouts.strategies import drop_unreadable_lines, make_blocks_loadable, migrate_endpoint, restore_from_parent
from inspector.strategies import (
    add_empty_thinking,
    adopt_results,
    answer_before_user,
    deduplicate_results,
    drop_empty_blocks,
    drop_leaked_call,
    drop_orphaned_results,
    drop_unsigned_thinking,
    end_with_user,
    insert_interrupted_result,
    insert_plain_result,
    keep_first_result,
    merge_same_role_messages,
    move_results,
    order_blocks,
    promote_guessed_call,
    promote_leaked_call,
    recover_result_from_trace,
    rename_invalid_ids,
    rename_repeated_ids,
    renumber_messages,
    replace_surrogates,
    sanitise_arguments,
    sanitise_tool_names,
    shorten_ids,
    start_with_user,
    strip_old_thinking,
    strip_thinking,
    system_first,
    thinking_to_text,
    truncate_before_incomplete,
)
from inspector.strategies.base import Strategy

# Rows become whole first, so that the others see all of them. What was really said comes back first, then what belongs to nothing goes, then what is still missing is made up.
STRATEGIES: tuple[Strategy, ...] = (
    rebuild_unreadable_row.STRATEGY,
    replace_unreadable_row.STRATEGY,
    drop_unreadable_lines.STRATEGY,
    split_fused_line.STRATEGY,
    decode_double_encoded.STRATEGY,
    wrap_bare_text.STRATEGY,
    reparent_orphan_entry.STRATEGY,
    reparent_to_result.STRATEGY,
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
    insert_ledger_results.STRATEGY,
    insert_lost_steering.STRATEGY,
    use_tool_call_id.STRATEGY,
    rename_invalid_ids.STRATEGY,
    rename_repeated_ids.STRATEGY,
    shorten_ids.STRATEGY,
    move_results.STRATEGY,
    adopt_results.STRATEGY,
    deduplicate_results.STRATEGY,
    keep_first_result.STRATEGY,
    drop_abort_placeholders.STRATEGY,
    keep_failed_turn.STRATEGY,
    drop_failed_turns.STRATEGY,
    fix_compaction_pointer.STRATEGY,
    drop_orphaned_results.STRATEGY,
    strip_error_chunks.STRATEGY,
    promote_leaked_call.STRATEGY,
    promote_guessed_call.STRATEGY,
    drop_leaked_call.STRATEGY,
    truncate_before_incomplete.STRATEGY,
    insert_pi_result.STRATEGY,
    insert_openclaw_result.STRATEGY,
    insert_replay_result.STRATEGY,
    insert_recovered_result.STRATEGY,
    insert_plain_result.STRATEGY,
    insert_interrupted_result.STRATEGY,
    drop_unsigned_thinking.STRATEGY,
    thinking_to_text.STRATEGY,
    strip_old_thinking.STRATEGY,
    strip_thinking.STRATEGY,
    add_empty_thinking.STRATEGY,
    drop_empty_blocks.STRATEGY,
    order_blocks.STRATEGY,
    # A notice that goes to the front may leave neighbors of one role, and stands next to the prompt there.
    system_first.STRATEGY,
    merge_same_role_messages.STRATEGY,
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
