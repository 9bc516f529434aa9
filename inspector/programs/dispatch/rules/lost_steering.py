"""MSG302: the user wrote while a turn ran; the model was shown it, and no row holds it."""

from collections.abc import Iterator

from inspector.conversation.model import Chunk, Kind
from inspector.rules.base import Case, Match, Origin, Rule, Severity
from inspector.traces.witness import PromptText, turn_of, turn_witnesses


def check(case: Case) -> Iterator[Match]:
    if case.trace is None:
        return
    chunks = case.conversation.chunks
    rows: dict[str, list[int]] = {}
    for place, chunk in enumerate(chunks):
        if chunk.step_id is not None:
            rows.setdefault(turn_of(chunk.step_id)[0], []).append(place)
    witnesses = turn_witnesses(case.trace)
    # The last turn of a running conversation has not written everything yet.
    for witness in witnesses[:-1] if case.running else witnesses:
        places = rows.get(witness.turn_id, [])
        # Without rows of the turn itself it may have been compacted away, or be younger than the store: nothing is claimed.
        if not places or not witness.between or (case.taken_at is not None and witness.start > case.taken_at):
            continue
        stored = {chunk.text for chunk in chunks[places[0] :] if chunk.kind is Kind.TEXT}
        for steering in witness.between:
            lost = [text for text in steering.texts if text.strip() and text not in stored]
            if lost:
                yield _match(witness.turn_id, [chunks[place] for place in places], steering, lost)


def _match(turn_id: str, rows: list[Chunk], steering: PromptText, lost: list[str]) -> Match:
    before = [chunk for chunk in rows if chunk.step_id == steering.after] or rows
    return Match(
        before[-1:],
        f"A user message that came in while {turn_id[:60]} ran is in the prompt and in no row: it belongs after seq {before[-1].seq}. "
        "The model saw it once; every later request is without it.",
        evidence=tuple(("said", text[:200]) for text in lost[:5]),
        ruled_out=(("put in by the program and not by the user", "not ruled out: the prompt says only that its role is user"),),
    )


RULE = Rule(
    code="MSG302",
    state="S1",
    name="lost-steering",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="what the user said during a turn is in no row",
    why=(
        "A message sent while a turn runs goes into the list in memory and is never stored. The answer to it stays, the question does not: "
        "from the next turn on the model sees itself change course for no reason."
    ),
    example=(
        '1 user 0.0 text go\n2 assistant 0.0 tool-call a ls {} step="turn-1782590000000-a#0"\n3 tool 1.0 tool-result a f name=ls step="turn-1782590000000-a#0"\n'
        "4 assistant 0.0 text stopped\nstep turn-1782590000000-a#0\nstep turn-1782590000000-a#1\n"
        'prompt turn-1782590000000-a#1 1 user 0.0 text go\nprompt turn-1782590000000-a#1 2 assistant 0.0 tool-call a ls {} step="turn-1782590000000-a#0"\n'
        'prompt turn-1782590000000-a#1 3 tool 1.0 tool-result a f name=ls step="turn-1782590000000-a#0"\nprompt turn-1782590000000-a#1 4 user 0.0 text stop'
    ),
    check=check,
    references=("derived from run-turn.ts of Dispatch 1444bc1",),
    repaired_by=("insert-lost-steering",),
    fixed_in_code="Append a steering message to the store when it is put into the running turn.",
)
