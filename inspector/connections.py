"""Connections of clients that send slowly or wrongly, on purpose or not."""

import time

from waitress.channel import HTTPChannel  # type: ignore[import-untyped]
from waitress.parser import HTTPRequestParser, ParsingError  # type: ignore[import-untyped]

BODY_SECONDS = 600
"""In which all of a request has to be here: 64 MB at 0.9 Mbit/s."""


class PlainParser(HTTPRequestParser):  # type: ignore[misc]
    """Answers an address that Python cannot split with 400. waitress 3.0.2 closes the connection, and writes where its files are into the log."""

    def parse_header(self, header_plus: bytes) -> None:
        try:
            super().parse_header(header_plus)
        except ValueError as error:
            raise ParsingError(f"Bad address: {error}") from error


class TimedChannel(HTTPChannel):  # type: ignore[misc]
    """A connection that counts as idle while its headers are incomplete, and after BODY_SECONDS while its body is, however often a byte arrives.

    waitress closes what is idle for `channel_timeout`; every byte alone would begin that time again.
    """

    parser_class = PlainParser
    last_activity: float
    _began = 0.0
    """When the first byte arrived of the request that is not complete yet."""

    def handle_read(self) -> None:
        partial, last = self.request, self.last_activity
        super().handle_read()
        if self.request is None:
            return
        if self.request is not partial:
            self._began = time.time()
        elif not self.request.headers_finished or time.time() - self._began > BODY_SECONDS:
            self.last_activity = last
