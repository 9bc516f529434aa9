"""STORE404: a child that rollouts' doctor made, without any of the tool results of its parent."""

from collections.abc import Iterator

from inspector.conversation.model import Kind
from inspector.rules.base import Case, Match, Origin, Rule, Severity
from inspector.text import jsontext


def is_modified(case: Case) -> bool:
    """Whether `--fix` made the session, no tool result is in it, and its parent has some for its calls."""
    if case.archive is None or jsontext.object_of(case.conversation.fact("tags") or "").get("doctor") != "fixed":
        return False
    called = {chunk.call_id for chunk in case.conversation.chunks if chunk.kind is Kind.TOOL_CALL}
    has_own = any(chunk.kind is Kind.TOOL_RESULT for chunk in case.conversation.chunks)
    return not has_own and any(chunk.kind is Kind.TOOL_RESULT and chunk.call_id in called for chunk in case.archive.chunks)


def check(case: Case) -> Iterator[Match]:
    if is_modified(case) and case.archive is not None:
        called = {chunk.call_id: chunk for chunk in case.conversation.chunks if chunk.kind is Kind.TOOL_CALL}
        lost = [chunk for chunk in case.archive.chunks if chunk.kind is Kind.TOOL_RESULT and chunk.call_id in called]
        yield Match(
            [called[call_id] for call_id in dict.fromkeys(chunk.call_id for chunk in lost)],
            f"rollouts' doctor took every tool result out: the parent {case.archive.native_id[:60]} holds {len(lost)} for calls of this session, and it holds none.",
            evidence=tuple((f"parent seq {chunk.seq}", chunk.text[:160]) for chunk in lost[:8]),
        )


RULE = Rule(
    code="STORE404",
    state="RO19",
    name="modified-child",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="a session that the doctor fixed has none of the tool results of its parent",
    unnoticed="results lost",
    why=(
        "Since 974ed60 the doctor looks for calls among objects of the wrong type, finds none, takes every result for an orphan and leaves all of them out. "
        "The child loads, and each call gets a synthetic result: the model reads that nothing came back."
    ),
    example=(
        '@format rollouts\n@tags "{\\"doctor\\":\\"fixed\\"}"\n1 user 0.0 text go\n2 assistant 1.0 tool-call a ls {}\n3 user 2.0 text and?\n'
        "archive 1 user 0.0 text go\narchive 2 assistant 1.0 tool-call a ls {}\narchive 3 tool 2.0 tool-result a f\narchive 4 user 3.0 text and?"
    ),
    check=check,
    references=("rollouts cli.py --fix 0779491, run",),
    repaired_by=("restore-from-parent",),
    fixed_in_code="Look for calls among the blocks as they are loaded, and never leave out a result whose call is there.",
)
