"""Secrets whose name is not on their own line, or not right before them: lists and objects, blocks and lists of YAML, tables.

All of it is looked for in texts as they are, and in texts that JSON encodes, where the end of a line is `\\n`, `\\\\n` and so on. Each part of a text is looked at
once for each kind of name, and never more than `LONGEST` characters of it for one name, so that the time stays in proportion to the text.
"""

import re
from collections.abc import Iterator
from functools import cache, cached_property
from itertools import islice

from inspector.presentation.secret_rules import NAMED, PLAIN_MEMBERS
from inspector.presentation.secret_values import (
    Assignment,
    Span,
    end_of_quoted,
    is_key,
    is_secret,
    is_strong,
    is_token,
    kind_of,
    names_no_secret,
)

LONGEST = 8_000
"""Characters of a list, an object, a block or a table that are looked at for one name."""
BARS = ("|", "\u2502", "\u2503")
_BAR = re.compile("[|\u2502\u2503]")
_NEWLINE = re.compile(r"(?:\r|\\{1,7}r)?(\n|\\{1,7}n)")
_LINE_LIMIT = 2_000
_COLUMNS = 24


class Structures:
    """What `text` has of them below the names that `Structures.below` and so on are called with; `spans` are the secrets so far."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.spans: list[Span] = []
        self._below: dict[str, int] = {}
        self._tables: dict[str, tuple[int, int]] = {}
        self._separated: dict[str, tuple[int, int]] = {}
        self._plain = 0, 0

    @cached_property
    def has_bars(self) -> bool:
        return any(bar in self.text for bar in BARS)

    def below(self, start: int, name: str, literal: str) -> None:
        """The strings of the list or object at `start`."""
        if start >= self._below.get(literal, 0):
            end = start
            for end, at, member in _strings(self.text, start):
                if at >= 0 and _is_secret_below(self.text[at:end], member, name, literal):
                    self.spans.append(Span(at, end, kind_of(member or name, literal)))
            self._below[literal] = end

    def members(self, at: int, after: int) -> None:
        """All strings of the object, or values of the lines, after the colon before `after`; the name of the object begins at `at`."""
        start = after + len(self.text[after : after + 4]) - len(self.text[after : after + 4].lstrip())
        if self.text.startswith("{", start):
            strings = [(first, end) for end, first, member in _strings(self.text, start) if first >= 0 and member]
        elif match := _BLOCK.match(self.text, after - 1):
            newline = match["newline"]
            rows = _lines(self.text, match.start("newline"), newline, _indent(self.text, at, newline))
            strings = [(name.end(), end) for first, end in rows if (name := _MEMBER.match(self.text, first, end))]
        else:
            return
        self.spans += [Span(first, end, "secret") for first, end in strings if end - first >= 3 and "[masked" not in self.text[first:end]]

    def block(self, at: int, colon: int, name: str, literal: str) -> int:
        """The lines of a block (`password: |`) or a list of YAML after the colon of a name that begins at `at`; where to look on, -1 for nothing of the kind."""
        match = _BLOCK.match(self.text, colon)
        if not match:
            return -1
        newline = match["newline"]
        base = _indent(self.text, at, newline)
        if match["mark"]:
            lines = list(_lines(self.text, match.start("newline"), newline, base))
            if not lines:
                return -1
            start, end = lines[0][0], lines[-1][1]
            how = Assignment(name, literal, ":", True, False, "")
            words = " ".join(self.text[first:last] for first, last in lines)
            if is_secret(words, how) or (is_strong(name) and any(is_secret(self.text[first:last], how) for first, last in lines)):
                self.spans.append(Span(start, end, kind_of(name, literal)))
            return end
        end_of_items = -1
        for start, end in _lines(self.text, match.start("newline"), newline, base - 1):
            item = _ITEM.match(self.text, start, end)
            if not item:
                return end_of_items
            quote = item["quote"]
            first, last = item.end(), end_of_quoted(self.text, item.end(), quote) if quote else end
            if last <= end and _is_secret_below(self.text[first:last], "", name, literal):
                self.spans.append(Span(first, last, kind_of(name, literal)))
            end_of_items = end
        return end_of_items

    def table(self, at: int, after: int, literal: str) -> None:
        """The cell after the name at `at`, or, where it is in the first row of a table, the cells below it."""
        text = self.text
        header, rows = self._tables.get(literal, (0, 0))
        if header <= at < rows:
            return
        newline = _NEWLINE.search(text, after, after + _LINE_LIMIT)
        start = _line_start(text, at, newline[1] if newline else "\\n")
        stop = newline.start() if newline else min(len(text), after + _LINE_LIMIT)
        if any(text.count(bar, start, at) > _COLUMNS for bar in BARS):
            return
        cells = list(islice(_cells(text, start, stop), 2 * _COLUMNS))
        index = next((number for number, (first, last) in enumerate(cells) if first <= at < last), -1)
        if len(cells) < 2 or not 0 <= index < _COLUMNS:
            return
        name = text[slice(*cells[index])].strip(_MARKUP)
        if len(name.split()) > 3 or names_no_secret(name, literal) or (literal == "key" and not is_key(name.lower().rpartition("key")[0])):
            return
        if newline and (ruler := _RULER.match(text, newline.end(), newline.end() + _LINE_LIMIT)):
            people = any(text[first:last].strip(_MARKUP).lower() in _PEOPLE for first, last in cells)
            end = ruler.end()
            for row_end, first, last in _column(text, ruler.end(), newline[1], index, len(cells)):
                self._cell(first, last, name, literal, people)
                end = row_end
            self._tables[literal] = (newline.end(), end)
        elif index + 1 < len(cells) and self._is_row(cells, index) and (len(cells) > 2 or " " not in name):
            # A name and its value; with one bar and words before it, what is after it is the next command.
            self._cell(*cells[index + 1], name, literal, False)

    def separated(self, at: int, after: int, literal: str) -> None:
        """The cells below the name at `at`, where it is in the first line of columns with commas, semicolons or tabs between them."""
        text = self.text
        header, rows = self._separated.get(literal, (0, 0))
        if header <= at < rows or self._plain[0] <= at < self._plain[1]:
            return
        newline = _NEWLINE.search(text, after, after + _LINE_LIMIT)
        start = _line_start(text, at, newline[1]) if newline else at
        stop = newline.start() if newline else after + _LINE_LIMIT
        line = text[start:stop]
        separator = max(_SEPARATORS, key=line.count)
        names = [name.strip(_MARKUP) for name in line.split(separator, _COLUMNS)]
        if not newline or not 1 < len(names) <= _COLUMNS or not all(_COLUMN_NAME.fullmatch(name) for name in names):
            # Most lines are no heading: this one is not looked at again, however many names it has.
            self._plain = start, stop
            return
        index = line.count(separator, 0, at - start)
        name = names[index]
        if names_no_secret(name, literal) or (literal == "key" and not is_key(name.lower().rpartition("key")[0])):
            return
        people = any(heading.lower() in _PEOPLE for heading in names)
        end = stop
        for row_end, first, last in _separated_column(text, stop, newline[1], separator, index, len(names)):
            self._cell(first, last, name, literal, people)
            end = row_end
        self._separated[literal] = (start, end)

    def _is_row(self, cells: list[tuple[int, int]], index: int) -> bool:
        """Between bars, or nothing but a name and a value."""
        is_empty = [not self.text[slice(*cells[number])].strip(_MARKUP) for number in (0, -1)]
        return any(is_empty) if index else len(cells) == 2

    def _cell(self, first: int, last: int, name: str, literal: str, is_word_enough: bool) -> None:
        value = self.text[first:last]
        first += len(value) - len(value.lstrip(_MARKUP))
        value = value.strip(_MARKUP)
        mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
        likely = is_token(value) if not is_strong(name) else (mixed or is_word_enough) and " " not in value and len(value) >= 4
        if likely and is_secret(value, Assignment(name, literal, "|", True, False, "")):
            self.spans.append(Span(first, first + len(value), kind_of(name, literal)))


_PIECE = re.compile(
    r"(?P<open>[\[{])|(?P<close>[\]}])|(?P<number>(?<![\w.-])\d{4,40}+(?![\w.-]))|(?P<slashes>\\{0,7})(?P<mark>[\"'`])|(?P<word>[A-Za-z_][\w.-]{0,60}+)\s{0,4}[:=](?!=)"
)
_IS_NAME = re.compile(r"\s{0,4}(?::|=>|=(?!=))")


def _strings(text: str, start: int) -> Iterator[tuple[int, int, str]]:
    """(end, start, the name before it) of each string and each long number in the list or object that begins at `start`; a start of -1 for brackets and names."""
    # The names of the lists and objects around: what is in a list has the name of the list.
    around: list[str] = []
    name, level, at, stop = "", -1, start, min(len(text), start + LONGEST)
    while piece := _PIECE.search(text, at, stop):
        at = piece.end()
        if piece["open"]:
            around.append(name)
            name = name if piece["open"] == "[" else ""
        elif piece["close"]:
            if not around:
                return
            name = around.pop()
            if not around:
                return
        elif piece["number"]:
            yield at, piece.start(), name
        elif piece["word"]:
            name = piece["word"]
        else:
            level = len(piece["slashes"]) if level < 0 else level
            if len(piece["slashes"]) < level:
                # The end of the text that contains all of this.
                return
            end = end_of_quoted(text, at, piece["slashes"] + piece["mark"])
            if separator := _IS_NAME.match(text, end + len(piece["slashes"]) + 1):
                name, at = text[at:end], separator.end()
                yield at, -1, name
                continue
            yield end, at, name
            at = end + len(piece["slashes"]) + 1
        yield at, -1, name


def _is_secret_below(value: str, member: str, name: str, literal: str) -> bool:
    """`member` is the name of the value itself, "" for an item of a list."""
    plural = name[:-1] if name[-1:] in "sS" else name
    how = Assignment(plural, literal, ":", True, False, "")
    if len(value) < 3:
        return False
    if not member or member == name:
        return is_secret(value, how) and not (value.isupper() and "_" in value)
    low = member.lower()
    own = next((own for own in NAMED if own in low), "")
    if low in PLAIN_MEMBERS or (own and names_no_secret(member, own)):
        return False
    if own and (own != "key" or low == "key" or is_key(low.partition("key")[0])):
        return is_secret(value, how._replace(name="password", literal="pass"))
    mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value)) and " " not in value
    return is_secret(value, how) and (is_token(value) or (is_strong(plural) and mixed))


_BLOCK = re.compile(
    r"\s{0,2}:[ \t]{0,8}(?P<mark>[|>][-+0-9]{0,3})?[ \t]{0,8}(?:#[^\n\\]{0,80}+)?(?:\r|\\{1,7}r)?(?P<newline>\n|\\{1,7}n)(?=[ \t\n\\-])"
)
_MEMBER = re.compile(r"[\w./-]{1,100}+: {1,4}(?=[^|>{\s])")
_ITEM = re.compile(r"-[ \t]{1,8}(?P<quote>\\{0,7}[\"'])?")


@cache
def _closing(slashes: int) -> re.Pattern[str]:
    """The quote that ends the text in which the end of a line has so many backslashes: it has fewer."""
    return re.compile(rf"(?<!\\)\\{{0,{slashes - 1}}}\"")


def _line_start(text: str, at: int, newline: str) -> int:
    window = max(0, at - _LINE_LIMIT)
    start = max(window, text.rfind(newline, window, at) + len(newline) if text.rfind(newline, window, at) >= 0 else 0)
    # In JSON the first line begins after a quote.
    return start if newline == "\n" else max(start, text.rfind('"', start, at - 1) + 1)


def _indent(text: str, at: int, newline: str) -> int:
    """Characters before the name, or before what its line begins with; the dash of a list is one of them."""
    line = text[_line_start(text, at, newline) : at]
    return len(line) - len(line.lstrip(" \t-"))


def _lines(text: str, at: int, newline: str, base: int) -> Iterator[tuple[int, int]]:
    """Lines from the newline at `at` that are indented by more than `base` characters, and as the first of them: (start, end) without indentation."""
    stop, indent = min(len(text), at + LONGEST), -1
    while text.startswith(newline, at) and at < stop:
        start = at + len(newline)
        at = text.find(newline, start, stop)
        end = at = stop if at < 0 else at
        if newline != "\n" and (closing := _closing(len(newline) - 1).search(text, start, end)):
            end, at = closing.start(), stop
        line = text[start:end]
        words = line.lstrip(" \t")
        own = len(line) - len(words)
        words = words.rstrip(" \t\r")
        if newline != "\n" and words.endswith("r") and words[:-1].endswith("\\"):
            words = words[:-1].rstrip("\\")
        if not words:
            continue
        if own <= base or own < indent:
            return
        indent = own if indent < 0 else indent
        yield start + own, start + own + len(words)


_MARKUP = " \t\"'`*_\\"
_RULER = re.compile(r"(?=[ \t|:+\u2502\u2503]{0,12}[-=\u2500-\u257f])[-|:+= \u2500-\u257f]{3,}+(?:\r|\\{1,7}r)?(?=\n|\\{1,7}n|\\{0,7}\"|$)")
_WHO = "user username user_name name login email e-mail mail account benutzer usuario host hostname service server database db role"
_PEOPLE = frozenset(_WHO.split())
"""Headings next to which a column of passwords has nothing but passwords, plain words too."""


def _cells(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    for bar in _BAR.finditer(text, start, stop):
        yield start, bar.start()
        start = bar.end()
    yield start, stop


def _column(text: str, at: int, newline: str, index: int, count: int) -> Iterator[tuple[int, int, int]]:
    """(end of the row, start and end of its cell `index`) of each row after `at`, as far as there are rows of `count` cells."""
    stop = min(len(text), at + LONGEST)
    while (line := _NEWLINE.match(text, at, stop)) and line[1] == newline:
        following = _NEWLINE.search(text, line.end(), stop)
        end = following.start() if following else stop
        if newline != "\n" and (closing := _closing(len(newline) - 1).search(text, line.end(), end)):
            end = closing.start()
        cells = list(_cells(text, line.end(), end))
        if _RULER.match(text, line.end(), end + 1):
            at = end
            continue
        if len(cells) != count:
            return
        yield end, *cells[index]
        at = end


_SEPARATORS = (",", ";", "\t", "\\t", "\\\\t")
_COLUMN_NAME = re.compile(r"[A-Za-z_][\w.-]{0,40}(?: [\w.-]{1,40}){0,2}")


def _separated_column(text: str, at: int, newline: str, separator: str, index: int, count: int) -> Iterator[tuple[int, int, int]]:
    """(end of the line, start and end of its cell `index`) of each line after `at`, as far as they have `count` cells."""
    while (line := _NEWLINE.match(text, at)) and line[1] == newline:
        start = line.end()
        following = _NEWLINE.search(text, start, start + _LINE_LIMIT)
        end = following.start() if following else min(len(text), start + _LINE_LIMIT)
        if newline != "\n" and (closing := _closing(len(newline) - 1).search(text, start, end)):
            end = closing.start()
        cells = list(_separated_cells(text, start, end, separator))
        if len(cells) != count:
            return
        yield end, *cells[index]
        at = end


def _separated_cells(text: str, start: int, end: int, separator: str) -> Iterator[tuple[int, int]]:
    """Of one line; a separator between quotes is none."""
    at = start
    while at <= end:
        quote = '"' if text.startswith('"', at) else ""
        closing = text.find('"', at + 1, end) if quote else -1
        while closing >= 0 and text.startswith('""', closing):
            closing = text.find('"', closing + 2, end)
        stop = text.find(separator, max(at, closing), end)
        stop = end if stop < 0 else stop
        yield at, stop
        at = stop + len(separator)
