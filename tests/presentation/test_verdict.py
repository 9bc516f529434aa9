"""The sentence above a session: what was left out by design is told calmly, and only a loss as a loss."""

import pytest

from inspector.presentation.conversation.verdict import next_request, verdict
from inspector.profiles.judging import judged
from inspector.rules.base import findings
from inspector.rules.case_notation import load_case
from inspector.rules.catalogue import RULES

COMPACTED = """@format pi
1 user 1.0 text old entry=u1
2 assistant 2.0 text done entry=a1
3 user 3.0 text kept entry=u2
4 - 4.- control entry=k1 about={"type":"compaction","summary":"s","firstKeptEntryId":"u2"}
5 user 5.0 text new
"""
BRANCHED = """@format pi
1 user 1.0 text go entry=u1
2 assistant 2.0 text one parent=u1
3 assistant 3.0 text two parent=u1
"""
EDITED = """@format pi
1 user 1.0 text go
2 assistant 2.0 text wrong entry=a1
3 - 3.- control about={"type":"context_edit","targetId":"a1","replacement":null}
4 user 4.0 text on
"""


def said(text: str, reader: str = "pi-1.5") -> str:
    case = load_case(text, reader)
    judgement = judged(case.reading, case.conversation, "anthropic-2026-07", "anthropic")[1]
    return verdict(case, findings(case, RULES), judgement)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            COMPACTED,
            "Nothing is damaged; 2 of 4 message chunks are read, 2 are before the compaction; the next request passes all known rules.",
        ),
        (
            BRANCHED,
            "Nothing is damaged; 2 of 3 message chunks are read, 1 is on other branches; the next request passes all known rules.",
        ),
        (
            EDITED,
            "Nothing is damaged; 2 of 3 message chunks are read, 1 is left out or replaced on purpose; the next request passes all known rules.",
        ),
    ],
)
def test_what_the_file_itself_leaves_out_is_no_loss(text: str, sentence: str) -> None:
    assert said(text) == sentence


def test_what_the_program_leaves_out_by_itself_is_still_said_as_that() -> None:
    failed = '@format pi\n1 user 1.0 text go\n2 assistant 2.0 text half about={"stopReason":"aborted"}\n3 user 3.0 text on\n'
    assert said(failed).startswith("Nothing is damaged, but pi-1.5 leaves out seq 2; ")


def test_what_a_damaged_parent_hides_is_not_called_another_branch() -> None:
    assert "other branches" not in said("@format pi\n1 user 1.0 text go\n2 assistant 2.0 text one\n3 user 3.0 text on parent=gone\n")


MASKED = """@format anthropic-request
1 user 0.0 text go
2 assistant 1.0 thinking payload={"type":"thinking","text":"<REDACTED>","signature":"EqQBCkgI"}
3 assistant 1.1 text done
4 user 2.0 text on
"""


def test_a_masked_body_is_not_called_whole() -> None:
    assert said(MASKED, "as-sent") == (
        "Telemetry masked the thinking at seq 2, and what was sent is unknown; of the rest, nothing is damaged; "
        "the next request is rejected by anthropic-2026-07 at messages.1.content.0 (AN-17m)."
    )
    assert said(MASKED.replace("<REDACTED>", "What does <REDACTED> mean?"), "as-sent").startswith(
        "Nothing is damaged; the next request passes"
    )


MERGED = "@format dispatch\n1 user 0.0 text hi\n2 assistant 0.1 text hello\n"


@pytest.mark.parametrize(
    ("text", "reader", "state", "words", "more"),
    [
        (MERGED, "dispatch-legacy", "silent", "wrong silently", "passes all known rules"),
        (BRANCHED, "pi-1.5", "passes", "passes", ""),
    ],
)
def test_a_list_has_the_next_request_apart_from_what_is_damaged(text: str, reader: str, state: str, words: str, more: str) -> None:
    sentence = said(text, reader)
    following = next_request(sentence)
    assert (following.state, following.words, following.more) == (state, words, more)
    assert sentence.startswith(following.before.removesuffix(".") + "; ") and "next request" not in following.before


@pytest.mark.parametrize(
    ("end", "state", "words", "more"),
    [
        ("the next request is rejected by ai-sdk-6 at messages.1.content.0 (SDK-1)", "rejected", "rejected at messages.1.content.0", "SDK-1 of ai-sdk-6"),
        ("the session can be resumed, its last call (seq 3) is pending", "", "can be resumed", "its last call (seq 3) is pending"),
        ("a turn is running, so its open end is not judged", "", "not judged", "a turn is running"),
        ("a retry would run 'a; b', if it is registered, before the next request", "", "after a retry", "a retry would run 'a; b', if it is registered"),
        ("a retry returns the stored answer and makes no request", "", "none", "a retry returns the stored answer"),
    ],
)  # fmt: skip
def test_each_end_of_a_verdict_is_a_next_request(end: str, state: str, words: str, more: str) -> None:
    assert next_request(f"The store is damaged in one place; {end}.") == (state, words, more, "The store is damaged in one place.")


@pytest.mark.parametrize(
    ("before", "words", "more"),
    [
        ("The store is damaged in one place; 10 of 19 message chunks are read, 8 are before the compaction and 1 is lost", "wrong silently", "without 1 stored chunk"),
        ("The store is damaged in one place; 1 of 9 message chunks are read, 1 is on other branches and 7 are lost", "wrong silently", "without 7 stored chunks"),
        ("Nothing is damaged, but pi-1.5 leaves out seq 2, 4-5 and 3 more", "passes", "without seq 2, 4-5 and 3 more"),
    ],
)  # fmt: skip
def test_a_request_that_passes_without_what_was_stored_is_silent(before: str, words: str, more: str) -> None:
    assert next_request(f"{before}; the next request passes all known rules.") == ("silent", words, more, f"{before}.")


def test_a_verdict_without_a_next_request_stays_whole() -> None:
    sentence = "The conversation was not read: it is too large."
    assert next_request(sentence) == ("", "", "", sentence)
