"""What was pasted or dropped: a request (also inside a curl command, Python values or a log), a stream, a session, or a provider's error."""

import ast
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice, pairwise
from typing import Any, NamedTuple

from inspector.presentation.diagnose.parts import (
    are_messages,
    before_last_turn,
    can_be_judged,
    cut_of,
    laid_out,
    last_commas,
    messages_of,
    unlisted,
)
from inspector.presentation.explain.answer import recognized
from inspector.presentation.explain.meanings import unrecognized_meaning
from inspector.presentation.prompt.checking import Beginning
from inspector.presentation.visible import beginning, ending
from inspector.projections.base import BEDROCK
from inspector.sources import captures
from inspector.streams.whole_answers import as_stream
from inspector.text import jsontext
from inspector.wires.detection import SHARED, format_of, formats_of, program_of_session
from inspector.wires.layout import NotARequest
from inspector.wires.names import WIRES

LINES = 2_000
"""Lines of a log in which a request is looked for."""
TRIES = 20
"""Places of one line at which JSON may begin that are tried: what never closes would be read again from each."""
END = 100_000
"""Characters at the beginning and at the end of a text in which an error is looked for."""
PYTHON = 2_000_000
"""Characters of Python values that are read: the parser of Python takes about a hundred bytes for each."""
_DATABASE = b"SQLite format 3\0"
_BROKEN = 10
"""A text of which one character in so many is no UTF-8 is a file of another kind."""
_BODY_OPTIONS = ("-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--json")
_ASSIGNED = re.compile(r"\A\s*[A-Za-z_][\w.]*\s*=\s*(?=[\[{(])")
_OF_PYTHON = re.compile(r"'|\b(?:None|True|False)\b|,\s*[\]})]|\A\(")
"""What JSON has not."""
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
    text: str = ""
    """That of a request that is cut off or no JSON yet, and of an answer."""
    comma: tuple[int, int] | None = None
    """Of a text that is no JSON for a comma before a closing bracket: its line and column, from 1."""
    beginning: Beginning | None = None
    """Of a request that is cut off, of which `data` is as much as can be judged."""


class NotRecognized(Exception):
    """The message is the sentence that says what to do."""


class CurlProblem(NotRecognized):
    """A curl command without a body that can be read."""


def pasted(data: bytes, *, is_typed: bool = False) -> Pasted:
    """`is_typed`: the text stays as it is, and is not laid out. Raises NotRecognized."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").strip()
    if not text:
        raise NotRecognized("There is nothing to look at: paste an error, a request, a stream or a session, or choose a file.")
    if re.match(r"curl(?:\.exe)?\s", _PROMPT.sub("", text)):
        return _of_curl(_PROMPT.sub("", text))
    if is_request(data):
        return Pasted(Kind.REQUEST, "a request body", data)
    program = program_of_session(data)
    if not program and (listed := _listed(text)):
        return listed
    if not program and text.startswith(("{", "[")) and (commas := last_commas(text)):
        cleaned = "".join(text[start + 1 : end] for start, end in pairwise((-1, *commas, len(text))))
        if _is_json(cleaned) and (possible := _possible(cleaned)) is not None:
            lines = text[: commas[0]].split("\n")
            what = "a request with a comma before a closing bracket, judged without it"
            return Pasted(Kind.REQUEST, what, possible.data, text=text, comma=(len(lines), len(lines[-1]) + 1))
    if (values := _of_python(text)) is not None and is_request(values):
        return Pasted(Kind.REQUEST, "a request written as Python values", values)
    if (answer := as_stream(jsontext.object_of(text))) is not None:
        api, events = answer
        return Pasted(Kind.ANSWER, f"an answer of {api} that was not streamed, judged as the events that say the same", events, text=text)
    if captures.kind_of(captures.of_bytes(data), "pasted") is not None:
        return Pasted(Kind.STREAM, "a captured stream", data)
    if program:
        return Pasted(Kind.SESSION, f"the file of a session of {program}", data)
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
    if begun := _begun(text if is_typed else laid_out(text)):
        return begun
    ends = _ends(text)
    is_error = _is_error(ends)
    if body := next(_in_lines(text), None):
        number, request = body
        return Pasted(Kind.REQUEST, f"a log with a request in line {number}", request, ends if is_error else "")
    if is_error:
        return Pasted(Kind.ERROR, "a provider's error", ends.encode("utf-8", "surrogatepass"))
    if text.startswith(("{", "[")):
        # Judging it says what is missing.
        return Pasted(Kind.REQUEST, "JSON", data)
    raise NotRecognized("This is no request, stream, session or provider's error that is known here: paste more of it, or the whole file.")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _ends(text: str) -> str:
    return text if len(text) <= 2 * END else f"{beginning(text, END)}\n{ending(text, END)}"


def _is_error(text: str) -> bool:
    return bool(recognized(text)) or unrecognized_meaning(text) is not None


def is_request(data: bytes) -> bool:
    try:
        format_of(data)
    except NotARequest:
        return False
    return True


def _of_curl(command: str) -> Pasted:
    """The body of a curl command, as a shell would read it; browsers copy it with $'...' where it has special characters."""
    words, is_cut = _words(command)
    bodies = list(_bodies(words))
    if not bodies:
        raise CurlProblem("This curl command sends no body: paste the one with -d or --data, or the body itself.")
    if file := next((body for body in bodies if body.startswith("@")), None):
        raise CurlProblem(
            f"This curl command sends the file {file[1:200]!r}, which is on your machine: choose that file, or paste what is in it."
        )
    body = "&".join(bodies)
    if part := _listed(body.strip()) or _begun(laid_out(body.strip())):
        return replace(part, what=f"a curl command with {part.what}")
    if is_cut:
        raise CurlProblem("A quote of this curl command is never closed: paste the whole command.")
    return Pasted(Kind.REQUEST, "a curl command, of which the body was taken", body.encode("utf-8", "surrogatepass"))


_PIECE = re.compile(
    r"""(?P<blank>\s+)|\$'(?P<dollar>(?:[^'\\]|\\.)*)(?P<end1>'?)|'(?P<single>[^']*)(?P<end2>'?)|"(?P<double>(?:[^"\\]|\\.)*)(?P<end3>"?)"""
    r"""|\\(?P<escaped>\r?\n|.)|(?P<plain>[^\s'"\\$]+|\$|\\)""",
    re.DOTALL,
)


def _words(command: str) -> tuple[list[str], bool]:
    """Its words, and whether a quote of the last is not closed."""
    words: list[list[str]] = []
    is_new, piece = True, None
    for piece in _PIECE.finditer(command):
        if piece["blank"] is not None:
            is_new = True
            continue
        if piece["escaped"] is not None:
            text = "" if piece["escaped"].endswith("\n") else piece["escaped"]
        elif piece["dollar"] is not None:
            text = _unescaped(piece["dollar"])
        elif piece["double"] is not None:
            text = re.sub(r"\\(?:\r?\n|([$`\"\\]))", lambda match: match[1] or "", piece["double"])
        else:
            text = piece["single"] if piece["single"] is not None else piece["plain"]
        if is_new and (text or piece["escaped"] is None):
            words.append([])
            is_new = False
        if words:
            words[-1].append(text)
    ended = piece is not None and all(
        piece[name] != "" or piece[of] is None for name, of in (("end1", "dollar"), ("end2", "single"), ("end3", "double"))
    )
    return ["".join(word) for word in words], not ended


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
    if len(literal) > PYTHON or not _OF_PYTHON.search(literal) or not literal.startswith(("{", "[", "(")):
        return None
    try:
        return json.dumps(ast.literal_eval(literal)).encode()
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _listed(text: str) -> Pasted | None:
    """Messages without the list around them."""
    opened = unlisted(text)
    possible = _possible(f"{opened}]") if opened else None
    if possible is None or not are_messages(possible.messages):
        return None
    count = len(possible.messages)
    them = f"a list of {count:,} messages without its brackets" if count > 1 else "a single message, judged as a list of one"
    return Pasted(Kind.REQUEST, them, possible.data, format=possible.format)


def _begun(text: str) -> Pasted | None:
    """As much as can be judged of a request that is cut off, or of messages without the list around them; None where that is nothing."""
    text = _ASSIGNED.sub("", text)
    for candidate in filter(None, (text, unlisted(text))):
        cut = cut_of(candidate)
        closed = _possible(cut.closed, is_cut=True) if cut else None
        if cut is None or closed is None or (candidate is not text and not are_messages(closed.messages[: cut.count])):
            continue
        whole, begun = _possible(cut.whole, is_cut=True), _possible(cut.begun, is_cut=True)
        is_begun = begun is not None and can_be_judged(begun.messages[-1])
        if part := begun if is_begun else whole:
            # A block that is cut off may lack its type, as those of Bedrock do.
            shown = (of.format for of in (whole, begun, closed) if of and not (of is closed and WIRES.get(of.format) == BEDROCK))
            named = "a request" if candidate is text else "messages without the list around them"
            return Pasted(
                Kind.REQUEST,
                f"{named}, cut off {cut.where}: {_judged(cut.count, is_begun)}",
                part.data,
                error=rest if _is_error(rest := _ends(cut.rest.strip())) else "",
                format=next(filter(None, shown), ""),
                text=text,
                beginning=Beginning(before_last_turn(closed.messages), cut.count is None),
            )
    return None


def _judged(count: int | None, is_begun: bool) -> str:
    """Of a request that is cut off: how many messages are whole (None: all), and whether the next one is judged too."""
    if count is None:
        return "its messages are whole, and judged"
    if not count:
        return "its message is judged as far as it goes"
    first = "the first message is judged" if count == 1 else f"the first {count:,} messages are judged"
    return f"{first}, and the next as far as it goes" if is_begun else first


class _Possible(NamedTuple):
    """`data` is JSON; `format` is what it shows, "" where nothing distinguishes several."""

    data: bytes
    format: str
    messages: list[Any]


def _possible(text: str, *, is_cut: bool = False) -> _Possible | None:
    """JSON or Python values that may be a request. `is_cut`: that it names no model says nothing."""
    for data in (text.encode("utf-8", "surrogatepass"), _of_python(text)):
        with suppress(NotARequest):
            if data is not None:
                formats, body = formats_of(data), json.loads(data)
                if is_cut and isinstance(body, dict) and "model" not in body:
                    formats = formats_of(json.dumps({name: value for name, value in body.items() if name not in SHARED}).encode())
                return _Possible(data, formats[0] if len(formats) == 1 else "", messages_of(body))
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
