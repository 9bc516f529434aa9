"""The key that dispatch's trace store gives a body: SHA-256 rounds over a wrongly padded message."""

import struct
from functools import lru_cache

_MASK = 0xFFFFFFFF


@lru_cache(maxsize=512)
def body_hash(data: bytes) -> str:
    """64 hex digits, as upstream's store computes them for `bodies.hash`.

    This is an opaque key. It equals SHA-256 only for the empty string and is never used to verify a body; integrity is
    the length against `originalSize`. It is here to write example stores,
    which have the same few bodies each time.
    """
    bits = len(data) * 8
    padded = data + b"\x80"
    padded += bytes((32 - len(padded)) % 64)
    # Upstream fills to 32 instead of 56, keeps one byte of each length word, and reads past the end as zero.
    padded += bytes([bits >> 32 & 0xFF, 0, 0, 0, bits & 0xFF, 0, 0, 0]) + bytes(24)
    state = _INITIAL
    for block in struct.iter_unpack(">16I", padded):
        state = _compress(state, block)
    return "".join(f"{word:08x}" for word in state)


def _primes(count: int) -> list[int]:
    primes: list[int] = []
    candidate = 2
    while len(primes) < count:
        if all(candidate % prime for prime in primes):
            primes.append(candidate)
        candidate += 1
    return primes


def _root_fraction(number: int, degree: int) -> int:
    # First 32 bits of the fraction of the root (FIPS 180-4, 4.2.2 and 5.3.3), in integers so that it is exact.
    target = number << (32 * degree)
    low, high = 0, 1 << 40
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= target else (low, middle)
    return low & _MASK


_ROUND = [_root_fraction(prime, 3) for prime in _primes(64)]
_INITIAL = tuple(_root_fraction(prime, 2) for prime in _primes(8))


def _compress(state: tuple[int, ...], block: tuple[int, ...]) -> tuple[int, ...]:
    words = list(block)
    for index in range(16, 64):
        early, late = words[index - 15], words[index - 2]
        # A word twice in a row, shifted, has the word rotated in its last 32 bits.
        twice_early, twice_late = early << 32 | early, late << 32 | late
        first = (twice_early >> 7 ^ twice_early >> 18) & _MASK ^ early >> 3
        second = (twice_late >> 17 ^ twice_late >> 19) & _MASK ^ late >> 10
        words.append((words[index - 16] + first + words[index - 7] + second) & _MASK)
    a, b, c, d, e, f, g, h = state
    for constant, word in zip(_ROUND, words, strict=True):
        twice_a, twice_e = a << 32 | a, e << 32 | e
        mixed = h + ((twice_e >> 6 ^ twice_e >> 11 ^ twice_e >> 25) & _MASK) + ((e & f) ^ (~e & g)) + constant + word
        folded = ((twice_a >> 2 ^ twice_a >> 13 ^ twice_a >> 22) & _MASK) + ((a & b) ^ (a & c) ^ (b & c))
        a, b, c, d, e, f, g, h = (mixed + folded) & _MASK, a, b, c, (d + mixed) & _MASK, e, f, g
    return tuple((old + new) & _MASK for old, new in zip(state, (a, b, c, d, e, f, g, h), strict=True))
