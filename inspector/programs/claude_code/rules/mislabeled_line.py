"""MSG801: words of the model in a line of the user's."""

from collections.abc import Iterator, Mapping

from inspector.conversation.tree import about_of
from inspector.rules.base import Case, Match, Origin, Rule, Severity, stored_messages

_OF_ANSWERS = ("model", "stop_reason")
"""Members that only an answer of the provider's has."""


def check(case: Case) -> Iterator[Match]:
    for message in stored_messages(case.conversation):
        inner = about_of(message.chunks[0]).get("message")
        if message.role != "user" or not isinstance(inner, Mapping):
            continue
        if isinstance(inner.get("model"), str) and "id" in inner:
            yield Match(
                message.chunks,
                f"The line at seq {message.chunks[0].seq} is labeled as the user's and holds an answer of {inner['model'][:60]}: the model reads its own words as the user's.",
                evidence=tuple((name, str(inner[name])[:60]) for name in ("id", *_OF_ANSWERS) if name in inner),
            )


RULE = Rule(
    code="MSG801",
    state="CC-M1",
    name="mislabeled-line",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="a line labeled as the user's holds an answer of the model",
    unnoticed="roles wrong",
    why="Nothing raises an error: providers take two messages of the user's in a row. The model is told that the user said what it said itself, and goes on from that.",
    example='@format claude-code\n1 user 1.0 text go\n2 user 2.0 text "I look." about={"type":"user","message":{"id":"msg_1","model":"claude-opus-4-5"}}',
    check=check,
    references=("the founding documents: a role that is mislabeled",),
    repaired_by=("relabel-answer",),
    fixed_in_code="Write the role that the provider gave the message.",
)
