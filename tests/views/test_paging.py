"""Pages of lists: every row is on exactly one, whatever is equal or missing, and whatever an import adds meanwhile."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client

from inspector.actions import audit
from inspector.actions.import_source import import_targets
from inspector.models import Conversation, Source, Stream
from inspector.views.paging import in_memory
from tests.views.imported import HEALTHY, MERGED, rows, store

pytestmark = pytest.mark.django_db

AT = 1782000000000
Row = tuple[str, str, str]


def undated(native_id: str) -> list[Row]:
    """A conversation of which nothing says when it was active."""
    dated = rows(native_id, MERGED)
    return [(space, key, json.dumps({"title": native_id}) if key.endswith(":meta") else value) for space, key, value in dated]


def mixed(prefix: str, count: int) -> list[Row]:
    """A third was active at one moment, a third at another each, a third at none that is known."""
    stored: list[Row] = []
    for number in range(count):
        native_id = f"{prefix}-{number:03d}"
        at = AT + (number * 1000 if number % 3 else 0)
        stored += undated(native_id) if number % 3 == 2 else rows(native_id, MERGED if number % 2 else HEALTHY, at=at)
    return stored


def walked(client: Client, query: str = "", list_of: str = "conversations") -> list[list[str]]:
    """The ids on each page, from the first to the last."""
    pages: list[list[str]] = []
    following = query
    while following or not pages:
        answer = client.get(f"/{list_of}.json?{following}").json()
        pages.append([row.get("native_id", row.get("number")) for row in answer.get(list_of, answer.get("entries"))])
        following = answer["next"]
        assert len(pages) < 20
    return pages


def once(pages: list[list[Any]]) -> list[Any]:
    """All ids, of which none is there twice; every page but the last is full."""
    everything = [native_id for page in pages for native_id in page]
    assert len(set(everything)) == len(everything)
    assert all(len(page) == 50 for page in pages[:-1]) and pages[-1]
    return everything


def test_every_conversation_is_on_one_page_with_equal_and_missing_times_and_without_the_demo(client: Client, tmp_path: Path) -> None:
    store(tmp_path / "own.db", mixed("own", 130))
    demo = store(tmp_path / "demo.db", mixed("demo", 30))
    import_targets([demo.path], "tester", demo=True)
    listed = once(walked(client))
    own = Conversation.objects.exclude(source=demo).order_by("place", "id")
    assert len(listed) == 130 and listed == list(own.values_list("native_id", flat=True))
    assert len(once(walked(client, f"source={demo.oid}"))) == 30
    moments = [Conversation.objects.get(native_id=native_id).last_activity for native_id in listed]
    known = [moment for moment in moments if moment is not None]
    assert known == sorted(known, reverse=True) and moments[len(known) :] == [None] * 43


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("state=damaged", 87),
        ("state=healthy", 43),
        ("rule=MSG101", 87),
        ("rule=MSG101&state=damaged", 87),
        ("source=OWN", 130),
        ("q=own", 130),
        ("rule=MSG101&q=own", 87),
    ],
)
def test_filters_stay_from_page_to_page(client: Client, tmp_path: Path, query: str, expected: int) -> None:
    own = store(tmp_path / "own.db", mixed("own", 130))
    query = query.replace("OWN", own.oid)
    wanted = {
        row["native_id"] for page in (1, 2, 3) for row in client.get(f"/conversations.json?{query}&page={page}").json()["conversations"]
    }
    listed = once(walked(client, query))
    assert set(listed) == wanted and client.get(f"/conversations.json?{query}").json()["total"] == len(listed) == expected


def test_what_an_import_adds_or_moves_between_two_pages_hides_no_other_conversation(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    store(path, mixed("own", 120))
    before = set(once(walked(client)))
    first = client.get("/conversations.json").json()
    seen = [row["native_id"] for row in first["conversations"]]
    last_shown = seen[-1]
    # New ones come in at the top, and the one that the next page begins after becomes the newest of all.
    newer = [row for number in range(70) for row in rows(f"newer-{number}", HEALTHY, at=AT + 10**9 + number)]
    others = [row for row in mixed("own", 120) if f"conv:{last_shown}:" not in row[1]]
    path.unlink()
    store(path, others + rows(last_shown, HEALTHY, at=AT + 2 * 10**9) + newer)
    for page in walked(client, first["next"]):
        seen += page
    assert len(set(seen)) == len(seen) and before == set(seen), "each once, and none that came in above"
    assert len(once(walked(client))) == 190


def test_back_leads_over_the_same_pages(client: Client, tmp_path: Path) -> None:
    store(tmp_path / "own.db", mixed("own", 170))

    def shown(query: str) -> tuple[list[str], str, str]:
        text = client.get(f"/conversations/{query}").content.decode()
        links = {rel: href.replace("&amp;", "&") for rel, href in re.findall(r'rel="(prev|next)" href="([^"]+)"', text)}
        number = re.search(r"page (\d+) of (\d+)", text)
        assert number is not None and number[2] == "4"
        ids = re.findall(r'title="(own-\d+)"', text)
        return [number[1], *ids], links.get("prev", ""), links.get("next", "")

    there, query = [], ""
    while query or not there:
        content, back, query = shown(query)
        there.append(content)
    assert [page[0] for page in there] == ["1", "2", "3", "4"]
    here = [there[-1]]
    while back:
        content, back, _ = shown(back)
        here.append(content)
    assert here == there[::-1]


@pytest.mark.parametrize(("count", "sizes"), [(50, [50]), (60, [60]), (61, [50, 11]), (110, [50, 60]), (111, [50, 50, 11])])
def test_no_page_is_made_for_a_few_rows(client: Client, tmp_path: Path, count: int, sizes: list[int]) -> None:
    store(tmp_path / "own.db", mixed("own", count))
    assert [len(page) for page in walked(client)] == sizes
    for page, size in enumerate(sizes, 1):
        assert len(client.get(f"/conversations.json?page={page}").json()["conversations"]) == size
        assert in_memory(range(count), QueryDict(f"page={page}"), 50).pages == len(sizes)
        assert len(in_memory(range(count), QueryDict(f"page={page}"), 50).rows) == size


def test_an_old_address_with_a_number_and_a_wrong_place_both_answer(client: Client, tmp_path: Path) -> None:
    store(tmp_path / "own.db", mixed("own", 120))
    pages = walked(client)
    for number in (1, 2, 3):
        answer = client.get(f"/conversations.json?page={number}").json()
        assert [row["native_id"] for row in answer["conversations"]] == pages[number - 1]
        assert (answer["page"], answer["pages"], answer["total"]) == (number, 3, 120)
    assert client.get("/conversations.json?page=99").json()["page"] == 3
    for place in ("x", "1", "1~2~3", "~", "9" * 40 + "~1", "-1~" + "9" * 30, "1~x", "\x00~1", "1" * 5000 + "~1"):
        for name in ("after", "before"):
            answer = client.get("/conversations.json", {name: place, "page": "2"})
            assert answer.status_code == 200 and len(answer.json()["conversations"]) == 50, (name, place)
    beyond = client.get("/conversations.json", {"after": f"{2**62}~1", "page": "7"}).json()
    assert [row["native_id"] for row in beyond["conversations"]] == pages[-1], "nothing is after it: the last page"


def test_the_audit_trail_is_walked_while_lines_are_added(client: Client) -> None:
    for number in range(120):
        audit.record("ada", f"act {number}")
    first = client.get("/audit.json").json()
    audit.record("ada", "one more")
    numbers = [row["number"] for row in first["entries"]]
    for page in walked(client, first["next"], "audit"):
        numbers += page
    assert len(numbers) == 120 and numbers == sorted(numbers, reverse=True)


def test_streams_come_worst_first_over_all_pages(client: Client, db: None) -> None:
    from django.utils import timezone

    now = timezone.now()
    source = Source.objects.create(oid="5" * 12, path="/captures/a", format="capture", is_trace=True, read_at=now, stream_count=110)
    ranks = {"error": 0, "warning": 1, "note": 2, "": 2}
    worsts = list(ranks)
    Stream.objects.bulk_create(
        Stream(
            oid=f"{number:012d}", source=source, native_id=f"{number}", position=number // 2, sides="client", seen_at=now, digest="",
            worst=worsts[number % 4], rank=ranks[worsts[number % 4]],
        )
        for number in range(110)
    )  # fmt: skip
    listed = once(walked(client, "", "streams"))
    assert len(listed) == 110 and client.get("/streams.json").json()["total"] == 110
    severities = [ranks[worsts[int(native_id) % 4]] for native_id in listed]
    assert severities == sorted(severities)
    assert client.get("/streams/?page=3").status_code == 200
