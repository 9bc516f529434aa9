"""Waits for what a page's own state says, asked from the test: the policy of the pages lets no text be run in them, as Playwright's own wait does."""

import time
from contextlib import suppress

from playwright.sync_api import Error, Page


def until(page: Page, expression: str, seconds: float = 15) -> None:
    """Until the JavaScript expression is true; a page that is being left answers nothing, and is asked again."""
    end = time.monotonic() + seconds
    while True:
        with suppress(Error):
            if page.evaluate(f"Boolean({expression})"):
                return
        assert time.monotonic() < end, f"not within {seconds} s: {expression}"
        page.wait_for_timeout(20)
