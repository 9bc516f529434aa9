"""What is done for each line of a session, and must cost little: its values, and the question of what a parsed value is."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as light_dataclass
else:

    def light_dataclass(*, frozen: bool, **options: Any) -> Any:
        """`dataclass(frozen=True, slots=True)` whose objects are made in a quarter of the time, and unpickled in half of it.

        Nothing but the type checker refuses to set a field: what refuses it at run time is asked for every field of a new object too.
        """
        assert frozen

        def light(cls: type) -> type:
            cls = dataclass(unsafe_hash=True, **options)(cls)
            names = [field.name for field in fields(cls)]
            values = attrgetter(*names) if len(names) > 1 else lambda value: (getattr(value, names[0]),)
            # Pickled as what it is made of: a dictionary of each, as objects have it, is twice as long and takes twice as long.
            cls.__reduce__ = lambda self: (type(self), values(self))
            return cls

        return light


MAPPING = (dict, Mapping)
"""For `isinstance`: to ask the abstract class takes seven times as long as to ask `dict`, which nearly every mapping is, and a union of both three times."""

__all__ = ["MAPPING", "light_dataclass"]
