"""Whether a call in a text was made or mentioned, that ordinary texts hold none, and that hostile ones take no longer."""

import json
import re
import sysconfig
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.streams.leaked_calls import Where, calls_in, text_calls
from inspector.streams.leaked_scan import MOST_IN_TEXT
from tests.folding import in_one_test
from tests.streams.call_syntax_cases import SPELLINGS

LS = '<tool_call>{"name":"ls","arguments":{"path":"/"}}</tool_call>'
SEARCH = "<toolbridge_calls><search><query>q</query></search></toolbridge_calls>"
STOPPED = Where("thinking", closed=True, after="nothing", finish="stop")


@in_one_test(
    ("text", "inside", "is_call", "reason"),
    [
        (LS, Where(), True, "nothing before it in its line"),
        (f"I look: {LS}", Where(), True, "ends its line"),
        (f"I look: {LS} and then", Where(), False, "Other words are next to it"),
        (f"Hi {SEARCH} tail", Where(), True, "marks that no prose holds"),
        (f"> {LS}", Where(), False, "quotation"),
        (f"`{LS}`", Where(), False, "quotation"),
        (f"```\n{LS}\n```", Where(), False, "code fence"),
        (f"```\nx\n```\n{LS}", Where(), True, "nothing before it"),
        (f"so\n{LS}", STOPPED, True, "very likely"),
        (f"so\n{LS}\nthat was it", STOPPED, True, "very likely"),
        (f"so I call {LS}", STOPPED, True, "very likely"),
        (f"so I call {LS}", Where("thinking"), True, "never closed"),
        (f"so {LS} then", STOPPED, False, "closed before the answer"),
        (f"so\n{LS}", Where("thinking", closed=True, after="answer", finish="stop"), False, "closed before the answer"),
        (f"so\n{LS}", Where("thinking", closed=True), False, "closed before the answer"),
        (f"so\n{LS}", Where("thinking", closed=True, after="nothing", finish="length"), False, "closed before the answer"),
        (f"so\n{LS}", Where("thinking"), True, "never closed"),
        (f"so\n{LS}\n{LS}\n", Where("thinking"), True, "never closed"),
        (f"so\n{LS}\nor something else", Where("thinking"), False, "goes on after it"),
        (f"so\n{LS}", Where("thinking", structured=(("ls", {"path": "/"}),)), False, "a draft of it"),
        (LS, Where(structured=(("ls", {"path": "/"}),)), False, "a draft of it"),
        (LS, Where(structured=(("ls", {"path": "/tmp"}),)), True, "nothing before it"),
        (f"so\n{LS}", Where("thinking", structured=(("pwd", {}),)), False, "structured calls came with it"),
        (f"so\n</think>\n{LS}", Where("thinking"), True, "in the content"),
        (f"so\n</think>\n{LS}", Where(), True, "in the content"),
        (f"<think>\n{LS}\n</think>\n", Where(after="nothing", finish="stop"), True, "very likely"),
        (f"<think>\n{LS}\n</think>\nDone.", Where(after="nothing", finish="stop"), False, "closed before the answer"),
        (f"The mark `<think>` opens it.\n{LS}", Where(), True, "in the content"),
        ("They write <function=run> and more.", Where(), False, "Only its opening"),
        ("so\n<function=run>...", STOPPED, True, "very likely"),
        ("<function=run> is how Qwen begins a call.", Where(), False, "Only its opening"),
    ],
)
def test_the_place_decides_and_says_why(text: str, inside: Where, is_call: bool, reason: str) -> None:
    found = text_calls(text, None, inside)[0]
    assert (found.is_call, reason in found.reasons[0]) == (is_call, True), found.reasons


@in_one_test(
    ("text", "tools", "confidence"),
    [
        ('[TOOL_CALLS]ls[ARGS]{"a": 1}', ["ls"], "high"),
        ('[TOOL_CALLS]ls[ARGS]{"a": 1}', None, "medium"),
        ('[TOOL_CALLS]ls[ARGS]{"a": 1}', ["pwd"], "low"),
        ('[TOOL_CALLS]ls[ARGS]{"a": 1}', [], "low"),
        ('[TOOL_CALLS]ls[ARGS]{"a": 1', ["ls"], "low"),
        (LS, ["ls"], "medium"),
        (LS, None, "medium"),
        (LS, ["pwd"], "low"),
        (LS[:-5], ["ls"], "low"),
        (f"~~~\n{LS}\n~~~", ["ls"], "low"),
    ],
)
def test_how_sure_it_is(text: str, tools: list[str] | None, confidence: str) -> None:
    assert [found.confidence for found in text_calls(text, tools, Where())] == [confidence]


def test_a_call_of_another_dialect_within_its_arguments_is_no_call() -> None:
    text = f"<function=write>\n<parameter=content>\n```\n{LS}\n</think>\n```\n</parameter>\n</function>\n{LS}"
    assert [(found.name, found.is_call) for found in text_calls(text, None, Where("thinking"))] == [("write", True), ("ls", True)]


def test_tools_known_by_their_tags_need_no_line_of_their_own() -> None:
    (found,) = text_calls("I look.\n<search><query>q</query></search>\n", ["search"], Where())
    assert (found.syntax, found.arguments, found.confidence) == ("D35", {"query": "q"}, "medium")
    assert text_calls("<doc>\n<search><query>q</query></search>\n</doc>", ["search"], Where()) == ()
    assert text_calls('<search class="x"><query>q</query></search>', ["search"], Where()) == ()
    assert text_calls("<search>words</search>", ["search"], Where()) == ()


# What a tool list of a coding agent looks like, with names that are tags of HTML and names of functions too.
TOOLS = [
    "read_file",
    "write_file",
    "list_files",
    "search",
    "run",
    "run_shell",
    "get",
    "set",
    "list",
    "write",
    "read",
    "open",
    "edit",
    "delete",
    "execute",
    "fetch",
    "code",
    "title",
    "name",
    "id",
    "link",
    "item",
    "entry",
    "note",
    "form",
    "query",
    "ask",
    "test",
]
KINDS = {".txt", ".rst", ".xml", ".html", ".json", ".py", ".pyi", ".js", ".css", ".svg", ".toml", ".md"}
LONGEST = 60_000


def ordinary_texts() -> list[Path]:
    """The standard library's and the installed packages' own files, and this repository's README; the kinds that are no Python first."""
    library, packages = (Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib"))
    found = [path for path in library.rglob("*") if not {"site-packages", "__pycache__"} & set(path.parts)] + list(packages.rglob("*"))
    files = [path for path in found if path.suffix in KINDS and path.is_file() and path.stat().st_size < LONGEST]
    files.sort(key=lambda path: (path.suffix in (".py", ".pyi"), path.as_posix()))
    return [Path(__file__).parents[2] / "README.md", *islice(files, 4999)]


@pytest.mark.slow
def test_5000_ordinary_texts_hold_no_call() -> None:
    files = ordinary_texts()
    if len(files) < 5000:
        pytest.skip(f"only {len(files):,} such files are installed here")
    for path in files:
        text = path.read_text("utf-8", "replace")
        for tools in (None, TOOLS):
            for inside in (Where(), STOPPED) if tools is None else (Where(),):
                false = [found for found in text_calls(text, tools, inside) if found.is_call and found.confidence != "low"]
                assert not false, f"{path}: {false[0]}"


MEGABYTE = 1_000_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "<tool_call>",
        "[",
        "`",
        "```",
        "```\n",
        "<think>",
        "</think>\n",
        "<invoke",
        '<invoke name="f">',
        "<function=f>",
        "<function=f><parameter=x>",
        "<tool_call>f<arg_key>",
        '<tool_call>{"',
        "<tool_call>{",
        '<tool_call>{"a":[',
        '{"name":"f","parameters":{"a":[',
        '[TOOL_CALLS] [{"name":"f","arguments":{}},',
        "[TOOL_CALLS]f[ARGS]",
        "[f(x=[",
        "[f(x=1),",
        "<|python_start|>[f(",
        '<|tool_call>call:f{x:<|"|>',
        "<|open|>call<|sep|>",
        "<|tool_call_begin|>",
        ']<]minimax[>[<invoke name="f">]<]minimax[>[<x>',
        "<toolbridge_calls><search>",
        "<search>\n",
        f"{LS}<b>" + "<search>" * 100_000,
        "<search><query>",
        "to=functions.f ",
        "commentary to=functions.f{",
        "Action: f\nAction Input: ",
        "\nAction: f",
        '"',
        "'''",
        "\\",
        "\n",
        " ",
        "x",
        "<",
        *dict.fromkeys(spelling.text for spelling in SPELLINGS),
    ],
)
def test_a_megabyte_of_anything_is_looked_through_once(piece: str) -> None:
    text = piece * max(1, MEGABYTE // len(piece))
    # A parser that began again at each piece would take hours.
    for tools in (None, ["f", "search", "read_file"]):
        assert len(text_calls(text, tools, Where("thinking"))) <= MOST_IN_TEXT


PIECES = [piece for spelling in SPELLINGS for piece in re.findall(r"<[^<>]*>?|[^<>]+", spelling.text)]
SAID = [
    "\n",
    " ",
    "```",
    "`",
    "<think>",
    "</think>",
    "so I look",
    '"',
    "{",
    "}",
    "[",
    "]",
    "\\",
    "é",
    "\ud800",
    "[f(x=1)]",
    '{"name":"f","parameters":{}}',
]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from([spelling.text for spelling in SPELLINGS] + PIECES + SAID), max_size=12),
    st.sampled_from([Where(), STOPPED, Where("thinking")]),
)
def test_of_any_pieces_what_is_offered_is_spelled_whole(pieces: list[str], inside: Where) -> None:
    text, at = "".join(pieces), 0
    for found in text_calls(text, ("f", "search", "read_file"), inside):
        assert at <= found.start <= found.end <= len(text)
        at = found.end
        assert found.confidence == "low" or (found.is_call and found.closed and found.name and found.arguments is not None)
        assert found.confidence != "high" or found.name in ("f", "search", "read_file")
        json.dumps(found.arguments)


def test_only_calls_are_calls() -> None:
    text = f"```\n{LS}\n```\n{LS}"
    assert [found.start for found in calls_in(text, None, Where())] == [text.rindex(LS)]
