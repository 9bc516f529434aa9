"""What OpenClaw 2026.9.6 sends of a history: all passes over it in the program's order, of which the pairing of calls and results is one.

Not among them: images (scaled, or replaced where their base64 is broken), answers that only say that nothing is to be said, ids of over 64
characters and reasoning of before a change of the model for OpenAI Responses, hooks of provider plugins, and the cut to a number of turns.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from inspector.conversation.model import Dropped, Message
from inspector.programs.pi_openclaw.readers import openclaw_ids, openclaw_thinking, openclaw_turns
from inspector.programs.pi_openclaw.readers.openclaw_inputs import sound_calls
from inspector.programs.pi_openclaw.readers.openclaw_passes import Passed
from inspector.programs.pi_openclaw.readers.openclaw_policy import Policy
from inspector.programs.pi_openclaw.readers.pairing_2026_9 import pairing_2026_9
from inspector.programs.pi_openclaw.readers.result_pairing import ABORTED, MISSING, Paired

Pass = Callable[[Sequence[Message]], Passed | Paired]


def sent(messages: Sequence[Message], policy: Policy) -> Paired:
    """The messages of the request, what was left out of it, and the counts of the passes after the report of the pairing."""
    current: list[Message] = list(messages)
    dropped: list[Dropped] = []
    report: dict[str, Any] = {}
    for step in _passes(policy):
        passed = step(current)
        current = passed.messages
        dropped += passed.dropped
        for name, number in (passed.counts if isinstance(passed, Passed) else passed.report).items():
            report[name] = report.get(name, 0) + number if isinstance(passed, Passed) else number
    return Paired(current, dropped, MappingProxyType(report))


def _passes(policy: Policy) -> list[Pass]:
    """In the order of the program. Failed turns stay until the pairing: their thinking is looked at like that of others."""
    pairing = partial(pairing_2026_9, missing=ABORTED if policy.responses else MISSING)
    steps: list[tuple[bool, Pass]] = [
        (True, openclaw_turns.with_content),
        (policy.signatures, openclaw_thinking.without_stale_signatures),
        (policy.signatures, lambda messages: openclaw_thinking.without_unsigned(messages, openclaw_thinking.keeps_latest(messages))),
        (policy.drops_reasoning, openclaw_thinking.without_reasoning),
        (policy.drops_thinking, openclaw_thinking.without_old_thinking),
        (True, partial(sound_calls, own_thinking=policy.own_thinking)),
        (True, pairing),
        (policy.responses, openclaw_ids.without_lone_items),
        (
            bool(policy.ids),
            partial(openclaw_ids.renamed, mode=policy.ids, native_ids=policy.native_ids, own_thinking=policy.own_thinking),
        ),
        (policy.bootstrap, openclaw_turns.begun_by_user),
        (policy.gemini, openclaw_turns.gemini_turns),
        (policy.anthropic, partial(openclaw_turns.anthropic_turns, merge_users=policy.merges_users)),
    ]
    return [step for runs, step in steps if runs]


def warnings_of_end(messages: Sequence[Message], policy: Policy) -> list[str]:
    """What depends on what comes next."""
    trailing = openclaw_turns.trailing_answers(messages) if policy.anthropic or policy.gemini else ()
    if not trailing:
        return []
    which = "the answer that ends" if len(trailing) == 1 else f"the {len(trailing)} answers that end"
    return [f"{which} this history would be left out of a request without a new user message, which may not end so"]


def policy_report(policy: Policy, provider: str, api: str, model: str) -> Mapping[str, str]:
    """For the report: which policy it was, and of which model."""
    return {"policy": policy.name, "model": " ".join(f"{provider or '?'} {api or '?'} {model or '?'}".split())[:120]}
