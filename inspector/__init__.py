"""Inspector: what an agent's store contains, what its client reads, what was sent, and how to repair it with undo."""

__version__ = "0.1.0"
