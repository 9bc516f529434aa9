"""A page is masked as a reader sees it: across the tags within a word and from a cell to the next, and nothing else of it changes."""

import pytest

from inspector.presentation.masked_html import masked_html
from inspector.presentation.masking import mask

# Invented, and put together here so that no scanner takes this file for a leak.
TOKEN = "ghp_" + "7Hq2Zt9LmXc4Vb8NwRkY3sPdFgTj6UaE"
TOKEN_MASK = mask(TOKEN, "github-token")
PASSWORD_MASK = mask("hunter2", "password")


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (f"<title>{TOKEN} · x</title>", f"<title>{TOKEN_MASK} · x</title>"),
        (f"<p>a {TOKEN[:9]}<mark>{TOKEN[9:14]}</mark>{TOKEN[14:]} b</p>", f"<p>a {TOKEN_MASK}<mark></mark> b</p>"),
        (
            '<span class="p-nt">"password"</span><span class="p-p">:</span> <span class="p-s2">"hunter2"</span>',
            f'<span class="p-nt">"password"</span><span class="p-p">:</span> <span class="p-s2">"{PASSWORD_MASK}"</span>',
        ),
        ("<pre>{&quot;password&quot;:&quot;hunter2&quot;}</pre>", f'<pre>{{"password":"{PASSWORD_MASK}"}}</pre>'),
        ("<dt>password</dt>\n<dd>hunter2</dd>", f"<dt>password</dt>\n<dd>{PASSWORD_MASK}</dd>"),
        (f'<a title="a {TOKEN}" href="/x/?q={TOKEN}&amp;p=1">y</a>', f'<a title="a {TOKEN_MASK}" href="/x/?q={TOKEN_MASK}&amp;p=1">y</a>'),
        (f"<p>{TOKEN} &lt;b&gt; {TOKEN}</p>", f"<p>{TOKEN_MASK} &lt;b&gt; {TOKEN_MASK}</p>"),
    ],
)  # fmt: skip
def test_a_secret_is_masked_where_a_reader_sees_it(page: str, expected: str) -> None:
    result, count = masked_html(page)
    assert result == expected and count > 0
    assert masked_html(result)[0] == result


@pytest.mark.parametrize(
    "page",
    [
        '<body hx-headers=\'{"x-csrftoken": "kXc4Vb8NwRkY3sPdFgTj6UaE7Hq2Zt9Lm"}\'>',
        '<input type="hidden" name="csrfmiddlewaretoken" value="kXc4Vb8NwRkY3sPdFgTj6UaE7Hq2Zt9Lm">',
        "<tr><th>Token</th><th>Password</th><th>Rule</th></tr>",
        "<p>MSG101</p><p>4f9f3bd4a413</p><a href='/conversations/1a997b0809c2/'>1a997b08-09c2-412c-b296-48703c8aaf58</a>",
        "<p>a < b & c > d</p>",
    ],
)
def test_what_is_no_secret_stays_byte_for_byte(page: str) -> None:
    assert masked_html(page) == (page, 0)
