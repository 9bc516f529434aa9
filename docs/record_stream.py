"""Records what a model's server streams and what a client gets of it, for Inspector (see captures.md). Python 3.11, nothing to install.

    record_stream.py https://api.example.com                      between a client and its backend; point the client to http://127.0.0.1:8900
    record_stream.py https://api.example.com --around http://127.0.0.1:3000
                                                                  on both sides of a proxy: the client talks to port 8900, the proxy's backend is port 8901
    curl -N ... | record_stream.py --stdin > x.capture.jsonl      what a pipe brings

Bytes of an answer pass as they are. Of a request the lines that concern one connection are made again, and packing is declined so that the capture can be read.
Keys and cookies are passed on and never written. It listens on 127.0.0.1 only. Every line is written at once: whatever dies, what was seen is kept.
"""

import argparse
import base64
import contextlib
import itertools
import json
import os
import select
import signal
import socket
import ssl
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

PIECE = 2**16
MAX_HEAD = 2**18
MAX_REQUEST = 2**28
HERE = "127.0.0.1"
ENDED_BY_US = "cut"
HOP = {
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "expect",
    "host",
    "accept-encoding",
    "content-length",
}
SECRETS = frozenset(
    (
        "authorization",
        "proxyauthorization",
        "authorizationtoken",
        "cookie",
        "setcookie",
        "xapikey",
        "apikey",
        "xgoogapikey",
        "openaiapikey",
        "accesstoken",
        "xauthtoken",
        "xamzsecuritytoken",
        "clientsecret",
        "password",
        "apitoken",
    )
)


def without_secrets(value: Any) -> Any:
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            for name in [
                name for name in found if name.lower().replace("-", "").replace("_", "") in SECRETS and not isinstance(found[name], dict)
            ]:
                del found[name]
            waiting += found.values()
        elif isinstance(found, list):
            waiting += found
    return value


class Capture:
    """One exchange. Closed when the last of those that hold it lets go: a proxy may end its client's side before its own."""

    def __init__(self, descriptor: int, header: dict[str, Any]) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._start = time.monotonic()
        self._holders = 1
        self.backend_taken = False
        self._write({"v": 1, "kind": "stream-capture", **header})

    def line(self, side: str, **said: Any) -> None:
        with self._lock:
            self._write({"t": round((time.monotonic() - self._start) * 1000, 3), "side": side, **said})

    def bytes(self, side: str, data: bytes) -> None:
        if data:
            self.line(side, dir="in" if side == "backend" else "out", b64=base64.b64encode(data).decode())

    def _write(self, line: dict[str, Any]) -> None:
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            # The exchange goes on: a full disk is no reason to break what is looked at.
            say(f"the capture could not be written: {error}")

    def hold(self) -> None:
        with self._lock:
            self._holders += 1

    def let_go(self) -> None:
        with self._lock:
            self._holders -= 1
            if not self._holders:
                os.close(self._descriptor)


class Body:
    """The body in the bytes of an HTTP/1.1 answer, whatever way they are cut. `said` is what the head says, once it is there."""

    def __init__(self, method: str) -> None:
        self._method = method
        self._held = b""
        self._step = "head"
        self._left = 0
        self.said: dict[str, Any] | None = None
        self.complete = False

    def feed(self, data: bytes) -> bytes:
        self._held += data
        found = []
        while (step := getattr(self, f"_{self._step}")()) is not None:
            found.append(step)
        return b"".join(found)

    def at_close(self) -> bool:
        """Whether a connection that closes here is the end that HTTP announced."""
        return self.complete or self._step == "to_close"

    def _head(self) -> bytes | None:
        end = self._held.find(b"\r\n\r\n")
        if end < 0:
            if len(self._held) > MAX_HEAD:
                self._step = "damaged"
            return None
        first, *lines = self._held[:end].decode("latin-1").split("\r\n")
        self._held = self._held[end + 4 :]
        fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        status = int(first.split(" ")[1]) if len(first.split(" ")) > 1 and first.split(" ")[1].isdigit() else 0
        if 100 <= status < 200:
            return b""
        self.said = {"status": status, "type": fields.get("content-type", "")}
        if fields.get("content-encoding", "identity").lower() != "identity":
            self.said["encoding"] = fields["content-encoding"].lower()
        if self._method == "HEAD" or status in (204, 304):
            self._finish()
        elif "chunked" in fields.get("transfer-encoding", "").lower():
            self._step = "size"
        elif fields.get("content-length", "").isdigit():
            self._left, self._step = int(fields["content-length"]), "length"
        else:
            self._step = "to_close"
        return b""

    def _to_close(self) -> bytes | None:
        data, self._held = self._held, b""
        return data or None

    def _damaged(self) -> bytes | None:
        """What is no HTTP is kept as it comes."""
        return self._to_close()

    def _length(self) -> bytes | None:
        data, self._held = self._held[: self._left], self._held[self._left :]
        self._left -= len(data)
        if not self._left:
            self._finish()
        return data or None

    def _size(self) -> bytes | None:
        line, mark, rest = self._held.partition(b"\r\n")
        if not mark:
            return None
        self._held = rest
        try:
            self._left = int(line.partition(b";")[0].strip() or b"x", 16)
        except ValueError:
            self._held, self._step = line + mark + rest, "damaged"
            return b""
        self._step = "chunk" if self._left else "trailer"
        return b""

    def _chunk(self) -> bytes | None:
        data, self._held = self._held[: self._left], self._held[self._left :]
        self._left -= len(data)
        if not self._left:
            self._step = "chunk_end"
        return data or None

    def _chunk_end(self) -> bytes | None:
        if len(self._held) < 2:
            return None
        self._held, self._step = self._held[2:], "size"
        return b""

    def _trailer(self) -> bytes | None:
        line, mark, rest = self._held.partition(b"\r\n")
        if not mark:
            return None
        self._held = rest
        if not line:
            self._finish()
        return b""

    def _finish(self) -> None:
        self._step, self.complete = "over", True

    def _over(self) -> None:
        return None


class Request:
    def __init__(self, method: str, path: str, fields: list[tuple[str, str]], body: bytes) -> None:
        self.method, self.path, self.fields, self.body = method, path, fields, body

    def header(self) -> dict[str, Any]:
        header: dict[str, Any] = {"title": f"{self.method} {self.path.partition('?')[0]}"}
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(self.body)
            if isinstance(value, dict):
                header["request"] = without_secrets(value)
        return header

    def for_backend(self, backend: SplitResult) -> bytes:
        lines = [f"{self.method} {backend.path.rstrip('/')}{self.path} HTTP/1.1", f"Host: {backend.netloc.rpartition('@')[2]}"]
        lines += [f"{name}: {value}" for name, value in self.fields if name.lower() not in HOP]
        lines += ["Accept-Encoding: identity", "Connection: close"]
        if self.body or self.method in ("POST", "PUT", "PATCH"):
            lines.append(f"Content-Length: {len(self.body)}")
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + self.body


class Refused(Exception):
    """What is answered to a request that cannot be passed on."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def read_request(client: socket.socket) -> Request | None:
    held = b""
    while (end := held.find(b"\r\n\r\n")) < 0:
        data = client.recv(PIECE)
        if not data:
            return None
        held += data
        if len(held) > MAX_HEAD:
            raise Refused("431 Request Header Fields Too Large", "the head of the request is over 256 KB")
    first, *lines = held[:end].decode("latin-1").split("\r\n")
    held = held[end + 4 :]
    parts = first.split(" ")
    if len(parts) != 3 or parts[0] == "CONNECT":
        raise Refused("400 Bad Request", "this is a recorder for HTTP/1.1 requests: set it as the base address, not as a proxy")
    fields = [(name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    named = {name.lower(): value for name, value in fields}
    if named.get("expect", "").lower() == "100-continue":
        client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    path = parts[1] if parts[1].startswith("/") else "/" + parts[1].partition("://")[2].partition("/")[2]
    return Request(parts[0], path, fields, read_body(client, named, held))


def read_body(client: socket.socket, named: dict[str, str], held: bytes) -> bytes:
    chunked = "chunked" in named.get("transfer-encoding", "").lower()
    length = named.get("content-length", "0")
    body = Body("POST")
    # A request's body is cut as an answer's is.
    head = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {int(length) if length.isdigit() else 0}"
    found = [body.feed(f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n".encode() + held)]
    size = len(found[0])
    while not body.complete:
        data = client.recv(PIECE)
        if not data:
            raise ConnectionResetError
        found.append(body.feed(data))
        size += len(found[-1])
        if size > MAX_REQUEST:
            raise Refused("413 Content Too Large", "the body of the request is over 256 MB")
    return b"".join(found)


class Recorder:
    """`folder` takes a file for each exchange."""

    def __init__(self, folder: Path, timeout: float) -> None:
        self._folder = folder
        self._timeout = timeout
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._open: list[Capture] = []

    def between(self, client: socket.socket, backend: SplitResult) -> None:
        with self._asked(client) as request:
            if request:
                capture = self._capture(request, ["backend", "client"])
                self._relay(client, backend, request, capture, ("backend", "client"))
                capture.let_go()

    def before_proxy(self, client: socket.socket, proxy: SplitResult) -> None:
        with self._asked(client) as request:
            if request:
                capture = self._capture(request, ["backend", "client"])
                with self._lock:
                    self._open.append(capture)
                try:
                    self._relay(client, proxy, request, capture, ("client",))
                finally:
                    with self._lock:
                        self._open.remove(capture)
                    capture.let_go()

    def behind_proxy(self, client: socket.socket, backend: SplitResult) -> None:
        """What the proxy asks belongs to the client's exchange that came last and has no backend yet; a further try of the same proxy gets a file of its own."""
        with self._asked(client) as request:
            if request:
                with self._lock:
                    capture = next((capture for capture in reversed(self._open) if not capture.backend_taken), None)
                    if capture:
                        capture.backend_taken = True
                        capture.hold()
                capture = capture or self._capture(request, ["backend"])
                self._relay(client, backend, request, capture, ("backend",))
                capture.let_go()

    @contextlib.contextmanager
    def _asked(self, client: socket.socket) -> Iterator[Request | None]:
        with client:
            client.settimeout(self._timeout)
            try:
                yield read_request(client)
            except Refused as refused:
                answer(client, refused.status, str(refused))
            except (OSError, ValueError) as error:
                say(f"a request was not read: {error}")

    def _capture(self, request: Request, sides: list[str]) -> Capture:
        name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{next(self._numbers):04}.capture.jsonl"
        path = self._folder / name
        say(str(path))
        return Capture(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600),
            {"id": name.removesuffix(".capture.jsonl"), "sides": sides, **request.header()},
        )

    def _relay(self, client: socket.socket, target: SplitResult, request: Request, capture: Capture, sides: tuple[str, ...]) -> None:
        body = Body(request.method)
        ends = {"backend": ENDED_BY_US, "client": ENDED_BY_US}
        try:
            server = connected(target, self._timeout)
            server.sendall(request.for_backend(target))
        except OSError as error:
            for side in sides:
                capture.line(side, end="timeout" if isinstance(error, TimeoutError) else "reset")
            with contextlib.suppress(OSError):
                answer(client, "502 Bad Gateway", f"{target.netloc.rpartition('@')[2]} cannot be reached: {error}")
            return
        with server:
            try:
                for data in arriving(server, client, ends, body, self._timeout):
                    said = body.said
                    piece = body.feed(data)
                    if body.said and not said:
                        for side in sides:
                            capture.line(side, **body.said)
                    if "backend" in sides:
                        capture.bytes("backend", piece)
                    try:
                        client.sendall(data)
                    except OSError:
                        ends["client"] = "reset"
                        break
                    if "client" in sides:
                        capture.bytes("client", piece)
                    if body.complete:
                        ends.update(backend="eof", client="eof")
                        break
            except OSError as error:
                say(f"an exchange broke: {error}")
                ends["backend"] = "reset"
        if ends["client"] == ENDED_BY_US:
            # The client is told in the only way there is: its connection ends as the backend's did.
            ends["client"] = ends["backend"]
        for side in sides:
            capture.line(side, end=ends[side])


def arriving(server: socket.socket, client: socket.socket, ends: dict[str, str], body: Body, timeout: float) -> Iterator[bytes]:
    """What comes from the server until one of both goes; sets how in `ends`."""
    watched = [server, client]
    while True:
        if not (isinstance(server, ssl.SSLSocket) and server.pending()):
            ready, _, _ = select.select(watched, [], [], timeout)
            if not ready:
                ends["backend"] = "timeout"
                return
            if client in ready:
                try:
                    gone = not client.recv(PIECE)
                except OSError:
                    gone = True
                if gone:
                    ends["client"] = "reset"
                    return
                watched = [server]
            if server not in ready:
                continue
        try:
            data = server.recv(PIECE)
        except TimeoutError:
            ends["backend"] = "timeout"
            return
        except OSError:
            ends["backend"] = "reset"
            return
        if not data:
            ends["backend"] = "eof" if body.at_close() else "reset"
            return
        yield data


def connected(target: SplitResult, timeout: float) -> socket.socket:
    secure = target.scheme == "https"
    server = socket.create_connection((target.hostname or HERE, target.port or (443 if secure else 80)), timeout)
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        return ssl.create_default_context().wrap_socket(server, server_hostname=target.hostname) if secure else server
    except OSError:
        server.close()
        raise


def answer(client: socket.socket, status: str, text: str) -> None:
    body = json.dumps({"error": {"type": "recorder", "message": text}}).encode()
    client.sendall(
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body
    )


def listen(port: int, serve: Any, target: SplitResult) -> int:
    """Serves on 127.0.0.1, a thread for each connection; the port, which the system chooses where 0 was asked for."""
    listener = socket.create_server((HERE, port))

    def accept() -> None:
        while True:
            client, _ = listener.accept()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=serve, args=(client, target), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return int(listener.getsockname()[1])


def from_pipe() -> None:
    capture = Capture(1, {"sides": ["backend"]})
    try:
        while data := os.read(0, PIECE):
            capture.bytes("backend", data)
    except KeyboardInterrupt:
        capture.line("backend", end=ENDED_BY_US)
        return
    # A pipe ends alike whether the transfer was whole or its program died.
    capture.line("backend", end="unknown")


def say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def address(text: str) -> SplitResult:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise argparse.ArgumentTypeError(f"{text!r} is no address that begins with http:// or https://")
    return parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("backend", nargs="?", type=address, help="address of the model's server")
    parser.add_argument("--stdin", action="store_true", help="record what standard input brings, to standard output")
    parser.add_argument("--around", type=address, metavar="PROXY", help="address of a proxy whose both sides are recorded")
    parser.add_argument("--port", type=int, default=8900, help="where the client is to go (0: any free one)")
    parser.add_argument("--backend-port", type=int, default=8901, help="with --around: where the proxy is to go")
    parser.add_argument("--out", type=Path, default=Path("captures"), help="folder for the captures, made if it is missing")
    parser.add_argument("--timeout", type=float, default=600, help="seconds without a byte after which a side is given up")
    asked = parser.parse_args()
    if asked.stdin:
        from_pipe()
        return
    if asked.backend is None:
        parser.error("name the backend's address, or --stdin")
    asked.out.mkdir(mode=0o700, parents=True, exist_ok=True)
    recorder = Recorder(asked.out, asked.timeout)
    try:
        if asked.around:
            behind = listen(asked.backend_port, recorder.behind_proxy, asked.backend)
            port = listen(asked.port, recorder.before_proxy, asked.around)
            say(f"client: http://{HERE}:{port}   the proxy's backend: http://{HERE}:{behind}")
        else:
            port = listen(asked.port, recorder.between, asked.backend)
            say(f"client: http://{HERE}:{port}")
    except OSError as error:
        parser.error(f"cannot listen on 127.0.0.1: {error}; name another --port")
    with contextlib.suppress(KeyboardInterrupt):
        signal.pause() if hasattr(signal, "pause") else threading.Event().wait()


if __name__ == "__main__":
    main()
