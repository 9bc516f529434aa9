"""A page as one can hand it over: what is shown on it, and nothing that leads on, asks, sends or runs. What is not known to be harmless is left out."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlsplit


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DROPPED = _words(
    """
    script style form button select textarea template noscript dialog iframe object embed video audio canvas math applet frameset
    """
)
"""With all that is in them."""
_SHOWN = _words(
    """
    div span p nav h1 h2 h3 h4 h5 h6 section article header footer aside table caption colgroup col thead tbody tfoot tr th td ul ol li
    dl dt dd pre code b i em strong small s u mark del ins kbd samp var sub sup br hr wbr details summary figure figcaption blockquote
    time abbr cite q ruby rt rp bdi bdo a img svg g path rect circle line polyline polygon text tspan title
    """
)
_EMPTY = _words(
    """
    br hr wbr col img
    """
)
_ATTRIBUTES = _words(
    """
    class id title role lang dir open colspan rowspan scope datetime start alt tabindex data-label width height viewbox d x y x1 y1 x2
    y2 cx cy r rx ry points fill stroke stroke-width transform preserveaspectratio text-anchor
    """
)
_EMPTY_DETAILS = re.compile(r"<details[^>]*>\s*<summary[^>]*>(?:(?!</summary>).)*</summary>\s*</details>", re.DOTALL)
"""Of which only a form was the content."""
_EXACT_NAMES = {"viewbox": "viewBox", "preserveaspectratio": "preserveAspectRatio"}


@dataclass(slots=True)
class ReadOnly:
    """`styles` are the addresses of its style sheets."""

    title: str = ""
    styles: list[str] = field(default_factory=list)
    main: str = ""


def read_only(page: str, address: str, shared: str, parameters: Collection[str]) -> ReadOnly:
    """Of the page at `address` its `main`; links within the page, and those to other parts of it by `parameters` alone, lead to `shared` instead."""
    reader = _Reader(address, shared, frozenset(parameters))
    reader.feed(page)
    reader.close()
    return ReadOnly("".join(reader.title).strip(), reader.styles, _EMPTY_DETAILS.sub("", "".join(reader.main)))


class _Reader(HTMLParser):
    def __init__(self, address: str, shared: str, parameters: frozenset[str]) -> None:
        super().__init__(convert_charrefs=True)
        self.address, self.shared, self.parameters = address, shared, parameters
        self.title: list[str] = []
        self.styles: list[str] = []
        self.main: list[str] = []
        self.is_title = False
        self.depth = 0
        """Of `main`; 0 outside of it."""
        self.dropped: list[str] = []
        self.written: list[tuple[str, str]] = []
        """Tags that are open: as they are in the page, and as they are here."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if not self.depth:
            if tag == "title" and not self.title:
                self.is_title = True
            elif tag == "link" and given.get("rel") == "stylesheet" and given.get("href", "").startswith("/static/"):
                self.styles.append(given["href"])
            elif tag == "main":
                self.depth = 1
            return
        if self.dropped or tag in _DROPPED:
            if tag in _DROPPED:
                self.dropped.append(tag)
            return
        if tag not in _SHOWN:
            return
        name = tag
        allowed = {key: value for key, value in given.items() if key in _ATTRIBUTES or key.startswith("aria-")}
        if tag == "a":
            href = self._href(given.get("href"))
            name = "a" if href else "span"
            allowed |= {"href": href} if href else {}
            if not href and "class" in allowed:
                # It does not look like one either.
                allowed["class"] = " ".join(word for word in allowed["class"].split() if word not in ("link", "btn"))
        if tag == "img":
            source = given.get("src", "")
            if not source.startswith("data:image/"):
                return
            allowed["src"] = source
        words = "".join(f' {_EXACT_NAMES.get(key, key)}="{escape(value)}"' for key, value in allowed.items())
        self.main.append(f"<{name}{words}>")
        if tag not in _EMPTY:
            self.written.append((tag, name))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _EMPTY:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "title" and not self.depth:
            self.is_title = False
        if not self.depth:
            return
        if self.dropped:
            if tag == self.dropped[-1]:
                self.dropped.pop()
            return
        if tag == "main":
            self._close_to(0)
            self.depth = 0
            return
        for place in range(len(self.written) - 1, -1, -1):
            if self.written[place][0] == tag:
                self._close_to(place)
                return

    def handle_data(self, data: str) -> None:
        if self.is_title:
            self.title.append(data)
        elif self.depth and not self.dropped:
            self.main.append(escape(data, quote=False))

    def _close_to(self, place: int) -> None:
        while len(self.written) > place:
            self.main.append(f"</{self.written.pop()[1]}>")

    def _href(self, href: str | None) -> str:
        """Where it leads here; "" where it may lead nowhere."""
        if not href:
            return ""
        if href.startswith("#"):
            return href
        try:
            parts = urlsplit(href)
        except ValueError:
            return ""
        pairs = parse_qsl(parts.query, keep_blank_values=True)
        is_own = not parts.scheme and not parts.netloc and parts.path in ("", self.address)
        if not is_own or any(name not in self.parameters for name, _ in pairs):
            return ""
        return self.shared + (f"?{parts.query}" if parts.query else "") + (f"#{parts.fragment}" if parts.fragment else "")
