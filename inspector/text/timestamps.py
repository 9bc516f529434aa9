"""Time stamps as stores write them."""

from datetime import UTC, datetime, timedelta
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def milliseconds(value: Any) -> int | None:
    """Epoch milliseconds of an ISO 8601 text, read as UTC where it names no zone (rollouts writes local times without one).

    None for what is no such text, and for a time before 1970.
    """
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
        since = (time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH
    except (ValueError, OverflowError):
        return None
    return since // _MILLISECOND if since.days >= 0 else None
