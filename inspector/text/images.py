"""What the bytes of an image say of it: its format and its size in pixels, by the header alone."""

import re
from binascii import Error, a2b_base64
from dataclasses import dataclass

MEDIA_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
LARGEST = 5 * 1024 * 1024
"""Characters of base64: the numbers of bytes that are quoted from errors are all multiples of four."""
LONGEST_SIDE, LONGEST_OF_MANY, MANY = 8000, 2000, 20
_PLACEHOLDER = re.compile(r"[<\[(*.…].{0,200}|.{0,200}[>\])…]", re.DOTALL)
_LARGEST_HEAD = 1024 * 1024
"""Bytes that are decoded to find the size: a JPEG may have a preview and a color profile before it."""
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_NO_SIZE = frozenset((0xC4, 0xC8, 0xCC))
"""Of JPEG's markers C0 to CF the ones that begin no frame."""


@dataclass(frozen=True, slots=True)
class ImageHeader:
    """`media_type`: "" where the bytes are of no known format. Sizes are in pixels, 0 where the header does not have them."""

    media_type: str
    width: int = 0
    height: int = 0


def header(data: str) -> ImageHeader | None:
    """Of an image in base64; None where the text is no base64."""
    if len(data) % 4 or not _BASE64.fullmatch(data):
        return None
    try:
        head = a2b_base64(data[:_LARGEST_HEAD] if len(data) > _LARGEST_HEAD else data)
    except Error:
        return None
    return _png(head) or _gif(head) or _webp(head) or _jpeg(head) or ImageHeader("")


def _png(head: bytes) -> ImageHeader | None:
    if not head.startswith(b"\x89PNG\r\n\x1a\n"):
        return None
    return ImageHeader("image/png", _big(head, 16, 4), _big(head, 20, 4))


def _gif(head: bytes) -> ImageHeader | None:
    if not head.startswith((b"GIF87a", b"GIF89a")):
        return None
    return ImageHeader("image/gif", _little(head, 6, 2), _little(head, 8, 2))


def _webp(head: bytes) -> ImageHeader | None:
    if not (head.startswith(b"RIFF") and head[8:12] == b"WEBP"):
        return None
    match head[12:16]:
        case b"VP8 ":
            return ImageHeader("image/webp", _little(head, 26, 2) & 0x3FFF, _little(head, 28, 2) & 0x3FFF)
        case b"VP8L":
            bits = _little(head, 21, 4)
            return ImageHeader("image/webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        case b"VP8X":
            return ImageHeader("image/webp", _little(head, 24, 3) + 1, _little(head, 27, 3) + 1)
    return ImageHeader("image/webp")


def _jpeg(head: bytes) -> ImageHeader | None:
    if not head.startswith(b"\xff\xd8\xff"):
        return None
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in _NO_SIZE:
            return ImageHeader("image/jpeg", _big(head, at + 7, 2), _big(head, at + 5, 2))
        at += 2 + max(_big(head, at + 2, 2), 2)
    return ImageHeader("image/jpeg")


def _big(head: bytes, at: int, size: int) -> int:
    return int.from_bytes(head[at : at + size], "big") if len(head) >= at + size else 0


def _little(head: bytes, at: int, size: int) -> int:
    return int.from_bytes(head[at : at + size], "little") if len(head) >= at + size else 0


@dataclass(frozen=True, slots=True)
class ImageProblem:
    """Why Anthropic rejects an image. `kind`: empty | media-type | bytes | unreadable | mismatch | pixels | pixels-of-many. `about` goes on "the image ...", as a clause."""

    kind: str
    about: str


def problem(media_type: str, data: str, images: int) -> ImageProblem | None:
    """What Anthropic rejects about an image in base64, in a request with so many of them. A placeholder that a log wrote for the data is none."""
    if not data:
        return ImageProblem("empty", "has no bytes")
    if media_type not in MEDIA_TYPES:
        return ImageProblem("media-type", f"is declared as {media_type[:60]!r}, which is none of {', '.join(MEDIA_TYPES)}")
    if len(data) > LARGEST:
        return ImageProblem("bytes", f"has {len(data):,} bytes in base64, more than the {LARGEST:,} (5 MB) that are taken")
    own_header = header(data)
    if own_header is None:
        return None if _PLACEHOLDER.fullmatch(data) else ImageProblem("unreadable", "is no base64")
    if not own_header.media_type:
        return ImageProblem("unreadable", "is in no format that is taken: its first bytes are those of no PNG, JPEG, GIF or WebP")
    if own_header.media_type != media_type:
        return ImageProblem("mismatch", f"is declared as {media_type}, and its bytes are {own_header.media_type}")
    size = f"is {own_header.width:,} × {own_header.height:,} pixels"
    longest = max(own_header.width, own_header.height)
    if longest > LONGEST_SIDE:
        return ImageProblem("pixels", f"{size}, more than {LONGEST_SIDE} on a side")
    if images > MANY and longest > LONGEST_OF_MANY:
        return ImageProblem("pixels-of-many", f"{size}, more than {LONGEST_OF_MANY} on a side in a request with more than {MANY} images")
    return None
