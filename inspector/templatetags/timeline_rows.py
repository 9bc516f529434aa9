"""The rows of a conversation as HTML: a page shows a hundred, and as templates they took longer than everything else together."""

import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from itertools import groupby
from typing import Any
from urllib.parse import quote

from django import template
from django.template.loader import get_template
from django.utils.safestring import SafeString, mark_safe

from inspector.conversation.model import Kind
from inspector.conversation.queries import span_text
from inspector.presentation.clock import moment
from inspector.presentation.conversation.minimap import Tick
from inspector.presentation.conversation.placed import Mark, PlacedChunk, ReadCell
from inspector.presentation.conversation.timeline import Piece, SentCell, Timeline, TimelineRow
from inspector.presentation.masking import presentable
from inspector.presentation.tree.model import LOST
from inspector.presentation.tree.view import ABOVE_CUT, Offshoot, OffshootEntry, TreeView
from inspector.presentation.visible import clipped, visible
from inspector.rules.base import Severity

register = template.Library()
_TOOL, _RESULT = 80, 300
_OTHER_HALF = 90
"""Characters that the row of a call says of its result, and that of a result of its call, where the other is not the next row."""
_AS_STORED = '<span class="same" role="img" aria-label="as stored" title="as stored">=</span>'
_PATH_X, _BRANCH_X, _DOT_Y = 12, 34, 20
"""Where the rail of a tree draws the path, a branch next to it, and the dots of both, in pixels."""
_RING = f'<circle class="ring" cx="{_PATH_X}" cy="{_DOT_Y}" r="5"/>'
_CROSS = f'<path class="cross" transform="translate({_PATH_X} {_DOT_Y})" d="M-4 -4L4 4M-4 4L4 -4"/>'
"""An entry that a cut hides from the path, and a line that no program reads."""
_BRANCHES_SHOWN = 3
"""Branches that leave the path at one entry and have rows of their own; the tree has the others."""
_READ_KEY = '<span class="line-key" title="Messages as read; of another color where they are merged">read</span>'
_ROLES = {"u": "user", "a": "assistant", "t": "tool", "s": "system", "c": "entry"}
_REJECTED = (
    (True, " mine", "rejected", "The chosen profile rejects the history from here"),
    (False, "", "others reject", "The chosen profile does not reject it here, and others do"),
)
_LEAF = ' <span class="badge note">leaf</span>'
_CONTINUED = ' <span class="quiet">continued</span>'
_PLAIN = (Kind.TEXT, Kind.TOOL_CALL, Kind.TOOL_RESULT, Kind.CONTROL)
"""Kinds that a row shows by its words: a call by the name of its tool, and both by the way to the other half; a control entry is called an entry."""
_PROSE = (Kind.TEXT, Kind.THINKING)
"""Kinds whose words are Markdown, mostly."""
_CODE = re.compile(
    r"^ {0,3}(?P<fence>```+|~~~+)[^`\n]*+(?:\n(?!\s{0,3}(?P=fence))[^\n]*+)*+(?:\n\s{0,3}(?P=fence)[^\n]*+\n?+)?+|(?<!`)`[^`\n]{1,200}+`(?!`)",
    re.MULTILINE,
)
"""A block of code in its fence, to the end of the text where that is cut off, and code in a line."""
_JSON = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|(-?\b\d[\d.eE+-]*)|\b(true|false|null)\b')


@register.simple_tag(takes_context=True)
def timeline_rows(context: Mapping[str, Any]) -> SafeString:
    """The rows of `page`, each followed by what the reader inserts there."""
    page = context["page"]
    writer = _Rows(
        timeline=page.timeline,
        address=f"/conversations/{page.row.oid}/",
        query=_other_choices(context),
        revision=page.choice.revision,
        find=page.choice.find,
        known=page.selected.finding.message if page.selected else "",
        read_severity=page.overview.read_severity,
        has_ledger=page.overview.ledger is not None,
        tree=page.tree,
        is_from_first=not (page.before or page.filtered),
        branch_query=_other_choices(context, "leaf", "tree", "unfold", "step"),
    )
    return mark_safe(writer.html())  # noqa: S308 (every text of a store goes through `_shown` or `escape`)


@register.simple_tag(takes_context=True)
def overview_map(context: Mapping[str, Any]) -> SafeString:
    """The minimap of `page`. A click on it leads to that place, by script: rows and findings have the links."""
    page, query = context["page"], _other_choices(context)
    shapes = "".join(f'<path class="{shape.classes}" d="{shape.path}"/>' for shape in page.overview.minimap.shapes)
    parts = "".join(_map_part(tick, "part", 8, 26, f"from seq {tick.seq}") for tick in page.overview.minimap.links)
    findings = "".join(_map_part(tick, "part", 0, 8, f"finding at seq {tick.seq}") for tick in page.overview.minimap.findings)
    refusals = "".join(
        _map_part(
            refusal.tick,
            f"refusal{' mine' if is_mine else ''}",
            0,
            34,
            f"rejected from seq {refusal.seq} by {', '.join(refusal.profiles)}",
        )
        for refusal, is_mine in _refusals(page)
    )
    return mark_safe(  # noqa: S308 (numbers, and names of our own)
        f'<figure class="map severity {page.overview.read_severity}"><svg class="strip" viewBox="0 0 1000 34" preserveAspectRatio="none" role="img" aria-label="Overview of '
        f'{page.overview.chunks:,} chunks" data-map="?{query}">{shapes}{parts}{findings}{refusals}</svg>'
        f'<figcaption class="legend severity {page.overview.read_severity}">{_thinking_key(page)}{_READ_KEY}</figcaption></figure>'
    )


@register.simple_tag
def legend_of_map(page: Any) -> SafeString:
    """What the colors and marks of the minimap say."""
    drawn = {shape.classes for shape in page.overview.minimap.shapes}
    letters = {classes.split()[0] for classes in drawn}
    keys = "".join(f'<span class="{letter} key">{role}</span>' for letter, role in _ROLES.items() if letter in letters) + _thinking_key(
        page
    )
    keys += "".join(
        f'<span class="finding-key severity {severity}">{severity}</span>' for severity in Severity if f"severity {severity}" in drawn
    )
    keys += _READ_KEY
    keys += "".join(
        f'<span class="refusal-key{classes}" title="{title}">{words}</span>'
        for is_mine, classes, words, title in _REJECTED
        if any(is_mine is own for _, own in _refusals(page))
    )
    return mark_safe(f'<p class="legend severity {page.overview.read_severity}"><b>Overview</b>{keys}</p>')  # noqa: S308 (names of our own)


def _thinking_key(page: Any) -> str:
    is_drawn = any(shape.classes.endswith(" dim") for shape in page.overview.minimap.shapes)
    return '<span class="a dim key">thinking</span>' if is_drawn else ""


def _refusals(page: Any) -> list[tuple[Any, bool]]:
    """Each with whether it is of the chosen profile: what other providers say is no error of this conversation."""
    return [(refusal, page.choice.profile in refusal.profiles) for refusal in (page.profiles.refusals if page.profiles else ())]


def _map_part(tick: Tick, kind: str, top: int, height: int, title: str) -> str:
    return f'<rect class="{kind}" data-at="{tick.seq}" x="{tick.x}" y="{top}" width="{tick.width}" height="{height}"><title>{title}</title></rect>'


def _other_choices(context: Mapping[str, Any], *more: str) -> str:
    """The query of the page but for its place, and `more`, ready to have a parameter added."""
    params = context["request"].GET.copy()
    for name in ("at", "from", "finding", *more):
        params.pop(name, None)
    query = params.urlencode()
    return escape(f"{query}&") if query else ""


def _shown(text: str) -> str:
    return escape(visible(text))


def _line(text: str) -> str:
    """The beginning of a text on one line. Masked before it is one: what makes a secret one may be in the line before."""
    shown, left = clipped(" ".join(presentable(text).split()), _OTHER_HALF)
    return f"{escape(shown)}{'…' if left else ''}"


class _Rows:
    """Writes the rows of one page. `known`: the sentence that the page says of its finding, which no cell says again; `find`: what was searched."""

    def __init__(
        self,
        *,
        timeline: Timeline,
        address: str,
        query: str,
        revision: int,
        find: str,
        known: str,
        read_severity: str,
        has_ledger: bool,
        tree: TreeView | None,
        is_from_first: bool,
        branch_query: str,
    ) -> None:
        self._timeline, self._address, self._revision, self._known = timeline, address, revision, known
        self._has_ledger, self._is_tree, self._read_severity = has_ledger, tree is not None, read_severity
        self._query, self._branch_query = query, branch_query
        self._find = re.compile(re.escape(visible(find)), re.IGNORECASE) if find else None
        self._day = ""
        self._msg_idx: int | None = None
        self._worst = Severity.WARNING
        self._lost = tree if tree and tree.lost and is_from_first else None
        self._begins = is_from_first and not self._lost
        self._is_chosen = bool(tree and tree.chosen)
        self._leaf_line = tree.leaf.line if tree and tree.leaf else None
        self._led = tree.rebased if tree else {}
        self._offshoots: dict[int, list[Offshoot]] = {}
        for offshoot in tree.offshoots if tree else ():
            self._offshoots.setdefault(offshoot.seq, []).append(offshoot)
        # Of a number that occurs twice the first, as a link leads there.
        self._places = {row.chunk.seq: place for place, row in reversed(list(enumerate(timeline.rows)))}
        self._branch_rows = [self._branches_at(place) for place in range(len(timeline.rows))]
        self._covered = {"true": 0, "read": 0, "sent": 0}
        """By column, how many of the next rows the cell above them spans."""
        self._above: dict[str, Piece | None] = {"read": None, "sent": None}
        """By column, the piece of the row above, where its merged message goes on below it."""
        self._sent_label = ""
        self._reasons = set[str]()
        """Those that a row says of what is lost on the way."""

    def html(self) -> str:
        parts: list[str] = [self._cut()]
        for place, row in enumerate(self._timeline.rows):
            if severities := {severity for _, severity in (*row.chunk.badges, *row.chunk.read_badges)}:
                self._worst = next((severity for severity in Severity if severity in severities), Severity.WARNING)
            parts.append(self._row(place, row))
            parts += [self._rest_of_row(branch, "not read", "not sent") for branch in self._branch_rows[place]]
            parts += map(self._inserted, row.inserted)
        parts += map(self._inserted, self._timeline.inserted_at_end)
        return "".join(parts)

    def _row(self, place: int, row: TimelineRow) -> str:
        chunk = row.chunk
        turn = self._turn(row.turn) if row.turn else ""
        badges = "".join(self._badge(mark, chunk.seq) for mark in chunk.badges)
        departs = (
            f'<span class="departs severity {self._read_severity}" title="From here on">{chunk.departs}</span>' if chunk.departs else ""
        )
        began = f"; turn began {moment(chunk.at)}" if chunk.at is not None else ""
        address = f"{self._address}chunks/{chunk.position}/?rev={self._revision}"
        kind = "" if chunk.kind == Kind.TEXT else f'<span class="{"sr" if chunk.kind in _PLAIN else "kind"}">{chunk.kind}</span>'
        # Once for a message: its other chunks are of the same role.
        role = f'<b class="role{"" if row.bracket else " sr"}">{escape(chunk.role_shown)}</b>'
        leaf = f' <span class="badge ok">{"chosen" if self._is_chosen else "live"} leaf</span>' if self._is_leaf(place) else ""
        return (
            f'<tr id="seq-{chunk.seq}" class="{row.classes}"><td class="mark">{turn}{badges}{departs}</td>{self._rail(place)}'
            f'<td class="seq"><a href="{address}" title="The whole row, as JSON and bytes{began}">{chunk.seq}</a></td>'
            f'{self._index(chunk, bool(row.bracket))}<td class="who">{role}{kind}</td>'
            f'<td class="stored">{self._stored(chunk, address)}{leaf}{self._gap(place)}</td>{self._ledger(chunk)}'
            + self._cell("true", place, row.bracket, '<i title="one message, as appended"></i>')
            + self._message("read", place, row.read, row.read_piece)
            + self._message("sent", place, row.sent, row.sent_piece)
            + "</tr>"
        )

    def _cell(self, column: str, place: int, span: int, content: str) -> str:
        """A cell that spans so many rows of the timeline, and those of branches between them; "" where the cell above spans this row."""
        if not span:
            self._covered[column] -= 1
            return ""
        spanned = span + sum(map(len, self._branch_rows[place : place + span - 1]))
        self._covered[column] = spanned - 1
        return f'<td class="{column}" rowspan="{spanned}">{content}</td>'

    def _message(self, column: str, place: int, cell: ReadCell | SentCell | None, piece: Piece | None) -> str:
        """One cell for all rows of a message; of a merged one a cell for each row, with what became of that row in it."""
        words = "" if cell is None else self._read(cell) if isinstance(cell, ReadCell) else self._sent(cell)
        if piece is None:
            return self._cell(column, place, cell.span if cell else 0, words)
        self._above[column] = None if piece.is_last else piece
        chunk = self._timeline.rows[place].chunk
        states = (("changed", piece.is_changed), ("begins", cell), ("more", piece.repeats), ("ends", piece.is_last))
        bar = f'<i class="{chunk.role_letter}{" lost" if piece.lost else ""}"></i>'
        content = f"{bar}{words}{self._became(piece, chunk, is_first=cell is not None)}"
        return f'<td class="{column}">{self._box(column, piece, "".join(f" {name}" for name, is_so in states if is_so), content)}</td>'

    def _box(self, column: str, piece: Piece, states: str = "", words: str = "") -> str:
        severity = f" severity {self._read_severity}" if column == "read" else ""
        return f'<div class="msg {piece.letter} merged{severity}{states}">{words}</div>'

    def _became(self, piece: Piece, chunk: PlacedChunk, is_first: bool) -> str:
        """Where a row went, and as what: to be seen at the first of the rows of a stored message that the same became of."""
        hidden = " sr" if piece.repeats else ""
        if piece.lost:
            reason = "" if piece.repeats else self._why_lost(chunk.kind, piece.lost)
            return f'<p class="why{hidden}" title="{_shown(piece.lost)}">lost{reason}</p>'
        # The first row has the name of the message above.
        name = "" if is_first else _shown(piece.label)
        role = f' <span class="why">→ {_ROLES.get(piece.letter, "another role")}</span>' if piece.has_other_role else ""
        seams = "".join(_seam(seam.letter, seam.seq, seam.text, seam.left) for seam in piece.seams)
        head = f'<p class="quiet{hidden}">{name}{role}</p>' if name or role else ""
        return head + (f'<div class="seams">{seams}</div>' if seams else "")

    def _why_lost(self, kind: str, why: str) -> str:
        """The reason without its kind, which the row says, where no row above says the same."""
        reason = why.removeprefix(f"{kind} ")
        is_new = reason not in self._reasons
        self._reasons.add(reason)
        return f": {_shown(reason)}" if is_new else ""

    def _is_leaf(self, place: int) -> bool:
        """Whether the path ends with this row."""
        rows = self._timeline.rows
        is_of_leaf = self._leaf_line is not None and rows[place].chunk.line == self._leaf_line
        return is_of_leaf and (place + 1 == len(rows) or rows[place + 1].chunk.line != self._leaf_line)

    def _rail(self, place: int) -> str:
        """Of a row of the path: its line, and at the first chunk of an entry a dot."""
        if not self._is_tree:
            return ""
        rows, is_leaf = self._timeline.rows, self._is_leaf(place)
        above = "led" if self._is_led(place) else "live"
        below = "led" if self._is_led(place + 1) else "live"
        line = "" if self._begins and place == 0 else _line_of_rail(_PATH_X, above, 0, _DOT_Y)
        line += "" if is_leaf else _line_of_rail(_PATH_X, below, _DOT_Y)
        if is_leaf and self._branch_rows[place]:
            line += _line_of_rail(_PATH_X, "other", _DOT_Y)
        dot = f'<circle class="{"leaf" if is_leaf else "dot"}" cx="{_PATH_X}" cy="{_DOT_Y}" r="{7 if is_leaf else 5}"/>'
        is_first = place == 0 or rows[place - 1].chunk.line != rows[place].chunk.line
        return _rail_cell(line + (dot if is_first or is_leaf else ""))

    def _is_led(self, place: int) -> bool:
        """Whether a row begins an entry to which the reader goes on although its parent is in no line."""
        rows = self._timeline.rows
        return place < len(rows) and rows[place].chunk.seq in self._led

    def _gap(self, place: int) -> str:
        why = self._led.get(self._timeline.rows[place].chunk.seq)
        return "" if why is None else f' <span class="badge warning" title="{_shown(why)}">parent missing</span>'

    def _cut(self) -> str:
        """Before the first row of the path: what damage hides above it, down to the line that cuts it off."""
        tree = self._lost
        if tree is None:
            return ""
        rail = _line_of_rail(_PATH_X, "cut")
        last = sum(entry.state == LOST for entry in tree.above_cut)
        words = f"{tree.lost:,} {'entry' if tree.lost == 1 else 'entries'} lost above this cut{f'; the last {last}:' if 0 < last < tree.lost else ''}"
        link = f'<a class="link" href="#tree" title="All of them, in the tree">{words}</a>'
        rows = [self._rest_of_row(f'<tr class="offshoot cut">{_between(rail, "", "", "", link)}', "", "")]
        unread = [entry for entry in tree.above_cut if entry.state != LOST]
        for entry in tree.above_cut:
            if entry in unread[:-ABOVE_CUT]:
                continue
            is_leaf = visible(entry.node.key) == tree.lost_leaf
            address = f"?{self._branch_query}leaf={quote(tree.lost_leaf, safe='')}" if is_leaf else ""
            there, title = f"{address}&amp;at={entry.seq}#seq-{entry.seq}", "Read, judge and repair the path to it"
            act = f' <a class="link" href="{there}" title="{title}">read the path to it</a>' if is_leaf else ""
            note = f'<span class="quiet">{"lost" if entry.state == LOST else "no program reads it"}</span>'
            drawn, letter = (_RING, entry.letter) if entry.state == LOST else (_CROSS, f"{entry.letter} broken")
            row = _entry_row(entry, rail + drawn, note, address, act, f'class="offshoot {letter}" id="seq-{entry.seq}"')
            rows.append(self._rest_of_row(row, "not read", "not sent"))
        return "".join(rows)

    def _branches_at(self, place: int) -> list[str]:
        """The rows of the branches that leave the path after a row, up to what was read and sent: each with its first entry, and with its leaf."""
        chunk = self._timeline.rows[place].chunk
        offshoots, result = self._offshoots.get(chunk.seq, []), self._result_next_to(chunk)
        rows = []
        for offshoot in offshoots[:_BRANCHES_SHOWN]:
            first, last = offshoot.first, offshoot.last
            is_end = self._is_leaf(place) and offshoot is offshoots[-1]
            path = "" if is_end else _line_of_rail(_PATH_X, "other" if self._is_leaf(place) else "live")
            address = f"?{self._branch_query}leaf={quote(offshoot.leaf, safe='')}" if offshoot.leaf else ""
            words = f"other branch{f', {offshoot.entries:,} entries' if last else ''}"
            note = f'<span class="quiet">{words}</span>' if address else f'<a class="link" href="#tree-{first.node.index}">{words}</a>'
            act = f' <a class="link" href="{address}" title="Read, judge and repair the path to it">read this branch</a>' if address else ""
            call = f" {self._link_to_call(chunk.seq)}" if first is result else ""
            curve = f'{path}<path d="M{_PATH_X} 0C{_PATH_X} 14 {_BRANCH_X - 10} {_DOT_Y} {_BRANCH_X} {_DOT_Y}"/>'
            rows.append(_branch_row(first, curve, note, address, call if last else call + act, not last))
            if last:
                rows.append(_branch_row(last, f"{path}{_line_of_rail(_BRANCH_X, 'other', 0, _DOT_Y)}", "", address, act, is_leaf=True))
        if len(offshoots) > _BRANCHES_SHOWN:
            words = f'<a class="link" href="#tree">+{len(offshoots) - _BRANCHES_SHOWN:,} other branches</a>'
            rows.append(f'<tr class="offshoot">{_between(_line_of_rail(_PATH_X, "live"), "", "", "", words)}')
        return rows

    def _rest_of_row(self, row: str, read: str, sent: str) -> str:
        """A row that is no chunk of the path, with the cells that no cell above it spans."""
        parts = [row, '<td class="ledger"></td>' if self._has_ledger else ""]
        for column, words in (("true", ""), ("read", read), ("sent", sent)):
            if piece := self._above.get(column):
                parts.append(f'<td class="{column}">{self._box(column, piece, " more")}</td>')
            elif self._covered[column]:
                self._covered[column] -= 1
            else:
                parts.append(
                    f'<td class="{column}">{f"""<div class="msg lost"><p class="quiet">{words}</p></div>""" if words else ""}</td>'
                )
        return f"{''.join(parts)}</tr>"

    def _turn(self, words: str) -> str:
        """When a turn began, or which one it is where that is not known; the day only where that is another than before."""
        number, _, began = words.partition(" · ")
        day, _, clock = began.rpartition(" ")
        if not clock[:1].isdecimal():
            return f'<span class="turn-time" title="{escape(words)}">{escape(number)}</span>'
        shown = clock if day == self._day else f"{day}<br>{clock}"
        self._day = day
        return f'<span class="turn-time" title="{escape(words)}"><span class="sr">{escape(number)} </span>{shown}</span>'

    def _index(self, chunk: PlacedChunk, is_first: bool) -> str:
        """The number of a message is at its first chunk only, and at each that says another."""
        if self._is_tree:
            return f'<td class="idx">{"–" if chunk.line is None else chunk.line}</td>'
        is_same = not is_first and chunk.msg_idx == self._msg_idx
        self._msg_idx = chunk.msg_idx
        message = f'<span class="sr">{chunk.msg_idx}</span>' if is_same else "–" if chunk.msg_idx is None else chunk.msg_idx
        return f'<td class="idx">{message}</td><td class="idx">{"–" if chunk.chunk_idx is None else chunk.chunk_idx}</td>'

    def _badge(self, mark: Mark, seq: int | None) -> str:
        code, severity = mark
        place = "#finding" if seq is None else f"#seq-{seq}"
        return f'<a class="badge {severity}" href="?{self._query}finding={quote(code)}{"" if seq is None else f"&amp;at={seq}"}{place}">{escape(code)}</a> '

    def _stored(self, chunk: PlacedChunk, address: str) -> str:
        change = f'<p class="change">model changed: {_shown(chunk.model_change)}</p>' if chunk.model_change else ""
        if chunk.kind == Kind.TOOL_CALL:
            name, arguments = clipped(chunk.tool_name, _TOOL)[0], visible(chunk.arguments)
            words = f'<b>{self._marked(name)}</b> <span class="hl words">{self._marked(arguments, _highlighted)}</span>'
            is_marked = self._find is None or bool(self._find.search(name) or self._find.search(arguments))
            left = chunk.arguments_left
        elif chunk.words:
            text = visible(chunk.words)
            words, left = (
                f'<span class="words">{self._marked(text, with_code if chunk.kind in _PROSE else escape)}</span>',
                chunk.words_left,
            )
            is_marked = self._find is None or bool(self._find.search(text))
        else:
            words, left, is_marked = '<i class="quiet">(empty)</i>', 0, self._find is None
        more = f' <a class="link" href="{address}">… {left:,} characters more</a>' if left else ""
        unseen = "" if is_marked else ' <span class="quiet">the match is in the part of the row that is not shown here</span>'
        return f"{change}{words}{more}{unseen}{self._notes(chunk) if chunk.has_notes else ''}"

    def _marked(self, text: str, otherwise: Any = escape) -> str:
        """With every match of the search in a `mark`; `otherwise` writes a text without any."""
        if self._find is None or not self._find.search(text):
            return str(otherwise(text))
        parts, end = [], 0
        for match in self._find.finditer(text):
            parts += [escape(text[end : match.start()]), f"<mark>{escape(match[0])}</mark>"]
            end = match.end()
        return "".join(parts) + escape(text[end:])

    def _severity(self, chunk: PlacedChunk) -> str:
        """Classes by which words have the color of the worst that is found at the chunk. A finding has its badge at the first of its chunks only."""
        return f"severity {self._worst if chunk.is_marked else Severity.WARNING}"

    def _notes(self, chunk: PlacedChunk) -> str:
        """What a row says next to its words: an error, a synthetic result, and where the other half of a call is."""
        notes = ' <span class="badge warn">error</span>' if chunk.is_error else ""
        if chunk.synthetic:
            notes += f' <span class="badge warn">synthetic</span> <span class="said">{escape(chunk.synthetic)}</span>'
        if chunk.partner is not None:
            return notes + self._pair(chunk, chunk.partner)
        if chunk.elsewhere and (entry := self._result_next_to(chunk)):
            link = f'<a class="pair" href="#branch-{entry.node.index}" title="result">→ {entry.seq}</a>'
            return f'{notes} {link} <span class="badge {self._severity(chunk)}">other branch</span>'
        if chunk.elsewhere:
            return f'{notes} <span class="why {self._severity(chunk)}">no result on this path:</span> <a class="pair" href="#tree-{chunk.elsewhere[0]}">{_shown(chunk.elsewhere[1])}</a>'
        if chunk.kind == Kind.TOOL_CALL:
            return f'{notes} <span class="why {self._severity(chunk)}">no result stored</span>'
        return notes + (f' <span class="why {self._severity(chunk)}">no call stored</span>' if chunk.kind == Kind.TOOL_RESULT else "")

    def _result_next_to(self, chunk: PlacedChunk) -> OffshootEntry | None:
        """Of a call, its result where that begins one of the branches that have rows below it."""
        entries = (offshoot.first for offshoot in self._offshoots.get(chunk.seq, [])[:_BRANCHES_SHOWN])
        return next((entry for entry in entries if chunk.elsewhere and entry.node.index == chunk.elsewhere[0]), None)

    def _link_to_call(self, seq: int) -> str:
        href = f"#seq-{seq}" if seq in self._places else f"?{self._query}at={seq}#seq-{seq}"
        return f'<a class="pair" href="{href}">← call {seq}</a>'

    def _pair(self, chunk: PlacedChunk, partner: int) -> str:
        place, is_here = self._places.get(chunk.seq), partner in self._places
        is_next = is_here and place is not None and abs(self._places[partner] - place) == 1
        href = f"#seq-{partner}" if is_here else f"?{self._query}at={partner}#seq-{partner}"
        if chunk.kind != Kind.TOOL_CALL:
            call = self._timeline.rows[self._places[partner]].chunk if is_here and not is_next else None
            words = _line(f"{call.tool_name} {call.arguments}") if call else _line(chunk.tool_name) if not is_here else ""
            link = self._link_to_call(partner)
            return f'<p class="half">{link} <span class="said">{words}</span></p>' if words else f" {link}"
        state, words = chunk.result or ("", "")
        badge = f' <span class="badge {"ok" if state == "ok" else "warn"}">{state}</span>' if state else ""
        link = f'<a class="pair" href="{href}" title="result">→ {partner}</a>{badge}'
        first = _line(words)
        if is_next or not first:
            return f" {link}"
        if is_here:
            return f'<p class="half">{link} <span class="said">{first}</span></p>'
        return (
            f'<details class="fused"><summary>→ {partner}{badge} <span class="said">{first}</span></summary><span class="words">{_shown(words)}</span> '
            f'<a class="pair" href="{href}">go to seq {partner}</a></details>'
        )

    def _ledger(self, chunk: PlacedChunk) -> str:
        if not self._has_ledger:
            return ""
        runs = "".join(get_template("chunks/run.html").render({"run": run}) for run in chunk.ledger)
        return f'<td class="ledger">{runs}</td>'

    def _read(self, cell: ReadCell) -> str:
        label, _, role = _shown(cell.label).partition(" · ")
        same = f"{_AS_STORED} " if cell.is_as_stored else ""
        count = f' title="{cell.count:,} chunks"' if cell.merged else ""
        name = f"<b>{label}</b>" if same or not role else f"<b{count}>{label} · {role}</b>"
        continued = _CONTINUED if cell.continued else ""
        badges = "".join(f" {self._badge(mark, None)}" for mark in cell.badges)
        # What a badge leads to is said by its finding; here it is on hover.
        hint = f' title="{_shown(cell.why)}"' if badges and cell.why and cell.why != self._known else ""
        needs_words = cell.why and cell.why != self._known and not hint
        why = f'<p class="{"quiet" if cell.lost else "why"}">{_shown(cell.why)}</p>' if needs_words else ""
        words = f'<div class="content"{hint}>{same}{name}{continued}{badges}{why}</div>'
        states = f"{' lost' if cell.lost else ''}{' left-out' if cell.is_left_out else ''}"
        states += f" severity {self._read_severity}" if needs_words or cell.is_left_out else ""
        return words if cell.merged else f'<div class="msg {cell.letter}{states}">{words}</div>'

    def _sent(self, cell: SentCell) -> str:
        if cell.nothing:
            return f'<div class="msg lost {cell.letter}" title="{_shown(cell.nothing)}"><p class="quiet">not sent</p></div>'
        label, _, role = _shown(cell.label).partition(" · ")
        same = f"{_AS_STORED} " if cell.is_as_stored else ""
        name = f"<b>{label}</b>" if same or not role else f"<b>{label} · {role}</b>"
        continued = _CONTINUED if cell.continued or cell.label == self._sent_label else ""
        self._sent_label = cell.label
        violations = "".join(f' <span class="badge">{escape(id_)}</span><p class="why">{_shown(text)}</p>' for id_, text in cell.violations)
        if cell.merged:
            return f'<div class="content">{name}{continued}{violations}</div>'
        gone = "; ".join(f"{what} ({why})" for what, why in _together(cell.lost))
        reasons = "".join(dict.fromkeys(self._why_lost(kind, why) for _, kind, why in cell.lost))
        lost = f'<p class="why" title="{_shown(gone)}">{len(cell.lost)} lost: {_shown(_kinds(cell.lost))}{reasons}</p>' if cell.lost else ""
        seams = "" if same else self._seams(cell)
        states = " rejected" if cell.violations else ""
        return f'<div class="msg {cell.letter}{states}"><div class="content">{same}{name}{continued}{violations}{seams}{lost}</div></div>'

    def _seams(self, cell: SentCell) -> str:
        """The pieces of a message: of those that are sent as they are stored only where they come from."""
        parts = []
        for is_as_stored, seams in groupby(cell.seams, key=lambda seam: seam.is_as_stored):
            if is_as_stored:
                seqs = [seam.seq for seam in seams]
                count = f"{len(seqs)} chunk{'' if len(seqs) == 1 else 's'}"
                parts.append(f'<p title="as stored: seq {span_text(seqs)}">= {count}</p>')
                continue
            parts += [_seam(seam.letter, seam.seq, seam.text, seam.left) for seam in seams]
        return f'<div class="seams">{"".join(parts)}</div>' if any(parts) else ""

    def _inserted(self, cell: ReadCell) -> str:
        rail = _rail_cell(_line_of_rail(_PATH_X, "live")) if self._is_tree else ""
        index = '<td class="idx"></td>' * (1 if self._is_tree else 2)
        ledger = '<td class="ledger"></td>' if self._has_ledger else ""
        label, _, role = _shown(cell.sent_as).partition(" · ")
        name = f"<b>{label}</b>{_CONTINUED}" if cell.sent_as == self._sent_label else f"<b>{label} · {role}</b>"
        sent = f'<div class="msg {cell.letter}">{name}</div>' if cell.sent_as else ""
        self._sent_label = cell.sent_as or self._sent_label
        call = "" if cell.answers is None else f" {self._link_to_call(cell.answers)}"
        return (
            f'<tr class="synthetic"><td class="mark"></td>{rail}<td class="seq"></td>{index}<td class="who"></td>'
            f'<td class="stored quiet">not stored{call}</td>{ledger}<td class="true"></td>'
            f'<td class="read">{self._read(cell)}</td><td class="sent">{sent}</td></tr>'
        )


def _rail_cell(drawn: str) -> str:
    return f'<td class="rail"><svg width="{_BRANCH_X + 9}" aria-hidden="true">{drawn}</svg></td>'


def _line_of_rail(x: int, style: str, top: int = 0, bottom: int | str = "100%") -> str:
    return f'<line class="{style}" x1="{x}" x2="{x}" y1="{top}" y2="{bottom}"/>'


def _branch_row(entry: OffshootEntry, drawn: str, note: str, address: str, act: str, is_leaf: bool) -> str:
    """The beginning of the row of an entry on another branch, whose path has that address."""
    drawn += "" if is_leaf else _line_of_rail(_BRANCH_X, "other", _DOT_Y)
    dot = f'<circle class="ring" cx="{_BRANCH_X}" cy="{_DOT_Y}" r="{6 if is_leaf else 5}"/>'
    act = f"{_LEAF if is_leaf else ''}{act}"
    return _entry_row(entry, drawn + dot, note, address, act, f'class="offshoot {entry.letter}"')


def _entry_row(entry: OffshootEntry, drawn: str, note: str, address: str, act: str, attributes: str) -> str:
    """The beginning of the row of an entry off the path, to which the path has that address."""
    words = f'<span class="words">{_shown(entry.words)}</span>{act}'
    seq = f'<a href="{address}&amp;at={entry.seq}#seq-{entry.seq}" title="On its own path">{entry.seq}</a>' if address else str(entry.seq)
    who = f'<b id="branch-{entry.node.index}" class="role">{_shown(entry.what)}</b>{note}'
    return f"<tr {attributes}>{_between(drawn, seq, str(entry.node.line), who, words)}"


def _between(drawn: str, seq: str, line: str, who: str, words: str) -> str:
    """The cells of a row that is no chunk of the path, up to its words."""
    return f'<td class="mark"></td>{_rail_cell(drawn)}<td class="seq">{seq}</td><td class="idx">{line}</td><td class="who">{who}</td><td class="stored">{words}</td>'


def _together(lost: Iterable[tuple[int, str, str]]) -> Iterator[tuple[str, str]]:
    """What is lost on the way, and why: chunks of one kind together."""
    groups: dict[tuple[str, str], list[int]] = {}
    for seq, kind, why in lost:
        groups.setdefault((kind, why), []).append(seq)
    return ((f"seq {span_text(seqs)} {kind}", why) for (kind, why), seqs in groups.items())


def _kinds(lost: Iterable[tuple[int, str, str]]) -> str:
    return ", ".join(dict.fromkeys(kind for _, kind, _ in lost))


def _seam(letter: str, seq: int, text: str, left: int) -> str:
    if not text:
        return ""
    more = f' <i class="quiet">… {left} more</i>' if left else ""
    return f'<span class="seam {letter}" title="from seq {seq}"><span class="words">{_shown(text)}</span>{more}</span>'


def with_code(text: str) -> str:
    """The code of Markdown in the letters of code, with its marks: no character is left out, since words are evidence."""
    if "`" not in text and "~~~" not in text:
        return escape(text)
    parts, end = [], 0
    for match in _CODE.finditer(text):
        kind = ' class="block"' if match["fence"] else ""
        parts += [escape(text[end : match.start()]), f"<code{kind}>{escape(match[0])}</code>"]
        end = match.end()
    return "".join(parts) + escape(text[end:])


def _highlighted(text: str) -> str:
    """JSON with its names and values in spans; of any other text what looks like it."""
    parts, end = [], 0
    for match in _JSON.finditer(text):
        string, colon, number, word = match.groups()
        kind = "nt" if colon else "s2" if string else "mi" if number else "kc"
        parts += [escape(text[end : match.start()]), f'<span class="p-{kind}">{escape(string or number or word)}</span>', colon or ""]
        end = match.end()
    return "".join(parts) + escape(text[end:])
