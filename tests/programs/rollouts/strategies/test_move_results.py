"""What `move-results` changes in the bytes of a session that does not load."""

import json

from tests.programs.rollouts.strategies.repaired_sessions import PARENT, TURN, codes, line, repaired, session, text


def test_a_late_result_takes_the_place_of_the_made_up_one() -> None:
    made_up = line("tool", "[interrupted - no result provided]", tool_call_id="a")
    files = session(PARENT, [*TURN[:2], made_up, line("user", "and?"), TURN[2], line("assistant", [text("Done.")], provider="anthropic")])
    preview, written = repaired(files, "move-results", "keep-first-result")
    assert [json.loads(each)["content"] for each in written["messages.jsonl"].splitlines() if b'"role": "tool"' in each] == ["files"]
    assert codes(preview.after) == []
