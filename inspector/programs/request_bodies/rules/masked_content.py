"""MSG503: content of a request body that telemetry replaced with a mask."""

from collections.abc import Iterator

from inspector.conversation.masks import mask, masked_thinking
from inspector.conversation.model import Kind
from inspector.conversation.queries import span_text
from inspector.programs.base import Trait
from inspector.rules.base import Case, Match, Origin, Rule, Severity

_THINKING = (Kind.THINKING, Kind.REDACTED_THINKING)
_REJECTED = " Its signature does not fit a mask, so that the provider would reject this body as it is written."


def check(case: Case) -> Iterator[Match]:
    if thinking := masked_thinking(case.conversation.chunks):
        chunks = [chunk for chunk, _ in thinking]
        yield Match(
            chunks,
            f"The thinking at seq {span_text([chunk.seq for chunk in chunks])} is masked ({thinking[0][1][:60]}), as telemetry writes it: what was sent is unknown, "
            f"and cannot be judged.{_REJECTED if Trait.BLOCK_ORDER in case.program.traits.get(case.conversation.format, ()) else ''}",
        )
    words = [chunk for chunk in case.conversation.chunks if chunk.kind not in _THINKING and mask(chunk.text)]
    if words:
        yield Match(
            words,
            f"At seq {span_text([chunk.seq for chunk in words])} a mask of telemetry ({mask(words[0].text)[:60]}) is in the place of content, or of a part of it: "
            "unless these are the words themselves, what was sent is unknown.",
            severity=Severity.NOTE,
        )


RULE = Rule(
    code="MSG503",
    state="TM1",
    name="masked-content",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.REQUEST,
    summary="content of a request body is masked, so that what was sent is unknown",
    why=(
        "Telemetry of Claude Code writes <REDACTED> in the place of thinking and of encrypted thinking, and leaves the signature. The body looks whole, and is not what was sent: "
        "nothing can be said of the masked blocks, and the provider rejects the body when it is sent as it is."
    ),
    example="@format anthropic-request\n1 user 0.0 text go\n2 assistant 1.0 thinking <REDACTED>\n3 assistant 1.1 text done\n4 user 2.0 text more",
    check=check,
    references=("Claude Code 2.1.197 with OTEL_LOG_RAW_API_BODIES, run: thinking and redacted_thinking.data are the literal <REDACTED>",),
    no_repair_reason="What a mask replaced is not in this body: look for it in the program's own store.",
    fixed_in_code="Nothing in the agent: save the body where it is sent (a proxy, the SDK's own log), or read the program's own store.",
)
