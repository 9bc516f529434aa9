"""Captured responses: bytes of one or both sides as events, their legality, and the message that they assemble to. Opens nothing."""
