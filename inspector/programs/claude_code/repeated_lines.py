"""Lines of one answer that are in a session twice: written again with new uuids by a resume, a fork or a synchronized folder."""

from collections import Counter
from collections.abc import Hashable

from inspector.conversation.model import Chunk, Kind
from inspector.conversation.tree import about_of
from inspector.programs.claude_code.sending import answer_id
from inspector.rules.base import Case, cached_per_case
from inspector.text.js_json import canonical


@cached_per_case
def repeated_lines(case: Case) -> tuple[tuple[tuple[Chunk, ...], tuple[Chunk, ...]], ...]:
    """For each answer that is on the path more than once: (the blocks that stay, those that repeat one of them).

    An answer has a call or signed thinking once. Of such an answer texts count as repeated too; of one without both only where all of it is.
    """
    by_answer: dict[str, list[Chunk]] = {}
    for message in case.messages:
        if answer := answer_id(message):
            by_answer.setdefault(answer, []).extend(message.chunks)
    similar = [chunks for chunks in by_answer.values() if _has_similar(chunks)]
    named = Counter(
        name
        for chunk in (case.conversation.chunks if similar else ())
        if chunk.kind is Kind.TOOL_RESULT
        for name in (about_of(chunk).get("sourceToolAssistantUUID"), about_of(chunk).get("parentId"))
        if isinstance(name, str)
    )
    return tuple(pair for chunks in similar if (pair := _kept_and_repeated(chunks, named)) is not None)


def _has_similar(chunks: list[Chunk]) -> bool:
    """Whether two of the blocks could be one. Writing every block out takes time, and hardly an answer has such blocks."""
    if len({chunk.kind for chunk in chunks}) == len(chunks):
        return False
    return len({(chunk.kind, chunk.call_id, len(chunk.text)) for chunk in chunks}) < len(chunks)


def _kept_and_repeated(chunks: list[Chunk], named: Counter[str]) -> tuple[tuple[Chunk, ...], tuple[Chunk, ...]] | None:
    """The copy stays that results name as their call's line: the live one. Where none is named, the first."""
    by_content: dict[Hashable, list[Chunk]] = {}
    for chunk in chunks:
        by_content.setdefault(_content(chunk), []).append(chunk)
    several = [copies for copies in by_content.values() if len(copies) > 1]
    is_repeated = any(_is_single(copies[0]) for copies in several) or (several and len(several) == len(by_content))
    # Blocks of one line are no copies of each other: the program writes what it gets.
    if not is_repeated or len({about_of(chunk).get("id") for copies in several for chunk in copies}) < 2:
        return None
    most = max(len(copies) for copies in several)
    weights = [sum(named[str(about_of(copies[at]).get("id"))] for copies in several if at < len(copies)) for at in range(most)]
    number = weights.index(max(weights))
    kept = {(copies[number] if number < len(copies) else copies[0]).key for copies in by_content.values()}
    return tuple(chunk for chunk in chunks if chunk.key in kept), tuple(chunk for chunk in chunks if chunk.key not in kept)


def _is_single(chunk: Chunk) -> bool:
    return chunk.kind is Kind.TOOL_CALL or bool(chunk.payload.get("signature"))


def _content(chunk: Chunk) -> Hashable:
    return chunk.kind, canonical({name: value for name, value in chunk.payload.items() if name != "entry"})
