"""STORE603: blocks that are stored as the text of an array, not as an array."""

from collections.abc import Iterator

from inspector.conversation.model import Chunk
from inspector.conversation.queries import span_text
from inspector.programs.gbrain.blocks import DOUBLE, encoding_of
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    rows: dict[int | None, Chunk] = {}
    for chunk in case.conversation.chunks:
        if encoding_of(chunk) == DOUBLE:
            rows.setdefault(chunk.msg_idx, chunk)
    if rows:
        indexes = [index for index in rows if index is not None]
        yield Match(
            list(rows.values()),
            f"The blocks of {'a message' if len(rows) == 1 else f'{len(rows)} messages'} (index {span_text(indexes)}) are a JSON string that holds an array: gbrain parses it once more "
            "and reads on, but SQL and other programs see a text.",
        )


RULE = Rule(
    code="STORE603",
    state="GB8",
    name="double-encoded-blocks",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="the blocks of a message are stored as a text that holds an array",
    why=(
        "Versions before 0.42.53 bound a JSON text to a jsonb column on PostgreSQL, which encoded it twice. Whatever looks into the column with SQL finds no block, "
        "and a reader that does not parse a second time takes the whole array for words."
    ),
    example='@format gbrain\n1 user 0.0 text payload={"type":"text","text":"go","stored":{"encoding":"double"}}',
    check=check,
    references=("gbrain 0.42.53; its own repair takes only texts that start with [ or { and parse",),
    repaired_by=("decode-double-encoded",),
    fixed_in_code="Bind JSON as text and cast it once: `$1::text::jsonb`.",
)
