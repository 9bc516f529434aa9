"""The trail: every act with links, page by page, and a sentence on whether it still holds together; and the login page."""

import csv
import io
import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from inspector.actions import audit
from inspector.models import AuditEntry
from inspector.views import audit as audit_view
from tests.accounts import account
from tests.actions.building import proposed
from tests.views.imported import HEALTHY, MERGED, rows, store

pytestmark = pytest.mark.django_db
MaxQueries = Callable[[int], AbstractContextManager[object]]
Callbacks = Callable[..., AbstractContextManager[object]]


def test_an_empty_trail_says_what_will_stand_there(client: Client) -> None:
    page = client.get("/audit/")
    assert page.status_code == 200 and "Nothing has been done yet" in page.content.decode()
    empty = {"total": 0, "filters": {}, "page": 1, "pages": 1, "next": "", "broken_at": None, "problems": [], "entries": []}
    assert client.get("/audit.json").json() == empty


def test_a_line_links_to_source_and_conversation(client: Client, tmp_path: Path) -> None:
    source = store(tmp_path / "a.db", rows("one", HEALTHY))
    conversation = source.conversations.get()
    audit.record("ada", "apply", source_path=source.path, conversation=conversation.oid, repair="0" * 12, plan="ab" * 32)
    text = client.get("/audit/").content.decode()
    assert f'href="/sources/{source.oid}/"' in text and f'href="/conversations/{conversation.oid}/"' in text
    assert "ada" in text and "<b>apply</b>" in text and ">intact</span>" in text
    assert f'title="{conversation.oid}">{conversation.title}</a>' in text
    assert f"/repairs/{'0' * 12}/" not in text, "a repair that is not in the database has no page"
    assert client.get("/audit.json").json()["entries"][0]["detail"] == {"plan": "ab" * 32}


def cell(text: str, line: int, label: str = "") -> str:
    """The words of the row of a line, or of all its fields."""
    row = text.partition(f'<tr id="line-{line}"')[2].partition('<tr class="whole">')
    return " ".join(re.sub("<[^>]*>", " ", row[2 if label == "fields" else 0].partition("</tr>")[0]).split())


def test_a_proposal_says_what_is_to_be_written_and_its_fields_have_every_digest_whole(client: Client, tmp_path: Path) -> None:
    source = store(tmp_path / "a.db", rows("one", MERGED))
    repair = proposed(source.conversations.get(), "renumber-messages")
    line = AuditEntry.objects.get(verb="propose")
    text = client.get("/audit/").content.decode()
    row, fields = cell(text, line.pk), cell(text, line.pk, "fields")
    assert "renumber-messages plan 2 chunks renumbered, no content changes" in row and "mode in-place" in row
    assert repair.plan_digest[:12] not in row, "digests are no words of a row"
    for value in (repair.plan_digest, line.detail["record"], line.previous, line.digest, source.path, line.at.isoformat()):
        assert value in fields
    assert f'<a href="#line-{line.pk}" title="All fields of line {line.pk}">' in text
    assert "2 chunks" not in cell(text, audit.record("ada", "undo", repair=repair.oid).pk), "what an undo writes is another thing"


def test_a_detail_does_not_take_the_place_of_a_fact(client: Client) -> None:
    line = audit.record("ada", "import", digest="0" * 64)
    fields = cell(client.get("/audit/").content.decode(), line.pk, "fields")
    assert f"digest {line.digest}" in fields and f"digest {'0' * 64}" in fields


def test_a_text_is_looked_for_in_who_what_and_the_objects(client: Client) -> None:
    audit.record("ada", "import", source_path="/stores/One.db")
    audit.record("bob", "sign in")
    audit.record("bob", "apply", conversation="c" * 12, repair="d" * 12)
    for q, verbs in {
        "AD": ["import"],
        "sign": ["sign in"],
        "one.DB": ["import"],
        "cccc": ["apply"],
        "dddd": ["apply"],
        "%": [],
        "_": [],
    }.items():
        assert [entry["verb"] for entry in client.get("/audit.json", {"q": q}).json()["entries"]] == verbs, q
        assert client.get("/audit/", {"q": q}).content.decode().count('<tr id="line-') == len(verbs), q
    text = client.get("/audit/?q=bob&verb=apply").content.decode()
    assert 'value="bob"' in text and 'text <b class="mono">bob</b>' in text and text.count('<tr id="line-') == 1


def test_the_mode_of_a_repair_has_the_word_of_every_other_page(client: Client, tmp_path: Path) -> None:
    source = store(tmp_path / "a.db", rows("one", HEALTHY))
    for path, mode in ((source.path, "same-rows"), (source.path, "of-an-older-version"), ("/removed.db", "same-rows")):
        audit.record("ada", "propose", source_path=path, mode=mode)
    shown = re.findall(r'<span class="quiet">mode</span> <span class="mono">([^<]*)</span>', client.get("/audit/").content.decode())
    assert shown == ["same-rows", "of-an-older-version", "in-place"]
    assert client.get("/audit.json").json()["entries"][-2]["detail"] == {"mode": "same-rows"}, "the log keeps what was recorded"


def test_pages_of_fifty_newest_first(client: Client, django_assert_max_num_queries: MaxQueries) -> None:
    for number in range(63):
        audit.record("ada", f"act {number}")
    with django_assert_max_num_queries(13):
        text = client.get("/audit/").content.decode()
    assert "act 62" in text and "act 13</b>" in text and "act 12</b>" not in text and "1 to 50 of 63" in text
    assert [entry["verb"] for entry in client.get("/audit.json?page=2").json()["entries"]] == [
        f"act {number}" for number in range(12, -1, -1)
    ]


def test_who_and_what_are_chosen_from_those_that_the_log_names(client: Client) -> None:
    for who, verb in (("ada", "import"), ("<b>", "apply"), ("ada", "undo")):
        audit.record(who, verb)
    text = client.get("/audit/?who=ada&verb=import").content.decode()
    people, verbs = (re.findall(r"<option[^>]*>.*?</option>", part) for part in re.findall(r"<select.*?</select>", text, re.DOTALL))
    assert people[1:] == ['<option value="&lt;b&gt;">&lt;b&gt;</option>', '<option value="ada" selected>ada</option>']
    assert [re.sub("<.*?>", "", option) for option in verbs] == ["anything", "apply", "import", "undo"]
    gone = client.get("/audit/?who=eve").content.decode()
    assert '<option value="eve" selected>' in gone, "one that no line names stays chosen"


def test_the_page_says_what_was_checked_and_when(client: Client, django_capture_on_commit_callbacks: Callbacks) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        audit.record("ada", "import")
        audit.record("ada", "apply")
    checked = client.get("/audit/").content.decode().partition(">intact</span>")[2].partition("</div>")[0]
    assert re.search(r"All 2 lines were checked at \d\d:\d\d:\d\d UTC", checked) and "no line changed" in checked
    assert "none removed at the end" in checked
    AuditEntry.objects.order_by("-pk")[0].delete()
    assert "none removed at the end" not in client.get("/audit/").content.decode()


def test_sign_ins_of_one_person_in_a_row_are_one_row_of_the_page(client: Client) -> None:
    lines = [
        audit.record(who, verb) for who, verb in (("ada", "sign in"),) * 3 + (("eve", "sign in"), ("ada", "import"), ("ada", "import"))
    ]
    page = client.get("/audit/").content.decode()
    assert page.count("<b>sign in</b>") == 2 and page.count("<b>import</b>") == 2
    folded = page.partition("<summary>and 2 more that say the same</summary>")[2].partition("</details>")[0]
    assert re.findall(r'<li id="line-(\d+)">', folded) == [str(lines[1].pk), str(lines[0].pk)], "each can be seen and linked to"
    assert len(client.get("/audit.json").json()["entries"]) == len(lines) == 6, "the twin has every line"
    AuditEntry.objects.filter(pk=lines[1].pk).update(at=lines[0].at)
    page = client.get("/audit/").content.decode()
    assert f'id="line-{lines[1].pk}" class="hit"' in page and "the same</summary>" not in page, (
        "a line that is not intact is a row of its own"
    )


def test_a_line_says_from_where_somebody_signed_in(client: Client) -> None:
    place = {"address": "203.0.113.7", "browser": "Firefox on Linux"}
    audit.record("ada", "sign in", by="password", **place)
    audit.record("ada", "sign in", by="password", address="198.51.100.9", browser="<b>\u202e")
    audit.record("", "lock sign-in", name="ada", address="203.0.113.7")
    audit.record("ada", "reveal", address="/conversations/")
    page = client.get("/audit/").content.decode()
    said = re.findall(r'<td><span class="quiet">from</span> (.*?)</td>', page)
    assert said == ["203.0.113.7", "198.51.100.9 · &lt;b&gt;\\u202e", "203.0.113.7 · Firefox on Linux"]
    assert '<span class="quiet">address</span> <span class="mono">/conversations/</span>' in page, "that of a page"
    assert "the same</summary>" not in page, "two places"
    assert client.get("/audit.json?verb=sign in").json()["entries"][1]["detail"] == {"by": "password", **place}


def test_many_lines_are_checked_when_the_page_is_there(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """To check every line takes as long as there are lines: the page of 10,000 took a second, all others a tenth of it."""
    monkeypatch.setattr(audit_view, "CHECKED_AT_ONCE", 2)
    lines = [audit.record("ada", "import"), audit.record("eve", "apply")]
    assert ">intact</span>" in client.get("/audit/").content.decode()
    lines.append(audit.record("ada", "undo"))
    text = client.get("/audit/?who=ada").content.decode()
    assert ">intact</span>" not in text and 'hx-get="?who=ada&amp;check=1"' in text and "Check that every line is intact" in text
    assert ">intact</span>" in client.get("/audit/?check=1").content.decode()
    AuditEntry.objects.filter(pk=lines[1].pk).update(who="ada")
    assert "is not intact" in client.get("/audit/?check=1").content.decode()
    part = client.get("/audit/?check=1", headers={"HX-Request": "true"}).content.decode()
    assert "is not intact" in part and "<table" not in part
    assert client.get("/audit.json").json()["broken_at"] == lines[1].pk


def test_an_altered_line_is_named(client: Client) -> None:
    first, second = audit.record("ada", "import"), audit.record("eve", "apply")
    AuditEntry.objects.filter(pk=second.pk).update(who="ada")
    text = client.get("/audit/").content.decode()
    assert "is not intact" in text and f"Line {second.pk} " in text and ">intact</span>" not in text
    assert client.get("/audit.json").json()["broken_at"] == second.pk != first.pk


def test_hostile_words_in_the_trail_are_shown_and_not_run(client: Client) -> None:
    audit.record("<script>x</script>", "import", source_path="/tmp/\u202e\ud800<b>", note="<i>\u202e", deep={"a": ["<u>"]})
    page = client.get("/audit/")
    text = page.content.decode()
    assert page.status_code == 200
    assert not any(tag in text for tag in ("<script>x", "\u202e", "<i>", "<u>")) and "\\u202e" in text


def test_off_loopback_people_sign_in_on_a_plain_page(client: Client, settings: Settings) -> None:
    settings.INSPECTOR_LOCAL = False
    account("ada", password="correct horse battery")
    assert client.get("/audit/")["Location"] == "/login/?next=/audit/"
    text = client.get("/login/?next=/audit/").content.decode()
    assert 'name="csrfmiddlewaretoken"' in text and 'value="/audit/"' in text and "<nav" not in text
    wrong = client.post("/login/", {"username": "<b>", "password": "no", "next": "/audit/"})
    assert wrong.status_code == 200 and "Incorrect username or password" in wrong.content.decode() and "<b>" not in wrong.content.decode()
    right = client.post("/login/", {"username": "ada", "password": "correct horse battery", "next": "/audit/"})
    assert right["Location"] == "/audit/" and client.get("/audit/").status_code == 200
    client.post("/logout/")
    trail = AuditEntry.objects.order_by("id").values_list("who", "verb", "detail")
    assert list(trail) == [
        ("ada", "sign in", {"by": "password", "address": "127.0.0.1", "browser": "Unknown browser"}),
        ("ada", "sign out", {}),
    ]


WHEN = {"old": "2026-01-30T23:59:59", "first": "2026-01-31T00:00:00", "last": "2026-02-01T23:59:59", "new": "2026-02-02T00:00:00"}


def test_the_log_is_filtered_by_each_column_and_by_days_on_the_page_in_the_twin_and_in_both_exports(client: Client, tmp_path: Path) -> None:
    source = store(tmp_path / "a.db", rows("one", HEALTHY))
    AuditEntry.objects.all().delete()
    audit.record("ada", "sign in")
    audit.record("ada", "apply", source_path=source.path, conversation="c" * 12, repair="d" * 12)
    for word, at in WHEN.items():
        entry = audit.record("bob", word)
        AuditEntry.objects.filter(pk=entry.pk).update(at=f"{at}+00:00")
    for query, verbs in {
        "who=ada": ["sign in", "apply"],
        "who=ad": [],
        "verb=first": ["first"],
        f"source={source.oid}": ["apply"],
        f"source={source.path}": ["apply"],
        f"conversation={'c' * 12}": ["apply"],
        f"repair={'d' * 12}&who=ada": ["apply"],
        f"repair={'d' * 12}&who=bob": [],
        "from=2026-01-31&to=2026-02-01": ["first", "last"],
        "from=2026-02-02&who=bob": ["new"],
        "to=2026-01-30": ["old"],
        "last=hour": ["sign in", "apply"],
        "last=day&without=sign in": ["apply"],
        "who=bob&without=old": ["first", "last", "new"],
        "who=%00&verb=%ff": [],
        "nothing=1": ["sign in", "apply", "old", "first", "last", "new"],
    }.items():
        assert [entry["verb"] for entry in client.get(f"/audit.json?{query}").json()["entries"]] == verbs[::-1], query
        text = client.get(f"/audit/?{query}").content.decode()
        assert text.count('<tr id="line-') == len(verbs), query
        lines = b"".join(client.get(f"/audit/export.jsonl?{query}")).decode().splitlines()
        table = list(csv.DictReader(io.StringIO(b"".join(client.get(f"/audit/export.csv?{query}")).decode())))
        assert [json.loads(line)["verb"] for line in lines] == verbs == [row["verb"] for row in table], query
    for query in ("from=yesterday", "to=2026-02-30", "to=9999-12-31", "from=2026-1-1", "last=week"):
        for address in ("/audit/", "/audit.json", "/audit/export.csv", "/audit/export.jsonl"):
            answer = client.get(f"{address}?{query}")
            assert answer.status_code == 400 and b"This is no day" in answer.content, (address, query)


def test_an_export_is_masked_is_no_formula_and_is_streamed_in_parts(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.views.audit.BATCH", 10)
    secret = "sk-ant-api03-" + "Zk4vQx8LmW2r" * 7
    for word in ("=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "plain", "a=b", '"quoted",'):
        audit.record(word, "look", note=secret)
    for number in range(25):
        audit.record("ada", f"act {number}")
    answer = client.get("/audit/export.csv")
    assert (
        answer.streaming and answer["Content-Disposition"] == 'attachment; filename="audit.csv"' and answer["Cache-Control"] == "no-store"
    )
    text = b"".join(answer).decode()
    table = list(csv.DictReader(io.StringIO(text)))
    assert len(table) == AuditEntry.objects.count() == 34 and secret not in text
    assert not [value for row in table for value in row.values() if value.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert [row["who"] for row in table[:4]] == ["'=1+1", "'+1", "'-1", "'@SUM(A1)"] and table[6]["who"] == "plain"
    answer = client.get("/audit/export.jsonl")
    lines = [json.loads(line) for line in b"".join(answer).decode().splitlines()]
    assert answer.streaming and len(lines) == 34 and lines[0]["who"] == "=1+1" and secret not in str(lines)


def test_only_who_may_see_all_sources_reads_the_log(settings: Settings, tmp_path: Path) -> None:
    source = store(tmp_path / "a.db", rows("one", HEALTHY))
    settings.INSPECTOR_LOCAL, settings.ALLOWED_HOSTS = False, ["testserver"]
    for name, role, on, status in (("ann", "admin", source, 403), ("val", "viewer", None, 200), ("bob", "", None, 403)):
        client = Client()
        client.force_login(account(name, role, on))
        for address in ("/audit/", "/audit.json", "/audit/export.csv", "/audit/export.jsonl"):
            answer = client.get(f"{address}?who=tester")
            assert answer.status_code == status, (name, address)
            # The page of a refusal names the sources on which one has a role: whoever imported one is of the log alone.
            assert ("tester" in b"".join(answer).decode().replace("who=tester", "")) is (status == 200), (name, address)
