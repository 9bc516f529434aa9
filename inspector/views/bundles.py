"""The evidence of one conversation as a download."""

from django.http import HttpResponse

from inspector.actions.problems import Refused
from inspector.actions.seal_bundle import seal_imported
from inspector.middleware import OperatorRequest, accepts, writes
from inspector.presentation.masking import is_revealing
from inspector.presentation.visible import visible
from inspector.sources.problems import SourceProblem
from inspector.views.choice import conversation_or_404
from inspector.views.pages import refusal


@accepts("GET")
@writes
def bundle(request: OperatorRequest, oid: str) -> HttpResponse:
    """Masked, since a download is made to be handed on; as it is stored where the request reveals."""
    row = conversation_or_404(oid)
    masked = not is_revealing()
    try:
        data = seal_imported(row, masked, request.operator)
    except (Refused, SourceProblem) as problem:
        return refusal(request, visible(str(problem)))
    name = f"{oid}-{'masked' if masked else 'exact'}.zip"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return HttpResponse(data, content_type="application/zip", headers=headers)
