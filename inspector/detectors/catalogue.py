"""Every rule, in the order of its code. Codes are never reused; retired ones stay listed here."""

from inspector.detectors import (
    error_beside_content,
    error_hidden_by_merge,
    error_only_message,
    glued_messages,
    malformed_arguments,
    malformed_row,
    merged_into_assistant,
    merged_into_system,
    merged_messages,
    orphaned_tool_result,
    rows_above_counter,
    seq_gaps,
    thinking_only_dropped,
    tool_call_in_thinking,
    unanswered_call,
    unanswered_tail_call,
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
    unreadable_row.RULE,
    malformed_row.RULE,
    rows_above_counter.RULE,
    wrong_counter.RULE,
    seq_gaps.RULE,
    thinking_only_dropped.RULE,
    tool_call_in_thinking.RULE,
    unanswered_tail_call.RULE,
    unanswered_call.RULE,
    orphaned_tool_result.RULE,
    malformed_arguments.RULE,
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
