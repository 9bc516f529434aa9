"""Generic code asks the program of a conversation, and names none: else the next program costs changes all over."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from inspector.programs.registry import programs

ROOT = Path(settings.BASE_DIR)
NAMES = {each.name for program in programs() for each in program.formats} | {program.name for program in programs()} | {"openclaw", "pi"}
# Places of their own: what a program is, what a provider's shape is called, and what writes the demo.
OWN = ("inspector/programs/", "inspector/wires/", "inspector/profiles/", "inspector/demo/", "inspector/migrations/")
OWN_FILES = {
    "inspector/conversation/notation.py": "the notation of cases needs no @format line for the oldest of them",
    "inspector/management/commands/demo.py": "it writes the demo",
}
COMPARED = re.compile(r"""[=!]= ?["']([a-z0-9-]+)["']|["']([a-z0-9-]+)["'] (?:not )?in """)


def generic_modules() -> Iterator[Path]:
    for path in sorted((ROOT / "inspector").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(OWN) and name not in OWN_FILES:
            yield path


def test_no_string_of_generic_code_is_the_name_of_a_program_or_format() -> None:
    named = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value}"
        for path in generic_modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in NAMES
    ]
    assert named == []


def test_no_template_compares_with_the_name_of_a_program_or_format() -> None:
    named = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in sorted((ROOT / "templates").rglob("*.html"))
        for match in COMPARED.finditer(path.read_text(encoding="utf-8"))
        if {match[1], match[2]} & NAMES
    ]
    assert named == []


def test_the_exceptions_are_needed() -> None:
    for name in OWN_FILES:
        constants = ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8")))
        assert any(isinstance(node, ast.Constant) and node.value in NAMES for node in constants), f"{name} names none any more"
