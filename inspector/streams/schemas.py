"""Schemas of tools, of which none is trusted: what a schema asks is judged in limited steps, and nothing is fetched."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import jsonschema
from referencing import Registry

_EXTEND: Any = jsonschema.validators.extend


def can_judge(schema: Mapping[str, Any]) -> bool:
    if _holds(schema, "patternProperties") or _holds(schema, "$dynamicRef"):
        return False
    jsonschema.Draft202012Validator.check_schema(schema)
    return True


def validator(schema: Mapping[str, Any], steps: Iterator[int]) -> Any:
    def counted(keyword: Any) -> Any:
        def applied(validator: Any, value: Any, instance: Any, whole: Any) -> Iterator[Any]:
            if next(steps, None) is None:
                raise RecursionError
            yield from keyword(validator, value, instance, whole) or ()

        return applied

    # A pattern may take permanently on the right text, and the comparison of all items with all others long enough.
    left_out = dict.fromkeys(("pattern", "uniqueItems", "format"), _not_judged)
    kind = _EXTEND(
        jsonschema.Draft202012Validator,
        {name: counted(keyword) for name, keyword in jsonschema.Draft202012Validator.VALIDATORS.items()} | left_out,
    )
    # An own registry: the library's default one fetches references from the network.
    return kind(schema, registry=Registry())


def _not_judged(validator: Any, value: Any, instance: Any, schema: Any) -> Iterable[Any]:
    return ()


def _holds(schema: Any, name: str) -> bool:
    waiting = [schema]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if name in item:
                return True
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
    return False
