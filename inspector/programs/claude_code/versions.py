"""Defects of Claude Code that its changelog names as fixed, by the family of damage that they leave in a session.

From the public changelog up to 2.1.240 (`formats/claude_code_codex.md` 1.9). A version says what may have written a damaged line; a line is never
damaged by its version alone.
"""

from typing import NamedTuple

CHAIN, ATTACHMENTS, BLOCKS, COMPACTION, ERRORS = "chain", "attachments", "blocks", "compaction", "errors"


class Defect(NamedTuple):
    """`fixed_in` is the first version without it."""

    fixed_in: tuple[int, ...]
    families: tuple[str, ...]
    text: str


DEFECTS = (
    Defect((2, 1, 30), (CHAIN,), "a cycle of parents makes it hang"),
    Defect((2, 1, 83), (CHAIN,), "progress of hooks and attachments fork the chain, so that a resume of the SDK loses messages"),
    Defect((2, 1, 101), (CHAIN, COMPACTION), "resume starts from a dead end, and may lead the chain into the conversation of an agent"),
    Defect((2, 1, 108), (CHAIN,), "a message that is its own parent cuts the session off; failed writes are dropped without an error"),
    Defect((2, 1, 122), (CHAIN,), "/branch copies messages that were rewound"),
    Defect((2, 1, 105), (BLOCKS,), "a malformed text block makes it crash"),
    Defect((2, 1, 223), (ATTACHMENTS,), "a malformed attachment, delta or diagnostics line fails the resume, or every turn after it"),
    Defect((2, 1, 234), (BLOCKS,), "a thinking block without thinking, or a text block without text, makes it crash"),
    Defect((2, 1, 152), (ERRORS,), "signatures that became stale with another model or login are sent again, and refused on every turn"),
)


def known_defects(version: object, family: str) -> tuple[tuple[str, str], ...]:
    """Rows of evidence for a finding of `family` in lines that `version` wrote; none where it is no version or later than all fixes."""
    number = number_of(version)
    return tuple(
        (f"written by {version}", f"fixed in {'.'.join(map(str, defect.fixed_in))}: {defect.text}")
        for defect in DEFECTS
        if family in defect.families and number and number < defect.fixed_in
    )


def number_of(version: object) -> tuple[int, ...]:
    """The parts of a version; () for what is none."""
    parts = version.split(".") if isinstance(version, str) else []
    return tuple(int(part) for part in parts) if len(parts) == 3 and all(part.isdecimal() and len(part) < 6 for part in parts) else ()
