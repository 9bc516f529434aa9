"""What a browser says of itself, in the words of people: "Firefox on Linux"."""

LONGEST = 200
"""Characters that are kept of it: whoever signs in writes it."""
# The first that fits: Edge, Opera and Samsung Internet say that they are Chrome, and Chrome that it is Safari.
_PROGRAMS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chromium/", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
)
# Android says Linux, and an iPhone or iPad "like Mac OS X".
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
)


def in_words(agent: str) -> str:
    program = next((words for part, words in _PROGRAMS if part in agent), "")
    system = next((words for part, words in _SYSTEMS if part in agent), "")
    return f"{program or 'Another browser'} on {system}" if system else program or "Unknown browser"
