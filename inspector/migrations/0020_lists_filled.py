"""Fills the counts and the order of the lists, as `counting.renew` does for what is imported from now on.

A few statements over whole tables: however large they are, the database sorts on its disk, and no row comes into this process.
"""

from typing import Any

from django.db import migrations
from django.db.models import Count, Q

CRASH_FILES = {"rollouts": "crash:"}
"""Format -> how the id of a crash file begins."""

PLACES = """
UPDATE inspector_conversation SET
  place = CASE WHEN last_activity IS NULL THEN 2305843009213693952 ELSE -last_activity END
    + CASE WHEN source_id IN (SELECT id FROM inspector_source WHERE is_demo) THEN 4611686018427387904 ELSE 0 END,
  is_damaged = (worst IN ('error', 'warning') OR refused)
"""
COUNTS = """
INSERT INTO inspector_conversationcount (source_id, is_gone, is_damaged, has_silent, refused, is_crash, conversations, chunks)
SELECT source_id, is_gone, is_damaged, has_silent, refused, is_crash, COUNT(*), SUM(chunk_count) FROM inspector_conversation
GROUP BY source_id, is_gone, is_damaged, has_silent, refused, is_crash
"""
COUNTED = """
UPDATE inspector_conversation SET counted_chunks = chunk_count, counted_id = (
  SELECT id FROM inspector_conversationcount AS counts
  WHERE counts.source_id = inspector_conversation.source_id AND counts.is_gone = inspector_conversation.is_gone
    AND counts.is_damaged = inspector_conversation.is_damaged AND counts.has_silent = inspector_conversation.has_silent
    AND counts.refused = inspector_conversation.refused AND counts.is_crash = inspector_conversation.is_crash)
"""
RULES = """
INSERT INTO inspector_conversationrule (conversation_id, code, severity, silent, rule, findings, first_id, is_gone, place, is_worst)
SELECT opened.*, conversation.is_gone, conversation.place, ROW_NUMBER() OVER (
    PARTITION BY opened.conversation_id, opened.code
    ORDER BY CASE opened.severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, opened.silent DESC
  ) = 1
FROM (
  SELECT conversation_id, code, severity, silent, MIN(rule), COUNT(*), MIN(id) FROM inspector_finding
  WHERE is_open GROUP BY conversation_id, code, severity, silent
) AS opened JOIN inspector_conversation AS conversation ON conversation.id = opened.conversation_id
"""
RULE_COUNTS = """
INSERT INTO inspector_rulecount (source_id, code, severity, conversations, findings)
SELECT conversation.source_id, rule.code, rule.severity, SUM(CASE WHEN rule.is_worst THEN 1 ELSE 0 END), SUM(rule.findings)
FROM inspector_conversationrule AS rule JOIN inspector_conversation AS conversation ON conversation.id = rule.conversation_id
WHERE NOT rule.is_gone GROUP BY conversation.source_id, rule.code, rule.severity
"""


def fill(apps: Any, schema_editor: Any) -> None:
    sources, conversations, streams, traces = (
        apps.get_model("inspector", name).objects for name in ("Source", "Conversation", "Stream", "TraceRecord")
    )
    for format_name, prefix in CRASH_FILES.items():
        conversations.filter(source__format=format_name, native_id__startswith=prefix).update(is_crash=True)
    with schema_editor.connection.cursor() as cursor:
        for statement in (PLACES, COUNTS, COUNTED, RULES, RULE_COUNTS):
            cursor.execute(statement)
    for rank, worst in enumerate(("error", "warning")):
        streams.filter(worst=worst).update(rank=rank)
    present = Q(is_gone=False)
    counted = streams.order_by().values_list("source_id").annotate(
        present=Count("pk", filter=present), damaged=Count("pk", filter=present & Q(rank__lt=2)), gone=Count("pk", filter=~present)
    )
    for source_id, count, damaged, gone in counted:
        sources.filter(pk=source_id).update(stream_count=count, damaged_stream_count=damaged, gone_stream_count=gone)
    for source_id, count in traces.order_by().values_list("source_id").annotate(Count("pk")):
        sources.filter(pk=source_id).update(trace_record_count=count)


class Migration(migrations.Migration):
    dependencies = [("inspector", "0019_lists")]
    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
