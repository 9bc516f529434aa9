"""`show`: the conversation as stored, as read and as sent."""

import json
from pathlib import Path

import pytest

from inspector.conversation import notation
from tests.commands.running import CONVERSATION, incident, make, run

pytestmark = pytest.mark.only_settles


def test_the_legacy_loader_reads_the_incident_as_three_messages(tmp_path: Path) -> None:
    shown = run("show", incident(tmp_path / "dispatch.db"), "--as", "messages", "--json", "--reader", "dispatch-legacy").json
    assert [(message["role"], message["seqs"]) for message in shown["messages"]] == [
        ("user", list(range(1, 12))),
        ("tool", [12]),
        ("tool", [13]),
    ]
    assert [dropped["seqs"] for dropped in shown["dropped"]] == [[14]]
    assert list(shown["report"].values()) == [0, None, 0, 1]
    assert set(shown) == {"messages", "dropped", "report"}
    chunk = shown["messages"][0]["chunks"][9]
    assert chunk["kind"] == "tool-call" and chunk["seq"] == 10 and chunk["toolName"] == "run_shell"


def test_the_exact_reader_parts_what_the_loader_merged(tmp_path: Path) -> None:
    shown = run("show", incident(tmp_path / "dispatch.db"), "--as", "messages", "--json", "--reader", "exact").json
    assert [message["seqs"] for message in shown["messages"]][:2] == [[1], [2, 3]]


def test_notation_can_be_loaded_again(tmp_path: Path) -> None:
    ran = run("show", incident(tmp_path / "dispatch.db"))
    conversation, _ = notation.load(ran.out)
    assert (ran.status, len(conversation.chunks), conversation.fact("counter")) == (0, 14, "14")


def test_the_prompt_comes_with_its_sources(tmp_path: Path) -> None:
    store = incident(tmp_path / "dispatch.db")
    shown = run("show", store, "--as", "dispatch-openai", "--json").json
    assert set(shown) == {"messages", "sources", "lost"}
    assert shown["sources"]["messages.0"] == [1, 3, 4, 6, 7, 9]
    assert [lost["seqs"] for lost in shown["lost"]] == [[2, 5, 8], [10, 11]] and all(lost["why"] for lost in shown["lost"])
    plain = run("show", store, "--as", "dispatch-openai")
    assert json.loads(plain.out) == shown["messages"]


def test_a_synthetic_message_has_no_rows(tmp_path: Path) -> None:
    shown = run("show", make(tmp_path / "dispatch.db"), "--conversation", "0d6a27f3", "--as", "messages", "--json").json
    made_up = [message for message in shown["messages"] if message.get("synthetic")]
    assert [message["seqs"] for message in made_up] == [[]] and made_up[0]["chunks"][0]["seq"] is None


def test_several_conversations_are_named_and_none_is_guessed(tmp_path: Path) -> None:
    ran = run("show", make(tmp_path / "dispatch.db"))
    assert (ran.status, ran.out) == (2, "")
    assert "holds 6 conversations (" in ran.err and "and 1 more): pick one with --conversation." in ran.err
    assert run("show", tmp_path / "dispatch.db", "--conversation", CONVERSATION[:4]).status == 0


@pytest.mark.parametrize(
    ("wanted", "words"), [("zzz", "holds no conversation 'zzz'; it holds 6 conversations"), ("", "holds 6 conversations")]
)
def test_an_id_that_names_nothing_is_refused(tmp_path: Path, wanted: str, words: str) -> None:
    ran = run("show", make(tmp_path / "dispatch.db"), f"--conversation={wanted}")
    assert ran.status == 2 and words in ran.err and ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--reader", "nobody"), "There is no reader 'nobody'; `readers` lists them"),
        (("--as", "nothing"), "There is no projection 'nothing'; `projections` lists them."),
        (("--format", "nothing"), "There is no format 'nothing'; `formats` lists them."),
        (("--revision", "1"), "import it"),
    ],
)
def test_a_wrong_name_is_one_sentence(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    ran = run("show", incident(tmp_path / "dispatch.db"), "--as", "messages", *arguments)
    assert ran.status == 2 and words in ran.err and ran.err.count("\n") == 1


@pytest.mark.only_settles(False)
@pytest.mark.django_db
def test_an_imported_conversation_is_named_by_any_of_its_ids(tmp_path: Path) -> None:
    store = incident(tmp_path / "dispatch.db")
    run("import_source", store)
    oid = run("scan", store, "--json").json["conversations"][0]["id"]
    store.unlink()
    shown = [run("show", name) for name in (oid, oid[:5], oid.upper(), CONVERSATION)]
    assert {ran.status for ran in shown} == {0} and len({ran.out for ran in shown}) == 1
    assert run("show", oid, "--revision", "1").out == shown[0].out
    assert "has revisions 1 to 1, and no 2" in run("show", oid, "--revision", "2").err
    assert run("show", "fff").status == 2


@pytest.mark.only_settles(False)
@pytest.mark.django_db
def test_an_existing_path_wins_over_an_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("import_source", incident(tmp_path / "dispatch.db"))
    (tmp_path / CONVERSATION).write_bytes(b"no store")
    monkeypatch.chdir(tmp_path)
    assert "is no store" in run("show", CONVERSATION).err


def test_hostile_ids_and_content_cannot_drive_the_terminal(tmp_path: Path) -> None:
    native = "x\x1b[2J\u202e"
    row = {"chunk": {"type": "text", "text": "\x9b31m \u202e evil \ud800"}, "role": "user", "msgIdx": 0, "chunkIdx": 0}
    store = make(tmp_path / "dispatch.db", [("conversation-store", f"conv:{native}:chunk:0000000001", json.dumps(row))])
    for arguments in (("show",), ("show", "--as", "messages"), ("show", "--as", "dispatch-openai"), ("scan",), ("scan", "--json")):
        ran = run(arguments[0], store, *arguments[1:])
        assert ran.status in (0, 1) and not set("\x1b\x9b\u202e\ud800") & set(ran.out + ran.err), arguments
    assert run("scan", store, "--json").json["conversations"][0]["native_id"] == native
    refused = run("show", store, "--conversation", "\x1b]0;evil")
    assert refused.status == 2 and "\x1b" not in refused.err


def test_a_number_over_the_range_of_a_double_is_still_json(tmp_path: Path) -> None:
    row = '{"chunk":{"type":"tool-call","toolCallId":"a","toolName":"t","input":{"n":1e999}},"role":"assistant","msgIdx":0,"chunkIdx":0}'
    store = make(tmp_path / "dispatch.db", [("conversation-store", "conv:c:chunk:0000000001", row)])
    ran = run("show", store, "--as", "messages", "--json")
    assert "Infinity" not in ran.out and ran.json["messages"][0]["chunks"][0]["input"] == {"n": None}
