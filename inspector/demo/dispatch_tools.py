"""The nine tools and the system prompt that went with the requests of the incident (the report names the count, not the tools)."""

from typing import Any

SYSTEM_PROMPT = (
    "You are a coding agent working in the user's project. Use the tools to look before you answer, run commands with run_shell, "
    "and keep answers short.\n\nWorking directory: /home/dev/dispatch\nBranch: predev"
)


def _tool(name: str, description: str, **properties: str) -> dict[str, Any]:
    """`properties` name the type of each argument; one that ends in `?` need not be given."""
    return {
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": {key: {"type": kind.removesuffix("?")} for key, kind in properties.items()},
            "required": [key for key, kind in properties.items() if not kind.endswith("?")],
        },
    }


TOOLS: tuple[dict[str, Any], ...] = (
    _tool("read_file", "Read a file of the project.", path="string", offset="number?", limit="number?"),
    _tool("write_file", "Create or overwrite a file.", path="string", content="string"),
    _tool("edit_file", "Replace one exact piece of text in a file.", path="string", oldText="string", newText="string"),
    _tool("list_files", "List a folder.", path="string?"),
    _tool("run_shell", "Run a shell command in the working directory.", command="string", timeoutMs="number?"),
    _tool("todo_write", "Replace the list of things to do.", todos="array"),
    _tool("web_fetch", "Fetch a page as text.", url="string"),
    _tool("web_search", "Search the web.", query="string"),
    _tool("spawn_agent", "Start a second agent on a task of its own.", task="string", model="string?"),
)


def wire_tools() -> list[dict[str, Any]]:
    """The tools in the form of an OpenAI request."""
    return [
        {"type": "function", "function": {"name": tool["name"], "description": tool["description"], "parameters": tool["inputSchema"]}}
        for tool in TOOLS
    ]
