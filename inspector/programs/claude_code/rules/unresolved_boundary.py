"""TREE206: a compaction whose summary or kept messages are not there."""

from collections.abc import Iterator
from itertools import takewhile

from inspector.programs.claude_code.chain import chain_of, has_words, name
from inspector.programs.claude_code.kept import is_boundary, kept_ids
from inspector.programs.claude_code.lines import ASSISTANT
from inspector.programs.claude_code.versions import COMPACTION, known_defects
from inspector.rules.base import Case, Match, Origin, Rule, Severity
from inspector.text.counted import counted


def check(case: Case) -> Iterator[Match]:
    """Of the compaction with which the path begins: no resume looks at another one. Its link to the history before it matters to no request."""
    chain = chain_of(case)
    boundary = next((entry for entry in chain.path if is_boundary(entry.about)), None)
    if boundary is None:
        return
    evidence = known_defects(boundary.about.get("version"), COMPACTION)
    missing = [id_ for id_ in kept_ids(boundary) if id_ not in chain.by_id]
    if missing:
        text = f"The compaction {name(boundary)} keeps messages by naming them, and {counted(len(missing), 'name')} of them {'is' if len(missing) == 1 else 'are'} of no line: what it was to keep is not sent."
        yield Match(boundary.chunks, text, evidence=(("named", ", ".join(missing[:4])[:200]), *evidence))
    messages = [entry for entry in chain.path if entry.chunks[0].role]
    before_answer = list(takewhile(lambda entry: entry.chunks[0].role != ASSISTANT, messages))
    if any(has_words(entry) for entry in before_answer) or kept_ids(boundary):
        return
    begins = "the path begins with an answer or a result" if messages else "the path ends with it, a resume sends no message"
    text = f"The compaction {name(boundary)} has no summary after it: {begins}, and the model knows nothing of what was before."
    yield Match((*boundary.chunks, *(messages[0].chunks if messages else ())), text, evidence=evidence)


RULE = Rule(
    code="TREE206",
    state="CC15",
    name="unresolved-boundary",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="a compaction has no summary after it, or keeps messages that are in no line",
    why=(
        "The path of a resume begins at the last boundary of a compaction. What was before is known only from the summary after it and from the messages that it names; "
        "where these are not in the file, the model has forgotten everything."
    ),
    example=(
        '@format claude-code\n1 user 1.0 text go\n2 - 2.- control entry=b parent=- about={"type":"system","subtype":"compact_boundary"}\n'
        "3 assistant 3.0 text on parent=b"
    ),
    check=check,
    references=("formats/claude_code_codex.md 1.6, 1.7",),
    no_repair_reason="The summary is nowhere in the file: choose the last message before the compaction as the leaf of a repair, which writes the old history as a session of its own.",
    fixed_in_code="Write the boundary and the summary at once.",
)
