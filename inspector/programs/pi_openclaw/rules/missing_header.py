"""STORE507: a session file that does not begin with a session header."""

from collections.abc import Iterator

from inspector.programs.pi_openclaw.readers.rows import OPENCLAW_SQLITE
from inspector.programs.pi_openclaw.rules.session_effects import effects
from inspector.programs.pi_openclaw.rules.session_tree import whole
from inspector.rules.base import Case, Match, Origin, Rule, Severity

_NOTHING = "Nothing is here that could be repaired: look for the archive of this session, or for a copy that holds its entries."
_NO_FILE = "The header is a row of a database, and the program keeps what it says in other tables too: leave the store as it is, and look for an older copy of it."


def check(case: Case) -> Iterator[Match]:
    problem = whole(case).fact("headerProblem")
    if not problem:
        return
    if not whole(case).chunks:
        yield Match((), problem if problem.endswith(".") else f"{problem}.", severity=Severity.WARNING, no_repair_reason=_NOTHING)
    else:
        is_file = case.conversation.format != OPENCLAW_SQLITE
        yield Match(
            whole(case).chunks[:1],
            problem if problem.endswith(".") else f"{problem}.",
            evidence=effects("header") if is_file and not _is_marked(case) else (),
            no_repair_reason="" if is_file else _NO_FILE,
        )


def _is_marked(case: Case) -> bool:
    """A byte order mark before a good header, which no program overwrites."""
    return whole(case).fact("byteOrderMark") is not None and whole(case).fact("id") is not None


RULE = Rule(
    code="STORE507",
    state="OP17",
    name="missing-header",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="the session file does not begin with a session header",
    why="Older versions of pi take such a file for a new session and overwrite it when it is opened: all that was in it is gone. Later ones refuse it.",
    example='@format pi\n@headerProblem "The first record of the file is no session header."\n1 user 1.0 text go',
    check=check,
    references=("measured: pi 0.50 to 0.80.2 leave 133 of 414 bytes; 0.80.3 and later refuse",),
    no_repair_reason="Copy the file before any program opens it, and put a header line at the start of the copy by hand.",
    fixed_in_code="Never write to a file that was not understood.",
)
