"""`whatif`: two readers side by side on a path without an import, and on all that was imported."""

from pathlib import Path

import pytest

from inspector.demo import gbrain_incident
from inspector.models import Source
from tests.commands.running import CONVERSATION, incident, make, run
from tests.programs.claude_code import session_lines as cc
from tests.sources.stores import prints

pytestmark = pytest.mark.only_settles

EXACT = ("--reader", "dispatch-legacy", "--reader", "exact")
OPTION_B = ("--reader", "dispatch-legacy", "--reader", "dispatch-global-index")


def test_a_path_needs_no_import_and_is_not_changed(tmp_path: Path) -> None:
    store = incident(tmp_path / "dispatch.db")
    before = prints(store)
    ran = run("whatif", store, *EXACT)
    assert ran.status == 0 and ran.out.startswith("exact instead of dispatch-legacy, on 1 conversation:")
    assert "they diverge at message 1: user, seq 1-11 | user, seq 1" in ran.out and "finding gone: MSG101 merged-messages" in ran.out
    assert prints(store) == before


def test_json_says_counts_examples_and_places(tmp_path: Path) -> None:
    ran = run("whatif", incident(tmp_path / "dispatch.db"), *EXACT, "--json")
    tallies = ["differ", "become_sendable", "better", "worse", "merged", "refused"]
    assert list(ran.json) == [
        "reader_a",
        "reader_b",
        "conversations",
        "retried",
        "standing",
        "shrunk",
        *tallies,
        "become_rejected",
        "kinds",
        "next_requests",
        "states",
        "differences",
    ]
    assert {kind: tally["count"] for kind, tally in ran.json["kinds"].items() if tally["count"]} == {"only_better": 1}
    (found,) = ran.json["differences"]
    assert [ran.json[name]["count"] for name in tallies] == [1, 1, 1, 0, 0, 0]
    assert ran.json["differ"]["examples"] == [found["id"]] and found["native_id"] == CONVERSATION
    assert (found["messages_stored"], found["messages_read"]) == (9, {"a": 3, "b": 8}) and found["sendable"] == {"a": False, "b": True}
    assert [each["code"] for each in found["findings_gone"]] == ["MSG101", "TOOL202", "TOOL202"] and found["findings_come"] == []
    assert [each["code"] for each in found["findings_stay"]] == ["THINK301", "THINK101"]


def test_a_reader_that_is_older_is_not_recommended(tmp_path: Path) -> None:
    store = make(tmp_path / "dispatch.db")
    assert "Older than" not in run("whatif", store, *EXACT).out
    session = cc.lines(cc.u("u1", None, "List the files"), cc.a("a1", "u1", "m1", cc.call("t1", command="ls")))
    folder = cc.write(tmp_path / "own", {f"{cc.PROJECT}/{cc.ID}.jsonl": session})
    ran = run("whatif", str(folder), "--reader", "claude-code", "--reader", "claude-code-2.1.126")
    assert "Older than what runs now: do not go back." in ran.out and "1 is read worse, 3 messages read become 1" in ran.out


def test_option_b_alone_repairs_nothing_that_is_stored(tmp_path: Path) -> None:
    ran = run("whatif", incident(tmp_path / "dispatch.db"), *OPTION_B, "--json")
    assert ran.status == 0 and ran.json["differ"]["count"] == 0 and ran.json["merged"]["count"] == 1 and ran.json["differences"] == []


def test_something_that_gets_worse_is_status_1_and_stands_first(tmp_path: Path) -> None:
    ran = run("whatif", make(tmp_path / "dispatch.db"), *EXACT)
    assert ran.status == 1
    first = ran.out.split("\n\n")[1]
    assert first.startswith("52f8c6d9") and "worse: the next request is rejected" in first


@pytest.mark.only_settles(False)
@pytest.mark.django_db
def test_without_a_target_all_that_was_imported_is_compared(tmp_path: Path) -> None:
    assert "import one first" in run("whatif", *EXACT).out
    run("import_source", make(tmp_path / "a.db"), incident(tmp_path / "b.db"))
    found = run("whatif", *EXACT, "--json").json
    assert (found["conversations"], found["become_sendable"]["count"]) == (7, 3)
    assert run("whatif", CONVERSATION[:8], *EXACT, "--traces", tmp_path / "none.db").status == 2
    assert Source.objects.count() == 2


@pytest.mark.only_settles(False)
@pytest.mark.django_db
def test_over_all_imports_only_conversations_of_the_readers_program_are_compared(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"model": "gpt-5", "messages": [{"role": "user", "content": "hi"}]}')
    (tmp_path / "gbrain.sql").write_bytes(gbrain_incident.script().encode())
    run("import_source", make(tmp_path / "a.db"))
    for name in ("a.json", "gbrain.sql"):
        assert run("import_source", tmp_path / name).status == 0
    ran = run("whatif", *EXACT, "--json")
    assert ran.json["conversations"] == 6
    assert f"{len(gbrain_incident.DEMO_JOBS) + 1} conversations of other programs: not compared" in ran.err
    jobs = run("whatif", "--reader", "gbrain-naive", "--reader", "gbrain-head", "--json")
    assert jobs.json["conversations"] == len(gbrain_incident.DEMO_JOBS)


@pytest.mark.only_settles(False)
@pytest.mark.django_db
def test_over_all_imports_each_conversation_is_compared_with_what_reads_its_source(tmp_path: Path) -> None:
    run("import_source", make(tmp_path / "a.db"), incident(tmp_path / "b.db"))
    Source.objects.filter(path__endswith="b.db").update(reader="exact")
    ran = run("whatif", *EXACT, "--json")
    assert ran.json["conversations"] == 6
    assert "Other readers run for 1 conversation of this program, not compared here: exact (1)." in ran.err
    supposed = run("whatif", "--reader", "dispatch-role-split", "--reader", "exact", "--json")
    assert supposed.json["conversations"] == 7
    assert "No source is read by dispatch-role-split: it is supposed to run. What runs now: dispatch-legacy (6), exact (1)." in supposed.err
    assert "run for" not in run("whatif", make(tmp_path / "c.db"), *EXACT, "--json").err, "of a path no source is asked"


def test_the_fixes_of_loader_repair_and_converter_are_compared_together(tmp_path: Path) -> None:
    store = incident(tmp_path / "dispatch.db")
    alone = run("whatif", store, "--reader", "dispatch-legacy", "--reader", "dispatch-legacy+keep-thinking")
    assert alone.status == 1 and "worse: seq 14 sent as the model's own answer (call syntax that leaked into thinking)" in alone.out
    together = run("whatif", store, "--reader", "dispatch-legacy", "--reader", "exact+keep-thinking+wrapped")
    assert together.status == 0 and "better: seq 2, 5, 8, 10-11, 14 in the request again" in together.out and "worse:" not in together.out


@pytest.mark.parametrize("command", ["scan", "show", "whatif", "repair"])
def test_a_reader_of_another_program_is_refused_in_one_sentence(tmp_path: Path, command: str) -> None:
    store = incident(tmp_path / "dispatch.db")
    more = {"whatif": ("--reader", "verbatim"), "repair": ("--strategy", "renumber-messages", "--plan")}.get(command, ())
    ran = run(command, store, "--reader", "verbatim", *more)
    assert ran.status == 2 and not ran.out and ran.err.count("\n") == 1
    assert "The reader verbatim does not read dispatch: name one of dispatch-legacy, " in ran.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--reader", "exact"), "whatif compares two readers"),
        (("--reader", "exact", "--reader", "pi-1.5"), "exact and pi-1.5 are readers of different programs"),
        (("--reader", "exact", "--reader", "pi-1.5+wrapped"), "There is no reader 'pi-1.5+wrapped'"),
        (("--reader", "exact", "--reader", "nobody"), "There is no reader 'nobody'"),
        ((*EXACT, "--profile", "nobody"), "There is no profile 'nobody'"),
        ((*EXACT, "--conversation", "c"), "name one, or leave them out"),
        (("missing.db", *EXACT), "does not exist"),
    ],
)
def test_bad_input_is_one_sentence(arguments: tuple[str, ...], words: str) -> None:
    ran = run("whatif", *arguments)
    assert ran.status == 2 and words in ran.err and ran.err.count("\n") == 1 and not ran.out
