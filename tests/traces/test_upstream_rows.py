"""Upstream's own list of what its trace store does: each row is a test of ours, or named with the reason why it cannot be one."""

import importlib

from tests.folding import in_one_test

ANSWERED = {
    "id is 16 hex, deterministic": "test_record_id.test_ids_of_upstreams_own_examples",
    "getTurn ordered by time": "test_database.test_records_come_in_time_order_with_their_attributes_links_and_bodies",
    "attributes and links restored": "test_database.test_records_come_in_time_order_with_their_attributes_links_and_bodies",
    "same records twice give no duplicates": "test_tree.test_database_journal_and_rotated_journal_merge_without_duplicates",
    "equal bodies stored once": "test_database.test_equal_bodies_are_handed_out_once_and_named_by_every_record",
    "2048-byte body round-trips compressed": "test_database.test_a_body_over_1024_bytes_stays_compressed_and_tells_its_unpacked_size",
}

ONLY_A_WRITER = (
    ("age prune removes record and unshared body, keeps a shared one", "pruning is a write; we read what it leaves (close without open)"),
    ("size prune evicts oldest first (sizes 300,300,300, cap 500: evict two)", "pruning is a write; we read what it leaves"),
    ("old schema migrates, second open is a no-op", "we open read-only: both schemas are read as they are, and no byte changes"),
)


@in_one_test("row", ANSWERED)
def test_each_row_that_a_reader_can_answer_has_a_test(row: str) -> None:
    module, name = ANSWERED[row].split(".")
    assert callable(getattr(importlib.import_module(f"tests.traces.{module}"), name))


def test_every_other_row_has_its_reason() -> None:
    assert all(reason for _, reason in ONLY_A_WRITER) and len(ANSWERED) + len(ONLY_A_WRITER) == 9
