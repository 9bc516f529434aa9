"""STORE401: what makes rollouts' loader give up on a whole session."""

from collections.abc import Iterator

from inspector.conversation.model import Chunk
from inspector.programs.rollouts.crash import PREFIX
from inspector.programs.rollouts.loading import line_problem
from inspector.rules.base import Case, Match, Origin, Rule, Severity

UNPARSED = ("JSONDecodeError", "UnicodeDecodeError", "WrongTypeError: the line holds no object")
OLD_ENDPOINT = "the endpoint has the unknown key"


def is_session(case: Case) -> bool:
    """Whether the loader of eras B and C is asked for it at all: neither a crash file nor a file of era A."""
    return not case.conversation.native_id.startswith(PREFIX) and case.conversation.fact("era") != "A"


def refused_lines(case: Case) -> Iterator[tuple[list[Chunk], str]]:
    """The chunks of each line at which the loader stops, and what it says there."""
    line: list[Chunk] = []
    for chunk in case.conversation.chunks:
        if line and chunk.raw is not line[0].raw:
            yield from _problem(line)
            line = []
        line.append(chunk)
    yield from _problem(line)


def _problem(line: list[Chunk]) -> Iterator[tuple[list[Chunk], str]]:
    # Chunks that a strategy made have no bytes yet.
    if line and line[0].raw and (problem := line_problem(line[0].raw)):
        yield line, problem


def is_torn(chunks: list[Chunk], problem: str) -> bool:
    """Whether the line as a whole cannot be read; of others every message is at hand."""
    return problem.startswith(UNPARSED) and chunks[0].msg_idx is None


def check(case: Case) -> Iterator[Match]:
    if case.conversation.native_id.startswith(PREFIX):
        return
    if case.conversation.fact("era") == "A":
        yield Match(
            (), "This is a session of era A, one file: rollouts since 10a625c neither lists nor loads it.", severity=Severity.WARNING
        )
        return
    problem = case.conversation.fact("sessionProblem") or ""
    if problem and not (case.conversation.fact("era") == "B" and OLD_ENDPOINT in problem):
        yield Match((), f"The session does not load, because of its session.json: {problem}.")
    for chunks, reason in refused_lines(case):
        if not is_torn(chunks, reason):
            seqs = f"seq {chunks[0].seq}" if len(chunks) == 1 else f"seq {chunks[0].seq}-{chunks[-1].seq}"
            yield Match(
                chunks, f"The whole session does not load, because of the line at {seqs}: {reason}.", evidence=(("loader", reason[:200]),)
            )


RULE = Rule(
    code="STORE401",
    state="RO3",
    name="unloadable-session",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="a record makes the loader give up on the whole session",
    why=(
        "rollouts checks the types of every record on loading, and one that it does not know is an exception for the session: it is listed, "
        "and cannot be resumed or shown. Nothing of the rest is damaged."
    ),
    example='@format rollouts\nline {"role":"user","content":"go"}\nline {"role":"assistant","content":[{"type":"redacted_thinking","data":"x"}]}',
    check=check,
    references=("rollouts store.py and dtypes.py 0779491, run with dacite: the verdict table of its loader",),
    repaired_by=("make-blocks-loadable", "migrate-endpoint"),
    fixed_in_code="Load record by record, and show one that does not fit as what it is.",
)
