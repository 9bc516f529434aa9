"""Sessions of Scribe, an invented program: a file of JSON lines for each session."""
