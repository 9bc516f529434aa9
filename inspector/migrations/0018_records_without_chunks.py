"""The columns that the rows of chunks have now."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("inspector", "0017_chunk_rows_filled")]
    operations = [
        migrations.RemoveField("record", name) for name in ("seq", "msg_idx", "chunk_idx", "role", "kind", "text")
    ]
