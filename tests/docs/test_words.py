"""Words of the field only: what an engineer of another company would not write or search for appears in no text."""

import ast
import re
from collections.abc import Iterator
from functools import cache
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
    "beside": "next to",
    "stood": "was",
    "in front of": "before",
    "spelled": "encoded",
    "unmended": "without a repair",
    "doctored": "modified",
    "stranded": "left in the old format",
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


@cache
def read() -> dict[Path, str]:
    """Read once for all words."""
    return {path: path.read_text(encoding="utf-8") for path in texts()}


@pytest.mark.parametrize("word", NOWHERE)
def test_a_word_of_another_language_appears_nowhere(word: str) -> None:
    pattern = re.compile(rf"(?<![\w/.\"-]){word}(?![\w/(=\"-])", re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{number}: write {NOWHERE[word]!r}"
        for path, text in read().items()
        if not {"migrations", "seeds"} & set(path.parts) and pattern.search(text)
        for number, line in enumerate(text.split("\n"), start=1)
        if pattern.search(line)
    ]
    assert found == []


NEVER_NAMES = {
    *("found", "held", "each", "made", "said", "told", "asked", "beside", "behind", "stands", "stood", "hear", "hears", "hearing"),
    *("mend", "mends", "mended", "anew", "hit", "hits", "trouble", "troubles", "spell", "spells", "spelled", "spelling", "meant"),
}
"""Words that no name consists of or contains: they say nothing of the value, or are not what the field calls it."""
WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """What a module itself names: functions, classes, parameters, variables, attributes of its classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id


@pytest.mark.parametrize("package", sorted({path.name for path in (ROOT / "inspector").iterdir() if (path / "__init__.py").exists()}))
def test_a_name_is_the_name_of_what_it_holds(package: str) -> None:
    private = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in sorted((ROOT / "inspector" / package).rglob("*.py"))
        if package != "migrations"
        for line, name in names(ast.parse(path.read_text(encoding="utf-8")))
        if {word.lower() for word in WORDS.findall(name)} & NEVER_NAMES
    ]
    assert private == []
