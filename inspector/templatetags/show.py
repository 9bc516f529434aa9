"""How stored things are shown: text made visible, code by Pygments, times, sizes, links that keep the query."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import cache
from html import escape
from itertools import groupby
from time import time
from typing import Any
from urllib.parse import urlencode

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from pygments import highlight
from pygments.filter import Filter
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Keyword, Name, Number, String, Text

from inspector.access import permits
from inspector.conversation.model import Chunk
from inspector.conversation.queries import span_text
from inspector.models import Source, Stream
from inspector.models.loading import format_of
from inspector.planning.preview import DiffRow
from inspector.presentation import visible as text
from inspector.presentation.clock import age, moment
from inspector.presentation.conversation import row_words
from inspector.presentation.repair.alternatives import safety_words
from inspector.presentation.repair.changed_members import ChangedMember
from inspector.presentation.repair.changed_members import changed_members as _changed_members
from inspector.presentation.repair.outcomes import tone
from inspector.presentation.sparkline import HEIGHT, STEP, Sparkline
from inspector.presentation.stream import words as stream_words
from inspector.presentation.stream.marks import place_of
from inspector.profiles.catalogue import PROFILES
from inspector.programs.formats import mode_risk, mode_word
from inspector.rules.base import Finding
from inspector.rules.catalogue import RULES
from inspector.strategies.catalogue import STRATEGIES
from inspector.streams.model import How
from inspector.text import shell_words

register = template.Library()
_STOPS = 31
"""Days up to which each is a stop of the Tab key; those of a year are for the pointer, and the inbox has a field for the day."""
_STRIP, _HIGHEST = 36, 20
"""Pixels of the days of conversations, and of their highest bar."""
_NAMED_MARKS, _NAME_OF_MARK, _ROW, _CHARACTER = 4, 20, 15, 0.95
"""So many marks have their names in the chart, so long ones, in rows so high; a character takes about so many percent of its width."""
_LAST_DAY = 0.17
"""The part of the days after the last fifth begins that two days need next to each other."""
_APART = 2.5
"""Percent of the width of a chart that a letter takes."""
_SEEN_QUIET, _SEEN_WIDE = 0.4, 0.2
"""The part of the days that the words of its end need on a narrow screen, and on a wide one."""
_PLACE = re.compile(r"(?:\bseq )?\(?\b[\w.]{1,12}-\w{1,12}\b\)?")
_ISSUE = re.compile(r"([\w.-]+/[\w.-]+) #(\d+)")
_HTML = HtmlFormatter(nowrap=True, classprefix="p-")
register.filter("letter", row_words.letter)
register.filter("bytesize", text.size)
register.filter("moment", stream_words.when)
register.filter("safety", safety_words)
# Highlighting is quadratic on some hostile inputs; beyond this, plain text.
HIGHLIGHT_LIMIT = 20_000


@register.filter(name="mode_of")
def _mode_of(name: str, source: Source) -> str:
    return text.visible(mode_word(format_of(source), name))


@register.filter
def visible(value: object) -> str:
    return text.visible(str(value))


@register.filter
def with_code(value: str) -> SafeString:
    """Words of ours in which names are between backticks."""
    return mark_safe(_NAME.sub(r"<code>\1</code>", escape(text.visible(value))))  # noqa: S308 (every text goes through `escape`)


@register.filter
def with_links(value: str) -> SafeString:
    """As `with_code`, where names of strategies and codes of rules lead to their pages."""
    return mark_safe(_LINKED.sub(_link, escape(text.visible(value))))  # noqa: S308 (every text goes through `escape`)


def _link(match: re.Match[str]) -> str:
    name = match[1] or match[0]
    kind = _KINDS.get(name)
    shown = f"<code>{name}</code>" if match[1] else name
    return f'<a class="link" href="/{kind}/{name}/">{shown}</a>' if kind else shown


@register.filter
def with_options(value: str) -> SafeString:
    """As `with_code`, where the names are those of strategies: each leads to its option on the page."""
    return mark_safe(_NAME.sub(r'<a class="link" href="#strategy-\1"><code>\1</code></a>', escape(text.visible(value))))  # noqa: S308 (every text goes through `escape`)


@register.filter
def lines_after(words: str, mark: str) -> SafeString:
    """Code that breaks after a mark, such as the slash of a path, and within a word only where nothing else helps."""
    return mark_safe(escape(text.visible(words)).replace(mark, f"{mark}<wbr>"))  # noqa: S308 (escaped before)


@register.filter
def unbroken(value: str) -> SafeString:
    """Places such as `seq 1-4` and `(OC-1)` stay on one line."""
    return mark_safe(_PLACE.sub(r'<span class="place">\g<0></span>', escape(text.visible(value))))  # noqa: S308 (every text goes through `escape`)


@register.filter
def reference(value: str) -> SafeString:
    """What the catalogue of providers relies on: a link where it names an issue of a repository."""
    issue = _ISSUE.fullmatch(value)
    if issue is None:
        return format_html('<span class="mono">{}</span>', text.visible(value))
    address = f"https://github.com/{issue[1]}/issues/{issue[2]}"
    return format_html('<a class="link mono" href="{}" rel="noreferrer">{}</a>', address, value)


@register.filter
def first_sentence(value: str) -> str:
    """What a list says of a text whose own page has it whole."""
    first, dot, _ = value.partition(". ")
    return first + dot.strip()


@cache
def _provider_rules() -> dict[str, str]:
    return {rule.id: rule.summary for profile in PROFILES for rule in profile.rules}


@register.filter
def changed_members(row: DiffRow) -> tuple[ChangedMember, ...]:
    return _changed_members(row.before, row.after) if row.before is not None and row.after is not None else ()


@register.filter
def provider_rule(value: str) -> str:
    """What the rule of a provider with this id says."""
    return _provider_rules()[value]


_NAME = re.compile("`([^`]+)`")
_LINKED = re.compile(rf"{_NAME.pattern}|\b[A-Z]+\d{{3}}\b")
_KINDS = {rule.code: "rules" for rule in RULES} | {strategy.name: "strategies" for strategy in STRATEGIES}
"""What has a page of its own, and below which address."""


@register.simple_tag
def why_not(action: str, about: Any = None) -> str:
    """Why the person of this request may not do it, for a button that is disabled; "" where they may."""
    return permits.why_not(action, about)


@register.simple_tag
def why_nowhere(action: str) -> str:
    """Why the person of this request may do it on no source, for buttons of a list."""
    return permits.why_nowhere(action)


@register.filter
def clip(value: object, limit: int = text.CLIP) -> str:
    """The beginning, with an ellipsis where there is more."""
    shown, left = text.clipped(str(value), limit)
    return f"{shown}…" if left else shown


@register.filter
def cut(value: object, limit: int = text.CLIP) -> int:
    """How many characters `clip` leaves out."""
    return text.clipped(str(value), limit)[1]


@register.filter
def stored_text(value: bytes) -> str:
    """Stored bytes as text; bytes that are no UTF-8 show as escapes."""
    return value[:6000].decode("utf-8", "backslashreplace")


@register.filter
def chunk_words(chunk: Chunk | None) -> str:
    return "" if chunk is None else row_words.in_one_line(chunk)


@register.simple_tag
def two_words(before: Chunk | None, after: Chunk | None, op: str, limit: int) -> tuple[SafeString, SafeString]:
    """The beginnings of both, of a changed one with the part that differs marked."""
    one, other = (text.clipped(chunk_words(chunk), limit)[0] for chunk in (before, after))
    if op != "changed" or one == other:
        return format_html("{}", one), format_html("{}", other)
    # Masked by `clipped` already, so that no part of a secret is left by itself.
    sides = [re.findall(r"\w+|\W", side) for side in (one, other)]
    shorter = min(map(len, sides))
    head = next((at for at in range(shorter) if sides[0][at] != sides[1][at]), shorter)
    tail = next((at for at in range(shorter - head) if sides[0][-1 - at] != sides[1][-1 - at]), shorter - head)
    marked = [("".join(side[:head]), "".join(side[head : len(side) - tail]), "".join(side[len(side) - tail :])) for side in sides]
    return format_html("{}<del>{}</del>{}", *marked[0]), format_html("{}<ins>{}</ins>{}", *marked[1])


@register.filter
def synthetic(chunk: Chunk | None) -> str:
    """Why a stored result is not from a tool; "" for all others."""
    return row_words.synthetic(chunk) if chunk is not None else ""


@register.filter
def thousands(value: int) -> str:
    """20029 as 20,029."""
    return f"{value:,}"


@register.filter
def item(values: Mapping[str, str], key: str) -> str:
    return values.get(key, "")


@register.filter
def by_rule(findings: Sequence[Finding]) -> list[tuple[Finding, int]]:
    """The first finding of each rule, in the order of the codes, and how many there are of it."""
    ordered = groupby(sorted(findings, key=lambda finding: finding.code), key=lambda finding: finding.code)
    groups = [list(group) for _, group in ordered]
    return [(group[0], len(group)) for group in groups]


@register.filter
def arose_in(stream: Stream) -> str:
    """Where the worst that is found in it arose; "" where nothing but notes is found."""
    findings = stream.findings.all()
    worst = next((finding for finding in findings if finding.severity == stream.worst != "note"), None)
    if worst is None:
        return ""
    return place_of(worst.rule, [finding.side for finding in findings if finding.code == worst.code], stream.side_names).name


@register.filter
def options(pairs: Sequence[tuple[str, str]], chosen: str) -> SafeString:
    """The `option`s of a select, of (value, words); a hundred of them in the template take longer than the page's query."""
    parts = [f'<option value="{escape(value)}"{" selected" if value == chosen else ""}>{escape(words)}</option>' for value, words in pairs]
    return mark_safe("".join(parts))  # noqa: S308 (every text goes through `escape`)


register.filter(tone)


@register.filter
def risk_of(mode: str, source: Source) -> SafeString:
    """What a repair in this mode does to the original, after its name; what edits it stands out."""
    format_ = format_of(source)
    edits = any(write_mode.name == mode and write_mode.alias == "in-place" for write_mode in format_.modes)
    words = escape(text.visible(f"mode {mode_word(format_, mode)}: {mode_risk(format_, mode)}"))
    return mark_safe(f'<span class="{"caution" if edits else "quiet"}">{words}</span>')  # noqa: S308 (escaped)


@register.filter
def shell_word(value: object) -> str:
    """A path as one word of a command that can be pasted."""
    return shell_words.shell_word(str(value))


@register.filter
def short_path(value: str) -> str:
    """The last two names of a path, which tell the stores of one machine apart; an address stays whole."""
    return value if "://" in value else "/".join(value.rsplit("/", 2)[-2:])


@register.filter
def cut_words(value: str) -> list[str]:
    return value.split()


@register.filter
def seqs(value: object) -> str:
    return span_text(list(value)) if isinstance(value, list | tuple) else ""


@register.filter
def clock(value: int | None) -> str:
    """Epoch milliseconds as UTC time; "unknown" where nothing gives one."""
    return "unknown" if value is None else moment(value)


@register.filter
def lasted(span: tuple[float, float]) -> str:
    return stream_words.when(span[1] - span[0])


@register.filter
def ended(how: How) -> str:
    return stream_words.HOWS[how]


@register.filter
def minus(total: int, shown: Sequence[object]) -> int:
    """How many there are in addition to those that are shown."""
    return total - len(shown)


class _Colored(Filter):
    """Leaves the types that have a color in the style sheet: a span around each comma and space is half of a page of JSON."""

    def filter(self, lexer: Lexer | None, stream: Iterable[tuple[Any, str]]) -> Iterator[tuple[Any, str]]:
        plain = ""
        for type_, words in stream:
            if type_ not in _COLORED:
                plain += words
                continue
            if plain:
                yield Text, plain
                plain = ""
            yield type_, words
        yield Text, plain


_COLORED = frozenset((Name.Tag, String.Double, Number.Integer, Number.Float, Keyword.Constant))


@cache
def _lexer(language: str) -> Lexer:
    lexer = get_lexer_by_name(language, stripnl=False)
    lexer.add_filter(_Colored())
    return lexer


@register.filter
def short_signature(block: str) -> str:
    """The JSON of a block with the beginning of its signature, which nobody reads further, and how long it is."""
    return _SIGNATURE.sub(lambda match: f"{match[1]}… {len(match[1]) + len(match[2]):,} characters", block)


_SIGNATURE = re.compile(r'(?<=[sS]ignature":")([^"]{24})([^"]{24,})')


@register.filter
def code(value: str, language: str = "json") -> SafeString:
    """Highlighted source; the text is escaped by Pygments and made visible first."""
    shown = text.visible(value)
    if len(shown) > HIGHLIGHT_LIMIT:
        language = "text"
    return mark_safe(str(highlight(shown, _lexer(language), _HTML)).rstrip("\n"))  # noqa: S308 (Pygments escapes)


@register.filter
def pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


@register.simple_tag(takes_context=True)
def query(context: dict[str, Any], **changes: Any) -> str:
    """The present query with some parameters set, to several values where a tuple names them, or taken out where the value is None or empty."""
    # A page has a hundred of them, and a copy of Django's own takes longer than the rest.
    params: dict[str, Any] = dict(context["request"].GET.lists())
    for name, value in changes.items():
        if value in (None, ""):
            params.pop(name, None)
        else:
            params[name] = value if isinstance(value, tuple) else str(value)
    encoded = urlencode(params, doseq=True)
    return f"?{encoded}" if encoded else "?"


@register.simple_tag
def spark(line: Sparkline, classes: str = "", most: int = 0, marked: Iterable[int] = ()) -> str:
    """Days as bars, with their words as the text alternative; as high as `most`, where several have one scale. Lines go through the days at `marked`."""
    marks = f'<path class="marks" d="{path}"/>' if (path := line.marks(marked)) else ""
    return mark_safe(  # noqa: S308 (numbers and our own words)
        f'<svg class="spark {classes}" viewBox="0 0 {line.width} {HEIGHT}" preserveAspectRatio="none" role="img"><title>{line.words}</title>'
        f'{marks}<path d="{line.path(most)}"/></svg>'
    )


@register.simple_tag
def bars(line: Sparkline, parts: Mapping[str, Sparkline], href: str, marked: Iterable[int] = (), quiet_days: int = 0) -> str:
    """As `spark`, each day made of the parts that `line` is the sum of, by severity, with its numbers under the pointer; it leads to `href` and the day.

    The quiet days at the end have a ground of their own.
    """
    quiet = min(quiet_days, len(line.counts)) * STEP
    no_stop = mark_safe(' tabindex="-1"') if len(line.counts) > _STOPS else ""
    days = format_html_join(
        "",
        '<a href="{}{}" aria-label="{}: {} new"{}><rect class="day" x="{}" width="4" height="{}"/>{}</a>',
        (
            (href, line.day(at), line.day(at), f"{line.counts[at]:,}", no_stop, at * STEP - 0.5, HEIGHT, _rects(line, parts, shown))
            for at, shown in groupby(line.stacked(parts), key=lambda part: part[1])
        ),
    )
    return format_html(
        '<svg class="spark bars" viewBox="0 0 {} {}" preserveAspectRatio="none" role="group" aria-label="{}">'
        '<rect class="quiet" x="{}" width="{}" height="{}"/><path class="grid" d="{}"/><path class="marks" d="{}"/>{}</svg>',
        line.width,
        HEIGHT,
        line.words,
        line.width - quiet,
        quiet,
        HEIGHT,
        "".join(f"M0 {round(HEIGHT - HEIGHT * tick / line.most, 2)}H{line.width}" for tick in line.ticks[1:]),
        line.marks(marked),
        days,
    )


def _rects(line: Sparkline, parts: Mapping[str, Sparkline], shown: Iterable[tuple[str, int, float, float]]) -> SafeString:
    return format_html_join(
        "",
        '<rect class="severity {}" x="{}" y="{}" width="3" height="{}"><title>{}: {} new, {} of severity {}</title></rect>',
        (
            (name, at * STEP, top, height, line.day(at), f"{line.counts[at]:,}", f"{parts[name].counts[at]:,}", name)
            for name, at, top, height in shown
        ),
    )


@register.simple_tag
def scale(line: Sparkline) -> str:
    """The numbers of the lines behind `bars`."""
    numbers = ((round(100 - 100 * tick / max(1, line.most), 2), f"{tick:,}") for tick in line.ticks)
    return format_html('<svg class="scale" aria-hidden="true">{}</svg>', format_html_join("", '<text x="100%" y="{}%">{}</text>', numbers))


@register.simple_tag
def mark_labels(line: Sparkline, marks: Sequence[Any], quiet_days: int, hidden_days: int = 0) -> str:
    """Above the day that each mark is of, its letter and its first name, in rows below each other; of many the letters alone, those of near days together.

    The list of marks has the words. And how long the end is quiet, with the days after it that are not shown.
    """
    labels: list[tuple[float, str, int]] = []
    for mark in marks:
        at, row = round(100 * line.middle(mark.place) / line.width, 2), len(labels) if len(marks) <= _NAMED_MARKS else 0
        if len(marks) <= _NAMED_MARKS:
            name, left = text.clipped(mark.names[0][1], _NAME_OF_MARK)
            labels.append((at, f"{mark.letter} {name}{'…' if left else ''}", row))
        elif labels and at - labels[-1][0] < _APART:
            labels[-1] = (labels[-1][0], labels[-1][1] + mark.letter, 0)
        else:
            labels.append((at, mark.letter, 0))
    rows = max((row for *_, row in labels), default=0) + 1
    lines = format_html_join("", '<line x1="{0}%" x2="{0}%" y1="{1}" y2="100%"/>', ((at, row * _ROW + 2) for at, _, row in labels))
    names = format_html_join(
        "",
        '<text x="{}%" dx="{}" y="{}"{}>{}</text>',
        ((at, -4 if at > 50 else 4, row * _ROW + 12, mark_safe(' class="end"') if at > 50 else "", words) for at, words, row in labels),
    )
    quiet = min(quiet_days / len(line.counts), 1)
    taken = max((at if at > 50 else at + len(words) * _CHARACTER for at, words, _ in labels), default=0)
    middle = round(100 - 50 * quiet, 2)
    classes = "none" if quiet > _SEEN_QUIET else "none wide"
    words = format_html(
        '<text class="{}" x="{}%" y="{}">none in {} days</text>', classes, middle, rows * _ROW - 4, f"{quiet_days + hidden_days:,}"
    )
    is_seen = quiet > _SEEN_WIDE and taken < middle - 9
    return format_html(
        '<svg class="letters" height="{}" aria-hidden="true">{}{}{}</svg>', rows * _ROW, lines, names, words if is_seen else ""
    )


@register.simple_tag
def active_days(line: Sparkline, damaged: Sparkline) -> str:
    """Conversations by day, as low bars whose lower part is the damaged ones; of few days with their numbers."""
    slot = 100 / len(line.counts)
    most = max(1, line.most)
    days = format_html_join(
        "",
        '<g><rect x="{}%" y="{}" width="{}%" height="{}"/>{}{}<title>{}: {} last active, {} of them damaged or rejected now</title></g>',
        (
            (
                round(at * slot, 2),
                _STRIP - height,
                round(slot * 0.75, 2),
                height,
                format_html(
                    '<rect class="damaged" x="{}%" y="{}" width="{}%" height="{}"/>',
                    round(at * slot, 2),
                    _STRIP - damaged_height,
                    round(slot * 0.75, 2),
                    damaged_height,
                ),
                format_html('<text x="{}%" y="{}">{}</text>', round((at + 0.375) * slot, 2), _STRIP - height - 3, f"{number:,}")
                if len(line.counts) <= _STOPS
                else "",
                line.day(at),
                f"{number:,}",
                f"{damaged.counts[at]:,}",
            )
            for at, number in enumerate(line.counts)
            if number
            for height in (max(2, round(_HIGHEST * number / most)),)
            for damaged_height in (round(height * damaged.counts[at] / number, 2),)
        ),
    )
    words = f"{line.total:,} in the {len(line.counts)} days to {line.last}, {damaged.total:,} of them damaged or rejected now"
    return format_html('<svg class="active" height="{}" role="img" aria-label="{}">{}</svg>', _STRIP, words, days)


def _year(day: date) -> SafeString:
    return format_html('<tspan class="year">{}-</tspan>', day.year)


@register.simple_tag
def day_axis(line: Sparkline) -> str:
    """The day of each fifth, below the left edge of its bar, and the last one."""
    places = line.fifths
    days = format_html_join(
        "",
        '<line x1="{0}%" x2="{0}%" y2="100%"/><text x="{0}%" dx="4" y="13">{1}{2}</text>',
        (
            (round(100 * place / len(line.counts), 2), "" if place else _year(line.day(place)), f"{line.day(place):%m-%d}")
            for place in places
        ),
    )
    is_far = len(line.counts) - places[-1] > len(line.counts) * _LAST_DAY
    last = format_html('<text class="end" x="100%" y="13">{}</text>', line.last) if is_far else ""
    return format_html('<svg class="axis" height="16" aria-hidden="true">{}{}</svg>', days, last)


@register.simple_tag
def when(value: datetime | int | None, to_minute: bool = False) -> str:
    """How long ago a moment was (a datetime, or epoch milliseconds), with the absolute time in its title: UTC, or by script the reader's zone.

    `to_minute`: where that is a day, with its hour and minute.
    """
    milliseconds = int(value.timestamp() * 1000) if isinstance(value, datetime) else value
    if milliseconds is None or (absolute := moment(milliseconds)) == "unknown":
        return "unknown"
    words = age(milliseconds, int(time() * 1000))
    with_minute = to_minute and absolute.startswith(words)
    attribute, words = (" data-minute", absolute[:-3]) if with_minute else ("", words)
    return mark_safe(f'<time datetime="{absolute.replace(" ", "T")}Z" title="{absolute} UTC"{attribute}>{words}</time>')  # noqa: S308 (numbers and our own words)


@register.simple_tag
def time_of_day(value: datetime) -> str:
    """The time of day of a moment: UTC, or by script that of the reader's zone, with the day where it is not today."""
    absolute = moment(int(value.timestamp() * 1000))
    return format_html(
        '<time datetime="{}Z" title="{} UTC" data-clock>{} UTC</time>', absolute.replace(" ", "T"), absolute, absolute.partition(" ")[2][:5]
    )


@register.simple_tag(takes_context=True)
def sort_header(context: dict[str, Any], key: str, label: str, initial: str = "", classes: str = "") -> str:
    """The heading of a column as a link that sorts by it, and turns the order where it does already: `?sort=KEY` rises, `?sort=-KEY` falls.

    `initial` is how the list is sorted where the address does not say it. The first page is shown again.
    """
    chosen = context["request"].GET.get("sort") or initial
    is_rising, is_falling = chosen == key, chosen == f"-{key}"
    return format_html(
        '<th class="{}"{}><a class="sort" href="{}">{}{}</a></th>',
        classes,
        mark_safe(f' aria-sort="{"ascending" if is_rising else "descending"}"') if is_rising or is_falling else "",  # noqa: S308 (our own words)
        query(context, sort=f"-{key}" if is_rising else key, page=None, after=None, before=None),
        label,
        mark_safe(f' <span aria-hidden="true">{"↑" if is_rising else "↓"}</span>') if is_rising or is_falling else "",  # noqa: S308 (our own words)
    )
