"""A sealed conversation: the same bytes again, opened elsewhere it shows and finds the same, and nobody can write to it or change it unseen."""

import hashlib
import json
import struct
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from django.test import Client

from inspector.actions.import_source import import_targets
from inspector.actions.planning import request_for, web_may_write
from inspector.actions.problems import Refused
from inspector.actions.seal_bundle import seal_imported
from inspector.actions.set_write_back import set_write_back
from inspector.bundle import BrokenBundle, unseal
from inspector.models import AuditEntry, Conversation, Payload, Source, loading
from inspector.programs.formats import Cell
from inspector.sources import bundles, folders
from inspector.sources.bundles import NotABundle
from inspector.sources.problems import AlreadyThere
from tests.actions.building import A, Store, T, U, again, applied, bring, broken, imported, pairs, put, row, tc, tr
from tests.commands.running import run
from tests.kept import Kept
from tests.views import imported as pages

SECRET = "AKIAIOSFODNN7EXAMPLE"


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def opened(path: Path, data: bytes) -> Conversation:
    path.write_bytes(data)
    source = import_targets([str(path)], "tester")[0].source
    return Conversation.objects.select_related("source").filter(source=source).latest("chunk_count")


def found(conversation: Conversation) -> list[tuple[object, ...]]:
    return sorted(conversation.findings.values_list("code", "message", "seqs"))  # type: ignore[arg-type]


@pytest.fixture
def incident(db: None, kept: Kept) -> Conversation:
    return Conversation.objects.select_related("source").get(source=kept("example", pages.example), native_id=pages.INCIDENT)


def test_the_same_conversation_gives_the_same_file(incident: Conversation) -> None:
    assert seal_imported(incident, False, "a") == seal_imported(incident, False, "b")
    assert AuditEntry.objects.filter(verb="seal").count() == 2


def test_what_is_opened_is_what_was_sealed(incident: Conversation, tmp_path: Path) -> None:
    sealed = opened(tmp_path / "evidence.zip", seal_imported(incident, False, "a"))
    first, second = loading.stored(incident), loading.stored(sealed)
    assert first.records == second.records
    assert {name: fact.value for name, fact in first.conversation.facts.items()} == {
        name: fact.value for name, fact in second.conversation.facts.items()
    }
    assert found(sealed) == found(incident) != []
    assert (sealed.verdict, sealed.source.read_at) == (
        incident.verdict,
        incident.source.read_at.replace(microsecond=sealed.source.read_at.microsecond),
    )
    one, other = loading.trace(incident, pages.INCIDENT), loading.trace(sealed, pages.INCIDENT)
    assert one is not None and other is not None
    assert [step.step_id for step in one.steps()] == [step.step_id for step in other.steps()] != []
    names = [span.body for step in other.steps() for span in (step.prompt, step.request) if span and span.body]
    assert names and [one.bodies(name) for name in names] == [other.bodies(name) for name in names]


def test_pages_of_an_opened_bundle_work_and_say_that_it_is_sealed(incident: Conversation, tmp_path: Path, client: Client) -> None:
    sealed = opened(tmp_path / "evidence.zip", seal_imported(incident, False, "a"))
    step = client.get(f"/conversations/{incident.oid}/trace.json").json()
    assert client.get(f"/conversations/{sealed.oid}/trace.json").json().keys() == step.keys()
    for part in ("", "trace/", "prompt/", "chunks/0/", "repairs/new/?strategy=renumber-messages"):
        assert client.get(f"/conversations/{sealed.oid}/{part}").status_code == 200, part
    page = client.get(f"/sources/{sealed.source.oid}/").content.decode()
    assert "nothing is ever written to it" in page and "answer for writes" not in page
    assert incident.source.path in page
    assert "bundle.zip" not in client.get(f"/conversations/{sealed.oid}/").content.decode()
    assert client.get("/formats/").status_code == client.get("/sources/").status_code == 200


def test_a_bundle_is_never_written(incident: Conversation, tmp_path: Path, settings: object) -> None:
    settings.INSPECTOR_WRITE_BACK = True  # type: ignore[attr-defined]
    sealed = opened(tmp_path / "evidence.zip", seal_imported(incident, False, "a"))
    assert not web_may_write(sealed.source)
    with pytest.raises(Refused, match="sealed"):
        set_write_back(sealed.source, "a", True, answers_for_it=True)
    with pytest.raises(Refused, match="sealed"):
        request_for(sealed.source, loading.stored(sealed), ["renumber-messages"], "in-place")
    for more in (["--apply"], ["--plan"], ["--out", str(tmp_path / "copy.db")]):
        ran = run("repair", tmp_path / "evidence.zip", "--strategy", "renumber-messages", *more)
        assert ran.status == 2 and "sealed" in ran.err
    with pytest.raises(Refused, match="already"):
        seal_imported(sealed, False, "a")


def test_masked_texts_are_gone_and_their_digests_stay(db: None, tmp_path: Path) -> None:
    said = Store().append(U(f"my key is {SECRET}"), A("ok", tc("x", input={"password": "hunter2hunter2"})), T(tr("x", f"got {SECRET}")))
    original = imported(tmp_path / "dispatch.db", said)
    data = seal_imported(original, True, "a")
    assert SECRET.encode() not in b"".join(members(data).values())
    manifest = json.loads(members(data)["manifest.json"])
    assert manifest["masked"] and "masked" in manifest["note"]
    lines = [json.loads(line) for line in members(data)["conversations/0.ndjson"].splitlines()]
    assert {line["sha256"] for line in lines} == {
        json.loads(line)["sha256"] for line in members(seal_imported(original, False, "a"))["conversations/0.ndjson"].splitlines()
    }
    sealed = opened(tmp_path / "evidence.zip", data)
    chunks = loading.stored(sealed).conversation.chunks
    assert [(chunk.kind, chunk.msg_idx) for chunk in chunks] == [
        (chunk.kind, chunk.msg_idx) for chunk in loading.stored(original).conversation.chunks
    ]
    assert "[masked " in chunks[0].text
    source = Source.objects.get(pk=sealed.source_id)
    assert "masked texts are not the stored bytes" in source.provenance and source.problems == []


def test_masked_bodies_get_the_name_of_what_they_hold_now(incident: Conversation, tmp_path: Path) -> None:
    body = next(name for name in members(seal_imported(incident, False, "a")) if name.startswith("traces/bodies/")).rsplit("/", 1)[1]
    loading.body.cache_clear()
    Payload.objects.filter(pk=body).update(data=json.dumps({"messages": [], "note": SECRET}).encode(), gzipped=False)
    data = seal_imported(incident, True, "a")
    rows = {row["name"]: row for row in json.loads(members(data)["manifest.json"])["members"]}
    assert [row["original_sha256"] for row in rows.values() if "original_sha256" in row] == [body]
    assert SECRET.encode() not in b"".join(members(data).values())
    opened(tmp_path / "evidence.zip", data)


def test_the_archive_comes_along_and_repairs_are_kept(db: None, tmp_path: Path) -> None:
    store = broken()
    store.append(U("first"), A("one"), to="archive").append(U("second"), to="other")
    meta = json.loads(store.values["conv:c1:meta"])
    store.values["conv:c1:meta"] = json.dumps({**meta, "compactedFrom": "archive"})
    path = tmp_path / "dispatch.db"
    conversation = imported(path, store)
    applied(conversation, "renumber-messages")
    held = members(seal_imported(again(path), False, "a"))
    manifest = json.loads(held["manifest.json"])
    assert [(each["native_id"], each["part"]) for each in manifest["conversations"]] == [("c1", "sealed"), ("archive", "archive")]
    repairs = json.loads(held["repairs.json"])
    assert [(each["state"], each["plan"]["plan_digest"] == each["plan_digest"]) for each in repairs] == [("verified", True)]
    sealed = opened(tmp_path / "evidence.zip", seal_imported(again(path), False, "a"))
    case = loading.case(sealed, sealed.source.reader)
    assert case.archive is not None and [chunk.text for chunk in case.archive.chunks] == ["first", "one"]


def test_ids_that_bleed_are_sealed_with_it_and_the_rule_still_speaks(db: None, tmp_path: Path) -> None:
    store = Store().append(U("hello"), A("hi"), to="c_1").append(U("private"), to="cX1")
    original = imported(tmp_path / "dispatch.db", store, "c_1")
    data = seal_imported(original, False, "a")
    assert b"private" not in b"".join(members(data).values())
    path = tmp_path / "evidence.zip"
    sealed = opened(path, data)
    assert found(sealed) == found(original) and "STORE303" in [code for code, *_ in found(sealed)]
    scanned = run("scan", path, "--json").json["conversations"][0]["findings"]
    assert "STORE303" in [finding["code"] for finding in scanned]
    assert loading.stored(sealed).records == loading.stored(original).records
    manifest = json.loads(members(data)["manifest.json"])
    for wrong in ("cX1", [1], {"a": "b"}, 7):
        manifest["conversations"][0]["bleeding"] = wrong
        with pytest.raises(BrokenBundle, match="mistaken for"):
            unseal({**members(data), "manifest.json": json.dumps(manifest).encode()})


@pytest.mark.parametrize("mask", [False, True])
def test_where_it_was_sealed_is_provenance_and_no_problem(incident: Conversation, tmp_path: Path, client: Client, mask: bool) -> None:
    sealed = opened(tmp_path / "evidence.zip", seal_imported(incident, mask, "a"))
    page = client.get(f"/sources/{sealed.source.oid}/").content.decode()
    assert "Problems found" not in page and "--apply-plan" not in page and "Every write still needs" not in page
    assert f"sealed from {incident.source.path} (dispatch), which was read at" in page
    assert ("masked texts are not the stored bytes" in page) == mask
    assert "sealed from" in client.get(f"/conversations/{sealed.oid}/").content.decode()
    told = client.get(f"/sources/{sealed.source.oid}.json").json()
    assert told["problems"] == [] and told["provenance"].startswith("sealed from")
    listed = client.get("/sources/").content.decode()
    assert "problem when read" not in listed
    original = client.get(f"/sources/{incident.source.oid}/").content.decode()
    assert "--apply-plan" in original and "sealed from" not in original


def test_an_import_of_before_shows_no_problem_once_it_is_read_again(incident: Conversation, tmp_path: Path) -> None:
    sealed = opened(tmp_path / "evidence.zip", seal_imported(incident, False, "a"))
    Source.objects.filter(pk=sealed.source_id).update(problems=[{"where": "manifest.json", "reason": "An evidence bundle of"}], sealed="")
    source = bring(tmp_path / "evidence.zip")[0].source
    assert source.problems == [] and source.provenance.startswith("sealed from")


@pytest.mark.parametrize("kind", ["\ud800", "json", ""])
def test_a_record_of_a_kind_that_no_store_has_is_refused(incident: Conversation, kind: str) -> None:
    held = members(seal_imported(incident, False, "a"))
    lines = held["conversations/0.ndjson"].splitlines()
    lines[0] = json.dumps({**json.loads(lines[0]), "type": kind}).encode()
    with pytest.raises(BrokenBundle, match="which no store has"):
        unseal(resealed(held, "conversations/0.ndjson", b"\n".join(lines)))


def test_a_trace_that_names_a_body_otherwise_is_refused(incident: Conversation) -> None:
    held = members(seal_imported(incident, False, "a"))
    lines = held["traces/records.ndjson"].splitlines()
    lines[0] = json.dumps({**json.loads(lines[0]), "body": "\ud800"}).encode()
    with pytest.raises(BrokenBundle, match="by its digest"):
        unseal(resealed(held, "traces/records.ndjson", b"\n".join(lines)))


def test_a_trace_nested_deeper_than_any_source_may_is_refused(incident: Conversation) -> None:
    """Pages read it back from deeper down the stack than the import does."""
    held = members(seal_imported(incident, False, "a"))
    first, *rest = held["traces/records.ndjson"].splitlines()
    row = json.dumps({**json.loads(first), "attributes": {"deep": 0}}).replace('{"deep": 0}', '{"deep": ' + "[" * 900 + "]" * 900 + "}")
    with pytest.raises(BrokenBundle, match="nested more than 400"):
        unseal(resealed(held, "traces/records.ndjson", b"\n".join([row.encode(), *rest])))


def test_what_a_hostile_bundle_says_of_itself_is_one_line(incident: Conversation, tmp_path: Path) -> None:
    held = members(seal_imported(incident, False, "a"))
    manifest = json.loads(held["manifest.json"])
    manifest["source"]["path"], manifest["tool"] = "/a\n\u202e" * 1000, "\x1b[31m"
    manifest["conversations"][0]["shared"]["index"] = "listed"
    sealed = opened(tmp_path / "e.zip", bundles.pack({**held, "manifest.json": json.dumps(manifest).encode()}, tmp_path))
    said = sealed.source.provenance
    assert "\n" not in said and "\u202e" not in said and "\x1b" not in said and len(said) < 1200
    manifest["conversations"][0]["shared"]["bleeding"] = "no list"
    with pytest.raises(BrokenBundle, match="none that a conversation shares"):
        unseal({**held, "manifest.json": json.dumps(manifest).encode()})


def test_a_reader_of_another_program_that_a_bundle_names_is_not_taken(incident: Conversation, tmp_path: Path) -> None:
    held = members(seal_imported(incident, False, "a"))
    manifest = json.loads(held["manifest.json"])
    manifest["judged"]["reader"] = "pi-1.5"
    data = bundles.pack({**held, "manifest.json": json.dumps(manifest).encode()}, tmp_path)
    sealed = opened(tmp_path / "e.zip", data)
    assert sealed.source.reader == "dispatch-legacy" and found(sealed) == found(incident) != []
    assert run("scan", tmp_path / "e.zip").status == 1


def resealed(held: dict[str, bytes], name: str, data: bytes) -> dict[str, bytes]:
    """With one member changed by somebody who also repairs its digest in the manifest."""
    manifest = json.loads(held["manifest.json"])
    for member in manifest["members"]:
        if member["name"] == name:
            member["sha256"] = hashlib.sha256(data).hexdigest()
    return {**held, name: data, "manifest.json": json.dumps(manifest).encode()}


def test_rows_of_any_bytes_come_back(db: None, tmp_path: Path) -> None:
    path = tmp_path / "dispatch.db"
    values = {
        b"conv:c1:chunk:0000000001": row("hi").encode(),
        b"conv:c1:chunk:000000000\xff": b"\xff\x00\n\r not text",
        b"conv:c1:seq": b"1",
    }
    conversation = imported(path, values)
    sealed = opened(tmp_path / "evidence.zip", seal_imported(conversation, False, "a"))
    assert loading.stored(sealed).records == loading.stored(conversation).records
    assert Cell(b"\xff\x00\n\r not text") in [record.value for record in loading.stored(sealed).records]


def test_another_bundle_at_the_same_path_leaves_nothing_of_the_first(incident: Conversation, tmp_path: Path) -> None:
    path = tmp_path / "evidence.zip"
    opened(path, seal_imported(incident, False, "a"))
    path.write_bytes(seal_imported(imported(tmp_path / "other.db", broken()), False, "a"))
    source = bring(path)[0].source
    assert [row.native_id for row in source.conversations.filter(is_gone=False)] == ["c1"]
    assert not source.trace_records.exists() and not source.traces.exists()


def changed(data: bytes, name: str, new: bytes | None) -> bytes:
    """The bundle with one member replaced, or left out."""
    held = {**members(data), name: new}
    return bundles.pack({name: data for name, data in held.items() if data is not None}, Path("x"))


def test_one_changed_byte_is_one_sentence(incident: Conversation, tmp_path: Path) -> None:
    data = seal_imported(incident, False, "a")
    rows = members(data)["conversations/0.ndjson"]
    path = tmp_path / "evidence.zip"
    for wrong, words in (
        (changed(data, "conversations/0.ndjson", rows.replace(b"user", b"USER", 1)), "the digest of conversations/0.ndjson"),
        (changed(data, "findings.json", None), "findings.json is missing"),
        (changed(data, "more.txt", b"x"), "more.txt is not listed"),
        (changed(data, "manifest.json", None), "no manifest.json"),
        (changed(data, "manifest.json", b"{"), "not JSON"),
        (data[:-40], "cut short"),
        (b"PK\3\4 nothing", "cut short"),
    ):
        path.write_bytes(wrong)
        ran = run("import_source", path)
        assert ran.status == 2 and words in ran.err and ran.err.count("\n") == 1, (words, ran.err)
    assert not Source.objects.filter(path=str(path)).exists()


def test_whatever_a_manifest_says_a_refusal_is_the_worst(incident: Conversation) -> None:
    held = members(seal_imported(incident, False, "a"))
    manifest = json.loads(held["manifest.json"])
    for name in manifest:
        for value in (None, 0, -1, "x", [], {}, [None], {"path": 1}, [{"name": 1}], True, 10**30):
            wrong = json.dumps({**manifest, name: value}).encode()
            try:
                unseal({**held, "manifest.json": wrong})
            except BrokenBundle:
                continue
            assert name in ("tool", "note", "masked", "trace"), (name, value)


def test_bombs_are_refused_by_what_they_would_unpack_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.zip"
    monkeypatch.setattr(bundles, "MAX_TOTAL", 1 << 20)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", bytes(3 << 20))
    assert path.stat().st_size < 10_000
    with pytest.raises(NotABundle, match="would unpack to"):
        bundles.open_bundle(path)
    lied = path.read_bytes().replace(struct.pack("<I", 3 << 20), struct.pack("<I", 100))
    path.write_bytes(lied)
    with pytest.raises(NotABundle):
        bundles.open_bundle(path)
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(30):
            archive.writestr(str(number), b"")
    monkeypatch.setattr(bundles, "MAX_MEMBERS", 20)
    with pytest.raises(NotABundle, match="30 members"):
        bundles.open_bundle(path)
    huge = path.read_bytes()
    path.write_bytes(huge[:-10] + struct.pack("<I", 1 << 30) + huge[-6:])
    with pytest.raises(NotABundle, match="longer than"):
        bundles.open_bundle(path)
    with pytest.raises(bundles.TooLargeToSeal):
        bundles.pack({str(number): b"" for number in range(30)}, path)


def test_command_and_button(incident: Conversation, tmp_path: Path, client: Client) -> None:
    page = client.get(f"/conversations/{incident.oid}/").content.decode()
    assert page.count(f"/conversations/{incident.oid}/bundle.zip") == 2
    masked, exact = (
        client.get(f"/conversations/{incident.oid}/bundle.zip"),
        client.post(f"/conversations/{incident.oid}/bundle.zip", {"reveal": "1"}),
    )
    assert masked["Content-Disposition"] == f'attachment; filename="{incident.oid}-masked.zip"'
    assert exact.content == seal_imported(incident, False, "a")
    assert client.post(f"/conversations/{incident.oid}/bundle.zip").status_code == 405
    out = tmp_path / "out.zip"
    ran = run("bundle", incident.oid, "--out", out, "--json", "--exact")
    assert ran.status == 0 and out.read_bytes() == exact.content and ran.json["masked"] is False
    again_ = run("bundle", incident.oid, "--out", out)
    assert again_.status == 2 and "already exists" in again_.err
    with pytest.raises(AlreadyThere):
        folders.write_new(out, b"")


def test_a_path_is_sealed_without_import_and_scanned_like_the_original(db: None, tmp_path: Path) -> None:
    pages.example(tmp_path)
    Source.objects.all().delete()
    store, out = tmp_path / "dispatch.db", tmp_path / "out.zip"
    named = ("--conversation", pages.INCIDENT)
    assert run("bundle", store, *named, "--traces", tmp_path / "traces.db", "--out", out).status == 0
    one = run("scan", store, *named, "--traces", tmp_path / "traces.db", "--json").json
    other = run("scan", out, "--json").json
    codes = (
        [[(each["code"], each["seqs"]) for each in found["sources"][0]["conversations"][0]["findings"]] for found in (one, other)]
        if "sources" in one
        else [one["conversations"][0]["findings"], other["conversations"][0]["findings"]]
    )
    assert codes[0] == codes[1] != []


def test_reading_it_again_later_changes_nothing(db: None, tmp_path: Path) -> None:
    path = tmp_path / "dispatch.db"
    sealed = opened(tmp_path / "evidence.zip", seal_imported(imported(path, broken()), False, "a"))
    put(path, "conv:c1:seq", "99")
    assert bring(tmp_path / "evidence.zip")[0].unchanged == 1
    assert pairs(path)["conv:c1:seq"] == b"99" and loading.stored(sealed).conversation.fact("counter") != "99"
