"""How many messages other readers than the chosen one read of a conversation: what a repair is for whose request passes as it is."""

from typing import NamedTuple

from inspector.readers.catalogue import names
from inspector.rules.base import Case


class ReadByOthers(NamedTuple):
    """`fewer`: the messages of each other reader that reads fewer than the `own` ones of the chosen reader; `readers` others there are."""

    own: int
    fewer: tuple[int, ...]
    readers: int

    @property
    def words(self) -> str:
        """`8 of 9 other readers read fewer of its 13 messages, down to 3`; "" where none does."""
        if not self.fewer:
            return ""
        return f"{len(self.fewer)} of {self.readers} other readers read fewer of its {self.own:,} messages, down to {min(self.fewer):,}"


def read_by_others(case: Case) -> ReadByOthers:
    """Reads the whole conversation once for each reader of its format."""
    content = case.tree or case.conversation
    own = len(case.messages)
    counts = [len(case.with_conversation(content, name).messages) for name in names(content.format) if name != case.reading.reader]
    return ReadByOthers(own, tuple(count for count in counts if count < own), len(counts))


def gained(before: ReadByOthers, after: ReadByOthers) -> str:
    """What a repair brings to the other readers; "" where it brings them nothing."""
    is_less = len(after.fewer) < len(before.fewer) or (len(after.fewer) == len(before.fewer) and sum(after.fewer) > sum(before.fewer))
    if not is_less:
        return ""
    left = f"{len(after.fewer)} {'does' if len(after.fewer) == 1 else 'do'}, down to {min(after.fewer):,}" if after.fewer else "none does"
    return f"{before.words}; after it, {left}"
