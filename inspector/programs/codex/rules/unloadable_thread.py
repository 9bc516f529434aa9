"""STORE811: what makes Codex refuse a whole thread."""

from collections.abc import Iterator

from inspector.programs.codex.facts import STOPS
from inspector.rules.base import Case, Match, Origin, Rule, Severity

_BYTES = "replace-invalid-bytes"
_ORDINALS = "give-ordinals"
_FIRST = "What the first record said of the thread is nowhere else in the file: copy it from a backup, or from another thread of the same folder with this one's id."


def check(case: Case) -> Iterator[Match]:
    reason = case.conversation.fact(STOPS)
    if reason:
        repaired_by = (_BYTES,) if "UTF-8" in reason else (_ORDINALS,) if "ordinal" in reason else ()
        yield Match(
            (),
            f"Codex does not load this thread: {reason}.",
            repaired_by=repaired_by,
            evidence=(("resume", reason[:200]),),
            no_repair_reason="" if repaired_by else _FIRST,
        )


RULE = Rule(
    code="STORE811",
    state="CX1",
    name="unloadable-thread",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="a record makes Codex refuse the whole thread",
    why=(
        "Codex 0.169 wants a session_meta with its id, time, folder, originator and version as the first record, UTF-8 in every line, and in a paginated thread an "
        "ordinal in the last record. Without one of them `codex resume` ends with an error, though the rest of the file is whole."
    ),
    example='@format codex\nline {"timestamp":"2026-08-01T10:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[]}}',
    check=check,
    blocks_resume=True,
    references=("openai/codex #45150", "openai/codex #36802", "openai/codex rollout/src/ordinal.rs", "codex-cli 0.169.0, run"),
    repaired_by=(_BYTES, _ORDINALS),
    fixed_in_code="Skip a record that cannot be read, and say which, instead of refusing the thread.",
)
