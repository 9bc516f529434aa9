"""Calls that a model wrote as text as the structured calls that they were intended to be, and what was left of their tags gone."""

from dataclasses import replace
from itertools import groupby

from inspector.streams.assembling import arguments, shown
from inspector.streams.consumer import meaning
from inspector.streams.drafting import Work, shown_item, synthetic_call_id
from inspector.streams.encoding import Item
from inspector.streams.leaked_calls import AnswerPart, TextCall, Where, text_calls, where_of
from inspector.streams.leaked_scan import region_at, thinking
from inspector.streams.text_rules import WRAPPER, is_fragment, without_code
from inspector.streams.violations import OLLAMA_GENERATE, REPAIRS
from inspector.text import jsontext

REBUILD = "rebuild-calls"
AS_TEXT = REPAIRS[REBUILD]
_LOOKED_AT = 100


class _ClientCalls:
    """Calls of the client that match none of the content yet: what a proxy made of a text is taken as it made it."""

    def __init__(self, work: Work) -> None:
        self._waiting: dict[str, list[Item]] = {}
        for item in work.ours.content:
            if item.kind == "call" and item.name and not arguments(item.text).fault:
                self._waiting.setdefault(item.name, []).append(item)
        for item in work.content:
            if item.kind == "call":
                self.take(item.name, meaning(item.text), exact=True)

    def take(self, name: str, meaning_key: str, exact: bool = False) -> Item | None:
        waiting = self._waiting.get(name, [])
        index = next(
            (place for place, item in enumerate(waiting[:_LOOKED_AT]) if meaning(item.text) == meaning_key),
            -1 if exact or not waiting else 0,
        )
        return waiting.pop(index) if index >= 0 else None


def rebuild(work: Work) -> None:
    if work.ours.protocol == OLLAMA_GENERATE:
        if work.names & AS_TEXT or any(WRAPPER.search(item.text) for item in work.content):
            work.refused.append("Ollama's generate has no place for calls: they stay text.")
        return
    client_calls = _ClientCalls(work)
    # Each call is a run of its own; the signature of reasoning is a run that ends it.
    runs = [list(items) for _, items in groupby(work.content, key=lambda item: (item.kind, id(item) if item.kind == "call" else 0))]
    parts = [_answer_part(items) for items in runs]
    finish = (work.backend or work.ours).finish
    content: list[Item] = []
    for number, items in enumerate(runs):
        if items[0].kind in ("text", "thinking"):
            content += _rebuilt(work, items, where_of(parts, number, finish), client_calls)
        else:
            content += items
    work.content = _without_fragments(work, content)


def _answer_part(items: list[Item]) -> AnswerPart:
    text = "".join(item.text for item in items)
    match items[0].kind:
        case "thinking":
            return AnswerPart("thinking", text)
        case "text":
            return AnswerPart("content", text)
        case "call":
            return AnswerPart("call", name=items[0].name, arguments=arguments(text).input)
    return AnswerPart("other")


def _rebuilt(work: Work, items: list[Item], where: Where, client_calls: _ClientCalls) -> list[Item]:
    text = "".join(item.text for item in items)
    rebuilt: list[Item] = []
    first, at = items[0], 0
    thoughts = [] if where.part == "thinking" else thinking(text, [])
    for call_in_text in text_calls(text, None if work.request.open else work.request.tools, where):
        arguments_text = jsontext.compact(call_in_text.arguments) if call_in_text.arguments is not None else ""
        is_thought = not call_in_text.is_call and (where.part == "thinking" or region_at(thoughts, call_in_text.start) is not None)
        call = client_calls.take(call_in_text.name, meaning(arguments_text)) if work.restored and not is_thought else None
        if call is None:
            if not _can_rebuild(work, call_in_text):
                continue
            call = Item(
                "call",
                arguments_text,
                call_in_text.name,
                call_in_text.call_id or synthetic_call_id(call_in_text.name, arguments_text, len(rebuilt)),
            )
        rebuilt += [replace(first, text=text[at : call_in_text.start], changed_by=REBUILD)] if text[at : call_in_text.start].strip() else []
        rebuilt.append(replace(call, event=first.event, at=first.at, changed_by=REBUILD))
        work.change(
            REBUILD,
            _item_at(items, call_in_text.start),
            shown(text[call_in_text.start : call_in_text.end]),
            f"a call of {call.name} with {shown(call.text)}",
        )
        at = call_in_text.end
    if not at:
        return items
    return rebuilt + ([replace(items[-1], text=text[at:], changed_by=REBUILD)] if text[at:].strip() else [])


def _item_at(items: list[Item], start: int) -> Item:
    """The item in whose text the character at `start` is."""
    for item in items:
        start -= len(item.text)
        if start < 0:
            return item
    return items[-1]


def _can_rebuild(work: Work, call: TextCall) -> bool:
    if not call.is_call:
        return False
    if call.confidence == "low" or call.arguments is None:
        work.refused.append(f"The call of {shown(call.name) or 'a tool'} stays text: {call.reasons[-1]}")
        return False
    if call.guessed and not work.invented:
        names = ", ".join(call.guessed)[:200]
        work.refused.append(
            f"The call of {call.name} stays text: of what type {names} is, its text does not say, and a guess would be invented."
        )
        return False
    return True


def _without_fragments(work: Work, content: list[Item]) -> list[Item]:
    kept_items, called = list[Item](), ""
    for item in content:
        called = item.name if item.kind == "call" else called
        if item.kind == "text" and not work.refused and WRAPPER.search(without_code(item.text)):
            bare = replace(item, text=WRAPPER.sub("", item.text), changed_by=REBUILD)
            work.change(REBUILD, item, shown_item(item), shown_item(bare))
            item = bare
        if item.kind == "text" and called and item.text.strip() and is_fragment(item.text.strip(), called):
            work.change(REBUILD, item, shown_item(item), "")
        elif item.text or item.kind != "text":
            kept_items.append(item)
    return kept_items
