"""Which brackets of JSON are open after a line, without reading the JSON: no line of it breaks within a string."""

import re

BRACE = ord("{")
MAX_DEPTH = 400

_PAIRS = {ord("]"): ord("["), ord("}"): BRACE}
# A string that is cut off goes to the end of the line: tried again from each quote in it, a long one would take quadratic time.
_STRUCTURE = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)


def nest(stack: list[int], line: bytes) -> bool:
    """Whether brackets are still open after the line; False as well where they do not match or are over the depth that is read."""
    for match in _STRUCTURE.finditer(line):
        mark = match[0][0]
        if mark in _PAIRS.values():
            if len(stack) == MAX_DEPTH:
                return False
            stack.append(mark)
        elif mark in _PAIRS and (not stack or stack.pop() != _PAIRS[mark]):
            return False
    return bool(stack)
