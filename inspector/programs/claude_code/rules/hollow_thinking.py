"""THINK205: thinking of the latest turn that Anthropic rejected as modified, or may reject."""

from collections.abc import Iterator

from inspector.conversation.model import Chunk
from inspector.conversation.queries import span_text
from inspector.programs.claude_code.thinking import (
    THINKING,
    Refusal,
    hollow,
    inner_hollow,
    latest_turn,
    model_of,
    provider_of,
    refusal,
    version_of,
)
from inspector.rules.base import Case, Match, Origin, Rule, Severity

_FIXED = (2, 1, 156)
"""Since this version the wave of reports has ended (2.1.143 to 2.1.155, anthropics/claude-code #63147)."""
_STRIPPED = (2, 1, 152)
"""Since this version the program leaves out what another model or login signed."""
_LATEST = "drop-latest-thinking"


def check(case: Case) -> Iterator[Match]:
    rejected = refusal(case)
    if rejected is not None:
        yield _rejected(case, rejected)
        return
    chunks = inner_hollow(case)
    if chunks:
        is_fixed = min(version_of(chunk) for chunk in chunks) >= _FIXED
        yield Match(
            chunks,
            f"Thinking without words is in the middle of the latest turn (seq {span_text([chunk.seq for chunk in chunks])}), after its first call: "
            "rejected as modified where the provider gave words with it.",
            severity=Severity.NOTE if is_fixed else None,
            evidence=(
                (
                    "it can be sent",
                    "models that leave the words out give such blocks with a signature, and take them back; the file does not record what was given",
                ),
                (
                    "it is rejected",
                    "where words were given, and the program did not store them: the block of the next resume is another one (AN-16)",
                ),
                ("written by", _versions(chunks, is_fixed)),
            ),
        )
    yield from _of_another_model(case)


def _rejected(case: Case, rejected: Refusal) -> Match:
    inner = inner_hollow(case)
    if inner:
        cause = f"Thinking without words is in the middle of that turn (seq {span_text([chunk.seq for chunk in inner])}): its words were not stored."
    elif hollow(rejected.block):
        cause = "That block has no words: they were not stored."
    else:
        cause = "It has its words: another block of the turn is missing or was moved, or the model, the effort or the login was changed. No line says which."
    return Match(
        inner or (rejected.block,),
        f"Anthropic rejected the thinking at seq {rejected.block.seq} as modified, and no answer came after that (the error is at seq {rejected.error.seq}). {cause}",
        severity=Severity.ERROR,
        evidence=(("recorded", rejected.error.text[:300]),),
        repaired_by=("drop-hollow-thinking", _LATEST) if inner else (_LATEST,),
    )


def _of_another_model(case: Case) -> Iterator[Match]:
    """Of models of one provider; thinking of another provider is of THINK203."""
    messages = latest_turn(case)
    last = next((model for message in reversed(messages) if (model := model_of(message.chunks[0]))), "")
    foreign = [
        chunk
        for message in messages
        if (model := model_of(message.chunks[0])) and model != last and provider_of(model) == provider_of(last) == "anthropic"
        for chunk in message.chunks
        if chunk.kind in THINKING and version_of(chunk) < _STRIPPED
    ]
    if foreign:
        yield Match(
            foreign,
            f"The thinking at seq {span_text([chunk.seq for chunk in foreign])} is of {model_of(foreign[0])[:60]}, and the latest turn went on with {last[:60]}: "
            "versions before 2.1.152 send it as it is.",
            evidence=(
                ("it can be sent", "both models are of one provider, and the login is the same"),
                ("it is rejected", "as modified or with an invalid signature, after a change of model, effort or login (AN-16, AN-17)"),
            ),
            repaired_by=(_LATEST,),
        )


def _versions(chunks: tuple[Chunk, ...], is_fixed: bool) -> str:
    words = ", ".join(dict.fromkeys(".".join(map(str, version)) for chunk in chunks if (version := version_of(chunk)) != (0, 0, 0)))
    known = "a version after the reports ended" if is_fixed else "2.1.143 to 2.1.155 are those of most reports"
    return f"{words or 'an unknown version'}; {known}"


RULE = Rule(
    code="THINK205",
    state="CC1",
    name="hollow-thinking",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="thinking of the latest turn was rejected as modified, or may be: it has no words, or is of another model",
    why=(
        "Since about 2.1.72 the words of thinking are not stored, only the signature. Anthropic wants the thinking of the latest turn back as it was given; of earlier turns it takes it out by itself. "
        "So only the latest turn can be rejected, and a session that is rejected stays so. An error that the file records proves it; without one both readings are possible."
    ),
    example=(
        "@format claude-code\n1 user 1.0 text go\n2 assistant 2.0 tool-call a ls {}\n3 tool 3.0 tool-result a f\n"
        '4 assistant 4.0 thinking payload={"type":"thinking","text":"","signature":"SIG"}\n5 assistant 5.0 tool-call b ls {}\n6 tool 6.0 tool-result b g'
    ),
    check=check,
    references=("anthropics/claude-code #63147, #12316, #25361, #63410", "formats/claude_code_codex.md, F1"),
    repaired_by=("drop-hollow-thinking",),
    fixed_in_code="Store thinking as it came, words and signature, or leave both out of the next request.",
)
