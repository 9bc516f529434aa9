"""System checks: settings that are risky or useless together."""

from pathlib import Path

import pytest
from pytest_django import Settings

from inspector.checks import check_settings
from inspector.sources.places import place


@pytest.fixture
def quiet(settings: Settings, tmp_path: Path) -> Settings:
    """Settings that nothing is to be said about, in a place of their own."""
    settings.VAR_DIR = tmp_path
    settings.DEBUG = settings.INSPECTOR_WRITE_BACK = settings.INSPECTOR_REQUIRE_SECOND_APPROVER = False
    settings.INSPECTOR_LOCAL = True
    settings.INSPECTOR_SOURCES, settings.INSPECTOR_BASE_URL = [tmp_path], ""
    return settings


def ids() -> list[str]:
    found = check_settings()
    assert all(each.hint for each in found)
    return [str(each.id) for each in found]


def test_ordinary_settings_are_quiet(quiet: Settings) -> None:
    quiet.DEBUG = True
    assert ids() == []


def test_write_back_beside_debug_pages_is_told(quiet: Settings) -> None:
    quiet.INSPECTOR_WRITE_BACK = True
    assert ids() == []
    quiet.DEBUG = True
    assert ids() == ["inspector.W001"]


def test_each_missing_root_is_told(quiet: Settings, tmp_path: Path) -> None:
    quiet.INSPECTOR_SOURCES = [tmp_path, tmp_path / "gone", tmp_path / "away", place("postgresql://me@db/brain")]
    assert ids() == ["inspector.W002", "inspector.W002"]


def test_links_to_a_host_that_we_refuse_are_told(quiet: Settings) -> None:
    quiet.INSPECTOR_LOCAL = False
    quiet.INSPECTOR_BASE_URL = "https://inspector.example.org/below"
    quiet.ALLOWED_HOSTS = ["localhost"]
    assert ids() == ["inspector.W003"]
    quiet.ALLOWED_HOSTS = [".example.org"]
    assert ids() == []


def test_debug_pages_for_other_machines_are_told(quiet: Settings) -> None:
    quiet.INSPECTOR_LOCAL, quiet.DEBUG = False, True
    assert ids() == ["inspector.W004"]


def test_a_second_approver_who_cannot_exist_is_told(quiet: Settings) -> None:
    quiet.INSPECTOR_REQUIRE_SECOND_APPROVER = True
    assert ids() == ["inspector.W005"]
    quiet.INSPECTOR_LOCAL = False
    assert ids() == []


def test_a_key_that_others_can_read_is_told(quiet: Settings, tmp_path: Path) -> None:
    key = tmp_path / "secret-key"
    key.write_text("x")
    key.chmod(0o600)
    assert ids() == []
    key.chmod(0o640)
    assert ids() == ["inspector.W006"]
