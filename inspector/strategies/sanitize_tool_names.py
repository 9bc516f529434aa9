"""Makes the names of tools such as providers take: letters, digits, _ and -, at most 64 of them."""

import re
from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit, Replace, Safety
from inspector.conversation.model import Kind
from inspector.rules.base import Case
from inspector.strategies.base import Strategy

LONGEST = 64
_VALID = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST}}}")


def sanitized(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:LONGEST] or "unnamed"


def propose(case: Case) -> Iterator[Edit]:
    """Of calls; of results, too, where they name their tool."""
    for chunk in case.conversation.chunks:
        name = chunk.tool_name
        if (chunk.kind is Kind.TOOL_CALL or (chunk.kind is Kind.TOOL_RESULT and name)) and not _VALID.fullmatch(name):
            yield Replace(chunk, replace(chunk, payload={**chunk.payload, "toolName": sanitized(name)}))


STRATEGY = Strategy(
    name="sanitize-tool-names",
    safety=frozenset({Safety.LOSSY}),
    summary="puts _ for each run of signs that providers do not take in the name of a tool, and cuts it to 64 characters",
    when="the name of a tool has signs that providers do not take, or is longer than 64",
    cost="What becomes _ in the name of a tool, and what follows its first 64 characters, leaves the history. Nothing else changes.",
    user_visible_effect="The tool is shown under the repaired name.",
    pros="Providers that refuse every later request of a history for one such name take it again.",
    cons="The model wrote a name of its own, and reads a name that no tool has either way; with a client that maps names when it sends, nothing needs to be written.",
    write_kind="content",
    propose=propose,
    manual_only=True,
    order=120,
)
