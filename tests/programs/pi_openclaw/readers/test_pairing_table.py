"""What each client makes of 25 shapes of calls and results, as the published programs answered them (`openclaw-pr3565`: as its proposal says).

Of openclaw-2026.9 P20 and P21 are what its session manager leaves to be paired: it reads no result whose toolCallId is no text.
`=` is unchanged; ✗ says that a strict provider would refuse it: unpaired, displaced, doubled, or an id twice in one answer.
"""

import pytest

from inspector.conversation.model import Reading
from inspector.readers.catalogue import reader
from inspector.readers.strict import strict_problems
from tests.folding import in_one_test
from tests.programs.pi_openclaw.shapes import chain, shape_of, stored

TABLE = """
P01 valid pair
  stored          U A(c1) R(c1=ok) U
  pi-1.5          =
  openclaw-pr3565 =
  openclaw-2026.1 =
  openclaw-2026.7 =
  openclaw-2026.9 =
P02 missing, user follows
  stored          U A(c1) U ✗
  pi-1.5          U A(c1) R(c1=NRP) U
  openclaw-pr3565 U
  openclaw-2026.1 U A(c1) R(c1=SYN) U
  openclaw-2026.7 U A(c1) R(c1=SYN) U
  openclaw-2026.9 U A(c1) R(c1=SYN) U
P03 missing at end
  stored          U A(c1) ✗
  pi-1.5          U A(c1) R(c1=NRP)
  openclaw-pr3565 U
  openclaw-2026.1 U A(c1) R(c1=SYN)
  openclaw-2026.7 U A(c1) R(c1=SYN)
  openclaw-2026.9 U A(c1) R(c1=SYN)
P04 parallel, one missing
  stored          U A(c1 c2) R(c2=ok) U ✗
  pi-1.5          U A(c1 c2) R(c2=ok) R(c1=NRP) U
  openclaw-pr3565 U
  openclaw-2026.1 U A(c1 c2) R(c1=SYN) R(c2=ok) U
  openclaw-2026.7 U A(c1 c2) R(c1=SYN) R(c2=ok) U
  openclaw-2026.9 U A(c1 c2) R(c1=SYN) R(c2=ok) U
P05 displaced after user
  stored          U A(c1 c2) U R(c2=ok) ✗
  pi-1.5          U A(c1 c2) R(c1=NRP) R(c2=NRP) U R(c2=ok) ✗
  openclaw-pr3565 U
  openclaw-2026.1 U A(c1 c2) R(c1=SYN) R(c2=ok) U
  openclaw-2026.7 U A(c1 c2) R(c1=SYN) R(c2=ok) U
  openclaw-2026.9 U A(c1 c2) R(c1=SYN) R(c2=ok) U
P06 displaced after text-only assistant
  stored          U A(c1) A('hm') R(c1=ok) U ✗
  pi-1.5          U A(c1) R(c1=NRP) A('hm') R(c1=ok) U ✗
  openclaw-pr3565 U A(c1) A('hm') U ✗
  openclaw-2026.1 U A(c1) R(c1=SYN) A('hm') U
  openclaw-2026.7 U A(c1) R(c1=ok) A('hm') U
  openclaw-2026.9 U A(c1) R(c1=ok) A('hm') U
P07 displaced after later tool turn
  stored          U A(c1) A(c2) R(c2=ok) R(c1=ok) U ✗
  pi-1.5          U A(c1) R(c1=NRP) A(c2) R(c2=ok) R(c1=ok) U ✗
  openclaw-pr3565 U A(c1) A(c2) R(c2=ok) U ✗
  openclaw-2026.1 U A(c1) R(c1=SYN) A(c2) R(c2=ok) U
  openclaw-2026.7 U A(c1) R(c1=ok) A(c2) R(c2=ok) U
  openclaw-2026.9 U A(c1) R(c1=ok) A(c2) R(c2=ok) U
P08 review P1: late result in a later turn
  stored          U A(c1) U A('t') U A(c9) R(c1=late) R(c9=ok) U ✗
  pi-1.5          U A(c1) R(c1=NRP) U A('t') U A(c9) R(c1=late) R(c9=ok) U ✗
  openclaw-pr3565 U A(c1) U A('t') U A(c9) R(c9=ok) U ✗
  openclaw-2026.1 U A(c1) R(c1=SYN) U A('t') U A(c9) R(c9=ok) U
  openclaw-2026.7 U A(c1) R(c1=late) U A('t') U A(c9) R(c9=ok) U
  openclaw-2026.9 U A(c1) R(c1=late) U A('t') U A(c9) R(c9=ok) U
P09 duplicate in span
  stored          U A(c1) R(c1=first) R(c1=second) U ✗
  pi-1.5          = ✗
  openclaw-pr3565 U A(c1) R(c1=first) U
  openclaw-2026.1 U A(c1) R(c1=first) U
  openclaw-2026.7 U A(c1) R(c1=first) U
  openclaw-2026.9 U A(c1) R(c1=first) U
P10 duplicate in span at end
  stored          U A(c1) R(c1=first) R(c1=second) ✗
  pi-1.5          = ✗
  openclaw-pr3565 U A(c1) R(c1=first)
  openclaw-2026.1 = ✗
  openclaw-2026.7 U A(c1) R(c1=first)
  openclaw-2026.9 U A(c1) R(c1=first)
P11 duplicate far away
  stored          U A(c1) R(c1=first) A('ok') R(c1=second) ✗
  pi-1.5          = ✗
  openclaw-pr3565 U A(c1) R(c1=first) A('ok')
  openclaw-2026.1 U A(c1) R(c1=first) A('ok')
  openclaw-2026.7 U A(c1) R(c1=first) A('ok')
  openclaw-2026.9 U A(c1) R(c1=first) A('ok')
P12 synthetic then real
  stored          U A(c1) R(c1=SYN) R(c1=real) U ✗
  pi-1.5          = ✗
  openclaw-pr3565 U A(c1) R(c1=SYN) U
  openclaw-2026.1 U A(c1) R(c1=SYN) U
  openclaw-2026.7 U A(c1) R(c1=real) U
  openclaw-2026.9 U A(c1) R(c1=real) U
P13 real then synthetic
  stored          U A(c1) R(c1=real) R(c1=SYN) U ✗
  pi-1.5          = ✗
  openclaw-pr3565 U A(c1) R(c1=real) U
  openclaw-2026.1 U A(c1) R(c1=real) U
  openclaw-2026.7 U A(c1) R(c1=real) U
  openclaw-2026.9 U A(c1) R(c1=real) U
P14 orphan result
  stored          U R(zz=ok) A('ok') ✗
  pi-1.5          = ✗
  openclaw-pr3565 U A('ok')
  openclaw-2026.1 U A('ok')
  openclaw-2026.7 U A('ok')
  openclaw-2026.9 U A('ok')
P15 error turn, no result
  stored          U A(c1)^error U ✗
  pi-1.5          U U
  openclaw-pr3565 U
  openclaw-2026.1 U A(c1)^error R(c1=SYN) U
  openclaw-2026.7 = ✗
  openclaw-2026.9 U U
P16 aborted turn with result
  stored          U A(c1)^aborted R(c1=partial) U
  pi-1.5          U R(c1=partial) U ✗
  openclaw-pr3565 =
  openclaw-2026.1 =
  openclaw-2026.7 =
  openclaw-2026.9 U U
P17 id reused in next turn
  stored          U A(c1) R(c1=one) A(c1) R(c1=two) U
  pi-1.5          =
  openclaw-pr3565 U A(c1) R(c1=one) A(c1) U ✗
  openclaw-2026.1 U A(c1) R(c1=one) A(c1) U ✗
  openclaw-2026.7 U A(c1) R(c1=one) A(c1) U ✗
  openclaw-2026.9 =
P18 id reused, first unanswered
  stored          U A(c1) U A(c1) R(c1=two) U ✗
  pi-1.5          U A(c1) R(c1=NRP) U A(c1) R(c1=two) U
  openclaw-pr3565 = ✗
  openclaw-2026.1 U A(c1) R(c1=SYN) U A(c1) U ✗
  openclaw-2026.7 U A(c1) R(c1=two) U A(c1) U ✗
  openclaw-2026.9 U A(c1) R(c1=SYN) U A(c1) R(c1=two) U
P19 same id twice in one turn
  stored          U A(c1 c1) R(c1=one) R(c1=two) U ✗
  pi-1.5          = ✗
  openclaw-pr3565 U A(c1 c1) R(c1=one) U ✗
  openclaw-2026.1 U A(c1 c1) R(c1=one) U ✗
  openclaw-2026.7 U A(c1 c1) R(c1=one) U ✗
  openclaw-2026.9 = ✗
P20 result without any id, one call
  stored          U A(c1) R(-=x) U ✗
  pi-1.5          U A(c1) R(-=x) R(c1=NRP) U ✗
  openclaw-pr3565 U
  openclaw-2026.1 U A(c1) R(c1=SYN) U
  openclaw-2026.7 U A(c1) R(c1=x) U
  openclaw-2026.9 U A(c1) R(c1=SYN) U
P21 result keyed toolUseId
  stored          U A(c1) R(c1:toolUseId=x) U
  pi-1.5          U A(c1) R(c1=x) R(c1=NRP) U ✗
  openclaw-pr3565 =
  openclaw-2026.1 =
  openclaw-2026.7 =
  openclaw-2026.9 U A(c1) R(c1=SYN) U
P22 result before its call
  stored          U R(c1=early) A(c1) U ✗
  pi-1.5          U R(c1=early) A(c1) R(c1=NRP) U ✗
  openclaw-pr3565 U A(c1) U ✗
  openclaw-2026.1 U A(c1) R(c1=SYN) U
  openclaw-2026.7 U A(c1) R(c1=SYN) U
  openclaw-2026.9 U A(c1) R(c1=SYN) U
P23 steering user between parallel results
  stored          U A(c1 c2) R(c1=ok) U R(c2=ok) A('done') ✗
  pi-1.5          U A(c1 c2) R(c1=ok) R(c2=NRP) U R(c2=ok) A('done') ✗
  openclaw-pr3565 U A(c1 c2) R(c1=ok) R(c2=ok) U A('done')
  openclaw-2026.1 U A(c1 c2) R(c1=ok) R(c2=ok) U A('done')
  openclaw-2026.7 U A(c1 c2) R(c1=ok) R(c2=ok) U A('done')
  openclaw-2026.9 U A(c1 c2) R(c1=ok) R(c2=ok) U A('done')
P24 results in reverse order
  stored          U A(c1 c2) R(c2=b) R(c1=a) U
  pi-1.5          =
  openclaw-pr3565 U A(c1 c2) R(c1=a) R(c2=b) U
  openclaw-2026.1 U A(c1 c2) R(c1=a) R(c2=b) U
  openclaw-2026.7 U A(c1 c2) R(c1=a) R(c2=b) U
  openclaw-2026.9 U A(c1 c2) R(c1=a) R(c2=b) U
P25 leading orphan after compaction cut
  stored          R(c0=kept) A('x') U ✗
  pi-1.5          = ✗
  openclaw-pr3565 A('x') U
  openclaw-2026.1 A('x') U
  openclaw-2026.7 A('x') U
  openclaw-2026.9 A('x') U
"""


def table() -> list[tuple[str, str, str, str]]:
    """Case, reader, stored shape, expected shape; both with their ✗."""
    found, case, shape = [], "", ""
    for line in TABLE.strip().splitlines():
        if not line.startswith(" "):
            case = line
            continue
        name, _, expected = line.strip().partition(" ")
        if name == "stored":
            shape = expected.strip()
            found.append((case, "verbatim", shape, shape))
            continue
        expected = expected.strip()
        found.append((case, name, shape, shape.removesuffix(" ✗") + expected[1:] if expected.startswith("=") else expected))
    return found


CASES = table()


def reading_of(name: str, shape: str) -> Reading:
    client = reader(name)
    assert client.path
    return client.read(client.path(stored(chain(shape))))


def spoken(reading: Reading) -> str:
    return shape_of(reading.messages) + (" ✗" if strict_problems(reading.messages) else "")


def bare(shape: str) -> str:
    """As the canonical model has it, which knows one spelling of a result's key."""
    return shape.replace(":toolUseId", "")


@in_one_test(("case", "name", "shape", "expected"), CASES, ids=[f"{case[:3]}-{name}" for case, name, _, _ in CASES])
def test_the_client_makes_of_it_what_the_program_did(case: str, name: str, shape: str, expected: str) -> None:
    assert spoken(reading_of(name, shape.removesuffix(" ✗"))) == bare(expected), case


def test_the_table_has_25_shapes_for_each_of_six_clients() -> None:
    assert len(CASES) == 150
    assert {case[:3] for case, *_ in CASES} == {f"P{number:02}" for number in range(1, 26)}


@pytest.mark.parametrize("name", ["pi-0.69", "pi-0.87"])
def test_pi_pairs_alike_since_0_69(name: str) -> None:
    for case, column, shape, expected in CASES:
        if column == "pi-1.5":
            assert spoken(reading_of(name, shape.removesuffix(" ✗"))) == bare(expected), case


def test_pi_0_68_differs_in_calls_of_the_last_turn_only() -> None:
    different = [
        (case[:3], spoken(reading_of("pi-0.68", shape.removesuffix(" ✗"))))
        for case, column, shape, expected in CASES
        if column == "pi-1.5" and spoken(reading_of("pi-0.68", shape.removesuffix(" ✗"))) != bare(expected)
    ]
    assert different == [("P03", "U A(c1) ✗")]


@in_one_test(("case", "name", "shape", "expected"), CASES, ids=[f"{case[:3]}-{name}" for case, name, _, _ in CASES])
def test_a_stored_chunk_is_sent_or_dropped_with_a_reason(case: str, name: str, shape: str, expected: str) -> None:
    reading = reading_of(name, shape.removesuffix(" ✗"))
    sent = [seq for message in reading.messages for seq in message.seqs]
    dropped = [seq for each in reading.dropped for seq in each.seqs]
    grouped = [seq for message in reading.grouped for seq in message.seqs]
    # A row that the session manager does not read is dropped before there are messages.
    unread = {seq for each in reading.dropped for seq in each.seqs if "reads no such row" in each.why}
    assert sorted({*sent, *dropped} - unread) == grouped and len({*sent, *dropped}) == len(sent + dropped), case
    assert all(each.why for each in reading.dropped)


REPORTS = [
    ("openclaw-2026.1", "U A(c1) U", (1, 0, 0, True)),
    ("openclaw-2026.1", "U A(c1) R(c1=ok) U", (0, 0, 0, True)),
    ("openclaw-2026.1", "U A(c1) R(c1=first) R(c1=second)", (0, 0, 0, False)),
    ("openclaw-2026.1", "U A(c1) R(c1=one) A(c1) R(c1=two) U", (1, 2, 0, True)),
    ("openclaw-2026.7", "U A(c1) R(c1=SYN) R(c1=real) U", (0, 1, 0, True)),
    ("openclaw-2026.7", "U R(zz=ok) A('ok')", (0, 0, 1, True)),
    ("openclaw-2026.7", "U A(c1)^error U", (0, 0, 0, False)),
    ("openclaw-2026.9", "U A(c1) R(c1=ok) U", (0, 0, 0, False)),
    ("openclaw-2026.9", "U R(c1=early) A(c1) U", (1, 0, 1, True)),
    ("openclaw-2026.9", "U A(c1) A(c2) R(c2=ok) R(c1=SYN) R(c1=ok) U", (0, 1, 0, True)),
]


@pytest.mark.parametrize(("name", "shape", "counts"), REPORTS)
def test_the_report_counts_as_the_program_does(name: str, shape: str, counts: tuple[int, int, int, bool]) -> None:
    report = reading_of(name, shape).report
    assert tuple(report[field] for field in ("added", "droppedDuplicateCount", "droppedOrphanCount", "moved")) == counts


def test_made_up_results_are_marked_and_keep_the_place_of_their_call() -> None:
    shape = "U A(c1) U"
    made_up = {name: next(m for m in reading_of(name, shape).messages if m.synthetic) for name in ("pi-1.5", "openclaw-2026.9")}
    assert all(message.seqs == () and message.chunks[0].seq == 2 and message.chunks[0].is_error for message in made_up.values())
    assert made_up["openclaw-2026.9"].chunks[0].payload["extra"]["details"]["reason"] == "missing_tool_result"
