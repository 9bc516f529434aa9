"""What is wrong on the way from a path's leaf to its root, found in the path itself, so that nothing is reported of a repaired path."""

from collections.abc import Sequence

from inspector.conversation.model import Conversation
from inspector.conversation.tree import LEAF, PATH, spoken
from inspector.programs.pi_openclaw.readers.rows import PathRow

_FEW = 20


def few(sentences: Sequence[str]) -> tuple[str, ...]:
    """The first of them, and how many more: a hostile file may yield as many as it has lines."""
    more = len(sentences) - _FEW
    return (*sentences[:_FEW], f"… and {more:,} more like these") if more > 0 else tuple(sentences)


def closes(path: Sequence[PathRow]) -> str:
    """The id at which the chain of parents closes; "" where it ends."""
    first = next((row for row in path if row.about), None)
    return first.parent if first is not None and first.parent in {row.id for row in path if row.id} and first.parent else ""


def dangles(path: Sequence[PathRow], header: str | None = None) -> str:
    """The parent of the path's first entry, where no entry has that id; "" where it is a root, as one that hangs from the `header`'s id is too."""
    first = next((row for row in path if row.about), None)
    return "" if first is None or first.parent in ("", header) or closes(path) else first.parent


def warnings_of(path: Sequence[PathRow], header: str | None = None) -> list[str]:
    """What the walk hides, for a reader whose own walk ends; `header` is the id of the session."""
    warnings: list[str] = []
    if id_ := closes(path):
        warnings.append(f"the parents form a cycle at the entry {spoken(id_[:40])}: the walk ends there, and what is above is hidden")
    if parent := dangles(path, header):
        warnings.append(f"the parent {spoken(parent[:40])} of the first entry is in no line that can be read: what was above it is hidden")
    return warnings


def header_problem(path: Conversation, reads_marks: bool = False) -> bool:
    """Whether the file has lines, and the first of them that parses is no session header. `reads_marks`: trims a byte order mark, as pi 0.73.1 does."""
    if reads_marks and path.fact("byteOrderMark") is not None and path.fact("id") is not None:
        return False
    return path.fact("headerProblem") is not None and path.fact("lines") not in (None, "0")


def empty_though(path: Conversation) -> bool:
    """Whether nothing is on the path of a file that has entries, and nobody chose so."""
    return (
        path.fact(LEAF) != ""
        and path.fact(PATH) == ""
        and not path.chunks
        and (path.fact("reachable") or "0/0").rpartition("/")[2] not in ("", "0")
    )
