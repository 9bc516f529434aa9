"""What a job of the queue brought, next to the engine's own row of it (PostgreSQL only; on SQLite the table is empty)."""

from django.db import models


class JobResult(models.Model):
    """`job` is the number of the engine's row. `answer` is what the command printed as JSON; `error` the sentence that says why there is none."""

    job = models.BigIntegerField(primary_key=True)
    ended_at = models.DateTimeField(db_index=True)
    answer = models.TextField(default="", blank=True)
    error = models.TextField(default="", blank=True)

    def __str__(self) -> str:
        return f"job {self.job}"
