"""The steps at which a worker can die: every call of the ledger and of the checkpointer, and those of the tools."""

import os
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from toolgate_langchain import SqlLedger

KILLED = 9
"""The exit code of a process that died at a step."""

_NOT_STEPS = {
    "close",
    "events",
    "prepare",
    "quiet",
    "resume",
    "stop",
}  # what no run does, or what is not in the database
LEDGER = sorted({name for name in dir(SqlLedger) if not name.startswith("_")} - _NOT_STEPS)
_OF_SAVERS = vars(BaseCheckpointSaver)
CHECKPOINTER = sorted(name for name, method in _OF_SAVERS.items() if not name.startswith("_") and callable(method))
"""Every method of both; none is left out, whether or not a conversation comes to it."""

READS = frozenset(
    {
        *("answer_to", "answered_at", "asked", "change", "ends_at", "events", "held", "identity", "left_answer"),
        *("left_answers", "memory", "pending", "result", "revoked", "rules_of", "said", "status", "stopped"),
        *("taken_back", "thread_of", "thread_rules", "tries", "user_rules"),
        *("get", "get_tuple", "list", "get_next_version", "get_delta_channel_history", "aget_tuple", "alist", "aget"),
    }
)
"""Methods that change nothing. Who dies around one of them leaves what who died after the last change left."""


class Points:
    """Counts steps, and dies at one of them.

    Args:
        die_at: The step.
        changes: Whether only what is right after a change is a step: all that others can tell apart.
    """

    def __init__(self, die_at: int | None, *, changes: bool = False) -> None:
        self._die_at, self._numbers, self.reached = die_at, count(), 0
        self._changes = changes

    def step(self) -> None:
        """One step is reached."""
        self.reached = next(self._numbers) + 1
        if self.reached - 1 == self._die_at:
            os._exit(KILLED)

    def begin(self) -> None:
        """A method is called."""
        if not self._changes:
            self.step()

    def around(self, thing: Any, methods: list[str]) -> Any:
        """An object whose methods have a step before and a step after them, and one while they are awaited."""
        for name in methods:
            method = getattr(thing, name, None)
            if callable(method) and not (self._changes and name in READS):
                setattr(thing, name, self._stepping(method))
        return thing

    def _stepping(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def stepping(*args: Any, **kwargs: Any) -> Any:
            self.begin()
            given = method(*args, **kwargs)
            if hasattr(type(given), "__await__"):
                return self._awaited(given)
            self.step()
            return given

        return stepping

    async def _awaited(self, given: Awaitable[Any]) -> Any:
        if not self._changes:
            # It was begun, in a thread perhaps, and nobody heard yet what came of it.
            self.step()
        value = await given
        self.step()
        return value
