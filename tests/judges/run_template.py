"""Which histories a chat template renders: `python run_template.py FILE.jinja < requests.json`, in a virtualenv with jinja2."""

import datetime
import json
import pathlib
import sys

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Refused(Exception):
    """The template called raise_exception."""


def refuse(text):
    raise Refused(text)


def as_handed(message):
    """As servers hand it to a template: an empty text where the request has null, and reasoning as a chunk before the text (llama.cpp)."""
    content, reasoning = message.get("content"), message.get("reasoning_content")
    if content is None:
        content = ""
    if isinstance(reasoning, str) and message.get("role") in ("system", "assistant"):
        texts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        content = [{"type": "thinking", "thinking": reasoning}, *texts]
    return {name: value for name, value in message.items() if name != "reasoning_content"} | {"content": content}


def verdict(template, messages):
    handed = [as_handed(message) for message in messages]
    try:
        template.render(messages=handed, bos_token="<s>", eos_token="</s>", add_generation_prompt=True)
    except Refused as refused:
        return {"ok": False, "error": str(refused)}
    return {"ok": True, "error": None}


path = pathlib.Path(sys.argv[1])
# As the library transformers sets it up.
environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
environment.globals.update(raise_exception=refuse, strftime_now=lambda form: datetime.datetime(2026, 7, 1).strftime(form))
judge = environment.from_string(path.read_text("utf-8"))
verdicts = {name: verdict(judge, request["messages"]) for name, request in json.load(sys.stdin).items()}
json.dump({"version": f"{path.name}, jinja2 {jinja2.__version__}", "verdicts": verdicts}, sys.stdout)
