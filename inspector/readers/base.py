"""What a reader is: a named client's loading code, as a function from a conversation to what that client makes of it."""

from collections.abc import Callable
from dataclasses import dataclass

from inspector.conversation.model import Conversation, Reading


@dataclass(frozen=True, slots=True)
class Reader:
    """`note` is what a person must know before trusting it; `evidence` says where its behavior is known from."""

    name: str
    format: str
    title: str
    note: str
    evidence: str
    read: Callable[[Conversation], Reading]
    variants: tuple[tuple[str, str], ...] = ()
    shipped: bool = False
    proposed: bool = False
    """Nobody runs it: it says what a proposal would have made of the history."""
    is_withdrawn: bool = False
    """Of what was proposed: it will not ship, so that nothing begins with it."""
    is_universal: bool = False
    """It reads conversations of every format, as they are stored."""
    is_sent: bool = False
    """It goes on to what the client sends: of the readers that people compare, one is the same client."""
    path: Callable[[Conversation], Conversation] | None = None
    """For a store that keeps a tree: the one path through it that this client takes, as a conversation with the fact `path`. `read` gets that."""
    release: tuple[int, ...] = ()
    """Orders the releases of one `format`, older ones smaller; () of what is no release: a proposal, or a reader that only Inspector has."""
    verified: tuple[str, ...] = ()
    """Versions or commits of the program whose own code was run, or read, for it; `evidence` says which of the two."""
