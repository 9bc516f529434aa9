"""Sources that come and go from the browser: adding by path, upload or text, removing with what was derived, and the switch of the demo."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.text import slugify

from inspector import background
from inspector.access.permits import permit
from inspector.actions.add_source import (
    addresses,
    below_roots,
    brought,
    brought_before,
    default_stores,
    first_line,
    forget,
    known_as,
    limit_of_adding,
    name_of_brought,
    named,
    remove_unused,
    roots,
)
from inspector.actions.problems import Refused
from inspector.actions.remove_source import Removed, begin_removal, what_goes
from inspector.actions.try_source import Trial, trials
from inspector.cache_headers import exact
from inspector.environment import as_listed
from inspector.masked_answers import own_content
from inspector.middleware import OperatorRequest, accepts, web_limit
from inspector.models import Source
from inspector.presentation.json_text import json_fields
from inspector.presentation.masking import masked
from inspector.presentation.typed import NOTHING, Typed, refused
from inspector.presentation.visible import visible
from inspector.programs.registry import programs
from inspector.sources.browsing import Entry, entries
from inspector.sources.places import is_dsn, place, real
from inspector.sources.problems import DATABASES, SourceProblem
from inspector.sources.reach import OutOfReach, limited
from inspector.sources.uploads import LARGEST
from inspector.text.shell_words import shell_word
from inspector.views.pages import as_json, own_address, page

ADDRESS = "postgresql://reader@db.example.org/agents"
"""An example of one."""
ROOTS = 3
"""Folders that the hint of a path names."""
LINES, COMMANDS = "lines", "commands"
"""What the buttons ask for next to an address and a path that pages may not read yet: what reads it, and the lines that allow it."""
FILES = (*DATABASES, ".json", ".jsonl", ".ndjson", ".zst", ".sql", ".dump", ".csv", ".tsv", ".txt", ".zip")
"""How names of files end that are read: what is typed and ends otherwise is taken for a folder."""
PASTED, THE_TEXT = "pasted.jsonl", "the pasted text"
"""The name of a text to which nobody gave another one, and what people know it as."""


class DefaultStore(NamedTuple):
    """Where a program keeps its sessions on this machine; `files` and `size` are None where they cannot be counted."""

    program: str
    path: str
    files: int | None
    size: int | None
    written: int | None
    """When the last of them was, in epoch milliseconds."""
    source: Source | None
    """What it is imported as."""


def _is_database(place: str) -> bool:
    return place.endswith((".db", ".sqlite"))


@dataclass(frozen=True, slots=True)
class ProgramCard:
    """What a person chooses: a program, and its default places; `stores` are those that are on this machine."""

    title: str
    formats: tuple[str, ...]
    places: tuple[str, ...] = ()
    moved_by: tuple[str, ...] = ()
    """The variables that name other places."""
    stores: tuple[DefaultStore, ...] = ()
    is_pasted: bool = False
    """Whether one of them is short enough to be pasted."""
    export_command: str = ""
    """Of a program of a database: what writes it as a file."""
    about: str = ""
    """What it is, of one that is no program."""

    @property
    def slug(self) -> str:
        return slugify(self.title)

    @property
    def state(self) -> str:
        """What is on this machine of a program with a usual place, where that was looked at."""
        if not self.places:
            return ""
        files = f": {self.files:,} file{'s' * (self.files != 1)}" if self.files else ""
        return f"found{files}" if self.has_sessions else "empty" if self.stores else "not found"

    @property
    def where(self) -> str:
        """Where sessions of it are, in a few words."""
        way = "a PostgreSQL database" if self.export_command else "a file or pasted text" if self.is_pasted else "a file"
        return next(iter(self.places), f"{self.about}: {way}" if self.about else way)

    @property
    def remote_folder(self) -> str:
        """Its usual folder as another machine has it, from the home folder there; "" of one that keeps a database, which is not copied so."""
        place = next(iter(self.places), "")
        return "" if not place.startswith("~/") or _is_database(place) else place.removeprefix("~/")

    @property
    def file(self) -> str:
        """What is uploaded of it."""
        if self.export_command:
            return f"The file {self.export_command.rpartition('> ')[2]}"
        place = next(iter(self.places), "")
        return f"The file {place}" if "." in place.rpartition("/")[2][1:] else f"A file below {place}" if place else "A file"

    @property
    def is_database_file(self) -> bool:
        """Whether one of its places is an SQLite database."""
        return any(map(_is_database, self.places))

    @property
    def has_sessions(self) -> bool:
        return any(store.files != 0 for store in self.stores)

    @property
    def files(self) -> int:
        """On this machine, as far as they can be counted."""
        return sum(store.files or 0 for store in self.stores)


CAPTURES = ProgramCard("Captured streams", ("captures",), is_pasted=True, about="what a provider or a proxy sent back, event by event")


@dataclass(frozen=True, slots=True)
class AddPage:
    """`folder` is the one that is looked at, "" for the list of roots; `above` the one that leads to it."""

    roots: tuple[str, ...]
    stores: tuple[DefaultStore, ...]
    addresses: tuple[str, ...]
    folder: str
    above: str
    entries: tuple[Entry, ...]
    more: bool
    problem: str
    largest: int
    """Megabytes of an upload."""
    is_listed: bool
    """INSPECTOR_SOURCES says what may be added."""
    program: str = ""
    """The slug of the program that was chosen."""
    typed: Typed = NOTHING
    text: str = ""
    """What was pasted and not taken, whole."""
    tried: str = ""
    """The path that was tested without importing it."""
    brought: str = ""
    """What was tested is kept as this, where a person brought it."""
    trials: tuple[Trial, ...] = ()
    imported: Source | None = None
    """The source that the path is already."""
    begins: str = ""
    """The first line of what was brought and is not known as anything."""
    beyond: str = ""
    """The place that was typed and may not be read."""

    @property
    def _to_list(self) -> str:
        """What INSPECTOR_SOURCES would list for that place: of a file its folder, since a database has other files there; "" for a file at the top."""
        # By its name: this page does not look what is there. Another dot is one of a folder as often.
        is_file = not is_dsn(self.beyond) and self.beyond.lower().endswith(FILES)
        return self.beyond.rpartition("/")[0] if is_file else self.beyond

    @property
    def unlisted(self) -> str:
        """Why there is no `listing`; "" where there is one."""
        if self.beyond and not self._to_list:
            return (
                f"{self.beyond} is in no folder, and with / in the list pages could read all of this machine: move it into a folder first."
            )
        wrong = next((place for place in (*self.roots, self._to_list or "PATH") if not as_listed(place)), "")
        return (
            f"INSPECTOR_SOURCES cannot list {visible(wrong)}: a comma or : ends a place there. Make a link to it without one in its name, and list that."
            if wrong
            else ""
        )

    @property
    def listing(self) -> str:
        """INSPECTOR_SOURCES as it is when that place, or else PATH, may be read too; "" where no list can say that."""
        return "" if self.unlisted else self._listing(self._to_list or "PATH")

    @property
    def listing_of_address(self) -> str:
        """The same with an address that is not typed yet."""
        return self._listing("ADDRESS")

    def _listing(self, place: str) -> str:
        places = [as_listed(text) for text in (*self.roots, *self.addresses, place)]
        return ",".join(dict.fromkeys(places)) if all(places) else ""

    @property
    def other_roots(self) -> tuple[str, ...]:
        """Those that are not listed with their program."""
        return tuple(root for root in self.roots if root not in {store.path for store in self.stores})

    @property
    def path(self) -> str:
        # Without a list it was looked whether there is something.
        return self.tried or self.folder or self.beyond_path or (self.usual if self.has_own_path and self.is_listed else "")

    @property
    def has_sessions(self) -> bool:
        """Whether sessions are where a program keeps them."""
        return any(store.files != 0 for store in self.stores)

    @property
    def tested(self) -> str:
        """What was tested, as whoever asked knows it."""
        name = self.brought.rpartition("/")[2]
        return self.tried or (THE_TEXT if name == PASTED else name)

    @property
    def can_import(self) -> bool:
        """Of what was tried."""
        return any(trial.format for trial in self.trials)

    @property
    def cards(self) -> tuple[ProgramCard, ...]:
        """All that may be chosen: those with something on this machine first, then those that have a usual place."""
        address = shell_word(self.beyond_address or ADDRESS)
        cards = [
            ProgramCard(
                program.title,
                tuple(format_.name for format_ in program.formats),
                tuple(dict.fromkeys(home.path for home in program.homes)),
                tuple(dict.fromkeys(home.moved_by for home in program.homes if home.moved_by)),
                tuple(store for store in self.stores if store.program == program.title),
                bool(program.wires),
                program.export_command.replace("ADDRESS", address),
                program.about,
            )
            for program in programs()
        ]
        return tuple(sorted([*cards, CAPTURES], key=lambda card: (not card.has_sessions, not card.stores, not card.places)))

    @property
    def chosen(self) -> ProgramCard | None:
        return next(iter(self.chosen_cards), None)

    @property
    def chosen_cards(self) -> tuple[ProgramCard, ...]:
        return tuple(card for card in self.cards if card.slug == self.program)

    @property
    def example(self) -> str:
        """Of what may be typed as a path."""
        if self.chosen and self.chosen.places and not self.addresses:
            # Whose home folder it is may be another's.
            return f"{visible(self.usual)}/..." if self.usual else f"/...{self.chosen.places[0].lstrip('~.')}"
        return visible(next(iter(self.addresses), f"{self.roots[0]}/..." if self.roots else ""))

    @property
    def address(self) -> str:
        return ADDRESS

    unnamed, the_text = PASTED, THE_TEXT

    @property
    def main_upload(self) -> bool:
        """Whether the test of a file is the first step."""
        return not (self.trials or self.beyond) and (
            self.opened["file"] or (self.has_own_upload and not (self.chosen and self.chosen.export_command))
        )

    @property
    def beyond_address(self) -> str:
        """`beyond` where it is a database."""
        return self.beyond if is_dsn(self.beyond) else ""

    @property
    def beyond_path(self) -> str:
        """`beyond` where it is a path."""
        return "" if is_dsn(self.beyond) else self.beyond

    @property
    def names_database(self) -> bool:
        """Whether a command in another terminal works on this database only with the variable that names it."""
        return settings.INSPECTOR_OWN_DATABASE_NAMED

    @property
    def own_address(self) -> str:
        """What the variable is then: "" where it may have a password, and where people sign in, who need not know where Inspector keeps things."""
        return own_address()

    @property
    def allowed(self) -> str:
        """The folders from which a path may be typed, where they are not listed to be browsed, and what comes of another one."""
        if self.has_own_path and not self.opens_own_path:
            return "This page may not open it: you get the commands that do."
        listed, more = ", ".join(map(visible, self.roots[:ROOTS])), len(self.roots) - ROOTS
        return (
            f"Allowed here: {listed}{f' and {more} more' if more > 0 else ''}, with what is below, and what is imported already. For any other path you get the commands."
            if listed and not self.other_roots
            else ""
        )

    @property
    def usual(self) -> str:
        """Where the chosen program keeps its sessions, if a path below it may be typed here."""
        if self.chosen is None:
            return ""
        places = below_roots(self.chosen.places) if self.is_listed else [store.path for store in self.chosen.stores]
        return next(iter(places), "")

    @property
    def is_looked(self) -> bool:
        """Whether it was looked where programs keep their sessions on this machine."""
        return bool(settings.INSPECTOR_LOCAL and not self.is_listed)

    @property
    def may_open(self) -> bool:
        """Whether there is a path, or an address, that pages may open."""
        return bool(self.roots or self.addresses)

    @property
    def has_own_upload(self) -> bool:
        """Whether the card of the chosen program has the form for a file."""
        return bool(self.chosen and not self.chosen.has_sessions)

    @property
    def has_own_command(self) -> bool:
        """Whether the card of the chosen program has the commands for a path: it keeps its sessions in folders, and none is found."""
        return bool(self.chosen and self.chosen.places and not self.chosen.has_sessions)

    @property
    def has_own_path(self) -> bool:
        """Whether that card has the field for a path too. An address that is listed is chosen next to the field."""
        return self.has_own_command and not self.addresses

    @property
    def opens_own_path(self) -> bool:
        """Whether pages may open what is typed there, as far as is known before."""
        return bool(self.usual or (self.is_listed and self.roots))

    @property
    def opened(self) -> dict[str, bool]:
        """Which of the ways are not folded: what was just used, a path where folders or addresses are listed for it, and at first one with a test."""
        return {
            "path": self.typed.name == "path" or bool(self.folder) or self.is_listed or (self.is_first and self.may_open),
            "file": self.typed.name == "file" or (self.is_first and not self.may_open),
            "text": self.typed.name == "text",
            "database": self.typed.name == "elsewhere" or bool(self.beyond_address),
            "elsewhere": bool(self.beyond),
        }

    @property
    def is_first(self) -> bool:
        """Whether nothing was chosen, found, tested or sent."""
        return not (self.chosen or self.present_cards or self.tested or self.typed.name or self.beyond)

    @property
    def may_watch(self) -> bool:
        return bool(settings.INSPECTOR_WATCH)

    @property
    def is_watched(self) -> bool:
        """Whether what is imported by its path is watched from then on, unless somebody chooses otherwise."""
        return bool(settings.INSPECTOR_LOCAL and self.may_watch)

    @property
    def present_cards(self) -> tuple[ProgramCard, ...]:
        """Those with sessions on this machine."""
        return tuple(card for card in self.cards if card.has_sessions)

    @property
    def exported_cards(self) -> tuple[ProgramCard, ...]:
        """Those of a database that a command writes as a file; none where one of them is chosen, whose card has it."""
        return () if self.chosen and self.chosen.export_command else tuple(card for card in self.cards if card.export_command)


def _add_page(request: OperatorRequest) -> AddPage:
    permit("add source")
    listing: list[Entry] = []
    folder, more, problem = request.GET.get("folder", ""), False, ""
    with limited(limit_of_adding(web_limit())):
        if folder:
            try:
                listing, more = entries(named(folder))
            except (SourceProblem, Refused) as refused:
                folder, problem = "", visible(str(refused))
        stores = () if folder else tuple(_default_stores())
    tops = tuple(map(str, roots()))
    above = "" if folder in ("", *tops) else folder.rstrip("/").rpartition("/")[0]
    is_listed, program = bool(settings.INSPECTOR_SOURCES), request.GET.get("program", "")
    return AddPage(tops, stores, addresses(), folder, above, tuple(listing), more, problem, LARGEST >> 20, is_listed, program)


def _default_stores() -> Iterator[DefaultStore]:
    for entry, extent in default_stores():
        path = str(entry.path.resolve())
        source = Source.objects.filter(path=path).first()
        files, size, written = (extent.files, extent.size, extent.written) if extent else (None, None, None)
        yield DefaultStore(entry.program, path, files, size, written, source)


@accepts("GET", "HEAD", "POST")
def add(request: OperatorRequest) -> HttpResponse:
    """POST adds the `path`, the `file`, the `text` under a `name`, or what was `brought` to be tested; with `do=try` or `do=lines` it says what the path holds, and adds nothing."""
    if request.method != "POST":
        content = _add_page(request)
        remove_unused()
        return page(request, "source_add.html", content, twins=("json",), status=400 if content.problem else 200)
    try:
        if request.POST.get("do") in ("try", LINES, COMMANDS):
            return _tried(request)
        path = _wanted(request)
        # Each look at a server is a login there: that is chosen on the page of the source.
        watch = {"0": False, "1": True}.get(request.POST.get("watch", "")) if not is_dsn(path) else None
        work = background.add(path, request.operator, watch)
    except (SourceProblem, Refused) as problem:
        return _not_added(request, problem)
    return redirect("task", key=work.task.key)


def _tried(request: OperatorRequest) -> HttpResponse:
    """Raises SourceProblem, Refused."""
    path = _wanted(request)
    with limited(limit_of_adding(web_limit())):
        answers = trials(path)
        is_path = known_as(path) == path
        imported = Source.objects.filter(oid=Source.oid_of(visible(real(place(path))))).first() if is_path else None
    tried = replace(
        _add_page(request),
        tried=path if is_path else "",
        brought="" if is_path else name_of_brought(path),
        trials=answers,
        imported=imported,
    )
    if tried.tested == THE_TEXT:
        tried = replace(
            tried, trials=tuple(replace(trial, problem=trial.problem.replace(PASTED, THE_TEXT.capitalize())) for trial in answers)
        )
    if tried.can_import or is_path:
        return page(request, "source_add.html", tried, twins=("json",))
    typed = Typed(_way(request), {"name": visible(request.POST.get("name", ""))})
    answer = replace(tried, begins=masked(first_line(path)), typed=typed, text=request.POST.get("text", ""))
    forget(path)
    # The text is there again as it was: masked, it would be diagnosed so.
    return exact(own_content(page(request, "source_add.html", answer, twins=("json",))))


def _not_added(request: OperatorRequest, problem: Exception) -> HttpResponse:
    """With what was typed, as it was: masked, it would be imported so at the next attempt."""
    beyond = str(problem.path) if isinstance(problem, OutOfReach) else ""
    if isinstance(problem, OutOfReach) and problem.place != beyond:
        problem = Refused(
            f"This cannot be shown as it is, and a command that is copied from here would name another place: {problem.place}. "
            "Type it without the characters that do not show."
        )
        beyond = ""
    # What was brought before has no form of its own: it is to be sent again.
    way = "file" if _way(request) == "brought" else _way(request)
    typed = refused(way, {**request.POST.dict(), "text": ""}, problem, otherwise="path" if way == "elsewhere" else way)
    # The command for a place that pages may not read is what was asked for there.
    is_answer = bool(beyond) and request.POST.get("do") in (LINES, COMMANDS)
    content = replace(_add_page(request), typed=NOTHING if is_answer else typed, text=request.POST.get("text", ""), beyond=beyond)
    return exact(own_content(page(request, "source_add.html", content, twins=("json",), status=200 if is_answer else 409)))


def add_json(request: OperatorRequest) -> HttpResponse:
    content = _add_page(request)
    answer = {
        **{name: getattr(content, name) for name in ("roots", "addresses", "folder", "more")},
        "stores": [json_fields(store, "program path files size written") for store in content.stores],
        "entries": [{"name": visible(entry.name), "path": entry.path, "size": entry.size} for entry in content.entries],
    }
    return as_json(answer | {"error": content.problem} if content.problem else answer, status=400 if content.problem else 200)


def _way(request: OperatorRequest) -> str:
    """Which of the forms was sent, by its button or the name of its field."""
    return (
        "elsewhere"
        if request.POST.get("do") == LINES
        else next((name for name in ("path", "text", "brought") if name in request.POST), "file")
    )


def _wanted(request: OperatorRequest) -> str:
    """The path or address that is to be imported. Raises SourceProblem, Refused."""
    upload = request.FILES.get("file")
    if isinstance(upload, UploadedFile):
        return brought(upload.name or "", upload.chunks())
    if _way(request) == "file":
        raise Refused("Choose a file first, or write a path, or paste some text.")
    if _way(request) == "brought":
        return brought_before(request.POST["brought"])
    if _way(request) == "text":
        return brought(request.POST.get("name") or PASTED, _pieces(request.POST["text"]))
    with limited(limit_of_adding(web_limit())):
        return named(request.POST.get("path", ""))


def _pieces(text: str) -> Iterator[bytes]:
    # A form sends every line end as CR LF.
    yield text.replace("\r\n", "\n").encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class RemovePage:
    source: Source
    goes: Removed
    typed: Typed = NOTHING

    @property
    def confirm_label(self) -> str:
        return f"Type {visible(self.source.name)} to say that it is this one"


@accepts("GET", "HEAD", "POST")
def remove(request: OperatorRequest, oid: str) -> HttpResponse:
    """GET says what goes; POST with the name of the source as `confirm` removes it."""
    source = get_object_or_404(Source, oid=oid)
    permit("remove", source)
    if request.method != "POST":
        return page(request, "source_remove.html", RemovePage(source, what_goes(source)), twins=("json",))
    if request.POST.get("confirm", "").strip() != visible(source.name):
        other = Refused(f"Nothing was removed: type {visible(source.name)}, the name of the source, to say that it is this one.", "confirm")
        return _not_removed(request, source, other)
    try:
        begin_removal(source, request.operator, request.POST.get("reason", ""), request.POST.get("undo") == "lost")
    except (SourceProblem, Refused) as problem:
        return _not_removed(request, source, problem)
    return redirect("task", key=background.remove(source, request.operator).task.key)


def _not_removed(request: OperatorRequest, source: Source, problem: Exception) -> HttpResponse:
    content = RemovePage(source, what_goes(source), refused("remove", request.POST.dict(), problem))
    return page(request, "source_remove.html", content, twins=("json",), status=409)


def remove_json(request: OperatorRequest, oid: str) -> HttpResponse:
    source = get_object_or_404(Source, oid=oid)
    permit("remove", source)
    return as_json(report_of(what_goes(source)))


def report_of(goes: Removed) -> dict[str, Any]:
    return {field.name: getattr(goes, field.name) for field in fields(goes)}


@accepts("POST")
def demo(request: OperatorRequest) -> HttpResponse:
    return redirect("task", key=background.switch_demo(request.POST.get("on") == "1", request.operator).task.key)
