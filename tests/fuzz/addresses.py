"""Addresses as a browser, a person or a robot may ask for them: every view, with any parameters."""

from pathlib import Path
from urllib.parse import quote

from inspector.actions.import_source import import_targets
from inspector.demo import dispatch_incident
from inspector.demo.creation import write_dispatch_store, write_trace_store
from inspector.models import Conversation, Finding, Problem, Source
from tests.operators import OperatorClient

PARAMETERS = (
    *("at=3", "from=1", "only=findings", "as=anthropic-2026-07", "rev=1", "q=%22a%20b%22", "rule=MSG101", "reader=dispatch-legacy"),
    *("page=2", "per=10", "format=dispatch", "verdict=rejected", "sort=-chunks", "projection=anthropic", "profile=openai-chat", "around=x"),
    *("strategy=renumber-messages&mode=same-rows", "text=tool_use%20ids", "conversation={conversation}", "view=tree", "fold=0", "lang=de"),
    *("with={conversation}", "from=3"),
)
PLACES = (
    *("/", "/conversations/", "/conversations/{conversation}/", "/conversations/{conversation}/chunks/2/", "/sources/{source}/"),
    *("/conversations/{conversation}/prompt/", "/conversations/{conversation}/trace/", "/conversations/{conversation}/diff/1..1/"),
    "/conversations/{conversation}/diff/",
    *("/conversations/{conversation}/repairs/new/", "/findings/{finding}/", "/explain/", "/check/", "/streams/", "/audit/"),
    *("/rules/", "/rules/MSG101/", "/strategies/renumber-messages/", "/whatif/", "/formats/", "/repairs/", "/login/", "/index.json"),
    *("/problems/{problem}/", "/problems/{problem}/repair/", "/problems/{problem}/repair.json", "/repair-groups/{problem}/"),
    *("/conversations/{conversation}/chunks/2/raw/", "/conversations/{conversation}.md", "/conversations/{conversation}.json"),
)
ADDRESSES = [f"{where}?{parameters}" for number, where in enumerate(PLACES) for parameters in PARAMETERS[number % 3 :: 3]]


def ask(data: bytes) -> None:
    """Asks for an address below the site. An error of ours is raised by the client; what is asked for wrongly is answered with a status below 500."""
    text = data.decode("utf-8", "replace")
    rows = {"conversation": Conversation, "finding": Finding, "source": Source, "problem": Problem}
    for name, model in rows.items():
        row = model._default_manager.first()
        text = text.replace(f"{{{name}}}", row.oid if row else "000000000000")
    where, _, parameters = text.partition("?")
    answer = OperatorClient().get(quote("/" + where.lstrip("/"), safe="/%:."), QUERY_STRING=quote(parameters, safe="=&%+"))
    assert answer.status_code < 500, answer.status_code


def import_incident(folder: Path) -> None:
    """What the addresses are asked about."""
    store, traces = folder / "dispatch.db", folder / "traces.db"
    write_dispatch_store(store, dispatch_incident.store_rows())
    write_trace_store(traces, dispatch_incident.trace_records())
    import_targets([str(store), str(traces)], "fuzz")
