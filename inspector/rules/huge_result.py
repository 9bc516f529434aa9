"""TOOL501: a tool result that is much larger than a context can bear."""

from collections.abc import Iterator

from inspector.conversation import queries
from inspector.rules.base import Case, Match, Origin, Rule, Severity
from inspector.text.jsontext import encode

# What upstream compares its own tool results with.
MOST_BYTES = 50 * 1024
MOST_LINES = 2000


def check(case: Case) -> Iterator[Match]:
    for message in case.messages:
        for result in queries.results(message):
            text = result.text
            if len(text) * 4 <= MOST_BYTES and len(text) < MOST_LINES:
                continue
            size, lines = len(encode(text)), text.count("\n") + 1
            if size > MOST_BYTES or lines > MOST_LINES:
                yield Match(
                    (result,),
                    f"The result of {result.tool_name[:60] or 'a tool'} at seq {result.seq} has {size:,} bytes in {lines:,} lines; "
                    "it is sent whole with every request.",
                )


RULE = Rule(
    code="TOOL501",
    state="V1",
    name="huge-result",
    severity=Severity.NOTE,
    silent=False,
    origin=Origin.STORE,
    summary="a tool result is over 50 KB or 2,000 lines",
    why="Results are stored and sent without a limit. One such result fills the context, makes memory jump, and brings compaction on early.",
    example='1 user 0.0 text go\n2 assistant 1.0 tool-call a cat {}\n3 tool 2.0 tool-result a "' + "\\n" * MOST_LINES + '" name=cat',
    check=check,
    references=("Dispatch notes on memory: the comparison is 50 KB or 2,000 lines",),
    repaired_by=(),
    no_repair_reason="The result is whole; cutting it is a choice about content.",
    fixed_in_code="Cut a result at a limit when it is stored, and say in it how much was cut.",
)
