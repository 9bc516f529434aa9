"""STORE407: a session.json of the store's second era, which today's program does not load."""

from collections.abc import Iterator

from inspector.programs.rollouts.rules.unloadable_session import OLD_ENDPOINT, is_session
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    problem = case.conversation.fact("sessionProblem") or ""
    if is_session(case) and case.conversation.fact("era") == "B" and OLD_ENDPOINT in problem:
        yield Match(
            (),
            f"The session is of the store's second era (before 974ed60), and its endpoint does not load any more: {problem}. Its messages are intact.",
        )


RULE = Rule(
    code="STORE407",
    state="RO4",
    name="old-endpoint",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="the endpoint is written as it was before 2025-12-22, and the session does not load",
    why="The program brought no migration: an endpoint with thinking_budget or extra raises an exception, and sessions of the weeks before cannot be resumed.",
    example='@format rollouts\nsession {"endpoint":{"model":"m","provider":"anthropic","temperature":1.0,"max_tokens":8192,"thinking":true,"thinking_budget":4096,"extra":{}}}',
    check=check,
    references=("rollouts 33b4c42 and 974ed60; loading run: TypeError for thinking_budget",),
    repaired_by=("migrate-endpoint",),
    fixed_in_code="Read the old endpoint into the new one where its keys show it.",
)
