"""What gbrain writes for something else: placeholders for results, and the note after the results of a turn that was cut off (TOOL402)."""

import re
from collections.abc import Iterator

from inspector.conversation.model import Chunk
from inspector.programs.gbrain.readers import FAILED, RECOVERED, UNAVAILABLE
from inspector.rules.base import Case, Match

CAP_NOTE = re.compile(r"\[system\] Your previous response hit the \S{1,20}-token output cap and was truncated;")


def notes(case: Case) -> Iterator[Match]:
    for message in case.messages:
        for chunk in message.chunks:
            if message.role == "user" and CAP_NOTE.match(chunk.text):
                yield Match(
                    (chunk,),
                    f"The text at seq {chunk.seq} is gbrain's own note to the model about an answer that was cut off: no user said it.",
                )


_RESULTS = {UNAVAILABLE: "gbrain (pull request 1934)", RECOVERED: "gbrain"}
_AS_ERRORS = {FAILED: "gbrain, for a failed run without words"}
"""Words that a tool may say as well: synthetic only where the result is marked as an error."""
# Of a tool that the job may not use: none ran. Names are cut, so that no text is searched for long.
_UNREGISTERED = re.compile(r'tool "[^"]{0,200}" is not (?:in the registry for this subagent|available)')


def placeholder_author(result: Chunk) -> str:
    """gbrain, where the result is its placeholder."""
    text = result.text.strip()
    if result.is_error and _UNREGISTERED.fullmatch(text):
        return "gbrain, for a tool that is not registered"
    return _RESULTS.get(text) or (_AS_ERRORS.get(text, "") if result.is_error else "")
