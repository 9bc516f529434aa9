"""What was pasted or dropped: a request (also inside a curl command, Python values or a log), a stream, a session, or a provider's error."""

import ast
import json
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import Any, NamedTuple

from inspector.presentation.diagnose.parts import are_messages, before_last_turn, cut_of, messages_of, unlisted
from inspector.presentation.explain.answer import recognized
from inspector.presentation.explain.meanings import unrecognized_meaning
from inspector.presentation.visible import beginning, ending
from inspector.sources import captures
from inspector.streams.whole_answers import as_stream
from inspector.text import jsontext
from inspector.wires.detection import format_of, formats_of, program_of_session
from inspector.wires.layout import NotARequest

LINES = 2_000
"""Lines of a log in which a request is looked for."""
TRIES = 20
"""Places of one line at which JSON may begin that are tried: what never closes would be read again from each."""
END = 100_000
"""Characters at the beginning and at the end of a text in which an error is looked for."""
PYTHON = 5_000_000
"""Characters of Python values that are read: the parser of Python takes about a hundred bytes for each."""
_DATABASE = b"SQLite format 3\0"
_BROKEN = 10
"""A text of which one character in so many is no UTF-8 is a file of another kind."""
_BODY_OPTIONS = ("-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--json")
_IN_DOLLAR = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ASSIGNED = re.compile(r"\A\s*[A-Za-z_][\w.]*\s*=\s*(?=[\[{(])")
_NOT_CLOSED = "A quote of this curl command is never closed: paste the whole command."
_PROMPT = re.compile(r"\A\s*[$>]\s+")


class Kind(StrEnum):
    REQUEST = "request"
    STREAM = "stream"
    ANSWER = "answer"
    """One that was not streamed: `data` is a stream that says the same."""
    SESSION = "session"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Pasted:
    """`data` is what is to be judged or explained, as it is or taken out of what was given; `what` says which of both, as the part of a sentence."""

    kind: Kind
    what: str
    data: bytes
    error: str = ""
    """A provider's error in the same text as a request, to be explained too."""
    format: str = ""
    """Of a part of a request, what the whole of it shows; "" where the data shows it."""
    is_cut: bool = False
    """A request that is cut off: `data` is as much of it as can be judged."""


class NotRecognized(Exception):
    """The message is the sentence that says what to do."""


class CurlProblem(NotRecognized):
    """A curl command without a body that can be read."""


def pasted(data: bytes) -> Pasted:
    """Raises NotRecognized."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").strip()
    if not text:
        raise NotRecognized("There is nothing to look at: paste an error, a request, a stream or a session, or choose a file.")
    if re.match(r"curl(?:\.exe)?\s", _PROMPT.sub("", text)):
        return _of_curl(_PROMPT.sub("", text))
    if is_request(data):
        return Pasted(Kind.REQUEST, "a request body", data)
    if (values := _of_python(text)) is not None and is_request(values):
        return Pasted(Kind.REQUEST, "a request written as Python values", values)
    if (answer := as_stream(jsontext.object_of(text))) is not None:
        api, events = answer
        return Pasted(Kind.ANSWER, f"an answer of {api} that was not streamed, judged as the events that say the same", events)
    if captures.kind_of(captures.of_bytes(data), "pasted") is not None:
        return Pasted(Kind.STREAM, "a captured stream", data)
    if program_of_session(data):
        return Pasted(Kind.SESSION, "the file of a session", data)
    if data.startswith(_DATABASE):
        raise NotRecognized(
            "This is an SQLite database, which holds many sessions: upload it at Sources, Add a source, or run import_source with its path; "
            "each session then has a page of its own."
        )
    if "\0" in text or text.count("\ufffd") * _BROKEN > len(text):
        raise NotRecognized("This is no text: choose the file that holds the error, request, stream or session as text in UTF-8.")
    # Where its messages are the same in several shapes.
    if (shared := _possible(text)) is not None:
        return Pasted(Kind.REQUEST, "a request" if text.startswith("{") else "a list of messages", shared.data)
    if part := _part(text):
        return part
    ends = text if len(text) <= 2 * END else f"{beginning(text, END)}\n{ending(text, END)}"
    is_error = bool(recognized(ends)) or unrecognized_meaning(ends) is not None
    if body := next(_in_lines(text), None):
        number, request = body
        return Pasted(Kind.REQUEST, f"a log with a request in line {number}", request, ends if is_error else "")
    if is_error:
        return Pasted(Kind.ERROR, "a provider's error", ends.encode("utf-8", "surrogatepass"))
    if text.startswith(("{", "[")):
        # Judging it says what is missing.
        return Pasted(Kind.REQUEST, "JSON", data)
    raise NotRecognized("This is no request, stream, session or provider's error that is known here: paste more of it, or the whole file.")


def is_request(data: bytes) -> bool:
    try:
        format_of(data)
    except NotARequest:
        return False
    return True


def _of_curl(command: str) -> Pasted:
    """The body of a curl command, as a shell would read it; browsers copy it with $'...' where it has special characters."""
    plain = _IN_DOLLAR.sub(lambda match: shlex.quote(_unescaped(match[1])), command.replace("\\\r\n", " "))
    words, is_cut = _words(plain)
    bodies = list(_bodies(words))
    if not bodies:
        raise CurlProblem("This curl command sends no body: paste the one with -d or --data, or the body itself.")
    if file := next((body for body in bodies if body.startswith("@")), None):
        raise CurlProblem(
            f"This curl command sends the file {file[1:200]!r}, which is on your machine: choose that file, or paste what is in it."
        )
    body = "&".join(bodies)
    if part := _part(body.strip()):
        return replace(part, what=f"a curl command with {part.what}")
    if is_cut:
        raise CurlProblem(_NOT_CLOSED)
    return Pasted(Kind.REQUEST, "a curl command, of which the body was taken", body.encode("utf-8", "surrogatepass"))


def _words(command: str) -> tuple[list[str], bool]:
    """Its words, and whether the last is cut off. Raises NotRecognized."""
    for quote in ("", "'", '"'):
        with suppress(ValueError):
            return shlex.split(command + quote), bool(quote)
    raise CurlProblem(_NOT_CLOSED)


def _bodies(words: list[str]) -> Iterator[str]:
    following = iter(words)
    for word in following:
        name, equals, value = word.partition("=")
        if name in _BODY_OPTIONS:
            yield value if equals else next(following, "")
        elif word.startswith("-d") and not word.startswith("--"):
            yield word[2:]


def _unescaped(text: str) -> str:
    return re.sub(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", _character, text, flags=re.DOTALL)


def _character(match: re.Match[str]) -> str:
    escape = match[1]
    if escape[0] in "ux" and len(escape) > 1:
        return chr(int(escape[1:], 16))
    return {"n": "\n", "t": "\t", "r": "\r"}.get(escape, escape)


def _of_python(text: str) -> bytes | None:
    """Values that somebody printed or copied out of a program, as JSON; None where they are none."""
    literal = _ASSIGNED.sub("", text)
    if len(literal) > PYTHON or not literal.startswith(("{", "[", "(")):
        return None
    try:
        return json.dumps(ast.literal_eval(literal)).encode()
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _part(text: str) -> Pasted | None:
    """As much as can be judged of a text that is no whole request; None where that is nothing."""
    text = _ASSIGNED.sub("", text)
    for candidate in (text, *unlisted(text)):
        cut = cut_of(candidate)
        if cut is None and candidate is text:
            continue
        possible = _possible(candidate if cut is None else cut.closed)
        if possible is None or (candidate is not text and not are_messages(possible.messages)):
            continue
        count = len(possible.messages)
        if cut is None:
            them = f"a list of {count:,} messages without its brackets" if count > 1 else "a single message, judged as a list of one"
            return Pasted(Kind.REQUEST, them, possible.data, format=possible.format)
        named = f"{'a request' if candidate is text else 'messages without the list around them'}, cut off {cut.where}"
        first = min(before_last_turn(possible.messages), len(cut.ends))
        if (cut.ends and not first) or (part := _possible(cut.up_to(first))) is None:
            continue
        judged = f"the first {first:,} messages are judged" if first > 1 else "the first message is judged"
        why = "" if first == len(cut.ends) else ", up to the turn that is not whole"
        says = f"{judged}{why}" if first else "its messages are whole, and judged"
        return Pasted(Kind.REQUEST, f"{named}: {says}", part.data, "", possible.format, is_cut=True)
    return None


class _Possible(NamedTuple):
    """`data` is JSON; `format` is what it shows, "" where nothing distinguishes several."""

    data: bytes
    format: str
    messages: list[Any]


def _possible(text: str) -> _Possible | None:
    """JSON or Python values that may be a request."""
    for data in (text.encode("utf-8", "surrogatepass"), _of_python(text)):
        with suppress(NotARequest):
            if data is not None:
                formats = formats_of(data)
                return _Possible(data, formats[0] if len(formats) == 1 else "", messages_of(json.loads(data)))
    return None


def _in_lines(text: str) -> Iterator[tuple[int, bytes]]:
    """Requests in the lines of a log, each with its line from 1; a line may be JSON itself, with the request inside."""
    decoder = json.JSONDecoder()
    for number, line in enumerate(islice(text.splitlines(), LINES), start=1):
        start = line.find("{")
        for _ in range(TRIES):
            if start < 0:
                break
            with suppress(ValueError, RecursionError):
                value = line[start : decoder.raw_decode(line, start)[1]].encode("utf-8", "surrogatepass")
                if is_request(value):
                    yield number, value
                    break
            start = line.find("{", start + 1)
