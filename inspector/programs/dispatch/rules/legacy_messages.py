"""STORE301: whole messages of the store's first generation, which the program of today never reads."""

from collections.abc import Iterator

from inspector.rules.base import Case, Match, Origin, Rule, Severity

SHOWN = 8


def check(case: Case) -> Iterator[Match]:
    legacy, chunks = case.conversation.legacy, case.conversation.chunks
    if not legacy:
        return
    rows = (
        "A whole-message row of the older generation is"
        if len(legacy) == 1
        else f"{len(legacy)} whole-message rows of the older generation are"
    )
    if not chunks:
        effect = "the chat looks empty"
    elif chunks[0].seq > 1:
        effect = f"the chat begins at seq {chunks[0].seq}, and what was said before is out of sight"
    else:
        effect = "the chat shows only the chunk rows next to them"
    evidence = [
        (f"message {message.chunks[0].seq if message.chunks else '?'}", _words(message.role, [chunk.text for chunk in message.chunks]))
        for message in legacy[:SHOWN]
    ]
    if len(legacy) > SHOWN:
        evidence.append(("and", f"{len(legacy) - SHOWN} more messages"))
    if chunks and chunks[0].seq == len(legacy) + 1:
        evidence.append(
            ("first chunk row", f"seq {chunks[0].seq}, one above the number of whole messages: the counter was taken over as it was")
        )
    yield Match(chunks[:1], f"{rows} still stored and no longer read: {effect}.", evidence=tuple(evidence))


def _words(role: str, texts: list[str]) -> str:
    return f"{role or 'unreadable row'}: {' '.join(text[:120] for text in texts[:4])}"[:160]


RULE = Rule(
    code="STORE301",
    state="G1",
    name="legacy-messages",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="messages of an older generation of the store are never read again",
    unnoticed="history lost",
    why=(
        "The upgrade to one row per chunk brought no migration: whole-message rows stay where they are and nothing reads them, while the counter is used on. "
        "Users find their chats empty, and the model knows nothing of what was said."
    ),
    example='legacy 0 {"role":"user","chunks":[{"type":"text","text":"hello"}]}',
    check=check,
    references=("derived from keys.ts and store.ts of Dispatch before and after 44e2717",),
    repaired_by=("convert-legacy-messages",),
    fixed_in_code="Turn whole-message rows into chunk rows when a conversation that has them is first opened.",
)
