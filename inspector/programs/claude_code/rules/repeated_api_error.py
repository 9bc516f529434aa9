"""MSG601: the same error of the provider as the answer, several times in a row."""

from collections.abc import Iterator, Sequence

from inspector.conversation.queries import span_text
from inspector.conversation.tree import Entry
from inspector.programs.claude_code.chain import chain_of, chunks_of
from inspector.programs.claude_code.versions import ERRORS, known_defects
from inspector.rules.base import Case, Match, Origin, Rule, Severity

_LEAST = 3
_COMPARED = 60
"""Characters of an error by which it is the same: later ones are ids of requests and places in them."""


def check(case: Case) -> Iterator[Match]:
    """Only at the end of the path is the session in the loop now; a run that ended is only noted."""
    chain = chain_of(case)
    messages = [entry for entry in chain.path if entry.chunks[0].role == "assistant"]
    run: list[Entry] = []
    for entry in messages:
        if run and not (_is_error(entry) and _text(entry)[:_COMPARED] == _text(run[0])[:_COMPARED]):
            yield from _match(run, is_last=False)
            run = []
        if _is_error(entry):
            run.append(entry)
    yield from _match(run, is_last=True)


def _is_error(entry: Entry) -> bool:
    return entry.about.get("isApiErrorMessage") is True


def _text(entry: Entry) -> str:
    return entry.chunks[0].text


def _match(run: Sequence[Entry], is_last: bool) -> Iterator[Match]:
    if len(run) < _LEAST:
        return
    seqs = span_text([entry.chunks[0].seq for entry in run])
    start = f"{len(run):,} answers in a row (seq {seqs}) are the same error, {_text(run[0])[:160]!r}"
    if not is_last:
        yield Match(chunks_of(run), f"{start}; the session got over it.", severity=Severity.NOTE)
        return
    yield Match(
        chunks_of(run),
        f"{start}: every turn sends the same history, and is refused again.",
        evidence=(("error", _text(run[-1])[:400]), *known_defects(run[-1].about.get("version"), ERRORS)),
    )


RULE = Rule(
    code="MSG601",
    state="CC17",
    name="repeated-api-error",
    severity=Severity.WARNING,
    silent=False,
    origin=Origin.REQUEST,
    summary="the last answers are the same error of the provider",
    why="A history that the provider refuses is sent again with every turn. An autonomous loop does so without end, and uses up its quota.",
    example=(
        '@format claude-code\n1 user 1.0 text go\n2 assistant 2.0 text "API Error: 400" about={"isApiErrorMessage":true}\n3 user 3.0 text again\n'
        '4 assistant 4.0 text "API Error: 400" about={"isApiErrorMessage":true}\n5 user 5.0 text again\n6 assistant 6.0 text "API Error: 400" about={"isApiErrorMessage":true}'
    ),
    check=check,
    references=("anthropics/claude-code #63147, #64213", "formats/claude_code_codex.md 9 (api_error.repeated)"),
    no_repair_reason="The error is what the history leads to: `explain` with its text names the line that the provider refuses, and what repairs it.",
    fixed_in_code="Stop after an error 400: the same request gets the same answer.",
)
