"""What Inspector knows of Scribe."""

from inspector.conversation import queries
from inspector.conversation.model import Conversation, Reading
from inspector.programs.base import Errors, Program, SyntheticResult, SyntheticResults
from inspector.readers.base import Reader
from scribe_store.format import SCRIBE

NO_ANSWER = "(no answer)"


def read(conversation: Conversation) -> Reading:
    messages = queries.true_messages(conversation.chunks)
    return Reading("scribe", messages, messages)


PROGRAM = Program(
    name="scribe",
    title="Scribe",
    package=__name__.rpartition(".")[0],
    formats=(SCRIBE,),
    readers=(Reader("scribe", "scribe", "Scribe 1.0", "Sends every line as it is stored.", "its source, which we invented", read),),
    readers_of={"scribe": ("scribe",)},
    synthetic=SyntheticResults(
        words={"scribe": SyntheticResult(NO_ANSWER)},
        author=lambda result: "Scribe" if result.text == NO_ANSWER else "",
    ),
    errors=Errors(
        consequences={"unanswered-call": "Scribe sends the call as it is, and the provider refuses it."},
    ),
)
