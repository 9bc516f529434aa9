"""MSG401: two messages of the assistant in a row."""

from collections.abc import Iterator

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Kind, Message
from inspector.programs.base import Trait
from inspector.rules.base import Case, Match, Origin, Rule, Severity, answered_together


def neighbors(messages: tuple[Message, ...]) -> Iterator[list[Message]]:
    """Runs of two and more messages of the assistant; the system prompt, which goes elsewhere, does not part them."""
    run: list[Message] = []
    for message in (message for message in messages if message.role != "system"):
        if message.role == "assistant":
            run.append(message)
            continue
        if len(run) > 1:
            yield run
        run = []
    if len(run) > 1:
        yield run


def check(case: Case) -> Iterator[Match]:
    parted = {message.chunks[0].key for message in case.reading.messages if message.synthetic}
    together = answered_together(case)
    for run in neighbors(tuple(case.program.calls.sendable(case))):
        seqs = queries.span_text([chunk.seq for message in run for chunk in message.chunks])
        if together and all(chunk.key in together for message in run[1:] for chunk in message.chunks):
            # Parallel calls, a message for each: the provider makes the one answer of them that they were.
            continue
        pending = [call for message in run[:-1] for call in queries.calls(message) if call.key not in together]
        yield Match(
            [chunk for message in run for chunk in message.chunks],
            f"{len(run)} messages of the assistant are in a row (seq {seqs}), with nothing between them. {_becomes(run, pending, parted)}",
            evidence=tuple(
                (f"seq {queries.span_text(message.seqs)}", ", ".join(chunk.kind for chunk in message.chunks)[:120]) for message in run[:8]
            ),
            ruled_out=_imported(case),
        )


def _becomes(run: list[Message], pending: list[Chunk], parted: set[str]) -> str:
    if pending and any(key.removeprefix("synthesized:") in {call.key for call in pending} for key in parted):
        return "The client puts synthetic results for the calls between them; a version that does not sends them as one message."
    thinking = sum(any(chunk.kind in (Kind.THINKING, Kind.REDACTED_THINKING) for chunk in message.chunks) for message in run)
    merged = "A client that merges neighbors makes one message of them"
    if thinking > 1:
        return f"{merged}, with the thinking of {thinking} answers in it."
    if pending:
        return f"{merged}, in which words or calls follow a call that was never answered."
    return f"{merged}; templates that want roles to alternate refuse them as they are."


def _imported(case: Case) -> tuple[tuple[str, str], ...]:
    if "imported_from" in (case.conversation.fact("tags") or ""):
        return (("an interrupted answer", "the session was imported: the import writes one message for each line of an answer"),)
    return ()


RULE = Rule(
    code="MSG401",
    state="RO5",
    name="consecutive-assistants",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="messages of the assistant are in a row, with nothing between them",
    why=(
        "An interrupted turn leaves its answer without results, and the resumed one writes the next answer after it. Clients that merge neighbors then send one message "
        "that no model ever gave, and with thinking in it the provider rejects every later request."
    ),
    example="@format rollouts\n1 user 0.0 text go\n2 assistant 1.0 text one\n3 assistant 2.0 text two",
    check=check,
    trait=Trait.NEIGHBORS,
    references=("rollouts docs/THINKING_BLOCK_BUG.md", "rollouts import_cc.py: one message for each line of an answer"),
    repaired_by=("insert-interrupted-result", "merge-same-role-messages"),
    fixed_in_code="Store a result for each pending call when a turn is cancelled, and merge neighbors of one role only where no thinking is in them.",
)
