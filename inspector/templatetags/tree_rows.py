"""The rows of a session's tree as HTML: they are folded on most pages, and as templates they took longer than all that is seen."""

from html import escape
from typing import Any

from django import template
from django.utils.safestring import SafeString, mark_safe

from inspector.presentation.clock import moment
from inspector.presentation.tree.missing_results import NO_RESULT
from inspector.presentation.tree.model import LIVE
from inspector.presentation.tree.view import PlacedMark, Rails, TreeRow
from inspector.presentation.visible import clipped, visible
from inspector.templatetags.show import query

register = template.Library()
_LEAF, _MARK = 40, 300
"""Characters of what an address calls a leaf, and of what a mark says."""


@register.simple_tag(takes_context=True)
def tree_rows(context: dict[str, Any]) -> SafeString:
    """The rows of `tree`."""
    see, live = context["tree"].see, "chosen" if context["tree"].chosen else LIVE
    return mark_safe("".join([_row(context, see, live, row) for row in context["tree"].rows]))  # noqa: S308 (every text of a store goes through `escape`)


def _row(context: dict[str, Any], see: str, live: str, row: TreeRow) -> str:
    """`live` is what the path is called."""
    shape, words = row.shape, live if row.state_words == LIVE else row.state_words
    states = f"{' the-leaf' if row.is_leaf else ''}{' summarized' if row.is_summarized else ''}{' damaged' if shape == 'cross' else ''}"
    lines = f"{row.node.line}–{row.last_line}" if row.folded else f"{row.node.line}"
    if row.seq:
        lines = f'<a href="{_query(context, at=row.seq, tree=None, unfold=None)}#seq-{row.seq}" title="In the timeline">{lines}</a>'
    at = f'<span class="at">{moment(row.at)}</span>' if row.at else ""
    return (
        f'<tr id="tree-{row.node.index}" class="{"-".join(row.state.split())} {row.letter}{states}">'
        f'<td class="rail">{_rails(row.rails, shape, row.is_leaf)}</td><td class="state">{words}</td>'
        f'<td class="entry" data-said="{words}">{_folded(context, row) if row.folded else _entry(context, see, row)}</td>'
        f'<td class="n line">{lines}{at}</td></tr>'
    )


def _rails(rails: Rails, shape: str, is_leaf: bool) -> str:
    x = rails.x
    parts = [f'<line class="{style}" x1="{at}" x2="{at}" y1="0" y2="100%" />' for at, style in rails.passing]
    if rails.above:
        parts.append(f'<line class="{rails.above}" x1="{x}" x2="{x}" y1="0" y2="14" />')
    if rails.curve:
        parts.append(f'<path class="{rails.curve_style}" d="{rails.curve}" />')
    if rails.below:
        parts.append(f'<line class="{rails.below}" x1="{x}" x2="{x}" y1="14" y2="100%" />')
    if shape == "cross":
        parts.append(f'<path class="cross" transform="translate({x} 14)" d="M-4 -4L4 4M-4 4L4 -4" />')
    elif shape == "fold":
        parts.append(f'<rect class="fold" x="{x - 3}" y="8" width="6" height="12" />')
    else:
        parts.append(f'<circle class="{shape}" cx="{x}" cy="14" r="{"5.5" if is_leaf else "4"}" />')
    return (
        f'<svg class="room" width="{rails.width}" height="1" aria-hidden="true"></svg>'
        f'<svg class="drawn" width="{rails.width}" aria-hidden="true">{"".join(parts)}</svg>'
    )


def _folded(context: dict[str, Any], row: TreeRow) -> str:
    of_branch = "branch of " if row.leaves else ""
    leaves = f", {row.leaves:,} {'leaf' if row.leaves == 1 else 'leaves'}" if row.leaves else ""
    address = f"{_query(context, unfold=row.node.index)}#tree-{row.node.index}"
    link = f'<a class="folded" href="{address}" title="Show each of them">{of_branch}{row.folded:,} entries{leaves}</a>'
    return f'{link} <span class="quiet">{_shown(row.words)}</span>'


def _entry(context: dict[str, Any], see: str, row: TreeRow) -> str:
    name = escape(clipped(row.node.shown, _LEAF)[0])
    if row.leaf:
        others = {"tree": None, "unfold": None, "at": None, "from": None, "finding": None, "step": None}
        address = _query(context, leaf=row.leaf, **others)
        id_ = f'<a class="id" href="{address}#tree" title="Read the path to this entry">{name}</a>'
    else:
        id_ = f'<span class="id" title="No program can end its path here">{name}</span>'
    tags = "".join(
        f'<span class="badge {"ok" if row.is_leaf and not number else "note"}">{_shown(tag)}</span> ' for number, tag in enumerate(row.tags)
    )
    marks = "".join(_mark(context, see, noted) for noted in row.marks)
    return f'<b class="what">{_shown(row.what)}</b> {id_} {tags}<span class="said">{_shown(row.words)}</span>{marks}'


def _mark(context: dict[str, Any], see: str, noted: PlacedMark) -> str:
    kind = " warn" if noted.mark.kind == NO_RESULT else "" if noted.mark.is_damage else " note"
    where = ""
    if noted.to is not None:
        page = "" if noted.start is None else _query(context, tree=noted.start)
        where = f': <a class="link" href="{page}#tree-{noted.to}">{see} {noted.line}</a>'
    return (
        f'<span class="mark{" why" if noted.mark.is_damage else ""}"><span class="badge{kind}">{_shown(noted.mark.kind)}</span> '
        f"{escape(clipped(noted.mark.text, _MARK)[0])}{where}</span>"
    )


def _query(context: dict[str, Any], **changes: Any) -> str:
    return escape(query(context, **changes))


def _shown(text: str) -> str:
    return escape(visible(text))
