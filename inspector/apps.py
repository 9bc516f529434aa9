"""The project's single Django app."""

from django.apps import AppConfig


class InspectorConfig(AppConfig):
    """Registers the system checks and what makes the tables, and sets the key of masks, when Django is ready."""

    name = "inspector"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.conf import settings
        from django.db.backends.signals import connection_created

        from inspector import checks  # noqa: F401
        from inspector.first_use import make_tables
        from inspector.presentation import masking

        masking.use_key(settings.SECRET_KEY.encode())

        connection_created.connect(make_tables)
