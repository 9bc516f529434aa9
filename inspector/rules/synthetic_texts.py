"""Texts that programs and repairs put in the place of a tool result that nobody has: recognized, so that none is taken for a real one."""

from collections.abc import Callable
from functools import cache

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Kind
from inspector.programs.base import SyntheticResults
from inspector.programs.registry import programs
from inspector.rules.base import Case, cached_per_case

OURS = "The tool call was interrupted before a result was recorded."
# Text -> the library that writes it, whose stores Inspector does not read.
_LIBRARY_OF_TEXT = {
    OURS: "Inspector",
    "The tool call was interrupted before a result was produced.": "pydantic-ai",
    "Tool was interrupted.": "strands",
}
# litellm writes the name of the tool into it.
_LITELLM = "[System: Tool execution skipped/interrupted by user. No result provided for tool "


def written_by(result: Chunk) -> str:
    """The program whose placeholder it is; "" where it may be real."""
    text = result.text.strip()
    if text.startswith(_LITELLM):
        return "litellm"
    if name := _LIBRARY_OF_TEXT.get(text):
        return name
    # No generator: half a dozen rules ask this of every result.
    for author in _authors():
        if name := author(result):
            return name
    return ""


_NOBODY = SyntheticResults().author


@cache
def _authors() -> tuple[Callable[[Chunk], str], ...]:
    """Of the programs that write placeholders; most say nothing of any result."""
    return tuple(author for program in programs() if (author := program.synthetic.author) is not _NOBODY)


@cached_per_case
def results_by_author(case: Case) -> tuple[tuple[Chunk, str], ...]:
    """Every result of the messages, with the program whose placeholder it is."""
    return tuple((result, written_by(result)) for message in case.messages for result in queries.results(message))


def is_placeholder(text: str) -> bool:
    """Of a text that is known without the rest of its result."""
    return bool(written_by(Chunk("", 0, "tool", Kind.TOOL_RESULT, {"type": "tool-result", "content": text}, 0, 0)))


def is_synthetic(result: Chunk) -> bool:
    return bool(written_by(result))
