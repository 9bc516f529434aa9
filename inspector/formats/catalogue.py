"""Every stored shape that can be read as conversations, and what `formats` says of the others."""

from inspector.formats.base import Format
from inspector.formats.dispatch import DISPATCH
from inspector.formats.evidence_bundle import EVIDENCE_BUNDLE

FORMATS: tuple[Format, ...] = (DISPATCH, EVIDENCE_BUNDLE)


class UnknownFormat(LookupError):
    def __init__(self, name: str) -> None:
        super().__init__(f"There is no format {name!r}; `formats` lists them.")


def format_named(name: str) -> Format:
    for found in FORMATS:
        if found.name == name:
            return found
    raise UnknownFormat(name)
