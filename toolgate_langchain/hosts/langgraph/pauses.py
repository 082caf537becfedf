"""What this package knows of paused tasks and saved checkpoints beyond LangGraph's public names; see `internals`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.pregel._loop import AsyncPregelLoop
from langgraph.types import Command

from toolgate_langchain.canonical import digest
from toolgate_langchain.errors import AlreadyAnsweredError
from toolgate_langchain.hosts.langgraph.internals import CHECKPOINTER, INTERRUPT, loop_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

__all__ = ["LeavesNothing", "Pause", "checkpoint_saved", "drop_old_answer", "kept_at", "pause"]

_SCRATCHPAD_KEY: Final = "__pregel_scratchpad"
"""Where a running node finds the answers to its questions, the saved ones and the one that it was resumed with."""
_TASK_KEY: Final = "__pregel_task_id"
_ANSWERS_KEY: Final = "__pregel_resume_map"
"""Where answers travel that name the interrupt that they are for."""


class LeavesNothing(AlreadyAnsweredError, GraphBubbleUp):
    """Leaves a node so that LangGraph saves neither a checkpoint nor an error of it. Whoever drives the run gets it."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Where the node that runs now was paused."""

    task: str
    """Its task: the same for every worker that goes on from this checkpoint, and another one in a fork of it."""
    checkpoint: str
    """The checkpoint that it goes on from."""
    answers: int
    """How many of its questions had been answered, and the answers saved, before the run was resumed."""
    replays: bool
    """Whether somebody goes back to an older checkpoint on purpose, which makes a history of its own."""
    coming: Callable[[int], Any]
    """The answer that the question of a number, counted from 0, will get; `None` where there is none yet."""
    newest: Callable[[], str | Awaitable[str | None] | None]
    """Looks up the newest checkpoint that there is of the graph by now."""


def pause(spent: Callable[[Any], bool] = lambda _: False) -> Pause | None:
    """Where the node that runs now was paused; `None` where no graph keeps that. Called before its first question.

    LangGraph keeps an answer that was sent without an interrupt's id for as long as the root waits at one checkpoint,
    and gives it to whoever asks first each time that the run is gone on with, although it was taken in before.

    Args:
        spent: Whether an answer is none to any question, where the run was not resumed with it just now.
    """
    configurable: dict[str, Any] = get_config().get("configurable", {})
    loop, scratchpad = loop_of(configurable), configurable.get(_SCRATCHPAD_KEY)
    dropped = scratchpad is not None and _drop_old(configurable, scratchpad, spent)
    if scratchpad is None or getattr(loop, "checkpointer", None) is None:
        return None
    where = {
        "configurable": {key: loop.checkpoint_config["configurable"].get(key) for key in ("thread_id", "checkpoint_ns")}
    }

    async def anewest() -> str | None:
        return _id_of(await loop.checkpointer.aget_tuple(where))

    return Pause(
        task=str(configurable.get(_TASK_KEY)),
        checkpoint=loop.checkpoint["id"],
        answers=len(scratchpad.resume) - _named(configurable, loop),
        replays=loop.is_replaying,
        coming=lambda number: _coming(scratchpad, number, dropped=dropped),
        newest=anewest if isinstance(loop, AsyncPregelLoop) else lambda: _id_of(loop.checkpointer.get_tuple(where)),
    )


def drop_old_answer(spent: Callable[[Any], bool]) -> None:
    """Keep an answer that an earlier resume came with from whatever the running node asks; see `pause`.

    Args:
        spent: Whether an answer is none to what the node may ask.
    """
    try:
        configurable: dict[str, Any] = get_config().get("configurable", {})
    except RuntimeError:  # no graph runs here, so nothing is kept of any answer
        return
    scratchpad = configurable.get(_SCRATCHPAD_KEY)
    if scratchpad is not None:
        _drop_old(configurable, scratchpad, spent)


def _coming(scratchpad: Any, number: int, *, dropped: bool) -> Any:
    answers = scratchpad.resume
    if number < len(answers):
        return answers[number]
    return None if dropped else scratchpad.get_null_resume(False)


def _drop_old(configurable: Mapping[str, Any], scratchpad: Any, spent: Callable[[Any], bool]) -> bool:
    """Take an answer away that an earlier resume came with; whether that was done."""
    old = scratchpad.get_null_resume(False)
    if old is None or not spent(old) or _answered_just_now(loop_of(configurable)):
        return False
    scratchpad.get_null_resume(True)
    return True


def _answered_just_now(loop: Any) -> bool:
    """Whether a graph, or one around it, was resumed with an answer that names no interrupt.

    Args:
        loop: What drives the graph.
    """
    while loop is not None:
        around, given = loop.config.get("configurable", {}), loop.input
        # Answers by interrupt travel on their own, and are the very object that was given.
        named = isinstance(given, Command) and given.resume is around.get(_ANSWERS_KEY)
        if isinstance(given, Command) and given.resume is not None and not named:
            return True
        outer = loop_of(around)
        loop = None if outer is loop else outer
    return False


def _named(configurable: Mapping[str, Any], loop: Any) -> int:
    """How many answers the run was resumed with that name a question of the node; LangGraph puts them to the others."""
    task, answers = configurable.get(_TASK_KEY), configurable.get(_ANSWERS_KEY) or {}
    writes = [value for of, channel, value in loop.checkpoint_pending_writes if (of, channel) == (task, INTERRUPT)]
    return int(any(one.id in answers for asked in writes for one in asked))


def checkpoint_saved() -> bool | Awaitable[bool]:
    """Whether the checkpoint is saved that the node that runs now goes on from; LangGraph does so meanwhile."""
    loop = loop_of(get_config().get("configurable", {}))
    if getattr(loop, "checkpointer", None) is None:
        return True  # nobody goes on from anything here
    saving = getattr(loop, "_put_checkpoint_fut", None)
    if saving is None:
        return False
    if not isinstance(loop, AsyncPregelLoop):
        return saving.exception() is None

    async def saved() -> bool:
        await asyncio.wait([saving])
        return not saving.cancelled() and saving.exception() is None

    return saved()


def _id_of(checkpoint: Any) -> str | None:
    return None if checkpoint is None else checkpoint.checkpoint["id"]


def kept_at(tasks: Iterable[Mapping[str, Any]], place: Any) -> tuple[dict[str, Any], bool]:
    """Where a graph inside of a task is kept, at a place of its own.

    LangGraph counts the graphs of a task in the order in which they begin, which need not be the same each time.

    Args:
        tasks: The configurable parts of the configs of tasks, of which the first is taken that is one.
        place: What tells the place from others in the task, as plain JSON.

    Returns:
        The configurable part of the graph's config, and whether anything is kept there at all.
    """
    found = next((one for one in tasks if one.get(_SCRATCHPAD_KEY) is not None and _TASK_KEY in one), None)
    if found is None:
        return {}, False
    # A number, as LangGraph itself tells the graphs of a task apart; its own are far smaller.
    number = int(digest("toolgate:place:1", place)[:15], 16)
    scratchpad = replace(found[_SCRATCHPAD_KEY], subgraph_counter=lambda: 0)
    own = {_SCRATCHPAD_KEY: scratchpad, "checkpoint_ns": f"{found.get('checkpoint_ns', '')}|{number}"}
    return {**found, **own}, found.get(CHECKPOINTER) not in (None, False)
