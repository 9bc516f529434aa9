"""gbrain's subagent jobs after the incident of pull request 1934: the ledger has the tool runs, the messages lack their results, and every retry fails.

One SQL script holds all of it: it is read as an export, and loaded into a server where one can be started.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.demo.gbrain_tables import SCHEMA
from inspector.programs.gbrain.tables import EXECUTIONS, JOBS, MESSAGES
from inspector.text import jsonb
from inspector.text.jsontext import compact

FAILED, GAPPED, PENDING, DOUBLED, LEGACY, BALANCED, ONESHOT = 4107, 4098, 4119, 4064, 3877, 4131, 4136
DEMO_JOBS = frozenset(map(str, (FAILED, GAPPED, PENDING, DOUBLED, LEGACY, BALANCED, ONESHOT)))
Block = Mapping[str, Any]
_GLM, _SONNET = "glm-coding:glm-4.6", "anthropic:claude-sonnet-4-5"


@dataclass(frozen=True)
class Run:
    """A row of the ledger. `seconds`: from the message to its start, and from there to its end (None: it has none)."""

    index: int
    ordinal: int | None
    call: str
    tool: str
    arguments: Any
    output: Any = None
    error: str | None = None
    seconds: tuple[int, int | None] = (1, 2)

    @property
    def status(self) -> str:
        return "pending" if self.seconds[1] is None else "failed" if self.error is not None else "complete"


@dataclass(frozen=True)
class Job:
    """`day` and `hour` are its start (UTC); a message of index i is written i minutes later. `encoded_twice`: its assistant rows are."""

    number: int
    day: str
    hour: str
    status: str
    prompt: str
    messages: Mapping[int, tuple[str, Sequence[Block]]]
    runs: Sequence[Run] = ()
    error: str | None = None
    attempts: int = 1
    result: Any = None
    model: str = _GLM
    encoded_twice: bool = False


def _text(words: str) -> Block:
    return {"type": "text", "text": words}


def _call(id_: str, name: str, **arguments: Any) -> Block:
    return {"type": "tool-call", "toolCallId": id_, "toolName": name, "input": arguments}


def _result(id_: str, name: str, output: Any) -> Block:
    return {"type": "tool-result", "toolCallId": id_, "toolName": name, "output": output}


def _refused(*ids: str) -> str:
    sentence = f"result is missing for tool call {ids[0]}" if len(ids) == 1 else f"results are missing for tool calls {', '.join(ids)}"
    return f"AI_MissingToolResultsError: [chat({_GLM})] Tool {sentence}."


def _ended(words: str, turns: int) -> Mapping[str, Any]:
    return {"result": words, "turns_count": turns, "stop_reason": "end_turn"}


_PULSE = ("call_7d1f0a2c", "call_7d1f0a2d", "call_7d1f0a2e")
_DREAM = ("call_51c09e10", "call_51c0a7f4", "call_51c0b233")


def _jobs() -> Iterator[Job]:
    yield Job(
        LEGACY,
        "2026-05-19",
        "03:00",
        "completed",
        "Summarise what changed on the page people/ada since Monday.",
        {
            0: ("user", [_text("Summarise what changed on the page people/ada since Monday.")]),
            1: (
                "assistant",
                [
                    _text("I read the page."),
                    {"type": "tool_use", "id": "toolu_01HxA9", "name": "get_page", "input": {"slug": "people/ada"}},
                ],
            ),
            2: (
                "user",
                [{"type": "tool_result", "tool_use_id": "toolu_01HxA9", "content": '{"slug":"people/ada","updated":"2026-05-18"}'}],
            ),
            3: ("assistant", [_text("One change: her title is Head of Research since 18 May.")]),
        },
        [Run(1, None, "toolu_01HxA9", "get_page", {"slug": "people/ada"}, {"slug": "people/ada", "updated": "2026-05-18"})],
        result=_ended("One change: her title is Head of Research since 18 May.", 2),
        model=_SONNET,
    )
    yield Job(
        DOUBLED,
        "2026-06-05",
        "22:10",
        "dead",
        "List the pages about the office move.",
        {
            0: ("user", [_text("List the pages about the office move.")]),
            1: ("assistant", [_call("call_2b90e1", "search", query="office move", limit=5)]),
        },
        [Run(1, 0, "call_2b90e1", "search", {"query": "office move", "limit": 5}, [{"slug": "projects/office-move", "score": 0.91}])],
        error=_refused("call_2b90e1"),
        attempts=3,
        encoded_twice=True,
    )
    yield Job(
        GAPPED,
        "2026-06-07",
        "02:00",
        "dead",
        "Dream-synthesize the notes of 6 June.",
        {
            0: ("user", [_text("Dream-synthesize the notes of 6 June.")]),
            1: ("assistant", [_call(_DREAM[0], "list_pages", tag="2026-06-06")]),
            3: ("assistant", [_call(_DREAM[1], "get_page", slug="notes/standup")]),
            5: ("assistant", [_text("The standup names a blocker."), _call(_DREAM[2], "search", query="vendor contract")]),
        },
        [
            Run(1, 0, _DREAM[0], "list_pages", {"tag": "2026-06-06"}, ["notes/standup", "notes/lunch"]),
            Run(3, 0, _DREAM[1], "get_page", {"slug": "notes/standup"}, {"title": "Standup", "body": "Blocked by the vendor contract."}),
            Run(5, 0, _DREAM[2], "search", {"query": "vendor contract"}, [{"slug": "vendors/acme", "score": 0.88}]),
        ],
        error=_refused(*_DREAM),
        attempts=3,
    )
    yield Job(
        FAILED,
        "2026-06-07",
        "06:30",
        "failed",
        "Write the company pulse of Sunday: news, open invoices, who is away.",
        {
            0: ("user", [_text("Write the company pulse of Sunday: news, open invoices, who is away.")]),
            1: (
                "assistant",
                [
                    _text("I fetch all three at once."),
                    _call(_PULSE[0], "search", query="company news", limit=10),
                    _call(_PULSE[1], "list_invoices", state="open"),
                    _call(_PULSE[2], "get_calendar", day="2026-06-07"),
                ],
            ),
        },
        [
            Run(1, 0, _PULSE[0], "search", {"query": "company news", "limit": 10}, [{"slug": "news/series-b", "score": 0.94}]),
            Run(1, 1, _PULSE[1], "list_invoices", {"state": "open"}, {"open": 3, "total_eur": 18240}, seconds=(1, 9)),
            Run(1, 2, _PULSE[2], "get_calendar", {"day": "2026-06-07"}, error="calendar: 503 Service Unavailable", seconds=(1, 31)),
        ],
        error=_refused(*_PULSE),
        attempts=3,
    )
    yield Job(
        PENDING,
        "2026-06-07",
        "09:15",
        "failed",
        "Tell Ada by mail that the invoice of Acme is paid.",
        {
            0: ("user", [_text("Tell Ada by mail that the invoice of Acme is paid.")]),
            1: ("assistant", [_call("call_90aa17", "send_mail", to="ada@example.org", subject="Acme is paid")]),
        },
        [Run(1, 0, "call_90aa17", "send_mail", {"to": "ada@example.org", "subject": "Acme is paid"}, seconds=(1, None))],
        error=_refused("call_90aa17"),
        attempts=2,
    )
    yield Job(
        BALANCED,
        "2026-07-20",
        "06:30",
        "completed",
        "Write the company pulse of Monday.",
        {
            0: ("user", [_text("Write the company pulse of Monday.")]),
            1: ("assistant", [_call("call_c1", "search", query="company news"), _call("call_c2", "list_invoices", state="open")]),
            2: ("user", [_result("call_c1", "search", []), _result("call_c2", "list_invoices", {"open": 1, "total_eur": 900})]),
            3: ("assistant", [_text("No news. One invoice is open, 900 EUR.")]),
        },
        [
            Run(1, 0, "call_c1", "search", {"query": "company news"}, []),
            Run(1, 1, "call_c2", "list_invoices", {"state": "open"}, {"open": 1, "total_eur": 900}),
        ],
        result=_ended("No news. One invoice is open, 900 EUR.", 2),
    )
    yield Job(
        ONESHOT,
        "2026-07-20",
        "07:00",
        "completed",
        "Synthesise the notes of July into pages, in one go.",
        {
            0: ("user", [_text("Synthesise the notes of July into pages, in one go.")]),
            1: ("assistant", [_text("Two pages: topics/hiring and topics/pricing.")]),
        },
        [
            Run(1, 0, "oneshot-5e0c71aa-p0", "put_page", {"slug": "topics/hiring"}, {"slug": "topics/hiring", "written": True}),
            Run(1, 1, "oneshot-5e0c71aa-p1", "put_page", {"slug": "topics/pricing"}, {"slug": "topics/pricing", "written": True}),
        ],
        result=_ended("Two pages: topics/hiring and topics/pricing.", 1),
    )


def script() -> str:
    """The tables of gbrain with the jobs of the incident, as `pg_dump --column-inserts` would write them."""
    return SCHEMA + "".join(f"{line}\n" for job in _jobs() for line in _rows(job))


def _rows(job: Job) -> Iterator[str]:
    ended = _at(job, max(job.messages), 40)
    yield _insert(
        JOBS,
        id=job.number,
        name="subagent",
        status=job.status,
        data=jsonb.printed({"prompt": job.prompt, "model": job.model, "max_turns": 20}),
        max_attempts=3,
        attempts_made=job.attempts,
        attempts_started=job.attempts,
        result=None if job.result is None else jsonb.printed(job.result),
        error_text=job.error,
        created_at=_at(job, 0),
        started_at=_at(job, 0, 2),
        finished_at=ended,
        updated_at=ended,
    )
    for index, (role, blocks) in job.messages.items():
        is_doubled = job.encoded_twice and role == "assistant"
        content = compact(list(blocks)) if is_doubled else list(blocks)
        model = job.model if role == "assistant" else None
        yield _insert(
            MESSAGES,
            job_id=job.number,
            message_idx=index,
            role=role,
            content_blocks=jsonb.printed(content),
            model=model,
            ended_at=_at(job, index),
        )
    for number, run in enumerate(job.runs):
        start, took = run.seconds
        yield _insert(
            EXECUTIONS,
            id=job.number * 10 + number,
            job_id=job.number,
            message_idx=run.index,
            tool_use_id=run.call,
            tool_name=run.tool,
            input=jsonb.printed(run.arguments),
            status=run.status,
            output=jsonb.printed(run.output) if run.status == "complete" else None,
            error=run.error,
            schema_version=1 if run.ordinal is None else 2,
            ordinal=run.ordinal,
            gbrain_tool_use_id=None
            if run.ordinal is None
            else f"01974a{job.number % 256:02x}-{run.index:04x}-7000-8000-{job.number:08d}{number:04d}",
            started_at=_at(job, run.index, start),
            ended_at=None if took is None else _at(job, run.index, start + took),
        )


def _at(job: Job, minutes: int, seconds: int = 0) -> str:
    hour, minute = map(int, job.hour.split(":"))
    after = hour * 3600 + (minute + minutes) * 60 + seconds
    return f"{job.day} {after // 3600:02}:{after // 60 % 60:02}:{after % 60:02}+00"


def _insert(table: str, **columns: str | int | None) -> str:
    values = ", ".join("NULL" if value is None else str(value) if isinstance(value, int) else _quoted(value) for value in columns.values())
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values});"  # noqa: S608 (a file for people, of our own texts)


def _quoted(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace("'", "''")
    return f"E'{quoted}'" if "\\" in text else f"'{quoted}'"
