"""Results without their call: the call comes back from the lines that are not sent, or the result becomes words of the user."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit, Safety
from inspector.conversation.model import Chunk, Kind
from inspector.programs.base import FROM_LEDGER
from inspector.programs.claude_code.before_boundary import calls_not_sent, sent_ids
from inspector.rules.base import Case, orphaned
from inspector.strategies.arrangement import arranged, entry_of
from inspector.strategies.base import Strategy
from inspector.strategies.insertion import before, inserted
from inspector.text.counted import counted

QUOTED = "Result of an earlier tool call, which is no longer part of this conversation:"


def _with_calls(case: Case) -> Iterator[Edit]:
    """A call has to follow words of the user: where the result is the first message, it is left to the other strategy."""
    calls, placed = calls_not_sent(case), []
    has_begun = False
    for message in case.messages:
        for result in message.chunks:
            call = calls.get(result.key)
            if call is not None and has_begun:
                payload = {name: value for name, value in call.payload.items() if name != "entry"}
                placed.append((before(case, result), (replace(call, key=f"{FROM_LEDGER}{call.key}", payload=payload),)))
        has_begun = has_begun or message.role == "user"
    yield from inserted(case, placed)


def _quoted(case: Case) -> Iterator[Edit]:
    """After the results that it is between: these have to come first."""
    ids = sent_ids(case)
    orphans = {result.key for _, result in orphaned(case) if result.call_id not in ids}
    if not orphans:
        return
    chunks: list[Chunk] = []
    waiting: list[Chunk] = []
    for chunk in case.conversation.chunks:
        if chunk.key in orphans:
            waiting.append(_as_words(chunk))
            continue
        if chunk.role and chunk.role != "tool":
            chunks += waiting
            waiting = []
        chunks.append(chunk)
    yield from arranged(case, [*chunks, *waiting])


def _as_words(result: Chunk) -> Chunk:
    blocks = result.payload.get("blocks")
    kinds = [str(block.get("type")) for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    others = Counter(kind for kind in kinds if kind != "text")
    left_out = f"\n[{', '.join(counted(number, kind) for kind, number in others.items())} left out]" if others else ""
    error = " (an error)" if result.is_error else ""
    text = f"{QUOTED.removesuffix(':')}{error}:\n\n{result.text or '(no content)'}{left_out}"
    return replace(result, role="user", kind=Kind.TEXT, payload={"type": "text", "text": text, **entry_of(result)})


STRATEGY = (
    Strategy(
        name="return-call",
        safety=frozenset(),
        summary="puts the call of a result that is sent without it directly before that result, from the line before the compaction",
        cost="One line for each call, a copy of the stored block; the line before the compaction stays where it is.",
        user_visible_effect="The tool run is shown with its call.",
        pros="The call is in the file, and exactly one line has it: nothing is invented, and the result stays a result.",
        cons="What the model thought before that call stays before the compaction: the summary has to say it.",
        write_kind="W3",
        propose=_with_calls,
        order=300,
    ),
    Strategy(
        name="quote-orphaned-results",
        safety=frozenset({Safety.LOSSY, Safety.INVENTED}),
        summary="turns a result whose call is not sent into words of the user that quote it",
        cost="The words stay; that they are the answer to a call does not. Images in the result are left out, and the text says so.",
        user_visible_effect="The output of the tool is shown as a message that begins with: " + QUOTED,
        pros="Nothing that a tool said is lost, and no provider asks for a call before words of the user. Deleting the line, as most instructions say, loses them.",
        cons="The model reads it as something that the user pasted.",
        write_kind="content",
        propose=_quoted,
        order=320,
    ),
)
