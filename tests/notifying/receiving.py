"""Real receivers: a web server that keeps what it gets, and a mail server, each at a port of this machine."""

import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Received:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    port: int
    requests: list[Received] = field(default_factory=list)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    answer: Callable[[Received], bytes] = lambda _: b"thank you"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hooks/T-0123456789"


@contextmanager
def web_server() -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got = Received(self.path, dict(self.headers), self.rfile.read(int(self.headers["Content-Length"])))
            receiver.requests.append(got)
            body = receiver.answer(got)
            self.send_response(receiver.status)
            for name, value in {**receiver.headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver = Receiver(server.server_address[1])
    with _running(server):
        yield receiver


@contextmanager
def mail_server(refusal: str = "") -> Iterator[tuple[int, list[str]]]:
    """Its port, and the messages that it took, each as it came, after the lines of its envelope. `refusal` answers the recipients."""
    messages: list[str] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self._say("220 here")
            envelope = ""
            while line := self.rfile.readline().decode():
                word = line.split()[0].upper()
                if word == "DATA":
                    self._say("354 go on")
                    text = ""
                    while (part := self.rfile.readline().decode()) != ".\r\n":
                        text += part
                    messages.append(envelope + text)
                    self._say("250 taken")
                elif word == "QUIT":
                    self._say("221 bye")
                    return
                else:
                    envelope += line if word in ("MAIL", "RCPT") else ""
                    self._say(refusal if word == "RCPT" and refusal else "250 yes")

        def _say(self, line: str) -> None:
            self.wfile.write(f"{line}\r\n".encode())

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with _running(server):
        yield server.server_address[1], messages


@contextmanager
def speaking(talk: Callable[[socket.socket], object]) -> Iterator[int]:
    """The port of a server that says what `talk` makes it say, whatever it is asked."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            try:
                talk(self.request)
            except OSError:
                pass

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with _running(server):
        yield server.server_address[1]


@contextmanager
def _running(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
