"""TREE107: a file that ends with a row that is no message, where that changes or endangers what is read."""

from collections.abc import Iterator

from inspector.conversation.tree import LEAF, Entry
from inspector.programs.pi_openclaw.readers.pi import stopping_lines
from inspector.programs.pi_openclaw.readers.rows import PI, ends_without_entry, is_skipped
from inspector.programs.pi_openclaw.rules.session_effects import effects
from inspector.programs.pi_openclaw.rules.session_tree import SETTINGS, Tree, name, tree_of, whole
from inspector.rules.base import Case, Match, Origin, Rule, Severity

_GIVE_ID = "Before pi writes on, give the row an id by hand, on a copy: a text that no other row has. Every repair of something else writes it under one."
_POINTING = ("label", "context_edit")


def check(case: Case) -> Iterator[Match]:
    tree = tree_of(case)
    if whole(case).fact(LEAF) is not None:
        return
    weight = Severity.WARNING if case.conversation.format == PI else Severity.NOTE
    if ends_without_entry(whole(case)):
        if stopping_lines(case.conversation, case.reading.reader):
            return
        chunk = next(chunk for chunk in reversed(whole(case).chunks) if chunk.damage == "not-object" and not is_skipped(chunk))
        yield Match(
            (chunk,),
            f"The last line (seq {chunk.seq}) is JSON, but no object: pi has no leaf, and its context is empty.",
            severity=weight,
            evidence=effects("no-leaf"),
        )
        return
    if not tree.all:
        return
    last = tree.all[-1]
    if not last.id:
        yield _without_id(tree, last, weight)
        return
    if last.type not in SETTINGS or last.index not in tree.on_path:
        return
    newest = next((entry for entry in reversed(tree.all) if entry.type not in SETTINGS and entry.type != "leaf"), None)
    parent = tree.parent(last)
    if newest is not None and newest.index not in tree.on_path and parent is not None and parent.index < newest.index:
        yield Match(
            last.chunks,
            f"The file ends with a {last.type} {name(last)} that hangs below {name(parent)}: it is the leaf, and hides {name(newest)}, which was written before it.",
        )
    elif last.type in _POINTING:
        text = f"The file ends with a {last.type} {name(last)}, which is the leaf; nothing is hidden by it."
        yield Match(last.chunks, text, severity=Severity.NOTE)


def _without_id(tree: Tree, last: Entry, weight: Severity) -> Match:
    where, id_ = f"The last row (seq {last.chunks[0].seq})", last.about.get("id", "")
    if id_ is None:
        text, shape = f"{where} has null for its id: pi has no leaf then, and its context is empty.", "no-leaf"
    elif id_ == "":
        reads = "reads it with what is above it" if tree.parent(last) else "reads this row and nothing else, for it has no parent"
        text, shape = (
            f"{where} has no id: pi {reads}, and what it writes next has no parent, which hides all of this from then on.",
            "no-id",
        )
    else:
        text, shape, weight = (
            f"{where} has an id that is no text: pi goes on from it, other programs leave it out.",
            "odd-id",
            Severity.NOTE,
        )
    return Match(last.chunks, text, severity=weight, evidence=effects(shape), no_repair_reason=_GIVE_ID)


RULE = Rule(
    code="TREE107",
    state="OP7",
    name="trailing-control-leaf",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="the file ends with a row that is no message, and the path ends with it",
    why=(
        "pi takes the last line for the leaf, whatever it is. Where its id is null, or it is no object, the session opens empty; without an id it is read, but "
        "what is written next hangs below nothing, so that the resume after that has forgotten all; "
        "a label or an edit that hangs further up hides what was said since."
    ),
    example='@format pi\n1 user 1.0 text go\n2 assistant 2.0 text done\n3 - 3.- control entry=- about={"type":"note"}',
    check=check,
    references=("pi session reader, measured on 0.73.1 and 0.87.1: what it reads, and what it reads after it has written on",),
    no_repair_reason="Nothing is lost: write on in the session from the right leaf, and the row is no longer the last one; or take it out by hand, on a copy.",
    fixed_in_code="Take the last entry that has an id for the leaf, and hang labels below the leaf of the moment.",
)
