"""What a provider says in an error, without what an SDK wraps it in."""

import re

_MESSAGE = re.compile(r"""(?<!\\)(\\{0,7})["']message\1["']\s?:\s?\1(["'])(.{1,2000}?)(?<!\\)\1\2""", re.DOTALL)
"""In JSON, in JSON within JSON, and in the `repr` of a dict, as the SDKs of OpenAI and Anthropic print it: `Error code: 400 - {'error': {'message': '...'}}`."""
_ESCAPE = re.compile(r"""\\{1,7}(["'\\])""")


def words_of_error(text: str) -> str:
    """The message in it; a text without one as it is."""
    match = _MESSAGE.search(text)
    return _ESCAPE.sub(r"\1", match[3]) if match else text
