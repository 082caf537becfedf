"""The runs of a `GatedAgent`: settings are functions of the `RunnableConfig`, the thread is the one it names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolgate_langchain.hosts.engine.base_runs import Runs, Setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import BaseTool

    from toolgate_langchain.hosts.engine.parent_run import ParentRun

__all__ = ["AgentRuntime", "SessionRuns", "thread_in"]


@dataclass(frozen=True, slots=True)
class AgentRuntime:
    """Where a run is driven from."""

    config: RunnableConfig
    tools: Sequence[BaseTool] = ()
    """The tools of the agent, which an agent inside of one of them must not open up."""


class SessionRuns(Runs):
    """The runs of one `GatedAgent`; see `Runs`."""

    keeps_rules_in_ledger = True
    name = ""
    """The agent's own name, where it was given one."""

    def own_path(self, parent: ParentRun | None) -> tuple[str, ...]:
        """The agent's name in the tool that it runs in, which tells it from others in there."""
        return () if parent is None or self.name in ("", parent.tool_name) else (self.name,)

    def own_name(self) -> str:
        """See `Runs.own_name`."""
        return self.name

    def asks_for_sure(self) -> bool:
        """Whether a person is there on the agent's surface, as far as that is known before it runs."""
        return not callable(self._surface) and self.gate.surface(self._surface).attended

    def thread_of(self, where: AgentRuntime) -> str | None:
        """The thread that the config names."""
        return thread_in(where.config)

    def _setting(self, setting: Setting, where: AgentRuntime, kind: Any, name: str) -> Any:
        return super()._setting(setting, where.config, kind, name)


def thread_in(config: RunnableConfig) -> str | None:
    """The thread that a config names, as for LangGraph; `None` where it names none."""
    thread_id = (config.get("configurable") or {}).get("thread_id")
    return None if thread_id is None else str(thread_id)
