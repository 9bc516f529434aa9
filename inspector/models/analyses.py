"""Analyses of large conversations: written once, read by windows."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from django.db.models import F, Min, TextField
from django.db.models.functions import Cast
from django.utils import timezone

from inspector.models.analysis import AnalysisBlock, AnalysisFinding, StoredAnalysis
from inspector.models.bulk import insert
from inspector.models.conversation import Conversation
from inspector.models.identity import finding_oids
from inspector.presentation.conversation.placed import Block
from inspector.presentation.conversation.whole import Headline, Whole
from inspector.presentation.conversation.windows import BlockSummary, Filter
from inspector.presentation.packed import shape, unpacked
from inspector.presentation.prompt.side_by_side import ROWS_KEPT, RowsKept, has_seq
from inspector.presentation.prompt.summary import RequestSummary
from inspector.programs.registry import programs
from inspector.rules.base import Finding
from inspector.sources import unchanged

OTHERS_KEPT = 8
"""Analyses of one conversation by other readers, profiles or revisions, and its prompts."""
HIGHEST = 2**63 - 1
"""What a column takes; a store may have larger seqs."""
_ROWS_AT_ONCE = 200
_BLOCK_FIELDS = ("number", "seq_high", "position_low", "position_high", "counts", "data")
_FINDING_FIELDS = ("number", "oid", "code", "data")


@dataclass(frozen=True, slots=True)
class Ways:
    """What an address chooses of how to look at a conversation. `step` and `leaf` are "" unless one is chosen."""

    revision: int
    reader: str
    projection: str
    profile: str
    step: str = ""
    leaf: str = ""

    @property
    def key(self) -> str:
        """With the shape of what is kept: what another version kept in another shape is not found, and is made again."""
        shapes = shape(Headline, Block, Finding)
        return digest_of_values((shapes, self.revision, self.reader, self.projection, self.profile, self.step, self.leaf))


@dataclass(frozen=True, slots=True)
class PromptWays(Ways):
    """Of how the prompt of a conversation is looked at, after these strategies. Where an address names no reader, projection or profile they are its own all the same."""

    strategies: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        own = self.revision, self.reader, self.projection, self.profile, self.step, self.leaf, self.strategies
        return digest_of_values(("prompt", shape(RequestSummary, RowsKept), *own))


def own_ways(conversation: Conversation) -> Ways:
    """Of the newest revision, by the judges of the conversation."""
    return Ways(conversation.revision, conversation.source.reader, *conversation.judges)


def basis(conversation: Conversation, is_timed: bool) -> str:
    """Digest of all that an analysis depends on but its content: the code, the traces and when they were read, and where it matters when the source was."""
    source = conversation.source
    traces = source.traces.order_by("pk").values_list("pk", "read_at")
    code = unchanged.code(("inspector", *(program.package for program in programs())))
    return digest_of_values((code, source.read_at if is_timed else None, *traces))


def digest_of_values(values: Sequence[object]) -> str:
    return hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).hexdigest()


def stored(conversation: Conversation, ways: Ways) -> "Stored | None":
    """The analysis that was kept, None where there is none."""
    row = StoredAnalysis.objects.filter(conversation=conversation, key=ways.key).first()
    return None if row is None else Stored(row, row.basis != basis(conversation, row.is_timed))


def keep(conversation: Conversation, ways: Ways, whole: Whole) -> None:
    """In place of what was kept of the same, and of the revision before this one: of a conversation that grew nearly all blocks stay. Only inside `one_writer`."""
    is_own = ways == own_ways(conversation)
    known = conversation.analyses.filter(key=ways.key).first()
    if known is None and is_own:
        known = conversation.analyses.filter(is_own=True).order_by("-written_at", "-pk").first()
    row = StoredAnalysis(pk=known.pk if known else None, conversation=conversation, key=ways.key, is_own=is_own)
    row.basis, row.is_timed = basis(conversation, whole.is_timed), whole.is_timed
    row.headline, row.written_at = whole.headline, timezone.now()
    row.save()
    blocks = (
        (about.number, min(about.seq_high, HIGHEST), about.position_low, about.position_high, json.dumps(about.counts), data)
        for about, data in whole.blocks
    )
    _put(AnalysisBlock, row, _BLOCK_FIELDS, blocks)
    oids = finding_oids(conversation.oid, ((code, key) for code, key, _ in whole.findings))
    findings = ((number, oid, code, data) for number, (oid, (code, _, data)) in enumerate(zip(oids, whole.findings, strict=True)))
    _put(AnalysisFinding, row, _FINDING_FIELDS, findings)
    _drop_oldest(conversation)


def _put(
    model: type[AnalysisBlock] | type[AnalysisFinding], analysis: StoredAnalysis, fields: Sequence[str], rows: Iterator[Sequence[Any]]
) -> None:
    """Makes the numbered rows of an analysis `rows`, whose first value is their number, from 0. Those that are so already are not written."""
    stored, total = model._default_manager.filter(analysis=analysis), 0
    values = [Cast(name, TextField()) if name == "counts" else F(name) for name in fields]
    while some := list(islice(rows, _ROWS_AT_ONCE)):
        there = stored.filter(number__range=(total, total + len(some) - 1)).values_list(*values)
        known = {number: (number, *map(_comparable, others)) for number, *others in there}
        changed = [row for row in some if known.get(row[0]) != tuple(row)]
        stored.filter(number__in=[row[0] for row in changed if row[0] in known]).delete()
        insert(model, ("analysis", *fields), [(analysis.pk, *row) for row in changed])
        total += len(some)
    stored.filter(number__gte=total).delete()


def _comparable(value: Any) -> Any:
    """PostgreSQL gives bytes as a view of its memory."""
    return bytes(value) if isinstance(value, memoryview) else value


def _drop_oldest(conversation: Conversation) -> None:
    for is_own, most in ((True, 1), (False, OTHERS_KEPT)):
        rows = conversation.analyses.filter(is_own=is_own).order_by("-written_at", "-pk")
        StoredAnalysis.objects.filter(pk__in=list(rows.values_list("pk", flat=True)[most:])).delete()


def stored_prompt(conversation: Conversation, ways: PromptWays) -> "StoredPrompt | None":
    """None where none is kept, or what it depends on is another now."""
    row = StoredAnalysis.objects.filter(conversation=conversation, key=ways.key).first()
    return None if row is None or row.basis != basis(conversation, row.is_timed) else StoredPrompt(row)


class StoredPrompt:
    """The rows of a prompt that was kept: a page reads the blocks of its window."""

    def __init__(self, row: StoredAnalysis) -> None:
        self._row = row
        self.summary = unpacked(RequestSummary, row.headline)

    @property
    def total(self) -> int:
        return self.summary.total

    def place(self, seq: int) -> int:
        """As `Rows`. What a strategy inserts has the highest seqs of all, so that those of the blocks need not ascend."""
        reaching = self._row.blocks.filter(seq_high__gte=min(seq, HIGHEST)).order_by("number").values_list("number", "counts")
        number = next((number for number, runs in reaching.iterator() if has_seq(runs, seq)), None)
        if number is None:
            return 0
        start = number * ROWS_KEPT
        return next(at for at, row in enumerate(self.some(start, ROWS_KEPT).rows, start) if row.chunk and row.chunk.seq == seq)

    def some(self, start: int, count: int) -> RowsKept:
        numbers = (start // ROWS_KEPT, (start + count - 1) // ROWS_KEPT)
        packed_blocks = self._row.blocks.filter(number__range=numbers).order_by("number").values_list("data", flat=True)
        blocks = [unpacked(RowsKept, data) for data in packed_blocks]
        rows = [row for block in blocks for row in block.rows]
        skipped = start % ROWS_KEPT
        return RowsKept(tuple(rows[skipped : skipped + count]), {index: of for block in blocks for index, of in block.messages.items()})


class Stored:
    """Reads of an analysis what a page asks for: each method is one query."""

    def __init__(self, row: StoredAnalysis, is_stale: bool) -> None:
        self._row = row
        self._blocks: dict[int, Block] = {}
        """Those of this page: the one that an address leads to is also shown."""
        self.is_stale = is_stale
        """Whether something that it depends on is another now: the rules, or what is around the conversation."""

    @property
    def written_at(self) -> datetime:
        return self._row.written_at

    def headline(self) -> Headline:
        return unpacked(Headline, self._row.headline)

    def summaries(self, choice: Filter) -> Sequence[BlockSummary]:
        # Of a million chunks there are ten thousand: the database leaves out most of them in a tenth of the time in which they are parsed.
        rows = self._row.blocks.annotate(names=Cast("counts", TextField())).order_by("number")
        for word in choice.words:
            rows = rows.filter(names__contains=word)
        if choice.positions is not None:
            low, high = (choice.positions[0], choice.positions[-1]) if choice.positions else (1, 0)
            rows = rows.filter(position_high__gte=low, position_low__lte=high)
        summaries = list(rows.values_list("number", "seq_high", "position_low", "position_high", "names"))
        # Parsed together, in a third of the time.
        counts = json.loads(f"[{','.join([names for *_, names in summaries])}]")
        return [BlockSummary(*row[:4], names) for row, names in zip(summaries, counts, strict=True)]

    def reaching(self, seq: int) -> int | None:
        rows = self._row.blocks.filter(seq_high__gte=min(seq, HIGHEST)).order_by("number")
        return rows.values_list("number", flat=True).first()

    def block(self, number: int) -> Block:
        if number not in self._blocks:
            self._blocks[number] = unpacked(Block, self._row.blocks.values_list("data", flat=True).get(number=number))
        return self._blocks[number]

    def first(self, count: int) -> Sequence[tuple[str, Finding]]:
        rows = self._row.findings.order_by("number").values_list("oid", "data")[:count]
        return [(oid, unpacked(Finding, data)) for oid, data in rows]

    def number(self, word: str) -> int | None:
        rows = self._row.findings.filter(oid=word) or self._row.findings.filter(code=word) if word else self._row.findings
        lowest: int | None = rows.aggregate(lowest=Min("number"))["lowest"]
        return lowest

    def at(self, number: int) -> tuple[str, Finding] | None:
        row = self._row.findings.filter(number=number).values_list("oid", "data").first()
        return None if row is None else (row[0], unpacked(Finding, row[1]))

    def suggested(self, number: int) -> Finding:
        _, finding = self._row.findings.values_list("oid", "data").get(number=number)
        return unpacked(Finding, finding)
