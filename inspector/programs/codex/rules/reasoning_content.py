"""THINK302: reasoning with content of another provider."""

from collections.abc import Iterator

from inspector.programs.codex.lone_reasoning import severity, with_content
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded


def check(case: Case) -> Iterator[Match]:
    yield from bounded(
        Match(
            (chunk,),
            f"The reasoning at seq {chunk.seq} holds content of its own, which OpenAI's models never give: OpenAI refuses every request that holds it.",
            severity=severity(case),
        )
        for chunk in with_content(case)
    )


RULE = Rule(
    code="THINK302",
    state="CX7",
    name="reasoning-content",
    severity=Severity.WARNING,
    silent=False,
    origin=Origin.STORE,
    summary="stored reasoning holds content, as another provider gave it",
    why=(
        "A provider that only speaks like OpenAI gave its reasoning in `content`, and Codex stores and sends it as it came. Once the thread goes on with OpenAI each "
        "request is refused: Invalid 'input[N].content': array too long. Expected an array with maximum length 0."
    ),
    example=(
        '@format codex\nline {"timestamp":"2026-08-01T10:00:00.000Z","type":"session_meta","payload":{"id":"0199aaaa-0000-7000-8000-000000000001",'
        '"timestamp":"2026-08-01T10:00:00.000Z","cwd":"/r","originator":"o","cli_version":"0.146.0"}}\n'
        'line {"timestamp":"2026-08-01T10:00:01.000Z","type":"response_item","payload":{"type":"reasoning","summary":[],'
        '"content":[{"type":"reasoning_text","text":"x"}]}}'
    ),
    check=check,
    references=("openai/codex #36551", "Wei-Shaw/sub2api #5178"),
    repaired_by=("drop-reasoning-content",),
    fixed_in_code="Leave the content of reasoning out of requests to a provider that did not give it.",
)
