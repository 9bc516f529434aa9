"""What a verdict says of damage and of the next request, apart."""

from django.db import migrations, models

from inspector.models.json_text import JsonText


class Migration(migrations.Migration):
    dependencies = [("inspector", "0049_closed_occurrences")]

    operations = [
        migrations.AddField("conversation", "damage", models.TextField(blank=True, db_default="")),
        migrations.AddField("conversation", "next_request", JsonText(default=list, db_default=[])),
    ]
