"""All that the page of a large conversation shows of one way to look at it, packed: made once by whoever judges it, read by windows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inspector.planning.recommend import without_waiting
from inspector.planning.suggested import suggested
from inspector.presentation.conversation.columns import Columns, columns
from inspector.presentation.conversation.overview import Overview, overview
from inspector.presentation.conversation.placed import Block, blocks
from inspector.presentation.conversation.verdict import Verdict
from inspector.presentation.conversation.windows import BlockSummary, summary
from inspector.presentation.packed import packed
from inspector.presentation.tree.branches import branches_of
from inspector.presentation.tree.model import Branches
from inspector.presentation.tree.own_leaves import own_leaves
from inspector.presentation.tree.view import tree_places
from inspector.profiles.base import Judgement
from inspector.programs.formats import Stored
from inspector.projections.base import Prompt
from inspector.rules.base import Case, Finding
from inspector.strategies.base import Strategy
from inspector.text.at_hand import apart

LARGE = 2_000
"""Chunks from which on this is kept: of fewer it is made faster than a person sees."""
TRIED_BYTES = 64 << 20
"""Bytes of a conversation from which on no strategy is tried before somebody asks: a trial needs twice its memory once more."""
TRIED = 20
"""Findings, each the first of its rule, whose strategies are tried: a trial reads the whole conversation."""


@dataclass(frozen=True, slots=True)
class Headline:
    """`recommended` are names of strategies; `then_and_now` says what the last observed request merged, and what the next would."""

    overview: Overview
    recommended: tuple[str, ...]
    then_and_now: str = ""


@dataclass(frozen=True, slots=True)
class Whole:
    """Packed: a headline, the blocks with their summaries (made as they are read, once), the findings. `is_timed`: read at another moment, the same content may give another answer."""

    headline: bytes
    blocks: Iterable[tuple[BlockSummary, bytes]]
    findings: tuple[tuple[str, str, bytes], ...]
    """(code of the rule, key of the chunk, finding), most dangerous first."""
    is_timed: bool


def blocks_of(case: Case, all_columns: Columns, branches: Branches | None) -> Iterable[Block]:
    lane, cells = case.program.panels.ledger_lane(case), case.program.panels.ledger_cells
    places = tree_places(case.tree, branches) if case.tree is not None and branches is not None else None
    return blocks(all_columns, places, (lambda chunk: cells(lane, chunk)) if lane else lambda chunk: ())


def is_tried(stored: Stored) -> bool:
    """Whether suggested repairs are tried before somebody asks."""
    return sum(len(record.value.data) for record in stored.records) < TRIED_BYTES


def whole(
    case: Case, findings: Sequence[Finding], prompt: Prompt, judgement: Judgement, verdict: Verdict, projection: str, stored: Stored
) -> Whole:
    """Of the next request."""
    # First, since a trial needs as much memory again: what it leaves at hand is gone before the columns are made.
    recommended: tuple[Strategy, ...] = ()
    tried_findings = list(findings)
    if is_tried(stored):
        with apart():
            recommended = without_waiting(case, findings, judgement, projection).candidate.strategies
            tried_findings = tried(case, findings, stored)
    all_columns = columns(case, case.reading.messages, case.reading.dropped, prompt, judgement, findings)
    # Each path through the tree leaves its entries at hand, and nobody asks for them again.
    with apart():
        branches = branches_of(case)
        own = own_leaves(case.tree, case.tree.format) if case.tree is not None else ()
    about = overview(case, findings, prompt, judgement, verdict, all_columns, None, branches, own)
    headline = Headline(about, tuple(strategy.name for strategy in recommended))
    return packed_whole(headline, case, tried_findings, all_columns, branches)


def packed_whole(headline: Headline, case: Case, findings: Iterable[Finding], all_columns: Columns, branches: Branches | None) -> Whole:
    """`findings` as `tried` gives them."""
    return Whole(
        packed(headline),
        ((summary(number, block), packed(block)) for number, block in enumerate(blocks_of(case, all_columns, branches))),
        tuple((finding.code, finding.key, packed(finding)) for finding in findings),
        case.is_timed,
    )


def tried(case: Case, findings: Sequence[Finding], stored: Stored) -> list[Finding]:
    """The first finding of each rule with the strategies that repair it here; the others name those of their rule."""
    first: dict[str, int] = {}
    for number, finding in enumerate(findings):
        first.setdefault(finding.code, number)
    result = list(findings)
    numbers = sorted(first.values())[:TRIED]
    for number, finding in zip(numbers, suggested(case, [findings[number] for number in numbers], stored), strict=True):
        result[number] = finding
    return result
