"""Stored text made safe to show: content is hostile, and what cannot be seen must be visible."""

import re

from inspector.presentation.masking import presentable, secrets_in

# Controls but tab and newline, invisible and direction-changing characters, and lone surrogates.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]")
_SHOWN = bytes(code for code in range(0x80) if not _HIDDEN.match(chr(code)))
CLIP = 1500
LONGEST_CUT = 4000
"""Characters after a cut that are looked at: a secret that is longer is recognized by its beginning."""


def visible(text: str) -> str:
    """`text` with every character that would not show written as its escape; always valid to encode."""
    others = _others(text)
    return _HIDDEN.sub(_escape, text) if others and _HIDDEN.search(others) else text


def folded(text: str) -> str:
    """`text` as a search compares it: visible, and without case. Texts that are put together fold to their folded parts put together."""
    others = _others(text)
    if others and _HIDDEN.search(others):
        return _HIDDEN.sub(_escape, text).casefold()
    # The same where only letters of ASCII have a case, in a third of the time; most of what else a text has are signs.
    return text.lower() if others.casefold() == others == others.lower() else text.casefold()


def _others(text: str) -> str:
    """Its characters without those of ASCII that show: hardly a text has many, and the few are looked at in a fifth of the time of all."""
    return text.encode("utf-8", "surrogatepass").translate(None, _SHOWN).decode("utf-8", "surrogatepass")


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def clipped(text: str, limit: int = CLIP) -> tuple[str, int]:
    """The first `limit` characters, visible, and how many were left out. Clipped by characters, so the page never jumps."""
    # Masked before it is cut: the first half of a secret is one too.
    shown = presentable(text[: limit + LONGEST_CUT])[:limit]
    return visible(shown), max(0, len(text) - limit)


def beginning(text: str, limit: int) -> str:
    """The first `limit` characters at most, without a part of a secret: a part is not recognized, so it would be shown.

    Not masked: it may be kept, and is the same whether the answer reveals or not.
    """
    if len(text) <= limit:
        return text
    start = max(0, limit - _EDGE)
    spans = [span for span in secrets_in(text[start : limit + _EDGE]) if span.start < limit - start]
    # Some are recognized by what follows them: a password in a URL by its host.
    alone = secrets_in(text[start:limit]) if spans else []
    whole = {span for span in spans if any(of.start <= span.start and span.end <= of.end for of in alone)}
    return text[: min((start + span.start for span in spans if span not in whole), default=limit)]


def ending(text: str, limit: int) -> str:
    """The last `limit` characters at most, without a part of a secret, and without one whose name is left out."""
    if len(text) <= limit:
        return text
    cut = len(text) - limit
    start = max(0, cut - _EDGE)
    ends = (
        start + span.end for span in secrets_in(text[start : cut + _EDGE]) if start + span.start < cut + _NAME and start + span.end > cut
    )
    return text[max(ends, default=cut) :]


_EDGE, _NAME = 400, 60
"""Characters before and after a cut that are looked at: longer secrets are recognized by their beginning. Characters between a secret and its name."""


def size(count: int) -> str:
    """Bytes for people: 812 B, 4.1 KB, 100.0 MB."""
    value = float(count)
    for unit in ("B", "KB", "MB"):
        if value < 1000:
            return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
