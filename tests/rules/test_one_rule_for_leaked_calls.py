"""A call written as text is one thing, in a captured stream (STREAM125, STREAM126) and in a stored turn (THINK301): the same parts give the same answer."""

from itertools import product

from inspector.conversation.model import Chunk, Conversation, Fact, Kind
from inspector.rules.base import case_of, findings
from inspector.rules.catalogue import rule
from inspector.streams.model import Side
from inspector.streams.run import one_side
from tests.folding import in_one_test
from tests.streams.spoken import ASKED, DONE, ROLE, chunk, exchange, finish, sse, text

Part = tuple[str, str]
LS = '<tool_call>{"name":"search","arguments":{"query":"q"}}</tool_call>'
CUT = "<function=search>\n<parameter=query>find"
SEED = "The user simply said go.\n<function=search>\n<parameter=query>find</parameter>"
UNDECLARED = '<tool_call>{"name":"weather","arguments":{}}</tool_call>'

THINKING = [LS, SEED, CUT, f"I could write\n{LS}\nbut need not.", "Nothing to call.", UNDECLARED, f"`{LS}`"]
CONTENT = [LS, f"I look.\n{LS}", f"Like this:\n```\n{LS}\n```\n", "Here you are.", UNDECLARED, CUT, f"{LS}\nDone."]
AFTER = [[], [("text", "\n\n")], [("text", "")], [("text", "Here you are.")], [("error", "boom")], [("text", "\n\n"), ("error", "boom")]]
TURNS: list[list[Part]] = [
    *([("thinking", words), *after] for words, after in product(THINKING, AFTER)),
    *([("text", words), *after] for words, after in product(CONTENT, AFTER)),
    *([("thinking", "I look."), ("text", words), *after] for words, after in product(CONTENT, AFTER)),
]


def in_stream(parts: list[Part]) -> bool:
    records = [
        {"thinking": lambda words: chunk({"reasoning_content": words}), "text": text}[kind](words)
        for kind, words in parts
        if kind != "error"
    ]
    end = [{"error": {"message": "boom"}}] if parts[-1][0] == "error" else [finish(), DONE]
    found = one_side(exchange(sse(ROLE, *records, *end), request=ASKED), Side.CLIENT)
    return bool(found.names & {"tool-text-in-content", "tool-text-in-reasoning"})


def in_store(parts: list[Part], apart: bool) -> bool:
    """`apart`: what comes after the call is stored as messages of their own."""
    chunks = [Chunk("u", 1, "user", Kind.TEXT, {"type": "text", "text": "go"}, msg_idx=0, chunk_idx=0)]
    for number, (kind, words) in enumerate(parts):
        place = (number + 1, 0) if apart else (1, number)
        payload = {"type": kind, "message" if kind == "error" else "text": words}
        chunks.append(Chunk(f"a{number}", number + 2, "assistant", Kind(kind), payload, msg_idx=place[0], chunk_idx=place[1]))
    conversation = Conversation("x", "dispatch", tuple(chunks), facts={"tools": Fact("tools", "search")})
    return bool(findings(case_of(conversation, "exact"), [rule("THINK301")]))


@in_one_test("parts", TURNS, ids=lambda parts: " | ".join(f"{kind} {words!r}" for kind, words in parts))
def test_a_stream_and_a_stored_turn_of_the_same_parts_agree(parts: list[Part]) -> None:
    assert in_store(parts, apart=False) == in_stream(parts)


@in_one_test(("leak", "after"), list(product([LS, SEED], [after for after in AFTER if ("text", "Here you are.") not in after])))
def test_what_says_nothing_after_the_call_hides_nothing(leak: str, after: list[Part]) -> None:
    parts = [("thinking", leak), *after]

    assert in_stream(parts) and in_store(parts, apart=False) and in_store(parts, apart=True)


def test_some_leak_and_some_do_not() -> None:
    assert {in_stream(parts) for parts in TURNS} == {True, False}
