"""Every stored shape that can be read as conversations, and what `formats` says of the others."""

from inspector.formats import bundle, dispatch_g0, gbrain_exports, openclaw_sqlite
from inspector.formats.base import Format
from inspector.formats.dispatch import DISPATCH
from inspector.formats.dispatch_g0 import DISPATCH_G0
from inspector.formats.evidence_bundle import EVIDENCE_BUNDLE
from inspector.formats.gbrain import GBRAIN
from inspector.formats.gbrain_exports import GBRAIN_EXPORT
from inspector.formats.openclaw import OPENCLAW
from inspector.formats.openclaw_sqlite import OPENCLAW_SQLITE
from inspector.formats.pi import PI
from inspector.formats.request_body import REQUEST_BODIES
from inspector.formats.rollouts import ROLLOUTS

FORMATS: tuple[Format, ...] = (
    DISPATCH,
    DISPATCH_G0,
    EVIDENCE_BUNDLE,
    ROLLOUTS,
    PI,
    OPENCLAW,
    OPENCLAW_SQLITE,
    GBRAIN,
    GBRAIN_EXPORT,
    *REQUEST_BODIES,
)

# Why nothing is ever written to a source of a format; each sentence says what to do instead.
READ_ONLY = {
    bundle.NAME: bundle.SEALED,
    dispatch_g0.NAME: dispatch_g0.READ_ONLY,
    gbrain_exports.NAME: gbrain_exports.READ_ONLY,
    openclaw_sqlite.NAME: openclaw_sqlite.NEVER_IN_PLACE,
}
NEW_FILE_ONLY: dict[str, Format] = {openclaw_sqlite.NAME: OPENCLAW}
"""Formats whose repairs are written as a new file of another format, never to the source."""


class UnknownFormat(LookupError):
    def __init__(self, name: str) -> None:
        super().__init__(f"There is no format {name!r}; `formats` lists them.")


def format_named(name: str) -> Format:
    for found in FORMATS:
        if found.name == name:
            return found
    raise UnknownFormat(name)
