"""The only package that opens things: databases and files go in, bytes and named problems come out."""

import os

from inspector.text import limits


def _megabytes(name: str, default: int) -> int:
    """Bytes. The settings refuse what is no number; processes of an import have no settings."""
    text = os.environ.get(name, "").strip()
    return int(text) << 20 if text.isdecimal() and int(text) else default


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, "").strip()
    return int(text) if text.isdecimal() and int(text) else default


limits.LARGEST_VALUE = _megabytes(limits.VALUE_NAME, limits.LARGEST_VALUE)
limits.LARGEST_FILE = _megabytes(limits.FILE_NAME, limits.LARGEST_FILE)
limits.MOST_EMPTY = _number(limits.EMPTY_NAME, limits.MOST_EMPTY)
