"""One POST to an address that a person typed: its name is resolved once, every address of it is checked, and the connection goes to one that was checked.

No redirect is followed and no proxy of the environment is used: both would lead elsewhere than what was checked. Time and bytes are limited.
"""

import http.client
import ipaddress
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from inspector.notifying.addresses import Address, Network, may_connect

SECONDS = 15.0
"""For all of it."""
CONNECT_SECONDS = 5.0
"""For each of the addresses of a name, of which ADDRESSES are tried."""
ADDRESSES = 3
BYTES = 32_768
"""Of an answer; the rest is not read."""
LONGEST = 2_000
"""Characters of an address."""
NOT_ALLOWED = (
    "The address leads to a private or local network, or is not encrypted: nothing was sent. Whoever runs the server can list its network in "
    "INSPECTOR_NOTIFY_PRIVATE."
)
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?\.?|\[[0-9A-Fa-f:.]{2,45}\]")

Resolve = Callable[[str, int], list[tuple[str, int]]]
"""Host and port -> addresses with their ports, as text."""


class NotSent(Exception):
    """`sentence` names neither the address nor a secret. `is_final`: another attempt ends the same way."""

    def __init__(self, sentence: str, is_final: bool = False) -> None:
        super().__init__(sentence)
        self.sentence, self.is_final = sentence, is_final


@dataclass(frozen=True, slots=True)
class Url:
    is_encrypted: bool
    host: str
    port: int
    target: str
    """Path and query."""

    @property
    def origin(self) -> str:
        shown = f"[{self.host}]" if ":" in self.host else self.host
        is_usual = self.port == (443 if self.is_encrypted else 80)
        return f"{'https' if self.is_encrypted else 'http'}://{shown}{'' if is_usual else f':{self.port}'}"


@dataclass(frozen=True, slots=True)
class Answer:
    """`text` is the beginning of the body. `wait`: seconds after which the receiver wants to be asked again, or None."""

    status: int
    text: str
    wait: int | None = None


def parsed(text: str) -> Url:
    """Raises NotSent for what is no http or https address that can be posted to as it is."""
    wrong = NotSent(
        "This is no address that can be sent to: write it whole, such as https://example.org/hooks/1, without a user and a #.", True
    )
    try:
        parts = urlsplit(text)
        port = parts.port
        host = (parts.hostname or "").lower()
    except ValueError:
        raise wrong from None
    is_plain = text.isascii() and text.isprintable() and not re.search(r"[\s\\#<>\"{}|^`]", text) and len(text) <= LONGEST
    in_brackets = f"[{host}]" if ":" in host else host
    if not is_plain or parts.scheme not in ("http", "https") or "@" in parts.netloc or not _HOST.fullmatch(in_brackets) or port == 0:
        raise wrong
    is_encrypted = parts.scheme == "https"
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Url(is_encrypted, host, port or (443 if is_encrypted else 80), target)


def resolved(host: str, port: int) -> list[tuple[str, int]]:
    """By the resolver of the system. Raises OSError, UnicodeError."""
    return [(str(place[0]), int(place[1])) for *_, place in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def post(
    url: Url, body: bytes, headers: Mapping[str, str], allowed: Sequence[Network], resolve: Resolve = resolved, seconds: float = SECONDS
) -> Answer:
    """Raises NotSent. Whatever is answered is an Answer, of which the caller decides."""
    until = time.monotonic() + seconds
    with closing(_connected(url, _checked(url, allowed, resolve, until), until)) as stream, _cut_at(until, stream) as is_cut:
        try:
            answer = _exchanged(stream, url, body, headers)
        except (OSError, http.client.HTTPException, ValueError) as error:
            # One read that waits until the end of the time and the timer end at the same moment: either may be first.
            if not is_cut.is_set() and not isinstance(error, TimeoutError):
                raise NotSent(_reason(error)) from None
            is_cut.set()
        # The end of a connection also ends headers and bodies: what came of them is no answer.
        if is_cut.is_set():
            raise NotSent(f"The receiver did not answer within {seconds:g} seconds.")
        return answer


@contextmanager
def _cut_at(until: float, stream: socket.socket) -> Iterator[threading.Event]:
    """Each byte may come in time and all of them never: at the end of the time the connection is cut, in whatever read it is."""
    is_cut = threading.Event()

    def cut() -> None:
        is_cut.set()
        with suppress(OSError):
            stream.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(max(0.1, until - time.monotonic()), cut)
    timer.daemon = True
    timer.start()
    try:
        yield is_cut
    finally:
        timer.cancel()


def _checked(url: Url, allowed: Sequence[Network], resolve: Resolve, until: float) -> list[tuple[Address, int]]:
    """The addresses of the name, each allowed. One that is not refuses all: a name with a public and a private address is made to deceive."""
    places: list[tuple[Address, int]] = []
    for text, port in _in_time(lambda: resolve(url.host, url.port), until):
        address = ipaddress.ip_address(text.partition("%")[0])
        if not may_connect(address, allowed, url.is_encrypted):
            raise NotSent(NOT_ALLOWED, is_final=True)
        if (address, port) not in places:
            places.append((address, port))
    if not places:
        raise NotSent("The name of the receiver has no address that can be looked up here.")
    return places[:ADDRESSES]


def _in_time(work: Callable[[], list[tuple[str, int]]], until: float) -> list[tuple[str, int]]:
    """A resolver has its own idea of how long to wait."""
    answers: list[list[tuple[str, int]]] = []

    def resolve() -> None:
        try:
            answers.append(work())
        except (OSError, UnicodeError):
            answers.append([])

    thread = threading.Thread(target=resolve, daemon=True)
    thread.start()
    thread.join(max(0.1, until - time.monotonic()))
    if not answers:
        raise NotSent("The name of the receiver could not be looked up in time.")
    return answers[0]


def _connected(url: Url, places: Sequence[tuple[Address, int]], until: float) -> socket.socket:
    problem = "The receiver could not be reached."
    for address, port in places:
        family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
        plain = socket.socket(family, socket.SOCK_STREAM)
        try:
            plain.settimeout(max(0.1, min(CONNECT_SECONDS, until - time.monotonic())))
            plain.connect((str(address), port))
            return _encrypted(plain, url, until) if url.is_encrypted else plain
        except OSError as error:
            plain.close()
            problem = _reason(error)
    raise NotSent(problem)


def _encrypted(plain: socket.socket, url: Url, until: float) -> socket.socket:
    """The certificate is that of the name, whatever the address. Raises OSError."""
    stream = ssl.create_default_context().wrap_socket(plain, server_hostname=url.host, do_handshake_on_connect=False)
    try:
        with _cut_at(until, stream):
            stream.do_handshake()
    except OSError:
        stream.close()
        raise
    return stream


def _exchanged(stream: socket.socket, url: Url, body: bytes, headers: Mapping[str, str]) -> Answer:
    connection = http.client.HTTPConnection(url.host, url.port)
    connection.sock = stream
    host = url.origin.partition("://")[2]
    connection.putrequest("POST", url.target, skip_host=True, skip_accept_encoding=True)
    for name, value in {"Host": host, "Content-Length": str(len(body)), "Connection": "close", **headers}.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    response = connection.getresponse()
    wait = response.getheader("Retry-After", "")
    text = response.read(BYTES).decode("utf-8", "replace")
    return Answer(response.status, text, int(wait) if re.fullmatch(r"\d{1,6}", wait) else None)


def _reason(error: Exception) -> str:
    """In words of ours: what libraries say may quote the address."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return "The certificate of the receiver is not valid for its name, or its issuer is not known here."
    if isinstance(error, ssl.SSLError):
        return "No encrypted connection to the receiver was made."
    if isinstance(error, TimeoutError):
        return "The receiver did not answer in time."
    if isinstance(error, ConnectionRefusedError):
        return "The receiver refused the connection: nothing listens at its port."
    if isinstance(error, http.client.HTTPException | ValueError):
        return "The receiver did not answer as a web server does."
    return "The connection to the receiver was lost, or could not be made."
