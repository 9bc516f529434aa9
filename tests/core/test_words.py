"""Words of the field only: what an engineer of another company would not write or search for appears in no text."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
NOWHERE = {
    "mend": "repair",
    "mends": "repairs",
    "mended": "repaired",
    "mending": "repairing",
    "anew": "again",
    "for ever": "permanently",
    "made-up": "synthetic",
    "neighbour": "neighbor",
    "neighbours": "neighbors",
    "behaviour": "behavior",
    "recognise": "recognize",
    "recognised": "recognized",
}
"""Word -> what is written instead. What is quoted or part of a longer name is a name, and not looked at here."""


def texts() -> Iterator[Path]:
    for folder, pattern in (("inspector", "*.py"), ("templates", "*.html"), ("docs", "*.md"), ("tools", "*.py")):
        yield from sorted((ROOT / folder).rglob(pattern))
    yield ROOT / "README.md"


@pytest.mark.parametrize("word", NOWHERE)
def test_a_word_of_another_language_appears_nowhere(word: str) -> None:
    pattern = re.compile(rf"(?<![\w/.\"-]){word}(?![\w/(=\"-])", re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{number}: write {NOWHERE[word]!r}"
        for path in texts()
        if not {"migrations", "seeds"} & set(path.parts)
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1)
        if pattern.search(line)
    ]
    assert found == []
