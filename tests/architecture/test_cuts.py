"""A text of a store is cut by `beginning`, `ending` or `clipped`: a secret that a cut goes through is not recognized any more, and its first half is shown."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "inspector"
FOLDERS = ("presentation", "views", "management", "templatetags")
TEXTS = frozenset(
    [
        "text",
        "words",
        "raw",
        "title",
        "native_id",
        "tool_name",
        "call_id",
        "name",
        "message",
        "model",
        "role",
        "signature",
        "arguments",
        "line",
        "value",
        "quote",
        "called",
        "shown",
        "prose",
        "error",
    ]
)
"""What a text of a store is called."""
RULES = ("masking.py", "masked_html.py", "secret_structures.py", "secret_values.py", "visible.py")
"""These mask, or are how it is cut."""
OTHERS = {
    # Whether it is recognized, which nobody sees.
    *(
        "explain/answer.py: text[:READ]",
        "explain/answer.py: text[-READ:]",
        "explain/meanings.py: text[:READ]",
        "explain/meanings.py: text[-READ:]",
    ),
    *("conversation/recorded_errors.py: text[:READ]",),
    # Bytes, of which `beginning` cuts the text.
    *(
        "conversation/row_words.py: chunk.raw[:_RAW_READ]",
        "tree/entry_words.py: chunk.raw[:4 * _WORDS]",
        "tree/branches.py: chunk.raw[:_HEAD]",
    ),
    *("views/chunks.py: stored_chunk.raw[:TEXT_SHOWN + LONGEST_CUT]", "templatetags/show.py: value[:6000]"),
    # Masked already, or the words of our own rules.
    *("tree/entry_words.py: line[:_WORDS]", "presentation/markdown.py: line[:LINE_LIMIT]", "conversation/verdict.py: message[:1]"),
    # Lists, and an answer that ends before a secret that goes on.
    *("commands/explain.py: called[:LISTED]", "views/paging.py: shown[:per_page]", "management/answering.py: text[:end]"),
    # Parsed, and never shown.
    *(f"diagnose/parts.py: text[:{end}]" for end in ("one.end", "opened[-1].end", "level.end", "one.text.start()", "inner[0].end")),
    "diagnose/pasted.py: text[:commas[0]]",
    # What the person who asks has sent.
    *("views/check.py: text[:CARRIED]", "views/prompts.py: name[:80]", "views/explain.py: name[:80]"),
}


def _cuts(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            lower, upper, cut = node.slice.lower, node.slice.upper, node.value
            name = cut.attr if isinstance(cut, ast.Attribute) else cut.id if isinstance(cut, ast.Name) else ""
            is_beginning = lower is None and upper is not None and not isinstance(upper, ast.UnaryOp)
            is_ending = upper is None and isinstance(lower, ast.UnaryOp)
            if name in TEXTS and (is_beginning or is_ending):
                yield ast.unparse(node)


@pytest.mark.parametrize(
    ("source", "cuts"),
    [
        ("row(chunk.text[:200], text[-EDGE:])", ["chunk.text[:200]", "text[-EDGE:]"]),
        ("beginning(chunk.text, 200)", []),
        ("rows[:20], text[3:], name[:-1], text[start:end]", []),
    ],
)
def test_a_cut_is_recognized(source: str, cuts: list[str]) -> None:
    assert sorted(_cuts(source)) == cuts


def test_nothing_cuts_a_text_of_a_store_before_its_secrets_are_masked() -> None:
    places = {
        f"{path.parent.name}/{path.name}: {cut}"
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path.name not in RULES
        for cut in _cuts(path.read_text())
    }
    assert places - OTHERS == set()
    assert places >= OTHERS, "an exception that nothing needs any more"
