"""Gemini CLI keeps what the kit for programs asks."""

from pathlib import Path

import pytest

from inspector.testing import kit
from tests.programs.gemini_cli.chats import CLEAN, HEADER, ID, NAME, lines, resumed, rewind, user, write

pytestmark = pytest.mark.django_db


def _went_on(path: str) -> None:
    with (Path(path) / NAME).open("ab") as file:
        file.write(lines(user("u9", "Still there?")))


def _resumed(folder: Path) -> str:
    return str(write(folder, *resumed()))


def _never_resumed(folder: Path) -> str:
    return str(write(folder, *CLEAN))


def _cleared(folder: Path) -> str:
    return str(write(folder, *CLEAN, rewind("unknown"), user("u2", "And now?")))


def _legacy(folder: Path) -> str:
    chats = write(folder)
    (chats / NAME).unlink()
    import json

    (chats / NAME.removesuffix("l")).write_text(json.dumps({**HEADER, "messages": [CLEAN[2], CLEAN[5], CLEAN[6], CLEAN[7]]}, indent=2))
    return str(chats)


def _legacy_went_on(path: str) -> None:
    file = Path(path) / NAME.removesuffix("l")
    file.write_bytes(file.read_bytes().replace(b"Two files.", b"Three files."))


SAMPLES = {
    "resumed": kit.Sample("gemini-cli", _resumed, ID, ("record-results-once",), _went_on),
    "never resumed": kit.Sample("gemini-cli", _never_resumed, ID, ("record-results-once",), _went_on),
    "cleared": kit.Sample("gemini-cli", _cleared, ID, ("restore-cleared-messages", "record-results-once"), _went_on),
    "one object": kit.Sample("gemini-cli", _legacy, ID, ("record-results-once",), _legacy_went_on),
}


@pytest.mark.parametrize("check", kit.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "name", [name if name in ("resumed", "one object") else pytest.param(name, marks=pytest.mark.slow) for name in SAMPLES]
)
def test_gemini_cli_keeps_what_the_kit_asks(name: str, check: kit.Check, tmp_path: Path) -> None:
    check(SAMPLES[name], tmp_path / "store")
