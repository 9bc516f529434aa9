"""One request to a provider, sent because a person asked for it: the only place that opens a connection to somewhere else."""

import http.client
import re
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

TIMEOUT_S = 60.0
ANSWER_LIMIT = 256 * 1024
"""Bytes of an answer that are read: an error takes one or two thousand."""
LEAST_KEY = 8
_TEST_HOST = "127.0.0.1"
_PATH = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@%/-]*")
_KEY = re.compile(r"[!-~]+")


class NotSent(Exception):
    """Nothing came back. The text is one sentence; it never holds the key."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where requests go: `path` is what every path of a request is put after."""

    host: str
    port: int
    path: str
    is_encrypted: bool = True

    @property
    def shown(self) -> str:
        return self.host if self.port == (443 if self.is_encrypted else 80) else f"{self.host}:{self.port}"

    def url(self, path: str) -> str:
        return f"{'https' if self.is_encrypted else 'http'}://{self.shown}{self.path}{path}"


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """`text` is at most ANSWER_LIMIT bytes of the body; `is_cut`: there was more."""

    status: int
    reason: str
    text: str
    is_cut: bool


def address(base_url: str) -> Address:
    """Of an https URL, or http://127.0.0.1 for tests. Raises NotSent."""
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise NotSent("That base URL cannot be read: write it as https://HOST or https://HOST/PATH.") from None
    if parts.scheme != "https" and not (parts.scheme == "http" and host == _TEST_HOST):
        raise NotSent("A key is only sent over https: write the base URL as https://HOST (http is for tests on 127.0.0.1).")
    is_plain = not (parts.username or parts.password or parts.query or parts.fragment)
    if not is_plain or not re.fullmatch(r"[A-Za-z0-9.-]+", host) or not _PATH.fullmatch(parts.path):
        raise NotSent("A base URL is https://HOST, with a port and a path where need be, and nothing else.")
    is_encrypted = parts.scheme == "https"
    return Address(host, port or (443 if is_encrypted else 80), parts.path.rstrip("/"), is_encrypted)


def refuse_bad_key(key: str, variable: str) -> None:
    """Raises NotSent; http.client's own complaint about a header would print its value."""
    if not key:
        # Not by its name: it may be the key itself, typed in the wrong place.
        raise NotSent("The environment variable that --key-env names is not set or empty: put your own key into it, and try again.")
    if not _KEY.fullmatch(key) or len(key) < LEAST_KEY:
        raise NotSent(f"What {variable} holds is no key (it is short, or has white space or signs beyond ASCII): set it again.")


def post(where: Address, path: str, headers: Mapping[str, str], body: bytes, timeout: float = TIMEOUT_S) -> HttpAnswer:
    """Sends once; redirects are answers as others, and no proxy is asked. Raises NotSent."""
    deadline = time.monotonic() + timeout
    connection: http.client.HTTPConnection
    if where.is_encrypted:
        connection = http.client.HTTPSConnection(where.host, where.port, timeout=timeout, context=ssl.create_default_context())
    else:
        connection = http.client.HTTPConnection(where.host, where.port, timeout=timeout)
    try:
        connection.request("POST", f"{where.path}{path}", body, {**headers, "Content-Type": "application/json", "Connection": "close"})
        response = connection.getresponse()
        data = _read(response, deadline)
    except TimeoutError:
        raise NotSent(f"{where.shown} did not answer within {timeout:g} seconds; whether it took the request is not known.") from None
    except ssl.SSLCertVerificationError:
        raise NotSent(f"{where.shown} has no certificate that is trusted here, so the key was not sent; check the base URL.") from None
    except (OSError, http.client.HTTPException) as problem:
        raise NotSent(f"{where.shown} could not be asked ({_why(problem)}); check the network and the base URL, and try again.") from None
    finally:
        connection.close()
    return HttpAnswer(response.status, response.reason[:200], data[:ANSWER_LIMIT].decode("utf-8", "replace"), len(data) > ANSWER_LIMIT)


def _why(problem: Exception) -> str:
    """Without what the other side sent, which may be anything."""
    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror.lower()
    return "it broke off, or answered no HTTP"


def _read(response: http.client.HTTPResponse, deadline: float) -> bytes:
    """Until the limit; a server that sends drop by drop is left at the deadline."""
    data = bytearray()
    while len(data) <= ANSWER_LIMIT and (piece := response.read1(64 * 1024)):
        data += piece
        if time.monotonic() > deadline:
            raise TimeoutError
    return bytes(data)
