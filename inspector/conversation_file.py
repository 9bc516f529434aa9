"""A conversation as one HTML file that needs no script, no network and no Inspector, to attach to an issue."""

from django.template.loader import render_to_string

import inspector
from inspector.installation import program
from inspector.presentation.conversation.html_file import file_page
from inspector.presentation.conversation.verdict import verdict
from inspector.presentation.masked_html import masked_html
from inspector.presentation.masking import is_revealing
from inspector.profiles.judging import judged
from inspector.rules.base import Case, findings
from inspector.rules.catalogue import RULES

_PLACE = "<!-- masked -->"
"""Foreign words are escaped, so that none of them is this."""
_NOTE = '<p class="quiet">Secrets that were recognized are masked: these are not the stored bytes.</p>'


def conversation_file(case: Case, store: str, revision: int, projection: str, profile: str) -> str:
    """Masked unless the command or page reveals; then the file says so."""
    results = findings(case, RULES)
    _, judgement = judged(case.reading, case.conversation, profile, projection)
    command = (program(), "show", store, "--conversation", case.conversation.native_id, "--reader", case.reading.reader)
    content = file_page(case, results, verdict(case, results, judgement), store, revision, profile, inspector.__version__, command)
    text: str = render_to_string("conversation_file.html", {"page": content})
    if is_revealing():
        return text.replace(_PLACE, "", 1)
    text, count = masked_html(text)
    return text.replace(_PLACE, _NOTE if count else "", 1)
