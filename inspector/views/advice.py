"""What repairs a conversation, as its page says it first: the strategies of the recommended sequence, what each costs, and where they are previewed."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from inspector.reports.visible import visible
from inspector.strategies.catalogue import strategy


@dataclass(frozen=True, slots=True)
class Advised:
    name: str
    safety: str
    summary: str
    cost: str


@dataclass(frozen=True, slots=True)
class Advice:
    """`href` is the preview of all of them together."""

    strategies: tuple[Advised, ...]
    href: str


def advice(oid: str, names: Sequence[str], reader: str, leaf: str) -> Advice | None:
    """None where nothing is recommended. `leaf` is the chosen one of a tree, "" = what the reader takes."""
    if not names:
        return None
    found = [strategy(name) for name in names]
    chosen = {"reader": reader, "leaf": visible(leaf)} if leaf else {}
    said = tuple(Advised(each.name, ", ".join(sorted(each.safety)) or "safe", each.summary, each.cost) for each in found)
    return Advice(said, f"/conversations/{oid}/repairs/new/?{urlencode({'strategy': list(names), **chosen}, doseq=True)}")
