"""Secrets out of text that is shown: `[masked KIND 3f2a]` in the place of each that is recognized; the same secret has the same mask.

Nothing here decides who may see what: `masked` always masks, `presentable` does unless the answer that is being made reveals (`revealing`).
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from inspector.presentation.secret_rules import FOREIGN, NAMED, NO_SECRET, PREFIXED
from inspector.presentation.secret_structures import Structures
from inspector.presentation.secret_values import (
    UNQUOTED,
    Assignment,
    Span,
    end_of_quoted,
    is_key,
    is_secret,
    is_strong,
    is_tight,
    is_token,
    kind_of,
    names_no_secret,
    next_word,
)

_revealing: ContextVar[bool] = ContextVar("revealing", default=False)
_key = b"inspector"


def use_key(key: bytes) -> None:
    """The key of this installation: without it the four digits of a mask do not say whether a guess is right."""
    global _key
    _key = key


@contextmanager
def revealing(exact: bool = True) -> Iterator[None]:
    """Within it `presentable` changes nothing. Whoever enters it has asked for a permission and has recorded it."""
    token = _revealing.set(exact)
    try:
        yield
    finally:
        _revealing.reset(token)


def start_revealing() -> None:
    """From here on, until the `revealing` around it ends."""
    _revealing.set(True)


def is_revealing() -> bool:
    return _revealing.get()


def presentable(text: str) -> str:
    """`text` as it may be shown now."""
    return text if _revealing.get() else masked(text)


def masked(text: str) -> str:
    """`text` with a mask for each secret that is recognized. Takes time in proportion to its length; masking again changes nothing."""
    return replaced(text, secrets_in(text))


def mask(secret: str, kind: str) -> str:
    digest = hmac.new(_key, secret.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
    return f"[masked {kind} {digest[:4]}]"


def without_digits(text: str) -> str:
    """Masks of any installation as one: `[masked KIND]`."""
    return _MASK.sub(lambda match: f"{match[0][:-6]}]", text)


def replaced(text: str, spans: Iterable[Span]) -> str:
    parts: list[str] = []
    at = 0
    for start, end, kind in spans:
        parts += [text[at:start], mask(text[start:end], kind)]
        at = end
    return "".join(parts) + text[at:] if parts else text


def secrets_in(text: str) -> list[Span]:
    """In order, none overlapping another: what overlaps is one secret of the kind that begins first."""
    if len(text) < SHORTEST:
        return []
    # Most texts have no secret. A text with one letter beyond ASCII is looked through slowly, and its bytes are not; one character is found in a tenth of the
    # time of several.
    data = _as_bytes(text)
    if "[" in data and "[masked " in data:
        # A mask is no secret, whatever name is before it. Its place has characters that no secret has.
        text = _MASK.sub(lambda match: "\0" * len(match[0]), text)
        data = _as_bytes(text)
    view, data_of_view = text, data
    if "\\" in data or "\x1b" in data:
        view = _flat(text)
        data_of_view = _as_bytes(view)
    if _LONGER[0] in data_of_view and _LONGER in data_of_view:
        view = view.replace("\u0130", "I")
        data_of_view = _as_bytes(view)
    raw = data_of_view.encode("latin-1")
    long_words = _long_words(view, raw.translate(_WORDS, _FURTHER))
    spans = [*_key_blocks(text)] if "Y" in data and ("PRIVATE KEY" in data or "PuTTY" in data) else []
    if long_words:
        spans += _prefixed(view, long_words)
    if _KELVIN[0] in data_of_view:
        raw = raw.replace(_KELVIN.encode("latin-1"), b"k")
    # The letters of ASCII are in it as in `view.lower()`, with other bytes between them.
    letters = raw.lower().decode("latin-1")
    names = [literal for character, literal in _NAMES if character in letters and literal in letters]
    numbers = [
        number
        for place, by_character in ((letters, _ANYWHERE), (long_words.lower(), _IN_A_WORD))
        for character, literals in by_character
        if character in place
        for literal, number in literals
        if literal in place
    ]
    low = view.lower() if names or numbers else ""
    if names:
        spans += _named(text, view, low, names)
    spans += _foreign(text, data)
    for number in sorted(set(numbers)):
        spans += _FINDERS[number][0](text, view, low)
    return _joined(spans) if spans else spans


def _as_bytes(text: str) -> str:
    """UTF-8, a character for each byte."""
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("latin-1")


_LONGER, _KELVIN = _as_bytes("\u0130"), _as_bytes("\u212a")
"""The one letter that is longer in lower case, and the one that is a letter of ASCII then."""
SHORTEST = 6
"""Characters of a text that is looked at: a shorter one has no room for a name and its secret, and is no token."""
_MASK = re.compile(r"\[masked [a-z0-9-]{1,40} [0-9a-f]{4}\]")
_COLOR = r"(?:\x1b|\\{1,7}(?:u001[bB]|x1[bB]|033|e))\[[0-9;]{0,16}[A-Za-z]"
"""What makes a terminal write in color, as a byte or as an escape: tools print it before a token, and between a name and its value."""
_COLORS = rf"(?:{_COLOR}\s?){{0,4}}+"
_ESCAPES = re.compile(
    r"\x1b\[[0-9;]{0,16}[A-Za-z]|\\\\{0,6}(?:u001[bB]|x1[bB]|033|e)\[[0-9;]{0,16}[A-Za-z]|\\\\*(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[nrtbfu/\"'])?"
)
"""Colors and escapes. Each alternative begins with its character, by which they are looked for in an eighth of the time."""


def _flat(text: str) -> str:
    """`text` with spaces for colors and for the escapes of JSON, at any depth, so that a token begins after one as it does on a line; of the same length."""
    return _ESCAPES.sub(lambda match: " " * (len(match[0]) - 1) + (match[0][-1] if match[0][-1] in "\"'/" else " "), text)


def _joined(spans: list[Span]) -> list[Span]:
    joined: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if joined and span.start < joined[-1].end:
            joined[-1] = joined[-1]._replace(end=max(span.end, joined[-1].end))
        else:
            joined.append(span)
    return joined


# Tokens with a prefix


_RULES = {rule.prefix: rule for rule in PREFIXED}
_LEAST = min(len(rule.prefix) + rule.least for rule in PREFIXED)
"""Characters of the shortest token."""
_LONG = b"x" * _LEAST
_WORDS = bytes(ord(" ") if chr(code).isspace() and code < 0x80 else ord("x") for code in range(256))
"""Spaces of ASCII, and `x` for every other byte."""
_FURTHER = bytes(range(0x80, 0xC0))
"""What follows the first byte of a character: without these, a character is one byte."""


def _long_words(view: str, marks: bytes) -> str:
    """The words that are as long as a token, which has no space: hardly a word of a text is. `marks`: a space or an `x` for each character of `view`."""
    words: list[str] = []
    at = marks.find(_LONG)
    while at >= 0:
        end = marks.find(b" ", at)
        end = len(marks) if end < 0 else end
        # Other spaces than those of ASCII are marked as letters.
        words += [word for word in view[at:end].split() if len(word) >= _LEAST]
        at = marks.find(_LONG, end)
    return " ".join(words)


@cache
def _any_prefix() -> re.Pattern[str]:
    """All prefixes as one pattern that shares their beginnings: three times as fast as looking for one after the other."""
    tree: dict[str, Any] = {}
    for prefix in _RULES:
        node = tree
        for character in prefix:
            node = node.setdefault(character, {})
        node[""] = {}
    return re.compile(_alternatives(tree))


def _alternatives(node: dict[str, Any]) -> str:
    branches = "|".join(re.escape(character) + _alternatives(below) for character, below in sorted(node.items()) if character)
    return f"(?:{branches})" + "?" * ("" in node) if branches else ""


@cache
def _pattern_of(prefix: str) -> re.Pattern[str]:
    return _RULES[prefix].pattern()


def _prefixed(view: str, long_words: str) -> Iterator[Span]:
    if not _any_prefix().search(long_words):
        return
    end = 0
    for prefix in _any_prefix().finditer(view):
        at, rule = prefix.start(), _RULES[prefix[0]]
        if (
            at < end
            or _goes_on(view, at, "_-" if rule.kind == "api-key" else "")
            or not (match := _pattern_of(rule.prefix).match(view, at))
        ):
            continue
        start, end = prefix.end(), match.end()
        if _is_random(view[start:end], rule.kind):
            # A host and a name are no secret.
            yield Span(start if rule.prefix.endswith(("s/", "=")) else at, end, rule.kind)


def _goes_on(view: str, at: int, joints: str = "") -> bool:
    """Whether the character before is of the same word. Ids are put together of a name and what they name: `call_ghp_...`.

    A letter that is not of ASCII ends a word, since Chinese has no spaces; and so does what a URL has escaped, although it ends with a digit.
    """
    before = view[max(0, at - 1) : at]
    is_of_word = (before.isascii() and before.isalnum()) or (before != "" and before in joints)
    return is_of_word and not _ESCAPED.fullmatch(view, max(0, at - 3), at)


_ESCAPED = re.compile("%[0-9A-Fa-f]{2}")


def _is_random(body: str, kind: str) -> bool:
    """A run of letters and digits that no word joined by hyphens has; only kinds whose prefix is a common word ask for so much."""
    if len(set(body)) < 3:
        return False
    if kind == "api-key":
        return any(len(part) >= 12 and any(map(str.isdigit, part)) for part in re.split("[-_.]", body))
    return any(map(str.isdigit, body)) or len(body) >= 20


# Values by their name

_QUOTE = r"(?:[rbuf$]{0,2}(?P<quote>\\{0,7}[\"'`]|[\u201c\u201e\u2018\u300c\u300e]|\\{1,7}u(?:201[cCeE8]|300[cCeE])))?"
_ASSIGNED = re.compile(
    rf"(?P<rest>[\w.-]{{0,40}}+){_COLORS}"
    rf"(?:\\{{0,7}}[\"'`]?\]|(?:\\{{0,7}}[\"'`]){{1,3}})?{_COLORS}\*{{0,3}}(?P<op>\s{{0,4}}(?:[:=]=?>?|[\uff1a\uff1d]|%3[DdAa]|\\{{1,7}}u(?:003[dD]|[fF]{{2}}1[aAdD]))"
    rf"(?:\*{{2}}(?=[\s`]))?\s{{0,4}}|(?<=\w)>|(?<=[*_])\s-\s|\s{{1,4}}(?:->|\u2192|\\{{1,7}}u2192)\s{{1,4}}|\s{{0,4}}(?:\|\||\?\?)\s{{1,4}}(?=\\{{0,7}}[\"'`]))"
    rf"{_COLORS}{_QUOTE}",
)
_COLONS = ("-", ":**", "->", "\u2192", "||", "??")
_FULL_WIDTH = {"\uff1a": ":", "\uff1d": "="}
_SHELL_WORD = re.compile(r"[^\s\"'`<>\\|\0\x1b]{1,}+")
_OF_NAMES = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_SCHEME = re.compile(r"(?:bearer|basic|token|digest|apikey|api-key|key|negotiate|bot)\s{1,4}", re.IGNORECASE)
_CELL = re.compile(r"[\w.-]{0,40}+[*`\"\\]{0,6}[ \t]{0,60}+(?:[|\u2502\u2503]|\r?\n|\\{1,7}[rn]|\Z)")
_HEADING = re.compile(r"(?P<rest>[\w.-]{0,40}+)\\{0,7}[\"']?(?:[,;\t]|\\{1,7}t|(?:\r|\\{1,7}r)?(?:\n|\\{1,7}n))")
"""What is after the name of a column in the first line of a file with commas, semicolons or tabs between its columns."""
_BLOCK_OF = re.compile(r"[\w.-]{0,40}+\\{0,7}\"\s{0,2}(?=\{)")
"""What is before the block of a variable in HCL: `variable "db_password" {`."""


def _named(text: str, view: str, low: str, names: Iterable[str]) -> Iterator[Span]:
    """`names`: those of NAMED that are in the text."""
    structures = Structures(text)
    for literal in names:
        at = low.find(literal)
        while at >= 0:
            after = at + len(literal)
            span, after = _value_of(text, view, low, at, after, literal, structures)
            if span is not None:
                yield span
            at = low.find(literal, after)
    yield from structures.spans


def _value_of(text: str, view: str, low: str, at: int, after: int, literal: str, structures: Structures) -> tuple[Span | None, int]:
    """The value of the name at `at`, and where to look on; a value is looked at once, however many names it contains."""
    if literal == "key" and not is_key(low[max(0, at - 16) : at]):
        return None, after
    if literal == "sig=":
        after -= 1
    if text[after : after + 1] == " " and text[after + 1 : after + 2].isalnum():
        # A sentence, in which most of these words are: what follows is neither a sign of an assignment nor the end of a cell.
        return _without_sign(text, view, at, after, literal)
    match = _ASSIGNED.match(text, after)
    if match is None:
        if structures.has_bars and _CELL.match(text, after):
            structures.table(at, after, literal)
        elif heading := _HEADING.match(text, after):
            structures.separated(at, heading.end("rest"), literal)
        elif variable := _BLOCK_OF.match(text, after):
            structures.below(variable.end(), view[at : variable.end()].rstrip(' "\\'), literal)
        return _without_sign(text, view, at, after, literal)
    before = view[max(0, at - 40) : at]
    name = (before[len(before.rstrip(_OF_NAMES)) :] + text[at : match.end("rest")]).rstrip("_")
    if match["op"] == ">" and text[max(0, at - len(name) - 1)] not in "<\\" and not low.startswith(f"<{literal[:3]}", at - 1):
        return None, match.end()
    start, quote = match.end(), match["quote"]
    bracket = "" if quote else text[start : start + 1]
    if names_no_secret(name, literal):
        if bracket in ("[", "{") and _MANY.search(name):
            structures.below(start, name, literal)
        return None, start
    op = match["op"].strip()
    op = _FULL_WIDTH.get(op, ":" if op in _COLONS or op.endswith("2192") else op)
    if bracket in ("[", "{"):
        structures.below(start, name, literal)
    elif op == ":" and not quote and (below := structures.block(at, match.start("op"), name, literal)) >= 0:
        return None, below
    below_it = _BELOW.match(text, start) if not quote and text.startswith(("\\", " ", "\t"), start) and is_strong(name) else None
    if below_it:
        start, quote = below_it.end(), below_it["quote"]
    tight = is_tight(_FULL_WIDTH.get(match["op"], match["op"]), name)
    if quote:
        end = end_of_quoted(text, start, quote)
        if scheme := _SCHEME.match(text, start, end):
            start = scheme.end()
    else:
        if scheme := _SCHEME.match(text, start):
            start = scheme.end()
        value = (_SHELL_WORD if tight else _ELEMENT if op == ">" else UNQUOTED).match(text, start)
        if value is None or (below_it and not _END_OF_LINE.match(text, value.end())):
            return None, start
        end = value.end()
        while tight and end > start and text[end - 1] in ",;)":
            end -= 1
    assignment = Assignment(name, literal, op, bool(quote), tight, next_word(text, end))
    if end - start >= 3 and is_secret(text[start:end], assignment):
        return Span(start, end, kind_of(name, literal)), end
    # `${DB_PASSWORD:-hunter2}`: a name, and what is there without it.
    return None, start + 2 if text.startswith("${", start) else max(end, after)


def _without_sign(text: str, view: str, at: int, after: int, literal: str) -> tuple[Span | None, int]:
    if span := _argument(text, view, at, after, literal):
        return span, span.end
    return _value_in_prose(view, after, literal)


_BELOW = re.compile(r"(?:[ \t]|\r?\n|\\{1,7}[rn]){1,24}+(?P<quote>\\{0,7}[\"'`])?")
"""What is between a name and its value some lines below it, in a text that JSON encodes too."""
_END_OF_LINE = re.compile(r"[ \t]{0,8}(?:[\r\n]|\\{1,7}[rn]|\\{0,7}\"|\Z)")
_NEXT = re.compile(
    r"[\w.-]{0,40}+(?:(?P<quote>\\*[\"'])\s{0,4},\s{0,4}(?P=quote)|(?P<key></key>(?:\s|\\{1,7}[nrt]){0,12}<string>)|\s{1,4}(?=[^\s=:|]))"
)
_TAKES = re.compile(
    r"(?i:env|setdefault|get|variable|header|config)\(\s{0,4}\\*[\"']\w{0,30}$|<key>\w{0,30}$|(?:\bsetx|\bset -[gU]{0,2}x|\bENV)\s{1,4}\w{0,30}$"
)
"""What takes a name and its value next to each other: `getenv("DB_PASSWORD", "...")`, `<key>password</key><string>...`, `ENV DB_PASSWORD ...`."""
_END_OF_ELEMENT = re.compile(r"[^<\n\\]{3,200}")


def _argument(text: str, view: str, at: int, after: int, literal: str) -> Span | None:
    before = text[max(0, at - 60) : at]
    if "(" not in before and "ENV" not in before and "set" not in before and "<key>" not in before:
        return None
    match = _NEXT.match(text, after)
    if not match or not (takes := _TAKES.search(text, max(0, at - 60), at)):
        return None
    start, quote = match.end(), match["quote"]
    if takes[0].startswith("<") != bool(match["key"]) or ("(" in takes[0]) != bool(quote):
        return None
    if not quote and not match["key"]:
        opening = _OPENING.match(text, start)
        quote, start = (opening[0], opening.end()) if opening else ("", start)
    value = None if quote else (_END_OF_ELEMENT if match["key"] else _SHELL_WORD).match(text, start)
    end = end_of_quoted(text, start, quote) if quote else value.end() if value else start
    name = re.split(r"[^\w.-]", text[takes.start() : at])[-1] + re.split(r"[^\w.-]", text[at : match.end()])[0]
    if names_no_secret(name, literal):
        return None
    how = Assignment(name, literal, ":", True, False, "")
    return Span(start, end, kind_of(name, literal)) if end - start >= 3 and is_secret(text[start:end], how) else None


_OPENING = re.compile(r"\\*[\"']")
_MANY = re.compile(r"(?:api|access|private|auth|secret)[-_]?(?:keys|tokens)$|(?:refresh|session|bearer)[-_]?tokens$", re.IGNORECASE)
"""Names of lists of secrets: most keys and tokens are those of tables and of texts."""
_ELEMENT = re.compile(
    r"[^\s\"'`,;<>(){}\[\]&\\|\0\x1b]{1,}+(?: [^\s\"'`,;<>(){}\[\]&\\|\0\x1b]{1,40}+){0,7}(?=<|\\{1,7}u003[cC]|&lt;)|" + UNQUOTED.pattern
)
"""What is between the tags of an element: a phrase too."""


def _escapable(character: str) -> str:
    return rf"(?:{character}|\\{{1,7}}u{ord(character):04x})" if ord(character) > 127 else character


_FOREIGN_WORDS = "|".join("".join(map(_escapable, word)) for word in FOREIGN)
_IS = "|".join(map(_escapable, "\uff1a\uff1d\u662f\u306f\u4e3a"))
"""Colon, equals sign, and what says "is" in Chinese and Japanese."""
_FOREIGN_NAME = re.compile(rf"(?:{_FOREIGN_WORDS})[\"'`*]{{0,3}}\s{{0,4}}(?:[:=]|{_IS})\*{{0,2}}\s{{0,4}}{_QUOTE}", re.IGNORECASE)


_LONGEST_FOREIGN = 200
_FOREIGN_FIRST = ("contrase", *dict.fromkeys(word[:2] for word in FOREIGN[:-1]))
"""How a text begins with one of them: looked for in less time than the pattern takes."""
_FOREIGN_ESCAPED = tuple(f"u{ord(first[0]):04x}" for first in _FOREIGN_FIRST[1:])
_FOREIGN_BYTES = ("contrase", *dict.fromkeys(_as_bytes(first)[0] for first in _FOREIGN_FIRST[1:]))


def _foreign(text: str, data: str) -> Iterator[Span]:
    """`data`: the bytes of `text`."""
    is_escaped = "\\" in data and "\\u" in data
    if not is_escaped and (data.isascii() or not [first for first in _FOREIGN_BYTES if first in data]):
        return
    names = (text.find(first) for first in (_FOREIGN_FIRST + _FOREIGN_ESCAPED if is_escaped else _FOREIGN_FIRST))
    first_name = min((at for at in names if at >= 0), default=-1)
    if first_name < 0:
        return
    for match in _FOREIGN_NAME.finditer(text, max(0, first_name - len("contrase") - 8)):
        start, quote = match.end(), match["quote"]
        value = None if quote else UNQUOTED.match(text, start, start + _LONGEST_FOREIGN)
        end = end_of_quoted(text, start, quote) if quote else value.end() if value else start
        if end - start >= 3 and is_secret(text[start:end], Assignment("password", "pass", ":", bool(quote), False, next_word(text, end))):
            yield Span(start, end, "password")


_IN_PROSE = re.compile(r"\w{0,20}+\s{1,2}(?:(is|was|to)\s{0,2}:?\s{1,2})?[\"'`]?([^\s\"'`,;()<>\\\[\0]{6,200})")


def _value_in_prose(view: str, after: int, literal: str) -> tuple[Span | None, int]:
    """`the password is Tr0ub4dor&3`."""
    match = _IN_PROSE.match(view, after) if literal != "auth" else None
    value = match[2].rstrip(".!?") if match else ""
    # Next to each other in a sentence or a command are many things; the value alone must show what it is.
    if match and (len(value) >= 20 and is_token(value) if not match[1] else any(map(str.isdigit, value)) and any(map(str.isalpha, value))):
        return Span(match.start(2), match.start(2) + len(value), kind_of(literal, literal)), match.end()
    return None, after


# What neither begins with a prefix nor has a name

_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-[0-9]")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|Private-MAC: ?[0-9a-f]+")
_BEFORE_LINE = r"(?:[\s+>|#*:\u2192]|\\{1,15}(?:[nrt]|u2192)|\\(?=\s)|\d{1,6}(?=\u2192|\\{1,7}[tu]|[\t|:]))*+"
"""Line breaks, and what tools put before lines: numbers, the marks of quotes, of comments and of differences."""
_PEM_HEADER = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID|Encryption|Public-Lines|Private-Lines):[^\n\\]{0,200}+"
_PEM_BODY = re.compile(rf"(?:{_BEFORE_LINE}{_PEM_HEADER}){{0,9}}+(?:{_BEFORE_LINE}[A-Za-z0-9+/=\s]++)*+")
_PEM_LIMIT = 20_000
_PEM_LINE = re.compile(r"[A-Za-z0-9+/=]{24,}+")
_OF_PEM = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\\ \t\r\n>|#*\u2192"


def _key_blocks(text: str) -> Iterator[Span]:
    """From the first line of a key to its last one; where one of them is missing or far, as far as there is what can be a key's body."""
    at = 0
    # The next end is looked for once, not once for each of many beginnings.
    end = _PEM_END.search(text)
    while start := _PEM.search(text, at):
        while end and end.start() < start.end():
            yield from _end_of_key(text, at, end)
            at, end = end.end(), _PEM_END.search(text, end.end())
        if end and end.start() - start.end() < _PEM_LIMIT:
            at, end = end.end(), _PEM_END.search(text, end.end())
        else:
            body = _PEM_BODY.match(text, start.end())
            at = body.end() if body else start.end()
        yield Span(start.start(), at, "private-key")
    if end:
        yield from _end_of_key(text, at, end)


def _end_of_key(text: str, at: int, end: re.Match[str]) -> Iterator[Span]:
    """The last lines of a key whose first one was cut off."""
    before = text[max(at, end.start() - _PEM_LIMIT) : end.start()]
    if line := _PEM_LINE.search(before, len(before.rstrip(_OF_PEM))):
        yield Span(end.start() - len(before) + line.start(), end.end(), "private-key")


_USER_INFO = re.compile(r"://[^\s:/?#@\"'<>\\]{0,64}+:([^\s\"'`<>\[\\\0]{1,4096}+)|://([0-9a-f]{32})@")
_HOST = re.compile(r"[\w.-]*+(?::\d{1,5})?+(?=[/?#,)\];&|]|$)|\[[0-9a-fA-F:]{2,45}\]")
_PORT = re.compile(r"\d{1,5}(?:[/?#,;)\]&|]|$)")


def _in_urls(text: str, view: str, low: str) -> Iterator[Span]:
    for match in _USER_INFO.finditer(text):
        start, end = match.span(1)
        if start < 0:
            yield Span(*match.span(2), "password")
        elif (end := _end_of_password(text, start, end)) > start and not text.startswith(("$", "{", "%s", "***", "xxx"), start):
            yield Span(start, end, "password")


def _end_of_password(text: str, start: int, stop: int) -> int:
    """Where the password at `start` ends; `start` for none. RFC 3986 forbids `/`, `?`, `#` and `@` in one; connection strings contain them all the same."""
    if _PORT.match(text, start, stop):
        return start
    # Addresses of the web have an @ in their path; of what else has one, the last is before the host.
    is_web = text.endswith(("http", "https", "git", "ssh"), max(0, start - 80), text.rfind("://", max(0, start - 80), start))
    end, at = start, text.find("@", start, stop)
    while at >= 0:
        host = _HOST.match(text, at + 1, stop)
        if host and host[0]:
            end = at
            if is_web and ("." in host[0] or ":" in host[0]):
                break
        at = text.find("@", at + 1, stop)
    return end


_SCHEMED = re.compile(r"(?i:bearer|authorization\\*[\"']?\s{0,4}[:=]\s{0,4}\\*[\"']?[a-z-]{1,20})\s{1,4}([\w.~+/=-]{8,}+)")
_BASIC = re.compile(r"(?i:basic)\s{1,4}([A-Za-z0-9+/]{6,}+={0,2})")


def _in_headers(text: str, view: str, low: str) -> Iterator[Span]:
    for match in _SCHEMED.finditer(view):
        if any(map(str.isdigit, match[1])):
            yield Span(*match.span(1), "authorization")
    for match in _BASIC.finditer(view):
        if _is_pair(match[1]):
            yield Span(*match.span(1), "authorization")


def _is_pair(encoded: str) -> bool:
    """Whether this is a name and a password as HTTP encodes them."""
    try:
        decoded = base64.b64decode(encoded + "=" * (-len(encoded) % 4))
    except ValueError:
        return False
    return b":" in decoded and all(0x20 <= byte < 0x7F for byte in decoded)


_JWT = re.compile(r"eyJ[\w=-]{8,}+(?:\.[\w=+/-]{4,}+){0,4}")


def _jwts(text: str, view: str, low: str) -> Iterator[Span]:
    for match in _JWT.finditer(view):
        # Base64 of any JSON begins so; a header alone, as where a line was cut, names its algorithm or type first.
        if not _goes_on(view, match.start()) and ("." in match[0] or match[0].startswith(("eyJhbGciOi", "eyJ0eXAiOi"))):
            yield Span(*match.span(), "jwt")


_COOKIES = re.compile(r"(?:cookie2?\\*[\"']?\s{0,4}[:=,]\s{0,4}|(?:-b|--cookie)[ =])\\*[\"']?(?=[\w.-]{1,64}=)", re.IGNORECASE)
_COOKIE = re.compile(r"([\w.-]{1,64}+)(?:=([^;,\s\"'\\<>\0]*+))?(?:;\s{0,4})?")
_ATTRIBUTES = frozenset(("path", "domain", "expires", "max-age", "samesite", "priority", "version"))


def _cookies(text: str, view: str, low: str) -> Iterator[Span]:
    for match in _COOKIES.finditer(text):
        at = match.end()
        while pair := _COOKIE.match(text, at):
            value = pair[2] or ""
            if pair[1].lower() not in _ATTRIBUTES and len(value) >= 6 and (any(map(str.isdigit, value)) or len(value) >= 16):
                yield Span(*pair.span(2), "cookie")
            at = pair.end()


_WORD_OF_SHELL = r"\\*[\"']?([^\s\"'`\\$<{\0-][^\s\"'`\\\0]{2,}+)"
_COMMANDS = (
    # The words that are before it on its line, one of them; what the option looks like; what is there to skip that quickly.
    (
        (" -u", " --user", " --proxy-user", " -a "),
        ("curl", "http", "wget", "xh "),
        re.compile(r"\s(?:-u|--user|--proxy-user|-a)[ =]?\\*[\"']?[\w.@+-]{1,80}+:([^\s\"'\\]{3,}+)"),
    ),
    ((" -p",), ("mysql", "mariadb"), re.compile(r"\s-p" + _WORD_OF_SHELL)),
    ((" -p",), ("sshpass", "login"), re.compile(r"\s-p\s{0,2}" + _WORD_OF_SHELL)),
    ((" -a ", " -w "), ("redis-cli", "ldap"), re.compile(r"\s-[aw]\s{1,2}" + _WORD_OF_SHELL)),
    ((" -p ",), ("mongo",), re.compile(r"\s-p\s{1,2}" + _WORD_OF_SHELL)),
    ((" -u",), ("smbclient", "rpcclient"), re.compile(r"(?i:\s-U)\s{0,2}[\w.@-]{1,60}+%" + _WORD_OF_SHELL)),
    (("pass:",), ("openssl", "-pass"), re.compile(r"pass:([^\s\"'\\$]{3,}+)")),
    (
        ("--pass", "--token", "--secret", "--api", "--client-secret", "--http-pass", "--auth-token", "--access-token"),
        ("",),
        re.compile(
            r"--(?:http-)?(?:password|passwd|pass|secret|token|api-?key|client-secret|auth-token|access-token|secret-key)\s{1,2}"
            + _WORD_OF_SHELL
        ),
    ),
    ((" password ",), ("login ",), re.compile(r"\spassword\s{1,2}" + _WORD_OF_SHELL)),
    ((" by ", " password "), ("identified", "user ", "role "), re.compile(r"(?i:\s(?:by|password))\s{1,2}\\*'([^'\\]{3,200})\\*'")),
)


def _in_commands(text: str, view: str, low: str) -> Iterator[Span]:
    for options, words, pattern in _COMMANDS:
        if not any(word in low for word in words):
            continue
        for option in options:
            at = low.find(option)
            while at >= 0:
                after = at + len(option)
                line = max(0, at - _LONGEST_COMMAND, low.rfind("\n", max(0, at - _LONGEST_COMMAND), at))
                if any(low.find(word, line, at) >= 0 for word in words) and (match := pattern.match(text, at)):
                    after = match.end()
                    if not (match[1].isdigit() and len(match[1]) < 6) and (option[:2] != "--" or not match[1].isalpha()):
                        yield Span(*match.span(1), "password")
                at = low.find(option, after)


_LONGEST_COMMAND = 400
"""Characters between a command and its option."""


_PAIRS = re.compile(
    r"(\\*[\"'])(?:name|key|header|type|label|field)\1\s{0,4}:\s{0,4}\1([\w.-]{2,60})\1\s{0,4},\s{0,4}\1value\1\s{0,4}:\s{0,4}(?:\{\s{0,4}\1(?:stringValue|string_value)\1\s{0,4}:\s{0,4})?\1"
)


def _pairs(text: str, view: str, low: str) -> Iterator[Span]:
    """`{"name": "password", "value": "..."}`, as archives of HTTP and attributes of spans have it."""
    for match in _PAIRS.finditer(text):
        yield from _pair(text, match[2], match[1], match.end())


def _pair(text: str, name: str, quote: str, start: int) -> Iterator[Span]:
    return _pair_of(text, name, start, end_of_quoted(text, start, quote))


def _pair_of(text: str, name: str, start: int, end: int) -> Iterator[Span]:
    literal = _literal_of(name)
    if scheme := _SCHEME.match(text, start, end):
        start = scheme.end()
    if literal and end - start >= 3 and is_secret(text[start:end], Assignment(name, literal, ":", True, False, "")):
        yield Span(start, end, kind_of(name, literal))


def _literal_of(name: str) -> str:
    """What of it says that its value is a secret; "" for the name of anything else."""
    literal = next((literal for literal in NAMED if literal in name.lower()), "")
    return "" if NO_SECRET.search(name) or (literal == "key" and not is_key(name.lower().partition("key")[0])) else literal


_XML_PAIR = re.compile(r"\b(?:name|key)=(\\*[\"'])([\w.-]{2,60})\1\s{1,4}value=\1")


def _xml_pairs(text: str, view: str, low: str) -> Iterator[Span]:
    """`<property name="password" value="..."/>`"""
    for match in _XML_PAIR.finditer(text):
        yield from _pair(text, match[2], match[1], match.end())


_GIVEN = re.compile(
    r"\bpw\s{0,2}[:=]\s{0,2}(?=\S{0,80}\d)([^\s\"'`,;()<>&\\\0]{4,80})"
    r"|(?:\bauth\s{0,2}=\s{0,2}|BasicAuth)\(\s{0,2}\\*[\"'][^\"'\\\n]{1,80}\\*[\"']\s{0,2},\s{0,2}\\*[\"']([^\"'\\\n]{3,80})"
    r"|(?i:convertto-securestring)\s{1,2}(?:-string\s{1,2})?\\*[\"']([^\"'\\$\n]{3,80})"
)
_HASH = re.compile(r"\$(?:apr1|[156y]|2[abxy]|argon2\w{1,2})\$[\w./$=,+-]{20,200}+")


def _given(text: str, view: str, low: str) -> Iterator[Span]:
    for match in _GIVEN.finditer(text):
        yield Span(*match.span(match.lastindex or 0), "password")


def _hashes(text: str, view: str, low: str) -> Iterator[Span]:
    return (Span(*match.span(), "password-hash") for match in _HASH.finditer(text))


_DIGEST = re.compile(r"response\s{0,2}=\s{0,2}\\*[\"']?([0-9a-fA-F]{32,128}+)(?![\w-])")
_AROUND_DIGEST = 600


def _digests(text: str, view: str, low: str) -> Iterator[Span]:
    """What a client of Digest authentication answers with: from it a password can be guessed."""
    for match in _DIGEST.finditer(text):
        if low.find("digest", max(0, match.start() - _AROUND_DIGEST), match.start()) >= 0:
            yield Span(*match.span(1), "authorization")


_INSERT = re.compile(
    r"insert\s{1,8}(?:ignore\s{1,8}|or\s{1,8}\w{1,20}\s{1,8})?into\s[^()]{1,200}\(([^()]{1,4000})\)\s{0,16}values\s{0,16}(?=\()"
)
_VALUE = re.compile(r"\s*+(?:[NEne]?'((?:[^'\\]|''|\\.){0,4000}+)'|([^\s'(),]++)|[^'(),]*+)", re.DOTALL)
_AFTER_VALUE = re.compile(r"[^,()]*+([,()])")


def _inserts(text: str, view: str, low: str) -> Iterator[Span]:
    """Values of the columns of a statement whose name is that of a secret."""
    at = 0
    while statement := _INSERT.search(low, at):
        names = [name.strip(' \t\r\n"`[]\\') for name in view[slice(*statement.span(1))].split(",")]
        secret = {number: name for number, name in enumerate(names) if _literal_of(name)}
        at = statement.end()
        while secret and text.startswith("(", at):
            at += 1
            depth, number = 1, 0
            while depth:
                value = _VALUE.match(text, at)
                if value and depth == 1 and number in secret and value.lastindex:
                    yield from _pair_of(text, secret[number], *value.span(value.lastindex))
                closing = _AFTER_VALUE.match(text, value.end() if value else at)
                if not closing:
                    return
                depth += {"(": 1, ")": -1, ",": 0}[closing[1]]
                number += closing[1] == "," and depth == 1
                at = closing.end()
            following = _NEXT_ROW.match(view, at)
            at = following.end() if following else at


_NEXT_ROW = re.compile(r"\s{0,16}+,\s{0,16}+(?=\()")
_PGPASS = re.compile(r"(?<![\w.*-])[\w.*-]{1,80}:(?:543\d|6432|\*):[\w*-]{1,60}:[\w*.-]{1,60}:((?:\\:|[^\s:\"'`\\]){3,200}+)")


def _pgpass(text: str, view: str, low: str) -> Iterator[Span]:
    for literal in _PGPASS_PORTS:
        at = low.find(literal)
        while at >= 0:
            start = at
            while start and at - start < 80 and (text[start - 1].isalnum() or text[start - 1] in "_.*-"):
                start -= 1
            if match := _PGPASS.match(view, start):
                yield Span(*match.span(1), "password")
            at = low.find(literal, at + len(literal))


_PGPASS_PORTS = (":543", ":6432:", ":*:")
_SECRET_OF_KUBERNETES = re.compile(r"kind(?<!\w.{4})\\*[\"']?\s{0,4}:\s{0,4}\\*[\"']?Secret\b(?!\w)")
_DATA = re.compile(r"(?<![\w.-])(?:data|stringData)\\*[\"']?\s{0,4}:")
_AROUND_KIND = 8_000


def _kubernetes(text: str, view: str, low: str) -> Iterator[Span]:
    """All data of a manifest of the kind Secret, whatever its names are: mostly in base64."""
    structures, at = Structures(text), 0
    for kind in _SECRET_OF_KUBERNETES.finditer(text):
        for match in _DATA.finditer(text, max(at, kind.start() - _AROUND_KIND), kind.end() + _AROUND_KIND):
            at = match.end()
            structures.members(match.start(), match.end())
        at = max(at, kind.end())
    yield from structures.spans


_DISCORD = re.compile(r"[MNO](?<![\w.-].)[A-Za-z\d_-]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])")
_TELEGRAM = re.compile(r"\d(?<!\d\d)\d{7,9}:A[\w-]{34}(?![\w-])")
_MAILCHIMP = re.compile(r"[0-9a-f](?<![\w-].)[0-9a-f]{31}-us\d{1,2}(?!\w)")


def _shaped(pattern: re.Pattern[str], kind: str) -> "Finder":
    def find(text: str, view: str, low: str) -> Iterator[Span]:
        return (Span(*match.span(), kind) for match in pattern.finditer(view))

    return find


Finder = Callable[[str, str, str], Iterator[Span]]
_FINDERS: tuple[tuple[Finder, tuple[str, ...]], ...] = (
    (_in_urls, ("://",)),
    (_in_headers, ("bearer", "basic", "authorization")),
    (_jwts, ("eyj",)),
    (_cookies, ("cookie", " -b ")),
    (_in_commands, (" -u", " -p", " -a ", " -w ", "pass:", "--", " by ", " password ", " --user")),
    (_pairs, ('"value', "'value")),
    (_xml_pairs, (" value=",)),
    (_pgpass, _PGPASS_PORTS),
    (_given, ("pw:", "pw=", "auth=(", "basicauth(", "-securestring")),
    (_hashes, ("$",)),
    (_digests, ("response",)),
    (_inserts, ("insert",)),
    (_kubernetes, ("secret",)),
    (_shaped(_DISCORD, "discord-token"), (".",)),
    (_shaped(_TELEGRAM, "telegram-token"), (":aa",)),
    (_shaped(_MAILCHIMP, "mailchimp-key"), ("-us",)),
)
"""Each with what one of must be in the text, in lower case; for a token, in a word of at least _LEAST characters."""
_OF_TOKENS = frozenset(("eyj", ".", ":aa", "-us"))
_RAREST = "$*(\"'=/:-.jqzxkvbywpgfumcdlhrsnioate 0123456789"


def _by_character(literals: Iterable[tuple[str, int]]) -> tuple[tuple[str, tuple[tuple[str, int], ...]], ...]:
    """By a character of each: to look for one character takes a tenth of the time."""
    groups: dict[str, list[tuple[str, int]]] = {}
    for literal, number in literals:
        groups.setdefault(_rarest(literal), []).append((literal, number))
    return tuple((character, tuple(pairs)) for character, pairs in groups.items())


def _rarest(literal: str) -> str:
    return min(literal, key=_RAREST.index)


_NAMES = tuple((_rarest(literal), literal) for literal in NAMED)


_LITERALS = [(literal, number) for number, (_, literals) in enumerate(_FINDERS) for literal in literals]
_ANYWHERE = _by_character(pair for pair in _LITERALS if pair[0] not in _OF_TOKENS)
_IN_A_WORD = _by_character(pair for pair in _LITERALS if pair[0] in _OF_TOKENS)
