"""Which of two versions of a program is the later one, where they are numbers with dots."""

import re

_VERSION = re.compile(r"v?(\d{1,9}(?:\.\d{1,9}){0,5})(-[0-9A-Za-z.-]{1,40})?(?:\+[0-9A-Za-z.-]{0,40})?", re.ASCII)
LONGEST = 60


def is_version(text: str) -> bool:
    return len(text) <= LONGEST and bool(_VERSION.fullmatch(text))


def is_at_least(version: str, least: str) -> bool | None:
    """None where one of them is no version. What comes before a release (2.0.0-beta.1) is earlier than it; two of these are compared by their words."""
    one, other = _VERSION.fullmatch(version), _VERSION.fullmatch(least)
    return None if one is None or other is None else _key(one) >= _key(other)


def _key(match: re.Match[str]) -> tuple[list[int], bool, list[tuple[bool, int, str]]]:
    numbers = [int(part) for part in match[1].split(".")]
    words = (match[2] or "")[1:].split(".")
    return (
        numbers + [0] * (6 - len(numbers)),
        not match[2],
        [(not word.isdecimal(), int(word) if word.isdecimal() else 0, word) for word in words],
    )
