"""Violations that the words of one side show when they are put together: tags, tokens and calls that a server should have taken out."""

import re
from collections.abc import Iterator

from inspector.streams.assembling import arguments, shown
from inspector.streams.call_syntax.catalogue import BY_ID
from inspector.streams.leaked_calls import AnswerPart, leaked
from inspector.streams.model import Assembled, StreamBlock, StreamViolation
from inspector.streams.request_rules import RequestFacts

THINK = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("[THINK]", "[/THINK]"),
    ("<mm:think>", "</mm:think>"),
    ("<ifm|think>", "</ifm|think>"),
    ("◁think▷", "◁/think▷"),
)
"""Opening and closing tags of thinking, by which models write it into their text."""
HARMONY = ("<|channel|>", "<|channel>", "<|message|>", "<|start|>", "<|constrain|>")
TOKENS = (
    "<|im_start|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|eos|>",
    "<｜begin▁of▁sentence｜>",
    "<｜end▁of▁sentence｜>",
    "<｜User｜>",
    "<｜Assistant｜>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<|END_OF_TURN_TOKEN|>",
    "<|END_RESPONSE|>",
    "[/INST]",
)
_PROXY_WRAPPER = "D36"
WRAPPERS = ("toolbridge_calls", "toolbridge:calls")
_TAG = re.compile("|".join(re.escape(tag) for tag in sorted({tag for pair in THINK for tag in pair} | set(HARMONY), key=len, reverse=True)))
_TOKEN = re.compile("|".join(re.escape(token) for token in TOKENS))
WRAPPER = re.compile(rf"</?(?:{'|'.join(WRAPPERS)})>")
_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})[^\n]*$", re.MULTILINE)
_CODE = re.compile(r"`[^`\n]{1,500}`")
MOST = 20
"""Places of one block that are named."""


def text_violations(answer: Assembled, request: RequestFacts, read_by_client: bool) -> Iterator[StreamViolation]:
    """Violations in the words of an answer. What a proxy asks the model for and takes out again is judged only where the reader of this side is no proxy."""
    called = ""
    for block in answer.blocks:
        if block.kind == "tool-call":
            called = block.name or "?"
        elif block.kind == "text":
            prose = without_code(block.text)
            yield from _thinking(block, prose)
            for match in _first(_TOKEN, prose):
                yield StreamViolation("special-token-leak", block.last, f"The special token {match[0]} is in the text.")
            if read_by_client:
                for match in _first(WRAPPER, prose):
                    yield StreamViolation("wrapper-unparsed", block.last, f"{match[0]} is in the text.")
                if called and is_fragment(block.text.strip(), called):
                    yield StreamViolation(
                        "wrapper-fragment-leak", block.first, f"After the call is {shown(block.text.strip())}, a piece of its tags."
                    )
    if read_by_client:
        yield from _calls(answer, request)


def answer_part(block: StreamBlock) -> AnswerPart:
    """A block as the search for calls in text sees it."""
    match block.kind:
        case "thinking":
            return AnswerPart("thinking", block.text, bool(block.signature))
        case "text":
            return AnswerPart("content", block.text)
        case "tool-call":
            return AnswerPart("call", name=block.name, arguments=arguments(block.text).input)
    return AnswerPart("other")


def _calls(answer: Assembled, request: RequestFacts) -> Iterator[StreamViolation]:
    """Calls that were made as text, and that no structured call follows."""
    for number, call in leaked([answer_part(block) for block in answer.blocks], None if request.open else request.tools, answer.finish):
        block = answer.blocks[number]
        is_thinking = block.kind == "thinking"
        # The wrapper of a proxy has a row of its own.
        if is_thinking or call.syntax != _PROXY_WRAPPER:
            row = "tool-text-in-reasoning" if is_thinking else "tool-text-in-content"
            # A name at the beginning would be written with a capital, which is another name.
            subject = f"A call of {name}" if (name := shown(call.name)) else "A tool call"
            part = "reasoning" if is_thinking else "answer"
            text = f"{subject} was written as text in the {part}, and not run. {call.reasons[0]} Its call syntax is {BY_ID[call.syntax].title}."
            yield StreamViolation(row, block.last, text)


def without_code(text: str) -> str:
    """`text` with code, fenced or between backticks, blanked: what is there is talked about. Places stay."""
    pieces, at = [], 0
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence[1].startswith(opened[1]):
            pieces += [text[at : opened.start()], " " * (fence.end() - opened.start())]
            at, opened = fence.end(), None
    end = text[at : opened.start()] if opened else text[at:]
    whole = "".join(pieces) + end
    return _CODE.sub(lambda match: " " * len(match[0]), whole)


def _first(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    seen_texts: set[str] = set()
    for match in pattern.finditer(text):
        if match[0] not in seen_texts and len(seen_texts) < MOST:
            seen_texts.add(match[0])
            yield match


def _thinking(block: StreamBlock, prose: str) -> Iterator[StreamViolation]:
    tags = [match[0] for match in _first(_TAG, prose)]
    unclosed = {opening for opening, closing in THINK if opening in tags and prose.rfind(closing) < prose.rfind(opening)}
    # Cut text may have had its end where it is not kept any more.
    if block.size <= len(block.text):
        for opening in sorted(unclosed):
            yield StreamViolation("think-unclosed", block.last, f"{opening} is in the text, and nothing closes it.")
    for tag in tags:
        if tag not in unclosed:
            yield StreamViolation("think-tag-leak", block.last, f"{tag} is in the text.")


def is_fragment(text: str, name: str) -> bool:
    """Whether a whole text is the end or the beginning of a tag that a call was written with."""
    tags = [f"</{tag_name}>" for tag_name in (*WRAPPERS, name)]
    return any(text == tag or (text and tag.endswith(text)) or (len(text) > 2 and tag.startswith(text)) for tag in tags)
