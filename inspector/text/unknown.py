"""A name that a catalogue does not have."""


class UnknownName(LookupError):
    """The base of all of them: its text is one sentence that says where the names are listed."""
