"""Which version is the later one, of those that programs write."""

import pytest

from inspector.text.versions import is_at_least, is_version


@pytest.mark.parametrize(
    ("version", "least", "is_later"),
    [
        ("2.1.108", "2.1.108", True),
        ("2.1.108", "2.1.99", True),
        ("2.1.99", "2.1.108", False),
        ("v2.2", "2.1.108", True),
        ("2.1", "2.1.0", True),
        ("0.146.0-alpha.9", "0.146.0", False),
        ("0.146.0-alpha.10", "0.146.0-alpha.9", True),
        ("0.146.0-beta", "0.146.0-alpha.10", True),
        ("0.146.0+build.7", "0.146.0", True),
        ("", "2.1.108", None),
        ("2.1.108", "", None),
        ("nightly", "2.1.108", None),
        ("0.146.0\\u202e", "0.146.0", None),
        ("٢.1.0", "1.0.0", None),
        ("9" * 5000, "1.0", None),
    ],
)
def test_a_version_is_at_least_another(version: str, least: str, is_later: bool | None) -> None:
    assert is_at_least(version, least) is is_later


def test_what_is_written_in_a_form_is_a_version_or_refused() -> None:
    assert all(map(is_version, ("2.1.108", "v3", "0.146.0-alpha.9")))
    assert not any(map(is_version, ("", "soon", "2.1.", "1.2.3 ", "<b>", "1." * 40 + "1", "1.0-" + "a" * 60)))
