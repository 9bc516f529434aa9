"""MSG602: pieces of one answer with words of the user, or another answer, between them."""

from collections.abc import Iterator, Sequence

from inspector.conversation.queries import span_text
from inspector.conversation.tree import Entry
from inspector.programs.claude_code.chain import chain_of, chunks_of, has_words, name
from inspector.programs.claude_code.leaf import answer_of
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded


def check(case: Case) -> Iterator[Match]:
    """Results of its calls, and lines of the program, may be between the pieces; a piece that says what an earlier one says was written again."""
    # As they were written: a resume puts the pieces next to each other.
    path = sorted(chain_of(case).path, key=lambda entry: entry.chunks[0].seq)
    yield from bounded(_match(pieces, between) for pieces, between in _scattered(path))


def _scattered(path: Sequence[Entry]) -> Iterator[tuple[list[Entry], Entry]]:
    pieces: dict[str, list[Entry]] = {}
    between: dict[str, Entry] = {}
    before: Entry | None = None
    last = ""
    for entry in path:
        answer = answer_of(entry)
        if not answer:
            if has_words(entry):
                before, last = entry, ""
            continue
        if answer in pieces and before is not None and last != answer and not _is_repeated(entry, pieces[answer]):
            between.setdefault(answer, before)
        pieces.setdefault(answer, []).append(entry)
        before, last = entry, answer
    for answer, line in between.items():
        yield pieces[answer], line


def _is_repeated(entry: Entry, pieces: list[Entry]) -> bool:
    earlier_blocks = {(chunk.kind, chunk.text, chunk.call_id) for piece in pieces for chunk in piece.chunks}
    return all((chunk.kind, chunk.text, chunk.call_id) in earlier_blocks for chunk in entry.chunks)


def _match(pieces: list[Entry], between: Entry) -> Match:
    is_user = has_words(between)
    what = "words of the user" if is_user else "another answer"
    readings = (
        ("two answers have one id", "a program that puts the pieces of an answer together by its id makes one message of them"),
        (
            "one answer was torn apart",
            "a line of it is stored as the user's" if is_user else "lines of two answers were written between each other",
        ),
    )
    return Match(
        chunks_of(pieces),
        f"The pieces of the answer {answer_of(pieces[0])[:60]!r} (seq {span_text([entry.chunks[0].seq for entry in pieces])}) have {what} between them, {name(between)}: "
        "either two answers have one id, or one was torn apart.",
        evidence=readings,
    )


RULE = Rule(
    code="MSG602",
    state="CC20",
    name="scattered-answer",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="pieces of one answer have words of the user, or another answer, between them",
    why=(
        "All lines of one `message.id` are one message of the provider: only results of its calls are between them. Where another answer is, versions since 2.1.75 put the later piece "
        "before it, and the result of a call in it is lost; where words of the user are, a line of the answer has become another message."
    ),
    example=(
        '@format claude-code\n1 user 1.0 text go\n2 assistant 2.0 text one about={"message":{"id":"m1"}}\n3 user 3.0 text more\n4 assistant 4.0 text two about={"message":{"id":"m1"}}'
    ),
    check=check,
    references=("formats/claude_code_codex.md 1.5, 9 (msg.interleaved_id)", "no such answer in 48 recorded sessions"),
    no_repair_reason="Which of the two it is, the file does not say: where one line has the wrong id or role, correct it by hand, on a copy.",
    fixed_in_code="Take the id of an answer from the provider's message and from nothing else.",
)
