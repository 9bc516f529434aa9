"""The reference pages are what `make reference` generates, and have a row for everything in the catalogues, the commands and the settings."""

import re
from pathlib import Path

import pytest

from inspector.management import commands
from inspector.profiles.catalogue import PROFILES
from inspector.programs.catalogue import FORMATS
from inspector.projections.catalogue import all_projections
from inspector.readers.catalogue import all_readers
from inspector.rules.catalogue import RULES
from inspector.sources.reading import TRACE_FORMATS
from inspector.strategies.catalogue import STRATEGIES
from inspector.streams.call_syntax.catalogue import CALL_SYNTAXES
from inspector.streams.captures.catalogue import KINDS
from inspector.streams.corrections import STREAM_STRATEGIES as CORRECTIONS
from inspector.streams.violations import ALL_STREAM_RULES
from tools import reference

ROOT = Path(__file__).resolve().parents[2]


def page(name: str) -> str:
    return (reference.REFERENCE / name).read_text(encoding="utf-8")


def table(name: str, first: str, place: int = 0) -> list[tuple[str, ...]]:
    """Rows of the `place`th table of a page whose first column is called `first`, without the marks of code, links and escapes."""
    rows = []
    for line in page(name).split(f"| {first} |")[1 + place].split("\n")[2:]:
        if not line.startswith("|"):
            break
        cells = re.split(r" \| ", line.removeprefix("| ").removesuffix(" |"))
        rows.append(tuple(plain(cell) for cell in cells))
    return rows


def plain(cell: str) -> str:
    linked = re.sub(r"(?<!\\)\[([^]]*)\]\([^)]*\)", r"\1", cell)
    for shown, sign in (("\\|", "|"), ("\\*", "*"), ("\\[", "["), ("\\]", "]"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        linked = linked.replace(shown, sign)
    return linked.replace("`", "").strip()


def words(text: str) -> str:
    return text.replace("`", "")


@pytest.mark.parametrize("name", reference.PAGES)
def test_page_is_what_make_reference_generates(name: str) -> None:
    assert page(name) == reference.pages()[name], f"docs/reference/{name} is out of date: run `make reference` and commit the page"


def test_pages_that_are_not_generated_are_known() -> None:
    assert {path.name for path in reference.REFERENCE.glob("*.md")} == {*reference.PAGES, "index.md", "captures.md"}


def test_formats() -> None:
    wanted = [(entry.name, entry.title, entry.sample, ", ".join(mode.shown for mode in entry.modes) or "read only") for entry in FORMATS]
    assert table("formats.md", "format") == wanted
    assert [row[0] for row in table("formats.md", "traces")] == list(TRACE_FORMATS)
    assert [row[0] for row in table("formats.md", "capture")] == [kind.name for kind in KINDS]


def test_captures_that_are_described_by_hand() -> None:
    assert {row[0] for row in table("captures.md", "kind")} == {kind.name for kind in KINDS}


def test_readers_projections_and_profiles() -> None:
    assert [row[0] for row in table("readers.md", "reader")] == [entry.name for entry in all_readers()]
    assert [row[0] for row in table("projections.md", "projection")] == [entry.name for entry in all_projections()]
    assert [row[0] for row in table("profiles.md", "profile")] == [entry.name for entry in PROFILES]


def test_every_rule_of_a_profile_has_its_error_text() -> None:
    text = page("profiles.md")
    for rule in (rule for profile in PROFILES for rule in profile.rules):
        assert f"| `{rule.id}` |" in text and " ".join(rule.text.split()).replace("|", "\\|") in text


def test_rules() -> None:
    wanted = [
        (rule.code, rule.name, rule.severity.value, "silent" if rule.silent else "raises an error", rule.origin.value, rule.state)
        for rule in RULES
    ]
    assert table("rules.md", "code") == wanted


def test_strategies() -> None:
    wanted = [(entry.name, str(entry.order), " and ".join(sorted(entry.safety)) or "safe", words(entry.summary)) for entry in STRATEGIES]
    assert table("strategies.md", "strategy") == wanted


def test_stream_rules() -> None:
    rows = [(row[0], row[1], row[2], row[4] == "two sides", row[5]) for row in table("stream-rules.md", "code")]
    assert rows == [(rule.code, rule.name, rule.severity.value, rule.two_sided, words(rule.summary)) for rule in ALL_STREAM_RULES]


def test_call_syntax() -> None:
    assert [row[0] for row in table("stream-rules.md", "form")] == [entry.id for entry in CALL_SYNTAXES]


def test_corrections() -> None:
    rows = [row[:3] for row in table("corrections.md", "correction")]
    assert rows == [(entry.name, " and ".join(sorted(entry.safety)) or "safe", words(entry.summary)) for entry in CORRECTIONS]


def test_commands() -> None:
    modules = {path.stem for path in Path(commands.__path__[0]).glob("*.py")} - {"__init__"}
    assert sorted(reference.COMMANDS) == sorted(modules)
    assert re.findall(r"^## (\w+)$", page("commands.md"), re.MULTILINE) == list(reference.COMMANDS)


def test_settings_are_those_that_are_read() -> None:
    read = set(re.findall(r'"((?:INSPECTOR|DJANGO)_[A-Z_]+)"', (ROOT / "inspector" / "settings.py").read_text()))
    assert {row[0] for row in table("settings.md", "variable")} == read
