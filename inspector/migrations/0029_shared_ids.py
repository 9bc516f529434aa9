"""Conversations and findings get the id that every copy of their store gives them; those of before get it when they change."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("inspector", "0028_problems_filled")]

    operations: ClassVar = [
        migrations.AddField("conversation", "identity", models.CharField(blank=True, db_index=True, default="", max_length=12), preserve_default=False),
        migrations.AddField("finding", "identity", models.CharField(blank=True, db_index=True, default="", max_length=12), preserve_default=False),
    ]
