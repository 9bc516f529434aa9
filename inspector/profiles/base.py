"""What a profile is: a dated table of one provider's rules, and the verdict of one pass over a prompt."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.projections.base import Prompt


@dataclass(frozen=True, slots=True)
class ProviderRule:
    """`text` is the provider's own error text with upper-case placeholders; `evidence`: I = seen in issues, C = in public code."""

    id: str
    summary: str
    text: str
    evidence: str
    date: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Violation:
    """`path` counts as the provider's message does; `open_ended`: only the end is missing, so the prompt is valid as a prefix."""

    id: str
    path: str
    seqs: tuple[int, ...]
    text: str
    open_ended: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    profile: str
    violations: tuple[Violation, ...]
    notes: tuple[str, ...] = ()

    @property
    def sendable(self) -> bool:
        return not self.violations

    @property
    def prefix_valid(self) -> bool:
        return all(violation.open_ended for violation in self.violations)

    @property
    def first_bad(self) -> int | None:
        seqs = [seq for violation in self.violations for seq in violation.seqs]
        return min(seqs) if seqs else None

    @property
    def verdict(self) -> str:
        if self.sendable:
            return "no known rule refuses"
        first = self.violations[0]
        return f"refused at {first.path} ({first.id})"


@dataclass(frozen=True, slots=True)
class Profile:
    name: str
    title: str
    unknowable: str
    rules: tuple[ProviderRule, ...]
    check: Callable[[Sequence[dict[str, Any]]], Iterator[Violation]]

    def judge(self, prompt: Prompt, model: str | None = None) -> Judgement:
        """One pass over the prompt; seqs are filled in from its source map."""
        sources = prompt.sources()
        violations = tuple(
            Violation(found.id, found.path, tuple(sources.get(found.path, ())), found.text, found.open_ended)
            for found in self.check(prompt.values)
        )
        return Judgement(self.name, violations, self._notes(model))

    def _notes(self, model: str | None) -> tuple[str, ...]:
        if model is None or model.split("/")[0] == "openai":
            return ()
        return (f"the endpoint of {model} is not modelled, judged as {self.name}",)
