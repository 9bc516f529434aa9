"""What each program makes of a damaged session in memory: which reader a finding affects, and which repairs it, as rows of evidence.

Measured on pi 0.73.1, 0.87.1 and 1.5.2 and on OpenClaw 2026.1.30, 2026.7.1 and 2026.9.6; by the names of the readers.
"""

from collections.abc import Mapping

from inspector.programs.pi_openclaw.readers.rows import OPENCLAW, OPENCLAW_SQLITE, PI

SESSIONS = (PI, OPENCLAW, OPENCLAW_SQLITE)
"""Formats of rules that know sessions that are trees."""
_PI = "pi-0.68 to pi-1.5"
_REFUSED = ("verbatim", "the request is refused")
_LINE = (
    (f"{_PI}, openclaw-2026.1, openclaw-2026.7", "skip the line without an error; entries below it lose their parent"),
    ("openclaw-2026.9", "skips the line; its children go on from the leaf of that moment in requests, and not in a compaction"),
)
EFFECTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "dangling": (
        (f"verbatim, {_PI}, openclaw-2026.1, openclaw-2026.7", "the path begins at this entry: everything above it is hidden"),
        ("openclaw-2026.9", "its requests go on from the leaf of that moment; its compaction begins here"),
    ),
    "cycle": (
        (f"{_PI}, openclaw-2026.1", "an endless loop, until the memory is full"),
        ("openclaw-2026.7", "the walk ends at the cycle; what is above is hidden"),
        ("openclaw-2026.9", "the active path is empty, though its context builder still returns messages"),
    ),
    "repeated-id": (
        (f"{_PI}, openclaw-2026.1", "the later entry takes the earlier one's place; where the chain closes by that, an endless loop"),
        ("openclaw-2026.7", "guarded, but the order changes and the first entry is gone"),
        ("openclaw-2026.9", "the active path is empty where the chain closes"),
    ),
    "compaction": (("every reader", "the summary and what follows it are all that is left; nothing is said"),),
    "hidden": (("every reader", "takes the live path only; the bytes of the other branch stay in the file"),),
    "other-branch": (
        (f"pi-0.69 to pi-1.5, {OPENCLAW} (all)", "add a synthetic result, though the real one is in the file"),
        ("pi-0.68", "adds one as well, but not for the last turn"),
        _REFUSED,
    ),
    "missing": (
        ("pi-0.69 to pi-1.5", "add 'No result provided' to each request"),
        ("pi-0.68", "adds one as well, but not for the last turn"),
        ("openclaw (all)", "add a synthetic result to each request"),
        _REFUSED,
    ),
    "displaced": (
        (_PI, "add a synthetic result and leave the real one where it is: the request is refused"),
        ("openclaw-2026.1", "drops the real result outside of its span, and adds a synthetic one"),
        ("openclaw-2026.7, openclaw-2026.9", "move it to its call; one that comes before its call is dropped"),
        _REFUSED,
    ),
    "several": (
        (_PI, "leave all of them: the request is refused"),
        ("openclaw-2026.1", "keeps the first, synthetic or not; one at the very end gets through"),
        ("openclaw-2026.7, openclaw-2026.9", "keep a real one rather than a synthetic one"),
        _REFUSED,
    ),
    "orphan": ((_PI, "leave it: the request is refused"), ("openclaw (all)", "drop it"), _REFUSED),
    "failed": (
        (_PI, "leave the whole answer out, but not its results: where it has any, the request is refused"),
        ("openclaw-2026.1", "adds synthetic results for those that are missing"),
        ("openclaw-2026.7", "leaves it as it is: where a result is missing, the request is refused"),
        ("openclaw-2026.9", "leaves the answer out together with its results"),
    ),
    "arguments": (
        ("openclaw-2026.9", "drops the call, and the answer where nothing else is in it"),
        (f"verbatim, {_PI}", "send it as it is"),
    ),
    "line": _LINE,
    "fused": _LINE,
    "no-leaf": (
        (f"verbatim, {_PI}, openclaw-2026.1", "have no leaf: the context is empty"),
        ("openclaw-2026.7, openclaw-2026.9", "keep their leaf"),
    ),
    "no-id": (
        (f"verbatim, {_PI}, openclaw-2026.1", "read the row and what is above it; what they write next hangs below nothing"),
        ("openclaw-2026.7, openclaw-2026.9", "leave the row out, and keep their leaf"),
    ),
    "odd-id": (
        (f"verbatim, {_PI}, openclaw-2026.1", "read the row and what is above it, and go on from it"),
        ("openclaw-2026.7, openclaw-2026.9", "leave the row out, and keep their leaf"),
    ),
    "header": (
        ("pi-0.68, pi-0.69, openclaw-2026.1", "overwrite the file by an empty session when they open it"),
        ("pi-0.87, pi-1.5", "refuse to open it"),
        ("openclaw-2026.7", "puts a new header before it, with a copy next to the file"),
    ),
}


def effects(shape: str) -> tuple[tuple[str, str], ...]:
    return EFFECTS[shape]
