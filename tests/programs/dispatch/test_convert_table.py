"""The rows C-1 to C-17 of upstream's tests of convertMessages()."""

import json
from typing import Any, NamedTuple

import pytest

from inspector.projections.catalogue import all_projections, projection
from tests.programs.dispatch.appended_stores import A, S, Said, T, U, appended, er, img, sy, tc, th, tr, tx
from tests.programs.dispatch.previews import read, rows, wire


class Row(NamedTuple):
    history: list[Said]
    expected: list[dict[str, Any]]


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: str | None, *calls: tuple[str, str, str]) -> dict[str, Any]:
    made = [{"id": id, "type": "function", "function": {"name": name, "arguments": arguments}} for id, name, arguments in calls]
    return {"role": "assistant", "content": content, **({"tool_calls": made} if made else {})}


def tool(content: str, id: str = "a") -> dict[str, Any]:
    return {"role": "tool", "content": content, "tool_call_id": id}


def words(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def picture(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


BROKEN = '{path: "/src/main.ts"}'
ROWS = {
    "C-1": Row([S(sy("one"), "two")], [{"role": "system", "content": "onetwo"}]),
    "C-2": Row([U("one", "two")], [user("onetwo")]),
    "C-3": Row([U("see", img("u1"))], [user([words("see"), picture("u1")])]),
    "C-4": Row([U(img("u1"))], [user([picture("u1")])]),
    "C-5": Row([U("a", img("u1"), "b", img("u2"))], [user([words("a"), picture("u1"), words("b"), picture("u2")])]),
    "C-6": Row([U("", img("u1"))], [user([picture("u1")])]),
    "C-7": Row([A("one", "two")], [assistant("onetwo")]),
    "C-8": Row([A("look", tc("a", "ls", {"path": "/", "n": 1}))], [assistant("look", ("a", "ls", '{"path":"/","n":1}'))]),
    "C-9": Row([A(tc("a"))], [assistant(None, ("a", "ls", "{}"))]),
    "C-10": Row([T(tr("a", "files"))], [tool("files")]),
    "C-11": Row(
        [S(sy("s")), U("u"), A("x", tc("a")), T(tr("a", "f")), A("y")],
        [{"role": "system", "content": "s"}, user("u"), assistant("x", ("a", "ls", "{}")), tool("f"), assistant("y")],
    ),
    "C-12": Row([T(tr("a", "one"), tr("b", "two"))], [tool("one", "a"), tool("two", "b")]),
    "C-13": Row([A(th("first"), "then")], [assistant("firstthen")]),
    "C-14": Row([A(tc(input=BROKEN))], [assistant(None, ("a", "ls", '{"_malformed_arguments":"{path: \\"/src/main.ts\\"}"}'))]),
    "C-15": Row([A(tc(input='{ "path": "/src/main.ts" }'))], [assistant(None, ("a", "ls", '{"path":"/src/main.ts"}'))]),
    "C-16": Row(
        [A(tc(input={"a": [1, {"b": None}], "é": "\u2028/"}))], [assistant(None, ("a", "ls", '{"a":[1,{"b":null}],"é":"\u2028/"}'))]
    ),
    "C-17": Row([A(tc(input="x" * 500))], [assistant(None, ("a", "ls", '{"_malformed_arguments":"' + "x" * 200 + '"}'))]),
}


@pytest.mark.parametrize("name", ROWS)
def test_the_request_is_what_upstream_makes(name: str) -> None:
    row = ROWS[name]
    made = wire(read(appended(row.history).conversation(), "exact").grouped)
    assert made == row.expected
    assert [list(message) for message in made] == [list(message) for message in row.expected]


def test_every_row_is_covered() -> None:
    assert set(ROWS) == rows("C", 17)


def test_the_hint_of_broken_arguments_counts_utf16_units() -> None:
    hint = json.loads(wire(read(appended([A(tc(input="😀" * 150))]).conversation()).grouped)[0]["tool_calls"][0]["function"]["arguments"])
    assert hint == {"_malformed_arguments": "😀" * 100}


@pytest.mark.parametrize(
    ("stored", "sent"),
    [
        ('{"n":1.0}', '{"n":1}'),
        ('{"n":1e21}', '{"n":1e+21}'),
        ('{"n":1e-7}', '{"n":1e-7}'),
        ('{"n":12345678901234567890}', '{"n":12345678901234567000}'),
        ('{"n":-0}', '{"n":0}'),
        ('{"n":1e999}', '{"n":null}'),
        ('{"b":1,"2":0,"a":2,"1":0}', '{"1":0,"2":0,"b":1,"a":2}'),
    ],
)
def test_arguments_are_spelled_as_javascript_spells_them(stored: str, sent: str) -> None:
    (message,) = wire(read(appended([A(tc(input=stored))]).conversation()).grouped)
    assert message["tool_calls"][0]["function"]["arguments"] == sent


@pytest.mark.parametrize(
    ("said", "lost"),
    [
        (U("a", th(), tc(), tr(), er(), sy()), ["thinking", "tool-call", "tool-result", "error", "system"]),
        (A("a", er(), sy(), img(), tr()), ["error", "system", "image", "tool-result"]),
        (T(tr(), "text", er()), ["text", "error"]),
        (S(sy(), th(), img()), ["thinking", "image"]),
        (U("a", img(), th()), ["thinking"]),
    ],
)
def test_whatever_a_role_cannot_carry_is_named_as_lost(said: Said, lost: list[str]) -> None:
    prompt = projection("dispatch-openai").project(read(appended([said]).conversation(), "exact").grouped)
    assert [chunk.kind for dropped in prompt.lost for chunk in dropped.chunks] == lost


def test_a_tool_message_without_results_sends_nothing() -> None:
    assert wire(read(appended([T("text")]).conversation(), "exact").grouped) == []


def test_an_assistant_message_without_words_and_calls_is_an_empty_string() -> None:
    assert wire(read(appended([A(er())]).conversation(), "exact+r1").messages) == [assistant("")]


def test_thinking_is_wrapped_or_left_out_by_the_variants() -> None:
    messages = read(appended([A(th("first"), tx("then"))]).conversation(), "exact").grouped
    contents = {made.name: wire(messages, made.name)[0]["content"] for made in all_projections() if made.name.startswith("dispatch-openai")}
    assert contents == {
        "dispatch-openai": "firstthen",
        "dispatch-openai+wrapped": "<think>\nfirst\n</think>\nthen",
        "dispatch-openai+omitted": "then",
    }


def test_the_source_map_leads_each_path_back_to_its_rows() -> None:
    prompt = projection("dispatch-openai").project(
        read(appended([U("a", img()), A("x", "y", tc("a"), tc("b")), T(tr("a"))]).conversation()).grouped
    )
    assert prompt.sources() == {
        "messages.0": [1, 2],
        "messages.0.content.0": [1],
        "messages.0.content.1": [2],
        "messages.1": [3, 4, 5, 6],
        "messages.1.content": [3, 4],
        "messages.1.tool_calls.0": [5],
        "messages.1.tool_calls.1": [6],
        "messages.2": [7],
        "messages.2.content": [7],
    }
