"""What one event says, and what many of a kind say, in words."""

from collections.abc import Mapping

from inspector.presentation.visible import beginning
from inspector.streams.assembling import shown
from inspector.streams.model import Delta, Framing, How, Means, ObservedEvent

_RAW_SHOWN, _RAW_READ = 2000, 2400
"""Bytes that are no text: characters that are shown, and bytes that are read for them."""
LEADING = (
    Means.ERROR,
    Means.TERMINAL,
    Means.CALL,
    Means.FINISH,
    Means.SIGNATURE,
    Means.ARGUMENTS,
    Means.TEXT,
    Means.THINKING,
    Means.REFUSAL,
    Means.USAGE,
    Means.START,
    Means.ROLE,
    Means.BLOCK_END,
    Means.CHOICE,
    Means.PING,
)
"""What an event is called by where it says several things: the first of these."""
_RANK = {means: number for number, means in enumerate(LEADING)}

KINDS = (
    "text", "thinking", "refusal", "call", "arguments", "signature", "finish", "usage", "terminal", "error", "malformed",
    "start", "block-end", "choice", "ping", "comment", "other", "end",
)  # fmt: skip
"""Kinds by which a page can be narrowed."""

NAMES = {
    "text": ("text delta", "text deltas"),
    "thinking": ("thinking delta", "thinking deltas"),
    "refusal": ("refusal delta", "refusal deltas"),
    "arguments": ("piece of arguments", "pieces of arguments"),
    "usage": ("usage record", "usage records"),
    "start": ("opening record", "opening records"),
    "block-end": ("end of a block", "ends of blocks"),
    "choice": ("delta of another choice", "deltas of other choices"),
    "ping": ("keep-alive", "keep-alives"),
    "comment": ("line outside of records", "lines outside of records"),
    "other": ("event without content", "events without content"),
    "call": ("tool call", "tool calls"),
    "finish": ("finish reason", "finish reasons"),
    "terminal": ("terminal", "terminals"),
    "error": ("error", "errors"),
    "signature": ("signature", "signatures"),
    "malformed": ("record that cannot be read", "records that cannot be read"),
}

ENDS = {
    How.EOF: "The connection closes",
    How.RESET: "The connection is reset",
    How.TIMEOUT: "Given up: nothing came any more",
    How.CUT: "The capture ends here; the stream may have gone on",
    How.UNKNOWN: "The capture ends; how the connection did is not recorded",
}
HOWS = {
    How.EOF: "then closed",
    How.RESET: "then reset",
    How.TIMEOUT: "then given up",
    How.CUT: "the capture was cut off",
    How.UNKNOWN: "its end is not kept",
}
_TEXTS = frozenset({Means.TEXT, Means.THINKING, Means.REFUSAL, Means.ARGUMENTS, Means.SIGNATURE, Means.CHOICE})


def event_words(observed: ObservedEvent) -> tuple[str, str, str]:
    """Kind, words, and the text that the event adds, where it does."""
    if len(observed.deltas) == 1 and not observed.violations and observed.deltas[0].means in _TEXTS:
        # Nearly all events of a long stream.
        return observed.deltas[0].means.value, "", observed.deltas[0].text
    if any(violation.name in ("record-not-json", "http-error-body-midstream") for violation in observed.violations):
        return "malformed", "", beginning(observed.frame.data[:_RAW_READ].decode("utf-8", "replace"), _RAW_SHOWN)
    deltas = [delta for delta in observed.deltas if delta.means in _RANK]
    if not deltas:
        outside = observed.frame.framing is Framing.OTHER or not observed.frame.data
        words = ", ".join(shown(delta.name or delta.text) for delta in observed.deltas[:3] if delta.name or delta.text)
        return (
            ("comment", "", beginning(observed.frame.data[:_RAW_READ].decode("utf-8", "replace"), _RAW_SHOWN))
            if outside
            else ("other", words, "")
        )
    lead = min(deltas, key=lambda delta: _RANK[delta.means])
    kind = "start" if lead.means is Means.ROLE else lead.means.value
    text = "".join(delta.text for delta in deltas if delta.means is lead.means) if lead.means in _TEXTS else ""
    if lead.means is Means.CALL:
        text = "".join(delta.text for delta in deltas if delta.means is Means.ARGUMENTS)
    return kind, _words(deltas, lead), text


def _words(deltas: list[Delta], lead: Delta) -> str:
    match lead.means:
        case Means.CALL:
            return ", ".join(f"{shown(delta.name) or 'without a name'}" for delta in deltas if delta.means is Means.CALL)
        case Means.FINISH:
            return shown(lead.text) or "an empty text"
        case Means.TERMINAL:
            finish = next((f", finish {shown(delta.text)}" for delta in deltas if delta.means is Means.FINISH), "")
            return f"{shown(lead.text)}{finish}{', usage' if any(delta.means is Means.USAGE for delta in deltas) else ''}"
        case Means.ERROR:
            return shown(lead.text)
        case Means.USAGE:
            return usage_words(lead.value or {})
        case Means.CHOICE:
            return f"delta of {lead.name}"
        case _:
            return ""


def usage_words(usage: Mapping[str, object]) -> str:
    """Token counts in words: what came in and what went out. Durations, which are among them in some protocols, are left out."""
    counts = {
        name: value for name, value in usage.items() if isinstance(value, int) and not isinstance(value, bool) and "duration" not in name
    }
    return ", ".join(f"{name.replace('_', ' ')[:40]} {value:,}" for name, value in list(counts.items())[:4])


def cell_words(kind: str, count: int, size: int, words: str, kinds: Mapping[str, int], ended: How | None) -> str:
    """A cell in one line: 17 text deltas, 412 characters."""
    if ended is not None:
        return ENDS[ended]
    if kind == "several":
        counts = ", ".join(counted(name, number) for name, number in sorted(kinds.items(), key=lambda item: -item[1])[:6])
        return f"{count:,} events: {counts}"
    if kind in ("call", "finish", "terminal", "error") and count == 1:
        return words or NAMES[kind][0]
    summary = words if kind == "choice" and words else counted(kind, count)
    return f"{summary}, {size:,} character{'s' * (size != 1)}" if size and kind not in ("comment", "malformed") else summary


def counted(kind: str, count: int) -> str:
    singular, plural = NAMES.get(kind, (kind, kind))
    return f"{count:,} {singular if count == 1 else plural}"


def when(at: float | None) -> str:
    """A time since the capture began: 0 ms, 412 ms, 3.20 s, 2:05 min."""
    if at is None:
        return ""
    if at < 1000:
        return f"{at:.1f}".removesuffix(".0") + " ms"
    if at < 120_000:
        return f"{at / 1000:,.2f} s"
    return f"{int(at // 60_000):,}:{int(at % 60_000 // 1000):02d} min"


def span_words(start: float | None, end: float | None) -> str:
    """From when to when, the unit once where it is one: 212.4–404.6 ms."""
    if start is None or end is None or end <= start:
        return when(start)
    first, last = when(start), when(end)
    unit = f" {last.rpartition(' ')[2]}"
    return f"{first.removesuffix(unit)}–{last}" if first != last else first
