"""Numbers in notation and diffs as the file spells them: JavaScript's way, in which most stores are written, or Python's where the bytes have that."""

import json

from inspector.conversation import notation
from inspector.conversation.model import Chunk
from inspector.programs.pi_openclaw.pi import PI
from tests.folding import in_one_test
from tests.programs.pi_openclaw.session_files import call, entry, header, lines, records, u


def stored(spelled: str) -> Chunk:
    block = call("c1") | {"arguments": {"cost": "HERE", "note": "3e-05"}}
    message = {"role": "assistant", "content": [block], "stopReason": "toolUse"}
    data = lines(header(), u("u1", None), json.dumps(entry("message", "a1", "u1", message=message)).replace('"HERE"', spelled).encode())
    (found,) = PI.read(records({"sessions/s.jsonl": data}))
    return found.conversation.chunks[-1]


@in_one_test("spelled", ["0.00003", "-0.0000125", "1e-7", "3e-05", "2.5", "12"])
def test_a_number_is_shown_as_the_line_has_it(spelled: str) -> None:
    shown = notation.dump_chunk(stored(spelled))
    assert f'"cost":{spelled},"note":"3e-05"' in shown


def test_what_looks_like_a_number_in_a_text_stays_as_it_is_and_the_line_reads_back() -> None:
    chunk = stored("0.00003")
    (conversation, *_) = notation.load(f"@format pi\n{notation.dump_chunk(chunk)}\n")
    back = conversation.chunks[0]
    assert back.payload["input"] == {"cost": 0.00003, "note": "3e-05"}
