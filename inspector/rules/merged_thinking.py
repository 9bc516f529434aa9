"""THINK204: two answers with thinking that merging makes into one message of the latest turn."""

from collections.abc import Iterator, Sequence

from inspector.conversation.model import Chunk, Kind, Message
from inspector.conversation.queries import span_text
from inspector.programs.base import Trait
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    """Of the reading an error; where only synthetic results of the reader part the answers, what its versions without these send."""
    if case.program.providers.sent_to(case) not in ("anthropic", ""):
        return
    merged_messages = latest(case.reading.messages)
    stored = merged_messages or latest(case.messages)
    if not stored:
        return
    chunks = [chunk for message in stored for chunk in message.chunks if _is_thinking(chunk)]
    where = f"{len(stored)} answers with thinking (seq {span_text([chunk.seq for chunk in chunks])}) are in a row"
    if merged_messages or case.reading.failure:
        text = f"{where}, and become one message when they are sent: no model ever gave this thinking in one answer, and Anthropic refuses the latest answer so (AN-16)."
    else:
        text = f"{where}. Only the synthetic results of this reader separate them: a version without these sends them as one message, which Anthropic refuses (AN-16)."
    yield Match(
        chunks,
        text,
        severity=None if merged_messages or case.reading.failure else Severity.WARNING,
        evidence=tuple(
            (f"seq {span_text(message.seqs)}", ", ".join(chunk.kind for chunk in message.chunks)[:120]) for message in stored[:8]
        ),
    )


def latest(messages: Sequence[Message]) -> list[Message]:
    """The messages with thinking of the last run of the assistant's, where there are two or more; [] otherwise."""
    run: list[Message] = []
    ended = False
    for message in messages:
        if message.role == "system":
            continue
        if message.role != "assistant":
            ended = True
            continue
        if ended:
            run, ended = [], False
        run.append(message)
    with_thinking = [message for message in run if any(_is_thinking(chunk) for chunk in message.chunks)]
    return with_thinking if len(with_thinking) > 1 else []


def _is_thinking(chunk: Chunk) -> bool:
    if chunk.kind is Kind.REDACTED_THINKING:
        return True
    signature = chunk.payload.get("signature")
    return chunk.kind is Kind.THINKING and isinstance(signature, str) and bool(signature.strip())


RULE = Rule(
    code="THINK204",
    state="RO26",
    name="merged-thinking",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.REQUEST,
    summary="two answers with thinking become one message of the latest turn",
    why=(
        "Clients and the API merge neighbors of one role. Thinking of the latest answer must come back as it was given; thinking of two answers in one is refused with "
        "'thinking or redacted_thinking blocks in the latest assistant message cannot be modified'. The session cannot go on."
    ),
    example=(
        '@format anthropic-request\n1 user 0.0 text go\n2 assistant 1.0 thinking payload={"type":"thinking","text":"a","signature":"S1"}\n'
        '3 assistant 1.1 text one\n4 assistant 2.0 thinking payload={"type":"thinking","text":"b","signature":"S2"}\n5 assistant 2.1 text two\n6 user 3.0 text and?'
    ),
    check=check,
    trait=Trait.BLOCK_ORDER,
    references=("rollouts docs/THINKING_BLOCK_BUG.md, session 20251223_152205_b0fba6", "AN-16 of the rules on Anthropic"),
    repaired_by=("insert-interrupted-result", "thinking-to-text", "strip-thinking"),
    fixed_in_code="Put results for interrupted calls between the answers before neighbors are merged, and do not merge answers with thinking.",
)
