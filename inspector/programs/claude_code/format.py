"""Sessions of Claude Code: a JSONL file each, in a folder for each project, with the agents that they started next to them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from inspector.conversation.edits import Plan
from inspector.conversation.model import Fact
from inspector.programs.claude_code import around, folder, writing
from inspector.programs.formats import Change, Format, Head, Listed, Neighbors, Record, Shape, Stored, read_grouped


class ClaudeCode(Format):
    name = folder.NAME
    title = "Claude Code sessions (JSONL files, alone or in the folders of their projects)"
    sample = '{"parentUuid":null,"sessionId":"0f1e…","type":"user"}'
    default_reader = "claude-code"
    default_projection = "anthropic"
    default_profile = "anthropic-2026-07"
    modes = writing.MODES
    # The program resumes the session whose file is newest, and takes no lock.
    keeps_times = True
    lock_suffix = ""
    quiet_seconds = 60.0

    def sniff(self, shape: Shape) -> float:
        if shape.tables:
            return 0.0
        if not shape.files:
            return folder.likeness(shape.head)
        return max(folder.likeness_of_names(shape.files), *(0.8 * folder.likeness(head) for head in shape.heads), 0.0)

    def wants(self, key: str) -> bool:
        return folder.is_wanted(key)

    def read(self, records: Iterable[Record]) -> Iterator[Stored]:
        """Every session file, whole: all its branches in the order of the file."""
        return read_grouped(self, records)

    def group_of(self, key: str) -> str | None:
        return folder.group_of(key)

    def listed(self, groups: Sequence[str], shared: Sequence[Record], head: Head) -> Sequence[Listed]:
        return folder.listed(groups, shared, head)

    def read_group(self, listed: Listed, records: Sequence[Record]) -> Stored:
        return folder.read_group(listed, records)

    def folder_of(self, group: str) -> str:
        return around.folder_of(group)

    def around(self, records: Sequence[Record], neighbors: Neighbors) -> Mapping[str, Fact]:
        return around.facts_around(records[0], neighbors)

    def copies(self, keys: Sequence[str]) -> str:
        return ""

    def unread(self, keys: Sequence[str]) -> tuple[str, ...]:
        return tuple(folder.unread(keys))

    def options(self, mode: str, stored: Stored, fresh_id: str) -> dict[str, str]:
        return writing.options(mode, fresh_id)

    def write(self, plan: Plan, stored: Stored) -> Sequence[Change]:
        """The changes that carry out `plan`. Raises WriteRefused, EditMismatch."""
        return writing.write(plan, stored)

    def target(self, plan: Plan) -> str:
        return writing.target(plan)


CLAUDE_CODE = ClaudeCode()
