"""STORE605: a message that is stored as plain words, where gbrain parses JSON."""

from collections.abc import Iterator

from inspector.conversation.queries import span_text
from inspector.programs.gbrain.readers import unparsed
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    chunks = list(unparsed(case.conversation))
    if chunks:
        indexes = span_text([chunk.msg_idx for chunk in chunks if chunk.msg_idx is not None])
        yield Match(
            chunks,
            f"{'A message is' if len(chunks) == 1 else f'{len(chunks)} messages are'} stored as plain words in a JSON string (index {indexes}): "
            "gbrain parses such a string as JSON when it loads the job, and every retry ends there.",
            evidence=(("words", chunks[0].text[:160]),),
        )


RULE = Rule(
    code="STORE605",
    state="GB12",
    name="bare-text",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="the content of a message is a JSON string of plain words, not an array of blocks",
    why="gbrain writes arrays only. A string that another program or a person put there is parsed once more as JSON, which throws on words: the job dies before any request is made.",
    example='@format gbrain\n1 user 0.0 text payload={"type":"text","text":"go on","stored":{"encoding":"bare"}}',
    check=check,
    references=("gbrain loadPriorMessages",),
    repaired_by=("wrap-bare-text",),
    fixed_in_code="Take a string that does not parse for the words that it is.",
)
