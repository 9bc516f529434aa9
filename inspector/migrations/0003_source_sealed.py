from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("inspector", "0002_source_provenance"),
    ]

    operations = [
        migrations.AddField(
            model_name="source",
            name="sealed",
            field=models.TextField(blank=True),
        ),
    ]
