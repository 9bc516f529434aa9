"""Bytes as events: the rules of the HTML standard, records of two framings told apart, and the same frames however the bytes are cut."""

import json
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from inspector.streams.framing import LIMIT, MARKS, Framer, frames_of
from inspector.streams.model import End, Exchange, Frame, Framing, How, Read, Side
from tests.folding import in_one_test

SSE, NDJSON, OTHER = Framing.SSE, Framing.NDJSON, Framing.OTHER

CASES: list[tuple[str, bytes, list[tuple[Framing, str, bytes, tuple[str, ...]]]]] = [
    ("an event", b"data: x\n\n", [(SSE, "", b"x", ())]),
    ("CRLF", b"data: x\r\n\r\n", [(SSE, "", b"x", ("crlf",))]),
    ("bare CR", b"data: x\r\rdata: y\r\r", [(SSE, "", b"x", ("bare-cr",)), (SSE, "", b"y", ("bare-cr",))]),
    ("all three line ends", b"event: a\rdata: x\r\n\n", [(SSE, "a", b"x", ("crlf", "bare-cr"))]),
    (
        "a byte order mark, once",
        b"\xef\xbb\xbfdata: x\n\n\xef\xbb\xbfdata: y\n\n",
        [(SSE, "", b"x", ("bom",)), (OTHER, "", b"\xef\xbb\xbfdata: y", ("unknown-field",))],
    ),
    ("several data lines", b"data: x\ndata:\ndata:  y\n\n", [(SSE, "", b"x\n\n y", ())]),
    ("no space, no colon", b"data:x\n\ndata\n\n", [(SSE, "", b"x", ()), (SSE, "", b"", ())]),
    ("name, id and retry", b"event: a\nid: 7\nretry: 10\ndata: x\n\n", [(SSE, "a", b"x", ())]),
    ("the last name counts", b"event: a\nevent: b\ndata: x\n\n", [(SSE, "b", b"x", ())]),
    ("fields without data", b"event: ping\n\nid: 1\n\n", [(OTHER, "ping", b"", ("no-data",)), (OTHER, "", b"", ("no-data",))]),
    (
        "comments",
        b": alive\n\n:\n\ndata: x\n: inside\n\n",
        [(OTHER, "", b": alive", ("comment",)), (OTHER, "", b":", ("comment",)), (SSE, "", b"x", ("comment",))],
    ),
    ("unknown fields", b"junk\n\ndata: x\nfoo: y\n\n", [(OTHER, "", b"junk", ("unknown-field",)), (SSE, "", b"x", ("unknown-field",))]),
    (
        "a field that only looks like one",
        b" data: x\nDATA: x\n",
        [(OTHER, "", b" data: x", ("unknown-field",)), (OTHER, "", b"DATA: x", ("unknown-field",))],
    ),
    ("the end within an event", b"data: x\n\ndata: y\n", [(SSE, "", b"x", ()), (SSE, "", b"y", ("unterminated",))]),
    ("the end within a line", b"data: x\n\ndata: [DO", [(SSE, "", b"x", ()), (SSE, "", b"[DO", ("unterminated", "no-line-end"))]),
    (
        "lines of JSON",
        b'{"a":1}\n\n{"b":2}\r\n{"c":3}',
        [(NDJSON, "", b'{"a":1}', ()), (NDJSON, "", b'{"b":2}', ("crlf",)), (NDJSON, "", b'{"c":3}', ("no-line-end",))],
    ),
    (
        "damaged lines of JSON",
        b'{bad\n{"a": "x\n{"b":1}\n',
        [(NDJSON, "", b"{bad", ()), (NDJSON, "", b'{"a": "x', ()), (NDJSON, "", b'{"b":1}', ())],
    ),
    (
        "both framings",
        b'data: x\n\n{"done":true}\ndata: y\n\n',
        [(SSE, "", b"x", ()), (NDJSON, "", b'{"done":true}', ()), (SSE, "", b"y", ())],
    ),
    (
        "a line of JSON within an event",
        b'data: x\n{"done":true}\n',
        [(SSE, "", b"x", ("interrupted",)), (NDJSON, "", b'{"done":true}', ())],
    ),
    (
        "an error body over several lines",
        b'data: x\n\n{\n  "error": {\n    "message": "a {"\n  }\n}\ndata: y\n\n',
        [(SSE, "", b"x", ()), (OTHER, "", b'{\n  "error": {\n    "message": "a {"\n  }\n}', ("json-body",)), (SSE, "", b"y", ())],
    ),
    ("a list over several lines", b'[\n{"a":1},\n{"b":2}\n]\n', [(OTHER, "", b'[\n{"a":1},\n{"b":2}\n]', ("json-body",))]),
    ("a body that is cut", b'{\n "a": 1,\ndata: x\n\n', [(OTHER, "", b'{\n "a": 1,', ("json-body", "unterminated")), (SSE, "", b"x", ())]),
    ("a body and a line of JSON", b'{\n{"a":1}\n', [(OTHER, "", b"{", ("json-body", "unterminated")), (NDJSON, "", b'{"a":1}', ())]),
    ("a body at the end", b'{\n "a": [', [(OTHER, "", b'{\n "a": [', ("json-body", "unterminated", "no-line-end"))]),
    (
        "bytes that are no UTF-8",
        b"data: \xff\n\nevent: \xfe\ndata: x\n\n{\xff}\n",
        [(SSE, "", b"\xff", ("bad-utf8",)), (SSE, "\ufffd", b"x", ("bad-utf8",)), (NDJSON, "", b"{\xff}", ("bad-utf8",))],
    ),
    ("UTF-8", 'data: "検索 ☂"\n\n'.encode(), [(SSE, "", '"検索 ☂"'.encode(), ())]),
    ("nothing", b"", []),
    ("blank lines only", b"\n\r\n\r\r\n\n", []),
    ("only a byte order mark", b"\xef\xbb\xbf", []),
]


def framed(pieces: Iterable[bytes], limit: int = LIMIT) -> list[Frame]:
    framer = Framer(limit, reads=False)
    return [frame for piece in pieces for frame in framer.feed(piece)] + framer.end()


def cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    edges = [0, *sorted(places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


@in_one_test(("data", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_frames(data: bytes, expected: list[tuple[Framing, str, bytes, tuple[str, ...]]]) -> None:
    found = framed([data])
    assert [(frame.framing, frame.name, frame.data, frame.marks) for frame in found] == expected
    assert [frame.index for frame in found] == list(range(len(found)))


@in_one_test("data", [case[1] for case in CASES], ids=[case[0] for case in CASES])
def test_every_cut_in_two_and_single_bytes_give_the_same(data: bytes) -> None:
    whole = framed([data])
    assert framed(data[place : place + 1] for place in range(len(data))) == whole
    for place in range(len(data)):
        assert framed(cut(data, [place])) == whole


# Pieces that meet in every way that matters: line ends, fields, brackets, halves of characters.
_SOUP = st.lists(
    st.sampled_from(
        [
            b"\n",
            b"\r",
            b"\r\n",
            b"\n\n",
            b"data:",
            b"data: ",
            b"event: a\n",
            b"id",
            b":",
            b"x",
            b"{",
            b"}",
            b'"',
            b"[",
            b"]",
            b",",
            b'{"a":1}',
            b"\\",
        ]
    )
    | st.sampled_from([b"\xef\xbb\xbf", b"\xef", b"\xff", "検".encode(), b" ", b"\t", b"y" * 70]),
    max_size=40,
).map(b"".join)


@settings(max_examples=600, deadline=None)
@given(_SOUP, st.lists(st.integers(0, 400), max_size=8), st.sampled_from([LIMIT, 90, 20, 5]))
@example(b"\xef\xbb\xbf{" + b"x" * 90 + b"\r\n{\n", [1, 2, 92], 90)
@example(b"{\n" + b'"' + b"x" * 200 + b'":1}\n}\n', [50], 90)
def test_any_cut_gives_the_same(data: bytes, places: list[int], limit: int) -> None:
    whole = framed([data], limit)
    assert framed(cut(data, [place for place in places if place <= len(data)]), limit) == whole
    assert framed((data[place : place + 1] for place in range(len(data))), limit) == whole
    for before, after in pairwise(whole):
        assert before.end <= after.start
    assert all(frame.start < frame.end <= len(data) and set(frame.marks) <= set(MARKS) for frame in whole)


def by_the_standard(text: str) -> list[tuple[str, str]]:
    """Events as 9.2.6 of the HTML standard dispatches them, line by line; written for clarity only."""
    events, name, data = [], "", ""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for line in lines[:-1]:
        if not line:
            if data:
                events.append((name, data[:-1]))
            name = data = ""
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            data += value + "\n"
    return events


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.sampled_from(["data: x", "data:", "data:  y", "data", "event: a", "event:b", "id: 1", "retry: 2", ": c", "foo: z", "foo", ""]),
        max_size=30,
    ),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_events_are_those_of_the_standard(lines: list[str], ends: str) -> None:
    text = "".join(line + ends for line in lines)
    found = [
        (frame.name, frame.data.decode()) for frame in framed([text.encode()]) if frame.framing is SSE and "unterminated" not in frame.marks
    ]
    assert found == by_the_standard(text)


def test_a_record_over_the_limit_is_named_and_the_stream_goes_on() -> None:
    data = b"data: " + b"x" * 500 + b"\n\ndata: y\n\n{" + b"z" * 500 + b'}\n{"a":1}\n: ' + b"c" * 500 + b"\n"
    found = framed([data], limit=100)
    assert [(frame.framing, frame.data, frame.marks) for frame in found] == [
        (OTHER, b"", ("over-limit",)),
        (SSE, b"y", ()),
        (OTHER, b"", ("over-limit",)),
        (NDJSON, b'{"a":1}', ()),
        (OTHER, b"", ("over-limit",)),
    ]
    assert [frame.end - frame.start for frame in found if not frame.data] == [508, 503, 503]


def test_a_record_over_the_limit_is_not_buffer() -> None:
    framer = Framer(limit=1000)
    framer.feed(b"data: x\n")
    for _ in range(200):
        framer.feed(b"y" * 1000)
    assert len(framer._buffer) <= 1003
    framer.feed(b"\n")
    for _ in range(2000):
        framer.feed(b"data: zzzz\n")
    assert framer._open is not None and framer._open.data is not None and len(framer._open.data) <= 1000
    assert [frame.marks for frame in framer.feed(b"\n")] == [("over-limit", "split")]


def test_a_frame_knows_its_read() -> None:
    framer = Framer()
    found = (
        framer.feed(b"data: a\n\nda", 1.0)
        + framer.feed(b"ta: b\n\ndata: c\r\n\r", 2.0)
        + framer.feed(b"\ndata: d\r\r", 3.0)
        + framer.feed(b"data: e\n\n", 4.0)
    )
    assert [(frame.data, frame.at, "split" in frame.marks) for frame in found] == [
        (b"a", 1.0, False),
        (b"b", 2.0, True),
        (b"c", 3.0, True),
        (b"d", 3.0, False),
        (b"e", 4.0, False),
    ]


def test_a_read_of_many_pieces_is_one_read() -> None:
    data = b"".join(b"data: %s\n\n" % json.dumps({"n": number, "fill": "f" * 90}).encode() for number in range(5000))
    framer = Framer()
    found = framer.feed(data, 1.0) + framer.end()
    assert [json.loads(frame.data)["n"] for frame in found] == list(range(5000))
    assert {frame.marks for frame in found} == {()}


@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\r"])
def test_long_streams_give_the_same_in_pieces_of_any_size(ends: bytes) -> None:
    """Enough bytes that several records come with one read, as in a file."""
    records = [
        b"data: %d ",
        b"event: n%d" + ends + b"data: ",
        b'{"a":%d}',
        b"data: %d" + ends + b"data: ",
        b": %d",
        b"data: \xe6\xa4 %d",
        b"event: %d",
    ]
    data = b"".join((record % number) + (ends if b"{" in record else ends * 2) for number in range(300) for record in records)
    whole = framed([data])
    assert len(whole) == 300 * len(records)
    for size in (1, 7, 64, 1000, 4096):
        assert framed(data[place : place + size] for place in range(0, len(data), size)) == whole


def test_the_frames_of_one_side() -> None:
    def happenings() -> list[Read | End]:
        return [
            Read(Side.BACKEND, b"data: a", 0),
            Read(Side.CLIENT, b"data: z\n\n", 1),
            Read(Side.BACKEND, b"\n\n", 2),
            End(Side.BACKEND, How.EOF, 3),
        ]

    exchange = Exchange("x", lambda: iter(happenings()), (Side.BACKEND, Side.CLIENT), keeps_reads=True)
    assert [(frame.data, frame.at, frame.marks) for frame in frames_of(exchange, Side.BACKEND)] == [(b"a", 2, ("split",))]
    assert [frame.data for frame in frames_of(exchange, Side.CLIENT)] == [b"z"]
