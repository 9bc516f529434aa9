"""Numbers of days as bars: the shape for an inline SVG, and the same in words."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import count

HEIGHT, STEP = 22, 4
"""Units of the picture; a bar is one narrower than its step."""


@dataclass(frozen=True, slots=True)
class Sparkline:
    """One number for each day; `last` is the day of the last one."""

    counts: tuple[int, ...]
    last: date

    @property
    def width(self) -> int:
        return len(self.counts) * STEP

    @property
    def total(self) -> int:
        return sum(self.counts)

    def day(self, number: int) -> date:
        """Of the count at this place."""
        return self.last - timedelta(days=len(self.counts) - 1 - number)

    def path(self, most: int = 0) -> str:
        """The bars, in the coordinates of `width` and HEIGHT, which is that of `most`, else of its own; a day with one of a thousand is still seen."""
        heights = ((number * STEP, max(2, round(new * HEIGHT / (most or self.most)))) for number, new in enumerate(self.counts) if new)
        return "".join(f"M{start} {HEIGHT}v-{height}h{STEP - 1}v{height}z" for start, height in heights)

    def marks(self, places: Iterable[int]) -> str:
        """Lines over the whole height, through the days at these places."""
        return "".join(f"M{self.middle(place)} 0V{HEIGHT}" for place in places)

    def middle(self, place: int) -> float:
        """Of the bar of a day."""
        return place * STEP + (STEP - 1) / 2

    @property
    def most(self) -> int:
        """On one day: the height of the picture."""
        return max(self.counts, default=0)

    @property
    def most_on(self) -> date:
        """The first day with so many."""
        return self.day(self.counts.index(self.most))

    @property
    def fifths(self) -> range:
        """The places of the first days of about five equal parts."""
        return range(0, len(self.counts), max(1, -(-len(self.counts) // 5)))

    @property
    def ticks(self) -> tuple[int, ...]:
        """From 0 up to the most on one day, at most five, as far apart as 1, 2 or 5 of a power of ten."""
        steps = (digit * 10**power for power in count() for digit in (1, 2, 5))
        step = next(step for step in steps if self.most // step <= 4)
        return tuple(range(0, self.most + 1, step))

    def stacked(self, parts: Mapping[str, "Sparkline"]) -> Iterator[tuple[str, int, float, float]]:
        """(name, place of the day, top, height) of each of `parts` on each day with any, the first at the bottom; together they are this one."""
        for index in range(len(self.counts)):
            below = 0
            for name, part in parts.items():
                if part.counts[index]:
                    bottom, top = (HEIGHT * number / self.most for number in (below, below + part.counts[index]))
                    yield name, index, round(HEIGHT - top, 2), round(top - bottom, 2)
                    below += part.counts[index]

    @property
    def words(self) -> str:
        span = f"{len(self.counts)} days to {self.last:%Y-%m-%d}"
        if not self.total:
            return f"nothing new in the {span}"
        if self.most == 1:
            return f"{self.total:,} new in the {span}"
        return f"{self.total:,} new in the {span}, most on {self.most_on:%Y-%m-%d}: {self.most:,}"


def sparkline(of_days: Mapping[date, int], last: date, days: int) -> Sparkline:
    """The `days` days that end with `last`."""
    return Sparkline(tuple(of_days.get(last - timedelta(days=back), 0) for back in range(days - 1, -1, -1)), last)
