from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("inspector", "0012_rule_and_strategy_names")]

    operations = [migrations.RenameField("stream", "dialect", "protocol")]
