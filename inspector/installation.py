"""Where Inspector runs from, a checkout or an installed wheel, and what follows from it; imports nothing but Python's own modules."""

import hashlib
import os
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
INSTALLED = (PACKAGE / "templates").is_dir()
"""A wheel has templates/ and static/ inside the package; in a checkout they are next to it."""
CODE = (PACKAGE,) if INSTALLED else (PACKAGE, PACKAGE.parent / "templates", PACKAGE.parent / "static")


def data_folder() -> Path:
    """Where the embedded database, the secret key and the demo are: var/ of the checkout, else the user's data directory."""
    if not INSTALLED:
        return PACKAGE.parent / "var"
    from platformdirs import user_data_path

    return user_data_path("inspector", appauthor=False)


def program() -> str:
    """How a person types our commands from here: with the folder of the virtual environment that runs us where it is in this one."""
    folder = os.path.relpath(sys.prefix + "/bin") + "/" if sys.prefix != sys.base_prefix else ""
    command = "inspector" if INSTALLED or Path(sys.argv[0]).stem == "inspector" else "python manage.py"
    return command if folder.startswith("..") else folder + command


@cache
def code_digest() -> str:
    """SHA-256 (hex) of our code, templates and static files and of the packages that render pages: another digest, perhaps another page."""
    digest = hashlib.sha256()
    for name in ("Django", "Pygments", "django-htmx"):
        digest.update(f"{name} {version(name)}\n".encode())
    for folder in CODE:
        for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"):
            content = path.read_bytes()
            digest.update(f"{path.relative_to(folder)} {len(content)}\n".encode() + content)
    return digest.hexdigest()
