"""JSON columns that return what was put in, on every database."""

import json
from typing import TYPE_CHECKING, Any

from django.db import models

if TYPE_CHECKING:
    _Any = models.Field[Any, Any]
else:
    _Any = models.Field


class JsonText(_Any):
    """A JSON value as its own text, in ASCII.

    No jsonb: that refuses NUL, lone surrogates and NaN, which stores and traces hold, and writes numbers its own way, over which the audit
    trail has its hash.
    """

    def get_internal_type(self) -> str:
        return "TextField"

    def get_prep_value(self, value: Any) -> str:
        return json.dumps(value)

    def from_db_value(self, value: str | None, *_: Any) -> Any:
        """What is no JSON, because somebody changed it in the database, is returned as it is: the audit log then names its line."""
        try:
            return None if value is None else json.loads(value)
        except ValueError:
            return value
