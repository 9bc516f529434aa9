"""The inbox as a tracker: tabs, filters, saved views and decisions; the page of a problem; trends. Nothing that is sent here is trusted."""

import json
import re
from datetime import date
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils import timezone

from inspector.actions.apply_repair import apply_repair
from inspector.actions.decide_repair import approve_repair
from inspector.actions.import_source import import_targets
from inspector.actions.undo_repair import undo_repair
from inspector.models import AuditEntry, Conversation, Occurrence, Problem, ProblemDay, Repair, SavedView, Source, loading
from inspector.models.problem import today
from inspector.presentation.conversation import examined
from inspector.views import problem_list
from inspector.views import problems as problem_views
from tests.actions.building import applied, broken, imported, merged, proposed
from tests.kept import Kept
from tests.models.test_counting import written_again
from tests.operators import OperatorClient
from tests.programs.pi_openclaw.session_files import a, header, lines, u
from tests.views.imported import HEALTHY, INCIDENT, MERGED, example, many, of_programs, rows, store

pytestmark = pytest.mark.django_db
AT, DAY = 1782000000000, 86_400_000


def problems(client: Client, query: str = "") -> list[tuple[str, str]]:
    """(code, state) of what the tab lists."""
    return [(row["code"], row["state"]) for row in client.get(f"/index.json{query}").json()["problems"]]


def decide(client: Client, action: str, *chosen: Problem, **fields: str) -> str:
    """Sends the form, and returns the text of the page that it leads to."""
    form = {"action": action, "problem": [problem.oid for problem in chosen], **fields}
    return client.post("/problems/decide/", form, follow=True).content.decode()


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    store(tmp_path / "a.db", rows("one", MERGED, "One") + rows("two", MERGED, "Two", AT + DAY))
    return Problem.objects.get()


def test_each_problem_is_in_one_tab_and_the_tabs_say_how_many(client: Client, problem: Problem) -> None:
    tabs = {"open": [("MSG101", "open")], "repaired": [], "ignored": [], "review": []}
    assert {tab: problems(client, f"?tab={tab}") for tab in tabs} == tabs
    Problem.objects.update(decision="ignored", reason="later")
    assert client.get("/index.json").json()["tabs"] == {"review": 0, "open": 0, "repaired": 0, "ignored": 1}
    assert problems(client, "?tab=ignored") == [("MSG101", "ignored")]
    Problem.objects.update(conversations=0)
    assert problems(client, "?tab=repaired") == [("MSG101", "repaired")]


def test_a_proposed_repair_waits_in_the_first_tab(client: Client, tmp_path: Path) -> None:
    repair = proposed(imported(tmp_path / "a.db", merged()), "renumber-messages")
    page = client.get("/?tab=review").content.decode()
    assert f'href="/repairs/{repair.oid}/"' in page and client.get("/index.json").json()["tabs"]["review"] == 1
    assert client.get("/index.json?tab=review").json()["to_review"][0]["id"] == repair.oid
    row = page[page.index('class="list reviews"') :]
    assert ">safe<" not in row and "openai-chat: " in row, "what it comes to, and no all-clear"
    assert "lost or invented" not in row and ">anybody<" in row


def test_a_problem_says_that_a_repair_of_it_waits(client: Client, tmp_path: Path) -> None:
    one = imported(tmp_path / "a.db", merged())
    imported(tmp_path / "b.db", merged())
    assert ">proposed " not in client.get("/").content.decode()
    repair = proposed(one, "renumber-messages")
    rows = re.findall(r"<tr><td class=\"check\">.*?</tr>", client.get("/").content.decode(), re.DOTALL)
    assert [f">proposed {repair.oid[:6]}</b>" in row for row in rows if "a.db</td>" in row] == [True]
    assert [">proposed " in row for row in rows if "b.db</td>" in row] == [False]
    assert [row.count(">renumber-messages</span>") for row in rows if "b.db</td>" in row] == [1]
    start = client.get("/").content.decode().partition("Start here:")[2].partition("</p>")[0]
    assert f'<a class="link" href="/repairs/{repair.oid}/">repair {repair.oid[:6]}</a> waits for review' in start
    Repair.objects.filter(pk=repair.pk).update(counts={"MSG101": [1, 1]})
    assert ">proposed " not in client.get("/").content.decode(), "what it leaves as it is it does not repair"
    Repair.objects.filter(pk=repair.pk).update(counts={"MSG101": [1, 0]}, state="rejected")
    assert ">proposed " not in client.get("/").content.decode()


def test_a_row_says_who_is_on_it_and_since_when_it_is_there(client: Client, tmp_path: Path) -> None:
    imported(tmp_path / "a.db", merged())
    imported(tmp_path / "b.db", merged())
    Problem.objects.filter(source__path__endswith="a.db").update(
        assigned_to="ada", first_seen=1_780_000_000_000, last_seen=1_782_000_000_000
    )
    first, second = re.findall(r"<tr><td class=\"check\">.*?</tr>", client.get("/").content.decode(), re.DOTALL)
    assert ">ada</span>" in first and '<div>first <time datetime="2026-05-28' in first and "Messages of different roles" in first
    assert "<div>first" not in second
    assert ">ada<" not in second and "Messages of different roles" in second and second.endswith('data-label="assigned"></td></tr>')
    Problem.objects.update(assigned_to="")
    assert "assigned</th>" not in client.get("/").content.decode() and 'data-label="assigned"' not in client.get("/").content.decode()


def test_a_problem_is_new_for_a_week_until_somebody_decides_about_it(client: Client, tmp_path: Path) -> None:
    """To the day of the newest conversation, with which the bars of the days end."""
    last, day = imported(tmp_path / "a.db", merged()).last_activity or 0, 24 * 3_600_000

    def marks() -> list[str]:
        row = client.get("/").content.decode().partition("<tbody>")[2].partition("</tbody>")[0]
        return re.findall(r'<span class="badge [^"]*state-[^>]*>(.*?)</span>', row)

    assert marks() == ["new"] and client.get("/index.json").json()["problems"][0]["is_new"]
    Problem.objects.update(first_seen=last - 6 * day)
    assert marks() == ["new"]
    Problem.objects.update(first_seen=last - 7 * day)
    assert marks() == [] and not client.get("/index.json").json()["problems"][0]["is_new"]
    Problem.objects.update(first_seen=last, regressed_at=timezone.now())
    assert marks() == ["regressed"]
    Problem.objects.update(decision="acknowledged")
    assert marks() == ["acknowledged"]


def test_the_effect_is_what_somebody_notices_and_the_fresh_one_comes_first(client: Client, kept: Kept) -> None:
    kept("example", example)
    listed = client.get("/index.json").json()["problems"]
    effects = {row["code"]: row["effect"] for row in listed}
    assert {code: effects[code] for code in ("MSG101", "TOOL202", "TOOL101")} == {
        "MSG101": "silent",
        "TOOL202": "rejected",
        # Its next request goes wrong silently.
        "TOOL101": "silent",
    }
    order = [(-row["conversations"], -row["last_seen"]) for row in listed if row["severity"] == "error" and row["silent"]]
    assert order == sorted(order) and len({fewer for fewer, _ in order}) < len(order)
    Conversation.objects.update(refused=False)
    listed = client.get("/index.json").json()["problems"]
    assert {row["effect"] for row in listed} == {"silent", "reported"} and not any(row["rejected"] for row in listed)


def test_a_silent_problem_says_also_that_the_next_request_is_rejected(client: Client, kept: Kept) -> None:
    kept("example", example)
    before = {row["code"]: row["rejected"] for row in client.get("/index.json").json()["problems"]}
    assert before["MSG101"] and before["TOOL202"] and not before["TOOL101"]
    outcomes = outcomes_of(client)
    assert [outcomes[code] for code in ("MSG101", "THINK301", "TOOL202")] == ["2 of 3 rejected", "rejected, other cause", "all rejected"]
    warnings = {row["code"] for row in client.get("/index.json?severity=warning").json()["problems"]}
    assert "MSG201" in warnings and "rejected" not in {outcomes[code] for code in warnings}, "they are not why"
    assert outcomes["THINK101"] == "rejected, other cause", "a dash hid what the page of the problem says"
    Conversation.objects.update(refused=False, next_request=["silent", "wrong silently", "passes all known rules"])
    outcomes = outcomes_of(client)
    assert set(outcomes.values()) == {"wrong silently", "wrong silently, other cause"}, "as the pages of the conversations say"
    assert {code for code, words in outcomes.items() if words == "wrong silently"} == {"MSG101", "MSG102", "THINK301"}, (
        "what a rule says is misread or lost"
    )


def test_a_silent_error_says_what_is_wrong_where_the_next_request_passes(client: Client, problem: Problem) -> None:
    Conversation.objects.update(refused=False, next_request=["passes", "passes", ""])
    row = client.get("/").content.decode().partition('<td class="next"')[2].partition("</td>")[0]
    assert '<span class="caution" title="The next request passes all known rules, and nothing reports this">roles wrong</span>' in row
    assert (
        '<span class="caution">roles wrong</span>, but passes all known rules' in client.get(f"/problems/{problem.oid}/").content.decode()
    )
    (listed,) = client.get("/index.json").json()["problems"]
    assert (listed["next_request"], listed["unnoticed"]) == ("accepted", "roles wrong")
    assert '· <span class="caution">roles wrong</span>' in start_of(client)
    Problem.objects.update(rank=1)
    assert "Two" in start_of(client) and "accepted" not in start_of(client), "that is no reason to start there"
    assert outcomes_of(client) == {"MSG101": "accepted"}, "what is reported is noticed"
    Problem.objects.update(rank=0)
    Conversation.objects.filter(native_id="one").update(refused=True)
    assert outcomes_of(client) == {"MSG101": "1 of 2 rejected"}


def test_a_problem_says_in_how_many_conversations_the_next_request_is_rejected(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(tmp_path / "a.db", rows("one", MERGED, "One") + rows("two", MERGED, "Two") + rows("three", MERGED, "Three", AT + DAY))
    Conversation.objects.update(refused=True, next_request=["rejected", "rejected at messages.1", ""])
    assert outcomes_of(client)["MSG101"] == "all rejected"
    Conversation.objects.filter(native_id="one").update(refused=False, next_request=["passes", "passes", ""])
    assert outcomes_of(client)["MSG101"] == "2 of 3 rejected"
    assert client.get("/index.json").json()["problems"][0]["rejected_conversations"] == 2
    monkeypatch.setattr(problem_list, "MOST_COUNTED", 2)
    assert outcomes_of(client)["MSG101"] == "rejected", "of the worst and newest one"
    assert client.get("/index.json").json()["problems"][0]["rejected_conversations"] is None


def test_problems_are_chosen_by_what_becomes_of_the_next_request(client: Client, kept: Kept) -> None:
    kept("example", example)
    by_words: dict[str, dict[str, str]] = {}
    for words in ("rejected", "wrong-silently", "accepted", "cannot-be-opened"):
        page = client.get(f"/?next_request={words}").content.decode()
        by_words[words] = outcomes_in(page)
        assert f"Next request: <b>{words.replace('-', ' ')}</b>" in page
        assert len(problems(client, f"?next_request={words}")) == len(by_words[words])
        assert f'name="next_request" value="{words}"' in page, "a search keeps it"
        assert 'wrong silently <span class="quiet">content lost, history hidden</span>' in page
    assert by_words["rejected"] and all("rejected" in said for said in by_words["rejected"].values())
    assert by_words["wrong-silently"] and not {"all rejected", "rejected", "accepted", "–"} & set(by_words["wrong-silently"].values())
    assert set(by_words["accepted"].values()) <= {"accepted"} and not by_words["cannot-be-opened"]


def test_each_problem_is_in_the_choice_that_its_row_says(client: Client, problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen() -> tuple[list[str], dict[str, str]]:
        """The choices that list it, and what its row says."""
        words = ("rejected", "wrong-silently", "accepted", "cannot-be-opened")
        return [name for name in words if problems(client, f"?next_request={name}")], outcomes_of(client)

    def stored(native_id: str, state: str, words: str) -> None:
        Conversation.objects.filter(native_id=native_id).update(
            refused=state == "rejected" or "opened" in words, next_request=[state, words, ""]
        )

    for native_id in ("one", "two"):
        stored(native_id, "", "cannot be opened")
    assert chosen() == (["cannot-be-opened"], {"MSG101": "cannot be opened"})
    stored("one", "rejected", "rejected at messages.1")
    assert chosen() == (["rejected"], {"MSG101": "1 of 2 rejected"}), "of those that can be opened"
    stored("two", "silent", "wrong silently")
    assert chosen() == (["rejected", "wrong-silently"], {"MSG101": "1 of 2 rejected"}), "the other one is wrong silently"
    stored("two", "", "cannot be opened")
    for native_id in ("one", "two"):
        stored(native_id, "passes", "passes")
    assert chosen() == (["wrong-silently"], {"MSG101": "roles wrong"})
    Problem.objects.update(rank=1)
    assert chosen() == (["accepted"], {"MSG101": "accepted"}), "what is reported is noticed"
    for native_id in ("one", "two"):
        stored(native_id, "rejected", "rejected at messages.1")
    monkeypatch.setattr(problem_list, "MOST_COUNTED", 1)
    assert chosen() == (["rejected"], {"MSG101": "rejected"}), "of the worst and newest one"
    Problem.objects.update(rank=2)
    assert chosen() == ([], {"MSG101": "rejected, other cause"}), "a warning is not why"
    for native_id in ("one", "two"):
        stored(native_id, "", "can be resumed")
    assert chosen() == ([], {"MSG101": "can be resumed"})


def start_of(client: Client) -> str:
    return client.get("/").content.decode().partition("Start here:")[2].partition("</p>")[0]


def outcomes_of(client: Client) -> dict[str, str]:
    """Code -> what becomes of the next request, of the problems of conversations."""
    return outcomes_in(client.get("/").content.decode())


def outcomes_in(page: str) -> dict[str, str]:
    rows = page.split('<tr><td class="check">')[1:]
    cells = re.compile(r'<span class="badge \w+">(\w+)<.*<td class="next" [^>]*>(.*?)</td>', re.DOTALL)
    found = [cell.groups() for row in rows if (cell := cells.search(row))]
    return {code: re.sub(r"<[^>]*>", "", words) for code, words in found}


def headings_of(page: str) -> list[tuple[str, int, int]]:
    """(heading, its number, rows below it) of each group of an inbox."""
    groups = re.split(r'<tr class="group">', page)[1:]
    words = [re.search(r"colspan=\"8\"[^>]*>([\w ]+) <span class=\"count\">([\d,]+)</span>", group) for group in groups]
    return [(match[1], int(match[2]), group.count('<td class="check">')) for match, group in zip(words, groups, strict=True) if match]


def test_problems_are_in_groups_the_silent_errors_first(client: Client, kept: Kept) -> None:
    kept("example", example)
    headings = headings_of(client.get("/").content.decode())
    assert [name for name, *_ in headings] == [
        "Errors no program reports",
        "Other errors",
        "Warnings no program reports",
        "Other warnings",
    ]
    assert all(number == below for _, number, below in headings) and sum(number for _, number, _ in headings) == Problem.objects.count()
    assert headings_of(client.get("/?silent=1&severity=error").content.decode()) == headings[:1]
    for name in ("Other errors", "Other warnings"):
        others = client.get("/").content.decode().partition(f">{name} ")[2].partition('<tr class="group">')[0]
        assert others and "wrong silently" not in others, "nothing reports it there"
    sorted_otherwise = client.get("/?sort=-first").content.decode()
    assert headings_of(sorted_otherwise) == [] and sorted_otherwise.count(">unreported</span>") == sum(
        number for name, number, _ in headings if name.endswith("no program reports")
    )


def test_a_group_that_goes_on_has_its_heading_and_whole_number_on_the_next_page(
    client: Client, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept("example", example)
    monkeypatch.setattr(problem_list, "SHOWN", 2)
    (_, number, _), *_ = headings_of(client.get("/").content.decode())
    following = client.get("/index.json").json()["next"]
    second = headings_of(client.get(f"/?{following}").content.decode())
    assert number > 2 and second[0] == ("Errors no program reports", number, min(2, number - 2))


def test_the_days_of_the_inbox_and_of_trends_end_on_the_same_day(client: Client, tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("one", MERGED) + rows("well", HEALTHY, at=AT + 12 * DAY))
    ends = {client.get("/trends.json").json()["days_to"], client.get("/index.json").json()["problems"][0]["days_to"]}
    assert ends == {"2026-07-03"} and '/trends/?days=30">trends</a> to 2026-07-03' in client.get("/").content.decode()
    shown = client.get("/trends/?days=30").content.decode()
    assert 'value="2026-06-04"' in shown and 'value="2026-07-03"' in shown, "the link leads to the days that it names"
    assert "1 new in the 30 days to 2026-07-03</title>" in client.get("/").content.decode()
    written_again(tmp_path / "a.db", rows("one", MERGED), rows("well", HEALTHY, at=AT + 40 * DAY))
    problem = Problem.objects.select_related("source").get()
    for page in ("/", f"/?source={problem.source.oid}", f"/problems/{problem.oid}/", f"/sources/{problem.source.oid}/"):
        assert "nothing new in the 30 days to 2026-07-31</title>" in client.get(page).content.decode(), page
    store(tmp_path / "b.db", rows("later", HEALTHY, at=AT + 50 * DAY))
    assert "30 days to 2026-08-10</title>" in client.get(f"/problems/{problem.oid}/").content.decode(), "as of all sources"
    Source.objects.filter(pk=problem.source_id).update(is_demo=True)
    assert "30 days to 2026-07-31</title>" in client.get(f"/problems/{problem.oid}/").content.decode(), "the demo is not one of them"


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ("source=SOURCE", 1), ("source=000000000000", 0), ("program=dispatch", 1), ("program=codex", 0), ("severity=error", 1),
        ("severity=note", 0), ("next_request=zzz", 1), ("next_request=rejected&tab=repaired", 0), ("severity=<script>", 1), ("silent=1", 1), ("assigned=none", 1), ("assigned=me", 0), ("assigned=ada", 0),
        ("q=msg101", 1), ("q=different+roles", 1), ("q=a.db", 1), ("q=%25", 0), ("q=%00", 0), ("q=zzz", 0), ("tab=zzz", 1),
        ("sort=-seen", 1), ("sort=oid", 1), ("page=9&after=zzz", 1), ("source=SOURCE&program=dispatch&severity=error&silent=1&q=merged", 1),
    ],
)  # fmt: skip
def test_filters_are_in_the_address(client: Client, problem: Problem, query: str, number: int) -> None:
    query = query.replace("SOURCE", problem.source.oid)
    assert len(problems(client, f"?{query}")) == number
    assert client.get(f"/?{query}").status_code == 200


def test_each_filter_that_is_set_is_shown_with_a_link_that_removes_it(client: Client, problem: Problem) -> None:
    def shown(query: str) -> dict[str, str]:
        return dict(
            re.findall(r'class="chip on" href="(.*?)" aria-label="Remove the filter: (.*?)"', unescape(client.get(query).content.decode()))
        )

    assert shown("/") == shown("/?q=msg101") == {}
    assert shown("/?silent=1&severity=error&sort=-seen") == {"/?silent=1&sort=-seen": "errors", "/?severity=error&sort=-seen": "unreported"}
    assert shown(f"/?source={problem.source.oid}") == {"/": problem.source.option[1]}
    assert shown("/?next_request=wrong-silently&sort=-seen") == {}, "its own field has it"
    assert shown("/?tab=ignored&assigned=me") == {"/?tab=ignored": "assigned to me"}
    many = "/?kind=conversations&program=dispatch&severity=error&silent=1&day=2026-06-21"
    assert list(shown(many).values()) == ["conversations", "Dispatch", "errors"] and ">+2</span>" in client.get(many).content.decode()
    hostile = client.get("/?assigned=<script>alert(1)").content.decode()
    assert "assigned to &lt;script&gt;alert(1)" in hostile and "<script>alert" not in hostile


def test_the_title_of_a_filtered_inbox_is_what_is_listed(client: Client, problem: Problem) -> None:
    def title(query: str) -> str:
        return unescape(re.sub(r"<[^>]+>", "", client.get(query).content.decode().partition("<h1>")[2].partition("</h1>")[0]))

    assert title("/?severity=error&q=msg101") == "1 open problem: errors, “msg101”"
    assert title("/?next_request=accepted") == "0 open problems: next request accepted"
    assert title("/?tab=ignored&silent=1") == "0 ignored problems: unreported"
    assert "damaged" in title("/") and title("/?tab=review&severity=error") == title("/?sort=-seen") == title("/")


def test_lists_are_sorted_as_the_address_says(client: Client, kept: Kept) -> None:
    kept("example", example)
    found = client.get("/index.json?sort=conversations").json()["problems"]
    numbers = [row["conversations"] for row in found]
    assert numbers == sorted(numbers) and len(set(numbers)) > 1
    seen = [row["last_seen"] for row in client.get("/index.json?sort=-seen").json()["problems"]]
    assert seen == sorted(seen, reverse=True) and len(set(seen)) > 1
    assert "Sort: <b>unreported errors first</b>" in client.get("/").content.decode()
    assert "Sort: <b>seen last</b>" in client.get("/?sort=-seen").content.decode()
    assert 'aria-sort="descending"' in client.get("/?sort=-seen").content.decode()


def test_a_fork_makes_one_conversation_less_damaged_and_its_undo_one_more(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    values = merged(merged(), to="c2")
    original = imported(path, values)
    before = client.get("/index.json").json()
    assert (before["damaged"], before["conversations"]) == (2, 2)
    repair = applied(original, "renumber-messages", mode="fork")
    after = client.get("/index.json").json()
    assert (after["damaged"], after["conversations"]) == (1, 3) and after["rules"][0]["conversations"] == 1
    assert "1 of 3 conversations damaged" in client.get("/").content.decode()
    fork = Conversation.objects.get(native_id=repair.options["fork_id"])
    for address in (f"/conversations/{original.oid}/", f"/problems/{Problem.objects.get().oid}/", "/conversations/?state=forked"):
        page = client.get(address).content.decode()
        assert "epaired by" in page and f'href="/conversations/{fork.oid}/"' in page, address
    assert [row["id"] for row in client.get("/conversations.json?state=damaged").json()["conversations"]] == [
        Conversation.objects.get(native_id="c2").oid
    ]
    assert client.get("/conversations.json?rule=MSG101").json()["total"] == 1
    finding = original.findings.get(code="MSG101")
    assert "Repaired by a fork" in client.get(f"/findings/{finding.oid}.json").json()["fate"]
    undo_repair(repair, "tester", interactive=True)
    assert client.get("/index.json").json()["damaged"] == 2


def test_a_decision_is_in_the_history_and_in_the_audit_trail(client: Client, problem: Problem) -> None:
    assert "1 problem ignored" in decide(client, "ignore", problem, reason="Known,\n fixed in 1.2", end="occurs")
    problem.refresh_from_db()
    assert (problem.state, problem.reason, problem.until_occurs) == ("ignored", "Known, fixed in 1.2", True)
    entry = AuditEntry.objects.first()
    assert entry is not None and (entry.verb, entry.detail["problem"], entry.detail["reason"]) == (
        "ignore problem", problem.oid, "Known, fixed in 1.2",
    )  # fmt: skip
    page = client.get(f"/problems/{problem.oid}/").content.decode()
    assert "Ignored until it occurs again" in page and "until it occurs again:" in page and "Known, fixed in 1.2" in page
    assert "1 problem reopened" in decide(client, "reopen", problem)
    assert "1 problem acknowledged" in decide(client, "acknowledge", problem)
    assert "Nothing changed" in decide(client, "acknowledge", problem)
    assert "1 problem assigned" in decide(client, "assign-me", problem) and "assigned" in decide(client, "assign", problem, to="ada")
    problem.refresh_from_db()
    assert (problem.state, problem.assigned_to) == ("acknowledged", "ada") and len(problems(client, "?assigned=ada")) == 1
    assert [event["verb"] for event in client.get(f"/problems/{problem.oid}.json").json()["events"]] == [
        "assigned", "assigned", "acknowledged", "reopened", "ignored",
    ]  # fmt: skip


def test_it_is_marked_as_fixed_in_a_version_and_what_comes_back_says_so(client: Client, problem: Problem) -> None:
    address = f"/problems/{problem.oid}"
    problem.days.update(client_version="2.1.107")
    Problem.objects.update(regressed_at=timezone.now())
    page = client.get(f"{address}/").content.decode()
    assert '<option value="2.1.107">' in page and 'placeholder="2.1.107"' in page and "Not fixed" not in page and "regressed" in page
    assert "1 problem marked as fixed" in decide(client, "fix", problem, version=" 2.1.108 ", page=problem.oid)
    assert "Nothing changed" in decide(client, "fix", problem, version="2.1.108")
    page = client.get(f"{address}/").content.decode()
    assert "client version <b>2.1.108</b>" in page and "what older clients wrote still needs it" in page and "regressed" not in page
    twin = client.get(f"{address}.json").json()
    assert (twin["state"], twin["fixed_in_version"], twin["fixed_by"]) == ("open", "2.1.108", twin["events"][0]["who"]) and twin["fixed_at"]
    entry = AuditEntry.objects.get(verb="fix problem")
    assert (entry.detail["problem"], entry.detail["version"]) == (problem.oid, "2.1.108")
    problem.events.create(at=entry.at, verb="occurred again", detail={"version": "2.1.109", "fixed_in": "2.1.108"})
    page = client.get(f"{address}/").content.decode()
    assert "marked as fixed in client version 2.1.108" in page
    assert "occurred again, written by client version 2.1.109, although marked as fixed in client version 2.1.108" in page
    assert "1 problem marked as not fixed" in decide(client, "unfix", problem) and "Nothing changed" in decide(client, "unfix", problem)
    assert "1 problem marked as fixed" in decide(client, "fix", problem) and "<b>yes</b>" in client.get(f"{address}/").content.decode()


def test_many_are_decided_at_once_and_the_choice_stays(client: Client, kept: Kept) -> None:
    kept("example", example)
    chosen = list(Problem.objects.all()[:3])
    answer = client.post(
        "/problems/decide/", {"action": "acknowledge", "problem": [row.oid for row in chosen], "query": "severity=error&zzz=1&next=//x"}
    )
    assert (answer.status_code, answer.headers["Location"]) == (302, "/?severity=error")
    assert Problem.objects.filter(decision="acknowledged").count() == 3
    assert AuditEntry.objects.filter(verb="acknowledge problem").count() == 3


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ({"action": "acknowledge", "problem": []}, "Choose at least one problem"),
        ({"action": "acknowledge", "problem": ["' OR 1=1 --", "\x00", "zzz"]}, "Choose at least one problem"),
        ({"action": "delete"}, "This is no action on problems"),
        ({}, "This is no action on problems"),
        ({"action": "fix", "version": "soon"}, "This is no version"),
        ({"action": "fix", "version": "1.0<script>"}, "This is no version"),
        ({"action": "ignore"}, "Say why the problem is ignored"),
        ({"action": "ignore", "reason": "x", "day": "soon"}, "This is no day"),
        ({"action": "ignore", "reason": "x", "day": "2026-02-31"}, "This is no day"),
        ({"action": "ignore", "reason": "x", "end": "2020-01-01"}, "This day is not in the future"),
    ],
)
def test_a_form_that_says_something_else_changes_nothing(client: Client, problem: Problem, form: dict[str, object], sentence: str) -> None:
    page = client.post("/problems/decide/", {"problem": [problem.oid], **form}, follow=True)
    assert page.status_code == 200 and sentence in page.content.decode()
    problem.refresh_from_db()
    assert problem.decision == "" and not AuditEntry.objects.filter(verb__contains="problem").exists()


def test_hostile_words_of_a_decision_are_shown_and_not_run(client: Client, problem: Problem) -> None:
    words = '<script>alert(1)</script>"\u202e' + "x" * 900
    decide(client, "ignore", problem, reason=words)
    decide(client, "assign", problem, to=words)
    decide(client, "ignore", problem, reason="y", day="2999-01-01", page="../../x", query="//evil.example/?tab=ignored")
    for address in ("/?tab=ignored", f"/problems/{problem.oid}/", f"/problems/{problem.oid}.md"):
        text = client.get(address).content.decode()
        assert "<script>alert" not in text and "\u202e" not in text, address
    problem.refresh_from_db()
    assert len(problem.assigned_to) == 150 and len(problem.events.last().detail["reason"]) == 500  # type: ignore[union-attr]


@pytest.mark.parametrize("place", ["page", "query"])
@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example/", "/\\evil.example", "javascript:alert(1)", "x" * 5000])
def test_a_form_leads_back_to_our_own_pages_only(client: Client, problem: Problem, place: str, target: str) -> None:
    answer = client.post("/problems/decide/", {"action": "acknowledge", "problem": problem.oid, place: target})
    assert answer.headers["Location"] == "/"


def test_a_decision_needs_the_token_of_its_form(problem: Problem) -> None:
    strict = OperatorClient(enforce_csrf_checks=True)
    for address in ("/problems/decide/", "/problems/views/"):
        assert strict.post(address, {"action": "acknowledge", "problem": problem.oid}).status_code == 403
    page = strict.get("/").content.decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert token is not None
    form = {"action": "acknowledge", "problem": problem.oid, "csrfmiddlewaretoken": token[1]}
    assert strict.post("/problems/decide/", form).status_code == 302
    problem.refresh_from_db()
    assert problem.decision == "acknowledged"


def test_what_is_repaired_cannot_be_ignored(client: Client, tmp_path: Path) -> None:
    applied(imported(tmp_path / "a.db", merged()), "renumber-messages")
    assert "Nothing changed" in decide(client, "ignore", Problem.objects.get(), reason="x")


def test_a_view_is_saved_under_a_name_replaced_and_removed(client: Client, problem: Problem) -> None:
    client.post("/problems/views/", {"name": " Silent\nones ", "query": "silent=1&severity=error&zzz=1"})
    view = SavedView.objects.get()
    assert (view.name, view.query) == ("Silent ones", "severity=error&silent=1")
    assert 'href="/?severity=error&amp;silent=1">Silent ones<' in client.get("/").content.decode()
    client.post("/problems/views/", {"name": "Silent ones", "query": "tab=ignored"})
    assert SavedView.objects.get().query == "tab=ignored"
    SavedView.objects.create(who="somebody else", name="Theirs", query="")
    assert "Theirs" not in client.get("/").content.decode()
    client.post("/problems/views/", {"name": "\x00", "action": "remove"})
    client.post("/problems/views/", {"name": "Silent ones", "action": "remove"})
    assert [view.name for view in SavedView.objects.all()] == ["Theirs"]
    assert "Give the view a name" in client.post("/problems/views/", {"name": " "}, follow=True).content.decode()
    for number in range(21):
        client.post("/problems/views/", {"name": f"View {number}"})
    assert SavedView.objects.exclude(who="somebody else").count() == 20


def test_the_page_of_a_problem_names_its_occurrences_and_their_repairs(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store(path, rows("one", MERGED, "One") + rows("two", MERGED, "Two", AT + DAY) + rows("three", MERGED, "Three"))
    written_again(path, rows("one", HEALTHY, "One"), rows("two", MERGED, "Two", AT + DAY))
    problem = Problem.objects.get()
    report = client.get(f"/problems/{problem.oid}.json").json()
    assert [(row["title"], row["state"]) for row in report["occurrences"]] == [
        ("Two", "open"), ("One", "no longer detected"), ("Three", "gone from its store"),
    ]  # fmt: skip
    assert (report["conversations"], report["conversations_ever"], report["first_seen"], report["last_seen"]) == (1, 3, AT, AT + DAY)
    assert (sum(report["days"]), report["days_to"]) == (3, "2026-06-22")
    page = client.get(f"/problems/{problem.oid}/").content.decode()
    finding = Conversation.objects.get(native_id="two").findings.get()
    assert f'/?finding={finding.oid}"' in page and "3 new in the 30 days to 2026-06-22, most on 2026-06-21: 2" in page
    text = client.get(f"/problems/{problem.oid}.md").content.decode()
    assert "MSG101" in text and "no longer detected" in text and f"/problems/{problem.shared_id}/" in text


def test_an_occurrence_says_what_is_lost_as_the_facts_of_its_problem_do(client: Client, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(lines(header(), u("e1", None), a("e2", "e1", {"type": "text", "text": "hi"}), u("e3", "gone")))
    import_targets([str(tmp_path / "s.jsonl")], "tester")
    page = client.get(f"/problems/{Problem.objects.get(code='TREE101').oid}/").content.decode()
    row = page.partition('data-label="next request"')[2].partition("</td>")[0]
    facts = page.partition("<dt>next request</dt>")[2].partition("</dd>")[0]
    assert facts.partition("<dd>")[2].strip() == row.partition(">")[2].strip() and "fine" not in row
    assert '<span class="caution"><b>history hidden</b>' in row


def test_a_repair_that_waits_and_leaves_a_problem_as_it_is_does_not_repair_it(client: Client, kept: Kept) -> None:
    source = kept("example", example)
    repair = proposed(source.conversations.get(native_id=INCIDENT), "renumber-messages")
    merged_page, leaked_page = (
        client.get(f"/problems/{source.rule_problems.get(code=code).oid}/").content.decode() for code in ("MSG101", "THINK301")
    )
    assert "The repair that waits does not repair this" in leaked_page and f"review repair {repair.oid[:6]}" in leaked_page
    assert re.findall(r'<a class="btn main"[^>]*>(.*?)</a>', leaked_page) == ["Repair it"]
    assert "does not repair this" not in merged_page
    assert re.findall(r'<a class="btn main"[^>]*>(.*?)</a>', merged_page) == ["Review the repair that waits"]


def test_the_page_of_a_problem_quotes_what_one_finding_names(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store(path, rows("one", MERGED, "One"))
    problem = Problem.objects.get()
    page = client.get(f"/problems/{problem.oid}/").content.decode()
    quoted = re.findall(r'<i>(\d+)</i> <em class="\w">(\w+)</em> <i>(.*?)</span>', page.partition('class="excerpt"')[2])
    assert quoted == [("1", "user", "text</i> hi"), ("2", "assistant", 'text</i> <b class="why">read as user</b> hello')]
    assert "but passes all known rules" in page.partition("next request")[2].partition("</dd>")[0]
    assert ">but passes all known rules</div>" in page.partition('data-label="next request"')[2].partition("</td>")[0]
    assert page.count("are read as one user message") == 2, "in the words of the rule and in those of the finding"
    written_again(path, rows("one", HEALTHY, "One"))
    assert 'class="excerpt"' not in client.get(f"/problems/{problem.oid}/").content.decode()


def test_the_page_of_a_problem_shows_what_the_provider_answers_where_the_problem_is_why(client: Client, kept: Kept) -> None:
    """In the incident the merged messages contain the calls of the results that are rejected; the call in thinking rejects nothing."""
    source = kept("example", example)
    pages = {
        code: client.get(f"/problems/{source.rule_problems.get(code=code).oid}/").content.decode()
        for code in ("MSG101", "TOOL202", "THINK301", "MSG201")
    }
    examples = {code: page.partition('id="example"')[2].partition("</section>")[0] for code, page in pages.items()}
    for code in ("MSG101", "TOOL202"):
        words = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", unescape(examples[code])))
        assert (
            "The provider answers the next request (openai-chat, OC-2, at messages.1) Invalid parameter: messages with role 'tool'" in words
        )
    for code in ("THINK301", "MSG201"):
        assert 'class="excerpt"' in examples[code] and "The provider answers" not in pages[code]
        assert ("rejected for another problem: OC-2 at messages.1." in pages[code]) is (code == "THINK301")
    quoted = re.findall(r"<span[^>]*>(?:<i>(\d+)</i>|(… \d+ chunks? left out))", examples["MSG101"])
    assert quoted == [("2", ""), ("3", ""), ("", "… 6 chunks left out"), ("10", ""), ("11", "")]
    assert examples["MSG101"].count("read as user") == 4
    assert re.findall(r"<i>(\d+)</i> <em", examples["TOOL202"]) == ["9", "10", "11", "12"]
    around = re.findall(r'<span class="around"><i>(\d+)</i>', examples["TOOL202"])
    assert around == ["9", "11"], "the result and its call are what is named"
    copies = {
        code: client.get(f"/problems/{source.rule_problems.get(code=code).oid}.md").content.decode() for code in ("MSG101", "THINK301")
    }
    assert "3 assistant text (read as user) Hello! How can I help you today?\n" in copies["MSG101"]
    assert "The provider (`openai-chat`, OC-2) answers the next request: `Invalid parameter: messages with role 'tool'" in copies["MSG101"]
    assert "14 assistant thinking" in copies["THINK301"] and "The provider" not in copies["THINK301"]
    reports = [
        client.get(f"/problems/{source.rule_problems.get(code=code).oid}.json").json()["example"] for code in ("TOOL202", "THINK301")
    ]
    assert [(chunk["seq"], chunk["named"]) for chunk in reports[0]["chunks"]] == [(9, False), (10, True), (11, False), (12, True)]
    assert reports[0]["answer"]["path"] == "messages.1"
    assert reports[1]["answer"] is None


def test_a_problem_that_nothing_repairs_leads_to_what_repairs_the_harm(client: Client, kept: Kept) -> None:
    kept("programs", of_programs)
    source = Conversation.objects.get(title__startswith="The totals of the ledger").source
    torn, cut = (source.rule_problems.get(code=code) for code in ("STORE501", "TREE101"))
    page = client.get(f"/problems/{torn.oid}/").content.decode()
    assert re.findall(r'<a class="btn main" href="(.*?)">(.*?)</a>', page) == [
        (f"/conversations/{cut.occurrences.get().conversation.oid}/repairs/new/", "Repair it with TREE101")
    ]
    fix = page.partition('id="fix"')[2].partition("</section>")[0]
    assert '<a class="link" href="/rules/TREE101/">TREE101</a> says so' in fix
    assert '<a class="link" href="/strategies/reparent-orphan-entry/"><code>reparent-orphan-entry</code></a>' in fix
    quoted = re.findall(r"<i>(\d+)</i> <em", page.partition('class="excerpt"')[2])
    assert quoted == ["5", "6", "7", "8"] and '{"type":"message"' in unescape(page)
    assert "Repair it with" not in client.get(f"/problems/{cut.oid}/").content.decode()
    other = Conversation.objects.filter(source=source).exclude(pk=cut.occurrences.get().conversation_id).first()
    cases = {
        "a note asks for nothing": {"rank": 4},
        "it is repaired": {"rank": 0, "state": Occurrence.State.REPAIRED},
        "it is another conversation that has it": {"state": Occurrence.State.OPEN, "conversation": other},
    }
    for why, changed in cases.items():
        cut.occurrences.update(**changed)
        assert "Repair it with" not in client.get(f"/problems/{torn.oid}/").content.decode(), why
        assert ">see TREE101</span>" not in client.get("/").content.decode(), f"{why}, as the inbox says"


def test_a_large_conversation_has_the_same_example_and_no_whole_is_read(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (examined, problem_views):
        monkeypatch.setattr(module, "LARGE", 2)
    source = example(tmp_path, traces=False)
    monkeypatch.setattr(loading, "case", None)
    page = client.get(f"/problems/{source.rule_problems.get(code='MSG101').oid}/").content.decode().partition('id="example"')[2]
    assert "<b>The provider answers</b>" in page and re.findall(r"<i>(\d+)</i> <em", page) == ["2", "3", "10", "11"]


def test_of_a_large_conversation_the_example_of_a_cut_has_what_it_hides(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (examined, problem_views):
        monkeypatch.setattr(module, "LARGE", 2)
    of_programs(tmp_path)
    monkeypatch.setattr(loading, "case", None)
    source = Conversation.objects.get(title__startswith="The totals of the ledger").source
    pages = {code: client.get(f"/problems/{source.rule_problems.get(code=code).oid}/").content.decode() for code in ("STORE501", "TREE101")}
    quoted = {
        code: re.findall(r'<span( class="around")?><i>(\d+)</i>', page.partition('class="excerpt"')[2]) for code, page in pages.items()
    }
    around = ' class="around"'
    assert quoted["STORE501"] == [(around, "3"), (around, "4"), (around, "6"), ("", "7")], "5 is the call of 4, in one entry"
    assert quoted["TREE101"] == [(around, "6"), (around, "7"), ("", "8"), (around, "9")]


def test_who_is_assigned_and_whether_it_is_fixed_are_changed_next_to_where_they_are_shown(client: Client, problem: Problem) -> None:
    page = client.get(f"/problems/{problem.oid}/").content.decode()
    acts, _, facts = page.partition('aria-label="Facts"')
    facts = facts.partition("</aside>")[0]
    for value in ("assign", "assign-me", "fix"):
        assert f'value="{value}"' in facts and f'value="{value}"' not in acts
    for value in ("acknowledge", "ignore"):
        assert f'value="{value}"' in acts and f'value="{value}"' not in facts
    assert facts.count(f'name="problem" value="{problem.oid}"') == 2 and 'placeholder="None"' not in facts
    Problem.objects.update(conversations=0)
    assert 'value="assign"' not in client.get(f"/problems/{problem.oid}/").content.decode()


def test_the_page_of_a_problem_says_how_to_fix_it_in_the_store_and_in_the_code(client: Client, tmp_path: Path) -> None:
    conversation = imported(tmp_path / "a.db", merged())
    address = f"/problems/{Problem.objects.get(code='MSG101').oid}"
    page = client.get(f"{address}/").content.decode().partition('id="fix"')[2].partition("</section>")[0]
    assert (
        '>renumber-messages</a> <span class="badge ok' in page
        and page.count("/strategies/") == 1
        and "Group by <code>seq - chunkIdx</code>" in page
        and "waits" not in page
    )
    assert client.get(f"{address}.json").json()["fixed_in_code"].startswith("Group by `seq - chunkIdx`")
    assert 'the damage returns until <a class="link" href="#fix">the code</a> is fixed' in client.get(f"{address}/").content.decode()
    repair = proposed(conversation, "renumber-messages")
    page = client.get(f"{address}/").content.decode().partition('id="fix"')[2].partition("</section>")[0]
    assert f'href="/repairs/{repair.oid}/">repair {repair.oid[:6]}</a> waits for review' in page


def test_the_history_of_a_problem_says_where_it_was_found_and_who_repaired_it(client: Client, tmp_path: Path) -> None:
    repair = applied(imported(tmp_path / "a.db", merged()), "renumber-messages")
    problem = Problem.objects.get(code="MSG101")
    decide(client, "assign", problem, to="ada")
    history = client.get(f"/problems/{problem.oid}/").content.decode().partition("<h2>History</h2>")[2].partition("</ul>")[0]
    sentences = [re.sub(r"\s+", " ", re.sub("<[^>]+>", "", line)).partition(" · ")[2].strip() for line in history.split("</li>")[:-1]]
    title = repair.conversation.title
    assert sentences[-1] == f"found in {title}"
    assert [f"tester {act} a repair of {title}" in sentences for act in ("proposed", "approved", "applied")] == [True, True, True]
    assert "repaired" in sentences
    undo_repair(repair, "tester", interactive=True)
    page = client.get(f"/problems/{problem.oid}/").content.decode()
    assert [
        words in re.sub("<[^>]+>", "", page) for words in (f"tester applied a repair of {title}", f"tester undid a repair of {title}")
    ] == [True, True]


def test_what_is_only_found_again_is_one_line_of_the_history(client: Client, tmp_path: Path) -> None:
    def history() -> str:
        page = re.sub(r"\s+", " ", client.get(f"/problems/{Problem.objects.get().oid}/").content.decode())
        return page[page.index("<h2>History</h2>") :]

    chunks = rows("one", MERGED, "One") + rows("two", MERGED, "Two", AT + DAY)
    store(tmp_path / "a.db", chunks)
    assert "<summary>" not in history().partition("</section>")[0]
    (tmp_path / "a.db").unlink()
    store(tmp_path / "a.db", [*chunks, *rows("three", MERGED, "Three", AT + 2 * DAY)])
    folded = re.sub("<[^>]+>", "", history().partition("<summary>")[2].partition("</summary>")[0])
    assert folded == "2026-06-23 · found in 3 conversations, the first 2026-06-21"
    assert history().count("found in <a") == 3


def test_the_occurrences_of_a_problem_are_paged(client: Client, tmp_path: Path) -> None:
    many(tmp_path / "a.db", 130)
    oid = Problem.objects.get().oid
    first = client.get(f"/problems/{oid}.json").json()
    second = client.get(f"/problems/{oid}.json?{first['next']}").json()
    assert (len(first["occurrences"]), len(second["occurrences"]), second["pages"]) == (50, 15, 2)
    assert not {row["conversation"] for row in first["occurrences"]} & {row["conversation"] for row in second["occurrences"]}


def test_a_problem_that_never_was_is_not_found(client: Client) -> None:
    for ending in ("/", ".json", ".md"):
        assert client.get(f"/problems/000000000000{ending}").status_code == 404


@pytest.mark.parametrize("by", ["rule", "source", "version", "model", "zzz"])
def test_trends_are_of_days_and_of_what_the_address_asks_for(client: Client, tmp_path: Path, by: str) -> None:
    store(tmp_path / "a.db", rows("one", MERGED) + rows("two", MERGED, at=AT + DAY))
    store(tmp_path / "b.db", rows("one", MERGED, at=AT - 200 * DAY))
    report = client.get(f"/trends.json?by={by}").json()
    sources = [Source.objects.get(path__endswith=name).oid for name in ("a.db", "b.db")]
    keys = {"source": sources, "version": [""], "model": [""]}.get(by, ["MSG101"])
    assert [row["key"] for row in report["rows"]] == keys and (report["days"], report["days_to"]) == (30, "2026-06-22")
    assert (report["rows"][0]["total"], report["rows"][0]["days"][-2:]) == (2, [1, 1])
    assert sum(row["total"] for row in client.get(f"/trends.json?by={by}&days=365").json()["rows"]) == 3
    assert client.get(f"/trends.json?by={by}&rule=MSG102").json()["rows"] == []
    page = client.get(f"/trends/?by={by}&days=90&rule=%3Cscript%3E").content.decode()
    assert "2 new in the 90 days to 2026-06-22" in page and "<script>" not in page.replace("<script src", "")


def test_trends_are_drawn_by_severity_and_count_what_was_repaired(client: Client, tmp_path: Path) -> None:
    conversation = imported(tmp_path / "a.db", broken())
    before = client.get("/trends.json").json()
    assert before["repaired"] == 0 and '<th class="n">repaired</th>' not in client.get("/trends/").content.decode()
    page = client.get("/trends/").content.decode()
    drawn = re.findall(
        r'<rect class="severity (\w+)" x="\d+" y="[\d.]+" width="3" height="([\d.]+)"><title>[-\d]+: (\d+) new, (\d+) of severity', page
    )
    assert {severity for severity, *_ in drawn} == {"error", "warning"}
    assert sum(float(height) for _, height, *_ in drawn) == pytest.approx(22, abs=0.02)
    assert sum(int(number) for *_, number in drawn) == int(drawn[0][2]) == before["total"]
    applied(conversation, "renumber-messages")
    after = client.get("/trends.json").json()
    ended = {row["key"]: row["repaired"] for row in after["rows"]}
    assert ended["MSG101"] == 1 and after["repaired"] == sum(ended.values()) == 3
    assert all(row["repaired"] == 0 for row in client.get("/trends.json?by=version").json()["rows"])


def test_trends_say_how_many_of_the_conversations_of_the_days_are_damaged(client: Client, tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("one", MERGED) + rows("two", MERGED) + rows("well", HEALTHY) + rows("later", HEALTHY, at=AT + DAY))
    report = client.get("/trends.json?since=2026-06-21&until=2026-06-22").json()
    assert (report["active"], report["active_damaged"]) == ([3, 1], [2, 0])
    address = "/trends/?since=2026-06-21&until=2026-06-22"
    assert "4 conversations by day of last activity, 2 damaged or rejected now" in words_of(client, address)
    strip = client.get(address).content.decode().partition('<svg class="active"')[2].partition("</svg>")[0]
    heights = [
        (float(whole), float(part))
        for whole, part in re.findall(r'height="([\d.]+)"/><rect class="damaged"[^>]*height="([\d.]+)"/>', strip)
    ]
    assert [round(part / whole, 2) for whole, part in heights] == [0.67, 0]
    assert "2026-06-21: 3 last active, 2 of them damaged or rejected now" in strip


def of_rule(code: str) -> Problem:
    return Problem.objects.create(source=Source.objects.get(), oid=code, code=code, rule="x", rank=0, first_seen=0, last_seen=0)


def of_day(problem: Problem, day: date, number: int, version: str = "") -> None:
    ProblemDay.objects.create(problem=problem, day=day, client_version=version, occurrences=number)


def words_of(client: Client, address: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", client.get(address).content.decode()).split())


def test_trends_name_the_day_with_the_most_and_the_version_that_began_on_it(client: Client, tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("one", MERGED))
    ProblemDay.objects.all().delete()
    problem, ended, began = Problem.objects.get(), of_rule("MSG102"), of_rule("TOOL102")
    of_day(problem, date(2026, 5, 1), 2, "1.0")
    of_day(ended, date(2026, 5, 2), 3, "1.0")
    of_day(problem, date(2026, 6, 19), 1, "1.0")
    of_day(problem, date(2026, 6, 20), 5, "2.0 <i>")
    of_day(began, date(2026, 6, 20), 1, "2.0 <i>")
    of_day(began, date(2026, 6, 21), 1, "2.0 <i>")
    page = words_of(client, "/trends/")
    assert "that day merged-messages 5, unanswered-call . All have client version 2.0 &lt;i&gt; , which is new that day." in page
    assert "6 of 8 new occurrences began on 2026-06-20 ." in page
    assert "5 occurrences began from 2026-04-23 to 2026-05-22, the 30 days before." in page
    assert "New unanswered-call . More merged-messages (2 → 6). None any more merged-into-assistant (3 → 0)." in page
    assert "A 06-20 first with client version 2.0 &lt;i&gt; , 6 of 6 new" in page and "with client version 1.0" not in page, (
        "it was there before"
    )
    new = {"day": "2026-06-20", "what": "client version", "name": "2.0 <i>"}
    old = {"day": "2026-05-01", "what": "client version", "name": "1.0"}
    firsts = [client.get(f"/trends.json?rule=MSG102&days={days}").json()["firsts"] for days in (30, 90)]
    assert firsts == [[new], [old, new]], "of the chosen span, whatever the rule"
    quiet = words_of(client, "/trends/?rule=MSG102")
    assert "A 06-20 first with client version 2.0 &lt;i&gt; , none new" in quiet and "none in 50 days" not in quiet, "a letter is there"


def test_trends_say_first_what_began_since_the_last_version_of_the_client(client: Client, tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("one", MERGED))
    ProblemDay.objects.all().delete()
    problem, ended, began = Problem.objects.get(), of_rule("MSG102"), of_rule("TOOL102")
    of_day(problem, date(2026, 5, 1), 2, "1.0")
    assert "Since " not in words_of(client, "/trends/"), "it was there before"
    of_day(ended, date(2026, 6, 18), 3, "1.9")
    of_day(problem, date(2026, 6, 19), 1, "1.0")
    of_day(problem, date(2026, 6, 20), 5, "2.0 <i>")
    of_day(began, date(2026, 6, 21), 1, "1.0")
    ProblemDay.objects.create(problem=began, day=date(2026, 6, 21), model="a model", occurrences=1)
    page = words_of(client, "/trends/")
    began_since = "Since 06-20 (B), 7 occurrences began, 5 of them with client version 2.0 &lt;i&gt; , new that day"
    assert f"{began_since}; 1 with another client version; 1 without a known client version." in page, (
        "a version of the client before a model"
    )
    assert "new unanswered-call 2. seen before merged-messages 5 of 6 new, 2 before." in page
    assert "(3 before)" not in page, "before is the column of the table: of the days before these"
    assert page.index("Since 06-20") < page.index("new occurrences began on")
    since = client.get("/trends.json").json()["since"]
    assert (since["name"], since["day"], since["first"], since["again"]) == ("2.0 <i>", "2026-06-20", ["TOOL102"], ["MSG101"])
    assert (since["total"], since["with_it"], since["not_known"]) == (7, 5, 1)
    assert "Since 06-20 (B), none began: it is the first day of client version 2.0" in words_of(client, "/trends/?rule=MSG102")
    assert "Since " not in words_of(client, "/trends/?by=version") and client.get("/trends.json?by=version").json()["since"] is None


def test_trends_list_all_that_began_since_in_a_fold(client: Client, tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("one", MERGED))
    ProblemDay.objects.all().delete()
    for code in ("MSG102", "TOOL102", "TOOL202", "THINK101", "STORE101"):
        of_day(of_rule(code), date(2026, 6, 20), 1, "2.0")
    page = client.get("/trends/").content.decode()
    assert "On 06-20 (A), 5 occurrences began, all of them with client version 2.0 , new that day." in words_of(client, "/trends/")
    first, rest = page.partition("<dt title")[2].partition("</dd>")[0].split("<summary>and 2 more</summary>")
    assert (first.count("<a "), rest.count("<a ")) == (3, 2), "each leads to its problem"


def test_trends_count_how_much_of_a_day_has_the_version_that_began_on_it(client: Client, tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("one", MERGED))
    ProblemDay.objects.all().delete()
    problem, other = Problem.objects.get(), of_rule("MSG102")
    of_day(problem, date(2026, 6, 19), 1, "1.0")
    of_day(problem, date(2026, 6, 20), 4, "1.0")
    of_day(other, date(2026, 6, 20), 3, "2.0")
    assert " 3 of the 7 have client version 2.0 , which is new that day." in words_of(client, "/trends/")
    of_the_rule = words_of(client, "/trends/?rule=MSG101")
    assert re.search(r"On 06-20 \([AB]\), 4 of 5 new occurrences began, none of them with client version 2.0", of_the_rule), of_the_rule
    assert "began on 2026-06-20" not in of_the_rule and "which is new that day" not in of_the_rule


def test_a_day_of_the_trends_leads_to_the_problems_that_began_on_it(client: Client, tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("one", MERGED))
    ProblemDay.objects.all().delete()
    of_day(Problem.objects.get(), date(2026, 6, 19), 12)
    of_day(of_rule("MSG102"), date(2026, 6, 20), 7)
    Problem.objects.update(conversations=1)
    chart = client.get("/trends/?rule=MSG101").content.decode().partition('class="spark bars"')[2].partition("</svg>")[0]
    (href,) = re.findall(r'<a href="([^"]*)" aria-label="2026-06-19: 12 new">', chart)
    assert [row["code"] for row in client.get(f"/index.json{unescape(href)[1:]}").json()["problems"]] == ["MSG101"]
    numbers = re.findall(r'<text x="100%" y="([\d.]+)%">(\d+)</text>', client.get("/trends/").content.decode())
    assert numbers == [("100.0", "0"), ("58.33", "5"), ("16.67", "10")]
    of_days = {
        day: [row["code"] for row in client.get(f"/index.json?day={day}").json()["problems"]] for day in ("2026-06-20", "2026-06-21")
    }
    assert of_days == {"2026-06-20": ["MSG102"], "2026-06-21": []}
    assert len(client.get("/index.json?day=yesterday").json()["problems"]) == 2, "what is no day chooses nothing"
    assert 'aria-label="2026-06-19: 12 new" tabindex="-1"' in client.get("/trends/?days=90").content.decode(), (
        "90 stops of the Tab key are too many"
    )


def test_what_was_open_long_before_the_days_is_not_new_in_them(client: Client, tmp_path: Path) -> None:
    """A rule with two open ones of last year and one of today had `before 0`, as if all of it were new."""
    old, before = (rows(name, MERGED, at=AT - days * DAY) for name, days in (("old", 200), ("before", 40)))
    store(tmp_path / "a.db", old + rows("now", MERGED))
    store(tmp_path / "b.db", before)
    page = words_of(client, "/trends/")
    assert "30 days before" in page and "2 1 older" not in page
    assert re.search(r"MSG101 3 1 older", page), "one of the three began before the days before"
    assert "New merged-messages" not in page
    store(tmp_path / "c.db", rows("third", HEALTHY))
    Source.objects.filter(path__endswith="a.db").delete()
    assert "older" not in words_of(client, "/trends/")


def test_trends_go_on_to_the_newest_conversation_so_that_quiet_days_are_seen(client: Client, tmp_path: Path) -> None:
    future = 253_402_300_799_000
    store(tmp_path / "a.db", rows("one", MERGED) + rows("well", HEALTHY, at=AT + 12 * DAY) + rows("wrong clock", HEALTHY, at=future))
    report = client.get("/trends.json").json()
    assert (report["newest"], report["days_to"], report["rows"][0]["days"][-13:]) == ("2026-06-21", "2026-07-03", [1] + [0] * 12)
    page = words_of(client, "/trends/")
    assert "The only new occurrence began on 2026-06-21" in page
    assert "None began in the 12 days after 2026-06-21, up to 2026-07-03, the day of the newest data (" in page
    assert '<rect class="quiet" x="72" width="48"' in client.get("/trends/").content.decode(), "the last 12 of the 30 days"
    assert ">none in 12 days</text>" not in client.get("/trends/?days=90").content.decode(), "no room for words"
    written_again(tmp_path / "a.db", rows("one", MERGED), rows("well", HEALTHY, at=AT + 40 * DAY))
    later, same = words_of(client, "/trends/"), words_of(client, "/trends/?days=30")
    assert later == same and "chosen days" not in later, "it begins with the days of the inbox, which nobody chose"
    assert (
        "None began in these 30 days . None began in the 40 days after 2026-06-21, up to 2026-07-31, the day of the newest data (" in later
    )
    assert "before 1 occurrence began from 2026-06-02 to 2026-07-01, the 30 days before." in later
    moved = client.get("/trends.json").json()
    assert (moved["days"], moved["days_to"], sum(moved["active"])) == (30, "2026-07-31", 1)
    assert moved["days_to"] == client.get("/index.json").json()["problems"][0]["days_to"]
    chosen = "/trends/?since=2026-05-30&until=2026-06-28"
    assert re.search(
        r"up to 2026-07-31, the day of the newest data \([\d,]+ days? ago\) ?. The last 33 are not shown: Show the days",
        words_of(client, chosen),
    )
    (to_end,) = re.findall(r'href="(/trends/[^"]*)">Show the days to 07-31</a>', client.get(chosen).content.decode())
    assert "None began in the 40 days after 2026-06-21, up to 2026-07-31, the day of the newest data (" in words_of(
        client, unescape(to_end)
    )
    store(tmp_path / "b.db", rows("today", MERGED, at=AT + 40 * DAY))
    assert "None began in the" not in words_of(client, "/trends/")


def test_trends_have_the_days_that_the_address_names(client: Client, tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("one", MERGED) + rows("two", MERGED, at=AT - 3 * DAY) + rows("well", HEALTHY, at=AT + 12 * DAY))

    def days(query: str) -> tuple[int, str, int]:
        report = client.get(f"/trends.json?{query}").json()
        return report["days"], report["days_to"], report["total"]

    assert days("since=2026-06-18&until=2026-06-21") == (4, "2026-06-21", 2)
    assert days("since=2026-06-19&until=2026-06-20") == (2, "2026-06-20", 0)
    assert days("since=2026-06-21") == (13, "2026-07-03", 1), "to the last day that there is anything of"
    assert days("until=2026-06-20") == (30, "2026-06-20", 1)
    assert days("since=2026-06-21&until=2999-01-01")[:2] == (13, "2026-07-03"), "no day is to come"
    assert days("since=2001-01-01")[:2] == (365, "2026-07-03")
    assert days("days=90&since=2026-06-21")[0] == 90, "a span that is chosen after days is taken"
    for wrong in ("since=x&until=<i>", "since=2026-02-31", "days=7"):
        assert days(wrong) == (30, "2026-07-03", 2)
    assert days("since=2026-06-30&until=2026-06-21")[:2] == (30, "2026-06-21"), "the wrong way round"


@pytest.mark.parametrize("page", ["/trends/", "/conversations/", "/"])
def test_a_day_that_is_none_is_said_in_one_sentence(client: Client, tmp_path: Path, page: str) -> None:
    store(tmp_path / "a.db", rows("one", MERGED))
    name = "day" if page == "/" else "since"
    for odd in ("2026-02-31", "<i>", "2026-01-31T10:00", "x" * 1000):
        sentence = f"'{odd[:20]}' is no day, so that it is passed over: write it as YYYY-MM-DD."
        assert sentence in unescape(words_of(client, f"{page}?{urlencode({name: odd})}"))
    for day in ("", "2026-02-28", "1999-01-01"):
        assert "no day" not in words_of(client, f"{page}?{urlencode({name: day})}")


def test_days_in_the_wrong_order_are_said(client: Client, tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("one", MERGED))
    for page in ("/trends/", "/conversations/"):
        sentence = "The first day, 2026-06-30, is after the last, 2026-06-21: exchange them."
        assert sentence in words_of(client, f"{page}?since=2026-06-30&until=2026-06-21")
        assert "exchange" not in words_of(client, f"{page}?since=2026-06-21&until=2026-06-21") + words_of(
            client, f"{page}?since=2026-06-21"
        )


@pytest.mark.parametrize("days", ["until=0001-01-01", "until=0001-01-02", "since=0001-01-03&until=0002-01-01", "until=9999-12-31"])
def test_trends_of_days_before_any_store_and_after_all_are_shown(client: Client, days: str) -> None:
    assert client.get(f"/trends/?{days}").status_code == client.get(f"/trends.json?{days}").status_code == 200


def test_trends_lead_to_the_days_before_and_after_and_closer_to_those_with_any(client: Client, tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("one", MERGED) + rows("two", MERGED, at=AT - 3 * DAY) + rows("well", HEALTHY, at=AT + 12 * DAY))

    def links(address: str) -> dict[str, str]:
        page = client.get(address).content.decode()
        return {words: unescape(href) for href, words in re.findall(r'href="(/trends/\?[^"]*)">([\w -]+)</a>', page)}

    first = links("/trends/?rule=MSG101&by=source")
    assert first == {
        "Earlier": "/trends/?by=source&rule=MSG101&since=2026-05-05&until=2026-06-03",
        "Zoom in on 06-18 to 06-21": "/trends/?by=source&rule=MSG101&since=2026-06-18&until=2026-06-21",
    }
    closer = links(first["Zoom in on 06-18 to 06-21"])
    assert closer == {
        "Earlier": "/trends/?by=source&rule=MSG101&since=2026-06-14&until=2026-06-17",
        "Later": "/trends/?by=source&rule=MSG101&since=2026-06-22&until=2026-06-25",
        "Show the days to 07-03": "/trends/?by=source&rule=MSG101&since=2026-06-18&until=2026-07-03",
    }
    page = client.get(first["Zoom in on 06-18 to 06-21"]).content.decode()
    assert '<option value="" selected>chosen days</option>' in page and 'name="since" value="2026-06-18"' in page
    assert "2 new occurrences began, at most one a day ; 3 conversations were last active in these days." in words_of(client, "/trends/")
    assert re.search(
        r"None began in the 12 days after 2026-06-21, up to 2026-07-03, the day of the newest data \([\d,]+ days? ago\) ?. The last 8 are not shown",
        words_of(client, closer["Later"]),
    )
    assert "None began in the 2 days after 2026-06-18, up to 2026-06-20." in words_of(client, "/trends/?until=2026-06-20")
    assert "None began in these 4 days . " in words_of(client, closer["Earlier"])


def test_the_chart_has_the_names_of_few_marks_and_the_letters_of_many(client: Client, tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("one", MERGED))
    ProblemDay.objects.all().delete()
    problem = Problem.objects.get()
    for number in range(4):
        of_day(problem, date(2026, 6, 5 + 4 * number), 1, f"<b>{number}.0")
    assert labels_of(client) == ["A &lt;b&gt;0.0", "B &lt;b&gt;1.0", "C &lt;b&gt;2.0", "D &lt;b&gt;3.0"]
    of_day(problem, date(2026, 6, 21), 1, "5.0")
    assert labels_of(client) == ["A", "B", "C", "D", "E"]


def labels_of(client: Client) -> list[str]:
    """What is above the bars."""
    drawn = client.get("/trends/").content.decode().partition('<svg class="letters"')[2].partition("</svg>")[0]
    return re.findall(r"<text[^>]*>([^<]*)</text>", drawn)


def test_trends_fold_the_rows_without_a_new_one(client: Client, tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("one", MERGED))
    ProblemDay.objects.update(day=date(2020, 1, 1))
    of_day(of_rule("MSG102"), today(), 2)
    page = client.get("/trends/").content.decode()
    above, _, folded = page.partition("<summary>1 more without a new one, open in 1</summary>")
    assert ">MSG102<" in above and ">MSG101<" not in above and ">MSG101<" in folded


def test_a_clock_that_is_wrong_does_not_move_the_days(client: Client, tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("one", MERGED) + rows("future", MERGED, at=253_402_300_799_000))
    for address in ("/", "/trends/", "/index.json", f"/problems/{Problem.objects.get().oid}/"):
        assert client.get(address).status_code == 200
    assert client.get("/trends.json").json()["days_to"] == "2026-06-21"


def test_json_of_the_inbox_keeps_its_members(client: Client, kept: Kept) -> None:
    kept("example", example)
    report = client.get("/index.json").json()
    old = {"conversations", "chunks", "sources", "damaged", "gone", "read_at", "rules", "recent", "streams"}
    assert old | {"tabs", "problems", "to_review"} <= report.keys()
    assert json.dumps(report["problems"][0]["days"]) and report["recent"] and Repair.objects.count() == 0


def test_a_secret_in_a_reason_is_not_kept(client: Client, problem: Problem) -> None:
    secret = "ghp_" + "Ab3dEf7hIj1LmN0pQrStUvWxYz0123456789"
    decide(client, "ignore", problem, reason=f"as {'x ' * 235}in {secret}")
    problem.refresh_from_db()
    assert problem.reason.startswith("as x") and "ghp_" not in problem.reason
    assert "ghp_" not in str(list(problem.events.values())) and "ghp_" not in str(list(AuditEntry.objects.values()))


def test_trends_have_a_row_of_all_that_is_open_and_none_of_what_is_ignored(client: Client, tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("one", MERGED, "One"))
    # It began long before the days that are shown.
    ProblemDay.objects.update(day=date(2020, 1, 1))
    ProblemDay.objects.create(
        problem=Problem.objects.create(source=Source.objects.get(), code="MSG102", rule="x", rank=0, first_seen=0, last_seen=0),
        day=today(),
        occurrences=2,
    )
    trends = client.get("/trends.json").json()
    assert [(row["key"], row["total"], row["open"]) for row in trends["rows"]] == [("MSG102", 2, 0), ("MSG101", 0, 1)] and trends[
        "open"
    ] == 1
    decide(client, "ignore", Problem.objects.get(code="MSG101"), reason="known")
    trends = client.get("/trends.json").json()
    assert [row["key"] for row in trends["rows"]] == ["MSG102"] and trends["open"] == 0


def test_a_problem_of_a_crash_file_leads_to_its_session_and_says_what_it_recorded(client: Client, kept: Kept) -> None:
    kept("programs", of_programs)
    crash = Conversation.objects.get(is_crash=True)
    problem = Problem.objects.get(source=crash.source, code="MSG403")
    page = client.get(f"/problems/{problem.oid}/").content.decode()
    session = Conversation.objects.get(title__startswith="Find out why resumed", is_crash=False)
    assert f'<a class="btn" href="/conversations/{session.oid}/">Open its session, which passes now</a>' in page
    words = " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())
    assert "A crash file is evidence and is never written" in words and "order-blocks" not in words
    assert "The provider answered then messages.5.content.3: thinking or redacted_thinking" in words
    assert "By its rules it answers the same request (anthropic-2026-07, AN-1)" in words and "Also found in it: TOOL102" in words
    issue = client.get(f"/problems/{problem.oid}.md").content.decode()
    assert "The provider answered then: `messages.5.content.3: thinking" in issue and "answers the next request" not in issue
    assert f"The next request of its session `{session.oid}`: passes." in issue and "is rejected" not in issue
    assert client.get(f"/problems/{problem.oid}.json").json()["crash"]["session_next_request"] == "passes"
    Conversation.objects.filter(pk=session.pk).update(next_request=["rejected", "rejected at messages.1", ""])
    page = client.get(f"/problems/{problem.oid}/").content.decode()
    assert f'<a class="btn main" href="/conversations/{session.oid}/repairs/new/">Repair its session</a>' in page
    merged = Problem.objects.filter(code="TREE106").first()
    assert merged and "Repair its session" not in client.get(f"/problems/{merged.oid}/").content.decode()


def test_among_what_goes_wrong_silently_each_problem_says_how_many_do(client: Client, kept: Kept) -> None:
    kept("programs", of_programs)

    def cells(query: str) -> dict[str, str]:
        rows = re.findall(
            r'<span class="badge \w+">(\w+)</span>.*?data-label="next request">(.*?)</td>', client.get(query).content.decode()
        )
        return {code: " ".join(re.sub("<[^>]+>", " ", cell).split()) for code, cell in rows}

    asked, every = cells("/?next_request=wrong-silently"), cells("/")
    assert asked["MSG101"] == "1 wrong silently 2 rejected" and every["MSG101"] == "2 of 3 rejected"
    assert asked["STORE501"] == "wrong silently content lost" and every["STORE501"] == "content lost"
    assert 'title="Nothing repairs it alone: what repairs TREE101 repairs its harm">see TREE101</span>' in client.get("/").content.decode()


def test_crash_files_are_not_counted_as_rejected(client: Client, kept: Kept) -> None:
    """They have no next request; of a problem that a session has too, the session counts."""
    kept("programs", of_programs)
    source = Conversation.objects.get(is_crash=True).source
    listed = {row["code"]: row for row in client.get(f"/index.json?source={source.oid}").json()["problems"]}
    assert (listed["MSG403"]["next_request"], listed["MSG403"]["rejected"], listed["MSG403"]["rejected_conversations"]) == (
        "crash file",
        False,
        0,
    )
    assert (listed["TOOL102"]["next_request"], listed["TOOL102"]["rejected_conversations"]) == ("accepted", 0)
    assert client.get(f"/index.json?source={source.oid}&next_request=rejected").json()["problems"] == []
    row = client.get(f"/?source={source.oid}").content.decode().partition("block-after-call")[2].partition("</tr>")[0]
    assert ">crash file</span>" in row and "order-blocks" not in row
    oid = listed["TOOL102"]["id"]
    facts = client.get(f"/problems/{oid}/").content.decode().partition("<dt>next request</dt>")[2].partition("</dd>")[0]
    assert " ".join(re.sub("<[^>]+>", " ", facts).split()) == "accepted despite the damage · 1 crash file: none"
    assert "none: a crash file" in client.get(f"/conversations/?source={source.oid}").content.decode()
    assert (
        Conversation.objects.filter(refused=True, is_crash=True).exists()
        and ">Rejected" not in client.get("/conversations/?state=crash").content.decode().partition("<tbody")[2]
    )


def test_one_conversation_has_one_outcome_in_all_its_problems(client: Client, kept: Kept) -> None:
    """The inbox said of one rule what the rule does, and of the other what the conversation lacks."""
    kept("programs", of_programs)
    row = Conversation.objects.get(title__startswith="The totals of the ledger")
    words = row.next_request[1]
    cells = re.findall(r'data-label="next request">(.*?)</td>', client.get(f"/?source={row.source.oid}&q=TREE101").content.decode())
    shown = " ".join(
        re.sub("<[^>]+>", " ", client.get(f"/problems/{row.source.rule_problems.get(code='TREE101').oid}/").content.decode()).split()
    )
    assert "5 messages, not what is above the cut" in shown, "of ten entries"
    assert shown.count("the path begins here and hides what is above") == 1 and "as in the example" in shown
    assert words == "content lost" and [re.sub("<[^>]+>", "", cell) for cell in cells] == [words]
    oids = [row.source.rule_problems.get(code=code).oid for code in ("STORE501", "TREE101")]
    assert all(f"<b>{words}</b>" in client.get(f"/problems/{oid}/").content.decode() for oid in oids)
    listed = client.get("/conversations/").content.decode().partition(row.title)[2].partition("</tr>")[0]
    assert ">path only</div>" in listed, "what is cut off is counted in neither number"


@pytest.mark.parametrize(("title", "before"), [("Help me plan the move", "warning"), ("The totals of the ledger", "error")])
def test_a_repair_that_leaves_a_note_repairs_the_problem(client: Client, kept: Kept, title: str, before: str) -> None:
    """The group refused it, and the options of the conversation recommended it."""
    kept("programs", of_programs)
    row = Conversation.objects.get(title__startswith=title)
    problem = row.source.rule_problems.get(code="TREE101")
    page = client.get(f"/problems/{problem.oid}/").content.decode()
    assert f'<a class="btn main" href="/conversations/{row.oid}/repairs/new/">Repair it</a>' in page, "there is one only"
    group = client.get(f"/problems/{problem.oid}/repair/?strategy=reparent-orphan-entry").content.decode()
    assert "Propose 1 repair" in group and "would still be found" not in group
    repair = proposed(row, "reparent-orphan-entry", mode="replay-suffix")
    assert repair.counts["TREE101"] == [1, 1, before, "note"]
    review = client.get(f"/repairs/{repair.oid}/").content.decode().partition("State one of these")[2]
    assert f'href="/problems/{problem.oid}/">TREE101</a>' in review, "what is milder is repaired there too"
    waiting = client.get(f"/problems/{problem.oid}/").content.decode()
    assert "Review the repair that waits" in waiting and "does not repair this" not in waiting
    approve_repair(repair, "ann", repair.plan_digest, "unfixed")
    apply_repair(Repair.objects.get(pk=repair.pk), "ann", interactive=True)
    page = client.get(f"/problems/{problem.oid}/").content.decode()
    assert "Repaired: what is left of it is a note" in page and "Repair it" not in page
    problem.refresh_from_db()
    assert (problem.severity, problem.conversations) == ("note", 1)


def test_a_missing_parent_that_the_requests_go_past_hides_nothing_from_them(client: Client, kept: Kept) -> None:
    """All messages were sent, and the problem, the list and the prompt said that history was hidden."""
    kept("programs", of_programs)
    row = Conversation.objects.get(title__startswith="Help me plan the move")
    problem = row.source.rule_problems.get(code="TREE101")
    listed = client.get("/conversations/").content.decode().partition(row.title)[2].partition("</tr>")[0]
    addresses = (f"/problems/{problem.oid}/", f"/conversations/{row.oid}/", f"/conversations/{row.oid}/prompt/")
    pages = [listed, *(client.get(address).content.decode().partition("Tried in memory")[0] for address in addresses)]
    assert not [page for page in pages if "history hidden" in page or "path only" in page or "wrong silently" in page]
    assert "its compaction, OpenClaw before it and pi begin here" in pages[1] and row.next_request[0] == "passes"


def test_what_is_first_to_look_at_is_no_crash_file_while_a_session_has_something(client: Client, kept: Kept) -> None:
    kept("programs", of_programs)
    crash = Conversation.objects.get(is_crash=True)
    Problem.objects.exclude(source=crash.source).delete()
    Problem.objects.exclude(code__in=("MSG403", "TOOL102")).delete()

    def start() -> str:
        return client.get("/").content.decode().partition("Start here")[2].partition("</p>")[0]

    assert "TOOL102" in {row["code"] for row in client.get("/index.json").json()["problems"]}
    assert start() and f"/conversations/{crash.oid}/" not in start() and "rejected" not in start()
    Problem.objects.filter(code="TOOL102").delete()
    assert f"/conversations/{crash.oid}/" in start() and "rejected" not in start(), "it has no next request"


def test_the_repairs_of_a_rule_say_what_they_do_to_the_example(client: Client, kept: Kept) -> None:
    kept("programs", of_programs)

    def in_the_store(problem: Problem) -> str:
        text = client.get(f"/problems/{problem.oid}/").content.decode().partition("<dt>in the store</dt>")[2].partition("</dd>")[0]
        return " ".join(re.sub("<[^>]+>", " ", text).split())

    dispatch = {problem.code: in_the_store(problem) for problem in Problem.objects.filter(source__format="dispatch")}
    assert dispatch["MSG101"] == (
        "renumber-messages safe partial Next request of the example after it: openai-chat: rejected → wrong silently (without seq 14) "
        "3 → 8 messages read"
    ), "of one there is no choice, and it is not enough"
    assert dispatch["STORE101"] == (
        "replace-unreadable-row invented and lossy partial Puts an error chunk that says so in the place of a row of which nothing can be read. "
        "Next request after it: openai-chat: still wrong silently (without seq 2); "
        "the request stays the same"
    ), "the other one finds no rows next to it here, and the same request has the same end"
    (branches,) = (in_the_store(problem) for problem in Problem.objects.filter(code="TREE101", source__format="pi"))
    assert (
        branches == "reparent-orphan-entry safe partial Next request after it: anthropic-2026-07: still wrong silently (content lost) "
        "5 → 8 messages read STORE501 at seq 7 stays lost TREE101 stays as a note in the default mode"
    )
    (many,) = (in_the_store(problem) for problem in Problem.objects.filter(code="STORE601"))
    assert many == "insert-ledger-results safe Next request after it: ai-sdk-6: rejected → accepted 4 → 7 messages read", (
        "its three others change nothing here"
    )
    (guessed,) = (in_the_store(problem) for problem in Problem.objects.filter(code="TOOL602"))
    assert guessed.count(". Next request after it: ai-sdk-6: rejected → accepted") == 3 and guessed.count(" invented ") == 3
    assert "insert-replay-result invented Inserts the result" in guessed, "of several each says what it does"
    assert dispatch["TOOL102"].startswith("insert-interrupted-result invented includes renumber-messages Next request after it:")


def test_a_problem_that_another_hides_says_what_becomes_of_the_request_once_that_alone_is_repaired(client: Client, kept: Kept) -> None:
    """It said "may": who repaired the other first made a request rejected that was not."""
    kept("example", example)
    words = words_of(client, f"/problems/{Problem.objects.get(code='TOOL102').oid}/")
    assert "the next request raises no error" in words and "no program reports this damage" not in words
    assert "MSG101 is why its next request is not rejected: after renumber-messages alone it is rejected at messages.1 (OC-1)" in words
    assert "no program reports this damage" in words_of(client, f"/problems/{Problem.objects.get(code='MSG101').oid}/")
    for code in ("MSG101", "STORE101", "TOOL202"):
        assert "why its next request" not in words_of(client, f"/problems/{Problem.objects.get(code=code).oid}/"), "nothing hides it"
    page = client.get(f"/problems/{Problem.objects.get(code='TOOL101').oid}/").content.decode()
    assert "STORE101 is why its next request goes wrong silently." in page
    assert re.search(r'<a class="btn" href="[^"]*/repairs/new/">Repair it', page), "it changes nothing of that"


def test_a_list_by_what_becomes_of_the_next_request_has_what_may_be_why(client: Client, kept: Kept) -> None:
    """The list of what is rejected had THINK301, whose row says that it has another cause, and not the others that say so."""
    kept("programs", of_programs)
    every = outcomes_of(client)
    for words, asked, happens in (("rejected", "rejected", "is rejected"), ("wrong silently", "wrong-silently", "goes wrong silently")):
        listed = {row["code"] for row in client.get(f"/index.json?next_request={asked}").json()["problems"]}
        others = {code for code, outcome in every.items() if outcome == f"{words}, other cause"}
        assert listed and others and listed.isdisjoint(others), (listed, others)
        title = words_of(client, f"/?next_request={asked}")
        assert f"open problems: may be why the next request {happens}" in title
    assert "may be why" not in words_of(client, "/?next_request=accepted")


def test_a_row_says_how_many_crash_files_have_it_next_to_conversations(client: Client, kept: Kept) -> None:
    """ "accepted" of two was of one: the provider refused the request that the other one records."""
    kept("programs", of_programs)
    page = client.get("/").content.decode()
    row = page[page.index(f'href="/problems/{Problem.objects.get(code="TOOL102", source__format="rollouts").oid}/"') :].partition("</tr>")[
        0
    ]
    words = words_of(client, f"/problems/{Problem.objects.get(code='TOOL102', source__format='rollouts').oid}/")
    assert "2 of 2 conversations, 1 crash file among them" in words and "Example: Find out why resumed sessions" in words, (
        "its numbers are of the session"
    )
    assert re.search(r">accepted</span><div class=\"quiet\">1 crash file</div>", row)
