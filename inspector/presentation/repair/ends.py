"""What becomes of the next request after strategies: the same request has the same end, whatever was taken out of the store besides."""

from collections.abc import Sequence

from inspector.conversation.edits import Safety, stored_key
from inspector.planning.recommend import composed
from inspector.presentation.conversation.ending import Ending, ending_without_findings
from inspector.presentation.conversation.verdict import WITHOUT
from inspector.presentation.repair.outcomes import is_right
from inspector.profiles.base import Judgement
from inspector.profiles.judging import judged_case
from inspector.projections.base import Prompt
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def ending_with(
    base: Case, strategies: Sequence[Strategy], after: Case, prompt: Prompt, judgement: Judgement, own_projection: str
) -> Ending:
    """`after` is the case that they make of `base`; `prompt` and `judgement` are its own.

    What a request silently lacks is not in it again where a strategy takes it away: a leaked call that is dropped was not run, and leaves no trace.
    """
    end = ending_without_findings(after, judgement)
    return unless_taken_away(end, base, strategies, after, prompt, judgement.profile, own_projection)


def unless_taken_away(
    end: Ending, base: Case, strategies: Sequence[Strategy], after: Case, prompt: Prompt, profile: str, own_projection: str
) -> Ending:
    """`end`, or that without those of the strategies that take something away, where these only take away what the request lacks then."""
    lossless = [of.name for of in strategies if Safety.LOSSY not in of.safety]
    if not is_right(end) or len(lossless) == len(strategies):
        return end
    case = composed(base, lossless)[1] if lossless else base
    without, judgement = judged_case(case, profile, own_projection)
    before = ending_without_findings(case, judgement)
    if not before.silence:
        return end
    there = {stored_key(chunk) for chunk in after.conversation.chunks}
    lacking = [stored_key(chunk) for group in case.reading.dropped if not group.intentional for chunk in group.chunks]
    is_taken_away = before.why.startswith(WITHOUT) and not there.issuperset(lacking)
    return before if is_taken_away or is_same_request(without, prompt) else end


def is_same_request(before: Prompt, after: Prompt) -> bool:
    return before.system == after.system and before.values == after.values
