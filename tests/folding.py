"""Many small cases in one item: pytest and xdist take milliseconds for an item, longer than most cases of a table do."""

import functools
import inspect
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest


def in_one_test(
    names: str | Sequence[str], values: Iterable[Any], ids: Callable[[Any], Any] | Iterable[str] | None = None, most: int | None = None
) -> Callable[..., Any]:
    """In place of `pytest.mark.parametrize`, for cases that change nothing of each other's (no database, no `tmp_path`): all of them run, and the
    failure names each case that failed, by what its id would be, with the line and the reason. `most`: so many cases in an item, where they take long."""
    columns = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    values = list(values)
    labels = [ids] * len(values) if ids is None or callable(ids) else list(ids)
    cases = [_case(value, columns, label) for value, label in zip(values, labels, strict=True)]
    assert cases, "nothing would be tested"
    part = f"part_of_{columns[0]}"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run_all(**fixtures: Any) -> None:
            failures, skipped = [], []
            own = cases[fixtures.pop(part, slice(None))]
            for label, row in own:
                try:
                    test(**fixtures, **row)
                except pytest.skip.Exception as reason:
                    skipped.append(reason)
                except (Exception, pytest.fail.Exception) as problem:
                    failures.append(f"[{label}] {_shown(problem)}")
            if failures:
                pytest.fail(f"{len(failures)} of {len(own)} cases failed:\n" + "\n".join(failures), pytrace=False)
            if len(skipped) == len(own):
                raise skipped[0]

        signature = inspect.signature(test)
        rest = [parameter for name, parameter in signature.parameters.items() if name not in columns]
        if not most:
            run_all.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
            return run_all
        run_all.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*rest, inspect.Parameter(part, inspect.Parameter.KEYWORD_ONLY)]
        )
        slices = [slice(start, start + most) for start in range(0, len(cases), most)]
        return pytest.mark.parametrize(part, slices, ids=lambda cut: f"{cut.start}-{cut.stop}")(run_all)

    return decorate


def _case(value: Any, columns: list[str], label: Callable[[Any], Any] | str | None) -> tuple[str, dict[str, Any]]:
    row = value if len(columns) > 1 else (value,)
    if isinstance(value, type(pytest.param())):
        assert not value.marks, "a case with a mark needs an item of its own"
        row, label = value.values, value.id or label
    if not isinstance(label, str):
        label = "-".join(_label(label, field) for field in row)
    return label, dict(zip(columns, row, strict=True))


def _label(label: Callable[[Any], Any] | None, value: Any) -> str:
    named = label(value) if label else None
    return str(named) if named is not None else getattr(value, "__name__", None) or repr(value)[:80]


def _shown(problem: BaseException) -> str:
    """Its text, and the line of the last test module that it went through."""
    frames = [frame for frame in traceback.extract_tb(problem.__traceback__) if "/tests/" in frame.filename and frame.filename != __file__]
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}: " if frames else ""
    return f"{place}{type(problem).__name__}: {problem}"
