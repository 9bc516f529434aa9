"""A request tried on a provider: shown unless asked for, sent once, its key never printed, its refusal explained. The provider is a local server."""

import io
import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from inspector.sources import sending
from tests.commands.running import Ran, run
from tests.programs.rollouts import session_files as files

pytestmark = pytest.mark.only_settles

KEY = "sk-ant-test-0123456789"
VARIABLE = "A_TEST_KEY"
OPEN_CALL = {
    "model": "claude-opus-4",
    "max_tokens": 4000,
    "stream": True,
    "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {}}]},
        {"role": "user", "content": "and?"},
    ],
}
ANSWERED = {**OPEN_CALL, "messages": [{"role": "user", "content": "go"}]}
AN_1 = (
    "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. "
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)


def refusal(message: str) -> bytes:
    return json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": message}}).encode()


@dataclass
class Provider:
    """Answers every request alike and keeps what it got."""

    url: str = ""
    status: int = 200
    answer: bytes = b'{"content": []}'
    headers: dict[str, str] = field(default_factory=dict)
    wait_s: float = 0.0
    got: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    held = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            held.got.append((self.path, {name.lower(): value for name, value in self.headers.items()}, json.loads(body)))
            time.sleep(held.wait_s)
            self.send_response(held.status)
            for name, value in held.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(held.answer)))
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(held.answer)

        def log_message(self, *_: object) -> None:
            pass

    monkeypatch.setenv(VARIABLE, KEY)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        held.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield held
        server.shutdown()
        thread.join()


@pytest.fixture
def body(tmp_path: Path) -> Path:
    return written(tmp_path, OPEN_CALL)


def written(folder: Path, value: Any) -> Path:
    path = folder / "request.json"
    path.write_text(json.dumps(value))
    return path


def sent(provider: Provider, path: Path, *more: object) -> Ran:
    ran = run("try_request", path, "--base-url", provider.url, "--key-env", VARIABLE, "--send", "--yes", *more)
    assert KEY not in ran.out + ran.err
    return ran


def test_without_send_the_request_is_shown_and_nothing_is_sent(provider: Provider, body: Path) -> None:
    ran = run("try_request", body, "--base-url", provider.url, "--key-env", VARIABLE)
    assert ran.status == 0 and provider.got == []
    assert f"POST {provider.url}/v1/messages" in ran.out and "x-api-key: [your key]" in ran.out
    assert '"tool_use"' in ran.out and "Nothing was sent" in ran.out and KEY not in ran.out


def test_the_address_shown_is_the_providers_own(body: Path) -> None:
    assert "POST https://api.anthropic.com/v1/messages" in run("try_request", body).out


def test_what_is_filled_in_is_said_and_the_answer_kept_short(provider: Provider, body: Path) -> None:
    made = run("try_request", body, "--json").json
    assert not made["sent"] and made["body"]["max_tokens"] == 1 and "stream" not in made["body"]
    assert made["body"]["tools"] == [{"name": "ls", "input_schema": {"type": "object", "properties": {}}}]
    assert [each.split()[0] for each in made["filled_in"]] == ["stream", "max_tokens", "tools"]
    assert made["body"]["messages"] == OPEN_CALL["messages"] and made["body"]["model"] == "claude-opus-4"


def test_a_name_that_no_provider_takes_is_not_declared_as_a_tool(tmp_path: Path) -> None:
    messages = json.loads(json.dumps(OPEN_CALL["messages"]).replace('"ls"', '"l s"'))
    assert "tools" not in run("try_request", written(tmp_path, {"model": "claude-x", "messages": messages}), "--json").json["body"]


def test_a_body_that_thinks_keeps_thinking_on_and_has_room_for_it(tmp_path: Path) -> None:
    body = {**ANSWERED, "thinking": {"type": "enabled", "budget_tokens": 16000}}
    made = run("try_request", written(tmp_path, body), "--json").json["body"]
    assert made["thinking"] == {"type": "enabled", "budget_tokens": 1024} and made["max_tokens"] == 1025


def test_an_accepted_request_says_so(provider: Provider, body: Path) -> None:
    ran = sent(provider, body, "--strategy", "insert-interrupted-result")
    assert ran.status == 0 and "The provider accepted this request." in ran.out
    ((path, headers, got),) = provider.got
    assert path == "/v1/messages" and headers["x-api-key"] == KEY and headers["anthropic-version"] == "2023-06-01"
    assert got["messages"][2]["content"][0]["type"] == "tool_result", "what was sent is the repaired request"


def test_the_file_that_was_tried_is_not_written(provider: Provider, body: Path) -> None:
    before = body.read_bytes()
    sent(provider, body, "--for", "anthropic-2026-07")
    assert body.read_bytes() == before and len(provider.got) == 1


def test_a_request_that_telemetry_masked_is_not_sent_before_the_masks_are_out(provider: Provider, tmp_path: Path) -> None:
    masked = {"type": "thinking", "thinking": "<REDACTED>", "signature": "EqQBCkgI"}
    turns = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [masked, {"type": "text", "text": "hm"}]},
        {"role": "user", "content": "on"},
    ]
    path = written(tmp_path, {"model": "claude-opus-4-5", "max_tokens": 9, "messages": turns})
    ran = sent(provider, path)
    assert ran.status == 2 and "--strategy strip-thinking" in ran.err and ran.err.count("\n") == 1 and provider.got == []
    sent(provider, path, "--strategy", "strip-thinking")
    assert len(provider.got) == 1 and "REDACTED" not in json.dumps(provider.got)


def test_a_refusal_is_explained_with_its_place_in_the_history(provider: Provider, body: Path) -> None:
    provider.status, provider.answer = 400, refusal(AN_1)
    ran = sent(provider, body)
    assert ran.status == 1 and AN_1.split("`")[0] in ran.out
    assert "AN-1: " in ran.out and "messages.1.content.0: seq 2: the error names the id toolu_1" in ran.out
    assert "insert-interrupted-result" in ran.out


def test_what_is_recommended_after_a_refusal_is_what_repair_does(provider: Provider, tmp_path: Path) -> None:
    late = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "a b"}]
    more = [{"role": "assistant", "content": "wait"}, {"role": "user", "content": late}]
    body = written(tmp_path, {**OPEN_CALL, "messages": [*OPEN_CALL["messages"], *more]})  # type: ignore[misc]
    provider.status, provider.answer = 400, refusal(AN_1)
    (plan,) = [line for line in run("repair", body, "--for", "anthropic-2026-07", "--plan").out.split("\n") if " on " in line][:1]
    assert plan.startswith("move-results on ")
    ran = sent(provider, body)
    assert "repaired by: move-results (safe), recommended" in ran.out
    assert {tuple(each["repaired_by"]) for each in sent(provider, body, "--json").json["recognised"]} == {("move-results",)}


def test_a_refusal_as_json_holds_the_same(provider: Provider, body: Path) -> None:
    provider.status, provider.answer = 400, refusal(AN_1)
    report = sent(provider, body, "--json").json
    assert (report["sent"], report["status"], report["verdict"]) == (True, 400, "refused")
    assert [2] in [place["seqs"] for place in report["recognised"][0]["places"]]


def test_a_refusal_in_words_that_nobody_knows_is_printed_as_it_is(provider: Provider, body: Path) -> None:
    provider.status, provider.answer = 400, b"<html>\x1b[2J no \xff</html>"
    ran = sent(provider, body)
    assert ran.status == 1 and "a text that no known rule has" in ran.out and "\x1b" not in ran.out


def test_a_key_that_the_provider_or_the_history_repeats_is_masked(provider: Provider, tmp_path: Path) -> None:
    provider.status, provider.answer = 401, refusal(f"invalid x-api-key {KEY}")
    body = written(tmp_path, {**ANSWERED, "messages": [{"role": "user", "content": f"my key is {KEY}"}]})
    for more in ((), ("--json",)):
        ran = sent(provider, body, *more)
        assert ran.status == 2 and "invalid x-api-key [your key]" in ran.out and "my key is [your key]" in ran.out
        assert "says nothing about the history" in ran.err


@pytest.mark.parametrize(
    ("status", "advice"), [(429, "at its limit"), (404, "--model"), (529, "later"), (302, "redirects are not followed")]
)
def test_an_answer_that_is_not_about_the_request_is_no_verdict(provider: Provider, body: Path, status: int, advice: str) -> None:
    provider.status, provider.headers = status, {"Location": f"{provider.url}/elsewhere"}
    ran = sent(provider, body)
    assert ran.status == 2 and advice in ran.err and len(provider.got) == 1


def test_a_long_answer_is_cut(provider: Provider, body: Path) -> None:
    provider.answer = b"x" * (sending.ANSWER_LIMIT + 100_000)
    ran = sent(provider, body)
    assert "cut here at its limit" in ran.out and len(ran.out) < sending.ANSWER_LIMIT + 20_000


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("typed", "is_sent"), [("", False), ("y\n", False), ("HOST\n", True)])
def test_only_the_typed_name_of_the_host_sends(
    provider: Provider, body: Path, monkeypatch: pytest.MonkeyPatch, typed: str, is_sent: bool
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed.replace("HOST", provider.url.removeprefix("http://"))))
    ran = run("try_request", body, "--base-url", provider.url, "--key-env", VARIABLE, "--send")
    assert bool(provider.got) is is_sent and ("Nothing was sent" in ran.err) is not is_sent
    assert ran.status == (0 if is_sent else 2)


def test_without_a_terminal_nothing_is_sent_unasked(provider: Provider, body: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(provider.url.removeprefix("http://")))
    ran = run("try_request", body, "--base-url", provider.url, "--key-env", VARIABLE, "--send")
    assert ran.status == 2 and "--yes" in ran.err and provider.got == []


@pytest.mark.parametrize("value", ["", "tiny-ky", "two words of a key", "schlüssel-schlüssel", "line-one\r\nX-Other: line-two"])
def test_what_is_no_key_is_not_sent_and_not_repeated(provider: Provider, body: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(VARIABLE, value)
    ran = run("try_request", body, "--base-url", provider.url, "--key-env", VARIABLE, "--send", "--yes")
    assert ran.status == 2 and provider.got == [] and (not value or value not in ran.err)


@pytest.mark.parametrize("typed", [KEY, "AIzaSyNoHyphen0123456789"])
def test_a_key_typed_instead_of_the_name_is_not_repeated(provider: Provider, body: Path, typed: str) -> None:
    ran = run("try_request", body, "--key-env", typed, "--send", "--yes", "--base-url", provider.url)
    assert ran.status == 2 and typed not in ran.out + ran.err and provider.got == []


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "http://localhost:1",
        "http://127.0.0.1.example.com",
        "ftp://127.0.0.1",
        "https://user:word@example.com",
        "https://example.com/?q=1",
        "https://exa mple.com",
        "https://example.com:port",
        "https://[::1",
        "nothing",
    ],
)
def test_a_base_url_that_is_not_encrypted_or_not_plain_is_refused(body: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, KEY)
    ran = run("try_request", body, "--base-url", url, "--key-env", VARIABLE, "--send", "--yes")
    assert ran.status == 2 and "URL" in ran.err and ran.err.count("\n") == 1 and ran.out == ""


def test_a_server_that_refuses_the_connection_is_one_sentence(provider: Provider, body: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as closed:
        port = closed.server_address[1]
    ran = sent(provider, body, "--base-url", f"http://127.0.0.1:{port}")
    assert ran.status == 2 and "could not be asked (connection refused)" in ran.err and ran.err.count("\n") == 1


def test_a_server_that_does_not_answer_in_time_is_one_sentence(provider: Provider) -> None:
    provider.wait_s = 0.3
    with pytest.raises(sending.NotSent, match="did not answer within"):
        sending.post(sending.address(provider.url), "/v1/messages", {}, b"{}", timeout=0.05)


@pytest.mark.parametrize(
    ("name", "path", "header", "limit"),
    [
        ("openai", "/v1/chat/completions", "authorization", "max_completion_tokens"),
        ("openai-responses", "/v1/responses", "authorization", "max_output_tokens"),
        ("gemini", "/v1beta/models/gemini-2.5-flash:generateContent", "x-goog-api-key", "generationConfig"),
        ("mistral", "/v1/chat/completions", "authorization", "max_tokens"),
    ],
)
def test_any_history_is_tried_in_the_shape_of_the_provider_that_is_named(
    provider: Provider, body: Path, name: str, path: str, header: str, limit: str
) -> None:
    ran = sent(provider, body, "--provider", name)
    ((got_path, headers, got),) = provider.got
    assert ran.status == 0 and got_path == path and headers[header].endswith(KEY) and limit in got and got["tools"]
    assert "filled in: model is" in ran.out


def test_a_rollouts_session_is_tried_as_anthropic_gets_it(provider: Provider, tmp_path: Path) -> None:
    lines = files.lines(files.u(), files.a(files.thinking("Hm."), files.call("c1")), files.r("c1"))
    place = f"sessions/{files.ID}"
    store = files.write(tmp_path, {f"{place}/session.json": files.session().encode(), f"{place}/messages.jsonl": lines})
    ran = sent(provider, store)
    ((_, _, got),) = provider.got
    assert ran.status == 0 and [block["type"] for block in got["messages"][1]["content"]] == ["thinking", "tool_use"]
    assert got["thinking"] == {"type": "enabled", "budget_tokens": 1024} and got["tools"][0]["name"] == "bash"


def test_a_shape_that_is_not_sent_from_here_is_one_sentence(tmp_path: Path) -> None:
    body = {"modelId": "anthropic.claude", "messages": [{"role": "user", "content": [{"text": "a"}]}]}
    ran = run("try_request", written(tmp_path, body), "--format", "bedrock-request")
    assert ran.status == 2 and "--provider (anthropic, openai" in ran.err
