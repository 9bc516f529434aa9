"""A source that a person adds from their browser: below the folders that may be read, an address that is listed, a file or text that they bring."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from inspector.access.context import unlimited
from inspector.access.permits import permit
from inspector.actions.import_source import import_targets
from inspector.actions.import_store import Imported
from inspector.actions.problems import Refused
from inspector.actions.watching import is_on, may_be_watched, set_watching, watch_of
from inspector.models import Source
from inspector.programs.catalogue import UnknownFormat
from inspector.sources import homes, reach, uploads
from inspector.sources.dsn import Dsn
from inspector.sources.places import exists, is_dsn, place
from inspector.sources.problems import Missing, SourceProblem
from inspector.sources.reach import Limit
from inspector.sources.reading import NoRequest, NotRecognized
from inspector.sources.within import stores_within

OWN_FOLDERS = ("uploads", "demo")
"""Folders in our data folder that pages may read whatever INSPECTOR_SOURCES lists: what is in them was brought or written by pages."""
LINE = 64 << 10
"""Bytes of a first line that is quoted: of a cut one a secret might not be recognized."""
OUTSIDE_OF_HOMES = "In local mode pages add only what is in the folders where programs keep their sessions; the command import_source reads what you may read."


def uploads_folder() -> Path:
    return Path(settings.VAR_DIR) / OWN_FOLDERS[0]


def known_as(path: str) -> str:
    """`path` as whoever asked for it knows it: what was uploaded by its name, since nobody who brought it knows a folder of the server."""
    return Path(path).name if Path(path).is_relative_to(uploads_folder().resolve()) else path


def sentence_of(path: str, problem: Exception) -> str:
    """As a page has it: with `path` as `known_as` has it, and without what to do at a terminal."""
    words = str(problem)
    if isinstance(problem, NotRecognized) and not problem.unread:
        words = f"{problem.what}."
    elif isinstance(problem, NoRequest):
        words = f"{problem.place} {problem.what}"
    return words.replace(path, known_as(path))


def roots() -> tuple[Path, ...]:
    """Folders from which pages may add: those that INSPECTOR_SOURCES lists; in local mode without a list those where programs keep their sessions."""
    if settings.INSPECTOR_SOURCES:
        return tuple(entry for entry in settings.INSPECTOR_SOURCES if isinstance(entry, Path))
    return tuple(dict.fromkeys(entry.path.resolve() for entry in homes.default_places())) if settings.INSPECTOR_LOCAL else ()


def below_roots(folders: Iterable[str]) -> list[str]:
    """Of these, which may begin with ~, those from which pages may add, whether they exist or not."""
    paths: list[Path] = []
    # A person without a home folder has none of them.
    with suppress(RuntimeError):
        paths = [Path(folder).expanduser() for folder in folders]
    return [str(path) for path in paths if any(path.is_relative_to(root) for root in roots())]


def default_stores() -> Iterator[tuple[homes.StorePlace, homes.Extent | None]]:
    """Those of `roots` where programs keep their sessions, with how much is there; None where that cannot be counted. Inside `limit_of_adding`."""
    for entry in () if settings.INSPECTOR_SOURCES or not settings.INSPECTOR_LOCAL else homes.default_places():
        try:
            yield entry, homes.extent(entry)
        except SourceProblem:
            yield entry, None


def addresses() -> tuple[str, ...]:
    return tuple(entry.name for entry in settings.INSPECTOR_SOURCES or () if isinstance(entry, Dsn))


def limit_of_adding(limit: Limit) -> Limit:
    """What pages may read, and what may be added."""
    return limit if settings.INSPECTOR_SOURCES else Limit((*limit.roots, *roots()), limit.allowed, OUTSIDE_OF_HOMES)


def named(text: str) -> str:
    """The place that a person typed or chose, if pages may read it. Nothing is opened. Raises SourceProblem, Refused."""
    permit("add source")
    text = text.strip()
    if not text:
        raise Refused("Say which path or address is to be added.")
    if not is_dsn(text) and not Path(text).is_absolute():
        raise Refused("Write the whole path, from / on.")
    where = place(text)
    reach.refuse(where)
    if not isinstance(where, Dsn) and Path(where).resolve() == uploads_folder().resolve():
        raise Refused("This is where Inspector keeps what people bring: nothing in it is to be added as a whole.")
    if isinstance(where, Dsn):
        return where.name
    if not exists(where):
        raise Missing(where)
    return str(where)


def brought(name: str, pieces: Iterable[bytes]) -> str:
    """Keeps what a person brought; its path. Raises SourceProblem: then nothing is kept."""
    permit("add source")
    remove_unused()
    return str(uploads.keep(uploads_folder(), name, pieces))


@unlimited
def remove_unused() -> None:
    """Deletes what was brought more than an hour ago and is no source."""
    base = uploads_folder()
    uploads.remove_unused(base, Source._base_manager.filter(path__startswith=str(base.resolve())).values_list("path", flat=True))


def brought_before(name: str) -> str:
    """The path of what was brought and tested, by the name that `name_of_brought` gave. Raises SourceProblem."""
    permit("add source")
    return str(uploads.kept(uploads_folder(), name))


def first_line(path: str) -> str:
    """Of what was brought; "" where it is longer than `LINE`."""
    with Path(path).open("rb") as file:
        line = file.readline(LINE + 1)
    return "" if len(line) > LINE else line.decode("utf-8", "replace").strip()


def name_of_brought(path: str) -> str:
    """How an answer to the browser may name it."""
    return str(Path(path).relative_to(uploads_folder().resolve()))


@unlimited
def forget(path: str) -> None:
    """Deletes what was brought, and is no source and no file of one."""
    if not Source._base_manager.filter(path__startswith=str(uploads.folder_of(uploads_folder(), path))).exists():
        uploads.remove(uploads_folder(), path)


@unlimited
def add(path: str, operator: str, watch: bool | None = None) -> Imported:
    """Imports it, and watches it or does not; None as it is by default. What was brought and cannot be read as anything is not kept, and said by its name.

    Raises SourceProblem, UnknownFormat, Refused.
    """
    try:
        paths = [path] if is_dsn(path) else [str(store.path) for store in stores_within(Path(path)).stores]
        imported = import_targets(paths, operator)
        for source in (result.source for result in imported):
            if watch is not None and may_be_watched(source) and watch != is_on(source, watch_of(source)):
                set_watching(source, operator, watch)
        return imported[0]
    except (SourceProblem, UnknownFormat, Refused) as problem:
        forget(path)
        if known_as(path) != path:
            raise Refused(sentence_of(path, problem)) from problem
        raise
