"""What was typed in a form that was refused: it is shown again, with the sentence next to the field that it is about."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from inspector.presentation.visible import visible

LONGEST = 2_000
"""Characters of one field that are shown again."""
_SECRET = ("password", "secret", "address", "csrfmiddlewaretoken")
"""Fields that are typed again. The address of a receiver opens it."""


@dataclass(frozen=True, slots=True)
class Typed:
    """`name` tells the forms of one page apart; "" where nothing was refused. `wrong` is the field that `problem` is about, "" for the form as a whole."""

    name: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    wrong: str = ""

    def problem_of(self, form: str, key: str) -> str:
        return self.problem if (self.name, self.wrong) == (form, key) else ""

    def value_of(self, form: str, key: str, otherwise: str) -> str:
        return self.values.get(key, otherwise) if self.name == form else otherwise


NOTHING = Typed()


def refused(form: str, values: Mapping[str, str], problem: Exception, otherwise: str = "") -> Typed:
    """`problem` names the field by its `field`; where it names none, it is about `otherwise`."""
    shown = {key: visible(text)[:LONGEST] for key, text in values.items() if key not in _SECRET}
    return Typed(form, shown, visible(str(problem)), getattr(problem, "field", "") or otherwise)
