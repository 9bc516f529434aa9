"""Accounts with a role, as the pages of people make them."""

from typing import Any

from django.contrib.auth import get_user_model

from inspector.models import Grant, Source, SourceGroup


def account(
    name: str, role: str = "approver", source: Source | None = None, group: SourceGroup | None = None, *, masked: bool = False, **user: Any
) -> Any:
    """With a role on all sources, on one, or on those of a group; with "" none."""
    made = get_user_model().objects.create_user(name, **user)
    if role:
        Grant.objects.create(user=made, role=role, source=source, group=group, is_masked=masked)
    return made
