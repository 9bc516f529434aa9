"""The key that dispatch's trace store gives a body: SHA-256 rounds over a wrongly padded message."""

import struct

_MASK = 0xFFFFFFFF


def body_hash(data: bytes) -> str:
    """64 hex digits, as upstream's store computes them for `bodies.hash`.

    This is an opaque key. It equals SHA-256 only for the empty string and is never used to verify a body; integrity is
    the length against `originalSize`. It is here to write example stores.
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


def _rotate(word: int, by: int) -> int:
    return (word >> by | word << (32 - by)) & _MASK


def _compress(state: tuple[int, ...], block: tuple[int, ...]) -> tuple[int, ...]:
    words = list(block)
    for index in range(16, 64):
        early, late = words[index - 15], words[index - 2]
        first = _rotate(early, 7) ^ _rotate(early, 18) ^ early >> 3
        second = _rotate(late, 17) ^ _rotate(late, 19) ^ late >> 10
        words.append((words[index - 16] + first + words[index - 7] + second) & _MASK)
    a, b, c, d, e, f, g, h = state
    for constant, word in zip(_ROUND, words, strict=True):
        mixed = h + (_rotate(e, 6) ^ _rotate(e, 11) ^ _rotate(e, 25)) + ((e & f) ^ (~e & g)) + constant + word
        folded = (_rotate(a, 2) ^ _rotate(a, 13) ^ _rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
        a, b, c, d, e, f, g, h = (mixed + folded) & _MASK, a, b, c, (d + mixed) & _MASK, e, f, g
    return tuple((old + new) & _MASK for old, new in zip(state, (a, b, c, d, e, f, g, h), strict=True))
