from typing import Any

from django.db import migrations, models


def name_strings(apps: Any, schema_editor: Any) -> None:
    """What was marked as an element of a list was always one string of a JSON array."""
    changes = apps.get_model('inspector', 'RepairChange').objects.using(schema_editor.connection.alias)
    changes.filter(is_element=True).update(element='string')


class Migration(migrations.Migration):

    dependencies = [
        ('inspector', '0006_streams'),
    ]

    operations = [
        migrations.RenameField('repairchange', 'element', 'is_element'),
        migrations.AddField(
            model_name='repairchange',
            name='element',
            field=models.CharField(blank=True, default='', max_length=10),
            preserve_default=False,
        ),
        migrations.RunPython(name_strings, migrations.RunPython.noop),
        migrations.RemoveField('repairchange', 'is_element'),
    ]
