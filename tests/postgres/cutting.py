"""A way to the server that can be cut at a chosen moment: real sockets between the client and PostgreSQL."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Line:
    """`cut_at`: a piece of what the client says; the answer to it is swallowed, and both ends are hung up on. `reached` is set then."""

    port: int
    cut_at: bytes = b""
    reached: threading.Event = field(default_factory=threading.Event)


@contextmanager
def line_to(port: int) -> Iterator[Line]:
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        line = Line(listening.getsockname()[1])
        threading.Thread(target=_serve, args=(listening, port, line), daemon=True).start()
        yield line


def _serve(listening: socket.socket, port: int, line: Line) -> None:
    with suppress(OSError):
        while True:
            client, _ = listening.accept()
            threading.Thread(target=_one, args=(client, port, line), daemon=True).start()


def _one(client: socket.socket, port: int, line: Line) -> None:
    with closing(client), suppress(OSError), closing(socket.create_connection(("127.0.0.1", port))) as server:
        back = threading.Thread(target=_copy, args=(server, client, line), daemon=True)
        back.start()
        while data := client.recv(65536):
            if line.cut_at and line.cut_at in data:
                # From here on no answer gets through; the server has done its part once it answers.
                line.reached.set()
                server.sendall(data)
                back.join(10)
                client.shutdown(socket.SHUT_RDWR)
                return
            server.sendall(data)
        server.shutdown(socket.SHUT_WR)


def _copy(source: socket.socket, target: socket.socket, line: Line) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            if line.reached.is_set():
                return
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
