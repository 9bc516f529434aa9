"""THINK303: reasoning without the item that it led to."""

from collections.abc import Iterator

from inspector.programs.codex.lone_reasoning import severity, without_follower
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded

_WHO = {"user": "the user's next message", "tool": "a result", "system": "a message of the program", "": "nothing"}


def check(case: Case) -> Iterator[Match]:
    yield from bounded(
        Match(
            (chunk,),
            f"The reasoning at seq {chunk.seq} led to nothing: {_WHO.get(following, 'another message')} follows it, and OpenAI wants the item that it led to.",
            severity=severity(case),
        )
        for chunk, following in without_follower(case)
    )


RULE = Rule(
    code="THINK303",
    state="CX8",
    name="reasoning-without-follower",
    severity=Severity.WARNING,
    silent=False,
    origin=Origin.STORE,
    summary="reasoning with an id is followed by no item of the model",
    why=(
        "A turn was interrupted between its reasoning and what that led to. Codex since 2026 sends the ids of items, and OpenAI refuses such a request: Item 'rs_…' of "
        "type 'reasoning' was provided without its required following item."
    ),
    example=(
        '@format codex\nline {"timestamp":"2026-08-01T10:00:00.000Z","type":"session_meta","payload":{"id":"0199aaaa-0000-7000-8000-000000000001",'
        '"timestamp":"2026-08-01T10:00:00.000Z","cwd":"/r","originator":"o","cli_version":"0.146.0"}}\n'
        'line {"timestamp":"2026-08-01T10:00:01.000Z","type":"response_item","payload":{"type":"reasoning","id":"rs_1","summary":[]}}'
    ),
    check=check,
    references=("OR-3 of the rules on OpenAI Responses", "codex-cli 0.169.0, run: it sends the id"),
    repaired_by=("drop-reasoning-without-follower",),
    fixed_in_code="Store reasoning together with the item that it led to, or without its id.",
)
