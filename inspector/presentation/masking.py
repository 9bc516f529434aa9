"""Secrets out of text that will be pasted elsewhere: the rules of detect-secrets 1.5.0 at their places, and a few that it lacks."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

Span = tuple[int, int, str]
"""Start, end, and the kind of secret."""

# Rules of others can take quadratic time on a line made for that; in a window it is harmless. Their secrets begin in the overlap.
_WINDOW, _OVERLAP = 320, 128
_MORE = re.compile(r"[A-Za-z0-9_-]{0,400}")
_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-[0-9]")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|Private-MAC: ?[0-9a-f]+")
_PEM_BODY = re.compile(r"(?:[A-Za-z0-9+/=\s]|\\[nrt])*")
_PEM_LIMIT = 20_000


class SecretRule(NamedTuple):
    """A rule: a text without any of `literals` (lower case) is not searched with `pattern`. `group` is the secret."""

    kind: str
    literals: tuple[str, ...]
    pattern: re.Pattern[str]
    group: int = 0
    real: Callable[[str], bool] = lambda secret: True


def _has_digit(secret: str) -> bool:
    return any(char.isdigit() for char in secret)


def _random_part(secret: str) -> bool:
    """A run of letters and digits that no hyphenated word has."""
    return any(len(part) >= 16 and _has_digit(part) for part in re.split("[-_.]", secret))


_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
_NAMES = r"(?:api[-_]?key|auth[-_]?key|access[-_]?key|private[-_]?key|client[-_]?secret|secret|password|passwd|pwd)"
_OURS = (
    SecretRule("Anthropic API Key", ("sk-ant-",), re.compile(r"sk-ant-[\w-]{8,400}")),
    SecretRule("API Key", ("sk-",), re.compile(_START + r"sk-[\w-]{16,400}"), real=_random_part),
    SecretRule(
        "API Key",
        ("aiza", "hf_", "gsk_", "xai-", "pplx-", "github_pat_", "npm_", "ya29.", "r8_"),
        re.compile(_START + r"(?:AIza|hf_|gsk_|xai-|pplx-|github_pat_|npm_|ya29\.|r8_)[\w-]{20,400}"),
        real=_has_digit,
    ),
    SecretRule("Bearer Token", ("bearer",), re.compile(r"(?i:bearer)\s{1,4}([\w.~+/=-]{12,2000})"), 1, _has_digit),
    SecretRule(
        "Basic Auth Credentials",
        ("basic",),
        re.compile(r"(?i:authorization)\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?(?i:basic)\s{1,4}([\w+/=-]{8,400})"),
        1,
    ),
    SecretRule("JSON Web Token", ("eyj",), re.compile(_START + r"eyJ[\w=-]{8,4000}\.eyJ[\w=-]{4,4000}(?:\.[\w=+/-]{0,4000})?")),
    # RFC 3986 forbids most of these characters in a password; connection strings contain them all the same.
    SecretRule("Basic Auth Credentials", ("://",), re.compile(r"://[^\s:/?#@\"'<>]{0,64}:([^\s@/\"'<>\[]{1,160})@(?=[\w.\[])"), 1),
    SecretRule(
        "Secret Keyword",
        ("key", "secret", "pass", "pwd"),
        re.compile(_NAMES + r"\w{0,20}(?:\\{1,3}[\"'])?\s{0,4}[:=]\s{0,4}\\{1,3}[\"']([^\"'\\\n\[]{4,200})\\{1,3}[\"']", re.IGNORECASE),
        1,
    ),
    SecretRule(
        "Secret Keyword", ("key",), re.compile(r"(?i:api-?_?key)\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?([\w.~+/=-]{12,400})"), 1, _random_part
    ),
    SecretRule(
        "Secret Keyword",
        ("key", "secret", "pass", "token"),
        re.compile(
            r"(?:API_?KEY|SECRET|PASSWORD|PASSWD|ACCESS_KEY|TOKEN)[A-Z0-9_]{0,20}=\\?[\"']?([\w!#%&*+.:;?@^~=-][\w!#%&*+.,/:;?@^~=-]{5,400})"
        ),
        1,
        lambda secret: not secret.isdigit(),
    ),
)


def masked(text: str) -> str:
    """`text` with every secret that is recognized replaced by e.g. `[AWS Access Key masked]`. Takes time in proportion to its length."""
    text = _replaced(text, _key_blocks(text))
    spans: list[Span] = []
    theirs = _among(_theirs(), text)
    at = 0
    for line in text.split("\n") if theirs else ():
        spans += _in_line(text, at, at + len(line), theirs)
        at += len(line) + 1
    return _replaced(text, spans + [span for row in _among(_OURS, text) for span in _secrets(row, text, 0, len(text))])


def _in_line(text: str, first: int, last: int, rows: Sequence[SecretRule]) -> Iterator[Span]:
    for start in range(first, max(first + 1, last - _OVERLAP), _WINDOW - _OVERLAP):
        end = min(start + _WINDOW, last)
        for row in _among(rows, text[start:end]):
            yield from _secrets(row, text, start, end)


def _among(rows: Sequence[SecretRule], text: str) -> list[SecretRule]:
    low = text.lower()
    return [row for row in rows if any(literal in low for literal in row.literals)]


@cache
def _theirs() -> tuple[SecretRule, ...]:
    # The package brings an HTTP client along, and most commands mask nothing.
    from inspector.presentation.secret_rules import rules_of_detect_secrets

    return tuple(SecretRule(*rule) for rule in rules_of_detect_secrets())


def _secrets(row: SecretRule, text: str, start: int, end: int) -> Iterator[Span]:
    """Positions instead of slices: the pattern still sees the text before the window."""
    for match in row.pattern.finditer(text, start, end):
        first, last = match.span(row.group)
        if first < last and row.real(text[first:last]):
            yield first, _end_of_token(text, last, row.kind), row.kind


def _end_of_token(text: str, end: int, kind: str) -> int:
    """Rules that know an older, shorter form of a key do not match the end of it."""
    if kind == "Secret Keyword" or not (text[end - 1].isalnum() or text[end - 1] in "_-"):
        return end
    more = _MORE.match(text, end)
    return more.end() if more else end


def _key_blocks(text: str) -> list[Span]:
    """From the first line of a key to its last one; where that is missing or far, to the end of what can be a key's body."""
    spans: list[Span] = []
    at = 0
    # The next end is looked for once, not once for each of many beginnings.
    end = _PEM_END.search(text)
    while start := _PEM.search(text, at):
        while end and end.start() < start.end():
            end = _PEM_END.search(text, end.end())
        body = _PEM_BODY.match(text, start.end())
        at = end.end() if end and end.start() - start.end() < _PEM_LIMIT else body.end() if body else start.end()
        spans.append((start.start(), at, "Private Key"))
    return spans


def _replaced(text: str, spans: list[Span]) -> str:
    """Overlapping spans become one, under the name of the one that starts first."""
    parts: list[str] = []
    at = 0
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if end <= at:
            continue
        if start >= at:
            parts += [text[at:start], f"[{kind} masked]"]
        at = end
    return "".join(parts) + text[at:]
