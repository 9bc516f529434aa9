"""anthropic-2026-07 against the published table of shapes, and a body that fires and one that nearly does for each rule."""

from base64 import b64encode
from typing import Any

import pytest

from inspector.profiles.anthropic import ANTHROPIC_PROFILE as PROFILE
from inspector.profiles.anthropic_models import takes_prefill
from tests.folding import in_one_test
from tests.profiles.judged import anthropic, found, said

OLD, NEW = "claude-haiku-4-5-20251001", "claude-opus-4-6"


@in_one_test(
    ("shape", "refused"),
    [
        ("u u", []),
        ("u u u", []),
        ("u a a u", []),
        ("a[T] a[U] u[R] u[T]", []),
        ("u a[U] u[T]", [("AN-1", "messages.1")]),
        ("u a[U] u[R] u[T]", []),
        ("u a[U1 U2] u[R1 T] u[R2]", [("AN-3", "messages.3.content.0")]),
        ("u a[U] u[T R]", [("AN-3", "messages.2.content.1")]),
        ("u a[U1 U2] u[R2] u[R1 T]", []),
        ("u a[U T] u[R]", [("AN-4", "messages.1.content.1")]),
        ("u a[U1] u[R2]", [("AN-1", "messages.1"), ("AN-2", "messages.2.content.0")]),
        ("u a[T E] u", [("AN-13", "messages.1.content.1")]),
        ("u[E] a u", [("AN-13", "messages.0.content.0")]),
        ("u a[T W] u", [("AN-14", "messages.1.content.1")]),
        ('u a u""', [("AN-12", "messages.2")]),
        ("u a[] u", []),
        ('u a"" u', []),
        ("u a[K] u", []),
        ("u a[T K] u", []),
        ("u a[K]", [("AN-10", "messages.1"), ("AN-19", "messages.1")]),
        ("u a[T K]", [("AN-10", "messages.1"), ("AN-19", "messages.1")]),
        ("u a[T]", [("AN-10", "messages.1")]),
    ],
)
def test_shapes_with_a_known_answer(shape: str, refused: list[tuple[str, str]]) -> None:
    assert found(PROFILE, anthropic(shape), model=NEW) == refused


def test_what_shares_a_text_names_the_message_with_the_call() -> None:
    for shape in ("u a[U] u[T]", "u a[U] u[T R]", "u a[U T] u[R]", "u a[U K] u[R]"):
        (told, *_) = said(PROFILE, anthropic(shape))
        assert told.text.startswith("messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: c1. Each")


def block(message: int, place: int, shape: str, **changed: Any) -> list[dict[str, Any]]:
    """The shape with fields of one block changed; None takes one away."""
    messages = anthropic(shape)
    value = messages[message]["content"][place]
    value.update(changed)
    messages[message]["content"][place] = {name: each for name, each in value.items() if each is not None}
    return messages


def call(**changed: Any) -> list[dict[str, Any]]:
    return block(1, 0, "u a[U] u[R]", **changed)


def served(before: str, after: str) -> list[dict[str, Any]]:
    blocks = [
        {"type": "server_tool_use", "id": before, "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": after, "content": []},
        {"type": "text", "text": "so"},
    ]
    return [*anthropic("u"), {"role": "assistant", "content": blocks}, *anthropic("u")]


def marked(*places: int) -> list[dict[str, Any]]:
    messages = anthropic("u[T T T T T T]")
    for place in places:
        messages[0]["content"][place]["cache_control"] = {"type": "ephemeral"}
    return messages


def png(width: int = 1, height: int = 1, size: int = 0) -> str:
    """The start of an image as PNG, in base64: its signature and the header with its size; `size` bytes in all."""
    head = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return b64encode(head.ljust(max(size, 33), b"\0")).decode()


def picture(**changed: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png(), **changed}}


def pictured(*pictures: dict[str, Any], in_result: bool = False) -> list[dict[str, Any]]:
    if in_result:
        messages = anthropic("u a[U] u[R]")
        messages[2]["content"][0]["content"] = list(pictures)
        return messages
    return [{"role": "user", "content": list(pictures)}]


def images(count: int) -> list[dict[str, Any]]:
    """Half of them in tool results, which count too."""
    image = picture()
    messages = anthropic("u a[U] u[R]")
    messages[0]["content"] = [dict(image) for _ in range(count // 2)]
    messages[2]["content"][0]["content"] = [dict(image) for _ in range(count - count // 2)]
    return messages


Case = tuple[Any, str, Any]
CASES: dict[str, Case] = {
    "AN-1": (anthropic("u a[U1 U2] u[R1] a u"), "messages.1", anthropic("u a[U1] a[U2] u[R2 R1 T]")),
    "AN-2": (anthropic("u[R]"), "messages.0.content.0", anthropic("u a[U] u[R]")),
    "AN-2s": (served("srv1", "srv2"), "messages.1.content.1", served("srv1", "srv1")),
    "AN-3": (anthropic("u a[U1 U2] u[R2 T R1]"), "messages.2.content.2", anthropic("u a[U1 U2] u[R2 R1 T]")),
    "AN-4": (anthropic("u a[U] a[T] u[R]"), "messages.2.content.0", anthropic("u a[T] a[U] u[R]")),
    "AN-4t": (anthropic("u a[U X] u[R] a u"), "messages.1.content.1", anthropic("u a[X U] u[R] a u")),
    "AN-5": (anthropic("u a[U U] u[R]"), "messages.1.content.1", anthropic("u a[U] u[R] a[U] u[R]")),
    "AN-6": (anthropic("u a[U] u[R] u[R]"), "messages.3.content.0", anthropic("u a[U1 U2] u[R1] u[R2]")),
    "AN-7": (block(2, 0, "u a[U] u[R]", tool_use_id="c:1"), "messages.2.content.0.tool_result.tool_use_id", anthropic("u a[U_-9] u[R_-9]")),
    "AN-10": (anthropic("u a"), "messages.1", anthropic("u a u")),
    "AN-12": (anthropic("u[] a u"), "messages.0", anthropic('u a[] a"" u')),
    "AN-13": (anthropic("u[T E]"), "messages.0.content.1", anthropic("u[T T]")),
    "AN-14": ([{"role": "user", "content": " \n"}], "messages.0.content", [{"role": "user", "content": " \n."}]),
    "AN-16": (anthropic("u a[K T U1 K T U2] u[R1 R2]"), "messages.1.content.3", anthropic("u a[K T U1] u[R1] a[K T U2] u[R2]")),
    "AN-17e": (block(1, 0, "u a[K] u", signature=""), "messages.1.content.0", anthropic("u a[K] u")),
    "AN-17m": (
        block(1, 0, "u a[K] u", thinking="<REDACTED>"),
        "messages.1.content.0",
        block(1, 0, "u a[K] u", thinking="What does <REDACTED> mean?"),
    ),
    "AN-17r": (block(1, 0, "u a[X] u", data="<REDACTED>"), "messages.1.content.0", anthropic("u a[X] u")),
    "AN-18": (
        block(1, 0, "u a[K] u", signature=None),
        "messages.1.content.0.thinking.signature",
        block(1, 0, "u a[K] u", signature="x", thinking=""),
    ),
    "AN-19": (anthropic("u a[T X]"), "messages.1", anthropic("u a[X T]")),
    "AN-20": (pictured(picture(data=png(8001, 10))), "messages.0.content.0", pictured(picture(data=png(8000, 10)))),
    "AN-20m": (
        pictured(*[picture()] * 20, picture(data=png(10, 2001))),
        "messages.0.content.20",
        pictured(*[picture()] * 19, picture(data=png(10, 2001))),
    ),
    "AN-20b": (pictured(picture(data=png(size=3_932_161))), "messages.0.content.0", pictured(picture(data=png(size=3_932_160)))),
    "AN-20e": (pictured(picture(data=""), in_result=True), "messages.2.content.0.content.0", pictured(picture(data="<REDACTED>"))),
    "AN-20p": (pictured(picture(data="!not base64")), "messages.0.content.0", pictured(picture(data="[omitted]"))),
    "AN-20t": (pictured(picture(media_type="image/jpeg")), "messages.0.content.0", pictured(picture())),
    "AN-20y": (pictured(picture(media_type="image/heic")), "messages.0.content.0", pictured({"type": "image", "source": {"type": "url"}})),
    "AN-20n": (images(601), "messages.2.content.0", images(600)),
    "AN-21": ([{"role": "user", "content": "a\ud83d"}], "messages.0.content", [{"role": "user", "content": "a\U0001f600"}]),
    "AN-23": (block(1, 0, "u a[K] u", thinking=None), "messages.1.content.0.thinking.thinking", block(1, 0, "u a[K] u", thinking="")),
    "AN-24": (
        block(0, 0, "u[E]", cache_control={"type": "ephemeral"}),
        "messages.0.content.0",
        block(0, 0, "u[T]", cache_control={"type": "ephemeral"}),
    ),
    "AN-25": (marked(0, 1, 2, 4, 5), "messages.0.content.5", marked(0, 1, 2, 4)),
    "AN-26": (call(input="{}"), "messages.1.content.0.tool_use.input", call(input={})),
    "AN-27": (call(name="n" * 201), "messages.1.content.0.tool_use.name", call(name="n" * 200)),
}


@in_one_test("rule", CASES)
def test_a_body_that_fires_and_one_that_nearly_does(rule: str) -> None:
    fires, path, nearly = CASES[rule]
    assert (rule, path) in found(PROFILE, fires, model=NEW)
    assert rule not in [told for told, _ in found(PROFILE, nearly, model=NEW)]


def test_every_judged_rule_has_a_case_here() -> None:
    judged = {rule.id for rule in PROFILE.rules if not rule.unjudged and not rule.obsolete}
    # What depends on the model or on thinking has tests of its own.
    assert judged == CASES.keys() | {"AN-11", "AN-15"}


@pytest.mark.parametrize(
    ("shape", "refused"),
    [
        ("u a[U] u[R T] a[U] u[R]", []),
        ("u a[U] u[R] a u a[U] u[R]", []),
        ("u a[U] a[U] u[R]", [("AN-5", "messages.2.content.0")]),
        ("u a[U1 U2 U1] u[R1 R2]", [("AN-5", "messages.1.content.2")]),
        ("u a[U] u[R] a[U] u", [("AN-1", "messages.3")]),
    ],
)
def test_an_id_may_be_used_again_in_a_later_turn(shape: str, refused: list[tuple[str, str]]) -> None:
    assert found(PROFILE, anthropic(shape)) == refused


@in_one_test(
    ("shape", "refused"),
    [
        ("u a[W U] u[R]", []),
        ("u a[W T W U1 U2] u[R1 R2]", []),
        ("u a[W] a[U] u[R]", [("AN-14", "messages.1.content.0")]),
        ("u a[E U] u[R]", [("AN-13", "messages.1.content.0")]),
        ("u a[U] u[R W]", [("AN-14", "messages.2.content.1")]),
        ("u a[U W] u[R]", [("AN-4", "messages.1.content.1"), ("AN-14", "messages.1.content.1")]),
    ],
)
def test_a_blank_text_is_taken_before_a_call_of_its_message_only(shape: str, refused: list[tuple[str, str]]) -> None:
    assert sorted(found(PROFILE, anthropic(shape))) == sorted(refused)


@in_one_test("identity", ["", "a b", "tool:1", "é", None, 7])
def test_the_form_of_a_call_id(identity: Any) -> None:
    messages = call(id=identity)
    assert ("AN-7", "messages.1.content.0.tool_use.id") in found(PROFILE, messages)


@pytest.mark.parametrize("name", ["", "a b", "<invoke>", None, 7])
def test_the_name_of_a_called_tool(name: Any) -> None:
    assert ("AN-27", "messages.1.content.0.tool_use.name") in found(PROFILE, call(name=name))


@in_one_test(
    ("model", "takes"),
    [
        (OLD, True),
        (NEW, False),
        ("claude-3-5-sonnet-20241022", True),
        ("claude-3-opus-20240229", True),
        ("claude-sonnet-4-20250514", True),
        ("claude-opus-5", False),
        ("anthropic/claude-sonnet-4.6", False),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", True),
        ("claude-2.1", True),
        ("claude-mythos", None),
        ("glm-5.2", None),
        ("", None),
        (None, None),
    ],
)
def test_which_models_take_a_prefill(model: str | None, takes: bool | None) -> None:
    assert takes_prefill(model) is takes
    refused = [("AN-10", "messages.1")] if takes is False else []
    assert found(PROFILE, anthropic("u a[T]"), model=model) == refused


@pytest.mark.parametrize(("model", "most"), [(OLD, 100), ("claude-3-opus-20240229", 100), (NEW, 600), ("claude-mythos", 600), (None, 600)])
def test_how_many_images_a_model_takes(model: str | None, most: int) -> None:
    assert found(PROFILE, images(most), model=model) == []
    (told,) = said(PROFILE, images(most + 1), model=model)
    assert told.id == "AN-20n" and told.text.endswith(f"+ 0 > {most}")


def test_a_prefill_must_not_end_in_white_space() -> None:
    messages = [*anthropic("u"), {"role": "assistant", "content": "It is "}]
    for model in (OLD, None):
        assert found(PROFILE, messages, model=model) == [("AN-11", "messages.1.content")]
    assert found(PROFILE, messages, model=NEW) == [("AN-10", "messages.1")]
    assert found(PROFILE, [*messages, *anthropic("u")], model=OLD) == []
    assert found(PROFILE, [*anthropic("u"), {"role": "assistant", "content": " It is"}], model=OLD) == []


@in_one_test(
    ("shape", "path"),
    [
        ("u a[U] u[R]", "messages.1.content.0.type"),
        ("u a[T U] u[R T]", "messages.1.content.0.type"),
        ("u a[K U1] u[R1] a u a[U2] u[R2]", "messages.5.content.0.type"),
        ("u a[K U] u[R]", ""),
        ("u a[X U] u[R]", ""),
        ("u a[K U1] u[R1] a[U2] u[R2]", ""),
        ("u a[K U1] u[R1 T] a[U2] u[R2]", ""),
        ("u a[U] u[R] a u", ""),
        ("u a u", ""),
    ],
)
def test_with_thinking_on_the_turn_with_calls_starts_with_thinking(shape: str, path: str) -> None:
    assert found(PROFILE, anthropic(shape), thinking=True) == ([("AN-15", path)] if path else [])
    for thinking in (None, False):
        assert found(PROFILE, anthropic(shape), thinking=thinking) == []


def test_the_answer_says_what_stands_in_the_place_of_thinking() -> None:
    (told,) = said(PROFILE, anthropic("u a[T U] u[R]"), thinking=True)
    assert "but found `text`. When `thinking` is enabled, a final `assistant` message" in told.text


@in_one_test(
    ("shape", "path"),
    [
        ("u a[K T U1 K T U2] u[R1 R2]", "messages.1.content.3"),
        ("u a[K U1] a[K U2] u[R1 R2]", "messages.2.content.0"),
        ("u a[K T] a[K T] u", "messages.2.content.0"),
        ("u a[T] a[K T U] u[R]", ""),
        ("u a[K T K T U] u[R]", ""),
        ("u a[K U1] a[K U2] u[R1 R2] a u", ""),
        ("u a[K K T U] u[R]", ""),
    ],
)
def test_two_responses_run_together_show_in_the_latest_turn_only(shape: str, path: str) -> None:
    seen = [told for told in found(PROFILE, anthropic(shape)) if told[0] == "AN-16"]
    assert seen == ([("AN-16", path)] if path else [])
    assert "AN-16" not in [told for told, _ in found(PROFILE, anthropic(shape), thinking=False)], "switching thinking off is a known cure"


def test_the_incident_is_told_in_the_words_and_at_the_index_of_its_crash() -> None:
    told = said(PROFILE, anthropic("u a[U1] u[R1] a u a[K T U2 K T U3] u[R3 T]"))
    assert [(each.id, each.path) for each in told] == [
        ("AN-1", "messages.5"),
        ("AN-4t", "messages.5.content.3"),
        ("AN-16", "messages.5.content.3"),
    ]
    assert told[2].text == (
        "messages.5.content.3: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
        "These blocks must remain as they were in the original response."
    )


@in_one_test(
    ("shape", "ended"),
    [
        ("u a[U]", {"AN-1": True, "AN-10": True}),
        ("u a[U1 U2] u[R1]", {"AN-1": True}),
        ("u a[U1 U2] u[R1 T]", {"AN-1": False}),
        ("u a[U] u", {"AN-1": False}),
        ("u a[U] u[R] a", {"AN-10": True}),
        ("u a[K]", {"AN-10": True, "AN-19": True}),
        ("u a[U1] u a[U2]", {"AN-1": True, "AN-10": True}),
    ],
)
def test_what_only_misses_the_end_is_open_ended(shape: str, ended: dict[str, bool]) -> None:
    assert {each.id: each.open_ended for each in said(PROFILE, anthropic(shape), model=NEW)} == ended


def test_every_message_with_unanswered_calls_is_told_with_its_own_ids() -> None:
    told = said(PROFILE, anthropic("u a[U1 U2] a[U3] u[R2] a u"))
    assert [(each.path, each.text.split(": ")[2].split(". ")[0]) for each in told] == [("messages.1", "c1"), ("messages.2", "c3")]


def test_markers_and_broken_characters_of_the_system_prompt_count() -> None:
    marker = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    assert found(PROFILE, marked(0, 1), system=[marker, marker]) == []
    assert found(PROFILE, marked(0, 1), system=[marker] * 3) == [("AN-25", "messages.0.content.1")]
    assert found(PROFILE, anthropic("u"), system=[marker] * 5) == [("AN-25", "system")]
    assert found(PROFILE, anthropic("u"), system="\udc00") == [("AN-21", "system")]


def test_a_broken_character_is_found_wherever_it_stands() -> None:
    for broken in ({"input": {"path": ["\ud800"]}}, {"input": {"\udfff": 1}}, {"input": {}, "extra": "\ud83d \ude00"}):
        assert ("AN-21", "messages.1.content.0") in found(PROFILE, call(**broken))
    assert found(PROFILE, call(input={"path": "\ud83d\ude00"})) == []


def test_what_is_accepted_today_or_not_known_is_no_violation() -> None:
    assert found(PROFILE, anthropic("a u u a a u")) == []
    assert found(PROFILE, [{"role": "system", "content": "be brief"}, *anthropic("u")]) == []
    assert {rule.id for rule in PROFILE.rules if rule.obsolete} == {"AN-1b", "AN-8"}
    assert {rule.id for rule in PROFILE.rules if rule.unjudged} == {"AN-9", "AN-17", "AN-22", "AN-22m", "AN-22s", "AN-28"}
