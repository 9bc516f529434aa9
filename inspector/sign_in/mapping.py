"""Which roles follow from the groups that a person is in elsewhere."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from inspector.access.roles import ROLES


class MappedRole(NamedTuple):
    """`group` is the name of a group of sources; "" is all sources."""

    role: str
    group: str


def mapping_of(text: str) -> dict[str, list[MappedRole]]:
    """From JSON. Raises ValueError, whose text goes on after the name of the setting."""
    try:
        content = json.loads(text)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise ValueError('must be JSON such as {"admins":"admin","support":"viewer@payments"}')
    return {group: _roles(group, value) for group, value in content.items()}


def _roles(group: str, value: object) -> list[MappedRole]:
    words = value if isinstance(value, list) else [value]
    roles = []
    for word in words:
        role, _, of = word.partition("@") if isinstance(word, str) else ("", "", "")
        if role not in ROLES:
            raise ValueError(f"gives {group!r} the role {word!r}, which is none of {', '.join(ROLES)}")
        roles.append(MappedRole(role, of.strip()))
    return roles


def roles_of(groups: Iterable[str], mapping: Mapping[str, Sequence[MappedRole]]) -> dict[str, str]:
    """Group of sources ("" = all) -> the highest role that follows for it."""
    roles: dict[str, str] = {}
    for group in groups:
        for role, of in mapping.get(group, ()):
            if of not in roles or ROLES[role] > ROLES[roles[of]]:
                roles[of] = role
    return roles
