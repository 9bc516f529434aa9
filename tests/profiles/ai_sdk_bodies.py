"""Lists of messages as a client of the AI SDK hands them over, and what is expected of them: a rule and a place, or nothing.

The profiles are held to what is expected, and the real SDK is asked about the same lists (tests/judges).
"""

from dataclasses import dataclass
from typing import Any

Msg = dict[str, Any]
Found = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Body:
    """`six` and `seven`: (rule, path) of each violation; the text of version 7 where it is one of several."""

    messages: list[Any]
    six: Found = ()
    seven: Found = ()
    text: str = ""


def call(name: str = "a", **beside: Any) -> Msg:
    return {"type": "tool-call", "toolCallId": name, "toolName": "read_file", "input": {"path": "a.py"}, **beside}


def result(name: str = "a", **beside: Any) -> Msg:
    return {"type": "tool-result", "toolCallId": name, "toolName": "read_file", "output": {"type": "text", "value": "text"}, **beside}


def without(part: Msg, name: str) -> Msg:
    return {key: value for key, value in part.items() if key != name}


def user(content: Any = "Fix it.") -> Msg:
    return {"role": "user", "content": content}


def assistant(*parts: Any) -> Msg:
    return {"role": "assistant", "content": [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]}


def tool(*parts: Any) -> Msg:
    return {"role": "tool", "content": list(parts)}


def both(rule: str, path: str, *messages: Any) -> Body:
    return Body(list(messages), ((rule, path),), ((rule, path),))


def taken(*messages: Any) -> Body:
    return Body(list(messages))


def misshapen(message: Msg, rule: str = "", place: str = "", text: str = "") -> Body:
    """Between two questions: version 6 has a schema, version 7 breaks on what it converts, or takes it."""
    return Body([user(), message, user()], (("SDK-3", "messages.1"),), ((rule, f"messages.1{place}"),) if rule else (), text)


def given(output: Any, rule: str = "", text: str = "") -> Body:
    """A result that says `output`, and that version 6 refuses for it."""
    path = "messages.2.content.0"
    messages = [user(), assistant(call()), tool(result(output=output)), user()]
    return Body(messages, (("SDK-3", "messages.2"),), ((rule, path),) if rule else (), text)


def said(output: Any) -> Body:
    return taken(user(), assistant(call()), tool(result(output=output)), user())


APPROVAL = {"type": "tool-approval-request", "approvalId": "p1", "toolCallId": "a"}
APPROVED = {"type": "tool-approval-response", "approvalId": "p1", "approved": True}
DENIED = {**APPROVED, "approved": False}
SYSTEM = {"role": "system", "content": "Be careful."}
OF_UNDEFINED = "Cannot read properties of undefined (reading 'type')"

UNANSWERED = {
    "an open call before the user's next words": both("SDK-1", "messages.1.content.1", user(), assistant("Reading.", call()), user()),
    "an open call at the end": both("SDK-1", "messages.1.content.0", user(), assistant(call())),
    "an open call before an answer": both("SDK-1", "messages.1.content.0", user(), assistant(call()), assistant("Rounding.")),
    "results behind the user's words": both(
        "SDK-1", "messages.1", user(), assistant(call("a"), call("b")), user(), tool(result("a"), result("b"))
    ),
    "one of two results": both("SDK-1", "messages.1.content.1", user(), assistant(call("a"), call("b")), tool(result("a")), user()),
    "a result in the assistant's own message": both("SDK-1", "messages.1.content.0", user(), assistant(call(), result())),
    "the result of another call": both("SDK-1", "messages.1.content.0", user(), assistant(call()), tool(result("z")), user()),
    "a result before its call": both("SDK-1", "messages.2.content.0", user(), tool(result()), assistant(call()), user()),
    "two answers with a call each, one result": both(
        "SDK-1", "messages.1.content.0", user(), assistant(call("a")), assistant(call("b")), tool(result("b")), user()
    ),
    "one id twice, open": both("SDK-1", "messages.1.content.0", user(), assistant(call(), call()), user()),
    "an approval that is no answer": both("SDK-1", "messages.1.content.0", user(), assistant(call(), APPROVAL), tool(APPROVED), user()),
    "an open call before a system message": Body(
        [user(), assistant(call()), SYSTEM, tool(result())],
        (("SDK-1", "messages.1.content.0"),),
        (("SDK-1", "messages.1.content.0"), ("SDK-4", "messages.2")),
    ),
}

REFUSED = {
    "an empty list": both("SDK-2", "messages"),
    "an approval of no request": both("SDK-5", "messages.2.content.1", user(), assistant(call()), tool(result(), APPROVED)),
    "an approval whose call is gone": both(
        "SDK-8", "messages.2.content.0", user(), assistant({**APPROVAL, "toolCallId": "z"}), tool(APPROVED)
    ),
    "a denial whose call is gone": both("SDK-8", "messages.2.content.0", user(), assistant({**APPROVAL, "toolCallId": "z"}), tool(DENIED)),
    "a system message in the list": Body([SYSTEM, user()], (), (("SDK-4", "messages.0"),)),
    "a system message in the middle": Body([user(), assistant("Done."), SYSTEM, user()], (), (("SDK-4", "messages.2"),)),
    "an unknown role": Body([user(), {"role": "function", "content": "x"}], (("SDK-3", "messages.1"),), (("SDK-6", "messages.1"),)),
    "no role": Body([{"content": "x"}], (("SDK-3", "messages.0"),), (("SDK-6", "messages.0"),)),
}

TAKEN = {
    "a call and its result": taken(user(), assistant("Reading.", call()), tool(result()), user()),
    "an answer between a call and its result": taken(user(), assistant(call()), assistant("One moment."), tool(result()), user()),
    "results in two messages, out of order": taken(user(), assistant(call("a"), call("b")), tool(result("b")), tool(result("a"))),
    "a call that the provider runs": taken(user(), assistant(call(providerExecuted=True)), user()),
    "a result without a call": taken(user(), tool(result()), user()),
    "a result first": taken(tool(result()), user()),
    "two results of one call": taken(user(), assistant(call()), tool(result(), result()), user()),
    "a second result behind the answer": taken(user(), assistant(call()), tool(result()), assistant("Done."), tool(result()), user()),
    "a foreign result beside the right one": taken(user(), assistant(call()), tool(result(), result("z")), user()),
    "one id twice, one result": taken(user(), assistant(call(), call()), tool(result()), user()),
    "two answers with a call each, both results": taken(
        user(), assistant(call("a")), assistant(call("b")), tool(result("b"), result("a")), user()
    ),
    "words behind a call": taken(user(), assistant(call(), "Reading."), tool(result()), user()),
    "an answer first, and one without parts": taken(assistant("Hello."), assistant(), user(), user("")),
    "empty words": taken(user([{"type": "text", "text": ""}]), assistant(""), user("  ")),
    "reasoning alone": taken(user(), assistant({"type": "reasoning", "text": "hm"}), user()),
    "an empty tool message": taken(user(), assistant(call()), tool(), tool(result()), user()),
    "an answer last": taken(user(), assistant("Done.")),
    "an empty id": taken(user(), assistant(call("")), tool(result("")), user()),
    "an id of other characters": taken(user(), assistant(call("read file:0")), tool(result("read file:0")), user()),
    "an id of 70 characters": taken(user(), assistant(call("x" * 70)), tool(result("x" * 70)), user()),
    "arguments that are cut off": taken(user(), assistant(call(input='{"path": "a')), tool(result()), user()),
    "an approval with its result": taken(user(), assistant(call(), APPROVAL), tool(result(), APPROVED)),
    "an approval last: the SDK runs the call": taken(user(), assistant(call(), APPROVAL), tool(APPROVED)),
    "a denial last: the SDK answers the call": taken(user(), assistant(call(), APPROVAL), tool(DENIED)),
    "an approval of no request before the end": taken(user(), tool(APPROVED), user()),
    "an image, a picture in a text, a file": taken(
        user(
            [
                {"type": "image", "image": "iVBORw0KGgo="},
                {"type": "image", "image": "data:image/png;base64,iVBORw0KGgo="},
                {"type": "file", "data": "aGk=", "mediaType": "text/plain"},
            ]
        )
    ),
    "members of the client's own": taken({**user(), "id": "m1", "createdAt": 3}),
    "an output of null": said({"type": "json", "value": None}),
    "an error of several members": said({"type": "error-json", "value": [1]}),
    "a denied execution": said({"type": "execution-denied"}),
    "an output of parts": said({"type": "content", "value": [{"type": "text", "text": "x"}, {"type": "custom"}]}),
    "an output without parts": said({"type": "content", "value": []}),
}

MISSHAPEN = {
    "words of null": misshapen(user(None), "SDK-7", text="Cannot read properties of null (reading 'map')"),
    "an answer of null": misshapen(
        {"role": "assistant", "content": None}, "SDK-7", text="Cannot read properties of null (reading 'filter')"
    ),
    "an answer without content": misshapen({"role": "assistant"}, "SDK-7", text="Cannot read properties of undefined (reading 'filter')"),
    "words that are a number": misshapen(user(3), "SDK-7", text="message.content.map is not a function"),
    "a text of null": misshapen(user([{"type": "text", "text": None}])),
    "a text that is no part": misshapen(user(["x"]), "SDK-9", ".content.0"),
    "a part of null": misshapen(user([None]), "SDK-7", ".content.0", "Cannot read properties of null (reading 'type')"),
    "a result in the user's message": misshapen(user([result()]), "SDK-9", ".content.0"),
    "a part of OpenAI's": misshapen(
        user([{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]), "SDK-9", ".content.0"
    ),
    "a file without a type": misshapen(user([{"type": "file", "data": "aGk="}]), "SDK-9", ".content.0"),
    "a UIMessage": misshapen(
        {"role": "user", "parts": [{"type": "text", "text": "x"}]}, "SDK-7", text="Cannot read properties of undefined (reading 'map')"
    ),
    "a tool message of words": misshapen({"role": "tool", "content": "x"}, "SDK-7", text="message.content.filter is not a function"),
    "a call of Anthropic's": misshapen(assistant({"type": "tool_use", "id": "a"}), "SDK-7", ".content.0", OF_UNDEFINED),
    "thinking of Anthropic's": misshapen(assistant({"type": "thinking", "thinking": "x"}), "SDK-7", ".content.0", OF_UNDEFINED),
    "words in a tool message": misshapen(tool({"type": "text", "text": "x"}), "SDK-7", ".content.0", OF_UNDEFINED),
    "reasoning without words": misshapen(assistant({"type": "reasoning"})),
    "a result without a name": misshapen(tool(without(result(), "toolName"))),
    "a result whose name is null": misshapen(tool(result(toolName=None))),
    "an approval that says nothing": misshapen(tool(without(APPROVED, "approved"))),
    "options that are a text": misshapen({**user(), "providerOptions": "x"}),
    "options of null": misshapen(user([{"type": "text", "text": "x", "providerOptions": None}])),
    "a call of ai 4": Body([user(), assistant({**without(call(), "input"), "args": {}}), tool(result())], (("SDK-3", "messages.1"),)),
    "a call with a flag that is a text": Body([user(), assistant(call(providerExecuted="yes")), user()], (("SDK-3", "messages.1"),)),
    "a system message of parts": Body(
        [user(), {"role": "system", "content": [{"type": "text", "text": "x"}]}, user()],
        (("SDK-3", "messages.1"),),
        (("SDK-4", "messages.1"),),
    ),
    "a bare output": given("bare"),
    "an output of ai 4": Body(
        [user(), tool({**without(result(), "output"), "result": "x"}), user()],
        (("SDK-3", "messages.1"),),
        (("SDK-7", "messages.1.content.0"),),
        OF_UNDEFINED,
    ),
    "no output": given(None, "SDK-7", "Cannot read properties of null (reading 'type')"),
    "an output of another kind": given({"type": "blob", "value": "x"}),
    "an output without a value": given({"type": "json"}),
    "an output of words that is none": given({"type": "text", "value": 3}),
    "a denial whose reason is no text": given({"type": "execution-denied", "reason": 3}),
    "an output of unknown parts": given({"type": "content", "value": [{"type": "nonsense"}]}),
    "a tool message of words last": Body(
        [user(), {"role": "tool", "content": "x"}],
        (("SDK-3", "messages.1"),),
        (("SDK-7", "messages.1"),),
        "lastMessage.content.filter is not a function",
    ),
    "an answer without content before a result": Body(
        [user(), {"role": "assistant"}, tool(result())],
        (("SDK-3", "messages.1"),),
        (("SDK-7", "messages.1"),),
        "content is not iterable",
    ),
}

BODIES: dict[str, Body] = {**UNANSWERED, **REFUSED, **TAKEN, **MISSHAPEN}
