"""How old a store was when it was read, and where it came from: a copy shows an earlier state, and a person must see that."""

_UNITS = ((86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1000, "second"))


def age(milliseconds: int) -> str:
    """`3 hours`, rounded down to its largest unit; a slow clock gives `less than a second`."""
    for size, unit in _UNITS:
        if milliseconds >= size:
            count = milliseconds // size
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return "less than a second"


def provenance(came_from: str, written_at: int | None, read_at: int, sealed: str = "") -> str:
    """One clause without a full stop; times in epoch milliseconds, `written_at` None where it was never noted, `sealed` what a bundle says."""
    when = "" if written_at is None else f"last written {age(read_at - written_at)} before it was read"
    origin = f"copied from {came_from}" if came_from else ""
    return ", ".join(part for part in (sealed, origin, when) if part)
