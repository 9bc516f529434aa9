"""Ollama's chat and generate: what the lines of real-looking streams say and assemble to."""

from inspector.streams.model import Means, Side
from inspector.streams.run import run

from .spoken import ASKED, LAST, OLLAMA_CALL, exchange, judged, line, ndjson


def generate(words: str = "", *, done: bool = False, **more: object) -> dict[str, object]:
    return {"model": "m", "created_at": "2025-06-01T00:00:00Z", "response": words, "done": done} | more


def test_thinking_text_and_whole_calls() -> None:
    data = ndjson(line(thinking="Hm"), line(thinking="."), line("I look"), line(tool_calls=[OLLAMA_CALL, OLLAMA_CALL]), LAST)
    found = judged(exchange(data, request=ASKED))

    assert [(each.kind, each.text, each.name) for each in found.assembled.blocks] == [
        ("thinking", "Hm.", ""),
        ("text", "I look", ""),
        ("tool-call", '{"query":"q"}', "search"),
        ("tool-call", '{"query":"q"}', "search"),
    ]
    assert (found.protocol, found.assembled.finish, found.assembled.ended, found.evidence) == ("ollama-chat", "stop", True, ())
    assert found.assembled.usage == {"total_duration": 1, "eval_count": 2, "prompt_eval_count": 3}


def test_calls_in_the_last_line_are_not_lost() -> None:
    found = judged(ndjson(line("Hi"), LAST | {"message": {"role": "assistant", "content": "", "tool_calls": [OLLAMA_CALL]}}))

    assert [each.kind for each in found.assembled.blocks] == ["text", "tool-call"] and found.evidence == ()


def test_a_call_says_the_same_as_in_other_dialects() -> None:
    said = [each for observed in run(exchange(ndjson(line(tool_calls=[OLLAMA_CALL]), LAST)), Side.CLIENT) for each in observed.deltas]

    assert [(each.means, each.text, each.value) for each in said if each.block == 0] == [
        (Means.CALL, "", None),
        (Means.ARGUMENTS, '{"query":"q"}', None),
        (Means.BLOCK_END, "", {"input": {"query": "q"}}),
    ]


def test_generate() -> None:
    found = judged(ndjson(generate("Hel"), generate("lo"), generate(done=True, done_reason="stop", context=[1], eval_count=2)))

    assert (found.protocol, [each.text for each in found.assembled.blocks], found.evidence) == ("ollama-generate", ["Hello"], ())


def test_a_first_line_that_says_only_the_end_is_read_as_the_capture_says() -> None:
    last = {"model": "m", "created_at": "2025-06-01T00:00:00Z", "done": True, "done_reason": "load"}

    assert judged(ndjson(last)).protocol == "ollama-chat"
    assert judged(exchange(ndjson(last), protocols={Side.CLIENT: "ollama-generate"})).protocol == "ollama-generate"
    assert judged(ndjson(last, generate("Hi"))).protocol == "ollama-generate"


def test_states() -> None:
    data = ndjson(line(), line("Hi"), LAST, line("x"))

    assert [observed.state for observed in run(exchange(data), Side.CLIENT)] == ["start", "answer", "ended", "ended"]


def test_one_line_may_think_speak_and_end() -> None:
    found = judged(ndjson(line("Hi", thinking="Hm", done=True, done_reason="length", eval_count=1)))

    assert [each.kind for each in found.assembled.blocks] == ["thinking", "text"] and found.evidence == ()
