"""The chunks of all revisions that are there get their rows: each conversation is read again from the records that the database has.

The records stay as they are: a file that was kept whole is a file in one piece. One revision at a time is in memory.
"""

import sys
import time
from hashlib import sha256
from typing import Any

from django.db import migrations

from inspector.actions.revisions import NewRows, Tables, names_of
from inspector.models.loading import read_records
from inspector.presentation.conversation.revision_content import revision_content
from inspector.programs.catalogue import UnknownFormat, format_named
from inspector.text.pieces import Piece

SECONDS = 1
"""Between two lines of progress."""


def _fill(apps: Any, schema_editor: Any) -> None:
    names = ("Record", "ChunkRow", "SearchText", "Payload")
    tables = Tables(*(apps.get_model("inspector", name) for name in names))
    conversations = apps.get_model("inspector", "Conversation").objects.order_by("pk")
    revisions = apps.get_model("inspector", "Revision").objects.order_by("number")
    total = conversations.count()
    said = time.monotonic()
    for done, (pk, format_name, title, native_id) in enumerate(
        conversations.values_list("pk", "source__format", "title", "native_id").iterator(chunk_size=500)
    ):
        if sys.stderr.isatty() and time.monotonic() - said >= SECONDS:
            said = time.monotonic()
            sys.stderr.write(f"\n  {done:,} of {total:,} conversations are ready for search")
        conversations.filter(pk=pk).update(names=names_of(title, native_id))
        for number in revisions.filter(conversation_id=pk).values_list("number", flat=True):
            _fill_revision(tables, pk, format_name, number)


def _fill_revision(tables: Tables, conversation: int, format_name: str, number: int) -> None:
    records = read_records(tables.record, conversation, number)
    try:
        stored = next(format_named(format_name).read(records), None)
    except UnknownFormat:
        # Of a program that is not installed any more: its pages say so, and there are no chunks to look through.
        return
    if stored is None:
        return
    content = revision_content(stored)
    rows = NewRows(tables)
    whole = [[Piece(0, sha256(record.data[:]).hexdigest(), 0, len(record.data))] for record in content.records]
    rows.add_chunks(conversation, number, content, whole)
    rows.write()


class Migration(migrations.Migration):
    dependencies = [("inspector", "0016_chunk_rows")]
    operations = [migrations.RunPython(_fill, migrations.RunPython.noop)]
