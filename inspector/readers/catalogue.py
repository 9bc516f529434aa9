"""Every reader, by name. A variant is written with a plus: `dispatch-legacy+r1`, `exact+keep-thinking`."""

from inspector.programs.dispatch import g0 as dispatch_g0
from inspector.programs.dispatch import readers as dispatch
from inspector.programs.evidence_bundle import bundle
from inspector.programs.gbrain import readers as gbrain
from inspector.programs.pi_openclaw.readers import openclaw, pi
from inspector.programs.pi_openclaw.readers.rows import OPENCLAW, OPENCLAW_SQLITE, PI
from inspector.programs.request_bodies import names as request_names
from inspector.programs.rollouts import format as rollouts_format
from inspector.programs.rollouts import readers as rollouts
from inspector.readers import as_sent, verbatim
from inspector.readers.base import Reader

_GROUPINGS = {grouping.name: grouping for grouping in dispatch.GROUPINGS}
_DISPATCH: tuple[Reader, ...] = tuple(found for grouping in dispatch.GROUPINGS if (found := dispatch.variant(grouping, ())))
_SINGLE: tuple[Reader, ...] = (as_sent.READER, *rollouts.READERS, verbatim.READER, *pi.READERS, *openclaw.READERS, *gbrain.READERS)
# The two programs share the file format, so that each may be pointed at the other's files; only OpenClaw opens its database.
_OF_FILES = tuple(each.name for each in (verbatim.READER, *pi.READERS, *openclaw.READERS))
_OF_SESSIONS = {
    PI: (*_OF_FILES, openclaw.AS_SENT.name),
    OPENCLAW: (*_OF_FILES, openclaw.AS_SENT.name),
    OPENCLAW_SQLITE: (verbatim.NAME, openclaw.READERS[-1].name, openclaw.AS_SENT.name),
}
READERS: tuple[Reader, ...] = (*_DISPATCH, *_SINGLE)
_NAMED = 6


class UnknownReader(LookupError):
    def __init__(self, name: str) -> None:
        super().__init__(f"There is no reader {name!r}; `readers` lists them with their variants.")


class OtherProgram(UnknownReader):
    """A reader of another program: what it makes of a conversation that its program cannot open says nothing."""

    def __init__(self, name: str, format_name: str) -> None:
        offered = names(format_name)
        others = f", … (`readers` lists {len(offered) - _NAMED} more)" if len(offered) > _NAMED else ""
        LookupError.__init__(self, f"The reader {name} does not read {format_name}: name one of {', '.join(offered[:_NAMED])}{others}.")


def reader(name: str) -> Reader:
    base, *words = name.split("+")
    found = next((each for each in (*_SINGLE, openclaw.AS_SENT) if each.name == name), None)
    if found is None and base in _GROUPINGS:
        found = dispatch.variant(_GROUPINGS[base], words)
    if found is None:
        raise UnknownReader(name)
    return found


def reader_of(name: str, format_name: str) -> Reader:
    """The reader `name`, for a conversation of this format. Raises UnknownReader, OtherProgram."""
    found = reader(name)
    if not fits(name, format_name):
        raise OtherProgram(name, format_name)
    return found


def fits(name: str, format_name: str) -> bool:
    """Whether the reader is of a program that opens this format, or of none. Of a format that no reader is named for, any does."""
    offered = names(format_name)
    return not offered or name in offered or name.partition("+")[0] in offered or name == as_sent.NAME


def names(format_name: str) -> list[str]:
    """Names offered for a format: the readers, and those variants that change what is read."""
    if format_name == dispatch_g0.NAME:
        # It has no msgIdx by which the others go, and its program knew no version of reconcile.
        return [dispatch_g0.DISPATCH_G0.default_reader]
    if format_name in request_names.WIRES:
        return [as_sent.NAME]
    if format_name == rollouts_format.NAME:
        return [each.name for each in rollouts.READERS]
    if format_name in gbrain.FORMATS:
        return [each.name for each in gbrain.READERS]
    if format_name in _OF_SESSIONS:
        return list(_OF_SESSIONS[format_name])
    if format_name not in ("dispatch", bundle.NAME):
        return []
    result = []
    for base in _DISPATCH:
        result += [base.name, *(f"{base.name}+{word}" for word, _ in base.variants if word != "r3")]
    return result


def clients(format_name: str) -> list[str]:
    """Those of `names` that somebody runs or ran; what one of them sends is the same client again."""
    return [name for name in names(format_name) if name != openclaw.AS_SENT.name and not reader(name).proposed]
