"""The AI SDK's own answer to the lists of messages that its profiles are held to, as ai_sdk_verdicts.json keeps it."""

from inspector.profiles.base import Request
from inspector.profiles.catalogue import profile
from tests.folding import in_one_test
from tests.judges.inquiries import BODIES as INQUIRY
from tests.judges.running import OLDEST
from tests.profiles.ai_sdk_bodies import BODIES

TOLD = INQUIRY.told
NAMES = ("ai-sdk-6", "ai-sdk-7")
LATER = "Tool result is missing for tool call a."


def test_every_list_was_judged() -> None:
    assert list(TOLD["histories"]) == list(BODIES)
    assert TOLD["versions"] == {"ai-sdk-6": "ai 6.0.326", "ai-sdk-7": "ai 7.0.173", "ai-sdk-6.0.168": "ai 6.0.168"}


@in_one_test("judge", NAMES)
@in_one_test("name", BODIES)
def test_our_verdict_and_its_text_are_those_of_the_sdk(name: str, judge: str) -> None:
    error = TOLD["histories"][name][judge]["error"]
    texts = [found.text for found in profile(judge).check(Request(BODIES[name].messages))]
    assert bool(texts) == (error is not None), error or texts
    assert error is None or any(error.endswith(text) for text in texts), error


def test_only_an_approval_without_a_result_was_an_answer_once() -> None:
    """Since a version after 6.0.168 it is none, though the SDK's page on this error still says so."""
    differ = {name for name, told in TOLD["histories"].items() if told[OLDEST.name] != told["ai-sdk-6"]}
    assert differ == {"an approval that is no answer"}
    (name,) = differ
    assert [TOLD["histories"][name][judge]["error"] for judge in (OLDEST.name, *NAMES)] == [None, LATER, LATER]
