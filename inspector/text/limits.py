"""How much of one input is read here. What is over a limit is shown as unreadable and reported, and the rest is read.

Measured: an import takes up to seven times the bytes of a value, and 700 bytes for each member of a JSON text, so that a value at the limit stays below
600 MB in memory. A person who has more of it sets the variables: `sources`, which every reading process imports, takes the limits from them.
"""

OWN_DAMAGE = frozenset({"too-deep", "huge-integer", "too-large"})
"""Damage that is only a limit of ours: the program itself may read such a value, and no repair may lose it."""


VALUE_NAME, FILE_NAME, EMPTY_NAME = "INSPECTOR_LARGEST_VALUE", "INSPECTOR_LARGEST_FILE", "INSPECTOR_MOST_EMPTY"
LARGEST_VALUE = 64 << 20
"""Bytes of one value of a database, or of one line of a file."""
LARGEST_FILE = 128 << 20
"""Bytes of a file that is read at once."""

MOST_EMPTY = 5_000
"""Conversations of one record or none, which are all that some program wrote of them, that are examined of one store: each takes as long as a short one."""


def most_members() -> int:
    """Commas in the JSON text of one value."""
    return LARGEST_VALUE >> 7


def reason(what: str, name: str = VALUE_NAME, limit: int = 0) -> str:
    """Why a value is not read; `what` is what there is too much of, such as `70,000,000 bytes`. `name` is the variable of `limit`, in bytes."""
    return f"holds {what}, which is over what is read here; {name} ({(limit or LARGEST_VALUE) >> 20} MB now) raises the limit"
