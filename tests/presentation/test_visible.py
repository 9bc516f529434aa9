"""Texts that are cut."""

import pytest

from inspector.presentation.masking import masked
from inspector.presentation.visible import beginning, ending

# Invented.
SPLIT = ("postgres://app:hunter2-and-more@db/app", 'password = "correct horse battery staple"', "api_key: 3kgJ0MtE6g27uux3l9RwhYtTirDn1")


@pytest.mark.parametrize("text", SPLIT)
def test_no_cut_shows_a_part_of_a_secret(text: str) -> None:
    """What is left of it is not recognized: a URL without its @, a word out of a phrase."""
    whole = f"{'before ' * 90}{text}{' after' * 90}"
    shown = [masked(beginning(whole, limit)) for limit in range(620, 700)] + [masked(ending(whole, limit)) for limit in range(500, 620)]
    assert not [part for part in shown if any(word in part for word in ("hunter", "corr", "horse", "staple", "3kgJ", "TirDn1", "more@"))]
    assert all(len(beginning(whole, limit)) <= limit and whole.startswith(beginning(whole, limit)) for limit in range(600, 700))
    assert beginning(whole, 600) == whole[:600] and ending(whole, 400) == whole[-400:] and beginning(text, 80) == text
