"""Messages go to public addresses, and to listed networks: what name resolution, redirects and slow receivers try is refused or cut."""

import ipaddress
import json
import socket
import time

import pytest

from inspector.notifying.addresses import Network, may_connect
from inspector.notifying.events import EVENTS, Notice, problem_item, repair_item
from inspector.notifying.messages import github_body, json_body, slack_body, subject, text
from inspector.notifying.posting import NotSent, parsed, post
from tests.folding import in_one_test
from tests.notifying.receiving import speaking, web_server

LOCAL: list[Network] = [ipaddress.ip_network("127.0.0.1/32")]


@in_one_test(
    "address",
    [
        *(
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.100.100.200",
            "168.63.129.16",
        ),
        *("224.0.0.1", "255.255.255.255", "240.0.0.1", "192.0.0.192", "198.18.0.1", "192.88.99.1"),
        *("::1", "::", "fe80::1", "fe80::1%1", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "2001:db8::1"),
        *("::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1"),
        *("2002:7f00:1::", "2002:a00:1::1", "2001:0:7f00:1::"),
    ],
)
def test_private_local_and_disguised_addresses_are_refused(address: str) -> None:
    assert not may_connect(ipaddress.ip_address(address), (), is_encrypted=True)


@in_one_test("address", ["8.8.8.8", "140.82.121.6", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_public_addresses_are_sent_to_by_https_alone(address: str) -> None:
    own = ipaddress.ip_address(address)
    assert may_connect(own, (), is_encrypted=True) and not may_connect(own, (), is_encrypted=False)


@in_one_test(
    "address, listed, may",
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.2", "127.0.0.1", False),
        ("::ffff:127.0.0.1", "127.0.0.1", True),
        ("10.1.255.1", "10.1.0.0/16", True),
        ("10.2.0.1", "10.1.0.0/16", False),
        ("fd00::5", "fd00::/8", True),
        ("::1", "127.0.0.1", False),
    ],
)
def test_listed_networks_are_sent_to_also_without_encryption(address: str, listed: str, may: bool) -> None:
    assert may_connect(ipaddress.ip_address(address), [ipaddress.ip_network(listed)], is_encrypted=False) is may


@in_one_test(
    "address",
    [
        *("", "ftp://a.example/", "file:///etc/passwd", "https://", "https:///x", "//a.example/", "a.example/x", "https://u:p@a.example/"),
        *(
            "https://a.example/x\r\nHost: b",
            "https://a.example/ x",
            "https://a.example:0/",
            "https://a.example:99999/",
            "https://a.example/#x",
        ),
        *("https://a b/", "https://[::1/", "https://a.example\\@127.0.0.1/", "https://ä.example/", "https://a.example/" + "x" * 3000),
    ],
)
def test_what_is_no_address_is_refused_before_anything_is_looked_up(address: str) -> None:
    with pytest.raises(NotSent, match="write it whole") as refusal:
        parsed(address)
    assert "127.0.0.1" not in refusal.value.sentence


@in_one_test("host", ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "localhost", "[::ffff:7f00:1]", "[::1]"])
def test_another_form_of_a_local_address_is_resolved_and_refused(host: str) -> None:
    """By the resolver of the system."""
    with web_server() as receiver, pytest.raises(NotSent, match=r"INSPECTOR_NOTIFY_PRIVATE|has no address that"):
        post(parsed(f"https://{host}:{receiver.port}/"), b"{}", {}, ())
    assert not receiver.requests


def test_a_name_that_changes_its_address_after_the_check_gains_nothing() -> None:
    """Rebinding: the name is looked up once, and the connection goes to what was checked."""
    asked: list[str] = []

    def rebinding(host: str, port: int) -> list[tuple[str, int]]:
        asked.append(host)
        return [("127.0.0.1" if len(asked) == 1 else "169.254.169.254", receiver.port)]

    with web_server() as receiver:
        assert post(parsed("http://hooks.example.org/a?b=1"), b"{}", {"X-A": "1"}, LOCAL, rebinding).status == 200
        assert asked == ["hooks.example.org"]
        assert receiver.requests[0].path == "/a?b=1" and receiver.requests[0].headers["Host"] == "hooks.example.org"

        asked[:] = ["before"]
        with pytest.raises(NotSent) as refusal:
            post(parsed("http://hooks.example.org/"), b"{}", {}, LOCAL, rebinding)
        assert refusal.value.is_final and len(receiver.requests) == 1


def test_a_name_with_a_public_and_a_private_address_is_refused_as_a_whole() -> None:
    with pytest.raises(NotSent, match="nothing was sent"):
        post(parsed("https://two.example.org/"), b"{}", {}, (), lambda *_: [("8.8.8.8", 443), ("10.0.0.1", 443)])


def test_a_redirect_is_an_answer_and_leads_nowhere() -> None:
    with web_server() as inner, web_server() as receiver:
        receiver.status, receiver.headers = 307, {"Location": inner.url}
        assert post(parsed(receiver.url), b"{}", {}, LOCAL).status == 307
    assert len(receiver.requests) == 1 and not inner.requests


def _drip(connection: socket.socket) -> None:
    connection.recv(1000)
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"X-A: 1\r\n")
        time.sleep(0.05)


def _drip_handshake(connection: socket.socket) -> None:
    connection.sendall(b"\x16\x03\x03\x40\x00")
    while True:
        connection.sendall(b"\x02")
        time.sleep(0.05)


def _flood(connection: socket.socket) -> None:
    connection.recv(1000)
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(b"x" * 65_536)


@pytest.mark.slow
def test_time_and_bytes_are_limited() -> None:
    begun = time.monotonic()
    with speaking(_drip) as port, pytest.raises(NotSent, match="within 1 seconds"):
        # Each header comes in time, and a cut connection looks like their end.
        post(parsed(f"http://127.0.0.1:{port}/"), b"{}", {}, LOCAL, seconds=1)
    with speaking(lambda connection: time.sleep(5)) as port, pytest.raises(NotSent, match=r"within 0\.5 seconds"):
        post(parsed(f"http://127.0.0.1:{port}/"), b"{}", {}, LOCAL, seconds=0.5)
    with speaking(_drip_handshake) as port, pytest.raises(NotSent, match=r"encrypted|lost"):
        post(parsed(f"https://127.0.0.1:{port}/"), b"{}", {}, LOCAL, seconds=0.5)
    with pytest.raises(NotSent, match="looked up in time"):
        post(parsed("http://slow.example.org/"), b"{}", {}, LOCAL, lambda *_: time.sleep(5) or [], seconds=0.3)
    assert time.monotonic() - begun < 4
    with speaking(_flood) as port:
        assert len(post(parsed(f"http://127.0.0.1:{port}/"), b"{}", {}, LOCAL).text) == 32_768


@in_one_test(
    "said, sentence",
    [(b"hello\r\n\r\n", "as a web server does"), (b"", "as a web server does"), (b"HTTP/1.1 xx OK\r\n\r\n", "as a web server does")],
)
def test_what_is_no_web_server_is_said_in_words_of_ours(said: bytes, sentence: str) -> None:
    def talk(connection: socket.socket) -> None:
        connection.recv(1000)
        connection.sendall(said)

    with speaking(talk) as port, pytest.raises(NotSent, match=sentence):
        post(parsed(f"http://127.0.0.1:{port}/secret-path"), b"{}", {}, LOCAL)


def test_a_receiver_without_a_certificate_gets_nothing() -> None:
    got: list[bytes] = []

    def talk(connection: socket.socket) -> None:
        got.append(connection.recv(1000))
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")

    with speaking(talk) as port, pytest.raises(NotSent, match="encrypted"):
        post(parsed(f"https://127.0.0.1:{port}/secret-path"), b"the message", {}, LOCAL)
    assert b"message" not in got[0] and b"secret-path" not in got[0]


# Texts


HOSTILE = "<!channel> @here @channel <https://evil.example|click> [x](https://evil.example) https://evil.example *b* `c`\r\nBcc: x@evil.example <@U1>"


def notice(*items: object, event: str = "new-problem", total: int = 0) -> Notice:
    source = {"id": "0" * 12, "name": "dispatch.db"}
    return Notice("k", event, "2026-11-23T12:00:00+00:00", source, items, total or len(items), "https://inspector.example.org/problems/1/")  # type: ignore[arg-type]


def test_hostile_text_calls_nobody_and_links_nowhere() -> None:
    own = notice(
        problem_item("1", "MSG101", HOSTILE, "error", True, "c", HOSTILE), repair_item("2", "c", HOSTILE, HOSTILE, HOSTILE, HOSTILE)
    )
    slack = json.loads(slack_body(own))
    marked = [block for block in slack["blocks"] if block["type"] == "context"]
    assert marked == [
        {
            "type": "context",
            "elements": [{"type": "mrkdwn", "verbatim": True, "text": "<https://inspector.example.org/problems/1/|Open in Inspector>"}],
        }
    ]
    assert all(block["text"]["type"] == "plain_text" for block in slack["blocks"] if block not in marked)
    assert slack["mrkdwn"] is False and slack["parse"] == "none" and not {"<", ">"} & set(slack["text"])
    for shown in (slack_body(own).decode(), text(own), github_body(own).decode()):
        assert "@channel" not in shown and "@here" not in shown and "://evil" not in shown, shown
    comment = json.loads(github_body(own))["body"]
    assert "](http" not in comment and "<!channel" not in comment and "<https://evil" not in comment
    one = subject(notice(problem_item("1", "MSG101", HOSTILE, "error", True, "c", HOSTILE)))
    assert "\n" not in one and "\r" not in one and len(one) <= 150


def test_a_secret_is_masked_and_a_long_text_is_short() -> None:
    secret = "ghp_" + "a1B2" * 9
    own = notice(problem_item("1", "MSG101", "rule", "error", False, "c", f"deploy with {secret} " + "x" * 500))
    bodies = json_body(own) + slack_body(own) + github_body(own) + text(own).encode()
    assert secret.encode() not in bodies and b"[masked" in bodies and len(json_body(own)) < 1000


def test_a_digest_says_how_many_and_lists_some() -> None:
    many = [problem_item(f"{number}", f"MSG{number}", "rule", "warning", False, "c", "t") for number in range(15)]
    own = notice(*many, total=50)
    assert own.sentence == "50 new problems in dispatch.db." and len(own.lines) == 11 and own.lines[-1] == "and 40 more"
    assert {event.name for event in EVENTS.values()} == set(EVENTS)
