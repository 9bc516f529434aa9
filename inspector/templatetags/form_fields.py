"""Fields of forms: the label above, below it a hint, or what is wrong with what was typed. Each is named FORM.FIELD, since a page may have several forms."""

from collections.abc import Iterator, Sequence

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from inspector.presentation.typed import Typed
from inspector.templatetags.show import options

register = template.Library()


@register.simple_tag
def text_field(typed: Typed, name: str, label: str, hint: str = "", value: object = "", **attributes: object) -> SafeString:
    """`attributes` are those of the input: True stands for one without a value, `_` for a hyphen."""
    form, _, key = name.partition(".")
    written = {"type": "text", **attributes}
    if written["type"] != "password":
        written["value"] = typed.value_of(form, key, str(value))
    return _field(typed, form, key, label, hint, format_html("<input{}>", _written(typed, form, key, hint, written)))


@register.simple_tag
def select_field(typed: Typed, name: str, label: str, pairs: Sequence[tuple[str, str]], chosen: object = "", hint: str = "") -> SafeString:
    """`pairs` are (value, words)."""
    form, _, key = name.partition(".")
    shown = options(pairs, typed.value_of(form, key, str(chosen)))
    return _field(typed, form, key, label, hint, format_html("<select{}>{}</select>", _written(typed, form, key, hint, {}), shown))


@register.simple_tag
def form_problem(typed: Typed, name: str) -> SafeString:
    """What is wrong with FORM.FIELD, or with a form as a whole; "" for nothing."""
    form, _, key = name.partition(".")
    problem = typed.problem_of(form, key)
    return format_html('<p class="problem" role="alert" id="{}-{}-problem">{}</p>', form, key, problem) if problem else SafeString("")


@register.simple_tag
def wrong_field(typed: Typed, name: str) -> SafeString:
    """The attributes of a field that is written in its template, where it is wrong."""
    form, _, key = name.partition(".")
    return format_html_join("", "{}", _pairs(_wrong(form, key) if typed.problem_of(form, key) else {}))


def _wrong(form: str, key: str) -> dict[str, object]:
    """What is wrong gets the focus, so that it is read out."""
    return {"aria_describedby": f"{form}-{key}-problem", "aria_invalid": "true", "autofocus": True}


def _field(typed: Typed, form: str, key: str, label: str, hint: str, control: SafeString) -> SafeString:
    below = form_problem(typed, f"{form}.{key}")
    if hint and not below:
        below = format_html('<p class="hint" id="{}-{}-hint">{}</p>', form, key, hint)
    return format_html('<div class="field"><label for="{}-{}">{}</label>{}{}</div>', form, key, label, control, below)


def _written(typed: Typed, form: str, key: str, hint: str, attributes: dict[str, object]) -> SafeString:
    """The attributes of the input or select."""
    below = {"aria_describedby": f"{form}-{key}-hint"} if hint else {}
    others = _wrong(form, key) if typed.problem_of(form, key) else below
    return format_html_join("", "{}", _pairs({"id": f"{form}-{key}", "name": key, **attributes, **others}))


def _pairs(attributes: dict[str, object]) -> Iterator[tuple[SafeString]]:
    for name, value in attributes.items():
        if value is True:
            yield (format_html(" {}", name.replace("_", "-")),)
        elif value is not None and value is not False:
            yield (format_html(' {}="{}"', name.replace("_", "-"), value),)
