"""Next to other sources the demo is in no list, count, search, trend or twin, unless a source of it is asked for; alone it shows as any other."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from inspector.actions.import_source import import_targets
from inspector.demo.stream_incident import capture_files
from inspector.metrics import text as metrics
from inspector.models import Repair, Source, news
from tests.access.test_nothing_leaks import routes
from tests.actions.building import proposed
from tests.commands.running import run
from tests.views.imported import HEALTHY, MERGED, rows, store
from tests.views.reaching import whole

pytestmark = pytest.mark.django_db
WORD = "quetzal"
QUERIES = (
    *(f"/conversations/?{query}" for query in ("", f"q={WORD}", "state=damaged", "rule=MSG101", "sort=chunks", "page=2")),
    *(f"/conversations.json?{query}" for query in ("", f"q={WORD}", "rule=MSG101", "rule=MSG101&state=damaged")),
    *("/streams/", "/streams.json", "/streams/?state=damaged", "/?kind=streams", f"/?q={WORD}", "/index.json?tab=review", "/repairs.json"),
    *("/repairs/?tab=waiting", "/trends/?by=source", "/trends.json?by=source", f"/explain/?error={WORD}", "/whatif/", "/whatif.json"),
    *("/rules/MSG101/", "/rules/STREAM101/"),
)


@pytest.fixture
def demo(tmp_path: Path) -> tuple[Source, Source]:
    """Its store, with a repair that waits, and its capture."""
    source = store(tmp_path / "demo.db", rows(f"{WORD}-one", MERGED, f"the {WORD}"))
    name, data = next(iter(capture_files().items()))
    (tmp_path / name).write_bytes(data)
    capture = import_targets([str(tmp_path / name)], "tester")[0].source
    proposed(source.conversations.get(), "renumber-messages")
    capture.streams.update(title=f"a {WORD}")
    Source.objects.update(is_demo=True)
    return source, capture


def counts(client: Client, source: str = "") -> dict[str, Any]:
    query = {"source": source} if source else {}
    inbox, conversations = client.get("/index.json", query).json(), client.get("/conversations.json", query).json()
    rules = client.get("/rules/").content.decode()
    return {
        "inbox": inbox["conversations"],
        "problems": len(inbox["problems"]),
        "recent": len(inbox["recent"]),
        "rules of the inbox": len(inbox["rules"]),
        "conversations": (conversations["total"], len(conversations["conversations"])),
        "of a rule": client.get("/conversations.json", {**query, "rule": "MSG101"}).json()["total"],
        "search": client.get("/conversations.json", {**query, "q": WORD}).json()["total"],
        "streams": client.get("/streams.json", query).json()["total"],
        "repairs": client.get("/repairs.json", query).json()["total"],
        "trends": len(client.get("/trends.json").json()["rows"]),
        "rules": sorted(re.findall(r'href="/(?:conversations|streams)/\?rule=([A-Z0-9]+)"', rules)),
        "rule": len(re.findall(r'class="name row-link" href="/conversations/', client.get("/rules/MSG101/").content.decode())),
        "metrics": metrics().decode().count("inspector_source_info{"),
        "what-if": client.get("/whatif.json").json()["total"],
        "live": [news.facts_of(news.Scope())[name] for name in ("conversations", "streams")],
    }


def test_alone_the_demo_shows_as_any_other_source(client: Client, demo: tuple[Source, Source]) -> None:
    alone = counts(client)
    assert all(alone.values()) and alone["conversations"] == (1, 1) and alone["rule"] == 1 and alone["live"] == [1, 1]
    assert "The demo is not listed" not in client.get("/conversations/").content.decode()


def test_next_to_another_source_it_is_counted_nowhere(client: Client, demo: tuple[Source, Source], tmp_path: Path) -> None:
    store(tmp_path / "own.db", rows("mine", HEALTHY))
    both = counts(client)
    empty = ("problems", "recent", "rules of the inbox", "of a rule", "search", "streams", "repairs", "trends", "rules", "rule")
    assert {name: both[name] for name in empty if both[name]} == {}
    assert (both["inbox"], both["conversations"], both["metrics"], both["what-if"], both["live"]) == (1, (1, 1), 1, 1, [1, 0])
    assert WORD not in run("whatif", "--reader", "exact", "--reader", "dispatch-2.0").out
    for page in ("/conversations/", "/streams/"):
        assert 'The demo is not listed here: <a class="link" href="?source=demo">show it</a>' in client.get(page).content.decode()
    assert 'The demo is not counted: <a class="link" href="/?source=demo">show it</a>' in client.get("/").content.decode()
    listed = {problem["source"] for problem in client.get("/index.json?source=demo").json()["problems"]}
    assert listed and listed <= {source.oid for source in demo}, "all of it, and nothing else"
    of_demo = client.get("/conversations.json?source=demo").json()
    assert of_demo["total"] == len(of_demo["conversations"]) > 0
    for more in ("&state=damaged", "&rule=MSG101", "&rule=MSG101&state=damaged", "&q=quetzal"):
        chosen = client.get(f"/conversations.json?source=demo{more}").json()
        assert chosen["total"] == len(chosen["conversations"]) > 0, more
    for page in ("/conversations/?source=demo", "/streams/?source=demo"):
        assert "The demo is not listed" not in (listed_ := client.get(page).content.decode()) and "<tbody>" in listed_
    assert '<option value="demo" selected>the demo</option>' in client.get("/?source=demo").content.decode()
    assert Repair.objects.count() == 1


def test_who_asks_for_a_source_of_it_sees_it(client: Client, demo: tuple[Source, Source], tmp_path: Path) -> None:
    store(tmp_path / "own.db", rows("mine", HEALTHY))
    source, capture = demo
    asked = counts(client, source.oid)
    assert (asked["problems"], asked["conversations"], asked["of a rule"], asked["search"], asked["repairs"]) == (1, (1, 1), 1, 1, 1)
    assert client.get("/streams.json", {"source": capture.oid}).json()["total"] == 1
    pages = [client.get(address, {"source": source.oid}).content.decode() for address in ("/conversations/", "/repairs/", "/")]
    assert all("The demo is not listed" not in page for page in pages) and all("quetzal" in page for page in pages[:2])
    assert re.search(rf'<option value="{source.oid}" selected>[^<]*demo.db \(demo\)</option>', pages[0])
    assert f"of=source%3A{source.oid}" in pages[0], "what is new of it is said"
    for page in (f"/sources/{source.oid}/", f"/conversations/{source.conversations.get().oid}/"):
        assert WORD in client.get(page).content.decode()


def test_no_address_without_an_id_names_a_conversation_of_it(client: Client, demo: tuple[Source, Source], tmp_path: Path) -> None:
    lists = [f"/{route}" for route, methods in routes() if "GET" in methods and "<" not in route]
    alone = {address for address in (*lists, *QUERIES) if WORD in whole(client.get(address)).decode(errors="replace")}
    assert {"/conversations/", "/conversations.json", "/index.json", "/repairs/", "/streams.json"} <= alone
    store(tmp_path / "own.db", rows("mine", HEALTHY))
    for address in (*lists, *QUERIES):
        text = whole(client.get(address)).decode(errors="replace")
        # What was typed is there again.
        assert not re.search(f"the {WORD}|a {WORD}|{WORD}-one", text), address


def test_what_is_asked_for_by_its_name_is_found_in_the_demo_too(client: Client, demo: tuple[Source, Source], tmp_path: Path) -> None:
    """Explain denied a conversation whose page opens, and What if of a program that only the demo has said that nothing is loaded."""
    (tmp_path / "own.json").write_text('{"model": "gpt-5", "messages": [{"role": "user", "content": "hi"}]}')
    import_targets([str(tmp_path / "own.json")], "tester")
    error = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'"
    assert client.get("/explain/", {"error": error, "target": f"the {WORD}"}).status_code == 200
    assert client.get("/explain/", {"error": error, "target": "no such words"}).status_code == 400
    compared = client.get("/whatif.json?reader=dispatch-legacy&reader=exact").json()
    assert compared["conversations"] == 1
    assert client.get("/whatif.json").json()["conversations"] <= 1 and WORD not in client.get("/conversations/").content.decode()
    streams = client.get("/streams/").content.decode()
    assert "The demo is not listed here" in streams and "No capture is loaded" not in streams
