"""Durations as a person says them."""


def duration(milliseconds: int) -> str:
    """In the largest unit of which there are two: `90 minutes`, `2 hours`, `3 days`."""
    minutes = milliseconds // 60_000
    for size, name in ((24 * 60, "days"), (60, "hours")):
        if minutes >= 2 * size:
            return f"{minutes // size:,} {name}"
    return f"{minutes} minutes"
