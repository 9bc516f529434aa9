"""A request body that somebody pastes or uploads: judged, repaired and given back, and kept nowhere."""

import base64
import binascii
from dataclasses import dataclass
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse

from inspector.installation import program
from inspector.middleware import OperatorRequest
from inspector.profiles.base import Profile
from inspector.profiles.catalogue import PROFILES, UnknownProfile
from inspector.programs.catalogue import FORMATS, UnknownFormat
from inspector.programs.formats import Format
from inspector.programs.registry import wire_of
from inspector.reports import plan, scan
from inspector.reports.checking import Checked, checked
from inspector.reports.standings import Standing
from inspector.reports.visible import visible
from inspector.rules.base import Finding
from inspector.sources import captures
from inspector.views.pages import as_json, page
from inspector.views.preview_part import PreviewPart, preview_part
from inspector.wires.layout import NotARequest

LARGEST = 50 * 1000 * 1000
"""Bytes of an upload."""
HELD = 4 * 1000 * 1000
"""Bytes of a body that a page carries along, so that the next question needs no second upload."""
NAME = "request.json"


class NoBody(Exception):
    """The form holds nothing to check; the message is the sentence to show."""


@dataclass(frozen=True, slots=True)
class CheckPage:
    formats: tuple[Format, ...]
    profiles: tuple[Profile, ...]
    format: str
    profile: str
    text: str
    held: str
    problem: str
    found: Checked | None
    part: PreviewPart | None
    findings: tuple[Finding, ...] = ()
    own: tuple[Standing, ...] = ()
    """Profiles of the wire shape that the body is in, the chosen one first."""
    others: tuple[Standing, ...] = ()
    largest: int = LARGEST


def _body(request: OperatorRequest) -> bytes:
    """The bytes: of the upload, else pasted, else carried along. Raises NoBody."""
    upload = request.FILES.get("file")
    if isinstance(upload, UploadedFile):
        if (upload.size or 0) > LARGEST:
            raise NoBody("This file is over 50 MB, which no provider takes as a request: check that it is the right one.")
        return bytes(upload.read())
    text = request.POST.get("body", "")
    if text.strip():
        # A form sends every line end as CR LF.
        return text.replace("\r\n", "\n").encode("utf-8", "surrogatepass")
    try:
        held = base64.b64decode(request.POST.get("held", ""), validate=True)
    except (binascii.Error, ValueError):
        held = b""
    if not held:
        raise NoBody("There is no body to check: paste the JSON of the request, or choose a file.")
    return held


def _checked(request: OperatorRequest) -> tuple[bytes, Checked]:
    """Raises NoBody."""
    data = _body(request)
    format_name, profile_name = request.POST.get("format", ""), request.POST.get("profile", "")
    if format_name and not wire_of(format_name):
        raise NoBody(f"There is no request format {visible(format_name[:60])}: choose one of the list, or let it be detected.")
    try:
        return data, checked(data, NAME, format_name, profile_name)
    except NotARequest as problem:
        if (kind := captures.kind_of(captures.of_bytes(data), NAME)) is not None:
            raise NoBody(
                f"What was given is a captured stream ({kind.title}): what came back, and no request. Save it as a file, and `{program()} scan FILE` judges it; "
                "import_source loads it for the page Streams."
            ) from None
        # The sentence is one for the command, which has an option where this page has a field.
        reason = problem.reason.replace("--format NAME", "the field Format").replace("another --format", "another in the field Format")
        raise NoBody(f"What was given {visible(reason)}") from None
    except (UnknownFormat, UnknownProfile) as problem:
        raise NoBody(visible(str(problem))) from None


def _page(request: OperatorRequest) -> tuple[CheckPage, int]:
    data, found, problem = b"", None, ""
    try:
        if request.method == "POST":
            data, found = _checked(request)
    except NoBody as nothing:
        problem = str(nothing)
    formats = tuple(each for each in FORMATS if wire_of(each.name))
    text = request.POST.get("body", "") if problem else ""
    held = base64.b64encode(data).decode() if found and len(data) <= HELD else ""
    profile = found.profile if found else request.POST.get("profile", "")
    part = preview_part(found.repair) if found and found.repair else None
    chosen = found.format.name if found else request.POST.get("format", "")
    own, others = _by_wire(found)
    content = CheckPage(
        formats, PROFILES, chosen, profile, text[:HELD], held, problem, found, part, found.findings if found else (), own, others
    )
    return content, 400 if problem else 200


def _by_wire(found: Checked | None) -> tuple[tuple[Standing, ...], tuple[Standing, ...]]:
    if found is None:
        return (), ()
    wires = {wire_of(found.format.name), next(each.profile.wire for each in found.standings if each.name == found.profile)}
    ordered = sorted(found.standings, key=lambda each: each.name != found.profile)
    return tuple(each for each in ordered if each.profile.wire in wires), tuple(each for each in ordered if each.profile.wire not in wires)


def check(request: OperatorRequest) -> HttpResponse:
    """GET is the form; POST judges, and with `do=download` answers with the repaired body."""
    if request.method == "POST" and request.POST.get("do") == "download":
        return _download(request)
    content, status = _page(request)
    return page(request, "check.html", content, status=status)


def _download(request: OperatorRequest) -> HttpResponse:
    try:
        data, found = _checked(request)
    except NoBody:
        content, status = _page(request)
        return page(request, "check.html", content, status=status)
    return HttpResponse(
        found.repaired if found.repaired is not None else data,
        content_type="application/octet-stream",
        headers={"Content-Disposition": 'attachment; filename="request-repaired.json"'},
    )


def check_json(request: OperatorRequest) -> HttpResponse:
    if request.method != "POST":
        return as_json(
            {"error": "POST the body as the field `body` or the file `file`, with `format` and `profile` if you like."}, status=405
        )
    try:
        _, found = _checked(request)
    except NoBody as problem:
        return as_json({"error": str(problem)}, status=400)
    return as_json(_report(found))


def _report(found: Checked) -> dict[str, Any]:
    judgements = {each.name: each.judgement for each in found.standings}
    conversation = scan.conversation_report("", found.case, found.findings, judgements, found.judgement.verdict, found.prompt)
    way = found.recommendation.candidate.strategies if found.recommendation else ()
    return {
        "source": scan.source_report("", found.format.name),
        "conversations": [conversation],
        "profile": found.profile,
        "repaired_by": [each.name for each in way],
        "why_not": found.problem,
        "losses": list(found.recommendation.losses) if found.recommendation else [],
        "repair": plan.plan_report("", found.repair) if found.repair else None,
        "repaired": None if found.repaired is None else found.repaired.decode("utf-8", "surrogateescape"),
        "stored": False,
    }
