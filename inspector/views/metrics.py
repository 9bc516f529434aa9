"""/metrics: for the token of INSPECTOR_METRICS_TOKEN (`inspector.middleware.name_the_operator`), in local mode, and for who may see all sources."""

from django.http import HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST

from inspector import metrics as measured
from inspector.access.permits import permit
from inspector.cache_headers import NOTHING
from inspector.middleware import OperatorRequest


def metrics(request: OperatorRequest) -> HttpResponse:
    permit("metrics")
    return HttpResponse(measured.text(), content_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": NOTHING})
