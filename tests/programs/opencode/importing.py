"""A program that does to a store what opencode 1.18.33 does when it imports and deletes a session: row after row, each committed by itself, and members in an order of its own.

`tests/published_programs/test_opencode.py` has opencode itself do it; this one can also stop in the middle, and do something else than it is asked for.
"""

import sys
from pathlib import Path

OTHERWISE = {
    "": "",
    "stops": "if len(sys.argv) > 3 and taken == int(os.environ.get('XDG_STOPS', '2')): os._exit(9)",
    "changes what it imports": "part.get('text') and part.update(text='something else')",
    "waits": "taken == 3 and time.sleep(float(os.environ['XDG_WAITS']))",
    "brings the store to its shape": "db.execute('CREATE TABLE IF NOT EXISTS newer (id text)')",
}
_PROGRAM = """#!{python}
import json, os, sqlite3, sys, time
words = [word for word in sys.argv[1:] if word != "--pure"]
db = sqlite3.connect(os.environ["OPENCODE_DB"], isolation_level=None)
if os.environ.get("INSPECTOR_OPENCODE") or os.environ.get("OPENCODE_DISABLE_PROJECT_CONFIG") != "1":
    sys.exit("an environment that it should not have")
if words[0] == "import":
    value = json.load(open(words[1]))
    info = value["info"]
    row = {{"id": info["id"], "project_id": "global", "slug": info["slug"], "directory": os.getcwd(), "title": info["title"], "version": info["version"]}}
    row |= {{"agent": info.get("agent"), "time_created": info["time"]["created"], "time_updated": info["time"]["updated"]}}
    row |= {{name: json.dumps(info[name]) for name in ("permission", "model", "metadata") if name in info}}
    db.execute(f"INSERT OR IGNORE INTO session ({{', '.join(row)}}) VALUES ({{', '.join('?' * len(row))}})", tuple(row.values()))
    taken = 0
    for message in value["messages"]:
        data = dict(reversed([(name, item) for name, item in message["info"].items() if name not in ("id", "sessionID")]))
        dumped = json.dumps(data, separators=(",", ":"))
        db.execute("INSERT OR IGNORE INTO message VALUES (?, ?, ?, ?, ?)", (message["info"]["id"], info["id"], data["time"]["created"], 0, dumped))
        for part in message["parts"]:
            {otherwise}
            taken += 1
            data = dict(reversed([(name, item) for name, item in part.items() if name not in ("id", "sessionID", "messageID")]))
            row = (part["id"], message["info"]["id"], info["id"], 0, 0, json.dumps(data, separators=(",", ":")))
            db.execute("INSERT OR IGNORE INTO part VALUES (?, ?, ?, ?, ?, ?)", row)
else:
    if not db.execute("DELETE FROM session WHERE id = ?", (words[2],)).rowcount:
        sys.exit("\\x1b[91mError: \\x1b[0mSession not found: " + words[2])
    db.execute("DELETE FROM message WHERE session_id = ?", (words[2],))
    db.execute("DELETE FROM part WHERE session_id = ?", (words[2],))
"""


def program(path: Path, otherwise: str = "") -> Path:
    path.write_text(_PROGRAM.format(python=sys.executable, otherwise=OTHERWISE[otherwise]))
    path.chmod(0o755)
    return path
