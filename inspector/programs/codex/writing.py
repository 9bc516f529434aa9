"""What a repair writes: a new thread, or the lines of the file itself."""

from collections.abc import Sequence

from inspector.conversation.edits import Plan
from inspector.programs.formats import Change, Stored, WriteMode, WriteRefused

FORK, IN_PLACE = "new-thread", "same-file"
MODES: tuple[WriteMode, ...] = (
    WriteMode(FORK, "writes the repaired thread as a new rollout file with a new id next to this one, which stays as it is", "fork"),
    WriteMode(IN_PLACE, "rewrites the lines of the thread that change; every other line keeps its bytes", "in-place"),
)
READ_ONLY = "Inspector reads threads of Codex and does not write them yet: go on with a fork that Codex makes (`codex fork`)."


def options(mode: str, stored: Stored, fresh_id: str) -> dict[str, str]:
    return {"fork_id": fresh_id} if mode == FORK else {}


def write(plan: Plan, stored: Stored) -> Sequence[Change]:
    if not plan.edits:
        return []
    raise WriteRefused(READ_ONLY)
