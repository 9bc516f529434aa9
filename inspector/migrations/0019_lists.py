"""Columns, counts and indexes by which lists are shown without counting or sorting everything; the next migration fills them."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('inspector', '0018_records_without_chunks'),
    ]

    operations = [
        # A partial one was never taken: SQLite compares its condition with the text of a query, where the value is a parameter.
        migrations.RemoveIndex(model_name='repair', name='repair_with_intent'),
        migrations.AddIndex(model_name='repair', index=models.Index(fields=['intent'], name='repair_with_intent')),
        migrations.CreateModel(
            name='ConversationCount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('is_gone', models.BooleanField()),
                ('is_damaged', models.BooleanField()),
                ('has_silent', models.BooleanField()),
                ('refused', models.BooleanField()),
                ('is_crash', models.BooleanField()),
                ('conversations', models.BigIntegerField(default=0)),
                ('chunks', models.BigIntegerField(default=0)),
                ('source', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='conversation_counts', to='inspector.source')),
            ],
        ),
        migrations.CreateModel(
            name='ConversationRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(max_length=12)),
                ('rule', models.CharField(max_length=60)),
                ('severity', models.CharField(max_length=10)),
                ('silent', models.BooleanField()),
                ('findings', models.BigIntegerField()),
                ('is_worst', models.BooleanField()),
                ('is_gone', models.BooleanField()),
                ('place', models.BigIntegerField()),
                ('conversation', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='rules', to='inspector.conversation')),
                ('first', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='inspector.finding')),
            ],
        ),
        migrations.CreateModel(
            name='RuleCount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(max_length=12)),
                ('severity', models.CharField(max_length=10)),
                ('conversations', models.BigIntegerField(default=0)),
                ('findings', models.BigIntegerField(default=0)),
                ('source', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='rule_counts', to='inspector.source')),
            ],
        ),
        migrations.AlterModelOptions(
            name='conversation',
            options={'ordering': ('place', 'id')},
        ),
        migrations.AddField(
            model_name='conversation',
            name='counted_chunks',
            field=models.BigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='conversation',
            name='is_crash',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='conversation',
            name='is_damaged',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='conversation',
            name='place',
            field=models.BigIntegerField(default=2305843009213693952),
        ),
        migrations.AddField(
            model_name='source',
            name='damaged_stream_count',
            field=models.BigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='source',
            name='gone_stream_count',
            field=models.BigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='source',
            name='stream_count',
            field=models.BigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='source',
            name='trace_record_count',
            field=models.BigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='stream',
            name='rank',
            field=models.PositiveSmallIntegerField(default=2),
        ),
        migrations.AddIndex(
            model_name='stream',
            index=models.Index(condition=models.Q(('is_gone', False)), fields=['rank', '-seen_at', 'source', 'position', 'id'], name='stream_listed'),
        ),
        migrations.AddField(
            model_name='conversation',
            name='counted',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='inspector.conversationcount'),
        ),
        migrations.AddIndex(
            model_name='conversation',
            index=models.Index(condition=models.Q(('is_gone', False)), fields=['place', 'id'], name='listed'),
        ),
        migrations.AddIndex(
            model_name='conversation',
            index=models.Index(condition=models.Q(('is_damaged', True), ('is_gone', False)), fields=['place', 'id'], name='listed_damaged'),
        ),
        migrations.AddIndex(
            model_name='conversation',
            index=models.Index(condition=models.Q(('is_damaged', False), ('is_gone', False)), fields=['place', 'id'], name='listed_healthy'),
        ),
        migrations.AddIndex(
            model_name='conversation',
            index=models.Index(condition=models.Q(('has_silent', True), ('is_gone', False)), fields=['place', 'id'], name='listed_silent'),
        ),
        migrations.AddIndex(
            model_name='conversation',
            index=models.Index(condition=models.Q(('is_gone', False), ('refused', True)), fields=['place', 'id'], name='listed_refused'),
        ),
        migrations.AddIndex(
            model_name='conversation',
            index=models.Index(condition=models.Q(('is_crash', True), ('is_gone', False)), fields=['place', 'id'], name='listed_crash'),
        ),
        migrations.AddIndex(
            model_name='conversation',
            index=models.Index(condition=models.Q(('is_gone', False)), fields=['source', 'place', 'id'], name='listed_of_source'),
        ),
        migrations.AddIndex(
            model_name='conversation',
            index=models.Index(condition=models.Q(('is_gone', True)), fields=['place', 'id'], name='listed_gone'),
        ),
        migrations.AddConstraint(
            model_name='conversationcount',
            constraint=models.UniqueConstraint(fields=('source', 'is_gone', 'is_damaged', 'has_silent', 'refused', 'is_crash'), name='conversation_count_once'),
        ),
        migrations.AddIndex(
            model_name='conversationrule',
            index=models.Index(condition=models.Q(('is_gone', False), ('is_worst', True)), fields=['code', 'place', 'conversation'], name='listed_of_rule'),
        ),
        migrations.AddIndex(
            model_name='conversationrule',
            index=models.Index(condition=models.Q(('is_gone', True), ('is_worst', True)), fields=['code', 'place', 'conversation'], name='listed_of_rule_gone'),
        ),
        migrations.AddConstraint(
            model_name='conversationrule',
            constraint=models.UniqueConstraint(fields=('conversation', 'code', 'severity', 'silent'), name='conversation_rule_once'),
        ),
        migrations.AddConstraint(
            model_name='rulecount',
            constraint=models.UniqueConstraint(fields=('source', 'code', 'severity'), name='rule_count_once'),
        ),
    ]
