"""The recommended repair at the top of a conversation's page: its strategies in order, what each costs, and the link to the preview."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from inspector.presentation.visible import visible
from inspector.strategies.catalogue import strategy


@dataclass(frozen=True, slots=True)
class AdvisedStrategy:
    name: str
    safety: str
    summary: str
    cost: str


@dataclass(frozen=True, slots=True)
class RepairAdvice:
    """`href` is the preview of all of them together."""

    strategies: tuple[AdvisedStrategy, ...]
    href: str


def advice(oid: str, names: Sequence[str], reader: str, leaf: str) -> RepairAdvice | None:
    """None where nothing is recommended. `leaf` is the chosen one of a tree, "" = what the reader takes."""
    if not names:
        return None
    strategies = [strategy(name) for name in names]
    chosen = {"reader": reader, "leaf": visible(leaf)} if leaf else {}
    advised = tuple(AdvisedStrategy(item.name, ", ".join(sorted(item.safety)) or "safe", item.summary, item.cost) for item in strategies)
    return RepairAdvice(advised, f"/conversations/{oid}/repairs/new/?{urlencode({'strategy': list(names), **chosen}, doseq=True)}")
