"""A client that asks the same again: equal request bodies within one file, one folder, or what was imported of one."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from inspector.demo.stream_incident import PREMATURE, capture_files
from inspector.streams.captures import own
from inspector.streams.model import Exchange, How, Side
from inspector.streams.repeated_requests import repeated, request_digest
from tests.commands.running import run

from .spoken import DONE, ROLE, exchange, finish, sse, text

BODY: dict[str, Any] = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "When does the backup run?"}]}
GOOD = sse(ROLE, text("At 2."), finish(), DONE)
BAD = sse(ROLE, text("At"), DONE)


def asked(data: bytes = GOOD, name: str = "x", body: dict[str, Any] = BODY, status: int = 200) -> Exchange:
    return replace(exchange(data, how=How.EOF, request=body), native_id=name, title="", statuses={Side.CLIENT: status})


def written(path: Path, *exchanges: Exchange) -> Path:
    path.write_bytes(b"".join(line for each in exchanges for line in own.written(each)))
    return path


def repeats(path: Path, *options: str) -> dict[str, tuple[str, str]]:
    """Id of the stream -> severity and text of the finding."""
    ran = run("scan", path, "--json", *options)
    assert ran.status in (0, 1), ran.err
    found = {}
    for stream in ran.json["streams"]:
        for each in stream["findings"]:
            if each["code"] == "STREAM211":
                found[stream["native_id"]] = (each["severity"], each["message"])
    return found


def test_equal_bodies_are_equal_in_any_order_of_members() -> None:
    assert request_digest(BODY) == request_digest(dict(reversed(BODY.items()))) != ""
    assert request_digest(BODY) != request_digest(BODY | {"temperature": 0})
    assert request_digest(None) == request_digest({}) == request_digest({"model": "m"}) == request_digest({"messages": []}) == ""
    assert list(repeated(["a", "", "b", "a", "", "a"])) == [(0, 3, 5)]


@pytest.mark.django_db
class TestOneFile:
    def test_after_a_flawed_answer_it_is_a_warning(self, tmp_path: Path) -> None:
        path = written(tmp_path / "x.capture.jsonl", asked(BAD, "one"), asked(BAD, "two"), asked(GOOD, "three"))

        assert repeats(path) == {
            "one": ("note", "The client asked this 3 times: this is number 1, the others are two, three."),
            "two": (
                "warning",
                "The client asked this 3 times: this is number 2, the others are one, three. "
                "The answer to number 1 is flawed: STREAM108 missing-finish-reason.",
            ),
            "three": (
                "warning",
                "The client asked this 3 times: this is number 3, the others are one, two. "
                "The answer to number 1 is flawed: STREAM108 missing-finish-reason.",
            ),
        }

    @pytest.mark.parametrize("first", [asked(GOOD, "one"), asked(BAD, "one", status=503)], ids=["a good answer", "an HTTP error"])
    def test_after_an_answer_that_explains_nothing_it_is_a_note(self, first: Exchange, tmp_path: Path) -> None:
        assert {severity for severity, _ in repeats(written(tmp_path / "x.capture.jsonl", first, asked(GOOD, "two"))).values()} == {"note"}

    def test_another_question_is_none(self, tmp_path: Path) -> None:
        other = BODY | {"messages": [*BODY["messages"], {"role": "assistant", "content": "At 2."}, {"role": "user", "content": "And?"}]}
        no_body = replace(asked(GOOD, "three"), request=None)

        assert (
            repeats(
                written(
                    tmp_path / "x.capture.jsonl", asked(BAD, "one"), asked(GOOD, "two", other), no_body, replace(no_body, native_id="four")
                )
            )
            == {}
        )

    def test_one_stream_of_several_knows_the_others(self, tmp_path: Path) -> None:
        path = written(tmp_path / "x.capture.jsonl", asked(BAD, "one"), asked(GOOD, "two"))

        assert list(repeats(path, "--conversation", "two")) == ["two"] and repeats(path, "--conversation", "two")["two"][0] == "warning"

    def test_a_har(self, tmp_path: Path) -> None:
        request = {
            "method": "POST",
            "url": "https://h/v1/chat/completions",
            "postData": {"mimeType": "application/json", "text": json.dumps(BODY)},
        }
        content = {"text": GOOD.decode(), "mimeType": "text/event-stream", "size": len(GOOD)}
        entry = {"request": request, "response": {"status": 200, "headers": [], "content": content}}
        (tmp_path / "x.har").write_text(json.dumps({"log": {"version": "1.2", "entries": [entry, entry]}}))

        assert [severity for severity, _ in repeats(tmp_path / "x.har").values()] == ["note", "note"]


@pytest.mark.django_db
class TestFolder:
    """As the recorder writes them: each exchange a file."""

    def test_a_folder_of_captures_is_scanned_as_one_session(self, tmp_path: Path) -> None:
        bug = capture_files()[f"{PREMATURE}.capture.jsonl"]
        for name in ("0001.capture.jsonl", "0002.capture.jsonl", "later/0003.capture.jsonl"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(bug)
        (tmp_path / "notes.txt").write_text("no capture")
        ran = run("scan", tmp_path)

        assert ran.status == 1 and ran.out.count("STREAM211 request-repeated") == 3
        assert "The client asked this 3 times: this is number 2, the others are 0001.capture.jsonl, later/0003.capture.jsonl." in ran.out
        assert "The answer to number 1 is flawed: STREAM101 premature-terminal." in ran.out
        report = run("scan", tmp_path, "--json").json
        assert report["source"]["format"] == "captures" and [each["file"] for each in report["streams"]] == [
            "0001.capture.jsonl",
            "0002.capture.jsonl",
            "later/0003.capture.jsonl",
        ]
        assert len({each["id"] for each in report["streams"]}) == 3

    def test_what_cannot_be_read_is_named_and_the_rest_is_judged(self, tmp_path: Path) -> None:
        written(tmp_path / "a.capture.jsonl", asked(GOOD, "a"))
        (tmp_path / "b.har").write_text('{"log": {"entries": []}}')
        ran = run("scan", tmp_path)

        assert ran.status == 0 and "Problem, b.har: " in ran.out and "Nothing wrong" not in ran.err

    def test_other_commands_want_one_file(self, tmp_path: Path) -> None:
        written(tmp_path / "a.capture.jsonl", asked())

        for words in (("show",), ("repair", "--plan"), ("import_source",)):
            ran = run(words[0], tmp_path, *words[1:])
            assert ran.status == 2 and "a folder with captures of streams (a.capture.jsonl)" in ran.err


@pytest.mark.django_db
def test_pages_of_imported_streams_link_to_the_others(client: Client, tmp_path: Path) -> None:
    paths = [written(tmp_path / f"{number}.capture.jsonl", asked(BAD, f"ask-{number}")) for number in range(3)]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    paths.append(written(elsewhere / "other.capture.jsonl", asked(GOOD, "elsewhere")))
    assert run("import_source", *paths).status == 0
    listed = client.get("/streams.json").json()["streams"]
    oids = {each["native_id"]: each["id"] for each in listed}

    report = client.get(f"/streams/{oids['ask-1']}.json").json()
    assert report["same_request"] == [oids["ask-0"], oids["ask-2"]]
    page = client.get(f"/streams/{oids['ask-1']}/").content.decode()
    assert "The client asked this 3 times" in page and f"/streams/{oids['ask-2']}/" in page
    assert client.get(f"/streams/{oids['elsewhere']}.json").json()["same_request"] == []
    # A second import of the same files keeps it.
    assert run("import_source", *paths).status == 0
    assert client.get(f"/streams/{oids['ask-1']}.json").json()["same_request"] == [oids["ask-0"], oids["ask-2"]]
