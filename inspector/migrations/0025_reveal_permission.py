"""Who may reveal; and what searches compare is masked, as an import writes it from now on."""

from typing import Any

from django.db import migrations

from inspector.actions.revisions import names_of
from inspector.presentation.masking import masked


def _mask(apps: Any, schema_editor: Any) -> None:
    conversations = apps.get_model("inspector", "Conversation").objects
    for pk, names, title, native_id in conversations.values_list("pk", "names", "title", "native_id").iterator(chunk_size=500):
        if names_of(title, native_id) != names:
            conversations.filter(pk=pk).update(names=names_of(title, native_id))
    texts = apps.get_model("inspector", "SearchText").objects
    for pk, text in texts.values_list("pk", "text").iterator(chunk_size=50):
        # The words are folded: a token of capital letters alone is recognized only when its source is imported again.
        if (without_secrets := masked(text)) != text:
            texts.filter(pk=pk).update(text=without_secrets)


class Migration(migrations.Migration):
    dependencies = [("inspector", "0024_stored_previews")]
    operations = [
        migrations.AlterModelOptions(
            name="conversation",
            options={"ordering": ("place", "id"), "permissions": (("reveal", "Can see secrets as they are stored"),)},
        ),
        migrations.RunPython(_mask, migrations.RunPython.noop),
    ]
