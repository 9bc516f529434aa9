"""The limit of what is being done now. A request of a person who signed in has one; commands, workers and local mode have none."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

from inspector.access.roles import Access

P = ParamSpec("P")
R = TypeVar("R")

_access: ContextVar[Access | None] = ContextVar("access", default=None)


class NotPermitted(Exception):
    """What a person may see, and may not do. Its text is a sentence for them."""


def current() -> Access | None:
    """None: there is no limit."""
    return _access.get()


@contextmanager
def limited_to(access: Access | None) -> Iterator[None]:
    before = _access.set(access)
    try:
        yield
    finally:
        _access.reset(before)


def everything() -> AbstractContextManager[None]:
    """Around all that computes or stores: no count, plan or digest depends on who looked."""
    return limited_to(None)


def unlimited(work: Callable[P, R]) -> Callable[P, R]:
    """A function that runs in `everything()`."""

    @wraps(work)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with limited_to(None):
            return work(*args, **kwargs)

    return run
