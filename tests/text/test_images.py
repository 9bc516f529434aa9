"""The format and size of an image by its first bytes, and what is wrong with it."""

from base64 import b64encode

import pytest

from inspector.text.images import ImageHeader, header, problem
from tests.folding import in_one_test

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (640).to_bytes(4, "big") + (480).to_bytes(4, "big") + b"\0" * 8
GIF = b"GIF89a" + (640).to_bytes(2, "little") + (480).to_bytes(2, "little")
JPEG = (
    b"\xff\xd8\xff\xe0\0\x10JFIF" + b"\0" * 10 + b"\xff\xc4\0\x04\0\0" + b"\xff\xc2\0\x11\x08"
    + (480).to_bytes(2, "big") + (640).to_bytes(2, "big") + b"\3" * 10
)  # fmt: skip
LOSSY = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + (640).to_bytes(2, "little") + (480).to_bytes(2, "little")
LOSSLESS = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + (639 | 479 << 14).to_bytes(4, "little")
EXTENDED = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0" + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")


@in_one_test(
    ("data", "media_type"),
    [
        (PNG, "image/png"),
        (GIF, "image/gif"),
        (JPEG, "image/jpeg"),
        (LOSSY, "image/webp"),
        (LOSSLESS, "image/webp"),
        (EXTENDED, "image/webp"),
    ],
)
def test_format_and_size(data: bytes, media_type: str) -> None:
    encoded = b64encode(data).decode()
    assert header(encoded) == ImageHeader(media_type, 640, 480)
    assert problem(media_type, encoded, 100) is None


def test_a_header_that_is_cut_off_has_no_size() -> None:
    assert header(b64encode(PNG[:18]).decode()) == ImageHeader("image/png")
    assert header(b64encode(JPEG[:24]).decode()) == ImageHeader("image/jpeg")
    assert header(b64encode(b"RIFF\0\0\0\0WEBPVP8L").decode()) == ImageHeader("image/webp", 1, 1)


@pytest.mark.parametrize("data", ["a", "ab=c", "äöüß", "iVBORw0KGgo\n", "===="])
def test_what_is_no_base64(data: str) -> None:
    assert header(data) is None
    assert getattr(problem("image/png", data, 1), "kind", None) == "unreadable"


@pytest.mark.parametrize(
    ("media_type", "data", "kind"),
    [
        ("image/png", "", "empty"),
        ("image/svg+xml", b64encode(PNG).decode(), "media-type"),
        ("image/jpeg", b64encode(PNG).decode(), "mismatch"),
        ("image/png", b64encode(b"<!doctype html>").decode(), "unreadable"),
    ],
)
def test_what_is_rejected(media_type: str, data: str, kind: str) -> None:
    assert getattr(problem(media_type, data, 1), "kind", None) == kind
