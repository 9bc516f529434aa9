"""No address, twin, command, bundle or search gives a secret to who has not asked to reveal it, whatever field of whatever store it is in."""

import base64
import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from django.test import Client, override_settings

from inspector.actions.import_source import import_targets
from inspector.actions.seal_bundle import seal_imported
from inspector.demo import dispatch_incident, gbrain_incident, rollouts_incident
from inspector.demo.branch_incident import openclaw_files, pi_files
from inspector.demo.creation import write_dispatch_store, write_trace_store
from inspector.demo.stream_incident import capture_files
from inspector.models import AuditEntry, Conversation, Source
from tests.accounts import account
from tests.commands.running import run
from tests.programs.gemini_cli.test_kit import SAMPLES as GEMINI_CLI
from tests.programs.opencode.test_opencode import SAMPLES as OPENCODE
from tests.testing.test_own_programs import SAMPLES as OWN
from tests.views.imported import rows, store
from tests.views.reaching import Walk, propose_everywhere, whole, write_files

# Invented, and put together here so that no scanner takes this file for a leak.
CANARY = "ghp_" + "Cnry7Hq2Zt9LmXc4Vb8NwRkY3sPdFgTj6Ua"
PASSWORD = "hunter2-Cnry"


def _planted(data: bytes) -> bytes:
    """The canary in the texts of a store of JSON: at the end of each that says something, whatever the field is called."""
    return b"\n".join(_line(line) for line in data.split(b"\n"))


def _line(line: bytes) -> bytes:
    try:
        value = json.loads(line)
    except ValueError:
        return line
    return json.dumps(_value(value)).encode()


_FIELDS = frozenset(
    (
        "text",
        "thinking",
        "content",
        "title",
        "name",
        "label",
        "summary",
        "error",
        "errorMessage",
        "cwd",
        "command",
        "query",
        "path",
        "value",
        "message",
    )
)


def _value(value: object, name: str = "") -> object:
    if isinstance(value, dict):
        return {key: _value(member, key) for key, member in value.items()}
    if isinstance(value, list):
        return [_value(member, name) for member in value]
    return f"{value} {CANARY}" if isinstance(value, str) and name in _FIELDS and value else value


def _rows() -> list[tuple[str, str, str]]:
    """A conversation of Dispatch with the canary in every field, and one with it in its id."""
    chunks = [
        {"chunk": {"type": "text", "text": f"use {CANARY}"}, "role": "user", "msgIdx": 0, "chunkIdx": 0},
        {"chunk": {"type": "thinking", "text": f"the key is {CANARY}"}, "role": "assistant", "msgIdx": 1, "chunkIdx": 0},
        {
            "chunk": {"type": "tool-call", "toolCallId": f"call_{CANARY}", "toolName": f"run {CANARY}", "input": {"password": PASSWORD, "token": CANARY}},
            "role": "assistant", "msgIdx": 1, "chunkIdx": 1,
        },
        {
            "chunk": {"type": "tool-result", "toolCallId": f"call_{CANARY}", "toolName": f"run {CANARY}", "output": f"DB_PASSWORD={PASSWORD}\n{CANARY}", "isError": True},
            "role": "tool", "msgIdx": 2, "chunkIdx": 0,
        },
        {"chunk": {"type": "error", "message": f"401: {CANARY} is not a key"}, "role": f"assistant {CANARY}", "msgIdx": 1, "chunkIdx": 0},
        {"chunk": {"type": "what", CANARY: CANARY}, "role": "user", "msgIdx": 1, "chunkIdx": 0},
    ]  # fmt: skip
    broken = [("conversation-store", f"conv:canary-1:chunk:{9:010d}", f'{{"chunk": {{"type": "text", "text": "{CANARY}')]
    return [*rows("canary-1", chunks, f"Title {CANARY}"), *broken, *rows(f"id-{CANARY}", chunks[:2], "Other")]


@pytest.fixture
def planted(db: None, tmp_path: Path) -> list[Source]:
    """A store of each program with the canary, in a folder whose name has it too."""
    folder = tmp_path / f"of {CANARY}"
    folder.mkdir()
    store(folder / "dispatch.db", _rows())
    write_dispatch_store(folder / "incident.db", dispatch_incident.store_rows())
    write_trace_store(folder / "traces.db", dispatch_incident.trace_records())
    import_targets([str(folder / "incident.db"), str(folder / "traces.db")], "tester")
    for name, files in (("rollouts", rollouts_incident.incident_files()), ("openclaw", openclaw_files()), ("pi", pi_files())):
        write_files(folder / name, {path: _planted(data) for path, data in files.items()})
        import_targets([str(folder / name)], "tester")
    samples = (OWN["claude-code"], OWN["codex"], GEMINI_CLI["resumed"], OPENCODE["opencode-storage"], OPENCODE["opencode-export"])
    for number, sample in enumerate(samples):
        (folder / f"sample {number}").mkdir()
        path = sample.make(folder / f"sample {number}")
        for file in (folder / f"sample {number}").rglob("*.json*"):
            file.write_bytes(_planted(file.read_bytes()))
        import_targets([path], "tester")
    script = gbrain_incident.script().replace("claude", f"claude {CANARY}")
    (folder / "gbrain.sql").write_text(script)
    body = {"model": "gpt-4.1", "user": CANARY, "messages": [{"role": "user", "content": f"hi {CANARY}"}, {"role": "assistant"}]}
    (folder / "request.json").write_text(json.dumps(body))
    for name, data in list(capture_files().items())[:2]:
        (folder / Path(name).name).write_bytes(data.replace(b"hello", CANARY.encode()))
        import_targets([str(folder / Path(name).name)], "tester")
    import_targets([str(folder / "gbrain.sql"), str(folder / "request.json")], "tester")
    return list(Source.objects.all())


def _leaks(data: bytes) -> bool:
    return b"Cnry" in data


def _content(answer: object) -> bytes:
    data = whole(answer)  # type: ignore[arg-type]
    if data[:2] == b"PK":
        archive = zipfile.ZipFile(io.BytesIO(data))
        data = b"\n".join(archive.read(name) for name in archive.namelist())
    headers = "\n".join(f"{name}: {value}" for name, value in answer.headers.items())  # type: ignore[attr-defined]
    return data + headers.encode()


@pytest.mark.slow
def test_no_address_gives_the_canary(planted: Sequence[Source], client: Client) -> None:
    propose_everywhere()
    walk = Walk()
    walk.rows = list(Conversation.objects.select_related("source"))
    assert {"claude-code", "codex", "gemini-cli", "opencode-storage", "opencode-export"} <= {row.source.format for row in walk.rows}
    walk.values["conversations"] = [row.oid for row in walk.rows]
    walk.values["position"] = [0, 1, 2, 3, 4, 5]
    addresses = walk.addresses()
    assert len(addresses) > 150
    leaking = []
    for address in addresses:
        answer = client.get(address)
        assert answer.status_code < 500, address
        if _leaks(_content(answer)):
            data = _content(answer)
            at = data.find(b"Cnry")
            leaking.append(f"{address}: {data[max(0, at - 60) : at + 60]!r}")
    assert not leaking, "\n".join(leaking)


COMMANDS = (
    ("show",), ("show", "--as", "messages"), ("show", "--as", "notation"), ("show", "--as", "anthropic"), ("show", "--as", "tree"), ("show", "--trace"),
    ("scan",), ("scan", "--json"), ("show", "--json"), ("show", "--as", "messages", "--json"), ("show", "--as", "anthropic", "--json"),
    ("extract",), ("repair", "--plan"), ("repair", "--plan", "--json"), ("repair", "--diff"), ("whatif",), ("whatif", "--json"), ("doctor",), ("doctor", "--json"),
    ("verify",), ("explain", f"messages.1: {CANARY} is no key", "--target"), ("check",), ("check", "--output", "sarif"), ("check", "--output", "junit"),
    ("bundle", "--out", "OUT"),
)  # fmt: skip
"""Each with a target after it. Whatever a command answers, a refusal too, has no secret in it."""


@pytest.mark.slow
def test_no_command_prints_the_canary(planted: Sequence[Source], tmp_path: Path) -> None:
    leaking = []
    for row in Conversation.objects.select_related("source"):
        for number, command in enumerate(COMMANDS):
            out = tmp_path / f"{row.oid}-{number}.zip"
            name, *rest = [str(out) if word == "OUT" else word for word in command]
            ran = run(name, *([*rest, row.oid] if rest[-1:] == ["--target"] else [row.oid, *rest]))
            data = ran.out.encode() + ran.err.encode()
            if out.exists():
                archive = zipfile.ZipFile(out)
                data += b"".join(archive.read(member) for member in archive.namelist())
            if _leaks(data):
                at = data.find(b"Cnry")
                leaking.append(f"{command} {row.source.format}: {data[max(0, at - 80) : at + 60]!r}")
    assert not leaking, "\n".join(leaking)


@pytest.mark.slow
def test_no_search_matches_a_secret(planted: Sequence[Source], client: Client) -> None:
    """Letter by letter, what matches would give away what the mask hides."""
    row = Conversation.objects.get(native_id="canary-1")

    def rows_with(part: str) -> int:
        return client.get(f"/conversations/{row.oid}/", {"q": part}).content.decode().count("/chunks/")

    assert rows_with("the key is") > rows_with("what no row has")
    assert row.oid in str(client.get("/conversations.json", {"q": "the key is"}).json())
    for part in ("ghp_Cnry7", CANARY[8:16], CANARY[-6:], "hunter2", "er2-Cn"):
        assert row.oid not in str(client.get("/conversations.json", {"q": part}).json()), part
        assert rows_with(part) == rows_with("what no row has"), part
        assert not client.get("/streams.json", {"q": part}).json()["streams"], part
    assert row.oid in str(client.get("/conversations.json", {"q": "masked github-token"}).json())


@pytest.mark.slow
def test_a_masked_bundle_of_every_program_has_no_secret_and_opens(planted: Sequence[Source], tmp_path: Path) -> None:
    for row in Conversation.objects.select_related("source"):
        path = tmp_path / f"{row.oid}.zip"
        path.write_bytes(seal_imported(row, True, "tester"))
        archive = zipfile.ZipFile(path)
        where = f"{row.source.format} {row.oid}"
        assert not any(_leaks(archive.read(name)) for name in archive.namelist()), where
        source = import_targets([str(path)], "tester")[0].source
        # What it was compacted from comes along.
        again = source.conversations.get(identity=row.identity)
        assert source.problems == [] and again.chunk_count == row.chunk_count, where


def test_who_reveals_sees_what_is_stored_and_is_in_the_audit_trail(planted: Sequence[Source], client: Client) -> None:
    row = Conversation.objects.get(native_id="canary-1")
    for address in (
        f"/conversations/{row.oid}/",
        f"/conversations/{row.oid}/chunks/0/raw/",
        f"/conversations/{row.oid}.json",
        f"/conversations/{row.oid}/bundle.zip",
    ):
        before = AuditEntry.objects.filter(verb="reveal").count()
        answer = client.post(address, {"reveal": "1"})
        assert _leaks(_content(answer)), address
        assert answer["Cache-Control"] == "no-store" and "ETag" not in answer, address
        entry = AuditEntry.objects.filter(verb="reveal").first()
        assert entry is not None and AuditEntry.objects.filter(verb="reveal").count() == before + 1
        assert (entry.conversation, entry.detail["address"]) == (row.oid, address)
        assert not _leaks(_content(client.get(address))), "what follows is masked again"


def test_without_the_role_nothing_is_revealed(planted: Sequence[Source], client: Client) -> None:
    row = Conversation.objects.get(native_id="canary-1")
    user = account("bob", "viewer")
    client.force_login(user)
    with override_settings(INSPECTOR_LOCAL=False):
        page = f"/conversations/{row.oid}/"
        assert b'id="reveal"' not in client.get(page).content
        refused = client.post(page, {"reveal": "1"})
        assert (
            refused.status_code == 403
            and b"takes a proposer, and your role here is viewer. Ask an administrator for it." in refused.content
            and not _leaks(refused.content)
        )
        assert f'href="{page}">Back to the conversation</a>'.encode() in refused.content and b"<dt>viewer</dt>" in refused.content
        assert not AuditEntry.objects.filter(verb="reveal").exists()
        user.grants.update(role="proposer", is_masked=True)
        assert b"whose secrets stay masked" in client.post(page, {"reveal": "1"}).content
        user.grants.update(is_masked=False)
        assert b'id="reveal"' in client.get(page).content
        assert _leaks(client.post(page, {"reveal": "1"}).content)


def test_a_reveal_needs_the_token_of_the_form(planted: Sequence[Source]) -> None:
    row = Conversation.objects.get(native_id="canary-1")
    answer = Client(enforce_csrf_checks=True).post(f"/conversations/{row.oid}/", {"reveal": "1"})
    assert answer.status_code == 403 and not _leaks(answer.content)


def test_a_command_reveals_when_it_is_asked_to_and_says_so(planted: Sequence[Source], tmp_path: Path) -> None:
    row = Conversation.objects.get(native_id="canary-1")
    hidden = run("show", row.oid)
    assert CANARY not in hidden.out and "--reveal prints them" in hidden.err
    for option in ("--reveal", "--exact"):
        assert CANARY in run("show", row.oid, option).out
    assert AuditEntry.objects.filter(verb="reveal").count() == 2
    sealed = tmp_path / "exact.zip"
    assert run("bundle", row.oid, "--out", sealed, "--exact").status == 0
    assert any(_leaks(zipfile.ZipFile(sealed).read(name)) for name in zipfile.ZipFile(sealed).namelist())


def test_a_capture_is_masked_within_its_pieces(db: None, client: Client, tmp_path: Path) -> None:
    from inspector.models import Stream

    name, data = next(iter(capture_files().items()))
    line = json.dumps(
        {"t": 9000.0, "side": "backend", "dir": "in", "b64": base64.b64encode(f"data: {CANARY}\n\n".encode()).decode()},
        separators=(",", ":"),
    )
    head, _, rest = data.partition(b'{"t":')
    (tmp_path / name).write_bytes(head + line.encode() + b'\n{"t":' + rest)
    import_targets([str(tmp_path / name)], "tester")
    address = f"/streams/{Stream.objects.get().oid}/capture.jsonl"

    def pieces(answer: object) -> bytes:
        lines = (json.loads(line) for line in whole(answer).splitlines())  # type: ignore[arg-type]
        return b"".join(base64.b64decode(line["b64"]) for line in lines if "b64" in line)

    assert not _leaks(pieces(client.get(address))) and b"[masked github-token " in pieces(client.get(address))
    assert _leaks(pieces(client.post(address, {"reveal": "1"})))


def test_what_only_acts_reveals_nothing(planted: Sequence[Source], client: Client) -> None:
    source = planted[0]
    before = Conversation.objects.count()
    answer = client.post(f"/sources/{source.oid}/import/", {"reveal": "1"})
    assert not _leaks(_content(answer)) and not AuditEntry.objects.filter(verb="reveal").exists()
    assert Conversation.objects.count() == before
    assert client.post(f"/conversations/{Conversation.objects.all()[0].oid}/", {}).status_code == 405
