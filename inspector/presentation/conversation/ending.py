"""What becomes of the next request, in the same words on every page: accepted, wrong silently, rejected, cannot be opened, or what a verdict says of other ends."""

from collections.abc import Sequence
from typing import NamedTuple

from inspector.presentation.conversation.resuming import is_accepted
from inspector.presentation.conversation.verdict import PASSES, REJECTED, SILENT, UNREADABLE, NextRequest, verdict
from inspector.profiles.base import Judgement
from inspector.rules.base import Case, Finding, Origin, findings
from inspector.rules.catalogue import RULES

ACCEPTED, WRONG_SILENTLY = "accepted", "wrong silently"
ENDINGS = (REJECTED, WRONG_SILENTLY, ACCEPTED, UNREADABLE)
_OF_STATES = {REJECTED: REJECTED, SILENT: WRONG_SILENTLY, PASSES: ACCEPTED}
_RULES = tuple(rule for rule in RULES if (rule.silent and rule.origin is Origin.READER) or rule.code.startswith("TREE") or rule.unnoticed)
"""What the end of a request that passes depends on: of a tree also what is damaged in it, since that is not reached; and what passes and lacks something."""


class Ending(NamedTuple):
    """In a few words, and where or why."""

    words: str
    why: str = ""

    @property
    def silence(self) -> str:
        """Why the request goes wrong silently; "" where it does not."""
        return self.why if self.words == WRONG_SILENTLY else ""


def ending(case: Case, reported: Sequence[Finding], judgement: Judgement) -> Ending:
    """`reported`: all findings of the case."""
    if case.reading.failure:
        return Ending(UNREADABLE, case.reading.failure)
    return ending_of(verdict(case, reported, judgement).next_request, judgement)


def words_of(following: NextRequest) -> str:
    """One of ENDINGS, or what a verdict says of others; "" of what is not judged."""
    return _OF_STATES.get(following.state, following.words)


def ending_of(following: NextRequest, judgement: Judgement) -> Ending:
    if following.state == SILENT:
        return Ending(WRONG_SILENTLY, following.more if following.words == WRONG_SILENTLY else following.words)
    if not following.state and following.words:
        return Ending(following.words, following.more)
    if judgement.sendable:
        return Ending(ACCEPTED)
    return Ending(REJECTED, f"at {judgement.violations[0].path} ({judgement.violations[0].id})")


def ending_without_findings(case: Case, judgement: Judgement) -> Ending:
    """As `ending`, by the few rules that matter to it: all of them take most of the time where many cases are tried or compared."""
    return ending(case, findings(case, _RULES) if is_accepted(case, judgement) else (), judgement)
