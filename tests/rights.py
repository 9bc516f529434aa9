"""What may not be read, for tests that root runs too."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_VERSION = 0x20080522
_READS_ALL = 1 << 1 | 1 << 2
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, for which no mode of a file counts."""


@contextmanager
def closed(*paths: Path) -> Iterator[None]:
    """Within it nobody may read these files or look into these folders, root included."""
    modes = {path: path.stat().st_mode for path in paths}
    for path in paths:
        path.chmod(0)
    try:
        with _as_others():
            yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


@contextmanager
def _as_others() -> Iterator[None]:
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None)
    header, data = (ctypes.c_uint32 * 2)(_VERSION, 0), (ctypes.c_uint32 * 6)()
    if not hasattr(libc, "capset") or libc.capget(header, data):
        pytest.skip("root may read every file here")
    effective = data[0]
    data[0] = effective & ~_READS_ALL
    assert libc.capset(header, data) == 0
    try:
        yield
    finally:
        data[0] = effective
        assert libc.capset(header, data) == 0
