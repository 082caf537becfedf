"""One core for sync and async: a flow is written once, as a generator of steps.

A step is a function without arguments that does something outside the flow (call the model, run the
tool, ask a heuristic, read the ledger) and may return an awaitable. `run_steps` drives a flow from
synchronous code and `arun_steps` from asynchronous code.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeAlias, TypeVar

__all__ = ["Step", "Steps", "arun_steps", "run_steps"]

_T = TypeVar("_T")

Step: TypeAlias = Callable[[], Any]
Steps: TypeAlias = Generator[Step, Any, _T]


def run_steps(flow: Steps[_T]) -> _T:
    """Drive a flow to its end from synchronous code and return its value."""
    try:
        step = next(flow)
        while True:
            try:
                value = step()
                if hasattr(type(value), "__await__"):
                    value = _wait_for(value)
            except BaseException as error:
                step = flow.throw(error)
            else:
                step = flow.send(value)
    except StopIteration as end:
        result: _T = end.value
        return result


async def arun_steps(flow: Steps[_T]) -> _T:
    """Drive a flow to its end from asynchronous code and return its value."""
    try:
        step = next(flow)
        while True:
            try:
                value = step()
                if hasattr(type(value), "__await__"):
                    value = await value
            except BaseException as error:
                step = flow.throw(error)
            else:
                step = flow.send(value)
    except StopIteration as end:
        result: _T = end.value
        return result


def _wait_for(awaitable: Awaitable[_T]) -> _T:
    """Finish an awaitable from synchronous code, also where a loop runs in this thread already."""
    outcome: list[_T] = []

    async def finish() -> None:
        # Not the task's own result: where `asyncio.run` puts Python's handler of Ctrl-C back, the task is written out
        # with its result, which takes longer than all the rest where that is the state of a conversation.
        outcome.append(await awaitable)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(finish())
        return outcome[0]
    failure: list[BaseException] = []
    context = contextvars.copy_context()

    def work() -> None:
        try:
            context.run(asyncio.run, finish())
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=work, name="toolgate-heuristic")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
