"""Every strategy, in the order in which a repair composes them by default."""

from inspector.programs.registry import registered
from inspector.strategies.base import Strategy
from inspector.text.unknown import UnknownName

STRATEGIES: tuple[Strategy, ...] = tuple(sorted(registered("strategies", "STRATEGY"), key=lambda strategy: strategy.order))


class UnknownStrategy(UnknownName):
    def __init__(self, name: str) -> None:
        super().__init__(f"There is no strategy {name!r}; `strategies` lists them.")


def strategy(name: str) -> Strategy:
    for candidate in STRATEGIES:
        if candidate.name == name:
            return candidate
    raise UnknownStrategy(name)
