"""Secrets out of a page, whatever wrote it: its text is looked at as a reader sees it, without the tags between its letters."""

import re
from bisect import bisect_left
from functools import lru_cache
from html import escape, unescape
from itertools import accumulate

from inspector.presentation.masking import mask, secrets_in
from inspector.presentation.secret_values import Span

_TAG = re.compile(r"(<[^>]*>)")
_TAG_NAME = re.compile(r"</?([a-z0-9]+)")
_WITHIN_WORDS = frozenset(("span", "mark", "b", "i", "em", "strong", "code", "a", "wbr", "var", "small", "u", "s", "del", "ins"))
"""Between letters these are nothing."""
_VALUES = frozenset(("td", "dd"))
_NAMES = frozenset(("/td", "/th", "/dt"))
"""After a name in a cell is its value: `password` and then `hunter2` are an assignment. Next to a heading is another heading."""
_ATTRIBUTE = re.compile(r"(?<= )([\w:-]+)=(\"[^\"]{6,}\"|'[^']{6,}')")
_OF_FORMS = "hx-headers"
_LONGEST_NAME, _SHORT = 12, 400
"""Characters of a tag: with a bracket and a slash; and of one that is kept."""


def masked_html(page: str) -> tuple[str, int]:
    """`page` with its secrets masked, and how many; the page itself where there is none."""
    parts = _TAG.split(page)
    tags, count = _masked_tags(parts[1::2])
    parts[1::2] = tags
    texts = list(parts)
    texts[::2] = [unescape(text) if "&" in text else text for text in parts[::2]]
    texts[1::2] = [_between(tag[:_LONGEST_NAME]) for tag in tags]
    spans = secrets_in("".join(texts))
    starts = list(accumulate(map(len, texts), initial=0)) if spans else []
    for span in reversed(spans):
        _mask_parts(parts, texts, starts, span)
    return ("".join(parts), count + len(spans)) if spans or count else (page, 0)


@lru_cache(maxsize=512)
def _between(tag: str) -> str:
    name = _TAG_NAME.match(tag)
    if name is None or name[1] in _WITHIN_WORDS:
        return ""
    whole = tag[1 : name.end()]
    return ": " if whole in _VALUES else "" if whole in _NAMES else "\n"


def _mask_parts(parts: list[str], texts: list[str], starts: list[int], span: Span) -> None:
    """Puts the mask where the secret begins, and takes the rest of it out of the parts after it. The last secret of a part first, so that places stay."""
    index = bisect_left(starts, span.start + 1) - 1
    pieces: list[tuple[int, int, int]] = []
    while index < len(parts) and starts[index] < span.end:
        first, last = max(0, span.start - starts[index]), min(len(texts[index]), span.end - starts[index])
        if first < last and index % 2 == 0:
            pieces.append((index, first, last))
        index += 1
    secret = "".join(texts[number][first:last] for number, first, last in pieces)
    for number, first, last in pieces:
        text = texts[number]
        shown = mask(secret, span.kind) if number == pieces[0][0] else ""
        texts[number] = text[:first] + shown + text[last:]
        parts[number] = escape(texts[number], quote=False)


def _quoted(tag: str) -> tuple[str, ...]:
    return tuple(value for name, value in _ATTRIBUTE.findall(tag) if name != _OF_FORMS)


_values = lru_cache(maxsize=2048)(_quoted)
"""Most tags of a page are those of every page."""


def _masked_tags(tags: list[str]) -> tuple[list[str], int]:
    """Values of attributes, each by itself: titles, links, and what is in forms."""
    values = dict.fromkeys(value for tag in dict.fromkeys(tags) if "=" in tag for value in (_values if len(tag) < _SHORT else _quoted)(tag))
    if not secrets_in("\n".join(map(unescape, values))):
        return tags, 0
    changed = {}
    for value in values:
        text = unescape(value[1:-1])
        spans = secrets_in(text)
        for span in reversed(spans):
            text = text[: span.start] + mask(text[span.start : span.end], span.kind) + text[span.end :]
        if spans:
            changed[value] = f'"{escape(text)}"'

    def replacement(match: re.Match[str]) -> str:
        return f"{match[1]}={changed.get(match[2], match[2])}" if match[1] != _OF_FORMS else match[0]

    return [_ATTRIBUTE.sub(replacement, tag) if "=" in tag else tag for tag in tags] if changed else tags, len(changed)
