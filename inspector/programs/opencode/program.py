"""opencode: sessions in a database, in a tree of files before it, and as exported files."""

from inspector.programs.base import Calls, Errors, Home, Program, Providers, Repairs, SyntheticResult, SyntheticResults
from inspector.programs.opencode import reader, writing
from inspector.programs.opencode.chunks import about
from inspector.programs.opencode.events import trace_of
from inspector.programs.opencode.format import ERROR, NEVER_IN_PLACE, OPENCODE, OPENCODE_EXPORT, OPENCODE_TREE
from inspector.programs.opencode.placing import placed_in_steps

_FORMATS = (OPENCODE, OPENCODE_TREE, OPENCODE_EXPORT)

PROGRAM = Program(
    name="opencode",
    title="opencode",
    package=__name__.rpartition(".")[0],
    client_version="version",
    formats=_FORMATS,
    readers=(reader.READER,),
    readers_of={format_.name: (reader.NAME,) for format_ in _FORMATS},
    homes=(
        Home(OPENCODE.name, "~/.local/share", "opencode/opencode*.db", "XDG_DATA_HOME"),
        Home(OPENCODE_TREE.name, "~/.local/share", "opencode/storage", "XDG_DATA_HOME"),
    ),
    own_trace=trace_of,
    read_only={format_.name: NEVER_IN_PLACE for format_ in _FORMATS},
    new_file_as={format_.name: OPENCODE_EXPORT for format_ in _FORMATS},
    synthetic=SyntheticResults(
        words={format_.name: SyntheticResult(reader.INTERRUPTED) for format_ in _FORMATS},
        author=lambda result: "opencode" if result.text == reader.INTERRUPTED else "",
    ),
    providers=Providers(
        name_of=lambda chunk: str(about(chunk).get("model") or "") if chunk.role == "assistant" else "",
        are_named=True,
        usual_profile=OPENCODE.default_profile,
        profiles=dict.fromkeys(reader.OF_ANTHROPIC, "anthropic-2026-07"),
    ),
    errors=Errors(facts=((ERROR, "the last answer"),)),
    # A rule of its own says of a tool that never ended what opencode makes of it.
    calls=Calls(unanswered=lambda case: []),
    repairs=Repairs(
        place_results=placed_in_steps,
        refuse_unfit=writing.refuse_unfit,
        view_after_write="The repaired session is one of its own, which opencode lists once it is imported.",
    ),
)
