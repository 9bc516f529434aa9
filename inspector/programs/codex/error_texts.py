"""What Codex answers with when it does not open a thread, apart from errors of the provider: texts of codex-cli 0.169.0, run, and of `codex resume` in
openai/codex #45150 and the reports of `formats/claude_code_codex.md` 2.3.
"""

from inspector.programs.base import Meaning

MEANINGS = (
    Meaning(
        r"rollout does not start with session metadata",
        "the first record of the rollout file is no session_meta that Codex can parse: it opens nothing of the thread, though the rest of the file may be whole",
        "STORE811",
        advice="Copy the first line from a backup of the file, or from another thread of the same folder with the id of this one.",
    ),
    Meaning(
        r"stream did not contain valid UTF-8",
        "a line of the rollout file holds bytes that are not UTF-8: Codex reads no line of such a file",
        "STORE811",
        advice="Choose replace-invalid-bytes, which writes U+FFFD in their place.",
    ),
    Meaning(
        r"paginated rollout record is missing an ordinal",
        "the last record of a paginated thread has no ordinal: Codex refuses the whole thread",
        "STORE811",
        advice="Choose give-ordinals, which numbers the records that have none.",
    ),
    Meaning(
        r"no rollout found for (?:thread|conversation) id",
        "Codex has the thread in its list (state_N.sqlite), or was given its id, and no rollout file below ~/.codex/sessions has that id: the file was deleted, "
        "moved, archived, or renamed",
        "STORE817",
        advice="Put the file back to its place below sessions/YYYY/MM/DD, from archived_sessions or from a backup: the list is made of the files, and holds no message.",
    ),
)  # fmt: skip
