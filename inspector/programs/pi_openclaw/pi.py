"""Sessions of pi: one JSONL file each, with a tree of entries in it (header versions 1 to 3)."""

from inspector.programs.pi_openclaw.files import SessionFiles

NAME = "pi"

PI = SessionFiles(
    NAME,
    "pi sessions (JSONL files of versions 1 to 3, alone or in folders)",
    '{"type":"session","version":3,"id":"0199…","cwd":"/srv/app"}',
    "pi-1.5",
)
