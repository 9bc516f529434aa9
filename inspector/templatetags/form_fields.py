"""Fields of forms: the label above, then what is wrong with what was typed, and a hint. Each is named FORM.FIELD, since a page may have several forms."""

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


def _field(typed: Typed, form: str, key: str, label: str, hint: str, control: SafeString) -> SafeString:
    shown = format_html('<p class="hint" id="{}-{}-hint">{}</p>', form, key, hint) if hint else ""
    return format_html(
        '<div class="field"><label for="{}-{}">{}</label>{}{}{}</div>',
        form,
        key,
        label,
        control,
        form_problem(typed, f"{form}.{key}"),
        shown,
    )


def _written(typed: Typed, form: str, key: str, hint: str, attributes: dict[str, object]) -> SafeString:
    """The attributes of the input or select. What is wrong gets the focus, so that it is read out."""
    is_wrong = bool(typed.problem_of(form, key))
    described = " ".join(f"{form}-{key}-{part}" for part, is_there in (("problem", is_wrong), ("hint", bool(hint))) if is_there)
    wrong: dict[str, object] = {"aria_invalid": "true", "autofocus": True} if is_wrong else {}
    others = {"id": f"{form}-{key}", "name": key, **attributes, "aria_describedby": described or None, **wrong}
    return format_html_join("", "{}", _pairs(others))


def _pairs(attributes: dict[str, object]) -> Iterator[tuple[SafeString]]:
    for name, value in attributes.items():
        if value is True:
            yield (format_html(" {}", name.replace("_", "-")),)
        elif value is not None and value is not False:
            yield (format_html(' {}="{}"', name.replace("_", "-"), value),)
