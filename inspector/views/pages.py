"""What all pages share: rendering a page dataclass whole or as the named part, and the `.json` and `.md` twins."""

import hashlib
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial, wraps
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.contrib.messages import get_messages
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.views import defaults

from inspector import __version__, kept_answers
from inspector.access.grants import whom_to_ask
from inspector.access.permits import may
from inspector.access.roles import ACTIONS, MEANINGS, Access, Role, refusal_of
from inspector.actions.add_source import known_as
from inspector.actions.audit import REMOVE
from inspector.installation import page_files_digest, program, program_from_anywhere, typed
from inspector.models import AuditEntry, Conversation, Finding, Problem, Repair, RepairGroup, Source, Stream, Tombstone, repair
from inspector.presentation import markdown
from inspector.presentation.clock import about_days
from inspector.presentation.json_text import json_text
from inspector.presentation.visible import visible
from inspector.programs.registry import programs
from inspector.sources import unchanged
from inspector.views.shared_links import Copy, copies_of

_LISTS = {
    "conversations": ("conversation", "/conversations/", "All conversations"),
    "findings": ("finding", "/", "To the inbox"),
    "problems": ("problem", "/", "To the inbox"),
    "repair-groups": ("group of repairs", "/repairs/", "All repairs"),
    "repairs": ("repair", "/repairs/", "All repairs"),
    "rules": ("rule", "/rules/", "All rules"),
    "sources": ("source", "/sources/", "All sources"),
    "strategies": ("strategy", "/strategies/", "All strategies"),
    "streams": ("stream", "/streams/", "All streams"),
    "tasks": ("task", "/tasks/", "All tasks"),
}
"""The first part of an address -> what it is of, and where those are listed."""
_NAMED = re.compile(rf"/({'|'.join(_LISTS)})/([^/]+?)(?:\.json|\.md|/|$)")
_NOT_IMPORTED = (
    "Its store was not imported here, or was removed. Where several copies of a store are imported, each copy has ids of its own."
)
_WHY_NOT = {
    "rules": "Rules have codes such as MSG101; an older version may have had this one under another name.",
    "strategies": "An older version may have had it under another name.",
    "tasks": "What tasks did is kept for some days; what came of it is on the page of the repair.",
}
_ABOUT = re.compile(r"/(?:conversations|findings|repairs|sources|streams|problems)/([0-9a-f]{12})(?:[/.]|$)")


@dataclass(frozen=True, slots=True)
class Section:
    """An entry of the navigation: where it leads, its pages as tabs, and the beginnings of the other addresses that belong to it."""

    label: str
    href: str
    tabs: tuple[tuple[str, str], ...] = ()
    others: tuple[str, ...] = ()

    def has(self, path: str) -> bool:
        return path == self.href or path.startswith(
            (*(href for _, href in self.tabs), *self.others, *([self.href] if self.href != "/" else []))
        )


NAVIGATION = (
    Section("Inbox", "/", others=("/findings/", "/problems/", "/trends/")),
    Section("Conversations", "/conversations/", (("Conversations", "/conversations/"), ("Streams", "/streams/"))),
    Section("Repairs", "/repairs/", (("Repairs", "/repairs/"), ("Tasks", "/tasks/")), ("/repair-groups/",)),
    Section(
        "Diagnose",
        "/diagnose/",
        (("Paste anything", "/diagnose/"), ("Explain", "/explain/"), ("Check", "/check/"), ("What if", "/whatif/")),
    ),
    Section(
        "Reference",
        "/reference/",
        (
            ("Overview", "/reference/"),
            ("Rules", "/rules/"),
            ("Strategies", "/strategies/"),
            ("Provider rules", "/profiles/"),
            ("Formats", "/formats/"),
            ("Readers", "/readers/"),
            ("Projections", "/projections/"),
        ),
    ),
)
ACCOUNT = (("Sources", "/sources/"), ("Notifications", "/notifications/"), ("Audit", "/audit/"), ("Users", "/users/"))
"""Below the name of who is signed in, and as tabs of these pages."""
FOR_ACCESS = (("Sources", "/sources/", "see"), ("Notifications", "/notifications/", "notify"), ("Audit", "/audit/", "audit"))
"""The same where people sign in, each with the action that its page is for."""


OF_HTMX = ("HX-Request", "HX-Boosted", "HX-History-Restore-Request", "HX-Target")
WHOLE = "main"
"""Id of what selectors swap: they ask for the whole page and take this out of it."""
"""The headers by which `page` chooses between a page and its part."""


@dataclass(frozen=True, slots=True)
class Link:
    label: str
    href: str
    current: bool = False


def program_for_pages() -> str:
    """Where people sign in, not everybody is to know where Inspector is installed."""
    return program_from_anywhere() if settings.INSPECTOR_LOCAL else program()


def own_address() -> str:
    """What the variable that names our database is in another terminal, where a command needs it; "" where it may have a password, and where people sign in."""
    database = settings.DATABASES["default"]
    is_file = database["ENGINE"] == "django.db.backends.sqlite3"
    is_shown = settings.INSPECTOR_OWN_DATABASE_NAMED and is_file and settings.INSPECTOR_LOCAL
    return f"sqlite:///{quote(str(database['NAME']))}" if is_shown else ""


def links(path: str, entries: Iterable[tuple[str, str]]) -> list[Link]:
    return [Link(label, href, path.startswith(href)) for label, href in entries]


def navigation(path: str) -> dict[str, list[Link]]:
    """The sections, the pages of the section of this page, and what is below the name of the person."""
    here = next((section for section in NAVIGATION if section.has(path)), None)
    return {
        "navigation": [Link(section.label, section.href, section is here) for section in NAVIGATION],
        "tabs": links(path, here.tabs) if here else [],
        **_account_links(path, ACCOUNT),
    }


def _account_links(path: str, entries: Sequence[tuple[str, str]]) -> dict[str, list[Link]]:
    account = links(path, entries)
    return {"account": account} | ({"tabs": account} if any(link.current for link in account) else {})


def of_account(request: HttpRequest) -> dict[str, Any]:
    """Where people sign in: below the name of a person what is for them; and whom an account without a role asks for one."""
    if settings.INSPECTOR_LOCAL:
        return {}
    access = access_of_request(request)
    allowed = [(label, href) for label, href, action in FOR_ACCESS if action == "see" or access.may(action)]
    if any(one.role >= Role.ADMIN for one in access.roles):
        allowed.append(("Users", "/users/"))
        allowed.append(("Shared links", "/links/"))
    if request.user.is_authenticated:
        allowed.append(("Account", "/account/"))
    no_role = ""
    if access.name and access.sources == frozenset():
        no_role = f"Your account has no role on any source yet, so there is nothing to see. Ask {whom_to_ask()} for one."
    return {**_account_links(request.path, allowed), "no_role": no_role, "by_proxy": bool(settings.INSPECTOR_PROXY_USER_HEADER)}


def waiting_for_review(request: HttpRequest) -> int:
    """How many repairs, or groups of them, wait; counted once for a request."""
    if not hasattr(request, "waiting_for_review"):
        request.waiting_for_review = repair.waiting_for_review()["n"]  # type: ignore[attr-defined]
    return int(request.waiting_for_review)  # type: ignore[attr-defined]


def page(
    request: HttpRequest, template: str, content: Any, part: str = "", twins: Sequence[str] = (), status: int = 200, live: object = None
) -> HttpResponse:
    """`template` with `content` as `page`; only its part `part` when htmx asks. `twins` are the endings (`json`, `md`) that this page has; `live` is
    what it is asked for while it is looked at (`views.live`)."""
    htmx = getattr(request, "htmx", None)
    is_part = bool(part) and htmx and not htmx.boosted and not htmx.history_restore_request and htmx.target != WHOLE
    context = {
        "page": content,
        **navigation(request.path),
        **of_account(request),
        "waiting": partial(waiting_for_review, request),
        "days_note": about_days(*(request.GET.get(name, "") for name in ("since", "until", "day"))),
        "local_mode": settings.INSPECTOR_LOCAL,
        "program": program_for_pages(),
        "reveals": getattr(request, "reveals", False),
        "may_reveal": status == 200 and may_reveal(request),
        "live": None if is_part else live,
        "share_href": _share_href(request) if status == 200 else "",
        "twins": [Link(f".{ending}", twin(request, ending)) for ending in twins],
    }
    response = render(request, f"{template}#{part}" if is_part else template, context, status=status)
    patch_vary_headers(response, ["HX-Request", "HX-Target"])
    return response


_SHAREABLE = re.compile(r"/(conversation|finding|repair|problem|stream)s/([0-9a-f]{12})/$")


def _share_href(request: HttpRequest) -> str:
    """Where a link to this page without a login is made; "" where none may be, and in local mode, in which nobody else could open it."""
    match = None if settings.INSPECTOR_LOCAL else _SHAREABLE.match(request.path)
    access = access_of_request(request)
    if match is None or not any(one.role >= ACTIONS["share"].least for one in access.roles):
        return ""
    source = source_of_page(request)
    return f"/new-link/{match[1]}/{match[2]}/" if source is not None and access.may("share", source) else ""


def may_reveal(request: HttpRequest) -> bool:
    """Whether who asks may see secrets as they are stored: on the page of one source by the role there, on any other by that on all that they see. In
    local mode always. Asked once for a request, and of the database only where the roles of a person differ."""
    if settings.INSPECTOR_LOCAL:
        return True
    access = access_of_request(request)
    if access.may_on_all("reveal"):
        return True
    if not any(access.may("reveal", source) for source in access.sources or ()):
        return False
    source = source_of_page(request)
    return source is not None and access.may("reveal", source) and not _may_not_reveal_other(request, access)


def _may_not_reveal_other(request: HttpRequest, access: Access) -> bool:
    """Of a comparison the address names a second conversation, which may be of another source."""
    if not (other := request.GET.get("with")):
        return False
    source = Conversation.objects.filter(oid=visible(other)).values_list("source", flat=True).first()
    return source is not None and not access.may("reveal", source)


def access_of_request(request: HttpRequest) -> Access:
    """Of a person who signed in; nothing for a request that was refused before that was known."""
    return getattr(request, "access", None) or Access("")


def why_not_reveal(request: HttpRequest) -> str:
    """One sentence for a person who may not."""
    access, source = access_of_request(request), source_of_page(request)
    if access.roles and (source is None or access.may("reveal", source)):
        return f"This page shows several sources, and you may not reveal the secrets of all of them. Ask {whom_to_ask()} for the role of a proposer."
    return refusal_of(access, "reveal", source, whom_to_ask(source))


_OWNERS: Mapping[str, tuple[type[Model], str]] = {
    "conversations": (Conversation, "source"),
    "findings": (Finding, "conversation__source"),
    "problems": (Problem, "source"),
    "repairs": (Repair, "conversation__source"),
    "repair-groups": (RepairGroup, "source"),
    "sources": (Source, "pk"),
    "streams": (Stream, "source"),
}


def source_of_page(request: HttpRequest) -> int | None:
    """The row id of the one source that an address is about; None of a list, and of what is not there or may not be seen."""
    if not hasattr(request, "source_of_page"):
        kind, _, rest = request.path.strip("/").partition("/")
        oid = re.split(r"[/.]", rest)[0]
        model, path = _OWNERS.get(kind, (None, ""))
        row = model._default_manager.filter(oid=oid).values_list(path, flat=True).first() if model and oid else None
        request.source_of_page = row  # type: ignore[attr-defined]
    known: int | None = request.source_of_page  # type: ignore[attr-defined]
    return known


def twin(request: HttpRequest, ending: str) -> str:
    """The address of the same page in another form: /rules/ -> /rules.json, / -> /index.json; the query stays."""
    path = request.path.rstrip("/") or "/index"
    query = request.GET.urlencode()
    return f"{path}.{ending}" + (f"?{query}" if query else "")


def unless_unchanged(facts_of: Callable[..., object]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Answers without running the view where the browser already has what the view would answer (304), or we have (`inspector.kept_answers`).

    `facts_of` gets what the view gets and returns, by a few small queries, all that the answer depends on in our database; None where that
    cannot be known without the work. What every page depends on is added here: the code, the address, who asks, the settings, the form token.
    The answer is for one person, and is asked for each time.
    """

    def decorate(view: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(view)
        def answer(request: HttpRequest, *arguments: Any, **named: Any) -> Any:
            facts = facts_of(request, *arguments, **named) if _may_be_unchanged(request) else None
            if facts is None:
                return view(request, *arguments, **named)
            etag = _etag(request, facts)
            token = request.META.get("CSRF_COOKIE")
            response = get_conditional_response(request, etag) or kept_answers.kept(etag) or view(request, *arguments, **named)
            # A form that brings its first token is of use only with the cookie that comes with it.
            is_first_token = token is None and "CSRF_COOKIE" in request.META
            if response.status_code in (200, 304) and not is_first_token:
                response.may_be_kept = True  # type: ignore[union-attr]
                response["ETag"] = etag
                response["Cache-Control"] = "private, no-cache"
                patch_vary_headers(response, ["Cookie", *OF_HTMX])
            return response

        return answer

    return decorate


def _may_be_unchanged(request: HttpRequest) -> bool:
    # In debug mode templates are read again at every request. A message is shown once: a page with it is what no other request gets. What reveals is
    # answered once, and audited each time.
    is_for_once = getattr(request, "reveals", False) or len(get_messages(request))
    return request.method in ("GET", "HEAD") and not settings.DEBUG and not is_for_once


@cache
def _names_of_settings() -> tuple[str, ...]:
    return tuple(sorted(name for name in dir(settings) if name.startswith("INSPECTOR_")))


def version_of_pages() -> tuple[str, str]:
    """Of the code, and of templates and static files; known from the first time on."""
    return unchanged.code(("inspector", *(program.package for program in programs()))), page_files_digest()


def _etag(request: HttpRequest, facts: object) -> str:
    """Whoever makes a page depend on more about the request or the person adds it here."""
    parts = (
        *version_of_pages(),
        program_for_pages(),
        [(name, getattr(settings, name)) for name in _names_of_settings()],
        (request.scheme, request.get_host(), request.get_full_path()),
        [request.headers.get(name) for name in OF_HTMX],
        (request.operator, request.user.is_authenticated, may_reveal(request)),  # type: ignore[attr-defined]
        () if settings.INSPECTOR_LOCAL else access_of_request(request).facts,
        # The token in a form has another mask in each page, and every mask of one secret is accepted.
        request.META.get("CSRF_COOKIE"),
        [(write.repair.oid, write.sentence) for write in getattr(request, "interrupted", ())],
        waiting_for_review(request),
        # Pages say how long ago something was: without script those words are an hour old at most.
        int(time.time() // 3600),
        facts,
    )
    return f'"{hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]}"'


def as_json(content: Any, status: int = 200) -> HttpResponse:
    """The `.json` twin, as the commands print it."""
    return HttpResponse(json_text(content), status=status, content_type="application/json")


def as_markdown(text: str, status: int = 200) -> HttpResponse:
    return HttpResponse(text, status=status, content_type="text/markdown; charset=utf-8")


def absolute(request: HttpRequest, path: str) -> str:
    """A link that leaves the machine: only the path where nobody else could open it, since these pages answer this machine only."""
    base = settings.INSPECTOR_BASE_URL
    if base:
        return f"{base.rstrip('/')}{path}"
    return path if settings.INSPECTOR_LOCAL else request.build_absolute_uri(path)


def origin_of(conversation: Conversation, revision: int, *command: str) -> str:
    """Where a copy of a page comes from, as Markdown: the store, the version, and what prints the same again."""
    return origin_of_source(conversation.source, revision, *command)


def origin_of_source(source: Source, revision: int | None, *command: str) -> str:
    return markdown.origin(source.path, source.format, revision, __version__, typed(*map(visible, command)))


def forbidden(request: HttpRequest, sentence: str) -> HttpResponse:
    """403 in the form of the address: what the person may see, and not do. Nothing was done."""
    if request.path.endswith(".json"):
        return as_json({"error": sentence}, status=403)
    if request.path.endswith(".md"):
        return as_markdown(sentence + "\n", status=403)
    return page(request, "403_role.html", _not_permitted(request, sentence), status=403)


@dataclass(frozen=True, slots=True)
class OwnRole:
    """A role of the person, what it may do, and on what: None is all sources."""

    role: str
    meaning: str
    sources: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class NotPermittedPage:
    """`href` is the page of the thing that was not to be changed, or where such things are listed; `words` are those of a button."""

    sentence: str
    href: str
    words: str
    roles: tuple[OwnRole, ...]


def _not_permitted(request: HttpRequest, sentence: str) -> NotPermittedPage:
    match = _NAMED.match(request.path)
    what, address, words = _LISTS[match[1]] if match else ("", "/", "To the inbox")
    own = f"/{match[1]}/{match[2]}/" if match and source_of_page(request) is not None else ""
    # The page of the thing itself is refused: it leads nowhere.
    is_other = own and (own != request.path or request.method == "POST")
    access = access_of_request(request)
    pks = {pk for one in access.roles for pk in one.sources or ()}
    names = {source.pk: source.name for source in Source.objects.filter(pk__in=pks)} if pks else {}
    roles = []
    for role in sorted({one.role for one in access.roles}, reverse=True):
        of = [one.sources for one in access.roles if one.role == role]
        on = None if None in of else tuple(sorted({names[pk] for ids in of for pk in ids or () if pk in names}))
        roles.append(OwnRole(role.word, MEANINGS[role], on))
    return NotPermittedPage(sentence, *((own, f"Back to the {what}") if is_other else (address, words)), tuple(roles))


def refusal(request: HttpRequest, sentence: str, status: int = 409) -> HttpResponse:
    """One sentence, on a page of its own; nothing was done."""
    return page(request, "refusal.html", {"sentence": sentence}, status=status)


def missing_page(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The sentence of an Http404 of ours, on a page with the way back; Django's own texts name its classes."""
    if copies := copies_of(request.path, request.GET):
        return _copies_page(request, copies)
    tombstone, status = _purged(request), 404
    text = str(exception.args[0]) if exception.args and isinstance(exception.args[0], str) else ""
    sentence = "" if "matches the given query" in text else text
    if tombstone is not None:
        sentence, status = tombstone.sentence, 410
    content = _missing(request, sentence, tombstone)
    if request.path.endswith(".json"):
        return as_json({"error": content.words_alone}, status=status)
    if request.path.endswith(".md"):
        return as_markdown(f"{content.words_alone}\n", status=status)
    return page(request, "404.html", content, status=status)


@dataclass(frozen=True, slots=True)
class MissingPage:
    """`named` is what the address names a thing by; `href` is where things of its kind are listed, in `words` of a button."""

    title: str
    sentence: str
    named: str
    href: str
    words: str
    tombstone: Tombstone | None = None
    store: Source | None = None
    """Where it was, where that is imported still."""
    removal: AuditEntry | None = None
    """Where its source was removed: the line that names the source and counts what went with it, for who may read the audit log."""

    @property
    def words_alone(self) -> str:
        """For who asks for no page."""
        return self.sentence if self.tombstone else f"{self.title}. {self.sentence}".strip()

    @property
    def went(self) -> tuple[tuple[str, int], ...]:
        """What went with the source, and how many."""
        counts = self.removal.detail if self.removal else {}
        return tuple((word, counts[name]) for name, word in _WENT.items() if isinstance(counts.get(name), int))

    @property
    def to_add(self) -> str:
        """The path by which the person may import the source again; "" where there is none. What was uploaded went with its source."""
        path = self.removal.source_path if self.removal else ""
        return path if may("add source") and known_as(path) == path else ""


_WENT = {"conversations": "conversation", "findings": "finding", "repairs": "repair", "streams": "stream", "trace_records": "trace record"}


def _missing(request: HttpRequest, sentence: str, tombstone: Tombstone | None = None) -> MissingPage:
    """By the address alone: whoever may not see a thing gets what everybody gets where there is none."""
    match = _NAMED.match(request.path)
    if match is None:
        return MissingPage("There is nothing at this address", sentence, "", "/", "To the inbox", tombstone)
    what, address, words = _LISTS[match[1]]
    name = "" if tombstone else visible(match[2])[:64]
    if not (tombstone or sentence) and request.path != f"/{match[1]}/{match[2]}/" and source_of_page(request) is not None:
        sentence = f"The {what} is here, and has no such page."
    if tombstone or sentence:
        title = f"This {tombstone.kind} was {tombstone.act}" if tombstone else "There is nothing at this address"
        is_part = not tombstone and request.path != f"/{match[1]}/{match[2]}/"
        leads_to = (f"/{match[1]}/{match[2]}/", f"To the {what}") if is_part else (address, words)
        store = _store_of(tombstone) if tombstone else None
        return MissingPage(title, sentence, name, *leads_to, tombstone, store, _removal(tombstone) if tombstone and store is None else None)
    return MissingPage(
        f"No {what} here has the {'name' if what in ('rule', 'strategy') else 'id'} {name}",
        _WHY_NOT.get(match[1], _NOT_IMPORTED),
        name,
        address,
        words,
    )


def _store_of(tombstone: Tombstone) -> Source | None:
    return None if tombstone.is_of_source else Source.objects.filter(oid=tombstone.source).first()


def _removal(tombstone: Tombstone) -> AuditEntry | None:
    return AuditEntry.objects.filter(verb=REMOVE, conversation=tombstone.source).first() if may("audit") else None


def _copies_page(request: HttpRequest, copies: Sequence[Copy]) -> HttpResponse:
    """To the only copy, or to choose one of several."""
    if len(copies) == 1:
        return HttpResponseRedirect(copies[0].href)
    if request.path.endswith(".json"):
        return as_json({"error": "Several sources have a copy of it: name one.", "copies": [copy.href for copy in copies]}, status=300)
    return page(request, "copies.html", {"copies": copies}, status=300)


def _purged(request: HttpRequest) -> Tombstone | None:
    match = _ABOUT.match(request.path)
    tombstone = Tombstone.objects.filter(oid=match[1]).first() if match else None
    return None if tombstone is None or _is_there(tombstone) else tombstone


def _is_there(tombstone: Tombstone) -> bool:
    """It was imported again since: then the link is wrong for another reason, such as a revision that never was."""
    model = Source if tombstone.is_of_source else Conversation
    return model._default_manager.filter(oid=tombstone.conversation).exists()


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A form with more text than a form may have is refused before any view runs: the page says where so much can go."""
    if isinstance(exception, RequestDataTooBig):
        largest = settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 2**20
        sentence = f"This form holds over {largest} MB, more than can be pasted: choose it as a file on /check/, or give the path of the file to the command scan."
    elif isinstance(exception, TooManyFieldsSent | TooManyFilesSent):
        sentence = too_many_fields()
    else:
        return defaults.bad_request(request, exception)
    return _refused_form(request, sentence, 400)


def too_many_fields() -> str:
    return (
        f"This address or form has over {settings.DATA_UPLOAD_MAX_NUMBER_FIELDS} fields, or over {settings.DATA_UPLOAD_MAX_NUMBER_FILES} file, "
        "more than any form here: open the page again, and send its form."
    )


def form_not_accepted(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form without its token, or sent from another address than that of its page."""
    sentence = "This form was not accepted, and nothing was done: its page is too old, or the browser keeps no cookies. Load the page again, and repeat what you did."
    if reason.startswith(("Origin checking failed", "Referer checking failed")):
        sentence = (
            "This form was not accepted, and nothing was done: the browser sent it from another address than that of Inspector. Open Inspector itself; "
            "behind a proxy, set INSPECTOR_BASE_URL to the address that people open."
        )
    return _refused_form(request, sentence, 403)


def _refused_form(request: HttpRequest, sentence: str, status: int) -> HttpResponse:
    return as_json({"error": sentence}, status=status) if request.path.endswith(".json") else refusal(request, sentence, status=status)
