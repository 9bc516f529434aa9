"""Shows the request that a history, or its repair, makes, and with --send asks the provider whether it takes it."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from django.core.management.base import CommandError, CommandParser

from inspector.actions.planning import preview_of, request_for
from inspector.conversation.masks import masked_thinking
from inspector.conversation.queries import span_text
from inspector.management.answering import AnsweringCommand
from inspector.management.body_output import repaired
from inspector.management.target import Chosen, Target, add_target_arguments, load
from inspector.models import Source
from inspector.planning.recommend import sequence
from inspector.presentation.explain.advice import (
    Advice,
    advised,
    is_advice_only,
    observed,
    profile_of,
    remedies,
    repaired_by,
    repaired_by_words,
)
from inspector.presentation.explain.answer import Explanation, explained_in, explanation_report, recognized
from inspector.presentation.explain.answer import sentence as explained_in_a_line
from inspector.presentation.prompt.provider_request import (
    PROVIDERS,
    Provider,
    ProviderRequest,
    error_text,
    provider_named,
    provider_of,
    provider_request,
    without_key,
)
from inspector.profiles.catalogue import PROFILES, profile
from inspector.programs.formats import InShape
from inspector.programs.registry import wire_of
from inspector.projections.catalogue import for_wire
from inspector.rules.base import Case, findings
from inspector.rules.catalogue import RULES
from inspector.sources import sending
from inspector.sources.problems import shown
from inspector.strategies.catalogue import strategy
from inspector.wires.layout import laid_out, parsed

REFUSALS = (400, 413, 422)
"""Answers about the request itself; others (a key, a limit, a fault of the server) say nothing about the history."""
SHOWN = 5


class Command(AnsweringCommand):
    """`try_request TARGET [--strategy NAME... | --for PROFILE] [--provider NAME] --key-env VARIABLE --send`; status 1: the provider refuses it."""

    help = (
        "Shows the whole request that a history makes, repaired where strategies are named, and sends nothing. With --send it is sent once, with your own key: "
        "exit status 0 accepted or shown, 1 rejected by the provider, 2 no verdict."
    )

    def declare(self, parser: CommandParser) -> None:
        add_target_arguments(parser)
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--strategy", metavar="NAME", nargs="+", action="extend", help="repair with these first, in this order")
        what.add_argument("--for", dest="goal", metavar="PROFILE", help="repair as recommended first, judged by this provider's rules")
        names = [provider.name for provider in PROVIDERS]
        parser.add_argument(
            "--provider", metavar="NAME", choices=names, help=f"whom to ask ({', '.join(names)}); else as the target has it"
        )
        parser.add_argument("--model", metavar="NAME", help="the model to ask, instead of the one that the history names")
        parser.add_argument("--base-url", metavar="URL", help="ask here instead of at the provider's own address: https only")
        parser.add_argument("--key-env", metavar="VARIABLE", help="the environment variable that holds your key; it is kept nowhere")
        parser.add_argument("--send", action="store_true", help="send the request, once, after you typed the name of the host")
        parser.add_argument("--yes", action="store_true", help="with --send: do not ask")

    def answer(self, options: dict[str, Any]) -> None:
        key = _key(options)
        target = load(options)
        chosen = target.one()
        provider = _provider(chosen, options)
        try:
            where = sending.address(options["base_url"] or provider.base_url)
        except sending.NotSent as problem:
            raise CommandError(str(problem)) from None
        case, data = _repaired(target, chosen, options)
        request = _trial(provider, chosen, case, data, options["model"] or "")
        url = where.url(request.path)
        masked = f"{provider.key_before}[your key]"
        headers = {**provider.headers, "Content-Type": "application/json", provider.key_header: masked}
        report: dict[str, Any] = {"url": url, "headers": headers, "body": request.body, "filled_in": list(request.filled_in), "sent": False}
        if not options["json"]:
            self._show(url, headers, request, key)
        if not options["send"]:
            if options["json"]:
                self._say_json_without(report, key)
            else:
                self.say("Nothing was sent. --send --key-env VARIABLE sends it, with the key that this variable holds.")
            return
        if wire_of(chosen.format.name) and masked_thinking(case.conversation.chunks):
            raise CommandError(
                "Telemetry masked the thinking of this request, so that it is not what was sent, and no answer to it would say anything: "
                "take the body from where it was sent, or leave the thinking out with --strategy strip-thinking."
            )
        _confirm(self, where.shown, len(request.data), options)
        self._send(provider, where, request, key, case, chosen, report, options)

    def _show(self, url: str, headers: Mapping[str, str], request: ProviderRequest, key: str) -> None:
        self.say(f"POST {url}")
        for name, value in headers.items():
            self.say(f"{name}: {value}")
        self.say()
        self.say(without_key(json.dumps(request.body, ensure_ascii=True, indent=2), key))
        self.say()
        for note in request.filled_in:
            self.say(f"filled in: {without_key(note, key)}")

    def _send(
        self,
        provider: Provider,
        where: sending.Address,
        request: ProviderRequest,
        key: str,
        case: Case,
        chosen: Chosen,
        report: dict[str, Any],
        options: dict[str, Any],
    ) -> None:
        headers = {**provider.headers, provider.key_header: f"{provider.key_before}{key}"}
        try:
            answer = sending.post(where, request.path, headers, request.data)
        except sending.NotSent as problem:
            raise CommandError(str(problem)) from None
        text = without_key(answer.text, key)
        is_refused = answer.status in REFUSALS
        explanations = _explained(text, case, chosen, provider) if is_refused else ()
        advice = _advised(explanations, text, case, chosen) if explanations and not is_advice_only(explanations[0]) else None
        verdict = "accepted" if answer.status == 200 else "refused" if is_refused else "no verdict"
        if options["json"]:
            listed = {explanation.candidate.rule.id: repaired_by(remedies(explanation, case, advice)) for explanation in explanations}
            rules_report = explanation_report(error_text(text), explanations, listed)
            self._say_json_without(
                report | {"sent": True, "status": answer.status, "answer": text, "verdict": verdict, **rules_report}, key
            )
        else:
            self.say(
                f"{where.shown} answered {answer.status} {without_key(answer.reason, key)}{', cut here at its limit' if answer.is_cut else ''}:"
            )
            self.say(text)
            self._conclude(verdict, explanations, case, advice)
        if is_refused:
            sys.exit(1)
        if verdict == "no verdict":
            raise CommandError(f"{where.shown} answered {answer.status}, which says nothing about the history: {_advice(answer.status)}.")

    def _conclude(self, verdict: str, explanations: tuple[Explanation, ...], case: Case, advice: Advice | None) -> None:
        if verdict == "accepted":
            self.say("The provider accepted this request.")
        if verdict == "refused" and not explanations:
            self.say("The provider refused this request, with a text that no known rule has.")
        for explanation in explanations[:SHOWN]:
            self.say(explained_in_a_line(explanation))
            for place in [place for place in explanation.places if place.chunks][:SHOWN]:
                self.say(f"  {place.path}: seq {span_text(place.seqs)}: {place.why}")
            if words := repaired_by_words(remedies(explanation, case, advice)):
                self.say(f"  repaired by: {words}")

    def _say_json_without(self, report: dict[str, Any], key: str) -> None:
        self.say_json(_masked(report, key))


def _masked(value: Any, key: str) -> Any:
    if isinstance(value, str):
        return without_key(value, key)
    if isinstance(value, list):
        return [_masked(item, key) for item in value]
    if isinstance(value, dict):
        return {without_key(name, key): _masked(item, key) for name, item in value.items()}
    return value


def _key(options: Mapping[str, Any]) -> str:
    """ "" where none is named and nothing is sent. Raises CommandError."""
    variable = options["key_env"] or ""
    if options["send"] and options["json"] and not options["yes"]:
        raise CommandError("With --json the request is not shown before it is sent: look at it without --send, and add --yes then.")
    if options["send"] and not variable:
        raise CommandError("Name the environment variable that holds your key with --key-env VARIABLE.")
    # A key that was typed instead of the name would be repeated by every sentence about it.
    if variable and not (variable.replace("_", "a").isalnum() and variable.isascii() and len(variable) <= 64):
        raise CommandError("--key-env takes the name of an environment variable, ANTHROPIC_API_KEY say, and never the key itself.")
    key = os.environ.get(variable, "").strip() if variable else ""
    if options["send"]:
        try:
            sending.refuse_bad_key(key, shown(variable))
        except sending.NotSent as problem:
            raise CommandError(str(problem)) from None
    return key if len(key) >= sending.LEAST_KEY else ""


def _provider(chosen: Chosen, options: Mapping[str, Any]) -> Provider:
    """Named, or of the profile that is aimed at, or of the target's own shape. Raises CommandError, UnknownProfile."""
    goal = profile(options["goal"]) if options["goal"] else None
    provider = provider_named(options["provider"]) if options["provider"] else None
    provider = provider or provider_of(goal.wire if goal else wire_of(chosen.format.name) or profile(chosen.profile).wire)
    if provider is None:
        names = ", ".join(known_provider.name for known_provider in PROVIDERS)
        raise CommandError(f"Requests of this shape are not sent from here: name another provider with --provider ({names}).")
    return provider


def _repaired(target: Target, chosen: Chosen, options: Mapping[str, Any]) -> tuple[Case, bytes | None]:
    """The case after the strategies, and for a request body its bytes. Raises CommandError, Refused."""
    is_body = wire_of(chosen.format.name)
    names = options["strategy"] or []
    for name in names:
        strategy(name)
    case = chosen.case()
    if options["goal"]:
        recommendation = sequence(case, findings(case, RULES), options["goal"], chosen.projection)
        names = [recommended.name for recommended in recommendation.candidate.strategies]
        if recommendation.why_not:
            raise CommandError(recommendation.why_not)
    if not names:
        return case, chosen.stored.records[0].value.data if is_body else None
    source = Source(
        format=chosen.format.name, reader=chosen.reader, projection=chosen.projection, profile=options["goal"] or chosen.profile
    )
    request = request_for(source, chosen.stored, names, "in-place")
    preview = preview_of(case, chosen.stored, chosen.format, target.real_path, request)
    return preview.after.case, repaired(chosen, preview) if is_body else None


def _trial(provider: Provider, chosen: Chosen, case: Case, data: bytes | None, model: str) -> ProviderRequest:
    """A body of the provider's own shape goes as it is; another history is put into that shape. Raises CommandError."""
    usual = next((entry.projection for entry in PROFILES if entry.wire == provider.wire), "")
    prompt = for_wire(provider.wire, chosen.projection, usual).project(case.reading.messages)
    if not prompt.messages:
        raise CommandError("Nothing of this history would be sent, so there is nothing to try; `show` says what its reader drops.")
    body: Mapping[str, Any] | None = None
    if data is not None and isinstance(chosen.format, InShape) and wire_of(chosen.format.name) == provider.wire:
        whole = parsed(data).value
        body = whole if isinstance(whole, dict) else {prompt.root: laid_out(data, chosen.format.shape).values}
    return provider_request(provider, case.conversation, prompt, body, model)


def _explained(text: str, case: Case, chosen: Chosen, provider: Provider) -> tuple[Explanation, ...]:
    """By rules of the provider's own shape first: other providers have texts that are alike."""
    own = {explanation.name for explanation in PROFILES if explanation.wire == provider.wire}
    explanations = explained_in(recognized(error_text(text)), case, chosen.projection)
    return tuple(explanation for explanation in explanations if own & set(explanation.candidate.profiles)) or explanations


def _advised(explanations: Sequence[Explanation], text: str, case: Case, chosen: Chosen) -> Advice:
    """What `repair --for` recommends for the history that was sent, by the profile that answered so."""
    return advised(case, profile_of(explanations, chosen.profile), chosen.projection, observed(explanations, error_text(text), [case]))


def _confirm(command: AnsweringCommand, host: str, size: int, options: Mapping[str, Any]) -> None:
    """Raises CommandError where it is not confirmed."""
    if options["yes"]:
        return
    if not sys.stdin.isatty():
        raise CommandError("Nothing was sent: there is no terminal to confirm it on. Add --yes where that is what you want.")
    command.note(f"This sends the history above, {size:,} bytes, to {host} and costs what your provider asks. Type {host} to send it:")
    if sys.stdin.readline().strip() != host:
        raise CommandError("Nothing was sent: the name of the host was not typed.")


def _advice(status: int) -> str:
    if status in (401, 403):
        return "look at the key and what it may do"
    if status == 404:
        return "name another model with --model, or check the base URL"
    if status == 429:
        return "the account is at its limit; try again later"
    if 300 <= status < 400:
        return "it points elsewhere, and redirects are not followed; check the base URL"
    return "try again later"
