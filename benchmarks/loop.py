"""What the gate costs in the loop of `create_agent`, per turn.

A turn is one model call and one tool call, with all that the loop does for them. A run of `TURNS`
turns on a thread of its own is timed from its first model call to its last. Beside it stands the
whole run, from the user's message to the model's last reply, with what happens once a run.
"""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from benchmarks.agents import (
    CLOSED,
    GATE,
    IN_ANY_LIST,
    LANGCHAIN,
    NO_GATE,
    TURNS,
    BriefModel,
    make_agent,
    question,
)
from benchmarks.measure import Moment, Timings, compare, compare_async, whole_of
from benchmarks.table import Row

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

__all__ = ["IN_MEMORY", "NO_CHECKPOINTER", "SQLITE", "measure_loop"]

IN_MEMORY = "InMemorySaver"
SQLITE = "SqliteSaver"
NO_CHECKPOINTER = "no checkpointer"

NO_GATE_READING = "no gate, only reading tools"
"""What `CLOSED` is held against: its agent has no tool that a person is asked about."""

_threads = count(1)


def measure_loop(checkpointer: str, *, rounds: int) -> Iterator[Row]:
    """Time the variants, synchronous and asynchronous, and give their rows.

    Args:
        checkpointer: `IN_MEMORY`, `SQLITE` or `NO_CHECKPOINTER`. The bounds hold for the first.
        rounds: Rounds of each.
    """
    for kind, timings in (
        ("sync", _sync(checkpointer, rounds)),
        ("async", asyncio.run(_async(checkpointer, rounds))),
    ):
        for name, base, bound in _COMPARED:
            if name in timings.wall:
                most = bound.get(kind) if checkpointer == IN_MEMORY else None
                yield _row(f"loop, {kind}, {checkpointer}", timings, name, base, most)
                yield _row(f"loop, {kind}, {checkpointer}", timings, whole_of(name), whole_of(base), None)


_COMPARED: Final[tuple[tuple[str, str, dict[str, float]], ...]] = (
    (LANGCHAIN, NO_GATE, {}),
    (GATE, NO_GATE, {"sync": 1.20, "async": 1.20}),
    (GATE, LANGCHAIN, {"sync": 1.05, "async": 1.00}),
    (IN_ANY_LIST, NO_GATE, {}),
    (IN_ANY_LIST, LANGCHAIN, {}),
    (CLOSED, NO_GATE_READING, {"sync": 1.08, "async": 1.08}),
)
"""What is held against what, with the most that the ratio may be."""


def _row(section: str, timings: Timings, name: str, base: str, most: float | None) -> Row:
    low, middle, high = timings.ratio(name, base)
    each = f"{timings.median(name) / TURNS * 1e6:.0f} / {timings.median(base) / TURNS * 1e6:.0f} us a turn"
    return Row(
        section=section,
        what=f"{name} / {base}",
        figure=f"{middle:.3f}",
        spread=f"{low:.3f}-{high:.3f}",
        detail=f"cpu {timings.cpu_ratio(name, base):.3f}, best {timings.best_ratio(name, base):.3f}; {each}",
        bound=None if most is None else f"{most:.2f}",
        held=most is None or middle <= most,
    )


class _Subject:
    """One agent that is timed."""

    def __init__(self, variant: str, saver: Any, *, askable: bool = True) -> None:
        self._model = BriefModel()
        self._agent = make_agent(variant, saver, askable=askable, model=self._model)

    def run(self) -> Moment:
        """Run it on a new thread; what its turns took."""
        self._model.forget()
        self._agent.invoke(question(), _config())
        return self._model.turns_took()

    async def arun(self) -> Moment:
        """As `run`, asynchronously."""
        self._model.forget()
        await self._agent.ainvoke(question(), _config())
        return self._model.turns_took()


def _subjects(savers: Callable[[], Any]) -> dict[str, _Subject]:
    subjects = {variant: _Subject(variant, savers()) for variant in (NO_GATE, LANGCHAIN)}
    # An attended agent that can ask refuses to run where no question could be kept.
    if savers() is not None:
        subjects |= {variant: _Subject(variant, savers()) for variant in (GATE, IN_ANY_LIST)}
    subjects[NO_GATE_READING] = _Subject(NO_GATE, savers(), askable=False)
    subjects[CLOSED] = _Subject(CLOSED, savers(), askable=False)
    return subjects


def _config() -> dict[str, Any]:
    return {"configurable": {"thread_id": f"t{next(_threads)}"}, "recursion_limit": 10 * TURNS}


def _sync(checkpointer: str, rounds: int) -> Timings:
    with _savers(checkpointer) as (make, forget):
        subjects = _subjects(make)
        return compare({name: subject.run for name, subject in subjects.items()}, rounds=rounds, between=forget)


async def _async(checkpointer: str, rounds: int) -> Timings:
    async with _async_savers(checkpointer) as (make, forget):
        subjects = _subjects(make)
        runs = {name: subject.arun for name, subject in subjects.items()}
        return await compare_async(runs, rounds=rounds, between=forget)


@contextmanager
def _savers(kind: str) -> Iterator[tuple[Callable[[], Any], Callable[[], None]]]:
    """A maker of checkpointers, and a function that empties those in memory."""
    if kind == SQLITE:
        with tempfile.TemporaryDirectory() as folder, SqliteSaver.from_conn_string(str(Path(folder) / "db")) as saver:
            yield lambda: saver, lambda: None
    else:
        yield _in_memory(kind)


@asynccontextmanager
async def _async_savers(kind: str) -> AsyncIterator[tuple[Callable[[], Any], Callable[[], None]]]:
    if kind == SQLITE:
        with tempfile.TemporaryDirectory() as folder:
            async with AsyncSqliteSaver.from_conn_string(str(Path(folder) / "db")) as saver:
                yield lambda: saver, lambda: None
    else:
        yield _in_memory(kind)


def _in_memory(kind: str) -> tuple[Callable[[], Any], Callable[[], None]]:
    made: list[InMemorySaver] = []

    def make() -> InMemorySaver | None:
        if kind == NO_CHECKPOINTER:
            return None
        made.append(InMemorySaver())
        return made[-1]

    def forget() -> None:
        for saver in made:
            saver.storage.clear()
            saver.writes.clear()
            saver.blobs.clear()

    return make, forget
