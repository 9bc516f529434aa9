"""Who signs in and what they may do: users, their roles, groups of sources, and one's own password."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from django.contrib import messages
from django.contrib.auth import get_user_model, update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import User
from django.contrib.auth.views import PasswordResetConfirmView
from django.db.models import Count, F, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect

from inspector.access.context import NotPermitted, current
from inspector.access.permits import permit, why_not
from inspector.access.roles import MEANINGS, ROLES, Role
from inspector.actions import audit, people
from inspector.actions.problems import Refused
from inspector.actions.welcome import link_of
from inspector.cache_headers import exact
from inspector.middleware import OperatorRequest, accepts
from inspector.models import ApiToken, Grant, Source, SourceGroup
from inspector.models.transactions import one_writer
from inspector.models.visible import one_parameter
from inspector.presentation.json_text import Json
from inspector.presentation.typed import NOTHING, Typed, refused
from inspector.presentation.visible import clipped, visible
from inspector.sign_in import throttle, tokens
from inspector.sign_in.client_address import client_address
from inspector.views.pages import as_json, page, refusal
from inspector.views.paging import PER_PAGE, ListWindow, in_memory

SOURCES_SHOWN = 50
"""In a form, and of each group; others are found by a part of their path."""
ROLES_SHOWN = 50
NAME_SHOWN = 80
"""Characters of the name of a source in a select."""
ALL = "all"
ROLE_CHOICES = tuple((word, word) for word in ROLES)
SORTS: Mapping[str, Any] = {
    "name": F("username").asc(),
    "-name": F("username").desc(),
    "seen": F("last_login").asc(nulls_last=True),
    "-seen": F("last_login").desc(nulls_last=True),
}
"""What the list of accounts can be sorted by."""
GROUP_SORTS: Mapping[str, Any] = {
    f"{sign}{word}": F(column).desc() if sign else F(column).asc()
    for word, column in (("name", "name"), ("sources", "total"), ("people", "people"))
    for sign in ("", "-")
}
PEOPLE_SHOWN = 3
"""Names in the list of groups."""
NAMED_OF_GROUP = 3
"""Sources of each group in that list."""
GONE = "This role is gone already: load the page again."
NO_ACCOUNT = "In local mode nobody signs in, so there is no password to change."


class UserRow(NamedTuple):
    """`grants` are those that the person who looks may know of."""

    user: Any
    grants: tuple[Grant, ...]
    more: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PeoplePage:
    rows: tuple[UserRow, ...]
    here: ListWindow[Any]
    roles: tuple[tuple[str, str], ...]
    why_not: str
    """Why who looks may not add users; "" where they may."""
    offered: "Offered"
    places: tuple[tuple[str, str], ...]
    """What a role may be given on, for a select."""
    q: str
    """A part of the names that are listed."""
    typed: Typed = NOTHING

    role_choices = ROLE_CHOICES
    role_choices_or_none = (("", "none yet"), *ROLE_CHOICES)

    @property
    def is_searched(self) -> bool:
        return bool(self.q) or self.here.pages > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UserPage:
    row: UserRow
    roles: tuple[tuple[str, str], ...]
    offered: "Offered"
    places: tuple[tuple[str, str], ...]
    why_not: str
    why_no_password: str
    link: str = ""
    typed: Typed = NOTHING
    tokens: tuple[ApiToken, ...] = ()
    """Those of the account, for who may revoke them."""

    role_choices = ROLE_CHOICES


class Offered(NamedTuple):
    """Sources for a form: those whose path has `find` in it, or whose id that is; `total` with those that are not listed."""

    sources: tuple[Source, ...]
    total: int
    find: str

    @property
    def is_searched(self) -> bool:
        """A box to search in is of use."""
        return bool(self.find) or self.total > len(self.sources)


class GroupRow(NamedTuple):
    """`people` are the first names with a role on it, `more` how many there are besides; so are `sources` and `more_sources`."""

    group: Any
    people: tuple[str, ...]
    more: int
    sources: tuple[Source, ...]
    more_sources: int


class GroupsPage(NamedTuple):
    rows: tuple[GroupRow, ...]
    here: ListWindow[Any]
    q: str
    """A part of the names that are listed."""
    typed: Typed = NOTHING

    @property
    def is_searched(self) -> bool:
        return bool(self.q) or self.here.pages > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPage:
    """Of the group `shown` are the first sources that were looked for, `found` is how many there are of these, `total` how many at all; `choices` are the
    sources that may be put into it, `grants` the first roles on it."""

    group: Any
    offered: Offered
    choices: tuple[tuple[str, str], ...]
    grants: tuple[Grant, ...]
    typed: Typed = NOTHING

    role_choices = ROLE_CHOICES

    @property
    def more(self) -> int:
        return int(self.group.roles) - len(self.grants)


def _permit() -> None:
    """Admins of all, and those of one source, who give roles on it. Raises NotPermitted."""
    access = current()
    if access is not None and not any(one.role >= Role.ADMIN for one in access.roles):
        raise NotPermitted(why_not("users"))


def _may_know(grant: Grant) -> bool:
    access = current()
    if access is None or access.may("users"):
        return True
    return grant.source_id is not None and access.may("grant", grant.source_id)


def _row(user: Any) -> UserRow:
    return UserRow(user, tuple(user.shown), user.granted - len(user.shown))


def _administered() -> list[int]:
    """Row ids of the sources that the person is an admin of, who is none of all."""
    access = current()
    return [] if access is None else [source for source in access.sources or () if access.may("grant", source)]


def _people() -> tuple[Any, str]:
    """An admin of one source sees the accounts with a role on that one: the names of others are for admins of all."""
    _permit()
    known, users = Grant.objects.all(), get_user_model()._default_manager.all()
    if cannot := why_not("users"):
        known = known.filter(source__in=one_parameter(_administered()))
        users = users.filter(pk__in=known.values("user"))
    first = Prefetch("grants", known.select_related("source", "group")[:ROLES_SHOWN], to_attr="shown")
    return users.annotate(granted=_number(known.filter(user=OuterRef("pk")), "user")).prefetch_related(first), cannot


def _number(rows: QuerySet[Any], of: str) -> Any:
    """How many, as a column."""
    return Coalesce(Subquery(rows.order_by().values(of).annotate(n=Count("pk")).values("n")), 0)


def _searched(find: str) -> Q:
    return Q(path__icontains=find) | Q(oid=find) if find else Q()


def _offered(request: HttpRequest, cannot: str) -> Offered:
    find = visible(request.GET.get("find", "").strip())
    sources = Source.objects.filter(_searched(find)).order_by("path")
    if cannot:
        sources = sources.filter(pk__in=one_parameter(_administered()))
    return Offered(tuple(sources[:SOURCES_SHOWN]), sources.count(), find)


def _roles() -> tuple[tuple[str, str], ...]:
    return tuple((word, MEANINGS[role]) for word, role in ROLES.items())


def _places(offered: Offered, cannot: str) -> tuple[tuple[str, str], ...]:
    groups = () if cannot else ((f"group:{group.pk}", f"the group {visible(group.name)}") for group in SourceGroup.objects.all())
    return (*(() if cannot else ((ALL, "all sources"),)), *groups, *_choices(offered, "source:"))


def _choices(offered: Offered, prefix: str = "") -> Iterator[tuple[str, str]]:
    return ((f"{prefix}{source.oid}", clipped(source.name, NAME_SHOWN)[0]) for source in offered.sources)


def _people_page(request: HttpRequest, typed: Typed = NOTHING) -> PeoplePage:
    users, cannot = _people()
    q = visible(request.GET.get("q", "").strip())
    users = users.filter(username__icontains=q) if q else users
    order = SORTS.get(request.GET.get("sort", ""), SORTS["name"])
    pks = in_memory(users.order_by(order, "username").values_list("pk", flat=True), request.GET, PER_PAGE)
    shown = {user.pk: user for user in users.filter(pk__in=pks.rows)}
    here = replace(pks, rows=tuple(shown[pk] for pk in pks.rows))
    offered = _offered(request, cannot) if cannot else Offered((), 0, "")
    places = _places(offered, cannot) if cannot else ()
    rows = tuple(map(_row, here.rows))
    return PeoplePage(rows=rows, here=here, roles=_roles(), why_not=cannot, offered=offered, places=places, q=q, typed=typed)


@accepts("GET", "HEAD", "POST")
def users(request: OperatorRequest) -> HttpResponse:
    """POST adds an account, and shows the link by which its person sets a password."""
    if request.method != "POST":
        return page(request, "people.html", _people_page(request), twins=("json",))
    form = request.POST
    try:
        with one_writer():
            user = people.add_user(request.operator, form.get("name", ""), form.get("password", ""))
            if role := form.get("role", ""):
                people.give(request.operator, user, role)
    except Refused as problem:
        return _not_done(request, "people.html", _people_page(request, refused("add", form.dict(), problem)))
    if form.get("password"):
        messages.success(request, f"{user.username} can sign in with this password, and change it then.")
        return redirect("user", pk=user.pk)
    return _with_link(request, user, link_of(user, _base(request)))


def _not_done(request: OperatorRequest, template: str, content: Any) -> HttpResponse:
    """The page again, with what was typed."""
    return page(request, template, content, twins=("json",), status=409)


def _base(request: HttpRequest) -> str:
    return f"{request.scheme}://{request.get_host()}"


def _with_link(request: OperatorRequest, user: User, link: str) -> HttpResponse:
    """The link is shown once, and kept by nothing: it is the password until one is set."""
    return exact(page(request, "person.html", _user_page(request, user.pk, link)))


def _user_page(request: HttpRequest, pk: int, link: str = "", typed: Typed = NOTHING) -> UserPage:
    users, cannot = _people()
    user = get_object_or_404(users, pk=pk)
    offered = _offered(request, cannot)
    return UserPage(
        row=_row(user),
        roles=_roles(),
        offered=offered,
        places=_places(offered, cannot),
        why_not=cannot,
        why_no_password=people.why_no_password(user),
        link=link,
        typed=typed,
        tokens=() if why_not("tokens") else tuple(ApiToken.objects.filter(user=user.pk).select_related("source", "group").order_by("pk")),
    )


def user(request: OperatorRequest, pk: int) -> HttpResponse:
    return page(request, "person.html", _user_page(request, pk), twins=("json",))


def users_json(request: OperatorRequest) -> HttpResponse:
    content = _people_page(request)
    older = content.here.older
    return as_json(
        {
            "total": content.here.total,
            "next": older.query(request.GET) if older else "",
            "users": [_report(row) for row in content.rows],
        }
    )


def user_json(request: OperatorRequest, pk: int) -> HttpResponse:
    content = _user_page(request, pk)
    described = [
        {"id": row.pk, "name": row.name, "begins": row.shown, "role": row.role, "on": row.on}
        | {"created_at": row.created_at, "expires_at": row.expires_at, "used_at": row.used_at}
        for row in content.tokens
    ]
    return as_json(_report(content.row) | {"tokens": described})


def _report(row: UserRow) -> Json:
    user = row.user
    grants = [
        {
            "id": grant.pk,
            "role": grant.role,
            "source": grant.source.oid if grant.source else "",
            "group": grant.group.name if grant.group else "",
        }
        | {"masked": grant.is_masked, "given_by": grant.given_by, "given_at": grant.given_at}
        for grant in row.grants
    ]
    signed_in = {"last_sign_in": user.last_login, "has_password": user.has_usable_password()}
    return {
        "id": user.pk,
        "name": user.username,
        "is_active": user.is_active,
        "is_superuser": user.is_superuser,
        **signed_in,
        "roles": grants,
    }


def _act(request: OperatorRequest, pk: int, act: Any, done: str, form: str = "") -> HttpResponse:
    """One act on one account; a refusal becomes a sentence on its page, in `form` where one is typed."""
    accounts, _ = _people()
    account = get_object_or_404(accounts, pk=pk)
    try:
        act(account)
        messages.success(request, visible(done.format(name=account.get_username())))
    except Refused as problem:
        if form:
            return _not_done(request, "person.html", _user_page(request, pk, typed=refused(form, request.POST.dict(), problem)))
        messages.error(request, visible(str(problem)))
    # With its last role there the account is gone from the sight of an admin of one source.
    return redirect("user", pk=pk) if _people()[0].filter(pk=pk).exists() else redirect("people")


@accepts("POST")
def grants_of_named(request: OperatorRequest) -> HttpResponse:
    """As `grants`, for an account that an admin of one source names, since they see no list of all."""
    _permit()
    account = get_user_model()._default_manager.filter(username=visible(request.POST.get("name", "").strip())).first()
    if account is None:
        none = Refused("There is no account of this name: ask for its exact name, or ask an administrator to add it.", "name")
        return _not_done(request, "people.html", _people_page(request, refused("role", request.POST.dict(), none)))
    try:
        _give(request, account)
        messages.success(request, "The role is given.")
    except Refused as problem:
        messages.error(request, visible(str(problem)))
    return redirect("people")


def _give(request: OperatorRequest, account: User) -> None:
    """Raises NotPermitted, Refused."""
    form = request.POST
    kind, _, name = form.get("on", "").partition(":")
    on: dict[str, Any] = {}
    if kind == "source":
        on = {"source": Source.objects.filter(oid=visible(name)).first()}
    elif kind == "group":
        on = {"group": SourceGroup.objects.filter(pk=int(name)).first() if _is_number(name) else None}
    if (kind != ALL and not on) or None in on.values():
        raise Refused("Choose what the role is on: all sources, a group, or one source.", "on")
    people.give(request.operator, account, form.get("role", ""), is_masked=form.get("masked") == "1", **on)


@accepts("POST")
def grants(request: OperatorRequest, pk: int) -> HttpResponse:
    """Gives a `role` on what `on` names: all, or `source:ID`, `group:ID`; or takes away the one with the id `take`."""
    form = request.POST
    if number := form.get("take", ""):
        return _act(request, pk, lambda account: people.take(request.operator, _grant(account, number)), "The role is taken away.")
    return _act(request, pk, lambda account: _give(request, account), "The role is given.", "role")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 16


def _grant(account: User, number: str) -> Grant:
    grants = Grant.objects.filter(user=account, pk=int(number)) if _is_number(number) else Grant.objects.none()
    grant = grants.select_related("source", "group", "user").first()
    if grant is None or not _may_know(grant):
        raise Refused(GONE)
    return grant


@accepts("POST")
def revoke_token(request: OperatorRequest, pk: int) -> HttpResponse:
    """That of somebody else: `revoke` is its id."""
    permit("tokens")

    def act(account: User) -> None:
        number = request.POST.get("revoke", "")
        row = (
            ApiToken.objects.filter(user=account.pk, pk=int(number)).select_related("user", "source", "group").first()
            if _is_number(number)
            else None
        )
        if row is None:
            raise Refused("This token is gone already: load the page again.")
        tokens.revoke(request.operator, row)

    return _act(request, pk, act, "The token of {name} opens nothing any more.")


@accepts("POST")
def state(request: OperatorRequest, pk: int) -> HttpResponse:
    on = request.POST.get("on") == "1"
    done = "{name} can sign in." if on else "{name} can sign in no more."
    return _act(request, pk, lambda account: people.set_active(request.operator, account, on), done)


@accepts("POST")
def link(request: OperatorRequest, pk: int) -> HttpResponse:
    """A new link that sets a password, shown once."""
    permit("users")
    account = get_object_or_404(get_user_model(), pk=pk)
    return _with_link(request, account, people.new_password_link(request.operator, account, _base(request)))


@accepts("GET", "HEAD", "POST")
def groups(request: OperatorRequest) -> HttpResponse:
    permit("users")
    if request.method != "POST":
        return page(request, "source_groups.html", _groups_page(request), twins=("json",))
    try:
        added = people.add_group(request.operator, request.POST.get("name", ""))
    except Refused as problem:
        return _not_done(request, "source_groups.html", _groups_page(request, refused("add", request.POST.dict(), problem)))
    messages.success(request, "The group is there: put sources into it.")
    return redirect("source-group", pk=added.pk)


def _counted() -> QuerySet[SourceGroup]:
    """With how many sources are in it (`total`), roles on it (`roles`), and people who have one (`people`)."""
    inside, grants = Source.objects.filter(source_groups=OuterRef("pk")), Grant.objects.filter(group=OuterRef("pk"))
    people = grants.order_by().values("group").annotate(n=Count("user", distinct=True)).values("n")
    return SourceGroup.objects.annotate(
        total=_number(inside, "source_groups"), roles=_number(grants, "group"), people=Coalesce(Subquery(people), 0)
    )


def _groups_page(request: HttpRequest, typed: Typed = NOTHING) -> GroupsPage:
    q = visible(request.GET.get("q", "").strip())
    groups: Any = _counted().filter(name__icontains=q) if q else _counted()
    order = GROUP_SORTS.get(request.GET.get("sort", ""), GROUP_SORTS["name"])
    pks = in_memory(groups.order_by(order, "name").values_list("pk", flat=True), request.GET, PER_PAGE)
    # One query each for the first people and the first sources of all groups on the page.
    people = Prefetch("grants", Grant.objects.select_related("user").order_by("user__username", "pk")[:PEOPLE_SHOWN], to_attr="first")
    sources = Prefetch("sources", Source.objects.order_by("path")[:NAMED_OF_GROUP], to_attr="named")
    shown: Mapping[int, Any] = groups.prefetch_related(people, sources).in_bulk(pks.rows)
    here = replace(pks, rows=tuple(shown[pk] for pk in pks.rows))
    return GroupsPage(tuple(map(_group_row, here.rows)), here, q, typed)


def _group_row(group: Any) -> GroupRow:
    names = tuple(dict.fromkeys(grant.user.username for grant in group.first))
    return GroupRow(group, names, group.people - len(names), tuple(group.named), group.total - len(group.named))


def groups_json(request: OperatorRequest) -> HttpResponse:
    permit("users")
    rows = SourceGroup.objects.prefetch_related("sources")
    return as_json({"groups": [_group_report(row) for row in rows]})


def _group_report(row: SourceGroup) -> dict[str, Any]:
    return {"id": row.pk, "name": row.name, "sources": [source.oid for source in row.sources.all()]}


def _group_page(request: HttpRequest, pk: int, typed: Typed = NOTHING) -> GroupPage:
    offered = _offered(request, "")
    looked_for = _searched(offered.find)
    first = Prefetch("sources", Source.objects.filter(looked_for).order_by("path")[:SOURCES_SHOWN], to_attr="shown")
    matching = _number(Source.objects.filter(looked_for, source_groups=OuterRef("pk")), "source_groups")
    group: Any = get_object_or_404(_counted().annotate(found=matching).prefetch_related(first), pk=pk)
    there = {source.oid for source in group.shown}
    choices = tuple(pair for pair in _choices(offered) if pair[0] not in there)
    grants = tuple(group.grants.select_related("user").order_by("user__username", "pk")[:ROLES_SHOWN])
    return GroupPage(group=group, offered=offered, choices=choices, grants=grants, typed=typed)


def group_json(request: OperatorRequest, pk: int) -> HttpResponse:
    """With the roles on it."""
    permit("users")
    row = get_object_or_404(SourceGroup, pk=pk)
    grants = row.grants.select_related("user").order_by("user__username", "pk")
    roles = [
        {"id": grant.pk, "user": grant.user.pk, "name": grant.user.username, "role": grant.role, "masked": grant.is_masked}
        for grant in grants
    ]
    return as_json(_group_report(row) | {"roles": roles})


@accepts("GET", "HEAD", "POST")
def group(request: OperatorRequest, pk: int) -> HttpResponse:
    """POST puts a source in (`put`) or takes it out (`take`), by its id; gives a `role` on it to `name`; takes away the one with the id `end`; `remove` removes it."""
    permit("users")
    if request.method != "POST":
        return page(request, "source_group.html", _group_page(request, pk), twins=("json",))
    row, form = get_object_or_404(SourceGroup, pk=pk), request.POST
    if form.get("remove"):
        people.remove_group(request.operator, row)
        messages.success(request, "The group is removed, and the roles on it; its sources stay.")
        return redirect("source-groups")
    if number := form.get("end", ""):
        return _end_role(request, row, number)
    if "role" in form:
        try:
            name = _give_on(request, row)
        except Refused as problem:
            return _not_done(request, "source_group.html", _group_page(request, pk, refused("role", form.dict(), problem)))
        messages.success(request, visible(f"{name} has the role {form['role']} on the group {row.name}."))
        return redirect("source-group", pk=pk)
    source = Source.objects.filter(oid=visible(form.get("put") or form.get("take", ""))).first()
    if source is None:
        messages.error(request, "Choose a source.")
    else:
        people.put_into_group(request.operator, row, source, bool(form.get("put")))
        messages.success(request, visible(f"{source.name} is {'in' if form.get('put') else 'out of'} the group {row.name}."))
    return redirect("source-group", pk=pk)


def _end_role(request: OperatorRequest, group: SourceGroup, number: str) -> HttpResponse:
    grant = group.grants.select_related("user").filter(pk=int(number)).first() if _is_number(number) else None
    try:
        if grant is None:
            raise Refused(GONE)
        people.take(request.operator, grant)
        messages.success(request, visible(f"{grant.user.get_username()} has the role {grant.role} on the group {group.name} no more."))
    except Refused as problem:
        messages.error(request, visible(str(problem)))
    return redirect("source-group", pk=group.pk)


def _give_on(request: OperatorRequest, group: SourceGroup) -> str:
    """The name of who has the role now. Raises NotPermitted, Refused."""
    form = request.POST
    account = get_user_model()._default_manager.filter(username=visible(form.get("name", "").strip())).first()
    if account is None:
        raise Refused("There is no account of this name: write it as the page of users has it, or add it there first.", "name")
    people.give(request.operator, account, form["role"], group=group, is_masked=form.get("masked") == "1")
    return account.get_username()


HINT = "At least 8 characters; neither common, nor like your name, nor digits alone."


def _worded(form: Any) -> None:
    """The fields of a new password, in our words. A field that was looked at keeps those that it had."""
    form.fields["new_password1"].help_text = HINT
    form.fields["new_password2"].label, form.fields["new_password2"].help_text = "Confirm new password", ""


def _focused(form: Any) -> None:
    """What is wrong has the focus, so that it is read out."""
    for name in list(form.errors)[:1]:
        for field in form.fields.values():
            field.widget.attrs.pop("autofocus", None)
        form.fields[name].widget.attrs["autofocus"] = True


class PasswordPage(NamedTuple):
    form: PasswordChangeForm


@accepts("GET", "HEAD", "POST")
def password(request: OperatorRequest) -> HttpResponse:
    """One's own. Other sessions of the account end with it."""
    if not request.user.is_authenticated:
        return refusal(request, NO_ACCOUNT, status=404)
    form = PasswordChangeForm(request.user, request.POST or None)
    _worded(form)
    # Who came upon an open browser does not try passwords here either.
    attempt = throttle.begin(request.operator, client_address(request)) if request.method == "POST" else None
    if attempt is not None and attempt.wait:
        return refusal(request, throttle.sentence(attempt.wait), status=429)
    if attempt is not None and not form.is_valid() and "old_password" in form.errors:
        throttle.failed(attempt)
    elif attempt is not None:
        throttle.succeeded(attempt)
    if request.method == "POST" and form.is_valid():
        update_session_auth_hash(request, form.save())
        audit.record(request.operator, "change password")
        messages.success(request, "Your password is changed. Wherever else you were signed in, you are signed out.")
        return redirect("account")
    if request.method == "POST":
        _focused(form)
    return exact(page(request, "password.html", PasswordPage(form)))


class Welcome(PasswordResetConfirmView):
    """Sets a password by a link that works once."""

    template_name = "welcome.html"
    success_url = "/login/?password=set"

    def get_form(self, form_class: Any = None) -> Any:
        form = super().get_form(form_class)
        _worded(form)
        return form

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        if context["form"] is not None:
            _focused(context["form"])
        return context

    def form_valid(self, form: Any) -> HttpResponse:
        answer = super().form_valid(form)
        audit.record(form.user.get_username(), "set password", by="link")
        return answer
