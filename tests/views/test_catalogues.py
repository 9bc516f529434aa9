"""The catalogues as pages: complete, linked with each other, and with what is found now."""

import re
from html import unescape
from pathlib import Path

import pytest
from django.test import Client

from inspector.presentation.catalogue.entries import NO_OTHER_ID
from inspector.presentation.catalogue.repaired_example import repaired_example
from inspector.profiles.catalogue import PROFILES
from inspector.programs.catalogue import FORMATS
from inspector.projections.catalogue import all_projections
from inspector.readers.catalogue import all_readers
from inspector.rules.catalogue import RULES
from inspector.sources.reading import TRACE_FORMATS
from inspector.strategies.base import Strategy
from inspector.strategies.catalogue import STRATEGIES
from inspector.streams.captures.catalogue import KINDS
from inspector.streams.corrections import STREAM_STRATEGIES as CORRECTIONS
from inspector.streams.violations import STREAM_RULES
from inspector.views.catalogues import example_of
from tests.commands.running import run
from tests.kept import Kept
from tests.views.imported import HEALTHY, example, of_programs, rows, store

pytestmark = pytest.mark.django_db


def test_the_rules_list_all_with_the_conversations_that_have_them(client: Client, kept: Kept) -> None:
    assert client.get("/rules/").status_code == 200, "with nothing loaded"
    kept("example", example)
    text = client.get("/rules/").content.decode()
    for rule in RULES:
        assert f'href="/rules/{rule.code}/"' in text and rule.name in client.get(f"/rules/{rule.code}/").content.decode()
    assert '<a href="/conversations/?rule=MSG101">3</a>' in text
    strategies = client.get("/strategies/").content.decode()
    for strategy in STRATEGIES:
        assert f'href="/strategies/{strategy.name}/"' in strategies


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_page_of_every_rule_runs_its_example(client: Client, rule: object) -> None:
    found = next(each for each in RULES if each is rule)
    shown = example_of(found, repaired_example(found))
    assert shown.messages, "the rule fires on its own example"
    assert any(line.is_matched for line in shown.lines)
    text = client.get(f"/rules/{found.code}/").content.decode()
    assert text.count("◂ found") == sum(line.is_matched and not line.columns for line in shown.lines)
    assert "In none of the conversations that are imported." in text


def test_an_example_marks_what_its_repair_changes_and_shows_the_repaired_one(client: Client) -> None:
    text = client.get("/rules/MSG101/").content.decode()
    assert text.count('<b class="changed">0.0</b>') == 3 and "◂ found" not in text
    repaired = text[text.index("Repaired by") :]
    assert all(f'<b class="changed">{number}.0</b>' in repaired for number in (1, 2, 3)) and "/strategies/renumber-messages/" in repaired
    assert "Repaired by" not in client.get("/rules/STORE501/").content.decode(), "nothing repairs it"


@pytest.mark.parametrize(
    ("code", "damaged", "lines"),
    [
        (
            "TREE101",
            "and? parent=lost",
            ["1 user 1.0 text go", "2 assistant 2.0 text done", "3 user 3.0 text and?", "4 assistant 4.0 text what?"],
        ),
        ("TREE106", "and? parent=a1", ["3 tool 3.0 tool-result c f entry=r1", "4 user 4.0 text and?"]),
        (
            "TREE208",
            "more entry=u2 parent=h",
            ['3 - 3.- control about={"type":"saved_hook_context"} entry=h', "4 user 4.0 text more entry=u2 parent=a1"],
        ),
        ("TOOL209", "", ["1 user 1.0 text go"]),
    ],
)
def test_an_example_of_a_tree_is_repaired_with_its_branches(client: Client, code: str, damaged: str, lines: list[str]) -> None:
    """Written as a rule's author writes it: an entry follows the line before it unless it says otherwise."""
    before, _, after = unescape(client.get(f"/rules/{code}/").content.decode()).partition("Repaired by")
    assert damaged in re.sub("<[^>]+>", "", before)
    shown = re.sub("<[^>]+>", "", after.partition("</h2>")[2].partition(f"{code} reports nothing")[0])
    assert shown.rstrip().endswith("".join(lines)) and ("hangs from" in after) == bool(damaged)


def test_a_rule_says_where_it_is_found_and_what_repairs_it(client: Client, kept: Kept) -> None:
    kept("example", example)
    text = client.get("/rules/MSG102/").content.decode()
    assert "Why is the settings page slow to open?" in text and "hello</a>" not in text
    assert 'href="/strategies/renumber-messages/"' in text and "derived from load() of Dispatch" in text
    assert client.get("/rules/msg102/").status_code == 200
    assert "applies to <b>Dispatch</b>" in text
    assert "applies to <b>every program</b>" in client.get("/rules/TOOL102/").content.decode()
    assert "applies to" not in client.get("/rules/STREAM101/").content.decode()


def test_the_twins_of_rules(client: Client) -> None:
    found = client.get("/rules.json").json()
    assert [rule["code"] for rule in found] == [rule.code for rule in RULES]
    assert client.get("/rules/MSG101.json").json() == found[0]
    text = client.get("/rules/MSG101.md").content.decode()
    assert "MSG101" in text and "1 user 0.0" in text


def words_of(client: Client, name: str) -> str:
    """Of the page of a strategy; names in them are set as code, or between backticks."""
    return re.sub("</?code>|`", "", unescape(client.get(f"/strategies/{name}/").content.decode()))


@pytest.mark.only_settles
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.name)
def test_the_page_of_every_strategy_says_both_sides(client: Client, strategy: object) -> None:
    found = next(each for each in STRATEGIES if each is strategy)
    text = words_of(client, found.name)
    for words in (
        found.summary,
        found.cost,
        found.user_visible_effect,
        found.pros,
        found.cons,
        *(f"--mode {mode.alias}" for format_ in FORMATS if found.applies_to(format_.name) for mode in format_.modes if mode.alias),
    ):
        assert words.replace("`", "") in text
    assert all(word in text for word in found.safety or {"safe"})
    assert client.get(f"/strategies/{found.name}.json").json()["name"] == found.name


@pytest.mark.only_settles
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.name)
def test_every_mode_is_described_in_its_own_words_and_no_others(client: Client, strategy: Strategy) -> None:
    """A fixed text said that `fill-rows`, which inserts into the job itself, writes a new conversation and leaves the original alone."""
    text = unescape(client.get(f"/strategies/{strategy.name}/").content.decode())
    rows = re.findall(r"<tr><td><b>([\w-]+)</b>[^\n]*?</td><td[^>]*>(.*?)</td><td[^>]*>(.*?)</td></tr>", text[text.index('id="modes"') :])
    expected = {
        (mode.alias or mode.name, format_.name): mode.summary if strategy.write_kind != "id" or mode.alias == "fork" else NO_OTHER_ID
        for format_ in FORMATS
        if strategy.applies_to(format_.name)
        for mode in format_.modes
    }
    assert {(mode, name): words for mode, words, names in rows for name in names.split(", ")} == expected
    twin = client.get(f"/strategies/{strategy.name}.json").json()
    assert {(row["alias"] or row["mode"], name): row["summary"] for row in twin["modes"] for name in row["formats"]} == expected
    assert all(
        row["default"] == all(format_.modes[0].name == row["mode"] for format_ in FORMATS if format_.name in row["formats"])
        for row in twin["modes"]
    )
    assert twin == run("strategies", strategy.name, "--json").json
    out = run("strategies", strategy.name).out
    assert all(f"--mode {row['mode']}" in out and f": {row['summary']} [" in out for row in twin["modes"])


def test_a_strategy_of_one_program_has_its_modes_alone(client: Client) -> None:
    """`no row is renumbered`, of another program, contradicted the strategy that renumbers."""
    text = words_of(client, "renumber-messages")
    modes = text[text.index('id="modes"') : text.index('id="rules"')]
    assert "same-rows" in modes and "fill-rows" not in modes and "no row is renumbered" not in text
    assert "In mode fork users have to go on in the new conversation" in text
    assert "In mode fork" not in words_of(client, "record-results-once"), "its program has no such mode"
    assert "fill-rows" in words_of(client, "drop-orphaned-results"), "this one is for every program"


def test_a_safe_strategy_that_rewrites_content_is_not_said_to_change_numbers_only(client: Client) -> None:
    text = unescape(client.get("/strategies/list-answer-text/").content.decode())
    assert "nothing is lost and nothing is invented." in text and "only numbers" not in text


def test_the_formats_page_names_readers_projections_and_profiles_and_leads_to_their_rules(client: Client) -> None:
    text, readers, projections, profiles = (
        unescape(client.get(address).content.decode()) for address in ("/formats/", "/readers/", "/projections/", "/profiles/")
    )
    for format_ in FORMATS:
        assert f'id="{format_.name}"' in text and f'href="/readers/#{format_.default_reader}"' in text
    for reader in all_readers():
        assert f'id="{reader.name}"' in readers and reader.evidence in readers and all(f"+{word}" in readers for word, _ in reader.variants)
    for projection in all_projections():
        assert f'id="{projection.name}"' in projections
    for profile in PROFILES:
        assert f'id="{profile.name}"' in profiles and profile.unknowable in profiles
        assert all(rule.text[:600] in profiles and rule.date in profiles for rule in profile.rules)
    assert "dispatch-journal" in text
    assert client.get("/formats.json").json().keys() == {"formats", "readers", "projections", "profiles"}


@pytest.mark.parametrize(("query", "shown", "hidden"), [
    ("safety=safe", "renumber-messages", "strip-thinking"), ("safety=lossy", "strip-thinking", "renumber-messages"),
    ("safety=invented", "insert-interrupted-result", "strip-thinking"), ("program=codex", "strip-thinking", "renumber-messages"),
    ("q=MSG101", "renumber-messages", "strip-thinking"),
    # Of these the case decides: the badge said "safe", and the filter hid it.
    ("safety=safe", "reparent-orphan-entry", "strip-thinking"), ("safety=invented", "reparent-orphan-entry", "renumber-messages"),
    ("q=lossy", "strip-thinking", "renumber-messages"),
])  # fmt: skip
def test_strategies_are_filtered_by_safety_and_by_a_rule_that_they_repair(client: Client, query: str, shown: str, hidden: str) -> None:
    page = client.get(f"/strategies/?{query}").content.decode()
    assert f'row-link" href="/strategies/{shown}/"' in page and f'row-link" href="/strategies/{hidden}/"' not in page


def test_a_safety_that_there_is_not_filters_nothing(client: Client) -> None:
    page = client.get("/strategies/?safety=<script>").content.decode()
    assert page.count('name row-link" href="/strategies/') == len(STRATEGIES) + len(CORRECTIONS)


@pytest.mark.parametrize("address", ["/rules/NOSUCH9", "/strategies/no-such-thing"])
def test_an_unknown_name_is_nothing_at_this_address(client: Client, address: str) -> None:
    for ending in ("/", ".json"):
        assert client.get(address + ending).status_code == 404


def test_the_formats_page_names_every_kind_of_capture_with_its_beginning_and_size(client: Client) -> None:
    text = unescape(client.get("/formats/").content.decode().replace("<wbr>", ""))
    for kind in KINDS:
        values = [value.strip() for value in re.findall(r"<dd[^>]*>(.*?)</dd>", details(text, kind.name), re.DOTALL)]
        assert values[:2] == [kind.sample, kind.up_to]


def test_formats_are_filtered_by_how_a_file_begins(client: Client) -> None:
    text = client.get("/formats/?q=parentUuid").content.decode()
    assert re.findall(r'<tr id="([^"]+)"', text) == ["claude-code"]


def test_the_formats_page_says_how_large_a_capture_may_be(client: Client) -> None:
    text = client.get("/formats/").content.decode()
    assert "256 MB, in YAML 64 MB" in text


def test_the_formats_page_says_which_are_in_use_here(client: Client, tmp_path: Path) -> None:
    assert "link here" not in client.get("/formats/").content.decode()
    one = store(tmp_path / "a.db", rows("one", HEALTHY))
    assert f'<a class="link here" href="/sources/{one.oid}/">1 source</a>' in client.get("/formats/").content.decode()
    store(tmp_path / "b.db", rows("two", HEALTHY))
    text = client.get("/formats/").content.decode()
    assert text.count("2 sources</a>") == 1
    assert '<a class="link here" href="/sources/?q=dispatch">2 sources</a>' in text


@pytest.mark.parametrize(("query", "first", "sorted_by"), [
    ("", ["Claude Code", "Codex CLI"], "program"),
    ("?sort=nonsense", ["Claude Code", "Codex CLI"], ""),
    ("?sort=-program", ["rollouts", "Request bodies"], "program"),
    # Those that are equal by it are A to Z.
    ("?sort=-here", ["Dispatch", "Claude Code"], "sources"),
])  # fmt: skip
def test_formats_are_sorted_by_program_or_by_what_is_imported_here(
    client: Client, tmp_path: Path, query: str, first: list[str], sorted_by: str
) -> None:
    store(tmp_path / "a.db", rows("one", HEALTHY))
    text = client.get(f"/formats/{query}").content.decode()
    assert re.findall(r'rowspan="\d+">([^<]+)</th>', text)[:2] == first
    assert re.findall(r'aria-sort="\w+"><a class="sort" href="[^"]+">(\w+)', text) == ([sorted_by] if sorted_by else [])


def test_strategies_of_both_sorts_have_other_names() -> None:
    assert not {each.name for each in STRATEGIES} & {each.name for each in CORRECTIONS}, "one address for each"


def test_the_bare_address_of_strategies_leads_to_their_table(client: Client) -> None:
    assert client.get("/strategies/").status_code == 200


@pytest.mark.parametrize("name", [each.name for each in CORRECTIONS])
def test_the_page_of_every_correction_says_its_cost_and_what_it_repairs(client: Client, name: str) -> None:
    found = next(each for each in CORRECTIONS if each.name == name)
    assert f'href="/strategies/{name}/"' in client.get("/strategies/").content.decode()
    text = words_of(client, name)
    assert (
        found.summary.replace("`", "") in text
        and found.cost.replace("`", "") in text
        and f"repair CAPTURE --strategy {name} --plan" in text
    )
    for row in STREAM_RULES:
        assert (f'href="/rules/{row.code}/"' in text) == (row.name in found.rules)
    assert client.get(f"/strategies/{name}.json").json()["cost"] == found.cost


def test_a_row_of_streams_has_its_markdown_too(client: Client) -> None:
    text = client.get("/rules/STREAM101.md").content.decode()
    assert text.startswith("**STREAM101 `premature-terminal`**") and "only both sides prove it" in text and "`one-terminal`" in text


def test_rules_and_strategies_of_streams_have_the_page_and_the_fields_of_all_others(client: Client) -> None:
    for of_conversations, of_streams in (
        ("/rules/MSG101", "/rules/STREAM101"),
        ("/strategies/renumber-messages", "/strategies/one-terminal"),
    ):
        assert client.get(of_streams + ".json").json().keys() == client.get(of_conversations + ".json").json().keys()
    text = unescape(client.get("/rules/stream101/").content.decode())
    assert "shown by <b>both sides, compared</b>" in text and 'href="/strategies/one-terminal/"' in text and "An example" not in text
    assert "Protocols: anthropic, ollama-chat, ollama-generate, openai-chat, openai-responses" in text
    assert "In none of the streams that are imported." in text
    assert "shown by" not in client.get("/rules/MSG101/").content.decode()


@pytest.mark.parametrize(
    ("address", "shown", "hidden"),
    [
        ("/rules/?q=msg101", "/rules/MSG101/", "/rules/MSG102/"),
        ("/rules/?q=Result+ORPHANED", "/rules/TOOL202/", "/rules/MSG101/"),
        ("/rules/?q=renumber-messages", "/rules/MSG101/", "/rules/TREE101/"),
        ("/rules/?severity=note", "/rules/MSG202/", "/rules/MSG101/"),
        # What is no severity asks for none.
        ("/rules/?severity=loud", "/rules/MSG101/", "nothing such"),
        ("/strategies/?q=renumber", "/strategies/renumber-messages/", "/strategies/move-results/"),
        ("/profiles/?q=AN-18", "AN-18", "OC-2<"),
        ("/formats/?q=pi", ">pi<", ">dispatch<"),
        ("/readers/?q=dispatch-legacy", 'id="dispatch-legacy"', 'id="pi-1.5"'),
        ("/projections/?q=bedrock", 'id="bedrock"', 'id="mistral"'),
    ],
)
def test_a_catalogue_is_filtered_by_its_address(client: Client, address: str, shown: str, hidden: str) -> None:
    for headers in ({}, {"HX-Request": "true"}):
        text = client.get(address, headers=headers).content.decode()
        assert shown in text and hidden not in text
        assert ("<html" in text) is (not headers)


@pytest.mark.parametrize("address", ["/rules/", "/strategies/", "/profiles/", "/formats/", "/readers/", "/projections/"])
def test_what_matches_nothing_says_so_and_leads_back(client: Client, address: str) -> None:
    text = client.get(address, {"q": "<b>nosuchthing"}).content.decode()
    assert "matches</h2>" in text and f'<a class="btn" href="{address}">Show all' in text
    assert 'value="&lt;b&gt;nosuchthing"' in text


def test_the_page_of_a_rule_names_the_provider_rules_that_its_repairs_satisfy(client: Client) -> None:
    text = client.get("/rules/TOOL102/").content.decode()
    assert "Why is this bad?" in text and 'href="/profiles/#anthropic-2026-07"' in text
    assert "Provider rules that" not in client.get("/rules/STORE203/").content.decode()


def test_a_place_that_several_variables_move_is_named_once(client: Client) -> None:
    text = client.get("/formats/?q=pi").content.decode()
    assert "(moved by <code>PI_CODING_AGENT_SESSION_DIR</code> or <code>PI_CODING_AGENT_DIR</code>)" in text
    assert text.count("<code>~/<wbr>.pi/<wbr>agent/<wbr>sessions</code>") == 1


def test_a_format_says_in_plain_words_what_a_repair_does_to_the_original(client: Client) -> None:
    assert all(mode.risk for format_ in FORMATS for mode in format_.modes)
    page = client.get("/formats/?q=pi").content.decode()
    for words, mode in (
        ("Appends the changed end again, the old one stays as a branch", "replay-suffix"),
        ("Edits the original", "in-place"),
        ("New conversation, the original stays", "fork"),
    ):
        assert f'<code title="{words}">--mode {mode}</code>' in page


def table_row(client: Client, name: str) -> list[str]:
    """The cells of a format after its name and title, as a person sees them."""
    text = unescape(client.get("/formats/").content.decode().replace("<wbr>", ""))
    row = text[text.index(f'href="#{name}"') :].partition("</tr>")[0]
    return [
        " ".join(re.sub(r"<[^>]+>", " ", cell).split()).replace(" ,", ",")
        for cell in re.findall(r"<td[^>]*data-label[^>]*>(.*?)</td>", row, re.DOTALL)
    ]


@pytest.mark.parametrize(("name", "cells"), [
    ("claude-code", ["~/.claude/projects", "2.1.332 + 6 more", "fork removes the new one in-place restores every byte"]),
    ("codex", ["~/.codex/sessions", "0.169.0", "fork removes the new one in-place restores every byte"]),
    ("pi", ["~/.pi/agent/sessions", "1.5.2 + 3 more", "replay-suffix restores every byte in-place restores every byte fork removes the new one"]),
    # Only its own program writes to it.
    ("opencode", ["~/.local/share/opencode/opencode*.db", "1.18.33", "fork opencode deletes it"]),
    # A repair is a file of its own, which a person imports or runs.
    ("openclaw-sqlite", ["~/.openclaw/agents/*/agent/openclaw-agent.sqlite", "2026.9.6", "fork delete the new file"]),
    ("gbrain-export", ["none", "0.46.28", "script run FILE.undo.sql"]),
    # Nobody's code was run for the old tables, and nothing is written to them.
    ("dispatch-g0", ["none", "not run", "read only"]),
    # No program writes it.
    ("anthropic-request", ["none", "no program", "in-place restores every byte"]),
])  # fmt: skip
def test_the_table_of_formats_says_what_can_be_done_with_each(client: Client, name: str, cells: list[str]) -> None:
    assert table_row(client, name) == cells


def details(text: str, name: str) -> str:
    """The row of the details of a format, which is shown where the address names the row before it."""
    rest = text[text.index(f'<tr id="{name}">') :].partition("</tr>")[2].strip()
    assert rest.startswith('<tr class="whole')
    return rest.partition("</tr>")[0]


def test_formats_have_one_table_with_the_details_of_each_below_its_row(client: Client) -> None:
    text = client.get("/formats/").content.decode()
    assert "<h1>Programs that are read, and how each is repaired</h1>" in text and text.count("<table") == 1
    assert "import_source" not in text[: text.index("<table")]
    assert text.count('<tr class="whole">') == len(FORMATS) + len(TRACE_FORMATS) + len(KINDS), "closed, and no cards below the table"
    assert "import_source ~/<wbr>.codex" in details(text, "codex") or "import_source ~/.codex" in details(text, "codex")
    assert '<tbody id="captures">' in text and 'id="traces"' in text, "what other pages lead to"
    assert '<tr class="whole open">' in client.get("/formats/?q=parentUuid").content.decode(), "what is looked for is open"


def test_the_details_of_a_format_have_the_one_command_that_imports_it(client: Client) -> None:
    text = unescape(client.get("/formats/").content.decode())
    assert "import_source ~/.claude/projects</code>" in text and "import_source postgresql://USER@HOST/NAME</code>" in text


def test_a_format_says_where_its_program_keeps_it(client: Client) -> None:
    text = client.get("/formats/?q=codex").content.decode()
    assert '<code>~/<wbr>.codex/<wbr>sessions</code> <span class="quiet">(moved by <code>CODEX_HOME</code>)</span>' in text


def test_a_strategy_shows_what_it_makes_of_the_example_of_its_rule(client: Client) -> None:
    page = client.get("/strategies/drop-orphaned-results/").content.decode()
    example = unescape(re.sub("<[^>]+>", " ", page.partition('id="example"')[2].partition("</section>")[0]))
    words = " ".join(example.split())
    assert 'Example of TOOL202 1 user 0.0 text go 2 tool 1.0 tool-result a "f" name=ls ◂ found' in words
    assert "Repaired 1 user 0.0 text go TOOL202 reports nothing." in words
    assert "Better, if you can" in page and 'id="example"' in client.get("/strategies/reparent-orphan-entry/").content.decode(), "a tree"


@pytest.mark.parametrize("traces", [True, False])
def test_a_strategy_counts_its_rules_where_it_is_offered(client: Client, tmp_path: Path, traces: bool) -> None:
    """The list said of TOOL102 that it is in three conversations next to a strategy that reads traces: two of them have none."""
    example(tmp_path, traces)
    page = client.get("/strategies/").content.decode()
    row = page[page.index('row-link" href="/strategies/recover-result-from-trace/"') :].partition("</tr>")[0]
    assert ("In 1 conversation where this strategy can be used" in row) is traces
    other = page[page.index('row-link" href="/strategies/fix-counter/"') :].partition("</tr>")[0]
    assert "where this strategy" not in other, "its rule is nowhere"


def test_a_strategy_does_not_count_crash_files_which_are_never_written(client: Client, kept: Kept) -> None:
    kept("programs", of_programs)
    page = client.get("/strategies/").content.decode()
    row = page[page.index('row-link" href="/strategies/order-blocks/"') :].partition("</tr>")[0]
    assert "MSG403" in row and "×" not in row
    assert '<a href="/conversations/?rule=MSG403">1</a>' in client.get("/rules/").content.decode(), "the list of rules has evidence too"


def test_what_no_provider_is_known_to_refuse_is_not_called_undecidable(client: Client) -> None:
    text = " ".join(client.get("/profiles/").content.decode().split())
    row = text[text.index('<b class="mono">OC-7</b>') :].partition("</summary>")[0]
    assert "no refusal is known" in row and "not judged" not in row
    assert "not judged offline" in text[text.index('<b class="mono">OC-9</b>') :].partition("</summary>")[0]


def test_a_filled_in_error_text_finds_its_rule(client: Client) -> None:
    """Only the text with its placeholders did."""
    text = "Invalid parameter: 'tool_call_id' of 'call_abc' not found in 'tool_calls' of previous message."
    page = client.get("/profiles/", {"q": text}).content.decode()
    assert re.findall(r'<b class="mono">(\S+)</b>', page) == ["OC-3"]
    missing = client.get("/profiles/", {"q": "a text that no provider ever wrote"}).content.decode()
    assert "No provider rule matches" in missing and "Diagnose takes the text of any error" in missing


def test_a_strategy_is_found_by_the_rule_of_a_provider_that_names_it(client: Client) -> None:
    page = client.get("/strategies/?q=OC-10").content.decode()
    assert re.findall(r'row-link" href="/strategies/([\w-]+)/"', page) == ["sanitize-tool-names"]
    assert "(judged as OC-1)" in client.get("/strategies/adopt-results/").content.decode()
