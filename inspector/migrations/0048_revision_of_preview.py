"""Previews of earlier revisions are dropped: each import of a session that grows left one behind."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("inspector", "0047_indexes_of_records")]

    operations = [migrations.AddField("storedpreview", "revision", models.PositiveIntegerField(default=0))]
