"""How old a store was when it was read, and where it came from: a copy shows an earlier state, and a person must see that."""

_UNITS = ((86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1000, "second"))


def age(milliseconds: int) -> str:
    """`3 hours`, rounded down to its largest unit; a slow clock gives `less than a second`."""
    for size, unit in _UNITS:
        if milliseconds >= size:
            count = milliseconds // size
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return "less than a second"


def last_written(written_at: int | None, read_at: int) -> str:
    """`3 hours before it was read`; times in epoch milliseconds, "" of None: it was never noted."""
    return "" if written_at is None else f"{age(read_at - written_at)} before it was read"


def provenance(came_from: str, written: str, sealed: str = "") -> str:
    """One clause without a full stop. `written` is as `last_written` says it, `sealed` what a bundle says."""
    parts = (sealed, came_from and f"copied from {came_from}", written and f"last written {written}")
    return ", ".join(part for part in parts if part)
