"""Lines of a session file: every byte is kept, every state is told, and no line, however long or broken, is slow."""

import json
import random
import time

import pytest

from inspector.programs.pi_openclaw.lines import scan
from inspector.text.json_lines import BOM, SessionLine
from tests.folding import in_one_test
from tests.programs.pi_openclaw.session_files import a, call, entry, header, line, lines, r, text, u

H = line(header())
U = line(u("u1", None))
A = line(a("a1", "u1", text("hi"), call("c1", command="ls")))


def states(data: bytes) -> list[tuple[str, ...]]:
    return [found.states for found in scan(data)]


def ids(found: SessionLine) -> list[str | None]:
    return [None if part.value is None else part.value.get("id") for part in found.parts]


def joined(data: bytes) -> bytes:
    found = list(scan(data))
    return b"".join(each.raw + (b"\n" if each.ended else b"") for each in found)


@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b"\n\n", H, H + b"\n", H + b"\r\n" + U + b"\r\n", BOM + H + b"\n", b"\0\0\n" + H, H + b"\n" + A[:40], b"\xff\n\xe2\x80"],
)
def test_lines_joined_again_are_the_file(data: bytes) -> None:
    assert joined(data) == data


def test_only_the_byte_0x0a_ends_a_line() -> None:
    odd = line(u("u1", None, "a\u2028b\u0085c"))
    found = list(scan(lines(header(), odd)))
    assert [each.states for each in found] == [(), ()]
    assert found[1].parts[0].value == json.loads(odd) and found[1].offset == len(H) + 1


def test_a_whole_file_has_no_states() -> None:
    assert states(lines(header(), U, A, r("r1", "a1", "c1"), entry("label", "l", "r1", targetId="u1"))) == [()] * 5


@in_one_test(
    ("broken", "state"),
    [
        (A[:60], "torn"),
        (b"not JSON at all", "not-json"),
        (b'{"type":"message","x":NaN}', "torn"),
        (b"[1,2]", "not-object"),
        (b"null", "not-object"),
        (b"\0" * 50, "nul"),
        (b"\0" * 5 + A, "nul"),
        (U[:30] + b"\0\0" + U[30:], "nul"),
        (b'{"foo":1,"type":"label"}', "no-id"),
        (b'{"type":"label","id":7}', "no-id"),
        (b'{"type":"label","id":""}', "no-id"),
        (line(entry("of_the_future", "x", "u1")), "unknown-type"),
        (line(u("u1", "u1")), "duplicate-id"),
        (H, "second-header"),
        (b"", "blank"),
        (b" \r", "blank"),
        (U + A, "fused"),
        (line(u("u2", None, "bad")).replace(b"bad", b"b\xffd"), "not-utf8"),
        (b'{"a":' * 450 + b"1" + b"}" * 450, "too-deep"),
        (b'{"a":' * 100_000, "too-deep"),
        (b'{"a":' + b"9" * 5000 + b"}", "huge-integer"),
    ],
)
def test_state_of_a_line(broken: bytes, state: str) -> None:
    found = states(lines(header(), U, broken, line(a("a9", "u1"))))
    assert found[0] == found[1] == found[3] == () and state in found[2]


def test_two_records_on_one_line_are_both_recovered() -> None:
    for between in (b"", b" ", b"\t "):
        (found,) = scan(U + between + A)
        assert [(part.number, part.value) for part in found.parts] == [(1, json.loads(U)), (2, json.loads(A))]
        assert found.states == ("fused",)


def test_a_whole_record_behind_a_torn_one_is_recovered() -> None:
    (found,) = scan(A[:70] + line(r("r1", "a1", "c1")))
    assert found.states == ("fused",) and ids(found) == [None, "r1"] and found.parts[0].damage == "torn"


def test_a_torn_record_behind_a_whole_one_is_a_fragment() -> None:
    (found,) = scan(U + A[:70])
    assert ids(found) == ["u1", None] and found.parts[1].damage == "torn" and "70 characters" in found.parts[1].reason


def test_a_block_at_the_end_of_a_torn_message_is_no_record() -> None:
    torn = A[: A.index(b"}}]") + 2]
    (found,) = scan(torn)
    assert found.states == ("torn",) and ids(found) == [None]


def test_words_of_a_record_inside_a_text_are_no_record() -> None:
    quoted = line(u("u1", None, U.decode()))
    assert states(lines(header(), quoted)) == [(), ()]
    assert states(lines(header(), quoted[:-20]))[1] == ("torn",)


def test_a_duplicate_may_have_further_states() -> None:
    odd = entry("of_the_future", "x", None)
    assert states(lines(header(), odd, odd))[2] == ("unknown-type", "duplicate-id")


def test_ids_are_not_missed_in_version_1() -> None:
    assert states(lines(header(version=...), {"type": "message", "message": {"role": "user", "content": "hi"}})) == [(), ()]
    assert states(lines({"type": "message", "message": {}}, {"type": "message", "message": {}})) == [(), ()]
    assert states(lines(header(version=2), {"type": "message", "message": {}}))[1] == ("no-id",)


@pytest.mark.parametrize(
    "hostile",
    [
        b'{"type":"message","x":"' + b'{\\"a\\" [ ' * 100_000,
        b'{"type":"message"' * 60_000,
        b'{"type":"message","timestamp":"x"' * 30_000 + b"}",
        b'"' * 500_000,
        b"[" * 500_000,
        b'{"type":"label","id":"a"}' * 20_000,
        b'\\"{' * 300_000,
    ],
)
def test_a_hostile_line_is_read_in_its_own_length(hostile: bytes) -> None:
    start = time.process_time()
    (found,) = scan(hostile)
    assert found.states and time.process_time() - start < 3


@in_one_test("seed", range(30))
def test_random_damage_keeps_every_byte(seed: int) -> None:
    chance = random.Random(seed)
    data = bytearray(lines(header(), U, A, r("r1", "a1", "c1"), u("u2", "r1")))
    for _ in range(chance.randrange(1, 12)):
        at = chance.randrange(len(data))
        data[at : at + chance.randrange(3)] = chance.choice([b"", b"\n", b"\0", b"\xff", b"}{", b'"'])
    assert joined(bytes(data)) == bytes(data)
