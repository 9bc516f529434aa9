"""The recorder as a program of its own: a real server, a real client, and real deaths of either and of itself."""

import contextlib
import json
import os
import re
import runpy
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from inspector.streams.captures import own, secrets
from inspector.streams.captures.base import Opened
from inspector.streams.framing import frames_of
from inspector.streams.model import End, Exchange, How, Read, Side

SCRIPT = Path(__file__).parent.parent.parent / "docs" / "record_stream.py"
SECONDS = 30
EVENTS = [b"data: %d\n\n" % number for number in range(5)]
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
BODY = {
    "model": "m",
    "stream": True,
    "messages": [{"role": "user", "content": "hi"}],
    "mcp_servers": [{"url": "u", "authorization_token": "SECRET"}],
}
HEADERS = {
    "Authorization": "Bearer SECRET",
    "X-Api-Key": "SECRET",
    "Cookie": "SECRET",
    "Content-Type": "application/json",
    "Accept-Encoding": "gzip",
}


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


class Backend:
    """Answers each connection by `act`, which writes as it likes; keeps what it was asked."""

    def __init__(self, act: Callable[[socket.socket, bytes], None], context: ssl.SSLContext | None = None) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{self.port}"
        self._context = context
        self.asked: list[bytes] = []
        self._act = act
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._one, args=(client,), daemon=True).start()

    def _one(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), self._context.wrap_socket(client, server_side=True) if self._context else client as client:
            asked = b""
            while b"\r\n\r\n" not in asked:
                asked += client.recv(65536)
            head, _, body = asked.partition(b"\r\n\r\n")
            size = re.search(rb"(?i)content-length: (\d+)", head)
            while len(body) < int(size[1] if size else 0):
                body += client.recv(65536)
            self.asked.append(head + b"\r\n\r\n" + body)
            self._act(client, body)

    def close(self) -> None:
        self._listener.close()


@contextlib.contextmanager
def backend(act: Callable[[socket.socket, bytes], None], context: ssl.SSLContext | None = None) -> Iterator[Backend]:
    server = Backend(act, context)
    try:
        yield server
    finally:
        server.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def recording(folder: Path, *arguments: str, environment: dict[str, str] | None = None) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    command = [sys.executable, str(SCRIPT), *arguments, "--port", "0", "--out", str(folder)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})})
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r"client: http://127\.0\.0\.1:(\d+)", said)
        assert found, said
        yield int(found[1]), process
    finally:
        process.kill()
        process.communicate(timeout=SECONDS)


def ask(port: int, path: str = "/v1/chat/completions?key=SECRET") -> tuple[HTTPConnection, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    body = json.dumps(BODY).encode()
    connection.request("POST", path, body, HEADERS)
    return connection, body


def answer_to(port: int) -> bytes:
    connection, _ = ask(port)
    with contextlib.closing(connection):
        return connection.getresponse().read()


def opened(path: Path) -> Opened:
    def blocks(offset: int = 0) -> Iterator[bytes]:
        yield path.read_bytes()[offset:]

    return blocks


def waited(found: Callable[[], bool]) -> None:
    until = time.monotonic() + SECONDS
    while not found():
        assert time.monotonic() < until
        time.sleep(0.02)


def captured(folder: Path, lines_with: str = '"end"', count: int = 2) -> Exchange:
    """The one capture, once it holds `count` lines of that kind."""
    waited(lambda: sum(path.read_text().count(lines_with) for path in folder.glob("*.jsonl")) >= count)
    (path,) = folder.glob("*.jsonl")
    (exchange,) = own.exchanges(opened(path), path.name)
    assert "SECRET" not in path.read_text()
    return exchange


def data_of(exchange: Exchange, side: Side) -> bytes:
    return b"".join(happening.data for happening in exchange.happenings() if isinstance(happening, Read) and happening.side is side)


def ends_of(exchange: Exchange) -> dict[Side, How]:
    return {happening.side: happening.how for happening in exchange.happenings() if isinstance(happening, End)}


def streams(client: socket.socket, _body: bytes) -> None:
    client.sendall(CHUNKED)
    for event in EVENTS:
        client.sendall(chunk(event))
        time.sleep(0.02)
    client.sendall(b"0\r\n\r\n")


def test_an_exchange_passes_and_is_kept_on_both_sides(tmp_path: Path) -> None:
    with backend(streams) as server, recording(tmp_path, server.url + "/base") as (port, _):
        assert answer_to(port) == b"".join(EVENTS)
        exchange = captured(tmp_path)
    assert exchange.problems == ()
    for side in Side:
        assert data_of(exchange, side) == b"".join(EVENTS)
        assert [frame.data for frame in frames_of(exchange, side)] == [b"%d" % number for number in range(5)]
    assert ends_of(exchange) == {Side.BACKEND: How.EOF, Side.CLIENT: How.EOF}
    times = [happening.at for happening in exchange.happenings() if happening.at is not None]
    assert times == sorted(times) and times[-1] - times[0] > 50
    assert exchange.request == {
        "model": "m",
        "stream": True,
        "messages": [{"role": "user", "content": "hi"}],
        "mcp_servers": [{"url": "u"}],
    }
    assert (exchange.title, exchange.statuses[Side.BACKEND], exchange.content_types[Side.CLIENT]) == (
        "POST /v1/chat/completions",
        200,
        "text/event-stream",
    )
    head, _, body = server.asked[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /base/v1/chat/completions?key=SECRET HTTP/1.1\r\n")
    assert b"Authorization: Bearer SECRET" in head and b"Accept-Encoding: identity" in head and b"gzip" not in head
    assert json.loads(body) == BODY


def test_bytes_pass_as_they_are(tmp_path: Path) -> None:
    """Head, chunk sizes, extensions and trailers too; a body of random bytes cut anywhere is kept whole."""
    raw = os.urandom(300_000)
    sent = (
        CHUNKED
        + b"".join(b"%X;x=y\r\n%s\r\n" % (len(raw[at : at + 777]), raw[at : at + 777]) for at in range(0, len(raw), 777))
        + b"0\r\nX-Sum: 1\r\n\r\n"
    )

    def act(client: socket.socket, _body: bytes) -> None:
        for at in range(0, len(sent), 1013):
            client.sendall(sent[at : at + 1013])

    with backend(act) as server, recording(tmp_path, server.url) as (port, _):
        got = b""
        with socket.create_connection(("127.0.0.1", port), SECONDS) as client:
            client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
            while piece := client.recv(65536):
                got += piece
        exchange = captured(tmp_path)
    assert got == sent
    assert server.asked[0].endswith(b"Content-Length: 2\r\n\r\n{}")
    assert data_of(exchange, Side.BACKEND) == data_of(exchange, Side.CLIENT) == raw


@pytest.mark.parametrize(
    ("head", "ends", "how"),
    [
        (b"Content-Length: 45\r\n", b"", How.EOF),
        (b"Content-Length: 46\r\n", b"", How.RESET),
        (b"", b"", How.EOF),
        (b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n", How.EOF),
        (b"Transfer-Encoding: chunked\r\n", b"", How.RESET),
    ],
)
def test_how_an_answer_ends(tmp_path: Path, head: bytes, ends: bytes, how: How) -> None:
    def act(client: socket.socket, _body: bytes) -> None:
        body = b"".join(map(chunk, EVENTS)) if b"chunked" in head else b"".join(EVENTS)
        client.sendall(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n" + body + ends)

    with backend(act) as server, recording(tmp_path, server.url) as (port, _):
        with contextlib.suppress(Exception):
            answer_to(port)
        exchange = captured(tmp_path)
    assert ends_of(exchange) == {Side.BACKEND: how, Side.CLIENT: how}
    assert data_of(exchange, Side.CLIENT) == b"".join(EVENTS)


def test_the_backend_dies(tmp_path: Path) -> None:
    """A process that is killed in the middle of its answer."""
    code = (
        "import socket,sys,time\n"
        "s=socket.create_server(('127.0.0.1',0));print(s.getsockname()[1],flush=True)\n"
        "c,_=s.accept();c.recv(65536)\n"
        f"c.sendall({CHUNKED!r}+{chunk(EVENTS[0])!r});print('sent',flush=True);time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        with recording(tmp_path, f"http://127.0.0.1:{process.stdout.readline().strip()}") as (port, recorder):
            connection, _ = ask(port)
            response = connection.getresponse()
            assert response.read(len(EVENTS[0])) == EVENTS[0]
            process.kill()
            exchange = captured(tmp_path)
            connection.close()
            assert recorder.poll() is None
    assert data_of(exchange, Side.BACKEND) == data_of(exchange, Side.CLIENT) == EVENTS[0]
    assert ends_of(exchange) == {Side.BACKEND: How.RESET, Side.CLIENT: How.RESET}


def test_the_client_dies(tmp_path: Path) -> None:
    gone = threading.Event()

    def act(client: socket.socket, _body: bytes) -> None:
        client.sendall(CHUNKED + chunk(EVENTS[0]))
        client.settimeout(SECONDS)
        assert client.recv(1) == b""
        gone.set()

    with backend(act) as server, recording(tmp_path, server.url) as (port, recorder):
        connection, _ = ask(port)
        assert connection.getresponse().read(len(EVENTS[0])) == EVENTS[0]
        connection.close()
        exchange = captured(tmp_path)
        assert gone.wait(SECONDS)
        assert recorder.poll() is None
    assert data_of(exchange, Side.BACKEND) == EVENTS[0]
    assert ends_of(exchange) == {Side.BACKEND: How.CUT, Side.CLIENT: How.RESET}


def test_the_recorder_dies(tmp_path: Path) -> None:
    """Killed without warning: what was seen stands in the file."""
    hold = threading.Event()

    def act(client: socket.socket, _body: bytes) -> None:
        client.sendall(CHUNKED + chunk(EVENTS[0]))
        hold.wait(SECONDS)

    with backend(act) as server, recording(tmp_path, server.url) as (port, recorder):
        connection, _ = ask(port)
        assert connection.getresponse().read(len(EVENTS[0])) == EVENTS[0]
        waited(lambda: next(tmp_path.glob("*.jsonl")).read_text().count('"b64"') == 2)
        recorder.send_signal(signal.SIGKILL)
        recorder.wait(SECONDS)
        hold.set()
        connection.close()
        exchange = captured(tmp_path, '"b64"')
    assert data_of(exchange, Side.BACKEND) == data_of(exchange, Side.CLIENT) == EVENTS[0]
    assert ends_of(exchange) == {Side.BACKEND: How.CUT, Side.CLIENT: How.CUT}
    assert list(exchange.problems) == [
        "The capture does not say how the backend side ended.",
        "The capture does not say how the client side ended.",
    ]


def test_a_backend_that_falls_silent(tmp_path: Path) -> None:
    def act(client: socket.socket, _body: bytes) -> None:
        client.sendall(CHUNKED + chunk(EVENTS[0]))
        client.settimeout(SECONDS)
        client.recv(1)

    with backend(act) as server, recording(tmp_path, server.url, "--timeout", "0.3") as (port, _):
        with contextlib.suppress(Exception):
            answer_to(port)
        exchange = captured(tmp_path)
    assert ends_of(exchange)[Side.BACKEND] is How.TIMEOUT


def test_no_backend_is_said_to_the_client(tmp_path: Path) -> None:
    with recording(tmp_path, f"http://127.0.0.1:{free_port()}") as (port, _):
        connection, _ = ask(port)
        response = connection.getresponse()
        assert response.status == 502
        assert "cannot be reached" in json.loads(response.read())["error"]["message"]
        connection.close()
        assert ends_of(captured(tmp_path)) == {Side.BACKEND: How.RESET, Side.CLIENT: How.RESET}


def test_both_sides_of_a_proxy_that_ends_too_early(tmp_path: Path) -> None:
    """The incident: the proxy ends its answer while its backend still streams. One capture holds both."""
    behind = free_port()

    def proxy(client: socket.socket, body: bytes) -> None:
        with socket.create_connection(("127.0.0.1", behind), SECONDS) as server:
            server.sendall(b"POST /v1 HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            got = b""
            while got.count(b"data:") < 2:
                got += server.recv(65536)
            client.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 23\r\n\r\n" + EVENTS[0] + b"data: [DONE]\n\n"
            )
            while server.recv(65536):
                pass

    with (
        backend(streams) as server,
        backend(proxy) as middle,
        recording(tmp_path, server.url, "--around", middle.url, "--backend-port", str(behind)) as (port, _),
    ):
        assert answer_to(port) == EVENTS[0] + b"data: [DONE]\n\n"
        exchange = captured(tmp_path)
    assert exchange.problems == ()
    assert data_of(exchange, Side.BACKEND) == b"".join(EVENTS)
    assert data_of(exchange, Side.CLIENT) == EVENTS[0] + b"data: [DONE]\n\n"
    ends = [happening.side for happening in exchange.happenings() if isinstance(happening, End)]
    assert ends == [Side.CLIENT, Side.BACKEND]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl, which makes the certificate, is not installed")
def test_a_backend_behind_tls(tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=127.0.0.1",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
    ]
    subprocess.run([*made, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True, timeout=SECONDS)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def act(client: socket.socket, _body: bytes) -> None:
        streams(client, b"")
        client.unwrap()  # type: ignore[attr-defined]

    with (
        backend(act, context) as server,
        recording(tmp_path / "out", server.url, environment={"SSL_CERT_FILE": str(certificate)}) as (port, _),
    ):
        assert answer_to(port) == b"".join(EVENTS)
        exchange = captured(tmp_path / "out")
    assert data_of(exchange, Side.BACKEND) == b"".join(EVENTS)
    assert ends_of(exchange) == {Side.BACKEND: How.EOF, Side.CLIENT: How.EOF}
    with backend(act, context) as server, recording(tmp_path / "distrusted", server.url) as (port, _):
        assert b"CERTIFICATE_VERIFY_FAILED" in answer_to(port)


def test_several_exchanges_at_once(tmp_path: Path) -> None:
    with backend(streams) as server, recording(tmp_path, server.url) as (port, _):
        answers: list[bytes] = []
        threads = [threading.Thread(target=lambda: answers.append(answer_to(port))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
        waited(lambda: sum(path.read_text().count('"end"') for path in tmp_path.glob("*.jsonl")) == 16)
    assert answers == [b"".join(EVENTS)] * 8
    paths = list(tmp_path.glob("*.jsonl"))
    assert len(paths) == 8
    assert {data_of(next(own.exchanges(opened(path), path.name)), Side.CLIENT) for path in paths} == {b"".join(EVENTS)}
    assert {path.stat().st_mode & 0o777 for path in paths} == {0o600}


@pytest.mark.parametrize(
    ("sent", "status"),
    [(b"CONNECT x:443 HTTP/1.1\r\n\r\n", b"400"), (b"what?\r\n\r\n", b"400"), (b"GET / HTTP/1.1\r\nX: " + b"y" * 300_000, b"431")],
)
def test_what_cannot_be_passed_on_is_answered(tmp_path: Path, sent: bytes, status: bytes) -> None:
    with backend(streams) as server, recording(tmp_path, server.url) as (port, recorder):
        with socket.create_connection(("127.0.0.1", port), SECONDS) as client:
            with contextlib.suppress(OSError):
                client.sendall(sent)
            with contextlib.suppress(ConnectionResetError):
                assert client.recv(65536).startswith(b"HTTP/1.1 " + status)
        assert answer_to(port) == b"".join(EVENTS)
        assert recorder.poll() is None
    assert len(server.asked) == 1


def test_it_listens_on_loopback_only(tmp_path: Path) -> None:
    with backend(streams) as server, recording(tmp_path, server.url) as (port, _):
        listening = Path("/proc/net/tcp").read_text() if Path("/proc/net/tcp").exists() else f"0100007F:{port:04X}"
        assert f"0100007F:{port:04X}" in listening
        assert f"00000000:{port:04X}" not in listening


def test_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "x.capture.jsonl"
    with path.open("wb") as out, subprocess.Popen([sys.executable, str(SCRIPT), "--stdin"], stdin=subprocess.PIPE, stdout=out) as process:
        assert process.stdin is not None
        for number, event in enumerate(EVENTS, 1):
            process.stdin.write(event)
            process.stdin.flush()
            waited(lambda number=number: path.read_text().count('"b64"') == number)  # type: ignore[misc]
        process.stdin.close()
    (exchange,) = own.exchanges(opened(path), path.name)
    assert (data_of(exchange, Side.BACKEND), exchange.problems, exchange.sides) == (b"".join(EVENTS), (), (Side.BACKEND,))
    assert ends_of(exchange) == {Side.BACKEND: How.UNKNOWN}


@pytest.mark.parametrize(
    ("head", "sent", "expected", "whole"),
    [
        (b"Transfer-Encoding: chunked", b"".join(map(chunk, EVENTS)) + b"0\r\nX: y\r\n\r\n", b"".join(EVENTS), True),
        (b"Transfer-Encoding: chunked", chunk(b"a") + b"what?\r\nnow", b"awhat?\r\nnow", False),
        (b"Content-Length: 3", b"abcdef", b"abc", True),
        (b"Content-Length: 9", b"abcdef", b"abcdef", False),
        (b"X: y", b"abcdef", b"abcdef", True),
    ],
)
def test_bodies_are_the_same_in_any_pieces(head: bytes, sent: bytes, expected: bytes, whole: bool) -> None:
    body_class = runpy.run_path(str(SCRIPT))["Body"]
    data = b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n" + sent
    for size in (1, 2, 3, 7, 10_000):
        body = body_class("POST")
        assert b"".join(body.feed(data[at : at + size]) for at in range(0, len(data), size)) == expected
        assert (body.at_close(), body.said["status"]) == (whole, 200)


def test_it_drops_what_inspector_drops() -> None:
    assert runpy.run_path(str(SCRIPT))["SECRETS"] == secrets.SECRETS


def test_a_wrong_address_is_refused_in_a_sentence() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), "localhost:3000"], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 2
    assert done.stderr.endswith("'localhost:3000' is no address that begins with http:// or https://\n")
