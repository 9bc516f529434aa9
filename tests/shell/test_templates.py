"""Partials: `page.html#part` renders one part of a page, cached or not."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.template import engines
from django.template.backends.django import DjangoTemplates
from django.test import RequestFactory

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


def test_no_style_has_a_size_of_type_of_its_own() -> None:
    """Three sizes, as `inspector.css` names them."""
    sizes = re.findall(
        r"font(?:-size)?: (?:\d+ )?([\w.()-]+?)(?:/[\d.px]+)?[ ;]", "".join(path.read_text() for path in (ROOT / "static").glob("*.css"))
    )
    assert len(sizes) > 50 and set(sizes) == {"var(--small)", "var(--text)", "var(--title)", "inherit"}


def rendered(template: str, query: str = "", **context: Any) -> str:
    request = RequestFactory().get(f"/somewhere/?{query}")
    return engines["django"].from_string(template).render(context, request)


def test_a_moment_is_shown_as_its_age_with_the_absolute_time() -> None:
    an_hour_ago = datetime.now(UTC) - timedelta(hours=1, minutes=5)
    stamp = an_hour_ago.strftime("%Y-%m-%dT%H:%M:%S")
    expected = f'<time datetime="{stamp}Z" title="{stamp.replace("T", " ")} UTC">1 h ago</time>'
    assert rendered("{% when at %}", at=an_hour_ago) == expected
    assert rendered("{% when at %}", at=int(an_hour_ago.timestamp() * 1000)) == expected
    assert rendered("{% when at %}", at=None) == rendered("{% when at %}", at=-(10**18)) == "unknown"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", '<th class="n" aria-sort="descending"><a class="sort" href="?sort=seen">Seen <span aria-hidden="true">↓</span></a></th>'),
        ("sort=seen&q=a", '<th class="n" aria-sort="ascending"><a class="sort" href="?sort=-seen&amp;q=a">Seen <span aria-hidden="true">↑</span></a></th>'),
        ("sort=name&page=3&after=1", '<th class="n"><a class="sort" href="?sort=seen">Seen</a></th>'),
        ("sort=%3Cscript%3E", '<th class="n"><a class="sort" href="?sort=seen">Seen</a></th>'),
    ],
)  # fmt: skip
def test_the_heading_of_a_column_sorts_by_it(query: str, expected: str) -> None:
    assert rendered('{% sort_header "seen" "Seen" initial="-seen" classes="n" %}', query) == expected


def test_an_empty_state_says_the_next_step() -> None:
    text = rendered(
        '{% include "components.html#empty" with title="No <b>" text="Why" href="/x/" action="Do it" command="demo" %}', program="inspector"
    )
    assert "<h2>No &lt;b&gt;</h2>" in rendered('{% include "components.html#empty" with title=title %}', title="No <b>")
    assert '<a class="btn" href="/x/">Do it</a>' in text and "<pre>inspector demo</pre>" in text


@pytest.mark.parametrize("path", sorted((ROOT / "static").glob("*.css")), ids=lambda path: path.name)
def test_every_block_of_a_style_is_closed(path: Path) -> None:
    """A brace that a merge lost put the widths of a table into the rules for print, where no browser complains."""
    assert path.read_text().count("{") == path.read_text().count("}")
