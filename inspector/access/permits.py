"""Asks whether the person of this request may do something, and refuses it in one sentence. Without a limit everything is allowed, and nothing is asked."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from inspector.access.context import NotPermitted, current, everything
from inspector.access.grants import whom_to_ask
from inspector.access.roles import ACTIONS, refusal_of
from inspector.models import Conversation, Finding, Problem, Repair, RepairGroup, Source, Stream

P = ParamSpec("P")
R = TypeVar("R")
About = TypeVar("About")


def source_of(about: Any) -> int | None:
    """The row id of the source that something belongs to; None is the whole installation."""
    match about:
        case None:
            return None
        case Source():
            return int(about.pk)
        case Conversation() | Stream() | Problem() | RepairGroup():
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


def acts(
    action: str, of: Callable[[Any], Iterable[Any]] = lambda about: (about,)
) -> Callable[[Callable[Concatenate[About, P], R]], Callable[Concatenate[About, P], R]]:
    """A function by which a person acts on its first argument, or on what is `of` it: it is refused or done, and what it does does not depend on who asked."""

    def decorate(work: Callable[Concatenate[About, P], R]) -> Callable[Concatenate[About, P], R]:
        @wraps(work)
        def allowed(about: About, /, *args: P.args, **kwargs: P.kwargs) -> R:
            if current() is not None:
                for row in of(about):
                    permit(action, row)
            with everything():
                return work(about, *args, **kwargs)

        return allowed

    return decorate
