"""What pi makes of a last line without an id, of a role of version 2, of a summary that is no text, and of lines at which it throws."""

from typing import Any

import pytest

from inspector.conversation.model import Conversation, Reading
from inspector.readers.catalogue import reader
from tests.programs.pi_openclaw.session_files import a, call, entry, header, lines, pi, r, text, u
from tests.programs.pi_openclaw.shapes import ids_of

U1, A1 = u("u1", None), a("a1", "u1", text("one"), stopReason="stop")
OLD = {"pi-0.68", "pi-0.69"}
CLIENTS = OLD | {"pi-0.87", "pi-1.5"}


def reading_of(name: str, tree: Conversation) -> Reading:
    client = reader(name)
    assert client.path
    return client.read(client.path(tree))


def file_of(*values: Any, version: Any = 3) -> Conversation:
    return pi(lines(header(version=version), *values))


@pytest.mark.parametrize("id_", [{}, {"id": ""}, {"id": 5}])
def test_a_last_message_without_id_is_read_with_what_is_above_it(id_: dict[str, Any]) -> None:
    last = {name: value for name, value in u("x", "a1", "and?").items() if name != "id"} | id_
    tree = file_of(U1, A1, last)
    assert [message.chunks[0].text for message in reading_of("pi-1.5", tree).messages] == ["go", "one", "and?"]
    manager = reader("openclaw-2026.7")
    assert manager.path and ids_of(manager.path(tree)) == "u1,a1" and tree.fact("reachable") == "3/3"


def test_a_last_message_whose_id_is_null_leaves_pi_without_a_context() -> None:
    reading = reading_of("pi-1.5", file_of(U1, A1, {**u("x", "a1", "and?"), "id": None}))
    assert reading.messages == () and any("its id is null" in warning for warning in reading.warnings)


@pytest.mark.parametrize(("version", "sent"), [(3, 1), ("0.2.0", 1), (2, 2)])
def test_the_role_hook_message_is_read_below_version_3(version: Any, sent: int) -> None:
    hook = entry("message", "h", "u1", message={"role": "hookMessage", "content": "hook"})
    reading = reading_of("pi-1.5", file_of(U1, hook, version=version))
    assert len(reading.messages) == sent and len([each for each in reading.dropped if "hookMessage" in each.why]) == 2 - sent


@pytest.mark.parametrize(
    ("summary", "words"), [({}, "undefined"), ({"summary": None}, "null"), ({"summary": 5}, "5"), ({"summary": {}}, "[object Object]")]
)
def test_a_summary_that_is_no_text_is_what_javascript_makes_of_it(summary: dict[str, Any], words: str) -> None:
    tree = file_of(U1, A1, entry("compaction", "k", "a1", firstKeptEntryId="k", **summary))
    (message,) = reading_of("pi-1.5", tree).messages
    assert message.chunks[0].text.endswith(f"<summary>\n{words}\n</summary>")


def test_a_call_of_a_type_that_pi_does_not_know_is_in_no_request() -> None:
    tree = file_of(U1, a("a1", "u1", call("c1") | {"type": "toolUse"}), r("r1", "a1", "c1"), u("u2", "r1"))
    reading = reading_of("pi-1.5", tree)
    assert [[chunk.kind.value for chunk in message.chunks] for message in reading.messages][1:3] == [["control"], ["tool-result"]]
    assert any("pi reads toolCall alone" in dropped.why for dropped in reading.dropped)


@pytest.mark.parametrize(("value", "stopped"), [(b"5", CLIENTS), (b"true", CLIENTS), (b"0", OLD), (b"null", OLD), (b"[]", set())])
def test_a_line_without_an_object_in_a_file_of_version_1_stops_pi(value: bytes, stopped: set[str]) -> None:
    def stops(version: int) -> set[str]:
        tree = file_of(U1, value, A1, version=version)
        return {name for name in CLIENTS if "pi throws there when it opens" in reading_of(name, tree).failure}

    assert stops(1) == stopped
    assert stops(3) == (OLD if value == b"null" else set())


def test_a_last_line_that_is_null_is_skipped_and_one_that_is_a_number_is_the_leaf() -> None:
    assert len(reading_of("pi-1.5", file_of(U1, A1, b"null")).messages) == 2
    assert reading_of("pi-1.5", file_of(U1, A1, b"5")).messages == ()
