"""Every row of the table that one side can show: streams that fire it, and some that nearly do. What is named is all that is found."""

from inspector.streams.model import Exchange, How, Side

from . import spoken
from .spoken import (
    ASKED,
    CALLED,
    DONE,
    FUNCTION,
    ITEM,
    LAST,
    OLLAMA_CALL,
    ROLE,
    SAID,
    SPOKEN,
    START,
    STOP,
    USED,
    added,
    begin,
    block,
    call,
    chat,
    chunk,
    completed,
    delta,
    done,
    end,
    exchange,
    finish,
    line,
    messages,
    ndjson,
    part,
    reason,
    responses,
    sse,
    text,
    timed,
    usage,
)

WRAPPER = "<toolbridge_calls><search><query>q</query></search></toolbridge_calls>"
HERMES = '<tool_call>\n{"name": "search", "arguments": {"query": "q"}}\n</tool_call>'
CUT = '{"query": "q'
HI = text("Hi")

Said = bytes | Exchange
# Row -> (what it is of, the stream, all that is found), those that nearly fire first.
CASES: dict[str, list[tuple[str, Said, str]]] = {
    "terminal-before-content": [
        ("an answer of nothing but the end", ndjson(LAST), "empty-stream"),
        ("the end first, Ollama", ndjson(LAST, line("Hi"), line("there")), "terminal-before-content content-after-terminal"),
        ("the end first, chat", sse(DONE, ROLE, HI, finish()), "terminal-before-content content-after-terminal"),
    ],
    "content-after-terminal": [
        ("an empty delta after it", sse(ROLE, HI, finish(), DONE, chunk({})), ""),
        ("text after it", sse(ROLE, HI, finish(), DONE, HI), "content-after-terminal"),
        ("usage after it", sse(ROLE, HI, finish(), DONE, usage()), "content-after-terminal"),
        ("Ollama", ndjson(line("Hi"), LAST, line(" tail")), "content-after-terminal"),
        ("Anthropic", sse(START, *SAID, reason(), STOP, begin(1), delta(1, "text_delta", "x"), end(1)), "content-after-terminal"),
        (
            "Responses",
            responses(*SPOKEN, completed(ITEM), part(0, "output_text.delta", delta="x")),
            "content-after-terminal item-not-open",
        ),
    ],
    "content-after-finish": [
        ("an empty text beside usage", chat(HI, finish(), chunk({"content": ""}), usage()), ""),
        ("the tail", chat(HI, finish(), text(" tail")), "content-after-finish"),
        ("a block after message_delta", messages(*SAID, reason(), *block(1, "text", ("text_delta", "x"))), "content-after-finish"),
    ],
    "duplicate-terminal": [
        ("one", chat(HI, finish()), ""),
        ("[DONE] twice", sse(ROLE, HI, finish(), DONE, DONE), "duplicate-terminal"),
        ("done:true twice", ndjson(line("Hi"), LAST, LAST), "duplicate-terminal"),
        ("message_stop twice", messages(*SAID, reason(), STOP), "duplicate-terminal"),
    ],
    "missing-terminal": [
        ("the capture was cut", exchange(sse(ROLE, HI), how=How.CUT), ""),
        ("an error came in its place", sse(ROLE, HI, {"error": {"message": "overloaded"}}), "in-band-error"),
        ("a kind of capture without [DONE]", exchange(ndjson(ROLE, HI, finish()), lacks=frozenset({"framing", "terminal-record"})), ""),
        ("a reset", exchange(sse(ROLE, HI), how=How.RESET), "missing-terminal"),
        ("a file that keeps no end", exchange(sse(ROLE, HI, finish()), how=How.UNKNOWN), "missing-terminal"),
        ("Ollama", ndjson(line("Hi")), "missing-terminal"),
        ("Anthropic", sse(START, *SAID, reason()), "missing-terminal"),
    ],
    "missing-finish-reason": [
        ("a choice that said nothing", sse(ROLE, DONE), "empty-stream"),
        ("text and [DONE]", chat(HI), "missing-finish-reason"),
    ],
    "duplicate-finish": [
        ("two choices", chat(HI, chunk({}, choices=[{"index": i, "delta": {}, "finish_reason": "stop"} for i in (0, 1)])), ""),
        (
            "usage with the same end once more, as OpenRouter sends it",
            chat(HI, finish(), chunk({"role": "assistant", "content": ""}, "stop", usage={"total_tokens": 3})),
            "",
        ),
        (
            "the other end beside usage",
            chat(HI, finish("length"), chunk({"content": ""}, "stop", usage={"total_tokens": 3})),
            "duplicate-finish",
        ),
        ("stop twice", chat(HI, finish(), finish()), "duplicate-finish"),
        ("tool_calls, then stop", chat(HI, call(), finish("tool_calls"), finish()), "duplicate-finish finish-mismatch-stop"),
    ],
    "finish-mismatch-stop": [
        (
            "the request forced the tool",
            exchange(
                chat(call(), finish()),
                request=ASKED | {"tool_choice": {"type": "function", "function": {"name": "search"}}},
            ),
            "",
        ),
        ("Ollama has no other word", ndjson(line(tool_calls=[OLLAMA_CALL]), LAST), ""),
        ("a server's own tool", messages(begin(0, "server_tool_use"), delta(0, "input_json_delta", "{}"), end(0), reason()), ""),
        ("stop with a call", chat(call(), finish()), "finish-mismatch-stop"),
        ("end_turn with a call", messages(*USED, reason()), "finish-mismatch-stop"),
    ],
    "finish-mismatch-tool": [
        ("a legacy call", chat(chunk({"function_call": {"name": "search", "arguments": "{}"}}), finish("function_call")), ""),
        ("no call", chat(HI, finish("tool_calls")), "finish-mismatch-tool"),
        ("no tool_use", messages(*SAID, reason("tool_use")), "finish-mismatch-tool"),
    ],
    "finish-empty-string": [
        ("null", chat(chunk({"content": "Hi"}, None), finish()), ""),
        ("an empty one", chat(chunk({"content": "Hi"}, ""), finish()), "finish-empty-string"),
    ],
    "unknown-finish": [
        ("length", chat(HI, finish("length")), ""),
        ("eos", chat(HI, finish("eos")), "unknown-finish"),
        ("Anthropic", messages(*SAID, reason("done")), "unknown-finish"),
        ("Responses", responses(*SPOKEN, completed(ITEM, status="incomplete", incomplete_details={"reason": "tired"})), "unknown-finish"),
        (
            "Responses, a known one",
            responses(*SPOKEN, completed(ITEM, status="incomplete", incomplete_details={"reason": "max_output_tokens"})),
            "",
        ),
    ],
    "stop-reason-missing": [
        ("it came in the second message_delta", messages(*SAID, reason(None), reason()), ""),
        ("null", messages(*SAID, reason(None)), "stop-reason-missing"),
    ],
    "tool-index-missing": [
        ("with one", chat(call(), finish("tool_calls")), ""),
        ("without", chat(call(None), finish("tool_calls")), "tool-index-missing"),
    ],
    "tool-index-gap": [
        ("0 and 1", chat(call(0), call(1, "call_2"), finish("tool_calls")), ""),
        ("from 1", chat(call(1), finish("tool_calls")), "tool-index-gap"),
        ("0 and 2", chat(call(0), call(2, "call_2"), finish("tool_calls")), "tool-index-gap"),
    ],
    "tool-index-reused": [
        ("the same call goes on, its id repeated", chat(call(arguments='{"query":'), call(arguments='"q"}'), finish("tool_calls")), ""),
        (
            "an empty id, as Alibaba sends it",
            chat(
                call(arguments='{"query":'),
                chunk({"tool_calls": [{"index": 0, "id": "", "type": "function", "function": {"arguments": '"q"}'}}]}),
                finish("tool_calls"),
            ),
            "",
        ),
        ("another id", chat(call(), call(0, "call_2"), finish("tool_calls")), "tool-index-reused"),
        ("another name", chat(call(), call(0, "", "read"), finish("tool_calls")), "tool-index-reused"),
    ],
    "tool-id-missing": [
        ("with one", chat(call(), finish("tool_calls")), ""),
        ("chat", chat(call(call_id=""), finish("tool_calls")), "tool-id-missing"),
        ("Anthropic", messages(*block(0, "tool_use", id=""), reason("tool_use")), "tool-id-missing"),
        (
            "Responses",
            responses(added(0, FUNCTION | {"call_id": ""}), done(0, FUNCTION | {"call_id": ""}), completed(FUNCTION | {"call_id": ""})),
            "tool-id-missing",
        ),
    ],
    "tool-name-missing": [
        ("the name comes late", chat(call(name="", arguments=""), call(), finish("tool_calls")), "tool-name-missing"),
        ("chat", chat(call(name=""), finish("tool_calls")), "tool-name-missing"),
        ("with one", messages(*USED, reason("tool_use")), ""),
        ("Anthropic", messages(*block(0, "tool_use", name=""), reason("tool_use")), "tool-name-missing"),
        ("Ollama", ndjson(line(tool_calls=[{"function": {"arguments": {}}}]), LAST), "tool-name-missing"),
    ],
    "tool-type-missing": [
        ("with one", chat(call(), finish("tool_calls")), ""),
        ("without", chat(call(kind=""), finish("tool_calls")), "tool-type-missing"),
    ],
    "tool-id-duplicate": [
        ("two ids", messages(*USED, *block(1, "tool_use"), reason("tool_use")), ""),
        ("in one answer", messages(*USED, *block(1, "tool_use", id="toolu_0"), reason("tool_use")), "tool-id-duplicate"),
        ("chat", chat(call(0), call(1), finish("tool_calls")), "tool-id-duplicate"),
        (
            "of an earlier turn",
            exchange(
                chat(call(), finish("tool_calls")), request=ASKED | {"messages": [{"role": "assistant", "tool_calls": [{"id": "call_1"}]}]}
            ),
            "tool-id-duplicate",
        ),
    ],
    "tool-args-invalid-json": [
        ("cut by the limit", chat(call(arguments=CUT), finish("length")), ""),
        ("none at all", messages(*block(0, "tool_use"), reason("tool_use")), ""),
        ("no JSON", chat(call(arguments="{query: q}"), finish("tool_calls")), "tool-args-invalid-json"),
        ("Anthropic", messages(*block(0, "tool_use", ("input_json_delta", "{'query': 1}")), reason("tool_use")), "tool-args-invalid-json"),
        (
            "Responses",
            responses(added(0, FUNCTION), done(0, FUNCTION | {"arguments": "{x}"}), completed(FUNCTION | {"arguments": "{x}"})),
            "tool-args-invalid-json",
        ),
    ],
    "tool-args-not-object": [
        ("an empty object", chat(call(arguments="{}"), finish("tool_calls")), ""),
        ("a list", chat(call(arguments="[1]"), finish("tool_calls")), "tool-args-not-object"),
        (
            "Ollama with a text",
            ndjson(line(tool_calls=[{"function": {"name": "search", "arguments": "{}"}}]), LAST),
            "tool-args-not-object",
        ),
    ],
    "tool-args-truncated-with-success": [
        ("cut by the limit, Anthropic", messages(*block(0, "tool_use", ("input_json_delta", CUT)), reason("max_tokens")), ""),
        (
            "cut, then tool_calls",
            chat(call(arguments=CUT), finish("tool_calls")),
            "tool-args-invalid-json tool-args-truncated-with-success",
        ),
        (
            "cut, then tool_use",
            messages(*block(0, "tool_use", ("input_json_delta", CUT)), reason("tool_use")),
            "tool-args-invalid-json tool-args-truncated-with-success",
        ),
    ],
    "tool-text-in-content": [
        ("in a code fence", exchange(chat(text(f"Models write:\n```\n{HERMES}\n```\n"), finish()), request=ASKED), ""),
        ("a structured call follows", exchange(chat(text(HERMES), call(), finish("tool_calls")), request=ASKED), ""),
        ("a call", exchange(chat(text(f"Let me see.\n{HERMES}"), finish()), request=ASKED), "tool-text-in-content"),
        (
            "Anthropic",
            exchange(
                messages(*block(0, "text", ("text_delta", HERMES)), reason()), request={"tools": [{"name": "search", "input_schema": {}}]}
            ),
            "tool-text-in-content",
        ),
    ],
    "tool-text-in-reasoning": [
        (
            "thought of, and answered",
            exchange(chat(chunk({"reasoning_content": f"I could write\n{HERMES}"}), HI, finish()), request=ASKED),
            "",
        ),
        (
            "an empty answer after it",
            exchange(chat(chunk({"reasoning_content": f"I must search.\n{WRAPPER}"}), finish()), request=ASKED),
            "tool-text-in-reasoning",
        ),
        ("Ollama", exchange(ndjson(line(thinking=f"I must search.\n{HERMES}"), LAST), request=ASKED), "tool-text-in-reasoning"),
    ],
    "wrapper-unparsed": [
        ("named in a sentence", exchange(chat(text("The tag `<toolbridge_calls>` opens it."), finish()), request=ASKED), ""),
        ("the wrapper", exchange(chat(text(WRAPPER), finish()), request=ASKED), "wrapper-unparsed"),
        ("as the seed spells it", exchange(ndjson(line(WRAPPER.replace("_c", ":c")), LAST), request=ASKED), "wrapper-unparsed"),
    ],
    "wrapper-fragment-leak": [
        ("an answer after a call", chat(call(), text("> 3 results"), finish("tool_calls")), ""),
        ("the last bracket", chat(call(), text(">"), finish("tool_calls")), "wrapper-fragment-leak"),
        ("the beginning of a closing tag", chat(call(), text("</sea"), finish("tool_calls")), "wrapper-fragment-leak"),
    ],
    "framing-mixed": [
        ("a comment between lines of JSON", ndjson(line("Hi"), ": alive", LAST), "non-data-line"),
        ("chat, then Ollama's last line", sse(ROLE, HI) + ndjson(LAST), "framing-mixed"),
    ],
    "framing-wrong-content-type": [
        ("with a charset", exchange(chat(HI, finish()), content_types={Side.CLIENT: "text/event-stream; charset=utf-8"}), ""),
        ("as NDJSON", exchange(chat(HI, finish()), content_types={Side.CLIENT: "application/x-ndjson"}), "framing-wrong-content-type"),
    ],
    "record-not-json": [
        ("cut by the end", exchange(sse(ROLE, HI) + b'data: {"id', how=How.CUT), "event-without-blank-line"),
        ("no JSON", chat(HI, "{malformed json…}", finish()), "record-not-json"),
        ("no object", chat(HI, "7", finish()), "record-not-json"),
        ("Ollama", ndjson("{invalid json}", line("Hi"), LAST), "record-not-json"),
    ],
    "utf8-broken": [
        ("a replacement character that was sent", chat(text("\ufffd"), finish()), ""),
        ("half a character", sse(ROLE) + sse(text("é")).replace("é".encode(), b"\xc3") + sse(finish(), DONE), "utf8-broken"),
    ],
    "crlf": [("LF", chat(HI, finish()), ""), ("CRLF", chat(HI, finish()).replace(b"\n", b"\r\n"), "crlf")],
    "bom": [("none", chat(HI, finish()), ""), ("one", b"\xef\xbb\xbf" + chat(HI, finish()), "bom")],
    "bare-cr": [("LF", chat(HI, finish()), ""), ("CR", chat(HI, finish()).replace(b"\n", b"\r"), "bare-cr")],
    "event-without-blank-line": [
        ("with two", chat(HI, finish()) + b"\n\n", ""),
        ("none", chat(HI, finish()).removesuffix(b"\n"), "event-without-blank-line"),
    ],
    "non-data-line": [
        ("blank lines", ndjson(line("Hi"), "", "", LAST), ""),
        ("a comment", chat(HI, finish()) + b": bye\n\n", "non-data-line"),
        ("junk", b"junk\n\n" + chat(HI, finish()), "non-data-line"),
    ],
    "in-band-error": [
        ("a member that is null", chat(text("Hi") | {"error": None}, finish()), ""),
        ("chat", sse(ROLE, HI, {"error": {"message": "overloaded"}}), "in-band-error"),
        ("Ollama", ndjson(line("Hi"), {"error": "out of memory"}), "in-band-error"),
        (
            "Anthropic",
            sse(START, *SAID, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
            "in-band-error",
        ),
        (
            "Responses",
            responses(*SPOKEN, completed(ITEM, status="failed", error={"code": "server_error", "message": "x"})),
            "in-band-error",
        ),
    ],
    "http-error-body-midstream": [
        ("Ollama's own error line", ndjson(line("Hi"), {"error": "x"}), "in-band-error"),
        ("a body after lines", ndjson(line("Hi"), {"error": {"message": "x"}, "statusCode": 500}), "http-error-body-midstream"),
        ("a body after events", sse(ROLE, HI) + b'{\n  "error": "x"\n}\n', "http-error-body-midstream"),
    ],
    "id-or-model-changed": [
        ("Azure's first chunk has neither", sse(ROLE | {"id": "", "model": "", "choices": []}, ROLE, HI, finish(), DONE), ""),
        ("another id", chat(HI, finish() | {"id": "c2"}), "id-or-model-changed"),
        ("another model", chat(HI, finish() | {"model": "m2"}), "id-or-model-changed"),
    ],
    "created-unit-wrong": [
        ("seconds", chat(HI, finish()), ""),
        ("milliseconds", chat(HI | {"created": 1_750_000_000_000}, finish()), "created-unit-wrong"),
        ("1970", ndjson(line("Hi", created_at="1970-01-01T00:00:01.000Z"), LAST), "created-unit-wrong"),
    ],
    "role-missing-or-repeated": [
        (
            "in every delta, as Perplexity sends it",
            sse(*(chunk({"role": "assistant", "content": each}) for each in "Hi"), finish(), DONE),
            "",
        ),
        ("none", sse(HI, finish(), DONE), "role-missing-or-repeated"),
        ("again", chat(HI, ROLE, finish()), "role-missing-or-repeated"),
    ],
    "reasoning-index-missing": [
        ("in one record alone", chat(chunk({"reasoning_details": [{"text": "a"}]}), HI, finish()), ""),
        (
            "in two",
            chat(*(chunk({"reasoning_details": [{"text": each}]}) for each in "ab"), HI, finish()),
            "reasoning-index-missing",
        ),
    ],
    "usage-missing": [
        ("not asked for", chat(HI, finish()), ""),
        (
            "it came beside the last content",
            exchange(chat(HI, finish() | {"usage": {"total_tokens": 3}}), request={"stream_options": {"include_usage": True}}),
            "",
        ),
        ("asked for", exchange(chat(HI, finish()), request={"stream_options": {"include_usage": True}}), "usage-missing"),
        ("Anthropic", messages(*SAID, {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}), "usage-missing"),
    ],
    "usage-duplicate": [
        (
            "a running count beside content",
            chat(HI | {"usage": {"total_tokens": 2}}, finish() | {"usage": {"total_tokens": 3}}, usage()),
            "",
        ),
        ("twice", chat(HI, finish(), usage(), usage()), "usage-duplicate"),
    ],
    "usage-not-last": [("last", chat(HI, finish(), usage()), ""), ("before the end", chat(HI, usage(), finish()), "usage-not-last")],
    "done-reason-missing": [
        ("with one", ndjson(line("Hi"), LAST), ""),
        ("without", ndjson(line("Hi"), line(done=True, eval_count=1)), "done-reason-missing"),
    ],
    "done-missing-fields": [
        ("a model that was only loaded", ndjson(line(done=True, done_reason="load")), ""),
        ("none", ndjson(line("Hi"), line(done=True, done_reason="stop")), "done-missing-fields"),
    ],
    "block-before-start": [
        ("a ping before it", sse({"type": "ping"}, START, *SAID, reason(), STOP), ""),
        ("a block", sse(begin(0), START, delta(0, "text_delta", "x"), end(0), reason(), STOP), "block-before-start"),
    ],
    "block-not-open": [
        ("open", messages(*SAID, reason()), ""),
        ("never opened", messages(*SAID, delta(1, "text_delta", "x"), reason()), "block-not-open"),
        ("stopped already", messages(*SAID, end(0), reason()), "block-not-open"),
    ],
    "block-reopened": [
        ("the next one", messages(*SAID, *block(1, "text"), reason()), ""),
        ("the same", messages(*SAID, *SAID, reason()), "block-reopened"),
    ],
    "block-index-gap": [
        ("from 0", messages(*SAID, reason()), ""),
        ("from 1", messages(*block(1, "text", ("text_delta", "x")), reason()), "block-index-gap"),
    ],
    "block-left-open": [
        ("closed", messages(*SAID, reason()), ""),
        ("open", messages(begin(0), delta(0, "text_delta", "x"), reason()), "block-left-open"),
    ],
    "blocks-interleaved": [
        ("one after the other", messages(*SAID, *block(1, "text"), reason()), ""),
        ("two", messages(begin(0), begin(1), delta(0, "text_delta", "x"), end(0), end(1), reason()), "blocks-interleaved"),
    ],
    "delta-type-mismatch": [
        ("citations of a text", messages(begin(0), delta(0, "citations_delta", "x"), end(0), reason()), ""),
        ("a signature for a text", messages(begin(0), delta(0, "signature_delta", "x"), end(0), reason()), "delta-type-mismatch"),
    ],
    "signature-missing": [
        ("redacted, which has none", messages(*block(0, "redacted_thinking", data="x"), *block(1, "text"), reason()), ""),
        ("none", messages(*block(0, "thinking", ("thinking_delta", "Hm")), reason()), "signature-missing"),
    ],
    "thinking-empty": [
        (
            "asked for",
            exchange(
                messages(*block(0, "thinking", ("signature_delta", "s")), reason()),
                request={"thinking": {"type": "enabled", "display": "omitted"}},
            ),
            "",
        ),
        ("hollow", messages(*block(0, "thinking", ("signature_delta", "s")), reason()), "thinking-empty"),
    ],
    "sequence-gap": [
        ("no numbers at all", sse(spoken.CREATED, *SPOKEN, completed(ITEM), named=True), ""),
        ("7 after 5", responses(*SPOKEN, completed(ITEM) | {"sequence_number": 7}), "sequence-gap"),
    ],
    "sequence-repeat": [
        ("from 10", sse(*({"sequence_number": 10 + i} | each for i, each in enumerate((spoken.CREATED, *SPOKEN, completed(ITEM))))), ""),
        ("5 again", responses(*SPOKEN, completed(ITEM) | {"sequence_number": 5}), "sequence-repeat"),
    ],
    "response-without-end": [
        ("[DONE] after it, as some servers send it", responses(*SPOKEN, completed(ITEM)) + sse(DONE), ""),
        ("none", responses(*SPOKEN), "response-without-end"),
    ],
    "response-ends-twice": [
        ("one", responses(*SPOKEN, completed(ITEM)), ""),
        ("two", responses(*SPOKEN, completed(ITEM), completed(ITEM)), "response-ends-twice"),
    ],
    "done-differs-from-deltas": [
        (
            "arguments that were not streamed",
            responses(
                added(0, FUNCTION),
                part(0, "function_call_arguments.done", arguments=FUNCTION["arguments"]),
                done(0, FUNCTION),
                completed(FUNCTION),
            ),
            "",
        ),
        (
            "a flushed prefix",
            responses(*SPOKEN[:3], part(0, "output_text.done", text="Hi!"), done(0, ITEM), completed(ITEM)),
            "done-differs-from-deltas",
        ),
        (
            "the item differs",
            responses(*CALLED[:4], done(0, FUNCTION | {"arguments": "{}"}), completed(FUNCTION | {"arguments": "{}"})),
            "done-differs-from-deltas",
        ),
    ],
    "final-differs-from-items": [
        ("other status, other encryption", responses(*SPOKEN, completed(ITEM | {"status": "x", "encrypted_content": "y"})), ""),
        ("another id", responses(*SPOKEN, completed(ITEM | {"id": "msg_2"})), "final-differs-from-items"),
        ("one more", responses(*SPOKEN, completed(ITEM, FUNCTION)), "final-differs-from-items"),
    ],
    "item-not-open": [
        ("added", responses(*SPOKEN, completed(ITEM)), ""),
        ("not added", responses(part(0, "output_text.delta", delta="x"), *SPOKEN, completed(ITEM)), "item-not-open"),
    ],
    "item-index-gap": [
        ("from 0", responses(*SPOKEN, completed(ITEM)), ""),
        ("from 1", responses(*({**each, "output_index": 1} for each in SPOKEN), completed(ITEM)), "item-index-gap"),
    ],
    "item-left-open": [
        (
            "the answer is incomplete",
            responses(*SPOKEN[:3], completed(status="incomplete", incomplete_details={"reason": "max_output_tokens"})),
            "",
        ),
        ("left open", responses(*SPOKEN[:3], completed(ITEM)), "item-left-open"),
    ],
    "stall": [
        ("29 s", timed((0, sse(ROLE, HI)), (29_000, sse(finish(), DONE)), end=29_001), ""),
        ("31 s", timed((0, sse(ROLE, HI)), (31_000, sse(finish(), DONE)), end=31_001), "stall"),
    ],
    "never-terminated": [
        ("kept open after the terminal", timed((0, chat(HI, finish())), end=500_000), ""),
        ("kept open", timed((0, sse(ROLE, HI)), end=500_000, how=How.TIMEOUT), "missing-terminal never-terminated"),
    ],
    "empty-stream": [
        ("refused", chat(finish("content_filter")), ""),
        ("a call", chat(call(), finish("tool_calls")), ""),
        ("nothing", chat(finish()), "empty-stream"),
        ("Anthropic", messages(reason()), "empty-stream"),
    ],
    "think-unclosed": [
        ("in backticks", chat(text("Models open with `<think>`."), finish()), ""),
        ("unclosed", chat(text("<think>Hm"), finish()), "think-unclosed"),
    ],
    "think-tag-leak": [
        ("in a fence", ndjson(line("```\n<think>x</think>\n```"), LAST), ""),
        ("both tags", chat(text("<think>Hm</think>Hi"), finish()), "think-tag-leak"),
        ("only the end, the beginning was in the prompt", ndjson(line("Hm</think>Hi"), LAST), "think-tag-leak"),
    ],
    "special-token-leak": [
        ("in backticks", chat(text("It ends with `<|im_end|>`."), finish()), ""),
        ("at the end", chat(text("Hi<|im_end|>"), finish()), "special-token-leak"),
        ("DeepSeek's", ndjson(line("Hi<｜end▁of▁sentence｜>"), LAST), "special-token-leak"),
    ],
    "unknown-tool": [
        ("the request was not captured", chat(call(name="read"), finish("tool_calls")), ""),
        (
            "more tools may stand elsewhere",
            exchange(chat(call(name="read"), finish("tool_calls")), request=ASKED | {"tools": [{"type": "mcp", "server_label": "x"}]}),
            "",
        ),
        ("declared", exchange(chat(call(), finish("tool_calls")), request=ASKED), ""),
        ("another", exchange(chat(call(name="read"), finish("tool_calls")), request=ASKED), "unknown-tool"),
    ],
    "tool-args-schema-mismatch": [
        ("by the schema", exchange(ndjson(line(tool_calls=[OLLAMA_CALL]), LAST), request=ASKED), ""),
        ("a member is missing", exchange(chat(call(arguments="{}"), finish("tool_calls")), request=ASKED), "tool-args-schema-mismatch"),
        (
            "a number for a text",
            exchange(messages(*block(0, "tool_use", ("input_json_delta", '{"query":1}')), reason("tool_use")), request=ASKED),
            "tool-args-schema-mismatch",
        ),
    ],
    "parallel-calls-interleaved": [
        (
            "one after the other",
            chat(call(0, arguments='{"query":'), spoken.arguments(0, '"q"}'), call(1, "call_2"), finish("tool_calls")),
            "",
        ),
        (
            "interleaved",
            chat(call(0, arguments='{"query":'), call(1, "call_2"), spoken.arguments(0, '"q"}'), finish("tool_calls")),
            "parallel-calls-interleaved",
        ),
    ],
    "unknown-event": [
        ("a ping", messages({"type": "ping"}, *SAID, reason()), ""),
        ("Anthropic", messages(*SAID, {"type": "fallback_notice"}, reason()), "unknown-event"),
        ("chat", chat(HI, {"object": "x"}, finish()), "unknown-event"),
        ("calls where no client looks", ndjson(line("Hi"), line(), LAST | {"tool_calls": [OLLAMA_CALL]}), "unknown-event"),
    ],
    "start-repeated": [
        ("once", messages(*SAID, reason()), ""),
        ("twice", messages(START, *SAID, reason()), "start-repeated"),
        ("Responses", responses(spoken.CREATED, *SPOKEN, completed(ITEM)), "start-repeated"),
    ],
}
