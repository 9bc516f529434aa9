"""Sessions of opencode whose ids no version gives."""

import json
from pathlib import Path

import pytest

from inspector.programs.formats import WriteRefused
from tests.programs.opencode.stores import ID, KILLED, export
from tests.programs.opencode.writing_sessions import import_file


@pytest.mark.parametrize(
    "id_",
    ["ses_$(touch x);rm -rf ~_aaaaaaaaaaaaaaaa", "ses_../../x/aaaaaaaaaaaaaaaa", "ses_a\nb_aaaaaaaaaaaaaaaa", "ses_`id`_aaaaaaaaaaaaaaaa"],
)
def test_an_id_that_a_shell_or_a_folder_would_read_is_never_part_of_a_command(id_: str, tmp_path: Path) -> None:
    """The new id keeps the beginning of the old one, and the plan prints `opencode -s ID` for a person to copy."""
    path = Path(export(tmp_path, KILLED))
    path.write_text(path.read_text().replace(json.dumps(ID), json.dumps(id_)))
    with pytest.raises(WriteRefused, match="would not be one that opencode gives"):
        import_file(f"{path}", "insert-interrupted-result")


def test_an_ordinary_id_is(tmp_path: Path) -> None:
    assert import_file(export(tmp_path, KILLED), "insert-interrupted-result")[0].startswith("ses_")
