"""The combined repair of 25 shapes, and what all strategies keep in sessions that are trees."""

import pytest

from inspector.conversation.model import Chunk, Conversation, Kind
from inspector.conversation.pairing import answered
from inspector.planning.recommend import MOST, sequence
from inspector.profiles.catalogue import PROFILES
from inspector.profiles.judging import judged
from inspector.readers.strict import strict_problems
from inspector.rules.base import case_of, findings
from inspector.rules.catalogue import RULES
from inspector.rules.synthetic_texts import is_synthetic
from inspector.strategies.catalogue import strategy
from tests.folding import in_one_test
from tests.programs.pi_openclaw.session_files import a, call, header, lines, r, text, u
from tests.programs.pi_openclaw.shapes import chain
from tests.programs.pi_openclaw.strategies.repaired_trees import (
    FORMATS,
    MODES,
    TABLE,
    of,
    of_shape,
    recommended,
    refused,
    repaired,
    said,
    written,
)

# Real results that no valid history can hold, and why.
LOST = {
    "P09": ("second", "one call takes one result, and the two differ"),
    "P10": ("second", "one call takes one result, and the two differ"),
    "P11": ("second", "one call takes one result, and the two differ"),
    "P14": ("ok", "its call is nowhere in the file"),
    "P25": ("kept", "its call is nowhere in the file"),
}


@in_one_test("format_name", FORMATS)
@in_one_test("name", TABLE)
def test_the_combined_repair_leaves_nothing_refused_and_loses_no_result_that_could_stay(name: str, format_name: str) -> None:
    shape, wanted = TABLE[name]
    case = of_shape(shape, format_name)
    _, final = recommended(case)
    made = {"pi": "NRP", "openclaw": "SYN"}[format_name]
    assert said(final) == (shape if wanted == "=" else wanted).replace("MADE", made)
    assert refused(final) == [] and strict_problems(final.reading.messages) == []
    kept = {chunk.text for chunk in final.conversation.chunks if chunk.kind is Kind.TOOL_RESULT}
    real = {chunk.text for chunk in case.conversation.chunks if chunk.kind is Kind.TOOL_RESULT and not is_synthetic(chunk)}
    assert real - kept == ({LOST[name[:3]][0]} if name[:3] in LOST else set())


@in_one_test("mode", MODES)
@in_one_test("name", [name for name, (_, wanted) in TABLE.items() if wanted != "=" and "P21" not in name])
def test_what_is_written_reads_back_as_the_combined_repair_promised(name: str, mode: str) -> None:
    shape, _ = TABLE[name]
    names, final = recommended(of_shape(shape))
    data = lines(header(), *chain(shape))
    later = written(data, names, mode)
    assert said(later) == said(final) and refused(later) == []
    assert all(chunk.payload.get("entry") for chunk in later.conversation.chunks)


# Every reader of these files, and the rules of every provider: no shape without a sequence, where strategies for it exist.
BY_READER = [
    *(("pi", name) for name in ("verbatim", "pi-0.68", "pi-0.69", "pi-0.87", "pi-1.5")),
    *(("openclaw", name) for name in ("openclaw-pr3565", "openclaw-2026.1", "openclaw-2026.7", "openclaw-2026.9", "openclaw-2026.9+sent")),
]
# No thought signature can be written by anybody but the model; both programs drop empty thinking before they send, so that DeepSeek never gets it.
NO_STRATEGY = {
    "GE-8": {("gemini-3", name) for _, name in BY_READER},
    "OV-4": {("deepseek-thinking", name) for _, name in BY_READER if "pi-" in name or "+sent" in name},
}


@pytest.mark.slow
@in_one_test(("format_name", "reader"), BY_READER)
@pytest.mark.parametrize("name", TABLE)
def test_every_shape_has_a_sequence_by_every_reader_and_for_every_provider(name: str, format_name: str, reader: str) -> None:
    case = of_shape(TABLE[name][0], format_name, reader)
    troubles = findings(case, RULES)
    for judge in PROFILES:
        found = sequence(case, troubles, judge.name, FORMATS[format_name].default_projection)
        left = judged(found.candidate.case.reading, found.candidate.case.conversation, judge.name, FORMATS[format_name].default_projection)[
            1
        ].violations
        if found.why_not:
            assert any((judge.name, reader) in NO_STRATEGY.get(violation.id, ()) for violation in left), found.why_not
        else:
            assert not left and len(found.candidate.strategies) <= MOST, judge.name


@pytest.mark.parametrize("name", ["strip-thinking", "strip-old-thinking", "thinking-to-text"])
def test_an_answer_that_held_only_thinking_is_still_its_entry(name: str) -> None:
    thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"}
    case = of(u("u1", None), a("a1", "u1", thought), u("u2", "a1"), a("a2", "u2", text("well")))
    final = repaired(case, name)
    assert [chunk.payload["entry"]["id"] for chunk in final.conversation.chunks] == ["u1", "a1", "u2", "a2"]
    assert not any(chunk.kind is Kind.THINKING for chunk in final.conversation.chunks)


@pytest.mark.slow
def test_an_id_that_is_used_again_in_every_turn_takes_no_second_look() -> None:
    """Ten thousand turns of one id, as providers number calls again in each: each result goes to the call of its own turn."""
    turns = 10_000
    shape = chain("U") + [
        message
        for turn in range(turns)
        for message in (
            a(f"a{turn}", f"r{turn - 1}" if turn else "e1", call("exec_0")),
            r(f"r{turn}", f"a{turn}", "exec_0", f"of {turn}"),
        )
    ]
    case = of(*shape)
    assert all(found.results[0].text == f"of {turn}" for turn, found in enumerate(answered(case.messages)))


@pytest.mark.parametrize(
    "name",
    [
        "reparent-to-result",
        "reparent-orphan-entry",
        "split-fused-line",
        "fix-compaction-pointer",
        "drop-failed-turns",
        "truncate-before-incomplete",
    ],
)
def test_a_conversation_that_is_no_tree_is_left_alone(name: str) -> None:
    chunks = (
        Chunk("1", 1, "user", Kind.TEXT, {"type": "text", "text": "go"}, 0, 0),
        Chunk("2", 2, "assistant", Kind.TOOL_CALL, {"type": "tool-call", "toolCallId": "c", "toolName": "ls", "input": {}}, 1, 0),
    )
    case = case_of(Conversation("x", "anthropic-request", chunks), "as-sent")
    assert list(strategy(name).propose(case)) == []
