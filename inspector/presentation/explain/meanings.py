"""What an error text means where a table of texts knows it: a refusal of the history, or nothing that a repair of the history would change."""

import re
from functools import lru_cache

from inspector.presentation.explain.answer import recognized
from inspector.profiles.base import ProviderRule
from inspector.programs.base import Meaning
from inspector.programs.registry import programs
from inspector.rules.base import Rule
from inspector.rules.catalogue import rule

READ = 8000
"""Characters of an error that are looked at; bodies of failed requests can be whole web pages."""


def _status(codes: str) -> str:
    """A status where it is named as one, or where the text begins with it: a bare number may be that of a line of code."""
    return rf"(?:http(?:/[\d.]+)?|status(?:[ _]?code)?|code|error)\W{{0,5}}(?:{codes})\b|\A\W{{0,4}}(?:{codes})\b"


_LATER = "Send the same request again later, with growing pauses. There is nothing to repair."
_NOT_HISTORY = "There is nothing to repair in the history."

_UNANSWERED = "a tool call in the request had no result directly after it"
_ORPHAN = "a tool result in the request had no call before it"
# The first that matches counts: from the text of one provider to what any of them says.
# Texts as seen in public reports; OC: OpenAI Chat Completions, OV: others that speak it.
MEANINGS = (
    Meaning(r"insufficient tool messages following tool_calls", _UNANSWERED, "TOOL102", "OV-1"),
    Meaning(r"InternalError\.Algo\.InvalidParameter.{0,80}tool_calls", _UNANSWERED, "TOOL102", "OV-2"),
    Meaning(r"must be followed by tool messages", _UNANSWERED, "TOOL102", "OC-1"),
    Meaning(r"role .?.?tool.?.? must be a response to a prece+ding message", _ORPHAN, "TOOL202", "OC-2"),
    Meaning(r"tool_call_id.{0,200}not found in .{0,4}tool_calls", "a tool result named a call that the message before it does not have", "TOOL202", "OC-3"),
    Meaning(r"tool_call_id\s{1,3}is not found", "a tool result named a call that the message before it does not have", "TOOL202", "OV-3"),
    Meaning(r"tool_calls\[\d+\]\.id.{0,4}: string too long", "the id of a tool call was longer than the provider takes", "", "OC-4"),
    Meaning(r"tool_calls.{0,4}: empty array", "an assistant message was sent with an empty list of calls", "", "OC-5"),
    Meaning(r"invalid value for .?.?content.?.?: expected a string, got null", "a message was sent without content", "", "OC-6"),
    Meaning(r"reasoning_content.{0,80}(?:must be passed back|in the assistant message)", "the provider wants the thinking back that the history leaves out", "", "OV-4"),
    Meaning(
        r"unexpected character: line \d+ column \d+|expecting .{1,40} delimiter: line \d+",
        "the arguments of a stored call are no JSON, and the provider tried to read them: every request with this history is rejected",
        "TOOL301",
    ),
    Meaning(r"model .{0,80}not supported|model not supported|model_not_found|model .{0,80}does not exist", "the provider does not offer this model to this account: nothing in the history is wrong but the stored error", "MSG201", advice="Name a model that the account has."),
    Meaning(r"maximum context length|prompt is too long|context_length_exceeded|too many tokens", "the history is longer than the model takes", advice="Compact the conversation in its own program, or use a model with a larger context."),
    Meaning(r"insufficient_quota|exceeded your current quota|credit balance is too low", "the quota or the credit of the account is used up: nothing in the history is wrong", advice=f"Wait until the quota renews, or add credit. {_NOT_HISTORY}"),
    Meaning(_status("429") + r"|rate.?limit.?(?:error|exceeded|reached)|rate.?limited|too many requests|RESOURCE_EXHAUSTED", "the provider asked to wait: nothing in the history is wrong", advice=_LATER, is_transient=True),
    Meaning(_status("529") + r"|overloaded", "the provider is overloaded: nothing in the history is wrong", advice=_LATER, is_transient=True),
    Meaning(_status("40[13]") + r"|unauthorized|invalid api key|invalid x-api-key|authentication_error|permission_error", "the provider refused the credentials: nothing in the history is wrong", advice=f"Look at the key and at what it may do. {_NOT_HISTORY}"),
    Meaning(_status(r"5\d\d") + r"|internal server error|bad gateway|service unavailable|gateway time-?out", "the provider failed: nothing in the history is wrong", advice=_LATER, is_transient=True),
    Meaning(r"\Anetwork: |timed? ?out|econnreset|econnrefused|socket hang|fetch failed|network error|unable to connect|connection (?:error|refused|reset)", "the connection failed: the provider may not have seen the request", advice=_LATER, is_transient=True),
)  # fmt: skip


# What our own rules say of a refusal, by the provider's rule: where they fire, the page says so.
_OURS: dict[str, tuple[str, ...]] = {}
for _code, _provider_rules in {
    "TOOL102": "AN-1 AN-1b BR-1 GE-3 LG-1 MI-1 OC-1 OR-1 OV-1 OV-2 OV-3 SDK-1",
    "TOOL202": "AN-2 AN-2s BR-2 MI-6 OC-2 OC-3 OR-2 OV-1r OV-3r TE-2",
    "TOOL207": "GE-2",
    "TOOL208": "AN-6 GE-3 MI-1",
    "TOOL206": "AN-6 GE-3 MI-1",
    "MSG403": "AN-4",
    "THINK201": "AN-18",
    "THINK204": "AN-4t AN-16",
}.items():
    for _provider_rule in _provider_rules.split():
        _OURS[_provider_rule] = (*_OURS.get(_provider_rule, ()), _code)


def own_rules(provider_rule: str) -> tuple[Rule, ...]:
    """Our rules that find in a store what is rejected by that one, the usual cause first; () where none is known to."""
    return tuple(map(rule, _OURS.get(provider_rule, ())))


def means(rule: ProviderRule) -> str:
    """What is wrong with a request that breaks the rule, in a few words."""
    return next((row.means for row in MEANINGS if row.provider_rule == rule.id), rule.summary)


@lru_cache(maxsize=256)
def meaning(text: str, own: tuple[Meaning, ...] = ()) -> Meaning | None:
    """What a recorded error means: by a rule of a provider before what any of them says; None where nothing knows it. `own`: errors of the program that
    may have answered it."""
    shown = text[:READ]
    matches = [row for row in (*MEANINGS, *own) if re.search(row.pattern, shown, re.IGNORECASE)]
    particular = next((row for row in matches if row.rule or row.provider_rule), None)
    if particular is None and (candidates := recognized(shown)):
        rule = candidates[0].rule
        return Meaning(re.escape(rule.id), rule.summary, next(iter(_OURS.get(rule.id, ())), ""), rule.id)
    return particular or (matches[0] if matches else None)


def unrecognized_meaning(text: str) -> Meaning | None:
    """Of a paste in which no rule of a provider is recognized, and that any program may have answered: its start and its end are looked at, since the
    error of a log is in one of them."""
    own = tuple(meaning for program in programs() for meaning in program.errors.meanings)
    return meaning(text[:READ], own) or (meaning(text[-READ:], own) if len(text) > READ else None)
