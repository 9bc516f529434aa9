"""A large conversation: its page reads an overview and some blocks that the import kept, and shows what it would show if it read everything."""

import re
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from inspector.actions import renewing
from inspector.actions.set_deployed_reader import set_deployed_reader
from inspector.models import AnalysisBlock, AnalysisFinding, Conversation, Finding, Source, StoredAnalysis, analyses, loading
from inspector.presentation.conversation import examined
from inspector.presentation.conversation.placed import BLOCK
from inspector.views import analysis, content, findings, traces
from inspector.views.findings import is_kept
from tests.actions.building import A, Store, T, U, again, bring, chunk_key, drop, imported, put, row, tc, tr
from tests.programs.pi_openclaw.session_files import a, header, lines, text, u

pytestmark = [pytest.mark.django_db, pytest.mark.database]

LARGE = 400
"""In place of the real limit, so that these tests are quick."""
PAGES = (
    "", "?at=650", "?at=999999", "?from=800", "?kind=tool-call", "?kind=tool-call&from=100", "?role=user&at=700", "?only=findings",
    "?only=findings&at=600&kind=tool-result", "?kind=error", "?only=findings&role=user", "?q=question 12", "?q=question 12&role=user", "?q=nowhere", "?q=toolcallid", "?q=question&kind=text&from=30", "?q=question&at=620", "?finding=TOOL101", "?rev=1&at=50",
)  # fmt: skip


@pytest.fixture(autouse=True)
def limit(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (examined, content, findings, renewing, traces):
        monkeypatch.setattr(module, "LARGE", LARGE)


def damaged(path: Path, chunks: int) -> Conversation:
    """Turns of five chunks; every thirtieth turn lacks the result of its call, every twentieth has one of another call."""
    store = Store()
    for turn in range(chunks // 5):
        store.append(U(f"question {turn}"))
        store.append(A("let me see", tc(f"id{turn}")))
        if turn % 30 != 29:
            store.append(T(tr(f"id{turn}") if turn % 20 != 19 else tr(f"other{turn}")))
        store.append(A(f"answer {turn}"))
    return imported(path, store)


@pytest.fixture
def conversation(tmp_path: Path) -> Conversation:
    return damaged(tmp_path / "a.db", LARGE + 503)


def page(client: Client, conversation: Conversation, query: str = "") -> str:
    answer = client.get(f"/conversations/{conversation.oid}/{query}")
    assert answer.status_code == 200, query
    return answer.content.decode()


@pytest.mark.slow
def test_what_was_kept_shows_what_reading_everything_shows(client: Client, conversation: Conversation) -> None:
    kept = {query: page(client, conversation, query) for query in PAGES}
    assert StoredAnalysis.objects.get().is_own and AnalysisBlock.objects.count() == -(-conversation.chunk_count // BLOCK)
    StoredAnalysis.objects.all().delete()
    for query in PAGES:
        # All profiles are asked only of a conversation that is read as a whole.
        assert without_profiles(page(client, conversation, query)) == without_profiles(kept[query]), query


def without_profiles(text: str) -> str:
    """The page but for what all profiles say, and where they begin to refuse on the overview."""
    main = text.partition("<main")[2]
    return re.sub(
        r'<details class="others" id="profiles">.*?</details>|<p class="quiet" id="profiles">.*?</p>|<rect class="refusal.*?</rect>|<span class="refusal-key".*?</span>|name="csrfmiddlewaretoken" value="[^"]*"|\s',
        "",
        main,
    )


def test_a_page_reads_a_window_however_long_the_conversation_is(client: Client, tmp_path: Path) -> None:
    counts = []
    for length in (LARGE, 2 * LARGE):
        conversation = damaged(tmp_path / f"{length}.db", length + 500)
        loading.forget()
        with CaptureQueriesContext(connection) as queries:
            page(client, conversation, "?at=500")
        read = [query["sql"] for query in queries if "inspector_record" in query["sql"] or "inspector_payload" in query["sql"]]
        assert not read
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 28


def test_all_profiles_are_asked_where_somebody_wants_that(client: Client, conversation: Conversation) -> None:
    assert "Ask all profiles" in page(client, conversation)
    assert "<summary>Profiles: " in page(client, conversation, "?profiles=all")


def test_a_small_conversation_keeps_nothing(client: Client, tmp_path: Path) -> None:
    page(client, damaged(tmp_path / "a.db", LARGE - 100))
    assert not StoredAnalysis.objects.exists()


def test_a_new_revision_has_its_own_and_the_old_one_goes(client: Client, conversation: Conversation, tmp_path: Path) -> None:
    put(tmp_path / "a.db", chunk_key(99_999), row("one more"))
    again(tmp_path / "a.db")
    assert StoredAnalysis.objects.get().is_own
    assert "one more" in page(client, Conversation.objects.get(), "?at=99999")
    assert "one more" not in page(client, Conversation.objects.get(), "?rev=1&at=99999")


def test_a_session_that_grew_keeps_the_blocks_that_are_as_they_were(client: Client, tmp_path: Path) -> None:
    path, entries = tmp_path / "a.jsonl", [header()]
    for turn in range(LARGE // 2 + 60):
        parent = f"a{turn - 1}" if turn else None
        entries += [u(f"u{turn}", parent, f"question {turn}"), a(f"a{turn}", f"u{turn}", text(f"answer {turn}"))]
    path.write_bytes(lines(*entries))
    bring(path)
    before = dict(AnalysisBlock.objects.values_list("number", "pk"))
    findings = dict(AnalysisFinding.objects.values_list("number", "pk"))
    path.write_bytes(lines(*entries, u("u", entries[-1]["id"], "one more")))
    bring(path)
    after = dict(AnalysisBlock.objects.values_list("number", "pk"))
    assert [number for number, pk in after.items() if pk != before.get(number)] == [max(after)]
    assert dict(AnalysisFinding.objects.values_list("number", "pk")).items() >= findings.items()
    assert StoredAnalysis.objects.count() == 1
    grown = Conversation.objects.get()
    kept = {query: page(client, grown, query) for query in ("?at=99999", "?only=findings", "")}
    assert "one more" in kept["?at=99999"]
    StoredAnalysis.objects.all().delete()
    for query, shown in kept.items():
        assert without_profiles(page(client, grown, query)) == without_profiles(shown), query


def test_a_shorter_revision_leaves_no_block_behind(conversation: Conversation, tmp_path: Path) -> None:
    blocks = AnalysisBlock.objects.count()
    for seq in range(LARGE + 200, LARGE + 510):
        drop(tmp_path / "a.db", chunk_key(seq))
    again(tmp_path / "a.db")
    assert AnalysisBlock.objects.count() == -(-Conversation.objects.get().chunk_count // BLOCK) < blocks


def test_what_another_version_kept_in_another_shape_is_not_read_and_gives_way(
    client: Client, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    StoredAnalysis.objects.update(basis="of another version", headline=b"in another shape")
    monkeypatch.setattr(analyses, "shape", lambda *kinds: "of this version")
    assert analyses.stored(conversation, analyses.own_ways(conversation)) is None
    assert "question 0" in page(client, conversation)
    assert list(renewing.stale()) == [conversation] and renewing.renew(conversation)
    assert analyses.stored(conversation, analyses.own_ways(conversation)) is not None and StoredAnalysis.objects.count() == 1


def test_what_was_judged_before_another_reader_was_set_is_not_written_after_it(conversation: Conversation) -> None:
    row = Conversation.objects.select_related("source").get(pk=conversation.pk)
    set_deployed_reader(Source.objects.get(pk=row.source_id), "test", "dispatch-role-split")
    before = set(StoredAnalysis.objects.values_list("pk", flat=True))
    assert not renewing.renew(row)
    assert set(StoredAnalysis.objects.values_list("pk", flat=True)) == before
    assert set(Finding.objects.filter(is_open=True).values_list("reader", flat=True)) == {"dispatch-role-split"}
    assert renewing.renew(Conversation.objects.select_related("source").get(pk=row.pk))


def test_a_prompt_tries_nothing_and_asks_one_profile(client: Client, conversation: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = StoredAnalysis.objects.get()
    assert kept is not None and (names := analyses.Stored(kept, False).headline().recommended)

    def refuse(*arguments: object) -> None:
        raise AssertionError("the page does not show this")

    monkeypatch.setattr(analysis, "WHOLE", LARGE)
    for name in ("without_waiting", "profile_verdicts", "columns", "branches_of"):
        monkeypatch.setattr(analysis, name, refuse)
    prompt = page(client, conversation, "prompt/")
    assert f"/repairs/new/?strategy={names[0]}" in prompt
    assert f'<a href="/conversations/{conversation.oid}/?profiles=all#profiles">Ask every profile</a>' in prompt


def test_the_page_of_a_finding_reads_what_is_kept_and_shows_what_reading_everything_shows(
    client: Client, conversation: Conversation
) -> None:
    """A link to a finding is what people send each other: in 100,000 chunks it took half a minute."""
    firsts = [
        Finding.objects.filter(code=code).order_by("pk").first() for code in Finding.objects.values_list("code", flat=True).distinct()
    ]
    pages, reports = {}, {}
    for finding in filter(None, firsts):
        loading.forget()
        with CaptureQueriesContext(connection) as queries:
            pages[finding.oid] = client.get(f"/findings/{finding.oid}/").content.decode()
        assert not [query["sql"] for query in queries if "inspector_record" in query["sql"] or "inspector_payload" in query["sql"]]
        reports[finding.oid] = client.get(f"/findings/{finding.oid}.json").json()
    assert len(pages) > 1 and is_kept(next(iter(pages)))
    StoredAnalysis.objects.all().delete()
    assert not is_kept(next(iter(pages)))
    for oid, kept in pages.items():
        assert without_profiles(client.get(f"/findings/{oid}/").content.decode()) == without_profiles(kept)
        assert client.get(f"/findings/{oid}.json").json() == reports[oid]


def test_the_page_of_a_finding_says_that_it_was_judged_by_older_rules(client: Client, conversation: Conversation) -> None:
    address = f"/findings/{Finding.objects.values_list('oid', flat=True)[0]}/"
    # The first brings the cookie, and is kept by nobody.
    client.get(address)
    fresh = client.get(address)
    assert client.get(address, HTTP_IF_NONE_MATCH=fresh["ETag"]).status_code == 304
    StoredAnalysis.objects.update(basis="of an older version")
    stale = client.get(address, HTTP_IF_NONE_MATCH=fresh["ETag"])
    assert "by an older version of the rules" in stale.content.decode() and "older version" not in fresh.content.decode()


def test_a_trace_that_is_known_to_be_empty_says_what_reading_everything_says(client: Client, conversation: Conversation) -> None:
    assert traces.is_known_to_have_none(conversation)
    kept = page(client, conversation, "trace/")
    StoredAnalysis.objects.all().delete()
    assert not traces.is_known_to_have_none(conversation)
    assert without_profiles(page(client, conversation, "trace/")) == without_profiles(kept) and "trace" in kept
