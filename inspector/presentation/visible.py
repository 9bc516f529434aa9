"""Stored text made safe to show: content is hostile, and what cannot be seen must be visible."""

import re

from inspector.presentation.masking import presentable

# Controls but tab and newline, invisible and direction-changing characters, and lone surrogates.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]")
_SHOWN = bytes(code for code in range(0x80) if not _HIDDEN.match(chr(code)))
CLIP = 1500
LONGEST_CUT = 4000
"""Characters after a cut that are looked at: a secret that is longer is recognized by its beginning."""


def visible(text: str) -> str:
    """`text` with every character that would not show written as its escape; always valid to encode."""
    # Hardly a text has any, and in bytes they are found in a fifth of the time.
    if text.isascii() and not text.encode().translate(None, _SHOWN):
        return text
    return _HIDDEN.sub(_escape, text)


def folded(text: str) -> str:
    """`text` as a search compares it: visible, and without case. Texts that are put together fold to their folded parts put together."""
    return visible(text).casefold()


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def clipped(text: str, limit: int = CLIP) -> tuple[str, int]:
    """The first `limit` characters, visible, and how many were left out. Clipped by characters, so the page never jumps."""
    # Masked before it is cut: the first half of a secret is one too.
    shown = presentable(text[: limit + LONGEST_CUT])[:limit]
    return visible(shown), max(0, len(text) - limit)


def size(count: int) -> str:
    """Bytes for people: 812 B, 4.1 KB, 100.0 MB."""
    value = float(count)
    for unit in ("B", "KB", "MB"):
        if value < 1000:
            return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
