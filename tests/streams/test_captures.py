"""Kinds of captures: told apart, read whole, and as far as they go where they are damaged."""

import base64
import gzip
import json
import os
import random
import tracemalloc
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from inspector.streams.captures import base, own, vcr
from inspector.streams.captures.base import NoCapture, Opened, lines
from inspector.streams.captures.catalogue import KINDS, exchanges, kind_named, sniffed
from inspector.streams.captures.unpacking import Unpacker
from inspector.streams.framing import Framer, frames_of
from inspector.streams.model import LACKS, End, Exchange, Frame, Framing, How, Read, Side
from tests.corpus import CORPUS, needs
from tests.folding import in_one_test

SSE = b'data: {"choices":[{"delta":{"content":"hi"}}]}\n\ndata: [DONE]\n\n'


def opened(data: bytes, size: int = 2**16) -> Opened:
    def blocks(offset: int = 0) -> Iterator[bytes]:
        for start in range(offset, len(data), size):
            yield data[start : start + size]

    return blocks


def from_file(path: Path) -> Opened:
    def blocks(offset: int = 0) -> Iterator[bytes]:
        with path.open("rb") as file:
            file.seek(offset)
            while block := file.read(2**16):
                yield block

    return blocks


def read(data: bytes | str, name: str = "x", kind: str | None = None) -> list[Exchange]:
    blocks = opened(data.encode() if isinstance(data, str) else data)
    found = sniffed(blocks, name)
    assert found is not None
    assert kind is None or found.name == kind
    return list(found.exchanges(blocks, name))


def one(data: bytes | str, name: str = "x", kind: str | None = None) -> Exchange:
    (exchange,) = read(data, name, kind)
    return exchange


def refusal(data: bytes | str, name: str) -> str:
    with pytest.raises(NoCapture) as error:
        read(data, name)
    return str(error.value)


def body_of(exchange: Exchange, side: Side = Side.BACKEND) -> bytes:
    return b"".join(happening.data for happening in exchange.happenings() if isinstance(happening, Read) and happening.side is side)


def ends_of(exchange: Exchange) -> list[tuple[Side, How]]:
    return [(happening.side, happening.how) for happening in exchange.happenings() if isinstance(happening, End)]


def line(**members: Any) -> str:
    return json.dumps(members) + "\n"


def packed(data: bytes) -> str:
    return base64.b64encode(data).decode()


HEADER = line(
    v=1,
    kind="stream-capture",
    dialect="openai-chat",
    request={"model": "m", "api_key": "SECRET", "tools": [{"headers": {"Authorization": "SECRET"}, "type": "mcp"}]},
)
OWN = (
    HEADER
    + line(t=1, side="backend", status=200, type="text/event-stream")
    + line(t=5, side="backend", dir="in", b64=packed(SSE[:20]))
    + line(t=6.5, side="client", dir="out", b64=packed(SSE[:20]))
    + line(t=9, side="backend", dir="in", b64=packed(SSE[20:]))
    + line(t=9, side="backend", end="eof")
    + line(t=10, side="client", end="reset")
)


def test_own_capture() -> None:
    exchange = one(OWN, "a.capture.jsonl", "stream-capture")
    assert list(exchange.happenings()) == [
        Read(Side.BACKEND, SSE[:20], 5.0),
        Read(Side.CLIENT, SSE[:20], 6.5),
        Read(Side.BACKEND, SSE[20:], 9.0),
        End(Side.BACKEND, How.EOF, 9.0),
        End(Side.CLIENT, How.RESET, 10.0),
    ]
    assert list(exchange.happenings()) == list(exchange.happenings())
    assert (exchange.sides, exchange.problems, exchange.keeps_reads, exchange.ordered) == ((Side.BACKEND, Side.CLIENT), (), True, True)
    assert exchange.protocols == {Side.BACKEND: "openai-chat", Side.CLIENT: "openai-chat"}
    assert (exchange.statuses, exchange.content_types) == ({Side.BACKEND: 200}, {Side.BACKEND: "text/event-stream"})
    assert exchange.request == {"model": "m", "tools": [{"headers": {}, "type": "mcp"}]}


def test_own_capture_written_and_read_again() -> None:
    exchange = one(OWN, "a.capture.jsonl")
    again = one(b"".join(own.written(exchange)), "a.capture.jsonl")
    assert list(again.happenings()) == list(exchange.happenings())
    assert (again.request, again.protocols, again.statuses, again.problems) == (exchange.request, exchange.protocols, exchange.statuses, ())


BACKEND_ONLY = "Nothing was kept of the client side: only what one side can show is reported."
DAMAGED_OWN = {
    "a torn last line": (
        OWN[:-9],
        ["The last line is torn: the capture was cut off while it was written.", "The capture does not say how the client side ended."],
    ),
    "no ends": (
        HEADER + line(t=5, side="backend", dir="in", b64=packed(SSE)) + line(t=5, side="client", dir="out", b64=packed(SSE)),
        ["The capture does not say how the backend side ended.", "The capture does not say how the client side ended."],
    ),
    "a side missing": (
        HEADER + line(t=5, side="backend", dir="in", b64=packed(SSE)) + line(t=6, side="backend", end="eof"),
        [BACKEND_ONLY],
    ),
    "a side that was not to be kept": (
        line(v=1, kind="stream-capture", sides=["backend"])
        + line(t=5, side="backend", b64=packed(SSE))
        + line(t=6, side="backend", end="eof"),
        [],
    ),
    "an unknown version": (
        OWN.replace('"v": 1', '"v": 2'),
        ["The capture is of version 2, and only version 1 is known here: it is read as far as it is like it."],
    ),
    "no header": (OWN.partition("\n")[2], ["The header line is missing: what was asked and in which protocol is not known."]),
    "wrong base64": (
        OWN + line(t=11, side="client", b64="%%%") + line(t=11, side="client", b64="QQ=") + line(t=12, side="client", b64=7),
        ["3 lines are no base64, and skipped.", "The first such line is line 8."],
    ),
    "no JSON between": (OWN.replace("\n", "\nwhat?\n", 1), ["One line is no JSON object, and skipped.", "The first such line is line 2."]),
    "a side of another name": (
        OWN + line(t=11, side="server", b64="QQ=="),
        ["One line is of no known side (`backend`, `client`), and skipped.", "The first such line is line 8."],
    ),
    "no number as time": (
        OWN.replace('"t": 6.5', '"t": "soon"'),
        ["One line is without a time in milliseconds; the bytes are shown all the same.", "The first such line is line 4."],
    ),
    "an end of another word": (
        OWN.replace('"reset"', '"tired"'),
        ["One line is an end of an unknown word; it is shown as unknown.", "The first such line is line 7."],
    ),
    "a line of another shape": (
        OWN + line(side="client", note="x"),
        ["One line is of an unknown shape, and skipped.", "The first such line is line 8."],
    ),
    "what went the other way": (OWN + line(t=1, side="client", dir="in", b64="QQ=="), []),
}


@in_one_test(("data", "problems"), DAMAGED_OWN.values(), ids=DAMAGED_OWN)
def test_damaged_own_captures_are_read_as_far_as_they_go(data: str, problems: list[str]) -> None:
    exchange = one(data, "a.capture.jsonl", "stream-capture")
    assert list(exchange.problems) == problems
    assert body_of(exchange) == SSE
    assert {side for side, _ in ends_of(exchange)} == set(exchange.sides)


def test_an_own_capture_cut_anywhere() -> None:
    """Never more than what stands there, never an error, and what is missing is said."""
    data = OWN.encode()
    for cut in range(len(HEADER), len(data) - 1):
        exchange = one(data[:cut], "a.capture.jsonl", "stream-capture")
        assert exchange.problems, cut
        for side, whole in ((Side.BACKEND, SSE), (Side.CLIENT, SSE[:20])):
            assert whole.startswith(body_of(exchange, side))
        assert all(how is not How.CUT for side, how in ends_of(exchange)) or any("how the" in problem for problem in exchange.problems)


def test_several_captures_in_one_file() -> None:
    first, second = read(OWN + OWN.replace(packed(SSE[:20]), packed(b"data: 2\n\n")), "a.jsonl", "stream-capture")
    assert (first.native_id, second.native_id) == ("a.jsonl#0", "a.jsonl#1")
    assert body_of(first) == SSE
    assert body_of(second) == b"data: 2\n\n" + SSE[20:]


def test_own_capture_of_a_packed_body() -> None:
    whole = gzip.compress(SSE)
    about = line(side="backend", status=200, type="text/event-stream", encoding="gzip")
    data = (
        HEADER.replace('"v"', '"sides": ["backend"], "v"')
        + about
        + "".join(line(t=n, side="backend", b64=packed(whole[n : n + 1])) for n in range(len(whole)))
    )
    exchange = one(data + line(side="backend", end="eof"))
    assert (body_of(exchange), exchange.problems) == (SSE, ())
    cut = one("\n".join(data.split("\n")[:-12]) + "\n" + line(side="backend", end="eof"))
    assert SSE.startswith(body_of(cut))
    assert "ends before its end mark" in cut.problems[0]


def test_a_long_own_capture_is_not_held(tmp_path: Path) -> None:
    path = tmp_path / "long.capture.jsonl"
    piece = packed(b"data: " + b"x" * 60_000 + b"\n\n")
    with path.open("w") as file:
        file.write(HEADER)
        for number in range(500):
            file.write(line(t=number, side="backend", dir="in", b64=piece))
    tracemalloc.start()
    (exchange,) = own.exchanges(from_file(path), "long")
    count = sum(1 for _ in frames_of(exchange, Side.BACKEND))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 500
    assert path.stat().st_size > 30_000_000
    assert peak < 3_000_000


def test_raw() -> None:
    exchange = one(SSE, "x.sse", "raw")
    assert (body_of(exchange), exchange.sides, exchange.problems) == (SSE, (Side.BACKEND,), ())
    assert ends_of(exchange) == [(Side.BACKEND, How.UNKNOWN)]
    assert exchange.lacks == {"end", "times", "read-boundaries"}
    assert one(b'{"model":"m","created_at":"2024","message":{"content":"x"},"done":false}\n', "x", "raw").keeps_reads is False


@in_one_test("keep", range(0, 60, 7))
def test_raw_packed_and_cut(keep: int) -> None:
    whole = gzip.compress(SSE * 50)
    exchange = one(whole[: len(whole) - keep], "x.sse.gz", "raw")
    assert (SSE * 50).startswith(body_of(exchange))
    assert bool(exchange.problems) is bool(keep)
    assert ends_of(exchange) == [(Side.BACKEND, How.CUT if keep else How.UNKNOWN)]


def test_raw_packed_wrongly() -> None:
    data = os.urandom(200_000).hex().encode()
    whole = bytearray(gzip.compress(data))
    whole[100_000] ^= 255
    exchange = one(bytes(whole), "x.gz", "raw")
    found = body_of(exchange)
    assert 0 < len(found) < len(data) and data.startswith(found[:90_000])
    assert "is damaged" in exchange.problems[0] or "damaged after" in exchange.problems[0]


def test_an_unpacker_stops_at_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.streams.captures.unpacking.UNPACKED", 1_000_000)
    unpacker = Unpacker("gzip")
    assert sum(map(len, unpacker.feed(gzip.compress(b"\0" * 50_000_000)))) <= 1_000_000
    assert "unpacks to more than" in unpacker.problems()[0]


ENCODED: dict[str, tuple[str, bytes, bytes, str]] = {
    "gzip": ("gzip", gzip.compress(SSE), SSE, ""),
    "deflate": ("deflate", zlib.compress(SSE), SSE, ""),
    "already unpacked": ("gzip", SSE, SSE, ""),
    "identity": ("identity", SSE, SSE, ""),
    "brotli": ("br", b"\x1b\xff\x00", b"\x1b\xff\x00", "The body is packed as 'br', which is not unpacked here"),
    "brotli, already unpacked": ("br", SSE, SSE, ""),
    "cut": ("gzip", gzip.compress(SSE)[:-9], SSE, "ends before its end mark"),
}


@in_one_test(("encoding", "data", "expected", "said"), ENCODED.values(), ids=ENCODED)
@in_one_test("size", [1, 3, 1000])
def test_unpacking(encoding: str, data: bytes, expected: bytes, said: str, size: int) -> None:
    unpacker = Unpacker(encoding)
    found = b"".join(piece for start in range(0, len(data), size) for piece in unpacker.feed(data[start : start + size]))
    assert expected.startswith(found) if said.startswith("ends") else found == expected
    assert (said in unpacker.problems()[0]) if said else unpacker.problems() == ()


def har(*entries: Any) -> str:
    return json.dumps({"log": {"version": "1.2", "creator": {"name": "x"}, "entries": entries}})


def entry(text: str | None, **more: Any) -> dict[str, Any]:
    content = {"mimeType": "text/event-stream", **({} if text is None else {"text": text}), **more}
    request = {
        "method": "POST",
        "url": "https://user:SECRET@api.example.com/v1/chat?key=SECRET",
        "headers": [{"name": "Authorization", "value": "SECRET"}, {"name": "Cookie", "value": "SECRET"}],
        "postData": {"mimeType": "application/json", "text": json.dumps({"model": "m", "stream": True, "api_key": "SECRET"})},
    }
    return {"request": request, "response": {"status": 200, "headers": [{"name": "set-cookie", "value": "SECRET"}], "content": content}}


def test_har() -> None:
    exchange = one(har(entry(SSE.decode(), size=len(SSE))), "a.har", "har")
    assert (body_of(exchange), exchange.title, exchange.request) == (SSE, "POST api.example.com/v1/chat", {"model": "m", "stream": True})
    assert (exchange.statuses, exchange.problems) == ({Side.BACKEND: 200}, ())
    assert "SECRET" not in repr(exchange)


def test_har_base64_size_and_missing_bodies() -> None:
    in_base64, cut, none, wrong = read(
        har(entry(packed(SSE), encoding="base64"), entry(SSE.decode(), size=9999), entry(None), entry("§", encoding="base64")), "a.har"
    )
    assert (body_of(in_base64), in_base64.problems) == (SSE, ())
    assert cut.problems == (
        f"The archive says that the body has 9,999 bytes, and holds {len(SSE)}: it was cut, or re-encoded when it was kept.",
    )
    assert "holds no body of the answer" in none.problems[0]
    assert body_of(wrong) == "§".encode() or wrong.problems


def test_har_of_a_browser_gives_the_answers_of_models_only() -> None:
    picture = entry("x")
    picture["response"]["content"]["mimeType"] = "image/png"
    (found,) = read(har(picture, entry(SSE.decode()), picture), "a.har")
    assert found.native_id == "a.har#1"
    assert (
        refusal(har(picture), "a.har")
        == "None of its 1 entries holds an answer of a model: export the archive with bodies, from the page that asked."
    )


CASSETTE = """\
interactions:
- request:
    body: '{"model": "m", "stream": true}'
    headers: {authorization: [SECRET]}
    method: POST
    uri: https://api.example.com/v1/messages?key=SECRET
  response:
    body: BODY
    headers: HEADERS
    status: {code: 200, message: OK}
"""


def cassette(body: str, headers: str = "{content-type: [text/event-stream]}") -> str:
    return CASSETTE.replace("BODY", body).replace("HEADERS", headers)


BODIES = {
    "string": json.dumps({"string": SSE.decode()}),
    "plain": json.dumps(SSE.decode()),
    "base64_string": json.dumps({"base64_string": packed(SSE)}),
    "binary": "{string: !!binary " + packed(SSE) + "}",
    "gzip": "{string: !!binary " + packed(gzip.compress(SSE)) + "}",
    "a foreign tag": "{string: !ruby/string " + json.dumps(SSE.decode()) + "}",
}


@in_one_test("body", BODIES.values(), ids=BODIES)
def test_vcr(body: str) -> None:
    exchange = one(cassette(body, "{Content-Type: [text/event-stream], Content-Encoding: [gzip]}"), "a.yaml", "vcr")
    assert (body_of(exchange), exchange.problems, exchange.request) == (SSE, (), {"model": "m", "stream": True})
    assert (exchange.title, exchange.statuses) == ("POST api.example.com/v1/messages", {Side.BACKEND: 200})
    assert "SECRET" not in repr(exchange)


def test_vcr_as_json() -> None:
    data = json.dumps(
        {
            "http_interactions": [
                {
                    "request": {"method": "post", "uri": "http://x/y"},
                    "response": {"status": {"code": 200}, "body": {"encoding": "utf-8", "base64_string": packed(SSE)}},
                }
            ]
        }
    )
    assert body_of(one(data, "a.json", "vcr")) == SSE


def test_vcr_of_values_is_spelled_anew_and_says_so() -> None:
    data = (
        cassette("null")
        .replace("    headers: {content", "    parsed_body: {b: [1, null, x], a: &x {c: 1.5}, d: *x}\n    headers: {content")
        .replace("event-stream", "event-stream")
    )
    exchange = one(data, "a.yaml")
    assert json.loads(body_of(exchange)) == {"b": [1, None, "x"], "a": {"c": 1.5}, "d": {"c": 1.5}}
    assert "bytes" in exchange.lacks


def test_an_answer_in_one_piece_is_no_stream() -> None:
    json_type = "{content-type: [application/json; charset=utf-8]}"
    assert "stream" not in one(cassette(BODIES["plain"], json_type), "a.yaml").lacks
    assert "stream" in one(cassette(BODIES["plain"], json_type).replace('"stream": true', '"n": 1'), "a.yaml").lacks


def laughs(depth: int) -> str:
    return "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9 if n else ['x'])}]\n" for n in range(depth))


HOSTILE = {
    "a program": ("interactions: !!python/object/apply:os.system [request]\n", "None of its 1 interactions holds an answer of a model."),
    "deep": ("interactions: [request: " + "[" * 50_000 + "\n", "nested more than 100 levels deep"),
    "aliases": ("a: &a 1\ninteractions: [request: [" + "*a, " * 5000 + "]]\n", "holds more than 1,000 aliases"),
    "no YAML": ("interactions:\n- request: [\n", "The cassette cannot be read (no YAML:"),
    "a huge number": ("interactions: [{request: " + "9" * 5000 + "}]\n", "The cassette cannot be read (no plain YAML:"),
    "merges": ("a: &a {x: 1}\ninteractions: {<<: [*a, *a], request: 1}\n", "It has no list `interactions`"),
}


@in_one_test(("data", "said"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_yaml_is_refused_in_a_sentence(data: str, said: str) -> None:
    assert said in refusal(data, "a.yaml")


@pytest.mark.parametrize(
    "body",
    [
        laughs(12) + "interactions:\n- response: {parsed_body: *a11}\n  request: {}\n",
        "interactions:\n- &r\n  request: {}\n  response: {parsed_body: [*r]}\n",
    ],
)
def test_aliases_that_grow_are_not_spelled_out(body: str) -> None:
    exchange = one(body, "a.yaml", "vcr")
    assert "values, aliases expanded" in exchange.problems[0]


def test_kinds_that_are_loaded_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vcr, "YAML_LOADED", 2**20)
    said = "The capture is over 1 MB, and this kind is read as a whole: cut it down, or capture again as JSON lines (docs/how-to/record-a-stream.md)."
    assert refusal(cassette(BODIES["plain"]) + "#" * 2**20, "a.yaml") == said
    assert base.LOADED == 256 * 2**20


def test_chunk_lines() -> None:
    data = b'{"type":"message_start","message":{}}\n{"type":"message_stop"}\n'
    exchange = one(data, "x", "chunk-lines")
    assert [frame.framing for frame in frames_of(exchange, Side.BACKEND)] == [Framing.NDJSON] * 2
    assert {"framing", "terminal-record"} <= exchange.lacks
    assert one(b"", "a.chunks.txt", "chunk-lines").native_id == "a.chunks.txt"


def test_gemini_responses() -> None:
    calls = [
        {"method": "generateContentStream", "response": [{"candidates": [1]}, {"candidates": [2]}]},
        {"method": "countTokens", "response": {"totalTokens": 3}},
        {"method": "generateContent", "response": {"candidates": [3]}},
    ]
    streamed, whole = read("".join(json.dumps(call) + "\n" for call in calls), "a.responses", "gemini-responses")
    assert body_of(streamed) == b'{"candidates":[1]}\n{"candidates":[2]}\n'
    assert body_of(whole) == b'{"candidates":[3]}\n'
    assert ("stream" in streamed.lacks, "stream" in whole.lacks) == (False, True)
    assert "skipped" in read("what\n" + json.dumps(calls[0]), "a.responses")[0].problems[0]
    assert read("", "a.responses", "gemini-responses") == []


def test_recorded_fixture() -> None:
    fixture = {
        "request": {
            "method": "POST",
            "url": "https://x/v1/chat/completions",
            "headers": {"authorization": "SECRET"},
            "body": '{"model":"m","api_key":"SECRET"}',
        },
        "response": {"status": 200, "statusText": "OK", "headers": {"Content-Type": "text/event-stream"}, "body": SSE.decode()},
        "meta": {"name": "x"},
    }
    exchange = one(json.dumps(fixture), "a.json", "recorded-fixture")
    assert (body_of(exchange), exchange.request, exchange.statuses) == (SSE, {"model": "m"}, {Side.BACKEND: 200})
    assert exchange.content_types == {Side.BACKEND: "text/event-stream"}
    assert "SECRET" not in repr(exchange)
    assert "cannot be read" in refusal(json.dumps(fixture)[:-40], "a.json")


def test_txtar() -> None:
    data = b'about\n\n-- request --\n{"model":"m","stream":true}\n\n-- streaming --\n' + SSE + b"\n-- non-streaming --\n{}\n"
    exchange = one(data, "a.txtar", "txtar")
    assert (body_of(exchange), exchange.request) == (SSE + b"\n", {"model": "m", "stream": True})
    assert [frame.data for frame in frames_of(exchange, Side.BACKEND)][-1] == b"[DONE]"


@pytest.mark.parametrize("data", [b"", b"\x89PNG\r\n", b"SQLite format 3\0", b"hello there\n"])
def test_what_is_no_capture_is_no_kind(data: bytes) -> None:
    assert sniffed(opened(data), "x.bin") is None
    with pytest.raises(NoCapture, match="looks like no capture"):
        list(exchanges(opened(data), "x.bin"))


@in_one_test(
    "data",
    [
        b"",
        b"\xff\xfe\x00",
        b"{",
        b"[[[[",
        b"null",
        b'{"log":7}',
        b'{"log":{"entries":[7,null,{"response":[]}]}}',
        b"interactions: [7, null, {request: 1}]",
        b"[" * 90_000,
        b'{"a":' * 5000,
    ],
)
@in_one_test("kind", [kind.name for kind in KINDS])
def test_no_bytes_break_any_kind(kind: str, data: bytes) -> None:
    try:
        found = list(kind_named(kind).exchanges(opened(data), "x"))
    except NoCapture as error:
        assert str(error).endswith(".")
    else:
        for exchange in found:
            assert sum(1 for _ in exchange.happenings()) > 0


def test_lines_are_the_same_in_any_blocks() -> None:
    data = b"\n one\r\n\ntwo two\n" + b"3" * 100 + b"\nfour"
    for size in (1, 2, 5, 50, 1000):
        found = list(lines(opened(data, size)(), limit=20))
        assert [(line.data, line.complete) for line in found] == [(b"one", True), (b"two two", True), (None, True), (b"four", False)]
        assert [data[line.offset : line.offset + 4].strip() for line in found] == [b"one", b"two", b"3333", b"four"]


def test_words_that_kinds_lack_are_explained() -> None:
    assert {"framing", "terminal-record", "end", "times", "read-boundaries", "stream", "bytes"} == set(LACKS)
    assert set(LACKS) >= base.NEVER_KEPT


@pytest.mark.corpus
@needs("streams")
@pytest.mark.parametrize(
    ("folder", "kinds"), [("streams", {"chunk-lines": 36, "gemini-responses": 6}), ("vcr-cassettes", {"vcr": 20, "har": 2})]
)
def test_captures_of_others(folder: str, kinds: dict[str, int]) -> None:
    """Each is of a known kind, and gives the same frames in whole, in single bytes and in random pieces."""
    chance, found = random.Random(7), Counter[str]()
    for path in sorted(path for path in (CORPUS / folder).rglob("*") if path.is_file()):
        kind = sniffed(from_file(path), path.name)
        assert kind is not None, path.name
        found[kind.name] += 1
        for exchange in kind.exchanges(from_file(path), path.name):
            body = body_of(exchange)
            whole = list(frames_of(exchange, Side.BACKEND))
            assert whole, path.name
            for cut in (lambda: 1, lambda: chance.randrange(1, 50), lambda: chance.randrange(1, 5000)):
                assert _cut_up(body, cut) == whole, path.name
    assert found == kinds


def _cut_up(data: bytes, cut: Callable[[], int]) -> list[Frame]:
    framer, found, at = Framer(reads=False), [], 0
    while at < len(data):
        size = cut()
        found += framer.feed(data[at : at + size])
        at += size
    return found + framer.end()
