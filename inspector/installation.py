"""Where Inspector runs from, a checkout or an installed wheel, and what follows from it; imports little, since every command does."""

import hashlib
import os
import sys
from functools import cache
from pathlib import Path

from inspector.text.shell_words import shell_word

PACKAGE = Path(__file__).resolve().parent
INSTALLED = (PACKAGE / "templates").is_dir()
"""A wheel has templates/ and static/ inside the package; in a checkout they are next to it."""
PAGE_FILES = tuple((PACKAGE if INSTALLED else PACKAGE.parent) / name for name in ("templates", "static"))


def data_folder() -> Path:
    """Where the embedded database, the secret key and the demo are: var/ of the checkout, else the user's data directory."""
    if not INSTALLED:
        return PACKAGE.parent / "var"
    from platformdirs import user_data_path

    return user_data_path("inspector", appauthor=False)


def program() -> str:
    """How a person types our commands from here: with the folder of the virtual environment that runs us where it is in this one, from elsewhere whole."""
    try:
        here = str(Path.cwd())
    except FileNotFoundError:  # The folder was removed since: none of its names is one.
        here = os.sep
    return _program(here, sys.argv[0], INSTALLED)


@cache
def _program(working_folder: str, started_as: str, is_installed: bool) -> str:
    # Kept, since every page asks for it twice: to look at the folder takes a thirtieth of the shortest page.
    folder = os.path.relpath(sys.prefix + "/bin", working_folder) + "/" if sys.prefix != sys.base_prefix else ""
    is_elsewhere = folder.startswith("..")
    if is_installed or Path(started_as).stem == "inspector":
        return "inspector" if is_elsewhere else f"{folder}inspector"
    manage, here = PACKAGE.parent / "manage.py", Path(working_folder, "manage.py")
    if not here.exists() or not manage.samefile(here):
        return _whole()
    return "python manage.py" if is_elsewhere else f"{folder}python manage.py"


def program_from_anywhere() -> str:
    """As `program`, for a page: in which folder somebody types what they copy is not known."""
    if INSTALLED or Path(sys.argv[0]).stem == "inspector":
        return "inspector" if program() == "inspector" else shell_word(f"{sys.prefix}/bin/inspector")
    return _whole()


def _whole() -> str:
    return f"{shell_word(sys.executable)} {shell_word(str(PACKAGE.parent / 'manage.py'))}"


def typed(*words: str) -> str:
    """One of our commands with its words as a shell takes them; `program()` itself may be several words.

    The value of an option that begins with a dash is written in one word with its name: alone it would be taken for an option.
    """
    joined: list[str] = []
    for word in words:
        is_value = joined and joined[-1].startswith("--") and word.startswith("-") and not word.startswith("--")
        joined[-1:] = [f"{joined[-1]}={word}"] if is_value else [*joined[-1:], word]
    return f"{program()} {' '.join(map(shell_word, joined))}"


def option(name: str, value: str) -> str:
    """An option of a command as a shell takes it; a value that looks like an option is written in one word with its name."""
    return shell_word(f"{name}={value}") if value.startswith("-") else f"{name} {shell_word(value)}"


@cache
def page_files_digest() -> str:
    """SHA-256 (hex) of templates, styles and scripts, and of the versions of the packages that render pages with them."""
    # With it come zipfile, csv and email, before the first line of every command.
    from importlib.metadata import version

    digest = hashlib.sha256(repr([(name, version(name)) for name in ("Django", "Pygments", "django-htmx")]).encode())
    for path in sorted(path for folder in PAGE_FILES for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()
