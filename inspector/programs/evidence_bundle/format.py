"""The shape of an evidence bundle as a source: its conversations are read as their own format reads them, and never written."""

from collections.abc import Iterable, Iterator, Sequence

from inspector import bundle
from inspector.conversation.edits import Plan
from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.formats import Cell, Change, Format, Record, Shape, Stored, WriteRefused

MAGIC = b"PK\3\4"


class EvidenceBundle(Format):
    name = bundle.NAME
    title = "Evidence bundle (one sealed conversation with its trace, a zip made by the command bundle)"
    default_reader = DISPATCH.default_reader
    default_projection = DISPATCH.default_projection
    default_profile = DISPATCH.default_profile
    table = DISPATCH.table

    def sniff(self, shape: Shape) -> float:
        """The manifest comes first; a zip that was packed again is taken for one too, and refused by name if it is none."""
        if not shape.head.startswith(MAGIC):
            return 0.0
        return 1.0 if shape.head[30:].startswith(bundle.MANIFEST.encode()) else 0.5

    def read(self, records: Iterable[Record]) -> Iterator[Stored]:
        return DISPATCH.read(records)

    def write(self, plan: Plan, stored: Stored) -> Sequence[Change]:
        raise WriteRefused(bundle.SEALED)

    def bleeding(self, native_id: str, others: Iterable[str]) -> tuple[str, ...]:
        return DISPATCH.bleeding(native_id, others)

    def guard(self, stored: Stored) -> tuple[dict[str, dict[str, Cell]], dict[str, Cell | None]]:
        return DISPATCH.guard(stored)


EVIDENCE_BUNDLE = EvidenceBundle()
