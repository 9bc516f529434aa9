"""TRACE401: a message of the newest request that no line of the session holds as it was sent."""

from collections.abc import Iterator

from inspector.programs.claude_code.requests import recorded
from inspector.rules.base import Case, Match, Origin, Rule, Severity

_SHOWN = 5


def check(case: Case) -> Iterator[Match]:
    """Of the newest request only: what changed before that was sent as it is now."""
    known = recorded(case.tree or case.conversation)
    request = known.requests[-1] if known.requests else None
    places = known.missing(request) if request else ()
    if request is None or not places:
        return
    count, named = len(places), ", ".join(f"messages.{place}" for place in places[:_SHOWN]) + (", …" if len(places) > _SHOWN else "")
    yield Match(
        (request.line,),
        f"The newest request held {len(request.hashes):,} messages, of which {count:,} {'is' if count == 1 else 'are'} in no line as sent "
        f"({named}): lines were changed or lost after it.",
        evidence=(
            ("request", request.id[:60]),
            *((f"messages.{place}", f"SHA-256 {request.hashes[place][:60]}") for place in places[:_SHOWN]),
        ),
    )


RULE = Rule(
    code="TRACE401",
    state="CC-R1",
    name="changed-since-sent",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="a message of the newest request is in no line as it was sent",
    why="Since 2.1.330 the program records each request by the hashes of its messages. Where no line gives such a hash, that line was edited, torn or removed after the request, and the model will be told another history than it answered.",
    example='@format claude-code\n1 user 1.0 text go\n2 - 2.- control about={"type":"api-request","id":"q1","keep":0,"tail":["00"]}\n3 assistant 3.0 text done parent=e1',
    check=check,
    references=("Claude Code 2.1.330, run: its own records prove each of its requests",),
    no_repair_reason="The record keeps a hash of what was sent and not its words; look for an older copy of the file.",
    fixed_in_code="Append to a session; do not rewrite lines that were sent.",
)
