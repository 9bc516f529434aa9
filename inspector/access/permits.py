"""Asks whether the person of this request may do something, and refuses it in one sentence. Without a limit everything is allowed, and nothing is asked."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from inspector.access.context import NotPermitted, current, everything, limited_to
from inspector.access.grants import access_named, whom_to_ask
from inspector.access.roles import ACTIONS, refusal_of
from inspector.models import Conversation, Finding, Problem, Repair, RepairGroup, ShareLink, Source, Stream

P = ParamSpec("P")
R = TypeVar("R")
About = TypeVar("About")


def source_of(about: Any) -> int | None:
    """The row id of the source that something belongs to; None is the whole installation."""
    match about:
        case None | ShareLink(source=None):
            return None
        case Source():
            return int(about.pk)
        case Conversation() | Stream() | Problem() | RepairGroup() | ShareLink():
            return about.source_id
        case Repair() | Finding():
            return about.conversation.source_id
    raise TypeError(f"{type(about).__name__} belongs to no source")


def why_not(action: str, about: Any = None) -> str:
    """Why the person of this request may not do it, in one sentence; "" where they may."""
    access = current()
    if access is None or access.may(action, source := source_of(about)):
        return ""
    of = None if ACTIONS[action].is_everywhere else source
    if of not in access.whom:
        access.whom[of] = whom_to_ask(of)
    return refusal_of(access, action, source, access.whom[of])


def why_nowhere(action: str) -> str:
    """Why the person of this request may do it on no source that they see; "" where they may on one."""
    access = current()
    return "" if access is None or any(one.role >= ACTIONS[action].least for one in access.roles) else why_not(action)


def may(action: str, about: Any = None) -> bool:
    """Whether it is allowed, for a page that shows a form or leaves it out."""
    access = current()
    return access is None or access.may(action, source_of(about))


def permit(action: str, about: Any = None) -> None:
    """Raises NotPermitted."""
    if sentence := why_not(action, about):
        raise NotPermitted(sentence)


@dataclass(frozen=True, slots=True)
class Acting:
    """Who acts, and what they were allowed to do, with what; `action` is "" before it is known."""

    name: str
    action: str = ""
    about: tuple[Any, ...] = ()


_acting: ContextVar[Acting | None] = ContextVar("acting", default=None)


@contextmanager
def _acting_as(acting: Acting) -> Iterator[None]:
    before = _acting.set(acting)
    try:
        yield
    finally:
        _acting.reset(before)


def by_account(name: str) -> AbstractContextManager[None]:
    """Around an act that goes on after the request of this account: it is asked again what the account may do by then."""
    return _acting_as(Acting(name))


def refuse_taken_away() -> None:
    """In the middle of an act of several parts: raises NotPermitted where the account that began it may not do it any more."""
    acting = _acting.get()
    if acting is not None and acting.action:
        permit_now(acting.name, acting.action, *acting.about)


def permit_now(name: str, action: str, *about: Any) -> None:
    """By the roles that the account has at this moment: those of its request may be older. Raises NotPermitted."""
    with limited_to(access_named(name)):
        for row in about:
            permit(action, row)


def acts(
    action: str, of: Callable[[Any], Iterable[Any]] = lambda about: (about,)
) -> Callable[[Callable[Concatenate[About, P], R]], Callable[Concatenate[About, P], R]]:
    """A function by which a person acts on its first argument, or on what is `of` it: it is refused or done, and what it does does not depend on who asked."""

    def decorate(work: Callable[Concatenate[About, P], R]) -> Callable[Concatenate[About, P], R]:
        @wraps(work)
        def allowed(about: About, /, *args: P.args, **kwargs: P.kwargs) -> R:
            access, acting = current(), _acting.get()
            if access is None and (acting is None or acting.action):
                with everything():
                    return work(about, *args, **kwargs)
            rows = tuple(of(about))
            if access is not None:
                for row in rows:
                    permit(action, row)
            mine = Acting(access.name if access is not None else acting.name if acting else "", action, rows)
            with _acting_as(mine):
                refuse_taken_away()
                with everything():
                    return work(about, *args, **kwargs)

        return allowed

    return decorate
