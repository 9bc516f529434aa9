"""Rewrites the parts of a session.json that today's rollouts does not load: the endpoint of era B, unknown keys in it, an unknown status."""

from collections.abc import Iterator, Mapping
from typing import Any

from inspector.conversation.edits import Edit, Safety, Set
from inspector.programs.rollouts.format import NAME as ROLLOUTS
from inspector.programs.rollouts.loading import ENDPOINT, STATUSES, session_problem
from inspector.programs.rollouts.session import SESSION_FACT
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.text import jsontext

# In the order in which the program writes them, with what it writes where nothing was chosen.
_DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(ENDPOINT[:-2]),
    "provider": "anthropic",
    "model": "",
    "api_base": "",
    "max_tokens": 8192,
    "temperature": 1.0,
    "max_retries": 10,
    "timeout": 120.0,
}
_OF_ERA_B = ("thinking", "thinking_budget", "extra")
_BUDGET = 1024


def propose(case: Case) -> Iterator[Edit]:
    conversation = case.conversation
    stored, problem = conversation.fact(SESSION_FACT), conversation.fact("sessionProblem")
    if conversation.format != ROLLOUTS or not stored or not problem:
        return
    session = jsontext.object_of(stored)
    repaired = migrated(session)
    if not session or repaired == session:
        return
    text = jsontext.compact(repaired)
    yield Set("conversation", SESSION_FACT, stored, text)
    yield Set("conversation", "sessionProblem", problem, session_problem(jsontext.encode(text)) or None)
    if repaired.get("status") != session.get("status"):
        yield Set("conversation", "status", conversation.fact("status"), repaired["status"])


def migrated(session: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(session)
    endpoint = result.get("endpoint")
    if isinstance(endpoint, dict) and any(name not in ENDPOINT for name in endpoint):
        result["endpoint"] = _endpoint(endpoint)
    if result.get("status") not in STATUSES:
        result["status"] = "pending"
    return result


def _endpoint(old: Mapping[str, Any]) -> dict[str, Any]:
    members = {name: value for name, value in old.items() if name in _DEFAULTS}
    if any(name in old for name in _OF_ERA_B[1:]):
        budget = old.get("thinking_budget")
        enabled = {"type": "enabled", "budget_tokens": budget if isinstance(budget, int) and budget > 0 else _BUDGET}
        members["thinking"] = (
            members.get("thinking") if isinstance(members.get("thinking"), dict) else enabled if old.get("thinking") is True else None
        )
        members["extra_params"] = old.get("extra") if isinstance(old.get("extra"), dict) and old["extra"] else members.get("extra_params")
    return {**_DEFAULTS, **members}


STRATEGY = Strategy(
    name="migrate-endpoint",
    safety=frozenset({Safety.LOSSY}),
    summary="writes the endpoint of an older session as today's rollouts takes it, and gives an unknown status the one of a session that can go on",
    cost="Keys of the endpoint that the program does not know, and a status that it does not know, leave session.json. No message changes.",
    user_visible_effect="The session can be resumed again, with the model and the thinking budget that it had.",
    pros="The messages are intact; nothing but a few keys next to them keeps the session from loading.",
    cons="What an unknown key meant is not known here: a newer version of the program may read it as it is.",
    write_kind="content",
    propose=propose,
    order=100,
)
