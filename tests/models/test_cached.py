"""Results are kept up to a number of bytes, not up to a number of results."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import Barrier, Thread

from inspector.models import cached
from inspector.models.cached import BoundedCache, bounded_cache


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Value:
    size: int


def measured(most_bytes: int) -> tuple[BoundedCache[[str, int], Value], list[str]]:
    """A cache of values of the size that is asked for, and the names for which one was made."""
    made: list[str] = []

    @bounded_cache(most_bytes, lambda value: value.size)
    def value(name: str, size: int) -> Value:
        made.append(name)
        return Value(size)

    return value, made


def test_what_is_asked_for_again_is_not_made_again() -> None:
    value, made = measured(100)
    assert value("a", 10) is value("a", 10)
    assert made == ["a"] and value.kept.bytes == 10 and len(value) == 1


def test_the_bytes_stay_below_the_bound_and_the_one_not_asked_for_the_longest_goes_first() -> None:
    value, made = measured(100)
    value("a", 40), value("b", 40), value("a", 40), value("c", 40)
    assert value.kept.bytes == 80 and len(value) == 2
    value("a", 40), value("c", 40)
    assert made == ["a", "b", "c"]
    value("b", 40)
    assert made == ["a", "b", "c", "b"] and value.kept.bytes == 80


def test_a_result_larger_than_the_cache_is_shared_while_somebody_holds_it_and_displaces_nothing() -> None:
    value, made = measured(100)
    small, large = value("small", 10), value("large", 1000)
    assert value("large", 1000) is large and value("small", 10) is small and made == ["small", "large"]
    assert value.kept.bytes == 10
    del large
    value("large", 1000)
    assert made == ["small", "large", "large"]


def test_a_large_result_that_cannot_be_shared_is_given_all_the_same() -> None:
    numbers = bounded_cache(10, len)(lambda count: list(range(count)))
    assert numbers(20) == list(range(20)) and numbers.kept.bytes == 0


def test_what_is_not_there_yet_is_asked_for_again() -> None:
    answers = iter([None, "there"])
    look: BoundedCache[[], str | None] = bounded_cache(10, lambda text: len(text or ""))(lambda: next(answers))
    assert look() is None and look() == "there" and look() == "there"


def test_two_threads_that_ask_for_the_same_at_once_make_it_once() -> None:
    value, made = measured(100)
    start, results = Barrier(4), []

    def ask() -> None:
        start.wait()
        results.append(value("a", 10))

    threads = [Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == ["a"] and len({id(result) for result in results}) == 1


def test_one_that_fails_is_made_again_by_the_next() -> None:
    made: list[int] = []

    @bounded_cache(100, lambda _: 1)
    def value() -> int:
        made.append(1)
        if len(made) == 1:
            raise ValueError
        return 1

    def failed(work: Callable[[], Hashable]) -> bool:
        try:
            work()
        except ValueError:
            return True
        return False

    assert failed(value) and not failed(value) and made == [1, 1]


def test_in_another_database_nothing_is_known() -> None:
    value, made = measured(100)
    held = value("large", 1000)
    value("a", 10)
    cached.forget()
    value("a", 10), value("large", 1000)
    assert made == ["large", "a", "a", "large"] and held.size == 1000
