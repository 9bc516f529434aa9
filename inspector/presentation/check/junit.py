"""The answers of `check` as JUnit's XML, which build servers show as tests: one test case a conversation."""

import re
from collections.abc import Iterator, Sequence
from html import escape

from inspector.checking import Checked
from inspector.presentation.check.report import checked_lines
from inspector.presentation.visible import visible
from inspector.rules.base import Severity
from inspector.traces.model import Problem

# What no XML document may contain, in any form; `visible` has escaped the rest.
_NEVER = re.compile("[\ufffe\uffff]")


def junit_xml(answers: Sequence[Checked], problems: Sequence[Problem]) -> str:
    """A test fails where `check` ends with status 1 on its conversation; what could not be read at all is an error."""
    failures = sum(not checked.passes for checked in answers)
    counts = f'tests="{len(answers) + len(problems)}" failures="{failures}" errors="{len(problems)}"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="inspector check" {counts}>']
    lines.append(f'  <testsuite name="inspector check" {counts} skipped="0" time="0">')
    for checked in answers:
        lines += _case(checked)
    for problem in problems:
        lines.append(f"    <testcase {_names(problem.where, problem.where)}>")
        lines.append(f'      <error message="{_text(problem.reason)}" type="unread"/>')
        lines.append("    </testcase>")
    return "\n".join([*lines, "  </testsuite>", "</testsuites>"])


def _case(checked: Checked) -> Iterator[str]:
    names = _names(checked.file or "standard input", checked.conversation)
    if checked.passes:
        yield f"    <testcase {names}/>"
        return
    yield f"    <testcase {names}>"
    yield f'      <failure message="{_text(checked.verdict)}" type="{_text(_type(checked))}">{_text(chr(10).join(checked_lines(checked)))}</failure>'
    yield "    </testcase>"


def _type(checked: Checked) -> str:
    """The first rule that refuses or reports an error."""
    errors = [finding.code for finding in checked.findings if finding.severity is Severity.ERROR]
    return next(iter([*(violation.id for violation in checked.violations), *errors]), "cannot-open")


def _names(file: str, name: str) -> str:
    return f'classname="{_text(file)}" name="{_text(name)}" time="0"'


def _text(text: str) -> str:
    return escape(_NEVER.sub("�", visible(text)))
