"""Partials: `page.html#part` renders one part of a page, cached or not."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.template.backends.django import DjangoTemplates

ROOT = Path(settings.BASE_DIR)
PAGE = "<h1>Page</h1>{% partialdef part inline %}<p>{{ word }}</p>{% endpartialdef %}"


@pytest.mark.parametrize("cached", [True, False])
def test_a_partial_renders_alone_and_in_its_page(tmp_path: Path, cached: bool) -> None:
    (tmp_path / "page.html").write_text(PAGE)
    configured: Any = settings.TEMPLATES[0]
    options = dict(configured["OPTIONS"])
    loader, inner = options["loaders"][0]
    assert inner[0][0] == "django.template.loaders.cached.Loader"
    options["loaders"] = [(loader, inner if cached else inner[0][1])]
    engine = DjangoTemplates({"NAME": "test", "DIRS": [tmp_path], "APP_DIRS": False, "OPTIONS": options})
    for _ in range(2):
        assert engine.get_template("page.html#part").render({"word": "<b>"}) == "<p>&lt;b&gt;</p>"
        assert engine.get_template("page.html").render({"word": "hi"}) == "<h1>Page</h1><p>hi</p>"


def test_only_stored_words_are_preformatted() -> None:
    """Templates break their lines: where a rule kept white space, these breaks would show."""
    rules = re.findall(r"([^{}]+)\{([^{}]*)\}", "".join(path.read_text() for path in sorted((ROOT / "static").glob("*.css"))))
    preformatted = {selector.rpartition("*/")[2].strip() for selector, declarations in rules if "white-space: pre" in declarations}
    assert preformatted == {"pre", ".words"}
