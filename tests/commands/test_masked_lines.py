"""What a command prints line by line is masked as one text: a key and a block of YAML have several lines."""

import io
from typing import Any

import pytest
from django.core.management import call_command

from inspector.management.answering import AnsweringCommand

# Invented, and put together here so that no scanner takes this file for a leak.
LINE = "Cnry7Hq2Zt9LmXc4Vb8NwRkY3sPdFgTj6UaE5Jm1KoQiWx0"
KEY = ["-----BEGIN " + "PRIVATE KEY-----", LINE, LINE, "-----END " + "PRIVATE KEY-----"]


class Printing(AnsweringCommand):
    """Prints the lines that it was made with."""

    def __init__(self, lines: list[str], flushes: bool = False) -> None:
        super().__init__()
        self.lines, self.flushes = lines, flushes

    def answer(self, options: dict[str, Any]) -> None:
        for line in self.lines:
            self.say(line)
            if self.flushes:
                self.stdout.flush()


def printed(lines: list[str], flushes: bool = False) -> str:
    out = io.StringIO()
    call_command(Printing(lines, flushes), stdout=out)
    return out.getvalue()


@pytest.mark.parametrize(
    "lines", [KEY, ["password: |", "  Cnry correct horse 7", "host: db"], ["user | password", "-----+---------", "bob  | Cnry-horse-7"]]
)
def test_a_secret_of_several_lines_is_masked(lines: list[str]) -> None:
    shown = printed(["before", *lines, "after"])
    assert "Cnry" not in shown and shown.startswith("before\n") and shown.endswith("after\n")


def test_much_is_printed_before_the_end_and_loses_no_line() -> None:
    filler = [f"line {number} of many" for number in range(20_000)]
    shown = printed([*filler, *KEY, *filler, *KEY, '{"password": "Cnry-horse-7"}', *filler])
    assert "Cnry" not in shown and shown.count("\n") == 3 * len(filler) + 3
    assert [line for line in shown.splitlines() if line.startswith("line")] == filler * 3


def test_what_is_flushed_is_shown_at_once() -> None:
    assert printed(["one", "two"], flushes=True) == "one\ntwo\n"
