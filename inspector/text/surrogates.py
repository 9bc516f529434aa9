"""Halves of characters: a JSON text can spell one, and no UTF-8 text can hold it."""

from typing import Any


def without_surrogates(value: Any) -> Any:
    """The JSON value with U+FFFD for each lone surrogate, in keys too; pairs become the character that they encode."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {without_surrogates(name): without_surrogates(item) for name, item in value.items()}
    return value
