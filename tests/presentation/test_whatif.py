"""What another reader would change, on the conversation of the incident and on the histories where the proposed fixes differ."""

from random import Random

import pytest

from inspector.conversation.model import Conversation
from inspector.presentation.conversation.provenance import age, last_written, provenance
from inspector.presentation.conversation.verdict import verdict
from inspector.presentation.whatif.differences import Difference, candidates, client, compare_cases, compared_formats, outcome, summarize
from inspector.profiles.judging import judged
from inspector.programs.dispatch.format import chunk_key
from inspector.programs.formats import Cell, Record
from inspector.programs.pi_openclaw.pi import PI
from inspector.readers.catalogue import UnknownReader, names
from inspector.rules.base import case_of, findings
from inspector.rules.catalogue import RULES
from tests.programs.dispatch.appended_stores import A, T, U, appended, er, tc, th, tr
from tests.programs.dispatch.reported_incident import E1
from tests.programs.dispatch.test_simulated_server import DAMAGES, Damage
from tests.programs.gbrain.conformance_rows import conversation as job
from tests.programs.pi_openclaw.session_files import a, entry, header, lines, text, u

NOW = "dispatch-legacy"


def compare(conversation: Conversation, reader_a: str, reader_b: str, projection: str, profile: str) -> Difference:
    return compare_cases(case_of(conversation, client(reader_a).reader.name), reader_a, reader_b, projection, profile)


def beside(conversation: Conversation, then: str, now: str = NOW) -> Difference:
    return compare(conversation, now, then, "dispatch-openai", "openai-chat")


@pytest.fixture(scope="module")
def incident() -> Conversation:
    return E1.conversation()


def test_exact_repairs_the_incident(incident: Conversation) -> None:
    found = beside(incident, "exact")
    assert (found.messages_stored, found.messages_a, found.messages_b) == (9, 3, 8)
    assert found.first is not None and (found.first.number, found.first.a, found.first.b) == (1, "user, seq 1-11", "user, seq 1")
    assert found.becomes_sendable and not found.worse and not found.still_merged
    assert found.better == (
        "the next request is no longer rejected by a known rule, but goes wrong silently (without seq 14)",
        "seq 2, 4-5, 7-8 no longer read as part of the message before",
        "seq 2, 5, 8, 10-11 in the request again",
        "seq 2-3, 5-6, 8-11 sent under the stored role again",
    )
    assert [each.code for each in found.go] == ["MSG101", "TOOL202", "TOOL202"] and not found.come


def test_option_b_alone_leaves_every_stored_row_merged(incident: Conversation) -> None:
    found = beside(incident, "dispatch-global-index")
    assert not found.differs and not found.better and not found.worse
    assert found.still_merged == (2, 4, 5, 7, 8) and not found.sendable_b
    assert not beside(incident, "dispatch-global-index+new-rows").still_merged


def test_option_a_glues_a_user_message_to_the_user_message_before() -> None:
    history = appended([U("one")], [U("two")], [A("answer")]).conversation()
    split, exact = beside(history, "dispatch-role-split"), beside(history, "exact")
    assert split.still_merged == (2,) and split.messages_b == 2
    assert split.better == ("seq 3 no longer read as part of the message before", "seq 3 sent under the stored role again")
    assert not exact.still_merged and exact.messages_b == 3


LEAKED = "seq 14 sent as the model's own answer (call syntax that leaked into thinking)"


def test_the_fix_of_the_repair_alone_sends_the_leaked_call_as_an_answer(incident: Conversation) -> None:
    found = beside(incident, "exact+keep-thinking", "exact")
    assert found.better == ("the next request no longer goes wrong silently",) and found.worse == (LEAKED,)
    assert [each.code for each in found.go] == ["THINK101"] and found.silence_b == "call not run", "no reader changes what the stream gave"
    assert found.first is not None and (found.first.number, found.first.a, found.first.b) == (9, "", "assistant, seq 14")
    assert beside(incident, "dispatch-legacy+keep-thinking").worse == (LEAKED,)


def test_all_fixes_together_bring_it_back_as_thinking(incident: Conversation) -> None:
    found = beside(incident, "exact+keep-thinking+wrapped")
    assert found.becomes_sendable and found.worse == () and not found.still_merged
    assert "seq 2, 5, 8, 10-11, 14 in the request again" in found.better
    assert beside(incident, "exact+keep-thinking+wrapped", "exact").better == (
        "seq 14 in the request again",
        "seq 2, 5, 8 no longer sent as the model's own answer (thinking)",
    )
    assert beside(incident, "exact", "exact+wrapped").worse == ("seq 2, 5, 8 sent as the model's own answer (thinking, without tags)",)


def test_thinking_that_a_converter_omits_is_neither_lost_nor_won(incident: Conversation) -> None:
    found = beside(incident, "exact+omitted", "exact")
    assert found.better == ("seq 2, 5, 8 no longer sent as the model's own answer (thinking)",) and found.worse == ()
    assert "14" not in " ".join(beside(incident, "exact+keep-thinking+omitted", "exact").better)
    assert "seq 10-11 in the request again" in beside(incident, "exact+omitted").better


def test_thinking_without_a_call_in_it_comes_back() -> None:
    history = appended([U("go")], [A(th("let me see"))], [U("and?")], [A("done")]).conversation()
    assert beside(history, "exact+keep-thinking", "exact").better == ("seq 2 in the request again",)
    assert beside(history, "exact+keep-thinking", "exact").worse == ()


def test_every_combination_of_the_fixes_is_a_candidate() -> None:
    found = candidates("dispatch")
    assert len(found) == 4 * 2 * 3 == len(set(found))
    assert {"dispatch-legacy", "dispatch-role-split+keep-thinking+wrapped", "exact+omitted", "dispatch-global-index+keep-thinking"} <= set(
        found
    )
    assert candidates("dispatch-g0") == ["exact"] and candidates("rollouts") == names("rollouts")
    assert "openclaw-pr3565" in candidates("openclaw") and any("1934" in name for name in candidates("gbrain"))


@pytest.mark.parametrize("name", ["pi-1.5+wrapped", "wrapped", "exact+wrapped+keep-thinking", "exact+joined", "nobody+omitted", "+omitted"])
def test_a_word_that_is_none_of_the_converter_of_this_program_is_refused(name: str) -> None:
    with pytest.raises(UnknownReader):
        client(name)


@pytest.mark.parametrize(("a", "b"), [("dispatch-legacy", "pi-1.5"), ("gbrain-head", "rollouts"), ("exact", "verbatim")])
def test_readers_of_two_programs_have_no_conversation_in_common(incident: Conversation, a: str, b: str) -> None:
    assert compared_formats(a, b) == []
    with pytest.raises(UnknownReader, match="does not read dispatch"):
        compare(incident, "dispatch-legacy", "pi-1.5", "dispatch-openai", "openai-chat")


def test_each_reader_of_a_tree_takes_its_own_path() -> None:
    """pi ends its path at the last line, OpenClaw at the entry that its leaf row names."""
    rows = (u("1", None), a("2", "1", text("here")), u("3", "2", "left behind"))
    tree = next(PI.read([Record("s.jsonl", Cell(lines(header(), *rows, entry("leaf", "l", "3", targetId="2")), "file"))])).conversation
    found = compare(tree, "openclaw-2026.9", "pi-1.5", "anthropic", "anthropic-2026-07")
    back = compare(tree, "pi-1.5", "openclaw-2026.9", "anthropic", "anthropic-2026-07")
    assert (found.messages_a, found.messages_b) == (back.messages_b, back.messages_a) == (2, 3)
    assert not (found.better or found.worse or back.better or back.worse), "another leaf is no loss"


def test_a_reader_that_loses_what_comes_before_a_missing_parent_is_worse() -> None:
    """13 messages became 3, and the comparison said that nothing gets worse."""
    rows = (u("1", None), a("2", "1", text("here")), u("4", "3", "and now?"))
    tree = next(PI.read([Record("s.jsonl", Cell(lines(header(), *rows), "file"))])).conversation
    found = compare(tree, "openclaw-2026.9", "openclaw-pr3565", "anthropic", "anthropic-2026-07")
    back = compare(tree, "openclaw-pr3565", "openclaw-2026.9", "anthropic", "anthropic-2026-07")
    assert (found.messages_a, found.messages_b) == (3, 1) and found.better == back.worse == ()
    assert found.worse == ("seq 1-2 not reached from the last entry: hidden from the model",)
    assert back.better == ("seq 1-2 reached from the last entry again",)


def test_the_way_back_is_worse_in_the_same_places(incident: Conversation) -> None:
    forth, back = beside(incident, "exact"), beside(incident, NOW, "exact")
    assert len(back.worse) == len(forth.better) and not back.better
    assert back.worse[0] == "the next request is rejected at messages.1 (OC-2), for seq 12, and no longer goes wrong silently"
    assert (forth.next_request, back.next_request) == ("silent_not_rejected", "rejected_not_silent")
    assert back.come == forth.go


def test_a_call_that_the_merge_had_hidden_is_refused_once_it_is_sent() -> None:
    """The fix is right, and still this conversation needs a repair of its data before it ships."""
    history = appended([U("go")], [A("looking", tc("a"))], [U("and?")], [A("done")]).conversation()
    found = beside(history, "exact")
    assert found.sendable_a and not found.sendable_b
    assert found.worse == ("the next request is rejected at messages.1 (OC-1), for seq 2-3, and no longer goes wrong silently",)
    assert found.next_request == "rejected_not_silent"


@pytest.mark.parametrize(
    ("now", "then", "states", "change"),
    [
        (NOW, "exact", ("rejected", "silent"), "silent_not_rejected"),
        ("exact", NOW, ("silent", "rejected"), "rejected_not_silent"),
        (NOW, "exact+keep-thinking+wrapped", ("rejected", "passes"), "newly_passes"),
        ("exact", "exact+keep-thinking+wrapped", ("silent", "passes"), "newly_passes"),
        ("exact+keep-thinking+wrapped", "exact", ("passes", "silent"), "newly_silent"),
        ("exact+keep-thinking+wrapped", NOW, ("passes", "rejected"), "newly_rejected"),
        (NOW, "dispatch-global-index", ("rejected", "rejected"), ""),
    ],
)
def test_the_next_request_passes_or_goes_wrong_silently_or_is_rejected(
    incident: Conversation, now: str, then: str, states: tuple[str, str], change: str
) -> None:
    found = beside(incident, then, now)
    assert (found.state_a, found.state_b) == states and found.next_request == change


def test_a_request_that_goes_wrong_silently_though_its_messages_are_no_other_is_worse() -> None:
    """Both results of one call are sent, which no rule of the provider rejects and a rule of Inspector reports."""
    found = compare(job("8"), "gbrain-naive", "gbrain-pr1934", "ai-sdk", "ai-sdk-6")
    assert found.next_request == "newly_silent" and found.better == ()
    assert found.worse == ("the next request goes wrong silently (passes all known rules)",)
    back = compare(job("8"), "gbrain-pr1934", "gbrain-naive", "ai-sdk", "ai-sdk-6")
    assert (back.better, back.worse) == (("the next request no longer goes wrong silently",), ())


@pytest.mark.parametrize("name", candidates("dispatch"))
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_a_request_goes_wrong_silently_where_the_verdict_of_its_conversation_says_so(damage: Damage, name: str) -> None:
    """Lists show that verdict, of all rules; a comparison asks only some of them."""
    conversation = damage.make(Random(3))[0].conversation()
    case = case_of(conversation, client(name).reader.name)
    compared = outcome(case, name, "dispatch-openai", "openai-chat")
    judgement = judged(case.reading, conversation, "openai-chat", client(name).projection("dispatch-openai"))[1]
    listed = verdict(case, findings(case, RULES), judgement).next_request.state
    assert (compared.state == "silent") == (listed == "silent")


def test_a_loader_that_throws_is_said_once() -> None:
    store = appended([U("hi")], [A("there")], [U("more")])
    store.values[chunk_key("c1", 2)] = "{no json"
    history = store.conversation()
    found = beside(history, "dispatch-legacy+r1")
    assert len(found.worse) == 1 and found.worse[0].startswith("the conversation cannot be opened: load throws: row seq 2")
    assert (found.messages_b, found.still_merged, found.sendable_b) == (0, (), False)
    assert beside(history, NOW, "dispatch-legacy+r1").better == ("the conversation can be opened again",)


def test_an_error_that_is_stripped_is_no_loss() -> None:
    history = appended([U("hi"), A(er("HTTP 401"))]).conversation()
    found = beside(history, NOW, "dispatch-legacy+r1")
    assert found.differs and not found.worse


def test_what_every_reader_reads_alike_differs_in_nothing() -> None:
    history = appended([U("hi"), A("x", tc("a")), T(tr("a")), A("done")]).conversation()
    for then in ("dispatch-role-split", "dispatch-global-index", "exact"):
        found = beside(history, then)
        assert not found.differs and not found.better and not found.worse and not found.still_merged


def test_a_summary_counts_and_names_the_first_few(incident: Conversation) -> None:
    well = appended([U("hi"), A("there")]).conversation()
    named = [(f"c{number}", beside(incident, "exact")) for number in range(5)] + [("well", beside(well, "exact"))]
    found = summarize(NOW, "exact", named)
    assert (found.conversations, found.differ.count, found.become_sendable.count, found.better.count) == (6, 5, 5, 5)
    assert (found.worse.count, found.merged.count, found.refused.count) == (0, 0, 0)
    assert found.differ.examples == ("c0", "c1", "c2") and found.worse.examples == ()
    assert found.states == {"passes": (1, 1), "silent": (0, 5), "rejected": (5, 0), "not_known": (0, 0)}
    assert found.next_requests["silent_not_rejected"].count == 5


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (-5, "less than a second"),
        (999, "less than a second"),
        (1000, "1 second"),
        (119_999, "1 minute"),
        (7_200_000, "2 hours"),
        (90_000_000, "1 day"),
    ],
)
def test_ages_are_rounded_down(milliseconds: int, words: str) -> None:
    assert age(milliseconds) == words


def test_provenance_says_what_is_known() -> None:
    assert last_written(None, 5) == "" and last_written(0, 3 * 3_600_000) == "3 hours before it was read"
    assert provenance("", "") == ""
    assert provenance("arch1", "") == "copied from arch1"
    assert provenance("arch1", "3 hours before it was read") == "copied from arch1, last written 3 hours before it was read"
