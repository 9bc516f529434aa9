"""Inspector: what an agent's store contains, what its client reads, what was sent, and how to repair it with undo."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inspector.checking import Checked as Checked
    from inspector.checking import NotAHistory as NotAHistory
    from inspector.checking import check as check
    from inspector.checking import check_all as check_all

__version__ = "0.1.0"

_OFFERED = frozenset({"Checked", "NotAHistory", "check", "check_all"})


def __getattr__(name: str) -> Any:
    """What programs import from here is loaded when they ask for it: no command needs all of it to start."""
    if name not in _OFFERED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from inspector import checking

    return getattr(checking, name)
