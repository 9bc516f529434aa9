"""What readers agree on is sent and judged once, and says the same as if each were looked at alone."""

from random import Random

import pytest

from inspector.presentation.whatif.differences import candidates, client, outcome, outcomes, read_by
from inspector.readers.catalogue import names
from inspector.rules.base import case_of
from tests.programs.dispatch.test_simulated_server import DAMAGES, Damage


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_outcomes_together_are_those_of_each_reader_alone(damage: Damage) -> None:
    server, _ = damage.make(Random(3))
    conversation = server.conversation()
    first = case_of(conversation, "dispatch-legacy")
    clients = list(dict.fromkeys([*names("dispatch"), *candidates("dispatch")]))
    cases = [(read_by(first, name), name) for name in clients]
    assert [case.reading.reader for case, _ in cases[: len(names("dispatch"))]] == names("dispatch")
    alone = [outcome(case_of(conversation, client(name).reader.name), name, "dispatch-openai", "openai-chat") for name in clients]
    assert outcomes(cases, "dispatch-openai", "openai-chat") == alone
