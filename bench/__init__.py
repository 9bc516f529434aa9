"""How fast it is, as a ratio to what plain SQLite and json do with the same rows in the same minutes."""
