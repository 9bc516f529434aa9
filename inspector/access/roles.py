"""The roles, what each may do, and what the grants of one person come to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any


class Role(IntEnum):
    """Each may do what those before it may."""

    VIEWER = 1
    PROPOSER = 2
    APPROVER = 3
    ADMIN = 4

    @property
    def word(self) -> str:
        return self.name.lower()

    @property
    def article(self) -> str:
        return "an" if self.word[0] == "a" else "a"


ROLES: Mapping[str, Role] = {role.word: role for role in Role}
MEANINGS: Mapping[Role, str] = {
    Role.VIEWER: "looks at the source, and at everything that is kept of it, with secrets masked",
    Role.PROPOSER: "also reveals secrets, imports again, decides about problems, comments, and proposes repairs",
    Role.APPROVER: "also approves and rejects repairs, requests changes to them, applies and undoes them",
    Role.ADMIN: "also says whether the source is watched and may be written, shares links, removes it, and says who may do what with it",
}


@dataclass(frozen=True, slots=True)
class Action:
    """`words` go on after "to". `is_everywhere`: of the whole installation, for which the role on all sources counts."""

    least: Role
    words: str
    is_everywhere: bool = False


ACTIONS: Mapping[str, Action] = {
    "see": Action(Role.VIEWER, "look at this"),
    "export": Action(Role.VIEWER, "download it with secrets masked"),
    "reveal": Action(Role.PROPOSER, "see secrets as they are stored"),
    "decide": Action(Role.PROPOSER, "decide about a problem"),
    "comment": Action(Role.PROPOSER, "comment on a repair"),
    "ask": Action(Role.PROPOSER, "ask somebody to review a repair"),
    "propose": Action(Role.PROPOSER, "propose a repair"),
    "approve": Action(Role.APPROVER, "approve a repair"),
    "reject": Action(Role.APPROVER, "reject a repair"),
    "request changes": Action(Role.APPROVER, "request changes to a repair"),
    "apply": Action(Role.APPROVER, "apply a repair"),
    "undo": Action(Role.APPROVER, "undo a repair"),
    "write back": Action(Role.ADMIN, "switch writes to a store on or off"),
    "import": Action(Role.PROPOSER, "import a source again"),
    "watch": Action(Role.ADMIN, "say whether a source is watched"),
    "reader": Action(Role.ADMIN, "say which reader is deployed"),
    "remove": Action(Role.ADMIN, "remove a source"),
    "purge": Action(Role.ADMIN, "purge a conversation"),
    "share": Action(Role.ADMIN, "share a link without a login"),
    "grant": Action(Role.ADMIN, "say who may do what with a source"),
    "audit": Action(Role.VIEWER, "read the audit log, which names every source", is_everywhere=True),
    "metrics": Action(Role.VIEWER, "read the metrics, which count every source", is_everywhere=True),
    "add source": Action(Role.ADMIN, "add a source", is_everywhere=True),
    "users": Action(Role.ADMIN, "look after users and groups of sources", is_everywhere=True),
    "notify": Action(Role.ADMIN, "look after notifications", is_everywhere=True),
    "tokens": Action(Role.ADMIN, "look after the tokens of others", is_everywhere=True),
    "demo": Action(Role.ADMIN, "switch the demo on or off", is_everywhere=True),
}


@dataclass(frozen=True, slots=True)
class RoleOn:
    """One grant of a person. `sources` are row ids; None is all sources, also those that are added later. `is_masked`: secrets stay masked, whatever the role."""

    role: Role
    sources: frozenset[int] | None
    is_masked: bool = False

    def covers(self, source: int | None) -> bool:
        """`source` None is the whole installation."""
        return self.sources is None or source in self.sources


@dataclass(frozen=True)
class Access:
    """What a person may see and do; `name` is theirs."""

    name: str
    roles: tuple[RoleOn, ...] = ()
    only: Mapping[str, Any] | None = field(default=None, compare=False)
    """Of a link without a login: the row ids of the conversations, streams and problems that it shows; of these sources nothing else is seen."""
    whom: dict[int | None, str] = field(default_factory=dict, compare=False, repr=False)
    """Whom to ask for a role on a source, once it was looked up."""

    @property
    def facts(self) -> tuple[object, ...]:
        """All that pages depend on, always in the same order."""
        return tuple((one.role.word, None if one.sources is None else sorted(one.sources), one.is_masked) for one in self.roles)

    @cached_property
    def sources(self) -> frozenset[int] | None:
        """Those that may be seen; None is all of them, without a limit."""
        if any(one.sources is None for one in self.roles):
            return None
        return frozenset().union(*(one.sources or () for one in self.roles))

    def sees(self, source: int | None) -> bool:
        return self.sources is None or source in self.sources

    def role_on(self, source: int | None) -> Role | None:
        """The highest that covers the source; with None the whole installation."""
        return max((one.role for one in self.roles if one.covers(source)), default=None)

    def may(self, action: str, source: int | None = None) -> bool:
        about = ACTIONS[action]
        of = None if about.is_everywhere else source
        return any(one.covers(of) and one.role >= about.least and not (action == "reveal" and one.is_masked) for one in self.roles)

    def may_on_all(self, action: str) -> bool:
        """On every source that may be seen."""
        seen = self.sources
        return self.may(action) if seen is None else bool(seen) and all(self.may(action, source) for source in seen)


def narrowed(access: Access, role: Role, sources: frozenset[int] | None) -> Access:
    """At most `role`, on none but `sources` (None = all that there are), with secrets masked: what a token of a person may."""
    roles = []
    for one in access.roles:
        both = one.sources if sources is None else sources if one.sources is None else one.sources & sources
        roles.append(RoleOn(min(one.role, role), both, is_masked=True))
    return Access(access.name, tuple(roles))


def refusal_of(access: Access, action: str, source: int | None, admins: str) -> str:
    """Why it is not allowed: the role that the person has, the one that is needed, and who can give it. `admins` names them."""
    about = ACTIONS[action]
    role = access.role_on(None if about.is_everywhere else source)
    where = "on all sources" if about.is_everywhere else "here"
    have = f"your role {where} is {role.word}" if role else f"you have no role {where}"
    if role is not None and role >= about.least:
        return f"To {about.words} is not part of your role here, whose secrets stay masked. Ask {admins} for it."
    return f"To {about.words} takes {about.least.article} {about.least.word}, and {have}. Ask {admins} for it."
