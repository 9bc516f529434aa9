"""Every rule, in the order of its code. Codes are never reused; retired ones stay listed here."""

from inspector.detectors import (
    abort_placeholder,
    baked_merge,
    bleeding_id,
    error_beside_content,
    error_hidden_by_merge,
    error_only_message,
    glued_messages,
    huge_result,
    lost_in_compaction,
    lost_steering,
    malformed_arguments,
    malformed_row,
    merged_into_assistant,
    merged_into_system,
    merged_messages,
    missing_step,
    orphaned_tool_result,
    pair_cut_by_compaction,
    repeated_call_id,
    repeated_output,
    request_loop,
    rows_above_counter,
    seq_gaps,
    stranded_messages,
    stuck_status,
    synthesised_result,
    thinking_only_dropped,
    tool_call_in_thinking,
    trace_gap,
    unanswered_call,
    unanswered_tail_call,
    unlisted_conversation,
    unreadable_row,
    wrong_counter,
)
from inspector.detectors.base import Rule

RULES: tuple[Rule, ...] = (
    merged_messages.RULE,
    merged_into_assistant.RULE,
    merged_into_system.RULE,
    glued_messages.RULE,
    error_only_message.RULE,
    error_beside_content.RULE,
    error_hidden_by_merge.RULE,
    baked_merge.RULE,
    lost_steering.RULE,
    unreadable_row.RULE,
    malformed_row.RULE,
    rows_above_counter.RULE,
    wrong_counter.RULE,
    seq_gaps.RULE,
    stranded_messages.RULE,
    lost_in_compaction.RULE,
    bleeding_id.RULE,
    unlisted_conversation.RULE,
    stuck_status.RULE,
    thinking_only_dropped.RULE,
    tool_call_in_thinking.RULE,
    unanswered_tail_call.RULE,
    unanswered_call.RULE,
    orphaned_tool_result.RULE,
    abort_placeholder.RULE,
    pair_cut_by_compaction.RULE,
    repeated_call_id.RULE,
    repeated_output.RULE,
    malformed_arguments.RULE,
    synthesised_result.RULE,
    huge_result.RULE,
    trace_gap.RULE,
    request_loop.RULE,
    missing_step.RULE,
)


class UnknownRule(LookupError):
    def __init__(self, code: str) -> None:
        super().__init__(f"There is no rule {code!r}; `rules` lists them.")


def rule(code: str) -> Rule:
    """By code or by name."""
    for found in RULES:
        if code.upper() == found.code or code == found.name:
            return found
    raise UnknownRule(code)
