"""What to change in the code that wrote a stream, a proxy's or a server's: one sentence for the rows of the table that have the same cause.

Sources: what was measured of toolbridge 1cd2feb and ba702d7, the report on its client loop of 2025-01-05, and the parsers of sglang 0.5.23 and vLLM.
"""

from collections.abc import Mapping
from types import MappingProxyType

_BY_CAUSE = {
    "premature-terminal": "Write the client's terminal when the backend's own has been read and everything before it is written. A tool call does not end an answer.",
    "terminal-swallowed": "Read the backend to its end, also after a call was written, and write the client's terminal for the backend's. A flag such as `doneSent` is set when the client's terminal is written, not before.",
    "terminal-before-content content-after-terminal content-reordered": "Write records in the order in which the backend's were read: the terminal goes through the same queue as conversions that are awaited.",
    "content-after-finish": "Write the finish reason once, when no text and no call can come any more: keep the backend's until then.",
    "duplicate-terminal response-ends-twice": "Keep one flag for each response that its terminal is written, and ask it in every path that ends a response, `end()` too.",
    "missing-terminal response-without-end": "When the backend ends, write what is still buffered and then the terminal of the client's protocol; where the backend ended without its own, write an error record in its place.",
    "fabricated-terminal": "Write no ordinary terminal from `end()` or a close handler: where the backend ended without one, or with an error, write an error record and close.",
    "missing-finish-reason stop-reason-missing done-reason-missing": "Write the finish reason before the terminal: map the backend's (finish_reason, stop_reason, done_reason) to the word of the client's protocol.",
    "duplicate-finish": "Decide on the finish reason in one place, when the answer is complete: do not pass on the backend's after one of your own.",
    "finish-mismatch-stop": "Write `tool_calls` (Anthropic: `tool_use`) where the response has a structured call, whatever the backend's word is: Ollama has none for it.",
    "finish-mismatch-tool": "Write `tool_calls` only where a structured call was written: where the call could not be parsed, pass its text on, and `stop`.",
    "finish-empty-string": "Write null for finish_reason until the answer ends.",
    "unknown-finish": "Map every finish reason of the backend to one of the client's protocol, and log one that is not known.",
    "finish-altered": "Map the backend's `length` (max_tokens, done_reason length) to the client's word for it, and never to the word for an ordinary end.",
    "tool-index-missing tool-index-gap tool-index-reused": "Number the calls of a response from 0, each new id or name being a new one; do not take over the block numbers of the backend's protocol, which count text too.",
    "tool-id-missing tool-name-missing tool-type-missing": "Write id, name and `type: function` in the first record of each call; make an id where the backend has none, as Ollama.",
    "tool-id-duplicate": "Make ids random, not from a clock or from a counter that begins again with each response.",
    "tool-args-invalid-json tool-args-not-object": "Pass fragments of arguments on unchanged and in their order; where arguments are built, encode an object with a JSON library, once.",
    "tool-args-truncated-with-success": "Where the backend stops inside of arguments, write the finish reason `length`, or an error: never that of a complete call.",
    "tool-call-lost": "Write the backend's structured calls where the client's protocol has them (Ollama: `message.tool_calls`, not the top level of the line).",
    "tool-call-partial-lost": "Go on after the first call: reset the parser, and write every further call and the text between them.",
    "tool-text-in-content wrapper-unparsed": "Hold text back from the opening mark of a call to its closing one (of a stream across records and reads), and write a structured call. In a server: turn on the tool call parser of this model.",
    "tool-text-in-reasoning": "End the reasoning at the opening mark of a call and parse the call, as sglang and vLLM do. In a server: turn on the tool call parser of this model, and let it run on reasoning that is not closed.",
    "tool-text-promoted-from-reasoning": "Look for calls outside of closed reasoning only: what is quoted in it is not a call.",
    "wrapper-fragment-leak": "When a call is complete, drop what is left of its closing tags: they may come in further records.",
    "content-replayed": "Remember how much of the buffer the client has already got: when a call is detected, write only what came after that.",
    "content-lost": "Write the buffer out before the terminal, and pass on text before, between and after calls: do not skip records once a call is written.",
    "tool-args-altered": "Pass argument text on as it came; where it is parsed, keep types and numbers, and encode it once.",
    "choice-lost": "Convert each entry of `choices` by its index; where the client's protocol has no choices, refuse `n` above 1.",
    "framing-mixed": "Choose the framing once for each response, by the route that the client called, and write the terminal and errors in it too.",
    "framing-wrong-content-type": "Declare `text/event-stream` for server-sent events and `application/x-ndjson` for lines of JSON.",
    "record-not-json record-split-by-proxy": "Keep the unfinished line of a read and put the next read after it: a read is not a record. What does not parse after that is logged and reported to the client, not skipped.",
    "utf8-broken": "Decode with a decoder that keeps state between reads (Node: `TextDecoder` with `stream: true`): a read may end inside of a character.",
    "event-without-blank-line": "End every event with a blank line, the last one too.",
    "in-band-error": "Pass the error on in the client's protocol and end the stream, without an ordinary terminal; retries belong to the client.",
    "http-error-body-midstream": "Once the headers are sent (`headersSent`), report an error as a record of the stream: an error handler must not write the body of an HTTP error.",
    "id-or-model-changed": "Make id, model and created once for each response, and write them in every record.",
    "created-unit-wrong": "Write `created` in seconds since 1970.",
    "role-missing-or-repeated": "Write the role in the first delta of each choice, and not again.",
    "reasoning-index-missing": "Give every entry of reasoning_details an index: fragments of one entry have the same one.",
    "usage-missing usage-duplicate usage-not-last": "Pass the backend's usage on once, after all content; for include_usage in a record with empty choices before [DONE].",
    "usage-zero-fabricated done-missing-fields": "Pass on the counts of the backend; where it gave none, leave them out: 0 is a count.",
    "block-before-start start-repeated": "Write the opening record once, before anything else; after a retry at the backend, go on in the message that is open, or end it with an error.",
    "block-not-open block-left-open block-reopened block-index-gap blocks-interleaved": "Number blocks from 0, each number once, and write start, deltas and stop of one before the start of the next; close the last one before message_delta.",
    "delta-type-mismatch": "Choose the type of a delta by that of its block: a signature belongs to thinking, partial_json to a call.",
    "signature-missing signature-altered thinking-empty": "Pass thinking_delta and signature_delta on byte for byte, without parsing and encoding them again, before the block's stop.",
    "sequence-gap sequence-repeat": "Number events when they are written, after filtering and merging, in steps of 1.",
    "done-differs-from-deltas final-differs-from-items": "Build done events and the final response from the buffers that the deltas were written from, ids included.",
    "item-not-open item-index-gap item-left-open": "Write output_item.added before the events of an item and output_item.done after them, each with the next output_index from 0.",
    "stall never-terminated": "Set a limit for the silence of the backend: below it write keep-alive comments, beyond it an error record, and close.",
    "empty-stream": "Do not end an answer without content as an ordinary one: write the backend's error, or ask the backend again before the headers are sent.",
    "think-unclosed think-tag-leak": "Split reasoning from content by the tags of this model. In a server: turn on its reasoning parser.",
    "special-token-leak": "Decode without special tokens. In a server: use the chat template and the stop tokens of this model.",
    "unknown-tool": "Pass the request's tools to the backend unchanged, and the call to the client, which answers it with an error that the model sees.",
    "request-repeated": "Fix what makes the answer before unusable. In the client: limit how often the same request is repeated.",
    "after-end-write": "Ask before each write whether the response is still open, and end it only when nothing is pending.",
}

FIXED_IN_CODE: Mapping[str, str] = MappingProxyType({name: sentence for names, sentence in _BY_CAUSE.items() for name in names.split()})
"""Name of a row -> what to change. Rows that are legal, or a server's own business, have none."""
