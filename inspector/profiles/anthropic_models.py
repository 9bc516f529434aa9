"""What depends on the generation of Claude, as far as the name of a model says it."""

import re

_CLAUDE = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_LAST_OF_OLD = (4, 5)
MOST_IMAGES, MOST_IMAGES_OF_OLD = 600, 100


def is_old(model: str | None) -> bool | None:
    """Whether it is Claude 4.5 or earlier; None where the name has no version."""
    version = _CLAUDE.search(model or "")
    return (int(version[1]), int(version[2] or 0)) <= _LAST_OF_OLD if version else None


def takes_prefill(model: str | None) -> bool | None:
    """Whether the request may end with the assistant: models up to 4.5 say yes, later ones no."""
    return is_old(model)


def most_images(model: str | None) -> int:
    """Of models with a context of 200,000 tokens fewer than of the others; of one that is not known the larger limit is sure (Anthropic's page on vision)."""
    return MOST_IMAGES_OF_OLD if is_old(model) else MOST_IMAGES
