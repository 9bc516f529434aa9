"""What is pasted into an issue: verdict first, bounded, masked, and without power over the tracker."""

import re

import pytest

from inspector.conversation import notation
from inspector.presentation.catalogue import entries as catalogues
from inspector.presentation.conversation.scan import conversation_report
from inspector.presentation.markdown import code, conversation_md, fenced, finding_md, prose, repair_md, rule_md
from inspector.profiles.openai_chat import OPENAI_CHAT as PROFILE
from inspector.projections.catalogue import projection
from inspector.rules.base import Finding, Origin, Severity, case_of, findings
from inspector.rules.catalogue import RULES
from tests.folding import in_one_test

MERGED = "1 user 0.0 text hello\n2 assistant 0.0 text hi\n3 user 0.0 text bye"
HOSTILE = "| <script>alert(1)</script> @everyone see #123, GH-7 and https://evil.example/x `tick` *bold* [a](b)\n\n# Heading \x1b[2J"
SECRET = "ghp_" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zAb7c"


def report() -> dict[str, object]:
    conversation, _ = notation.load(MERGED, native_id="1a997b08|@someone")
    case = case_of(conversation, "dispatch-legacy")
    prompt = projection("dispatch-openai").project(case.reading.messages)
    judgements = {"openai-chat": PROFILE.judge(prompt)}
    return conversation_report(
        "4f9f3bd4a413", case, findings(case, RULES), judgements, "The store is intact, but its loader is wrong.", prompt
    )


def calls_nobody(text: str) -> bool:
    """No mention, reference or address outside of code."""
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text, flags=re.DOTALL)
    return not re.search(r"[@#](?=\w)|GH-\d|://\w|(?<!\\)<script", re.sub(r"<https://inspector[^>]*>", "", outside))


def test_the_verdict_stands_first_and_findings_in_a_table() -> None:
    text = conversation_md(report(), MERGED.split("\n"), {"conversation": "https://inspector.example.org/conversations/4f9f3bd4a413/"})
    assert text.startswith("**The store is intact, but its loader is wrong.**\n")
    assert "| MSG101 merged-messages | error, silent | 1-3 | " in text
    assert "`dispatch-legacy`" in text and "`openai-chat`" in text
    assert "```text\n1 user 0.0 text hello\n" in text
    assert "- conversation: <https://inspector.example.org/conversations/4f9f3bd4a413/>" in text
    assert calls_nobody(text)


def test_without_a_base_url_there_are_no_links() -> None:
    assert "://" not in conversation_md(report(), [], {"conversation": ""})


@pytest.mark.parametrize("where", ["verdict", "message", "native_id"])
def test_hostile_words_have_no_power(where: str) -> None:
    hostile = report()
    if where == "message":
        hostile["findings"] = [{**hostile["findings"][0], "message": HOSTILE}]  # type: ignore[index]
    else:
        hostile[where] = HOSTILE
    text = conversation_md(hostile, [HOSTILE], {})
    assert calls_nobody(text) and "\x1b" not in text
    outside = text.partition("```text")[0]
    assert "\n# Heading" not in outside
    rows = [line for line in outside.split("\n") if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {5}


def test_prose_is_one_line_without_markup() -> None:
    text = prose(HOSTILE)
    assert calls_nobody(text) and "\n" not in text and "\\`tick\\`" in text and "\\|" in text and "\\<script\\>" in text
    assert prose("- item") == "\\- item" and prose("1. item").startswith("\\1.")
    assert len(prose("x" * 5000)) == 1001


@pytest.mark.parametrize("content", ["```", "````\n```", "`````js", "no ticks"])
def test_the_fence_is_longer_than_any_in_the_content(content: str) -> None:
    first, *middle, last = fenced(content.split("\n")).split("\n")
    assert first == last + "text" and set(last) == {"`"} and "\n".join(middle) == content
    assert all(len(run) < len(last) for run in re.findall("`+", content))


def test_a_code_span_holds_backticks() -> None:
    assert code("a`b") == "``a`b``" and code("`") == "`` ` ``" and code("plain") == "`plain`"


def test_secrets_are_masked_everywhere_even_where_the_text_is_cut() -> None:
    hostile = report()
    hostile["verdict"] = f"It holds {SECRET}."
    hostile["native_id"] = f"id {SECRET}"
    hostile["findings"] = [{**hostile["findings"][0], "message": "x" * 980 + f" {SECRET}"}]  # type: ignore[index]
    text = conversation_md(hostile, ["y" * 980 + f" {SECRET}", SECRET], {})
    assert SECRET[4:12] not in text and text.count("[masked github-token ") >= 3


def test_evidence_is_bounded_and_says_how_much_there_is() -> None:
    text = conversation_md(report(), [f"{number} user 0.0 text x" for number in range(500)], {})
    assert "… and 440 more lines" in text and len(text) < 5000
    many = report()
    many["findings"] = [{**many["findings"][0], "seqs": list(range(0, 100, 2)), "total": 900}] * 80  # type: ignore[index]
    text = conversation_md(many, [], {})
    assert "and 30 more findings." in text and "0, 2, 4, 6, 8, 10 and 44 more (900 in all)" in text


def test_a_finding_comes_with_its_evidence() -> None:
    finding = Finding(
        "MSG101",
        "merged-messages",
        Severity.ERROR,
        True,
        Origin.READER,
        HOSTILE,
        (1, 2, 3),
        11,
        "k",
        ("renumber-messages",),
        (("seq 1", HOSTILE),),
        (("the tools were not sent", "3 tools"),),
    )
    text = finding_md(report(), finding, [HOSTILE], {"finding": "https://inspector.example.org/findings/1/"})
    assert calls_nobody(text) and text.startswith("**MSG101 `merged-messages`: ")
    assert (
        "seq 1-3 (11 in all)" in text
        and "Other causes, and what speaks against them:\n\n- the tools were not sent: 3 tools" in text
        and "`renumber-messages`" in text
    )


def test_a_repair_says_what_it_does_and_who_did_it() -> None:
    plan = {
        "conversation": "4f9f3bd4a413",
        "base_digest": "a" * 64,
        "plan_digest": "b" * 64,
        "mode": "same-rows",
        "safety": ["lossy"],
        "cost": [HOSTILE],
        "warnings": ["merges again"],
        "edits": [],
        "findings_before": [{"code": "MSG101"}, {"code": "TOOL202"}, {"code": "TOOL202"}],
        "findings_after": [],
        "profiles": {"openai-chat": {"before": "rejected at messages.1 (OC-2)", "after": "passes all known rules"}},
        "diff": f"--- a\n+++ b\n-1 user 0.0 text {SECRET}\n+```",
    }
    text = repair_md(plan, {"state": "verified", "proposed by": "@dev", "rejected by": ""})
    assert calls_nobody(text) and SECRET not in text and "````diff\n" in text
    assert "| findings | MSG101, TOOL202 x 2 before, none after |" in text and "a" * 64 in text and "b" * 64 in text
    assert "| state | verified |" in text and "rejected by" not in text and "lossy" in text


@in_one_test("rule", catalogues.rules(), ids=lambda rule: rule["code"])
def test_every_rule_can_be_pasted(rule: dict[str, str]) -> None:
    text = rule_md(rule)
    assert text.startswith(f"**{rule['code']} `{rule['rule']}`**") and calls_nobody(text)
