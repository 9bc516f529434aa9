"""What `use-tool-call-id` does to sessions that are trees: the path after it, and what the written file contains."""

import pytest

from inspector.conversation.model import Kind
from inspector.rules.base import case_of
from tests.programs.pi_openclaw.session_files import header, lines
from tests.programs.pi_openclaw.shapes import chain
from tests.programs.pi_openclaw.strategies.repaired_trees import MODES, of_shape, recommended, repaired, said, written


@pytest.mark.parametrize("mode", MODES)
def test_the_id_of_a_result_that_pi_does_not_read_gets_the_name_that_it_reads(mode: str) -> None:
    shape = "U A(c1) R(c1:toolUseId=x) U"
    names, final = recommended(of_shape(shape, reader="pi-1.5"))
    assert names == ["use-tool-call-id"] and said(final) == "U A(c1) R(c1=x) U"
    later = written(lines(header(), *chain(shape)), names, mode)
    (result,) = (chunk for chunk in later.conversation.chunks if chunk.kind is Kind.TOOL_RESULT)
    assert b'"toolCallId":"c1"' in result.raw.replace(b" ", b"") and b"toolUseId" not in result.raw
    assert said(case_of(later.conversation, "pi-1.5")) == "U A(c1) R(c1=x) U"
    assert repaired(later, "use-tool-call-id").conversation == later.conversation
    # OpenClaw reads both names up to 2026.7, 2026.9 the same one as pi; a result without any id has no name to change.
    assert recommended(of_shape(shape, "openclaw", "openclaw-2026.7"))[0] == []
    newest = of_shape(shape, "openclaw", "openclaw-2026.9")
    assert (said(newest), said(repaired(newest, *names))) == ("U A(c1) R(c1=SYN) U", "U A(c1) R(c1=x) U")
    for other in ("U A(c1) R(-=x) U", "U A(c1) R(c1=x) U"):
        assert repaired(of_shape(other), "use-tool-call-id").conversation == of_shape(other).conversation
