"""What changes in a chunk whose words stay: an id, a signature, a flag. A reviewer signs these too."""

from collections.abc import Iterator
from itertools import islice, zip_longest
from typing import Any, NamedTuple

from inspector.conversation.model import Chunk
from inspector.text import jsontext

MOST = 8
_ABSENT = object()


class ChangedMember(NamedTuple):
    """`before` and `after` as JSON, "" where it is not there."""

    path: str
    before: str
    after: str


def changed_members(before: Chunk, after: Chunk) -> tuple[ChangedMember, ...]:
    """The first MOST members of what they say that differ, in the order of the chunk before."""
    return tuple(islice(_differences("", dict(before.payload), dict(after.payload)), MOST))


def _differences(path: str, before: Any, after: Any) -> Iterator[ChangedMember]:
    if before is not _ABSENT and after is not _ABSENT and before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys([*before, *after]):
            yield from _differences(f"{path}.{name}" if path else name, before.get(name, _ABSENT), after.get(name, _ABSENT))
    elif isinstance(before, list) and isinstance(after, list):
        for index, (old, new) in enumerate(zip_longest(before, after, fillvalue=_ABSENT)):
            yield from _differences(f"{path}.{index}", old, new)
    else:
        yield ChangedMember(path, _shown(before), _shown(after))


def _shown(value: Any) -> str:
    return "" if value is _ABSENT else value if isinstance(value, str) else jsontext.compact(value)
