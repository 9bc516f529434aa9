"""What `drop-unreadable-lines` changes in the bytes of a session that does not load."""

import pytest

from inspector.conversation.edits import Safety
from inspector.rules.base import findings
from inspector.rules.catalogue import RULES
from tests.programs.rollouts.strategies.repaired_sessions import AS_CHILD, IN_PLACE, PARENT, TURN, codes, opened, repaired, session


@pytest.mark.parametrize("torn", [b'{"role": "assistant", "content": [{"type": "te', b"\xff\xfe\n", b"[1]\n"])
@pytest.mark.parametrize("mode", [IN_PLACE, AS_CHILD])
def test_a_torn_line_goes_and_the_others_keep_every_byte(torn: bytes, mode: str) -> None:
    files = session(PARENT, [*TURN, torn])
    preview, written = repaired(files, "drop-unreadable-lines", mode=mode)
    assert codes(preview.before) == ["STORE402"]
    assert codes(preview.after) == []
    assert written["messages.jsonl"] == files[f"sessions/{PARENT}/messages.jsonl"].removesuffix(torn)
    assert preview.plan.safety == {Safety.LOSSY}


def test_the_finding_of_a_torn_line_shows_its_bytes() -> None:
    case, _ = opened(session(PARENT, [*TURN, b'{"role": "assi']))
    found = next(finding for finding in findings(case, RULES) if finding.code == "STORE402")
    assert ("begins with", '{"role": "assi') in found.evidence
