"""STORE304: the index, the meta row and the rows of a conversation do not agree on whether it exists."""

from collections.abc import Iterator

from inspector.programs.dispatch.rows import read_meta
from inspector.rules.base import Case, Match, Origin, Rule, Severity

_NOT_IN_INDEX = {"not listed": "conv-index does not name it", "damaged": "conv-index is no JSON array"}


def check(case: Case) -> Iterator[Match]:
    """Silent where the store has no index at all: its version knew none."""
    conversation = case.conversation
    index, meta = conversation.fact("index"), conversation.facts.get("meta")
    if not index:
        return
    is_readable = bool(read_meta(meta))
    of_meta = "" if is_readable else "its meta row cannot be read" if meta is not None else "it has no meta row"
    if conversation.chunks or conversation.legacy:
        reasons = [reason for reason in (_NOT_IN_INDEX.get(index, ""), of_meta) if reason]
        if reasons:
            yield Match((), f"The program does not list this conversation: {' and '.join(reasons)}. Its rows are all there.")
    # A client may set the folder or model of a conversation before anything is said in it: only a listed one is a ghost.
    elif index == "listed" and of_meta:
        yield Match(
            (), f"Nothing is left of this conversation but its name in conv-index: the store holds no message of it, and {of_meta}."
        )


RULE = Rule(
    code="STORE304",
    state="X1",
    name="unlisted-conversation",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="a conversation is not listed, or is listed and not there",
    why=(
        "The list is made from conv-index and the meta rows, each written on its own after the rows. Where one is missing or damaged the conversation cannot be found, "
        "though nothing of it is lost; the next append writes a missing meta row again, with another title and time. A name in the index without any row is skipped."
    ),
    example="@index not listed\n1 user 0.0 text go",
    check=check,
    blocks_resume=True,
    references=("Dispatch store tests, S-28 and S-30: ghost ids are skipped, a meta row that does not parse counts as missing",),
    no_repair_reason="Listing is the program's own business: it writes the row again at the next append, and a repair into a new conversation is listed.",
    fixed_in_code="Write rows, meta and index in one transaction; list conversations from their keys when the store is opened.",
)
