"""Captures of both sides of a proxy, written down by the rules of what was measured on one: `cases` has them as a table, the files beside it are what it writes."""
