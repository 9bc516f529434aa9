"""Inspector's own bundles: one conversation with its surroundings, sealed in a zip, read as the program of its records reads them."""

from inspector.programs.base import Program
from inspector.programs.dispatch import readers
from inspector.programs.evidence_bundle.format import EVIDENCE_BUNDLE
from inspector.programs.sealed import SEALED

PROGRAM = Program(
    name="evidence-bundle",
    title="Evidence bundle",
    about="one conversation sealed with its trace, a zip that somebody made with Inspector",
    package=__name__.rpartition(".")[0],
    formats=(EVIDENCE_BUNDLE,),
    readers=(),
    readers_of={EVIDENCE_BUNDLE.name: readers.OFFERED},
    read_only={EVIDENCE_BUNDLE.name: SEALED},
)
