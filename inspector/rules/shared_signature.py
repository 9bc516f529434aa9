"""THINK202: several thinking blocks of one answer carry the same signature."""

import re
from collections.abc import Iterator

from inspector.conversation.model import Chunk, Kind
from inspector.conversation.queries import span_text
from inspector.programs.base import Trait
from inspector.rules.base import Case, Match, Origin, Rule, Severity

_TWO = re.compile(r"([A-Za-z0-9+/]{8,}={1,2})([A-Za-z0-9+/]{8,}={0,2})")

_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
"""pi keeps the name of the wire's field where others have a signature."""


def check(case: Case) -> Iterator[Match]:
    for message in case.messages:
        by_signature: dict[str, list[Chunk]] = {}
        thinking = [chunk for chunk in message.chunks if chunk.kind is Kind.THINKING]
        if len(thinking) < 2 or case.program.calls.has_failed(message):
            continue
        for chunk in thinking:
            signature = chunk.payload.get("signature")
            if isinstance(signature, str) and signature.strip() and signature not in _FIELDS:
                by_signature.setdefault(signature, []).append(chunk)
        for signature, chunks in by_signature.items():
            if len(chunks) > 1:
                yield Match(
                    chunks,
                    f"{len(chunks)} thinking blocks of one answer (seq {span_text([chunk.seq for chunk in chunks])}) carry one and the same signature: "
                    "their signatures were put after one another, and none of them holds any more.",
                    evidence=(("signature", f"{signature[:60]} ({len(signature):,} characters)"), ("parts", _boundary(signature))),
                )


def _boundary(signature: str) -> str:
    match = _TWO.fullmatch(signature)
    if match is None:
        return "where one ends and the next begins is not known"
    return f"the first may end after character {len(match[1])}, which nothing here can prove"


RULE = Rule(
    code="THINK202",
    state="RO13",
    name="shared-signature",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STREAM,
    summary="thinking blocks of one answer share a signature, which is that of none",
    why=(
        "The stream reader keeps one place for the signature of an answer: with two thinking blocks it holds both signatures, one after the other, and gives it to both blocks. "
        "The provider answers that the signature is invalid or that thinking was modified, as soon as the answer is sent back."
    ),
    example=(
        '@format rollouts\n1 user 0.0 text go\n2 assistant 1.0 thinking payload={"type":"thinking","text":"a","signature":"SIG1SIG2"}\n'
        '3 assistant 1.1 thinking payload={"type":"thinking","text":"b","signature":"SIG1SIG2"}\n4 assistant 1.2 text done'
    ),
    check=check,
    trait=Trait.SIGNATURES,
    references=("rollouts providers/anthropic.py 0779491, run: two blocks SIG1 and SIG2 are stored with SIG1SIG2 each", "AN-16 and AN-17"),
    repaired_by=("thinking-to-text", "strip-thinking"),
    fixed_in_code="Collect the signature of each thinking block by the block's own index in the stream.",
)
