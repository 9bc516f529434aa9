"""One number for one fact: what is counted is the same in the inbox, its tabs, the badge, lists, pages of sources and problems, trends, twins, metrics and the scan,
whatever was repaired, undone, ignored, purged, or came again."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from inspector.actions import decide_problem
from inspector.actions.decide_problem import Decision
from inspector.actions.import_source import import_targets
from inspector.actions.purge import purge
from inspector.actions.undo_repair import undo_repair
from inspector.demo.stream_incident import capture_files
from inspector.models import Conversation, Problem, Source
from tests.actions.building import WHO, Store, again, applied, bring, broken, drop, imported, merged, pairs, proposed, put
from tests.commands.running import run
from tests.views.imported import example
from tests.views.reaching import write_files

pytestmark = pytest.mark.django_db
IDS = ("c1", "c2", "c3", "c4")


def every(client: Client, address: str, name: str) -> Iterator[dict[str, Any]]:
    """The rows of all pages of a twin."""
    where, _, query = address.partition("?")
    while True:
        page = client.get(f"{where}?{query}").json()
        yield from page[name]
        if not page["next"]:
            return
        query = page["next"].lstrip("?")


def measured(client: Client) -> Counter[tuple[str, str, str]]:
    """The sum of each metric by source and by `rule` or `damaged`."""
    numbers: Counter[tuple[str, str, str]] = Counter()
    for family in text_string_to_metric_families(client.get("/metrics").content.decode()):
        for sample in family.samples:
            labels = sample.labels
            numbers[family.name, labels.get("source", ""), labels.get("rule", labels.get("damaged", ""))] += int(sample.value)
    return numbers


def assert_equal(client: Client) -> dict[str, Any]:
    """What the inbox says, after all else was compared with it."""
    inbox, metrics = client.get("/index.json").json(), measured(client)
    sources = client.get("/sources.json").json()["sources"]
    found = {query: client.get(f"/conversations.json?{query}").json()["total"] for query in ("", "state=damaged", "gone=1")}
    assert (inbox["conversations"], inbox["damaged"], inbox["gone"]) == tuple(found.values())
    for name, query in (("conversations", ""), ("damaged", "state=damaged"), ("gone", "gone=1")):
        pages = [client.get(f"/sources/{source['id']}.json").json() for source in sources]
        assert sum(page[name] for page in pages) == inbox[name]
        for page in pages:
            listed = list(every(client, f"/conversations.json?source={page['id']}&{query}", "conversations"))
            assert len(listed) == page[name] and len({row["id"] for row in listed}) == page[name], (name, page["path"])
    for source in sources:
        oid = source["id"]
        assert metrics["inspector_conversations", oid, "true"] == source["damaged"], source["path"]
        assert metrics["inspector_conversations", oid, "false"] == source["conversations"] - source["damaged"]
        assert metrics["inspector_chunks", oid, ""] == source["chunks"]
    assert sum(source["chunks"] for source in sources) == inbox["chunks"]
    assert (inbox["streams"]["total"], inbox["streams"]["damaged"]) == (
        sum(source["streams"] for source in sources), sum(source["streams_damaged"] for source in sources),
    )  # fmt: skip
    _assert_problems(client, inbox, metrics)
    _assert_repairs(client, inbox)
    by = {name: client.get(f"/trends.json?by={name}&days=90").json() for name in ("rule", "source", "version")}
    assert len({sum(row["total"] for row in page["rows"]) for page in by.values() if not page["more"]}) == 1
    assert {row["total"] - sum(row["days"]) for page in by.values() for row in page["rows"]} <= {0}
    return dict(inbox)


def _assert_problems(client: Client, inbox: dict[str, Any], metrics: Counter[tuple[str, str, str]]) -> None:
    home = client.get("/").content.decode()
    occurring: Counter[str] = Counter()
    for tab in ("open", "repaired", "ignored"):
        rows = list(every(client, f"/index.json?tab={tab}", "problems"))
        assert len(rows) == inbox["tabs"][tab], tab
        # A tab of nothing has no number.
        shown = re.findall(
            rf'tab={tab}"[^>]*>[^<]*<span class="count">(\d+)' if tab != "open" else r'href="/"[^>]*>Open\s*<span class="count">(\d+)', home
        )
        assert [*map(int, shown)] == [len(rows)][: len(rows)]
        for row in rows:
            number = row["conversations"] + row["streams"]
            occurrences = list(every(client, f"/problems/{row['id']}.json?", "occurrences"))
            states = Counter(occurrence["state"] for occurrence in occurrences)
            assert (states["open"] + states["occurs again"], len(occurrences)) == (number, row["conversations_ever"] + row["streams_ever"])
            page = client.get(f"/problems/{row['id']}/").content.decode()
            assert f"{number} of {len(occurrences)} " in " ".join(page.split())
            assert metrics["inspector_open_problem_conversations", row["source"], row["code"]] == (number if tab == "open" else 0)
            occurring[row["code"]] += row["conversations"]
            if row["conversations"]:
                of_rule = client.get(f"/conversations.json?rule={row['code']}&source={row['source']}").json()
                assert of_rule["total"] == len(of_rule["conversations"]) == row["conversations"], row["code"]
    assert {rule["code"]: rule["conversations"] for rule in inbox["rules"]} == {
        code: number for code, number in occurring.items() if number
    }


def _assert_repairs(client: Client, inbox: dict[str, Any]) -> None:
    waiting = inbox["tabs"]["review"]
    assert client.get("/repairs.json?tab=waiting").json()["total"] == waiting
    assert len(client.get("/index.json?tab=review").json()["to_review"]) == waiting
    text = client.get("/repairs/").content.decode()
    assert re.findall(r'tab=waiting"[^>]*>Waiting <span class="count">(\d+)', text) == [str(waiting)]
    assert re.findall(r'class="count" title="[^"]*for review">(\d+)', text) == ([str(waiting)] if waiting else [])
    tabs = re.findall(r'tab=(\w+)"[^>]*>\w+ <span class="count">(\d+)', text)
    assert all(client.get(f"/repairs.json?tab={name}").json()["total"] == int(number) for name, number in tabs) and len(tabs) == 4


def scanned(path: Path) -> Counter[str]:
    """In how many conversations of the store the command finds each rule now."""
    reports = run("scan", path, "--json").json["conversations"]
    return Counter(code for report in reports for code in {finding["code"] for finding in report["findings"]})


def stored(path: Path) -> Counter[str]:
    source = Source.objects.get(path=str(path))
    return +Counter({problem.code: problem.conversations for problem in Problem.objects.filter(source=source)})


@pytest.mark.slow
@pytest.mark.parametrize("is_much", [False, True], ids=["two stores", "the example and captures too"])
def test_from_the_import_to_the_purge(client: Client, tmp_path: Path, is_much: bool) -> None:
    path, store = tmp_path / "a.db", Store()
    for native_id in IDS:
        merged(store, native_id)
    one = imported(path, store)
    imported(tmp_path / "b.db", broken())
    captures = sorted(write_files(tmp_path / "streams", capture_files()).iterdir())
    if is_much:
        example(tmp_path)
    import_targets([str(each) for each in (captures if is_much else captures[:1])], WHO)
    first = assert_equal(client)
    assert first["tabs"]["open"] == Problem.objects.count() > (5 if is_much else 3) and scanned(path) == stored(path) == {"MSG101": 4}
    problem = Problem.objects.get(code="MSG101", source=one.source)

    waiting = proposed(Conversation.objects.get(native_id="c3"), "renumber-messages")
    assert assert_equal(client)["tabs"]["review"] == 1
    repair = applied(one, "renumber-messages")
    assert assert_equal(client)["damaged"] == first["damaged"] - 1 and scanned(path) == stored(path) == {"MSG101": 3}
    undo_repair(repair, WHO, interactive=True)
    assert assert_equal(client)["damaged"] == first["damaged"] and scanned(path) == stored(path)
    applied(Conversation.objects.get(native_id="c2"), "renumber-messages", mode="fork")
    forked = assert_equal(client)
    assert (forked["damaged"], forked["conversations"]) == (first["damaged"] - 1, first["conversations"] + 1)

    for end in ("", "occurs"):
        decide_problem.decide([problem.oid], Decision("ignore", "known", end), WHO)
        assert assert_equal(client)["tabs"]["ignored"] == 1
    # It occurs in another conversation: its program makes a new one.
    for key, value in merged(None, "c5").values.items():
        put(path, key, value)
    again(path)
    assert assert_equal(client)["tabs"]["ignored"] == 0

    applied(one := again(path), "renumber-messages")
    assert_equal(client)
    for key, value in merged(None, "c1").values.items():
        put(path, key, value)
    again(path)
    assert_equal(client)
    problem.refresh_from_db()
    assert problem.state == "regressed" and scanned(path)["MSG101"] == stored(path)["MSG101"] + 1, "the command does not know of the fork"

    for key in [key for key in pairs(path) if key.startswith("conv:c4:")]:
        drop(path, key)
    bring(path)
    assert assert_equal(client)["gone"] == 1
    purge(waiting.conversation, WHO, "leaked", with_repairs=True)
    purged = assert_equal(client)
    assert purged["tabs"]["review"] == 0
    for row in Conversation.objects.filter(source=one.source):
        purge(row, WHO, "leaked", with_repairs=True)
    assert_equal(client)
    assert not Problem.objects.filter(source=one.source).exists()
