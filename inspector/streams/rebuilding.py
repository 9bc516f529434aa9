"""Calls that a model wrote as text as the structured calls that they were meant to be, and what was left of their tags gone."""

from dataclasses import replace
from itertools import groupby

from inspector.conversation import jsontext
from inspector.streams.assembling import arguments, shown
from inspector.streams.drafting import Work, made_id, shown_item
from inspector.streams.hearing import meaning
from inspector.streams.leaked_calls import Found, Part, Where, found_calls, where_of
from inspector.streams.leaked_scan import region_at, thinking
from inspector.streams.spelling import Item
from inspector.streams.text_rules import WRAPPER, is_fragment, without_code
from inspector.streams.violations import OLLAMA_GENERATE

REBUILD = "rebuild-calls"
AS_TEXT = frozenset({"tool_text_in_content", "tool_text_in_reasoning", "wrapper_unparsed", "wrapper_fragment_leak"})
_LOOKED_AT = 100


class _Got:
    """Calls of the client that stand for none of the content yet: what a proxy made of a text is taken as it made it."""

    def __init__(self, work: Work) -> None:
        self._waiting: dict[str, list[Item]] = {}
        for item in work.ours.content:
            if item.kind == "call" and item.name and not arguments(item.text).fault:
                self._waiting.setdefault(item.name, []).append(item)
        for item in work.content:
            if item.kind == "call":
                self.take(item.name, meaning(item.text), exact=True)

    def take(self, name: str, meant: str, exact: bool = False) -> Item | None:
        waiting = self._waiting.get(name, [])
        found = next(
            (place for place, item in enumerate(waiting[:_LOOKED_AT]) if meaning(item.text) == meant), -1 if exact or not waiting else 0
        )
        return waiting.pop(found) if found >= 0 else None


def rebuild(work: Work) -> None:
    if work.ours.dialect == OLLAMA_GENERATE:
        if work.names & AS_TEXT or any(WRAPPER.search(item.text) for item in work.content):
            work.refused.append("Ollama's generate has no place for calls: they stay text.")
        return
    got = _Got(work)
    # Each call is a run of its own; the signature of reasoning is a run that ends it.
    runs = [list(items) for _, items in groupby(work.content, key=lambda item: (item.kind, id(item) if item.kind == "call" else 0))]
    parts = [_part(items) for items in runs]
    finish = (work.backend or work.ours).finish
    content: list[Item] = []
    for number, items in enumerate(runs):
        if items[0].kind in ("text", "thinking"):
            content += _rebuilt(work, items, where_of(parts, number, finish), got)
        else:
            content += items
    work.content = _without_fragments(work, content)


def _part(items: list[Item]) -> Part:
    text = "".join(item.text for item in items)
    match items[0].kind:
        case "thinking":
            return Part("thinking", text)
        case "text":
            return Part("content", text)
        case "call":
            return Part("call", name=items[0].name, arguments=arguments(text).input)
    return Part("other")


def _rebuilt(work: Work, items: list[Item], where: Where, got: _Got) -> list[Item]:
    text = "".join(item.text for item in items)
    made: list[Item] = []
    first, at = items[0], 0
    thoughts = [] if where.part == "thinking" else thinking(text, [])
    for each in found_calls(text, None if work.asked.open else work.asked.tools, where):
        spoken = jsontext.compact(each.arguments) if each.arguments is not None else ""
        is_thought = not each.is_call and (where.part == "thinking" or region_at(thoughts, each.start) is not None)
        call = got.take(each.name, meaning(spoken)) if work.restored and not is_thought else None
        if call is None:
            if not _can_rebuild(work, each):
                continue
            call = Item("call", spoken, each.name, each.call_id or made_id(each.name, spoken, len(made)))
        made += [replace(first, text=text[at : each.start], made_by=REBUILD)] if text[at : each.start].strip() else []
        made.append(replace(call, event=first.event, at=first.at, made_by=REBUILD))
        work.change(REBUILD, first, shown(text[each.start : each.end]), f"a call of {call.name} with {shown(call.text)}")
        at = each.end
    if not at:
        return items
    return made + ([replace(items[-1], text=text[at:], made_by=REBUILD)] if text[at:].strip() else [])


def _can_rebuild(work: Work, found: Found) -> bool:
    if not found.is_call:
        return False
    if found.confidence == "low" or found.arguments is None:
        work.refused.append(f"The call of {shown(found.name) or 'a tool'} stays text: {found.reasons[-1]}")
        return False
    if found.guessed and not work.invented:
        names = ", ".join(found.guessed)[:200]
        work.refused.append(
            f"The call of {found.name} stays text: of what type {names} is, its text does not say, and a guess would be invented."
        )
        return False
    return True


def _without_fragments(work: Work, content: list[Item]) -> list[Item]:
    kept, called = list[Item](), ""
    for item in content:
        called = item.name if item.kind == "call" else called
        if item.kind == "text" and not work.refused and WRAPPER.search(without_code(item.text)):
            bare = replace(item, text=WRAPPER.sub("", item.text), made_by=REBUILD)
            work.change(REBUILD, item, shown_item(item), shown_item(bare))
            item = bare
        if item.kind == "text" and called and item.text.strip() and is_fragment(item.text.strip(), called):
            work.change(REBUILD, item, shown_item(item), "")
        elif item.text or item.kind != "text":
            kept.append(item)
    return kept
