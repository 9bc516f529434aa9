"""What is known of a job of gbrain apart from its messages, as lines for its page: its status, who holds it, on which path it ran, what its ledger says."""

from collections import Counter

from inspector.conversation.model import Conversation
from inspector.presentation.clock import moment
from inspector.presentation.conversation.panels import JobLine
from inspector.presentation.visible import clipped
from inspector.programs.gbrain.facts import ENCODED, ERROR, GAPS, LEASE, LOCK, PATH, RESTING, STATUS

_ERROR_SHOWN = 400


def job_facts(job: Conversation, taken_at: int | None) -> tuple[JobLine, ...]:
    """`taken_at`: epoch milliseconds of the moment that the rows were read at. () for other stores."""
    status, attempts = job.fact(STATUS), job.fact("attempts")
    rests = status in RESTING
    lines = [
        JobLine(
            "job", f"{job.native_id}, {status or 'no row of it in the jobs'}{_status_note(status, rests)}", status in ("failed", "dead")
        )
    ]
    if attempts:
        lines.append(JobLine("attempts", f"{attempts} used"))
    if stop := job.fact("stopReason"):
        lines.append(JobLine("stop reason", stop))
    lines.append(JobLine("path", job.fact(PATH) or "not shown by any block"))
    if gaps := job.fact(GAPS):
        lines.append(JobLine("gaps", f"no row at index {_indexes(gaps)}, where the results of a turn belong", True))
    if encoded := job.fact(ENCODED):
        lines.append(JobLine("encoded twice", f"the blocks at index {_indexes(encoded)} are a text that holds an array", True))
    lines += _claims(job, taken_at)
    lines.append(JobLine("ledger", _ledger(job)))
    if error := job.fact(ERROR):
        text, omitted = clipped(error, _ERROR_SHOWN)
        lines.append(JobLine("error_text", f"{text}{f' … {omitted:,} characters more' if omitted else ''}", True))
    return tuple(lines)


def _status_note(status: str | None, rests: bool) -> str:
    if status is None:
        return ""
    return ": at rest, nobody takes it up by itself" if rests else ": a worker may take it up at any moment"


def _claims(job: Conversation, taken_at: int | None) -> list[JobLine]:
    lines = []
    for name, what, over in ((LOCK, "lock", "was over"), (LEASE, "call in flight", "its lease was over")):
        text = job.fact(name)
        if text is None or not text.lstrip("-").isdecimal():
            continue
        until = int(text)
        is_live = taken_at is None or until > taken_at
        lines.append(JobLine(what, f"until {moment(until)}{', live when read' if is_live else f', {over} when read'}", is_live))
    return lines


def _indexes(text: str) -> str:
    return ", ".join(text.split(",")[:12]) + (" and more" if text.count(",") > 11 else "")


def _ledger(job: Conversation) -> str:
    if not job.ledger:
        return "no runs of tools"
    counts = Counter(run.status[:20] or "without status" for run in job.ledger)
    return f"{len(job.ledger):,} run{'s' if len(job.ledger) > 1 else ''} of tools: {', '.join(f'{count:,} {status}' for status, count in counts.most_common(5))}"
