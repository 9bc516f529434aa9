"""Removes answers that ended in an error or were aborted, with the results of their calls."""

from collections.abc import Iterator

from inspector.conversation import queries
from inspector.conversation.edits import Edit, Remove, Safety
from inspector.programs.pi_openclaw.rules.session_calls import has_failed
from inspector.rules.base import Case, answered
from inspector.strategies.arrangement import is_tree
from inspector.strategies.base import Strategy
from inspector.strategies.drop_empty_blocks import is_empty


def propose(case: Case) -> Iterator[Edit]:
    """Those that hold a call, or nothing: words alone hurt no request. Results elsewhere on the path go with their call."""
    if not is_tree(case):
        return
    failed = {
        index
        for index, message in enumerate(case.messages)
        if has_failed(message) and (queries.calls(message) or all(is_empty(chunk) for chunk in message.chunks))
    }
    for index in sorted(failed):
        yield from (Remove(chunk) for chunk in case.messages[index].chunks)
    # A result may be inside of a message that goes as a whole.
    removed_keys = {chunk.key for index in failed for chunk in case.messages[index].chunks}
    for answer in answered(case):
        if answer.message in failed:
            yield from (Remove(result) for result in answer.results if result.key not in removed_keys)


STRATEGY = Strategy(
    name="drop-failed-turns",
    safety=frozenset({Safety.LOSSY}),
    summary="removes answers that ended in an error or were aborted and hold calls or nothing, with the results of their calls",
    cost="What the answer said before it failed, and what its tools returned, leave the path; the old branch keeps them.",
    user_visible_effect="The failed attempt is gone; what was asked is there without an answer.",
    pros=(
        "OpenClaw's #4598 took this way: both programs leave such an answer out of each request, and pi then sends its results without their call, which is refused permanently. "
        "Its calls may be half-written."
    ),
    cons=(
        "The output of a tool that really ran is lost, though a client that sends the path as it is stored has no trouble with it. "
        "Results must go with their call: to drop only one of the two is what made the orphans."
    ),
    write_kind="W2",
    propose=propose,
    manual_only=True,
    order=310,
)
