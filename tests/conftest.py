"""What every test needs: nothing of one test's database may be remembered in the next, which gets the same row ids again."""

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    from inspector.models import loading
    from inspector.views import analysis

    for cached in (loading._stored, loading._trace, loading.body, analysis._analysis):
        cached.cache_clear()
    yield
