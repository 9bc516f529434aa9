"""Every address of the pages; one address, one view. A page at /x/ has its twins at /x.json and, where it can be pasted, /x.md."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from inspector.installation import program
from inspector.views import (
    audit,
    bundles,
    catalogues,
    check,
    chunks,
    conversations,
    explain,
    inbox,
    prompts,
    repairs,
    revisions,
    sources,
    streams,
    traces,
    whatif,
)

handler400 = "inspector.views.pages.bad_request"
handler404 = "inspector.views.pages.not_found"

urlpatterns = [
    path("", inbox.inbox, name="inbox"),
    path("index.json", inbox.inbox_json),
    # One conversation, and what hangs below it
    path("conversations/", conversations.conversation_list, name="conversations"),
    path("conversations.json", conversations.conversation_list_json),
    path("conversations/<slug:oid>/", conversations.conversation, name="conversation"),
    path("conversations/<slug:oid>.json", conversations.conversation_json),
    path("conversations/<slug:oid>.md", conversations.conversation_md),
    path("conversations/<slug:oid>/bundle.zip", bundles.bundle, name="bundle"),
    path("conversations/<slug:oid>/chunks/<int:position>/", chunks.chunk, name="chunk"),
    path("conversations/<slug:oid>/chunks/<int:position>/raw/", chunks.chunk_raw, name="chunk-raw"),
    path("conversations/<slug:oid>/prompt/", prompts.prompt, name="prompt"),
    path("conversations/<slug:oid>/prompt.json", prompts.prompt_json),
    path("conversations/<slug:oid>/trace/", traces.trace, name="trace"),
    path("conversations/<slug:oid>/trace.json", traces.trace_json),
    path("conversations/<slug:oid>/trace/body/<slug:digest>/", traces.body, name="trace-body"),
    path("conversations/<slug:oid>/trace/body/<slug:digest>/raw/", traces.body_raw, name="trace-body-raw"),
    path("conversations/<slug:oid>/diff/<int:old>..<int:new>/", revisions.diff, name="diff"),
    path("conversations/<slug:oid>/diff/<int:old>..<int:new>.json", revisions.diff_json),
    path("conversations/<slug:oid>/repairs/new/", repairs.new, name="new-repair"),
    path("conversations/<slug:oid>/repairs/new.json", repairs.new_json),
    # Captured streams
    path("streams/", streams.stream_list, name="streams"),
    path("streams.json", streams.stream_list_json),
    path("streams/<slug:oid>/", streams.stream, name="stream"),
    path("streams/<slug:oid>.json", streams.stream_json),
    path("streams/<slug:oid>.md", streams.stream_md),
    path("streams/<slug:oid>/capture.jsonl", streams.capture),
    path("streams/<slug:oid>/events/<slug:side>/<int:number>/raw/", streams.event_raw),
    path("streams/<slug:oid>/corrected/", streams.corrected),
    path("streams/<slug:oid>/corrected/capture.jsonl", streams.corrected_capture),
    # What a provider said, and what it would say
    path("explain/", explain.explain, name="explain"),
    path("explain.json", explain.explain_json),
    path("check/", check.check, name="check"),
    path("check.json", check.check_json),
    path("findings/<slug:oid>/", inbox.finding, name="finding"),
    path("findings/<slug:oid>.json", inbox.finding_json),
    path("findings/<slug:oid>.md", inbox.finding_md),
    # Repairs
    path("repairs/", repairs.repair_list, name="repairs"),
    path("repairs.json", repairs.repair_list_json),
    path("repairs/<slug:oid>/", repairs.repair, name="repair"),
    path("repairs/<slug:oid>.json", repairs.repair_json),
    path("repairs/<slug:oid>.md", repairs.repair_md),
    path("repairs/<slug:oid>/approve/", repairs.approve, name="approve"),
    path("repairs/<slug:oid>/reject/", repairs.reject, name="reject"),
    path("repairs/<slug:oid>/apply/", repairs.apply, name="apply"),
    path("repairs/<slug:oid>/undo/", repairs.undo, name="undo"),
    # Sources and the trail
    path("sources/", sources.source_list, name="sources"),
    path("sources.json", sources.source_list_json),
    path("sources/<slug:oid>/", sources.source, name="source"),
    path("sources/<slug:oid>.json", sources.source_json),
    path("sources/<slug:oid>/import/", sources.import_again, name="import-again"),
    path("sources/<slug:oid>/write-back/", sources.write_back, name="write-back"),
    path("audit/", audit.audit, name="audit"),
    path("audit.json", audit.audit_json),
    # Catalogues
    path("rules/", catalogues.rules, name="rules"),
    path("rules.json", catalogues.rules_json),
    path("rules/<slug:code>/", catalogues.rule, name="rule"),
    path("rules/<slug:code>.json", catalogues.rule_json),
    path("rules/<slug:code>.md", catalogues.rule_md),
    path("strategies/", catalogues.strategy_list, name="strategies"),
    path("strategies/<slug:name>/", catalogues.strategy, name="strategy"),
    path("strategies/<slug:name>.json", catalogues.strategy_json),
    path("whatif/", whatif.whatif, name="whatif"),
    path("whatif.json", whatif.whatif_json),
    path("formats/", catalogues.formats, name="formats"),
    path("formats.json", catalogues.formats_json),
    path("login/", LoginView.as_view(template_name="login.html", extra_context={"program": program()}), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
]
