"""The project's single Django app."""

import sys
from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig

WITH_KEY = "_audit_seals"
"""How the name of the migration ends that seals the audit log."""


class InspectorConfig(AppConfig):
    """Registers the system checks, what makes the tables and what seals an older audit log, and sets the key of masks, when Django is ready."""

    name = "inspector"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.conf import settings
        from django.db.backends.signals import connection_created
        from django.db.models.signals import post_migrate

        from inspector import checks  # noqa: F401
        from inspector.actions.sign_ins import record_sign_ins
        from inspector.database_problems import read_impossible_times
        from inspector.first_use import close_to_others, make_tables
        from inspector.presentation import masking

        masking.use_key(settings.SECRET_KEY.encode())

        read_impossible_times()
        record_sign_ins()
        connection_created.connect(close_to_others)
        connection_created.connect(make_tables)
        post_migrate.connect(_seal_audit_log, sender=self)


def _seal_audit_log(plan: Sequence[tuple[Any, bool]] = (), **_: Any) -> None:
    """Once, with the migration that brings the key: the lines of before, which have none."""
    if not any(migration.name.endswith(WITH_KEY) and not backwards for migration, backwards in plan):
        return
    from inspector.actions.audit import seal_older_version
    from inspector.environment import os_user

    if entry := seal_older_version(os_user()):
        was = "whole" if entry.detail["was_intact"] else "not whole: see the page of the audit log"
        sys.stderr.write(
            f"\n  The {entry.detail['lines']:,} lines of the audit log that were there had no key, and their chain was {was}. "
            f"Line {entry.pk} seals them as they are now.\n"
        )
