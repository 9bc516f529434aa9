"""A preview names its revision, so that those of earlier ones go; the index of the list has the source of each conversation."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("inspector", "0047_indexes_of_records")]

    operations = [
        migrations.AddField("storedpreview", "revision", models.PositiveIntegerField(default=0)),
        migrations.RemoveIndex("conversation", "listed"),
        migrations.AddIndex("conversation", models.Index(fields=["place", "id", "source"], name="listed", condition=Q(is_gone=False))),
    ]
