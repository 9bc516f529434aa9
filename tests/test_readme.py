"""The README's tables say what the catalogues say, and its pictures are there."""

import re
from pathlib import Path

import pytest

from inspector.profiles.catalogue import PROFILES
from inspector.programs.catalogue import FORMATS
from inspector.projections.catalogue import all_projections
from inspector.readers.catalogue import all_readers
from inspector.reports.stream_report import STORED
from inspector.rules.catalogue import RULES
from inspector.sources.reading import TRACE_FORMATS
from inspector.strategies.catalogue import STRATEGIES
from inspector.streams.captures.catalogue import KINDS
from inspector.streams.corrections import STRATEGIES as CORRECTIONS
from inspector.streams.dialects.catalogue import DIALECTS
from inspector.streams.violations import ROWS

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
DESIGN = (ROOT / "docs" / "design.md").read_text()


def table(text: str, first: str) -> list[tuple[str, ...]]:
    """Rows of the table whose first column is called `first`, without backticks."""
    lines = text.split(f"| {first} |", 1)[1].split("\n")[2:]
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append(tuple(cell.strip().replace("`", "") for cell in line.strip("|").split("|")))
    return rows


def test_formats() -> None:
    rows = table(README, "format")
    assert [row[0] for row in rows] == [*(found.name for found in FORMATS), *TRACE_FORMATS]
    for found, row in zip(FORMATS, rows, strict=False):
        assert row[2] == (", ".join(mode.shown for mode in found.modes) or "read only")


def test_readers_projections_and_profiles() -> None:
    assert [name for row in table(README, "reader") for name in row[0].split(", ")] == [found.name for found in all_readers()]
    for found in (*all_projections(), *PROFILES):
        assert found.name.split("+")[0] in README


def test_rules() -> None:
    wanted = [(rule.code, rule.name, rule.severity.value, "silent" if rule.silent else "loud") for rule in RULES]
    assert table(README, "code") == wanted


def test_captures() -> None:
    assert [row[0] for row in table(README, "capture")] == [kind.name for kind in KINDS]
    wanted = [(f"STREAM{number}", name, severity.value, summary) for number, name, severity, summary in STORED.values()]
    assert table(README, "stored answer") == wanted


def test_corrections() -> None:
    wanted = [(found.name, " and ".join(sorted(found.safety)) or "safe", found.summary.replace("`", "")) for found in CORRECTIONS]
    assert table(README, "correction") == wanted


def test_violations_of_streams() -> None:
    wanted = [(row.code, row.name, row.severity.value, "both sides" if row.two_sided else "one side", row.summary) for row in ROWS]
    assert table(README, "stream") == wanted


def test_forms_of_calls_in_text() -> None:
    named = [form for row in table(README, "family") for form in row[1].split(", ")]
    assert sorted(named) == sorted(dialect.id for dialect in DIALECTS)


def test_strategies() -> None:
    wanted = [(found.name, " and ".join(sorted(found.safety)) or "safe", found.summary) for found in STRATEGIES]
    assert table(README, "strategy") == wanted


def test_states_of_the_design_are_those_of_the_rules() -> None:
    rows = {(row[0], row[1], row[2], row[4]) for row in table(DESIGN, "state")}
    assert rows == {(rule.state, rule.code, rule.name, "silent" if rule.silent else "loud") for rule in RULES}


@pytest.mark.parametrize("picture", re.findall(r"\]\((docs/screenshots/[^)]+)\)", README))
def test_pictures_are_there(picture: str) -> None:
    assert (ROOT / picture).stat().st_size > 10_000


def test_settings_are_those_that_are_read() -> None:
    named = set(re.findall(r"`((?:INSPECTOR|DJANGO)_[A-Z_]+)`", README))
    read = set(re.findall(r'"((?:INSPECTOR|DJANGO)_[A-Z_]+)"', (ROOT / "inspector" / "settings.py").read_text()))
    assert named == read
