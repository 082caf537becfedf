"""Timing things side by side: interleaved rounds, garbage collection held off, medians of paired ratios.

Two things that are timed one after the other are timed on two different machines: clocks, caches and
neighbours change. So every round runs each of the things once, in an order that turns round by round,
and a ratio is taken within each round before the median is taken over all of them.
"""

from __future__ import annotations

import gc
import statistics
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

__all__ = ["Moment", "Timings", "compare", "compare_async", "quartiles", "whole_of"]


@dataclass(frozen=True, slots=True)
class Moment:
    """A point of time, or the time between two, in seconds: on the wall and on this process's CPU."""

    wall: float
    cpu: float

    @classmethod
    def now(cls) -> Moment:
        """The time now."""
        return cls(time.perf_counter(), time.process_time())

    def __sub__(self, other: Moment) -> Moment:
        return Moment(self.wall - other.wall, self.cpu - other.cpu)


def whole_of(name: str) -> str:
    """The name under which the whole of a thing is kept that times a part of itself."""
    return f"{name}, the whole run"


@dataclass
class Timings:
    """What each round took, in seconds, by name: on the wall and on this process's CPU."""

    wall: dict[str, list[float]] = field(default_factory=dict)
    cpu: dict[str, list[float]] = field(default_factory=dict)

    def median(self, name: str) -> float:
        """The median of what it took on the wall."""
        return statistics.median(self.wall[name])

    def ratio(self, name: str, base: str) -> tuple[float, float, float]:
        """Lower quartile, median and upper quartile of the ratios of each round, on the wall."""
        return quartiles([one / other for one, other in zip(self.wall[name], self.wall[base], strict=True)])

    def cpu_ratio(self, name: str, base: str) -> float:
        """The median of the ratios of each round, in CPU time."""
        return statistics.median([one / other for one, other in zip(self.cpu[name], self.cpu[base], strict=True)])

    def best_ratio(self, name: str, base: str) -> float:
        """The ratio of the best rounds, which neighbours on the machine disturb least."""
        return min(self.wall[name]) / min(self.wall[base])

    def note(self, name: str, result: object, whole: Moment) -> None:
        """Keep one round of one thing: what it says that it took, where it says so, and the whole of it."""
        part = result if isinstance(result, Moment) else whole
        for kept, took in ((name, part), (whole_of(name), whole)):
            self.wall.setdefault(kept, []).append(took.wall)
            self.cpu.setdefault(kept, []).append(took.cpu)


def quartiles(values: list[float]) -> tuple[float, float, float]:
    """Lower quartile, median, upper quartile."""
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4)
    return low, middle, high


def compare(
    things: Mapping[str, Callable[[], object]],
    *,
    rounds: int,
    warm_up: int = 2,
    between: Callable[[], object] = lambda: None,
) -> Timings:
    """Time each thing once a round.

    Args:
        things: What to time, by name. One that returns a `Moment` has timed itself.
        rounds: Rounds that count.
        warm_up: Rounds before them that do not.
        between: Called before each round, untimed.
    """
    timings = Timings()
    for number in range(-warm_up, rounds):
        between()
        for name in _turned(list(things), number):
            thing = things[name]
            with _no_collection():
                start = Moment.now()
                result = thing()
                whole = Moment.now() - start
            if number >= 0:
                timings.note(name, result, whole)
    return timings


async def compare_async(
    things: Mapping[str, Callable[[], Awaitable[object]]],
    *,
    rounds: int,
    warm_up: int = 2,
    between: Callable[[], object] = lambda: None,
) -> Timings:
    """As `compare`, for things that are awaited, all in one loop."""
    timings = Timings()
    for number in range(-warm_up, rounds):
        between()
        for name in _turned(list(things), number):
            thing = things[name]
            with _no_collection():
                start = Moment.now()
                result = await thing()
                whole = Moment.now() - start
            if number >= 0:
                timings.note(name, result, whole)
    return timings


def _turned(names: list[str], number: int) -> list[str]:
    """The names in another order each round, so that nobody always runs after the same one."""
    start = number % len(names)
    turned = names[start:] + names[:start]
    return turned if (number // len(names)) % 2 == 0 else turned[::-1]


@contextmanager
def _no_collection() -> Iterator[None]:
    """Collect before, and hold collection off while something is timed."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
