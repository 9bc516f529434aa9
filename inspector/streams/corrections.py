"""The strategies by which a captured stream is corrected, in the order in which they are applied: each with what it repairs and what it costs."""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from inspector.conversation.edits import Safety
from inspector.projections.base import ANTHROPIC
from inspector.streams.assembling import arguments, shown
from inspector.streams.catalogue import FAILED, FILTER, LENGTH, STOP, TOOL_CALLS, common_finish, common_usage
from inspector.streams.consumer import meaning
from inspector.streams.drafting import CONTENT, Work, shown_item, synthetic_call_id
from inspector.streams.encoding import Item
from inspector.streams.rebuilding import REBUILD, rebuild
from inspector.streams.violations import REPAIRS, L


@dataclass(frozen=True, slots=True)
class StreamStrategy:
    """`safety`: what it does beyond moving things."""

    name: str
    summary: str
    cost: str
    apply: Callable[["Work"], None]
    safety: frozenset[Safety] = frozenset()
    always: bool = False
    """It looks for itself whether there is something to do: what was restored may need it as well."""

    @property
    def rules(self) -> frozenset[str]:
        """Names of the rules whose violations it repairs."""
        return REPAIRS[self.name]


def _take_words(work: Work, strategy: str = "use-backend-content") -> None:
    """What the backend sent, in its order, in the place of what the client got; calls that the client got keep their ids."""
    if work.backend is None or work.restored or _gist(work.content) == _gist(work.backend.content):
        return
    ids = _ids(work)
    surplus, sent = Counter(map(_content_key, work.content)), Counter(map(_content_key, work.backend.content))
    for item in work.content:
        if surplus[_content_key(item)] > sent[_content_key(item)]:
            surplus[_content_key(item)] -= 1
            work.change(strategy, item, shown_item(item), "")
    content: list[Item] = []
    surplus = Counter(map(_content_key, work.content))
    for item in work.backend.content:
        content.append(replace(item, call_id=ids.pop(0) or item.call_id) if item.kind == "call" else item)
        surplus[_content_key(item)] -= 1
        if surplus[_content_key(item)] < 0:
            work.change(strategy, item, "", shown_item(item), restored=True)
    work.content, work.restored = content, True


def _ids(work: Work) -> list[str]:
    """The id that the client got for each call of the backend, "" where it got none: of a call with other arguments too."""
    ours = [item for item in work.content if item.kind == "call"]
    calls = [item for item in work.backend.content if item.kind == "call"] if work.backend else []
    ids = [""] * len(calls)
    for key in (_content_key, lambda item: (item.name,)):
        waiting: dict[tuple[str, ...], deque[Item]] = {}
        for item in ours:
            waiting.setdefault(key(item), deque()).append(item)
        for place, item in enumerate(calls):
            if not ids[place] and waiting.get(key(item)):
                ids[place] = waiting[key(item)].popleft().call_id
        ours = [item for queue in waiting.values() for item in queue]
    return ids


def _decode(work: Work) -> None:
    if work.backend is not None:
        _take_words(work, DECODE)
        return
    for item in work.content:
        if "\N{REPLACEMENT CHARACTER}" in item.text:
            work.change(DECODE, item, "bytes that are no UTF-8", shown_item(item))


def _restore_signatures(work: Work) -> None:
    if work.backend is None:
        return
    sent = iter([item for item in work.backend.content if item.kind == "signature"])
    for place, item in enumerate(work.content):
        if item.kind == "signature" and (original := next(sent, None)) is not None and original.text != item.text:
            work.change("restore-signature", item, shown(item.text), shown(original.text))
            work.content[place] = replace(item, text=original.text, changed_by="restore-signature")


def _broken_calls(work: Work) -> None:
    for place, item in enumerate(work.content):
        if item.kind == "call" and (arguments(item.text).fault or not item.name):
            text = f"[A call of {item.name or 'a tool'} came broken, and is kept as text: {item.text}]"
            work.change(BROKEN_CALLS, item, shown_item(item), shown(text))
            work.content[place] = replace(item, kind="text", text=text, name="", call_id="", changed_by=BROKEN_CALLS)


def _renumber(work: Work) -> None:
    ids = set(work.request.call_ids)
    number = 0
    is_named = bool(work.names & REPAIRS[RENUMBER])
    for place, item in enumerate(work.content):
        if item.kind != "call":
            continue
        call_id = item.call_id
        if call_id in ids or (not call_id and work.ours.protocol not in L):
            call_id = synthetic_call_id(item.name, item.text, number)
        ids.add(call_id)
        if is_named or call_id != item.call_id:
            before = f"{shown(item.name)} {shown(item.call_id) or 'without id'}"
            work.change(RENUMBER, item, before, f"call {number} with the id {call_id}")
        work.content[place] = replace(item, call_id=call_id)
        number += 1


def _drop_unsigned(work: Work) -> None:
    if work.ours.protocol != ANTHROPIC:
        return
    content: list[Item] = []
    waiting: list[Item] = []
    for item in [*work.content, Item("end")]:
        if item.kind == "thinking":
            waiting.append(item)
            continue
        if item.kind == "signature":
            content += waiting
        else:
            for thought in waiting:
                work.change("omit-unsigned-thinking", thought, shown_item(thought), "")
        waiting = []
        if item.kind != "end":
            content.append(item)
    work.content = content


def _usage(work: Work) -> None:
    for item in work.ours.items:
        if item.kind == "usage":
            work.change("drop-fabricated-usage", item, "a usage of 0", "")


def _terminals(work: Work) -> None:
    terminals = [place for place, item in enumerate(work.ours.items) if item.kind == "terminal"]
    last = max((place for place, item in enumerate(work.ours.items) if item.kind in CONTENT), default=-1)
    for number, place in enumerate(terminals):
        item = work.ours.items[place]
        if number:
            work.change(TERMINAL, item, f"the terminal {item.text} again", "")
        elif place < last or "premature-terminal" in work.names:
            work.change(TERMINAL, item, f"the terminal {item.text} here", "the terminal after all content")


def _finish(work: Work) -> None:
    """Decided in `_end`, once all content is in its place."""
    finishes = [item for item in work.ours.items if item.kind == "finish"]
    for item in finishes[:-1]:
        work.change(FINISH, item, f"the finish reason {shown(item.text) or 'of nothing'}", "")
    last = finishes[-1] if finishes else None
    work.change(
        "one-finish", last, f"the finish reason {shown(last.text)}" if last else "no finish reason", f"{_end_of(work)}, after all content"
    )


def _end_of(work: Work) -> str:
    """The common word for the end. `length` where the answer did not end by itself, or nothing says that it did; never an invented stop."""
    finishes = [common_finish(draft.protocol, draft.finish, False) for draft in (work.backend, work.ours) if draft is not None]
    word = next((finish for finish in finishes if finish), "")
    if not (work.backend or work.ours).ended or not work.content or word in ("", FAILED):
        return TOOL_CALLS if not word and (work.backend or work.ours).ended and _has_calls(work) else LENGTH
    if _has_calls(work):
        return word if word in (LENGTH, FILTER) else TOOL_CALLS
    return STOP if word == TOOL_CALLS else word


def _has_calls(work: Work) -> bool:
    return any(item.kind == "call" for item in work.content)


def _incomplete(work: Work) -> None:
    terminal = next((item for item in work.ours.items if item.kind == "terminal"), None)
    if (work.backend or work.ours).error:
        if terminal is not None:
            work.change(INCOMPLETE, terminal, f"the terminal {terminal.text}", "nothing after the error that the server reports")
        return
    if work.backend is not None and work.backend.ended and terminal is None:
        work.change(INCOMPLETE, None, "no terminal", f"the terminal where the backend ended, with the reason {_end_of(work)}")
        return
    before = f"the terminal {terminal.text}" if terminal else "no terminal"
    if terminal is None and work.ours.ended and work.backend is None:
        work.change(INCOMPLETE, None, before, f"the terminal after the finish reason {_end_of(work)}")
        return
    work.change(INCOMPLETE, terminal, before, f"a synthetic terminal with the reason {_end_of(work)}: incomplete")


def _re_encode(work: Work) -> None:
    work.finish = _end_of(work)
    if "usage-zero-fabricated" not in work.names:
        sources = [draft.answer.usage for draft in (work.ours, work.backend) if draft is not None]
        work.usage = next((counts for usage in sources if (counts := common_usage(usage))), {})


def _gist(content: list[Item]) -> tuple[object, ...]:
    """What content says in whatever pieces, signatures aside: those have a strategy of their own."""
    texts = ["".join(item.text for item in content if item.kind == kind) for kind in ("text", "thinking", "refusal")]
    return (*texts, [_content_key(item) for item in content if item.kind == "call"], sum(item.kind == "signature" for item in content))


def _content_key(item: Item) -> tuple[str, ...]:
    return ("call", item.name, meaning(item.text)) if item.kind == "call" else (item.kind, item.text)


DECODE, BROKEN_CALLS, RENUMBER = "decode-again", "broken-calls-to-text", "renumber-calls"
TERMINAL, FINISH, INCOMPLETE, RE_ENCODE = "one-terminal", "one-finish", "mark-incomplete", "re-encode"
_LOSSY, _INVENTED = frozenset({Safety.LOSSY}), frozenset({Safety.INVENTED})


STREAM_STRATEGIES = (
    StreamStrategy(
        "use-backend-content",
        "Lost words and calls come back from the backend's side, repeated ones go, all in the backend's order.",
        "What the proxy itself put in or took out on purpose is undone with it.",
        _take_words,
        always=True,
    ),
    StreamStrategy(
        DECODE,
        "Characters that were cut by a read are decoded from the bytes of the backend.",
        "With one side only, what was broken stays U+FFFD: the bytes become UTF-8, the characters do not come back.",
        _decode,
        _LOSSY,
    ),
    StreamStrategy(
        "restore-signature",
        "The signature of thinking becomes the one that the backend sent.",
        "None, where the thinking was not changed as well.",
        _restore_signatures,
    ),
    StreamStrategy(
        REBUILD,
        "Calls written as text become structured ones; their tags and what remained of them go.",
        "A call that neither side sent as a call: its ids are made here, and words around it, where there are any, come in one piece.",
        rebuild,
        _INVENTED,
    ),
    StreamStrategy(
        BROKEN_CALLS,
        "A call without a name, or whose arguments mean no object, becomes text that says so.",
        "The tool is not called: nothing that was not sent is invented for it.",
        _broken_calls,
        _LOSSY,
        always=True,
    ),
    StreamStrategy(
        RENUMBER,
        "Calls are numbered from 0 in their order, each with an id of its own.",
        "Ids that were missing or used twice are made here, and are no server's.",
        _renumber,
        always=True,
    ),
    StreamStrategy(
        "omit-unsigned-thinking",
        "Thinking without a signature is left out.",
        "It is lost: without the signature the provider would refuse it.",
        _drop_unsigned,
        _LOSSY,
        always=True,
    ),
    StreamStrategy(
        "drop-fabricated-usage",
        "A usage of 0 that the proxy fabricated is left out.",
        "A client that waits for a usage gets none.",
        _usage,
    ),
    StreamStrategy(
        TERMINAL,
        "One terminal, after all content; what came after an earlier one is put before it.",
        "When the client would have closed is not shown any more.",
        _terminals,
    ),
    StreamStrategy(
        FINISH,
        "One finish reason, after all content: tool calls where there are calls, else the backend's.",
        "Where no reason came, `length` says that nobody knows.",
        _finish,
    ),
    StreamStrategy(
        INCOMPLETE,
        "A terminal is added where none came: the backend's where it had one, else one that says that the answer is incomplete (`length`), never `stop`.",
        "A synthetic terminal is no server's: whoever replays the stream sees an answer that was cut off, and not a broken stream.",
        _incomplete,
        _INVENTED,
    ),
    StreamStrategy(
        RE_ENCODE,
        "The stream is re-encoded in its protocol, one record for each item.",
        "Times, read boundaries, comments and members that are no part of the message (log probabilities, fingerprints) are left out; an id that the capture does not have is made up, and so is a time.",
        _re_encode,
        always=True,
    ),
)

REPAIRED = frozenset[str]().union(*REPAIRS.values())
"""Rules that are no errors, and are repaired all the same."""

_NO_END = {"missing-terminal", "response-without-end", "never-terminated"}
_REMOVED_BY_ENCODING = {name: REPAIRS[name] for name in (DECODE, RENUMBER, TERMINAL)} | {
    FINISH: REPAIRS[FINISH] - {"finish-mismatch-stop", "finish-mismatch-tool", "finish-altered"}
}
"""What a re-encoded stream cannot be left with, and the strategies whose work that is."""


def needed(work: Work) -> frozenset[str]:
    """The strategies without which the stream cannot be encoded: a re-encoded stream has one end, and numbers its calls."""
    names = {name for name, rows in _REMOVED_BY_ENCODING.items() if rows & work.names}
    had_calls = any(item.kind == "call" for item in work.ours.content)
    if work.ours.ended and had_calls != _has_calls(work):
        names.add(FINISH)
    if work.ours.protocol in L and any(item.kind == "call" and arguments(item.text).fault for item in work.content):
        names.add(BROKEN_CALLS)
    if not work.ours.finish and work.ours.ended:
        names.add(FINISH)
    # A finish reason that no terminal follows would go with it; an error cannot be next to an ordinary end.
    if (work.ours.finish and not work.ours.ended) or (work.ours.ended and (work.backend or work.ours).error):
        names.add(INCOMPLETE)
    # An end in another framing, or an error in place of the stream, is not re-encoded.
    if not work.ours.ended and not (work.backend or work.ours).error and not work.names & _NO_END:
        names.add(INCOMPLETE)
    return frozenset(names)
