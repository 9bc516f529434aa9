"""Session files that programs do not open or read otherwise, and plans that say what no plan of ours would: one sentence each, and no byte is changed."""

from dataclasses import replace
from typing import Any

import pytest

from inspector.conversation.edits import Plan, Safety
from inspector.conversation.model import Conversation
from inspector.planning.preview import compose, digest, preview
from inspector.programs.formats import Format, Stored, WriteRefused
from inspector.programs.pi_openclaw.openclaw import OPENCLAW
from inspector.programs.pi_openclaw.pi import PI
from inspector.readers.catalogue import reader
from inspector.rules.base import Case, case_of
from inspector.strategies.catalogue import strategy
from tests.programs.pi_openclaw.session_files import a, call, header, line, lines, pi, r, records, text, u

BOM = b"\xef\xbb\xbf"
# A call without a result, in whose place a strategy can put one.
ROWS = (u("u1", None), a("a1", "u1", call("c1")), u("u2", "a1"))
BROKEN = lines(header(), *ROWS)
FRESH = "11111111-2222-5333-8444-555555555555"
INSERT, REPLAY, NEW = "insert-and-reparent", "replay-suffix", "new-session"


def failure(found: Conversation, name: str) -> str:
    return case_of(found, name).reading.failure


def planned(data: bytes, mode: str, name: str, form: Format, by: str) -> tuple[Case, Stored, Plan]:
    (held,) = form.read(records({"sessions/s.jsonl": data}))
    case = case_of(held.conversation, by)
    path = replace(held, conversation=case.conversation)
    edits = compose(case, [strategy(name)])
    return case, path, Plan("/data/sessions", "s", mode, (name,), frozenset[Safety](), digest(path), edits, form.options(mode, path, FRESH))


def written(data: bytes, mode: str, name: str = "insert-plain-result", by: str = "verbatim", **options: str) -> bytes:
    _, path, plan = planned(data, mode, name, PI, by)
    (change,) = PI.write(replace(plan, options={**plan.options, **options}), path)
    assert change.after is not None
    return change.after.data


@pytest.mark.parametrize("value", [5, None, {}, [], True, ...])
def test_a_header_whose_id_is_no_text_is_none_for_pi(value: Any) -> None:
    """It was passed as a good one, though pi 0.73.1 overwrites such a file when it opens it."""
    found = pi(lines(header(id=value), *ROWS))
    assert "id of the session header is no text" in (found.fact("headerProblem") or "")
    assert "overwritten" in failure(found, "pi-0.69") and "not a valid pi session" in failure(found, "pi-1.5")


def test_a_byte_order_mark_hides_the_header_from_newer_programs_only() -> None:
    """pi 0.73.1 trims the text before it parses the lines; 0.87.1 parses each line as it is."""
    found = pi(BOM + BROKEN)
    assert "byte order mark" in (found.fact("headerProblem") or "") and found.fact("id") == header()["id"]
    assert not failure(found, "pi-0.69") and "not a valid pi session" in failure(found, "pi-1.5")
    assert "overwritten" in failure(pi(BOM + lines(*ROWS)), "pi-0.69")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (BOM + BROKEN, "begins with a byte order mark"),
        (lines(header(id=5), *ROWS), "id of the session header is no text"),
        (lines(*ROWS), "does not begin with a session header"),
        (b"\n" + BROKEN, "Other lines come before the session header"),
        (b"{torn\n" + BROKEN, "Other lines come before the session header"),
    ],
)
def test_a_file_that_no_program_opens_is_repaired_in_a_new_one_only(data: bytes, said: str) -> None:
    if data.startswith(b"{torn"):
        data = data.replace(b"{torn", b"torn")
    for mode in (INSERT, REPLAY):
        with pytest.raises(WriteRefused, match=f"{said}.*--mode new-session"):
            written(data, mode)
    found = pi(written(data, NEW), "n.jsonl")
    assert found.fact("headerProblem") is None and found.native_id == FRESH and len(found.chunks) == 4


@pytest.mark.parametrize("mode", [INSERT, REPLAY])
@pytest.mark.parametrize("end", [b"\r", b"", b"\r\n"])
def test_a_line_end_that_was_cut_off_is_completed_and_no_line_is_changed(mode: str, end: bytes) -> None:
    """After a CR alone another CR LF was put, which changed that line, and every repair was refused."""
    data = BROKEN.replace(b"\n", b"\r\n").removesuffix(b"\r\n") + end
    found = written(data, mode)
    assert found.endswith(b"\n") and b"\r\r" not in found
    assert sum(bool(each) and not each.endswith(b"\r") for each in found.split(b"\n")) == (not end)
    assert found.startswith(data.removesuffix(b"\r\n").removesuffix(b"\r") if mode == REPLAY else line(header()))


@pytest.mark.parametrize("name", ["", "../x", "a/b", "/etc/x", "..", "a\nb", "a\0b", "<b>", "x" * 129])
def test_an_id_of_a_plan_file_that_would_lead_elsewhere_is_refused(name: str) -> None:
    """The id of a new session becomes the name of its file; a plan that was saved to a file can be changed there."""
    with pytest.raises(WriteRefused, match="none that a program takes; make the plan again"):
        written(BROKEN, NEW, fork_id=name)


def test_a_last_line_without_id_is_written_under_one() -> None:
    nameless = {name: value for name, value in u("", "r1").items() if name != "id"}
    data = lines(header(), u("u1", None), a("a1", "u1", call("c1"), text("x")), r("r1", "nowhere", "c1"), nameless)
    for by in ("verbatim", "pi-0.87"):
        _, path, plan = planned(data, REPLAY, "reparent-orphan-entry", PI, by)
        if plan.edits:
            (change,) = PI.write(plan, path)
            assert change.after is not None and change.after.data.startswith(data)
            (again,) = PI.read(records({"s.jsonl": change.after.data}))
            after = case_of(again.conversation, by).reading.messages
            assert [chunk.text for chunk in after[-1].chunks] == ["go"] and again.conversation.fact("lines-no-id") is not None
            return
    pytest.fail("no reader proposed anything")


@pytest.mark.parametrize("mode", [REPLAY, INSERT, NEW])
def test_what_comes_after_a_last_line_without_id_hangs_below_its_new_one(mode: str) -> None:
    last = {name: value for name, value in a("", "u1", text("well"), call("c1")).items() if name != "id"}
    _, path, plan = planned(lines(header(), u("u1", None), last), mode, "insert-pi-result", PI, "pi-0.87")
    (change,) = PI.write(plan, path)
    assert change.after is not None
    (again,) = PI.read(records({"s.jsonl": change.after.data}))
    reading = case_of(again.conversation, "pi-0.87").reading
    assert [message.role for message in reading.messages] == ["user", "assistant", "tool"] and not reading.report["syntheticResults"]


def test_a_path_that_the_reader_would_not_take_is_refused_in_a_sentence() -> None:
    """OpenClaw 2026.7 passes over entries of types it does not know, and the path to the found parent leads over one."""
    strange = {**u("k1", "u1"), "type": "2026-13-45"}
    rows = (u("u1", None), strange, a("a1", "k1", text("hm")), u("u2", "nowhere"), a("a2", "u2", text("well")), u("u3", "a2"))
    by = "openclaw-2026.7"
    assert reader(by).name == by
    case, path, plan = planned(lines(header(), *rows), REPLAY, "reparent-orphan-entry", OPENCLAW, by)
    assert plan.edits
    with pytest.raises(WriteRefused, match="would take another path from what is written"):
        preview(case, path, OPENCLAW, plan, [strategy("reparent-orphan-entry")], "anthropic", "anthropic-2026-07")
