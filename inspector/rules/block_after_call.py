"""MSG403: text or thinking follows a call in one message of the assistant."""

from collections.abc import Iterator

from inspector.conversation.model import Chunk, Kind, Message
from inspector.conversation.queries import span_text
from inspector.programs.base import Trait
from inspector.rules.base import Case, Match, Origin, Rule, Severity

_WORDS = (Kind.TEXT, Kind.THINKING, Kind.REDACTED_THINKING)


def check(case: Case) -> Iterator[Match]:
    is_other_provider = case.program.providers.sent_to(case) not in ("anthropic", "")
    for message in case.messages:
        chunks = list(_after_call(message)) if message.role == "assistant" else []
        if chunks:
            kinds = " and ".join(dict.fromkeys(chunk.kind.value for chunk in chunks))
            yield Match(
                chunks,
                f"{kinds.capitalize()} at seq {span_text([chunk.seq for chunk in chunks])} follows a call in the same answer: "
                + ("the provider of this session does not mind." if is_other_provider else "Anthropic answers as if results were missing."),
                severity=Severity.NOTE if is_other_provider else None,
            )


def _after_call(message: Message) -> Iterator[Chunk]:
    called = False
    for chunk in message.chunks:
        if chunk.kind is Kind.TOOL_CALL:
            called = True
        elif called and chunk.kind in _WORDS and (chunk.kind is not Kind.TEXT or chunk.text):
            yield chunk


RULE = Rule(
    code="MSG403",
    state="RO25",
    name="block-after-call",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="text or thinking follows a call in one answer",
    why="Anthropic wants calls last in an answer and says otherwise that their results are missing, which sends people looking for results that are there.",
    example='@format anthropic-request\n1 user 0.0 text go\n2 assistant 1.0 tool-call a ls {}\n3 assistant 1.1 text "so:"\n4 tool 2.0 tool-result a f',
    check=check,
    trait=Trait.BLOCK_ORDER,
    references=("AN-4 of the rules on Anthropic", "anomalyco/opencode #7002"),
    repaired_by=("order-blocks",),
    fixed_in_code="Do not merge answers that a call parts; keep the blocks of an answer in the order in which they came.",
)
