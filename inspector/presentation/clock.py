"""How moments are written, and when each turn began, as far as it is recorded: in step ids, and in a trace for the turns whose prompt it has."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time

from inspector.conversation.model import Message
from inspector.presentation.visible import visible
from inspector.traces import observe
from inspector.traces.model import Trace


def moment(milliseconds: int, pattern: str = "%Y-%m-%d %H:%M:%S") -> str:
    """UTC, to the second; "unknown" where no calendar has it: a close record without its open may lead back before the first year."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime(pattern)
    except (OverflowError, ValueError, OSError):
        return "unknown"


def day_of(text: str) -> str:
    """The day that an address names, as YYYY-MM-DD; "" where it names none."""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        return ""


def about_days(since: str, until: str, day: str = "") -> str:
    """What is wrong with the days that an address names, in one sentence; "" where nothing is."""
    if odd := next((text for text in (since, until, day) if text and not day_of(text)), ""):
        return f"{visible(odd[:20])!r} is no day, so that it is passed over: write it as YYYY-MM-DD."
    return (
        f"The first day, {since}, is after the last, {until}: exchange them." if since and until and day_of(since) > day_of(until) else ""
    )


def first_of(day: str) -> int:
    """Its first millisecond, in UTC."""
    return int(datetime.combine(date.fromisoformat(day), time(), UTC).timestamp()) * 1000


_UNITS = ((3600, 60, "min"), (86_400, 3600, "h"), (30 * 86_400, 86_400, "d"))
"""Up to so many seconds, an age is a number of units of so many seconds; static/inspector.js counts alike. What is to come is rounded."""


def age(milliseconds: int, now: int) -> str:
    """How long ago a moment was, both epoch milliseconds: "just now", "5 min ago", "3 h ago", "4 d ago", and of what is to come "in 3 h";
    from 30 days on, the day."""
    seconds = (now - milliseconds) // 1000
    if -60 < seconds < 60:
        return "just now"
    for limit, length, unit in _UNITS:
        if 0 < seconds < limit:
            return f"{seconds // length} {unit} ago"
        if 0 < -seconds < limit:
            return f"in {round(-seconds / length)} {unit}"
    return moment(milliseconds, "%Y-%m-%d")


def age_words(milliseconds: int, now: int) -> int:
    """The most words that an age has until it is a day: a page that counts its words is the same a minute later."""
    return 3 if len(age(milliseconds, now).split()) > 1 else 1


def turn_times(messages: Sequence[Message], trace: Trace | None) -> dict[int, int]:
    """Index of a turn's first message -> epoch milliseconds. A turn that nothing dates is not in it."""
    times: dict[int, int] = {}
    start = 0
    for index, message in enumerate(messages):
        if message.role == "user":
            start = index
        dated = next((chunk.at for chunk in message.chunks if chunk.at is not None), None)
        if dated is not None:
            times.setdefault(start, dated)
    for index, when in _observed(messages, trace):
        times.setdefault(index, when)
    return times


def _observed(messages: Sequence[Message], trace: Trace | None) -> list[tuple[int, int]]:
    """User messages whose words end the first prompt of a turn, taken in order: the same words may occur twice."""
    starts: list[tuple[int, int]] = []
    after = 0
    for turn in trace.turns if trace else ():
        body = observe.prompt_body(trace, turn.steps[0]) if trace and turn.steps else None
        payloads = _last_user(body.get("messages") if body else None)
        start = turn.span or (turn.steps[0].span if turn.steps else None)
        if payloads is None or start is None:
            continue
        for index in range(after, len(messages)):
            if messages[index].role == "user" and [dict(chunk.payload) for chunk in messages[index].chunks] == payloads:
                starts.append((index, start.start))
                after = index + 1
                break
    return starts


def _last_user(messages: object) -> list[object] | None:
    last = messages[-1] if isinstance(messages, list) and messages else None
    if not isinstance(last, dict) or last.get("role") != "user" or not isinstance(last.get("chunks"), list):
        return None
    return list(last["chunks"])
