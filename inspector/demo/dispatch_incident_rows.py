"""The rows of conversation 1a997b08 (2026-06-28), in which a tool call arrived as thinking and the turn ended.

Roles, indexes, kinds and the words that the report prints are the report's; what follows where the report cuts, ids,
commands, outputs and times are filled in.
"""

from dataclasses import dataclass

from inspector.demo.appending import Append, Row, call, conversation_rows, result, text, thinking
from inspector.demo.dispatch_tools import SYSTEM_PROMPT
from inspector.text import jsontext

CONVERSATION = "1a997b08-09c2-412c-b296-48703c8aaf58"
MODEL = "umans-flash"
CWD = "/home/dev/dispatch"


@dataclass(frozen=True, slots=True)
class StepRun:
    """One model request: its rows, and milliseconds from the start of its turn to the request, first token, last token and end."""

    seqs: range
    begin: int
    first_token: int
    last_token: int
    end: int
    finish: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int

    @property
    def usage(self) -> dict[str, int]:
        return {"inputTokens": self.input_tokens, "outputTokens": self.output_tokens, "cacheReadTokens": self.cached_tokens}


@dataclass(frozen=True, slots=True)
class TurnRun:
    """`user_seq` is the row of the user's message: what was loaded before are the rows below it. `start` is epoch milliseconds."""

    turn_id: str
    start: int
    user_seq: int
    steps: tuple[StepRun, ...]

    @property
    def end(self) -> int:
        return self.start + self.steps[-1].end + 6

    @property
    def usage(self) -> dict[str, int]:
        return {name: sum(step.usage[name] for step in self.steps) for name in self.steps[0].usage}


TURNS = (
    TurnRun("turn-1782655327318-k3v9qd", 1782655327318, 1, (StepRun(range(2, 4), 4, 812, 1467, 1471, "stop", 1874, 39, 0),)),
    TurnRun("turn-1782655381204-x0m2ha", 1782655381204, 4, (StepRun(range(5, 7), 5, 698, 1922, 1927, "stop", 1921, 74, 1856),)),
    TurnRun(
        "turn-1782655702655-p7c4wz",
        1782655702655,
        7,
        (
            StepRun(range(8, 14), 6, 903, 3310, 3672, "tool_calls", 1988, 168, 1920),
            StepRun(range(14, 15), 3676, 4419, 5203, 5207, "stop", 2461, 46, 1984),
        ),
    ),
)
_STEP = f"{TURNS[2].turn_id}#0"
_FIND, _GREP = "call_8f2b61d0c94e4a7b", "call_c17e05aa3d6f4c92"

APPENDS: tuple[Append, ...] = (
    (("user", (text("hello"),)),),
    (
        (
            "assistant",
            (thinking("The user simply said hello. I should greet them and ask what they need."), text("Hello! How can I help you today?")),
        ),
    ),
    (("user", (text("Can you read some files in this project"),)),),
    (
        (
            "assistant",
            (
                thinking("The user is asking me to read files but has not said which ones. I should ask what they are interested in."),
                text("I'd be happy to read files in this project. Which part are you interested in: a package, a feature, or a path?"),
            ),
        ),
    ),
    (("user", (text("the caching, there are 3 different percentages displayed"),)),),
    (
        (
            "assistant",
            (
                thinking(
                    "The user wants to look at files related to caching. There are three percentages in the interface; "
                    "I should find where they are computed."
                ),
                text("Let me explore the project structure to find where the cache percentages come from."),
                call(_FIND, "run_shell", {"command": "find . -path ./node_modules -prune -o -type f -iname '*cache*' -print"}, _STEP),
                call(_GREP, "run_shell", {"command": "grep -rniE 'hit ?rate' --include=*.svelte packages"}, _STEP),
            ),
        ),
        (
            "tool",
            (
                result(
                    _FIND,
                    "run_shell",
                    "./packages/cache-warming/src/warm-cache.ts\n./packages/cache-warming/src/warm-cache.test.ts\n"
                    "./packages/frontend/src/lib/CachePanel.svelte\n./packages/frontend/src/lib/cache-rate.ts\n",
                    step_id=_STEP,
                ),
            ),
        ),
        ("tool", (result(_GREP, "run_shell", "", is_error=True, step_id=_STEP),)),
    ),
    (("assistant", (thinking("<function=run_shell>\n<parameter=command>\nls -la\n</parameter>\n</function>"),)),),
)


def incident_rows() -> list[Row]:
    """Every row of the store that belongs to the conversation, the resolved system prompt of the other namespace included."""
    metrics = {f"metrics:{number:010d}": _metrics(turn) for number, turn in enumerate(TURNS, start=1)}
    facts = {"cwd": CWD, "model": f"umans/{MODEL}", **metrics, "metrics-seq": str(len(TURNS))}
    rows = conversation_rows(CONVERSATION, APPENDS, TURNS[0].start, TURNS[-1].end, facts)
    resolved = (("resolved", SYSTEM_PROMPT), ("resolved-cwd", CWD))
    return rows + [("system-prompt", f"{name}:{CONVERSATION}", value) for name, value in resolved]


def _metrics(turn: TurnRun) -> str:
    steps = [
        {
            "stepId": f"{turn.turn_id}#{index}",
            "usage": step.usage,
            "ttftMs": step.first_token - step.begin,
            "decodeMs": step.last_token - step.first_token,
            "genTotalMs": step.last_token - step.begin,
        }
        for index, step in enumerate(turn.steps)
    ]
    last = turn.steps[-1]
    return jsontext.compact(
        {
            "turnId": turn.turn_id,
            "usage": turn.usage,
            "steps": steps,
            "durationMs": turn.end - turn.start,
            "contextSize": last.input_tokens + last.output_tokens,
        }
    )
