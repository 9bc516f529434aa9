"""TOOL206: the same result stored again and again."""

from collections import Counter
from collections.abc import Iterator

from inspector.conversation import queries
from inspector.conversation.model import Chunk
from inspector.rules.base import Case, Match, Origin, Rule, Severity, cached_per_case, orphaned
from inspector.text.jsontext import compact, encode


def repeats(case: Case) -> list[list[Chunk]]:
    """Groups of results that are equal byte for byte, of ids that no two calls share: those may answer a call each."""
    results = Counter(result.call_id for message in case.messages for result in queries.results(message))
    if all(count == 1 for count in results.values()):
        return []
    calls = Counter(call.call_id for message in case.messages for call in queries.calls(message))
    groups: dict[tuple[str, str], list[Chunk]] = {}
    for message in case.messages:
        for result in queries.results(message):
            if result.call_id and results[result.call_id] > 1 and calls[result.call_id] < 2:
                groups.setdefault((message.role, _content(result)), []).append(result)
    return [group for group in groups.values() if len(group) > 1]


def _content(result: Chunk) -> str:
    """Without what the line keeps next to the message: its own id, and its time."""
    return compact({name: value for name, value in result.payload.items() if name != "entry"})


@cached_per_case
def superfluous(case: Case) -> list[list[Chunk]]:
    """Of each group of equal results all but the one that follows its call, or but the first where none does."""
    misplaced = {chunk.key for _, chunk in orphaned(case)}
    groups = []
    for group in repeats(case):
        kept_result = next((chunk for chunk in group if chunk.key not in misplaced), group[0])
        groups.append([chunk for chunk in group if chunk is not kept_result])
    return groups


def check(case: Case) -> Iterator[Match]:
    for chunks in superfluous(case):
        first = chunks[0]
        tool = f" ({first.tool_name[:60]})" if first.tool_name else ""
        one = len(chunks) == 1
        size = sum(len(encode(chunk.text)) for chunk in chunks)
        yield Match(
            chunks,
            f"The result of call {first.call_id[:60]!r}{tool} is stored {len(chunks) + 1} times, byte for byte: "
            f"{'the row' if one else 'the rows'} at seq {queries.span_text([chunk.seq for chunk in chunks])} {'adds' if one else 'add'} nothing ({size:,} bytes).",
        )


RULE = Rule(
    code="TOOL206",
    state="O2",
    name="repeated-output",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="one tool result is stored several times over",
    why=(
        "A program that echoes a result stores it many times. Each copy is sent with every request and paid for, and crowds out what was said; "
        "providers that check pairs refuse the second one."
    ),
    example='1 user 0.0 text go\n2 assistant 1.0 tool-call a ls {}\n3 tool 2.0 tool-result a "f" name=ls\n4 tool 3.0 tool-result a "f" name=ls',
    check=check,
    references=("Dispatch notes on the old store (packages/core): tool output duplicated 10 to 150 times",),
    repaired_by=("deduplicate-results",),
    fixed_in_code="Store a result once, under the id of its call.",
)
