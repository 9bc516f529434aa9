"""MSG101 to MSG104: several messages are read as one, that of the first one's role or, of neighbors of one role, with their texts joined."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise

from inspector.conversation.queries import span_text, turns
from inspector.programs.dispatch.rules.merges import foreign, indexes, listing, merges, ruled_out
from inspector.rules.base import Case, Match, Origin, Rule, Severity

_SPLIT = "Group by `seq - chunkIdx`, or split on role as well as msgIdx."
_DERIVED = ("derived from load() of Dispatch store.ts 71c635f",)


_CONSEQUENCES = {
    "user": ". The model's own answers of seq {seqs} are labeled as the {role}'s.",
    "assistant": ": seq {seqs} is presented as the model's own words. The request stays valid, so nothing errors.",
    "system": ": seq {seqs} gets the authority of the system prompt.",
}
"""By role of the merged message; any other role is reported as a user's."""


def _relabeled(reported_as: str, case: Case) -> Iterator[Match]:
    for message, merged in merges(case):
        relabeled = foreign(message, merged)
        role = message.role if message.role in _CONSEQUENCES else "user"
        if role != reported_as or not relabeled:
            continue
        turn_count = len([turn for turn in turns(merged) if turn[0].role == "user"])
        of_turns = "" if role != "user" else " of one turn" if turn_count < 2 else f" of {turn_count} turns"
        consequence = _CONSEQUENCES[role].format(seqs=span_text([chunk.seq for chunk in relabeled]), role=message.role)
        text = f"{len(merged)} messages in a row{of_turns} share msgIdx {indexes(merged)} and are read as one {message.role} message{consequence}"
        yield Match(message.chunks, text, evidence=listing(merged), ruled_out=() if role == "system" else ruled_out(case))


def _glued(case: Case) -> Iterator[Match]:
    for _, merged in merges(case):
        for first, second in pairwise(merged):
            if first.role == second.role:
                text = (
                    f"Two {first.role} messages, seq {span_text(first.seqs)} and seq {span_text(second.seqs)}, carry equal msgIdx and role: "
                    "their texts are glued, and splitting on role alone would not part them."
                )
                yield Match((*first.chunks, *second.chunks), text)


def _rule(
    code: str,
    name: str,
    summary: str,
    why: str,
    example: str,
    check: Callable[[Case], Iterator[Match]],
    severity: Severity = Severity.ERROR,
    references: tuple[str, ...] = _DERIVED,
    fixed_in_code: str = _SPLIT,
) -> Rule:
    return Rule(
        code=code,
        state=f"M{code[-1]}",
        name=name,
        severity=severity,
        silent=True,
        origin=Origin.READER,
        summary=summary,
        unnoticed="roles wrong" if severity is Severity.ERROR else "",
        why=why,
        example=example,
        check=check,
        references=references,
        repaired_by=("renumber-messages",),
        fixed_in_code=fixed_in_code,
    )


RULE = (
    _rule(
        "MSG101",
        "merged-messages",
        "messages of different roles are read as one user message",
        "Each append counts msgIdx from 0, and the loader takes equal msgIdx for one message. The model gets its own answers as the user's "
        "words and its tool calls not at all (a user message is converted to its texts only), so that results have lost their calls. "
        "Nothing errors until a result is sent without its call.",
        "1 user 0.0 text hello\n2 assistant 0.0 text hi\n3 user 0.0 text bye",
        partial(_relabeled, "user"),
        references=(
            "Dispatch notes/tool-call-in-thinking-bug.md, 2026-06-28",
            "Dispatch commits 44e2717 (chunk rows) and 519b799 (an append per step)",
        ),
        fixed_in_code="Group by `seq - chunkIdx` (right for every stored row). Splitting on role as well as msgIdx repairs all but two neighbors of one role.",
    ),
    _rule(
        "MSG102",
        "merged-into-assistant",
        "what the user said is read as the model's words",
        "After a tool result the loader starts an assistant message and swallows everything up to the next tool result, the user's messages "
        "included. The request is valid and keeps its tool calls, so no provider refuses it: the user's instructions silently become something that the model said.",
        '1 user 0.0 text look\n2 assistant 0.0 tool-call a ls {}\n3 tool 1.0 tool-result a "f" name=ls\n4 assistant 0.0 text done\n5 user 0.0 text thanks',
        partial(_relabeled, "assistant"),
    ),
    _rule(
        "MSG103",
        "merged-into-system",
        "what user and model said is read as system text",
        "A stored system row with msgIdx 0 takes in all rows after it that carry msgIdx 0. What a user typed, or a model wrote, is obeyed as the operator's instruction.",
        "1 system 0.0 system rules\n2 user 0.0 text hello\n3 assistant 0.0 text hi",
        partial(_relabeled, "system"),
    ),
    _rule(
        "MSG104",
        "glued-messages",
        "two messages of one role are read as one",
        "A turn that stored only its user message (a crash, an abort) is followed by another user message with the same msgIdx. "
        "Both texts reach the model as one word salad, also where the loader splits on the role as well.",
        "1 user 0.0 text one\n2 user 0.0 text two\n3 assistant 0.0 text ok",
        _glued,
        Severity.WARNING,
        references=("derived; 4,751 of 20,000 random append histories differ for this reason where the loader splits on role as well",),
        fixed_in_code="Group by `seq - chunkIdx`; splitting on role is not enough here.",
    ),
)
