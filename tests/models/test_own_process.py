"""Work that reads a large conversation is done by a process of its own where the process is a web server, and by whoever asks else."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from inspector.models import own_process
from inspector.models.own_process import in_own_process, stay_small


@pytest.fixture
def _server() -> Iterator[None]:
    stay_small()
    yield
    own_process._IS_SERVER.clear()


def refusing(why: str) -> None:
    raise ValueError(why)


def ended() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_command_does_it_by_itself() -> None:
    assert in_own_process(os.getpid) == os.getpid()


@pytest.mark.slow
@pytest.mark.usefixtures("_server")
def test_a_server_has_the_answer_of_another_process_or_what_it_raised() -> None:
    assert in_own_process(os.getpid) != os.getpid() and in_own_process(max, 3, 5) == 5
    with pytest.raises(ValueError, match="no such reader"):
        in_own_process(refusing, "no such reader")
    with pytest.raises(MemoryError, match="was ended"):
        in_own_process(ended)
    answers: list[int] = []
    threads = [threading.Thread(target=lambda: answers.append(in_own_process(os.getpid))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(answers)) == 4, "each is a process of its own, and one that was lost keeps no place"
