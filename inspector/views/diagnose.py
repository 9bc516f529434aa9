"""One box for whatever somebody has in hand: it is recognized, and answered by the view for it. Nothing is stored."""

from dataclasses import dataclass
from itertools import islice
from urllib.parse import urlencode

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse, HttpResponseRedirect

from inspector import checking
from inspector.cache_headers import exact
from inspector.checking import Checked, NotAHistory
from inspector.masked_answers import own_content
from inspector.middleware import OperatorRequest, accepts
from inspector.models.transactions import one_snapshot
from inspector.presentation.check.report import checked_report
from inspector.presentation.diagnose.pasted import Kind, NotRecognized, Pasted, pasted
from inspector.presentation.diagnose.stream import PastedStream, pasted_stream
from inspector.presentation.json_text import Json
from inspector.presentation.masking import presentable
from inspector.presentation.stream.report import StreamAnalysis, StreamFinding, analysed, stream_report
from inspector.presentation.visible import visible
from inspector.programs.catalogue import NEW_FILE_ONLY
from inspector.rules.base import Severity
from inspector.sources import captures
from inspector.sources.problems import SourceProblem
from inspector.text import jsontext
from inspector.traces.model import Problem
from inspector.views.check import LARGEST, OPENAI, NoBody, check_page, check_report
from inspector.views.explain import LINKABLE, explain_page, explain_report
from inspector.views.leads import LONGEST, Lead, is_name, is_seq, lead
from inspector.views.pages import as_json, page

MOST = 50
"""Conversations or streams of one file that are answered."""
NAME = "pasted"
EXAMPLES = (
    ("An error", "messages.5.content.3: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified"),
    ("A request body", OPENAI),
    ("A curl command", f"curl https://api.openai.com/v1/chat/completions -H 'Content-Type: application/json' -d '{OPENAI}'"),
    ("Python values", "[{'role': 'user', 'content': 'List the files'}, {'role': 'assistant', 'content': None, 'tool_calls': []}]"),
    (
        "A stream",
        'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"I look at the "},"finish_reason":null}]}\n\ndata: [DONE]\n\n',
    ),
)
"""What somebody may try who has nothing at hand: what it is, and the text."""


CARRIED = 20_000
"""Characters of an answer that its page shows again, to be changed."""


@dataclass(frozen=True, slots=True)
class DiagnosePage:
    """`what` says as what it was recognized; `more`: there is more in the file than is answered here."""

    problem: str = ""
    text: str = ""
    """What was pasted and not recognized, whole; of an answer what can be changed and given again."""
    what: str = ""
    sessions: tuple[Checked, ...] = ()
    problems: tuple[Problem, ...] = ()
    streams: tuple[PastedStream, ...] = ()
    more: bool = False
    is_answer: bool = False
    """It was not streamed, and what is shown are events that say the same."""
    largest: int = LARGEST

    examples = EXAMPLES

    @property
    def worst(self) -> StreamFinding | None:
        """Of the streams; a note is not what a headline is about."""
        of_streams = (finding for stream in self.streams for finding in stream.analysis.findings)
        return next((finding for finding in of_streams if finding.severity is not Severity.NOTE), None)

    @property
    def verdict(self) -> str:
        """Of its one stream. Nobody sent the events of an answer that was not streamed."""
        analysis = self.streams[0].analysis
        return analysis.verdict.replace(f", {analysis.events:,} events", "", 1) if self.is_answer else analysis.verdict

    @property
    def needs_folder(self) -> bool:
        """Whether a repair is written next to the file, which is read as one of a folder then."""
        return any(session.format not in NEW_FILE_ONLY for session in self.sessions)


def _given(request: OperatorRequest) -> bytes:
    """Raises NotRecognized."""
    upload = request.FILES.get("file")
    if isinstance(upload, UploadedFile):
        if (upload.size or 0) > LARGEST:
            raise NotRecognized("This file is over 50 MB: read it with the command `scan`, or load it with `import_source`.")
        return bytes(upload.read())
    # A form sends every line end as CR LF.
    return request.POST.get("text", "").replace("\r\n", "\n").encode("utf-8", "surrogatepass")


def _streams(data: bytes) -> tuple[StreamAnalysis, ...]:
    """Raises NotRecognized."""
    try:
        capture = captures.read_bytes(data, NAME)
    except SourceProblem as problem:
        raise NotRecognized(problem.sentence) from None
    return tuple(analysed(exchange) for exchange in capture.exchanges[: MOST + 1])


def _sessions(data: bytes) -> tuple[tuple[Checked, ...], tuple[Problem, ...], bool]:
    """Raises NotRecognized."""
    try:
        answers = list(islice(checking.answers(data, None, None, None), MOST + 1))
    except NotAHistory as problem:
        raise NotRecognized(str(problem)) from None
    sessions = tuple(answer for answer in answers[:MOST] if isinstance(answer, Checked))
    return sessions, tuple(answer for answer in answers[:MOST] if isinstance(answer, Problem)), len(answers) > MOST


@accepts("GET", "HEAD", "POST")
def diagnose(request: OperatorRequest) -> HttpResponse:
    """GET is the box. POST answers; a short error is sent on to the link that an issue can carry."""
    if request.method != "POST":
        return page(request, "diagnose.html", DiagnosePage())
    try:
        data = _given(request)
        if named := _lead(data):
            return HttpResponseRedirect(named.href)
        return _answered(request, _recognized(data))
    except NotRecognized as problem:
        content = DiagnosePage(visible(str(problem)), request.POST.get("text", ""))
        # As it was: masked, it would be diagnosed so at the next attempt.
        return exact(own_content(page(request, "diagnose.html", content, status=400)))


def _lead(data: bytes) -> Lead | None:
    """Where an id, a place or a code leads."""
    return lead(data.decode("utf-8", "replace")) if len(data) <= 4 * LONGEST else None


def _recognized(data: bytes) -> Pasted:
    """Raises NotRecognized; of a name that leads nowhere, with a sentence for names."""
    try:
        return pasted(data)
    except NotRecognized:
        text = data.decode("utf-8", "replace").strip()
        if is_seq(text):
            raise NotRecognized(
                f"A seq is a place in one conversation: paste the id of the conversation before it, as in ef92ca15c383 {text}."
            ) from None
        if is_name(text):
            raise NotRecognized(
                f"Nothing here has the id or code {text}: no conversation, call, finding, stream or repair, and no rule. "
                "Its store was not imported, or with another Inspector."
            ) from None
        raise


def _editable(text: str) -> str:
    """What is short; "" where a mask or an escape in it would be sent back."""
    text = text.replace("\r\n", "\n")
    return text if len(text) <= CARRIED and text == visible(presentable(text)) else ""


def _answered(request: OperatorRequest, given: Pasted) -> HttpResponse:
    """Raises NotRecognized."""
    if given.kind is Kind.ERROR:
        text = given.data.decode("utf-8", "surrogatepass")
        if len(text) <= LINKABLE:
            return HttpResponseRedirect(f"/explain/?{urlencode({'error': visible(text)})}")
        with one_snapshot():
            return page(request, "explain.html", explain_page(text, "", ""))
    if given.kind is Kind.REQUEST:
        checked, status = check_page(request, given)
        if checked.problem:
            raise NotRecognized(checked.problem)
        return page(request, "check.html", checked, status=status)
    if given.kind in (Kind.STREAM, Kind.ANSWER):
        streams = _streams(given.data)
        answer = jsontext.object_of(given.text) if given.kind is Kind.ANSWER else None
        shown = tuple(pasted_stream(stream, answer) for stream in streams[:MOST])
        text = _editable(request.POST.get("text", "")) if answer is not None else ""
        content = DiagnosePage(what=given.what, text=text, streams=shown, more=len(streams) > MOST, is_answer=given.kind is Kind.ANSWER)
        return page(request, "diagnose.html", content)
    sessions, problems, more = _sessions(given.data)
    return page(request, "diagnose.html", DiagnosePage(what=given.what, sessions=sessions, problems=problems, more=more))


@accepts("GET", "HEAD", "POST")
def diagnose_json(request: OperatorRequest) -> HttpResponse:
    if request.method != "POST":
        answer = as_json({"error": "POST what you have as the field `text` or the file `file`."}, status=405)
        answer["Allow"] = "POST"
        return answer
    try:
        data = _given(request)
        if named := _lead(data):
            return as_json({"recognized": "name", "what": named.what, "href": named.href})
        given = _recognized(data)
        report = {"recognized": given.kind.value, "what": given.what, **_report(request, given)}
    except (NotRecognized, NoBody) as problem:
        return as_json({"error": str(problem)}, status=400)
    return own_content(as_json(report))


def _report(request: OperatorRequest, given: Pasted) -> Json:
    """Raises NotRecognized, NoBody."""
    if given.kind is Kind.REQUEST:
        return {"request": check_report(request, given), **({"error": _explained(given.error)} if given.error else {})}
    if given.kind is Kind.ERROR:
        return {"error": _explained(given.data.decode("utf-8", "surrogatepass"))}
    if given.kind in (Kind.STREAM, Kind.ANSWER):
        return {"streams": [stream_report("", stream) for stream in _streams(given.data)[:MOST]]}
    return {"sessions": [checked_report(session) for session in _sessions(given.data)[0]]}


def _explained(text: str) -> Json:
    with one_snapshot():
        return explain_report(text, None, "")
