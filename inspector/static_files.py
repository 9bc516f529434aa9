"""Our static files, served from memory under names that contain a digest of their content: nothing is collected, and browsers keep them for a year."""

import gzip
import hashlib
import mimetypes
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.finders import BaseFinder
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response, patch_vary_headers

A_YEAR = "public, max-age=31536000, immutable"
BY_PLAIN_NAME = "public, max-age=60"


@dataclass(frozen=True)
class StaticFile:
    hashed_name: str
    """`inspector.css` as `inspector.1f2e3d4c5b6a.css`, after Django's own manifest storage."""
    digest: str
    content_type: str
    content: bytes

    @cached_property
    def compressed(self) -> bytes | None:
        """None where compression makes it no smaller."""
        smaller = gzip.compress(self.content, 9, mtime=0)
        return smaller if len(smaller) < len(self.content) else None


@cache
def _known() -> dict[str, StaticFile]:
    return _read()


def static_files() -> dict[str, StaticFile]:
    """By plain name, those of the project and of the apps. Read once: a server shows what it was started with. In debug mode, at every call."""
    return _read() if settings.DEBUG else _known()


def _read() -> dict[str, StaticFile]:
    files: dict[str, StaticFile] = {}
    for finder in finders.get_finders():
        for path, storage in finder.list([]):
            # The first finder wins, as in Django.
            if path not in files:
                with storage.open(path) as opened:
                    files[path] = _static_file(path, opened.read())
    return files


def _static_file(path: str, content: bytes) -> StaticFile:
    digest = hashlib.sha256(content).hexdigest()[:12]
    stem, _, ending = path.rpartition(".")
    # Not of the machine's own table of types, which may know no `.js`.
    kind = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}.get(ending)
    return StaticFile(f"{stem}.{digest}.{ending}", digest, kind or mimetypes.guess_type(path)[0] or "application/octet-stream", content)


class HashedNames(StaticFilesStorage):
    """The address that a template gets of a file contains its digest: another content has another address."""

    def url(self, name: str | None) -> str:
        file = static_files().get(name or "")
        return super().url(file.hashed_name if file else name)


class ByHashedName(BaseFinder):
    """For `runserver` and the server of browser tests, which look static files up by themselves."""

    def find(self, path: str, find_all: bool = False, **_: bool) -> Any:
        plain_name = _without_digest(path)
        file = static_files().get(plain_name)
        path_of_file = finders.find(plain_name) if file and file.hashed_name == path else None
        return [path_of_file] if find_all and path_of_file else path_of_file or []

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterable[Any]:
        return ()


def serve_static_files(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Answers below `STATIC_URL` before sessions and users are looked up; a name that no file has goes on, to the page for a wrong address."""

    def middleware(request: HttpRequest) -> HttpResponse:
        prefix = str(settings.STATIC_URL)
        if not request.path.startswith(prefix) or request.method not in ("GET", "HEAD"):
            return get_response(request)
        name = request.path.removeprefix(prefix)
        files = static_files()
        # With a digest that is not its own, as a page of another version may ask, the file as it is now is kept for a minute only.
        file = files.get(name) or files.get(_without_digest(name))
        return _answer(request, file, name == file.hashed_name) if file else get_response(request)

    return middleware


def _without_digest(name: str) -> str:
    stem, _, ending = name.rpartition(".")
    return f"{stem.rpartition('.')[0]}.{ending}"


def _answer(request: HttpRequest, file: StaticFile, by_hashed_name: bool) -> HttpResponse:
    compressed = file.compressed if "gzip" in request.headers.get("Accept-Encoding", "") else None
    response = HttpResponse(compressed or file.content, content_type=file.content_type)
    if compressed:
        response["Content-Encoding"] = "gzip"
    response["Cache-Control"] = A_YEAR if by_hashed_name else BY_PLAIN_NAME
    response["ETag"] = f'W/"{file.digest}"'
    patch_vary_headers(response, ["Accept-Encoding"])
    return get_conditional_response(request, response["ETag"], None, response) or response
