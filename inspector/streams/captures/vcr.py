"""Cassettes of VCR and its kin (vcrpy, Ruby VCR, Betamax, go-vcr), in YAML and JSON."""

import binascii
from collections.abc import Iterator, Mapping
from typing import Any

from inspector.streams.captures.base import LOADED, NoCapture, Opened, head_of, member, text_member, whole
from inspector.streams.captures.bodies import HttpAnswer, streamed, whole_number
from inspector.streams.captures.yaml_text import parse_yaml, plain_tree
from inspector.streams.model import Exchange
from inspector.text.jsontext import Unreadable, compact, decode, encode, parse

YAML_LOADED = 64 * 2**20
"""Bytes of the largest cassette in YAML: its tree takes many times as much."""

_LISTS = ("interactions", "http_interactions")
_SNIFFED = tuple(f"{quote}{name}{quote}:".encode() for name in _LISTS for quote in ("", '"'))


def sniff(head: bytes, name: str) -> bool:
    start = head[:4096]
    return any(word in start for word in _SNIFFED) and (name.lower().endswith((".yaml", ".yml", ".json")) or b"request" in head)


def exchanges(opened: Opened, name: str) -> Iterator[Exchange]:
    is_json = head_of(opened, 4096).lstrip().startswith(b"{")
    data = whole(opened, LOADED if is_json else YAML_LOADED)
    try:
        value = parse(decode(data)) if is_json else parse_yaml(data)
    except Unreadable as error:
        raise NoCapture(f"The cassette cannot be read ({error.reason}).") from None
    interactions = next((interactions for key in _LISTS if isinstance(interactions := member(value, key), list)), None)
    if interactions is None:
        raise NoCapture("It has no list `interactions`, so it is no cassette.")
    streams = list(streamed(interactions, name, _answer))
    if not streams:
        raise NoCapture(f"None of its {len(interactions):,} interactions holds an answer of a model.")
    yield from streams


def _answer(interaction: Any, native_id: str) -> HttpAnswer:
    request, response = member(interaction, "request"), member(interaction, "response")
    problems: list[str] = []
    lacks: frozenset[str] = frozenset()
    body = _body(member(response, "body"), problems)
    if body is None and (parsed := member(response, "parsed_body")) is not None:
        body, lacks = _encoded(parsed, problems), frozenset(("bytes",))
    status = member(response, "status")
    return HttpAnswer(
        native_id,
        body,
        method=text_member(request, "method"),
        url=text_member(request, "uri") or text_member(request, "url"),
        status=whole_number(member(status, "code"))
        or whole_number(member(response, "code"))
        or whole_number(member(response, "status_code")),
        content_type=_header(response, "content-type"),
        encoding=_header(response, "content-encoding"),
        request=_request(request),
        problems=tuple(problems),
        lacks=lacks,
    )


def _body(body: Any, problems: list[str]) -> bytes | None:
    """The forms of a body: text, bytes, `string` (either), `base64_string`."""
    if isinstance(body, dict):
        packed = body.get("base64_string")
        if isinstance(packed, str):
            try:
                return binascii.a2b_base64(packed)
            except ValueError:
                problems.append("The body is kept as `base64_string` and is no base64; its text is shown as it is.")
                return encode(packed)
        body = body.get("string")
    if isinstance(body, str):
        return encode(body)
    return body if isinstance(body, bytes) else None


def _encoded(parsed: Any, problems: list[str]) -> bytes | None:
    try:
        return encode(compact(plain_tree(parsed)))
    except ValueError as error:
        problems.append(f"The body was kept as values that cannot be encoded as JSON ({error}).")
        return None


def _request(request: Any) -> bytes | str | Mapping[str, Any] | None:
    parsed = member(request, "parsed_body")
    if isinstance(parsed, dict):
        try:
            tree: dict[str, Any] = plain_tree(parsed)
        except ValueError:
            return None
        return tree
    return _body(member(request, "body"), [])


def _header(response: Any, header_name: str) -> str:
    headers = member(response, "headers")
    for name, value in headers.items() if isinstance(headers, dict) else ():
        if isinstance(name, str) and name.lower() == header_name:
            first = value[0] if isinstance(value, list) and value else value
            return first if isinstance(first, str) else ""
    return ""
