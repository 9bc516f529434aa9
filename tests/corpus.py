"""The corpus of files of real programs; it is no part of this repository."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent


def places() -> Iterator[Path]:
    """Where it may be: `$INSPECTOR_CORPUS` alone where that is set, else `var/corpus` and a folder `shared` next to the checkout or above it."""
    if named := os.environ.get("INSPECTOR_CORPUS"):
        yield Path(named).absolute()
        return
    yield CHECKOUT / "var" / "corpus"
    shared = os.environ.get("INSPECTOR_SHARED")
    for folder in [Path(shared)] if shared else [above / "shared" for above in CHECKOUT.parents]:
        yield folder / "corpus"


CORPUS = next((place for place in places() if place.is_dir()), next(places()))


def needs(folder: str) -> pytest.MarkDecorator:
    """Skips a test, with the reason, where the corpus has no such folder."""
    return pytest.mark.skipif(not (CORPUS / folder).is_dir(), reason=f"{CORPUS / folder} is not there: set INSPECTOR_CORPUS to the corpus")
