"""Commands as a person types them."""

import argparse
import shlex

import pytest

from inspector.installation import program, typed

CASES = {
    "as they are": (("scan", "a.db", "--conversation", "x1"), "scan a.db --conversation x1"),
    "quoted": (("scan", "my store.db", "--conversation", "it's"), """scan 'my store.db' --conversation 'it'"'"'s'"""),
    "an id that begins with a dash": (
        ("scan", "a.db", "--conversation", "-home", "--reader", "r"),
        "scan a.db --conversation=-home --reader r",
    ),
    "two options, of which the first has no value": (("repair", "--apply", "--json"), "repair --apply --json"),
}


@pytest.mark.parametrize(("words", "line"), CASES.values(), ids=CASES)
def test_a_command_is_written_as_a_shell_takes_it(words: tuple[str, ...], line: str) -> None:
    assert typed(*words) == f"{program()} {line}"


def test_a_value_that_begins_with_a_dash_arrives() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("store")
    parser.add_argument("--conversation")
    line = typed("a.db", "--conversation", "-home-x").removeprefix(program())
    assert parser.parse_args(shlex.split(line)).conversation == "-home-x"
