"""Files that real providers, clients and programs answered; they are no part of this repository."""

import os
from pathlib import Path

import pytest


def evidence(name: str, folder: str = "evidence/verdicts") -> Path:
    """A file of `$INSPECTOR_SHARED`, or of a folder `shared` next to the checkout or above it. Skips the test where there is none."""
    given = os.environ.get("INSPECTOR_SHARED")
    roots = [Path(given)] if given else [above / "shared" for above in Path(__file__).resolve().parents]
    for root in roots:
        if (root / folder / name).exists():
            return root / folder / name
    pytest.skip(f"no {folder}/{name}: set INSPECTOR_SHARED to the folder that contains it")
