"""How one blocking core serves both worlds: at once where no loop runs, else in a thread, to be awaited."""

from __future__ import annotations

import asyncio
import contextvars
import os
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Generic, TypeVar

from toolgate_langchain.approvals.sql.connecting import THREADS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from toolgate_langchain.approvals.ledger import Maybe

__all__ = ["Caller", "Underway"]

_T = TypeVar("_T")


class Underway(Generic[_T]):
    """Work that was begun in a thread. It is done whether or not it is awaited, and any loop may await it.

    A coroutine would do nothing until somebody awaits it, and an asyncio future belongs to one loop: synchronous
    code below a running loop waits for steps in a loop of its own.
    """

    __slots__ = ("_future",)

    def __init__(self, future: Future[_T]) -> None:
        self._future = future

    def __await__(self) -> Generator[object, None, _T]:
        """Wait for the work, in the loop that is running, without blocking it."""
        return asyncio.wrap_future(self._future).__await__()


class Caller:
    """Calls blocking functions for whoever asks, synchronous or not.

    The threads are the ledger's own. In the loop's default pool its calls would wait behind tools that run there,
    and with more threads than connections they would wait for each other.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        # No thread is started before there is something to do for it.
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="toolgate-ledger")
        self._process = os.getpid()

    def call(self, function: Callable[[], _T]) -> Maybe[_T]:
        """Call a function: here and now where no event loop runs in this thread, else in a thread of the ledger's."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return function()
        if self._process != os.getpid():
            # Threads do not come along into a process that is forked off.
            self._begin()
        # The caller's context goes along, so that a trace of the database's calls hangs where it belongs.
        context = contextvars.copy_context()
        return Underway(self._threads.submit(context.run, function))

    def close(self) -> None:
        """End the threads, after what they are doing. The next call begins new ones."""
        if self._process == os.getpid():
            self._threads.shutdown()
        self._begin()
