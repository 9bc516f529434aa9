"""Work that reads a large conversation and has a small answer: of a web server a process of its own does it, so that the server stays small.

A conversation of 100,000 chunks takes half a gigabyte while it is read, and Python gives only a part of that back.
"""

import multiprocessing
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

AT_ONCE = 2
"""Processes at a time; further work waits."""
LOST = "The process that read the conversation was ended, most often because memory ran out. Free some memory and load this page again."
_CONTEXT = multiprocessing.get_context("forkserver")
_PLACES = threading.BoundedSemaphore(AT_ONCE)
_IS_SERVER = threading.Event()


def stay_small() -> None:
    """Of the process of a web server, when it begins."""
    _CONTEXT.set_forkserver_preload(["inspector.wsgi"])
    _IS_SERVER.set()


def in_own_process(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What `work` returns or raises. It is a function of a module, and its arguments and answer can be pickled. Raises MemoryError where the process is lost."""
    if not _IS_SERVER.is_set():
        return work(*args, **kwargs)
    with _PLACES:
        ours, theirs = _CONTEXT.Pipe(duplex=False)
        process = _CONTEXT.Process(target=_work, args=(theirs, work, args, kwargs), daemon=True)
        process.start()
        theirs.close()
        try:
            answer, problem = ours.recv()
        except EOFError:
            raise MemoryError(LOST) from None
        finally:
            process.join()
    if problem is not None:
        raise problem
    result: T = answer
    return result


def _work(pipe: Connection, work: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    from inspector.wsgi import application  # noqa: F401

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        pipe.send((work(*args, **kwargs), None))
    except Exception as problem:
        pipe.send((None, problem))
    pipe.close()
