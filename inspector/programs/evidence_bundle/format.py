"""The bundles that any program's conversation is sealed in, as one file to detect; and those of Dispatch, which had bundles first."""

from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.formats import Shape
from inspector.programs.sealed import MANIFEST, SUFFIX, SealedFormat

MAGIC = b"PK\3\4"


class EvidenceBundle(SealedFormat):
    def __init__(self) -> None:
        super().__init__(DISPATCH)
        self.name = "evidence" + SUFFIX
        self.title = "Evidence bundle (one sealed conversation of any program with its trace, a zip made by the command bundle)"
        self.sample = f"zip {MANIFEST}"

    def sniff(self, shape: Shape) -> float:
        """The manifest comes first; a zip that was packed again is taken for one too, and refused by name if it is none."""
        if not shape.head.startswith(MAGIC):
            return 0.0
        return 1.0 if shape.head[30:].startswith(MANIFEST.encode()) else 0.5


EVIDENCE_BUNDLE = EvidenceBundle()
