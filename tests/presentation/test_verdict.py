"""The sentence above a session: what was left out by design is told calmly, and only a loss as a loss."""

import pytest

from inspector.planning.recommend import composed
from inspector.presentation.conversation.ending import ending_without_findings
from inspector.presentation.conversation.verdict import Verdict, verdict
from inspector.profiles.judging import judged
from inspector.rules.base import case_of, findings
from inspector.rules.case_notation import load_case
from inspector.rules.catalogue import RULES
from tests.programs.pi_openclaw.session_files import a, entry, header, lines, pi, text, u

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
OFF_THE_PATH = """@format pi
1 user 1.0 text go entry=u1
2 assistant 2.0 tool-call c1 ls {} entry=a1
3 tool 3.0 tool-result c1 f entry=r1 parent=a1
4 user 4.0 text "and?" entry=u2 parent=a1
"""
OFF_THE_PATH_AND_COMPACTED = """@format pi
1 user 1.0 text go entry=u1
2 assistant 2.0 text done entry=a1
3 user 3.0 text list entry=u2
4 - 4.- control entry=k1 about={"type":"compaction","summary":"s","firstKeptEntryId":"u2"}
5 assistant 5.0 tool-call c1 ls {} entry=a2
6 tool 6.0 tool-result c1 f entry=r1 parent=a2
7 user 7.0 text "and?" entry=u3 parent=a2
"""
ABORTED = '@format pi\n1 user 1.0 text go\n2 assistant 2.0 text half about={"stopReason":"aborted"}\n3 user 3.0 text on\n'
EDITED = """@format pi
1 user 1.0 text go
2 assistant 2.0 text wrong entry=a1
3 - 3.- control about={"type":"context_edit","targetId":"a1","replacement":null}
4 user 4.0 text on
"""


def said(text: str, reader: str = "pi-1.5") -> str:
    return judged_as(text, reader).text


def judged_as(text: str, reader: str) -> Verdict:
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
    assert said(ABORTED).startswith("Nothing is damaged, but pi-1.5 leaves out seq 2; ")


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


ERROR_ONLY = '@format dispatch\n@counter 2\n1 user 0.0 text hi\n2 assistant 1.0 error "HTTP 401: no"\n'
MERGED = "@format dispatch\n1 user 0.0 text hi\n2 assistant 0.1 text hello\n"


PENDING = "@format pi\n1 user 1.0 text go\n2 assistant 2.0 tool-call c1 ls {}\n"
HIDDEN = """@format pi
1 user 1.0 text go
2 assistant 2.0 text one
3 user 3.0 text on parent=gone
4 assistant 4.0 tool-call c1 ls {}
"""


@pytest.mark.parametrize(
    ("text", "reader", "next_request"),
    [
        (PENDING, "pi-1.5", ("", "can be resumed", "its last call (seq 2) is pending")),
        # The same damage as without the call at the end.
        (HIDDEN, "pi-1.5", ("silent", "history hidden", "its last call (seq 4) is pending")),
        (HIDDEN.partition("4 ")[0], "pi-1.5", ("silent", "history hidden", "passes all known rules")),
        (MERGED, "dispatch-legacy", ("silent", "wrong silently", "passes all known rules")),
        # What the program itself stored of a failure lacks nobody's words; an answer of thinking alone does.
        (ERROR_ONLY, "dispatch-legacy", ("passes", "passes", "")),
        (ERROR_ONLY.replace("error", "thinking"), "dispatch-legacy", ("silent", "wrong silently", "without seq 2")),
        (BRANCHED, "pi-1.5", ("passes", "passes", "")),
        (ABORTED, "pi-1.5", ("silent", "wrong silently", "without seq 2")),
        (OFF_THE_PATH, "pi-1.5", ("silent", "wrong silently", "without seq 3")),
        (OFF_THE_PATH_AND_COMPACTED, "pi-1.5", ("silent", "wrong silently", "without seq 6")),
        (MASKED, "as-sent", ("rejected", "rejected at messages.1.content.0", "AN-17m of anthropic-2026-07")),
    ],
)
def test_a_list_has_the_next_request_apart_from_what_is_damaged(text: str, reader: str, next_request: tuple[str, str, str]) -> None:
    found = judged_as(text, reader)
    assert found.next_request == next_request
    assert found.text == f"{found.damage[:-1]}; {found.ending}." and "next request" not in found.damage


def test_what_was_not_read_has_no_next_request() -> None:
    found = judged_as("@format pi\n", "pi-1.5")
    assert (found.text, found.next_request) == (found.damage, ("", "", "")) and found.damage.startswith("The store has no chunks")


DANGLING = "@format pi\n1 user 1.0 text go\n2 assistant 2.0 text one\n3 user 3.0 text on parent=gone\n"
TWO_KINDS = "@format dispatch\n1 user 0.0 text hi\n2 assistant 0.1 tool-call c1 run {}\n3 user 1.0 text on\n"
TWICE = """@format dispatch
1 user 0.0 text hi
2 assistant 1.0 tool-call c1 run {}
3 user 2.0 text on
4 assistant 3.0 tool-call c2 run {}
5 user 4.0 text on
"""


@pytest.mark.parametrize(
    ("text", "reader", "listed"),
    [
        (DANGLING, "pi-1.5", "An entry names a parent that no readable line has."),
        # What rejects the next request, or makes it wrong silently, is first.
        (TWICE, "dispatch-legacy", "A tool call inside the history has no result, and 1 more problem."),
        (TWO_KINDS, "dispatch-legacy", "Messages of different roles are read as one user message, and 2 more problems."),
        (MERGED, "dispatch-legacy", "Messages of different roles are read as one user message, and 1 more problem."),
        (BRANCHED, "pi-1.5", "Nothing is damaged; 2 of 3 message chunks are read, 1 is on other branches."),
    ],
)
def test_a_list_says_what_the_worst_damage_is_in_place_of_the_number_of_places(text: str, reader: str, listed: str) -> None:
    assert judged_as(text, reader).listed == listed


INSERTED = """@format pi
1 user 1.0 text go
2 tool 2.0 tool-result q1 f
3 assistant 3.0 text one
4 tool 4.0 tool-result q2 f
5 user 5.0 text on
6 assistant 6.0 tool-call c1 ls {}
7 user 7.0 text more
"""


def test_what_a_plan_removes_is_not_lost_where_it_inserts_too() -> None:
    """What is inserted was counted as one of the tree, so that one of those that are removed was called lost."""
    case = load_case(INSERTED, "pi-1.5")
    strategies, repaired = composed(case, ["drop-orphaned-results", "insert-interrupted-result"])
    judgement = judged(repaired.reading, repaired.conversation, "anthropic-2026-07", "anthropic")[1]
    assert len(strategies) == 2 and ending_without_findings(repaired, judgement).words == "accepted"


ANSWER = a("a1", "u1", text("one"))
TWICE = [u("u1", None), ANSWER, ANSWER, u("u2", "a1", "and?")]
WRITTEN_AGAIN = [
    u("u1", None),
    ANSWER,
    ANSWER | {"id": "a2"},
    u("u2", "a2", "and?"),
    entry("compaction", "k1", "u2", summary="s", firstKeptEntryId="u2"),
    u("u3", "k1", "so?"),
    u("u3", "k1", "so?"),
]
"""Its old line is on no path, and the new one is before the compaction. A line that is stored twice is damage of the tree."""


@pytest.mark.parametrize("entries", [TWICE, WRITTEN_AGAIN])
def test_a_line_that_says_what_one_of_the_path_says_is_not_lost(entries: list[dict[str, object]]) -> None:
    case = case_of(pi(lines(header(), *entries)), "pi-1.5")
    judgement = judged(case.reading, case.conversation, "anthropic-2026-07", "anthropic")[1]
    answer = verdict(case, findings(case, RULES), judgement)
    assert answer.next_request.words == "passes" and "lost" not in answer.text and "damaged in one place" in answer.text
