"""Sessions of OpenClaw's JSONL era: pi's file with control rows, next to a sessions.json, lock files and copies of what was reset."""

from inspector.programs.pi_openclaw.files import SessionFiles

NAME = "openclaw"

OPENCLAW = SessionFiles(
    NAME,
    "OpenClaw sessions (JSONL files with sessions.json, alone or in folders)",
    '{"type":"session","version":3,"id":"0199…","cwd":"~/.openclaw/workspace"}',
    "openclaw-2026.9",
    control_rows=True,
)
