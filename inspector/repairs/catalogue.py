"""Every strategy, in the order in which a repair composes them by default."""

from inspector.repairs import insert_interrupted_result, mend_counter, renumber_messages, strip_error_chunks
from inspector.repairs.base import Strategy

STRATEGIES: tuple[Strategy, ...] = (
    strip_error_chunks.STRATEGY,
    insert_interrupted_result.STRATEGY,
    renumber_messages.STRATEGY,
    mend_counter.STRATEGY,
)


class UnknownStrategy(LookupError):
    def __init__(self, name: str) -> None:
        super().__init__(f"There is no strategy {name!r}; `strategies` lists them.")


def strategy(name: str) -> Strategy:
    for found in STRATEGIES:
        if found.name == name:
            return found
    raise UnknownStrategy(name)
