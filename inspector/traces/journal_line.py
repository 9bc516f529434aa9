"""One line of a journal: decoded, checked to be a record, and rescued where it follows a torn one."""

from collections.abc import Callable
from typing import Any

from inspector.text.js_json import canonical, parse
from inspector.traces.bodies import Body, plain

_RECORD_START = b'{"kind":'


def decoded(line: bytes) -> tuple[str, str, str]:
    """The line as the collector reads it, as it is shown, and what is wrong with its bytes ("" if nothing is)."""
    # The collector reads bad bytes as U+FFFD, so its ids cover that text; what is shown keeps the bytes.
    try:
        text = line.decode()
        return text, text, ""
    except UnicodeDecodeError:
        problem = "it holds bytes that are not UTF-8: they are kept as they are"
        return line.decode("utf-8", "replace"), line.decode("utf-8", "surrogateescape"), problem


def object_of(text: str) -> dict[str, Any]:
    """The fields of a record. Raises ValueError where `text` is no JSON object with a kind."""
    value = parse(text)
    if not isinstance(value, dict) or "kind" not in value:
        raise ValueError("it is no object with a kind")
    return value


def after_torn(line: bytes) -> dict[str, Any] | None:
    """The record on this line after a torn one; None where there is none."""
    # A killed server leaves half a line, and the next start writes on after it (20 restarts in a day, 2026-06-28).
    start = line.rfind(_RECORD_START)
    try:
        return object_of(line[start:].decode()) if start > 0 else None
    except ValueError:
        return None


def why_unreadable(error: ValueError, last: bool) -> str:
    """Why a line is left out: torn, where it is the last of the file, or damaged."""
    if last:
        return f"the file ends in a line that is no complete record ({error}): it was torn or is still being written; read the file again later"
    return f"it is no record ({error}) and is left out"


def body_of(value: Any, valid: bool, complain: Callable[[str], None]) -> Body | None:
    """The body of a record as bytes. `valid` says that the line was UTF-8, so that lone surrogates come from JSON escapes."""
    if value is None:
        return None
    if not isinstance(value, str):
        complain("its body is not text: it is kept as JSON")
        value = canonical(value)
    for errors in ("strict", "surrogatepass") if valid else ("surrogateescape", "surrogatepass"):
        try:
            return plain(value.encode("utf-8", errors))
        except UnicodeEncodeError:
            continue
    return None
