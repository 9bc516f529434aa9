"""The ids under which OpenClaw 2026.9.6 sends calls and results: `strict` (letters and digits, at most 40), `strict9` (nine of them, for Mistral), and
the pairs `call|fc` of OpenAI Responses. An id that is used again is a new one each time, and its results follow their own call.
"""

import hashlib
import json
import re
from collections import deque
from collections.abc import Sequence

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Kind, Message
from inspector.programs.pi_openclaw.readers.openclaw_inputs import trimmed, why_not_replayed
from inspector.programs.pi_openclaw.readers.openclaw_passes import THINKING, Passed, with_chunks, with_members
from inspector.programs.pi_openclaw.readers.result_pairing import TYPES_OF_CALL, calls_of
from inspector.programs.pi_openclaw.readers.rows import stored_name, word

STRICT, STRICT9 = "strict", "strict9"
_MOST, _NINE = 40, 9
_TRIES = 1000
_KIMI = re.compile(r"functions\.[A-Za-z0-9_-]+:[0-9]+")
_NATIVE = re.compile(r"toolu_[A-Za-z0-9_]+")
_OTHER_CHARACTERS = re.compile(r"[^a-zA-Z0-9]")
_LONE = re.compile("[\ud800-\udfff]")


def clean_id(id_: str, mode: str) -> str:
    """The id as a provider takes it, before it is distinguished from others."""
    if not id_:
        return "defaultid" if mode == STRICT9 else "defaulttoolid"
    plain = _OTHER_CHARACTERS.sub("", id_)
    if mode == STRICT9:
        return plain[:_NINE] if len(plain) >= _NINE else _hash(plain or "sanitized", _NINE)
    return id_ if _KIMI.fullmatch(id_) else plain or "sanitizedtoolid"


def renamed(messages: Sequence[Message], mode: str, native_ids: bool = False, own_thinking: bool = False) -> Passed:
    """`native_ids`: the first use of an id of Anthropic's stays; `own_thinking`: so do all ids of a turn that thinks."""
    passed = Passed()
    whole = _whole(messages) if own_thinking else {}
    ids = _Ids(mode, native_ids, {id_ for group in whole.values() for id_ in group})
    for at, message in enumerate(messages):
        if message.role == "assistant" and at in whole:
            for id_ in whole[at]:
                ids.expect(id_, id_)
        elif message.role == "assistant" and queries.calls(message):
            message = _changed(message, [_of_call(chunk, ids) for chunk in message.chunks], passed)
        elif message.role == "tool":
            message = _changed(message, [_of_result(chunk, ids) for chunk in message.chunks], passed)
        passed.messages.append(message)
    return passed


def without_lone_items(messages: Sequence[Message]) -> Passed:
    """OpenAI refuses the item id of a call (`call|fc`) whose reasoning is not sent with it: then only the call id is left."""
    passed = Passed()
    short: dict[str, str] = {}
    for message in messages:
        if message.role == "assistant":
            short, reasoned, chunks = {}, False, []
            for chunk in message.chunks:
                reasoned = reasoned or (chunk.kind is Kind.THINKING and _is_reasoning(word(chunk.payload.get("signature"))))
                call, mark, item = chunk.call_id.partition("|")
                if chunk.kind is Kind.TOOL_CALL and call and mark and item.startswith("fc_") and not reasoned:
                    short[chunk.call_id] = call
                    chunk = with_members(chunk, {"toolCallId": call})
                chunks.append(chunk)
            message = _changed(message, chunks, passed)
        elif message.role == "tool":
            new = [
                with_members(chunk, {"toolCallId": short[chunk.call_id]}) if chunk.call_id in short else chunk for chunk in message.chunks
            ]
            message = _changed(message, new, passed)
        else:
            short = {}
        passed.messages.append(message)
    return passed


def _changed(message: Message, chunks: list[Chunk], passed: Passed) -> Message:
    changed = sum(new is not old for new, old in zip(chunks, message.chunks, strict=True))
    if not changed:
        return message
    passed.count("idsChanged", changed)
    return with_chunks(message, chunks)


class _Ids:
    """Every id that was given out, and those that wait for their result, by the stored id."""

    def __init__(self, mode: str, native_ids: bool, used: set[str]) -> None:
        self._mode, self._native, self._used = mode, native_ids, used
        self._calls: dict[str, int] = {}
        self._orphans: dict[str, int] = {}
        self._waiting: dict[str, deque[str]] = {}

    def expect(self, stored: str, sent: str) -> str:
        self._used.add(sent)
        self._waiting.setdefault(stored, deque()).append(sent)
        return sent

    def of_call(self, id_: str) -> str:
        number = self._calls[id_] = self._calls.get(id_, 0) + 1
        stays = self._is_native(id_, number)
        return self.expect(id_, id_ if stays else self._new(id_ if number == 1 else f"{id_}:{number}"))

    def of_result(self, id_: str) -> str:
        if waiting := self._waiting.get(id_):
            return waiting.popleft()
        number = self._orphans[id_] = self._orphans.get(id_, 0) + 1
        new = id_ if self._is_native(id_, number) else self._new(f"{id_}:tool_result:{number}")
        self._used.add(new)
        return new

    def _is_native(self, id_: str, number: int) -> bool:
        return self._native and number == 1 and id_ not in self._used and _NATIVE.fullmatch(id_) is not None

    def _new(self, seed: str) -> str:
        base = clean_id(seed, self._mode)[:_MOST]
        if base not in self._used:
            return base
        if self._mode == STRICT9:
            return next((id_ for at in range(_TRIES) if (id_ := _hash(f"{seed}:{at}", _NINE)) not in self._used), _hash(seed, _NINE))
        hash_ = _hash(seed, 8)
        second = base[: _MOST - len(hash_)] + hash_
        further = (second[: _MOST - len(f"x{at}")] + f"x{at}" for at in range(2, _TRIES))
        return second if second not in self._used else next((id_ for id_ in further if id_ not in self._used), second)


def _of_call(chunk: Chunk, ids: _Ids) -> Chunk:
    if chunk.kind is not Kind.TOOL_CALL or not chunk.call_id or stored_name(chunk, "toolCall") not in TYPES_OF_CALL:
        return chunk
    new = ids.of_call(chunk.call_id)
    return chunk if new == chunk.call_id else with_members(chunk, {"toolCallId": new})


def _of_result(chunk: Chunk, ids: _Ids) -> Chunk:
    if chunk.kind is not Kind.TOOL_RESULT or not chunk.call_id:
        return chunk
    new = ids.of_result(chunk.call_id)
    return chunk if new == chunk.call_id else with_members(chunk, {"toolCallId": new})


def _whole(messages: Sequence[Message]) -> dict[int, list[str]]:
    """The ids of answers that think and call, none of which an earlier one of them has."""
    by_place: dict[int, list[str]] = {}
    reserved: set[str] = set()
    for at, message in enumerate(messages):
        ids = [call.call_id for call in calls_of(message, TYPES_OF_CALL)]
        thinks = any(chunk.kind in THINKING for chunk in message.chunks)
        if ids and thinks and _is_sound(message) and len({id_.strip() for id_ in ids}) == len(ids) and reserved.isdisjoint(ids):
            by_place[at] = ids
            reserved.update(ids)
    return by_place


def _is_sound(message: Message) -> bool:
    calls = [call for call in queries.calls(message) if stored_name(call, "toolCall") in TYPES_OF_CALL]
    return all(call.call_id.strip() and not why_not_replayed(call) and trimmed(call) is call for call in calls)


def _hash(text: str, length: int) -> str:
    return hashlib.sha256(_LONE.sub("\ufffd", text).encode()).hexdigest()[:length]


def _is_reasoning(signature: str) -> bool:
    """Whether the signature is the item that Responses wants back."""
    try:
        item = json.loads(signature) if signature.strip().startswith("{") else None
    except (ValueError, RecursionError):
        return False
    if not isinstance(item, dict):
        return False
    kind = word(item.get("type"))
    return word(item.get("id")).startswith("rs_") and (kind == "reasoning" or kind.startswith("reasoning."))
