"""A conversation as one HTML file that needs no script, no network and no Inspector, to attach to an issue."""

from collections.abc import Sequence

from django.template.loader import render_to_string

import inspector
from inspector.installation import typed
from inspector.presentation.conversation.html_file import file_page
from inspector.presentation.masked_html import masked_html
from inspector.presentation.masking import is_revealing
from inspector.rules.base import Case, Finding

_PLACE = "<!-- masked -->"
"""Foreign words are escaped, so that none of them is this."""
_NOTE = '<p class="quiet">Secrets that were recognized are masked: these are not the stored bytes.</p>'


def conversation_file(case: Case, results: Sequence[Finding], verdict: str, store: str, revision: int, profile: str) -> str:
    """Unless the command or page reveals it is masked, and says so where it is. `verdict` is one sentence, by `profile`."""
    command = typed("show", store, "--conversation", case.conversation.native_id, "--reader", case.reading.reader)
    content = file_page(case, results, verdict, store, revision, profile, inspector.__version__, command)
    text: str = render_to_string("conversation_file.html", {"page": content})
    if is_revealing():
        return text.replace(_PLACE, "", 1)
    text, count = masked_html(text)
    return text.replace(_PLACE, _NOTE if count else "", 1)
