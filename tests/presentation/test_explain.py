"""A pasted error leads to its rule, and with a history to the block, the chunk and the stored record."""

import json
import re
from dataclasses import fields, replace
from string import Formatter

import pytest

from inspector.conversation import notation
from inspector.conversation.model import Fact
from inspector.presentation.explain.advice import is_advice_only, remedies
from inspector.presentation.explain.answer import (
    Candidate,
    Explanation,
    advice_words,
    calls_named,
    cause_words,
    explained_in,
    explanation_report,
    recognized,
    same_refusal,
)
from inspector.presentation.explain.meanings import meaning, own_rules
from inspector.profiles.base import ProviderRule
from inspector.profiles.catalogue import PROFILES, provider_of
from inspector.programs.formats import OFF_PATH_UNREAD, UNREAD
from inspector.programs.registry import UNKNOWN, programs
from inspector.rules import catalogue
from inspector.rules.base import Case, case_of
from tests.folding import in_one_test

RULES = list({rule.id: rule for judge in PROFILES for rule in judge.rules}.values())
VALUES = {
    "n": 5,
    "m": 3,
    "id": "toolu_01AbC",
    "ids": "toolu_01AbC, toolu_02",
    "count": 2,
    "tokens": 9,
    "output": 4,
    "length": 65,
    "limit": 40,
}


def test_what_an_error_means_is_said_in_short_sentences() -> None:
    for rule in RULES:
        sentences = [part for text in (rule.advice, *rule.cause) for part in re.split(r"(?<=[.:]) ", text)]
        assert ";" not in "".join((rule.advice, *rule.cause)) and all(len(sentence.split()) <= 26 for sentence in sentences), rule.id


def test_a_rule_with_many_repairs_has_one_of_ours_that_says_which_are_likely() -> None:
    many = {rule.id: own_rules(rule.id) for rule in RULES if len(rule.repaired_by) > 5}
    assert [name for name, ours in many.items() if not ours] == ["MI-2", "TE-1"], "they are of any order of roles"
    for rule in RULES:
        ours = own_rules(rule.id)
        likely = {name for each in ours for name in each.repaired_by} & set(rule.repaired_by) if ours else {""}
        assert 0 < len(likely) <= 4, (rule.id, likely)


def texts(rule: ProviderRule) -> list[str]:
    """Its own wording and the others, as a provider prints them."""
    return [replace(rule, text=text).say(**VALUES, role="user", name="bash", before="tool") for text in (rule.text, *rule.also)]


def wrapped(text: str) -> dict[str, str]:
    body = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": text}})
    return {
        "bare": text,
        "in JSON": body,
        "in JSON twice": json.dumps({"body": body}),
        "in a log line": f"2026-07-25 12:00:01,123 ERROR agent.loop request failed: Error code: 400 - {body}",
        "in a stack trace": f'Traceback (most recent call last):\n  File "agents.py", line 1, in run\nanthropic.BadRequestError: Error code: 400 - {body}\n',
        "in colour, over two lines": "\x1b[31m400\x1b[0m " + text.replace(" ", "\n", 1),
    }


@in_one_test("rule", RULES, ids=lambda rule: rule.id, most=40)
def test_every_text_of_every_table_is_recognized_however_it_is_wrapped(rule: ProviderRule) -> None:
    for text in texts(rule):
        for how, pasted in wrapped(text).items():
            assert any(found.rule.id == rule.id or found.rule.text == rule.text for found in recognized(pasted)), f"{how}: {pasted[:300]}"


@in_one_test("rule", [rule for rule in RULES if any("`" in text for text in (rule.text, *rule.also))], ids=lambda rule: rule.id)
def test_a_text_is_recognized_whose_words_between_backticks_a_shell_ran(rule: ProviderRule) -> None:
    for text in texts(rule):
        pasted = re.sub("`[^`]*`", "", text)
        assert any(found.rule.id == rule.id for found in recognized(pasted)), pasted


@pytest.mark.parametrize(
    ("pasted", "rules", "ids"),
    [
        (
            "messages.1:  ids were found without  blocks immediately after: toolu_1. Each  block must have a corresponding  block in the next message.",
            {"AN-1", "AN-3", "AN-4", "AN-4t"},
            ("toolu_1",),
        ),
        ("messages.1:  ids were found without  blocks immediately after: toolu_1", {"AN-1", "AN-3", "AN-4", "AN-4t"}, ("toolu_1",)),
        ("messages.3.content.0: Invalid  in  block", {"AN-17", "AN-17e", "AN-17m", "AN-17r"}, ()),
        ("messages.3.content.0: Invalid word in block", set(), ()),
        ("ids were not found", set(), ()),
    ],
)
def test_without_its_words_in_backticks_a_text_may_be_of_every_rule_that_is_left(
    pasted: str, rules: set[str], ids: tuple[str, ...]
) -> None:
    candidates = recognized(pasted)
    assert {candidate.rule.id for candidate in candidates} == rules
    assert all(candidate.ids == ids for candidate in candidates)


@pytest.mark.parametrize(
    ("pasted", "values"),
    [
        (
            "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01, toolu_03roles.",
            "toolu_01, toolu_03roles",
        ),
        (
            "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_03.roles. Each `tool_use`",
            "toolu_03.roles",
        ),
    ],
)
def test_the_end_of_the_sentence_is_of_no_id(pasted: str, values: str) -> None:
    """A full stop inside of one is."""
    assert {candidate.values["ids"] for candidate in recognized(pasted)} == {values}


def history(text: str, format_name: str = "anthropic-request") -> Case:
    return case_of(notation.load(text, "h", format_name)[0], "as-sent")


OPEN_CALL = """
1 user 0.0 text "list the files"
2 assistant 1.0 thinking "ls will do" sig=x
3 assistant 1.1 tool-call toolu_01 bash {"command":"ls"}
4 user 2.0 text "and?"
""".replace(" sig=x", "")


def test_a_number_of_a_message_leads_to_its_chunks_with_a_window_of_one_on_each_side() -> None:
    text = "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    found = next(
        each for each in explained_in(recognized(text), history(OPEN_CALL), "anthropic+as-sent") if each.candidate.rule.id == "AN-1"
    )
    assert found.candidate.values["n"] == "1" and found.candidate.ids == ("toolu_01",)
    assert [(place.path, place.seqs) for place in found.places][:1] == [("messages.1", (2, 3))]
    assert {place.path for place in found.places} >= {"messages.0", "messages.1", "messages.2", "messages.1.content.1"}
    assert next(place for place in found.places if place.path == "messages.1.content.1").seqs == (3,)
    assert ("anthropic-2026-07", "messages.1", (2, 3)) in found.fires


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("messages.[1].role", {"n": "1"}),
        ("messages[1].role", {"n": "1"}),
        ("messages.1", {"n": "1"}),
        ("messages[1].tool_calls[0].id", {"n": "1", "m": "0"}),
        ("input[12].content[3]", {"n": "12", "m": "3"}),
        ("messages", {}),
        ("temperature", {}),
        (None, {}),
    ],
)
def test_a_place_in_the_field_next_to_the_text_is_read(parameter: str | None, values: dict[str, str]) -> None:
    error = {"message": "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."}
    error |= {"type": "invalid_request_error", "param": parameter, "code": None}
    for text in (json.dumps({"error": error}), repr({"error": error}), json.dumps({"body": json.dumps({"error": error})})):
        found = next(each for each in recognized(text) if each.rule.id == "OC-2")
        assert found.values == values, text


def test_a_place_in_the_field_next_to_the_text_leads_to_its_chunks() -> None:
    text = """{'message': "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", 'param': 'messages.[1].role'}"""
    places = [place for each in explained_in(recognized(text), history(OPEN_CALL), "openai-chat+as-sent") for place in each.places]
    assert [(place.path, place.seqs) for place in places] == [("messages.1", (2, 3))]


def test_rules_that_share_a_text_are_all_candidates() -> None:
    text = "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    assert {found.rule.id for found in recognized(text)} >= {"AN-1", "AN-3", "AN-4"}


def test_a_block_that_the_history_does_not_have_is_said() -> None:
    text = "messages.9.content.3: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."
    found = next(
        each for each in explained_in(recognized(text), history(OPEN_CALL), "anthropic+as-sent") if each.candidate.rule.id == "AN-16"
    )
    assert [(place.path, place.chunks) for place in found.places] == [("messages.9", ())]
    assert "only 3" in found.places[0].why


def test_an_alias_of_a_client_is_recognized() -> None:
    said = recognized("API Error: 400 due to tool use concurrency issues. Run /rewind to recover the conversation.")
    assert {found.rule.id for found in said} >= {"AN-1"}


@pytest.mark.parametrize("text", ["", "hello", "404 Not Found", "Segmentation fault", "x" * 300_000, "{}", "\x00\ud800"])
def test_what_no_rule_says_is_not_recognised(text: str) -> None:
    assert recognized(text) == ()
    assert explanation_report(text, explained_in(recognized(text), None, ""))["recognised"] == []


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("[chat(glm)] Tool results are missing for tool calls a, b.", {"a", "b"}),
        ("[chat(glm)] Tool results are missing for tool calls a, b", {"a", "b"}),
        ("Tool results are missing for tool calls functions.find:0, functions.read:1", {"functions.find:0", "functions.read:1"}),
        ('{"error": "Tool results are missing for tool calls functions.find:0, b."}', {"functions.find:0", "b"}),
        ("error=(Tool result is missing for tool call a.)", {"a"}),
        ("Tool results are missing for tool calls", set()),
        ("AI_MissingToolResultsError", set()),
    ],
)
def test_the_error_of_missing_results_is_known_however_a_log_cut_it(text: str, ids: set[str]) -> None:
    assert [each.rule.id for each in recognized(text)] == ["SDK-1"]
    assert calls_named(text) == ids


def test_what_a_program_shows_by_the_words_of_our_rules_is_explained() -> None:
    rules = [
        (UNKNOWN, value)
        for rule in catalogue.RULES
        for value in (getattr(rule, each.name) for each in fields(rule))
        if isinstance(value, str)
    ]
    texts = [*rules, *((program, text) for program in programs() for text in program.errors.consequences.values())]
    quoted = [(program, shown) for program, text in texts for shown in re.findall(r"`(API Error[^`]*)`", text)]
    assert quoted
    for program, shown in quoted:
        assert meaning(shown, program.errors.meanings), shown
        assert not meaning("API Error: 400", program.errors.meanings)


MAX_TOKENS = "input length and `max_tokens` exceed context limit: {} + {} > {}, decrease input length or `max_tokens` and try again"
MISSING = "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}."


@pytest.mark.parametrize(
    ("cut", "is_same"),
    [(MISSING.format(1, "toolu_01X"), True), (MISSING.format(2, "toolu_01X"), False), (MISSING.format(1, "toolu_02"), False)],
)
def test_an_error_whose_end_is_cut_off_is_the_same_as_the_whole_one(cut: str, is_same: bool) -> None:
    whole = f"{MISSING.format(1, 'toolu_01X')} Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    assert same_refusal(cut, whole) == is_same


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MISSING.format(5, "toolu_01"), "The assistant's call toolu_01 got no"),
        (MISSING.format(5, "a, b, c, d, e, f"), "The assistant's calls a, b, c, d and 2 more got no"),
        (MISSING.format(0, "toolu_01"), "A call of the assistant got no"),
        ("API Error: 400 due to tool use concurrency issues", "A call of the assistant got no"),
        ("prompt is too long: 200001 tokens > 200000 maximum", "The request is 1 token (less than 1%) over the window of 200,000"),
        ("prompt is too long: 200000 tokens > 200000 maximum", ""),
        ("prompt is too long: 5 tokens > 0 maximum", ""),
    ],
)
def test_a_cause_is_said_with_the_values_of_the_text_and_without_those_that_it_lacks(text: str, expected: str) -> None:
    cause = cause_words(recognized(text)[0])
    assert cause.startswith(expected) if expected else cause == ""


def test_every_placeholder_of_a_cause_is_one_of_its_texts_or_derived_from_one() -> None:
    for rule in RULES:
        named = {name for text in (rule.text, *rule.also) for _, name, _, _ in Formatter().parse(text) if name}
        derived = {"calls", "before", "excess", "share"}
        assert {name for cause in rule.cause for _, name, _, _ in Formatter().parse(cause) if name} <= named | derived, rule.id


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ("210302", "cut at least 10,302 tokens: compact the conversation"),
        ("200001", "cut at least 1 token: compact the conversation"),
        ("200000", "compact the conversation"),
        ("9" * 60, "compact the conversation"),
    ],
)
def test_how_much_is_too_long_follows_from_the_numbers_of_the_text(tokens: str, expected: str) -> None:
    (candidate,) = recognized(f"prompt is too long: {tokens} tokens > 200000 maximum")
    assert advice_words(Explanation(candidate)).startswith(expected)


@pytest.mark.parametrize(
    ("text", "rule_id", "advice"),
    [
        ("This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 tokens.", "OC-9", "22,000"),
        (
            "This model's maximum context length is 4097 tokens. However, you requested 4268 tokens (4012 in the messages, 256 in the completion).",
            "OC-9",
            "171",
        ),
        ("This model's maximum context length is 4097 tokens.", "OC-9", ""),
        ("Your input exceeds the context window of this model. Please adjust your input and try again.", "OC-9", ""),
        ('{"code": "context_length_exceeded"}', "OC-9", ""),
        (
            "This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 tokens (42832 of text input).",
            "OV-5",
            "10,064",
        ),
        ("The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).", "GE-12", "151,717"),
        ("The input token count exceeds the maximum number of tokens allowed 1048576", "GE-12", ""),
        ("The model returned the following errors: Input is too long for requested model.", "BR-9", ""),
        (MAX_TOKENS.format(188240, 21333, 200000), "AN-22m", "9,573"),
        (MAX_TOKENS.replace("`", "").format(90402, 116650, 204648), "AN-22m", "2,404"),
        # As many as it takes: nothing is over.
        (MAX_TOKENS.format(180000, 20000, 200000), "AN-22m", ""),
    ],
)
def test_that_a_request_is_too_long_is_recognized_in_the_words_of_each_provider(text: str, rule_id: str, advice: str) -> None:
    (candidate,) = recognized(text)
    assert candidate.rule.id == rule_id and candidate.rule.is_of_size
    words = advice_words(Explanation(candidate))
    assert words.startswith(f"cut at least {advice} tokens: ") if advice else "cut at least" not in words
    assert bool(cause_words(candidate)) is bool(advice)


@pytest.mark.parametrize(
    "text", ["Input is too long", "the input token count is 5", "max_tokens: 5 > 4", "maximum number of tokens allowed"]
)
def test_what_only_speaks_of_tokens_is_no_request_that_is_too_long(text: str) -> None:
    assert recognized(text) == ()


def stored(text: str) -> Case:
    """A question with its row, and its answer."""
    conversation = history('1 user 0.0 text "go"\n2 assistant 1.0 text "yes"').conversation
    return case_of(replace(conversation, chunks=(replace(conversation.chunks[0], raw=text.encode()), conversation.chunks[1])), "as-sent")


def test_what_is_stored_is_next_to_an_error_of_its_size_and_of_no_other() -> None:
    """The page had it, and JSON and the command advised to cut 12,345 tokens of a conversation of 356."""
    (small,) = explained_in(recognized("prompt is too long: 212345 tokens > 200000 maximum"), stored("go"), "anthropic+as-sent")
    assert small.size and small.size.is_far_below and small.size.words.endswith(" tokens, far below the window of 200,000")
    assert advice_words(small) == "the excess is in tools or the system prompt, or it is another conversation"
    report = explanation_report("", [small])["recognised"][0]
    assert report["advice"] == advice_words(small)
    (large,) = explained_in(recognized("prompt is too long: 212345 tokens > 200000 maximum"), stored("word " * 90_000), "anthropic+as-sent")
    assert large.size and not large.size.is_far_below and advice_words(large).startswith("cut at least 12,345 tokens: compact")
    (unknown,) = explained_in(recognized("Input is too long for requested model."), stored("go"), "anthropic+as-sent")
    assert unknown.size and not unknown.size.is_far_below, "nobody knows how many it takes"
    assert advice_words(unknown).startswith("compact")
    other = explained_in(recognized(MISSING.format(1, "toolu_01")), stored("go"), "anthropic+as-sent")
    assert other and not any(explanation.size for explanation in other)


@pytest.mark.parametrize(
    ("text", "is_far_below"),
    [
        # 60,000 characters of Chinese are about as many tokens, and may be twice as many: 180 KB.
        ("请" * 60_000, False),
        ("请" * 40_000, True),
        # 180 KB of English are 45,000.
        ("word " * 36_000, True),
        ("word " * 90_000, False),
    ],
)
def test_a_text_of_other_characters_has_more_tokens_than_its_bytes_say(text: str, is_far_below: bool) -> None:
    case = stored(text)
    (explanation,) = explained_in(recognized("prompt is too long: 112000 tokens > 100000 maximum"), case, "anthropic+as-sent")
    assert explanation.size and explanation.size.is_far_below is is_far_below


def test_the_answer_that_is_asked_for_counts_to_the_window() -> None:
    """204,648 tokens are taken: 80,000 that may be stored are below 87,998, and not below 78,648."""
    below, above = (
        explained_in(recognized(MAX_TOKENS.format(150_000, output, 204_648)), stored("word " * 32_000), "anthropic+as-sent")[0]
        for output in (116_650, 126_000)
    )
    assert (
        below.size
        and below.size.is_far_below
        and advice_words(below).startswith("the excess is in tools, the system prompt or `max_tokens`")
    )
    assert above.size and not above.size.is_far_below and advice_words(above).startswith("cut at least 71,352 tokens: lower `max_tokens`")


def test_of_a_history_that_was_not_read_whole_no_size_is_known() -> None:
    too_long, case = recognized("prompt is too long: 212345 tokens > 200000 maximum"), stored("go")
    for name in (UNREAD, OFF_PATH_UNREAD):
        facts = {name: Fact(name, "is too large")}
        assert explained_in(too_long, case_of(replace(case.conversation, facts=facts), "as-sent"), "anthropic+as-sent")[0].size is None
    assert explained_in(too_long, case_of(replace(case.conversation, facts={"other": Fact("other", "")}), "as-sent"), "anthropic+as-sent")[
        0
    ].size


@pytest.mark.parametrize(
    ("end", "ids"),
    [
        (".", "toolu_03roles"),
        ("", "toolu_03roles"),
        (")", "toolu_03roles"),
        (", toolu_04.", "toolu_03roles, toolu_04"),
        # Part of the id.
        (".x", "toolu_03roles.x"),
    ],
)
def test_the_end_of_the_sentence_is_no_part_of_the_last_id(end: str, ids: str) -> None:
    text = f"messages.5: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_03roles{end}"
    for candidate in recognized(text):
        assert candidate.values["ids"] == ids, candidate.rule.id


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("prompt is too long: 210302 tokens > 200000 maximum", True),
        ("Request exceeds the maximum size", True),
        # One profile judges it, and the first that has it does not.
        ("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly", False),
        # No profile judges it, and a repair helps.
        ("messages.1.content.0: Invalid `signature` in `thinking` block", False),
        ("Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", False),
    ],
)
def test_what_no_stored_history_shows_and_no_repair_helps_has_only_its_advice(text: str, expected: bool) -> None:
    assert is_advice_only(explained_in(recognized(text), None, "")[0]) is expected


def test_every_repair_of_an_error_says_when() -> None:
    """One of four rows had no such line: no rule of ours names it."""
    for rule in RULES:
        listed = remedies(Explanation(Candidate((), rule, {}, (0, 1))), None, None)
        assert all(remedy.when for remedy in listed), (rule.id, [remedy.strategy.name for remedy in listed if not remedy.when])


@pytest.mark.parametrize(("rule_id", "provider"), [("AN-4t", "Anthropic"), ("MI-1", "Mistral"), ("OV-1r", "DeepSeek"), ("OV-2", "")])
def test_a_rule_has_its_provider_in_words(rule_id: str, provider: str) -> None:
    assert provider_of(rule_id) == provider
    assert provider or any(rule.id == rule_id and ": " in rule.summary for rule in RULES), "its summary names it"
