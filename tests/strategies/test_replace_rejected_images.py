"""`replace-rejected-images`: only images whose own header shows that Anthropic rejects them."""

import json
from typing import Any

import pytest

from inspector.planning.preview import compose
from inspector.programs.catalogue import format_named
from inspector.programs.formats import Cell, Record
from inspector.rules.base import case_of
from inspector.strategies.catalogue import strategy
from tests.programs.claude_code.session_lines import png


def edited(*blocks: dict[str, Any]) -> list[str]:
    """The texts that the strategy puts in place of blocks of a request's first message."""
    body = {"model": "claude-opus-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": list(blocks)}]}
    (stored,) = format_named("anthropic-request").read([Record("request.json", Cell(json.dumps(body).encode(), "file"))])
    edits = compose(case_of(stored.conversation, "as-sent"), [strategy("replace-rejected-images")])
    return [edit.new.text for edit in edits]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("block", "why"),
    [
        (png(9000, 10), "it is 9,000 × 10 pixels, more than 8000 on a side"),
        ({**png(10, 10), "source": {**png(10, 10)["source"], "media_type": "image/jpeg"}}, "its bytes are image/png"),
        ({**png(10, 10), "source": {**png(10, 10)["source"], "data": "iVBORw0KGgo$"}}, "it is no base64"),
    ],
)
def test_a_rejected_image_becomes_words_that_say_what_it_was(block: dict[str, Any], why: str) -> None:
    (text,) = edited({"type": "text", "text": "look"}, block)
    assert text.startswith("[Image removed (image/") and why in text


@pytest.mark.parametrize("block", [png(8000, 10), {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}])
def test_an_image_that_may_be_taken_is_left(block: dict[str, Any]) -> None:
    assert edited({"type": "text", "text": "look"}, block) == []
