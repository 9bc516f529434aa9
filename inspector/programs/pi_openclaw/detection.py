"""How session files of pi and OpenClaw are distinguished from each other and from other programs' JSONL, by first bytes or by the names in a folder."""

import json
import re
from collections.abc import Sequence
from typing import Any

from inspector.programs.pi_openclaw.folder import INDEX, LOCK, is_session

PI, OPENCLAW = "pi", "openclaw"
_STAMPED = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_[A-Za-z0-9][A-Za-z0-9._-]*\.jsonl")
_HEADER = re.compile(rb'\s*\{\s*"type"\s*:\s*"session"')
_ENTRY = re.compile(rb'^\s*\{\s*"type"\s*:\s*"(?:message|model_change|thinking_level_change|compaction)"[^\n]*"parentId"\s*:', re.MULTILINE)
# The members and values that only OpenClaw writes; quotes keep words of a conversation out, which are escaped there.
_OPENCLAW = re.compile(
    rb'"(?:__openclaw|idempotencyKey|appendMode|appendParentId|providerReplay|openclawSyntheticMissingToolResult)"\s*:'
    rb'|:\s*"(?:openclaw|model-snapshot|delivery-mirror|gateway-injected|google-turn-ordering-bootstrap)"'
    rb'|\{\s*"type"\s*:\s*"(?:leaf|reset)"|"cwd"\s*:\s*"[^"\n]*[/\\]\.(?:openclaw|clawdbot|moltbot)\b'
)


def of_head(head: bytes) -> tuple[str, float]:
    """Which of the two a file with these first bytes is, and how sure that is; "" for neither."""
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    sure = 0.0
    if _HEADER.match(head):
        sure = _of_header(head.split(b"\n", 1)[0])
    elif _ENTRY.search(head):
        # The header is gone or broken.
        sure = 0.6
    if not sure:
        return "", 0.0
    return (OPENCLAW, sure + 0.05) if _OPENCLAW.search(head) else (PI, sure)


def of_heads(heads: Sequence[bytes]) -> tuple[str, float]:
    """The same of a folder from the beginnings of some of its files: a little less sure than what their names say; OpenClaw where one is."""
    guesses = [of_head(head) for head in heads]
    name = OPENCLAW if any(name == OPENCLAW for name, _ in guesses) else PI
    sure = max((sure for _, sure in guesses), default=0.0)
    return (name, 0.8 * sure) if sure else ("", 0.0)


def _of_header(line: bytes) -> float:
    try:
        header: Any = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return 0.6
    if not isinstance(header, dict):
        return 0.0
    if "version" not in header and "model" in header:
        # Era A of rollouts writes its header like that; version 1 of pi says modelId.
        return 0.0
    return 0.75 if isinstance(header.get("id"), str) and ("cwd" in header or "version" in header) else 0.5


def of_names(keys: tuple[str, ...]) -> tuple[str, float]:
    """The same of a folder with files of these names. Names that any program gives (an id and .jsonl) say nothing."""
    best = ("", 0.0)
    folders = {key.rpartition("/")[0] for key in keys if key.rpartition("/")[2] == INDEX}
    for key in keys:
        folder, _, name = key.rpartition("/")
        guess = ("", 0.0)
        if not is_session(key):
            guess = (OPENCLAW, 0.65) if name.endswith(LOCK) else guess
        elif folder in folders or re.search(r"(?:^|/)agents/[^/]+/sessions$", folder):
            guess = (OPENCLAW, 0.9)
        elif _STAMPED.fullmatch(name):
            guess = (PI, 0.85 if folder.rpartition("/")[2].startswith("--") else 0.7)
        elif re.search(r"(?:^|/)(?:\.openclaw|\.clawdbot|\.moltbot)/sessions$", folder):
            guess = (OPENCLAW, 0.8)
        best = max(best, guess, key=lambda candidate: candidate[1])
    return best
