"""What the AI SDK's own packages for providers send, as ai_sdk_sent.json keeps it, and where our projections send something else."""

import pytest

from tests.judges import packages
from tests.judges.gbrain import asked
from tests.judges.inquiries import SENT

TOLD = SENT.told["histories"]
WIRES = tuple(packages.PROFILES)
SYSTEM_INSIDE = ("system-in-the-middle", "system-after-user", "system-after-result", "system-at-end")
SYSTEM_AGAIN = "system-before-each-question"
THINKING_ALONE = (
    *(
        "thinking-only-assistant",
        "thinking-only-at-end",
        "thinking-only-then-the-answer",
        "thinking-only-twice",
        "thinking-only-after-a-result",
    ),
    *("thinking-only-between-call-and-result", "thinking-of-nothing-alone", "redacted-thinking-alone"),
)

DIFFERENT = {
    "empty words go away, and may leave an empty message": {
        **dict.fromkeys(
            (
                *("empty-assistant-text", "whitespace-assistant-empty-user", "empty-user"),
                *("empty-answer-before-a-call", "thinking-and-an-empty-text"),
            ),
            ("anthropic", "openai-responses", "gemini"),
        ),
        **dict.fromkeys(("empty-text-beside-words", "empty-text-before-a-call"), WIRES),
    },
    "google's package drops thinking of nothing, and thinking that is redacted": dict.fromkeys(
        ("thinking-of-nothing", "thinking-of-nothing-alone", "redacted-thinking-alone"), ("gemini",)
    ),
    "openai-chat has a string where we have a list of blocks, or none": {
        **dict.fromkeys(("empty-assistant", *THINKING_ALONE, "question-in-assistant", "two-systems-first"), ("openai-chat",)),
        **dict.fromkeys(("whitespace-assistant-empty-user", "empty-user"), ("openai-chat",)),
        **dict.fromkeys(("two-texts-of-the-assistant", "two-texts-of-the-system", "image-in-the-system-prompt"), ("openai-chat",)),
    },
    "openai-responses has an item for each text, and none for an empty answer": {
        **dict.fromkeys(("empty-assistant", "question-in-assistant", "two-texts-of-the-assistant"), ("openai-responses",)),
    },
    "openai-responses has system prompts as strings in the list": {
        **dict.fromkeys((*SYSTEM_INSIDE, SYSTEM_AGAIN, "clean-system-first", "two-systems-first"), ("openai-responses",)),
        **dict.fromkeys(
            ("two-texts-of-the-system", "image-in-the-system-prompt", "result-behind-the-system-prompt"), ("openai-responses",)
        ),
    },
    "google's package refuses a system message that is not first": dict.fromkeys((*SYSTEM_INSIDE, SYSTEM_AGAIN), ("gemini",)),
    "anthropic's package leaves a later system message in the list where one is in front": {SYSTEM_AGAIN: ("anthropic",)},
    "thinking without a signature is dropped": {"thinking-without-signature": ("anthropic",)},
    "calls go last in an answer": dict.fromkeys(
        ("text-behind-call", "result-behind-assistant", "result-behind-two-answers"), ("anthropic",)
    ),
}
"""By what the package does: question -> wire shapes. We show what a history says, so that a rule can tell what the package would repair or hide."""

PUBLISHED = [
    ("two-users", "anthropic", "user:text,text assistant:text user:text"),
    ("two-users", "gemini", "user:text user:text model:text user:text"),
    ("two-users", "openai-chat", "user:text user:text assistant:text user:text"),
    (
        "two-assistants-then-both-results",
        "anthropic",
        "user:text assistant:text,tool_use,tool_use user:tool_result,tool_result assistant:text user:text",
    ),
    (
        "two-assistants-then-both-results",
        "gemini",
        "user:text model:text,functionCall model:functionCall user:functionResponse,functionResponse model:text user:text",
    ),
    ("clean-parallel", "anthropic", "user:text assistant:text,tool_use,tool_use user:tool_result,tool_result assistant:text user:text"),
    ("clean-parallel", "openai-chat", "user:text assistant:text,function,function tool:text tool:text assistant:text user:text"),
    ("text-behind-call", "anthropic", "user:text assistant:text,tool_use user:tool_result assistant:text user:text"),
    ("text-behind-call", "gemini", "user:text model:functionCall,text user:functionResponse model:text user:text"),
    ("thinking-without-signature", "anthropic", "user:text assistant:text,tool_use user:tool_result assistant:text user:text"),
    ("thinking-without-signature", "gemini", "user:text model:text,text,functionCall user:functionResponse model:text user:text"),
    ("thinking-without-signature", "openai-chat", "user:text assistant:text,function tool:text assistant:text user:text"),
    ("empty-assistant", "anthropic", "user:text assistant: user:text"),
    ("empty-assistant", "gemini", "user:text model: user:text"),
    ("system-in-the-middle", "anthropic", "user:text assistant:text user:text"),
    ("system-in-the-middle", "openai-chat", "user:text assistant:text system:text user:text"),
    ("13 / gbrain-head", "anthropic", "user:text assistant:tool_use user:tool_result,text,tool_result"),
    ("8 / gbrain-pr1934", "anthropic", "user:text assistant:tool_use user:tool_result,tool_result"),
]


def test_every_history_that_the_sdk_takes_was_sent() -> None:
    assert list(TOLD) == packages.questions()
    assert all(tuple(told) == WIRES for told in TOLD.values())
    assert set(TOLD) & set(asked()) and set(TOLD) - set(asked())


@pytest.mark.parametrize(("question", "wire", "sent"), PUBLISHED)
def test_what_a_package_makes_of_it(question: str, wire: str, sent: str) -> None:
    assert TOLD[question][wire] == {"sent": sent}


def test_our_projections_send_what_the_packages_send_but_where_it_is_named() -> None:
    differ = {
        (question, wire) for question, told in TOLD.items() for wire in WIRES if told[wire].get("sent") != packages.shape(question, wire)
    }
    assert differ == {(question, wire) for group in DIFFERENT.values() for question, wires in group.items() for wire in wires}


def test_of_gbrain_they_send_the_same() -> None:
    assert not {question for group in DIFFERENT.values() for question in group} & set(asked())


def test_only_google_refuses_a_system_message_that_is_not_first() -> None:
    refused = {(question, wire): told[wire]["error"] for question, told in TOLD.items() for wire in WIRES if "error" in told[wire]}
    text = "'system messages are only supported at the beginning of the conversation' functionality not supported."
    assert refused == {(question, "gemini"): text for question in (*SYSTEM_INSIDE, SYSTEM_AGAIN)}
