"""Words of a command that a person copies into a shell."""

import shlex


def shell_word(text: str) -> str:
    """As bash, zsh and every shell with `$'...'` (POSIX 2024) read it back, byte for byte, printable throughout.

    A name of a file may hold control characters, and bytes that are not UTF-8: printed as they are, a terminal shows or obeys them, and what is
    copied is another name.
    """
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(map(_in_dollar_quotes, text)) + "'"


def path_word(path: str) -> str:
    """A path as one word, also where it is relative and begins with a dash, as the folders of projects of Claude Code do."""
    return shell_word(f"./{path}" if path.startswith("-") else path)


def _in_dollar_quotes(character: str) -> str:
    if character in "'\\":
        return f"\\{character}"
    if character.isprintable():
        return character
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))
