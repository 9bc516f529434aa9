"""Where `add-empty-thinking` puts its blocks in a session: Claude Code sends those that are a piece of an answer (asked of 2.1.332)."""

from tests.programs.claude_code.session_lines import a, call, r, text, u
from tests.programs.claude_code.strategies.repaired_sessions import each_mode, written

TALK = (u("u1", None, "one"), a("a1", "u1", "m1", call("t1"), 1), r("r1", "a1", "t1", "x", 2), a("a2", "r1", "m2", text("end"), 3))


@each_mode
def test_it_is_sent_with_its_answer(mode: str) -> None:
    """As an answer of its own it was never sent, and what was promised for DeepSeek did not hold."""
    later, _ = written(["add-empty-thinking"], mode, *TALK)
    answers = [message for message in later.reading.messages if message.role == "assistant"]
    assert [[chunk.kind.value for chunk in message.chunks] for message in answers] == [["thinking", "tool-call"], ["thinking", "text"]]
