"""What a proxy made of simple answers, case by case; W is a call in the wrapper that it asks models for. O is OpenAI's chat, L Ollama's: backend first."""

import json
from typing import Any

from inspector.streams.model import Side

from ..spoken import DONE, LAST, OLLAMA_CALL, arguments, call, chunk, finish, line, sse, text
from .script import END, EOF, Golden, Step, b, bl, c, cl, raw

B, C = Side.BACKEND, Side.CLIENT
W = "<toolbridge_calls><search><query>q</query></search></toolbridge_calls>"
R = W.replace(">q<", ">r<")
SEED = "<toolbridge:calls><search><query>q</query></search></toolbridge:calls>"

# As the proxy writes: its own ids, and a role with what it makes itself.
FIRST = chunk({"role": "assistant", "content": "Hi "}, id="chatcmpl-proxy-stream-1")
FUNC = {"id": "chatcmpl-proxy-func-1"}
ROLE = chunk({"role": "assistant"}, **FUNC)
CALL = call() | FUNC
AB = call(arguments='{"query":"ab"}') | FUNC
FINISH = finish("tool_calls") | FUNC
CALLED = c(ROLE, CALL, FINISH)
NO_COUNTS = line(done=True, done_reason="stop")
OLD = {"created_at": "1970-01-01T00:00:01.000Z"}


def said(words: str, **more: Any) -> dict[str, Any]:
    """The first chunk of an answer, with its role."""
    return chunk({"role": "assistant", "content": words}) | more


def whole(words: str, side: list[Step] | None = None) -> list[Step]:
    return b(said(words), finish(), DONE) + (side or [])


_SAME_END = "the answer ends as in a and b, for which this row is named"
_OURS = "a row that the table of what was measured does not have: the backend's terminal came and was swallowed"

TABLE = [
    Golden(
        "a O-O",
        b(said("Hi ")) + c(FIRST) + b(text(W)) + CALLED + b(finish()) + c(finish()) + b(DONE) + EOF + c(DONE) + END,
        (9, 10, 43),
        client="duplicate-finish finish-mismatch-stop id-or-model-changed",
    ),
    Golden(
        "b L-O",
        bl(line("Hi "))
        + c(FIRST)
        + bl(line(W))
        + CALLED
        + bl(line("tail"))
        + c(text("tail"))
        + bl(LAST)
        + EOF
        + c(chunk({}, "stop", usage={"prompt_tokens": 3, "completion_tokens": 2}), DONE)
        + END,
        (4, 9, 10, 43),
        client="content-after-finish duplicate-finish finish-mismatch-stop id-or-model-changed",
    ),
    Golden(
        "c L-O",
        bl(line(thinking="I should call " + W))
        + CALLED
        + bl(line("ok"))
        + c(text("ok"))
        + bl(NO_COUNTS)
        + EOF
        + c(chunk({}, "stop", usage={"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}), DONE)
        + END,
        (4, 9, 27, 31, 47),
        backend="done-missing-fields",
        client="content-after-finish duplicate-finish finish-mismatch-stop id-or-model-changed",
        sides="tool-text-promoted-from-reasoning content-lost usage-zero-fabricated",
        also={"finish-mismatch-stop": _SAME_END},
    ),
    Golden(
        "d L-O",
        bl(line(tool_calls=[OLLAMA_CALL]))
        + c(chunk({"role": "assistant", **CALL["choices"][0]["delta"]}, "tool_calls", **FUNC))
        + bl(LAST)
        + EOF
        + c(chunk({"role": "assistant"}, "stop"), DONE)
        + END,
        (9, 10, 45),
        client="duplicate-finish finish-mismatch-stop id-or-model-changed role-missing-or-repeated",
    ),
    Golden(
        "e L-O",
        bl(line("Hi")) + c(said("Hi")) + EOF + c(DONE) + END,
        (7, 8),
        backend="missing-terminal",
        client="missing-finish-reason",
        sides="fabricated-terminal",
    ),
    Golden(
        "f O-L",
        b(said("Hi "))
        + cl({**line("Hi "), **OLD, "response": "Hi "})
        + b(text(W))
        + cl({"model": "m", "created_at": "2025-06-01T00:00:00Z", "response": "", "done": False, "tool_calls": [OLLAMA_CALL]})
        + b(text(" tail"))
        + cl({**line(" tail"), **OLD, "response": " tail"})
        + b(finish())
        + cl({"model": "m", **OLD, "done": True})
        + b(DONE)
        + EOF
        + cl({"model": "m", "created_at": "2025-06-01T00:00:00Z", "response": "", "done": True})
        + END,
        (5, 23, 44, 48),
        client="duplicate-terminal created-unit-wrong done-reason-missing done-missing-fields unknown-event",
        sides="tool-call-lost",
    ),
    Golden(
        "g O-L",
        raw(B, sse(said("Hi "), text("there"), finish(), DONE)) + EOF + cl(LAST, line("Hi "), line("there"), LAST) + END,
        (1, 2, 3, 5, 32),
        client="terminal-before-content content-after-terminal duplicate-terminal",
        sides="premature-terminal content-reordered",
    ),
    Golden(
        "h O-L",
        b(chunk({"role": "assistant", **call(arguments="")["choices"][0]["delta"]}))
        + cl(line())
        + b(arguments(0, '{"query":'))
        + cl(line())
        + b(arguments(0, '"q"}'))
        + cl(line())
        + b(finish("tool_calls"))
        + cl(LAST)
        + b(DONE)
        + EOF
        + cl(LAST)
        + END,
        (23, 5),
        client="duplicate-terminal",
        sides="tool-call-lost",
    ),
    Golden(
        "i O-L",
        raw(B, sse(said("Hello"))[:60], sse(said("Hello"))[60:])
        + raw(C, b'{"error":"Unterminated string in JSON","statusCode":500}')
        + b(finish(), DONE)
        + EOF
        + END,
        (36, 42),
        client="http-error-body-midstream",
        sides="record-split-by-proxy",
        protocols={C: "ollama-chat"},
        statuses={C: 200},
    ),
    Golden(
        "j O-O",
        b(said("<search><query>q"), finish()) + c(finish()) + b(DONE) + EOF + c(text("<search><query>q"), DONE) + END,
        (4,),
        client="content-after-finish role-missing-or-repeated",
    ),
    Golden(
        "k O-O",
        raw(B, sse(said("Hi"), finish(), DONE).replace(b"\n", b"\r\n")) + EOF + c(said("Hi"), finish(), DONE) + END,
        backend="crlf",
    ),
    Golden(
        "l O-O",
        raw(B, *(lambda data, cut: (data[:cut], data[cut:]))(sse(said("a€b")), sse(said("a€b")).index("€".encode()) + 1))
        + c(said("a\ufffd\ufffd\ufffdb"))
        + b(finish())
        + c(finish())
        + b(DONE)
        + EOF
        + c(DONE)
        + END,
        (37,),
        sides="utf8-broken",
    ),
    Golden(
        "m O-O",
        b(chunk({"role": "assistant", "reasoning_content": "I need it. " + W}), finish(), DONE)
        + EOF
        + c(chunk({"role": "assistant", "reasoning_content": "I need it. " + W}), finish(), DONE)
        + END,
        (26,),
        client="tool-text-in-reasoning",
    ),
    Golden(
        "n L-L",
        bl(line("Hi ")) + c(said("Hi ")) + bl(line(W)) + c(text(W)) + bl(LAST) + EOF + cl(LAST) + END,
        (33, 28),
        client="framing-mixed wrapper-unparsed",
    ),
    Golden(
        "o O-O",
        b(said(W + " and " + R)) + CALLED + b(finish()) + c(finish()) + b(DONE) + EOF + c(DONE) + END,
        (24, 31, 9),
        client="duplicate-finish finish-mismatch-stop id-or-model-changed",
        sides="tool-call-partial-lost content-lost",
        also={"finish-mismatch-stop": _SAME_END},
    ),
    Golden(
        "p O-O",
        b(said("Hi"))
        + c(said("Hi"))
        + b({"error": {"message": "overloaded"}})
        + c({"error": {"message": "overloaded"}})
        + EOF
        + c(DONE)
        + END,
        (7, 41),
        backend="in-band-error",
        client="in-band-error",
        sides="fabricated-terminal",
    ),
]
"""What the newer version of the proxy makes of simple inputs."""

OLDER = [
    Golden(
        "older O-O",
        b(said("Hi "))
        + c(said("Hi "))
        + b(text(W))
        + c(text("Hi "), CALL, FINISH)
        + b(text(" tail"))
        + c(DONE)
        + END
        + b(finish(), DONE)
        + EOF,
        (1, 30, 31),
        client="id-or-model-changed",
        sides="premature-terminal content-replayed content-lost",
    ),
    Golden(
        "older O-L",
        b(said("Hi "))
        + cl(line("Hi "))
        + b(text(W))
        + cl(line(tool_calls=[OLLAMA_CALL]), LAST)
        + b(text(" tail"))
        + cl(line(" tail"), LAST)
        + b(finish())
        + cl(LAST)
        + b(DONE)
        + EOF
        + cl(LAST)
        + END,
        (1, 3, 5),
        client="content-after-terminal duplicate-terminal",
        sides="premature-terminal",
    ),
    Golden(
        "older L-O",
        bl(line("Hi "))
        + c(said("Hi "))
        + bl(line(W))
        + c(text(W))
        + bl(line("tail"))
        + c(text("tail"))
        + bl(LAST)
        + EOF
        + c(DONE, DONE)
        + END,
        (28, 8, 5),
        client="missing-finish-reason duplicate-terminal wrapper-unparsed",
    ),
    Golden(
        "older L-L",
        bl(line("Hi ")) + cl(line("Hi ")) + bl(line(W)) + cl(line(tool_calls=[OLLAMA_CALL])) + bl(line("tail"), LAST) + EOF + END,
        (6, 31),
        client="missing-terminal",
        sides="content-lost terminal-swallowed",
        also={"terminal-swallowed": _OURS},
    ),
]
"""What the older version made of it: the version that the report of the looping clients is about."""

_BAD = '{"choices":[{"delta":{content:" data"}}]}'
_TEXT = "missing-finish-reason"
_MIXED = "framing-mixed"


def in_pieces(*words: str) -> list[Step]:
    first, *rest = words
    return b(said(first), *(text(each) for each in rest))


def lines(*words: str) -> list[Step]:
    return bl(*(line(each) for each in words))


TESTS = [
    Golden(
        "05 malformed data",
        b("{malformed json…}", said("fine"), DONE) + EOF + c(said("fine"), DONE) + END,
        (35,),
        backend="record-not-json missing-finish-reason",
        client="missing-finish-reason",
    ),
    Golden(
        "06 a call that the end cuts off",
        in_pieces("<search><query>test query") + b(DONE) + EOF + c(said("<search><query>test query"), DONE) + END,
        backend="missing-finish-reason",
        client="missing-finish-reason",
    ),
    Golden(
        "09 nineteen pieces",
        in_pieces(*["<", "s", "ea", "rch", ">", "<", "que", "ry", ">", "a", "b", "</", "que", "ry", ">", "</", "s", "ea", "rch>", ">"])
        + b(DONE)
        + EOF
        + c(ROLE, AB, FINISH, text(">"), DONE)
        + END,
        (4, 29),
        backend="missing-finish-reason",
        client="content-after-finish wrapper-fragment-leak id-or-model-changed",
    ),
    Golden(
        "13 a bomb of tags",
        in_pieces("<search><query>" * 100) + b(DONE) + EOF + c(said("<search><query>" * 100), DONE) + END,
        backend="missing-finish-reason",
        client="missing-finish-reason",
    ),
    Golden(
        "16 split over seven",
        in_pieces("I will look. ", "<sea", "rch>", "<query>How", " to implement…</query>", "</se", "arch>")
        + c(said("I will look. "), ROLE, call(arguments=json.dumps({"query": "How to implement…"})) | FUNC, FINISH)
        + EOF
        + c(DONE)
        + END,
        (7,),
        backend="missing-terminal",
        client="id-or-model-changed",
        sides="fabricated-terminal",
    ),
    Golden(
        "17 a fence and then a call",
        in_pieces("Look:\n```python\nif a < b: pass\n```\n", "<run_code><language>python</language><code>if a < b: pass</code></run_code>")
        + c(said("Look:\n```python\nif a < b: pass\n```\n"), ROLE)
        + c(call(name="run_code", arguments=json.dumps({"language": "python", "code": "if a < b: pass"})) | FUNC, FINISH)
        + EOF
        + c(DONE)
        + END,
        (7,),
        backend="missing-terminal",
        client="id-or-model-changed",
        sides="fabricated-terminal",
        request={"tools": [{"type": "function", "function": {"name": "run_code"}}]},
    ),
    Golden(
        "19 a record with an unquoted key",
        b(said("Processing"), _BAD, text("..."), DONE) + EOF + c(said("Processing"), text("..."), DONE) + END,
        (35, 31),
        backend="record-not-json missing-finish-reason",
        client="missing-finish-reason",
        sides="content-lost",
    ),
    Golden(
        "20 Ollama", lines("Hello ", "world!") + c(said("Hello "), text("world!")) + bl(LAST) + EOF + cl(LAST) + END, (33,), client=_MIXED
    ),
    Golden(
        "21 a line that is no JSON",
        bl("{invalid json}", line("Hello")) + c(said("Hello")) + bl(LAST) + EOF + cl(LAST) + END,
        (33, 35),
        backend="record-not-json",
        client=_MIXED,
    ),
    Golden(
        "22 a line in two reads",
        raw(B, b'{"model":"test","respon', b'se":"Hello","done":false}\n')
        + c(said("Hello"))
        + bl({"model": "test", "response": "", "done": True, "done_reason": "stop", "eval_count": 1})
        + EOF
        + cl(LAST)
        + END,
        (33,),
        client=_MIXED,
    ),
    Golden(
        "23 empty lines",
        raw(B, b"\n\n") + lines("Hello") + raw(B, b"\n") + c(said("Hello")) + bl(LAST) + EOF + cl(LAST) + END,
        (33,),
        client=_MIXED,
    ),
    Golden(
        "24 a call of a tool",
        lines("I will look. ", "<search><query>q</query></search>") + c(said("I will look. ")) + CALLED + bl(LAST) + EOF + cl(LAST) + END,
        (33,),
        client=f"{_MIXED} id-or-model-changed",
    ),
    Golden(
        "25 a call in four lines",
        lines("<sear", "ch><query>", "q</query>", "</search>") + CALLED + bl(LAST) + EOF + cl(LAST) + END,
        (33,),
        client=_MIXED,
    ),
    Golden(
        "26 a long call of many lines",
        lines("你好 🌍 ", "<search><query>", *["word "] * 500, "</query></search>")
        + c(said("你好 🌍 "), ROLE)
        + c(call(arguments=json.dumps({"query": ("word " * 500)})) | FUNC, FINISH)
        + bl(LAST)
        + EOF
        + cl(LAST)
        + END,
        (33,),
        client=f"{_MIXED} id-or-model-changed",
    ),
]
"""The rows of the proxy's own tests that a violation is named for."""

_CREATE = {
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "create_file",
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
            },
        }
    ]
}
_SPLIT_CALL = ("<toolbridge:calls><create_file>", "<path>a.txt</path>", "</create_file></toolbridge:calls>")
_MADE = call(name="create_file", arguments='{"path":"a.txt"}')
_STARTED = chunk({"role": "assistant", **_MADE["choices"][0]["delta"]})
_OLLAMA_MADE = {"function": {"name": "create_file", "arguments": {"path": "a.txt"}}}

FLOWS = [
    Golden(
        "correct flow L-O",
        lines(*_SPLIT_CALL) + c(_STARTED, finish("tool_calls")) + bl(line(""), LAST) + EOF + c(DONE) + END,
        request=_CREATE,
    ),
    Golden(
        "correct flow O-L",
        in_pieces(*_SPLIT_CALL) + cl(line(tool_calls=[_OLLAMA_MADE])) + b(finish(), DONE) + EOF + cl(LAST) + END,
        request=_CREATE,
    ),
    Golden(
        "the bug L-O",
        lines(*_SPLIT_CALL) + c(_STARTED, finish("tool_calls"), DONE) + bl(line("I have made it."), LAST) + EOF + END,
        (1,),
        sides="premature-terminal content-lost",
        also={"content-lost": "what the client is not sent after its terminal: the report says that all of it is dropped"},
        request=_CREATE,
    ),
    Golden(
        "the bug O-L",
        in_pieces(*_SPLIT_CALL) + cl(line(tool_calls=[_OLLAMA_MADE]), LAST) + b(text("I have made it."), finish(), DONE) + EOF + END,
        (1,),
        sides="premature-terminal content-lost",
        also={"content-lost": "what the client is not sent after its terminal: the report says that all of it is dropped"},
        request=_CREATE,
    ),
]
"""The two flows of the report, as they should be and as they were."""

CASES = [*TABLE, *OLDER, *TESTS, *FLOWS]
