"""One side of an agent of LangGraph's, the synchronous or the asynchronous one, for flows that serve both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Side"]


@dataclass(frozen=True, slots=True)
class Side:
    """One side of an agent: what it gives is there at once, or an awaitable of it."""

    agent: Any
    """A compiled agent."""
    asynchronous: bool
    """Which side it is."""

    def state(self, config: Mapping[str, Any] | None) -> Any:
        """The state of a thread.

        Args:
            config: The config that names it.
        """
        return (self.agent.aget_state if self.asynchronous else self.agent.get_state)(config)

    def invoke(self, input: Any, config: Mapping[str, Any] | None, context: Any = None) -> Any:
        """Run the agent, or go on with a run.

        Args:
            input: The graph's input, a command, or `None`.
            config: The config that names the thread.
            context: The run's context object; `None` where it has none.
        """
        options: dict[str, Any] = {} if context is None else {"context": context}
        return (self.agent.ainvoke if self.asynchronous else self.agent.invoke)(input, config, **options)
