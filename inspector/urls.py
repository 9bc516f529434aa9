"""Every address of the pages; one address, one view. A page at /x/ has its twins at /x.json and, where it can be pasted, /x.md."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import URLPattern, path

from inspector.installation import program
from inspector.middleware import View, accepts
from inspector.views import (
    audit,
    bundles,
    catalogues,
    changing_sources,
    check,
    chunks,
    conversation_list,
    conversations,
    diagnose,
    explain,
    inbox,
    live,
    metrics,
    notifications,
    people,
    problems,
    prompts,
    repair_groups,
    repairs,
    revisions,
    sources,
    streams,
    tasks,
    traces,
    trends,
    whatif,
)

handler400 = "inspector.views.pages.bad_request"
handler404 = "inspector.views.pages.missing_page"


def page_at(address: str, view: View, name: str, **twins: View) -> list[URLPattern]:
    """The page at `address/`, and its twins at `address.json` and `address.md`."""
    return [path(f"{address}/", view, name=name), *(path(f"{address}.{ending}", twin) for ending, twin in twins.items())]


urlpatterns = [
    path("", inbox.inbox, name="inbox"),
    path("index.json", inbox.inbox_json),
    path("problems/decide/", problems.decide, name="decide-problems"),
    path("problems/views/", problems.views, name="problem-views"),
    *page_at("problems/<slug:oid>", problems.problem, "problem", json=problems.problem_json, md=problems.problem_md),
    *page_at("problems/<slug:oid>/repair", repair_groups.new, "new-repair-group", json=repair_groups.new_json),
    *page_at("trends", trends.trends, "trends", json=trends.trends_json),
    path("live/", live.news_line, name="live"),
    # One conversation, and what hangs below it
    *page_at("conversations", conversation_list.conversation_list, "conversations", json=conversation_list.conversation_list_json),
    *page_at(
        "conversations/<slug:oid>",
        conversations.conversation,
        "conversation",
        json=conversations.conversation_json,
        md=conversations.conversation_md,
        html=conversations.conversation_html,
    ),
    path("conversations/<slug:oid>/bundle.zip", bundles.bundle, name="bundle"),
    path("conversations/<slug:oid>/chunks/<int:position>/", chunks.chunk, name="chunk"),
    path("conversations/<slug:oid>/chunks/<int:position>/raw/", chunks.chunk_raw, name="chunk-raw"),
    *page_at("conversations/<slug:oid>/prompt", prompts.prompt, "prompt", json=prompts.prompt_json),
    *page_at("conversations/<slug:oid>/trace", traces.trace, "trace", json=traces.trace_json),
    path("conversations/<slug:oid>/trace/body/<slug:digest>/", traces.body, name="trace-body"),
    path("conversations/<slug:oid>/trace/body/<slug:digest>/raw/", traces.body_raw, name="trace-body-raw"),
    *page_at("conversations/<slug:oid>/diff/<int:old>..<int:new>", revisions.diff, "diff", json=revisions.diff_json),
    *page_at("conversations/<slug:oid>/diff", revisions.comparison, "comparison", json=revisions.comparison_json),
    *page_at("conversations/<slug:oid>/repairs/new", repairs.new, "new-repair", json=repairs.new_json),
    # Captured streams
    *page_at("streams", streams.stream_list, "streams", json=streams.stream_list_json),
    *page_at("streams/<slug:oid>", streams.stream, "stream", json=streams.stream_json, md=streams.stream_md),
    path("streams/<slug:oid>/capture.jsonl", streams.capture),
    path("streams/<slug:oid>/events/<slug:side>/<int:number>/raw/", streams.event_raw),
    path("streams/<slug:oid>/corrected/", streams.corrected),
    path("streams/<slug:oid>/corrected/capture.jsonl", streams.corrected_capture),
    # What a provider said, and what it would say
    *page_at("diagnose", diagnose.diagnose, "diagnose", json=diagnose.diagnose_json),
    *page_at("explain", explain.explain, "explain", json=explain.explain_json),
    *page_at("check", check.check, "check", json=check.check_json),
    *page_at("findings/<slug:oid>", inbox.finding, "finding", json=inbox.finding_json, md=inbox.finding_md),
    # Repairs
    *page_at("repairs", repairs.repair_list, "repairs", json=repairs.repair_list_json),
    *page_at("repairs/<slug:oid>", repairs.repair, "repair", json=repairs.repair_json, md=repairs.repair_md),
    *page_at("repair-groups/<slug:oid>", repair_groups.group, "repair-group", json=repair_groups.group_json, md=repair_groups.group_md),
    path("repair-groups/<slug:oid>/approve/", repair_groups.approve),
    path("repair-groups/<slug:oid>/reject/", repair_groups.reject),
    path("repair-groups/<slug:oid>/apply/", repair_groups.apply),
    path("repair-groups/<slug:oid>/undo/", repair_groups.undo),
    path("repair-groups/<slug:oid>/again/", repair_groups.again),
    path("tasks/<slug:key>/", tasks.task, name="task"),
    path("repairs/<slug:oid>/approve/", repairs.approve, name="approve"),
    path("repairs/<slug:oid>/reject/", repairs.reject, name="reject"),
    path("repairs/<slug:oid>/comments/", repairs.comment, name="comment"),
    path("repairs/<slug:oid>/reviewers/", repairs.reviewers, name="reviewers"),
    path("repairs/<slug:oid>/apply/", repairs.apply, name="apply"),
    path("repairs/<slug:oid>/undo/", repairs.undo, name="undo"),
    # Sources and the trail
    *page_at("sources", sources.source_list, "sources", json=sources.source_list_json),
    *page_at("sources/add", changing_sources.add, "add-source", json=changing_sources.add_json),
    path("sources/demo/", changing_sources.demo, name="switch-demo"),
    *page_at("sources/<slug:oid>/remove", changing_sources.remove, "remove-source", json=changing_sources.remove_json),
    *page_at("sources/<slug:oid>", sources.source, "source", json=sources.source_json),
    path("sources/<slug:oid>/import/", sources.reimport, name="import-again"),
    path("sources/<slug:oid>/watch/", sources.watch, name="watch"),
    path("sources/<slug:oid>/write-back/", sources.write_back, name="write-back"),
    *page_at("audit", audit.audit, "audit", json=audit.audit_json),
    *page_at("notifications", notifications.notification_list, "notifications", json=notifications.notification_list_json),
    *page_at("notifications/<slug:oid>", notifications.notification, "notification", json=notifications.notification_json),
    path("notifications/<slug:oid>/test/", notifications.try_out, name="test-notification"),
    path("notifications/<slug:oid>/remove/", notifications.remove, name="remove-notification"),
    path("metrics", metrics.metrics, name="metrics"),
    path("audit/export.csv", audit.audit_csv),
    path("audit/export.jsonl", audit.audit_lines),
    # Who signs in
    *page_at("people", people.users, "people", json=people.users_json),
    *page_at("people/groups", people.groups, "source-groups", json=people.groups_json),
    path("people/groups/<int:pk>/", people.group),
    *page_at("people/<int:pk>", people.user, "user", json=people.user_json),
    path("people/<int:pk>/roles/", people.grants),
    path("people/<int:pk>/state/", people.state),
    path("people/<int:pk>/link/", people.link),
    path("password/", people.password, name="password"),
    path("welcome/<slug:uidb64>/<slug:token>/", accepts("GET", "HEAD", "POST")(people.Welcome.as_view()), name="welcome"),
    # Catalogues
    *page_at("reference", catalogues.reference, "reference", json=catalogues.reference_json),
    *page_at("rules", catalogues.rules, "rules", json=catalogues.rules_json),
    *page_at("rules/<slug:code>", catalogues.rule, "rule", json=catalogues.rule_json, md=catalogues.rule_md),
    *page_at("strategies", catalogues.strategy_list, "strategies", json=catalogues.strategy_list_json),
    *page_at("strategies/<slug:name>", catalogues.strategy, "strategy", json=catalogues.strategy_json),
    *page_at("whatif", whatif.whatif, "whatif", json=whatif.whatif_json),
    *page_at("formats", catalogues.formats, "formats", json=catalogues.formats_json),
    *page_at("readers", catalogues.readers, "readers", json=catalogues.readers_json),
    *page_at("projections", catalogues.projections, "projections", json=catalogues.projections_json),
    *page_at("profiles", catalogues.profiles, "profiles", json=catalogues.profiles_json),
    path(
        "login/",
        accepts("GET", "HEAD", "POST")(LoginView.as_view(template_name="login.html", extra_context={"program": program()})),
        name="login",
    ),
    path("logout/", accepts("POST")(LogoutView.as_view(next_page="login")), name="logout"),
]
