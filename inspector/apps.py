"""The project's single Django app."""

from django.apps import AppConfig


class InspectorConfig(AppConfig):
    """Registers the system checks when Django is ready."""

    name = "inspector"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from inspector import checks  # noqa: F401
