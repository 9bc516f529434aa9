"""A finding says where its cause is as its origin, the word that the pages and the JSON use."""

from typing import Any

from django.db import migrations


def _request(apps: Any, schema_editor: Any) -> None:
    for name in ("Finding", "StreamFinding"):
        apps.get_model("inspector", name).objects.filter(origin="wire").update(origin="request")


class Migration(migrations.Migration):
    dependencies = [("inspector", "0010_stream_request_digest")]
    operations = [
        migrations.RenameField("finding", "fault", "origin"),
        migrations.RenameField("streamfinding", "fault", "origin"),
        migrations.RunPython(_request, migrations.RunPython.noop),
    ]
