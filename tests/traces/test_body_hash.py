"""Upstream's body key: equal to theirs, and to SHA-256 only where nothing is hashed."""

import hashlib

import pytest

from inspector.traces.body_hash import body_hash

VECTORS = {
    b"abc": "316f1c43031da25998eeab07be5d6fea6e340ef152f05aa53124f707e41eedd2",
    b"the full prompt text": "75799ee31666d97f554fa463f3e2e0e003412a8ae23da693cb94730c6c836087",
    b"identical body content": "f444bdb41c248b3eff1adc69da863376f14b9838fa7b466da448aacd5cb84c3b",
    b"x" * 55: "d31c8de27ba3423cfc8237bb64ab3dbaf3f97e90ea409e1ff0020a05af54fa68",
    b"x" * 2048: "139fb946fb51b5407f101b775f213845813593004ce0d3c192db9b7dd6b74da9",
}


@pytest.mark.parametrize(("data", "expected"), VECTORS.items(), ids=[f"{data[:22].decode()} ({len(data)})" for data in VECTORS])
def test_vectors(data: bytes, expected: str) -> None:
    assert body_hash(data) == expected
    assert body_hash(data) != hashlib.sha256(data).hexdigest()


def test_the_empty_string_alone_hashes_as_sha256_does() -> None:
    assert body_hash(b"") == hashlib.sha256(b"").hexdigest()
