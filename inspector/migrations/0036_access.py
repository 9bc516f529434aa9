from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


def grants_of_accounts(apps: Any, schema_editor: Any) -> None:
    """Before, every account could do everything but what the permission `inspector.reveal` allows: nobody loses, and nobody gains."""
    user_model = apps.get_model(*settings.AUTH_USER_MODEL.split("."))
    Grant = apps.get_model("inspector", "Grant")
    allowed = models.Q(codename="reveal", content_type__app_label="inspector")
    permissions = apps.get_model("auth", "Permission").objects.filter(allowed)
    revealing = set(user_model.objects.filter(user_permissions__in=permissions).values_list("pk", flat=True))
    revealing |= set(user_model.objects.filter(groups__permissions__in=permissions).values_list("pk", flat=True))
    Grant.objects.bulk_create(
        Grant(user_id=pk, role="approver", is_masked=pk not in revealing)
        for pk in user_model.objects.filter(is_active=True, is_superuser=False).order_by("pk").values_list("pk", flat=True)
    )


def sources_of_tasks(apps: Any, schema_editor: Any) -> None:
    tasks = apps.get_model("inspector", "BackgroundTask").objects
    source = apps.get_model("inspector", "Conversation").objects.filter(pk=models.OuterRef("conversation_id")).values("source")[:1]
    tasks.filter(conversation__isnull=False).update(source=models.Subquery(source))


class Migration(migrations.Migration):
    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("inspector", "0035_sorted_by_size"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="backgroundtask",
            name="source",
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="inspector.source"),
        ),
        migrations.CreateModel(
            name="SourceGroup",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=60, unique=True)),
                ("sources", models.ManyToManyField(blank=True, related_name="source_groups", to="inspector.source")),
            ],
            options={"ordering": ("name",)},
        ),
        migrations.CreateModel(
            name="Grant",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "role",
                    models.CharField(
                        choices=[("viewer", "viewer"), ("proposer", "proposer"), ("approver", "approver"), ("admin", "admin")], max_length=10
                    ),
                ),
                ("is_masked", models.BooleanField(default=False)),
                ("given_by", models.TextField(blank=True)),
                ("given_at", models.DateTimeField(null=True)),
                (
                    "source",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name="grants", to="inspector.source"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="grants", to=settings.AUTH_USER_MODEL),
                ),
                (
                    "group",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name="grants", to="inspector.sourcegroup"
                    ),
                ),
            ],
            options={
                "ordering": ("id",),
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("source", None), ("group", None), _connector="OR"), name="grant_on_one")
                ],
            },
        ),
        # What it allowed is a role now.
        migrations.AlterModelOptions(name="conversation", options={"ordering": ("place", "id")}),
        migrations.RunPython(sources_of_tasks, migrations.RunPython.noop),
        migrations.RunPython(grants_of_accounts, migrations.RunPython.noop),
    ]
