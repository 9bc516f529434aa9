"""Every stored shape that can be read as conversations, and what `formats` says of the others."""

from inspector.programs.dispatch import g0 as dispatch_g0
from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.dispatch.g0 import DISPATCH_G0
from inspector.programs.evidence_bundle import bundle
from inspector.programs.evidence_bundle.format import EVIDENCE_BUNDLE
from inspector.programs.formats import Format
from inspector.programs.gbrain import exports as gbrain_exports
from inspector.programs.gbrain.exports import GBRAIN_EXPORT
from inspector.programs.gbrain.format import GBRAIN
from inspector.programs.pi_openclaw import openclaw_sqlite
from inspector.programs.pi_openclaw.openclaw import OPENCLAW
from inspector.programs.pi_openclaw.openclaw_sqlite import OPENCLAW_SQLITE
from inspector.programs.pi_openclaw.pi import PI
from inspector.programs.request_bodies.format import REQUEST_BODIES
from inspector.programs.rollouts.format import ROLLOUTS

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
