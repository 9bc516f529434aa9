"""How often functions are called."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from cProfile import Profile


@contextmanager
def counted(*functions: Callable[..., object]) -> Iterator[Counter[str]]:
    """How often each of the functions is called inside, by its name."""
    counts: Counter[str] = Counter({function.__name__: 0 for function in functions})
    names = {function.__code__: function.__name__ for function in functions}
    profile = Profile()
    profile.enable()
    try:
        yield counts
    finally:
        profile.disable()
        for entry in profile.getstats():
            if entry.code in names:
                counts[names[entry.code]] += entry.callcount
