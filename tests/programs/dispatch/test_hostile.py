"""Nothing that stands in a store may raise: every reader, rule, projection, profile, strategy and the notation take any bytes."""

import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.conversation import notation
from inspector.conversation.model import Kind
from inspector.planning.preview import NothingToDo
from inspector.profiles.catalogue import PROFILES
from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.formats import Cell, Record, WriteRefused
from inspector.projections.catalogue import all_projections
from inspector.readers.catalogue import names, reader
from inspector.rules.base import case_of, findings
from inspector.rules.catalogue import RULES
from inspector.strategies.catalogue import STRATEGIES
from inspector.streams.leaked_calls import AnswerPart, leaked
from inspector.text import jsontext
from tests.programs.dispatch.previews import preview_of
from tests.programs.dispatch.test_properties import assert_notation_gives_back

READERS = names("dispatch")
FEW = settings(max_examples=150, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))

# Lone surrogates and NUL included.
words = st.one_of(
    st.text(st.characters(exclude_categories=[]), max_size=12), st.sampled_from(["\ud800", "\x00", '"', "#! X", "a b=c", "-"])
)
numbers = st.one_of(st.integers(-2, 3), st.sampled_from([10**400, -(10**30), 1.0, 1.5, -0.0, 1e308]), st.floats())
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, words),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(words, inner, max_size=3)),
    max_leaves=8,
)
kinds = st.sampled_from([kind.value for kind in Kind] + ["video", "", "TEXT"])
fields = st.fixed_dictionaries(
    {},
    optional={
        "type": st.one_of(kinds, kinds, kinds, values),
        "text": st.one_of(words, words, values),
        "toolCallId": st.one_of(st.sampled_from(["", "a", "b"]), words, values),
        "toolName": st.one_of(words, words, values),
        "input": values,
        "content": st.one_of(words, words, values),
        "isError": st.one_of(st.booleans(), values),
        "message": st.one_of(words, words, values),
        "code": values,
        "url": st.one_of(words, words, values),
        "mimeType": values,
        "stepId": st.one_of(st.just("turn-1782600000000-a#0"), st.just("turn-١٢٣٤٥٦٧٨٩٠١٢-a#٠"), values),
        "extra": values,
    },
)
indexes = st.one_of(st.integers(0, 2), st.integers(0, 2), numbers, values)
shapes = st.fixed_dictionaries(
    {},
    optional={
        "chunk": st.one_of(fields, fields, fields, values),
        "role": st.one_of(st.sampled_from(["user", "assistant", "tool", "system"]), words, values),
        "msgIdx": indexes,
        "chunkIdx": indexes,
        "other": values,
    },
)
DEEP = [b"[" * 100_000, b"[" * 399 + b"]" * 399, b'{"a":' * 401 + b"1" + b"}" * 401]
DEEP_INPUT = b'{"chunk":{"type":"tool-call","toolCallId":"a","toolName":"b","input":%s},"role":"assistant","msgIdx":0,"chunkIdx":0}'
ODD = [
    b"",
    b"null",
    b"NaN",
    b"-",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b'"\xed\xa0\x80"',
    b"\x00",
    b"1" * 5000,
    b"1e999",
    b"\xef\xbb\xbf{}",
    b'{"msgIdx":0,"msgIdx":1,"chunkIdx":0,"chunkIdx":2,"role":"user","chunk":{"type":"text","text":"a"}}',
    b'{"chunk":{"type":"text","text":"a"},"role":"user","msgIdx":1e0,"chunkIdx":0.0}',
    *DEEP,
    *(DEEP_INPUT % (b"[" * depth + b"]" * depth) for depth in (390, 398, 399, 900)),
    DEEP_INPUT % (b"[1e999,-1e999,1e400,%s]" % (b"9" * 4000)),
]
cells = st.one_of(
    shapes.map(lambda shape: Cell(json.dumps(shape).encode())),
    shapes.map(lambda shape: Cell(jsontext.encode(jsontext.compact(shape)))),
    st.sampled_from([Cell(row) for row in ODD]),
    st.binary(max_size=20).map(Cell),
    st.binary(max_size=20).map(lambda data: Cell(data, "blob")),
)
metas = st.fixed_dictionaries(
    {"title": st.one_of(words, words, values), "createdAt": numbers, "lastActivityAt": numbers},
    optional={"status": st.one_of(st.just("active"), values), "compactedFrom": values, "workspaceId": values},
)
facts = st.one_of(
    st.binary(max_size=8).map(Cell),
    metas.map(lambda meta: Cell(json.dumps(meta).encode())),
    st.sampled_from([Cell(data) for data in (b"0", b"3", b"-1", b"99999999999", b"\xd9\xa3", b" 2x", b"[1,2]", b"1" * 5000)]),
)
numbering = st.one_of(st.integers(0, 5).map(lambda seq: f"{seq:010d}"), st.sampled_from(["2", "3x", "x", "-1", "٣", "9" * 30, "\udcff"]))
stores = st.tuples(
    st.dictionaries(numbering, cells, max_size=6),
    st.dictionaries(st.sampled_from(["seq", "meta", "model", "cwd"]), facts),
    st.one_of(st.none(), facts, st.just(Cell(b'["c1","c1",5,"\\ud800"]'))),
)


def records(made: tuple[dict[str, Cell], dict[str, Cell], Cell | None]) -> list[Record]:
    rows, beside, index = made
    pairs = {f"conv:c1:chunk:{number}": cell for number, cell in rows.items()} | {f"conv:c1:{name}": cell for name, cell in beside.items()}
    pairs |= {} if index is None else {"conv-index": index}
    return [Record(key, pairs[key]) for key in sorted(pairs, key=lambda key: key.encode("utf-8", "surrogateescape"))]


@pytest.mark.slow
@FEW
@given(stores)
def test_everything_that_reads_takes_any_store(made: Any) -> None:
    for stored in DISPATCH.read(records(made)):
        for name in READERS:
            messages = reader(name).read(stored.conversation).messages
            for projection in all_projections():
                prompt = projection.project(messages)
                json.dumps(prompt.values)
                for profile in PROFILES:
                    profile.judge(prompt, "other/model")
        for name in ("dispatch-legacy", "exact+r1"):
            for taken_at in (None, 10**13):
                findings(case_of(stored.conversation, name, taken_at=taken_at), RULES)
        assert_notation_gives_back(stored.conversation)


@FEW
@given(stores, st.sets(st.sampled_from([strategy.name for strategy in STRATEGIES]), min_size=1), st.sampled_from(READERS))
def test_every_repair_of_any_store_is_planned_or_refused_in_a_sentence(made: Any, asked: set[str], reader_name: str) -> None:
    chosen = [strategy.name for strategy in STRATEGIES if strategy.name in asked]
    for stored in DISPATCH.read(records(made)):
        for mode in DISPATCH.modes:
            try:
                assert preview_of(stored, mode.name, chosen, reader_name).changes
            except NothingToDo:
                continue
            except WriteRefused as refused:
                assert refused.reason.endswith((".", ")."))


@pytest.mark.parametrize("row", ODD, ids=range(len(ODD)))
def test_odd_rows_one_by_one(row: bytes) -> None:
    neighbors = [b'{"chunk":{"type":"text","text":"%d"},"role":"assistant","msgIdx":0,"chunkIdx":0}' % number for number in (1, 2)]
    made = {f"{seq:010d}": Cell(data) for seq, data in enumerate([neighbors[0], row, neighbors[1]], start=1)}
    (stored,) = DISPATCH.read(records((made, {}, None)))
    assert stored.conversation.chunks[1].raw == row
    for mode in DISPATCH.modes:
        changes = preview_of(stored, mode.name, [strategy.name for strategy in STRATEGIES]).changes
        assert changes


lines = st.one_of(
    words,
    st.from_regex(r"([0-9x-]{1,3}|@[a-z]+|#) (user|-|@) ([0-9-](\.[0-9-])?|\.) (text|tool-call|tool-result|error|unreadable|x)( .{0,20})?"),
    st.from_regex(
        r'1 user 0\.0 (text|tool-call|unreadable) (a|"b"|"|\{\}|\[) ?(name|payload|step|damage|role|parent)=(.{0,6}|\{"|\[1\]|"x")'
    ),
)


@FEW
@given(st.lists(lines, max_size=3).map("\n".join))
def test_notation_that_cannot_be_read_is_refused_with_its_line(text: str) -> None:
    try:
        conversation, _ = notation.load(text)
    except notation.NotationError as refused:
        assert str(refused).startswith("Line ")
    else:
        case_of(conversation, "exact")
        notation.dump(conversation)


@pytest.mark.parametrize(
    ("row", "damage"),
    [
        (DEEP[0], "too-deep"),
        (DEEP[2], "too-deep"),
        (b"1" * 5000, "huge-integer"),
        (b"NaN", "not-json"),
        (b"\xff", "not-utf8"),
        (b'{"chunk":null,"role":"user","msgIdx":0,"chunkIdx":0}', "null-chunk"),
        (b'["' + b"[" * 5000 + b'"]', "not-object"),
    ],
)
def test_what_is_wrong_with_a_row_has_a_code_and_a_sentence(row: bytes, damage: str) -> None:
    (stored,) = DISPATCH.read(records(({"0000000001": Cell(row)}, {}, None)))
    chunk = stored.conversation.chunks[0]
    assert (chunk.kind, chunk.damage) == (Kind.UNREADABLE, damage)
    assert chunk.reason


@pytest.mark.parametrize("text", ["\n" * 300_000, " " * 300_000, "</think>" + "\n" * 300_000, "```" * 100_000, "</think>\n" * 50_000])
def test_looking_for_leaked_calls_takes_no_longer_on_hostile_text(text: str) -> None:
    started = time.process_time()
    assert list(leaked([AnswerPart("thinking", text)], None, "stop")) == []
    assert time.process_time() - started < 1
