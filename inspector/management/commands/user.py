"""Looks after the accounts of those who sign in."""

from getpass import getpass
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser

from inspector.access.roles import ROLES
from inspector.actions import people
from inspector.actions.problems import Refused
from inspector.actions.welcome import link_of
from inspector.environment import os_user
from inspector.management.answering import AnsweringCommand
from inspector.models import Grant
from inspector.presentation.visible import visible


class Command(AnsweringCommand):
    """`user add|list|grant|revoke|password|disable|enable [NAME]`."""

    help = "Adds the accounts of those who sign in, and says what they may do: `user add ann --role admin` makes the first one."

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=tuple(_ACTS), help="what to do")
        parser.add_argument("name", metavar="NAME", nargs="?", default="", help="the name of the account")
        parser.add_argument(
            "--role", choices=tuple(ROLES), help="what it may do; on all sources, also those that are added later, unless one is named"
        )
        parser.add_argument("--source", metavar="PATH", default="", help="on this imported source only, by its path or id")
        parser.add_argument("--group", metavar="NAME", default="", help="on the sources of this group only")
        parser.add_argument("--masked", action="store_true", help="secrets stay masked for this role, whatever it may do else")
        parser.add_argument("--ask-password", action="store_true", help="ask for a password here, instead of printing a link that sets one")

    def answer(self, options: dict[str, Any]) -> None:
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
        user = people.add_user(os_user(), options["name"], getpass("Password: ") if options["ask_password"] else "")
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
        grant = Grant.objects.filter(user=user, source=on.get("source"), group=on.get("group")).first()
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
}


def _on(options: dict[str, Any]) -> dict[str, Any]:
    if options["source"]:
        return {"source": people.source_named(options["source"])}
    return {"group": people.group_named(options["group"])} if options["group"] else {}


def _user(name: str) -> User:
    user: Any = get_user_model()._default_manager.filter(username=name).first()
    if user is None:
        raise Refused(f"There is no account {visible(name)}: `user list` prints those that there are.")
    return user  # type: ignore[no-any-return]


def _described(user: Any) -> dict[str, Any]:
    everywhere = [{"role": "admin", "on": "all sources", "masked": False}] if user.is_superuser else []
    given = [{"role": grant.role, "on": grant.on, "masked": grant.is_masked} for grant in user.grants.select_related("source", "group")]
    return {"name": visible(user.username), "active": user.is_active, "roles": [*everywhere, *given]}
