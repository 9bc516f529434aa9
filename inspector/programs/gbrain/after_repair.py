"""What is left to the operator once a repair is in gbrain's tables: putting the job back into the queue, and what will run then."""

from collections.abc import Iterator

from inspector.conversation.model import Conversation
from inspector.presentation.visible import clipped
from inspector.profiles.judging import judged
from inspector.programs.gbrain.facts import RESTING, STATUS
from inspector.programs.gbrain.readers import VERSIONS, GbrainVersion, read_as

_SHOWN, _SDK = 60, "ai-sdk-6"


def after_repair(conversation: Conversation) -> tuple[str, ...]:
    """Sentences about the repaired conversation."""
    return tuple(_sentences(conversation))


def _sentences(conversation: Conversation) -> Iterator[str]:
    status, attempts = conversation.fact(STATUS), conversation.fact("attempts")
    used = f" ({attempts} attempts are used)" if attempts else ""
    if status == "completed":
        yield "The job has ended and nothing will run: the repair is for who reads its history."
        return
    if status in RESTING:
        yield (
            f"The job stays {status}: Inspector repairs its history and never puts a job back into the queue. To let it go on, set its status to waiting in gbrain "
            f"and see that attempts are left{used}."
        )
    else:
        yield f"The job is {status}: the next worker that is free takes it up{used}."
    yield from (_then(version, conversation) for version in VERSIONS)


def _then(version: GbrainVersion, conversation: Conversation) -> str:
    reading = read_as(version, conversation)
    if reading.failure:
        return f"{version.name} cannot load it still: {clipped(reading.failure, 300)[0]}."
    report = reading.report
    rerun_tools = [clipped(str(name), _SHOWN)[0] for name in report.get("wouldRun", ())]
    if report.get("terminal"):
        runs = "returns the stored answer without asking the model"
    elif rerun_tools:
        runs = f"runs {'tools' if len(rerun_tools) > 1 else 'the tool'} {', '.join(map(repr, rerun_tools[:5]))}{' and more' if len(rerun_tools) > 5 else ''} again, or ends the job where that is not safe"
    elif not judged(reading, conversation, _SDK, "ai-sdk")[1].sendable:
        runs = "runs no tool again, and the SDK refuses the request that it makes: this repair alone is not enough"
    else:
        runs = "runs no tool again and asks the model for the next turn"
    collides = report.get("collides")
    place = f"; {collides}" if collides else f" at index {report.get('nextMessageIdx')}"
    return f"{version.name} {runs}{'' if report.get('terminal') and not collides else place}."
