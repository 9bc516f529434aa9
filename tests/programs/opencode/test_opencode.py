"""opencode's three stores: the same session of each, the request of 1.18.33, what is found, and the file for its own import."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inspector import check
from inspector.actions.planning import RepairRequest
from inspector.actions.write_copy import write_repaired_copy
from inspector.conversation.model import Conversation, Kind
from inspector.planning.preview import Preview
from inspector.planning.recommend import sequence
from inspector.presentation.conversation.recorded_errors import recorded_errors
from inspector.profiles.answering import own_profile
from inspector.programs.formats import Stored
from inspector.programs.opencode.reader import CLEARED, INTERRUPTED, NAME, read
from inspector.projections.catalogue import projection
from inspector.rules.base import case_of
from inspector.rules.catalogue import all_findings
from inspector.sources.places import place
from inspector.sources.reading import Store, read_store
from inspector.testing import kit
from tests.programs.opencode.stores import (
    CLEAN,
    CREATED,
    ID,
    KILLED,
    MAKERS,
    Message,
    answer,
    database,
    export,
    step,
    text,
    tool,
    tree,
    user,
    whole,
)
from tests.programs.opencode.writing_sessions import LATER

EXAMPLES = Path(__file__).parents[4] / "shared" / "examples" / "stores" / "opencode"


def only(path: str) -> Stored:
    (stored,) = read_store(place(path)).conversations
    return stored


def sent(stored: Stored) -> list[Any]:
    """The next request, short: role and words, calls as `name(id)`, results as `id=words`."""
    shown = []
    for value in projection("openai-chat").project(read(stored.conversation).messages).values:
        calls = [f"{call['function']['name']}({call['id']})" for call in value.get("tool_calls", [])]
        words = f"{value['tool_call_id']}={value['content']}" if value["role"] == "tool" else value["content"]
        shown.append((value["role"], words, *calls))
    return shown


def codes(conversation: Conversation, taken_at: int = LATER) -> list[str]:
    return [f"{finding.code}/{finding.severity.value}" for finding in all_findings(case_of(conversation, NAME, taken_at=taken_at))]


def exported(folder: Path, *messages: Message) -> Stored:
    return only(export(folder, list(messages)))


@pytest.mark.parametrize("name", MAKERS)
def test_every_store_gives_the_same_session(name: str, tmp_path: Path) -> None:
    path = MAKERS[name](tmp_path, KILLED)
    store = read_store(place(path))
    assert store.format.name == name
    (stored,) = store.conversations
    assert stored.conversation.native_id == ID and stored.conversation.title == "Read the notes"
    assert [(chunk.role, chunk.kind.value, chunk.text or chunk.call_id) for chunk in stored.conversation.chunks] == [
        ("user", "text", "Read the notes."),
        ("assistant", "text", "I look."),
        ("assistant", "tool-call", "call_a"),
        ("assistant", "tool-call", "call_b"),
        ("tool", "tool-result", "a\nb\n"),
        ("tool", "tool-result", "a\nb\n"),
        ("assistant", "text", "Two lines."),
        ("user", "text", "And now?"),
        ("assistant", "text", "I look."),
        ("assistant", "tool-call", "call_c"),
        ("assistant", "tool-call", "call_d"),
        ("tool", "tool-result", "a\nb\n"),
    ]
    assert sent(stored)[-3:] == [
        ("assistant", "I look.", "bash(call_c)", "bash(call_d)"),
        ("tool", "call_c=a\nb\n"),
        ("tool", f"call_d={INTERRUPTED}"),
    ]
    assert codes(stored.conversation) == ["TOOL702/warning"]
    # A tool may be at work for a while.
    assert codes(stored.conversation, CREATED + 10_000) == []


@pytest.mark.parametrize("name", MAKERS)
def test_a_clean_session_has_no_finding(name: str, tmp_path: Path) -> None:
    assert codes(only(MAKERS[name](tmp_path, CLEAN)).conversation) == []


def test_an_export_that_is_piped_in_is_checked(tmp_path: Path) -> None:
    path = Path(export(tmp_path, CLEAN))
    copy = path.rename(tmp_path / "session")
    assert check(copy.read_bytes()).conversation == check(copy).conversation == ID


def test_no_table_with_credentials_is_read(tmp_path: Path) -> None:
    stored = only(database(tmp_path, CLEAN))
    assert {record.key.partition(":")[0] for record in stored.records} == {"session", "message", "part"}


def test_messages_are_in_the_order_of_their_times_and_parts_of_their_ids(tmp_path: Path) -> None:
    later, first = user(9, text("second")), user(1, text("b", id="prt_2"), text("a", id="prt_1"))
    assert sent(exported(tmp_path, later, first)) == [
        ("user", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
        ("user", "second"),
    ]


def test_an_answer_that_ended_with_an_error_is_left_out_with_its_tools(tmp_path: Path) -> None:
    failed = answer(2, step(), text("I look."), tool("call_a"), error={"name": "APIError", "data": {}})
    stored = exported(tmp_path, user(1, text("go")), failed, user(3, text("on")))
    assert sent(stored) == [("user", "go"), ("user", "on")] and codes(stored.conversation) == ["MSG701/warning"]


def test_an_answer_that_was_aborted_after_it_said_something_is_sent(tmp_path: Path) -> None:
    aborted = answer(2, step(), text("I look."), error={"name": "MessageAbortedError", "data": {}})
    silent = answer(4, step(), error={"name": "MessageAbortedError", "data": {}})
    stored = exported(tmp_path, user(1, text("go")), aborted, user(3, text("on")), silent)
    assert sent(stored) == [("user", "go"), ("assistant", "I look."), ("user", "on")] and codes(stored.conversation) == []


def test_an_answer_with_an_error_and_nothing_done_is_no_finding(tmp_path: Path) -> None:
    failed = answer(2, step(), error={"name": "APIError", "data": {}})
    assert codes(exported(tmp_path, user(1, text("go")), failed).conversation) == []


def test_each_step_of_an_answer_is_a_message_of_its_own(tmp_path: Path) -> None:
    stored = exported(tmp_path, user(1, text("go")), answer(2, step(), tool("call_a"), step(), text("Again."), tool("call_b")))
    assert sent(stored)[1:] == [
        ("assistant", None, "bash(call_a)"),
        ("tool", "call_a=a\nb\n"),
        ("assistant", "Again.", "bash(call_b)"),
        ("tool", "call_b=a\nb\n"),
    ]


def test_outputs_that_a_compaction_cleared_and_interrupted_ones(tmp_path: Path) -> None:
    cleared = tool("call_a", time={"start": 1, "end": 2, "compacted": 3})
    interrupted = tool("call_b", "error", metadata={"interrupted": True, "output": "half"})
    stored = exported(tmp_path, user(1, text("go")), answer(2, step(), cleared, interrupted, tool("call_c", "error")))
    assert [words for _, words, *_ in sent(stored)[2:]] == [f"call_a={CLEARED}", "call_b=half", "call_c=it failed"]


def test_a_session_starts_at_its_last_finished_compaction(tmp_path: Path) -> None:
    stored = exported(
        tmp_path,
        user(1, text("go")),
        answer(2, step(), text("aye")),
        user(3, {"type": "compaction", "auto": True}),
        answer(4, step(), text("a summary"), parent=3, summary=True),
        user(5, text("on")),
    )
    assert (
        sent(stored) == [("user", "What did we do so far?"), ("assistant", "a summary"), ("user", "on")]
        and codes(stored.conversation) == []
    )


def test_a_compaction_that_keeps_a_tail_puts_its_summary_before_that(tmp_path: Path) -> None:
    kept = user(2, text("kept"))
    stored = exported(
        tmp_path,
        user(1, text("go")),
        kept,
        user(3, {"type": "compaction", "tail_start_id": kept[0]["id"]}),
        answer(4, step(), text("a summary"), parent=3, summary=True),
        user(5, text("on")),
    )
    assert [words for _, words, *_ in sent(stored)] == ["What did we do so far?", "a summary", "kept", "on"]


def test_a_compaction_that_did_not_finish_changes_nothing(tmp_path: Path) -> None:
    stored = exported(
        tmp_path, user(1, text("go")), user(3, {"type": "compaction"}), answer(4, step(), text("a su"), parent=3, summary=True, finish=None)
    )
    assert [words for _, words, *_ in sent(stored)] == ["go", "What did we do so far?", "a su"]


def test_reasoning_of_another_model_is_sent_as_text(tmp_path: Path) -> None:
    reasoning = {"type": "reasoning", "text": "hm", "metadata": {"anthropic": {"signature": "sig"}}}
    own, other = answer(2, step(), reasoning, text("")), answer(4, step(), reasoning, text("aye"), modelID="m2")
    stored = exported(tmp_path, user(1, text("go")), own, user(3, text("on")), other)
    messages = read(stored.conversation).messages
    assert [(chunk.kind.value, chunk.text) for chunk in messages[1].chunks] == [("thinking", "hm"), ("text", " ")]
    assert [(chunk.kind.value, chunk.text) for chunk in messages[3].chunks] == [("text", "hm"), ("text", "aye")]


REFUSED = {"name": "APIError", "data": {"message": "messages.3: all messages must have non-empty content", "statusCode": 400}}
THOUGHT = {"type": "reasoning", "text": "which file?", "time": {}}


@pytest.mark.parametrize(
    ("provider", "profile", "texts"),
    [("anthropic", "anthropic-2026-07", ["go", "on", "  "]), ("fake", "openai-chat", ["go", "", "on", "  ", ""])],
)
def test_a_session_is_judged_by_the_provider_of_its_next_request(provider: str, profile: str, texts: list[str], tmp_path: Path) -> None:
    """For Anthropic 1.18.33 leaves out empty texts and unsigned thinking, and nothing that is blank; for any other provider neither."""
    model = {"providerID": provider, "modelID": "m1"}
    first, last = user(1, text("go")), user(3, text("on"))
    empty, blank = answer(2, step(), THOUGHT, text(""), **model), answer(4, step(), text("  "), text(""), parent=3, **model)
    for info, _ in (first, last):
        info["model"] = model
    stored = exported(tmp_path, first, empty, last, blank)
    name, why = own_profile(stored.conversation)
    assert name == profile and why.startswith(f"judged as {profile}, ") and f"'m1' of {provider} answers in this session" in why
    assert ("which is an assumption" in why) == (provider == "fake")
    reading = read(stored.conversation)
    assert [chunk.text for message in reading.messages for chunk in message.chunks if chunk.kind is Kind.TEXT] == texts
    is_thinking_sent = any(chunk.kind is Kind.THINKING for message in reading.messages for chunk in message.chunks)
    assert is_thinking_sent == (provider == "fake")


def test_the_error_of_the_last_answer_is_recorded_and_no_older_one(tmp_path: Path) -> None:
    def recorded(*messages: Message) -> list[str]:
        return [error.text for error in recorded_errors(case_of(exported(tmp_path, *messages).conversation, NAME))]

    failed = answer(2, step(), text("I look."), error=REFUSED)
    assert recorded(user(1, text("go")), failed) == ["HTTP 400: messages.3: all messages must have non-empty content"]
    assert recorded(user(1, text("go")), answer(2, step(), error={"name": "UnknownError"})) == ["UnknownError"]
    assert recorded(user(1, text("go")), failed, user(3, text("on")), answer(4, step(), text("well"), parent=3)) == []
    assert recorded(user(1, text("go")), answer(2, step(), text("a"), error={"name": "MessageAbortedError", "data": {}})) == []


def test_what_the_user_does_not_send(tmp_path: Path) -> None:
    listing = {"type": "file", "mime": "text/plain", "url": "file:///a.txt", "filename": "a.txt"}
    picture = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AA==", "filename": "a.png"}
    stored = exported(tmp_path, user(1, text("go"), text("no", ignored=True), text(""), listing, picture))
    ((role, content),) = sent(stored)
    assert role == "user" and [block["type"] for block in content] == ["text", "image_url"]


def test_parts_of_a_message_that_is_gone(tmp_path: Path) -> None:
    path = database(tmp_path, KILLED)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM message WHERE id = ?", (KILLED[-1][0]["id"],))
        connection.commit()
    conversation = only(path).conversation
    (finding,) = all_findings(case_of(conversation, NAME, taken_at=LATER))
    assert finding.code == "STORE711" and "4 parts belong to 1 message" in finding.message and finding.evidence[-1][1] == "tool: bash"


def test_messages_whose_session_is_gone(tmp_path: Path) -> None:
    path = database(tmp_path, CLEAN)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM session")
        connection.commit()
    assert codes(only(path).conversation) == ["STORE712/error"]


def test_a_migration_that_skipped_parts_and_a_message(tmp_path: Path) -> None:
    path = database(tmp_path, CLEAN)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM part WHERE message_id = ?", (CLEAN[2][0]["id"],))
        connection.execute("DELETE FROM message WHERE id = ?", (CLEAN[0][0]["id"],))
        connection.commit()
    assert codes(only(path).conversation) == ["STORE711/warning", "STORE712/warning", "STORE712/warning"]


def test_a_part_that_cannot_be_read_is_shown(tmp_path: Path) -> None:
    path = database(tmp_path, CLEAN)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute('UPDATE part SET data = \'{"type":"te\' WHERE rowid = 1')
        connection.commit()
    chunk = only(path).conversation.chunks[0]
    assert (chunk.kind.value, chunk.damage, chunk.role) == ("unreadable", "unreadable-part", "user") and "not JSON" in chunk.reason


def repaired(path: str, out: Path, *strategies: str) -> tuple[Preview, Store]:
    store = read_store(place(path))
    (stored,) = store.conversations
    case = case_of(stored.conversation, NAME, taken_at=LATER)
    options = store.format.options("import-file", stored, "a fresh id")
    request = RepairRequest(strategies, "import-file", NAME, "openai-chat", "openai-chat", options)
    preview = write_repaired_copy(Path(path), store.format, case, stored, request, out)
    return preview, read_store(place(str(out)))


def _names(value: Any) -> list[str]:
    ids = [entry["info"]["id"] for entry in value["messages"]] + [part["id"] for entry in value["messages"] for part in entry["parts"]]
    return [value["info"]["id"], *ids]


@pytest.mark.parametrize("name", MAKERS)
def test_a_repair_is_a_file_for_the_import_with_new_ids(name: str, tmp_path: Path) -> None:
    path = MAKERS[name](tmp_path, KILLED)
    out = tmp_path / "new.json"
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    preview, store = repaired(path, out, "insert-interrupted-result")
    assert all(file.read_bytes() == data for file, data in before.items())
    (stored,) = store.conversations
    assert store.format.name == "opencode-export" and stored.conversation.native_id == preview.plan.options["fork_id"]
    assert codes(stored.conversation) == [] and sent(stored)[-1] == ("tool", f"call_d={INTERRUPTED}")
    value, old = json.loads(out.read_text()), _names(whole(KILLED))
    new = _names(value)
    assert not set(new) & set(old) and [len(id_) for id_ in new] == [len(id_) for id_ in old]
    assert [id_[:-14] for id_ in new] == [id_[:-14] for id_ in old] and new[1:] == [*sorted(new[1:6]), *sorted(new[6:])]
    assert (
        value["info"].get("projectID") == (None if name == "opencode" else "global")
        and value["info"]["time"]["created"] == CREATED
        and value["info"]["title"] == "Read the notes (repaired)"
    )
    last = value["messages"][-1]
    assert last["info"]["sessionID"] == new[0] and last["info"]["parentID"] == value["messages"][-2]["info"]["id"]
    assert last["parts"][-1]["state"] == {
        "status": "error",
        "input": {"command": "ls"},
        "error": INTERRUPTED,
        "time": {"start": CREATED, "end": CREATED},
    }
    assert f"opencode session delete {new[0]}" in " ".join(preview.warnings) and "opencode import FILE" in " ".join(preview.warnings)


@pytest.mark.parametrize("stale", [("call_a",), ("call_b",), ("call_c",), ("call_a", "call_c"), ("call_a", "call_b", "call_c")])
def test_each_result_goes_to_its_own_call(stale: tuple[str, ...], tmp_path: Path) -> None:
    tools = [tool(call, "running" if call in stale else "completed") for call in ("call_a", "call_b", "call_c")]
    path = export(tmp_path, [user(1, text("go")), answer(2, step(), *tools), user(3, text("on"))])
    _, store = repaired(path, tmp_path / "new.json", "insert-interrupted-result")
    assert [words for role, words, *_ in sent(store.conversations[0]) if role == "tool"] == [
        f"{call}={INTERRUPTED if call in stale else 'a' + chr(10) + 'b' + chr(10)}" for call in ("call_a", "call_b", "call_c")
    ]


@pytest.mark.parametrize("more", [{"title": None}, {"metadata": None}, {"time": {"start": None, "end": None}}])
def test_a_null_that_opencode_sends_nothing_of_ends_no_repair(more: dict[str, Any], tmp_path: Path) -> None:
    """The import wants a value there, of a call of another answer too."""
    done, left = tool("call_a", **more), tool("call_b", "running")
    path = export(
        tmp_path, [user(1, text("go")), answer(2, step(), done), user(3, text("on")), answer(4, step(), left), user(5, text("on"))]
    )
    _, store = repaired(path, tmp_path / "new.json", "insert-interrupted-result")
    assert [words for role, words, *_ in sent(store.conversations[0]) if role == "tool"] == ["call_a=a\nb\n", f"call_b={INTERRUPTED}"]


@pytest.mark.parametrize(("role", "expected"), [("user", ["insert-interrupted-result"]), (None, [])])
def test_only_what_can_be_written_is_recommended(role: str | None, expected: list[str], tmp_path: Path) -> None:
    """The import would stop at a message of no known role."""
    session = [*KILLED[:3], (KILLED[3][0] | {"role": role}, KILLED[3][1]), KILLED[4]]
    case = case_of(exported(tmp_path, *session).conversation, NAME, taken_at=LATER)
    recommendation = sequence(case, all_findings(case), "openai-chat", "openai-chat")
    assert [strategy.name for strategy in recommendation.candidate.strategies] == expected


def _database(folder: Path) -> str:
    return database(folder, KILLED)


def _tree(folder: Path) -> str:
    return tree(folder, KILLED)


def _export(folder: Path) -> str:
    return export(folder, KILLED)


SAMPLES = {name: kit.Sample(name, make, ID, ("insert-interrupted-result",), lambda path: None) for name, make in
           {"opencode": _database, "opencode-storage": _tree, "opencode-export": _export}.items()}  # fmt: skip


# Nothing is ever written into these stores: the checks of a write have nothing to check.
@pytest.mark.parametrize(
    "check", [kit.is_recognized, kit.is_read_alike, kit.writes_nothing_without_edits, kit.takes_damage], ids=lambda check: check.__name__
)
@pytest.mark.parametrize("name", SAMPLES)
def test_opencode_keeps_what_the_kit_asks(name: str, check: kit.Check, tmp_path: Path) -> None:
    check(SAMPLES[name], tmp_path / "store")


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the stores that the program itself wrote are not here")
def test_stores_that_the_program_wrote() -> None:
    found = {name: codes(only(str(EXAMPLES / name)).conversation, 1_800_000_000_000) for name in ("clean.db", "killed.db", "storage_clean")}
    assert found == {"clean.db": [], "killed.db": ["TOOL702/warning"], "storage_clean": []}
