"""Each of several workers of pytest-xdist keeps to one core; what is done at once on purpose has all of them.

LangGraph starts threads for every step, and of the threads of one process one runs at a time. Where they are spread
over cores that other workers keep busy, each hand-over from one to the next waits for a core: with two workers on two
cores a red team took a sixth more of the processors' time, and twice as long.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["all_cores", "every_core", "one_core"]

_CAN = hasattr(os, "sched_setaffinity")  # Linux alone lets a process choose
_ALL = range(os.cpu_count() or 1)


def one_core(worker: int) -> None:
    """Keep to one core from here on: this thread, the threads and the processes that it starts.

    Args:
        worker: The number of the worker. Workers that follow one another have cores of their own, as far as there
            are any.
    """
    if _CAN:
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[worker % len(cores)]})


def all_cores() -> None:
    """Have all cores from here on."""
    if _CAN:
        os.sched_setaffinity(0, _ALL)


@contextmanager
def every_core() -> Iterator[None]:
    """Have all cores meanwhile, as a `with` block or a decorator: for threads that are to meet in every way."""
    if not _CAN:
        yield
        return
    kept = os.sched_getaffinity(0)
    all_cores()
    try:
        yield
    finally:
        os.sched_setaffinity(0, kept)
