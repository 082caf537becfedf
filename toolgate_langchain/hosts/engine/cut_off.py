"""Calls that are cut off in their middle: a run that is cancelled, a worker that is told to stop.

What such a call had done by then is not known, as after a crash. Nobody repeats it on its own, and a person is asked.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from langchain_core.tools import BaseTool, StructuredTool, Tool

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["UNKNOWN", "cut_off", "is_over"]

UNKNOWN: Final = "unknown"
"""What the record says of the end of a call that was cut off."""


def cut_off(error: BaseException) -> bool:
    """Whether an error says nothing of the call that it came through: its run was cancelled, or its worker stops.

    Args:
        error: What came out of the tool.
    """
    return not isinstance(error, Exception)


def is_over(tool: BaseTool | None, error: BaseException) -> bool:
    """Whether nothing of a call that was cut off goes on in this process.

    A function that is not asynchronous runs in a thread. Cancelling the run does not reach it there, and it is done to
    its end all the same.

    Args:
        tool: The tool.
        error: What came out of it.
    """
    return not isinstance(error, asyncio.CancelledError) or (tool is not None and _is_awaited(tool))


def _is_awaited(tool: BaseTool) -> bool:
    """Whether a tool has an asynchronous body of its own."""
    own: Callable[..., object] = type(tool)._arun
    for kind in (StructuredTool, Tool):
        if isinstance(tool, kind) and own is kind._arun:
            return tool.coroutine is not None
    return own is not BaseTool._arun
