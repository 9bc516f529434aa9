"""What a message of a request is made of: pieces of stored chunks, and blocks that came from no record."""

import pytest

from inspector.conversation.model import Chunk
from inspector.presentation.prompt.wire_pieces import WirePiece, pieces, synthetic_pieces
from inspector.projections.catalogue import projection
from inspector.rules.base import case_of
from tests.programs.pi_openclaw.shapes import say, stored

# The reader makes a result up for c1, and Anthropic's shape puts it into one message with the user's next words.
UNANSWERED = stored([say("u1", None), say("a1", "u1", "A(c1)"), say("u2", "a1")])


def texts(found: tuple[WirePiece, ...]) -> list[tuple[int | None, str]]:
    return [(piece.chunk.seq if isinstance(piece.chunk, Chunk) else None, piece.text) for piece in found]


@pytest.mark.parametrize("shape", ["anthropic", "bedrock"])
def test_a_placeholder_result_beside_the_users_words_is_a_piece_of_its_own(shape: str) -> None:
    prompt = projection(shape).project(case_of(UNANSWERED, "pi-1.5").reading.messages)
    (found,) = [wire for wire in prompt.messages if wire.parts and synthetic_pieces(wire)]
    assert "No result provided" in texts(pieces(found))[0][1]
    assert texts(pieces(found))[1] == (3, "go on")
    assert "c1" in synthetic_pieces(found)[0].call_ids


def test_where_nothing_is_made_up_there_are_the_parts_alone() -> None:
    answered = stored([say("u1", None), say("a1", "u1", "A(c1)"), say("r1", "a1", "R(c1=ok)"), say("u2", "r1")])
    prompt = projection("anthropic").project(case_of(answered, "pi-1.5").reading.messages)
    assert not any(map(synthetic_pieces, prompt.messages))
    assert [seq for wire in prompt.messages for seq, _ in texts(pieces(wire))] == [1, 2, 3, 4]
