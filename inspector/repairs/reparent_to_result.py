"""Leads the path over the branch that holds the real result of a call."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit, Insert, Remove
from inspector.conversation.model import Chunk
from inspector.conversation.pairing import Answered, answered
from inspector.detectors.base import Case
from inspector.detectors.synthetic_texts import is_synthetic
from inspector.repairs.base import Strategy
from inspector.repairs.branches import key_of, results_elsewhere


def propose(case: Case) -> Iterator[Edit]:
    """The stored entry itself comes onto the path, under its own key: writing that is giving what follows it another parent.

    An entry that belongs to what another branch said in between is copied instead, so that that branch stays as it is.
    """
    if case.tree is None:
        return
    elsewhere = results_elsewhere(case.tree, case.conversation)
    chunks = case.conversation.chunks
    place = {chunk.key: number for number, chunk in enumerate(chunks)}
    # What is put behind one place, so that the next one for it comes behind these.
    last: dict[str, str] = {}
    for found in answered(case.messages):
        made_up = [result for result in found.results if is_synthetic(result)]
        if len(made_up) != len(found.results) or not elsewhere.get(found.call.key):
            continue
        result = elsewhere[found.call.key][0]
        after = _place(case, found, result)
        following = next((chunk for chunk in chunks[place[after] + 1 :] if chunk not in made_up), None)
        is_sibling = result.parent in _ids_of_batch(case, found)
        is_earlier = following is None or result.seq < following.seq
        own = result if is_sibling and is_earlier else replace(result, key=f"moved:{result.key}")
        yield from (Remove(chunk) for chunk in made_up)
        yield Insert(last.get(after, after), own)
        last[after] = own.key


def _batch(case: Case, found: Answered) -> list[Chunk]:
    """The message of the call, and the results behind it that stay."""
    message = case.messages[found.message]
    behind = [chunk for chunk in case.conversation.chunks if chunk.key in found.batch and not is_synthetic(chunk)]
    return [*message.chunks, *behind]


def _ids_of_batch(case: Case, found: Answered) -> set[str]:
    return {key_of(chunk) for chunk in _batch(case, found)}


def _place(case: Case, found: Answered, result: Chunk) -> str:
    """Behind the last of the batch that stands before it in the file, so that no entry gets a parent on a later line."""
    message = case.messages[found.message].chunks[-1]
    earlier = [chunk for chunk in _batch(case, found)[len(case.messages[found.message].chunks) :] if chunk.seq < result.seq]
    return earlier[-1].key if earlier else message.key


STRATEGY = Strategy(
    name="reparent-to-result",
    safety=frozenset(),
    summary="leads the path over the branch that holds the real result of a call, by giving what follows the call that result for its parent",
    cost="No content changes: only which entry follows which. A made-up result in that place leaves the path; the other branches stay.",
    noticed_by_user="The output of the tool is shown where its call was, and the model knows it.",
    argued_for=(
        "Seed 004 saw that calls and results end up on different branches; the result is in the file, so that nothing has to be made up or forgotten. "
        "Users who chained such siblings by hand got their sessions back whole."
    ),
    argued_against=(
        "What was said on this path was said without knowing the output. Where several branches hold a result of the call the first in the file is taken; "
        "look at the tree where they differ."
    ),
    write_kind="W3",
    propose=propose,
    beyond_dispatch=True,
)
