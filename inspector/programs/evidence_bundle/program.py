"""Inspector's own bundles: one conversation with its surroundings, sealed in a zip, read as the program of its rows reads them."""

from inspector import bundle
from inspector.programs.base import Program
from inspector.programs.dispatch import readers
from inspector.programs.evidence_bundle.format import EVIDENCE_BUNDLE

PROGRAM = Program(
    name="evidence-bundle",
    title="Evidence bundle",
    package=__name__.rpartition(".")[0],
    formats=(EVIDENCE_BUNDLE,),
    readers=(),
    readers_of={EVIDENCE_BUNDLE.name: readers.OFFERED},
    read_only={bundle.NAME: bundle.SEALED},
)
