"""Captures that were made to break their reader: each of these once raised, or took hours, and says one sentence now."""

import json
from pathlib import Path

import pytest

from inspector.presentation.stream.report import analysed
from inspector.sources import captures
from inspector.sources.captures import Captures, NotRead
from inspector.streams.captures import own
from inspector.streams.captures.yaml_text import parse_yaml
from inspector.streams.correcting import CannotCorrect, correct
from inspector.streams.request_rules import request_facts

from .spoken import DONE, ROLE, chunk, sse, text

HEADER = b'{"v":1,"kind":"stream-capture","id":"same"}\n'
READ = b'{"side":"backend","dir":"in","b64":"ZGF0YTogW0RPTkVdCgo="}\n'
WHOLE = sse(ROLE, text("Hi"), chunk({}, "stop"), DONE)
ANSWER = b'  response: {status: {code: 200}, body: {string: "data: [DONE]\\n\\n"}}\n'


def brought(path: Path, data: bytes) -> Captures:
    path.write_bytes(data)
    kind = captures.kind_of(captures.of_path(path), path.name)
    assert kind is not None
    return captures.read(path, kind)


def har() -> bytes:
    content = {"mimeType": "text/event-stream", "text": WHOLE.decode()}
    return json.dumps({"log": {"creator": {}, "entries": [{"response": {"status": 200, "content": content}}]}}).encode()


def test_a_header_and_nothing_else_cannot_be_corrected_and_says_so(tmp_path: Path) -> None:
    (exchange,) = brought(tmp_path / "x.jsonl", HEADER).exchanges

    assert analysed(exchange).verdict == "Nothing was captured of this exchange."
    with pytest.raises(CannotCorrect, match="nothing of either side"):
        correct(exchange)


def test_ten_thousand_captures_of_one_id_are_told_apart(tmp_path: Path) -> None:
    found = brought(tmp_path / "x.jsonl", (HEADER + READ) * (captures.MOST + 1))

    names = [exchange.native_id for exchange in found.exchanges]
    assert len(set(names)) == captures.MOST
    assert names[:3] == ["same", "same (2)", "same (3)"] and names[-1] == "same (10000)"
    assert "more than 10,000 exchanges" in found.problems[0].reason


def test_an_id_that_looks_like_a_number_given_here_is_not_given_twice(tmp_path: Path) -> None:
    lines = [HEADER.replace(b"same", name) + READ for name in (b"a (2)", b"a", b"a", b"a (2)", b"a")]

    names = [exchange.native_id for exchange in brought(tmp_path / "x.jsonl", b"".join(lines)).exchanges]
    assert names == ["a (2)", "a", "a (3)", "a (2) (2)", "a (4)"]


def test_an_id_of_megabytes_is_cut(tmp_path: Path) -> None:
    (exchange,) = brought(tmp_path / "x.jsonl", HEADER.replace(b"same", b"n" * 3_000_000) + READ).exchanges

    assert exchange.native_id == "n" * captures.ID_KEPT


@pytest.mark.parametrize(("name", "data"), [("x.jsonl", HEADER + READ), ("x.har", har()), ("x.sse", WHOLE)], ids=["own", "har", "raw"])
def test_a_byte_order_mark_changes_nothing(tmp_path: Path, name: str, data: bytes) -> None:
    (plain,) = brought(tmp_path / name, data).exchanges
    (tmp_path / "marked").mkdir()
    (marked,) = brought(tmp_path / "marked" / name, b"\xef\xbb\xbf" + data).exchanges

    assert marked.problems == plain.problems and marked.native_id == plain.native_id
    assert analysed(marked).verdict == analysed(plain).verdict


@pytest.mark.parametrize("number", ["1" + ":1" * 1_000_000, "0x" + "f" * 100_000], ids=["to the base of sixty", "to the base of sixteen"])
def test_a_number_that_never_ends_is_refused(tmp_path: Path, number: str) -> None:
    assert parse_yaml(b"a: 1:30:00\nb: 1.5") == {"a": 5400, "b": 1.5}
    with pytest.raises(NotRead) as refused:
        brought(tmp_path / "x.yaml", b"interactions:\n- request: {}\n" + ANSWER.replace(b"200", number.encode()))

    assert "a number of over 1,000 characters" in refused.value.sentence


@pytest.mark.parametrize("where", ["request", "response"])
def test_aliases_within_aliases_that_are_too_deep_to_be_spelled_are_left_out(tmp_path: Path, where: str) -> None:
    links = [b"# interactions: and request\na0: &a0 x\n"]
    links += [b"a%d: &a%d %s*a%d%s\n" % (n, n, b"[" * 90, n - 1, b"]" * 90) for n in range(1, 30)]
    deep = b"parsed_body: {messages: *a29}"
    interaction = b"- request: {%s}\n  response: {%s}\n" % ((deep, b"body: hi") if where == "request" else (b"", deep))
    (exchange,) = brought(tmp_path / "x.yaml", b"".join([*links, b"interactions:\n", interaction])).exchanges

    assert exchange.request is None
    assert list(own.written(exchange))
    assert any("200 levels of values" in problem for problem in exchange.problems) == (where == "response")


@pytest.mark.slow
def test_a_schema_of_references_that_double_is_judged_for_a_while_and_then_no_more() -> None:
    doubled = {f"a{n}": {"anyOf": [{"$ref": f"#/$defs/a{n - 1}"}] * 2} for n in range(1, 12)}
    schema = {"$defs": {"a0": {"type": "string"}, **doubled}, "$ref": "#/$defs/a11"}
    held = request_facts({"tools": [{"type": "function", "function": {"name": "f", "parameters": schema}}]})

    said = [len(list(held.judged("f", {"a": 1}))) for _ in range(200)]
    assert said[0] == 1 and said[-1] == 0


@pytest.mark.slow
def test_arguments_of_a_million_items_are_held_against_their_schema_within_limits() -> None:
    schema = {"properties": {"a": {"items": {"type": "string"}}}}
    held = request_facts({"tools": [{"type": "function", "function": {"name": "f", "parameters": schema}}]})

    assert [name for name, _ in held.judged("f", {"a": ["x", 1]})] == ["tool-args-schema-mismatch"]
    assert list(held.judged("f", {"a": ["x"] * 1_000_000 + [1]})) == []
