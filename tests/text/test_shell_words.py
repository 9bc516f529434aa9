"""A word of a printed command is read back by a shell as it was, and is printable."""

import os
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.text.shell_words import path_word, shell_word

NAMES = [
    "plain.jsonl",
    "with space",
    "it's",
    "-home-b\x01c",
    "line\nbreak\tand 'quote' and back\\slash",
    "0\x1b[31mred\x1b[0m1",
    "\udcff is no UTF-8",
    "right \u202e to left",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_shell_reads_the_word_back(name: str) -> None:
    assert _read_back(name) == name


@settings(max_examples=25)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",))))
def test_any_text_is_printable_and_read_back(name: str) -> None:
    assert shell_word(name).isprintable()
    assert _read_back(name) == name


def test_a_word_that_needs_nothing_stays() -> None:
    assert shell_word("plain.jsonl") == "plain.jsonl"
    assert shell_word("a b") == "'a b'"


def _read_back(name: str) -> str:
    ran = subprocess.run(["bash", "-c", f"printf %s {shell_word(name)}"], capture_output=True, check=True)
    return os.fsdecode(ran.stdout)


def test_a_relative_path_that_begins_with_a_dash_is_no_option() -> None:
    assert [path_word(path) for path in ("-home-x", "/a/-b", "a b")] == ["./-home-x", "/a/-b", "'a b'"]
