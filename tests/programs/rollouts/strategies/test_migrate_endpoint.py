"""What `migrate-endpoint` changes in the bytes of a session that does not load."""

import json

import pytest

from inspector.rules.base import findings
from inspector.rules.catalogue import RULES
from inspector.strategies.catalogue import strategy
from tests.programs.rollouts.strategies.repaired_sessions import (
    AS_CHILD,
    ENDPOINT,
    ERA_B,
    IN_PLACE,
    PARENT,
    TURN,
    codes,
    loads,
    opened,
    repaired,
    session,
)


@pytest.mark.parametrize("mode", [IN_PLACE, AS_CHILD])
def test_an_endpoint_of_era_b_is_written_as_today(mode: str) -> None:
    old = [b'{"role": "user", "content": "caf\\u00e9", "timestamp": "2025-12-06T10:00:00.000000"}\n']
    files = session(PARENT, old, endpoint=ERA_B)
    preview, written = repaired(files, "migrate-endpoint", mode=mode)
    assert codes(preview.before) == ["STORE407"] and codes(preview.after) == []
    endpoint = json.loads(written["session.json"])["endpoint"]
    assert (endpoint["thinking"], endpoint["extra_params"]) == ({"type": "enabled", "budget_tokens": 4096}, {"top_k": 1})
    assert (endpoint["temperature"], endpoint["max_tokens"], endpoint["max_retries"]) == (0.5, 100, 10)
    assert written["messages.jsonl"] == old[0]


def test_unknown_keys_and_an_unknown_status_go_together() -> None:
    files = session(PARENT, TURN, endpoint=ENDPOINT | {"region": "eu"}, status="waiting", note="kept")
    preview, written = repaired(files, "migrate-endpoint")
    found = json.loads(written["session.json"])
    assert loads(written) and "STORE401" not in codes(preview.after)
    assert "region" not in found["endpoint"] and found["status"] == "pending" and found["note"] == "kept"
    assert [change.key.rpartition("/")[2] for change in preview.changes] == ["session.json"]


def test_a_session_without_an_environment_is_left_alone() -> None:
    files = session(PARENT, TURN)
    key = f"sessions/{PARENT}/session.json"
    meta = json.loads(files[key])
    del meta["environment"]
    case, _ = opened(files | {key: json.dumps(meta).encode()})
    assert [finding.code for finding in findings(case, RULES)] == ["STORE401"]
    assert list(strategy("migrate-endpoint").propose(case)) == []
