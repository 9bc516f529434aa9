"""TRACE301: metrics or trace know of more steps in a turn than its rows show."""

from collections.abc import Iterator

from inspector.conversation.model import Chunk, Kind, Message
from inspector.rules.base import Case, Match, Origin, Rule, Severity
from inspector.traces.witness import turn_of, turn_witnesses

MAX_STEPS = 10_000
EMPTY = ("the last step answered with nothing", "not ruled out: an answer without any chunk leaves no row")


def check(case: Case) -> Iterator[Match]:
    rows: dict[str, dict[int, Chunk]] = {}
    for chunk in case.conversation.chunks:
        turn, number = turn_of(chunk.step_id or "")
        if number is not None:
            rows.setdefault(turn, {})[number] = chunk
    running = next(reversed(rows), "") if case.running else ""
    cut = next(iter(rows), "") if case.conversation.fact("compactedFrom") else ""
    for turn, steps in _witnessed(case).items():
        # A turn without rows may be text only, compacted away, or younger than the store; one that compaction may have cut into
        # has lost its first steps rightly. Of neither is anything claimed.
        shown = rows.get(turn, {})
        if shown and turn not in (running, cut):
            yield from _missing(case, turn, steps, shown)


def _missing(case: Case, turn: str, witnesses: dict[str, int], shown: dict[int, Chunk]) -> Iterator[Match]:
    step_count = max(witnesses.values())
    answers = _answers(case.messages, shown, _texts_between(case, turn))
    # Every step but the last called a tool, or the turn would have ended there: its rows carry its number.
    inner = [number for number in range(min(step_count, MAX_STEPS) - 1) if number not in shown]
    missing_inner = inner if inner and answers < step_count else []
    last_number = step_count - 1
    is_last_missing = last_number not in shown and answers < step_count - len(missing_inner)
    if not missing_inner and not is_last_missing:
        return
    missing = [*missing_inner, *([last_number] if is_last_missing else [])]
    before = [chunk for number, chunk in sorted(shown.items()) if number < missing[0]] or list(shown.values())[:1]
    names = ", ".join(f"{turn[:60]}#{number}" for number in missing[:5])
    counts: dict[int, list[str]] = {}
    for who, count in witnesses.items():
        counts.setdefault(count, []).append(f"its {who}")
    counted = ", ".join(f"{count} step{'' if count == 1 else 's'} by {' and '.join(whose)}" for count, whose in counts.items())
    yield Match(
        before[-1:],
        f"The turn {turn[:60]} took {counted}, and its rows show {step_count - len(missing)}: {names} left no row.",
        severity=None if missing_inner else Severity.NOTE,
        evidence=tuple((who, f"{count} steps") for who, count in witnesses.items()),
        ruled_out=() if missing_inner else (EMPTY,),
    )


def _witnessed(case: Case) -> dict[str, dict[str, int]]:
    """Turn id -> how many steps each witness saw."""
    counts: dict[str, dict[str, int]] = {}
    for row in case.conversation.metrics:
        if row.step_ids and not row.reason:
            counts.setdefault(row.turn_id, {})["metrics"] = len(set(row.step_ids))
    for turn in case.trace.turns if case.trace else ():
        if turn.steps and (case.taken_at is None or turn.steps[-1].span.start <= case.taken_at):
            counts.setdefault(turn.turn_id, {})["trace"] = len(turn.steps)
    return counts


def _texts_between(case: Case, turn: str) -> frozenset[str]:
    """What the user said while the turn ran, where the trace shows it: rows of these words do not end the turn."""
    witnesses = turn_witnesses(case.trace) if case.trace else ()
    return frozenset(
        text for witness in witnesses if witness.turn_id == turn for prompt_text in witness.between for text in prompt_text.texts
    )


def _answers(messages: tuple[Message, ...], shown: dict[int, Chunk], between: frozenset[str]) -> int:
    """Assistant messages from the user message before the turn's first row to the one after its last that is not of the turn itself."""
    mine = {chunk.key for chunk in shown.values()}
    places = [index for index, message in enumerate(messages) if any(chunk.key in mine for chunk in message.chunks)]
    if not places:
        return 0
    user_indexes = [
        index
        for index, message in enumerate(messages)
        if message.role == "user" and not all(chunk.kind is Kind.TEXT and chunk.text in between for chunk in message.chunks)
    ]
    start = next((index for index in reversed(user_indexes) if index < places[0]), 0)
    end = next((index for index in user_indexes if index > places[-1]), len(messages))
    return sum(message.role == "assistant" for message in messages[start:end])


RULE = Rule(
    code="TRACE301",
    state="W1",
    name="missing-step",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="a turn took more steps than its rows show",
    why=(
        "A metrics row lists every step of a turn, and the trace holds a span for each: two witnesses next to the rows. "
        "Fewer steps in the rows means that an append failed or rows were deleted, and the model will not remember what it did there."
    ),
    example=(
        '1 user 0.0 text go\n2 assistant 0.0 tool-call a ls {} step="turn-1782590000000-a#0"\n3 tool 1.0 tool-result a f name=ls step="turn-1782590000000-a#0"\n'
        "4 assistant 0.0 text done\nmetrics turn-1782590000000-a 3"
    ),
    check=check,
    references=("derived from TurnMetrics and run-turn.ts of Dispatch 1444bc1",),
    no_repair_reason="Metrics and trace count steps but do not hold their rows.",
    fixed_in_code="Write the rows of a step in one transaction, and say where one fails.",
)
