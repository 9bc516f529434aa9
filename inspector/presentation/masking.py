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
from functools import cache, lru_cache
from typing import Any, NamedTuple

from inspector.presentation.secret_rules import KEYS, NAMED, NO_SECRET, PLACEHOLDERS, PREFIXED, PROSE


class Span(NamedTuple):
    """Where a secret is, and of what kind."""

    start: int
    end: int
    kind: str


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
    if "[masked " in text:
        # A mask is no secret, whatever name is before it. Its place has characters that no secret has.
        text = _MASK.sub(lambda match: "\0" * len(match[0]), text)
    view = _flat(text)
    low = view.lower()
    if len(low) != len(view):
        # The one letter that is longer in lower case.
        view = view.replace("\u0130", "I")
        low = view.lower()
    spans = [*_key_blocks(text, view), *_prefixed(view), *_named(text, view, low)]
    for finder, literals in _FINDERS:
        if any(literal in low for literal in literals):
            spans += finder(text, view, low)
    return _joined(spans)


SHORTEST = 6
"""Characters of a text that is looked at: a shorter one has no room for a name and its secret, and is no token."""
_MASK = re.compile(r"\[masked [a-z0-9-]{1,40} [0-9a-f]{4}\]")
_COLOR = r"(?:\x1b|\\{1,7}(?:u001[bB]|x1[bB]|033|e))\[[0-9;]{0,16}[A-Za-z]"
"""What makes a terminal write in color, as a byte or as an escape: tools print it before a token, and between a name and its value."""
_COLORS = rf"(?:{_COLOR}\s?){{0,4}}+"
_ESCAPES = re.compile(rf"{_COLOR}|\\+(?:u[0-9a-fA-F]{{4}}|x[0-9a-fA-F]{{2}}|[nrtbfu/\"'])?")


def _flat(text: str) -> str:
    """`text` with spaces for colors and for the escapes of JSON, at any depth, so that a token begins after one as it does on a line; of the same length."""
    if "\\" not in text and "\x1b" not in text:
        return text
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


def _prefixed(view: str) -> Iterator[Span]:
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

_ASSIGNED = re.compile(
    rf"(?P<rest>[\w.-]{{0,40}}+){_COLORS}"
    rf"(?:\\{{0,7}}[\"'`]?\]|\\{{0,7}}[\"'`])?{_COLORS}(?P<op>\s{{0,4}}(?:[:=]=?>?|%3[DdAa]|\\{{1,7}}u003[dD])\s{{0,4}}|(?<=\w)>)"
    rf"{_COLORS}"
    r"(?:[rbuf]{0,2}(?P<quote>\\{0,7}[\"'`]))?",
)
_UNQUOTED = re.compile(r"[^\s\"'`,;<>(){}\[\]&\\|\0\x1b]{1,}+")
_SHELL_WORD = re.compile(r"[^\s\"'`<>\\|\0\x1b]{1,}+")
_OF_NAMES = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_SCHEME = re.compile(r"(?:bearer|basic|token|digest|apikey|api-key|key|negotiate|bot)\s{1,4}", re.IGNORECASE)
_STRONG = re.compile(r"pass(?:w(?:or)?d|phrase|code|wort)?s?\d?$|pwd\d?$|secret(?:[-_]?(?:access[-_]?)?key)?$", re.IGNORECASE)
_API_KEY = re.compile(r"(?:api|access|private|auth)[-_ ]?key$", re.IGNORECASE)


def _named(text: str, view: str, low: str) -> Iterator[Span]:
    for literal in NAMED:
        at = low.find(literal)
        while at >= 0:
            after = at + len(literal)
            span, after = _value_of(text, view, low, at, after, literal)
            if span is not None:
                yield span
            at = low.find(literal, after)


def _value_of(text: str, view: str, low: str, at: int, after: int, literal: str) -> tuple[Span | None, int]:
    """The value of the name at `at`, and where to look on; a value is looked at once, however many names it contains."""
    if literal == "key" and not _is_key(low[max(0, at - 16) : at]):
        return None, after
    if literal == "sig=":
        after -= 1
    match = _ASSIGNED.match(text, after)
    if match is None:
        return _value_in_prose(view, after, literal)
    before = view[max(0, at - 40) : at]
    name = before[len(before.rstrip(_OF_NAMES)) :] + text[at : match.end("rest")]
    if match["op"] == ">" and text[max(0, at - len(name) - 1)] not in "<\\" and not low.startswith(f"<{literal[:3]}", at - 1):
        return None, match.end()
    if _names_no_secret(name, literal):
        return None, match.end()
    start, quote = match.end(), match["quote"]
    if quote:
        end = _end_of_quoted(text, start, quote)
        if scheme := _SCHEME.match(text, start, end):
            start = scheme.end()
    else:
        if scheme := _SCHEME.match(text, start):
            start = scheme.end()
        tight = _is_tight(match["op"], name)
        value = (_SHELL_WORD if tight else _UNQUOTED).match(text, start)
        if value is None:
            return None, start
        end = value.end()
        while tight and end > start and text[end - 1] in ",;)":
            end -= 1
    value_text = text[start:end]
    assignment = _Assignment(name, literal, match["op"].strip(), bool(quote), _is_tight(match["op"], name), _next_word(text, end))
    if end - start >= 3 and _is_secret(value_text, assignment):
        return Span(start, end, _kind_of(name, literal)), end
    return None, max(end, after)


class _Assignment(NamedTuple):
    """How a value is written, `tight` as a shell has it. `then` is what follows it: "" for the end of the line or of what contains it, "(" and so on, or the first letter of a word."""

    name: str
    literal: str
    op: str
    quoted: bool
    tight: bool
    then: str


def _is_tight(op: str, name: str) -> bool:
    """As a shell assigns: `NAME=value`."""
    return op == "=" and name.isupper()


LONGEST_QUOTED = 4000
"""Characters between quotes that are one secret."""


def _end_of_quoted(text: str, start: int, quote: str) -> int:
    """Where the same quote is on this line, not escaped once more; where it is missing, the end of the word."""
    limit = min(len(text), start + LONGEST_QUOTED)
    newline = text.find("\n", start, limit)
    limit = limit if newline < 0 else newline
    end = text.find(quote, start, limit)
    while end > start and text[end - 1] == "\\" and end >= 0:
        end = text.find(quote, end + len(quote), limit)
    if end >= 0:
        return end
    value = _UNQUOTED.match(text, start)
    return value.end() if value else start


def _next_word(text: str, end: int) -> str:
    rest = text[end : end + 12]
    if rest[:1] in ("(", "["):
        return rest[:1]
    word = rest.lstrip(" \t")
    return word[:1] if word != rest and word[:1].isalpha() else ""


def _is_key(before: str) -> bool:
    return before.rstrip("-_. ").endswith(KEYS)


_IN_PROSE = re.compile(r"\w{0,20}+\s{1,2}(?:(is|was|to)\s{0,2}:?\s{1,2})?[\"'`]?([^\s\"'`,;()<>\\\[\0]{6,200})")


def _value_in_prose(view: str, after: int, literal: str) -> tuple[Span | None, int]:
    """`the password is Tr0ub4dor&3`."""
    match = _IN_PROSE.match(view, after) if literal != "auth" else None
    value = match[2].rstrip(".!?") if match else ""
    # Next to each other in a sentence or a command are many things; the value alone must show what it is.
    if match and (_is_token(value) and len(value) >= 20 if not match[1] else any(map(str.isdigit, value)) and any(map(str.isalpha, value))):
        return Span(match.start(2), match.start(2) + len(value), _kind_of(literal, literal)), match.end()
    return None, after


@lru_cache(4096)
def _names_no_secret(name: str, literal: str) -> bool:
    """`secret_name`; or `compass` and `author`, where the literal is a part of another word."""
    if NO_SECRET.search(name):
        return True
    if literal not in ("pass", "auth"):
        return False
    low = name.lower()
    at = low.rfind(literal)
    after = low[at + len(literal) :]
    if literal == "auth":
        return after not in ("", "orization", "-token", "_token") and not after.startswith(("-", "_"))
    return low[:at].endswith(("by", "com", "sur", "tres", "en", "over", "under")) or after[:2] in ("ed", "es", "in", "th", "iv", "en", "ag")


_IDENTIFIERS = re.compile(r"\$?[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+$")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*$")
_TEST = re.compile(r"[A-Za-z_][\w/-]*$")
"""What passes: `--- PASS: TestSession/first`."""
_BLANKS = ("xxx", "...", "…", "***")
"""In the place of what somebody left out."""
_NOT_LITERAL = (
    "$",
    "{",
    "<",
    "%(",
    "%s",
    "***",
    "xxx",
    "...",
    "…",
    "process.env",
    "os.environ",
    "env.",
    "env:",
    "/run/",
    "vault:",
    "file:",
    "ENC[",
    "@",
    "\\u003c",
    "&lt;",
)


def _is_secret(value: str, how: _Assignment) -> bool:
    low = value.lower()
    if any(part in low for part in _BLANKS) or (value[-1:] == "=" and value[:-1].isalpha()):
        return False
    if not any(map(str.isalnum, value)) or (how.name.lower() == "pass" and how.op == ":" and not how.quoted and _TEST.match(value)):
        return False
    if "\0" in value or low in PLACEHOLDERS or value.startswith(_NOT_LITERAL) or len(set(value)) < 3:
        return False
    if low.rstrip("?!.") in PLACEHOLDERS or (
        low.startswith(("your", "my-", "my_", "example", "changeme", "<", "replace", "insert", "todo", "enter"))
        and not any(map(str.isdigit, value))
    ):
        return False
    if value.startswith(("/", "./", "~/", "http://", "https://")) and "@" not in value and not (how.tight and "/" not in value[1:]):
        return False
    if _STRONG.search(how.name) or (how.quoted and _API_KEY.search(how.name)) or (how.tight and how.literal not in ("auth", "sig=")):
        return _is_password(value, how)
    if not how.quoted and (how.then in ("(", "[") or _IDENTIFIERS.match(value)):
        return False
    return _is_token(value)


def _is_password(value: str, how: _Assignment) -> bool:
    has_digit = any(map(str.isdigit, value))
    if how.quoted:
        words = value.lower().split()
        is_sentence = len(words) > 2 and (value.endswith((".", "!", "?")) or sum(word in PROSE for word in words) >= 2)
        return not is_sentence and not (value.isdigit() and len(value) < 4) and not _names_itself(value, how)
    if how.then in ("(", "[") or (value.isdigit() and (len(value) < 4 or how.literal == "token")):
        return False
    if how.tight:
        return len(value) >= 4 and not _names_itself(value, how)
    if _IDENTIFIERS.match(value) or len(value) < 4:
        return False
    if how.literal == "pass" and value.isdigit() and "w" not in how.name.lower():
        return False
    if has_digit and (not _IDENTIFIER.match(value) or how.op != "=" or not how.then):
        return True
    # A word alone: YAML and forms have nothing after it, code has; a name of the same is a variable.
    return not how.then and how.op in (":", "=", ">") and not _names_itself(value, how) and not (how.op == "=" and "_" in value)


def _names_itself(value: str, how: _Assignment) -> bool:
    """`password: UserPassword`, `token=access_token`: a variable or a type, which is called after what it is."""
    return (
        not any(map(str.isdigit, value))
        and bool(_IDENTIFIER.match(value))
        and any(word in value.lower() for word in ("pass", "secret", "token", "key"))
    )


def _is_token(value: str) -> bool:
    """Letters and digits mixed, longer than a word with a number."""
    if len(value) < 8 or not any(map(str.isdigit, value)) or any(character in value for character in " (){}<>"):
        return False
    letters = sum(map(str.isalpha, value))
    if letters < 2 or value.endswith((".py", ".ts", ".js", ".json", ".md", ".go", ".rs", ".yaml", ".yml", ".pem", ".txt")):
        return False
    runs = [part for part in re.split(r"[^A-Za-z0-9]+", value) if part]
    mixed = [part for part in runs if any(map(str.isdigit, part)) and any(map(str.isalpha, part))]
    return max(map(len, mixed), default=0) >= 6 or len(mixed) >= 2


def _kind_of(name: str, literal: str) -> str:
    low = name.lower()
    for word, kind in (
        ("pass", "password"),
        ("pwd", "password"),
        ("secret", "secret"),
        ("api", "api-key"),
        ("token", "token"),
        ("key", "key"),
        ("auth", "authorization"),
    ):
        if word in low:
            return kind
    return {"credential": "credential", "amz-signature": "signature", "sig=": "signature"}.get(literal, "secret")


# What neither begins with a prefix nor has a name

_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-[0-9]")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|Private-MAC: ?[0-9a-f]+")
_PEM_BODY = re.compile(r"(?:[A-Za-z0-9+/=\s]|\\+[nrt])*+")
_PEM_LIMIT = 20_000


def _key_blocks(text: str, view: str) -> Iterator[Span]:
    """From the first line of a key to its last one; where that is missing or far, to the end of what can be a key's body."""
    if "PRIVATE KEY" not in text and "PuTTY" not in text:
        return
    at = 0
    # The next end is looked for once, not once for each of many beginnings.
    end = _PEM_END.search(text)
    while start := _PEM.search(text, at):
        while end and end.start() < start.end():
            end = _PEM_END.search(text, end.end())
        body = _PEM_BODY.match(text, start.end())
        at = end.end() if end and end.start() - start.end() < _PEM_LIMIT else body.end() if body else start.end()
        yield Span(start.start(), at, "private-key")


_USER_INFO = re.compile(r"://[^\s:/?#@\"'<>\\]{0,64}+:([^\s@/\"'<>\[\0]{1,160}?)@(?=[\w.\[])|://([0-9a-f]{32})@")


def _in_urls(text: str, view: str, low: str) -> Iterator[Span]:
    # RFC 3986 forbids most of these characters in a password; connection strings contain them all the same.
    for match in _USER_INFO.finditer(text):
        group = 1 if match[1] else 2
        if not match[group].startswith(("$", "{", "%s", "***", "xxx")):
            yield Span(*match.span(group), "password")


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
    r"(\\*[\"'])(?:name|key|header)\1\s{0,4}:\s{0,4}\1([\w.-]{2,60})\1\s{0,4},\s{0,4}\1value\1\s{0,4}:\s{0,4}(?:\{\s{0,4}\1(?:stringValue|string_value)\1\s{0,4}:\s{0,4})?\1"
)


def _pairs(text: str, view: str, low: str) -> Iterator[Span]:
    """`{"name": "password", "value": "..."}`, as archives of HTTP and attributes of spans have it."""
    for match in _PAIRS.finditer(text):
        name = match[2]
        literal = next((literal for literal in NAMED if literal in name.lower()), "")
        end = _end_of_quoted(text, match.end(), match[1])
        start = match.end()
        if scheme := _SCHEME.match(text, start, end):
            start = scheme.end()
        is_name = literal and not NO_SECRET.search(name) and (literal != "key" or _is_key(name.lower().partition("key")[0]))
        if is_name and end - start >= 3 and _is_secret(text[start:end], _Assignment(name, literal, ":", True, False, "")):
            yield Span(start, end, _kind_of(name, literal))


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
    (_shaped(_DISCORD, "discord-token"), (".",)),
    (_shaped(_TELEGRAM, "telegram-token"), (":aa",)),
    (_shaped(_MAILCHIMP, "mailchimp-key"), ("-us",)),
)
