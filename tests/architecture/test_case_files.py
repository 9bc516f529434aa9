"""Each rule has its case file and each strategy its test module: the name of one leads to the other."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from inspector.rules.catalogue import RULES
from inspector.strategies.catalogue import STRATEGIES

TESTS = Path(__file__).parents[1]
CODE = TESTS.parent / "inspector"


def test_each_rule_has_a_case_file_and_each_case_file_a_rule() -> None:
    files, rules = {path.stem for path in (TESTS / "rules" / "cases").glob("*.txt")}, {of.name for of in RULES}
    missing = [f"tests/rules/cases/{name}.txt" for name in sorted(rules - files)]
    assert not missing, f"write the cases of the new rule in {', '.join(missing)}: what fires, what nearly does, what must not"
    assert not files - rules, "these case files have no rule"


def _listed() -> Iterator[tuple[str, Path]]:
    """The name of each strategy, and the folder of the module that lists it."""
    for path in sorted(CODE.rglob("strategies/*.py")):
        module = import_module(".".join(path.relative_to(CODE.parent).with_suffix("").parts))
        listed = getattr(module, "STRATEGY", ())
        for of in listed if isinstance(listed, tuple) else (listed,):
            yield of.name, path.parent.relative_to(CODE)


def test_each_strategy_has_a_test_module_of_its_name() -> None:
    folders = dict(_listed())
    assert set(folders) == {of.name for of in STRATEGIES}
    expected = [folder / f"test_{name.replace('-', '_')}.py" for name, folder in folders.items()]
    missing = [f"tests/{path.as_posix()}" for path in expected if not (TESTS / path).exists()]
    assert not missing, f"write the cases of the new strategy in {', '.join(missing)}: what it changes, and what it leaves"
