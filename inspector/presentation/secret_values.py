"""Whether the value of a name is a secret: by the name, by how it is assigned, and by what it looks like."""

import re
from functools import lru_cache
from typing import NamedTuple

from inspector.presentation.secret_rules import KEYS, NO_SECRET, PLACEHOLDERS, PROSE


class Span(NamedTuple):
    """Where a secret is, and of what kind."""

    start: int
    end: int
    kind: str


class Assignment(NamedTuple):
    """How a value is written, `tight` as a shell has it. `then` is what follows it: "" for the end of the line or of what contains it, "(" and so on, or the first letter of a word."""

    name: str
    literal: str
    op: str
    quoted: bool
    tight: bool
    then: str


def is_tight(op: str, name: str) -> bool:
    """As a shell assigns: `NAME=value`."""
    return op == "=" and name.isupper()


UNQUOTED = re.compile(r"[^\s\"'`,;<>(){}\[\]&\\|\0\x1b\uff0c\u3002\uff1b\u300d\u201d]{1,}+")
_STRONG = re.compile(r"pass(?:w(?:or)?d|phrase|code|wort)?s?\d?$|pwd\d?$|secret(?:[-_]?(?:access[-_]?)?key)?$", re.IGNORECASE)
_API_KEY = re.compile(r"(?:api|access|private|auth)[-_ ]?key$", re.IGNORECASE)


_CLOSING = str.maketrans("\u201c\u201e\u2018\u300c\u300e", "\u201d\u201c\u2019\u300d\u300f")
_CLOSING_ESCAPED = {"201c": "201d", "201e": "201c", "2018": "2019", "300c": "300d", "300e": "300f"}
LONGEST_QUOTED = 4000
"""Characters between quotes that are one secret."""


def end_of_quoted(text: str, start: int, quote: str) -> int:
    """Where the same quote is on this line, not escaped once more; where it is missing, the end of the word."""
    limit = min(len(text), start + LONGEST_QUOTED)
    newline = text.find("\n", start, limit)
    limit = limit if newline < 0 else newline
    is_escaped = len(quote) > 4 and quote[-5] == "u"
    quote = quote[:-4] + _CLOSING_ESCAPED[quote[-4:].lower()] if is_escaped else quote.translate(_CLOSING)
    end = text.find(quote, start, limit)
    while end > start and text[end - 1] == "\\" and end >= 0:
        end = text.find(quote, end + len(quote), limit)
    if end >= 0:
        return end
    value = UNQUOTED.match(text, start)
    return value.end() if value else start


def next_word(text: str, end: int) -> str:
    rest = text[end : end + 24]
    if rest[:1] in ("(", "["):
        return rest[:1]
    word = rest.lstrip(" \t")
    # After `user=app password=x dbname=app` comes the next parameter.
    return word[:1] if word != rest and word[:1].isalpha() and not _PARAMETER.match(word) else ""


_PARAMETER = re.compile(r"[A-Za-z_]\w*=(?!=)")


def is_strong(name: str) -> bool:
    """A name of which nearly any value is a secret."""
    return _STRONG.search(name) is not None


def is_key(before: str) -> bool:
    return before.rstrip("-_. ").endswith(KEYS)


@lru_cache(4096)
def names_no_secret(name: str, literal: str) -> bool:
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


def is_secret(value: str, how: Assignment) -> bool:
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
    return is_token(value)


def _is_password(value: str, how: Assignment) -> bool:
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


def _names_itself(value: str, how: Assignment) -> bool:
    """`password: UserPassword`, `token=access_token`: a variable or a type, which is called after what it is."""
    return (
        not any(map(str.isdigit, value))
        and bool(_IDENTIFIER.match(value))
        and any(word in value.lower() for word in ("pass", "secret", "token", "key"))
    )


def is_token(value: str) -> bool:
    """Letters and digits mixed, longer than a word with a number."""
    if len(value) < 8 or not any(map(str.isdigit, value)) or any(character in value for character in " (){}<>"):
        return False
    letters = sum(map(str.isalpha, value))
    if letters < 2 or value.endswith((".py", ".ts", ".js", ".json", ".md", ".go", ".rs", ".yaml", ".yml", ".pem", ".txt")):
        return False
    runs = [part for part in re.split(r"[^A-Za-z0-9]+", value) if part]
    mixed = [part for part in runs if any(map(str.isdigit, part)) and any(map(str.isalpha, part))]
    return max(map(len, mixed), default=0) >= 6 or len(mixed) >= 2


def kind_of(name: str, literal: str) -> str:
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
