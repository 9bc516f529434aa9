"""Where a next request goes wrong silently, what its conversation has is ranked as the next import would rank it: nothing reports it there."""

from typing import Any

from django.db import migrations
from django.db.models import F, Min, OuterRef, Subquery, TextField
from django.db.models.functions import Cast

OPEN = 0


def fill(apps: Any, schema_editor: Any) -> None:
    occurrences = apps.get_model("inspector", "Occurrence").objects
    conversations = apps.get_model("inspector", "Conversation").objects
    as_text = conversations.annotate(following=Cast("next_request", TextField()))
    of_silent = occurrences.filter(conversation__in=as_text.filter(following__startswith='["silent"').values("pk"))
    problems = list(of_silent.filter(rank__in=(1, 3, 5)).values_list("problem", flat=True).distinct())
    of_silent.filter(rank__in=(1, 3, 5)).update(rank=F("rank") - 1)
    worst = occurrences.filter(problem=OuterRef("pk"), state=OPEN).order_by().values("problem").annotate(worst=Min("rank")).values("worst")
    opened = apps.get_model("inspector", "Problem").objects.filter(pk__in=problems, conversations__gt=0)
    opened.update(rank=Subquery(worst))


class Migration(migrations.Migration):
    dependencies = [("inspector", "0055_repair_safety")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
