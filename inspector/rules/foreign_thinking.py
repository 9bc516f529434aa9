"""THINK203: thinking of another provider than the one that the conversation goes to now."""

from collections.abc import Iterator

from inspector.conversation.model import Chunk, Kind
from inspector.conversation.queries import span_text
from inspector.programs.base import Trait
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    if case.program.providers.converted_thinking is not None:
        yield from (Match(chunks, text) for chunks, text in case.program.providers.converted_thinking(case))
        return
    for message in case.messages:
        foreign = [chunk for chunk in message.chunks if _is_item(chunk)]
        if foreign:
            yield Match(
                foreign,
                f"The signature of the thinking at seq {span_text([chunk.seq for chunk in foreign])} is a whole reasoning item of OpenAI: "
                "the provider that the request goes to did not sign it.",
            )


def _is_item(chunk: Chunk) -> bool:
    signature = chunk.payload.get("signature")
    return chunk.kind is Kind.THINKING and isinstance(signature, str) and signature.lstrip().startswith("{")


RULE = Rule(
    code="THINK203",
    state="RO14",
    name="foreign-thinking",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.REQUEST,
    summary="thinking of another provider than the one that the conversation goes to",
    why="A signature holds for the provider that gave it. Clients turn such thinking into text, which the model then reads as if it were part of the answer; sent as thinking, it is refused.",
    example=(
        "@format rollouts\n@provider anthropic\n1 user 0.0 text go\n"
        '2 assistant 1.0 thinking payload={"type":"thinking","text":"hm","signature":"S","stored":{"provider":"google"}}\n3 assistant 1.1 text done'
    ),
    check=check,
    trait=Trait.BLOCK_ORDER,
    references=("rollouts transform_messages.py 0779491, pass 1", "AN-17 of the rules on Anthropic"),
    repaired_by=("thinking-to-text",),
    fixed_in_code="Keep with each message which provider and interface it came by, and convert its thinking where these differ.",
)
