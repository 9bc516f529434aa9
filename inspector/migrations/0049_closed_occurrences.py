"""Trends count what was repaired since a day: few occurrences are closed."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("inspector", "0048_previews_and_list")]

    operations = [
        migrations.AddIndex("occurrence", models.Index(fields=["closed_at"], name="closed_occurrences", condition=Q(closed_at__isnull=False))),
    ]
