"""The note that gbrain puts after the results of a turn that was cut off; nobody said it (TOOL402)."""

import re
from collections.abc import Iterator

from inspector.rules.base import Case, Hit

CAP_NOTE = re.compile(r"\[system\] Your previous response hit the \S{1,20}-token output cap and was truncated;")


def notes(case: Case) -> Iterator[Hit]:
    for message in case.messages:
        for chunk in message.chunks:
            if message.role == "user" and CAP_NOTE.match(chunk.text):
                yield Hit(
                    (chunk,),
                    f"The text at seq {chunk.seq} is gbrain's own note to the model about an answer that was cut off: no user said it.",
                )
