"""What a strategy is: a named way to repair, as edits, with what people have said for and against it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from inspector.conversation.edits import Edit, Safety, stored_key
from inspector.conversation.model import Chunk, Kind
from inspector.conversation.queries import span_text
from inspector.rules.base import Case
from inspector.rules.synthetic_texts import is_synthetic
from inspector.text.counted import counted
from inspector.text.jsontext import compact


class CaseCost(NamedTuple):
    safety: frozenset[Safety]
    cost: str


@dataclass(frozen=True, slots=True)
class Strategy:
    """`write_kind` is the kind of write-back in the store: W1 suffixes, W2 removes rows, W3 inserts rows, `content` rewrites what a row says,
    `counter` and `id` those next to the rows. `manual_only`: one of several ways, or not everywhere possible, so that a person picks it.
    """

    name: str
    safety: frozenset[Safety]
    summary: str
    cost: str
    user_visible_effect: str
    pros: str
    cons: str
    write_kind: str
    propose: Callable[[Case], Iterator[Edit]]
    order: int
    """Place in a composed repair, in steps of 10. Rows become whole first, so that the others see all of them. What was really said comes back
    first, then what belongs to nothing goes, then what is still missing gets a placeholder."""
    formats: tuple[str, ...] = ()
    """Formats of the program in whose folder it is, filled in when it is registered; () for a generic strategy."""
    manual_only: bool = False
    instead: str = ""
    """What to do first where somebody still has what it takes out or stands in for; "" where nothing is known."""
    when: str = ""
    """The clause after "when" that says what it is for, where no rule of ours names it; "" where one does."""
    reads_trace: bool = False
    """It proposes nothing for a store without the traces of its requests."""
    cost_of: Callable[[Case], CaseCost | None] | None = None
    """What it costs in one case, where `safety` and `cost` have to say "unless" or "else"; None where they hold."""
    safe_where: str = ""
    """The clause after "safe where" of the cases of which `cost_of` says so; "" where it says so of none."""

    def applies_to(self, format_name: str) -> bool:
        return not self.formats or format_name in self.formats

    def of(self, case: Case, later: Case | None = None) -> "Strategy":
        """With what it costs in this case, which it makes `later` of: what is read no longer is lost, also where the store keeps it."""
        own = self.cost_of(case) if self.cost_of and self.applies_to(case.conversation.format) else None
        here = replace(self, safety=own.safety, cost=own.cost) if own else self
        hidden = [] if later is None or Safety.LOSSY in here.safety else _hidden(case, later)
        if not hidden:
            return here
        cost = f"{here.cost} What {case.reading.reader} reads loses {counted(len(hidden), 'chunk')} here, seq {span_text(hidden)}."
        return replace(here, safety=here.safety | {Safety.LOSSY}, cost=cost)

    def edits(self, case: Case) -> Iterator[Edit]:
        """What it would change; nothing in conversations of other programs."""
        if self.applies_to(case.conversation.format):
            yield from self.propose(case)


def _hidden(case: Case, later: Case) -> list[int]:
    """Seqs of what was read and is not any more, in no other place either: it came before a compaction, say, or into a turn that is rolled back."""
    keys = {stored_key(chunk) for message in later.messages for chunk in message.chunks}
    gone = [chunk for message in case.messages for chunk in message.chunks if stored_key(chunk) not in keys]
    contents = {_content(chunk) for message in later.messages for chunk in message.chunks} if gone else set()
    return [chunk.seq for chunk in gone if (chunk.text or chunk.tool_name) and _content(chunk) not in contents and not is_synthetic(chunk)]


def _content(chunk: Chunk) -> tuple[Kind, str, str, str]:
    """What a chunk says, whatever its key: a call has no words, and of one call another one is no copy."""
    return chunk.kind, chunk.text, chunk.call_id, compact(chunk.payload.get("input"))
