"""Leads a line whose parent leads nowhere to the line that it belongs below."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Safety
from inspector.conversation.model import Conversation
from inspector.conversation.tree import Entry
from inspector.programs.claude_code.chain import Chain, chain_of, split_tree
from inspector.programs.claude_code.relinking import path_edits, with_parents
from inspector.programs.claude_code.rules.parent_loop import opening
from inspector.rules.base import Case
from inspector.rules.unreadable_line import spread_records
from inspector.strategies.base import Strategy

_MOST_BRIDGED = 20
_MOST = 100
"""Gaps of one path that are closed: each costs a walk over the file."""


def propose(case: Case) -> Iterator[Edit]:
    """The path as it is read once each gap is closed, from its beginning up; what strategies before this one changed stays."""
    # The parent may be in a record over several lines, which newer versions read and we do not: its words would be lost.
    if case.tree is None or spread_records(case.tree.chunks):
        return
    tree = start = split_tree(case)
    for _ in range(_MOST):
        later = _closed(case, tree)
        if later is None:
            break
        tree = later
    if tree is start:
        return
    yield from path_edits(case, start, tree)


def _closed(case: Case, tree: Conversation) -> Conversation | None:
    """The session with the uppermost gap of its path closed; None where there is none, or nothing shows where it leads."""
    chain = chain_of(case.with_conversation(tree))
    entry = _broken(chain)
    parent = chain.parent_for(entry) if entry is not None else None
    if entry is None or parent is None:
        return None
    stored = next(line for line in chain.lines if line.index == entry.index)
    return with_parents(tree, [(stored, parent[0].id)])


def _broken(chain: Chain) -> Entry | None:
    first = next(iter(chain.path), None)
    if first is None or first.index < 0:
        return None
    if any(first.index == entry.index for entry in chain.missing):
        return first
    # The newest versions bridge such a gap by themselves: a hostile file of thousands is left to them.
    if 0 < len(chain.bridged) <= _MOST_BRIDGED:
        return next(line for line in chain.path if line.index in chain.bridged)
    for loop in chain.loops:
        if any(entry.index in chain.on_path for entry in loop):
            return opening(chain, loop)
    return chain.stale


STRATEGY = Strategy(
    name="relink-lost-line",
    safety=frozenset({Safety.INVENTED}),
    summary="leads a line whose parent is in no line, in a loop, or before a compaction, to its call, to its answer, or to the line before it in its own compaction segment",
    cost="Where neither a call nor an answer shows the place, that the one line follows the other is inferred from their order in the file. No content changes: one parent in one line.",
    user_visible_effect="The history before the gap is back, and the model knows it.",
    pros="Without it a resume sees only the end of the session (0.1 to 2 percent of the messages in one report) and nothing says so. Lines are appended in order, and no line is led across a compaction.",
    cons="With several branches the line before may be of one that was rewound: compare how many messages a resume reaches before and after, and look at what comes back.",
    write_kind="W3",
    propose=propose,
    order=75,
)
