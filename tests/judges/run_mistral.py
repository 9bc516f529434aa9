"""Which histories mistral-common's validator takes: `python run_mistral.py v11 < requests.json`, in the virtualenv that has it."""

import json
import sys

import mistral_common
import pydantic
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import ValidationMode, get_validator
from mistral_common.tokens.tokenizers.base import TokenizerVersion


def flat(message):
    """The API has thinking as a list of texts, the library as one text; nothing else is touched."""
    if not isinstance(message.get("content"), list):
        return message
    return {**message, "content": [thinking(chunk) if chunk.get("type") == "thinking" else chunk for chunk in message["content"]]}


def thinking(chunk):
    text = chunk["thinking"]
    return {"type": "thinking", "thinking": text if isinstance(text, str) else "".join(part["text"] for part in text)}


def verdict(validator, messages):
    try:
        request = ChatCompletionRequest.from_openai(messages=[flat(message) for message in messages], model="judged")
        validator.validate_request(request)
    except pydantic.ValidationError as refused:
        # Its own text holds the version of pydantic.
        return {"ok": False, "error": refused.errors()[0]["msg"]}
    except Exception as refused:
        return {"ok": False, "error": str(refused)}
    return {"ok": True, "error": None}


tokenizer = sys.argv[1]
judge = get_validator(TokenizerVersion(tokenizer), ValidationMode.serving)
verdicts = {name: verdict(judge, request["messages"]) for name, request in json.load(sys.stdin).items()}
json.dump({"version": f"mistral-common {mistral_common.__version__}, {tokenizer}, serving", "verdicts": verdicts}, sys.stdout)
