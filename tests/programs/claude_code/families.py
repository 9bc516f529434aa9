"""A session for each family of corruption of `formats/claude_code_codex.md` 7 that is in the content of messages, in the shape of real ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from tests.programs.claude_code.session_lines import a, boundary, call, image, png, r, result_of, text, thinking, u

MODES = ("new-session", "same-file")
_UNANSWERED = "messages.{n}: `tool_use` ids were found without `tool_result` blocks immediately after: {id}. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
_UNCALLED = "messages.{n}.content.{m}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
MODIFIED = "messages.{n}.content.{m}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."


@dataclass(frozen=True)
class Family:
    """`error`: what the provider answers to `lines` as they are; `at`: uuids of lines, of which the explanation of it names one. `findings`: code -> severity
    of what is found. `strategies`: what repairs it; () = what is recommended for Anthropic, which has to be `recommended`. `after`: the messages then."""

    lines: tuple[dict[str, Any], ...]
    findings: Mapping[str, str]
    error: str
    at: tuple[str, ...]
    after: tuple[str, ...]
    recommended: tuple[str, ...] = ()
    strategies: tuple[str, ...] = ()
    reader: str = "claude-code"
    """The newest whose request is rejected so, or the newest where none is."""
    modes: tuple[str, ...] = field(default=MODES)


class _InModes(Protocol):
    modes: tuple[str, ...]


_OfModes = TypeVar("_OfModes", bound=_InModes)


def in_turn(families: Mapping[str, _OfModes]) -> Iterator[tuple[str, _OfModes, str]]:
    """(name, family, one of its modes): the modes take turns, so that every mode is that of some families."""
    for number, (name, family) in enumerate(families.items()):
        yield name, family, family.modes[number % len(family.modes)]


CALL_LINES = '<function_calls>\n<invoke name="Bash">\n<parameter name="command">ls</parameter>\n</invoke>\n</function_calls>'
INTERRUPTED = "tool:The tool call was interrupted before a result was recorded."


def with_model(model: str, line: dict[str, Any]) -> dict[str, Any]:
    return {**line, "message": {**line["message"], "model": model}}


HOLLOW = (
    u("u1", None),
    a("a1", "u1", "msg_1", thinking("", "SIG1"), 1),
    a("a2", "a1", "msg_1", call("toolu_1"), 1),
    r("r1", "a2", "toolu_1", "one", 2),
    a("b1", "r1", "msg_2", thinking("", "SIG2"), 3),
    a("b2", "b1", "msg_2", call("toolu_2"), 3),
    r("r2", "b2", "toolu_2", "two", 4),
    a("c1", "r2", "msg_3", thinking("", "SIG3"), 5),
    a("c2", "c1", "msg_3", call("toolu_3"), 5),
    r("r3", "c2", "toolu_3", "three", 5),
)
"""A turn of three calls as 2.1.72 and later store it: the words of thinking are in no line."""

FAMILIES: dict[str, Family] = {
    "F1 two answers interleaved": Family(
        lines=(
            u("u1", None),
            a("a1", "u1", "msg_1", thinking("one", "SIG1"), 1),
            a("a2", "a1", "msg_1", call("toolu_1"), 1),
            a("b1", "a2", "msg_2", thinking("two", "SIG2"), 2),
            a("b2", "b1", "msg_2", call("toolu_2"), 2),
            r("r1", "b2", "toolu_1", "one", 3),
            r("r2", "r1", "toolu_2", "two", 3),
            u("u2", "r2", "and?", 4),
        ),
        findings={"THINK204": "warning", "TOOL207": "error"},
        reader="claude-code-2",
        error=MODIFIED.format(n=1, m=2),
        at=("b1",),
        recommended=("move-results",),
        after=("user:go", "assistant:one", "assistant:toolu_1", "tool:one", "assistant:two", "assistant:toolu_2", "tool:two", "user:and?"),
    ),
    "F1 answers merged after an interruption": Family(
        lines=(
            u("u1", None),
            a("a1", "u1", "msg_1", thinking("one", "SIG1"), 1),
            a("a2", "a1", "msg_1", call("toolu_1"), 1),
            a("b1", "a2", "msg_2", thinking("two", "SIG2"), 2),
            a("b2", "b1", "msg_2", text("Done."), 2),
            u("u2", "b2", "and?", 3),
        ),
        findings={"THINK204": "warning", "TOOL102": "error"},
        reader="claude-code-running",
        error=MODIFIED.format(n=1, m=2),
        at=("b1",),
        recommended=("insert-interrupted-result",),
        after=("user:go", "assistant:one", "assistant:toolu_1", INTERRUPTED, "assistant:two", "assistant:Done.", "user:and?"),
    ),
    "F1 hollow thinking, rejected": Family(
        lines=(
            *HOLLOW,
            with_model(
                "<synthetic>", a("e1", "r3", "msg_e", text("API Error: 400 " + MODIFIED.format(n=3, m=0)), 6, isApiErrorMessage=True)
            ),
        ),
        findings={"THINK205": "error"},
        error=MODIFIED.format(n=3, m=0),
        at=("b1",),
        recommended=("drop-hollow-thinking",),
        after=(
            "user:go",
            "assistant:",
            "assistant:toolu_1",
            "tool:one",
            "assistant:toolu_2",
            "tool:two",
            "assistant:toolu_3",
            "tool:three",
        ),
    ),
    "F1 hollow thinking, and no error": Family(
        lines=HOLLOW,
        findings={"THINK205": "warning"},
        # Nothing proves that it is rejected.
        error="",
        at=("b1",),
        strategies=("drop-hollow-thinking",),
        after=(
            "user:go",
            "assistant:",
            "assistant:toolu_1",
            "tool:one",
            "assistant:toolu_2",
            "tool:two",
            "assistant:toolu_3",
            "tool:three",
        ),
    ),
    "F1 a block that is in no line, rejected": Family(
        lines=(
            u("u1", None),
            a("a1", "u1", "msg_1", thinking("one", "SIG1"), 1),
            a("a2", "a1", "msg_1", call("toolu_1"), 1),
            r("r1", "a2", "toolu_1", "one", 2),
            a("b1", "r1", "msg_2", call("toolu_2"), 3),
            r("r2", "b1", "toolu_2", "two", 4),
            with_model(
                "<synthetic>", a("e1", "r2", "msg_e", text("API Error: 400 " + MODIFIED.format(n=1, m=0)), 5, isApiErrorMessage=True)
            ),
        ),
        findings={"THINK205": "error"},
        error=MODIFIED.format(n=1, m=0),
        at=("a1",),
        # No change of single blocks is proven: it is a person's choice.
        strategies=("drop-latest-thinking",),
        after=("user:go", "assistant:toolu_1", "tool:one", "assistant:toolu_2", "tool:two"),
    ),
    "F1 the model was switched in the turn": Family(
        lines=(
            u("u1", None),
            with_model("claude-opus-4-1", a("a1", "u1", "msg_1", thinking("one", "SIG1"), 1)),
            with_model("claude-opus-4-1", a("a2", "a1", "msg_1", call("toolu_1"), 1)),
            r("r1", "a2", "toolu_1", "one", 2),
            a("b1", "r1", "msg_2", text("Done."), 3),
            u("u2", "b1", "more", 4),
        ),
        findings={"THINK205": "warning"},
        error="",
        at=("a1",),
        strategies=("drop-latest-thinking",),
        after=("user:go", "assistant:toolu_1", "tool:one", "assistant:Done.", "user:more"),
    ),
    "F2 signature of another provider": Family(
        lines=(
            u("u1", None),
            with_model("glm-4.6", a("a1", "u1", "msg_1", thinking("one", "other"), 1)),
            with_model("glm-4.6", a("a2", "a1", "msg_1", text("Well."), 1)),
            u("u2", "a2", "and?", 2),
            a("b1", "u2", "msg_2", text("Done."), 3),
            u("u3", "b1", "more", 4),
        ),
        findings={"THINK203": "warning"},
        # Whether a signature is genuine is known to the provider alone.
        error="",
        at=("a1",),
        strategies=("thinking-to-text",),
        after=("user:go", "assistant:<thinking>\none\n</thinking>", "assistant:Well.", "user:and?", "assistant:Done.", "user:more"),
    ),
    "F2 empty signature": Family(
        lines=(
            u("u1", None),
            a("a1", "u1", "msg_1", thinking("cut off", ""), 1),
            a("a2", "a1", "msg_1", text("Done."), 1),
            u("u2", "a2", "and?", 2),
        ),
        findings={"THINK201": "warning"},
        error="messages.1.content.0: Invalid `signature` in `thinking` block",
        at=("a1",),
        recommended=("unsigned-thinking-to-text",),
        after=("user:go", "assistant:<thinking>\ncut off\n</thinking>", "assistant:Done.", "user:and?"),
    ),
    "F2 no signature, and signed thinking after it": Family(
        lines=(
            u("u1", None),
            a("a1", "u1", "msg_1", {"type": "thinking", "thinking": "cut off"}, 1),
            a("a2", "a1", "msg_1", text("Well."), 1),
            u("u2", "a2", "and?", 2),
            a("b1", "u2", "msg_2", thinking("two", "SIG2"), 3),
            a("b2", "b1", "msg_2", text("Done."), 3),
            u("u3", "b2", "more", 4),
        ),
        findings={"THINK201": "warning"},
        error="messages.1.content.0.thinking.signature: Field required",
        at=("a1",),
        recommended=("unsigned-thinking-to-text",),
        after=(
            *("user:go", "assistant:<thinking>\ncut off\n</thinking>", "assistant:Well.", "user:and?"),
            *("assistant:two", "assistant:Done.", "user:more"),
        ),
    ),
    "F3 call without result": Family(
        lines=(
            u("u1", None),
            a("a1", "u1", "msg_1", text("I look."), 1),
            a("a2", "a1", "msg_1", call("toolu_1"), 1),
            u("u2", "a2", "and?", 2),
            a("b1", "u2", "msg_2", text("Well."), 3),
            u("u3", "b1", "more", 4),
        ),
        findings={"TOOL102": "error"},
        reader="claude-code-running",
        error=_UNANSWERED.format(n=1, id="toolu_1"),
        at=("a2",),
        recommended=("insert-interrupted-result",),
        after=("user:go", "assistant:I look.", "assistant:toolu_1", INTERRUPTED, "user:and?", "assistant:Well.", "user:more"),
    ),
    "F3 call whose result is only next to a message": Family(
        lines=(
            u("u1", None),
            a("a1", "u1", "msg_1", call("toolu_1"), 1),
            u("r1", "a1", [], 2, toolUseResult={"stdout": "one", "stderr": "warn"}, sourceToolAssistantUUID="a1"),
            u("u2", "r1", "and?", 3),
            a("b1", "u2", "msg_2", text("Well."), 4),
            u("u3", "b1", "more", 5),
        ),
        findings={"TOOL212": "error", "MSG402": "warning"},
        reader="claude-code-running",
        error=_UNANSWERED.format(n=1, id="toolu_1"),
        at=("a1",),
        recommended=("recover-stored-result",),
        after=("user:go", "assistant:toolu_1", "tool:one\nwarn", "user:and?", "assistant:Well.", "user:more"),
    ),
    "F3 call whose result is only next to a message of another branch": Family(
        lines=(
            u("u1", None),
            a("a1", "u1", "msg_1", call("toolu_1"), 1),
            u("r1", "a1", "[Request interrupted]", 2, toolUseResult="one", sourceToolAssistantUUID="a1"),
            u("u2", "a1", "and?", 3),
            a("b1", "u2", "msg_2", text("Well."), 4),
            u("u3", "b1", "more", 5),
        ),
        findings={"TOOL212": "error"},
        reader="claude-code-running",
        error=_UNANSWERED.format(n=1, id="toolu_1"),
        at=("a1",),
        recommended=("recover-stored-result",),
        after=("user:go", "assistant:toolu_1", "tool:one", "user:and?", "assistant:Well.", "user:more"),
    ),
    "F3 placeholder whose result is next to its message": Family(
        lines=(
            u("u1", None),
            a("a1", "u1", "msg_1", call("toolu_1"), 1),
            {**r("r1", "a1", "toolu_1", "[Tool result missing due to internal error]", 2), "toolUseResult": "Error: no such file"},
            a("b1", "r1", "msg_2", text("Well."), 4),
            u("u3", "b1", "more", 5),
        ),
        findings={"TOOL212": "warning", "TOOL402": "note"},
        # The placeholder is accepted.
        error="",
        at=("r1",),
        strategies=("recover-stored-result",),
        after=("user:go", "assistant:toolu_1", "tool:no such file", "assistant:Well.", "user:more"),
    ),
    "F4 result after a compaction, its call before it": Family(
        lines=(
            u("u1", None),
            a("a1", "u1", "msg_1", call("toolu_1"), 1),
            boundary("b1", logicalParentUuid="a1"),
            u("u2", "b1", "This session is being continued.", 2, isCompactSummary=True),
            r("r1", "u2", "toolu_1", "late", 2),
            a("a2", "r1", "msg_2", text("Done."), 3),
            u("u3", "a2", "more", 4),
        ),
        findings={"TOOL211": "error"},
        reader="claude-code-2",
        error=_UNCALLED.format(n=0, m=1, id="toolu_1"),
        at=("r1",),
        recommended=("return-call",),
        after=("user:This session is being continued.", "assistant:toolu_1", "tool:late", "assistant:Done.", "user:more"),
    ),
    "F4 result first after a compaction, its call gone": Family(
        lines=(
            boundary("b1", logicalParentUuid="gone"),
            r("r1", "b1", "toolu_1", "late", 2),
            u("u2", "r1", "This session is being continued.", 2, isCompactSummary=True),
            a("a2", "u2", "msg_2", text("Done."), 3),
            u("u3", "a2", "more", 4),
        ),
        findings={"TOOL202": "error"},
        reader="claude-code-2",
        error=_UNCALLED.format(n=0, m=0, id="toolu_1"),
        at=("r1",),
        recommended=("quote-orphaned-results",),
        after=(
            "user:Result of an earlier tool call, which is no longer part of this conversation:\n\nlate",
            *("user:This session is being continued.", "assistant:Done.", "user:more"),
        ),
    ),
    "F4 result first after a compaction, its call before it": Family(
        lines=(
            u("u1", None),
            a("a1", "u1", "msg_1", call("toolu_1"), 1),
            boundary("b1", logicalParentUuid="a1"),
            r("r1", "b1", "toolu_1", "late", 2),
            u("u2", "r1", "This session is being continued.", 2, isCompactSummary=True),
            a("a2", "u2", "msg_2", text("Done."), 3),
            u("u3", "a2", "more", 4),
        ),
        findings={"TOOL211": "error"},
        reader="claude-code-2",
        error=_UNCALLED.format(n=0, m=0, id="toolu_1"),
        at=("r1",),
        recommended=("quote-orphaned-results",),
        after=(
            "user:Result of an earlier tool call, which is no longer part of this conversation:\n\nlate",
            *("user:This session is being continued.", "assistant:Done.", "user:more"),
        ),
    ),
    "F5 second result": Family(
        lines=(
            u("u1", None),
            a("a1", "u1", "msg_1", call("toolu_1"), 1),
            r("r1", "a1", "toolu_1", "[Tool result missing due to internal error]", 2),
            r("r2", "r1", "toolu_1", "real", 3),
            a("a2", "r2", "msg_2", text("Done."), 4),
            u("u2", "a2", "more", 5),
        ),
        findings={"TOOL208": "error", "TOOL402": "note"},
        reader="claude-code-2.1.47",
        error="messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: toolu_1",
        at=("r2",),
        recommended=("keep-first-result",),
        after=("user:go", "assistant:toolu_1", "tool:real", "assistant:Done.", "user:more"),
    ),
    "F5 the same result again": Family(
        lines=(
            u("u1", None),
            a("a1", "u1", "msg_1", call("toolu_1"), 1),
            r("r1", "a1", "toolu_1", "real", 2),
            r("r2", "r1", "toolu_1", "real", 2),
            a("a2", "r2", "msg_2", text("Done."), 4),
            u("u2", "a2", "more", 5),
        ),
        findings={"TOOL206": "warning"},
        reader="claude-code-2.1.47",
        error="messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: toolu_1",
        at=("r2",),
        recommended=("deduplicate-results",),
        after=("user:go", "assistant:toolu_1", "tool:real", "assistant:Done.", "user:more"),
    ),
    "F6 an answer twice": Family(
        lines=(
            u("u1", None),
            a("a1", "u1", "msg_1", call("toolu_1"), 1),
            a("c1", "a1", "msg_1", call("toolu_1"), 1),
            r("r1", "c1", "toolu_1", "real", 2),
            a("a2", "r1", "msg_2", text("Done."), 4),
            u("u2", "a2", "more", 5),
        ),
        findings={"TOOL210": "error"},
        reader="claude-code-2.1.47",
        error="messages.1.content.1: `tool_use` ids must be unique",
        at=("c1",),
        recommended=("drop-repeated-lines",),
        after=("user:go", "assistant:toolu_1", "tool:real", "assistant:Done.", "user:more"),
    ),
    "F6 an answer of several lines twice": Family(
        lines=(
            u("u1", None),
            a("a1", "u1", "msg_1", thinking("one", "SIG1"), 1),
            a("a2", "a1", "msg_1", text("I look."), 1),
            a("a3", "a2", "msg_1", call("toolu_1"), 1),
            a("c1", "a3", "msg_1", thinking("one", "SIG1"), 1),
            a("c2", "c1", "msg_1", text("I look."), 1),
            a("c3", "c2", "msg_1", call("toolu_1"), 1),
            r("r1", "c3", "toolu_1", "real", 2),
            u("u2", "r1", "more", 5),
        ),
        findings={"TOOL210": "error", "MSG403": "error", "THINK202": "error"},
        reader="claude-code-2.1.92",
        error="messages.1.content.5: `tool_use` ids must be unique",
        at=("c3",),
        recommended=("drop-repeated-lines",),
        after=("user:go", "assistant:one", "assistant:I look.", "assistant:toolu_1", "tool:real", "user:more"),
    ),
    "F7 empty text with cache_control": Family(
        lines=(
            u("u1", None, [{"type": "text", "text": "look"}, {"type": "text", "text": "", "cache_control": {"type": "ephemeral"}}]),
            a("a1", "u1", "msg_1", text("Done."), 1),
            u("u2", "a1", "more", 2),
        ),
        findings={"MSG406": "warning"},
        reader="claude-code-2.1.92",
        error="messages.0.content.1.text: cache_control cannot be set for empty text blocks",
        at=("u1",),
        recommended=("drop-empty-blocks",),
        after=("user:look", "assistant:Done.", "user:more"),
    ),
    "F8 empty answer": Family(
        lines=(
            u("u1", None),
            a("a1", "u1", "msg_1", text(""), 1),
            u("u2", "a1", "again", 2),
            a("a2", "u2", "msg_2", text("Done."), 3),
            u("u3", "a2", "more", 4),
        ),
        findings={"MSG402": "warning"},
        reader="claude-code-2",
        error="messages: text content blocks must be non-empty",
        at=("a1",),
        recommended=("drop-empty-blocks",),
        after=("user:go", "user:again", "assistant:Done.", "user:more"),
    ),
    "F8 blank text in an answer": Family(
        lines=(
            u("u1", None),
            a("a1", "u1", "msg_1", text("\n\n"), 1),
            a("a2", "a1", "msg_1", text("Done."), 1),
            u("u2", "a2", "more", 2),
        ),
        findings={"MSG406": "warning"},
        reader="claude-code-2",
        error="messages: text content blocks must contain non-whitespace text",
        at=("a1",),
        recommended=("drop-empty-blocks",),
        after=("user:go", "assistant:Done.", "user:more"),
    ),
    "F9 an image of 9000 pixels in a result": Family(
        lines=(
            u("u1", None),
            a("a1", "u1", "msg_1", call("toolu_1"), 1),
            u("r1", "a1", [result_of("toolu_1", text("a picture"), png(9000, 10))], 2, toolUseResult={"type": "image"}),
            a("a2", "r1", "msg_2", text("Done."), 3),
            u("u2", "a2", "more", 4),
        ),
        findings={"MSG407": "error"},
        error="messages.2.content.0.tool_result.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels",
        at=("r1",),
        recommended=("replace-rejected-images",),
        after=(
            "user:go",
            "assistant:toolu_1",
            "tool:a picture\n[Image removed (image/png, 44 characters of base64): it is 9,000 × 10 pixels, more than 8000 on a side.]",
            *("assistant:Done.", "user:more"),
        ),
    ),
    "F9 an image that is no base64": Family(
        lines=(u("u1", None, [image("iVBORw0KGgo$"), text("look")]), a("a1", "u1", "msg_1", text("Done."), 1), u("u2", "a1", "more", 2)),
        findings={"MSG407": "error"},
        error="Could not process image",
        at=("u1",),
        recommended=("replace-rejected-images",),
        after=(
            "user:[Image removed (image/png, 12 characters of base64): it is no base64.]",
            *("user:look", "assistant:Done.", "user:more"),
        ),
    ),
    "F9 a JPEG by its media type that is a PNG": Family(
        lines=(
            u("u1", None, [{**png(10, 10), "source": {**png(10, 10)["source"], "media_type": "image/jpeg"}}, text("look")]),
            a("a1", "u1", "msg_1", text("Done."), 1),
            u("u2", "a1", "more", 2),
        ),
        findings={"MSG407": "error"},
        error="messages.0.content.0.image.source.base64.data: Image does not match the provided media type image/jpeg",
        at=("u1",),
        recommended=("replace-rejected-images",),
        after=(
            "user:[Image removed (image/jpeg, 44 characters of base64): it is declared as image/jpeg, and its bytes are image/png.]",
            *("user:look", "assistant:Done.", "user:more"),
        ),
    ),
    "F9 an image of more than 5 MB": Family(
        lines=(u("u1", None, [png(10, 10, 4_000_000), text("look")]), a("a1", "u1", "msg_1", text("Done."), 1), u("u2", "a1", "more", 2)),
        findings={"MSG407": "error"},
        error="messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 5333336 bytes > 5242880 bytes",
        at=("u1",),
        recommended=("replace-rejected-images",),
        after=(
            "user:[Image removed (image/png, 5,333,336 characters of base64): it has 5,333,336 bytes in base64, more than the 5,242,880 (5 MB) that are taken.]",
            *("user:look", "assistant:Done.", "user:more"),
        ),
    ),
    "F16 call as text": Family(
        lines=(u("u1", None), a("a1", "u1", "msg_1", text(f"I look.\n{CALL_LINES}"), 1)),
        findings={"THINK301": "error"},
        # The agent stalls: no provider answers with an error.
        error="",
        at=("a1",),
        strategies=("promote-leaked-call",),
        after=("user:go", "assistant:I look.\n", "assistant:insp-2", INTERRUPTED),
    ),
    "F16 call as signed thinking": Family(
        lines=(u("u1", None), a("a1", "u1", "msg_1", thinking(f"I look.\n{CALL_LINES}", "SIG1"), 1)),
        findings={"THINK301": "error"},
        error="",
        at=("a1",),
        strategies=("drop-leaked-call",),
        after=("user:go",),
    ),
}
