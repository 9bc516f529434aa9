"""What `doctor` says of one session; plain, so that an answer from an earlier run is read without what works it out."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Of one session. `state` is that of `resume_state`. `why` and `command` are those of a broken one; where no repair is proven, `command` is "" and `no_command` says why."""

    state: str
    conversation: str
    title: str = ""
    file: str = ""
    why: str = ""
    command: str = ""
    no_command: str = ""
    extract: str = ""
    """Where no repair is proven, the command that writes what was said into a file, to start a new session from; "" of a session without a message."""
    restart: str = ""
    """Of a session that can be resumed and whose last turn the provider rejected: what to do."""
    unread: str = ""
    """What of it is over a limit of ours, in words after "it"; "" where all of it was read."""
    new_id: str = ""
    """The id of the session that the command writes, where it writes a new one."""
