"""YAML with stated limits: plain values only, no tags that make objects, no merges, few aliases."""

from typing import Any

import yaml

from inspector.text.jsontext import MAX_DEPTH, Unreadable

ALIASES = 1_000
NODES = 1_000_000
"""Nodes that a value may have with its aliases expanded."""
LONGEST_NUMBER = 1_000
"""Characters of a number. YAML 1.1 has numbers to the base of 60 (`1:30:00`), and one of a megabyte would take an hour."""

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Plain(_Base):  # type: ignore[misc]
    """The safe loader, without merge keys (each may double what there is) and with unknown tags read as the plain values under them."""

    def flatten_mapping(self, node: Any) -> None:
        return None


def _untagged(loader: Any, _tag: str, node: Any) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    return loader.construct_sequence(node, deep=True) if isinstance(node, yaml.SequenceNode) else loader.construct_scalar(node)


def _number(read: Any) -> Any:
    def constructed(loader: Any, node: Any) -> Any:
        if len(node.value) > LONGEST_NUMBER:
            raise ValueError(f"a number of over {LONGEST_NUMBER:,} characters")
        return read(loader, node)

    return constructed


_Plain.add_multi_constructor("", _untagged)
_Plain.add_constructor("tag:yaml.org,2002:int", _number(_Base.construct_yaml_int))
_Plain.add_constructor("tag:yaml.org,2002:float", _number(_Base.construct_yaml_float))


def parse_yaml(data: bytes) -> Any:
    """The value. Raises Unreadable: `too-deep`, `aliases`, `not-yaml`."""
    depth = aliases = 0
    try:
        # The loader recurses, so that the depth is counted before.
        for event in yaml.parse(data, Loader=_Base):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            elif isinstance(event, yaml.AliasEvent):
                aliases += 1
            if depth > MAX_DEPTH // 4:
                raise Unreadable("too-deep", f"nested more than {MAX_DEPTH // 4} levels deep, which is over what is read here")
            if aliases > ALIASES:
                raise Unreadable("aliases", f"holds more than {ALIASES:,} aliases, which is over what is read here")
        return yaml.load(data, Loader=_Plain)  # noqa: S506
    except yaml.YAMLError as error:
        raise Unreadable("not-yaml", f"no YAML: {' '.join(str(error).split())[:200]}") from None
    except Unreadable:
        raise
    except (ValueError, OverflowError, TypeError) as error:
        raise Unreadable("not-yaml", f"no plain YAML: {str(error)[:200]}") from None


def plain_tree(value: Any) -> Any:
    """`value` as JSON can encode it, aliases expanded. Raises ValueError with what is in the way."""
    root: list[Any] = [None]
    waiting: list[tuple[Any, Any, Any, int]] = [(root, 0, value, 0)]
    nodes = 0
    while waiting:
        holder, key, node, depth = waiting.pop()
        nodes += 1
        if nodes > NODES:
            raise ValueError(f"more than {NODES:,} values, aliases expanded")
        # Each alias may be in the depths of another one: what is too deep to be encoded is no tree.
        if depth > MAX_DEPTH // 2:
            raise ValueError(f"more than {MAX_DEPTH // 2} levels of values, aliases expanded")
        if isinstance(node, dict):
            holder[key] = copied = dict.fromkeys(map(str, node))
            waiting += [(copied, str(name), item, depth + 1) for name, item in node.items()]
        elif isinstance(node, list):
            holder[key] = listed = [None] * len(node)
            waiting += [(listed, place, item, depth + 1) for place, item in enumerate(node)]
        elif node is None or isinstance(node, bool | int | float | str):
            holder[key] = node
        else:
            holder[key] = str(node)
    return root[0]
