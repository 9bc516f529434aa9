"""Processes that do pieces of pure work, each answered when it is done: what one process would take minutes for.

A process is forked where this one has a single thread, which costs nothing. A server has several, and a lock that another thread has at that moment would
stay locked in the copy: there a fresh process (forkserver) makes the copies, half a second later. A worker gets values and gives values. It touches no
connection that it inherited, and ends without running what the parent left for its own end.
"""

import gc
import multiprocessing
import os
import pickle
import queue
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from inspector.frames import with_room
from inspector.sources.spool import Parts

T = TypeVar("T")
R = TypeVar("R")

MOST = 8
AHEAD = 4
"""Pieces for each worker that may be given and not yet taken, so that none waits while the results of others are written."""
AHEAD_BYTES = 24 << 20


class WorkerLost(Exception):
    """A worker ended in the middle of its work. `code`: its exit status, or the negative number of the signal that ended it."""

    def __init__(self, code: int | None) -> None:
        super().__init__(f"a worker process ended with {code}")
        self.code = code


def processors() -> int:
    """How many workers this machine is good for; one is none, since this process can do that work itself. A process that ends with its server has none."""
    if multiprocessing.current_process().daemon:
        return 1
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        count = os.cpu_count() or 1
    return min(count, MOST)


class Workers:
    """`processes` workers that all do `work`, which is a function of a module. Their number is 1 or less: the work is done here.

    Work that gives much gives a generator instead of a value: of (name, some of what has that name), kept in a file as they come, and at the end of the value.
    The result is what its `with_parts` makes of them.
    """

    def __init__(self, work: Callable[[T], R], processes: int) -> None:
        self._work = work
        self._workers = _started(work, processes) if processes > 1 else []
        self._idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)
        # Threads only pass pieces on; they come after the processes, which could not be forked once there are threads.
        self._threads = ThreadPoolExecutor(len(self._workers)) if self._workers else None

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *details: object) -> None:
        for worker in self._workers:
            worker.process.terminate()
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.connection.close()
            worker.process.join()

    def submit(self, piece: Any) -> "Future[Any]":
        """The result of one piece. Raises what the work raised, and WorkerLost."""
        if self._threads is not None:
            return self._threads.submit(self._ask, piece)
        done: Future[Any] = Future()
        try:
            done.set_result(_collected(self._work(piece)))
        except Exception as error:
            done.set_exception(error)
        return done

    def mapped(self, pieces: Iterable[Any], size: Callable[[Any], int]) -> Iterator[Any]:
        """The results as they are ready, in the order of the pieces without workers. Pieces are taken only as far ahead as AHEAD and AHEAD_BYTES (by `size`) allow.

        In their order, one long piece would keep all the other workers waiting.
        """
        ahead: dict[Future[Any], int] = {}
        for piece in pieces:
            weight = size(piece)
            while ahead:
                is_full = len(ahead) >= AHEAD * len(self._workers) or sum(ahead.values()) + weight > AHEAD_BYTES
                future = _first_done(ahead, is_full)
                if future is None:
                    break
                del ahead[future]
                yield future.result()
            ahead[self.submit(piece)] = weight
            del piece
        while future := _first_done(ahead, True):
            del ahead[future]
            yield future.result()

    def _ask(self, piece: Any) -> Any:
        worker = self._idle.get()
        try:
            worker.connection.send(piece)
            parts: Parts | None = None
            while True:
                state, answer = worker.connection.recv()
                if state != _PART:
                    break
                parts = parts or Parts()
                parts.put(answer, worker.connection.recv_bytes())
        except (EOFError, OSError) as error:
            worker.process.join(1)
            raise WorkerLost(worker.process.exitcode) from error
        finally:
            self._idle.put(worker)
        if state == _ERROR:
            raise answer
        return answer if parts is None else answer.with_parts(parts)


def _first_done(futures: Iterable["Future[Any]"], waits: bool) -> "Future[Any] | None":
    if waits:
        wait(futures, return_when=FIRST_COMPLETED)
    return next((future for future in futures if future.done()), None)


_RESULT, _ERROR, _PART = "result", "error", "part"


def _collected(result: Any) -> Any:
    """In this process, what a worker gives to another."""
    if not isinstance(result, Generator):
        return result
    parts = Parts()
    while True:
        try:
            name, part = next(result)
        except StopIteration as end:
            return end.value.with_parts(parts)
        parts.put(name, pickle.dumps(part))


class _Worker:
    def __init__(self, context: Any, work: Callable[[Any], Any], others: Sequence[Connection]) -> None:
        """`others` are the ends that a fork inherits from its parent."""
        self.connection, own = context.Pipe()
        inherited = [*others, self.connection] if context.get_start_method() == "fork" else []
        self.process = context.Process(target=_serve, args=(own, work, inherited), daemon=True)
        self.process.start()
        own.close()


def _started(work: Callable[[Any], Any], processes: int) -> list[_Worker]:
    is_alone = threading.active_count() == 1 and "fork" in multiprocessing.get_all_start_methods()
    context: Any = multiprocessing.get_context("fork" if is_alone else None if os.name == "nt" else "forkserver")
    if not is_alone and os.name != "nt":
        context.set_forkserver_preload([work.__module__])
    workers: list[_Worker] = []
    for _ in range(processes):
        workers.append(_Worker(context, work, [worker.connection for worker in workers]))
    return workers


@with_room
def _serve(connection: Connection, work: Callable[[Any], Any], inherited: Sequence[Connection]) -> None:
    """Ends with its parent, however that ends; Ctrl-C is for the parent alone, which then ends this."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # With an end of the parent open in a worker, the end of the parent would not show.
    for end in inherited:
        end.close()
    # The collector goes through everything again and again while a piece is read into objects without cycles, a fifth of the time: here once after each piece.
    gc.disable()
    gc.freeze()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            gc.collect()
            piece = connection.recv()
            try:
                answer: tuple[str, Any] = (_RESULT, _sent(connection, work(piece)))
            except (BrokenPipeError, ConnectionResetError):
                return
            except Exception as error:
                answer = (_ERROR, error)
            del piece
            connection.send(answer)
            del answer


def _sent(connection: Connection, result: Any) -> Any:
    """The value, after its parts."""
    if not isinstance(result, Generator):
        return result
    while True:
        try:
            name, part = next(result)
        except StopIteration as end:
            return end.value
        connection.send((_PART, name))
        connection.send_bytes(pickle.dumps(part))
