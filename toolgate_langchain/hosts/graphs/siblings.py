"""Calls that run side by side in one tool node, some of which may leave it before it is done.

A call that pauses or raises takes the whole node with it: LangGraph forgets what its siblings gave, and
when the node is entered again it calls all of them again. So what they gave is kept here, and handed
back to the very same call of the very same task; and no sibling is left behind halfway.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from langchain_core.messages import ToolMessage

from toolgate_langchain.approvals.turn import raw_digest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from langgraph.prebuilt.tool_node import ToolCallRequest

__all__ = ["Siblings"]

_KEPT: Final = 256
"""Tasks whose results are kept; beyond, the oldest are forgotten and count as "outcome unknown"."""

_Key = tuple[str | None, str]
"""A thread and a task of it."""


@dataclass(slots=True)
class _Task:
    results: dict[tuple[str, str], Any] = field(default_factory=dict)
    """By the call's id and the digest of the call."""
    running: set[asyncio.Future[None]] = field(default_factory=set)
    left: bool = False
    """Whether a call of it left before it was done, so that it will be entered again."""


class Siblings:
    """The calls of one graph's tool nodes, by the task that they run in. For this process only."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tasks: OrderedDict[_Key, _Task] = OrderedDict()

    def result(self, request: ToolCallRequest) -> Any:
        """What a call gave when its task was entered before; `None` where it has to run."""
        with self._lock:
            task = self._tasks.get(_key(request))
            return None if task is None or not task.left else task.results.get(_call(request))

    def keep(self, request: ToolCallRequest, result: Any) -> None:
        """Keep what a call gave, until its thread's next turn."""
        with self._lock:
            self._task(request).results[_call(request)] = result

    def leave(self, request: ToolCallRequest) -> None:
        """Note that a call leaves its task before it is done."""
        with self._lock:
            self._task(request).left = True

    def enter(self, request: ToolCallRequest) -> asyncio.Future[None]:
        """Note that an asynchronous call runs; done with the future that is given."""
        running = asyncio.get_running_loop().create_future()
        with self._lock:
            self._task(request).running.add(running)
        return running

    def exit(self, request: ToolCallRequest, running: asyncio.Future[None]) -> None:
        """Note that an asynchronous call does not run any more."""
        with self._lock:
            self._task(request).running.discard(running)
        if not running.done():
            running.set_result(None)

    async def others(self, request: ToolCallRequest) -> None:
        """Wait for all calls that run in the same task. What leaves first must not cut the others off."""
        # Those that were started with this one and did not get their first turn yet.
        await asyncio.sleep(0)
        with self._lock:
            running = list(self._task(request).running)
        if running:
            await asyncio.wait(running)

    def results_of(self, thread_id: str | None) -> dict[str, ToolMessage]:
        """The tool messages that are kept of a thread, by call id."""
        with self._lock:
            kept = [task for key, task in self._tasks.items() if key[0] == thread_id and task.left]
            given = [result for task in kept for result in task.results.values()]
        return {one.tool_call_id: one for one in given if isinstance(one, ToolMessage)}

    def forget(self, thread_id: str | None) -> None:
        """Forget what is kept of a thread, whose model has had its results."""
        with self._lock:
            for key in [key for key in self._tasks if key[0] == thread_id]:
                del self._tasks[key]

    def _task(self, request: ToolCallRequest) -> _Task:
        key = _key(request)
        task = self._tasks.setdefault(key, _Task())
        self._tasks.move_to_end(key)
        while len(self._tasks) > _KEPT:
            self._tasks.popitem(last=False)
        return task


def _key(request: ToolCallRequest) -> _Key:
    where = request.runtime.execution_info
    # Outside of a graph there is no task to be entered again; then nothing is ever handed back.
    return (None, "") if where is None else (where.thread_id, where.task_id)


def _call(request: ToolCallRequest) -> tuple[str, str]:
    call: Mapping[str, Any] = request.tool_call
    return str(call["id"]), raw_digest(call)
