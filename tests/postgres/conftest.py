"""One private server for each worker of the tests; a fresh database for each test, copied from a template with gbrain's tables."""

from tests.postgres.fixtures import _postgres, database, empty, other_empty, server  # noqa: F401
