"""The rows of the lists of conversations and of problems as HTML: a page shows fifty, and as templates they took longer than all that is asked for them."""

from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from itertools import count, groupby
from typing import Any

from django import template
from django.template.defaultfilters import capfirst, truncatewords
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from inspector.models import Repair, Source
from inspector.models.problem import SEVERITIES
from inspector.presentation.conversation.ending import ACCEPTED
from inspector.presentation.conversation.verdict import PASSES, REJECTED, SILENT, UNDAMAGED, UNREADABLE, NextRequest
from inspector.presentation.visible import clipped, visible
from inspector.templatetags.show import spark, when
from inspector.views.problem_list import NEW_DAYS, REJECTED_OTHERWISE, SILENT_OTHERWISE

register = template.Library()
_TITLE, _SOURCE, _ID = 90, 40, 200
NEW = mark_safe(f' <span class="badge state-new" title="First seen in the last {NEW_DAYS} days that are shown">new</span>')  # noqa: S308 (constants)
NOTHING = mark_safe('<span class="quiet">–</span>')
CRASH = mark_safe('<span class="quiet">none: a crash file</span>')
PATH_ONLY = mark_safe(
    '<div class="caution" title="What is cut off from the path to the leaf is stored, and counted in neither number">path only</div>'
)
_REASON = 120
_DAMAGE = 200
_BADGES = 4
"""Rules of a conversation that fit in its row."""
_SOURCE_OF_PROBLEM, _WORDS_OF_SOURCE = 60, 3
_ALL_WORDS = 100


@register.simple_tag
def conversation_rows(rows: Sequence[Any], search_query: str = "") -> SafeString:
    """`search_query`: the query by which the page of a conversation shows the chunks that a search found."""
    source = cache(_source_link)
    return mark_safe("".join([_conversation(row, source(row.conversation.source), search_query) for row in rows]))  # noqa: S308 (every text goes through `escape`)


def _source_link(source: Source) -> str:
    return f'<a class="source" href="/sources/{source.oid}/">{_clipped(source.name, _SOURCE)}</a>'


def _conversation(row: Any, source: str, search_query: str) -> str:
    shown = row.conversation
    href = f"/conversations/{shown.oid}/"
    status = f" {_shown(shown.status)}" if shown.status else ""
    by = "".join(f" · {_clipped(words, _SOURCE)}" for words in (shown.model, shown.client_version) if words)
    matching = ""
    if row.matching:
        matching = f'<a href="{href}?{escape(search_query)}">{row.matching} chunk{"" if row.matching == 1 else "s"} with this text</a>'
    following = row.next_request
    outcome = CRASH if shown.is_crash else next_words(following, row.has_error)
    is_well, damage = not row.badges and not shown.refused, shown.damage
    if is_well and damage == UNDAMAGED:
        damage = ""
    # On a wide screen it has one line: what is cut off is shown over it.
    whole = f' title="{_shown(damage)}"' if damage else ""
    verdict = f'<span class="{"quiet" if is_well else "verdict"}"{whole}>{_clipped(damage, _DAMAGE)}</span> ' if damage else ""
    warns = " differs" if row.is_read_otherwise else ""
    return (
        f'<tr><td class="what"><a class="name row-link" href="{href}">{_clipped(shown.title or "Untitled", _TITLE)}</a>'
        f'<div class="quiet">{source} <span class="mono" title="{_clipped(shown.native_id, _ID)}">{_shown(shown.short_native_id)}</span>{status}{by}</div>'
        f'{matching}</td><td class="n chunks" data-label="chunks">{shown.chunk_count:,}</td>'
        f'<td class="n messages{warns}" data-label="messages stored → read">{shown.message_count:,} → {shown.read_count:,}{PATH_ONLY if row.is_cut_off else ""}</td>'
        f'<td class="next" data-label="next request">{outcome}{waiting_repair(row.waiting)}</td>'
        f'<td class="badges">{verdict}{_badges(row)}</td><td class="when" data-label="last active">{when(shown.last_activity, to_minute=True)}</td></tr>'
    )


def _badges(row: Any) -> str:
    shown, parts = row.conversation, []
    if shown.is_replaced:
        fork = f'<a href="/conversations/{row.fork.oid}/">a fork</a>' if row.fork else "a fork"
        parts.append(f'<span class="badge ok">repaired by {fork}</span>')
    if row.undone:
        parts.append(f'<span class="badge note">removed by undoing <a href="/repairs/{row.undone.oid}/">its repair</a></span>')
    elif shown.is_gone:
        parts.append('<span class="badge note">gone from the store</span>')
    if shown.refused and row.next_request.state != REJECTED and row.next_request.words != UNREADABLE:
        parts.append('<span class="badge">rejected</span>')
    # As links to the first place of each.
    at = f"/conversations/{shown.oid}/?finding="
    for badge in row.badges[:_BADGES]:
        parts.append(
            f'<a class="badge {badge.severity}" href="{at}{escape(badge.code)}" title="{escape(badge.title)}">{escape(badge.label)}</a>'
        )
    if more := row.left_out + max(0, len(row.badges) - _BADGES):
        parts.append(f'<span class="quiet">+{more}</span>')
    if not row.badges and not shown.refused:
        parts.append('<span class="badge ok">nothing found</span>')
    return " ".join(parts)


@register.simple_tag
def next_words(following: NextRequest, is_damaged: bool = False) -> SafeString:
    """What becomes of the next request, the outcome before its reason. `is_damaged`: an error is there, so that nothing is fine where it passes."""
    if not following.words:
        return NOTHING
    classes = {REJECTED: "why", SILENT: "caution", PASSES: "fine"}.get(following.state, "why" if following.words == UNREADABLE else "")
    reason = following.reason
    if is_damaged and following.state == PASSES:
        classes, reason = "", "despite the damage"
    more = f'<div class="quiet">{_clipped(reason, _REASON)}</div>' if reason else ""
    outcome, at, path = (ACCEPTED, "", "") if following.state == PASSES else following.words.partition(" at ")
    return mark_safe(f'<span class="{classes}"><b>{escape(outcome)}</b>{at}{_clipped(path, _REASON)}</span>{more}')  # noqa: S308 (every text goes through `escape`)


@register.simple_tag
def waiting_repair(repair: Repair | None) -> SafeString:
    """A link to the repair of a conversation that waits."""
    if repair is None:
        return SafeString()
    return format_html(
        '<span class="waiting"><a class="link" href="/repairs/{}/">repair {}</a> {}</span>', repair.oid, repair.oid[:6], repair.waits_for
    )


@register.simple_tag
def problem_rows(rows: Sequence[Any], first: int, summary_words: int, groups: Mapping[int, int], with_who: bool) -> SafeString:
    """Of the summary of each rule so many words in the `first` rows, and all of it below them; `with_who`: with the column of those who are assigned. `groups`: rank -> how many have it, where the rows are in that order: each begins with a heading."""
    source = cache(_source_words)
    bodies, places = [], count()
    for rank, of_rank in groupby(rows, key=lambda row: row.problem.rank if groups else -1):
        heading = _heading(rank, groups[rank], 8 + with_who) if rank in groups else ""
        shown = "".join(
            [
                _problem(row, source(row.problem.source), summary_words if next(places) < first else _ALL_WORDS, not groups, with_who)
                for row in of_rank
            ]
        )
        bodies.append(f"<tbody>{heading}{shown}</tbody>")
    return mark_safe("".join(bodies))  # noqa: S308 (every text goes through `escape`)


def _heading(rank: int, count: int, columns: int) -> str:
    kind = f"{SEVERITIES[rank // 2]}s"
    name, about = (
        (f"Other {kind}", "A program or provider reports them")
        if rank % 2
        else (
            f"{capfirst(kind)} no program reports",
            "They are noticed later, or never, and so is whatever is in a conversation whose next request goes wrong silently; "
            "a provider may reject what follows from one",
        )
    )
    return (
        f'<tr class="group"><th scope="rowgroup" colspan="{columns}" title="{about}">{name} <span class="count">{count:,}</span></th></tr>'
    )


def _source_words(source: Source) -> str:
    return escape(truncatewords(clipped(source.name, _SOURCE_OF_PROBLEM)[0], _WORDS_OF_SOURCE))


def _problem(row: Any, source: str, summary_words: int, is_mixed: bool, with_who: bool) -> str:
    problem, noun = row.problem, row.problem.noun
    about = ""
    if summary := row.shortened(summary_words):
        about = f'<div class="summary" title="{escape(capfirst(row.summary))}">{escape(summary)}</div>'
    ever = f'<span class="quiet">/{problem.total:,}</span>' if problem.total != problem.conversations else ""
    silent = ' <span class="quiet" title="No program reports it there">unreported</span>' if is_mixed and problem.silent else ""
    state = f" {_state(problem)}" if problem.state != "open" else NEW if row.is_new else ""
    if problem.fixed_at:
        state += f' <span class="badge note" title="As {_clipped(problem.fixed_by, 60)} said">fixed in code</span>'
    who = f'<span title="{_clipped(problem.assigned_to, 60)}">{escape(truncatewords(clipped(problem.assigned_to, 30)[0], 2))}</span>'
    assigned = f'<td class="who" data-label="assigned">{who if problem.assigned_to else ""}</td>' if with_who else ""
    return (
        f'<tr><td class="check"><label><input type="checkbox" name="problem" value="{problem.oid}">'
        f'<span class="sr">{escape(row.code)} in {_clipped(problem.source.name, _SOURCE)}</span></label></td>'
        f'<td class="what"><a class="name row-link" href="/problems/{problem.oid}/">{escape(row.name)}</a> '
        f'<span class="badge {row.severity}">{escape(row.code)}</span>{silent}{state}'
        f'{about}</td><td class="source">{source}</td><td class="days">{spark(row.days)}</td>'
        f'<td class="n" title="{noun.capitalize()}s{": now, and ever" if ever else ""}" data-label="occurs in">{problem.conversations:,}{ever}</td>'
        f'<td class="when" data-label="seen">{_seen(row)}</td>'
        f'<td class="next" data-label="next request">{outcome(row)}</td>'
        f'<td class="repair" data-label="repair">{repair_of(row, is_linked=False)}</td>{assigned}</tr>'
    )


def _seen(row: Any) -> str:
    """When it was last seen, and first, where that was on another day."""
    problem = row.problem
    first = when(problem.first_seen)
    return f"{when(problem.last_seen)}<div>first {first}</div>" if row.is_seen_again else first


@register.simple_tag
def outcome(row: Any) -> SafeString:
    """Of a problem: what becomes of the next request of the conversations that have it."""
    if row.silently:
        several = row.problem.conversations > 1
        words = f"{row.silently:,} wrong silently" if several else "wrong silently"
        others = row.unnoticed or (f"{row.rejected:,} rejected" if several and row.rejected else "")
        return format_html('<span class="caution">{}</span><div class="quiet">{}</div>', words, others)
    if row.unnoticed:
        return format_html(
            '<span class="caution" title="The next request passes all known rules, and nothing reports this">{}</span>', row.unnoticed
        )
    if not row.outcomes:
        return NOTHING
    if row.outcomes in (REJECTED_OTHERWISE, SILENT_OTHERWISE):
        return format_html('<span class="quiet" title="For another problem">{}</span>', row.outcomes)
    is_counted = row.outcomes != row.outcome
    classes = "why count-of" if is_counted else {REJECTED: "why", UNREADABLE: "why", "wrong silently": "caution"}.get(row.outcome, "quiet")
    title = "Conversations that have it" if is_counted else "Of the worst and newest conversation that has it"
    crashes = format_html('<div class="quiet">{}</div>', row.crash_words) if row.crash_words else ""
    return format_html('<span class="{}" title="{}">{}</span>{}', classes, title, visible(row.outcomes), crashes)


@register.simple_tag
def repair_of(row: Any, is_linked: bool = True) -> SafeString:
    """Of a problem: for how many conversations a repair waits or is written, and for how many none; where none is, what may be taken."""
    words, waiting = row.progress_words, row.waiting
    if not words:
        # What is chosen depends on what else is wrong in a conversation, and no list works that out.
        if row.consequence:
            return format_html(
                '<span class="quiet" title="Nothing repairs it alone: what repairs {} repairs its harm">see {}</span>',
                row.consequence,
                row.consequence,
            )
        if row.correction:
            return format_html('<span class="quiet" title="Corrects a copy of the capture">{}</span>', row.correction)
        if not row.repair:
            return NOTHING
        title = f"What its rule names: {' or '.join(row.repairs)}; the page of the problem says what they do here"
        # Which of several does something in a conversation, its options say.
        return format_html('<span class="quiet" title="{}">{}</span>', title, row.repair if len(row.repairs) == 1 else "options")
    if is_linked and waiting and row.problem.conversations == 1:
        return waiting_repair(waiting)
    title = f"Repair {waiting.oid[:6]} {waiting.waits_for}" if waiting else "Written to the store"
    head = format_html('<b title="{}">{}</b>', title, words)
    if is_linked and waiting:
        head = format_html('<a class="link" href="{}" title="{}">{}</a>', row.repairs_href, title, words)
    if not row.left:
        return head
    left = f"{row.left:,} left"
    more = format_html('<a class="link" href="/problems/{}/repair/">{}</a>', row.problem.oid, left) if is_linked else left
    return format_html('{}<div class="quiet">{}</div>', head, more)


def _state(problem: Any) -> str:
    named: Mapping[str, Any] = {"problem": problem}
    return render_to_string("inbox.html#state", dict(named))


def _clipped(text: str, limit: int) -> str:
    shown, left = clipped(text, limit)
    return escape(f"{shown}…" if left else shown)


def _shown(text: str) -> str:
    return escape(visible(text))
