"""Named conditions of the actions; each says in one sentence what is wrong and what to do next."""


class Refused(Exception):
    """An action that will not be done. The text is a whole sentence for a person; `field` is the field of a form that it is about, if it is about one."""

    def __init__(self, sentence: str = "", field: str = "") -> None:
        super().__init__(sentence)
        self.field = field


class Stale(Refused):
    """The store moved since the plan was made; `moved` says what, as (record key, what happened)."""

    def __init__(self, sentence: str, moved: list[tuple[str, str]]) -> None:
        super().__init__(sentence)
        self.moved = moved


class NothingToRepair(Refused):
    """The strategies that were asked for would change nothing."""
