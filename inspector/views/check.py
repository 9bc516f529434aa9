"""A request body that somebody pastes or uploads: judged, repaired and returned, and stored nowhere."""

import base64
import binascii
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse

from inspector.cache_headers import exact
from inspector.masked_answers import own_content
from inspector.middleware import OperatorRequest, accepts
from inspector.presentation.check.lines import Line, LineChange, error_line, line_changes, lines_of, listing, on_lines
from inspector.presentation.conversation import scan
from inspector.presentation.conversation.profile_verdicts import ProfileVerdict
from inspector.presentation.diagnose.pasted import CurlProblem, Kind, NotRecognized, Pasted, pasted
from inspector.presentation.masking import presentable
from inspector.presentation.prompt.checking import Checked, checked, deciding
from inspector.presentation.repair import plan
from inspector.presentation.repair.preview_part import PreviewPart, preview_part
from inspector.presentation.visible import visible
from inspector.profiles.base import Judgement, Profile, Violation
from inspector.profiles.catalogue import PROFILES, UnknownProfile, repaired_by, summary_of
from inspector.programs.catalogue import FORMATS, UnknownFormat
from inspector.programs.formats import Format
from inspector.programs.registry import wire_of
from inspector.rules.base import Finding
from inspector.strategies.base import Strategy
from inspector.strategies.catalogue import STRATEGIES
from inspector.views.pages import as_json, page
from inspector.wires.detection import format_of
from inspector.wires.layout import NotARequest

LARGEST = 50 * 1000 * 1000
"""Bytes of an upload."""
CARRIED = 4 * 1000 * 1000
"""Bytes of a body that a page carries along, so that the next question needs no second upload."""
MOST = 100
"""Violations of one profile that are shown."""
FINDINGS = 50
"""Findings that are shown."""
NAMED = 3
"""Ids that a headline names."""
TYPED = 100_000
LONGEST_MODEL = 100
"""Characters of a text that is judged while it is typed."""
NAME = "request.json"
OPENAI = '{"model": "gpt-5", "messages": [{"role": "user", "content": "List the files"}, {"role": "tool", "tool_call_id": "call_1", "content": "notes.md"}]}'
EXAMPLES = (
    ("OpenAI: a result without its call", OPENAI),
    (
        "Anthropic: a call without its result",
        '{"model": "claude-opus-4-6", "max_tokens": 1024, "messages": [{"role": "user", "content": "List the files"}, {"role": "assistant", '
        '"content": [{"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {}}]}, {"role": "user", "content": "Well?"}]}',
    ),
    (
        "Gemini: a call without its response",
        '{"contents": [{"role": "user", "parts": [{"text": "List the files"}]}, {"role": "model", "parts": [{"functionCall": '
        '{"name": "ls", "args": {}}}]}, {"role": "user", "parts": [{"text": "Well?"}]}]}',
    ),
)
"""Bodies that are rejected, for somebody who has none at hand: of which provider and why, and the text."""


@dataclass(frozen=True, slots=True)
class Placed:
    """`lines` of the request as it is shown; None where they are not known."""

    violation: Violation
    lines: range | None


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """What profiles say that say the same, with the lines of the first violations."""

    names: tuple[str, ...]
    projection: str
    judgement: Judgement
    placed: tuple[Placed, ...]


@dataclass(frozen=True, slots=True)
class PlacedFinding:
    """`path` is the first place of the request that it names, as a provider's error would; "" where the body has it under another name."""

    finding: Finding
    path: str
    lines: range | None


class NoBody(Exception):
    """The form has no body to check; the message is the sentence to show."""

    def __init__(self, sentence: str, *, is_for_diagnose: bool = False) -> None:
        super().__init__(sentence)
        self.is_for_diagnose = is_for_diagnose
        """What it has is something else that Diagnose takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPage:
    formats: tuple[Format, ...]
    profiles: tuple[Profile, ...]
    format: str
    profile: str
    model: str
    """For which it is judged, in place of the one that it names; "" = that."""
    text: str
    carried: str
    problem: str
    checked: Checked | None
    part: PreviewPart | None
    headline: str = ""
    likely_repairs: tuple[Strategy, ...] = ()
    """What usually repairs the first rule that rejects it."""
    """Why the chosen profile rejects it and where, in plain words."""
    findings: tuple[PlacedFinding, ...] = ()
    own: tuple[VerdictRow, ...] = ()
    """Profiles of the wire shape that the body is in, the chosen one first."""
    others: tuple[VerdictRow, ...] = ()
    lines: tuple[Line, ...] = ()
    """The request with what the chosen profile says below the line that it is about, where it cannot be edited: of one with secrets, or a long one."""
    changes: tuple[LineChange, ...] = ()
    """What the repair does to the lines that can be edited."""
    is_reformatted: bool = False
    """It came without lines, and is shown with a line for each value."""
    wrong_line: int | None = None
    """Where the text stops to be JSON."""
    largest: int = LARGEST
    typed: int = TYPED
    what: str = ""
    """In what it was recognized, where it is no whole body."""
    is_cut: bool = False
    """Only a part of the request was given."""
    comma: tuple[int, int] | None = None
    """As of what was pasted."""
    error: str = ""
    """A provider's error that came with it."""
    applied: tuple[str, ...] = ()
    """Names of the strategies that were applied to the text, which is repaired then."""
    applied_lines: tuple[LineChange, ...] = ()
    """What they put into it."""
    before: str = ""
    """The body before that, for undo."""
    is_for_diagnose: bool = False
    """What was given is no request, and Diagnose takes it."""
    is_live: bool = False
    """It is the answer to what somebody types, which stays as it is."""

    examples = EXAMPLES

    @property
    def numbers(self) -> tuple[tuple[int, str], ...]:
        """Of the lines of `text`, each with its classes: the chosen profile rejects it, the repair changes or wrote it, puts something after it, it is cut off."""
        wrong = {number for row in self.own[:1] for placed in row.placed for number in placed.lines or ()} | {*(self.comma or ())[:1]}
        before = {change.lines[-1] for change in self.changes if not change.removed}
        fixed = {number for change in (*self.changes, *self.applied_lines) if change.removed for number in change.lines}
        numbers = range(1, self.text.count("\n") + 2) if self.checked and self.text else ()
        marks = (("hit", wrong), ("fix", fixed), ("gains", before), ("cut", {self.text.rstrip().count("\n") + 1} if self.is_cut else ()))
        return tuple((number, " ".join(name for name, marked in marks if number in marked)) for number in numbers)

    @property
    def others_verdict(self) -> str:
        """What those of other APIs say of the same history; the fewer of the two kinds by name."""
        passing = [name for row in self.others if row.judgement.sendable and not row.judgement.unclear for name in row.names]
        unclear = [name for row in self.others if row.judgement.sendable and row.judgement.unclear for name in row.names]
        rejecting = [name for row in self.others if not row.judgement.sendable for name in row.names]
        subject = f"{len(passing) + len(rejecting) + len(unclear)} profiles of other APIs, of the same history"
        depends = f"; for {', '.join(unclear)} it depends on {'which of its models' if self.model else 'the model'}" if unclear else ""
        passes = "nothing is wrong so far for" if self.is_cut else "it passes"
        if not passing:
            return f"{subject}: {len(rejecting) if unclear else 'all'} reject it{depends}"
        if not rejecting:
            return f"{subject}: {passes} {len(passing) if unclear else 'any' if self.is_cut else 'all'}{depends}"
        if len(passing) <= len(rejecting):
            return f"{subject}: {len(rejecting)} reject it, and {passes} {', '.join(passing)}{depends}"
        return f"{subject}: {passes} {len(passing)}, and it is rejected by {', '.join(rejecting)}{depends}"


def _body(request: OperatorRequest) -> bytes:
    """The bytes: of the upload, else pasted, else carried along. Raises NoBody."""
    upload = request.FILES.get("file")
    if isinstance(upload, UploadedFile):
        if (upload.size or 0) > LARGEST:
            raise NoBody("This file is over 50 MB, which no provider takes as a request: check that it is the right one.")
        # It is read again where there is nothing to apply or to download.
        upload.seek(0)
        return bytes(upload.read())
    # A form sends every line end as CR LF.
    text = request.POST.get("body", "").replace("\r\n", "\n")
    try:
        carried = base64.b64decode(request.POST.get("held", ""), validate=True)
    except (binascii.Error, ValueError):
        carried = b""
    if text.strip():
        # What came without lines was shown with some: as long as nobody edits it, its own bytes are meant.
        is_carried = bool(carried) and text == on_lines(carried.decode("utf-8", "replace"))
        return carried if is_carried else text.encode("utf-8", "surrogatepass")
    if not carried or request.htmx:
        raise NoBody("There is no body to check: paste the JSON of the request, or choose a file.")
    return carried


def _given(request: OperatorRequest) -> Pasted:
    """The request in what the form has. Raises NoBody."""
    body = Pasted(Kind.REQUEST, "", _body(request))
    if request.POST.get("format"):
        return body
    try:
        recognized = pasted(body.data, is_typed=bool(request.htmx))
    except CurlProblem as problem:
        raise NoBody(str(problem)) from None
    except NotRecognized:
        return body
    if recognized.kind is not Kind.REQUEST:
        raise NoBody(f"What was given is {recognized.what.partition(',')[0]}, and no request.", is_for_diagnose=True)
    return recognized if recognized.data != body.data else body


def _model(request: OperatorRequest) -> str:
    return request.POST.get("model", "").strip()[:LONGEST_MODEL]


def _checked(request: OperatorRequest, given: Pasted, *, is_sure: bool = False) -> Checked:
    """`is_sure`: what is the same in several shapes is not judged as one of them. Raises NoBody."""
    data, format_name, profile_name = given.data, request.POST.get("format", ""), request.POST.get("profile", "")
    if format_name and not wire_of(format_name):
        raise NoBody(f"There is no request format {visible(format_name[:60])}: choose one of the list, or let it be detected.")
    try:
        model = _model(request)
        chosen = format_name or given.format or (format_of(data, deciding(model)) if is_sure else "")
        return checked(data, NAME, chosen, profile_name, given.beginning, model)
    except NotARequest as problem:
        # A command has an option where this page has a field.
        is_chosen = given.what or format_name or problem.what == problem.reason
        then = "" if is_chosen else " In the field Format, choose which it is."
        raise NoBody(f"What was given {visible(problem.what)}{then}") from None
    except (UnknownFormat, UnknownProfile) as problem:
        raise NoBody(visible(str(problem))) from None


def check_page(request: OperatorRequest, given: Pasted | None = None) -> tuple[CheckPage, int]:
    """The page and its status. `given` is a request that is known already, the one of the form otherwise."""
    data, result, problem, is_own, is_for_diagnose = b"", None, "", given is None, False
    try:
        if request.method == "POST":
            given = given or _given(request)
            result = _checked(request, given)
            data = given.data
    except NoBody as nothing:
        problem, is_for_diagnose = str(nothing), nothing.is_for_diagnose
    formats = tuple(format_ for format_ in FORMATS if wire_of(format_.name))
    text = request.POST.get("body", "").replace("\r\n", "\n") if is_own and problem else ""
    part = preview_part(result.repair, is_written=False) if result and result.repair else None
    given_text = data.decode("utf-8", "replace") if result else ""
    shown = whole = on_lines(given_text)
    if result and given and given.text:
        # All of it stays in the box, and what is judged is how it begins: on the same lines where it has any.
        whole = given.text
        data = whole.encode("utf-8", "surrogatepass")
        shown = shown if shown == given_text else ""
    carried = base64.b64encode(data).decode() if result and len(data) <= CARRIED else ""
    own, others = (_rows(verdicts, shown) for verdicts in _by_wire(result))
    # With a mask or an escape in it, what is shown is not what was sent.
    is_editable = len(whole) <= TYPED and whole == visible(presentable(whole))
    content = CheckPage(
        formats=formats,
        profiles=PROFILES,
        format=request.POST.get("format", ""),
        profile=request.POST.get("profile", ""),
        model=_model(request),
        text=whole if is_editable and whole else text[:CARRIED],
        carried=carried,
        problem=problem,
        checked=result,
        part=part,
        headline=_headline(result, _model(request)),
        likely_repairs=_likely_repairs(result),
        findings=_placed_findings(result, shown) if result else (),
        own=own,
        others=others,
        lines=listing(shown, _marks(own)) if shown and not is_editable else (),
        changes=_changes(result, shown) if is_editable and shown else (),
        is_reformatted=shown != given_text or not _is_as_pasted(request, given),
        wrong_line=error_line(text) if text.strip() else None,
        what=given.what if given and result else "",
        is_cut=bool(given and given.beginning and result),
        comma=given.comma if given else None,
        error=given.error if given else "",
        is_live=bool(request.htmx),
        # With a mask or an escape in it, it would be diagnosed so.
        is_for_diagnose=is_for_diagnose and bool(text) and text == visible(presentable(text)),
    )
    return content, 400 if problem else 200


def _is_as_pasted(request: OperatorRequest, given: Pasted | None) -> bool:
    """False where the text of a cut request was laid out again."""
    typed = "\n".join((request.POST.get("text", ""), request.POST.get("body", ""))).replace("\r\n", "\n")
    return not (given and given.text and typed.strip()) or given.text in typed


def _applied(request: OperatorRequest) -> tuple[CheckPage, int]:
    """The page of the body after its repair, with the way back."""
    with suppress(NoBody):
        given = _given(request)
        data, result = given.data, _checked(request, given)
        if given.comma:
            return check_page(request, Pasted(Kind.REQUEST, "", data))
        if result.recommendation is not None and result.repaired is not None:
            content, status = check_page(request, Pasted(Kind.REQUEST, "", result.repaired))
            return replace(
                content,
                applied=tuple(strategy.name for strategy in result.recommendation.candidate.strategies),
                applied_lines=line_changes(content.text, data.decode("utf-8", "replace")) if content.text else (),
                before=base64.b64encode(data).decode() if len(data) <= CARRIED else "",
            ), status
    return check_page(request)


def _undone(request: OperatorRequest) -> tuple[CheckPage, int]:
    try:
        before = base64.b64decode(request.POST.get("before", ""), validate=True)
        return check_page(request, Pasted(Kind.REQUEST, "", before) if before else None)
    except (binascii.Error, ValueError):
        return check_page(request)


def _changes(result: Checked | None, shown: str) -> tuple[LineChange, ...]:
    return () if result is None or result.repaired is None else line_changes(shown, result.repaired.decode("utf-8", "replace"))


def _headline(result: Checked | None, model: str) -> str:
    """The first rule that rejects it, in plain words, with the ids that it names and its place; "" where none does, and the shape is known."""
    if result is None:
        return ""
    if result.same_in:
        return _of_several_shapes(result, model)
    if result.judgement.sendable:
        return f"{result.profile}: depends on the model" if result.judgement.unclear else ""
    first = result.judgement.violations[0]
    summary = summary_of(result.profile, first.id) or first.text
    chunks = result.stored.conversation.chunks
    ids = dict.fromkeys(chunk.call_id for chunk in chunks if chunk.call_id and chunk.seq in first.seqs and chunk.call_id in first.text)
    headline = f"{summary}: {', '.join([*ids][:NAMED])} at {first.path}" if ids else f"{summary}, at {first.path}"
    return f"Only its end is missing: {headline[:1].lower()}{headline[1:]}" if result.judgement.prefix_valid else headline


def _likely_repairs(result: Checked | None) -> tuple[Strategy, ...]:
    """Those of the first rule that rejects it, of which a finding names some: of a request of which the end is missing none is worked out."""
    if result is None or result.judgement.sendable:
        return ()
    names = repaired_by(result.profile, result.judgement.violations[0].id)
    of_findings = {name for finding in result.findings for name in finding.repaired_by}
    applicable = [strategy for strategy in STRATEGIES if strategy.name in names and strategy.applies_to(result.format.name)]
    return tuple([strategy for strategy in applicable if strategy.name in of_findings] or applicable)[:NAMED]


def _of_several_shapes(result: Checked, model: str) -> str:
    wires = {wire_of(name) for name in (result.format.name, *result.same_in)}
    of_shapes = [verdict for verdict in result.profile_verdicts if verdict.profile.wire in wires]
    rejecting = [verdict.name for verdict in of_shapes if not verdict.judgement.sendable]
    unclear = [verdict.name for verdict in of_shapes if verdict.judgement.unclear]
    parts = [f"{len(of_shapes) - len(rejecting) - len(unclear)} of {len(of_shapes)} profiles accept it"]
    parts += [f"{' and '.join(rejecting)} reject{'s' if len(rejecting) == 1 else ''} it"] if rejecting else []
    # What names the model here is one that no profile has, since the others say which API it is for.
    unknown = f", and {visible(model)} is none that is known" if model else ""
    parts += [f"for {' and '.join(unclear)} it depends on the model{unknown}"] if unclear else []
    return f"Which API it is for does not show: {', '.join(parts)}"


def _rows(verdicts: Iterable[ProfileVerdict], shown: str) -> tuple[VerdictRow, ...]:
    same: dict[Any, list[ProfileVerdict]] = {}
    for verdict in verdicts:
        same.setdefault((verdict.projection, verdict.judgement.violations, verdict.judgement.unclear), []).append(verdict)
    return tuple(
        VerdictRow(
            tuple(verdict.name for verdict in equal),
            equal[0].projection,
            equal[0].judgement,
            tuple(
                Placed(violation, lines_of(shown, violation.path, violation.text) if shown else None)
                for violation in equal[0].judgement.violations[:MOST]
            ),
        )
        for equal in same.values()
    )


def _placed_findings(result: Checked, shown: str) -> tuple[PlacedFinding, ...]:
    is_own = next(verdict.profile.wire for verdict in result.profile_verdicts if verdict.name == result.profile) == wire_of(
        result.format.name
    )
    # The path of a block comes after that of its message.
    paths = {seq: path for path, seqs in result.prompt.sources().items() for seq in seqs} if is_own else {}
    placed = []
    for finding in result.findings[:FINDINGS]:
        path = next((paths[seq] for seq in finding.seqs if seq in paths), "")
        placed.append(PlacedFinding(finding, path, lines_of(shown, path) if shown and path else None))
    return tuple(placed)


def _marks(rows: tuple[VerdictRow, ...]) -> list[tuple[int, str]]:
    """What the chosen profile says, by lines."""
    return [(place.lines.start, f"{place.violation.id} {place.violation.text}") for row in rows[:1] for place in row.placed if place.lines]


def _mildness(judgement: Judgement) -> int:
    return 1 + (not judgement.unclear) if judgement.sendable else 0


def _by_wire(result: Checked | None) -> tuple[tuple[ProfileVerdict, ...], tuple[ProfileVerdict, ...]]:
    if result is None:
        return (), ()
    wires = {
        *map(wire_of, (result.format.name, *result.same_in)),
        next(verdict.profile.wire for verdict in result.profile_verdicts if verdict.name == result.profile),
    }
    # Of what is the same in several shapes no profile is its own: those that reject it come first.
    of_one = not result.same_in
    ordered = sorted(
        result.profile_verdicts, key=lambda verdict: verdict.name != result.profile if of_one else _mildness(verdict.judgement)
    )
    return tuple(verdict for verdict in ordered if verdict.profile.wire in wires), tuple(
        verdict for verdict in ordered if verdict.profile.wire not in wires
    )


@accepts("GET", "HEAD", "POST")
def check(request: OperatorRequest) -> HttpResponse:
    """GET is the form; POST judges, and with `do=download` answers with the repaired body, with `do=apply` with its page, and with `do=undo` with that of the body before.

    While somebody types, htmx asks for the verdict alone.
    """
    if request.method == "POST" and request.POST.get("do") == "download":
        with suppress(NoBody):
            given = _given(request)
            result = _checked(request, given)
            if given.beginning is None:
                headers = {"Content-Disposition": 'attachment; filename="request-repaired.json"'}
                repaired = given.data if result.repaired is None else result.repaired
                return own_content(exact(HttpResponse(repaired, content_type="application/octet-stream", headers=headers)))
    act = {"apply": _applied, "undo": _undone}.get(request.POST.get("do", ""), check_page)
    content, status = act(request)
    # What somebody types is asked while it is no request yet.
    is_typing = request.method == "POST" and bool(request.htmx)
    return page(request, "check.html", content, part="live" if is_typing else "", status=200 if is_typing else status)


@accepts("GET", "HEAD", "POST")
def check_json(request: OperatorRequest) -> HttpResponse:
    if request.method != "POST":
        answer = as_json(
            {"error": "POST the body as the field `body` or the file `file`, with `format`, `profile` and `model` if you like."}, status=405
        )
        answer["Allow"] = "POST"
        return answer
    try:
        result = _checked(request, Pasted(Kind.REQUEST, "", _body(request)), is_sure=True)
    except NoBody as problem:
        return as_json({"error": str(problem)}, status=400)
    return own_content(as_json(_report(result)))


def check_report(request: OperatorRequest, given: Pasted) -> dict[str, Any]:
    """Raises NoBody."""
    return _report(_checked(request, given))


def _report(result: Checked) -> dict[str, Any]:
    judgements = {verdict.name: verdict.judgement for verdict in result.profile_verdicts}
    conversation = scan.conversation_report("", result.case, result.findings, judgements, result.judgement.verdict, result.prompt)
    strategies = result.recommendation.candidate.strategies if result.recommendation else ()
    return {
        "source": scan.source_report("", result.format.name),
        "conversations": [conversation],
        "profile": result.profile,
        "repaired_by": [strategy.name for strategy in strategies],
        "why_not": result.problem,
        "losses": list(result.recommendation.losses) if result.recommendation else [],
        "repair": plan.plan_report("", result.repair) if result.repair else None,
        "repaired": None if result.repaired is None else result.repaired.decode("utf-8", "surrogateescape"),
        "stored": False,
    }
