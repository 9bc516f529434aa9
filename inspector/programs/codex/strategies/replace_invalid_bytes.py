"""Puts U+FFFD in place of bytes that are no UTF-8, so that Codex reads the file again."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Safety
from inspector.programs.codex.line_bytes import lines, with_bytes
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    for records in lines(case.conversation.chunks):
        raw = records[0][0].raw
        clean = raw.decode("utf-8", "replace").encode()
        # Whoever split the line gave its records other bytes.
        if clean != raw and all(chunk.raw == raw for record in records for chunk in record):
            for record in records:
                yield from with_bytes(record, clean)


STRATEGY = Strategy(
    name="replace-invalid-bytes",
    safety=frozenset({Safety.LOSSY}),
    summary="puts U+FFFD in place of bytes that are not UTF-8",
    cost="Which characters the bytes were part of is not known any more.",
    user_visible_effect="The thread opens again, with a replacement character where the bytes were.",
    pros="Codex reads no line of a file with such a byte; every other byte stays, and a line that was cut off there is skipped as others are.",
    cons="A tool may have printed bytes of another encoding, which could be decoded by hand.",
    write_kind="content",
    propose=propose,
    order=15,
)
