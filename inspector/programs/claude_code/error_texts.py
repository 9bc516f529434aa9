"""What Claude Code itself answers with when it does not resume a session, apart from errors of the provider.

Texts of versions between 2.1.156 and 2.1.222 as they printed them on sessions with one such line each (`claude -p --resume`), and of the public reports that
`formats/claude_code_codex.md` 7 lists for F11 to F13. A name that the program's build shortened (`e`, `_`) differs from version to version.
"""

from inspector.programs.base import Meaning

_SHAPE = (
    "a line of the session has another shape than Claude Code reads, such as an attachment without its members, or a message whose content is neither "
    "text nor a list of blocks: the resume fails, or every turn after it"
)
_REPAIR = (
    "Update Claude Code: 2.1.277 and later leave such a line out. Or choose drop-malformed-record for the line that the rule names, where nothing of it can be read: the lines below it take its parent. "
    "Deleting the line by hand breaks the chain of parents."
)
_MEMBERS = "files|addedLines|addedNames|addedBlocks|removedNames|attachment|message|content|at|length|type"
MEANINGS = (
    Meaning(
        r"No conversations? found with session ID",
        "Claude Code looked for the file of the session in the folder of the project that it was started in, and did not get it from there: the session is "
        "one of another project, its file was deleted or renamed, or sessions-index.json does not list it",
        "STORE903",
        advice="Look for SESSION.jsonl below ~/.claude/projects and start `claude --resume` in the folder that its lines name as cwd. "
        "Where the list leaves it out, move sessions-index.json away. Sessions are deleted after 30 days (cleanupPeriodDays): then a backup has it, or nothing.",
    ),
    Meaning(
        r"Maximum call stack size exceeded",
        "Claude Code went deeper into the session than its stack allows: a line is nested some thousand levels deep, or the parents of lines form a loop",
        "STORE801",
        advice="Update the program: 2.1.332 skips a line of 100,000 levels and opens a session with a loop. The loop is TREE202, which relink-lost-line opens for every version; "
        "of a nested line nothing is known that a repair would keep.",
    ),
    # JavaScriptCore, which Claude Code runs on since its native builds.
    Meaning(rf"is not an object \(evaluating '[\w$]{{1,3}}(?:\.\w{{1,20}})?\.(?:{_MEMBERS})\b", _SHAPE, "STORE901", advice=_REPAIR),
    Meaning(r"is not an Object\. \(evaluating '\"(?:displayPath|tool_use_id)\" ?in ", _SHAPE, "STORE901", advice=_REPAIR),
    # The same of Node.js, and what both print.
    Meaning(r"Cannot read propert(?:y|ies) .{0,60}(?:of|reading) .{0,20}'(?:files|attachment|content|addedNames|addedLines)'", _SHAPE, "STORE901", advice=_REPAIR),
    Meaning(r"\b[\w$]{1,3}(?:\.message)?\.(?:content\.\w{2,20}|at) is not a function", _SHAPE, "STORE901", advice=_REPAIR),
    Meaning(r"(?:content|attachment|number|object|undefined|null)(?: \w{1,20})? is not iterable|\b[\w$]{1,3} is not iterable", _SHAPE, "STORE901", advice=_REPAIR),
    Meaning(r"Failed to resume session: .{1,80} is not (?:an object|a function|iterable)", _SHAPE, "STORE901", advice=_REPAIR),
)  # fmt: skip
