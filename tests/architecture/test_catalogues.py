"""The catalogues are whole: each rule, strategy, reader, projection, profile and format is listed once and says what it must."""

import importlib
import pkgutil
import re
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

from inspector import profiles
from inspector.conversation.edits import Safety
from inspector.profiles.catalogue import PROFILES, UnknownProfile, profile
from inspector.programs.catalogue import FORMATS, UnknownFormat, format_named
from inspector.programs.registry import members, programs
from inspector.projections.catalogue import UnknownProjection, all_projections, projection
from inspector.readers.catalogue import UnknownReader, names, reader
from inspector.rules.base import Origin, Rule
from inspector.rules.catalogue import RULES, UnknownRule, rule
from inspector.strategies.base import Strategy
from inspector.strategies.catalogue import STRATEGIES, UnknownStrategy, strategy
from tests.folding import in_one_test

TESTS = Path(__file__).parent.parent


def modules(package: ModuleType) -> list[ModuleType]:
    return [importlib.import_module(f"{package.__name__}.{found.name}") for found in pkgutil.iter_modules(package.__path__)]


def test_codes_names_and_states_are_unique() -> None:
    for values in ([of.code for of in RULES], [of.name for of in RULES], [of.state for of in RULES], [of.name for of in STRATEGIES]):
        assert len(set(values)) == len(values)


def test_rules_stand_in_groups_by_the_letters_of_their_codes_and_count_up_inside() -> None:
    codes = [re.fullmatch(r"(MSG|STORE|THINK|TOOL|TREE|STREAM|WIRE|TRACE)([1-9]\d\d)", of.code) for of in RULES]
    assert all(codes)
    for letters in {code.group(1) for code in codes if code}:
        numbers = [int(code.group(2)) for code in codes if code and code.group(1) == letters]
        assert numbers == sorted(numbers)


@in_one_test("of", RULES, ids=lambda of: of.name)
def test_a_rule_says_what_it_must(of: Rule) -> None:
    assert all((of.summary, of.why, of.fixed_in_code, of.references, of.example, of.state))
    assert of.summary[0].islower() or not of.summary[0].isalpha()
    assert not of.summary.endswith(".")
    assert of.why.endswith(".")
    assert of.fixed_in_code.endswith(".")
    assert set(of.repaired_by) <= {strategy.name for strategy in STRATEGIES}
    if of.origin is Origin.READER:
        assert of.fixed_in_code != "Nothing to fix in code."


PROGRAMS = re.compile(
    r"\b("
    + "|".join(part for program in programs() for part in [*program.title.split(" and "), "Codex"] if part != "Request bodies")
    + r")\b"
)


@in_one_test("of", [of for of in (*RULES, *STRATEGIES) if not of.formats], ids=lambda of: of.name)
def test_what_a_generic_rule_or_strategy_explains_is_true_of_every_program(of: Rule | Strategy) -> None:
    """It is shown next to conversations of all programs: what one of them does is said by that program (`Errors.consequences`)."""
    names = ("summary", "why", "fixed_in_code", "no_repair_reason", "cost", "pros", "cons", "user_visible_effect")
    named = {name: PROGRAMS.findall(getattr(of, name, "")) for name in names}
    assert {name: found for name, found in named.items() if found} == {}


@in_one_test("of", RULES, ids=lambda of: of.name)
def test_a_rule_is_named_after_what_is_wrong_and_not_after_the_remedy(of: Rule) -> None:
    words = of.name.split("-")
    assert not {"no", "not", "missing-no", "must", "should", "fix", "repair", "mend", "strip", "insert", "renumber"} & set(words)


@in_one_test("of", STRATEGIES, ids=lambda of: of.name)
def test_a_strategy_says_what_it_must(of: Strategy) -> None:
    assert all((of.summary, of.cost, of.user_visible_effect, of.pros, of.cons))
    assert of.write_kind in {"W1", "W2", "W3", "content", "counter", "id"}
    assert of.safety <= set(Safety)


def test_what_removes_rows_is_lossy_and_what_is_invented_adds_rows_or_rewrites_one() -> None:
    assert {of.name for of in STRATEGIES if of.write_kind == "W2"} <= {of.name for of in STRATEGIES if Safety.LOSSY in of.safety}
    assert all(of.write_kind in ("W2", "content") for of in STRATEGIES if Safety.LOSSY in of.safety)
    assert all(of.write_kind in ("W3", "content") for of in STRATEGIES if Safety.INVENTED in of.safety)


def test_every_module_of_profiles_is_listed() -> None:
    assert {of.name for module in modules(profiles) if hasattr(module, "OFFERED") for of in module.OFFERED} == {of.name for of in PROFILES}


def test_a_rule_or_strategy_is_in_the_module_of_its_name_or_in_a_table() -> None:
    """A module found by its name is where a newcomer looks first; several that differ in a row of a table share a module."""
    for package, attribute, known in (("rules", "RULE", RULES), ("strategies", "STRATEGY", STRATEGIES)):
        names: list[str] = []
        for folder in (f"inspector.{package}", *(f"{program.package}.{package}" for program in programs())):
            for module in modules(importlib.import_module(folder)) if find_spec(folder) else ():
                listed = getattr(module, attribute, ())
                if isinstance(listed, tuple):
                    assert len(listed) != 1, f"{module.__name__} lists one: give it the name of that, and no tuple"
                    names += [of.name for of in listed]
                else:
                    assert module.__name__.rpartition(".")[2] == listed.name.replace("-", "_")
                    names.append(listed.name)
        assert sorted(names) == sorted(of.name for of in known)


def test_what_is_in_the_folder_of_a_program_applies_to_its_formats_alone() -> None:
    for program in programs():
        formats = tuple(each.name for each in program.formats)
        for attribute, package, known in (("RULE", "rules", RULES), ("STRATEGY", "strategies", STRATEGIES)):
            own = {each.name for each in members(f"{program.package}.{package}", attribute)}
            assert all(each.formats == formats for each in known if each.name in own)


def _unnamed(folder: str, words: Iterable[str]) -> str:
    """Those that no other test of the folder names, one after another: nobody wrote a case for them."""
    files = (path for path in sorted((TESTS / folder).glob("*.py")) if path != Path(__file__))
    texts = "".join(path.read_text(encoding="utf-8") for path in files)
    return ", ".join(sorted({word for word in words if word not in texts}))


def test_every_rule_of_a_provider_that_is_judged_has_a_case() -> None:
    missing = _unnamed("profiles", (f'"{rule.id}"' for of in PROFILES for rule in of.rules if not (rule.unjudged or rule.obsolete)))
    assert not missing, f"write cases of {missing} in tests/profiles: what is rejected, and what nearly is"


def test_every_module_of_profiles_has_a_case() -> None:
    missing = _unnamed("profiles", (f"{module.__name__} import" for module in modules(profiles) if hasattr(module, "OFFERED")))
    assert not missing, f"write cases of {missing} in tests/profiles: bodies that the provider accepts, and some that it rejects"


def test_every_name_that_a_format_offers_is_found() -> None:
    for offered in FORMATS:
        assert format_named(offered.name) is offered
        assert offered.default_reader in names(offered.name)
        assert projection(offered.default_projection) in all_projections()
        assert profile(offered.default_profile) in PROFILES
        assert [reader(name).name for name in names(offered.name)] == names(offered.name)
        assert len({mode.name for mode in offered.modes} | {mode.alias for mode in offered.modes}) == 2 * len(offered.modes)
    assert names("another") == []


def test_rules_are_found_by_code_and_by_name() -> None:
    assert all(rule(of.code.lower()) is of and rule(of.name) is of for of in RULES)


@pytest.mark.parametrize("name", ["", "x", "exact+", "exact+x", "exact+new-rows", "dispatch-legacy+r4", "+r1", "\x00"])
def test_unknown_names_are_refused_in_a_sentence(name: str) -> None:
    asked = (
        (rule, UnknownRule),
        (strategy, UnknownStrategy),
        (format_named, UnknownFormat),
        (profile, UnknownProfile),
        (projection, UnknownProjection),
    )
    for look_up, refusal in (*asked, (reader, UnknownReader)):
        with pytest.raises(refusal, match=r"^There is no \w+ .*; `\w+` lists them"):
            look_up(name)


@in_one_test("rule", RULES, ids=lambda rule: rule.code)
def test_every_rule_is_repaired_by_a_strategy_or_says_why_by_none(rule: Rule) -> None:
    assert bool(rule.repaired_by) != bool(rule.no_repair_reason)
