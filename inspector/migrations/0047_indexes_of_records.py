"""A record is looked up by its place and by its payload. An index that another one begins with serves nothing, and costs every import."""

import django.db.models.deletion
from django.db import migrations, models

_CASCADE, _PROTECT = django.db.models.deletion.CASCADE, django.db.models.deletion.PROTECT
_INDEXES = (
    "inspector_record_conversation_id_e3abaf8e",
    "inspector_record_payload_id_7d153af6",
    "inspector_record_payload_id_7d153af6_like",
    "inspector_revision_conversation_id_539e482b",
    "inspector_streampart_stream_id_cf577b4b",
    "inspector_tracerecord_source_id_627f9842",
)


class Migration(migrations.Migration):
    dependencies = [("inspector", "0046_browser_of_session")]

    operations = [
        migrations.AddIndex("record", models.Index(fields=["conversation", "position"], name="record_by_position")),
        migrations.AddIndex("record", models.Index(fields=["payload", "conversation"], name="record_by_payload")),
        migrations.RemoveIndex("record", "record_by_revision"),
        # By their names: SQLite would copy each table to drop the index of its foreign key.
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(f"DROP INDEX IF EXISTS {name}", migrations.RunSQL.noop) for name in _INDEXES],
            state_operations=[
                migrations.AlterField(
                    "record", "conversation", models.ForeignKey("inspector.conversation", _CASCADE, related_name="records", db_index=False)
                ),
                migrations.AlterField(
                    "record", "payload", models.ForeignKey("inspector.payload", _PROTECT, db_constraint=False, db_index=False)
                ),
                migrations.AlterField(
                    "revision", "conversation", models.ForeignKey("inspector.conversation", _CASCADE, related_name="revisions", db_index=False)
                ),
                migrations.AlterField(
                    "streampart", "stream", models.ForeignKey("inspector.stream", _CASCADE, related_name="parts", db_index=False)
                ),
                migrations.AlterField(
                    "tracerecord", "source", models.ForeignKey("inspector.source", _CASCADE, related_name="trace_records", db_index=False)
                ),
            ],
        ),
    ]
