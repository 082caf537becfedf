"""The runs of a `GatedAgent`: settings are functions of the `RunnableConfig`, the thread is the one it names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolgate_langchain.hosts.base_runs import Runs, Setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import BaseTool

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

    def thread_of(self, where: AgentRuntime) -> str | None:
        """The thread that the config names."""
        return thread_in(where.config)

    def _setting(self, setting: Setting, where: AgentRuntime, kind: Any, name: str) -> Any:
        return super()._setting(setting, where.config, kind, name)


def thread_in(config: RunnableConfig) -> str | None:
    """The thread that a config names, as for LangGraph; `None` where it names none."""
    thread_id = (config.get("configurable") or {}).get("thread_id")
    return None if thread_id is None else str(thread_id)
