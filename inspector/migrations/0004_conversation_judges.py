from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("inspector", "0003_source_sealed"),
    ]

    operations = [
        migrations.AddField(
            model_name="conversation",
            name="projection",
            field=models.CharField(blank=True, max_length=60),
        ),
        migrations.AddField(
            model_name="conversation",
            name="profile",
            field=models.CharField(blank=True, max_length=60),
        ),
    ]
