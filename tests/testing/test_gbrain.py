"""gbrain on a real server keeps what the kit for programs asks."""

from pathlib import Path

import pytest

from inspector.testing import kit
from tests.actions.test_gbrain_at_once import GOES_ON
from tests.actions.test_gbrain_repair import everything, put
from tests.postgres.fixtures import _postgres, database, server  # noqa: F401
from tests.postgres.making import run as sql
from tests.programs.gbrain.strategies.repaired_jobs import DAMAGED

pytestmark = [pytest.mark.django_db]


@pytest.mark.parametrize("check", kit.CHECKS, ids=lambda check: check.__name__)
def test_gbrain_keeps_what_the_kit_asks(database: str, check: kit.Check, tmp_path: Path) -> None:  # noqa: F811
    put(database, DAMAGED["a job from before #2820"], status="waiting")
    sample = kit.Sample(
        "gbrain", lambda folder: database, "7", ("insert-ledger-results",), lambda dsn: sql(dsn, GOES_ON), ("fill-rows",), everything
    )
    check(sample, tmp_path / "store")
