"""What makes the page of a conversation readable: chips, equals signs, calls with their results, changes of the model, what a search matched."""

import re
from html import unescape
from pathlib import Path

import pytest
from django.test import Client

from inspector.actions.import_source import import_targets
from inspector.models import Conversation
from inspector.templatetags.timeline_rows import with_code
from tests.actions.building import A, Store, T, U, er, imported, tc, tr
from tests.folding import in_one_test
from tests.programs.pi_openclaw.session_files import a, header, lines, text, u

pytestmark = pytest.mark.django_db
AS_STORED = 'aria-label="as stored"'


def page(client: Client, conversation: Conversation, query: str = "", **headers: str) -> str:
    answer = client.get(f"/conversations/{conversation.oid}/{query}", headers=headers)
    assert answer.status_code == 200
    return answer.content.decode()


def row(shown: str, seq: int) -> str:
    return shown.split(f'<tr id="seq-{seq}"', 1)[1].split("</tr>", 1)[0]


def chips(shown: str) -> list[tuple[str, str]]:
    found_chips = re.findall(
        r'<(?:a|span) class="chip [^"]*"(?: href="([^"]*)")?(?: title="[^"]*")?><b>(.*?)</(?:a|span)>', shown, re.DOTALL
    )
    return [(" ".join(re.sub(r"<[^>]+>", "", words).split()), href) for href, words in found_chips]


def test_three_chips_lead_to_the_first_bad_points(client: Client, incident: Conversation) -> None:
    assert chips(page(client, incident)) == [
        ("Stored 9, damaged", "?at=14#seq-14"),
        ("Read 9 → 3", "?at=2#seq-2"),
        ("Sent rejected at messages.1: a tool message without calls before it", "?at=12#seq-12"),
    ]
    assert chips(page(client, incident, "?reader=exact%2Bkeep-thinking"))[1][0] == "Read all 9"


def test_a_verdict_by_the_rules_of_another_endpoint_says_that_next_to_its_chip(
    client: Client, incident: Conversation, tmp_path: Path
) -> None:
    """It stood in the details alone, and "rejected" was taken for a fact."""
    words = f'title="The endpoint of {incident.model} is not modeled, judged as openai-chat"><b>Sent</b>'
    assert words in page(client, incident).partition('id="details"')[0]
    assert "is not modeled" not in page(client, imported(tmp_path / "other.db", Store().append(U("go"), A("ok"))))


def test_a_warning_is_never_shown_as_an_error(client: Client, incident: Conversation, tmp_path: Path) -> None:
    """The chip, the badge in the row, the mark where reading goes wrong and the tick of the overview have the severity of what was found."""
    warned = imported(tmp_path / "warned.db", Store().append(U("go"), A(er())))
    only_warnings, errors = page(client, warned), page(client, incident)
    for words in ('class="chip severity warning"', '<a class="badge warning" href="?finding=MSG2', 'class="severity warning" d="'):
        assert words in only_warnings
    assert 'severity error"' not in only_warnings.partition("<footer")[0] and 'class="badge error"' not in only_warnings
    for words in ('class="chip severity error"', '<a class="badge error" href="?finding=MSG101', 'class="departs severity error"'):
        assert words in errors


def test_what_is_read_and_sent_as_it_is_stored_is_an_equals_sign(client: Client, incident: Conversation) -> None:
    exact = page(client, incident, "?reader=exact%2Bkeep-thinking")
    assert row(exact, 1).count(AS_STORED) == 2 and row(exact, 1).count("hello") == 1
    merged = page(client, incident)
    read, sent = re.findall(r'<td class="(?:read|sent)".*?</td>', row(merged, 1), re.DOTALL)
    assert AS_STORED not in read and "11 chunks" in read
    reasons = [re.findall(r">(lost[^<]*)</p>", row(merged, seq)) for seq in (2, 5, 10)]
    assert reasons == [["lost: dropped from user messages"], ["lost"], ["lost"]], "the reason, once"
    assert "hello" not in sent
    # Nothing in a merged message is as it was stored: a row that keeps its role is not filled, one that is lost or gets another role is.
    cells = [row(merged, seq).rpartition("<td")[2] for seq in (1, 2, 3, 4, 10)]
    assert [" changed" in cell for cell in cells] == [False, True, True, False, True]
    assert not any(AS_STORED in cell for cell in cells)


def test_each_row_of_a_merged_message_says_where_it_went_and_as_what(client: Client, incident: Conversation) -> None:
    """Once for the rows of a stored message of which the same became: the others have it to be read aloud."""
    merged = page(client, incident)
    became = {
        seq: [
            (" sr" in classes, re.sub(r"<[^>]+>", "", words))
            for classes, words in re.findall(
                r'<p class="((?:quiet|why)(?: sr)?)"[^>]*>(.*?)</p>', row(merged, seq).split('<td class="read"')[1]
            )
        ]
        for seq in (1, 2, 3, 4, 10, 11)
    }
    assert became == {
        1: [],
        2: [(False, "MSG 0 → user"), (False, "lost: dropped from user messages")],
        3: [(True, "MSG 0 → user"), (False, "messages.0 → user")],
        4: [(False, "MSG 0"), (False, "messages.0")],
        10: [(True, "MSG 0 → user"), (False, "lost")],
        11: [(True, "MSG 0 → user"), (True, "lost")],
    }


def test_the_heads_of_read_and_sent_lead_to_the_first_that_is_lost(client: Client, incident: Conversation) -> None:
    heads = re.findall(
        r'<a class="why[^"]*"\s+href="([^"]+)"[^>]*>(.*?)</a>',
        page(client, incident).partition('<th scope="col" class="read">')[2].partition("</thead>")[0],
        re.DOTALL,
    )
    assert heads == [("?at=14#seq-14", "1 lost"), ("?at=2#seq-2", "5 chunks lost")]
    assert "lost</a>" not in page(client, incident, "?reader=exact%2Bkeep-thinking&as=dispatch-openai%2Bwrapped")


def test_how_many_are_lost_is_not_said_again_in_the_sentence(client: Client, incident: Conversation) -> None:
    shown = page(client, incident)
    assert "dispatch-legacy silently reads 9 messages as 3.</p>" in shown and "and leaves out seq 14" not in shown
    assert "exact silently leaves out seq 14" in page(client, incident, "?reader=exact")


def test_a_sentence_of_the_selected_finding_is_said_once(client: Client, incident: Conversation) -> None:
    sentence = "6 messages in a row of 3 turns share msgIdx 0"
    assert page(client, incident).count(sentence) == page(client, incident, "?finding=MSG101").count(sentence) == 1
    assert sentence in row(page(client, incident, "?finding=THINK301&at=1"), 1)


def test_a_call_says_how_its_result_is(client: Client, tmp_path: Path) -> None:
    store = Store().append(U("go"), A("look", tc("near"), tc("far"))).append(T(tr("near")))
    for number in range(120):
        store.append(U(f"still there? {number}"))
    shown = page(client, imported(tmp_path / "a.db", store.append(T({**tr("far"), "content": "of the <b>other</b> page"}))))
    near, far = row(shown, 3), row(shown, 4)
    assert 'href="#seq-5" title="result">→ 5</a> <span class="badge ok">ok</span>' in near and "<details" not in near
    assert '<details class="fused"><summary>→ 126' in far and far.count("of the &lt;b&gt;other&lt;/b&gt; page") == 2, (
        "folded, and its beginning"
    )


def test_a_call_and_its_result_that_are_apart_say_how_the_other_begins(client: Client, tmp_path: Path) -> None:
    secret = "hunter2-and-then-some"
    long = {**tr("b"), "content": f"two\nlines <b> {'x' * 200}"}
    store = (
        Store().append(U("go"), A("look", tc("a"), tc("b"))).append(T(tr("a")), T(long)).append(U("again"), A(tc("c"))).append(T(tr("c")))
    )
    shown = page(
        client, imported(tmp_path / "a.db", store.append(A(tc("d"), tc("e"))).append(T({**tr("d"), "content": f"password:\n{secret}"})))
    )
    apart, after, result = row(shown, 4), row(shown, 8), row(shown, 6)
    assert '<p class="half">' in apart and "two lines &lt;b&gt; xxx" in apart and "x" * 90 not in apart and "…</span></p>" in apart
    assert '← call 4</a> <span class="said">' in result, result
    assert 'class="half"' not in after and 'class="half"' not in row(shown, 9), "what is next to it needs no words"
    assert secret not in shown and "[masked" in row(shown, 10)


def test_a_search_marks_its_matches_and_hides_nothing_else(client: Client, tmp_path: Path) -> None:
    conversation = imported(tmp_path / "a.db", Store().append(U("a <b> and A <B> again")).append(A(tc("c1"))))
    assert row(page(client, conversation, "?q=%3Cb%3E"), 1).count("<mark>") == 2
    assert "<mark>" not in page(client, conversation)
    assert "the match is in the part of the row that is not shown here" in page(client, conversation, "?q=toolCallId")


FENCED = "Use `a<b>`:\n\n```python\nprint('<x>')\n~~~\n``` \nand then ``` in a line"
CUT_OFF = "~~~\n`one`\ntwo"


@in_one_test(
    ("words", "code"),
    [
        (FENCED, ["`a<b>`", "```python\nprint('<x>')\n~~~\n``` \n"]),
        (CUT_OFF, [CUT_OFF]),
        ("```\n```\nx\n```\ny\n```", ["```\n```\n", "```\ny\n```"]),
        ("a ` b and `` c", []),
        ("`over\nlines`", []),
        ("1. `one`\n    ```not a fence```", ["`one`"]),
        ("`" * 5_000, ["`" * 5_000]),
    ],
)
def test_code_in_words_is_set_as_code_and_every_character_stays(words: str, code: list[str]) -> None:
    shown = with_code(words)
    assert [unescape(part) for part in re.findall(r"<code[^>]*>(.*?)</code>", shown, re.DOTALL)] == code
    assert unescape(re.sub("</?code[^>]*>", "", shown)) == words


def test_what_an_agent_says_may_have_code_and_what_a_tool_says_is_no_markdown(client: Client, tmp_path: Path) -> None:
    conversation = imported(tmp_path / "a.db", Store().append(U("go")).append(A("see `x<y>`", tc("c1"))).append(T(tr("c1", "`x`"))))
    shown = page(client, conversation)
    assert "see <code>`x&lt;y&gt;`</code>" in row(shown, 2) and "<code" not in row(shown, 4)
    assert "<code" not in row(page(client, conversation, "?q=see"), 2), "a search marks what it matched, across code too"


@pytest.mark.parametrize(("lost", "is_open"), [(1, False), (2, False), (4, True)])
def test_a_tree_is_open_where_the_path_is_less_than_half_of_it(client: Client, lost: int, is_open: bool, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    other = [u(f"o{number}", None, f"lost {number}") for number in range(lost)]
    path.write_bytes(lines(header(), *other, u("u1", None, "go"), a("a1", "u1", text("one"))))
    shown = page(client, import_targets([str(path)], "tester")[0].source.conversations.get())
    assert f'<details class="fold"{" open" if is_open else ""}><summary>Tree' in shown


def test_another_model_is_a_change_in_the_row_where_it_begins(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    answers = [a("a1", "u1", text("one")), u("u2", "a1", "more"), a("a2", "u2", text("two"))]
    answers[2]["message"] |= {"provider": "other", "model": "<m-2>"}
    path.write_bytes(lines(header(), u("u1", None, "go"), *answers))
    shown = page(client, import_targets([str(path)], "tester")[0].source.conversations.get())
    assert "model changed:" not in row(shown, 2) and "→ other/&lt;m-2&gt;" in row(shown, 4)


def test_a_choice_gets_the_page_below_its_header(client: Client, incident: Conversation) -> None:
    part = page(client, incident, "?reader=exact", **{"HX-Request": "true", "HX-Target": "main"})
    assert '<main id="main"' in part and '<footer class="foot" id="foot">' in part and "</table>" in part
    assert "HX-Target" in client.get(f"/conversations/{incident.oid}/")["Vary"]
