"""What each strategy for a provider's rules does to a history, what it nearly does and must not, and that a second run finds nothing."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import pytest

from inspector.conversation import notation
from inspector.conversation.edits import Plan, Safety, apply
from inspector.conversation.model import Conversation, Kind
from inspector.planning import preview as previews
from inspector.profiles.catalogue import profile
from inspector.programs.catalogue import format_named
from inspector.programs.formats import Cell, Format, Record, Stored
from inspector.programs.rollouts.readers import INTERRUPTED as ROLLOUTS
from inspector.rules.base import Case, case_of
from inspector.rules.synthetic_texts import OURS
from inspector.strategies.catalogue import STRATEGIES, strategy
from inspector.strategies.numbering import renumbered
from tests.judges.reading import HISTORIES

ANTHROPIC, OPENAI, SESSION = "anthropic-request", "openai-chat-request", "rollouts"
KEPT = "thinking payload=" + json.dumps({"type": "thinking", "text": "hm", "signature": "s"})
REDACTED = "redacted-thinking payload=" + json.dumps({"type": "redacted-thinking", "data": "zz"})
EMPTY = "control payload=" + json.dumps({"type": "control", "empty": "[]"})


class Row(NamedTuple):
    """`before` and `after` are notation without its first column; no `after` = the strategy has nothing to do."""

    name: str
    what: str
    format: str
    before: str
    after: str = ""


def history(text: str, format_name: str) -> Conversation:
    lines = [line.strip() for line in text.strip().split("\n")]
    numbered = "\n".join(f"{seq} {line}" for seq, line in enumerate(lines, start=1))
    return notation.load(numbered, format_name=format_name)[0]


def case_in(conversation: Conversation) -> Case:
    return case_of(conversation, format_named(conversation.format).default_reader)


def repaired(name: str, conversation: Conversation) -> Conversation:
    """After the strategy; what every strategy must keep is asserted on the way."""
    case = case_in(conversation)
    final = apply(conversation, strategy(name).propose(case))
    assert list(strategy(name).propose(case.with_conversation(final))) == [], "a second run finds nothing"
    old = {chunk.key: chunk for chunk in conversation.chunks}
    new = [chunk.key for chunk in final.chunks if chunk.key not in old]
    assert all(key.startswith(("new:", "moved:")) for key in new), "only what is new or elsewhere has a new key"
    assert all(chunk.raw == old[chunk.key].raw for chunk in final.chunks if chunk.key in old)
    return final


def spelled(conversation: Conversation) -> list[str]:
    """One line a chunk, numbered as it will be stored."""
    return [notation.dump_chunk(chunk) for chunk in renumbered(conversation).chunks]


TURN = "user 0.0 text go\nassistant 1.0 tool-call a ls {}\n"
TWO_CALLS = "user 0.0 text go\nassistant 1.0 tool-call a ls {}\nassistant 1.1 tool-call b ls {}\n"
LATE = TURN + "user 2.0 text and?\nassistant 3.0 text hm\ntool 4.0 tool-result a files\n"

ROWS = (
    Row(
        "move-results",
        "a late result joins the user's words in the shape that has results there",
        ANTHROPIC,
        LATE,
        TURN + "tool 2.0 tool-result a files\nuser 2.1 text and?\nassistant 3.0 text hm",
    ),
    Row(
        "move-results",
        "a late result becomes a message of its own elsewhere",
        OPENAI,
        LATE,
        TURN + "tool 2.0 tool-result a files\nuser 3.0 text and?\nassistant 4.0 text hm",
    ),
    Row("move-results", "and a line", SESSION, LATE, TURN + "tool 2.0 tool-result a files\nuser 3.0 text and?\nassistant 4.0 text hm"),
    Row(
        "move-results",
        "after the words of the same message",
        ANTHROPIC,
        TURN + "user 2.0 text and?\ntool 2.1 tool-result a files",
        TURN + "tool 2.0 tool-result a files\nuser 2.1 text and?",
    ),
    Row(
        "move-results",
        "two late results keep their order after their calls",
        OPENAI,
        TWO_CALLS + "user 2.0 text and?\ntool 3.0 tool-result b second\ntool 4.0 tool-result a first",
        TWO_CALLS + "tool 2.0 tool-result a first\ntool 3.0 tool-result b second\nuser 4.0 text and?",
    ),
    *(
        Row(
            "move-results",
            "two results that stand in each other's place",
            format_name,
            TURN + "tool 2.0 tool-result b second\nassistant 3.0 tool-call b pwd {}\ntool 4.0 tool-result a first\nuser 5.0 text and?",
            TURN + "tool 2.0 tool-result a first\nassistant 3.0 tool-call b pwd {}\n" + after,
        )
        for format_name, after in (
            (OPENAI, "tool 4.0 tool-result b second\nuser 5.0 text and?"),
            (SESSION, "tool 4.0 tool-result b second\nuser 5.0 text and?"),
            (ANTHROPIC, "tool 4.0 tool-result b second\nuser 4.1 text and?"),
        )
    ),
    Row("move-results", "a result in its place", OPENAI, TURN + "tool 2.0 tool-result a files\nuser 3.0 text and?"),
    Row(
        "move-results",
        "results in another order than their calls",
        OPENAI,
        TWO_CALLS + "tool 2.0 tool-result b x\ntool 3.0 tool-result a y",
    ),
    Row("move-results", "a result that no call has", OPENAI, "user 0.0 text go\nassistant 1.0 text x\ntool 2.0 tool-result z files"),
    Row("adopt-results", "a stranger after one open call", OPENAI, TURN + "tool 2.0 tool-result z f", TURN + "tool 2.0 tool-result a f"),
    Row(
        "adopt-results",
        "as many strangers as open calls, in order",
        SESSION,
        TWO_CALLS + "tool 2.0 tool-result y f\ntool 3.0 tool-result z g",
        TWO_CALLS + "tool 2.0 tool-result a f\ntool 3.0 tool-result b g",
    ),
    Row("adopt-results", "fewer strangers than open calls", OPENAI, TWO_CALLS + "tool 2.0 tool-result z f"),
    Row("adopt-results", "a stranger of another tool", OPENAI, TURN + "tool 2.0 tool-result z f name=rm"),
    Row("adopt-results", "a stranger after the user's words", ANTHROPIC, TURN + "user 2.0 text and?\ntool 3.0 tool-result z f"),
    Row(
        "adopt-results",
        "the late result of another call",
        OPENAI,
        TURN + "user 2.0 text x\nassistant 3.0 tool-call b ls {}\ntool 4.0 tool-result a f",
    ),
    Row(
        "keep-first-result",
        "two real results",
        OPENAI,
        TURN + "tool 2.0 tool-result a one\ntool 3.0 tool-result a two",
        TURN + "tool 2.0 tool-result a one",
    ),
    Row(
        "keep-first-result",
        "the real one of two, though it comes second",
        SESSION,
        TURN + f'tool 2.0 tool-result a "{ROLLOUTS}" error=true\ntool 3.0 tool-result a real',
        TURN + "tool 2.0 tool-result a real",
    ),
    Row("keep-first-result", "one result of each of two calls", OPENAI, TWO_CALLS + "tool 2.0 tool-result a f\ntool 3.0 tool-result b f"),
    Row(
        "keep-first-result",
        "one id on two calls, each with its result",
        OPENAI,
        TURN + "tool 2.0 tool-result a f\nassistant 3.0 tool-call a ls {}\ntool 4.0 tool-result a g",
    ),
    Row(
        "rename-repeated-ids",
        "the second call, with its result",
        OPENAI,
        TURN + "tool 2.0 tool-result a f\nassistant 3.0 tool-call a ls {}\ntool 4.0 tool-result a g",
        TURN + "tool 2.0 tool-result a f\nassistant 3.0 tool-call a_2 ls {}\ntool 4.0 tool-result a_2 g",
    ),
    Row(
        "rename-repeated-ids",
        "to a number that nobody has",
        ANTHROPIC,
        "assistant 0.0 tool-call a ls {}\nassistant 0.1 tool-call a_2 ls {}\nassistant 0.2 tool-call a ls {}",
        "assistant 0.0 tool-call a ls {}\nassistant 0.1 tool-call a_2 ls {}\nassistant 0.2 tool-call a_3 ls {}",
    ),
    Row("rename-repeated-ids", "two results of one call", OPENAI, TURN + "tool 2.0 tool-result a f\ntool 3.0 tool-result a g"),
    Row(
        "sanitize-tool-names",
        "in the call and in the result that names it",
        OPENAI,
        "assistant 0.0 tool-call a my.tool/x {}\ntool 1.0 tool-result a f name=my.tool/x",
        "assistant 0.0 tool-call a my_tool_x {}\ntool 1.0 tool-result a f name=my_tool_x",
    ),
    Row(
        "sanitize-tool-names",
        "a name that is too long",
        ANTHROPIC,
        f"assistant 0.0 tool-call a {'n' * 65} {{}}\ntool 1.0 tool-result a f",
        f"assistant 0.0 tool-call a {'n' * 64} {{}}\ntool 1.0 tool-result a f",
    ),
    Row("sanitize-tool-names", "the longest name", OPENAI, f"assistant 0.0 tool-call a {'n' * 64} {{}}\ntool 1.0 tool-result a f"),
    Row(
        "merge-same-role-messages",
        "two answers",
        SESSION,
        "user 0.0 text go\nassistant 1.0 text a\nassistant 2.0 text b\nassistant 2.1 text c\nuser 3.0 text x",
        "user 0.0 text go\nassistant 1.0 text a\nassistant 1.1 text b\nassistant 1.2 text c\nuser 2.0 text x",
    ),
    Row(
        "merge-same-role-messages",
        "results and the user's words, where the user says both",
        ANTHROPIC,
        TURN + "tool 2.0 tool-result a f\nuser 3.0 text and?",
        TURN + "tool 2.0 tool-result a f\nuser 2.1 text and?",
    ),
    Row(
        "merge-same-role-messages",
        "results elsewhere",
        OPENAI,
        TWO_CALLS + "tool 2.0 tool-result a f\ntool 3.0 tool-result b f\nuser 4.0 text x",
    ),
    Row(
        "merge-same-role-messages",
        "answers with results between",
        OPENAI,
        TURN + "tool 2.0 tool-result a f\nassistant 3.0 text a\nuser 4.0 text x\nassistant 5.0 text b",
    ),
    Row(
        "order-blocks",
        "results before words, calls after them",
        ANTHROPIC,
        "user 0.0 text go\nassistant 1.0 tool-call a ls {}\nassistant 1.1 text x\nuser 2.0 text and?\ntool 2.1 tool-result a f",
        "user 0.0 text go\nassistant 1.0 text x\nassistant 1.1 tool-call a ls {}\ntool 2.0 tool-result a f\nuser 2.1 text and?",
    ),
    Row(
        "order-blocks",
        "blocks in order, and messages in any",
        ANTHROPIC,
        f"user 0.0 text go\nassistant 1.0 {KEPT}\nassistant 1.1 text x\nassistant 1.2 tool-call a ls {{}}\nuser 2.0 text and?\ntool 3.0 tool-result a f",
    ),
    Row(
        "drop-empty-blocks",
        "blank text, empty thinking, a message without content",
        ANTHROPIC,
        f'user 0.0 text go\nassistant 1.0 thinking ""\nassistant 1.1 text " \\n"\nassistant 1.2 text x\nuser 2.0 {EMPTY}\nassistant 3.0 text y',
        "user 0.0 text go\nassistant 1.0 text x\nassistant 2.0 text y",
    ),
    Row(
        "drop-empty-blocks",
        "signed thinking without words, an empty result, a text with a point",
        ANTHROPIC,
        'assistant 0.0 thinking payload={"type":"thinking","text":"","signature":"s"}\n'
        'assistant 0.1 text " ."\nassistant 0.2 tool-call a ls {}\ntool 1.0 tool-result a ""',
    ),
    Row(
        "thinking-to-text",
        "signed or not",
        SESSION,
        f"assistant 0.0 {KEPT}\nassistant 0.1 thinking so\nassistant 0.2 text x",
        'assistant 0.0 text "<thinking>\\nhm\\n</thinking>"\nassistant 0.1 text "<thinking>\\nso\\n</thinking>"\nassistant 0.2 text x',
    ),
    Row(
        "thinking-to-text",
        "redacted or without words",
        ANTHROPIC,
        f'assistant 0.0 {REDACTED}\nassistant 0.1 thinking " "\nassistant 0.2 text x',
    ),
    Row(
        "drop-unsigned-thinking",
        "beside text, and alone in its message",
        ANTHROPIC,
        f"user 0.0 text go\nassistant 1.0 thinking so\nassistant 1.1 {KEPT}\nuser 2.0 text x\nassistant 3.0 thinking so\nuser 4.0 text y",
        f"user 0.0 text go\nassistant 1.0 {KEPT}\nuser 2.0 text x\nassistant 3.0 {EMPTY}\nuser 4.0 text y",
    ),
    Row(
        "drop-unsigned-thinking", "signed and redacted", ANTHROPIC, f"assistant 0.0 {KEPT}\nassistant 0.1 {REDACTED}\nassistant 0.2 text x"
    ),
    Row(
        "strip-old-thinking",
        "of turns before the latest",
        ANTHROPIC,
        f"user 0.0 text go\nassistant 1.0 {KEPT}\nassistant 1.1 {REDACTED}\nassistant 1.2 text x\nuser 2.0 text and?\n"
        f"assistant 3.0 {KEPT}\nassistant 3.1 tool-call a ls {{}}\ntool 4.0 tool-result a f\nassistant 5.0 {KEPT}\nassistant 5.1 text y",
        "user 0.0 text go\nassistant 1.0 text x\nuser 2.0 text and?\n"
        f"assistant 3.0 {KEPT}\nassistant 3.1 tool-call a ls {{}}\ntool 4.0 tool-result a f\nassistant 5.0 {KEPT}\nassistant 5.1 text y",
    ),
    Row(
        "strip-old-thinking",
        "one turn of several steps",
        SESSION,
        f"user 0.0 text go\nassistant 1.0 {KEPT}\nassistant 1.1 tool-call a ls {{}}\ntool 2.0 tool-result a f\nassistant 3.0 {KEPT}\nassistant 3.1 text y",
    ),
    Row(
        "strip-old-thinking",
        "the last answer keeps its own, though the user has spoken since",
        ANTHROPIC,
        f"user 0.0 text go\nassistant 1.0 {KEPT}\nassistant 1.1 text x\nuser 2.0 text and?\nassistant 3.0 {KEPT}\nassistant 3.1 text y\nuser 4.0 text so?",
        f"user 0.0 text go\nassistant 1.0 text x\nuser 2.0 text and?\nassistant 3.0 {KEPT}\nassistant 3.1 text y\nuser 4.0 text so?",
    ),
    Row("strip-old-thinking", "a history without an answer", ANTHROPIC, "user 0.0 text go\nuser 1.0 text and?"),
    Row(
        "strip-thinking",
        "all of it, and an empty message stays where nothing else stood",
        SESSION,
        f"user 0.0 text go\nassistant 1.0 {KEPT}\nassistant 1.1 {REDACTED}\nuser 2.0 text and?\nassistant 3.0 thinking so\nassistant 3.1 text y",
        f"user 0.0 text go\nassistant 1.0 {EMPTY}\nuser 2.0 text and?\nassistant 3.0 text y",
    ),
    Row("strip-thinking", "text that looks like it", OPENAI, 'user 0.0 text go\nassistant 1.0 text "<thinking>so</thinking>"'),
    Row(
        "add-empty-thinking",
        "to answers without any",
        OPENAI,
        "user 0.0 text go\nassistant 1.0 text x\nassistant 1.1 tool-call a ls {}\ntool 2.0 tool-result a f\nassistant 3.0 thinking so\nassistant 3.1 text y",
        'user 0.0 text go\nassistant 1.0 thinking ""\nassistant 1.1 text x\nassistant 1.2 tool-call a ls {}\n'
        "tool 2.0 tool-result a f\nassistant 3.0 thinking so\nassistant 3.1 text y",
    ),
    Row(
        "add-empty-thinking",
        "redacted thinking is passed on to nobody else",
        ANTHROPIC,
        f"user 0.0 text go\nassistant 1.0 {REDACTED}\nassistant 1.1 text x",
        f'user 0.0 text go\nassistant 1.0 thinking ""\nassistant 1.1 {REDACTED}\nassistant 1.2 text x',
    ),
    Row(
        "end-with-user",
        "after an answer",
        ANTHROPIC,
        "user 0.0 text go\nassistant 1.0 text x",
        "user 0.0 text go\nassistant 1.0 text x\nuser 2.0 text Continue.",
    ),
    Row("end-with-user", "after an open call", ANTHROPIC, TURN),
    Row("end-with-user", "after a result", OPENAI, TURN + "tool 2.0 tool-result a f"),
    Row(
        "start-with-user",
        "before an answer, after the system prompt",
        OPENAI,
        "system 0.0 system S\nassistant 1.0 text x",
        "system 0.0 system S\nuser 1.0 text Begin.\nassistant 2.0 text x",
    ),
    Row(
        "start-with-user",
        "after a prompt outside of the list",
        ANTHROPIC,
        "system -1.0 system S\nassistant 0.0 text x",
        "system -1.0 system S\nuser 0.0 text Begin.\nassistant 1.0 text x",
    ),
    Row("start-with-user", "after a lone prompt", OPENAI, "system 0.0 system S", "system 0.0 system S\nuser 1.0 text Begin."),
    Row("start-with-user", "the user is first", SESSION, "system 0.0 system S\nuser 1.0 text go\nassistant 2.0 text x"),
    Row(
        "answer-before-user",
        "also where both stand in one message",
        ANTHROPIC,
        TURN + "tool 2.0 tool-result a f\nuser 2.1 text and?",
        TURN + 'tool 2.0 tool-result a f\nassistant 3.0 text "The turn ended here."\nuser 4.0 text and?',
    ),
    Row(
        "answer-before-user",
        "once for each turn",
        SESSION,
        TURN + "tool 2.0 tool-result a f\nuser 3.0 text and?\nuser 4.0 text x",
        TURN + 'tool 2.0 tool-result a f\nassistant 3.0 text "The turn ended here."\nuser 4.0 text and?\nuser 5.0 text x',
    ),
    Row(
        "answer-before-user", "an answer stands there", OPENAI, TURN + "tool 2.0 tool-result a f\nassistant 3.0 text x\nuser 4.0 text and?"
    ),
    Row(
        "system-first",
        "in the list, where the shape has it there",
        OPENAI,
        "system 0.0 system S\nuser 1.0 text go\nsystem 2.0 system T\nassistant 3.0 text x",
        "system 0.0 system S\nsystem 1.0 system T\nuser 2.0 text go\nassistant 3.0 text x",
    ),
    Row(
        "system-first",
        "outside of it, where the shape has it there",
        ANTHROPIC,
        "system -1.0 system S\nuser 0.0 text go\nsystem 1.0 system T\nassistant 2.0 text x",
        "system -1.0 system S\nsystem -1.1 system T\nuser 0.0 text go\nassistant 1.0 text x",
    ),
    Row("system-first", "two at the front", OPENAI, "system 0.0 system S\nsystem 1.0 system T\nuser 2.0 text go"),
    Row(
        "replace-surrogates",
        "in words, names and arguments",
        OPENAI,
        'user 0.0 text "a\\ud800b"\nassistant 1.0 tool-call a ls {"k\\udc00":["\\ud83d"]}\ntool 2.0 tool-result a "\\udfff"',
        'user 0.0 text "a\\ufffdb"\nassistant 1.0 tool-call a ls {"k\\ufffd":["\\ufffd"]}\ntool 2.0 tool-result a "\\ufffd"',
    ),
    Row(
        "replace-surrogates",
        "whole characters, and words that are signed",
        ANTHROPIC,
        'user 0.0 text "\\ud83d\\ude00 \\ufffd"\nassistant 1.0 thinking payload={"type":"thinking","text":"\\ud800","signature":"s"}\nassistant 1.1 text x',
    ),
    Row(
        "insert-interrupted-result",
        "beside the results that are there, before the user's words",
        ANTHROPIC,
        TWO_CALLS + "tool 2.0 tool-result a f\nuser 2.1 text and?",
        TWO_CALLS + f'tool 2.0 tool-result a f\ntool 2.1 tool-result b "{OURS}" name=ls error=true\nuser 2.2 text and?',
    ),
    Row(
        "insert-interrupted-result",
        "as messages of their own, in call order",
        OPENAI,
        TWO_CALLS + "user 2.0 text and?",
        TWO_CALLS
        + f'tool 2.0 tool-result a "{OURS}" name=ls error=true\ntool 3.0 tool-result b "{OURS}" name=ls error=true\nuser 4.0 text and?',
    ),
    Row(
        "insert-interrupted-result",
        "at the end, in the words of the store's own program",
        SESSION,
        TURN,
        TURN + f'tool 2.0 tool-result a "{ROLLOUTS}" name=ls error=true',
    ),
    Row("insert-interrupted-result", "a result that comes late is a result", ANTHROPIC, LATE),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}: {row.what}")
def test_strategy(row: Row) -> None:
    base = history(row.before, row.format)
    final = repaired(row.name, base)
    assert spelled(final) == spelled(history(row.after or row.before, row.format))
    if not row.after:
        assert final == base


def ids(conversation: Conversation) -> list[str]:
    return [chunk.call_id for chunk in conversation.chunks if chunk.kind in (Kind.TOOL_CALL, Kind.TOOL_RESULT)]


@pytest.mark.parametrize(
    ("name", "call_id", "is_renamed"),
    [
        ("rename-invalid-ids", "call:1", True),
        ("rename-invalid-ids", "c" * 41, True),
        ("rename-invalid-ids", "c" * 40, False),
        ("rename-invalid-ids", "toolu_01-x", False),
        ("shorten-ids", "toolu_01-x", True),
        ("shorten-ids", "abcdefgh", True),
        ("shorten-ids", "abcDEF123", False),
    ],
)
@pytest.mark.parametrize("format_name", [ANTHROPIC, OPENAI, SESSION])
def test_an_id_that_is_not_taken_is_renamed_with_its_result(name: str, call_id: str, is_renamed: bool, format_name: str) -> None:
    text = f"assistant 0.0 tool-call {call_id} ls {{}}\nassistant 0.1 tool-call other9ids ls {{}}\n"
    final = repaired(name, history(f"{text}tool 1.0 tool-result {call_id} f\ntool 2.0 tool-result other9ids f", format_name))
    call, other, result, others = ids(final)
    assert call == result and other == others == "other9ids" and (call != call_id) is is_renamed
    assert not is_renamed or re.fullmatch(r"[A-Za-z0-9]{9}", call)


def test_two_calls_of_one_invalid_id_get_two_ids() -> None:
    text = "assistant 0.0 tool-call a:b ls {}\ntool 1.0 tool-result a:b f\nassistant 2.0 tool-call a:b ls {}\ntool 3.0 tool-result a:b g"
    first, its, second, others = ids(repaired("shorten-ids", history(text, OPENAI)))
    assert first == its != second == others


def test_the_step_of_thinking_stays_with_its_text() -> None:
    final = repaired("thinking-to-text", notation.load("1 user 1.0 text go\n2 assistant 2.0 thinking so step=t1")[0])
    assert [chunk.step_id for chunk in final.chunks] == [None, "t1"]


# What is written: bodies as bytes.


def stored(body: Any, format_name: str = ANTHROPIC) -> tuple[Format, Stored]:
    format_ = format_named(format_name)
    data = json.dumps(body, indent=1).encode()
    return format_, next(iter(format_.read([Record("request.json", Cell(data, "file"))])))


def previewed(body: Any, names: Iterable[str], judge: str = "anthropic-2026-07", format_name: str = ANTHROPIC) -> previews.Preview:
    format_, held = stored(body, format_name)
    case, chosen = case_in(held.conversation), [strategy(name) for name in names]
    plan = Plan(
        "s", "request", "same-file", tuple(names), previews.safety_of(chosen), previews.digest(held), previews.compose(case, chosen)
    )
    return previews.preview(case, held, format_, plan, chosen, format_.default_projection, judge)


def written(preview: previews.Preview) -> Any:
    (change,) = preview.changes
    assert change.after is not None
    return json.loads(change.after.data)


def thinking(words: str, **more: str) -> dict[str, str]:
    return {"type": "thinking", "thinking": words} | more


def said(role: str, *blocks: Any) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


USE = {"type": "tool_use", "id": "toolu.1", "name": "l s", "input": {"n": 1.50}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu.1", "content": "f"}
WRONG: dict[str, Any] = {
    "model": "claude-opus-4",
    "max_tokens": 5,
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "messages": [
        {"role": "assistant", "content": "I look."},
        said("user", text("gr\u00fc\u00dfe \ud800")),
        said("assistant", thinking("so"), text(" "), text("x")),
        said("assistant", thinking("hm", signature="s"), USE, text("y")),
        said("user", text("and?")),
        said("user", RESULT, {**RESULT, "content": "g"}),
        said("assistant", text("z"), cache_mark := text("w") | {"cache_control": {"type": "ephemeral"}}),
    ],
}
NAMES = (
    *("move-results", "keep-first-result", "rename-invalid-ids", "shorten-ids", "sanitize-tool-names", "merge-same-role-messages"),
    *("order-blocks", "drop-empty-blocks", "thinking-to-text", "drop-unsigned-thinking", "strip-old-thinking", "strip-thinking"),
    *("add-empty-thinking", "end-with-user", "start-with-user", "answer-before-user", "replace-surrogates"),
)


@pytest.mark.parametrize("format_name", [OPENAI, ANTHROPIC, SESSION, "pi", "dispatch"])
@pytest.mark.parametrize("name", [each.name for each in STRATEGIES if Safety.LOSSY not in each.safety])
def test_what_is_not_said_to_lose_anything_keeps_every_call_and_result(name: str, format_name: str) -> None:
    """Over every history that judges are asked about: results that swapped places were both lost once."""
    for title, text in HISTORIES.items():
        conversation = notation.load(text, title, format_name)[0]
        final = apply(conversation, strategy(name).propose(case_in(conversation)))
        before, after = ((Counter((chunk.kind, chunk.text) for chunk in each.chunks)) for each in (conversation, final))
        assert not {found for found in before - after if found[0] in (Kind.TOOL_CALL, Kind.TOOL_RESULT)}, title


@pytest.mark.parametrize("name", [name for name in NAMES if name != "answer-before-user"])
def test_a_body_is_written_with_every_untouched_message_byte_for_byte(name: str) -> None:
    preview = previewed(WRONG, [name])
    (change,) = preview.changes
    assert change.before is not None and change.after is not None
    after = written(preview)
    assert {key: value for key, value in after.items() if key != "messages"} == {key: WRONG[key] for key in WRONG if key != "messages"}
    old_elements = [json.dumps(each, indent=1).replace("\n", "\n  ") for each in WRONG["messages"]]
    same = [each for each, value in zip(old_elements, WRONG["messages"], strict=True) if value in after["messages"]]
    assert len(same) >= 1 and all(each.encode() in change.after.data for each in same)
    assert cache_mark in after["messages"][-1]["content"] or name == "end-with-user"


@pytest.mark.parametrize("name", NAMES)
def test_what_was_written_needs_no_second_run(name: str) -> None:
    try:
        once = written(previewed(WRONG, [name]))
    except previews.NothingToDo:
        assert name == "answer-before-user"
        return
    with pytest.raises(previews.NothingToDo):
        previewed(once, [name])


def test_a_system_message_in_the_list_moves_to_the_place_that_its_shape_has_for_it() -> None:
    body = {"messages": [{"role": "user", "content": "go"}, {"role": "system", "content": "T"}, {"role": "assistant", "content": "x"}]}
    assert [each["role"] for each in written(previewed(body, ["system-first"], "openai-chat", OPENAI))["messages"]] == [
        *("system", "user", "assistant")
    ]
    after = written(previewed(body, ["system-first"]))
    assert after["system"] in ("T", [{"type": "text", "text": "T"}]) and [each["role"] for each in after["messages"]] == [
        "user",
        "assistant",
    ]


# What a preview warns of.

SURVIVES = "whether its signature survives that, nobody can know offline"
THOUGHT: dict[str, Any] = {
    "thinking": {"type": "enabled"},
    "messages": [
        said("user", text("go"), text(" ")),
        said("assistant", thinking("hm", signature="s"), text("x")),
        said("user", text("and?"), text(" ")),
        said("assistant", thinking("so", signature="t"), text("y")),
        said("user", text("end"), text(" ")),
    ],
}


def of_signatures(preview: previews.Preview) -> list[str]:
    return [warning for warning in preview.warnings if SURVIVES in warning]


def test_an_edit_before_signed_thinking_names_the_first_one() -> None:
    (warning,) = of_signatures(previewed(THOUGHT, ["drop-empty-blocks"]))
    assert "signed thinking at seq 3 (seq 2 after the repair)" in warning


def test_an_edit_between_two_signed_blocks_names_the_later_one() -> None:
    body = {**THOUGHT, "messages": [said("user", text("go")), *THOUGHT["messages"][1:]]}
    (warning,) = of_signatures(previewed(body, ["drop-empty-blocks"]))
    assert "signed thinking at seq 6 (seq 5 after the repair)" in warning


def test_an_edit_behind_all_signed_thinking_warns_of_nothing() -> None:
    body = {**THOUGHT, "messages": [said("user", text("go")), THOUGHT["messages"][1], said("user", text("and?"), text(" "))]}
    assert of_signatures(previewed(body, ["drop-empty-blocks"])) == []


def test_thinking_that_does_not_stay_needs_no_warning() -> None:
    assert of_signatures(previewed(THOUGHT, ["drop-empty-blocks", "strip-thinking"])) == []


def test_joining_two_answers_unsettles_the_thinking_of_the_second() -> None:
    body = {
        "messages": [said("user", text("go")), said("assistant", text("x")), said("assistant", thinking("hm", signature="s"), text("y"))]
    }
    (warning,) = of_signatures(previewed(body, ["merge-same-role-messages"]))
    assert "at seq 3 changes" in warning


def test_taking_thinking_from_a_running_turn_says_that_the_result_is_refused() -> None:
    use, result = {**USE, "id": "t1", "name": "ls"}, {**RESULT, "tool_use_id": "t1"}
    body = {**THOUGHT, "messages": [said("user", text("go")), said("assistant", thinking("hm", signature="s"), use), said("user", result)]}
    preview = previewed(body, ["strip-thinking"])
    assert preview.before.judgement.sendable and [found.id for found in preview.after.judgement.violations] == ["AN-15"]
    assert any(warning.startswith("anthropic-2026-07 would refuse the result: ") for warning in preview.warnings)


REASONED: list[dict[str, Any]] = [
    {"role": "user", "content": "go"},
    {
        "role": "assistant",
        "content": "x",
        "reasoning_content": "hm",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "f"},
]


def refusing(preview: previews.Preview) -> list[str]:
    return [warning for warning in preview.warnings if "would refuse the result" in warning]


def test_another_profile_of_the_shape_that_refuses_only_the_result_is_named() -> None:
    (warning,) = refusing(previewed({"messages": REASONED}, ["strip-thinking"], "openai-chat", OPENAI))
    assert warning.startswith("deepseek-thinking would refuse the result, and does not refuse what is stored: ")


def test_a_chat_template_that_refuses_the_result_is_named_only_where_it_is_the_judge() -> None:
    said = [("user", "a"), ("assistant", "x"), ("user", ""), ("assistant", "y"), ("user", "b")]
    body = {"messages": [{"role": role, "content": words} for role, words in said]}
    preview = previewed(body, ["drop-empty-blocks"], "openai-chat", OPENAI)
    assert preview.before.judgement.sendable and refusing(preview) == []
    (warning,) = refusing(previewed(body, ["drop-empty-blocks"], "alternating-template", OPENAI))
    assert warning.startswith("alternating-template would refuse the result: ")


def test_a_profile_that_refuses_what_is_stored_too_is_not_named() -> None:
    no_reasoning = [{name: value for name, value in each.items() if name != "reasoning_content"} for each in REASONED]
    body = {"messages": [*no_reasoning, {"role": "assistant", "content": " "}, {"role": "user", "content": "and?"}]}
    preview = previewed(body, ["drop-empty-blocks"], "openai-chat", OPENAI)
    assert not profile("deepseek-thinking").judge(preview.before.prompt, None).sendable
    assert not [warning for warning in refusing(preview) if warning.startswith("deepseek-thinking")]
