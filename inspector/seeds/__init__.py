"""Example stores as data: opens nothing, writes nothing; `sources.creation` makes files of it."""
