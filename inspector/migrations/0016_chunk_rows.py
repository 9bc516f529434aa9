"""Where each chunk is, and the words of chunks for search: in tables of their own, so that a record may be a piece of a file."""

import sys
from typing import Any

import django.db.models.deletion
from django.db import migrations, models

from inspector.models.searching import NO_INDEX, create_index


def _index(apps: Any, schema_editor: Any) -> None:
    if not create_index(schema_editor.connection) and sys.stderr.isatty():
        sys.stderr.write(f"{NO_INDEX[schema_editor.connection.vendor]}\n")


class Migration(migrations.Migration):

    dependencies = [
        ('inspector', '0015_analyses'),
    ]

    operations = [
        migrations.AddField(
            model_name='conversation',
            name='names',
            field=models.TextField(blank=True),
        ),
        migrations.AlterField(
            model_name='record',
            name='position',
            field=models.BigIntegerField(),
        ),
        migrations.CreateModel(
            name='ChunkRow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('since', models.PositiveIntegerField()),
                ('until', models.PositiveIntegerField(null=True)),
                ('position', models.PositiveIntegerField()),
                ('seq', models.BigIntegerField(null=True)),
                ('msg_idx', models.BigIntegerField(null=True)),
                ('chunk_idx', models.BigIntegerField(null=True)),
                ('role', models.CharField(blank=True, max_length=20)),
                ('kind', models.CharField(blank=True, max_length=20)),
                ('key', models.TextField()),
                ('at_time', models.BigIntegerField(null=True)),
                ('payload', models.CharField(blank=True, max_length=64)),
                ('start', models.BigIntegerField(default=0)),
                ('size', models.BigIntegerField(default=0)),
                ('check_sum', models.BigIntegerField()),
                ('conversation', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='chunk_rows', to='inspector.conversation')),
            ],
            options={
                'ordering': ('position', 'id'),
                'indexes': [models.Index(fields=['conversation', 'position'], name='chunk_by_position'), models.Index(fields=['conversation', 'seq'], name='chunk_by_seq')],
            },
        ),
        migrations.CreateModel(
            name='SearchText',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('since', models.PositiveIntegerField()),
                ('until', models.PositiveIntegerField(null=True)),
                ('position', models.BigIntegerField()),
                ('count', models.PositiveIntegerField()),
                ('size', models.BigIntegerField()),
                ('digest', models.CharField(max_length=64)),
                ('is_indexed', models.BooleanField(default=False)),
                ('text', models.TextField()),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='search_texts', to='inspector.conversation')),
            ],
            options={
                'ordering': ('position', 'id'),
                'indexes': [models.Index(condition=models.Q(('is_indexed', False)), fields=['id'], name='text_to_index')],
            },
        ),
        migrations.RunPython(_index, migrations.RunPython.noop),
    ]
