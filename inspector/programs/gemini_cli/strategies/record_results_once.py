"""Keeps each result once, in a record of the user, and the calls in the content of the answer."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit, Remove, Replace
from inspector.conversation.model import Kind
from inspector.programs.gemini_cli.chunks import about, without
from inspector.programs.gemini_cli.reader import why
from inspector.programs.gemini_cli.rules.doubled_responses import holds_copies
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.text.jsontext import compact


def propose(case: Case) -> Iterator[Edit]:
    answered: dict[str, set[str]] = {}
    for chunk in case.conversation.chunks:
        if why(chunk):
            continue
        if chunk.kind is Kind.TOOL_CALL:
            answered.pop(chunk.call_id, None)
            if holds_copies(chunk) and not about(chunk).get("unlisted"):
                yield Replace(chunk, replace(chunk, payload=without(chunk, "copies", "only")))
        elif chunk.kind is Kind.TOOL_RESULT and chunk.call_id:
            # Two of the same words may have different images.
            contents, content = answered.setdefault(chunk.call_id, set()), compact(without(chunk, *about(chunk)))
            if content in contents:
                yield Remove(chunk)
            contents.add(content)


STRATEGY = Strategy(
    name="record-results-once",
    safety=frozenset(),
    summary="writes the list with each result once: calls in the content of the answer, results in the record after it, no toolCalls",
    cost="A resumed chat does not show the cards of finished tools, which Gemini CLI makes of toolCalls; calls and results are sent as before.",
    user_visible_effect="The next resume sends each result once, and keeps it so: checked over three resumes of 0.61.0.",
    pros="The only form that stays: with toolCalls kept, even without results, the program fills them again and doubles them at the resume after the next.",
    cons="Results of one call that differ all stay: keep-first-result chooses one of them.",
    write_kind="content",
    propose=propose,
    order=265,
)
