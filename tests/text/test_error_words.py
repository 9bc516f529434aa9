"""The words of a provider, in what SDKs make of its errors."""

import pytest

from inspector.text.error_words import words_of_error


@pytest.mark.parametrize(("error", "words"), [
    ("""Error code: 400 - {'type': 'error', 'error': {'type': 'x', 'message': 'messages.5: it\\'s not'}}""", "messages.5: it's not"),
    ('{"error": {"message": "Invalid \\"role\\"", "type": "x"}}', 'Invalid "role"'),
    (r'"{\"error\":{\"message\":\"No messages\"}}"', "No messages"),
    ("messages.5: bare", "messages.5: bare"), ("{'message': ''}", "{'message': ''}"), ("", ""),
])  # fmt: skip
def test_the_words_of_a_provider_are_taken_out_of_its_error(error: str, words: str) -> None:
    assert words_of_error(error) == words
