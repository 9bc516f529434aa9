"""Leads the path over the branch that holds the real result of a call."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import MOVED, Edit, Insert, Remove, Safety
from inspector.programs.pi_openclaw.readers.rows import mapping, word
from inspector.programs.pi_openclaw.rules.session_calls import on_other_branches
from inspector.rules.base import Case, answered
from inspector.rules.synthetic_texts import is_synthetic
from inspector.strategies.base import CaseCost, Strategy


def propose(case: Case) -> Iterator[Edit]:
    """The stored entry itself comes onto the path, under its own key: writing that is giving what follows it another parent.

    An entry that belongs to what another branch said in between is copied instead, so that that branch stays as it is.
    """
    elsewhere = {of.call.key: of.result for of in on_other_branches(case)}
    chunks = case.conversation.chunks
    place = {chunk.key: number for number, chunk in enumerate(chunks)}
    # What is put after one place, so that the next one for it comes after these.
    last: dict[str, str] = {}
    for answer in answered(case) if elsewhere else ():
        synthetic = [result for result in answer.results if is_synthetic(result)]
        if answer.call.key not in elsewhere:
            continue
        result = elsewhere[answer.call.key]
        places = sorted(place[key] for key in answer.batch)
        batch = [case.messages[answer.message].chunks[-1], *(chunks[at] for at in places if not is_synthetic(chunks[at]))]
        # After what comes before it in the file, so that no entry gets a parent on a later line.
        after = [batch[0], *(chunk for chunk in batch[1:] if chunk.seq < result.seq)][-1].key
        following = next((chunks[at] for at in range(place[after] + 1, len(chunks)) if chunks[at] not in synthetic), None)
        # An entry without an id is nobody's parent.
        is_sibling = result.parent in {word(mapping(chunk.payload.get("entry")).get("id")) for chunk in batch}
        own = result if is_sibling and (following is None or result.seq < following.seq) else replace(result, key=f"{MOVED}{result.key}")
        yield from (Remove(chunk) for chunk in synthetic)
        yield Insert(last.get(after, after), own)
        last[after] = own.key


def _cost_of(case: Case) -> CaseCost | None:
    calls = Counter((answer.message, answer.call.call_id) for answer in answered(case))
    elsewhere = {of.call.key for of in on_other_branches(case)}
    is_guess = any(calls[answer.message, answer.call.call_id] > 1 for answer in answered(case) if answer.call.key in elsewhere)
    return CaseCost(frozenset({Safety.INVENTED}), _GUESSED) if is_guess else None


_GUESSED = (
    "Of several calls with one id in one message the first gets the result of the branch, and nothing stored says so. No content changes."
)
STRATEGY = Strategy(
    name="reparent-to-result",
    safety=frozenset(),
    summary="leads the path over the branch that holds the real result of a call, by giving what follows the call that result for its parent",
    cost="No content changes: only which entry follows which. A synthetic result in that place leaves the path; the other branches stay.",
    user_visible_effect="The output of the tool is shown where its call was, and the model knows it.",
    pros=(
        "OpenClaw's pull request 3565 saw that calls and results end up on different branches; the result is in the file, so that no result has to be synthesized and nothing forgotten. "
        "Users who chained such siblings by hand got their sessions back whole."
    ),
    cons=(
        "What was said on this path was said without knowing the output. Where several branches hold a result of the call the first in the file is taken; "
        "look at the tree where they differ."
    ),
    write_kind="W3",
    propose=propose,
    cost_of=_cost_of,
    order=80,
)
