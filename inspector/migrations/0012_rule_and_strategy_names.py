"""Rules and strategies get the names that the glossary gives them; kept findings and repairs follow."""

from typing import Any

from django.db import migrations

RULES = {
    "error-beside-content": "error-with-content",
    "block-behind-call": "block-after-call",
    "words-beside-results": "text-with-results",
    "stranded-messages": "legacy-messages",
    "bleeding-id": "id-prefix-collision",
    "doctored-child": "modified-child",
    "time-goes-back": "non-monotonic-time",
    "held-job": "locked-job",
    "made-up-result": "placeholder-result",
    "synthesised-result": "synthetic-result",
    "answered-again": "second-result-sent",
}
STRATEGIES = {
    "convert-stranded-messages": "convert-legacy-messages",
    "mend-counter": "fix-counter",
    "sanitise-arguments": "sanitize-arguments",
    "sanitise-tool-names": "sanitize-tool-names",
}


def _rename(apps: Any, schema_editor: Any) -> None:
    for name in ("Finding", "StreamFinding"):
        findings = apps.get_model("inspector", name).objects
        for old, new in RULES.items():
            findings.filter(rule=old).update(rule=new)
    for repair in apps.get_model("inspector", "Repair").objects.only("pk", "strategies").iterator():
        names = [STRATEGIES.get(name, name) for name in repair.strategies]
        if names != repair.strategies:
            repair.strategies = names
            repair.save(update_fields=["strategies"])


class Migration(migrations.Migration):
    dependencies = [("inspector", "0011_origin")]
    operations = [migrations.RunPython(_rename, migrations.RunPython.noop)]
