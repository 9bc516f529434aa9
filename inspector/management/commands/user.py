"""Looks after the accounts of those who sign in."""

from getpass import getpass
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser

from inspector.access.roles import ROLES
from inspector.actions import people
from inspector.actions.problems import Refused
from inspector.actions.welcome import link_of
from inspector.environment import os_user
from inspector.management.answering import AnsweringCommand
from inspector.models import ApiToken, Grant
from inspector.models.transactions import one_writer
from inspector.presentation.visible import visible
from inspector.sign_in import tokens
from inspector.sign_in.accounts import connect


class Command(AnsweringCommand):
    """`user add|list|grant|revoke|password|disable|enable|connect [NAME]`, `user token add|list|revoke [OF]`."""

    help = "Adds the accounts of those who sign in, and says what they may do: `user add ann --role admin` makes the first one."

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=tuple(_ACTS), help="what to do")
        parser.add_argument("name", metavar="NAME", nargs="?", default="", help="the name of the account; of `token`: add, list or revoke")
        parser.add_argument(
            "of",
            metavar="OF",
            nargs="?",
            default="",
            help="of `token add` and `token list` the account, of `token revoke` the id of the token",
        )
        parser.add_argument(
            "--role", choices=tuple(ROLES), help="what it may do; on all sources, also those that are added later, unless one is named"
        )
        parser.add_argument("--source", metavar="PATH", default="", help="on this imported source only, by its path or id")
        parser.add_argument("--group", metavar="NAME", default="", help="on the sources of this group only")
        parser.add_argument("--masked", action="store_true", help="secrets stay masked for this role, whatever it may do else")
        parser.add_argument("--ask-password", action="store_true", help="ask for a password here, instead of printing a link that sets one")

        parser.add_argument("--for", dest="used_by", metavar="WHAT", default="", help="of `token add`: what will use it")
        parser.add_argument("--days", type=int, default=tokens.DAYS, help=f"of `token add`: days until it ends (default: {tokens.DAYS})")
        parser.add_argument(
            "--subject",
            metavar="ID",
            default="",
            help="of `connect`: the id by which the provider of INSPECTOR_OIDC_ISSUER knows the person",
        )

    def answer(self, options: dict[str, Any]) -> None:
        if options["action"] == "token":
            self.token(options)
            return
        if options["of"]:
            raise CommandError("Name one account.")
        if bool(options["name"]) == (options["action"] == "list"):
            raise CommandError("`user list` takes no name; everything else takes the NAME of one account.")
        if options["source"] and options["group"]:
            raise CommandError("Name a source or a group, not both.")
        _ACTS[options["action"]](self, options)

    def add(self, options: dict[str, Any]) -> None:
        role = options["role"]
        if role is None:
            raise CommandError(f"Say what {visible(options['name'])} may do: --role {'|'.join(ROLES)}.")
        on = _on(options)
        password = getpass("Password: ") if options["ask_password"] else ""
        with one_writer():
            user = people.add_user(os_user(), options["name"], password)
            grant = people.give(os_user(), user, role, is_masked=options["masked"], **on)
        self._tell(options, user, f"{user.username} is {role} of {grant.on}.", is_new=not options["ask_password"])

    def grant(self, options: dict[str, Any]) -> None:
        if options["role"] is None:
            raise CommandError(f"Say which role: --role {'|'.join(ROLES)}.")
        user = _user(options["name"])
        grant = people.give(os_user(), user, options["role"], is_masked=options["masked"], **_on(options))
        self._tell(options, user, f"{user.username} is {grant.role} of {grant.on}.")

    def revoke(self, options: dict[str, Any]) -> None:
        user, on = _user(options["name"]), _on(options)
        grant = Grant.objects.filter(user=user, source=on.get("source"), group=on.get("group")).order_by("is_mapped").first()
        if grant is None:
            raise Refused(f"{visible(user.username)} has no role there: `user list` prints those that there are.")
        people.take(os_user(), grant)
        self._tell(options, user, f"{user.username} has no role on {grant.on} any more.")

    def password(self, options: dict[str, Any]) -> None:
        user = _user(options["name"])
        if options["ask_password"]:
            people.set_password(os_user(), user, getpass("Password: "))
        self._tell(
            options,
            user,
            f"The password of {user.username} is {'set' if options['ask_password'] else 'as it was'}.",
            not options["ask_password"],
        )

    def set_active(self, options: dict[str, Any]) -> None:
        user, on = _user(options["name"]), options["action"] == "enable"
        people.set_active(os_user(), user, on)
        self._tell(options, user, f"{user.username} can sign in{'' if on else ' no more'}.")

    def list(self, options: dict[str, Any]) -> None:
        users = get_user_model()._default_manager.order_by("username").prefetch_related("grants__source", "grants__group")
        rows = [_described(user) for user in users]
        if options["json"]:
            self.say_json({"users": rows})
            return
        for row in rows:
            roles = ", ".join(f"{one['role']} of {one['on']}{' (secrets masked)' if one['masked'] else ''}" for one in row["roles"])
            self.say(f"{row['name']}: {roles or 'no role'}{'' if row['active'] else ' (disabled)'}")
        if not rows:
            self.say("There is no account yet: `user add NAME --role admin` makes the first one.")

    def connect(self, options: dict[str, Any]) -> None:
        user = _user(options["name"])
        connect(os_user(), user, options["subject"])
        self._tell(options, user, f"{user.username} signs in with {settings.INSPECTOR_OIDC_ISSUER} as {options['subject']}.")

    def token(self, options: dict[str, Any]) -> None:
        act, of = options["name"], options["of"]
        if act == "add" and of:
            if options["role"] is None:
                raise CommandError(f"Say what the token may do at most: --role {'|'.join(ROLES)}.")
            row, token = tokens.make(os_user(), _user(of), options["used_by"], options["role"], options["days"], **_on(options))
            if options["json"]:
                self.say_json(_token(row) | {"token": token})
            else:
                self.say(
                    visible(
                        f"{row.user} has a token for {row.name}: {row.role} on {row.on}, until {row.expires_at:%Y-%m-%d}. It is shown now only:"
                    )
                )
                self.say(token)
        elif act == "list":
            rows = ApiToken.objects.filter(user=_user(of)) if of else ApiToken.objects.all()
            listed = [_token(row) for row in rows.select_related("user", "source", "group")]
            if options["json"]:
                self.say_json({"tokens": listed})
            for one in listed if not options["json"] else ():
                until = f"over since {one['expires_at']:%Y-%m-%d}" if one["is_over"] else f"until {one['expires_at']:%Y-%m-%d}"
                used = f"last used {one['used_at']:%Y-%m-%d}" if one["used_at"] else "never used"
                self.say(f"{one['id']} {one['user']}: {one['name']} ({one['begins']}…), {one['role']} on {one['on']}, {until}, {used}")
            if not listed and not options["json"]:
                self.say("There is no token.")
        elif act == "revoke" and of:
            candidates = (
                ApiToken.objects.filter(pk=int(of)) if of.isascii() and of.isdecimal() and len(of) < 16 else ApiToken.objects.none()
            )
            revoked = candidates.select_related("user", "source", "group").first()
            if revoked is None:
                raise Refused(f"There is no token {visible(of)}: `user token list` prints those that there are.")
            described = _token(revoked)
            tokens.revoke(os_user(), revoked)
            if options["json"]:
                self.say_json(described)
            else:
                self.say(f"The token {described['name']} of {described['user']} opens nothing any more.")
        else:
            raise CommandError("Write `user token add NAME`, `user token list [NAME]` or `user token revoke ID`.")

    def _tell(self, options: dict[str, Any], user: User, sentence: str, is_new: bool = False) -> None:
        link = link_of(user) if is_new else ""
        if options["json"]:
            self.say_json(_described(user) | ({"link": link} if link else {}))
            return
        self.say(visible(sentence))
        if link:
            self.say("Whoever opens this link sets the password, once, within three days:")
            self.say(link)


_ACTS = {
    "add": Command.add,
    "list": Command.list,
    "grant": Command.grant,
    "revoke": Command.revoke,
    "password": Command.password,
    "disable": Command.set_active,
    "enable": Command.set_active,
    "connect": Command.connect,
    "token": Command.token,
}


def _on(options: dict[str, Any]) -> dict[str, Any]:
    if options["source"]:
        return {"source": people.source_named(options["source"])}
    return {"group": people.group_named(options["group"])} if options["group"] else {}


def _token(row: ApiToken) -> dict[str, Any]:
    facts = {
        "id": row.pk,
        "user": visible(row.user.username),
        "name": visible(row.name),
        "begins": row.shown,
        "role": row.role,
        "on": visible(row.on),
    }
    return facts | {"created_at": row.created_at, "expires_at": row.expires_at, "used_at": row.used_at, "is_over": tokens.is_over(row)}


def _user(name: str) -> User:
    user: Any = get_user_model()._default_manager.filter(username=name).first()
    if user is None:
        raise Refused(f"There is no account {visible(name)}: `user list` prints those that there are.")
    return user  # type: ignore[no-any-return]


def _described(user: Any) -> dict[str, Any]:
    everywhere = [{"role": "admin", "on": "all sources", "masked": False}] if user.is_superuser else []
    given = [{"role": grant.role, "on": grant.on, "masked": grant.is_masked} for grant in user.grants.select_related("source", "group")]
    return {"name": visible(user.username), "active": user.is_active, "roles": [*everywhere, *given]}
