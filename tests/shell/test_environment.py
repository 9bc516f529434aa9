"""Settings from the environment: what they mean, and the sentence for a bad one."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from inspector import environment
from inspector.sources.dsn import Dsn

NAME = "INSPECTOR_SAMPLE"


def refusal(monkeypatch: pytest.MonkeyPatch, read: object, value: str, *more: object) -> str:
    monkeypatch.setenv(NAME, value)
    with pytest.raises(ImproperlyConfigured) as refused:
        read(NAME, *more)  # type: ignore[operator]
    text = str(refused.value)
    assert text.startswith(NAME) and text.endswith(".") and "\n" not in text
    return text


@pytest.mark.parametrize(("value", "meaning"), [("true", True), ("1", True), (" On ", True), ("no", False), ("0", False), ("", False)])
def test_a_flag_is_read(monkeypatch: pytest.MonkeyPatch, value: str, meaning: bool) -> None:
    monkeypatch.setenv(NAME, value)
    assert environment.flag(NAME) is meaning


def test_an_unset_flag_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAME, raising=False)
    assert environment.flag(NAME) is False


def test_a_misspelt_flag_is_refused_and_not_taken_for_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "'ture' is neither" in refusal(monkeypatch, environment.flag, "ture")


def test_blank_host_names_mean_loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "  ")
    assert environment.is_local(environment.host_names(NAME))


@pytest.mark.parametrize("value", ["inspector.example.org", "localhost,inspector.example.org", "*", ".example.org"])
def test_any_other_host_name_ends_local_mode(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(NAME, value)
    assert environment.host_names(NAME) == value.split(",")
    assert not environment.is_local(environment.host_names(NAME))


@pytest.mark.parametrize("value", ["https://inspector.example.org", "localhost:8000", "a b"])
def test_a_host_name_with_scheme_port_or_space_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    assert repr(value) in refusal(monkeypatch, environment.host_names, value)


def test_folders_are_separated_by_the_path_separator_or_commas(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(NAME, f"{tmp_path}/one{os.pathsep}{tmp_path}/with space, {tmp_path}/three,")
    assert environment.sources(NAME) == [tmp_path / "one", tmp_path / "with space", tmp_path / "three"]


def test_a_folder_behind_a_link_is_resolved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv(NAME, str(tmp_path / "link"))
    assert environment.sources(NAME) == [tmp_path / "real"]


def test_a_relative_folder_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "'stores' is not absolute" in refusal(monkeypatch, environment.sources, "/srv,stores")


def test_a_home_folder_of_nobody_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "whose home folder is unknown" in refusal(monkeypatch, environment.sources, "~no-such-person/stores")


def test_addresses_stand_between_commas_and_lose_their_password(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(NAME, f"{tmp_path}{os.pathsep}/srv, postgres://me:secret@db.example.org:5433/brain,/opt")
    folder, srv, address, opt = environment.sources(NAME)
    assert [folder, srv, opt] == [tmp_path, Path("/srv"), Path("/opt")]
    assert isinstance(address, Dsn) and address.name == "postgresql://me@db.example.org:5433/brain"


@pytest.mark.parametrize(
    "value", ["/srv:postgresql://me:secret@db/brain", "mysql://me:secret@db/brain", "postgresql://me:se@cret@db/brain"]
)
def test_a_bad_address_is_refused_without_its_password(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    assert "cret" not in refusal(monkeypatch, environment.sources, value)


def test_a_base_url_loses_its_last_slash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "https://example.org/inspector/")
    assert environment.base_url(NAME) == "https://example.org/inspector"


@pytest.mark.parametrize(
    "value", ["example.org", "ftp://example.org", "https://", "https://example.org:x", "https://[", "https://example.org/?a"]
)
def test_a_base_url_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    assert repr(value) in refusal(monkeypatch, environment.base_url, value)


def test_the_default_database_waits_for_writers_and_its_folder_is_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(NAME, raising=False)
    found = environment.database(NAME, tmp_path / "var" / "inspector.sqlite3", tmp_path)
    assert found["NAME"] == str(tmp_path / "var" / "inspector.sqlite3")
    assert found["OPTIONS"] == {"init_command": "PRAGMA journal_mode=WAL", "timeout": 20, "transaction_mode": "IMMEDIATE"}
    assert stat.S_IMODE((tmp_path / "var").stat().st_mode) == 0o700


def test_a_relative_sqlite_url_starts_at_the_project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(NAME, "sqlite:///data/mine.sqlite3")
    assert environment.database(NAME, tmp_path / "var" / "inspector.sqlite3", tmp_path)["NAME"] == str(tmp_path / "data" / "mine.sqlite3")


@pytest.mark.parametrize(
    ("value", "host", "options"),
    [
        ("postgres://me:p%40ss%2F@db:5433/x", "db", {"connect_timeout": 10}),
        ("postgresql://me:p%40ss%2F@%2Frun%2Fpostgresql:5433/x", "/run/postgresql", {"connect_timeout": 10}),
        ("postgres://me:p%40ss%2F@[::1]:5433/x?sslmode=require&connect_timeout=3", "::1", {"sslmode": "require", "connect_timeout": 3}),
    ],
)
def test_a_server_is_named_as_libpq_has_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str, host: str, options: dict[str, object]
) -> None:
    monkeypatch.setenv(NAME, value)
    found = environment.database(NAME, tmp_path / "var" / "x", tmp_path)
    assert [found[each] for each in ("HOST", "PORT", "USER", "PASSWORD", "NAME")] == [host, 5433, "me", "p@ss/", "x"]
    assert options.items() <= found["OPTIONS"].items() and found["OPTIONS"]["isolation_level"].name == "READ_COMMITTED"
    assert found["CONN_HEALTH_CHECKS"] and not (tmp_path / "var").exists()


@pytest.mark.parametrize(
    "value", ["mysql://me:hunter2@db/x", "me:hunter2@db", "/hunter2", "postgres://me:hunter2@db:port/x", "postgres://me:hunter2@db/"]
)
def test_a_bad_database_url_is_refused_without_its_password(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str) -> None:
    assert "hunter2" not in refusal(monkeypatch, environment.database, value, tmp_path / "var" / "x", tmp_path).replace(
        "scheme is '/hunter2'", ""
    )


def test_a_folder_that_cannot_be_made_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot be made" in refusal(
        monkeypatch, environment.database, f"sqlite:///{tmp_path}/file/x.sqlite3", tmp_path / "var" / "x", tmp_path
    )


def test_a_key_is_made_once_and_closed_to_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(NAME, raising=False)
    kept_in = tmp_path / "var" / "secret-key"
    key = environment.secret_key(NAME, kept_in)
    assert len(key) >= 50
    assert environment.secret_key(NAME, kept_in) == key
    assert stat.S_IMODE(kept_in.stat().st_mode) == 0o600
    assert list(kept_in.parent.iterdir()) == [kept_in]


def test_a_given_key_is_used_and_none_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(NAME, "$ecret")
    assert environment.secret_key(NAME, tmp_path / "secret-key") == "$ecret"
    assert not (tmp_path / "secret-key").exists()


def test_an_empty_key_file_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "secret-key").write_text("\n")
    assert "is empty" in refusal(monkeypatch, environment.secret_key, "", tmp_path / "secret-key")


def test_a_bad_value_stops_a_command_with_one_sentence(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, settings.BASE_DIR / "manage.py", "check_settings"],
        env=os.environ | {"DJANGO_SECRET_KEY": "x", "INSPECTOR_WRITE_BACK": "perhaps"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "INSPECTOR_WRITE_BACK must be true or false, and 'perhaps' is neither: set it to one of them or unset it.\n"


def test_a_program_is_run_only_where_somebody_decided_it_or_in_local_mode(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for value in (sys.executable, "off"):
        monkeypatch.setenv(NAME, value)
        environment.program(NAME, False)
        assert os.environ[NAME] == value
    for value in ("opencode", str(tmp_path), str(tmp_path / "missing")):
        assert repr(value) in refusal(monkeypatch, environment.program, value, True)
    monkeypatch.setenv(NAME, "")
    environment.program(NAME, True)
    assert os.environ[NAME] == ""
    environment.program(NAME, False)
    assert os.environ[NAME] == "off"
