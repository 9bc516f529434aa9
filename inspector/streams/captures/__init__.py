"""Kinds of captures: one module each, bytes in, exchanges out. `catalogue` has them all and distinguishes them."""
