"""Puts the text of an answer whose content is text, and no list of blocks, into a list."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit, Replace
from inspector.programs.claude_code.rules.malformed_record import malformed
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    present = {chunk.key: chunk for chunk in case.conversation.chunks}
    for record in malformed(case):
        chunk = present.get(record.entry.chunks[0].key) if record.is_text else None
        if chunk is not None:
            # The mark by which a text is written back as it was read.
            marks = {name: value for name, value in chunk.payload["extra"].items() if name != "string"}
            payload = {name: value for name, value in chunk.payload.items() if name not in ("extra", "wire")}
            yield Replace(chunk, replace(chunk, payload={**payload, **({"extra": marks, "wire": chunk.payload["wire"]} if marks else {})}))


STRATEGY = Strategy(
    name="list-answer-text",
    safety=frozenset(),
    summary="puts the text of an answer whose content is text into a list of one text block, as the program writes answers",
    cost="No words change: brackets around the text.",
    user_visible_effect="The session can be resumed again.",
    pros="Claude Code writes the content of answers as lists and calls methods of lists on it; converters and other programs write text. Anthropic takes both.",
    cons="Answers that a converter writes later need it again: correct the converter too.",
    write_kind="content",
    propose=propose,
    order=46,
)
