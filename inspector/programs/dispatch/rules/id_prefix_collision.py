"""STORE303: rows of another conversation are read as this one's, because their ids match as a pattern."""

from collections.abc import Iterator, Sequence

from inspector.rules.base import Case, Match, Origin, Rule, Severity

SHOWN = 8


def check(case: Case) -> Iterator[Match]:
    others = case.bleeding
    if others:
        names = ", ".join(repr(other_id[:60]) for other_id in others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
        yield Match(
            (),
            f"The program reads the rows of {names} as this conversation's too: its listing {_how(case.conversation.native_id, others)}.",
            evidence=(
                ("this id", repr(case.conversation.native_id[:200])),
                *(("also returned", repr(other_id[:200])) for other_id in others[:SHOWN]),
                *((("and", f"{len(others) - SHOWN} more"),) if len(others) > SHOWN else ()),
            ),
        )


def _how(native_id: str, others: Sequence[str]) -> str:
    plain = not any(letter in native_id for letter in "_%")
    if plain and all(len(other_id) != len(native_id) for other_id in others):
        return "takes what follows :chunk: in another id for the number of a row"
    return "ignores case and takes _ and % in an id for wildcards"


RULE = Rule(
    code="STORE303",
    state="L1",
    name="id-prefix-collision",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.READER,
    summary="another conversation's rows are read as part of this one",
    unnoticed="foreign content",
    why=(
        "Rows are listed with LIKE, which ignores ASCII case and takes _ and % for wildcards; ids are chosen by clients and are not escaped, "
        "and one that goes on with :chunk: after another reads as a row of it. "
        "What was said elsewhere goes into this context and to its provider; compaction, which deletes what it lists, takes the foreign rows along."
    ),
    example="1 user 0.0 text hello\nbleeding CASE",
    check=check,
    references=("derived from the key listing of storage-sqlite in Dispatch; run with SQLite",),
    repaired_by=("rename-in-fork",),
    fixed_in_code="List keys by range (`key >= prefix AND key < successor`) instead of LIKE, or escape the id.",
)
